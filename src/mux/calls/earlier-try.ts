import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { Downlink } from '../../model/links.js'

type Way = Pick<Downlink, 'serverRequests' | 'facts'>

/**
 * An attempt that its server did not run, or that a replaced server lost. The request may be sent once more,
 * but never run twice, and answers go only to the server that asked.
 */
export interface EarlierTry {
  readonly fault: Fault
  readonly link: Way
  /** True if the request carried answers. */
  readonly hasAnswers: boolean
}

/** Returns whether a fault allows another attempt. */
export const mayTryAgain = ({ code }: Fault): boolean => code === 'session-lost' || code === 'maybe-replaced'

/** Returns why the request must not be sent over a link; undefined if it may. */
export const errorOver = ({ serverRequests, facts }: Way, earlier: EarlierTry): Fault | undefined => {
  const { fault, link, hasAnswers } = earlier
  const isOtherKind = serverRequests !== link.serverRequests
  // Some servers support both modes: the same program may have failed temporarily.
  const isReplaced = isOtherKind && isAnother(facts.info, link.facts.info)
  if (fault.code === 'maybe-replaced' && !isReplaced) return fault
  if (!isOtherKind || !hasAnswers) return undefined
  return new Fault('disconnected', 'it was replaced by a server that did not ask for these answers', {
    cause: fault,
  })
}

/** Returns the error without a link. The loss does not show whether the server ran the request. */
export const errorWithoutLink = (why: Fault, earlier: EarlierTry | undefined): Fault =>
  earlier?.fault.code === 'maybe-replaced' ? earlier.fault : why

/** Returns whether two programs certainly differ, by the members that do not depend on the revision. */
const isAnother = (one: JsonText, other: JsonText): boolean => {
  const [name, otherName] = [one, other].map(info => textMember(info, 'name'))
  if (name === undefined || otherName === undefined) return false
  return name !== otherName || textMember(one, 'version') !== textMember(other, 'version')
}

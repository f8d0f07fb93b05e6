import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { Downlink } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'

type Way = Pick<Downlink, 'serverRequests' | 'facts'>

/**
 * A try of a request that its server did not run, or not if it has been replaced: it may be sent once more.
 * Nothing is done twice for one request, and answers are for the server that asked for them.
 */
export interface EarlierTry {
  readonly fault: Fault
  readonly link: Way
  /** Whether the request brought answers. */
  readonly hasAnswers: boolean
}

/** Whether an outcome allows another try. */
export const mayTryAgain = (outcome: Outcome): outcome is Outcome & { readonly kind: 'fault' } =>
  outcome.kind === 'fault' &&
  (outcome.fault.code === 'session-lost' || outcome.fault.code === 'maybe-replaced')

/** Why the request must not be sent over a link; undefined if it may. */
export const errorOver = ({ serverRequests, facts }: Way, earlier: EarlierTry): Fault | undefined => {
  const { fault, link, hasAnswers } = earlier
  const isOtherKind = serverRequests !== link.serverRequests
  // Some servers speak both: the same program may have had a bad moment.
  const isReplaced = isOtherKind && isAnother(facts.info, link.facts.info)
  if (fault.code === 'maybe-replaced' && !isReplaced) return fault
  if (!isOtherKind || !hasAnswers) return undefined
  return new Fault('disconnected', 'it was replaced by one that did not ask for these answers', {
    cause: fault,
  })
}

/** The error if there is no link: that the server is gone does not say what it has done. */
export const errorWithoutLink = (why: Fault, earlier: EarlierTry | undefined): Fault =>
  earlier?.fault.code === 'maybe-replaced' ? earlier.fault : why

/** Whether two programs cannot be the same one, by the members that do not depend on the revision. */
const isAnother = (one: JsonText, other: JsonText): boolean => {
  const [name, otherName] = [one, other].map(info => textMember(info, 'name'))
  if (name === undefined || otherName === undefined) return false
  return name !== otherName || textMember(one, 'version') !== textMember(other, 'version')
}

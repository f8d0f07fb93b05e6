import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { Downlink } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'

type Way = Pick<Downlink, 'serverRequests' | 'facts'>

/**
 * A try of a request that its server did not run, or not if it has been replaced: it may be sent once more.
 * Nothing is done twice for one request, and answers are for the server that asked for them.
 */
export class EarlierTry {
  readonly #fault: Fault
  readonly #link: Way
  readonly #hasAnswers: boolean

  private constructor(fault: Fault, link: Way, hasAnswers: boolean) {
    this.#fault = fault
    this.#link = link
    this.#hasAnswers = hasAnswers
  }

  /** Returns the try if its outcome allows another one. `hasAnswers`: the request brought answers. */
  static of(outcome: Outcome, link: Way, hasAnswers: boolean): EarlierTry | undefined {
    if (outcome.kind !== 'fault') return undefined
    const { fault } = outcome
    const mayBeAgain = fault.code === 'session-lost' || fault.code === 'maybe-replaced'
    return mayBeAgain ? new EarlierTry(fault, link, hasAnswers) : undefined
  }

  /** Why the request must not be sent over a link; undefined if it may. */
  errorOver({ serverRequests, facts }: Way): Fault | undefined {
    const isOtherKind = serverRequests !== this.#link.serverRequests
    // Some servers speak both: the same program may have had a bad moment.
    const isReplaced = isOtherKind && isAnother(facts.info, this.#link.facts.info)
    if (this.#fault.code === 'maybe-replaced' && !isReplaced) return this.#fault
    if (!isOtherKind || !this.#hasAnswers) return undefined
    const words = 'it was replaced by one that did not ask for these answers'
    return new Fault('disconnected', words, { cause: this.#fault })
  }

  /** The error if there is no link: that the server is gone does not say what it has done. */
  unsent(why: Fault): Fault {
    return this.#fault.code === 'maybe-replaced' ? this.#fault : why
  }
}

/** Whether two programs cannot be the same one, by the members that do not depend on the revision. */
const isAnother = (one: JsonText, other: JsonText): boolean => {
  const [name, otherName] = [one, other].map(info => textMember(info, 'name'))
  if (name === undefined || otherName === undefined) return false
  return name !== otherName || textMember(one, 'version') !== textMember(other, 'version')
}

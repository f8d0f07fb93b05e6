import type { FaultCode } from '../../kernel/faults.js'
import { editMember } from '../../kernel/json/edit.js'
import { type JsonText, memberOf, rawText, stringOf, withoutMember } from '../../kernel/json/text.js'
import type { CancelReason, ServerRequest } from '../../model/links.js'
import { type Answer, resulted } from '../../model/outcome.js'
import { fileRoots } from '../input-required/answers.js'

const CANCELLED = rawText('{"action":"cancel"}')

/** How a question is passed on. */
export interface Passing {
  /** What the client is asked, instead of what the server wrote. */
  readonly params: JsonText | undefined
  /** Whether the server itself reads the answer, so that it must be one that servers understand. */
  readonly isRepaired: boolean
  /** Told when the question is answered, or withdrawn. */
  over(outcome: Answer | undefined): void
}

/** A question on its way to a client: tells when it is over, and repairs what the client answers. */
export class PassedRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about = undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #ask: ServerRequest
  readonly #passing: Passing
  #isOver = false

  constructor(ask: ServerRequest, passing: Passing) {
    this.#ask = ask
    this.#passing = passing
    this.method = ask.method
    this.params = passing.params
    this.wantsProgress = ask.wantsProgress
    ask.onWithdrawn = reason => {
      if (!this.#close(undefined)) return
      this.onWithdrawn?.(reason)
    }
  }

  answer(outcome: Answer): void {
    if (!this.#close(outcome)) return
    this.#ask.answer(this.#passing.isRepaired ? answerFor(this.method, outcome) : outcome)
  }

  progress(params: JsonText): void {
    if (!this.#isOver) this.#ask.progress(params)
  }

  #close(outcome: Answer | undefined): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#passing.over(outcome)
    return true
  }
}

/** Faults that are ours to report: nobody was asked, so nobody cancelled. */
const NOT_ASKED: ReadonlySet<FaultCode> = new Set(['overloaded', 'unknown-method', 'invalid-params'])

/** What reaches the server: a person who cannot be asked any more has cancelled, and roots are files. */
const answerFor = (method: string, outcome: Answer): Answer => {
  if (outcome.kind === 'fault' && method === 'elicitation/create' && !NOT_ASKED.has(outcome.fault.code)) {
    return resulted(CANCELLED)
  }
  if (outcome.kind === 'result' && method === 'roots/list')
    return resulted(editMember(outcome.result, 'roots', fileRoots))
  return outcome
}

/**
 * Params of a model completion for a client behind which several servers stand: it sees one, us, so that "this server's
 * context" would hand one server what belongs to the others (client/sampling; architecture: servers are isolated).
 */
export const withoutContext = (params: JsonText): JsonText => {
  const context = stringOf(memberOf(params, 'includeContext'))
  return context === 'thisServer' || context === 'allServers'
    ? withoutMember(params, 'includeContext')
    : params
}

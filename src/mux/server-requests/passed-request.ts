import { Fault, type FaultCode } from '../../kernel/faults.js'
import { editMember } from '../../kernel/json/edit.js'
import { type JsonText, memberOf, rawText, stringOf, withoutMember } from '../../kernel/json/text.js'
import type { CancelReason, ServerRequest } from '../../model/links.js'
import { type Answer, failed, succeeded } from '../../model/outcome.js'
import { fileRoots, isAnswer } from '../input-required/questions.js'

const CANCELLED = rawText('{"action":"cancel"}')

export interface Passing {
  /** For the client, in place of the server's. */
  readonly params: JsonText | undefined
  /** Whether the answer goes straight to a server, which must understand it. */
  readonly isRepaired: boolean
  over(outcome: Answer | undefined): void
}

/** A server request on its way to a client: reports when it is over, and repairs the client's answer. */
export class PassedRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about = undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #request: ServerRequest
  readonly #passing: Passing
  #isOver = false

  constructor(request: ServerRequest, passing: Passing) {
    this.#request = request
    this.#passing = passing
    this.method = request.method
    this.params = passing.params
    this.wantsProgress = request.wantsProgress
    request.onWithdrawn = reason => {
      if (!this.#close(undefined)) return
      this.onWithdrawn?.(reason)
    }
  }

  answer(outcome: Answer): void {
    if (!this.#close(outcome)) return
    this.#request.answer(this.#passing.isRepaired ? answerFor(this.method, outcome) : outcome)
  }

  progress(params: JsonText): void {
    if (!this.#isOver) this.#request.progress(params)
  }

  #close(outcome: Answer | undefined): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#passing.over(outcome)
    return true
  }
}

/** Faults that mean that the user was never asked, and so did not cancel. */
const NOT_ASKED: ReadonlySet<FaultCode> = new Set(['overloaded', 'unknown-method', 'invalid-params'])

/**
 * A user who can no longer be asked counts as having cancelled; roots that are not files are left out; an
 * answer that the server could not read becomes an error.
 */
const answerFor = (method: string, outcome: Answer): Answer => {
  if (outcome.kind === 'fault' && method === 'elicitation/create' && !NOT_ASKED.has(outcome.fault.code)) {
    return succeeded(CANCELLED)
  }
  if (outcome.kind !== 'result') return outcome
  const isRoots = method === 'roots/list'
  const result = isRoots ? editMember(outcome.result, 'roots', fileRoots) : outcome.result
  if (!isAnswer(method, result))
    return failed(new Fault('internal', `The client's answer to ${method} is malformed`))
  return isRoots ? succeeded(result) : outcome
}

/** Drops `includeContext`: the client sees one server, us, and would hand it the context of others. */
export const withoutContext = (params: JsonText): JsonText => {
  const context = stringOf(memberOf(params, 'includeContext'))
  return context === 'thisServer' || context === 'allServers'
    ? withoutMember(params, 'includeContext')
    : params
}

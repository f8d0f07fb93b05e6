import { Fault, type FaultCode } from '../../kernel/faults.js'
import { editMember } from '../../kernel/json/edit.js'
import { type JsonText, kindOf, memberOf, rawText, stringOf, withoutMember } from '../../kernel/json/text.js'
import type { CancelReason, ServerRequest } from '../../model/links.js'
import { type Answer, failed, succeeded } from '../../model/outcome.js'
import { fileRoots, isAnswer } from './questions.js'

const CANCELLED = rawText('{"action":"cancel"}')

export interface Passing {
  /** Params for the client, instead of the server's. */
  readonly params: JsonText | undefined
  /** Converts the client's result for the server, where the params name things as the client knows them. */
  readonly forServer?: ((result: JsonText) => JsonText) | undefined
  /** True if the answer goes straight to a server and must be valid for it. */
  readonly isRepaired: boolean
  /** True if the client may answer with a task, whose result the server requests from it later. */
  readonly mayBeTask?: boolean
  over(outcome: Answer | undefined): void
}

/** A server request relayed to a client: reports its end, and repairs the client's answer. */
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
    const { isRepaired, forServer, mayBeTask } = this.#passing
    const isFinal = !isRepaired || (mayBeTask === true && createsTask(outcome))
    const answer = isFinal ? outcome : answerFor(this.method, outcome)
    const isConverted = forServer !== undefined && answer.kind === 'result'
    this.#request.answer(isConverted ? { ...answer, result: forServer(answer.result) } : answer)
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

/** Returns whether a client answers with a task of its own (2025-11-25, basic/utilities/tasks). */
const createsTask = (outcome: Answer): boolean => {
  const task = outcome.kind === 'result' ? memberOf(outcome.result, 'task') : undefined
  return task !== undefined && kindOf(task) === 'object'
}

/** Faults after which the user was never asked, and thus did not cancel. */
const NOT_ASKED: ReadonlySet<FaultCode> = new Set(['overloaded', 'unknown-method', 'invalid-params'])

/**
 * Converts an answer: an unreachable user counts as having cancelled, roots that are not files are left out,
 * and an invalid answer becomes an error.
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

/**
 * Drops `includeContext`: the client sees the proxy as one server, and would share the context of all
 * servers.
 */
export const withoutContext = (params: JsonText): JsonText => {
  const context = stringOf(memberOf(params, 'includeContext'))
  return context === 'thisServer' || context === 'allServers'
    ? withoutMember(params, 'includeContext')
    : params
}

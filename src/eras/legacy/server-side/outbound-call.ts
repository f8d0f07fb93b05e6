import { Fault } from '../../../kernel/faults.js'
import { mayContain } from '../../../kernel/json/edit.js'
import { EMPTY, type JsonText, kindOf, memberOf, textOf, withMember } from '../../../kernel/json/text.js'
import { plainOf } from '../../../model/content.js'
import type { CallSink, CancelReason, DownstreamCall, OnLate, Request } from '../../../model/links.js'
import { failed, type Outcome, succeeded } from '../../../model/outcome.js'
import type { Progress } from '../../../model/progress.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { repairError } from '../../../model/rpc-error.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'
import { withProgressToken } from '../../../rpc/progress-token.js'
import { withMeta } from '../../../wire/jsonrpc.js'
import { hasBecomeModern } from '../../shared/probe-verdict.js'
import { isWorthRepeating } from '../../shared/safe-methods.js'
import { EMPTY_RESULTS } from '../methods.js'
import { projectLegacyRequest } from '../project/messages.js'
import { withoutModernMeta } from '../project/meta.js'

/** The part of the connection that a request uses. */
export interface LegacyOutboundContext {
  /** The server's name. */
  readonly server: string
  readonly revision: LegacyRevision
  readonly conversation: Conversation
  /** Closes the connection to a server of another era, so that the next one detects it. */
  replaced(then: () => void): void
}

/**
 * One request in flight: receives its messages from the conversation, and can be cancelled by its caller.
 */
export class LegacyOutboundCall implements CallSink, DownstreamCall {
  readonly headers: CallSink['headers']
  id = 0
  isRepeat = false
  /** True if the server was given a progress token, which is the id. */
  readonly hasToken: boolean
  readonly #request: Request
  readonly #sink: CallSink
  readonly #context: LegacyOutboundContext
  #isOver = false
  /** A progress token lives as long as the task of its request (2025-11-25, basic/utilities/tasks). */
  #isTask = false

  constructor(request: Request, sink: CallSink, context: LegacyOutboundContext) {
    this.headers = request.headers
    this.hasToken = request.wantsProgress
    this.#request = request
    this.#sink = sink
    this.#context = context
    this.#send()
  }

  #send(): void {
    const { conversation, revision } = this.#context
    this.id = conversation.nextId()
    conversation.request(this.id, this.#request.method, paramsFor(revision, this.#request, this.id), this)
  }

  get owner(): object | undefined {
    return this.#sink.owner
  }

  progress(progress: Progress): void {
    if (!this.#isOver || this.#isTask) this.#sink.progress(progress)
  }

  ended(outcome: Outcome): void {
    if (this.#isOver) return
    if (outcome.kind === 'fault' && this.#mayRepeat(outcome.fault)) {
      this.isRepeat = true
      this.#send()
      return
    }
    this.#isOver = true
    if (outcome.kind === 'error' && hasBecomeModern(outcome.error)) {
      this.#context.replaced(() => this.#sink.ended(failed(notRun())))
      return
    }
    const decoded = this.#decoded(outcome)
    // Progress of a task goes to the call that the proxy polls it for.
    if (decoded.kind === 'task' && this.#request.task === undefined) {
      this.#isTask = true
      this.#context.conversation.keep(this.id, this)
    }
    this.#sink.ended(decoded)
  }

  cancel(reason: CancelReason, onLate?: OnLate): void {
    const { conversation } = this.#context
    if (this.#isTask || !this.#isOver) conversation.forget(this.id, this.#isOver ? undefined : onLate)
    this.#isTask = false
    if (this.#isOver) return
    this.#isOver = true
    void conversation.notify('notifications/cancelled', textOf({ requestId: this.id, reason }))
  }

  #mayRepeat(fault: Fault): boolean {
    const { hasManyConnections } = this.#context.conversation
    return hasManyConnections && !this.isRepeat && isWorthRepeating(fault, this.#request.method)
  }

  /** Converts a server's outcome to the neutral model, readable by any client. */
  #decoded(outcome: Outcome): Outcome {
    const { server, revision } = this.#context
    if (outcome.kind === 'error') {
      return { kind: 'error', error: repairError(outcome.error, server), revision, server }
    }
    if (outcome.kind !== 'result') return outcome
    const { result } = outcome
    const { method, isPassed } = this.#request
    if (isPassed === true && kindOf(result) === 'object')
      return { kind: 'result', result, passedFrom: revision }
    if (method === 'tools/call') {
      const plain = plainOf(result)
      if (plain !== undefined) return { kind: 'result', result, isPlain: true, ...plain }
      if (isTask(result)) return { kind: 'task', result }
    }
    if (kindOf(result) === 'object') return outcome
    if (EMPTY_RESULTS.has(method)) return succeeded(EMPTY)
    const reason = `Server ${server} answered ${method} with something other than an object`
    return failed(new Fault('internal', reason, { data: { server } }))
  }
}

/** Projects params for a server of `revision`, with our own progress token. */
const paramsFor = (
  revision: LegacyRevision,
  { method, params, isBare, wantsProgress, taskTtlMs, task, isPassed }: Request,
  id: number,
): JsonText | undefined => {
  const token = wantsProgress ? textOf(id) : undefined
  if (isPassed === true) return withProgressToken(params && withoutModernMeta(params), token)
  const known = isBare === true ? params : projectLegacyRequest(revision, method, params)
  const wantsTask = task !== undefined || taskTtlMs !== undefined
  // Asks for a task instead of a result (2025-11-25, basic/utilities/tasks).
  const asked = wantsTask ? withMember(known ?? EMPTY, 'task', task ?? textOf({ ttl: taskTtlMs })) : known
  if (isBare !== true || asked === undefined) return withProgressToken(asked, token)
  return wantsProgress ? withMeta(asked, textOf({ progressToken: id })) : asked
}

/**
 * Returns whether a result is a task, requested or not: SDK clients since 1.12 read it as an empty success.
 */
const isTask = (result: JsonText): boolean =>
  mayContain(result, '"task"') &&
  memberOf(result, 'content') === undefined &&
  memberOf(result, 'task') !== undefined

/** Like a lost session: a request rejected for its version was not run. */
const notRun = (): Fault => new Fault('session-lost', 'The server no longer speaks this revision')

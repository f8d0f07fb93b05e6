import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Link } from '../../kernel/linked-list.js'
import type {
  Call,
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  OnLate,
  ServerRequest,
} from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'
import type { Connection } from '../../peers/connection.js'
import { ParkedCall } from '../input-required/parked/parked-call.js'
import { whenCancelled } from './call-events.js'
import { type EarlierTry, mayTryAgain } from './earlier-try.js'

/** A request at a server, or a driver that makes several requests of one. */
export interface CallHandle extends DownstreamCall {
  isAbout?(down: DownstreamCall): boolean
  readonly taskId?: string | undefined
  /** URL elicitations that the user accepted: complete once the call has a result. */
  readonly acceptedUrls?: readonly string[]
}

/** A task that a server made of a call; nothing is asked about it until it is started. */
export interface TaskHandle extends CallHandle {
  start(): void
}

/** A client request with the server it is for. */
export interface RoutedCall {
  readonly request: Call
  /** The same, wrapped so that it can be parked if its client may get server requests in results. */
  readonly call: Call
  readonly connection: Connection
  /** Whose call it is: the same for all calls of a session; sessionless clients may be several users each. */
  readonly party: number
  /** The name in the request as the client writes it. */
  readonly exposed: string
  readonly own: string
  readonly path: readonly string[]
  /** For the server, still under the client's name. */
  readonly params: JsonText | undefined
  readonly isRetry: boolean
  totalAtMs: number
  progress: number
  earlier: EarlierTry | undefined
}

export interface InFlightCallContext {
  nowMs(): number
  /** The same where somebody counts how long servers take. */
  servedMs(): number
  /** Sends the request to the server; may throw what the link throws. */
  run(call: InFlightCall): CallHandle
  firstCalled(call: InFlightCall): void
  taskOf(call: InFlightCall, down: CallHandle | undefined, result: JsonText): TaskHandle
  /** Sends a call once more, because its server did not run it; this one is over. */
  again(call: InFlightCall): void
  forget(call: InFlightCall): void
  /** Whether a question is open that any call in flight on a connection may have caused. */
  isAsked?(connection: Connection, request: ServerRequest): boolean
  /** Keeps what must be known of a call that is cancelled at its server, until that is done with it. */
  depart?(call: InFlightCall): OnLate | undefined
  present(call: InFlightCall, outcome: Outcome): Outcome
  /** Hears how the request ended; without an outcome if it was called off. */
  served(call: InFlightCall, outcome: Outcome | undefined): void
  /**
   * Called when the client has answered all questions that were put to it on this call, the first at
   * `sinceMs`.
   */
  asked(call: InFlightCall, sinceMs: number): void
}

/**
 * How a question belongs to a call: `certain` ones end with it. One whose call is not known is put to the
 * client on its `likely` call, and any other call of that party on the connection is `possible`; it outlives
 * their results.
 */
export type Belonging = 'certain' | 'likely' | 'possible'

/** A client request that was sent to its server over one link; ended exactly once. */
export class InFlightCall implements CallSink {
  readonly call: Call
  readonly routed: RoutedCall
  readonly link: Downlink
  place: Link<InFlightCall> | undefined
  /** Its place among all calls that were sent on its connection, from 1. */
  ordinal = 0
  /** When it was sent. */
  sentMs = 0
  /** When its server was done with it, where somebody counts that: presenting a result is our time. */
  servedMs = 0
  readonly #context: InFlightCallContext
  #questions: Map<ServerRequest, Belonging> | undefined
  #askedAtMs = 0
  #wasAsked = false
  /** Set when it was cancelled at its server. */
  #onLate: OnLate | undefined
  #down: CallHandle | undefined
  #isOver = false
  #silenceMs = Number.POSITIVE_INFINITY
  #idleAtMs = Number.POSITIVE_INFINITY

  constructor(routed: RoutedCall, link: Downlink, context: InFlightCallContext) {
    this.call = routed.call
    this.routed = routed
    this.link = link
    this.#context = context
    // A literal assigned to `onCancel` would be allocated in V8's old space, and keep the call for long.
    whenCancelled(routed.call, reason => this.#cancelled(reason))
  }

  get connection(): Connection {
    return this.routed.connection
  }

  get party(): number {
    return this.routed.party
  }

  get owner(): this {
    return this
  }

  get isRunning(): boolean {
    return !this.#isOver && this.#down !== undefined
  }

  isAbout(down: DownstreamCall): boolean {
    return this.#down === down || this.#down?.isAbout?.(down) === true
  }

  get taskId(): string | undefined {
    return this.#down?.taskId
  }

  /** The call as one that can be parked, if its client may get server requests in results. */
  get parked(): ParkedCall | undefined {
    return this.call instanceof ParkedCall ? this.call : undefined
  }

  /** Whether a question is open that may belong to this call. */
  get hasQuestions(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0
  }

  start(): void {
    this.sentMs = this.#context.nowMs()
    this.routed.request.sentMs = this.sentMs
    this.#silenceMs = silenceMs(this.routed)
    this.#idleAtMs = this.sentMs + this.#silenceMs
    try {
      const isFirst = this.connection.carry()
      const down = this.#context.run(this)
      this.#down ??= down
      if (isFirst) this.#context.firstCalled(this)
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  /** Notes a server request that may belong to this call: silence does not count while a user answers. */
  serverRequested(request: ServerRequest, belonging: Belonging = 'certain'): void {
    this.#questions ??= new Map()
    if (this.#questions.size === 0) {
      this.#askedAtMs = this.#context.nowMs()
      this.#wasAsked = false
    }
    if (belonging !== 'possible') this.#wasAsked = true
    this.#questions.set(request, belonging)
  }

  isAsked(request: ServerRequest): boolean {
    return this.#questions?.has(request) === true
  }

  answered(request: ServerRequest): void {
    if (this.#questions?.delete(request) !== true) return
    if (this.#questions.size === 0) {
      if (this.#wasAsked) this.#context.asked(this, this.#askedAtMs)
      if (this.#isPatient) this.routed.totalAtMs += this.#context.nowMs() - this.#askedAtMs
    }
    this.stillAlive()
  }

  /** Restarts the idle timeout: the server has sent something about the call. */
  stillAlive(): void {
    this.#idleAtMs = this.#context.nowMs() + this.#silenceMs
  }

  /** Ends the call if it has taken too long; called periodically. */
  checkTime(nowMs: number): void {
    const isIdle = nowMs >= this.#idleAtMs && !this.hasQuestions
    const isTooLong = nowMs >= this.routed.totalAtMs && !(this.hasQuestions && this.#isPatient)
    if (this.#isOver || (!isIdle && !isTooLong)) return
    this.#onLate = this.#context.depart?.(this)
    this.#down?.cancel('timed out', this.#onLate)
    this.#finish(failed(timedOut(this.connection)), true)
  }

  progress(progress: Progress): void {
    if (this.#isOver) return
    this.stillAlive()
    // It must increase (utilities/progress), whatever the server does.
    const { value } = progress
    if (value === undefined || value <= this.routed.progress) return
    this.routed.progress = value
    this.call.progress(progress)
  }

  ended(outcome: Outcome): void {
    if (outcome.kind === 'task' && this.link.mayReturnTasks) {
      this.#follow(outcome.result)
      return
    }
    if (this.#isOver) {
      this.#onLate?.()
      return
    }
    const { routed } = this
    // One more attempt is enough.
    if (routed.earlier !== undefined || !mayTryAgain(outcome)) {
      this.#finish(outcome)
      return
    }
    routed.earlier = { fault: outcome.fault, link: this.link, hasAnswers: routed.isRetry }
    this.#end()
    this.#context.served(this, outcome)
    this.#context.again(this)
  }

  /** Follows the task that the server made of the call; cancels one that nobody waits for any more. */
  #follow(result: JsonText): void {
    const task = this.#context.taskOf(this, this.#down, result)
    this.#down = task
    if (this.#isOver) task.cancel('nobody waits for it', this.#onLate)
    else task.start()
  }

  /** Whether waiting for answers has a limit of its own: the server does not keep its requests open. */
  get #isPatient(): boolean {
    return this.link.serverRequests === 'returned' || this.parked !== undefined
  }

  #cancelled(reason: CancelReason): void {
    if (this.#isOver) return
    this.#end()
    this.#context.served(this, undefined)
    if (this.#down !== undefined) this.#onLate = this.#context.depart?.(this)
    this.#context.forget(this)
    // Before its requests are answered: the server must not take those answers for real ones and go on.
    this.#down?.cancel(reason, this.#onLate)
    this.#endQuestions()
  }

  #finish(outcome: Outcome, isTimedOut = false): void {
    if (this.#isOver) return
    this.#end()
    if (outcome.kind !== 'fault') this.connection.served()
    this.#context.forget(this)
    this.#endQuestions(isTimedOut)
    const presented = this.#presented(outcome)
    // Only what is presented tells whether a tool says that it failed.
    this.#context.served(this, outcome.kind === 'result' ? presented : outcome)
    this.call.end(presented)
  }

  #end(): void {
    this.#isOver = true
    this.servedMs = this.#context.servedMs()
  }

  /**
   * Ends the server requests that certainly belong to a call that is over. One that timed out takes those
   * along that can belong to no other call: its tool must not act on an answer after its client was told of a
   * failure.
   */
  #endQuestions(isTimedOut = false): void {
    if (this.#questions === undefined) return
    for (const [request, belonging] of this.#questions) {
      const isLast = isTimedOut && this.#context.isAsked?.(this.connection, request) === false
      if (belonging !== 'certain' && !isLast) continue
      request.onWithdrawn?.('the request that it belongs to is over')
      request.answer(failed(new Fault('cancelled', 'The request that this question belongs to is over')))
    }
    this.#questions.clear()
  }

  /** Converts an outcome; the client gets the failure if that fails. */
  #presented(outcome: Outcome): Outcome {
    if (outcome.kind === 'fault') return failed(aboutServer(outcome.fault, this.connection))
    try {
      return this.#context.present(this, outcome)
    } catch (thrown) {
      return failed(aboutServer(Fault.from(thrown), this.connection))
    }
  }
}

/** The longest silence of a server during a call. */
const silenceMs = ({ call, connection, own }: RoutedCall): number => {
  const { callMs, toolMs } = connection.server.timeouts
  return (call.method === 'tools/call' ? toolMs?.(own) : undefined) ?? callMs
}

/** Adds to a fault which server it is about and, if the server was lost, when to try again. */
export const aboutServer = (fault: Fault, { server, retryAfterLossMs }: Connection): Fault => {
  const retryAfterMs = fault.code === 'disconnected' ? retryAfterLossMs : undefined
  return fault.about(server.name, retryAfterMs === undefined ? {} : { retryAfterMs })
}

export const timedOut = ({ server: { name } }: Connection): Fault =>
  new Fault('timeout', `Timed out waiting for server ${name}`, { data: { server: name } })

import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import {
  type CallSink,
  type CancelReason,
  type Downlink,
  type DownstreamCall,
  LISTEN,
  type OnLate,
  type ServerRequest,
} from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'
import type { Connection } from '../../peers/connection.js'
import { ParkedCall } from '../input-required/parked/parked-call.js'
import type { CallRecord, ClientSide, RoutedRecord } from './call-record.js'
import type { DepartedCall } from './departed-calls.js'
import { mayTryAgain } from './earlier-try.js'
import type { Place } from './party-list.js'

/** A request at a server, or a driver that makes several requests of one. */
export interface CallHandle extends DownstreamCall {
  isAbout?(down: DownstreamCall): boolean
  readonly taskId?: string | undefined
  /** URL elicitations that the user accepted: complete once the call has a result. */
  readonly acceptedUrls?: readonly string[]
}

/** A task that a server created for a call; polling begins with `start`. */
export interface TaskHandle extends CallHandle {
  start(): void
}

/** Counts requests at servers; without an outcome, as cancelled. */
interface AttemptMeter {
  served(record: CallRecord, server: string, outcome: Outcome | undefined, ms: number): void
  waited(reason: 'asked', ms: number): void
}

export interface InFlightCallContext {
  readonly clock: Pick<Clock, 'nowMs'>
  /** The table of the calls in flight. */
  readonly calls: {
    remove(call: InFlightCall): void
    /** Keeps the data of a call cancelled at its server, until the server is done with it. */
    depart(call: InFlightCall): DepartedCall | undefined
    /** Returns whether a question is open that any call in flight on a connection may have caused. */
    isAsked(connection: Connection, request: ServerRequest): boolean
  }
  readonly presenter: { present(call: InFlightCall, outcome: Outcome): Outcome }
  /** Undefined without metering. */
  readonly meter?: AttemptMeter | undefined
  /** Sends the request to the server; throws the errors of the link. */
  run(call: InFlightCall): CallHandle
  firstCalled(call: InFlightCall): void
  taskOf(call: InFlightCall, down: CallHandle | undefined, result: JsonText): TaskHandle
  /** Sends a call again that its server did not run; this one is over. */
  again(call: InFlightCall): void
}

/**
 * How a question belongs to a call: `certain` ones end with it. A question of unknown origin is asked on its
 * `likely` call; any other call of that party on the connection is `possible`, and the question outlives
 * their results.
 */
export type Belonging = 'certain' | 'likely' | 'possible'

/** A client request that was sent to its server over one link; ended exactly once. */
export class InFlightCall implements CallSink {
  readonly call: ClientSide
  readonly record: RoutedRecord
  readonly connection: Connection
  readonly link: Downlink
  place: Place<InFlightCall> | undefined
  /** Number of the call among all calls sent on its connection, from 1. */
  ordinal = 0
  sentMs = 0
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

  constructor(record: RoutedRecord, link: Downlink, context: InFlightCallContext) {
    this.call = record.front
    this.record = record
    this.connection = record.connection
    this.link = link
    this.#context = context
    this.call.onCancelled(reason => this.#cancelled(reason))
  }

  get party(): number {
    return this.record.party
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

  /** The server's id of the task that it creates, or whose result it waits for. */
  get taskId(): string | undefined {
    const { isPassed, method, ownName, params } = this.record
    if (method !== 'tasks/result') return this.#down?.taskId
    return isPassed ? params && textMember(params, 'taskId') : ownName
  }

  /** The call as a parkable one, if its client may get server requests in results. */
  get parked(): ParkedCall | undefined {
    return this.call instanceof ParkedCall ? this.call : undefined
  }

  /** True if a question is open that may belong to this call. */
  get hasQuestions(): boolean {
    return this.#questions !== undefined && this.#questions.size > 0
  }

  start(): void {
    this.sentMs = this.#context.clock.nowMs()
    this.record.sentMs = this.sentMs
    this.#silenceMs = silenceMs(this.record)
    this.#idleAtMs = this.sentMs + this.#silenceMs
    try {
      const isFirst = !this.connection.hasCarried
      this.connection.hasCarried = true
      const down = this.#context.run(this)
      this.#down ??= down
      if (isFirst) this.#context.firstCalled(this)
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  /** Records a server request that may belong to this call: the idle timeout pauses while a user answers. */
  serverRequested(request: ServerRequest, belonging: Belonging = 'certain'): void {
    this.#questions ??= new Map()
    if (this.#questions.size === 0) {
      this.#askedAtMs = this.#context.clock.nowMs()
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
      if (this.#wasAsked) this.#asked()
      if (this.#isPatient) this.record.totalAtMs += this.#context.clock.nowMs() - this.#askedAtMs
    }
    this.stillAlive()
  }

  /** Restarts the idle timeout after a message of the server about the call. */
  stillAlive(): void {
    this.#idleAtMs = this.#context.clock.nowMs() + this.#silenceMs
  }

  /** Ends the call if it exceeded a time limit; called periodically. */
  checkTime(nowMs: number): void {
    const isIdle = nowMs >= this.#idleAtMs && !this.hasQuestions
    const isTooLong = nowMs >= this.record.totalAtMs && !(this.hasQuestions && this.#isPatient)
    if (this.#isOver || (!isIdle && !isTooLong)) return
    this.#depart()
    this.#down?.cancel('timed out', this.#onLate)
    this.#finish(failed(timedOut(this.connection)), true)
  }

  /** Passes an unknown notification about the call, which may be a subscription: it has no limit then. */
  passNotification(method: string, params: JsonText | undefined): void {
    if (this.#isOver) return
    this.stillAlive()
    this.record.totalAtMs = Number.POSITIVE_INFINITY
    this.record.call.pass?.(method, params, this.#down?.id)
  }

  progress(progress: Progress): void {
    if (this.#isOver) return
    this.stillAlive()
    // Progress must increase (utilities/progress), even if the server violates that.
    const { value } = progress
    if (value === undefined || value <= this.record.progressed) return
    this.record.progressed = value
    this.call.progress(progress)
  }

  ended(outcome: Outcome): void {
    // A task of a client that follows it is its outcome; a cancelled client's task is cancelled too.
    const { isAboutTask, followsTask } = this.record
    const isFollowed = isAboutTask || (followsTask && !this.#isOver)
    if (outcome.kind === 'task' && this.link.mayReturnTasks && !isFollowed) {
      this.#follow(outcome.result)
      return
    }
    if (this.#isOver) {
      this.#onLate?.()
      return
    }
    const { record } = this
    // At most one more attempt; an approval lets one request through.
    if (outcome.kind !== 'fault' || record.earlier || record.approval || !mayTryAgain(outcome.fault)) {
      this.#finish(outcome)
      return
    }
    record.earlier = { fault: outcome.fault, link: this.link, hasAnswers: record.retry !== undefined }
    this.#isOver = true
    this.#served(outcome)
    this.#context.again(this)
  }

  /** Follows the task that the server created for the call; cancels it if the client no longer waits. */
  #follow(result: JsonText): void {
    const task = this.#context.taskOf(this, this.#down, result)
    this.#down = task
    if (this.#isOver) task.cancel('the client no longer waits for it', this.#onLate)
    else task.start()
  }

  /** True if waiting for answers has a limit of its own, because the server keeps no request open. */
  get #isPatient(): boolean {
    return this.link.serverRequests === 'returned' || this.parked !== undefined
  }

  #cancelled(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#served(undefined)
    if (this.#down !== undefined) this.#depart()
    this.#context.calls.remove(this)
    this.record.turn?.leave()
    // Cancels before its requests are answered: the server must not mistake those answers for real ones.
    this.#down?.cancel(reason, this.#onLate)
    this.#endQuestions()
  }

  #finish(outcome: Outcome, isTimedOut = false): void {
    if (this.#isOver) return
    this.#isOver = true
    // Presenting the result is the proxy's own time.
    const nowMs = this.#context.clock.nowMs()
    if (outcome.kind !== 'fault') this.connection.served()
    this.#context.calls.remove(this)
    this.record.turn?.leave()
    if (this.#questions !== undefined) this.#endQuestions(isTimedOut)
    const presented = this.#presented(outcome)
    // Only the presented result shows whether a tool reported an error.
    this.#served(outcome.kind === 'result' ? presented : outcome, nowMs)
    this.call.end(presented)
  }

  /** Keeps the turn of a call cancelled at its server until the server is done with it. */
  #depart(): void {
    const departed = this.#context.calls.depart(this)
    if (departed !== undefined) this.record.turn?.depart(departed)
    this.#onLate = departed?.over
  }

  /** Counts the request at the server; without an outcome, it was cancelled. */
  #served(outcome: Outcome | undefined, nowMs = this.#context.clock.nowMs()): void {
    const { record, connection } = this
    record.trace?.answered(outcome)
    this.#context.meter?.served(record, connection.server.name, outcome, nowMs - this.sentMs)
  }

  /** Counts the time for which the client was asked. */
  #asked(): void {
    this.record.trace?.waited('asked', this.#askedAtMs)
    this.#context.meter?.waited('asked', this.#context.clock.nowMs() - this.#askedAtMs)
  }

  /**
   * Ends the server requests that certainly belong to a finished call. A timed-out call also ends those that
   * can belong to no other call: its tool must not act on an answer after its client received an error.
   */
  #endQuestions(isTimedOut = false): void {
    if (this.#questions === undefined) return
    for (const [request, belonging] of this.#questions) {
      const isLast = isTimedOut && !this.#context.calls.isAsked(this.connection, request)
      if (belonging !== 'certain' && !isLast) continue
      request.onWithdrawn?.('the request that it belongs to is over')
      request.answer(failed(new Fault('cancelled', 'The request that this question belongs to is over')))
    }
    this.#questions.clear()
  }

  /** Converts an outcome; a failed conversion becomes the outcome. */
  #presented(outcome: Outcome): Outcome {
    if (outcome.kind === 'fault') return failed(aboutServer(outcome.fault, this.connection))
    try {
      return this.#context.presenter.present(this, outcome)
    } catch (thrown) {
      return failed(aboutServer(Fault.from(thrown), this.connection))
    }
  }
}

/** Returns the maximum silence of a server during a call. */
const silenceMs = ({ method, isPassed, connection, ownName }: RoutedRecord): number => {
  if (isPassed && method === LISTEN) return Number.POSITIVE_INFINITY
  const { callMs, toolMs } = connection.server.timeouts
  return (method === 'tools/call' ? toolMs?.(ownName) : undefined) ?? callMs
}

/** Adds the server's name to a fault and, if the server was lost, the time of the next attempt. */
export const aboutServer = (fault: Fault, { server, retryAfterLossMs }: Connection): Fault => {
  const retryAfterMs = fault.code === 'disconnected' ? retryAfterLossMs : undefined
  return fault.about(server.name, retryAfterMs === undefined ? {} : { retryAfterMs })
}

export const timedOut = ({ server: { name } }: Connection): Fault =>
  new Fault('timeout', `Timed out waiting for server ${name}`, { data: { server: name } })

import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Link } from '../../kernel/linked-list.js'
import type {
  Call,
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  ServerRequest,
} from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import { newClientId } from '../../model/peer.js'
import type { Progress } from '../../model/progress.js'
import type { Connection } from '../../peers/connection.js'
import { ParkedCall } from '../input-required/parked/parked-call.js'
import { whenCancelled } from './call-events.js'
import { EarlierTry } from './earlier-try.js'

/** A request at a server, or a driver that makes several requests of one. */
export interface CallHandle extends DownstreamCall {
  /** Whether this request at the server is part of it. */
  isAbout?(down: DownstreamCall): boolean
  /** The id of the task that the server made of it. */
  readonly taskId?: string | undefined
}

/** A client request with the server's own name for what it names. */
export interface RoutedCall {
  /** The request as its client made it. */
  readonly request: Call
  /** The name in the request as the client writes it, and as the server does. */
  readonly exposed: string
  readonly own: string
  /** The path to the name in `params`. */
  readonly path: readonly string[]
  /** For the server, still under the client's name. */
  readonly params: JsonText | undefined
  /** Whether the client made the request before. */
  readonly isRetry: boolean
}

/** What an in-flight call depends on. */
export interface InFlightCallContext {
  nowMs(): number
  /** Prepares the server once there is a link; undefined if there is nothing to wait for. Never rejects. */
  prepare(call: InFlightCall): Promise<unknown> | undefined
  /** Sends the request to the server; may throw what the link throws. */
  run(call: InFlightCall, link: Downlink): CallHandle
  /** Called after the first call over a link was sent. */
  firstCalled(call: InFlightCall): void
  /** Called when the call is over. */
  forget(call: InFlightCall): void
  /** Converts a server's outcome for the client. */
  present(call: InFlightCall, outcome: Outcome): Outcome
}

/** A client request in flight at one server: bound to both hops, ended exactly once. */
export class InFlightCall implements CallSink {
  readonly call: Call
  readonly connection: Connection
  readonly routed: RoutedCall
  /**
   * Identifies the user it is for: all calls of a session have the same. A sessionless client may be several users who describe
   * themselves alike, so each of its calls has a party of its own.
   */
  readonly party: number
  /** Its position among the calls of its connection. */
  place: Link<InFlightCall> | undefined
  readonly #context: InFlightCallContext
  /** Server requests that belong to this call and wait for the client. */
  #serverRequests: Set<ServerRequest> | undefined
  #askedAtMs = 0
  #down: CallHandle | undefined
  /** The link it was sent over. */
  #link: Downlink | undefined
  #progress = Number.NEGATIVE_INFINITY
  #isOver = false
  #earlier: EarlierTry | undefined
  /** Infinite until the request was sent: before that the server is not silent about it. */
  #idleAtMs = Number.POSITIVE_INFINITY
  #totalAtMs: number

  constructor(call: Call, connection: Connection, errand: RoutedCall, context: InFlightCallContext) {
    this.call = call
    this.connection = connection
    this.routed = errand
    this.#context = context
    this.party = call.client.serverRequests === 'pushed' ? call.client.id : newClientId()
    this.#totalAtMs = context.nowMs() + connection.server.timeouts.totalMs
    // Not assigned to `onCancel` as a literal: V8 allocates a function literal that is assigned to a property in old space
    // (src/parsing/parser-base.h, `CheckAssigningFunctionLiteralToProperty`), which would keep the call until a full collection.
    whenCancelled(call, reason => this.#cancelled(reason))
  }

  /** Whether the client still waits and the server works on it. */
  get isRunning(): boolean {
    return !this.#isOver && this.#down !== undefined
  }

  /** Whether a request at the server is this call's, or one of this call's. */
  isAbout(down: DownstreamCall): boolean {
    return this.#down === down || this.#down?.isAbout?.(down) === true
  }

  /** The server's name for the task that it made of this call. */
  get taskId(): string | undefined {
    return this.#down?.taskId
  }

  /** The call as one that can be parked, if its client gets server requests in results. */
  get parked(): ParkedCall | undefined {
    return this.call instanceof ParkedCall ? this.call : undefined
  }

  /** Whether the server waits for an answer of its client, which has no request open meanwhile and may never come back. */
  get isWaiting(): boolean {
    return this.parked?.at === 'parked' && this.#serverRequests !== undefined && this.#serverRequests.size > 0
  }

  /** Sends the request, at once if the server is connected, else when it is. */
  start(): void {
    const { link } = this.connection
    if (link !== undefined) this.#prepare(link)
    else this.#open(this.connection.open())
  }

  /** Notes a server request that belongs to this call. A user may take long to answer, so silence does not count meanwhile. */
  serverRequested(request: ServerRequest): void {
    this.#serverRequests ??= new Set()
    if (this.#serverRequests.size === 0) this.#askedAtMs = this.#context.nowMs()
    this.#serverRequests.add(request)
  }

  answered(request: ServerRequest): void {
    if (this.#serverRequests?.delete(request) !== true) return
    if (this.#serverRequests.size === 0 && this.#isPatient)
      this.#totalAtMs += this.#context.nowMs() - this.#askedAtMs
    this.stillAlive()
  }

  /** Restarts the idle timeout: the server has sent something about the call. */
  stillAlive(): void {
    this.#idleAtMs = this.#context.nowMs() + this.connection.server.timeouts.callMs
  }

  /** Ends the call if it has taken too long; called periodically. */
  checkTime(nowMs: number): void {
    const isWaiting = this.#serverRequests !== undefined && this.#serverRequests.size > 0
    const isIdle = nowMs >= this.#idleAtMs && !isWaiting
    const isTooLong = nowMs >= this.#totalAtMs && !(isWaiting && this.#isPatient)
    if (this.#isOver || (!isIdle && !isTooLong)) return
    const { name } = this.connection.server
    this.#down?.cancel('timed out')
    this.#finish(
      failed(new Fault('timeout', `Timed out waiting for server ${name}`, { data: { server: name } })),
    )
  }

  // ── server side ──

  progress(progress: Progress): void {
    if (this.#isOver) return
    this.stillAlive()
    // The value must increase (utilities/progress); what does not is dropped here, whatever the server does.
    const { value } = progress
    if (value === undefined || value <= this.#progress) return
    this.#progress = value
    this.call.progress(progress)
  }

  ended(outcome: Outcome): void {
    if (this.#isOver) return
    // One more attempt is enough.
    const link = this.#earlier === undefined ? this.#link : undefined
    const tried = link && EarlierTry.of(outcome, link, this.routed.isRetry)
    if (tried === undefined) {
      this.#finish(outcome)
      return
    }
    this.#earlier = tried
    this.#down = undefined
    this.#again()
  }

  #open(opening: Promise<Downlink>): void {
    opening.then(
      opened => this.#prepare(opened),
      (thrown: unknown) => {
        const why = Fault.from(thrown)
        this.#finish(failed(this.#earlier?.unsent(why) ?? why))
      },
    )
  }

  #prepare(link: Downlink): void {
    const prepared = this.#isOver ? undefined : this.#context.prepare(this)
    if (prepared === undefined) this.#send(link)
    else void prepared.then(() => this.#send(link))
  }

  #send(link: Downlink): void {
    if (this.#isOver) return
    const { connection } = this
    // A call that was never sent can go over the next link.
    if (!connection.isOpen(link)) {
      this.#again()
      return
    }
    const fault = this.#earlier?.errorOver(link)
    if (fault !== undefined) {
      this.#finish(failed(fault))
      return
    }
    this.stillAlive()
    try {
      const isFirst = connection.carry()
      this.#link = link
      this.#down = this.#context.run(this, link)
      if (isFirst) this.#context.firstCalled(this)
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  /** Sends the call over a new link: it was never sent, or its server did not run it. */
  #again(): void {
    const { connection, routed } = this
    const { link } = connection
    this.#idleAtMs = Number.POSITIVE_INFINITY
    if (!connection.clients.has(routed.request.client))
      this.#finish(failed(new Fault('unavailable', 'it cannot be shared any more; try again')))
    else if (link !== undefined) this.#prepare(link)
    else this.#open(connection.reopen())
  }

  /** Whether the server returns its requests in results, so that the proxy asks the client. */
  get #isDriven(): boolean {
    return this.#link?.serverRequests === 'returned'
  }

  /** Whether waiting for answers has a limit of its own, because it is not the server that keeps its requests open. */
  get #isPatient(): boolean {
    return this.#isDriven || this.parked !== undefined
  }

  #cancelled(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.forget(this)
    // Cancelled before its requests are answered: the server must not take those answers for real ones and go on.
    this.#down?.cancel(reason)
    this.#endQuestions()
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    if (outcome.kind !== 'fault') this.connection.served()
    this.#context.forget(this)
    this.#endQuestions()
    this.call.end(this.#presented(outcome))
  }

  /** Ends the server requests of a call that is over: the client is told to stop, the server gets an error. */
  #endQuestions(): void {
    if (this.#serverRequests === undefined) return
    for (const request of this.#serverRequests) {
      request.onWithdrawn?.('the request that it belongs to is over')
      request.answer(failed(new Fault('cancelled', 'The request that this question belongs to is over')))
    }
    this.#serverRequests.clear()
  }

  /** Converts an outcome; if that fails, the client gets the failure, so that it never waits for ever. */
  #presented(outcome: Outcome): Outcome {
    if (outcome.kind === 'fault') return failed(this.#named(outcome.fault))
    try {
      return this.#context.present(this, outcome)
    } catch (thrown) {
      return failed(this.#named(Fault.from(thrown)))
    }
  }

  /** Adds to a fault which server it is about and, if the server was lost, when to try again. */
  #named(fault: Fault): Fault {
    const { server, retryAfterLossMs } = this.connection
    const retryAfterMs = fault.code === 'disconnected' ? retryAfterLossMs : undefined
    return fault.about(server.name, retryAfterMs === undefined ? {} : { retryAfterMs })
  }
}

import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Link } from '../../kernel/linked-list.js'
import { newClientId } from '../../model/client-ids.js'
import type {
  Call,
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  ServerRequest,
} from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'
import type { Connection } from '../../peers/connection.js'
import { ParkedCall } from '../input-required/parked/parked-call.js'
import { whenCancelled } from './call-events.js'
import { EarlierTry } from './earlier-try.js'

/** A request at a server, or what makes several of one. */
export interface CallHandle extends DownstreamCall {
  /** Whether another request at the server is part of it. */
  isAbout?(down: DownstreamCall): boolean
  /** The server's name for the task that it made of it. */
  readonly taskId?: string | undefined
}

/** What a live call does at its server. */
export interface RoutedCall {
  /** The request as its client made it. */
  readonly request: Call
  /** What it names, as the client calls it, and as the server does. */
  readonly exposed: string
  readonly own: string
  /** Where in `params` that stands. */
  readonly path: readonly string[]
  /** For the server, still under the client's name. */
  readonly params: JsonText | undefined
  /** Whether the client made the request before. */
  readonly isRetry: boolean
}

/** What a live call needs of its surroundings. */
export interface InFlightCallContext {
  nowMs(): number
  /** Before the request is sent, over a link that is there; undefined if there is nothing to wait for. Never rejects. */
  prepare(call: InFlightCall): Promise<unknown> | undefined
  /** Makes the request at its server; may throw what the link throws. */
  run(call: InFlightCall, link: Downlink): CallHandle
  /** It is the first one over its link. */
  firstCalled(call: InFlightCall): void
  /** The call is over and must be forgotten. */
  forget(call: InFlightCall): void
  /** Writes a server's own outcome for clients. */
  present(call: InFlightCall, outcome: Outcome): Outcome
}

/** One request of a client on its way through one server: bound to both hops, ended exactly once. */
export class InFlightCall implements CallSink {
  readonly call: Call
  readonly connection: Connection
  readonly routed: RoutedCall
  /**
   * Whose it is: a session has all of its calls. A client whose requests stand for themselves may be several people who say the same
   * about themselves, so that each of its calls is somebody's of its own.
   */
  readonly party: number
  /** Where it stands among the calls of its connection. */
  place: Link<InFlightCall> | undefined
  readonly #context: InFlightCallContext
  /** Questions of the server that belong to this call and wait for the client. */
  #asks: Set<ServerRequest> | undefined
  #askedAtMs = 0
  #down: CallHandle | undefined
  /** Over which it was sent. */
  #link: Downlink | undefined
  #progress = Number.NEGATIVE_INFINITY
  #isOver = false
  #earlier: EarlierTry | undefined
  /** The server is silent only about what it was sent. */
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

  /** Whether this is the request, or one of the requests, that the transport says something is about. */
  isAbout(down: DownstreamCall): boolean {
    return this.#down === down || this.#down?.isAbout?.(down) === true
  }

  /** The server's name for the task that it made of this call. */
  get taskId(): string | undefined {
    return this.#down?.taskId
  }

  /** What stands in for a client that is asked by answers to its requests. */
  get park(): ParkedCall | undefined {
    return this.call instanceof ParkedCall ? this.call : undefined
  }

  /** Whether the server waits for an answer of its client, which has no request open meanwhile and may never come back. */
  get isWaiting(): boolean {
    return this.park?.at === 'parked' && this.#asks !== undefined && this.#asks.size > 0
  }

  /** Sends the request, at once if the server is there, else when it is. */
  start(): void {
    const { link } = this.connection
    if (link !== undefined) this.#prepare(link)
    else this.#open(this.connection.open())
  }

  /** The server asks something in the course of this call: a person may take long, so silence does not count. */
  serverRequested(ask: ServerRequest): void {
    this.#asks ??= new Set()
    if (this.#asks.size === 0) this.#askedAtMs = this.#context.nowMs()
    this.#asks.add(ask)
  }

  answered(ask: ServerRequest): void {
    if (this.#asks?.delete(ask) !== true) return
    if (this.#asks.size === 0 && this.#isPatient) this.#totalAtMs += this.#context.nowMs() - this.#askedAtMs
    this.stillAlive()
  }

  /** The server has said something about it: silence counts anew. */
  stillAlive(): void {
    this.#idleAtMs = this.#context.nowMs() + this.connection.server.timeouts.callMs
  }

  /** Ends the call if it took too long; told now and then. */
  checkTime(nowMs: number): void {
    const isWaiting = this.#asks !== undefined && this.#asks.size > 0
    const isIdle = nowMs >= this.#idleAtMs && !isWaiting
    const isTooLong = nowMs >= this.#totalAtMs && !(isWaiting && this.#isPatient)
    if (this.#isOver || (!isIdle && !isTooLong)) return
    const { name } = this.connection.server
    this.#down?.cancel('timed out')
    this.#finish(
      failed(new Fault('timeout', `Timed out waiting for server ${name}`, { data: { server: name } })),
    )
  }

  // ── what the server says ──

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
    // Once is enough: a server that does it again does something else.
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
    // A call that was never sent is not lost with the server.
    if (!connection.isOpen(link)) {
      this.#again()
      return
    }
    const refusal = this.#earlier?.refusal(link)
    if (refusal !== undefined) {
      this.#finish(failed(refusal))
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

  /** Over a new link: it was never sent, or its server has not run it. */
  #again(): void {
    const { connection, routed } = this
    const { link } = connection
    this.#idleAtMs = Number.POSITIVE_INFINITY
    if (!connection.clients.has(routed.request.client))
      this.#finish(failed(new Fault('unavailable', 'it cannot be shared any more; try again')))
    else if (link !== undefined) this.#prepare(link)
    else this.#open(connection.reopen())
  }

  /** Whether questions come back in the server's answers, so that the client is asked by us. */
  get #isDriven(): boolean {
    return this.#link?.serverRequests === 'returned'
  }

  /** The time for questions has a limit of its own, where it is not the server that keeps them open. */
  get #isPatient(): boolean {
    return this.#isDriven || this.park !== undefined
  }

  #cancelled(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#context.forget(this)
    // Before its questions end: whoever asked them must not take that for answers, and go on.
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

  /** A question outlives neither its call nor its answer: the client is told to stop, the server gets an error. */
  #endQuestions(): void {
    if (this.#asks === undefined) return
    for (const ask of this.#asks) {
      ask.onWithdrawn?.('the request that it belongs to is over')
      ask.answer(failed(new Fault('cancelled', 'The request that this question belongs to is over')))
    }
    this.#asks.clear()
  }

  /** Whatever goes wrong with an answer is an answer too: the client must not wait for ever. */
  #presented(outcome: Outcome): Outcome {
    if (outcome.kind === 'fault') return failed(this.#named(outcome.fault))
    try {
      return this.#context.present(this, outcome)
    } catch (thrown) {
      return failed(this.#named(Fault.from(thrown)))
    }
  }

  /** Our own words about a server always say which one, and when it can be asked again if it was lost. */
  #named(fault: Fault): Fault {
    const { server, retryAfterLossMs } = this.connection
    const retryAfterMs = fault.code === 'disconnected' ? retryAfterLossMs : undefined
    return fault.about(server.name, retryAfterMs === undefined ? {} : { retryAfterMs })
  }
}

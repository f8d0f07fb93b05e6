import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, valueOf } from '../kernel/json-text.js'
import type { Ask, Call, CallSink, CancelReason, DownCall, Downlink, Request } from '../model/links.js'
import { failed, type Outcome } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'

/** What a live call needs of its surroundings. */
export interface LiveCallContext {
  nowMs(): number
  /** The call is over and must be forgotten. */
  forget(call: LiveCall): void
  /** Writes a server's own outcome for clients. */
  present(call: LiveCall, outcome: Outcome): Outcome
}

/** One request of a client on its way through one server: bound to both hops, ended exactly once. */
export class LiveCall implements CallSink {
  readonly call: Call
  readonly connection: Connection
  readonly #request: Request
  readonly #context: LiveCallContext
  /** Questions of the server that belong to this call and wait for the client. */
  readonly #asks = new Set<Ask>()
  #down: DownCall | undefined
  #progress = Number.NEGATIVE_INFINITY
  #isOver = false
  #wasResent = false
  #idleAtMs: number
  readonly #totalAtMs: number

  constructor(call: Call, connection: Connection, request: Request, context: LiveCallContext) {
    this.call = call
    this.connection = connection
    this.#request = request
    this.#context = context
    const nowMs = context.nowMs()
    this.#idleAtMs = nowMs + connection.server.timeouts.callMs
    this.#totalAtMs = nowMs + connection.server.timeouts.totalMs
    call.onCancel = reason => this.#cancelled(reason)
  }

  /** Whether the client still waits and the server works on it. */
  get isRunning(): boolean {
    return !this.#isOver && this.#down !== undefined
  }

  /** The request at the server, by which the transport says what a question is about. */
  get down(): DownCall | undefined {
    return this.#down
  }

  /** Sends the request, at once if the server is there, else when it is. */
  start(): void {
    const { link } = this.connection
    if (link !== undefined) {
      this.#send(link)
      return
    }
    this.connection.open().then(
      opened => this.#send(opened),
      (thrown: unknown) => this.#finish(failed(Fault.from(thrown))),
    )
  }

  /** The server asks something in the course of this call: a person may take long, so silence does not count. */
  asking(ask: Ask): void {
    this.#asks.add(ask)
  }

  answered(ask: Ask): void {
    this.#asks.delete(ask)
    this.#stillAlive()
  }

  /** Ends the call if it took too long; told now and then. */
  checkTime(nowMs: number): void {
    const isIdle = nowMs >= this.#idleAtMs && this.#asks.size === 0
    if (this.#isOver || (!isIdle && nowMs < this.#totalAtMs)) return
    const { name } = this.connection.server
    this.#down?.cancel('timed out')
    this.#finish(
      failed(new Fault('timeout', `Timed out waiting for server ${name}`, { data: { server: name } })),
    )
  }

  // ── what the server says ──

  progress(params: JsonText): void {
    if (this.#isOver) return
    this.#stillAlive()
    // The value must increase (utilities/progress); what does not is dropped here, whatever the server does.
    const value = memberOf(params, 'progress')
    const progress = value === undefined ? undefined : valueOf(value)
    if (typeof progress !== 'number' || progress <= this.#progress) return
    this.#progress = progress
    this.call.progress(params)
  }

  ended(outcome: Outcome): void {
    if (this.#isOver) return
    if (outcome.kind === 'fault' && outcome.fault.code === 'session-lost' && !this.#wasResent) {
      // The server did not process it (transports, "Session Management"): sending it once more is safe.
      this.#wasResent = true
      this.#down = undefined
      this.start()
      return
    }
    this.#finish(outcome)
  }

  #send(link: Downlink): void {
    if (this.#isOver) return
    this.#stillAlive()
    try {
      this.#down = link.call(this.#request, this)
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  #stillAlive(): void {
    this.#idleAtMs = this.#context.nowMs() + this.connection.server.timeouts.callMs
  }

  #cancelled(reason: CancelReason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#close()
    this.#down?.cancel(reason)
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#close()
    this.call.end(this.#presented(outcome))
  }

  /** A question outlives neither its call nor its answer: the client is told to stop, the server gets an error. */
  #close(): void {
    this.#context.forget(this)
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

  /** Our own words about a server always say which one. */
  #named(fault: Fault): Fault {
    const { name } = this.connection.server
    if (fault.data?.['server'] !== undefined) return fault
    return new Fault(fault.code, `Server ${name}: ${fault.message}`, {
      data: { ...fault.data, server: name },
      cause: fault,
    })
  }
}

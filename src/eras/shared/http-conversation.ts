import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { HashTable } from '../../kernel/hash-table.js'
import type { JsonText } from '../../kernel/json/text.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { CallerContext } from '../../rpc/channel/caller.js'
import type { ConversationListener } from '../../rpc/channel/conversation.js'
import { Dispatcher } from '../../rpc/channel/dispatcher.js'
import type { OwnId } from '../../rpc/channel/pending-requests.js'
import { type ExchangeContext, RequestExchange } from '../../rpc/http/exchange.js'
import type { HttpRefusal } from '../../rpc/http/refusal.js'
import type { SseReader } from '../../wire/framing/sse-read.js'
import type { HttpHeaders } from '../../wire/http.js'

/** The time in which requests in flight may still get replies after their session was lost. */
const RETIRE_MS = 5000
/** Bounds the open streams of ended requests, whose connections are kept briefly for reuse. */
const LINGERING_MAX = 64

/** The base of conversations over HTTP: each request is an exchange, whose messages go to one dispatcher. */
export abstract class HttpConversation implements ExchangeContext {
  readonly dispatcher: Dispatcher
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  receivedCount = 0
  protected readonly exchanges = new HashTable<OwnId, RequestExchange>()
  protected isOver = false
  #isRetired = false
  #retirement: Timer | undefined

  constructor(listener: ConversationListener, { bounds = new LimitCounters(), clock, log }: CallerContext) {
    this.dispatcher = new Dispatcher(listener, log, bounds)
    this.bounds = bounds
    this.clock = clock
    this.log = log
  }

  get isBusy(): boolean {
    return this.dispatcher.pending.open.size > 0
  }

  named(id: JsonText): CallSink | undefined {
    return this.dispatcher.pending.find(id)
  }

  keep(id: OwnId, sink: CallSink): void {
    this.dispatcher.pending.keep(id, sink)
  }

  pause(): void {
    // Not reading one response holds back only that one.
  }

  resume(): void {
    // As for pause.
  }

  received(): void {
    this.receivedCount += 1
  }

  abstract admits(exchange: RequestExchange, status: number, headers: HttpHeaders): boolean
  abstract faultIn(
    exchange: RequestExchange,
    refusal: HttpRefusal,
    body: Buffer | undefined,
  ): Fault | undefined | Promise<Fault | undefined>
  abstract streamEnded(exchange: RequestExchange, reader: SseReader): void

  /**
   * Creates the exchange of a request; if the conversation is over, ends the request and returns undefined.
   */
  protected exchangeFor(id: OwnId, sink: CallSink): RequestExchange | undefined {
    if (this.isOver) {
      const code = this.#isRetired ? 'session-lost' : 'disconnected'
      sink.ended(failed(new Fault(code, 'The connection to the server is closed')))
      return undefined
    }
    this.dispatcher.pending.open.set(id, sink)
    const exchange = new RequestExchange(id, sink, this, this.#onOver)
    this.exchanges.set(id, exchange)
    return exchange
  }

  /** Ends the conversation, and every request in flight with `why`. */
  protected end(why: Fault): void {
    if (this.isOver) return
    this.isOver = true
    this.dispatcher.close(why)
    for (const exchange of this.exchanges.values()) exchange.stop()
  }

  /**
   * Ends the conversation for new requests. Each request in flight waits up to `RETIRE_MS` for its own reply,
   * which proves whether the server ran it.
   */
  protected endAfterReplies(why: Fault): void {
    if (this.isOver) return
    this.isOver = true
    this.#isRetired = true
    this.#retirement = this.clock.after(RETIRE_MS, () => {
      this.dispatcher.endAll(why)
      for (const exchange of this.exchanges.values()) exchange.stop()
    })
    this.dispatcher.lost(why)
    this.#checkRetirement()
  }

  abstract mayAnswerLater(exchange: RequestExchange): boolean

  /** Gives the open stream of an ended request a moment to end. */
  lingers(exchange: RequestExchange): void {
    if (this.exchanges.size - this.dispatcher.pending.open.size > LINGERING_MAX) exchange.stop()
    else exchange.endSoon()
  }

  #checkRetirement(): void {
    if (this.exchanges.size === 0) this.#retirement?.cancel()
  }

  readonly #onOver = (id: OwnId): void => {
    this.exchanges.take(id)
    this.#checkRetirement()
  }
}

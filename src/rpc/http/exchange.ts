import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { SseReader } from '../../wire/framing/sse-read.js'
import { mediaTypeOf } from '../../wire/http/headers.js'
import type {
  HttpClient,
  HttpHeaders,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../wire/http.js'
import type { Dispatcher } from '../channel/dispatcher.js'
import type { OwnId } from '../channel/pending-requests.js'
import { type HttpRefusal, REFUSAL_MS, RefusalBody, refusalOf, statedIn } from './refusal.js'
import {
  type BodyParts,
  EventBody,
  isAnswerBody,
  type StreamHandlers,
  statusFault,
  WholeBody,
} from './reply.js'

/** The maximum time an exchange stays open after its request was answered or cancelled. */
const LINGER_MS = 5000
const ACCEPTED = 202
const NOT_MCP = 'The server answered with JSON that is not an MCP message'
const UNANSWERED = 'The server sent no answer to the request'

/** The conversation that exchanges belong to. */
export interface ExchangeContext {
  readonly dispatcher: Dispatcher
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  received(): void
  /** Checks the head of a reply. Returns false if it is not an answer and was handled. */
  admits(exchange: RequestExchange, status: number, headers: HttpHeaders): boolean
  /**
   * Returns the fault that an HTTP error reports about the conversation. Undefined if it concerns only the
   * request; then `body`, if given, may be its answer. Returns a promise, which never rejects, if the server
   * has to be asked first.
   */
  faultIn(
    exchange: RequestExchange,
    refusal: HttpRefusal,
    body: Buffer | undefined,
  ): Fault | undefined | Promise<Fault | undefined>
  /** Returns whether the answer to an accepted request may arrive outside of its exchange. */
  mayAnswerLater(exchange: RequestExchange): boolean
  /** The request of an exchange has ended, but its event stream is still open. */
  lingers(exchange: RequestExchange): void
  /** The event stream of a request ended or broke without an answer. */
  streamEnded(exchange: RequestExchange, reader: SseReader): void
}

/**
 * The HTTP side of one request (basic/transports, "Sending Messages to the Server"): a POST whose reply is
 * JSON, an event stream, or an HTTP error.
 */
export class RequestExchange implements ReplyListener, StreamHandlers {
  readonly id: OwnId
  readonly sink: CallSink
  readonly #owner: ExchangeContext
  readonly #onOver: (id: OwnId) => void
  #outbound: OutboundExchange | undefined
  #body: BodyParts | undefined
  #linger: Timer | undefined
  #stop: AbortController | undefined
  #isOver = false

  constructor(id: OwnId, sink: CallSink, owner: ExchangeContext, onOver: (id: OwnId) => void) {
    this.id = id
    this.sink = sink
    this.#owner = owner
    this.#onOver = onOver
  }

  send(http: HttpClient, request: OutboundRequest): void {
    this.#outbound = http.send(request, this)
  }

  get isOpen(): boolean {
    return this.#owner.dispatcher.pending.open.has(this.id)
  }

  /** Aborts when the exchange ends; for follow-up requests. */
  get signal(): AbortSignal {
    this.#stop ??= new AbortController()
    if (this.#isOver) this.#stop.abort()
    return this.#stop.signal
  }

  /** Drops the rest of the reply, so that the connection can be reused. */
  discard(): void {
    this.#outbound?.discard()
    this.over()
  }

  stop(): void {
    this.#outbound?.abort()
    this.over()
  }

  /** Limits the rest of the exchange, for servers that never end it. */
  endSoon(): void {
    if (!this.#isOver) this.#linger ??= this.#owner.clock.after(LINGER_MS, () => this.stop())
  }

  /** Ends the exchange, and its request with a fault unless it was answered. */
  fail(fault: Fault): void {
    this.over()
    this.#owner.dispatcher.pending.drop(this.id)?.ended(failed(fault))
  }

  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#linger?.cancel()
    this.#stop?.abort()
    this.#body?.drop()
    this.#onOver(this.id)
  }

  // ── client events ──

  head(status: number, headers: HttpHeaders, statusText = ''): void {
    const { bounds, clock } = this.#owner
    const outbound = this.#outbound
    this.#owner.received()
    if (outbound === undefined || !this.#owner.admits(this, status, headers)) return
    const isAnswer = isAnswerBody(status, headers)
    if (status >= 400) {
      const refused = (body: Buffer | Fault): void =>
        this.#refused({ status, statusText, headers }, body, isAnswer)
      if (isAnswer) {
        this.#body = new WholeBody(outbound, bounds, refused)
        this.#linger ??= clock.after(REFUSAL_MS, () => this.#unfinished(status))
      } else this.#body = new RefusalBody(outbound, clock, refused)
    } else if (mediaTypeOf(headers['content-type']) === 'text/event-stream')
      this.#body = new EventBody(outbound, this, bounds)
    else if (isAnswer) this.#body = new WholeBody(outbound, bounds, body => this.#answered(status, body))
    else if (isAcceptance(status, headers) && this.#owner.mayAnswerLater(this)) this.discard()
    else {
      this.discard()
      this.fail(statusFault(status))
    }
  }

  data(chunk: Buffer): void {
    this.#body?.data(chunk)
  }

  ended(fault: Fault | undefined): void {
    if (this.#body !== undefined) this.#body.ended(fault)
    else this.fail(fault ?? new Fault('internal', 'The reply of the server lacks its headers'))
  }

  #answered(status: number, body: Buffer | Fault): void {
    if (body instanceof Fault) {
      this.fail(body)
      return
    }
    this.over()
    this.#owner.dispatcher.take(body, this.sink)
    if (!this.isOpen || (status === ACCEPTED && this.#owner.mayAnswerLater(this))) return
    const isMcp = body.includes('"jsonrpc"')
    this.fail(new Fault('internal', isMcp ? UNANSWERED : NOT_MCP, { remote: isMcp ? undefined : 'page' }))
  }

  /** Handles the body of an HTTP error: it may be the answer, or concern the conversation. */
  #refused(head: Omit<HttpRefusal, 'text'>, body: Buffer | Fault, isAnswer: boolean): void {
    if (body instanceof Fault) {
      this.fail(body)
      return
    }
    this.over()
    const refusal = refusalOf(head, body)
    const judged = (fault: Fault | undefined): void => {
      if (fault === undefined && isAnswer) this.#owner.dispatcher.take(body, this.sink)
      if (this.isOpen) this.fail(fault ?? statusFault(head.status, statedIn(refusal)))
    }
    const fault = this.#owner.faultIn(this, refusal, isAnswer ? body : undefined)
    if (fault instanceof Promise) void fault.then(judged)
    else judged(fault)
  }

  /** Ends a request whose HTTP error does not end. */
  #unfinished(status: number): void {
    this.#outbound?.discard()
    this.fail(statusFault(status))
  }

  // ── event stream ──

  message(data: Buffer): void {
    this.#owner.dispatcher.take(data, this.sink)
  }

  read(): void {
    this.#owner.received()
    if (!this.isOpen) this.#owner.lingers(this)
  }

  skipped(bytes: number): void {
    this.#owner.log.warn({ bytes }, 'skipped a message of the server that is longer than the limit')
    // A message that long on the stream of a request is its answer.
    const fault = new Fault('too-large', 'The answer of the server is longer than the limit')
    this.#owner.dispatcher.pending.drop(this.id)?.ended(failed(fault))
  }

  streamEnded(reader: SseReader): void {
    if (this.isOpen) this.#owner.streamEnded(this, reader)
    else this.over()
  }
}

/** Some servers answer requests on the standalone stream; the reply has no body then, or a word. */
const isAcceptance = (status: number, headers: HttpHeaders): boolean =>
  status === ACCEPTED || ((status === 200 || status === 204) && headers['content-type'] === undefined)

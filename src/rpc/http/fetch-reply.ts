import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { SseReader } from '../../wire/framing/sse-read.js'
import type {
  HttpClient,
  HttpHeaders,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../wire/http.js'
import { type BodyParts, EventBody, type StreamHandlers, WholeBody } from './reply.js'

/** A reply whose body is held back until it is read. */
export interface RemoteReply extends OutboundExchange {
  readonly status: number
  /** Empty over HTTP/2. */
  readonly statusText: string
  readonly headers: HttpHeaders
  /** Reads the body; called once at most. */
  read(body: BodyParts): void
}

/**
 * Sends a request and resolves to its reply, for occasional requests. Rejects with the Fault of a request
 * without a reply, or with `cancelled`; `signal` also ends the reading of the body.
 */
export const fetchReply = (
  http: HttpClient,
  request: OutboundRequest,
  signal: AbortSignal,
): Promise<RemoteReply> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) reject(calledOff())
    else new Asked(signal, resolve, reject).send(http, request)
  })

/**
 * Reads a whole body. Rejects with the Fault `too-large` above the limit, or with the cause of an
 * interruption.
 */
export const collect = (reply: RemoteReply, bounds: LimitCounters): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const done = (body: Buffer | Fault): void => {
      if (body instanceof Fault) reject(body)
      else resolve(body)
    }
    reply.read(new WholeBody(reply, bounds, done))
  })

/** Reads events until the stream ends or breaks. Never rejects. */
export const readStream = (
  reply: RemoteReply,
  on: Omit<StreamHandlers, 'streamEnded'>,
  bounds: LimitCounters,
): Promise<{ readonly reader: SseReader; readonly gotEvent: boolean }> =>
  new Promise(resolve => {
    const handlers: StreamHandlers = {
      message: data => on.message(data),
      read: () => on.read(),
      skipped: bytes => on.skipped(bytes),
      streamEnded: (reader, gotEvent) => resolve({ reader, gotEvent }),
    }
    reply.read(new EventBody(reply, handlers, bounds))
  })

const calledOff = (): Fault => new Fault('cancelled', 'the request was cancelled')

/** One request, which becomes the reply when its head arrives. */
class Asked implements ReplyListener, RemoteReply {
  status = 0
  statusText = ''
  headers: HttpHeaders = {}
  readonly #signal: AbortSignal
  readonly #replied: (reply: RemoteReply) => void
  readonly #failed: (fault: Fault) => void
  #exchange: OutboundExchange | undefined
  #body: BodyParts | undefined
  /** Chunks received before the body is read, because a pause takes effect late. */
  #buffered: Buffer[] = []
  #over: { readonly fault: Fault | undefined } | undefined

  constructor(signal: AbortSignal, replied: (reply: RemoteReply) => void, failed: (fault: Fault) => void) {
    this.#signal = signal
    this.#replied = replied
    this.#failed = failed
  }

  send(http: HttpClient, request: OutboundRequest): void {
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#exchange = http.send(request, this)
  }

  // ── for the caller ──

  read(body: BodyParts): void {
    this.#body = body
    for (const chunk of this.#buffered.splice(0)) body.data(chunk)
    if (this.#over !== undefined) body.ended(this.#over.fault)
    else this.#exchange?.resume()
  }

  pause(): void {
    this.#exchange?.pause()
  }

  resume(): void {
    this.#exchange?.resume()
  }

  discard(): void {
    this.#forget()
    this.#exchange?.discard()
  }

  abort(): void {
    this.#forget()
    this.#exchange?.abort()
  }

  // ── client events ──

  head(status: number, headers: HttpHeaders, statusText = ''): void {
    this.status = status
    this.statusText = statusText
    this.headers = headers
    this.#exchange?.pause()
    this.#replied(this)
  }

  data(chunk: Buffer): void {
    if (this.#body === undefined) this.#buffered.push(chunk)
    else this.#body.data(chunk)
  }

  ended(fault: Fault | undefined): void {
    this.#over = { fault }
    // A promise settles once, so only one of the two has an effect.
    if (fault !== undefined) this.#failed(fault)
    this.#body?.ended(fault)
    this.#forget()
  }

  readonly #onAbort = (): void => {
    this.#exchange?.abort()
    this.ended(calledOff())
  }

  #forget(): void {
    this.#body?.drop()
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

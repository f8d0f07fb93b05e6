import { LOCAL, unauthenticatedCaller } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { SseReader } from '../../../src/wire/framing/sse-read.js'
import type {
  HttpClient,
  HttpRequest,
  HttpResponder,
  HttpStream,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../../src/wire/http.js'
import { type OutgoingMessage, whole } from '../../../src/wire/message-parts.js'
import { type Heard, rpc } from './channel-pair.js'

// ── server side ──

/** A client's request; `body` is JSON-RPC unless it is text. */
export const httpRequest = (
  method: string,
  headers: Record<string, string>,
  body: string | object = '',
  remoteAddress = '127.0.0.1',
): HttpRequest => ({
  method,
  path: '/mcp',
  query: new URLSearchParams(),
  headers,
  body: Buffer.from(typeof body === 'string' ? body : rpc(body)),
  remoteAddress,
  remotePort: 4711,
  caller: remoteAddress === '127.0.0.1' ? LOCAL : unauthenticatedCaller(`anonymous ${remoteAddress}`),
})

/** One event that a client read. */
export interface SeenEvent {
  readonly id: string | undefined
  readonly text: string
}

/** Returns a chunk as sent. */
export const textOfChunk = (chunk: OutgoingMessage | string): string => {
  return typeof chunk === 'string' ? chunk : whole(chunk).toString()
}

/** The client's end of a response: records status, headers and body, and can disconnect. */
export class FakeResponder implements HttpResponder, HttpStream {
  status = 0
  headers: Readonly<Record<string, string>> = {}
  body = ''
  answers = 0
  isStream = false
  isEnded = false
  isDestroyed = false
  queuedBytes = 0
  #gone: (() => void)[] = []
  #onTaken: (() => void) | undefined

  send(status: number, headers: Readonly<Record<string, string>>, body: OutgoingMessage | string = ''): void {
    this.#begin(status, headers)
    this.body = textOfChunk(body)
    this.isEnded = true
  }

  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream {
    this.#begin(status, headers)
    this.#onTaken = onTaken
    this.isStream = true
    return this
  }

  onGone(then: () => void): void {
    this.#gone.push(then)
  }

  write(chunk: OutgoingMessage | string): boolean {
    if (!this.isEnded && !this.isDestroyed) this.body += textOfChunk(chunk)
    return true
  }

  /** Reads until at most this many bytes are queued. */
  read(queuedBytes: number): void {
    this.queuedBytes = queuedBytes
    this.#onTaken?.()
  }

  end(): void {
    this.isEnded = true
  }

  destroy(): void {
    this.isDestroyed = true
    this.goAway()
  }

  /** Breaks the connection. */
  goAway(): void {
    if (this.isEnded) return
    this.isDestroyed = true
    for (const then of this.#gone.splice(0)) then()
  }

  get json(): Heard {
    return JSON.parse(this.body) as Heard
  }

  /** Returns the events with data, in order. */
  get events(): SeenEvent[] {
    return this.allEvents.filter(({ text }) => text !== '')
  }

  get allEvents(): SeenEvent[] {
    const seen: SeenEvent[] = []
    new SseReader({ maxBytes: 1e8 }).push(Buffer.from(this.body), {
      onEvent: ({ id, data }) => seen.push({ id, text: data.toString() }),
      onSkipped: () => undefined,
    })
    return seen
  }

  get messages(): Heard[] {
    return this.events.map(({ text }) => JSON.parse(text) as Heard)
  }

  #begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.answers += 1
    if (this.answers > 1) throw new Error('a request was answered twice')
    this.status = status
    this.headers = headers
  }
}

// ── client side ──

/** A request that reached the simulated server, with methods to answer it. */
export class FakeExchange implements OutboundExchange {
  readonly request: OutboundRequest
  /** True if the sender discarded the response or connection. */
  isDiscarded = false
  isAborted = false
  readonly #listener: ReplyListener
  #isPaused = false
  #tell: (() => void)[] = []
  #isOver = false

  constructor(request: OutboundRequest, listener: ReplyListener) {
    this.request = request
    this.#listener = listener
  }

  // ── for the sender ──

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#later()
  }

  discard(): void {
    this.isDiscarded = true
    this.#isOver = true
  }

  abort(): void {
    this.isAborted = true
    this.discard()
  }

  // ── for the simulated server ──

  get method(): string {
    return this.request.method
  }

  get headers(): Readonly<Record<string, string>> {
    return this.request.headers
  }

  get message(): Heard {
    return JSON.parse(this.request.body?.toString() ?? '{}') as Heard
  }

  /** Sends a complete response. */
  reply(status: number, headers: Record<string, string> = {}, body = ''): void {
    this.#open(status, headers)
    if (body !== '') this.raw(body)
    this.end()
  }

  /** Sends a JSON-RPC answer to the request, as JSON. */
  json(message: object, headers: Record<string, string> = {}, status = 200): void {
    const body = rpc({ id: this.message.id, ...message })
    this.reply(status, { 'content-type': 'application/json', ...headers }, body)
  }

  /** Begins a response. */
  head(status: number, headers: Record<string, string> = {}): void {
    this.#open(status, headers)
  }

  /** Begins an event stream. */
  sse(headers: Record<string, string> = {}): void {
    this.head(200, { 'content-type': 'text/event-stream', ...headers })
  }

  event(message: object | string, id?: string): void {
    const data = typeof message === 'string' ? message : rpc(message)
    this.raw(`${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
  }

  raw(text: string): void {
    this.bytes(Buffer.from(text))
  }

  /** Breaks the connection even if it is not being read. */
  breakNow(fault: Fault): void {
    this.#end(fault)
  }

  bytes(chunk: Buffer): void {
    this.#queue(() => this.#listener.data(chunk))
  }

  end(): void {
    this.#queue(() => this.#end(undefined))
  }

  /** Breaks the connection, before or after the headers. */
  break(fault = new Fault('unavailable', 'connection reset')): void {
    this.#queue(() => this.#end(fault))
  }

  #open(status: number, headers: Record<string, string>): void {
    this.#queue(() => this.#listener.head(status, headers))
  }

  #end(fault: Fault | undefined): void {
    this.#isOver = true
    this.#listener.ended(fault)
  }

  #queue(tell: () => void): void {
    this.#tell.push(tell)
    this.#later()
  }

  /** Delivers nothing before the sender has its exchange, or while it is paused. */
  #later(): void {
    queueMicrotask(() => {
      while (!this.#isPaused && !this.#isOver) {
        const tell = this.#tell.shift()
        if (tell === undefined) return
        tell()
      }
    })
  }
}

/** An HTTP client whose server is played by a test. */
export class FakeHttp implements HttpClient {
  readonly all: FakeExchange[] = []
  /** Handles requests automatically, if set; returns true if handled. */
  onRequest: ((exchange: FakeExchange) => boolean) | undefined
  #taken = 0

  send(request: OutboundRequest, listener: ReplyListener): OutboundExchange {
    const exchange = new FakeExchange(request, listener)
    if (this.onRequest?.(exchange) !== true) this.all.push(exchange)
    return exchange
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  /** Returns the next request that waits for the test. */
  next(): FakeExchange {
    const exchange = this.all[this.#taken]
    if (exchange === undefined) throw new Error('no request came')
    this.#taken += 1
    return exchange
  }

  /** Returns the number of requests that `next` has not returned yet. */
  get waiting(): number {
    return this.all.length - this.#taken
  }
}

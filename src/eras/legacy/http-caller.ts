import { Bounds } from '../../kernel/bounds.js'
import type { Clock, Timer } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json-text.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { Conversation, ConversationListener } from '../../rpc/conversation.js'
import {
  collect,
  POST_HEADERS,
  type RemoteAddress,
  readStream,
  refusalOf,
  statusFault,
} from '../../rpc/http-reply.js'
import { Inbox } from '../../rpc/inbox.js'
import type { OwnId } from '../../rpc/pending.js'
import type { CallerContext } from '../../rpc/pipe-caller.js'
import type { HttpClient, InboundReply } from '../../wire/http.js'
import { encodeNotice, encodeRefusal, encodeReply, encodeRequest } from '../../wire/jsonrpc.js'
import { mediaTypeOf } from '../../wire/media-type.js'
import { HttpRemote } from './http-remote.js'
import { movePlace, newPlace, reopenMs, type StreamPlace, sleep } from './http-resume.js'

const RESUME_TRIES = 5
/** The first try comes soon: a break on the way is over by then, and whether the server itself is gone is known. */
const RESUME = { firstMs: 250, maxMs: 15_000 }
const LISTEN = { firstMs: 1000, maxMs: 60_000 }
/** How long an exchange may stay open after its request was answered or cancelled. */
const LINGER_MS = 5000

/** The HTTP side of one request, over as many connections as its answer takes. */
interface Exchange {
  readonly id: OwnId
  readonly sink: CallSink
  readonly stop: AbortController
  linger: Timer | undefined
}

/**
 * A session with a server over Streamable HTTP (2025-03-26 to 2025-11-25, basic/transports): each request is a POST
 * whose response, JSON or SSE, is its stream; what belongs to no request comes on one standalone GET stream.
 */
export class HttpCaller implements Conversation {
  readonly #remote: HttpRemote
  readonly #inbox: Inbox
  readonly #log: Logger
  readonly #clock: Clock
  readonly #bounds: Bounds
  readonly #exchanges = new Map<OwnId, Exchange>()
  readonly #all = new AbortController()
  #isOver = false
  hearsAmbient = false

  constructor(http: HttpClient, to: RemoteAddress, listener: ConversationListener, around: CallerContext) {
    this.#remote = new HttpRemote(http, to, around.clock)
    this.#bounds = around.bounds ?? new Bounds()
    this.#inbox = new Inbox(listener, around.log, this.#bounds)
    this.#log = around.log
    this.#clock = around.clock
  }

  get lastHeardMs(): number {
    return this.#remote.lastHeardMs
  }

  get isBusy(): boolean {
    return this.#inbox.pending.size > 0
  }

  nextId(): number {
    return this.#inbox.pending.nextId()
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    if (this.#isOver) {
      sink.ended(failed(new Fault('disconnected', 'The session with the server is over')))
      return
    }
    this.#inbox.pending.add(id, sink)
    const exchange: Exchange = { id, sink, stop: new AbortController(), linger: undefined }
    this.#exchanges.set(id, exchange)
    void this.#run(exchange, encodeRequest(id, method, params))
  }

  forget(id: OwnId): void {
    this.#inbox.pending.drop(id)
    const exchange = this.#exchanges.get(id)
    if (exchange !== undefined) this.#endSoon(exchange)
  }

  keep(id: OwnId, sink: CallSink): void {
    this.#inbox.pending.keep(id, sink)
  }

  async notice(method: string, params: JsonText | undefined): Promise<void> {
    await this.#post(encodeNotice(method, params))
    // The standalone stream exists only in an initialized session (transports, "Listening for Messages from the Server").
    // Nobody waits for it: some servers send its headers only with their first event.
    if (method === 'notifications/initialized' && !this.#isOver) void this.#listen()
  }

  reply(id: JsonText, result: JsonText): void {
    void this.#post(encodeReply(id, result))
  }

  refuse(id: JsonText, error: JsonText): void {
    void this.#post(encodeRefusal(id, error))
  }

  agreed(revision: string): void {
    this.#remote.agreed(revision)
  }

  pause(): void {
    // Not reading one response is felt by the server through that response alone; there is nothing common to hold back.
  }

  resume(): void {
    // As for pause.
  }

  async close(): Promise<void> {
    if (this.#isOver) return
    this.#over(new Fault('disconnected', 'The session with the server was closed'))
    try {
      await this.#remote.end()
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'the server did not take the end of the session')
    }
  }

  // ── one request and its stream ──

  /** Never rejects: whatever goes wrong ends the request. */
  async #run(exchange: Exchange, frame: Buffer): Promise<void> {
    try {
      await this.#exchange(exchange, frame)
    } catch (thrown) {
      this.#fail(exchange.id, Fault.from(thrown))
    } finally {
      exchange.linger?.cancel()
      this.#exchanges.delete(exchange.id)
    }
  }

  async #exchange(exchange: Exchange, frame: Buffer): Promise<void> {
    const { id, sink, stop } = exchange
    const { signal } = stop
    const reply = await this.#remote.send({ method: 'POST', headers: POST_HEADERS, body: frame, signal })
    this.#remote.learnSession(reply)
    const type = mediaTypeOf(reply.headers['content-type'])
    if (reply.status < 400 && type === 'text/event-stream') {
      await this.#follow(exchange, reply)
    } else if (reply.status < 400 && type === 'application/json') {
      this.#inbox.take(await collect(reply, this.#bounds), sink)
      if (this.#inbox.pending.has(id))
        this.#fail(id, new Fault('internal', 'The server sent no answer to the request'))
    } else {
      await this.#refused(exchange, reply)
    }
  }

  /** Reads a request's SSE stream to its answer, over as many connections as that takes. */
  async #follow(exchange: Exchange, first: InboundReply): Promise<void> {
    const { id, stop } = exchange
    const place = newPlace()
    const isOpen = (): boolean => this.#inbox.pending.has(id)
    let reply: InboundReply | undefined = first
    for (let tries = 0; ; tries += 1) {
      if (reply !== undefined && (await this.#read(reply, place, exchange))) tries = 0
      if (!isOpen()) return
      if (place.lastEventId === undefined || tries >= RESUME_TRIES) break
      await sleep(this.#clock, reopenMs(place, tries, RESUME), stop.signal)
      if (!isOpen()) return
      const opened = await this.#openStream(place, stop.signal)
      if (opened instanceof Fault) {
        this.#fail(id, opened)
        return
      }
      if (typeof opened === 'number' && isFinal(opened)) break
      reply = typeof opened === 'number' ? undefined : opened
    }
    this.#fail(id, new Fault('disconnected', 'The server ended the stream without an answer'))
  }

  /** Reads a stream to its end, the standalone one without `exchange`; resolves to whether any event came. */
  #read(reply: InboundReply, place: StreamPlace, exchange: Exchange | undefined): Promise<boolean> {
    return readStream(
      reply,
      {
        message: data => this.#inbox.take(data, exchange?.sink),
        read: reader => {
          movePlace(place, reader)
          this.#remote.heard()
          if (exchange !== undefined && !this.#inbox.pending.has(exchange.id)) this.#endSoon(exchange)
        },
        skipped: bytes => {
          this.#log.warn({ bytes }, 'skipped a message of the server that is longer than the limit')
          // On a request's own stream that was its answer: nothing else is that long.
          const fault = new Fault('too-large', 'The answer of the server is longer than the limit')
          if (exchange !== undefined) this.#fail(exchange.id, fault)
        },
      },
      this.#bounds,
    )
  }

  /** Nobody waits for the rest: a server that does not end the exchange by itself is not read for ever. */
  #endSoon(exchange: Exchange): void {
    exchange.linger ??= this.#clock.after(LINGER_MS, () => exchange.stop.abort())
  }

  /** A status or content type that carries no answer, unless its body is a JSON-RPC message all the same. */
  async #refused({ id, sink }: Exchange, reply: InboundReply): Promise<void> {
    const { status } = reply
    if (status === 404 && this.#remote.hasSession) {
      reply.discard()
      this.#lost(id)
      return
    }
    const body = await refusalOf(reply, this.#bounds)
    if (body !== undefined) this.#inbox.take(body, sink)
    this.#fail(id, statusFault(status))
  }

  // ── streams ──

  /** Keeps the standalone stream open for as long as the session lives, if the server has one. */
  async #listen(): Promise<void> {
    const place = newPlace()
    for (let tries = 0; !this.#isOver; ) {
      const opened = await this.#openStream(place, this.#all.signal)
      let heard = false
      if (typeof opened === 'object' && !(opened instanceof Fault)) {
        this.hearsAmbient = true
        heard = await this.#read(opened, place, undefined)
        this.hearsAmbient = false
      } else if (typeof opened === 'number' && isFinal(opened)) {
        // 405: there is no such stream. A place that the server no longer knows is given up first.
        if (place.lastEventId === undefined) return
        place.lastEventId = undefined
      }
      tries = heard ? 0 : tries + 1
      await sleep(this.#clock, reopenMs(place, tries, LISTEN), this.#all.signal)
    }
  }

  /**
   * Opens the standalone stream, or takes up any stream at its place; the HTTP status if it cannot, 0 without one, a Fault if
   * nobody is there any more.
   */
  async #openStream(
    { lastEventId }: StreamPlace,
    signal: AbortSignal,
  ): Promise<InboundReply | Fault | number> {
    const headers = {
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    try {
      const reply = await this.#remote.send({ method: 'GET', headers, signal })
      const type = mediaTypeOf(reply.headers['content-type'])
      if (reply.status === 200 && type === 'text/event-stream') return reply
      reply.discard()
      if (reply.status === 404 && this.#remote.hasSession) this.#lost()
      return reply.status
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'could not open a stream')
      const fault = Fault.from(thrown)
      return fault.code === 'unavailable' ? new Fault('disconnected', `it is gone: ${fault.message}`) : 0
    }
  }

  /** Posts what is not answered on the same exchange: notifications and answers. Never rejects. */
  async #post(frame: Buffer): Promise<void> {
    if (this.#isOver) return
    const { signal } = this.#all
    try {
      const reply = await this.#remote.send({ method: 'POST', headers: POST_HEADERS, body: frame, signal })
      reply.discard()
      const { status } = reply
      if (status === 404 && this.#remote.hasSession) this.#lost()
      else if (status >= 400) this.#log.warn({ status }, 'the server did not take a message')
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'could not send a message to the server')
    }
  }

  // ── ends ──

  #fail(id: OwnId, fault: Fault): void {
    this.#inbox.pending.drop(id)?.ended(failed(fault))
  }

  /** The server no longer knows the session (transports, "Session Management", item 4); `id` was not processed. */
  #lost(id?: OwnId): void {
    if (this.#isOver) return
    const untouched = id === undefined ? undefined : this.#inbox.pending.drop(id)
    this.#over(new Fault('disconnected', 'The server no longer knows the session'))
    untouched?.ended(failed(new Fault('session-lost', 'The server no longer knows the session')))
  }

  #over(why: Fault): void {
    this.#isOver = true
    this.hearsAmbient = false
    this.#inbox.close(why)
    this.#all.abort()
    for (const { stop } of this.#exchanges.values()) stop.abort()
  }
}

/** Whether a status says "never" rather than "not now"; 0 is no status at all. */
const isFinal = (status: number): boolean =>
  status >= 200 && status < 500 && status !== 408 && status !== 425 && status !== 429

import { backoffMs } from '../../kernel/backoff.js'
import type { Clock, Timer } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json-text.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { Conversation, ConversationListener } from '../../rpc/conversation.js'
import { Inbox } from '../../rpc/inbox.js'
import { isVisibleAscii } from '../../wire/header-text.js'
import type { HttpClient, InboundReply } from '../../wire/http.js'
import { encodeNotice, encodeRefusal, encodeReply, encodeRequest } from '../../wire/jsonrpc.js'
import { LIMITS } from '../../wire/limits.js'
import { mediaTypeOf } from '../../wire/media-type.js'
import { type SseHandlers, SseReader } from '../../wire/sse-read.js'

const BOTH = 'application/json, text/event-stream'
const RESUME_TRIES = 5
const CLOSE_MS = 2000
/** How long a stream may stay open after its request was answered or cancelled. */
const LINGER_MS = 5000

/** Where a stream stands, so that it can be taken up again after a break (transports, "Resumability and Redelivery"). */
interface StreamPlace {
  lastEventId: string | undefined
  retryMs: number | undefined
}

/**
 * A session with a server over Streamable HTTP (2025-03-26 to 2025-11-25, basic/transports): each request is a POST
 * whose response, JSON or SSE, is its stream; what belongs to no request comes on one standalone GET stream.
 */
export class HttpCaller implements Conversation {
  readonly #http: HttpClient
  readonly #url: string
  readonly #fixed: Readonly<Record<string, string>>
  readonly #inbox: Inbox
  readonly #log: Logger
  readonly #clock: Clock
  readonly #all = new AbortController()
  #session: string | undefined
  #revision: string | undefined
  #isOver = false
  hearsAmbient = false
  lastHeardMs: number

  constructor(
    http: HttpClient,
    to: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
    listener: ConversationListener,
    around: { readonly log: Logger; readonly clock: Clock },
  ) {
    this.#http = http
    this.#url = to.url
    this.#fixed = to.headers
    this.#inbox = new Inbox(listener, around.log)
    this.#log = around.log
    this.#clock = around.clock
    this.lastHeardMs = around.clock.nowMs()
  }

  nextId(): number {
    return this.#inbox.pending.nextId()
  }

  request(id: number, method: string, params: JsonText | undefined, sink: CallSink): void {
    if (this.#isOver) {
      sink.ended(failed(new Fault('disconnected', 'The session with the server is over')))
      return
    }
    this.#inbox.pending.add(id, sink)
    this.#exchange(id, encodeRequest(id, method, params), sink).catch((thrown: unknown) =>
      this.#fail(id, Fault.from(thrown)),
    )
  }

  forget(id: number): void {
    this.#inbox.pending.drop(id)
  }

  async notice(method: string, params: JsonText | undefined): Promise<void> {
    await this.#post(encodeNotice(method, params))
    // The standalone stream exists only in an initialized session (transports, "Listening for Messages from the Server").
    if (method === 'notifications/initialized') await this.#listen()
  }

  reply(id: JsonText, result: JsonText): void {
    void this.#post(encodeReply(id, result))
  }

  refuse(id: JsonText, error: JsonText): void {
    void this.#post(encodeRefusal(id, error))
  }

  agreed(revision: string): void {
    // The header came with 2025-06-18; servers that predate it may refuse it (transports, "Protocol Version Header").
    this.#revision = revision >= '2025-06-18' ? revision : undefined
  }

  pause(): void {
    // Not reading one response is felt by the server through that response alone; there is nothing common to hold back.
  }

  resume(): void {
    // As for pause.
  }

  async close(): Promise<void> {
    if (this.#isOver) return
    const session = this.#session
    this.#over(new Fault('disconnected', 'The session with the server was closed'))
    if (session === undefined) return
    const limit = AbortSignal.timeout(CLOSE_MS)
    try {
      const reply = await this.#http.send({
        method: 'DELETE',
        url: this.#url,
        headers: this.#headers({}),
        signal: limit,
      })
      reply.discard()
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'the server did not take the end of the session')
    }
  }

  // ── one request and its stream ──

  async #exchange(id: number, frame: Buffer, sink: CallSink): Promise<void> {
    const reply = await this.#send('POST', { accept: BOTH, 'content-type': 'application/json' }, frame)
    this.#learnSession(reply)
    const type = mediaTypeOf(reply.headers['content-type'])
    if (reply.status >= 400 || (type !== 'application/json' && type !== 'text/event-stream')) {
      await this.#refused(id, reply, type, sink)
      return
    }
    if (type === 'application/json') {
      this.#inbox.take(await collect(reply), sink)
      if (this.#inbox.pending.has(id))
        this.#fail(id, new Fault('internal', 'The server sent no answer to the request'))
      return
    }
    await this.#follow(id, reply, sink)
  }

  /** Reads a request's SSE stream to its answer, over as many connections as that takes. */
  async #follow(id: number, first: InboundReply, sink: CallSink): Promise<void> {
    const place: StreamPlace = { lastEventId: undefined, retryMs: undefined }
    const isOpen = (): boolean => this.#inbox.pending.has(id)
    let reply: InboundReply | undefined = first
    for (let tries = 0; ; tries += 1) {
      const heard: boolean = reply === undefined ? false : await this.#read(reply, place, sink, isOpen)
      if (!isOpen()) return
      if (heard) tries = 0
      if (place.lastEventId === undefined || tries >= RESUME_TRIES) break
      await this.#sleep(place.retryMs ?? backoffMs(tries, { firstMs: 1000, maxMs: 15_000 }))
      reply = await this.#openStream(place)
    }
    this.#fail(id, new Fault('disconnected', 'The server ended the stream without an answer'))
  }

  /** Reads events until the stream ends; returns whether anything was heard. A break in the middle is an end. */
  async #read(
    reply: InboundReply,
    place: StreamPlace,
    about: CallSink | undefined,
    isOpen: () => boolean,
  ): Promise<boolean> {
    const reader = new SseReader({ maxBytes: LIMITS.messageBytes })
    let heard = false
    let linger: Timer | undefined
    const on: SseHandlers = {
      onEvent: ({ data }) => {
        heard = true
        if (data.length > 0) this.#inbox.take(data, about)
      },
      onSkipped: bytes =>
        this.#log.warn({ bytes }, 'skipped a message of the server that is longer than the limit'),
    }
    try {
      for await (const chunk of reply.body) {
        this.lastHeardMs = this.#clock.nowMs()
        reader.push(chunk, on)
        if (reader.lastEventId !== '') place.lastEventId = reader.lastEventId
        place.retryMs = reader.retryMs ?? place.retryMs
        if (!isOpen()) linger ??= this.#clock.after(LINGER_MS, () => reply.discard())
      }
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'a stream of the server broke')
    } finally {
      linger?.cancel()
      reply.discard()
    }
    return heard
  }

  /** A status or content type that carries no answer, unless its body is a JSON-RPC message all the same. */
  async #refused(id: number, reply: InboundReply, type: string, sink: CallSink): Promise<void> {
    const { status } = reply
    if (status === 404 && this.#session !== undefined) {
      reply.discard()
      this.#lost(id)
      return
    }
    if (type === 'application/json' && status !== 401 && status !== 403) {
      this.#inbox.take(await collect(reply), sink)
      if (!this.#inbox.pending.has(id)) return
    } else reply.discard()
    this.#fail(id, statusFault(status))
  }

  // ── the standalone stream ──

  async #listen(): Promise<void> {
    const place: StreamPlace = { lastEventId: undefined, retryMs: undefined }
    const reply = await this.#openStream(place)
    if (reply === undefined) return
    this.hearsAmbient = true
    void this.#keepListening(reply, place)
  }

  async #keepListening(first: InboundReply, place: StreamPlace): Promise<void> {
    let reply: InboundReply | undefined = first
    for (let tries = 0; !this.#isOver; ) {
      const heard: boolean =
        reply === undefined ? false : await this.#read(reply, place, undefined, () => true)
      tries = heard ? 0 : tries + 1
      if (this.#isOver) return
      await this.#sleep(place.retryMs ?? backoffMs(tries, { firstMs: 1000, maxMs: 60_000 }))
      if (this.#isOver) return
      reply = await this.#openStream(place)
      this.hearsAmbient = reply !== undefined
    }
  }

  /** Opens the standalone stream, or takes up a broken one at its place; undefined when the server cannot. */
  async #openStream(place: StreamPlace): Promise<InboundReply | undefined> {
    try {
      const reply = await this.#send('GET', {
        accept: 'text/event-stream',
        ...(place.lastEventId !== undefined && { 'last-event-id': place.lastEventId }),
      })
      if (reply.status === 200 && mediaTypeOf(reply.headers['content-type']) === 'text/event-stream')
        return reply
      reply.discard()
      if (reply.status === 404 && this.#session !== undefined) this.#lost()
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'could not open a stream')
    }
    return undefined
  }

  // ── HTTP ──

  /** Posts what is not answered on the same exchange: notifications and answers. */
  async #post(frame: Buffer): Promise<void> {
    if (this.#isOver) return
    try {
      const reply = await this.#send('POST', { accept: BOTH, 'content-type': 'application/json' }, frame)
      reply.discard()
      if (reply.status === 404 && this.#session !== undefined) this.#lost()
      else if (reply.status >= 400)
        this.#log.warn({ status: reply.status }, 'the server did not take a message')
    } catch (thrown) {
      this.#log.debug({ err: thrown }, 'could not send a message to the server')
    }
  }

  #send(method: 'GET' | 'POST', more: Record<string, string>, body?: Buffer): Promise<InboundReply> {
    return this.#http.send({
      method,
      url: this.#url,
      headers: this.#headers(more),
      ...(body !== undefined && { body }),
      signal: this.#all.signal,
    })
  }

  #headers(more: Record<string, string>): Record<string, string> {
    return {
      ...this.#fixed,
      ...more,
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
    }
  }

  #learnSession(reply: InboundReply): void {
    const session = reply.headers['mcp-session-id']
    if (this.#session !== undefined || session === undefined) return
    if (!isVisibleAscii(session))
      throw new Fault('unavailable', 'The server issued a session id that is not visible ASCII')
    this.#session = session
  }

  #fail(id: number, fault: Fault): void {
    this.#inbox.pending.drop(id)?.ended(failed(fault))
  }

  /** The server no longer knows the session (transports, "Session Management", item 4); `id` was not processed. */
  #lost(id?: number): void {
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
  }

  #sleep(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = this.#clock.after(ms, () => done())
      const done = (): void => {
        timer.cancel()
        this.#all.signal.removeEventListener('abort', done)
        resolve()
      }
      this.#all.signal.addEventListener('abort', done, { once: true })
    })
  }
}

const collect = async (reply: InboundReply): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of reply.body) {
    bytes += chunk.length
    if (bytes > LIMITS.messageBytes) {
      reply.discard()
      throw new Fault('too-large', `The server's answer is longer than ${LIMITS.messageBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

const statusFault = (status: number): Fault =>
  status === 401 || status === 403
    ? new Fault('unauthorized', 'The server needs authorization', { data: { httpStatus: status } })
    : new Fault('unavailable', `The server answered with HTTP status ${status}`, {
        data: { httpStatus: status },
      })

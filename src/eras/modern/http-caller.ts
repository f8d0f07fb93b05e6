import { Bounds } from '../../kernel/bounds.js'
import type { Timer } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, textMember } from '../../kernel/json-text.js'
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
import { classify } from '../../wire/classify.js'
import type { HttpClient, InboundReply } from '../../wire/http.js'
import { encodeRequest } from '../../wire/jsonrpc.js'
import { mediaTypeOf } from '../../wire/media-type.js'
import { MODERN_REVISION } from './methods.js'
import { mirrorHeaders } from './mirror-headers.js'

/** How long an exchange may stay open after its request was answered. */
const LINGER_MS = 5000
const BAD_REQUEST = 400
/** With that status: a server that wants a session first (measured: SDK servers of the older revisions). */
const NO_SESSION = '-32000'

/** The HTTP side of one request. */
interface Exchange {
  readonly id: OwnId
  readonly sink: CallSink
  readonly stop: AbortController
  linger: Timer | undefined
}

/** What a conversation over HTTP needs beside the server's address. */
export interface HttpCallerOptions extends CallerContext {
  /** The id of the next request: the server may answer it beside those of other connections, and knows no sessions. */
  readonly nextId: () => number
  /** The `inputSchema` of a tool of the server, as far as its arguments are repeated in headers. */
  readonly schemaOf: (tool: string) => JsonText | undefined
}

/**
 * A conversation with a server over HTTP (2026-07-28, basic/transports/streamable-http): each request is a POST that stands
 * for itself, and whose response is its stream; there is no session, and nothing comes outside of a response.
 */
export class HttpCaller implements Conversation {
  readonly #http: HttpClient
  readonly #to: RemoteAddress
  readonly #options: HttpCallerOptions
  readonly #inbox: Inbox
  readonly #bounds: Bounds
  readonly #exchanges = new Map<OwnId, Exchange>()
  readonly hearsAmbient = false
  #isOver = false
  lastHeardMs: number

  constructor(
    http: HttpClient,
    to: RemoteAddress,
    listener: ConversationListener,
    options: HttpCallerOptions,
  ) {
    this.#http = http
    this.#to = to
    this.#options = options
    this.#bounds = options.bounds ?? new Bounds()
    this.#inbox = new Inbox(listener, options.log, this.#bounds)
    this.lastHeardMs = options.clock.nowMs()
  }

  get isBusy(): boolean {
    return this.#inbox.pending.size > 0
  }

  nextId(): number {
    return this.#options.nextId()
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    if (this.#isOver) {
      sink.ended(failed(new Fault('disconnected', 'The connection to the server is closed')))
      return
    }
    this.#inbox.pending.add(id, sink)
    const exchange: Exchange = { id, sink, stop: new AbortController(), linger: undefined }
    this.#exchanges.set(id, exchange)
    void this.#run(exchange, method, params)
  }

  /** Closing the response is how a request is cancelled (basic/patterns/cancellation). */
  forget(id: OwnId): void {
    this.#inbox.pending.drop(id)
    this.#exchanges.get(id)?.stop.abort()
  }

  keep(id: OwnId, sink: CallSink): void {
    this.#inbox.pending.keep(id, sink)
  }

  notice(): Promise<void> {
    // The one notification of clients in this revision says what closing a response says, and has no effect over HTTP.
    return Promise.resolve()
  }

  reply(): void {
    // Servers do not ask.
  }

  refuse(): void {
    // As for reply.
  }

  agreed(): void {
    // The version stands in every request.
  }

  pause(): void {
    // Not reading one response is felt by the server through that response alone; there is nothing common to hold back.
  }

  resume(): void {
    // As for pause.
  }

  close(): Promise<void> {
    if (!this.#isOver) {
      this.#isOver = true
      this.#inbox.close(new Fault('disconnected', 'The connection to the server was closed'))
      for (const { stop } of this.#exchanges.values()) stop.abort()
    }
    return Promise.resolve()
  }

  // ── one request and its stream ──

  /** Never rejects: whatever goes wrong ends the request. */
  async #run(exchange: Exchange, method: string, params: JsonText | undefined): Promise<void> {
    try {
      await this.#exchange(exchange, method, params)
    } catch (thrown) {
      this.#fail(exchange.id, Fault.from(thrown))
    } finally {
      exchange.linger?.cancel()
      this.#exchanges.delete(exchange.id)
    }
  }

  async #exchange(exchange: Exchange, method: string, params: JsonText | undefined): Promise<void> {
    const { id, sink, stop } = exchange
    const reply = await this.#http.send({
      method: 'POST',
      url: this.#to.url,
      headers: { ...this.#to.headers, ...this.#headers(method, params) },
      body: encodeRequest(id, method, params),
      signal: stop.signal,
    })
    this.#heard()
    const type = mediaTypeOf(reply.headers['content-type'])
    if (reply.status < 400 && type === 'text/event-stream') {
      await this.#follow(exchange, reply)
      this.#fail(id, new Fault('disconnected', 'The server ended the stream without an answer'))
    } else if (reply.status < 400 && type === 'application/json') {
      this.#inbox.take(await collect(reply, this.#bounds), sink)
      this.#fail(id, new Fault('internal', 'The server sent no answer to the request'))
    } else {
      await this.#refused(exchange, reply)
    }
  }

  /** What is repeated of the body as it goes out, whatever the client's own headers were (ibid., "Request Metadata"). */
  #headers(method: string, params: JsonText | undefined): Record<string, string> {
    const tool = method === 'tools/call' ? params && textMember(params, 'name') : undefined
    const schema = tool === undefined ? undefined : this.#options.schemaOf(tool)
    return {
      ...POST_HEADERS,
      'MCP-Protocol-Version': MODERN_REVISION,
      ...mirrorHeaders(method, params, schema),
    }
  }

  async #follow(exchange: Exchange, reply: InboundReply): Promise<void> {
    const { id, sink } = exchange
    await readStream(
      reply,
      {
        message: data => this.#inbox.take(data, sink),
        read: () => {
          this.#heard()
          if (!this.#inbox.pending.has(id)) this.#endSoon(exchange)
        },
        skipped: bytes => {
          this.#options.log.warn({ bytes }, 'skipped a message of the server that is longer than the limit')
          // That was its answer: nothing else is that long.
          this.#fail(id, new Fault('too-large', 'The answer of the server is longer than the limit'))
        },
      },
      this.#bounds,
    )
  }

  /** Nobody waits for the rest: a server that does not end the exchange by itself is not read for ever. */
  #endSoon(exchange: Exchange): void {
    exchange.linger ??= this.#options.clock.after(LINGER_MS, () => exchange.stop.abort())
  }

  /** A status or content type that carries no answer, unless its body is the JSON-RPC answer all the same. */
  async #refused({ id, sink }: Exchange, reply: InboundReply): Promise<void> {
    const { status } = reply
    const body = await refusalOf(reply, this.#bounds)
    const isAnswer = body !== undefined && !(status === BAD_REQUEST && wantsSession(body))
    if (isAnswer) this.#inbox.take(body, sink)
    this.#fail(id, statusFault(status))
  }

  #heard(): void {
    this.lastHeardMs = this.#options.clock.nowMs()
  }

  #fail(id: OwnId, fault: Fault): void {
    this.#inbox.pending.drop(id)?.ended(failed(fault))
  }
}

/** Whether a refusal comes from a server of the older revisions, which read no further than to the missing session. */
const wantsSession = (body: Buffer): boolean => {
  const classified = classify(body)
  return (
    classified.is === 'message' &&
    classified.message.kind === 'refusal' &&
    memberOf(classified.message.error, 'code')?.toString('latin1') === NO_SESSION
  )
}

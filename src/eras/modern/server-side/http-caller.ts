import { Fault } from '../../../kernel/faults.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { CallSink } from '../../../model/links.js'
import { errorCode } from '../../../model/rpc-error.js'
import type { CallerContext } from '../../../rpc/channel/caller.js'
import type { Conversation, ConversationListener } from '../../../rpc/channel/conversation.js'
import { type OwnId, ownIdOf } from '../../../rpc/channel/pending-requests.js'
import type { RequestExchange } from '../../../rpc/http/exchange.js'
import { fetchReply } from '../../../rpc/http/fetch-reply.js'
import { type HttpRefusal, statedIn } from '../../../rpc/http/refusal.js'
import { POST_HEADERS, type RemoteAddress, statusFault } from '../../../rpc/http/reply.js'
import { classify } from '../../../wire/classify.js'
import { mergedHeaders } from '../../../wire/http/headers.js'
import type { HttpClient } from '../../../wire/http.js'
import { encodeNotification, encodeRequest } from '../../../wire/jsonrpc.js'
import { HttpConversation } from '../../shared/http-conversation.js'
import { MODERN_REVISION } from '../../shared/protocol.js'
import { mirrorHeaders } from '../mirror-headers.js'

const BAD_REQUEST = 400
/** Bounds the notifications of clients that the server has not answered; further ones are dropped. */
const NOTIFICATIONS_MAX = 64
/** The error of legacy SDK servers that require a session, with status 400. */
const NO_SESSION = -32000

/** Options of a conversation over HTTP. */
export interface HttpCallerOptions extends CallerContext {
  /** Returns ids unique at the server, which has no sessions to tell connections apart. */
  readonly nextId: () => number
  /** Returns the `inputSchema` of a tool whose arguments are repeated in headers. */
  readonly schemaOf: (tool: string) => JsonText | undefined
}

/**
 * A conversation over HTTP (2026-07-28, basic/transports/streamable-http): each request is a POST whose
 * response is its stream; there is no session, and nothing arrives outside of a response.
 */
export class ModernHttpCaller extends HttpConversation implements Conversation {
  readonly #http: HttpClient
  readonly #to: RemoteAddress
  readonly #options: HttpCallerOptions
  /** The headers of every request. */
  readonly #headers: Readonly<Record<string, string>>
  readonly receivesUnsolicited = false
  readonly #closed = new AbortController()
  /** Notifications without a reply. */
  #notifying = 0
  readonly hasManyConnections = true

  constructor(
    http: HttpClient,
    to: RemoteAddress,
    listener: ConversationListener,
    options: HttpCallerOptions,
  ) {
    super(listener, options)
    this.#http = http
    this.#to = to
    this.#options = options
    this.#headers = { ...to.headers, ...POST_HEADERS, 'MCP-Protocol-Version': MODERN_REVISION }
  }

  nextId(): number {
    return this.#options.nextId()
  }

  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void {
    // V8 would give each spread of these a hidden class of its own, which takes ten times as long.
    const headers = Object.assign({}, this.#headers, this.#mirrored(method, params))
    this.exchangeFor(id, sink)?.send(this.#http, {
      method: 'POST',
      url: this.#to.url,
      headers: sink.headers === undefined ? headers : mergedHeaders(headers, sink.headers),
      body: encodeRequest(id, method, params),
      onNewConnection: sink.isRepeat === true,
    })
  }

  /** Cancels by closing the response (basic/patterns/cancellation). */
  forget(id: OwnId): void {
    this.dispatcher.pending.drop(id)
    this.exchanges.get(id)?.stop()
  }

  /** Posts a notification that the proxy passes; a request is cancelled by closing its response. */
  async notify(method: string, params: JsonText | undefined): Promise<void> {
    if (method === 'notifications/cancelled' || this.isOver || this.#notifying >= NOTIFICATIONS_MAX) return
    this.#notifying += 1
    try {
      const headers = { ...this.#headers, ...mirrorHeaders(method, params) }
      const body = encodeNotification(method, params)
      const reply = await fetchReply(
        this.#http,
        { method: 'POST', url: this.#to.url, headers, body },
        this.#closed.signal,
      )
      reply.discard()
    } catch (thrown) {
      this.log.debug({ err: thrown, method }, 'the server did not accept a notification')
    } finally {
      this.#notifying -= 1
    }
  }

  sendResult(): void {
    // Servers send no requests in this revision.
  }

  sendError(): void {
    // As for `sendResult`.
  }

  agreed(): void {
    // Every request names the version.
  }

  close(): Promise<void> {
    this.#closed.abort()
    this.end(new Fault('disconnected', 'The connection to the server was closed'))
    return Promise.resolve()
  }

  // ── one request and its stream ──

  admits(): boolean {
    return true
  }

  faultIn(_exchange: RequestExchange, refusal: HttpRefusal, body: Buffer | undefined): Fault | undefined {
    const { status } = refusal
    const code = status === BAD_REQUEST && body !== undefined ? unreadCode(body) : undefined
    if (code === undefined) return undefined
    const { message, data, remote } = statusFault(status, statedIn(refusal))
    return new Fault('unavailable', message, { data: { ...data, code }, remote })
  }

  mayAnswerLater(): boolean {
    return false
  }

  streamEnded(exchange: RequestExchange): void {
    exchange.fail(new Fault('disconnected', 'The server ended the stream without an answer'))
  }

  /** Returns the headers that repeat the body as sent (ibid., "Request Metadata"). */
  #mirrored(method: string, params: JsonText | undefined): Readonly<Record<string, string>> {
    const tool = method === 'tools/call' ? params && textMember(params, 'name') : undefined
    const schema = tool === undefined ? undefined : this.#options.schemaOf(tool)
    return mirrorHeaders(method, params, schema)
  }
}

/**
 * Returns the code of an older server's rejection, which reads no further than the missing session, often not
 * even the id.
 */
const unreadCode = (body: Buffer): number | undefined => {
  const classified = classify(body)
  if (classified.is !== 'message' || classified.message.kind !== 'error') return undefined
  const { id, error } = classified.message
  const code = errorCode(error)
  const isUnread = code === NO_SESSION || typeof ownIdOf(id) !== 'number'
  return isUnread ? code : undefined
}

import { type Backoff, backoffMs } from '../../../kernel/async/backoff.js'
import type { Clock } from '../../../kernel/async/clock.js'
import { within } from '../../../kernel/async/deadline.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { ServerFacts } from '../../../model/peer.js'
import type { RequestExchange } from '../../../rpc/http/exchange.js'
import { fetchReply, type RemoteReply } from '../../../rpc/http/fetch-reply.js'
import { POST_HEADERS, type RemoteAddress } from '../../../rpc/http/reply.js'
import type { SseReader } from '../../../wire/framing/sse-read.js'
import { isVisibleAscii, mergedHeaders } from '../../../wire/http/headers.js'
import type { HttpClient, HttpHeaders, OutboundRequest } from '../../../wire/http.js'
import type { SessionHistory } from './lost-session.js'
import { type SavedSession, writeSavedSession } from './saved-session.js'

/** The time to wait for the server's acknowledgement when a session ends. */
const END_MS = 1000
/** The first revision with `MCP-Protocol-Version`, which older servers may reject. */
const VERSION_HEADER_SINCE = '2025-06-18'

type Headers = Readonly<Record<string, string>>

/** The endpoint of a legacy server; sends the session id and the revision with every request. */
export class HttpRemote {
  readonly #http: HttpClient
  readonly #address: RemoteAddress
  readonly #clock: Clock
  #session: string | undefined
  #revision: string | undefined
  #isAgreed = false
  #hasWorked = false
  /** The headers of POSTs. */
  #postHeaders: Headers

  constructor(http: HttpClient, address: RemoteAddress, clock: Clock) {
    this.#http = http
    this.#address = address
    this.#clock = clock
    this.#postHeaders = this.#headers(POST_HEADERS)
  }

  get session(): SessionHistory {
    return { hasId: this.#session !== undefined, hasWorked: this.#hasWorked }
  }

  /** Records that the server accepted a message after the handshake. */
  worked(): void {
    this.#hasWorked = this.#isAgreed
  }

  /** Encodes the session for other replicas; undefined if there is none, or it is too long. */
  savedSession(facts: ServerFacts, ids: number): JsonText | undefined {
    return this.#session === undefined
      ? undefined
      : writeSavedSession({ url: this.#address.url, id: this.#session, ids, facts })
  }

  /** Resumes a session that began elsewhere. */
  resumeSession({ id, facts }: Pick<SavedSession, 'id' | 'facts'>): void {
    this.#session = id
    this.agreed(facts.revision)
    this.worked()
  }

  agreed(revision: string): void {
    this.#isAgreed = true
    this.#revision = revision >= VERSION_HEADER_SINCE ? revision : undefined
    this.#postHeaders = this.#headers(POST_HEADERS)
  }

  /** Keeps the session id of a reply; returns a Fault if it is not valid in a header. */
  learnSession(headers: HttpHeaders): Fault | undefined {
    const session = headers['mcp-session-id']
    if (this.#session !== undefined || session === undefined) return undefined
    if (!isVisibleAscii(session))
      return new Fault('unavailable', 'The server issued a session id that is not visible ASCII')
    this.#session = session
    this.#postHeaders = this.#headers(POST_HEADERS)
    return undefined
  }

  /** Sends a request of the conversation. */
  send(exchange: RequestExchange, frame: Buffer): void {
    const { headers: more, isRepeat } = exchange.sink
    const post = this.#post(frame)
    const headers = more === undefined ? post.headers : mergedHeaders(post.headers, more)
    const isPlain = more === undefined && isRepeat !== true
    exchange.send(this.#http, isPlain ? post : { ...post, headers, onNewConnection: isRepeat === true })
  }

  /** Posts a message without a JSON-RPC answer. Rejects with a Fault if it cannot be sent. */
  post(frame: Buffer, signal: AbortSignal): Promise<RemoteReply> {
    return fetchReply(this.#http, this.#post(frame), signal)
  }

  /** Opens an event stream, from the beginning or after an event. Rejects with a Fault. */
  open(lastEventId: string | undefined, signal: AbortSignal): Promise<RemoteReply> {
    const headers = this.#headers({
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    })
    const request: OutboundRequest = {
      method: 'GET',
      url: this.#address.url,
      headers,
      hasWorked: this.#hasWorked,
    }
    return fetchReply(this.#http, request, signal)
  }

  /**
   * Ends the session at the server (transports, "Session Management", 5). Rejects if it cannot be reached.
   */
  async end(): Promise<void> {
    if (this.#session === undefined) return
    const stop = new AbortController()
    const request = { method: 'DELETE', url: this.#address.url, headers: this.#headers({}) } as const
    const reply = fetchReply(this.#http, request, stop.signal)
    const end = await within(reply, { clock: this.#clock, ms: END_MS })
    if (end === undefined) stop.abort()
    else end.discard()
  }

  #post(body: Buffer): OutboundRequest {
    const { url } = this.#address
    return { method: 'POST', url, headers: this.#postHeaders, body, hasWorked: this.#hasWorked }
  }

  #headers(own: Headers): Headers {
    return {
      ...this.#address.headers,
      ...own,
      ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
    }
  }
}

/** Bounds the reconnection delay of a server. */
const RETRY_MS = { min: 100, max: 60_000 }

/** The position to resume a stream from (transports, "Resumability and Redelivery"). */
export interface StreamPosition {
  lastEventId: string | undefined
  retryMs: number | undefined
}

export const newPosition = (): StreamPosition => ({ lastEventId: undefined, retryMs: undefined })

/** Updates a position; values of earlier connections are kept until a later one replaces them. */
export const advance = (position: StreamPosition, { lastEventId, retryMs }: SseReader): void => {
  position.lastEventId = lastEventId ?? position.lastEventId
  position.retryMs = retryMs ?? position.retryMs
}

/** Returns the delay before attempt `tries` (0: the stream was fine); at least the server's own delay. */
export const reopenMs = ({ retryMs }: StreamPosition, tries: number, backoff: Backoff): number => {
  if (retryMs === undefined) return backoffMs(tries, backoff)
  const asked = Math.min(Math.max(retryMs, RETRY_MS.min), RETRY_MS.max)
  return tries === 0 ? asked : Math.max(asked, backoffMs(tries, backoff))
}

/** Resolves after `ms`, or at once when aborted. */
export const sleep = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) {
      resolve()
      return
    }
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })

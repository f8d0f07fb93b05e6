import type { Clock } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { RemoteAddress } from '../../rpc/http-reply.js'
import { isVisibleAscii } from '../../wire/header-text.js'
import type { HttpClient, InboundReply } from '../../wire/http.js'

/** How long the server may take to hear that the session is over. */
const END_MS = 2000
/** The header that repeats the revision came with this one; older servers may refuse it (transports, "Protocol Version Header"). */
const VERSION_HEADER_SINCE = '2025-06-18'

/** A request to the endpoint, without what is repeated on each. */
export interface RemoteRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

/** The endpoint of a legacy server: repeats on every request what was learnt (session id, revision). */
export class HttpRemote {
  readonly #http: HttpClient
  readonly #address: RemoteAddress
  readonly #clock: Clock
  #session: string | undefined
  #revision: string | undefined
  /** When the server last sent anything (monotonic). */
  lastHeardMs: number

  constructor(http: HttpClient, address: RemoteAddress, clock: Clock) {
    this.#http = http
    this.#address = address
    this.#clock = clock
    this.lastHeardMs = clock.nowMs()
  }

  /** Whether the server gave us a session; those that did not are sessionless. */
  get hasSession(): boolean {
    return this.#session !== undefined
  }

  /** Something came from the server. */
  heard(): void {
    this.lastHeardMs = this.#clock.nowMs()
  }

  agreed(revision: string): void {
    this.#revision = revision >= VERSION_HEADER_SINCE ? revision : undefined
  }

  /** Keeps the session id that a reply issues. Throws a Fault if it cannot be repeated in a header. */
  learnSession(reply: InboundReply): void {
    const session = reply.headers['mcp-session-id']
    if (this.#session !== undefined || session === undefined) return
    if (!isVisibleAscii(session)) {
      reply.discard()
      throw new Fault('unavailable', 'The server issued a session id that is not visible ASCII')
    }
    this.#session = session
  }

  async send({ method, headers, body, signal }: RemoteRequest): Promise<InboundReply> {
    const reply = await this.#http.send({
      method,
      url: this.#address.url,
      headers: {
        ...this.#address.headers,
        ...headers,
        ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
        ...(this.#revision !== undefined && { 'mcp-protocol-version': this.#revision }),
      },
      ...(body !== undefined && { body }),
      signal,
    })
    this.heard()
    return reply
  }

  /** Ends the session at the server (transports, "Session Management", item 5). Rejects if it cannot be reached. */
  async end(): Promise<void> {
    if (this.#session === undefined) return
    const stop = new AbortController()
    const limit = this.#clock.after(END_MS, () => stop.abort())
    try {
      const reply = await this.send({ method: 'DELETE', headers: {}, signal: stop.signal })
      reply.discard()
    } finally {
      limit.cancel()
    }
  }
}

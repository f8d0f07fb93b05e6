import { Fault } from '../../kernel/faults.js'
import type {
  HttpClient,
  HttpHeaders,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../wire/http.js'
import type { HttpCredential } from '../../wire/http-credential.js'

type Headers = Readonly<Record<string, string>>

/**
 * Returns an HTTP client that authenticates requests, and repeats each at most once with a new credential.
 */
export const withCredential = (http: HttpClient, credential: HttpCredential): HttpClient => ({
  send(request, listener) {
    const exchange = new ProvenExchange(http, credential, request, listener)
    exchange.start()
    return exchange
  },
  close: () => http.close(),
})

/**
 * One request and its reply.
 *
 *   proving ─headers▶ sent ─head▶ receiving;  sent ─refused▶ proving, once;  abort or discard ▶ over
 */
class ProvenExchange implements OutboundExchange, ReplyListener {
  readonly #http: HttpClient
  readonly #credential: HttpCredential
  readonly #request: OutboundRequest
  readonly #listener: ReplyListener
  /** Undefined while no request is in flight. */
  #outbound: OutboundExchange | undefined
  #sent: Headers | undefined
  #isRepeated = false
  #isPaused = false
  #isOver = false

  constructor(
    http: HttpClient,
    credential: HttpCredential,
    request: OutboundRequest,
    listener: ReplyListener,
  ) {
    this.#http = http
    this.#credential = credential
    this.#request = request
    this.#listener = listener
  }

  start(): void {
    try {
      const headers = this.#credential.authorize(this.#request)
      if (headers instanceof Promise) {
        headers.then(
          got => this.#send(got),
          (thrown: unknown) => this.#fail(thrown),
        )
      } else this.#send(headers)
    } catch (thrown) {
      // The listener must not be called before `send` has returned.
      queueMicrotask(() => this.#fail(thrown))
    }
  }

  pause(): void {
    this.#isPaused = true
    this.#outbound?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#outbound?.resume()
  }

  discard(): void {
    this.#isOver = true
    this.#outbound?.discard()
  }

  abort(): void {
    this.#isOver = true
    this.#outbound?.abort()
  }

  // ── called by the HTTP client ──

  head(status: number, headers: HttpHeaders, statusText?: string): void {
    const again = status === 401 || status === 403 ? this.#refused(status, headers) : undefined
    if (again === undefined) {
      this.#listener.head(status, headers, statusText)
      return
    }
    this.#outbound?.discard()
    this.#outbound = undefined
    this.#isRepeated = true
    again.then(
      () => {
        if (!this.#isOver) this.start()
      },
      (thrown: unknown) => this.#fail(thrown),
    )
  }

  data(chunk: Buffer): void {
    this.#listener.data(chunk)
  }

  ended(fault: Fault | undefined): void {
    this.#listener.ended(fault)
  }

  #refused(status: number, headers: HttpHeaders): Promise<void> | undefined {
    // Without a challenge, servers mean the session; the next one shows whether a login is missing.
    if (this.#request.hasWorked === true && headers['www-authenticate'] === undefined) return undefined
    const isRepeated = this.#isRepeated
    return this.#credential.refused({ status, headers, sent: this.#sent, isRepeated })
  }

  #send(headers: Headers | undefined): void {
    if (this.#isOver) return
    this.#sent = headers
    this.#outbound = this.#http.send(headers === undefined ? this.#request : this.#proven(headers), this)
    if (this.#isPaused) this.#outbound.pause()
  }

  /** `Object.assign` is eight times faster than spreading two objects. */
  #proven(headers: Headers): OutboundRequest {
    return { ...this.#request, headers: Object.assign({}, this.#request.headers, headers) }
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#listener.ended(Fault.from(thrown))
  }
}

import { Agent, type Dispatcher, errors } from 'undici'
import type {
  HttpClient,
  HttpHeaders,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../wire/http.js'
import { transferFault } from './faults.js'

/** Times of an HTTP client; 0 is without a limit. */
export interface HttpClientOptions {
  /** From the first packet to an open (TLS) connection. */
  readonly connectTimeoutMs?: number
  /** From the request to the status line; a call may take minutes, and the caller has its own limit. */
  readonly headersTimeoutMs?: number
}

type Controller = Dispatcher.DispatchController
type RawHeaders = Readonly<Record<string, string | string[] | undefined>>

const MAX_REDIRECTS = 3

/** What we read of an answer that nobody wants, so that its connection can be used again. */
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 1000

/** An HTTP client for remote servers: connections are kept, and a body may stay silent for hours. */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const { connectTimeoutMs = 10_000, headersTimeoutMs = 0 } = options
  // Event streams hold a connection each, so their number is left to the limits of sessions and servers.
  const dispatcher = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: 0,
  })
  const way: ClientContext = { dispatcher, placeOf: createPlaceOf() }
  return {
    send(request, listener) {
      const outbound = new HttpOutbound(way, request, listener)
      outbound.start()
      return outbound
    },
    close: () => dispatcher.destroy().catch(() => undefined),
  }
}

/** What all requests of a client share. */
interface ClientContext {
  readonly dispatcher: Dispatcher
  /** Throws for a URL that leads nowhere. */
  readonly placeOf: (url: string) => Place
}

/**
 * One request and its reply. It is undici's handler itself: `request` would make a promise, a stream and an iterator for each.
 *
 *   asked ─head▶ replied ─end▶ over;  abort ▶ over from anywhere;  replied ─discard▶ drained ─end, too much, too late▶ over
 */
class HttpOutbound implements Dispatcher.DispatchHandler, OutboundExchange {
  readonly #way: ClientContext
  readonly #request: OutboundRequest
  readonly #redirects: number
  /** Undefined: nobody wants to know any more. */
  #listener: ReplyListener | undefined
  #controller: Controller | undefined
  #isPaused = false
  /** The headers of the reply, until its body is read or nobody is to read it. */
  #unread: RawHeaders | undefined
  #drainedBytes = 0
  #patience: NodeJS.Timeout | undefined
  /** The same request at another place, to which the server sent us. */
  #next: HttpOutbound | undefined

  constructor(way: ClientContext, request: OutboundRequest, listener: ReplyListener, redirects = 0) {
    this.#way = way
    this.#request = request
    this.#listener = listener
    this.#redirects = redirects
  }

  /**
   * Sends the request, in a moment: whoever reacts to one reply with another request does so while undici's parser runs, which
   * cannot look at a second connection meanwhile (undici, lib/dispatcher/client-h1.js, `currentParser`).
   */
  start(): void {
    process.nextTick(() => this.#dispatch())
  }

  pause(): void {
    if (this.#next !== undefined) this.#next.pause()
    else {
      this.#isPaused = true
      this.#controller?.pause()
    }
  }

  resume(): void {
    if (this.#next !== undefined) this.#next.resume()
    else {
      this.#isPaused = false
      // Not now, for the reason that `start` has.
      process.nextTick(() => {
        if (!this.#isPaused) this.#controller?.resume()
      })
    }
  }

  discard(): void {
    if (this.#next !== undefined) this.#next.discard()
    else if (this.#unread === undefined || !isWorthReading(this.#unread)) this.#cut()
    else if (this.#listener !== undefined) {
      this.#listener = undefined
      this.#patience = setTimeout(() => this.#cut(), DISCARD_MS).unref()
      this.resume()
    }
  }

  abort(): void {
    if (this.#next !== undefined) this.#next.abort()
    else this.#cut()
  }

  // ── what undici tells ──

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#listener === undefined) this.#cut()
  }

  onResponseStart(controller: Controller, status: number, headers: RawHeaders): void {
    // Only informational (RFC 9110 §15.2): the reply is still to come.
    if (status < 200) return
    this.#unread = headers
    const url = this.#redirects < MAX_REDIRECTS ? nextUrl(status, headers, this.#request) : undefined
    if (url !== undefined) this.#follow(url)
    else this.#listener?.head(status, joined(headers))
    if (this.#isPaused) controller.pause()
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.#listener !== undefined) {
      this.#unread = undefined
      this.#listener.data(chunk)
      return
    }
    this.#drainedBytes += chunk.length
    if (this.#drainedBytes > DISCARD_BYTES) this.#cut()
  }

  onResponseEnd(): void {
    this.#end(undefined)
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#end(error)
  }

  #dispatch(): void {
    if (this.#listener === undefined) return
    const { method, url, headers, body = null } = this.#request
    try {
      const { origin, path } = this.#way.placeOf(url)
      this.#way.dispatcher.dispatch({ origin, path, method, headers, body }, this)
    } catch (error) {
      this.#end(error)
    }
  }

  #cut(): void {
    this.#listener = undefined
    this.#controller?.abort(new errors.RequestAbortedError())
  }

  #end(error: unknown): void {
    clearTimeout(this.#patience)
    const listener = this.#listener
    this.#listener = undefined
    // The connection may be another request's by now.
    this.#controller = undefined
    this.#unread = undefined
    listener?.ended(error === undefined ? undefined : transferFault(error, this.#request.url))
  }

  #follow(url: string): void {
    if (this.#listener === undefined) return
    const next = new HttpOutbound(this.#way, { ...this.#request, url }, this.#listener, this.#redirects + 1)
    next.#isPaused = this.#isPaused
    this.discard()
    this.#next = next
    next.start()
  }
}

/** Where a URL leads, in undici's terms. */
interface Place {
  readonly origin: string
  readonly path: string
}

/** Reading a URL costs as much as a tenth of a call, and there are few of them. */
const PLACES_MAX = 100

const createPlaceOf = (): ((url: string) => Place) => {
  const known = new Map<string, Place>()
  return url => {
    let place = known.get(url)
    if (place === undefined) {
      place = readPlace(url)
      if (known.size >= PLACES_MAX) known.clear()
      known.set(url, place)
    }
    return place
  }
}

/** Throws for a URL that leads nowhere. */
const readPlace = (url: string): Place => {
  const { origin, pathname, protocol, search } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') throw new errors.InvalidArgumentError('no URL of HTTP')
  return { origin, path: pathname + search }
}

/** Where to go on, when that is the same origin and repeats the request as it was; RFC 9110 §15.4. */
const nextUrl = (status: number, { location }: RawHeaders, request: OutboundRequest): string | undefined => {
  const repeats = status === 307 || status === 308
  const becomesGet = status === 301 || status === 302 || status === 303
  if (!repeats && !(becomesGet && request.method === 'GET')) return undefined
  if (typeof location !== 'string' || !URL.canParse(location, request.url)) return undefined
  const next = new URL(location, request.url)
  return next.origin === new URL(request.url).origin ? next.href : undefined
}

/** The rest of a short answer is cheaper than a new connection; an event stream has no end to wait for. */
const isWorthReading = (headers: RawHeaders): boolean =>
  !String(headers['content-type']).startsWith('text/event-stream') &&
  !(Number(headers['content-length']) > DISCARD_BYTES)

const joined = (headers: RawHeaders): HttpHeaders =>
  isPlain(headers)
    ? headers
    : Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          Array.isArray(value) ? value.join(', ') : value,
        ]),
      )

/** Whether each header came once, as nearly always. */
const isPlain = (headers: RawHeaders): headers is HttpHeaders => {
  for (const name in headers) if (typeof headers[name] !== 'string') return false
  return true
}

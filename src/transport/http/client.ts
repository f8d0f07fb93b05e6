import type { Dispatcher } from 'undici'
import { Fault } from '../../kernel/faults.js'
import type { ForwardProxy } from '../../kernel/machine/forward-proxy.js'
import { nothing } from '../../kernel/nothing.js'
import type {
  HttpClient,
  HttpHeaders,
  OutboundExchange,
  OutboundRequest,
  ReplyListener,
} from '../../wire/http.js'
import { CookieJar } from './cookies.js'
import { createDecoder, type Decoder } from './decoding.js'
import { httpSocketFault, proxyFault, proxyStatusFault, transferFault, urlOrigin } from './faults.js'
import { type RouteOptions, Routes } from './routes.js'
import { errors } from './undici-parts.js'

/** Options of an HTTP client; a timeout of 0 is off. */
export interface HttpClientOptions extends Partial<RouteOptions> {
  /** From the request to the status line; unlimited by default, because callers have their own limit. */
  readonly headersTimeoutMs?: number
  /** Maximum redirects to follow, to the same origin; 3 by default. */
  readonly maxRedirects?: number
}

type Controller = Dispatcher.DispatchController
type RawHeaders = Readonly<Record<string, string | string[] | undefined>>

const MAX_REDIRECTS = 3

/** Amount and time for reading an unwanted response, so that its connection can be reused. */
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 1000

/** Creates an HTTP client for remote servers: connections are kept, and a body may be silent for hours. */
export function createHttpClient(options: HttpClientOptions = {}): RemoteHttpClient {
  const { connectTimeoutMs = 10_000, headersTimeoutMs = 0, maxRedirects = MAX_REDIRECTS, ...way } = options
  // Each event stream needs a connection of its own; the limits of sessions and servers bound their number.
  const createRoutes = (more?: RouteOptions['agent']): Routes => {
    const agent = { headersTimeout: headersTimeoutMs, bodyTimeout: 0, ...way.agent, ...more }
    return new Routes({ ...way, connectTimeoutMs, agent })
  }
  const kept = createRoutes()
  // Keeps no connections; created when a kept one closes under a request that may be sent again.
  let unkept: Routes | undefined
  const context: ClientContext = {
    maxRedirects,
    faultOf: way.socketPath === undefined ? transferFault : httpSocketFault,
    routesOf: ({ onNewConnection }) => {
      if (onNewConnection !== true) return kept
      unkept ??= createRoutes({ pipelining: 0 })
      return unkept
    },
  }
  const close = async (): Promise<void> => {
    await Promise.allSettled([kept.close(), unkept?.close()])
  }
  return {
    ...clientWith(context, close),
    forConnection: () => clientWith({ ...context, cookies: new CookieJar() }, nothing),
  }
}

/** An HTTP client for several servers. */
export interface RemoteHttpClient extends HttpClient {
  /** Returns a client for one connection of the protocol, with its own cookies but the same sockets. */
  forConnection(): HttpClient
}

const clientWith = (context: ClientContext, close: () => Promise<void> | void): HttpClient => ({
  send(request, listener) {
    const outbound = new HttpOutbound(context, request, listener)
    outbound.start()
    return outbound
  },
  close: async () => await close(),
})

interface ClientContext {
  routesOf(request: OutboundRequest): Routes
  readonly maxRedirects: number
  /** Converts an error of the connection for a URL. */
  faultOf(error: unknown, url: string): Fault
  /** Undefined if cookies are ignored. */
  readonly cookies?: CookieJar
}

/**
 * One request and its response. Implements undici's handler, because `request` would create a promise, a
 * stream and an iterator for each.
 *
 *   sent ─head▶ receiving ─end▶ over;  receiving ─discard▶ draining ─end, too much or too late▶ over;
 *   abort ▶ over at any time
 */
class HttpOutbound implements Dispatcher.DispatchHandler, OutboundExchange {
  readonly #context: ClientContext
  readonly #request: OutboundRequest
  readonly #redirects: number
  /** Undefined once the response is not needed any more. */
  #listener: ReplyListener | undefined
  #controller: Controller | undefined
  /** The forward proxy that passes the request on, if it is not encrypted. */
  #proxy: ForwardProxy | undefined
  #isPaused = false
  #statusText: string | undefined
  /** Headers of the response until its body is read. */
  #unreadHeaders: RawHeaders | undefined
  /** Set for a body with a content coding. */
  #decoder: Decoder | undefined
  #drainedBytes = 0
  #discardTimer: NodeJS.Timeout | undefined
  /** The same request at the target of a redirect. */
  #next: HttpOutbound | undefined

  constructor(context: ClientContext, request: OutboundRequest, listener: ReplyListener, redirects = 0) {
    this.#context = context
    this.#request = request
    this.#listener = listener
    this.#redirects = redirects
  }

  /** Sends the request in the next tick: undici's parser cannot handle a second connection while it runs. */
  start(): void {
    process.nextTick(() => this.#dispatch())
  }

  pause(): void {
    if (this.#next !== undefined) this.#next.pause()
    else {
      this.#isPaused = true
      // A paused decoder holds back the connection once it is full.
      if (this.#decoder === undefined) this.#controller?.pause()
      else this.#decoder.pause()
    }
  }

  resume(): void {
    if (this.#next !== undefined) this.#next.resume()
    else {
      this.#isPaused = false
      // In the next tick for the same reason as in `start`.
      process.nextTick(() => {
        if (this.#isPaused) return
        if (this.#decoder === undefined) this.#controller?.resume()
        else this.#decoder.resume()
      })
    }
  }

  discard(): void {
    if (this.#next !== undefined) this.#next.discard()
    else if (this.#unreadHeaders === undefined || !isWorthReading(this.#unreadHeaders)) this.#cut()
    else if (this.#listener !== undefined) {
      this.#listener = undefined
      this.#stopDecoding()
      this.#discardTimer = setTimeout(() => this.#cut(), DISCARD_MS).unref()
      this.resume()
    }
  }

  abort(): void {
    if (this.#next !== undefined) this.#next.abort()
    else this.#cut()
  }

  // ── called by undici ──

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#listener === undefined) this.#cut()
  }

  onResponseStart(controller: Controller, status: number, headers: RawHeaders, statusText?: string): void {
    // An informational response precedes the actual one (RFC 9110 §15.2).
    if (status < 200) return
    this.#unreadHeaders = headers
    const cookies = headers['set-cookie']
    if (cookies !== undefined) this.#context.cookies?.store(this.#request.url, cookies)
    this.#statusText = statusText
    const url =
      this.#redirects < this.#context.maxRedirects ? redirectUrl(status, headers, this.#request) : undefined
    if (url !== undefined) this.#follow(url)
    else this.#begin(status, headers)
    if (this.#isPaused && this.#decoder === undefined) controller.pause()
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#listener !== undefined) {
      this.#unreadHeaders = undefined
      if (this.#decoder === undefined) this.#listener.data(chunk)
      else if (!this.#decoder.write(chunk)) controller.pause()
      return
    }
    this.#drainedBytes += chunk.length
    if (this.#drainedBytes > DISCARD_BYTES) this.#cut()
  }

  onResponseEnd(): void {
    if (this.#decoder === undefined) this.#end(undefined)
    else this.#endDecoding(undefined)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#decoder === undefined) this.#end(error)
    else this.#endDecoding(this.#faultOf(error))
  }

  #faultOf(error: unknown): Fault {
    const fault = this.#context.faultOf(error, this.#request.url)
    return fault.code === 'unavailable' && this.#proxy !== undefined && !(error instanceof Fault)
      ? proxyFault(error, this.#proxy)
      : fault
  }

  #begin(status: number, headers: RawHeaders): void {
    if (this.#proxy !== undefined && isOfProxy(status, headers)) {
      this.#listener?.ended(proxyStatusFault(status, this.#proxy, urlOrigin(this.#request.url)))
      this.#cut()
      return
    }
    const coding = headers['content-encoding']
    if (coding === undefined || this.#listener === undefined)
      this.#listener?.head(status, joined(headers), this.#statusText)
    else this.#beginEncoded(status, headers, coding)
  }

  #beginEncoded(status: number, headers: RawHeaders, coding: string | readonly string[]): void {
    const decoder = createDecoder(coding, {
      origin: urlOrigin(this.#request.url),
      data: chunk => this.#listener?.data(chunk),
      ended: fault => {
        const controller = this.#controller
        this.#end(fault)
        controller?.abort(new errors.RequestAbortedError())
      },
      drained: () => process.nextTick(() => this.#controller?.resume()),
    })
    if (!(decoder instanceof Fault)) {
      this.#decoder = decoder
      if (this.#isPaused) decoder?.pause()
      this.#listener?.head(status, joined(headers), this.#statusText)
    } else if (status < 400) {
      this.#listener?.ended(decoder)
      this.#cut()
    } else {
      // The status counts, but the body cannot be read.
      this.#listener?.head(status, { ...joined(headers), 'content-type': undefined }, this.#statusText)
      this.#listener?.ended(decoder)
      this.#cut()
    }
  }

  /** Delivers the rest of an encoded body after the connection has finished with it. */
  #endDecoding(fault: Fault | undefined): void {
    this.#controller = undefined
    this.#unreadHeaders = undefined
    this.#decoder?.end(fault)
  }

  #stopDecoding(): void {
    this.#decoder?.destroy()
    this.#decoder = undefined
  }

  #dispatch(): void {
    if (this.#listener === undefined) return
    const { method, url, headers, body = null } = this.#request
    try {
      const route = this.#context.routesOf(this.#request).of(url)
      const { origin, path, proxy } = route
      this.#proxy = proxy
      const own = this.#context.cookies?.addTo(headers, url) ?? headers
      const all = route.headers === undefined ? own : { ...own, ...route.headers }
      route.dispatcher.dispatch({ origin, path, method, headers: all, body }, this)
    } catch (error) {
      this.#end(error)
    }
  }

  #cut(): void {
    this.#listener = undefined
    this.#stopDecoding()
    this.#controller?.abort(new errors.RequestAbortedError())
  }

  #end(error: unknown): void {
    clearTimeout(this.#discardTimer)
    const listener = this.#listener
    this.#listener = undefined
    // The connection may serve another request already.
    this.#controller = undefined
    this.#unreadHeaders = undefined
    this.#stopDecoding()
    listener?.ended(error === undefined ? undefined : this.#faultOf(error))
  }

  #follow(url: string): void {
    if (this.#listener === undefined) return
    const next = new HttpOutbound(
      this.#context,
      { ...this.#request, url },
      this.#listener,
      this.#redirects + 1,
    )
    next.#isPaused = this.#isPaused
    this.discard()
    this.#next = next
    next.start()
  }
}

/** Returns a redirect URL that has the same origin and repeats the request unchanged (RFC 9110 §15.4). */
const redirectUrl = (
  status: number,
  { location }: RawHeaders,
  request: OutboundRequest,
): string | undefined => {
  const repeats = status === 307 || status === 308
  const becomesGet = status === 301 || status === 302 || status === 303
  if (!repeats && !(becomesGet && request.method === 'GET')) return undefined
  if (typeof location !== 'string' || !URL.canParse(location, request.url)) return undefined
  const next = new URL(location, request.url)
  return next.origin === new URL(request.url).origin ? next.href : undefined
}

/** Names of proxies in `Server`; they set it in their own answers only. */
const PROXY_SERVER = /^(?:squid|tinyproxy|privoxy|mitmproxy)\b/i

/** Reports whether an error is the forward proxy's own, not one of the server behind it. */
const isOfProxy = (status: number, headers: RawHeaders): boolean =>
  status === 407 ||
  (status >= 400 &&
    (headers['x-squid-error'] !== undefined || PROXY_SERVER.test(String(headers['server'] ?? ''))))

/** Reading a short response is cheaper than a new connection; an event stream may never end. */
const isWorthReading = (headers: RawHeaders): boolean =>
  !String(headers['content-type']).startsWith('text/event-stream') &&
  !(Number(headers['content-length']) > DISCARD_BYTES)

const joined = (headers: RawHeaders): HttpHeaders => {
  if (isPlain(headers)) return headers
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}

/** Reports whether each header occurs once, as in almost all responses. */
const isPlain = (headers: RawHeaders): headers is HttpHeaders => {
  for (const name in headers) if (typeof headers[name] !== 'string') return false
  return true
}

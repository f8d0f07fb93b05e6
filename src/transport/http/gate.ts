import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import { type Caller, hasEnded, type RenewCaller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { RefusalReason } from '../../kernel/meter.js'
import { nothing } from '../../kernel/nothing.js'
import type { HttpHandler } from '../../wire/http.js'
import type { IncomingRequest } from '../node-internals.js'
import {
  answerPreflight,
  hostAllowed,
  isPreflight,
  originAllowed,
  resolveHosts,
  resolveOrigins,
  shareWith,
} from './guards.js'
import { inTurn } from './pipelining.js'
import { clientAddressOf, comesTwice, EndpointRequest, hasLongBody, NO_BODY, readBody } from './request.js'
import {
  type Denial,
  deny,
  denyAndCut,
  errorDenial,
  NodeResponder,
  type ResponderContext,
  refuseOn,
} from './responder.js'
import { SlowReaders } from './slow-readers.js'
import { TrustedProxies } from './trusted-proxies.js'

/** A handler with Node's types, such as an Express application. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Authenticates a request by its head, before its body is read. */
type Authorize = (request: IncomingMessage, path: string) => Caller | Denial | Promise<Caller | Denial>

/**
 * Takes over a connection, as a WebSocket server does. Returns the status of a refusal, if any. A Fault
 * `unavailable` is answered with 503.
 */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  caller: Caller,
) => number | undefined | Promise<number | undefined>

/** The path below which a port serves everything. */
export interface GateBase {
  readonly path: string
  /** False if a reverse proxy may have removed the path already. */
  readonly isStrict: boolean
}

export interface GateOptions {
  /** Removed from the paths of requests; documents below `/.well-known/` are not below it. */
  readonly base?: GateBase
  readonly host: string
  /** In addition to the loopback names and `host`. */
  readonly allowedHosts: readonly string[]
  /** In addition to web pages of this machine. */
  readonly allowedOrigins: readonly string[]
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Exact paths without a check of `Host`: probes use a container's address. */
  readonly open?: ReadonlySet<string>
  /**
   * Paths open to web pages of any origin, such as public metadata; the handler decides who may read the
   * response.
   */
  readonly isShared?: (path: string) => boolean
  /** Called for each endpoint request and upgrade that passed the guards. */
  readonly authorize: Authorize
  /** Handlers by path. */
  readonly endpoints: { get(path: string): HttpHandler | undefined }
  /** Loaded with the first request to another path. */
  readonly other: () => Promise<NodeHandler>
  /** Reports whether clients should move: their connections close after the next response. */
  readonly isLeaving?: () => boolean
  /** Receives upgrades that passed the guards; if absent, they are served as ordinary requests. */
  readonly upgrade?: UpgradeHandler
  /** Called for each request that was answered with an HTTP error. */
  readonly onRefused?: ((refused: RefusedRequest) => void) | undefined
  /** Counts requests refused by their head. */
  readonly refused?: ((reason: RefusalReason) => void) | undefined
  readonly log: Logger
  readonly clock: Clock
  readonly bounds: LimitCounters
}

/** A refused request. Only status and address are verified; the sender claimed the rest. */
export interface RefusedRequest {
  readonly status: number
  readonly remoteAddress: string
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  readonly origin?: string | undefined
}

const bodyDenial = (limit: 'body' | 'inbound', bounds: LimitCounters): Denial =>
  limit === 'body'
    ? errorDenial(413, `Request body is larger than ${bounds.max.body} bytes`)
    : errorDenial(503, bounds.overloadFault(limit, 'Too many bytes are in flight').message)

const OUTSIDE = errorDenial(404, 'Not found: the proxy is served below another path (listen.path)')

/** The endpoint of a request. */
interface Destination {
  readonly handler: HttpHandler
  readonly path: string
  readonly query: string
}

const isUnavailable = (error: unknown): error is Fault =>
  error instanceof Fault && error.code === 'unavailable'

const pathOf = ({ url = '/' }: IncomingMessage): string => url.split('?', 1)[0] ?? '/'

const findClient = (request: IncomingRequest, proxies: TrustedProxies): void => {
  const client = proxies.clientOf(request)
  if (client !== undefined) request.clientAddress = client
}

/** Removes the base path from a request; false if it is required and missing. */
const removeBase = (request: IncomingMessage, { path, isStrict }: GateBase): boolean => {
  const { url = '/' } = request
  const below = url.startsWith(path) ? url.slice(path.length) : undefined
  if (below === undefined || !/^(?:[/?]|$)/.test(below)) return !isStrict || url.startsWith('/.well-known/')
  request.url = below.startsWith('/') ? below : `/${below}`
  return true
}

const addressOf = (socket: Duplex): string => (socket instanceof Socket ? (socket.remoteAddress ?? '') : '')

/** Checks each request (Host, Origin, size, credential) and reads its body for the handler. */
export class HttpGate {
  readonly slowReaders: SlowReaders
  readonly #options: GateOptions
  readonly #bounds: LimitCounters
  readonly #origins: ReadonlySet<string>
  readonly #responderContext: ResponderContext
  readonly #streams = new Map<ServerResponse, Caller>()
  readonly #proxies: TrustedProxies | undefined
  #hosts: ReadonlySet<string> = new Set()
  #other: Promise<NodeHandler> | undefined

  constructor(options: GateOptions) {
    const { bounds, clock, log } = options
    this.#options = options
    this.#bounds = bounds
    this.slowReaders = new SlowReaders(bounds, clock, log)
    this.#responderContext = { log, slowReaders: this.slowReaders, streams: this.#streams, isHandling: false }
    this.#origins = resolveOrigins(options.allowedOrigins)
    const { trustedProxies = [] } = options
    this.#proxies = trustedProxies.length === 0 ? undefined : new TrustedProxies(trustedProxies)
  }

  /** Call before the first request, with the port of the listener. */
  opened(port: number): void {
    const { host, allowedHosts } = this.#options
    this.#hosts = resolveHosts({ host, port, configured: allowedHosts })
  }

  // Neither emits an error: a request without an error listener (Node, lib/_http_incoming.js, onError), a
  // response unless written to after its end (lib/_http_outgoing.js).
  readonly onRequest = inTurn((request: IncomingRequest, response: ServerResponse<IncomingRequest>): void => {
    const { isLeaving, onRefused, base } = this.#options
    if (this.#proxies !== undefined) findClient(request, this.#proxies)
    // Closing an idle connection instead could lose a request in transit.
    if (isLeaving?.() === true) response.shouldKeepAlive = false
    if (onRefused !== undefined) {
      // A closed connection has no address any more.
      const remoteAddress = clientAddressOf(request)
      response.on('close', () => {
        const { headersSent, statusCode } = response
        if (headersSent && statusCode >= 400) this.#refused(request, statusCode, remoteAddress)
      })
    }
    try {
      if (base === undefined || removeBase(request, base)) this.#dispatch(request, response)
      else this.#deny(request, response, OUTSIDE)
    } catch (error) {
      this.#failed(response, error)
    }
  })

  /** Sends `100 Continue` only when the handler reads the body. */
  readonly onExpect = (request: IncomingRequest, response: ServerResponse<IncomingRequest>): void => {
    request.expecting = response
    this.onRequest(request, response)
  }

  readonly onUpgrade = (request: IncomingRequest, socket: Duplex, head: Buffer): void => {
    socket.on('error', nothing)
    if (this.#proxies !== undefined) findClient(request, this.#proxies)
    const remoteAddress = clientAddressOf(request)
    void this.#upgrade(request, socket, head).then(status => {
      if (status !== undefined) this.#refused(request, status, remoteAddress)
    })
  }

  #isOpen(path: string): boolean {
    return this.#options.open?.has(path) === true
  }

  #count(reason: RefusalReason): void {
    this.#options.refused?.(reason)
  }

  /**
   * Ends the event streams of callers whose credential is not valid any more, including those filled by
   * another replica. Calls made before a credential expired may still be answered.
   */
  renewCallers(renew: RenewCaller): void {
    for (const [response, caller] of this.#streams) {
      const mayFinish = response.req.method !== 'GET' && hasEnded(caller)
      if (!mayFinish && renew(caller) === undefined) response.destroy()
    }
  }

  /** Reports input that is not a valid request. */
  unreadable(status: number, socket: Duplex): void {
    this.#count('malformed')
    this.#options.onRefused?.({ status, remoteAddress: addressOf(socket) })
  }

  /** Resolves with the status of a refused upgrade, if any; never rejects. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<number | undefined> {
    try {
      const { base } = this.#options
      if (base !== undefined && !removeBase(request, base)) {
        refuseOn(socket, OUTSIDE.status, OUTSIDE)
        return OUTSIDE.status
      }
      const denial = this.#reject(request, '', request.headers.origin)
      const admitted = denial ?? (await this.#options.authorize(request, pathOf(request)))
      if (!('status' in admitted)) return await this.#options.upgrade?.(request, socket, head, admitted)
      if (denial === undefined) this.#count('auth')
      refuseOn(socket, admitted.status, denial === undefined ? admitted : undefined)
      return admitted.status
    } catch (error) {
      this.#logFailure(error)
      if (!isUnavailable(error)) {
        socket.destroy()
        return undefined
      }
      refuseOn(socket, 503, errorDenial(503, error.message))
      return 503
    }
  }

  #failed(response: ServerResponse, error: unknown): void {
    this.#logFailure(error)
    if (isUnavailable(error)) deny(response, errorDenial(503, error.message))
    else deny(response, errorDenial(500, 'Internal error in the proxy'))
  }

  #logFailure(error: unknown): void {
    const { log } = this.#options
    const message = 'a request could not be handled'
    // A refusal without a cause is expected, such as the one of every request during the start.
    if (isUnavailable(error) && error.cause === undefined) log.debug({ why: error.message }, message)
    else log.error({ err: error }, message)
  }

  #refused({ method, url, headers }: IncomingMessage, status: number, remoteAddress: string): void {
    const { host, origin } = headers
    const [path] = url?.split('?', 1) ?? []
    this.#options.onRefused?.({ status, remoteAddress, method, path, host, origin })
  }

  /** Returns the reason to refuse a request before its body is read; `origin` only if it matters. */
  #reject(request: IncomingMessage, path: string, origin: string | undefined): Denial | undefined {
    const { headers, rawHeaders } = request
    // Node uses the first of two `Host` headers; a reverse proxy might use the second.
    const isAllowed = !comesTwice(rawHeaders, 'host') && hostAllowed(headers.host, this.#hosts)
    if (!isAllowed && !this.#isOpen(path)) {
      this.#count('host')
      return errorDenial(403, 'Host not allowed: add it to "allowedHosts"')
    }
    if (origin !== undefined && (comesTwice(rawHeaders, 'origin') || !originAllowed(origin, this.#origins))) {
      this.#count('origin')
      return errorDenial(403, 'Origin not allowed: add it to "allowedOrigins"')
    }
    // Names and values alternate. Node would silently drop headers above its own limit.
    if (rawHeaders.length > 2 * this.#bounds.max.headerLines) {
      this.#count('malformed')
      this.#bounds.hit('headerLines', { client: clientAddressOf(request) })
      return errorDenial(431, 'Too many headers')
    }
    if (request.url?.startsWith('/') === true) return undefined
    this.#count('malformed')
    return errorDenial(400, 'Request target must be a path')
  }

  #dispatch(request: IncomingRequest, response: ServerResponse<IncomingRequest>): void {
    const target = request.url ?? '/'
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const given = request.headers.origin
    const origin = given === undefined || this.#options.isShared?.(path) === true ? undefined : given
    const denial = this.#reject(request, path, origin)
    if (denial !== undefined) {
      this.#deny(request, response, denial)
      return
    }
    if (origin !== undefined) shareWith(origin, response)
    const handler = this.#options.endpoints.get(path)
    if (handler === undefined) void this.#handleOther(request, response)
    else if (request.method === 'OPTIONS' && isPreflight(request)) answerPreflight(request, response)
    else {
      const to = { handler, path, query: target.slice(path.length + 1) }
      const admitted = this.#options.authorize(request, path)
      if (admitted instanceof Promise)
        admitted
          .then(known => this.#serve(to, known, response))
          .catch((error: unknown) => this.#failed(response, error))
      else this.#serve(to, admitted, response)
    }
  }

  #deny(request: IncomingMessage, response: ServerResponse, denial: Denial): void {
    if (hasLongBody(request)) this.#cut(response, denial)
    else deny(response, denial)
  }

  async #handleOther(request: IncomingRequest, response: ServerResponse): Promise<void> {
    request.inbound = this.#bounds.inbound
    response.on('error', nothing)
    try {
      this.#other ??= this.#options.other()
      const handler = await this.#other
      handler(request, response)
    } catch (error) {
      this.#other = undefined
      this.#failed(response, error)
    }
  }

  /** Serves the request of a caller, or denies it. */
  #serve(to: Destination, admitted: Caller | Denial, response: ServerResponse<IncomingRequest>): void {
    if ('status' in admitted) {
      this.#count('auth')
      this.#deny(response.req, response, admitted)
      return
    }
    const { handler, path, query } = to
    const request = new EndpointRequest(response.req, admitted, path, query)
    readBody(response.req, this.#bounds, {
      whole: body => {
        request.body = body
        const context = this.#responderContext
        context.isHandling = true
        try {
          handler(request, new NodeResponder(response, context, request.caller))
        } catch (error) {
          this.#failed(response, error)
        }
        context.isHandling = false
        // Frees the body before the request ends.
        request.body = NO_BODY
      },
      refused: limit => {
        this.#count(limit === 'body' ? 'malformed' : 'memory')
        if (limit === 'body') this.#bounds.hit('body', { client: request.remoteAddress })
        this.#cut(response, bodyDenial(limit, this.#bounds))
      },
    })
  }

  /** Refuses a request without reading its body. */
  #cut(response: ServerResponse, denial: Denial): void {
    denyAndCut(response, denial, this.#options.clock)
  }
}

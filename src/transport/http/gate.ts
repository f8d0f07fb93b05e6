import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { HttpHandler } from '../../wire/http.js'
import {
  answerPreflight,
  hostAllowed,
  isPreflight,
  originAllowed,
  resolveHosts,
  resolveOrigins,
  shareWith,
} from './guards.js'
import { announcesTooMuch, comesTwice, EndpointRequest, hasLongBody, NO_BODY, readBody } from './request.js'
import {
  NodeResponder,
  PendingResponses,
  type ResponderContext,
  refuseOn,
  respondAndCut,
  respondError,
} from './responder.js'
import { SlowReaders } from './slow-readers.js'

/** A handler in Node's own style, such as an express application. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Takes over a connection, as a WebSocket server does. Returns the status with which it refused, if it did.
 * A Fault `unavailable` is answered with 503.
 */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => number | undefined | Promise<number | undefined>

export interface GateOptions {
  readonly host: string
  /** Besides the loopback names and `host`. */
  readonly allowedHosts: readonly string[]
  /** Besides web pages of this machine. */
  readonly allowedOrigins: readonly string[]
  /** Exact paths that need no allowed `Host`: probes call a container by its address. */
  readonly open?: ReadonlySet<string>
  /** By exact path. */
  readonly endpoints: ReadonlyMap<string, HttpHandler>
  /** Loaded with the first request to another path. */
  readonly other: () => Promise<NodeHandler>
  /** Gets upgrades that passed the guards; without it a request to upgrade is an ordinary request. */
  readonly upgrade?: UpgradeHandler
  /** Called for each request that was answered with an HTTP error. */
  readonly onRefused?: ((refused: RefusedRequest) => void) | undefined
  readonly log: Logger
  readonly clock: Clock
  readonly bounds: LimitCounters
}

/** A refused request. All but status and address is what its sender claimed, as far as it was readable. */
export interface RefusedRequest {
  readonly status: number
  readonly remoteAddress: string
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly host?: string | undefined
  readonly origin?: string | undefined
}

interface Rejection {
  readonly status: number
  readonly message: string
}

const bodyRejection = (limit: 'body' | 'inbound', bounds: LimitCounters): Rejection =>
  limit === 'body'
    ? { status: 413, message: `Request body is larger than ${bounds.max.body} bytes` }
    : { status: 503, message: bounds.overloadFault(limit, 'Too much is being sent at the same time').message }

const isUnavailable = (error: unknown): error is Fault =>
  error instanceof Fault && error.code === 'unavailable'

const nothing = (): void => undefined

const addressOf = (socket: Duplex): string => (socket instanceof Socket ? (socket.remoteAddress ?? '') : '')

/** Checks each request (Host, Origin, size) and reads its body for the handler. The sockets are Node's. */
export class HttpGate {
  readonly slowReaders: SlowReaders
  readonly pending = new PendingResponses()
  readonly #options: GateOptions
  readonly #bounds: LimitCounters
  readonly #origins: ReadonlySet<string>
  readonly #responderContext: ResponderContext
  #hosts: ReadonlySet<string> = new Set()
  #other: Promise<NodeHandler> | undefined

  constructor(options: GateOptions) {
    const { bounds, clock, log } = options
    this.#options = options
    this.#bounds = bounds
    this.slowReaders = new SlowReaders(bounds, clock, log)
    this.#responderContext = { log, slowReaders: this.slowReaders }
    this.#origins = resolveOrigins(options.allowedOrigins)
  }

  /** Call before the first request, with the port that is part of our names. */
  opened(port: number): void {
    const { host, allowedHosts } = this.#options
    this.#hosts = resolveHosts({ host, port, configured: allowedHosts })
  }

  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // Requests emit no errors as long as nobody listens for them (Node, lib/_http_incoming.js, onError).
    response.on('error', nothing)
    this.pending.add(response)
    if (this.#options.onRefused !== undefined) {
      // A closed connection no longer has an address.
      const remoteAddress = addressOf(request.socket)
      response.once('close', () => {
        const { headersSent, statusCode } = response
        if (headersSent && statusCode >= 400) this.#refused(request, statusCode, remoteAddress)
      })
    }
    try {
      this.#dispatch(request, response)
    } catch (error) {
      this.#failed(response, error)
    }
  }

  /** Spares a client that asks first (`Expect: 100-continue`) from sending a body that is too large. */
  readonly onExpect = (request: IncomingMessage, response: ServerResponse): void => {
    if (!announcesTooMuch(request, this.#bounds.max.body)) response.writeContinue()
    this.onRequest(request, response)
  }

  readonly onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', nothing)
    const remoteAddress = addressOf(socket)
    void this.#upgrade(request, socket, head).then(status => {
      if (status !== undefined) this.#refused(request, status, remoteAddress)
    })
  }

  /** Reports input that could not be read as a request. */
  unreadable(status: number, socket: Duplex): void {
    this.#options.onRefused?.({ status, remoteAddress: addressOf(socket) })
  }

  /** Resolves with the status with which the upgrade was refused, if it was; never rejects. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<number | undefined> {
    try {
      const rejection = this.#reject(request, '')
      if (rejection === undefined) return await this.#options.upgrade?.(request, socket, head)
      refuseOn(socket, rejection.status)
      return rejection.status
    } catch (error) {
      this.#logFailure(error)
      if (!isUnavailable(error)) {
        socket.destroy()
        return undefined
      }
      refuseOn(socket, 503)
      return 503
    }
  }

  #failed(response: ServerResponse, error: unknown): void {
    this.#logFailure(error)
    if (isUnavailable(error)) respondError(response, 503, error.message)
    else respondError(response, 500, 'Internal error in the proxy')
  }

  #logFailure(error: unknown): void {
    this.#options.log.error({ err: error }, 'a request could not be handled')
  }

  #refused({ method, url, headers }: IncomingMessage, status: number, remoteAddress: string): void {
    const { host, origin } = headers
    const [path] = url?.split('?', 1) ?? []
    this.#options.onRefused?.({ status, remoteAddress, method, path, host, origin })
  }

  /** Why a request is refused before its body is read, if it is. */
  #reject(request: IncomingMessage, path: string): Rejection | undefined {
    const { headers, rawHeaders } = request
    // Node reads the first of two `Host` headers; a proxy in front of us might read the second.
    const isAllowed = !comesTwice(rawHeaders, 'host') && hostAllowed(headers.host, this.#hosts)
    if (!isAllowed && this.#options.open?.has(path) !== true) {
      return { status: 403, message: 'Host not allowed: add it to "allowedHosts"' }
    }
    const { origin } = headers
    if (origin !== undefined && (comesTwice(rawHeaders, 'origin') || !originAllowed(origin, this.#origins))) {
      return { status: 403, message: 'Origin not allowed: add it to "allowedOrigins"' }
    }
    // Names and values alternate. Node would silently drop headers above its own limit.
    if (rawHeaders.length > 2 * this.#bounds.max.headerLines) {
      this.#bounds.hit('headerLines', { client: request.socket.remoteAddress })
      return { status: 431, message: 'Too many headers' }
    }
    if (request.url?.startsWith('/') === true) return undefined
    return { status: 400, message: 'Request target must be a path' }
  }

  #dispatch(request: IncomingMessage, response: ServerResponse): void {
    const target = request.url ?? '/'
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const rejection = this.#reject(request, path)
    if (rejection !== undefined) {
      if (hasLongBody(request)) this.#cut(response, rejection)
      else respondError(response, rejection.status, rejection.message)
      return
    }
    const { origin } = request.headers
    if (origin !== undefined) shareWith(origin, response)
    const handler = this.#options.endpoints.get(path)
    if (handler === undefined) void this.#handleOther(request, response)
    else if (isPreflight(request)) answerPreflight(request, response)
    else {
      const query = mark < 0 ? '' : target.slice(mark + 1)
      this.#serve(handler, new EndpointRequest(request, path, query), response)
    }
  }

  async #handleOther(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#other ??= this.#options.other()
      const handler = await this.#other
      handler(request, response)
    } catch (error) {
      this.#other = undefined
      this.#failed(response, error)
    }
  }

  #serve(handler: HttpHandler, request: EndpointRequest, response: ServerResponse): void {
    readBody(response.req, this.#bounds, {
      whole: body => {
        request.body = body
        try {
          handler(request, new NodeResponder(response, this.#responderContext))
        } catch (error) {
          this.#failed(response, error)
        }
        // The request lives until it is answered; its body need not.
        request.body = NO_BODY
      },
      refused: limit => {
        if (limit === 'body') this.#bounds.hit('body', { client: request.remoteAddress })
        this.#cut(response, bodyRejection(limit, this.#bounds))
      },
    })
  }

  /** Refuses a request without reading its body. */
  #cut(response: ServerResponse, { status, message }: Rejection): void {
    respondAndCut(response, status, message, this.#options.clock)
  }
}

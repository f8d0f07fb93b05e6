import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { HttpHandler } from '../../wire/http.js'
import {
  Answering,
  answerAndCut,
  answerError,
  createResponder,
  type ResponderContext,
  refuseOn,
} from './answer.js'
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
import { Unread } from './unread.js'

/** A handler of Node's own kind, such as an express application. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void

/**
 * What takes over a connection, such as a WebSocket server. Resolves with the status that it refused with, if it did. A Fault
 * `unavailable` is answered with 503.
 */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => number | undefined | Promise<number | undefined>

/** For whom we listen, and what to do with a request. */
export interface GateOptions {
  readonly host: string
  /** Beside the loopback names and `host`. */
  readonly allowedHosts: readonly string[]
  /** Beside web pages of this machine. */
  readonly allowedOrigins: readonly string[]
  /** Exact paths that are for everybody, by whatever name they reach us: probes call a container by its address. */
  readonly open?: ReadonlySet<string>
  /** By exact path. */
  readonly endpoints: ReadonlyMap<string, HttpHandler>
  /** Loaded with the first request to another path. */
  readonly other: () => Promise<NodeHandler>
  /** Gets upgrades that passed the guards; without it a request to upgrade is a plain request. */
  readonly upgrade?: UpgradeHandler
  /** Told of each request that was answered with an error of HTTP. */
  readonly onRefused?: ((refused: RefusedRequest) => void) | undefined
  readonly log: Logger
  readonly clock: Clock
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** A request that was refused; all but the status and the address are words of whoever made it, as far as they could be read. */
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
    : { status: 503, message: bounds.refusal(limit, 'Too much is being sent at the same time').message }

const nothing = (): void => undefined

const addressOf = (socket: Duplex): string => (socket instanceof Socket ? (socket.remoteAddress ?? '') : '')

/** What happens to a request before a handler sees it: Host, Origin, path, size. The sockets are Node's. */
export class HttpGate {
  /** What waits for clients that do not read. */
  readonly unread: Unread
  readonly #options: GateOptions
  readonly #bounds: LimitCounters
  readonly #origins: ReadonlySet<string>
  #hosts: ReadonlySet<string> = new Set()
  #other: Promise<NodeHandler> | undefined
  /** What was asked and is not answered yet. */
  readonly answering = new Answering()
  readonly #responding: ResponderContext

  constructor(options: GateOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? new LimitCounters()
    this.unread = new Unread(this.#bounds, options.clock, options.log)
    this.#responding = { log: options.log, unread: this.unread }
    this.#origins = resolveOrigins(options.allowedOrigins)
  }

  /** The port may be known only now. */
  opened(port: number): void {
    const { host, allowedHosts } = this.#options
    this.#hosts = resolveHosts({ host, port, configured: allowedHosts })
  }

  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { log } = this.#options
    // Requests have no errors as long as nobody listens for them (Node, lib/_http_incoming.js, onError).
    response.on('error', nothing)
    this.answering.began(response)
    if (this.#options.onRefused !== undefined) {
      // A connection that is closed has no address any more.
      const remoteAddress = addressOf(request.socket)
      response.once('close', () => {
        const { headersSent, statusCode } = response
        if (headersSent && statusCode >= 400) this.#refused(request, statusCode, remoteAddress)
      })
    }
    try {
      this.#dispatch(request, response)
    } catch (error) {
      log.error({ err: error }, 'a request could not be handled')
      answerError(response, 500, 'Internal error in the proxy')
    }
  }

  /** A client that asks before it sends its body is spared sending one that is too large. */
  readonly onExpect = (request: IncomingMessage, response: ServerResponse): void => {
    if (!announcesTooMuch(request, this.#bounds.max.body)) response.writeContinue()
    this.onRequest(request, response)
  }

  readonly onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', nothing)
    void this.#takeOver(request, socket, head)
  }

  /** What could not be read as a request was answered with an error. */
  unreadable(status: number, socket: Duplex): void {
    this.#options.onRefused?.({ status, remoteAddress: addressOf(socket) })
  }

  async #takeOver(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const remoteAddress = addressOf(socket)
    const status = await this.#upgraded(request, socket, head)
    if (status !== undefined) this.#refused(request, status, remoteAddress)
  }

  /** The status with which an upgrade was refused, if it was. Never rejects. */
  async #upgraded(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<number | undefined> {
    try {
      const refusal = this.#refusal(request, '')
      if (refusal === undefined) return await this.#options.upgrade?.(request, socket, head)
      refuseOn(socket, refusal.status)
      return refusal.status
    } catch (error) {
      this.#options.log.error({ err: error }, 'a request could not be handled')
      if (!(error instanceof Fault && error.code === 'unavailable')) {
        socket.destroy()
        return undefined
      }
      refuseOn(socket, 503)
      return 503
    }
  }

  #refused({ method, url, headers }: IncomingMessage, status: number, remoteAddress: string): void {
    const { host, origin } = headers
    const [path] = url?.split('?', 1) ?? []
    this.#options.onRefused?.({ status, remoteAddress, method, path, host, origin })
  }

  #refusal(request: IncomingMessage, path: string): Rejection | undefined {
    const { headers, rawHeaders } = request
    // Node reads the first of two `Host` headers, a proxy in front of us perhaps the second.
    const isNamed = !comesTwice(rawHeaders, 'host') && hostAllowed(headers.host, this.#hosts)
    if (!isNamed && this.#options.open?.has(path) !== true) {
      return { status: 403, message: 'Host not allowed: add it to "allowedHosts"' }
    }
    const { origin } = headers
    if (origin !== undefined && (comesTwice(rawHeaders, 'origin') || !originAllowed(origin, this.#origins))) {
      return { status: 403, message: 'Origin not allowed: add it to "allowedOrigins"' }
    }
    // Names and values in turn. Node alone would drop those above its own limit and say nothing.
    if (rawHeaders.length > 2 * this.#bounds.max.headerLines) {
      this.#bounds.hit('headerLines', { client: request.socket.remoteAddress })
      return { status: 431, message: 'Too many headers' }
    }
    if (request.url?.startsWith('/') !== true)
      return { status: 400, message: 'Request target must be a path' }
    return undefined
  }

  #dispatch(request: IncomingMessage, response: ServerResponse): void {
    const target = request.url ?? '/'
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    const refusal = this.#refusal(request, path)
    if (refusal !== undefined) {
      if (hasLongBody(request)) this.#cut(response, refusal)
      else answerError(response, refusal.status, refusal.message)
      return
    }
    const { origin } = request.headers
    if (origin !== undefined) shareWith(origin, response)
    const handler = this.#options.endpoints.get(path)
    if (handler === undefined) void this.#passOn(request, response)
    else if (isPreflight(request)) answerPreflight(request, response)
    else {
      const query = mark < 0 ? '' : target.slice(mark + 1)
      this.#serve(handler, new EndpointRequest(request, path, query), response)
    }
  }

  async #passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      this.#other ??= this.#options.other()
      const handler = await this.#other
      handler(request, response)
    } catch (error) {
      this.#other = undefined
      this.#options.log.error({ err: error }, 'a request could not be handled')
      if (error instanceof Fault && error.code === 'unavailable') answerError(response, 503, error.message)
      else answerError(response, 500, 'Internal error in the proxy')
    }
  }

  #serve(handler: HttpHandler, request: EndpointRequest, response: ServerResponse): void {
    readBody(response.req, this.#bounds, {
      whole: body => {
        request.body = body
        this.#handle(handler, request, response)
        // Whoever wants any of it later has taken that: the request stays until it is answered.
        request.body = NO_BODY
      },
      refused: limit => {
        if (limit === 'body') this.#bounds.hit('body', { client: request.remoteAddress })
        this.#cut(response, bodyRejection(limit, this.#bounds))
      },
    })
  }

  /** Refuses a request whose body is not worth reading. */
  #cut(response: ServerResponse, { status, message }: Rejection): void {
    answerAndCut(response, status, message, this.#options.clock)
  }

  #handle(handler: HttpHandler, request: EndpointRequest, response: ServerResponse): void {
    const { log } = this.#options
    try {
      handler(request, createResponder(response, this.#responding))
    } catch (error) {
      log.error({ err: error }, 'a request could not be handled')
      answerError(response, 500, 'Internal error in the proxy')
    }
  }
}

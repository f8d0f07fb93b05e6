import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName, Limits } from '../../kernel/limits.js'
import { type Answering, refuseOn } from './answer.js'
import { type GateOptions, HttpGate } from './gate.js'

/** Times of the server; none of them ends an answer that is being written, such as an SSE stream. */
interface HttpTimes {
  /** For the head of a request. */
  readonly headersMs: number
  /** For a whole request, head and body. */
  readonly requestMs: number
  /** A connection without a request is closed after it. */
  readonly keepAliveMs: number
  /** What `close` gives to open answers. */
  readonly drainMs: number
}

/** Where to listen, and all that `HttpFront` wants to know. */
export interface HttpServerOptions extends GateOptions {
  /** 0: any free one. */
  readonly port: number
  readonly times?: Partial<HttpTimes>
}

/** A server that listens. */
export interface HttpListener {
  readonly host: string
  readonly port: number
  /** How many connections are open, upgraded ones included. */
  connections(): number
  /** Closes connections without a request. */
  shed(): void
  /** Stops listening, closes idle connections at once and the others after a while; never rejects. */
  close(): Promise<void>
}

const httpTimes = ({ headersTime, requestTime, keepAliveTime }: Limits): HttpTimes => ({
  headersMs: headersTime,
  requestMs: requestTime,
  keepAliveMs: keepAliveTime,
  drainMs: 2000,
})

const DRAIN_POLL_MS = 50

const REFUSED_BY: Readonly<Record<string, LimitName>> = {
  HPE_HEADER_OVERFLOW: 'headers',
  ERR_HTTP_REQUEST_TIMEOUT: 'requestTime',
}

/** What Node's parser did not take: answered when no other answer is in the way, then cut. */
function refuseGarbage(
  error: Error & { readonly code?: string },
  socket: Duplex,
  { front, bounds }: { readonly front: HttpGate; readonly bounds: LimitCounters },
): void {
  const { code = '' } = error
  if (front.answering.isInWay(socket)) {
    socket.destroy()
    return
  }
  const limit = REFUSED_BY[code]
  if (limit !== undefined) bounds.hit(limit)
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const status = STATUSES[code] ?? 400
  front.unreadable(status, socket)
  refuseOn(socket, status)
}

const STATUSES: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }

function listenFault(error: Error & { readonly code?: string }, { host, port }: HttpServerOptions): Fault {
  const words: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is already in use: choose another with --port, or 0 for any free one`,
    EACCES: `port ${port} is not open to this user: choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is no address of this machine: choose another with --host`,
    ENOTFOUND: `${host} is no address of this machine: choose another with --host`,
  }
  const code = error.code ?? error.name
  return new Fault('unavailable', words[code] ?? `cannot listen on ${host} port ${port} (${code})`, {
    cause: error,
  })
}

function opened(server: Server, options: HttpServerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(listenFault(error, options))
    server.once('error', onError)
    server.listen({ host: options.host, port: options.port }, () => {
      server.off('error', onError)
      server.on('error', error => options.log.error({ err: error }, 'the HTTP server reported an error'))
      const address = server.address()
      if (address === null || typeof address === 'string') reject(new Fault('internal', 'no port'))
      else resolve(address)
    })
  })
}

/**
 * Requests of which Node thinks that they are to be upgraded only if they can be: to a WebSocket, on a connection where nothing
 * is left to be answered. All others are served as if they had not offered it (RFC 9110 §7.8), as `curl --http2` and Java do
 * with h2c. Node alone takes every offer once there is a listener for upgrades, whatever is under way on its connection.
 */
const upgradable = (answering: Answering): typeof IncomingMessage =>
  class extends IncomingMessage {
    #isUpgrade: boolean | undefined

    /** Asked by Node as soon as it has read the head (lib/_http_server.js, parserOnIncoming). */
    get upgrade(): boolean {
      this.#isUpgrade ??=
        this.method === 'CONNECT' || (wantsWebSocket(this.headers) && !answering.isDue(this.socket))
      return this.#isUpgrade
    }

    set upgrade(_: unknown) {
      // What Node thinks of it counts no more.
    }
  }

const wantsWebSocket = ({ connection, upgrade }: IncomingHttpHeaders): boolean =>
  upgrade?.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(connection ?? '')

function createNodeServer(
  options: HttpServerOptions,
  front: HttpGate,
  times: HttpTimes,
  bounds: LimitCounters,
): Server {
  const server = createServer({
    maxHeaderSize: bounds.max.headers,
    headersTimeout: times.headersMs,
    requestTimeout: times.requestMs,
    keepAliveTimeout: times.keepAliveMs,
    // Node's own 30 s would let a slow head live three times as long as it may.
    connectionsCheckingInterval: Math.max(50, Math.min(times.headersMs, 1000)),
    noDelay: true,
    ...(options.upgrade !== undefined && { IncomingMessage: upgradable(front.answering) }),
  })
  const maxConnections = Math.min(bounds.max.connections, connectionsThatFit())
  server.maxConnections = maxConnections
  server.on('request', front.onRequest)
  server.on('checkContinue', front.onExpect)
  server.on('clientError', (error, socket) => refuseGarbage(error, socket, { front, bounds }))
  server.on('drop', () => bounds.hit('connections', { open: maxConnections }))
  if (options.upgrade !== undefined) server.on('upgrade', front.onUpgrade)
  return server
}

/**
 * Listens for HTTP; resolves when the port is open. Rejects with the Fault `unavailable` when it cannot be, in words
 * for the operator.
 */
export async function listenHttp(options: HttpServerOptions): Promise<HttpListener> {
  const bounds = options.bounds ?? new LimitCounters()
  const times = { ...httpTimes(bounds.max), ...options.times }
  const front = new HttpGate({ ...options, bounds })
  const server = createNodeServer(options, front, times, bounds)
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const { port } = await opened(server, options)
  front.opened(port)
  let closing: Promise<void> | undefined
  const close = () =>
    new Promise<void>(resolve => {
      // An answer that ends now would leave its connection open for `keepAliveMs`.
      const sweep = options.clock.every(DRAIN_POLL_MS, () => server.closeIdleConnections())
      const cut = options.clock.after(times.drainMs, () => {
        for (const socket of sockets) socket.destroy()
      })
      server.close(() => {
        front.unread.close()
        sweep.cancel()
        cut.cancel()
        // All are gone by now, though some tell it a moment later.
        sockets.clear()
        resolve()
      })
    })
  return {
    host: options.host,
    port,
    connections: () => sockets.size,
    shed: () => server.closeIdleConnections(),
    close: () => (closing ??= close()),
  }
}

/** What else than connections of clients needs a file: pipes of servers, their connections, the log, and what Node itself has open. */
const RESERVED = 512
const LEAST = 64

/** How many files this process may have open; undefined where that cannot be read (anywhere but on Linux). */
const openFilesLimit = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** How many connections can be open before the operating system gives no more files (`man 5 proc`, /proc/pid/limits). */
export const connectionsThatFit = (files = openFilesLimit()): number =>
  files === undefined ? Number.MAX_SAFE_INTEGER : Math.max(LEAST, files - RESERVED)

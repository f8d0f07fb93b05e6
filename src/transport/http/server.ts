import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../kernel/async/clock.js'
import type { RenewCaller } from '../../kernel/caller.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import { IncomingRequest } from '../node-internals.js'
import { type GateOptions, HttpGate } from './gate.js'
import { isBusy, refuseOn } from './responder.js'
import { ConnectionSources, FEW } from './sources.js'

export interface HttpServerOptions extends Omit<GateOptions, 'bounds'> {
  /** 0 selects any free port. */
  readonly port: number
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
  /** Maximum time that `close` waits for open responses. */
  readonly drainMs?: number
  /** PEM. If set, clients need a certificate of this authority. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined
}

export interface HttpPort {
  readonly host: string
  readonly port: number
  /** Returns the number of open connections, including upgraded ones. */
  connections(): number
  /** Closes idle connections. */
  shed(): void
  /** Applies new rules: ends event streams of callers without a valid credential. */
  renewCallers(renew: RenewCaller): void
  /**
   * Stops listening, but keeps answering requests on open connections: if a connection closes instead, its
   * client cannot tell whether its request ran. Resolves after `QUIET_MS` without a new request, or after
   * `LEAVE_MS`.
   */
  leave(): Promise<void>
  /** Stops listening and closes all connections, busy ones after a while; never rejects. */
  close(): Promise<void>
}

const DRAIN_MS = 2000
/** Silence of a connection after which the system checks that the other machine is still there. */
const PROBE_AFTER_MS = 60_000
const DRAIN_POLL_MS = 50
const QUIET_MS = 250
const LEAVE_MS = 1500

/** Parser errors with a limit and status of their own. */
const PARSER_LIMITS: Readonly<Record<string, { readonly limit: LimitName; readonly status: number }>> = {
  HPE_HEADER_OVERFLOW: { limit: 'headers', status: 431 },
  ERR_HTTP_REQUEST_TIMEOUT: { limit: 'requestTime', status: 408 },
}

/** Answers input that Node's parser rejected, unless another response is in progress; then disconnects. */
function refuseGarbage(error: Error, socket: Duplex, gate: HttpGate, bounds: LimitCounters): void {
  const code = systemCode(error) ?? ''
  if (isBusy(socket)) {
    socket.destroy()
    return
  }
  const { limit, status = 400 } = PARSER_LIMITS[code] ?? {}
  if (limit !== undefined) bounds.hit(limit)
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  gate.unreadable(status, socket)
  refuseOn(socket, status)
}

function listenFault(error: Error, { host, port }: HttpServerOptions): Fault {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is already in use: choose another with --port, or 0 for any free one`,
    EACCES: `port ${port} is not open to this user: choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose another with --host`,
    ENOTFOUND: `${host} is not an address of this machine: choose another with --host`,
  }
  const code = systemCode(error) ?? error.name
  const reason = reasons[code] ?? `cannot listen on ${host} port ${port} (${code})`
  return new Fault('unavailable', reason, { cause: error })
}

function opened(server: Server<typeof IncomingRequest>, options: HttpServerOptions): Promise<AddressInfo> {
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

function createNodeServer(
  options: HttpServerOptions,
  gate: HttpGate,
  bounds: LimitCounters,
): Server<typeof IncomingRequest> {
  const { connections, headers, headersTime, keepAliveTime, requestTime } = bounds.max
  // None of these timeouts ends a response that is being written, such as an event stream.
  const { tls } = options
  const settings = {
    maxHeaderSize: headers,
    headersTimeout: headersTime,
    requestTimeout: requestTime,
    keepAliveTimeout: keepAliveTime,
    // With Node's default of 30 s a slow head could exceed its limit three times over.
    connectionsCheckingInterval: Math.max(50, Math.min(headersTime, 1000)),
    noDelay: true,
    // Otherwise a client whose machine is gone would wait for its call for ever.
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    IncomingMessage: IncomingRequest,
  }
  const server: Server<typeof IncomingRequest> =
    tls === undefined
      ? createServer(settings)
      : createTlsServer({ ...settings, ...tls, requestCert: true, rejectUnauthorized: true })
  const maxConnections = Math.min(connections, connectionsThatFit())
  server.maxConnections = maxConnections
  server.on('request', gate.onRequest)
  server.on('checkContinue', gate.onExpect)
  server.on('clientError', (error, socket) => refuseGarbage(error, socket, gate, bounds))
  server.on('drop', () => bounds.hit('connections', { open: maxConnections }))
  if (options.upgrade !== undefined) server.on('upgrade', gate.onUpgrade)
  return server
}

const leave = (server: Server<typeof IncomingRequest>, clock: Clock): Promise<void> =>
  new Promise(resolve => {
    let isQuiet = true
    let leftMs = LEAVE_MS
    const onRequest = (): void => {
      isQuiet = false
    }
    const end = (): void => {
      timer.cancel()
      server.off('request', onRequest)
      resolve()
    }
    const timer = clock.every(QUIET_MS, () => {
      leftMs -= QUIET_MS
      if (isQuiet || leftMs <= 0) end()
      isQuiet = true
    })
    server.on('request', onRequest)
    // The HTTP server's own `close` also closes idle connections.
    NetServer.prototype.close.call(server, end)
  })

/** Listens for HTTP. Rejects with the Fault `unavailable`, whose message is for the operator. */
export async function listenHttp(options: HttpServerOptions): Promise<HttpPort> {
  const { bounds = new LimitCounters(), clock, drainMs = DRAIN_MS } = options
  const gate = new HttpGate({ ...options, bounds })
  const server = createNodeServer(options, gate, bounds)
  const sockets = new Set<Socket>()
  const sources = new ConnectionSources(server.maxConnections, clock)
  if (server.maxConnections >= FEW) server.on('drop', () => sources.dropped())
  if (options.upgrade !== undefined) server.on('upgrade', ({ socket }) => sources.upgraded(socket))
  server.on('connection', socket => {
    // Other replicas, which have certificates, are trusted.
    if (options.tls === undefined) sources.opened(socket)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const { port } = await opened(server, options)
  gate.opened(port)
  let closing: Promise<void> | undefined
  const close = () =>
    new Promise<void>(resolve => {
      // A response that ends now would keep its connection open for `keepAliveTime`.
      const sweep = clock.every(DRAIN_POLL_MS, () => server.closeIdleConnections())
      const cut = clock.after(drainMs, () => {
        for (const socket of sockets) socket.destroy()
      })
      server.close(() => {
        gate.slowReaders.close()
        sweep.cancel()
        cut.cancel()
        // All are closed now; some emit the event a moment later.
        sockets.clear()
        resolve()
      })
    })
  return {
    host: options.host,
    port,
    leave: () => leave(server, clock),
    connections: () => sockets.size,
    shed: () => server.closeIdleConnections(),
    renewCallers: renew => gate.renewCallers(renew),
    close: () => (closing ??= close()),
  }
}

/** File descriptors reserved for other uses: pipes and connections to servers, the log, Node itself. */
const RESERVED = 512
const LEAST = 64

/** Returns the limit of open files of this process; undefined if unknown (other than on Linux). */
const openFilesLimit = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/**
 * Returns how many connections fit into the limit of open files (`man 5 proc`, /proc/pid/limits). @internal
 */
export const connectionsThatFit = (files = openFilesLimit()): number =>
  files === undefined ? Number.MAX_SAFE_INTEGER : Math.max(LEAST, files - RESERVED)

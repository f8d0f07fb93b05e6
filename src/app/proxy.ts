import { aliasOf } from '../catalog/names.js'
import type { Showing } from '../catalog/options.js'
import type { ProxyConfig, ServerConfig } from '../config/types.js'
import { Bounds } from '../kernel/bounds.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import type { Reception } from '../model/links.js'
import { Gate } from '../mux/gate.js'
import { Router } from '../mux/router.js'
import type { ServerOptions } from '../peers/options.js'
import { openAudit } from './audit-log.js'
import { Children } from './children.js'
import { createDialer } from './dialer.js'
import type { HttpFace } from './front-http.js'
import type { SocketFace } from './front-socket.js'
import { type StdioFace, serveStdio } from './front-stdio.js'
import { createLazySealer } from './sealer.js'
import { stateDir } from './state-key.js'
import { type ProxyStatus, proxyStatus } from './status.js'

/** How a proxy is made, beside its configuration. */
export interface ProxyOptions {
  readonly log?: Logger
  readonly clock?: Clock
  /** The one configured server stands for itself: nothing is renamed, as in `mcp-proxy bridge`. */
  readonly isAlone?: boolean
  /** How long lists wait for servers that are still starting, in milliseconds. */
  readonly listWaitMs?: number
  /** The folder for what should outlive this process; that of the user if absent. */
  readonly stateDir?: string
}

/** Many MCP servers that look like one, behind any number of faces. */
export interface Proxy {
  /** Serves HTTP with all faces that the configuration leaves on. Rejects with a Fault `unavailable` if the port cannot be had. */
  listen(where?: { readonly host?: string; readonly port?: number }): Promise<HttpFace>
  /** Serves a unix domain socket or named pipe. Rejects with a Fault `unavailable` if it cannot be had. */
  listenSocket(path: string): Promise<SocketFace>
  /** Serves one client on our own stdin and stdout, or on the given streams. */
  serveStdio(): StdioFace
  /** For clients in this process. */
  readonly reception: Reception
  /** The processes that run for it. */
  readonly children: Children
  /** How it is, and how its servers are. */
  status(): ProxyStatus
  /** Lets in no further calls, and waits up to `limitMs` for those that are under way. Never rejects. */
  drain(limitMs: number): Promise<void>
  /** Ends all faces, then all servers. Never rejects. */
  close(): Promise<void>
}

/** How long lists wait for servers that are still starting. */
const LIST_WAIT_MS = 2000

/**
 * Makes a proxy of a resolved configuration. Nothing is started but servers that are configured to be eager; faces are
 * added with `listen` and `serveStdio`. Throws a Fault `unavailable` if the audit file cannot be written to.
 */
export const createProxy = (config: ProxyConfig, options: ProxyOptions = {}): Proxy => {
  const { log = silentLogger, clock = systemClock, isAlone = false, listWaitMs = LIST_WAIT_MS } = options
  const byName = new Map(config.servers.map(server => [server.name, server]))
  const bounds = new Bounds({ limits: config.limits, clock, log })
  const audit = openAudit(config.audit, { clock, log })
  const children = new Children()
  const dialer = createDialer(config.servers, { clock, log, children, bounds })
  const router = new Router({
    servers: config.servers.map(toOptions),
    showingOf: server => showingOf(byName.get(server.name)),
    isAlone,
    dial: dialer.dial,
    clock,
    log,
    bounds,
    sealer: createLazySealer({
      configured: config.stateKeys,
      dir: options.stateDir ?? stateDir(process.env),
      log,
    }),
    pageSize: config.pageSize,
    startupWaitMs: config.startupWaitMs,
    listWaitMs,
  })
  const faces: { close(): Promise<void> }[] = []
  const gate = new Gate(router, clock, bounds)
  const startedMs = clock.nowMs()
  const status = (): ProxyStatus =>
    proxyStatus({ router, gate, children, configs: byName, bounds, clock, startedMs })
  const reception = audit.around(gate.reception)
  const around = { reception, clock, log, isDraining: () => gate.isShut, status }
  router.start()
  return {
    async listen(where = {}) {
      const { serveHttp } = await import('./front-http.js')
      const face = await serveHttp({ ...config.listen, ...where }, around)
      faces.push(face)
      return face
    },
    async listenSocket(path) {
      const { serveSocket } = await import('./front-socket.js')
      const face = await serveSocket(path, around)
      faces.push(face)
      return face
    },
    serveStdio() {
      const face = serveStdio(around)
      faces.push(face)
      return face
    },
    reception,
    children,
    status,
    async drain(limitMs) {
      const calls = await gate.shut(limitMs)
      if (calls > 0) log.warn({ calls, limitMs }, 'calls were not over in time')
    },
    async close() {
      router.closing()
      await Promise.all(faces.map(face => face.close()))
      await router.close()
      await dialer.close()
      await audit.close()
    },
  }
}

const toOptions = (server: ServerConfig): ServerOptions => ({
  name: server.name,
  alias: aliasOf(server.name, server.prefix === false ? undefined : server.prefix),
  sharing: server.sharing,
  start: server.start,
  replay: server.replay,
  serialize: server.serialize,
  isProcess: server.transport.kind === 'stdio',
  limits: server.limits,
  timeouts: server.timeouts,
  restart: server.restart,
  idleStopMs: server.idleStopMs,
})

const showingOf = (server: ServerConfig | undefined): Showing => ({
  prefix: server?.prefix !== false,
  uris: server?.uris ?? 'prefix',
  tools: server?.tools ?? { allow: undefined, deny: [], rename: {}, override: {} },
})

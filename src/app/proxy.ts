import { type ConfigDiff, changesOf, diffConfigs, isNothing } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import { type Clock, systemClock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import type { ClientHandler } from '../model/links.js'
import { Admission } from '../mux/calls/admission.js'
import { Router } from '../mux/router.js'
import { type AuditLog, openAudit } from './audit-log.js'
import { createDialer } from './dialer.js'
import { guardLogger } from './guarded-logger.js'
import { KeptSecrets } from './kept-secrets.js'
import type { HttpFront } from './listeners/http.js'
import { type SocketFront, type StdioFront, serveStdio } from './listeners/pipes.js'
import { watchMemory } from './memory-pressure.js'
import { Children } from './processes/children.js'
import type { ConfigStatus } from './reload.js'
import { ServerRegistry } from './server-registry.js'
import { KnownFiles } from './state/server-cache.js'
import { createLazySealer, stateDir } from './state/state-key.js'
import { type ProxyStatus, proxyStatus } from './status.js'

/** How a proxy is made, beside its configuration. */
export interface ProxyOptions {
  readonly log?: Logger
  readonly clock?: Clock
  /** The one configured server stands for itself: nothing is renamed, as in `mcp-proxy bridge`. */
  readonly isAlone?: boolean
  /** How long lists wait for servers that are still starting, in milliseconds. */
  readonly listWaitMs?: number
  /**
   * The folder for what should outlive this process. If it is absent, states of clients outlive it in that of the user, and what
   * servers list is not remembered.
   */
  readonly stateDir?: string
  /** Where the configuration comes from, for the status. */
  readonly configStatus?: () => ConfigStatus | undefined
}

/** Many MCP servers that look like one, behind any number of faces. */
export interface Proxy {
  /** Serves HTTP with all faces that the configuration leaves on. Rejects with a Fault `unavailable` if the port cannot be had. */
  listen(where?: { readonly host?: string; readonly port?: number }): Promise<HttpFront>
  /** Serves a unix domain socket or named pipe. Rejects with a Fault `unavailable` if it cannot be had. */
  listenSocket(path: string): Promise<SocketFront>
  /** Serves one client on our own stdin and stdout, or on the given streams. */
  serveStdio(): StdioFront
  /** For clients in this process. */
  readonly reception: ClientHandler
  /** The processes that run for it. */
  readonly children: Children
  /** What is written down about clients, if the configuration wants it. */
  readonly audit: Pick<AuditLog, 'reloaded' | 'reopen'>
  /** How it is, and how its servers are. */
  status(): ProxyStatus
  /**
   * Goes on with another configuration, and tells what that changes. Only what changed is touched: servers that stay the same, their
   * processes, the clients and their calls notice nothing. Servers that are gone, or started in another way, take no more calls;
   * those under way may take as long as `drainMs` says. What needs a restart stays as it is. Throws a Fault, and has
   * done nothing: `invalid-params` for servers that cannot stand side by side, `unavailable` once the proxy closes.
   */
  reload(config: ProxyConfig): ConfigDiff
  /**
   * Lets in no further calls, and waits up to `limitMs` for those that are under way; as long as the configuration says if absent.
   * Never rejects.
   */
  drain(limitMs?: number): Promise<void>
  /** Ends all faces, then all servers. Never rejects. */
  close(): Promise<void>
}

/** How long lists wait for servers that are still starting. */
const LIST_WAIT_MS = 2000

/** While memory is short, only this part of what peers may have us keep is kept. */
const SHED_PART = 16

/**
 * Makes a proxy of a resolved configuration. Nothing is started but servers that are configured to be eager; faces are
 * added with `listen` and `serveStdio`. Throws a Fault `unavailable` if the audit file cannot be written to.
 */
export const createProxy = (config: ProxyConfig, options: ProxyOptions = {}): Proxy => {
  const { clock = systemClock, isAlone = false, listWaitMs = LIST_WAIT_MS } = options
  const log = guardLogger(options.log ?? silentLogger, clock)
  const secrets = new KeptSecrets()
  secrets.keep(config)
  const fleet = new ServerRegistry(config.servers)
  let current = config
  let isClosing = false
  const bounds = new LimitCounters({ limits: config.limits, clock, log })
  const audit = openAudit(config.audit, { clock, log })
  const children = new Children()
  const dialer = createDialer(fleet.configOf, {
    clock,
    log,
    children,
    bounds,
    makeRoom: () => router.pool.makeRoom(),
  })
  const known =
    options.stateDir === undefined || !config.knownServers
      ? undefined
      : new KnownFiles({ stateDir: options.stateDir, configOf: fleet.configOf, clock, log })
  const router = new Router({
    known,
    servers: fleet.servers,
    showingOf: fleet.showingOf,
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
    onAsked: audit.onAsked,
  })
  const faces: { readonly isLeaving?: boolean; shed?(): void; close(): Promise<void> }[] = []
  const gate = new Admission(router, clock, bounds)
  const startedMs = clock.nowMs()
  const { configOf } = fleet
  const { configStatus } = options
  const status = (): ProxyStatus =>
    proxyStatus({ router, gate, children, configOf, bounds, clock, startedMs, configStatus })
  const reception = audit.around(gate.reception)
  const around = {
    reception,
    bounds,
    clock,
    log,
    isDraining: () => gate.isShut,
    drainMs: () => current.drainMs,
    status,
    onRefused: audit.onRefused,
  }
  const overload = watchMemory({
    bounds,
    clock,
    log,
    relieve() {
      for (const face of faces) face.shed?.()
      if (bounds.pressure < 3) return
      for (const account of [bounds.inbound, bounds.unread]) account.shed(account.maxBytes / SHED_PART)
    },
  })
  router.start()
  return {
    async listen(where = {}) {
      const { serveHttp } = await import('./listeners/http.js')
      const face = await serveHttp({ ...config.listen, ...where }, around)
      faces.push(face)
      return face
    },
    async listenSocket(path) {
      const { serveSocket } = await import('./listeners/pipes.js')
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
    audit,
    status,
    reload(next) {
      if (isClosing || gate.isShut) throw new Fault('unavailable', 'The proxy is shutting down')
      if (isAlone && next.servers.length !== 1) {
        throw new Fault('invalid-params', 'A server that stands for itself must be the only one')
      }
      const diff = diffConfigs(current, next)
      fleet.reload(next.servers, diff)
      secrets.keep(next)
      const { listen, audit: auditing, stateKeys } = current
      // What needs a restart is compared with what holds, as long as it does.
      current = { ...next, listen, audit: auditing, stateKeys }
      const { pageSize, startupWaitMs, drainMs } = next
      bounds.set(next.limits)
      const reshown = fleet.named(diff.reshown)
      if (!isNothing(diff)) {
        void router.reload({ servers: fleet.servers, reshown, pageSize, startupWaitMs, drainMs })
      }
      const changes = changesOf(diff)
      if (Object.keys(changes).length > 0) audit.reloaded({ result: 'ok', ...changes })
      return diff
    },
    async drain(wantedMs = current.drainMs) {
      // A client that closed our stdin and has us told to end as well will not wait.
      const limitMs = faces.some(({ isLeaving }) => isLeaving === true) ? 0 : wantedMs
      const calls = await gate.shut(limitMs)
      if (calls > 0) log.warn({ calls, limitMs }, 'calls were not over in time')
    },
    async close() {
      isClosing = true
      overload.close()
      router.closing()
      await Promise.all(faces.map(face => face.close()))
      await router.close()
      await known?.close()
      await dialer.close()
      await audit.close()
      secrets.close()
    },
  }
}

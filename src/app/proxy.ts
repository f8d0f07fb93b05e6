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
import { createDialer, type Dialer } from './dialer.js'
import { guardLogger } from './guarded-logger.js'
import { KeptSecrets } from './kept-secrets.js'
import type { FrontContext, HttpFront } from './listeners/http.js'
import { type SocketFront, type StdioFront, serveSocket, serveStdio } from './listeners/pipes.js'
import { type MemoryPressure, watchMemory } from './memory-pressure.js'
import { Children } from './processes/children.js'
import type { ConfigStatus } from './reload.js'
import { ServerRegistry } from './server-registry.js'
import { ServerCacheFiles } from './state/server-cache.js'
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

/** While memory is short, peers' unread and unfinished data is cut to this fraction of its limit. */
const SHED_PART = 16

/** What a proxy serves clients on. */
interface Front {
  readonly isLeaving?: boolean
  shed?(): void
  close(): Promise<void>
}

/**
 * Makes a proxy of a resolved configuration. Starts only the servers that are configured to be eager; fronts are
 * added with `listen`, `listenSocket` and `serveStdio`. Throws a Fault `unavailable` if the audit file cannot be
 * written to.
 */
export const createProxy = (config: ProxyConfig, options: ProxyOptions = {}): Proxy =>
  new RunningProxy(config, options)

class RunningProxy implements Proxy {
  readonly children = new Children()
  readonly audit: AuditLog
  readonly reception: ClientHandler
  readonly #clock: Clock
  readonly #log: Logger
  readonly #isAlone: boolean
  readonly #startedMs: number
  readonly #configStatus: ProxyOptions['configStatus']
  readonly #secrets = new KeptSecrets()
  readonly #bounds: LimitCounters
  readonly #servers: ServerRegistry
  readonly #cache: ServerCacheFiles | undefined
  readonly #dialer: Dialer
  readonly #router: Router
  readonly #admission: Admission
  readonly #memory: MemoryPressure
  readonly #fronts: Front[] = []
  readonly #frontContext: FrontContext
  #config: ProxyConfig
  #isClosing = false

  constructor(config: ProxyConfig, options: ProxyOptions) {
    const { clock = systemClock, isAlone = false } = options
    const log = guardLogger(options.log ?? silentLogger, clock)
    this.#config = config
    this.#clock = clock
    this.#log = log
    this.#isAlone = isAlone
    this.#startedMs = clock.nowMs()
    this.#configStatus = options.configStatus
    this.#secrets.keep(config)
    this.#servers = new ServerRegistry(config.servers)
    const bounds = new LimitCounters({ limits: config.limits, clock, log })
    this.#bounds = bounds
    this.audit = openAudit(config.audit, { clock, log })
    const { configOf } = this.#servers
    const makeRoom = (): Promise<boolean> => this.#router.pool.makeRoom()
    this.#dialer = createDialer(configOf, { clock, log, children: this.children, bounds, makeRoom })
    if (options.stateDir !== undefined && config.knownServers) {
      this.#cache = new ServerCacheFiles({ stateDir: options.stateDir, configOf, clock, log })
    }
    this.#router = this.#createRouter(options)
    this.#admission = new Admission(this.#router, clock, bounds)
    this.reception = this.audit.wrap(this.#admission.reception)
    this.#frontContext = {
      reception: this.reception,
      bounds,
      clock,
      log,
      isDraining: () => this.#admission.isShut,
      drainMs: () => this.#config.drainMs,
      status: () => this.status(),
      onRefused: this.audit.onRefused,
    }
    this.#memory = watchMemory({ bounds, clock, log, relieve: () => this.#relieve() })
    this.#router.start()
  }

  async listen(where: { readonly host?: string; readonly port?: number } = {}): Promise<HttpFront> {
    const { serveHttp } = await import('./listeners/http.js')
    return this.#add(await serveHttp({ ...this.#config.listen, ...where }, this.#frontContext))
  }

  async listenSocket(path: string): Promise<SocketFront> {
    return this.#add(await serveSocket(path, this.#frontContext))
  }

  serveStdio(): StdioFront {
    return this.#add(serveStdio(this.#frontContext))
  }

  status(): ProxyStatus {
    return proxyStatus({
      router: this.#router,
      admission: this.#admission,
      children: this.children,
      configOf: this.#servers.configOf,
      bounds: this.#bounds,
      clock: this.#clock,
      startedMs: this.#startedMs,
      configStatus: this.#configStatus,
    })
  }

  reload(next: ProxyConfig): ConfigDiff {
    if (this.#isClosing || this.#admission.isShut)
      throw new Fault('unavailable', 'The proxy is shutting down')
    if (this.#isAlone && next.servers.length !== 1) {
      throw new Fault('invalid-params', 'A server that stands for itself must be the only one')
    }
    const diff = diffConfigs(this.#config, next)
    this.#servers.reload(next.servers, diff)
    this.#secrets.keep(next)
    const { listen, audit, stateKeys } = this.#config
    // Settings that need a restart are compared with those in force, for as long as these are.
    this.#config = { ...next, listen, audit, stateKeys }
    this.#bounds.set(next.limits)
    if (!isNothing(diff)) {
      const { pageSize, startupWaitMs, drainMs } = next
      const reshown = this.#servers.named(diff.reshown)
      const { servers } = this.#servers
      void this.#router.reload({ servers, reshown, pageSize, startupWaitMs, drainMs })
    }
    const changes = changesOf(diff)
    if (Object.keys(changes).length > 0) this.audit.reloaded({ result: 'ok', ...changes })
    return diff
  }

  async drain(wantedMs = this.#config.drainMs): Promise<void> {
    // A client that closed our stdin, and signals us as well, is not going to wait.
    const limitMs = this.#fronts.some(({ isLeaving }) => isLeaving === true) ? 0 : wantedMs
    const calls = await this.#admission.shut(limitMs)
    if (calls > 0) this.#log.warn({ calls, limitMs }, 'calls were not over in time')
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#memory.close()
    this.#router.closing()
    await Promise.all(this.#fronts.map(front => front.close()))
    await this.#router.close()
    await this.#cache?.close()
    await this.#dialer.close()
    await this.audit.close()
    this.#secrets.close()
  }

  #createRouter(options: ProxyOptions): Router {
    const { pageSize, startupWaitMs, stateKeys } = this.#config
    const log = this.#log
    return new Router({
      known: this.#cache,
      servers: this.#servers.servers,
      showingOf: this.#servers.showingOf,
      isAlone: this.#isAlone,
      dial: this.#dialer.dial,
      clock: this.#clock,
      log,
      bounds: this.#bounds,
      sealer: createLazySealer({
        configured: stateKeys,
        dir: options.stateDir ?? stateDir(process.env),
        log,
      }),
      pageSize,
      startupWaitMs,
      listWaitMs: options.listWaitMs ?? LIST_WAIT_MS,
      onAsked: this.audit.onAsked,
    })
  }

  #add<T extends Front>(front: T): T {
    this.#fronts.push(front)
    return front
  }

  /** Gives back what is kept for convenience; when memory is very short, also what peers leave unread or unfinished. */
  #relieve(): void {
    for (const front of this.#fronts) front.shed?.()
    if (this.#bounds.pressure < 3) return
    for (const account of [this.#bounds.inbound, this.#bounds.unread])
      account.shed(account.maxBytes / SHED_PART)
  }
}

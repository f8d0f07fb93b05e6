import { type ConfigDiff, changesOf, diffConfigs, isNothing } from '../config/diff.js'
import { secretsOf } from '../config/read/secrets.js'
import type { ProxyConfig } from '../config/types.js'
import { type Clock, systemClock, type Timer } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import { addSecrets } from '../kernel/mask.js'
import type { ClientHandler } from '../model/links.js'
import { Admission } from '../mux/calls/admission.js'
import { Router } from '../mux/router.js'
import { type AuditLog, openAudit } from './audit-log.js'
import { Dialer } from './dialer.js'
import { guardLogger } from './guarded-logger.js'
import { type SocketEndpoint, type StdioEndpoint, serveSocket, serveStdio } from './listeners/channels.js'
import type { EndpointContext, HttpEndpoints } from './listeners/http.js'
import { watchMemory } from './memory-pressure.js'
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
  /** Serves the only configured server as it is: nothing is renamed, as in `mcp-proxy bridge`. */
  readonly isAlone?: boolean
  /** How long lists wait for servers that are still starting, in milliseconds. */
  readonly listWaitMs?: number
  /**
   * The folder for state that outlives this process. If absent, the lists of servers are not cached, and the
   * key for request states is in the user's own state folder.
   */
  readonly stateDir?: string
  /** Where the configuration comes from, for the status. */
  readonly configStatus?: () => ConfigStatus | undefined
}

/** Many MCP servers that look like one, served on any number of endpoints. */
export interface Proxy {
  /** Serves the configured HTTP endpoints. Rejects with a Fault `unavailable` if it cannot listen. */
  listen(where?: { readonly host?: string; readonly port?: number }): Promise<HttpEndpoints>
  /** Serves a Unix domain socket or named pipe. Rejects with a Fault `unavailable` if it cannot listen. */
  listenSocket(path: string): Promise<SocketEndpoint>
  /** Serves one client on our own stdin and stdout. */
  serveStdio(): StdioEndpoint
  /** Serves clients in this process. */
  readonly clientHandler: ClientHandler
  /** The processes that run for it. */
  readonly children: Children
  /** The audit log; does nothing if none is configured. */
  readonly audit: Pick<AuditLog, 'reloaded' | 'reopen'>
  /** The state of the proxy and its servers. */
  status(): ProxyStatus
  /**
   * Applies another configuration and returns what it changes. Servers that stay the same, their processes,
   * the clients and their calls notice nothing. Servers that are gone, or are started in another way, take no
   * more calls; those in flight have `drainMs` left. Settings that need a restart stay as they are. Throws a
   * Fault and changes nothing: `invalid-params` for servers with the same name or prefix, `unavailable` once
   * the proxy closes.
   */
  reload(config: ProxyConfig): ConfigDiff
  /**
   * Refuses further calls, and waits for those in flight: up to `limitMs`, by default as long as the
   * configuration says. Never rejects.
   */
  drain(limitMs?: number): Promise<void>
  /** Closes all endpoints, then all servers. Never rejects. */
  close(): Promise<void>
}

const LIST_WAIT_MS = 2000

/** While memory is short, peers' unread and unfinished data is cut to this fraction of its limit. */
const SHED_PART = 16

/** How many configurations have their secrets masked: servers of earlier ones may still run. */
const MASKED_CONFIGS = 8

interface Endpoint {
  readonly isLeaving?: boolean
  shed?(): void
  close(): Promise<void>
}

/**
 * Creates a proxy from a resolved configuration. Starts only the servers that are configured to be eager;
 * endpoints are added with `listen`, `listenSocket` and `serveStdio`. Throws a Fault `unavailable` if the
 * audit file cannot be written to.
 */
export const createProxy = (config: ProxyConfig, options: ProxyOptions = {}): Proxy =>
  new RunningProxy(config, options)

class RunningProxy implements Proxy {
  readonly children = new Children()
  readonly audit: AuditLog
  readonly clientHandler: ClientHandler
  readonly #clock: Clock
  readonly #log: Logger
  readonly #isAlone: boolean
  readonly #startedMs: number
  readonly #configStatus: ProxyOptions['configStatus']
  /** Each ends the masking of one configuration's secrets. */
  readonly #unmasks: (() => void)[] = []
  readonly #bounds: LimitCounters
  readonly #servers: ServerRegistry
  readonly #cache: ServerCacheFiles | undefined
  readonly #dialer: Dialer
  readonly #router: Router
  readonly #admission: Admission
  readonly #memory: Timer
  readonly #endpoints: Endpoint[] = []
  readonly #endpointContext: EndpointContext
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
    this.#maskSecrets(config)
    this.#servers = new ServerRegistry(config.servers)
    const bounds = new LimitCounters({ limits: config.limits, clock, log })
    this.#bounds = bounds
    this.audit = openAudit(config.audit, { clock, log })
    const { configOf } = this.#servers
    const makeRoom = (): Promise<boolean> => this.#router.pool.makeRoom()
    this.#dialer = new Dialer(configOf, { clock, log, children: this.children, bounds, makeRoom })
    if (options.stateDir !== undefined && config.knownServers) {
      this.#cache = new ServerCacheFiles({ stateDir: options.stateDir, configOf, clock, log })
    }
    this.#router = this.#createRouter(options)
    this.#admission = new Admission(this.#router, clock, bounds)
    this.clientHandler = this.audit.wrap(this.#admission.handler)
    this.#endpointContext = {
      handler: this.clientHandler,
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

  async listen(where: { readonly host?: string; readonly port?: number } = {}): Promise<HttpEndpoints> {
    const { serveHttp } = await import('./listeners/http.js')
    return this.#add(await serveHttp({ ...this.#config.listen, ...where }, this.#endpointContext))
  }

  async listenSocket(path: string): Promise<SocketEndpoint> {
    return this.#add(await serveSocket(path, this.#endpointContext))
  }

  serveStdio(): StdioEndpoint {
    return this.#add(serveStdio(this.#endpointContext))
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
    this.#servers.reload(next.servers, diff.replaced)
    this.#maskSecrets(next)
    const { listen, audit, stateKeys } = this.#config
    // Settings that need a restart stay in force, and are what the next configuration is compared with.
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
    const limitMs = this.#endpoints.some(({ isLeaving }) => isLeaving === true) ? 0 : wantedMs
    const calls = await this.#admission.shut(limitMs)
    if (calls > 0) this.#log.warn({ calls, limitMs }, 'some calls did not end in time')
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#memory.cancel()
    this.#router.closing()
    await Promise.all(this.#endpoints.map(endpoint => endpoint.close()))
    await this.#router.close()
    await this.#cache?.close()
    await this.#dialer.close()
    await this.audit.close()
    for (const unmask of this.#unmasks.splice(0)) unmask()
  }

  #createRouter(options: ProxyOptions): Router {
    const { pageSize, startupWaitMs, stateKeys } = this.#config
    const log = this.#log
    return new Router({
      cache: this.#cache,
      servers: this.#servers.servers,
      exposureOf: this.#servers.exposureOf,
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

  #maskSecrets(config: ProxyConfig): void {
    this.#unmasks.push(addSecrets(secretsOf(config)))
    if (this.#unmasks.length > MASKED_CONFIGS) this.#unmasks.shift()?.()
  }

  #add<T extends Endpoint>(endpoint: T): T {
    this.#endpoints.push(endpoint)
    return endpoint
  }

  /** Frees what is kept for convenience, and in the end what peers leave unread or unfinished. */
  #relieve(): void {
    for (const endpoint of this.#endpoints) endpoint.shed?.()
    if (this.#bounds.pressure < 3) return
    for (const account of [this.#bounds.inbound, this.#bounds.unread])
      account.shed(account.maxBytes / SHED_PART)
  }
}

import { Connect } from '../auth/pages/connect.js'
import { Logins } from '../auth/store/logins.js'
import { ToolExposure } from '../catalog/views/tool-exposure.js'
import { Views } from '../catalog/views/views.js'
import { type ConfigDiff, changesOf, configInForce, diffConfigs, isNothing } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import type { ControlApiContext } from '../control/api/context.js'
import { type SocketEndpoint, type StdioEndpoint, serveSocket, serveStdio } from '../control/channels.js'
import { LocalSessions } from '../control/daemon/sessions.js'
import { workspaceOfRoots } from '../control/workspace.js'
import { type Clock, systemClock } from '../kernel/async/clock.js'
import type { Principal } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import type { ClientHandler } from '../model/links.js'
import { Router } from '../mux/router.js'
import { Lock } from '../mux/rules/lock.js'
import { sentDefinitions } from '../mux/rules/sent-definitions.js'
import { Children } from '../state/processes/children.js'
import { sealedSessionsOf } from '../state/sealed-sessions.js'
import { sealerOf, stateDir } from '../state/state-key.js'
import { type AuditLog, openAudit } from '../telemetry/audit/audit-log.js'
import { guardLogger, isDebug, meterLines } from '../telemetry/logs/guarded-logger.js'
import { SecretMasks } from '../telemetry/logs/secret-masks.js'
import type { MetricsEndpoint } from '../telemetry/metrics/listener.js'
import type { Metrics } from '../telemetry/metrics/registry.js'
import { type ProxyStatus, proxyStatus, type StatusContext } from '../telemetry/status/status.js'
import { callPath } from './call-path.js'
import { clusterContext, type LateCluster, lateCluster } from './cluster/late-cluster.js'
import { controlContext } from './control-context.js'
import { Dialer } from './dialer.js'
import { type KnownServers, knownServers } from './known-servers.js'
import type { EndpointContext, HttpEndpoints } from './listeners/http.js'
import { PageOrigin } from './listeners/page-origin.js'
import { MemoryRelief } from './memory-relief.js'
import {
  createMetrics,
  createTracing,
  lateApi,
  latePageSessions,
  latePages,
  startOnly,
  type Tracing,
} from './observability.js'
import type { Endpoint, Proxy, ProxyOptions, Spoken } from './proxy-contract.js'
import { LiveRules } from './rules.js'
import { serverUrls, viewOptionsOf } from './server-addresses.js'
import { type ServerRegistry, serverRegistry } from './server-registry.js'
import { ServerSwitches } from './server-switches.js'

export type { Proxy, ProxyOptions } from './proxy-contract.js'

const LIST_WAIT_MS = 2000

/**
 * Creates a proxy from a resolved configuration. Starts only eager servers; add endpoints with `listen`,
 * `listenSocket` and `serveStdio`. Throws a Fault `unavailable` if the audit file is not writable.
 */
export const createProxy = (config: ProxyConfig, options: ProxyOptions = {}): Proxy =>
  new RunningProxy(config, options)

class RunningProxy implements Proxy {
  readonly children = new Children()
  readonly audit: AuditLog
  readonly sessions: LocalSessions
  readonly clientHandler: ClientHandler
  readonly metrics: Proxy['metrics']
  readonly api: Proxy['api']
  readonly pageSessions: Proxy['pageSessions']
  readonly #options: ProxyOptions
  readonly #switches: ServerSwitches
  readonly #metrics: Metrics | undefined
  readonly #tracing: Tracing | undefined
  readonly views: Views
  readonly #toolExposure: ToolExposure
  readonly #rules: LiveRules
  readonly #clock: Clock
  readonly #log: Logger
  readonly #isAlone: boolean
  readonly #startedMs: number
  readonly #masks = new SecretMasks()
  readonly bounds: LimitCounters
  readonly #servers: ServerRegistry
  readonly #lock: Lock
  readonly #known: KnownServers
  readonly #logins: Logins
  readonly #connect: Connect
  readonly #cluster: LateCluster | undefined
  readonly #dialer: Dialer
  readonly #router: Router
  readonly #memory: MemoryRelief
  readonly #endpoints: Endpoint[] = []
  readonly #endpointContext: EndpointContext
  #config: ProxyConfig
  #page: PageOrigin | undefined
  #isClosing = false

  constructor(config: ProxyConfig, options: ProxyOptions) {
    const { clock = systemClock, isAlone = false } = options
    const log = guardLogger(options.log ?? silentLogger, clock)
    this.#config = config
    this.#switches = new ServerSwitches(config, next => this.#apply(next))
    this.#options = options
    this.#clock = clock
    this.#log = log
    this.#isAlone = isAlone
    this.#startedMs = clock.nowMs()
    this.#masks.add(config)
    this.views = new Views(viewOptionsOf(config))
    this.#toolExposure = new ToolExposure(config, client => this.views.nameFor(client))
    this.#lock = new Lock(config.lock, { log, audit: facts => this.audit.write('lock', facts) })
    this.#servers = serverRegistry(config, log, server => this.#lock.of(server))
    const bounds = new LimitCounters({ limits: config.limits, clock, log })
    this.bounds = bounds
    this.#metrics = createMetrics(config, clock, log)
    this.metrics = latePages(this.#metrics, () => ({
      ...this.#statusContext(),
      lagMs: () => this.#memory.lagMs,
    }))
    this.#tracing = createTracing(config, options.tracer, { clock, log, meter: this.#metrics })
    const { configOf } = this.#servers
    this.#rules = new LiveRules(config, {
      router: () => this.#router,
      hasCommands: options.lines !== undefined,
      pageOrigin: () => this.#connect.links.origin,
      audit: facts => this.audit.write('approval', facts),
      ...{ configOf, bounds, clock, meter: this.#metrics, shared: () => this.#cluster?.rates() },
    })
    const state = options.stateDir ?? stateDir(process.env)
    const logins = new Logins({
      ...{ stateDir: state, store: config.credentialStore, clock, log, isAlone },
      onLogin: server => this.#router.signedIn(server),
      clientDocument: issuer => this.#connect.links.clientDocument(issuer),
    })
    this.#logins = logins
    this.#connect = new Connect({
      ...{ config: () => this.#config, configOf, logins, stateDir: state, bounds, clock, log },
      signedIn: (server, link) => this.#router.signedIn(server, link),
    })
    const makeRoom = (): Promise<boolean> => this.#router.pool.makeRoom()
    const parts = { clock, log, children: this.children, bounds, makeRoom, logins }
    this.#dialer = new Dialer(configOf, { ...parts, programEnv: options.programEnv ?? (() => process.env) })
    const { stateDir: kept, isFirstStart } = options
    this.#known = knownServers(config, { stateDir: kept, isFirstStart, configOf, clock, log }, state)
    const late = { config: () => this.#config, router: () => this.#router, logins, cache: this.#known.cache }
    this.#cluster = lateCluster(config, { ...late, bounds, clock, log, meter: this.#metrics })
    const { instance: replica } = this.#cluster ?? {}
    this.audit = openAudit(config.audit, { clock, log, meter: this.#metrics, replica })
    this.#router = this.#createRouter(options)
    this.clientHandler = this.#router
    this.api = lateApi(() => this.#inside())
    this.pageSessions = latePageSessions(state)
    this.#endpointContext = this.#contextOfEndpoints(state)
    this.sessions = this.#add(new LocalSessions(this.#endpointContext, this.#router.admission.refusal))
    this.#memory = new MemoryRelief({ bounds, clock, log, endpoints: this.#endpoints })
    this.#router.start()
  }

  async listen(where: { readonly host?: string; readonly port?: number } = {}): Promise<HttpEndpoints> {
    const { serveHttp } = await import('./listeners/http.js')
    await this.#tracing?.isReady
    const endpoints = this.#add(await serveHttp({ ...this.#config.listen, ...where }, this.#endpointContext))
    this.#connect.usersChanged()
    return endpoints
  }

  async listenSocket(path: string): Promise<SocketEndpoint> {
    return this.#add(await serveSocket(path, this.#endpointContext))
  }

  get config(): ProxyConfig {
    return this.#config
  }

  get isDraining(): boolean {
    return this.#router.admission.isShut
  }

  get refusal(): string {
    return this.#router.admission.refusal
  }

  async serveStdio(view?: string, workspace?: string): Promise<StdioEndpoint> {
    return this.#add(await serveStdio(this.#endpointContext, view, workspace))
  }

  async listenMetrics(): Promise<MetricsEndpoint | undefined> {
    const { metrics: config } = this.#config
    if (config?.listen === undefined || this.metrics === undefined) return undefined
    const { listenMetrics } = await import('../telemetry/metrics/listener.js')
    const endpoint = await listenMetrics(config, this.metrics, this.#log)
    return endpoint && this.#add(endpoint)
  }

  async pageOrigin(): Promise<string> {
    this.#page ??= new PageOrigin(this.#endpointContext, port => this.#add(port))
    return await this.#page.find(this.#endpoints.flatMap(({ localUrl }) => localUrl ?? [])[0])
  }

  startOnly(): Promise<Spoken | undefined> {
    return startOnly(this.#router, this.status)
  }

  sentBy(server: string, principal: Principal): ReturnType<Proxy['sentBy']> {
    return sentDefinitions(this.#router.catalog, server, principal)
  }

  status = (): ProxyStatus => proxyStatus(this.#statusContext())

  #statusContext(): StatusContext {
    return {
      ...{ router: this.#router, admission: this.#router.admission, children: this.children },
      ...{ configOf: this.#servers.configOf, logins: this.#logins },
      ...{ bounds: this.bounds, clock: this.#clock, startedMs: this.#startedMs },
      ...{ configStatus: this.#options.configStatus, cluster: () => this.#cluster?.status() },
      ...{ config: () => this.#config, serverUrl: serverUrls(this.views, () => this.#endpoints) },
      refused: () => this.#endpoints.reduce((sum, endpoint) => sum + (endpoint.refused?.() ?? 0), 0),
    }
  }

  reload(next: ProxyConfig): ConfigDiff {
    return this.#switches.reload(next)
  }

  #contextOfEndpoints(stateDir: string): EndpointContext {
    return {
      ...{ handler: this.clientHandler, bounds: this.bounds, clock: this.#clock, log: this.#log },
      ...{ isDraining: this.#router.admission.isDraining, drainMs: () => this.#config.drainMs },
      ...{ config: () => this.#config, ...clusterContext(this.#cluster) },
      ...{ stateDir, isPrivate: this.#config.auth !== undefined },
      // The clients of a bridge have to repeat to its new server what they told the last one.
      seals: this.#isAlone ? undefined : sealedSessionsOf(this.#config, { dir: stateDir, log: this.#log }),
      ...{ status: this.status, connect: this.#connect.context, views: this.views },
      approvals: () => this.#rules.gate?.approvals,
      ...{ onRefused: this.audit.onRefused, onGrant: this.audit.onGrant },
      refused: this.#router.meter?.refused,
      ...{ metrics: this.metrics, api: this.api, pageSessions: this.pageSessions },
    }
  }

  #inside(): ControlApiContext {
    return controlContext({
      ...{ ...this.#statusContext(), status: this.status, handler: this.clientHandler },
      ...{ metrics: this.metrics, options: this.#options, switches: this.#switches, audit: this.audit },
      ...{ connect: this.#connect, log: this.#log, config: () => this.#config },
    })
  }

  #checkReload({ servers }: ProxyConfig): void {
    if (this.#isClosing || this.#router.admission.isShut)
      throw new Fault('unavailable', 'The proxy is shutting down')
    if (this.#isAlone && servers.length !== 1) {
      throw new Fault('invalid-params', 'A server that is served alone must be the only one')
    }
  }

  #apply(next: ProxyConfig): ConfigDiff {
    this.#checkReload(next)
    const diff = diffConfigs(this.#config, next)
    const isLockChanged = diff.settings.includes('lock')
    if (isLockChanged) this.#lock.reload(next.lock)
    this.#servers.reload(next.servers, diff.replaced)
    this.#logins.retain(this.#servers.servers)
    const names = next.servers.map(({ name }) => name)
    this.#metrics?.serve(names)
    this.#router.retain(new Set(names))
    this.#masks.add(next)
    if (this.#config.auth !== undefined && next.auth === undefined) {
      this.#log.error({}, '"auth" was removed from the configuration; it stays active until a restart')
    }
    // The next configuration is compared with this one.
    this.#config = configInForce(this.#config, next)
    for (const endpoint of this.#endpoints) endpoint.reload?.()
    this.#connect.usersChanged()
    this.bounds.set(next.limits)
    this.views.reload(viewOptionsOf(next))
    this.#toolExposure.reload(next)
    this.#rules.reload(next)
    if (!isNothing(diff)) {
      const { pageSize, startupWaitMs, drainMs } = next
      const reshown = this.#servers.named(isLockChanged ? names : diff.reshown)
      const { servers } = this.#servers
      void this.#router.reload({ servers, reshown, pageSize, startupWaitMs, drainMs })
    } else this.#router.compile()
    const changes = changesOf(diff)
    if (Object.keys(changes).length > 0) this.audit.reloaded({ result: 'ok', ...changes })
    return diff
  }

  readonly logLevelChanged = (): void => this.#router.compile()

  async drain(wantedMs = this.#config.drainMs): Promise<void> {
    // A client that closed stdin and sends a signal does not wait.
    const limitMs = this.#endpoints.some(({ isLeaving }) => isLeaving === true) ? 0 : wantedMs
    const leftMs = limitMs > 0 ? ((await this.#cluster?.leave(limitMs)) ?? limitMs) : 0
    const calls = await this.#router.admission.shut(leftMs)
    if (calls > 0) this.#log.warn({ calls, limitMs }, 'some calls did not finish in time')
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#memory.close()
    this.#metrics?.close()
    meterLines(this.#log, undefined)
    this.#router.closing()
    await Promise.all(this.#endpoints.map(endpoint => endpoint.close()))
    await this.#router.close()
    await this.#tracing?.close()
    await this.#known.close()
    await this.#dialer.close()
    this.#logins.close()
    await this.audit.close()
    this.#masks.close()
  }

  #createRouter(options: ProxyOptions): Router {
    const [{ pageSize, startupWaitMs, slowMs, auth }, log] = [this.#config, this.#log]
    const callLog = { slowMs, isEach: isDebug(log), log, clock: this.#clock }
    const callOptions = { audit: this.audit.calls, hasScopes: auth !== undefined, callLog }
    return new Router({
      ...{ cache: this.#known.cache, failures: this.#known.failures, findWorkspace: workspaceOfRoots },
      resultsMax: () => this.#config.resultsMax,
      ...{ clientViews: this.views, toolExposure: this.#isAlone ? undefined : this.#toolExposure },
      rules: () => this.#rules.gate,
      ...{ servers: this.#servers.servers, exposureOf: this.#servers.exposureOf, isAlone: this.#isAlone },
      ...{ dial: this.#dialer.dial, clock: this.#clock, log, bounds: this.bounds },
      ...{ sealer: sealerOf(this.#config, options.stateDir, log), replica: this.#cluster?.instance },
      ...{ pageSize, startupWaitMs, listWaitMs: options.listWaitMs ?? LIST_WAIT_MS },
      features: parts => callPath(parts, { ...callOptions, tracer: this.#tracing?.tracer }),
      onAsked: this.audit.onAsked,
      onSubscriptionDenied: this.audit.calls?.subscriptionDenied,
      ...{ signInPages: this.#connect.links, onForgotten: server => this.#logins.forget(server) },
      ...{ meter: this.#metrics, tracer: this.#tracing?.tracer },
      hasToolHistograms: this.#config.metrics?.tools === 'histograms',
    })
  }

  #add<T extends Endpoint>(endpoint: T): T {
    this.#endpoints.push(endpoint)
    return endpoint
  }
}

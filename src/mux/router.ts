import { type JsonText, textMember } from '../kernel/json/text.js'
import type { Logger } from '../kernel/logger.js'
import { memoize } from '../kernel/memoize.js'
import {
  type Call,
  type Client,
  type ClientHandler,
  type DownstreamCall,
  type ServerRequest,
  type Viewer,
  viewerOf,
  type Welcome,
} from '../model/links.js'
import { LIST_NAMES, listsChangedBy } from '../model/listing.js'
import type { Connection, ConnectionListener } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import { CallRecord, NEXT } from './calls/call-record.js'
import { InterceptorChains, resume, runChain } from './calls/interceptor-chains.js'
import { servePage } from './clients/list-page.js'
import { compose, type Features, type RouterOptions, type RouterParts } from './compose.js'
import { type RouterChange, reconfigure } from './reconfigure.js'
import { ROUTES } from './routes.js'
import type { RuleGate } from './rules/gate.js'

export interface Load {
  readonly clients: number
  readonly calls: number
  readonly serverRequests: number
  readonly subscriptions: number
  readonly subscriptionStreams: number
}

/** Routes client requests to servers by method, and server messages back to clients. */
export class Router implements ClientHandler, ConnectionListener {
  /** True if unknown methods pass to the only server. */
  readonly passesUnknown: boolean
  readonly admission: RouterParts['admission']
  readonly pool: RouterParts['pool']
  readonly owners: RouterParts['owners']
  readonly states: RouterParts['states']
  readonly catalog: RouterParts['catalog']
  readonly faults: RouterParts['faults']
  /** Undefined without metering. */
  readonly meter: RouterParts['callMeter']
  readonly #parts: RouterParts
  readonly #log: Logger
  readonly #featuresOf: RouterOptions['features']
  readonly #rules: RouterOptions['rules']
  #features: Features
  #path: InterceptorChains

  constructor(options: RouterOptions) {
    this.passesUnknown = options.isAlone
    const parts = compose(options, this)
    this.#parts = parts
    this.admission = parts.admission
    this.pool = parts.pool
    this.owners = parts.owners
    this.states = parts.states
    this.catalog = parts.catalog
    this.faults = parts.faults
    this.meter = parts.callMeter
    this.#featuresOf = options.features
    this.#rules = options.rules
    this.#parts.forwarder.gate = options.rules?.()
    this.#features = options.features(this.#parts)
    this.#path = new InterceptorChains(this.#features.interceptors)
    this.#log = options.log
  }

  /** Compiles the path of calls again; calls in progress keep the path that they began on. */
  compile(): void {
    this.#parts.forwarder.gate = this.#rules?.()
    this.#features = this.#featuresOf(this.#parts)
    this.#path = new InterceptorChains(this.#features.interceptors)
  }

  get clients(): Iterable<Client> {
    return this.#parts.clients.all
  }

  /** Undefined without rules. */
  get rules(): RuleGate | undefined {
    return this.#rules?.()
  }

  /** Forgets the data of servers that are no longer configured. */
  retain(servers: ReadonlySet<string>): void {
    this.meter?.history.retain(servers)
  }

  /** Returns the number of calls on a connection that wait for a client's answer. */
  parkedOn(connection: Connection): number {
    return this.#parts.parkedCalls.on(connection)
  }

  /** Returns the process that holds the parked call of a sealed state; undefined if there is none. */
  waitsIn(requestState: string): string | undefined {
    return this.#parts.states.waitsIn(requestState)
  }

  start(): void {
    for (const server of this.pool.servers) {
      if (server.options.start === 'eager') server.start().catch(() => undefined)
    }
  }

  async reload(change: RouterChange): Promise<void> {
    const done = reconfigure(change, this.#parts)
    this.compile()
    this.start()
    await done
  }

  /** Ends subscription streams while their clients are still connected. */
  closing(): void {
    this.#parts.streams.close()
  }

  /** Stops all servers and ends every call. Never rejects. */
  async close(): Promise<void> {
    const { pool, catalog, calls, parkedCalls, deferredRoots, logLevels, listChanged, starter } = this.#parts
    this.closing()
    // Servers must learn that parked calls are over before their requests are answered.
    parkedCalls.close()
    deferredRoots.close()
    await pool.close()
    catalog.close()
    calls.close()
    this.#parts.faults.close()
    logLevels.servers.close()
    this.#parts.searchCalls?.close()
    listChanged.close()
    starter.close()
  }

  /** All zero without clients. */
  get load(): Load {
    const { clients, calls, serverRequests, subscriptions, streams } = this.#parts
    return {
      clients: clients.size,
      calls: calls.size,
      serverRequests: serverRequests.size,
      subscriptions: subscriptions.size,
      subscriptionStreams: streams.size,
    }
  }

  // ── client side ──

  async welcome(client: Client): Promise<Welcome> {
    const { clients, starter } = this.#parts
    const viewer = viewerOf(client)
    for (const observer of this.#features.observers) observer.met(client)
    clients.add(client)
    this.#parts.workspaces.met(client)
    await starter.startAll(viewer)
    const offer = this.catalog.offer(viewer)
    clients.welcomed(client, offer)
    return { ...offer, instructions: this.catalog.instructions(viewer), own: this.catalog.own(viewer) }
  }

  call(call: Call): void {
    const { method, client } = call
    const chains = this.#path.for(method, client.serverRequests)
    const record = new CallRecord(call, chains, this.#parts.clock.nowMs())
    const verdict = runChain(record, chains.request)
    if (verdict === NEXT) this.#serve(record)
    else resume(record, verdict, () => this.#serve(record))
  }

  answering(call: Call): CallRecord {
    const chains = this.#path.answered
    const record = new CallRecord(call, chains, this.#parts.clock.nowMs())
    void runChain(record, chains.request)
    return record
  }

  /** True if any client works in a known folder. */
  get hasWorkspace(): boolean {
    return [...this.#parts.clients.all].some(({ workspace }) => workspace !== undefined)
  }

  /** Serves a call by its method; its client has the method. */
  #serve(call: CallRecord): void {
    if (call.isPassed) {
      this.#parts.forwarder.pass(call)
      return
    }
    const route = ROUTES.get(call.method)
    switch (route?.way) {
      case undefined:
        return
      case 'catalog':
        void servePage(call, route, this.#parts)
        return
      case 'owner':
        this.#parts.forwarder.forward(call, route.by)
        return
      case 'subscribe':
        void this.#parts.subscriptions.subscribe(call)
        return
      case 'unsubscribe':
        this.#parts.subscriptions.unsubscribe(call)
        return
      case 'listen':
        this.#parts.streams.listen(call)
        return
      case 'task':
        this.#parts.taskCalls.serve(call)
        return
      case 'log-level':
        this.#parts.logLevels.set(call, this.pool.connections())
    }
  }

  /**
   * Handles a changed login of a principal at its own server, which may be asked again. `link` is the sign-in
   * link used, if any.
   */
  signedIn(server: ServerOptions, link?: string): void {
    for (const connection of this.pool.connections())
      if (connection.server === server) connection.retryLogin()
    if (server.owned !== undefined) this.catalog.ownerChanged(true)
    if (link === undefined) return
    this.#parts.signIns.done(link)
    // A person who signed in on a page wants to see that the server works.
    const unreached = this.pool.servers.find(({ options, unreached }) => options === server && unreached)
    void unreached?.start().catch(() => undefined)
  }

  ownIdentity(client: Client): JsonText | undefined {
    const info = this.catalog.own(viewerOf(client))?.info
    return info && hasName(info).is ? info : undefined
  }

  tool(client: Client, exposed: string): JsonText | undefined {
    const viewer = viewerOf(client)
    const item = this.catalog.find(viewer, 'tools', exposed)
    if (item !== undefined) return item.text
    const [only, ...others] = this.catalog.ofApps(viewer, exposed)
    return others.length === 0 ? only?.text : undefined
  }

  async lackingScopes(viewer: Viewer, calls: readonly JsonText[]): Promise<readonly string[]> {
    const { searchCalls } = this.#parts
    const named = calls.flatMap(
      params =>
        (searchCalls === undefined ? textMember(params, 'name') : searchCalls.toolIn(viewer, params)) ?? [],
    )
    const checks = named.map(async tool => {
      const { server, own } = await this.#parts.owners.named(viewer, 'tools', tool)
      return this.catalog.lackingScopes(viewer.caller, server.options, own)
    })
    // Unknown tools are left to the handler, which reports them.
    const settled = await Promise.allSettled(checks)
    return [...new Set(settled.flatMap(check => (check.status === 'fulfilled' ? check.value : [])))]
  }

  /** Notifies the client's servers of changed roots, if they were declared to them; passes the rest on. */
  notified(client: Client, method: string, params: JsonText | undefined): void {
    if (method !== 'notifications/roots/list_changed') {
      if (this.passesUnknown) this.#parts.passedNotifications.toServer(client, method, params)
      return
    }
    this.#parts.workspaces.rootsChanged(client)
    for (const connection of this.pool.connections()) {
      const isExpected = connection.share.capabilities.roots?.listChanged === true
      if (isExpected && connection.clients.has(client)) connection.link?.notify(method, params)
    }
  }

  callerChanged(client: Client): void {
    this.#log.debug({ client: client.id }, 'a client sent another credential')
    for (const list of LIST_NAMES) this.#parts.listChanged.changed(list, false)
  }

  /** Stops the servers that only this client uses, unless it subscribed; they restart on demand. */
  idle(client: Client): void {
    if (this.#parts.subscriptions.has(client)) return
    this.pool.rests(client)
  }

  left(client: Client): void {
    for (const observer of this.#features.observers) observer.left(client)
    const { clients, subscriptions, logLevels, urlElicitations, searchCalls, signIns, pool } = this.#parts
    clients.remove(client)
    searchCalls?.forget(client)
    signIns.forget(client)
    subscriptions.forget(client)
    urlElicitations.forget(client)
    pool.release(client)
    logLevels.forget(client)
  }

  // ── server side ──

  ready(connection: Connection): void {
    this.catalog.ready(connection)
    this.#parts.logLevels.servers.restore(connection)
    this.#parts.subscriptions.renew(connection)
  }

  lost(connection: Connection): void {
    this.#parts.calls.lost(connection)
    this.catalog.lost(connection)
  }

  ended(connection: Connection): void {
    this.#parts.calls.lost(connection)
    this.catalog.ended(connection)
  }

  /** Returns whether a subscription, a parked call, or a listening stream needs the connection. */
  isKept(connection: Connection): boolean {
    const { subscriptions, calls, streams } = this.#parts
    if (subscriptions.areOn(connection) || calls.hasReturned(connection)) return true
    const server = this.pool.of(connection)
    return streams.isHeard(connection, client => server?.connectionOf(client))
  }

  joined(connection: Connection, client: Client): void {
    this.catalog.reconnected(client)
    this.#parts.logLevels.servers.joined(connection, client)
  }

  parted(connection: Connection, client: Client): void {
    this.catalog.reconnected(client)
    this.#parts.subscriptions.parted(connection, client)
    this.#parts.logLevels.servers.parted(connection, client)
  }

  serverRequested(connection: Connection, request: ServerRequest): void {
    this.#parts.serverRequests.handle(connection, request)
  }

  serverNotified(
    connection: Connection,
    method: string,
    said: JsonText | undefined,
    about: DownstreamCall | undefined,
  ): void {
    const { logLevels, subscriptions, urlElicitations, passedNotifications, sessionTasks } = this.#parts
    if (sessionTasks.takes(connection, method, said)) return
    const params = said && sessionTasks.withShown(connection, said)
    const isListened = this.passesUnknown && passedNotifications.toListener(connection, method, params, about)
    if (isListened) return
    const lists = listsChangedBy(method)
    if (lists !== undefined) for (const list of lists) this.catalog.changed(connection, list)
    else if (method === 'notifications/message') logLevels.relay(connection, params, about)
    else if (method === 'notifications/resources/updated') subscriptions.updated(connection, params)
    else if (method === 'notifications/elicitation/complete') urlElicitations.complete(connection, params)
    else if (this.passesUnknown) passedNotifications.toClients(connection, method, params, about)
    else passedNotifications.drop(connection, method)
  }
}

/** Memoized: needed for each answer to a 2026-07-28 client, but constant per server. */
const hasName = memoize((info: JsonText) => ({ is: textMember(info, 'name') !== undefined }))

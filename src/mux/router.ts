import type { Offer } from '../catalog/capabilities.js'
import { Catalog } from '../catalog/catalog.js'
import type { KnownServers } from '../catalog/lists/known.js'
import type { Showing } from '../catalog/options.js'
import { Owners } from '../catalog/owners.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, stringOf, textMember } from '../kernel/json/text.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Call, Client, ClientHandler, DownstreamCall, ServerRequest, Welcome } from '../model/links.js'
import type { ListName } from '../model/listing.js'
import { failed } from '../model/outcome.js'
import type { Connection, ConnectionListener } from '../peers/connection.js'
import type { Dial } from '../peers/dial.js'
import type { ServerOptions } from '../peers/options.js'
import type { Server } from '../peers/server.js'
import { ServerPool } from '../peers/server-pool.js'
import { CallTable } from './calls/call-table.js'
import { Forwarder } from './calls/forward.js'
import { ClientRegistry } from './clients/client-registry.js'
import { Reach } from './clients/reach.js'
import type { Sealer } from './input-required/retry/sealed-state.js'
import { ListChanged } from './notifications/list-changed.js'
import { LogLevels } from './notifications/log-levels.js'
import { ResourceSubscriptions } from './notifications/resource-subscriptions.js'
import { SubscriptionStreams } from './notifications/subscription-streams.js'
import { type RouterChange, reconfigure } from './reconfigure.js'
import { CHANGES, ROUTES } from './routes.js'
import { Asking } from './server-requests/asking.js'
import type { OnAsked } from './server-requests/server-requests.js'

/** What the router is made of. */
export interface RouterOptions {
  readonly servers: readonly ServerOptions[]
  readonly showingOf: (server: Server) => Showing
  /** One server that stands for itself: nothing is renamed. */
  readonly isAlone: boolean
  readonly dial: Dial
  readonly clock: Clock
  readonly log: Logger
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  /** Makes and reads the states that clients carry for us. */
  readonly sealer: Sealer
  readonly pageSize: number
  /** How long `initialize` waits for servers. */
  readonly startupWaitMs: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  /** What is remembered of servers; undefined if nothing is. */
  readonly known?: KnownServers | undefined
  readonly onAsked?: OnAsked | undefined
}

/** How much is held for clients. */
export interface Load {
  readonly clients: number
  readonly calls: number
  readonly questions: number
  readonly subscriptions: number
  /** Requests that listen for changes. */
  readonly listens: number
}

/** Who gets what, and the way back: clients above, servers below, and a table of routes in between. */
export class Router implements ClientHandler, ConnectionListener {
  readonly pool: ServerPool
  readonly catalog: Catalog
  readonly #options: RouterOptions
  readonly #owners: Owners
  readonly #calls: CallTable
  readonly #asking: Asking
  readonly #feeds: ResourceSubscriptions
  readonly #levels: LogLevels
  readonly #toOwner: Forwarder
  readonly #reach: Reach
  readonly #guests: ClientRegistry
  readonly #listens: SubscriptionStreams
  readonly #notices: ListChanged

  constructor(options: RouterOptions) {
    const { clock, log, isAlone, bounds = new LimitCounters() } = options
    this.#options = options
    this.#calls = new CallTable(clock)
    const offerTo = (client: Client): Offer => this.catalog.offer(client)
    const versionOf = (client: Client, list: ListName): string => this.catalog.version(client, list)
    this.#guests = new ClientRegistry({ offerTo, versionOf })
    this.#notices = new ListChanged(clock, () => [...this.#guests.sessions, ...this.#listens.audience])
    this.pool = new ServerPool(options.servers, { dial: options.dial, listener: this, clock, log, bounds })
    this.catalog = new Catalog(this.pool.servers, {
      ...options,
      onChanged: (list, isFirst) => this.#notices.changed(list, isFirst),
    })
    this.#reach = new Reach({ ...options, catalog: this.catalog })
    const owners = new Owners(this.catalog, { isAlone, nowMs: () => clock.nowMs() })
    this.#owners = owners
    this.#feeds = new ResourceSubscriptions({ catalog: this.catalog, owners, clock, log, bounds })
    this.#listens = new SubscriptionStreams({
      feeds: this.#feeds,
      bounds,
      clock,
      log,
      guests: this.#guests,
      hear: (client, lists) => this.#reach.hear(client, lists),
      offerTo,
      versionOf,
    })
    this.#levels = new LogLevels(this.#calls, { clock, log, isAlone })
    const parts = { catalog: this.catalog, owners, calls: this.#calls, levels: this.#levels }
    const isShared = (): boolean => this.pool.servers.length > 1
    this.#asking = new Asking({
      ...parts,
      sealer: options.sealer,
      onAsked: options.onAsked,
      clock,
      log,
      bounds,
      isShared,
    })
    this.#toOwner = new Forwarder({ ...parts, asking: this.#asking, nowMs: () => clock.nowMs() })
  }

  /** Starts the servers that are wanted from the beginning. */
  start(): void {
    for (const server of this.pool.servers) {
      if (server.options.start === 'eager') server.start().catch(() => undefined)
    }
  }

  /**
   * Goes on with other servers: those that stay notice nothing, those that leave are stopped when their calls are over. Resolves
   * when they are. Never rejects.
   */
  async reload(change: RouterChange): Promise<void> {
    const done = reconfigure(change, {
      pool: this.pool,
      catalog: this.catalog,
      owners: this.#owners,
      reach: this.#reach,
      guests: this.#guests,
      feeds: this.#feeds,
    })
    this.start()
    await done
  }

  /** Clients will soon be cut off: what listens for changes is ended in order, while it can still be told. */
  closing(): void {
    this.#listens.close()
  }

  /** Stops all servers; every call under way is ended. Never rejects. */
  async close(): Promise<void> {
    this.closing()
    this.#asking.close()
    await this.pool.close()
    this.catalog.close()
    this.#calls.close()
    this.#levels.close()
    this.#notices.close()
    this.#reach.close()
  }

  /** What is held for clients at the moment; all zero when none is there. */
  get load(): Load {
    return {
      clients: this.#guests.size,
      calls: this.#calls.size,
      questions: this.#asking.asks.size,
      subscriptions: this.#feeds.size,
      listens: this.#listens.size,
    }
  }

  // ── what clients say ──

  async welcome(client: Client): Promise<Welcome> {
    this.#guests.came(client)
    await this.#reach.all(client)
    const offer = this.catalog.offer(client)
    this.#guests.welcomed(client, offer)
    return { ...offer, instructions: this.catalog.instructions(client), own: this.catalog.own(client) }
  }

  call(call: Call): void {
    const route = ROUTES.get(call.method)
    if (route === undefined || !this.#guests.mayUse(call.client, route)) {
      call.end(failed(new Fault('unknown-method', `Method not found: ${call.method.slice(0, 128)}`)))
      return
    }
    switch (route.way) {
      case 'catalog':
        void this.#page(call, route.list)
        return
      case 'owner':
        this.#toOwner.take(call, route.by)
        return
      case 'feed':
        void this.#feed(call, route.wants)
        return
      case 'listen':
        this.#listens.take(call)
        return
      case 'everyone':
        this.#levels.set(call, this.#connections())
    }
  }

  ownIdentity(client: Client): JsonText | undefined {
    const info = this.catalog.own(client)?.info
    return info !== undefined && textMember(info, 'name') !== undefined ? info : undefined
  }

  toolSchema(client: Client, exposed: string): JsonText | undefined {
    const tool = this.catalog.find(client, 'tools', exposed)
    return tool && memberOf(tool.text, 'inputSchema')
  }

  /** A client's roots changed: told to the servers whose connections are that client's alone. */
  notified(client: Client, method: string, params: JsonText | undefined): void {
    if (method !== 'notifications/roots/list_changed') return
    for (const connection of this.#connections()) {
      if (connection.onlyClient !== client || connection.share.capabilities.roots?.listChanged !== true)
        continue
      connection.link?.notify(method, params)
    }
  }

  /** A server that runs for this client alone is stopped, unless it is to report changes; it starts again on demand. */
  rests(client: Client): void {
    if (this.#feeds.has(client)) return
    for (const server of this.pool.servers) if (server.options.sharing === 'session') server.release(client)
  }

  left(client: Client): void {
    this.#guests.left(client)
    this.#feeds.forget(client)
    this.#levels.forget(client)
    this.#asking.forget(client)
    this.pool.release(client)
  }

  // ── what servers say ──

  ready(connection: Connection): void {
    this.catalog.ready(connection)
    this.#levels.restore(connection)
    this.#feeds.renew(connection)
  }

  lost(connection: Connection): void {
    this.catalog.lost(connection)
  }

  ended(connection: Connection): void {
    this.catalog.ended(connection)
  }

  /** Whether somebody who is asked between two requests would come back to nothing, or whoever listens would hear nothing. */
  isKept(connection: Connection): boolean {
    if (this.#feeds.areOn(connection)) return true
    for (const { call } of this.#calls.on(connection))
      if (call.client.serverRequests === 'returned') return true
    const server = this.pool.of(connection)
    return this.#listens.isHeard(connection, client => server?.connectionOf(client))
  }

  joined(connection: Connection, client: Client): void {
    this.catalog.moved(client)
    this.#levels.sync(connection)
  }

  parted(connection: Connection, client: Client): void {
    this.catalog.moved(client)
    this.#feeds.parted(connection, client)
    this.#levels.sync(connection)
  }

  serverRequested(connection: Connection, ask: ServerRequest): void {
    this.#asking.asks.asked(connection, ask)
  }

  serverNotified(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
  ): void {
    const lists = CHANGES.get(method)
    if (lists !== undefined) for (const list of lists) this.catalog.changed(connection, list)
    else if (method === 'notifications/message') this.#levels.relay(connection, params, about)
    else if (method === 'notifications/resources/updated') this.#feeds.updated(connection, params)
    else if (method === 'notifications/elicitation/complete') this.#asking.visits.complete(connection, params)
    else
      this.#options.log.debug({ server: connection.server.name }, 'dropped a notification that nobody knows')
  }

  // ── ways that are short ──

  async #page(call: Call, list: ListName): Promise<void> {
    try {
      const text = call.params && memberOf(call.params, 'cursor')
      const cursor = stringOf(text)
      if (text !== undefined && cursor === undefined) throw new Fault('invalid-params', 'Invalid cursor')
      // What a client sees must not depend on whether it asked before what there is: it waits as long for servers that start.
      const waitMs = call.client.serverRequests === 'returned' ? this.#reach.start(call.client).restMs : 0
      const { result, version, hints } = await this.catalog.page(call.client, list, cursor, waitMs)
      if (cursor === undefined) this.#guests.saw(call.client, list, version)
      call.end({ kind: 'result', result, hints })
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  async #feed(call: Call, wants: boolean): Promise<void> {
    try {
      if (wants) await this.#feeds.subscribe(call)
      else this.#feeds.unsubscribe(call)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #connections(): Iterable<Connection> {
    return this.pool.connections()
  }
}

import type { Clock, Timer } from '../kernel/async/clock.js'
import type { Caller, Principal } from '../kernel/caller.js'
import type { Client, Viewer } from '../model/links.js'
import { LIST_NAMES, type ListName } from '../model/listing.js'
import type { ServerFacts } from '../model/peer.js'
import type { Connection } from '../peers/connection.js'
import { NOTHING_DECLARED } from '../peers/declared-sets.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { isSearchTool } from '../search/search-tools.js'
import { joinInstructions, type Offer } from './capabilities.js'
import { hasSameContent, type Item, type Listed, type Merged } from './listed.js'
import { appToolsIn } from './lists/app-tools.js'
import { ClientViews } from './lists/client-views.js'
import type { ClientViewsContext, ListOptions, ListPage } from './lists/client-views-context.js'
import { AWAY_MS, ConnectionLists } from './lists/connection-lists.js'
import type { ListState } from './lists/list-state.js'
import { type CachedServer, ProfileCache, type ServerCache } from './lists/profile-cache.js'
import type { ServerView } from './lists/server-view.js'
import { type Summary, summaryOf } from './lists/summary.js'
import { ServerViews, type ServerViewsOptions } from './server-views.js'
import type { Choice, ToolExposure } from './views/tool-exposure.js'
import type { View } from './views/view.js'
import type { Views } from './views/views.js'

export interface CatalogOptions extends ServerViewsOptions, ListOptions {
  readonly clock: Clock
  /** Limits the servers and lists that clients see; undefined if every client sees everything. */
  readonly clientViews?: Views | undefined
  /** Decides which clients use the tool search; undefined if no client does. */
  readonly toolExposure?: ToolExposure | undefined
  /** Returns what is left out of a viewer's lists; undefined if nothing can be. */
  readonly hidingFor?: ClientViewsContext['hidingFor']
  /** Called after a list changed for clients; `isFirst` if nothing was known about it before. */
  readonly onChanged: (list: ListName, isFirst: boolean) => void
  /** Stores server data between runs; undefined without such a store. */
  readonly cache?: ServerCache | undefined
}

export interface CatalogChange extends Pick<CatalogOptions, 'pageSize' | 'startupWaitMs'> {
  readonly isExposureChanged: (server: Server) => boolean
  /**
   * Maps new servers to the servers that they replace. The old lists are shown until the new servers answer.
   */
  readonly successors: ReadonlyMap<Server, Server>
}

const NONE: readonly string[] = []
const NO_ITEMS: readonly Item[] = []
const NO_SERVERS: ReadonlyMap<Server, ServerView> = new Map()

/** Merges the lists of all servers for each client. A slow server does not delay the others. */
export class Catalog {
  #options: CatalogOptions
  readonly #views: ServerViews
  readonly #lists: ConnectionLists
  readonly #cache: ProfileCache
  readonly #clientViews: ClientViews
  readonly #away = new Map<Server, Timer>()

  constructor(servers: readonly Server[], options: CatalogOptions) {
    const { clock, log } = options
    this.#options = options
    this.#cache = new ProfileCache(options.cache)
    this.#views = new ServerViews(options, (view, earlier) => {
      this.#cache.inherit(view, earlier)
      this.#lists.showAnew(view)
    })
    this.#lists = new ConnectionLists({
      clock,
      log,
      viewOf: connection => this.#views.on(connection),
      onRead: (view, state, listed) => this.#cache.update(view, state, listed),
      onRefused: (view, state) => this.#cache.refused(view, state),
      onChanged: (state, before) => this.#wasRead(state, before),
    })
    this.#clientViews = new ClientViews({
      views: this.#views,
      viewFor: client => options.clientViews?.of(client),
      hidingFor: options.hidingFor,
      lists: this.#lists,
      cache: this.#cache,
      toolExposure: options.toolExposure,
      options: () => this.#options,
      clock,
      log,
    })
    this.#views.replace(servers, () => false)
  }

  /** The views of all servers, in order. Every change creates a new map. */
  get views(): ReadonlyMap<Server, ServerView> {
    return this.#views.all
  }

  /** Returns a server's URI as a client knows it. */
  exposedUri(client: Client, server: ServerOptions, uri: string): string {
    return this.viewFor(client)?.server === undefined ? this.viewOf(server).exposeUri(uri) : uri
  }

  viewOf(server: ServerOptions): ServerView {
    return this.#views.of(server)
  }

  /** Returns whether the server still accepts new calls, and does not only finish its last ones. */
  isServed(server: ServerOptions): boolean {
    return this.#views.current(server) !== undefined
  }

  /** Returns the view of a principal's own instance of a server; undefined if it has none. */
  ownedBy(view: ServerView, principal: Principal): ServerView | undefined {
    return this.#views.for(view, principal)
  }

  /** Handles the end of a principal's own server, or a change of its login. */
  ownerChanged(isListed: boolean): void {
    this.#clientViews.reset()
    if (isListed) this.#announce(['tools'], false)
  }

  reload(servers: readonly Server[], { isExposureChanged, successors, ...settings }: CatalogChange): void {
    this.#options = { ...this.#options, ...settings }
    this.#clientViews.reload()
    const before = this.views
    this.#views.replace(servers, isExposureChanged)
    for (const [server, predecessor] of successors) {
      const [view, from] = [this.views.get(server), before.get(predecessor)]
      if (view !== undefined && from !== undefined) this.#cache.inherit(view, from)
    }
    for (const server of before.keys()) {
      if (servers.includes(server)) continue
      this.#cameBack(server)
      for (const connection of server.connections) this.#lists.forget(connection)
    }
    // A known server does not count as away: it only has not been called yet.
    for (const [server, view] of this.views)
      if (successors.has(server) && this.#cache.ofAny(view)?.facts === undefined) this.#wentAway(server)
    this.#announce(LIST_NAMES, false)
  }

  /**
   * Returns a page of a merged list. Waits for starting servers at least `waitMs`. Rejects with a Fault for
   * an invalid cursor, or if no server could be reached.
   */
  page(viewer: Viewer, list: ListName, cursor: string | undefined, waitMs = 0): Promise<ListPage> {
    return this.#clientViews.page(viewer, list, cursor, waitMs)
  }

  /** Returns a version that is equal for lists with equal content. */
  version(viewer: Viewer, list: ListName): string {
    return this.#clientViews.version(viewer, list)
  }

  /** Returns whether a tool name belongs to the proxy's own search tools. */
  readonly isReserved = (name: string): boolean =>
    this.#options.toolExposure !== undefined && isSearchTool(name)

  /** Chooses how tools are presented to a client from the lists known now; undefined without tool search. */
  choice(viewer: Viewer): Choice | undefined {
    return this.#clientViews.choose(viewer)
  }

  /** Returns the choice made earlier for a client. */
  choiceOf(client: Client): Choice | undefined {
    return this.#options.toolExposure?.known(client)
  }

  /** Waits until a list is as fresh as a page of it would be. Rejects like `page`. */
  refresh(viewer: Viewer, list: ListName, waitMs: number): Promise<void> {
    return this.#clientViews.refresh(viewer, list, waitMs)
  }

  merged(viewer: Viewer, list: ListName): Merged {
    return this.#clientViews.mergedList(viewer, list).merged
  }

  /** Returns the merged list without the items that rules hide from the viewer. */
  visible(viewer: Viewer, list: ListName): Merged {
    return this.#clientViews.visibleList(viewer, list).merged
  }

  /** Returns the items that a server lists for a viewer, also those whose name another server has. */
  itemsOf({ client }: Viewer, list: ListName, server: Server): readonly Item[] {
    return this.#clientViews.listed(server, client, list)?.items ?? NO_ITEMS
  }

  find(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Item | undefined {
    return this.#clientViews.mergedList(viewer, list).merged.byExposed.get(exposed)
  }

  /** Returns the tools with this own name that apps may call. */
  ofApps(viewer: Viewer, own: string): readonly Item[] {
    return appToolsIn(this.visible(viewer, 'tools')).byOwn.get(own) ?? []
  }

  /** Returns the servers visible to a viewer. Requests about any other server fail as unknown. */
  visibleTo(viewer: Viewer): ReadonlyMap<Server, ServerView> {
    return this.#clientViews.servers(viewer)
  }

  /** Returns the view of a client; undefined if it sees everything. */
  viewFor(client: Client): View | undefined {
    return this.#options.clientViews?.of(client)
  }

  /** Returns the name of a client's view; `default` without one. */
  viewNameOf(client: Client): string {
    return this.#options.clientViews?.nameFor(client) ?? 'default'
  }

  /**
   * Returns whether a viewer sees a server, or the server's part of a list. The server may already be gone.
   */
  sees({ client, caller }: Viewer, server: ServerOptions, list?: ListName): boolean {
    const [shown, view] = [this.viewOf(server), this.viewFor(client)]
    const isOthers = server.owned !== undefined && server.owned.owner !== caller.principal
    if (isOthers || !shown.isVisibleTo(caller)) return false
    if (view === undefined) return true
    return view.isOpenTo(caller) && shown.isIn(view) && (list === undefined || view.hasList(list))
  }

  /** Returns the servers visible to a viewer that may contribute to a list. */
  offering(viewer: Viewer, list: ListName): ReadonlyMap<Server, ServerView> {
    return this.#clientViews.hasList(viewer, list) ? this.visibleTo(viewer) : NO_SERVERS
  }

  /** Returns the scopes required for a tool if the caller lacks one of them; otherwise an empty array. */
  lackingScopes(caller: Caller, server: ServerOptions, tool: string): readonly string[] {
    return this.viewOf(server).exposure.access?.lacking(caller, tool) ?? NONE
  }

  /** Returns the capabilities that a server declares to a client; undefined if they are unknown. */
  facts(server: Server, client: Client): ServerFacts | undefined {
    return this.#clientViews.facts(server, client)
  }

  offer(viewer: Viewer): Offer {
    return this.#clientViews.offer(viewer)
  }

  /** Returns whether data of a server is cached for a client that has not reached it. */
  isCached(server: Server, client: Client): boolean {
    return this.#clientViews.cached(server, client) !== undefined
  }

  /** Returns the capabilities of the single server that is exposed unchanged; undefined if there is none. */
  own(viewer: Viewer): ServerFacts | undefined {
    if (!this.#options.isAlone) return undefined
    const [server] = this.visibleTo(viewer).keys()
    return server && this.facts(server, viewer.client)
  }

  instructions(viewer: Viewer): string | undefined {
    if (this.#options.isAlone) return this.own(viewer)?.instructions
    const [only] = this.viewFor(viewer.client)?.server === undefined ? [] : this.visibleTo(viewer).keys()
    if (only !== undefined) return this.#instructionsOf(only, viewer.client)
    return joinInstructions(
      [...this.visibleTo(viewer).keys()].map(
        server =>
          [server.options.alias, { instructions: this.#instructionsOf(server, viewer.client) }] as const,
      ),
    )
  }

  #instructionsOf(server: Server, client: Client): string | undefined {
    const text = this.facts(server, client)?.instructions
    const { lock } = this.viewOf(server.options).exposure
    return lock === undefined ? text : lock.instructions(text)
  }

  /**
   * Returns whether everything known about a server comes from an earlier process and may be outdated.
   */
  isOnlyFromDisk(server: Server, client: Client): boolean {
    const isMet = server.connectionOf(client)?.facts !== undefined
    return !isMet && this.#clientViews.cached(server, client)?.isFromDisk === true
  }

  /** Returns whether a shown list comes from an earlier process or another replica. */
  isUnread(server: Server, client: Client, list: ListName): boolean {
    return this.#clientViews.isUnread(server, client, list)
  }

  /**
   * Reads a list that its server may have changed since it was read; undefined if there is no such sign.
   * Rejects with a Fault.
   */
  readIfChanged(server: Server, client: Client, list: ListName): Promise<void> | undefined {
    const isOutdated = (): boolean => this.#clientViews.isOutdated(server, client, list)
    if (!this.isUnread(server, client, list) && !isOutdated()) return undefined
    const read = (): Promise<void> => this.read(server, client, list)
    // A reading that began before the last change returns what was there before it.
    return read().then(() => (isOutdated() ? read() : undefined))
  }

  /**
   * Waits until every server's list is known for a client, or until the time limit for lists. Never rejects.
   */
  readOnce(viewer: Viewer, list: ListName): Promise<void> {
    return this.#clientViews.readOnce(viewer, list)
  }

  /** Reads a list again on a client's connection. Rejects with a Fault. */
  async read(server: Server, client: Client, list: ListName): Promise<void> {
    await this.#clientViews.read(server, client, list)
  }

  /** Hides the `outputSchema` of a tool after a result without structured content. */
  hideOutputSchema(viewer: Viewer, exposed: string): void {
    const item = this.find(viewer, 'tools', exposed)
    if (item === undefined || !this.viewOf(item.server.options).hideOutputSchema(item.own)) return
    this.#views.renew(item.server)
    this.#announce(['tools'], false)
  }

  /** Returns a server's data for the status: from its best connection, otherwise from the cache. */
  summary(server: Server, connections: readonly Connection[]): Summary {
    const view = this.views.get(server)
    return summaryOf(connections, this.#lists, view && this.#cache.ofAny(view))
  }

  changed(connection: Connection, list: ListName): void {
    if (this.#views.on(connection) !== undefined) this.#lists.changed(connection, list)
  }

  /** Accepts lists that another replica read. A server with an open connection is asked again instead. */
  learned(server: ServerOptions, known: CachedServer): void {
    const view = this.#views.current(server)
    if (view === undefined) return
    this.#announce(this.#cache.learned(view, known), false)
    for (const connection of view.server.connections)
      for (const list of LIST_NAMES)
        if (connection.link !== undefined && this.#lists.all(connection, list).some(({ known }) => known))
          this.#lists.changed(connection, list)
  }

  /** Handles a connection that opened or reopened. */
  ready(connection: Connection): void {
    const view = this.#views.on(connection)
    if (view === undefined) return
    this.#cameBack(view.server)
    this.#cache.reached(view, connection)
    if (connection.facts !== undefined) view.exposure.lock?.met(connection.facts.instructions)
    this.#clientViews.reset()
    const declared = [...connection.clients].map(client => connection.shares.declaredBy(client))
    const cached = [NOTHING_DECLARED, ...declared].map(set => this.#cache.on(view, connection, set))
    this.#lists.ready(connection, list => cached.some(one => one?.lists[list] !== undefined))
  }

  /** Handles a lost or failed connection. The lists of a server's last connection stay for a while. */
  lost(connection: Connection): void {
    const server = this.#views.on(connection)?.server
    const isThere = server && [...server.connections].some(({ link }) => link !== undefined)
    if (server !== undefined && isThere === false) this.#wentAway(server)
  }

  /** Handles the final close of a connection. Its clients now see the lists cached for their profile. */
  ended(connection: Connection): void {
    const view = this.#views.on(connection)
    if (view !== undefined) {
      const isOther = ({ list, known, declared }: ListState): boolean => {
        const next = this.#cache.on(view, connection, declared)?.lists
        return known !== undefined && !hasSameContent(next?.[list], known.listed)
      }
      this.#announce(
        LIST_NAMES.filter(list => this.#lists.all(connection, list).some(isOther)),
        false,
      )
    }
    this.#lists.forget(connection)
  }

  reconnected(client: Client): void {
    this.#clientViews.forget(client)
  }

  close(): void {
    for (const timer of this.#away.values()) timer.cancel()
    this.#away.clear()
    this.#lists.close()
  }

  #wasRead({ connection, list, declared, known }: ListState, before: Listed | undefined): void {
    const view = this.#views.on(connection)
    if (view === undefined) return
    const shown = before ?? this.#cache.on(view, connection, declared)?.lists[list]
    const now = known?.listed
    if (!hasSameContent(shown, now)) this.#announce([list], shown === undefined)
  }

  /** Notifies clients that these lists changed. */
  #announce(lists: readonly ListName[], isFirst: boolean): void {
    this.#clientViews.reset()
    for (const list of lists) this.#options.onChanged(list, isFirst)
  }

  #cameBack(server: Server): void {
    this.#away.get(server)?.cancel()
    this.#away.delete(server)
  }

  #wentAway(server: Server): void {
    if (this.#away.has(server)) return
    const timer = this.#options.clock.after(AWAY_MS, () => {
      this.#away.delete(server)
      const view = this.#views.current(server.options)
      if (view === undefined) return
      this.#cache.forget(view)
      for (const connection of server.connections) this.#lists.drop(connection)
      this.#announce(LIST_NAMES, false)
    })
    this.#away.set(server, timer)
  }
}

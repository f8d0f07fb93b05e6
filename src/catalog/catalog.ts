import type { Clock, Timer } from '../kernel/async/clock.js'
import type { Caller, Principal } from '../kernel/caller.js'
import type { Client, Viewer } from '../model/links.js'
import { LIST_NAMES, type ListName } from '../model/listing.js'
import type { ServerFacts } from '../model/peer.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { joinInstructions, type Offer } from './capabilities.js'
import { ClientViews, type ListOptions, type Page } from './lists/client-views.js'
import { AWAY_MS, ConnectionLists, type Reading } from './lists/connection-lists.js'
import { type Item, type Listed, looksSame } from './lists/listed.js'
import type { Merged } from './lists/merge.js'
import { type CachedServer, ProfileCache, type ServerCache } from './lists/profile-cache.js'
import type { ServerView } from './lists/server-view.js'
import { isSearchTool } from './search/search-tools.js'
import { ServerViews, type ServerViewsOptions } from './server-views.js'
import type { Choice, Exposing } from './views/exposing.js'
import type { View } from './views/view.js'
import type { Views } from './views/views.js'

export interface CatalogOptions extends ServerViewsOptions, ListOptions {
  readonly clock: Clock
  /** Which parts of all there is clients see; undefined if each sees all. */
  readonly clientViews?: Views | undefined
  /** Which clients search tools instead of being shown them; undefined if none does. */
  readonly exposing?: Exposing | undefined
  /** Called once clients see another list; `isFirst` if nothing was known of it before. */
  readonly onChanged: (list: ListName, isFirst: boolean) => void
  /** What is kept of servers between runs; undefined if nothing is. */
  readonly cache?: ServerCache | undefined
}

export interface CatalogChange extends Pick<CatalogOptions, 'pageSize' | 'startupWaitMs'> {
  readonly isExposureChanged: (server: Server) => boolean
  /** From new servers to those that they replace, whose lists are shown until the new ones have answered. */
  readonly successors: ReadonlyMap<Server, Server>
}

const NONE: readonly string[] = []
const NO_SERVERS: ReadonlyMap<Server, ServerView> = new Map()

/** What all servers offer, merged, as each client sees it. No server holds up the others. */
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
      onRead: (view, connection, list, listed) => this.#cache.update(view, connection, list, listed),
      onRefused: (view, connection, list) => this.#cache.refused(view, connection, list),
      onChanged: (connection, list, before) => this.#wasRead(connection, list, before),
    })
    this.#clientViews = new ClientViews({
      views: this.#views,
      viewFor: client => options.clientViews?.of(client),
      lists: this.#lists,
      cache: this.#cache,
      exposing: options.exposing,
      options: () => this.#options,
      clock,
      log,
    })
    this.#views.replace(servers, () => false)
  }

  /** The views of all servers, in order; another map once anything in it has changed. */
  get views(): ReadonlyMap<Server, ServerView> {
    return this.#views.all
  }

  viewOf(server: ServerOptions): ServerView {
    return this.#views.of(server)
  }

  /** Whether a server is there for anybody, and not only until its calls are over. */
  isServed(server: ServerOptions): boolean {
    return this.#views.current(server) !== undefined
  }

  /** Where a principal finds what a configured server has; undefined if it has nothing there. */
  ownedBy(view: ServerView, principal: Principal): ServerView | undefined {
    return this.#views.for(view, principal)
  }

  /** A principal's own server was given up, or its login has changed. */
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
    // A server that is known is not away: it only has not been called yet.
    for (const [server, view] of this.views)
      if (successors.has(server) && this.#cache.ofAny(view)?.facts === undefined) this.#wentAway(server)
    this.#announce(LIST_NAMES, false)
  }

  /**
   * A page of a merged list; servers that are starting are waited for as for any list, or for `waitMs` if
   * that is longer. Rejects with a Fault for a bad cursor, or if no server could be reached.
   */
  page(viewer: Viewer, list: ListName, cursor: string | undefined, waitMs = 0): Promise<Page> {
    return this.#clientViews.page(viewer, list, cursor, waitMs)
  }

  /** Equal for lists that look the same to their client. */
  version(viewer: Viewer, list: ListName): string {
    return this.#clientViews.version(viewer, list)
  }

  /** Whether the name of a tool is ours, and no server's tool is shown under it. */
  readonly isReserved = (name: string): boolean => this.#options.exposing !== undefined && isSearchTool(name)

  /** How a client is shown tools, by what is known by now; undefined if nobody searches them. */
  choice(viewer: Viewer): Choice | undefined {
    return this.#clientViews.choose(viewer)
  }

  /** The same, without choosing. */
  choiceOf(client: Client): Choice | undefined {
    return this.#options.exposing?.known(client)
  }

  /** Waits until a list is as fresh as a page of it would be. Rejects like `page`. */
  refresh(viewer: Viewer, list: ListName, waitMs: number): Promise<void> {
    return this.#clientViews.refresh(viewer, list, waitMs)
  }

  merged(viewer: Viewer, list: ListName): Merged {
    return this.#clientViews.mergedList(viewer, list).merged
  }

  find(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Item | undefined {
    return this.merged(viewer, list).byExposed.get(exposed)
  }

  /** The servers that exist for a viewer; there are no others, whatever it asks. */
  visibleTo(viewer: Viewer): ReadonlyMap<Server, ServerView> {
    return this.#clientViews.servers(viewer)
  }

  /** What a client sees of all that its caller may see; undefined for everything. */
  viewFor(client: Client): View | undefined {
    return this.#options.clientViews?.of(client)
  }

  /** The name of the view of a client; `default` for one that sees all there is. */
  viewNameOf(client: Client): string {
    return this.#options.clientViews?.nameFor(client) ?? 'default'
  }

  /** Whether a server, or what it has of a list, exists for a viewer; it may have left by now. */
  sees({ client, caller }: Viewer, server: ServerOptions, list?: ListName): boolean {
    const [shown, view] = [this.viewOf(server), this.viewFor(client)]
    const isOthers = server.owned !== undefined && server.owned.owner !== caller.principal
    if (isOthers || !shown.isVisibleTo(caller)) return false
    if (view === undefined) return true
    return view.isOpenTo(caller) && shown.isIn(view) && (list === undefined || view.hasList(list))
  }

  /** Those of the servers that exist for a viewer that may have something in a list of this kind. */
  offering(viewer: Viewer, list: ListName): ReadonlyMap<Server, ServerView> {
    return this.#clientViews.hasList(viewer, list) ? this.visibleTo(viewer) : NO_SERVERS
  }

  /** The scopes that a call of this tool needs, if its caller lacks one of them; else none. */
  lackingScopes(caller: Caller, server: ServerOptions, tool: string): readonly string[] {
    return this.viewOf(server).exposure.access?.lacking(caller, tool) ?? NONE
  }

  /** What a server declares to a client; undefined if that is not known. */
  facts(server: Server, client: Client): ServerFacts | undefined {
    return this.#clientViews.facts(server, client)
  }

  offer(viewer: Viewer): Offer {
    return this.#clientViews.offer(viewer)
  }

  /** Whether anything is known of a server that a client has not reached. */
  isCached(server: Server, client: Client): boolean {
    return this.#clientViews.cached(server, client) !== undefined
  }

  /** What the server that is served as it is declares to a client, if there is one and that is known. */
  own(viewer: Viewer): ServerFacts | undefined {
    if (!this.#options.isAlone) return undefined
    const [server] = this.visibleTo(viewer).keys()
    return server && this.facts(server, viewer.client)
  }

  instructions(viewer: Viewer): string | undefined {
    if (this.#options.isAlone) return this.own(viewer)?.instructions
    return joinInstructions(
      [...this.visibleTo(viewer).keys()].map(
        server => [server.options.alias, this.facts(server, viewer.client)] as const,
      ),
    )
  }

  /** Whether all that is known of a remote server, which may have changed, comes from an earlier process. */
  isOnlyFromDisk(server: Server, client: Client): boolean {
    const isMet = server.connectionOf(client)?.facts !== undefined
    return (
      !server.options.isProcess && !isMet && this.#clientViews.cached(server, client)?.isFromDisk === true
    )
  }

  /** Waits until a list of every server is known for a client, or for as long as any list. Never rejects. */
  readOnce(viewer: Viewer, list: ListName): Promise<void> {
    return this.#clientViews.readOnce(viewer, list)
  }

  /** Reads a list again on the connection that a client uses. Rejects with a Fault. */
  async read(server: Server, client: Client, list: ListName): Promise<void> {
    await this.#clientViews.read(server, client, list)
  }

  /** Shows a tool without its `outputSchema`, because its result had no structured content. */
  hideOutputSchema(viewer: Viewer, exposed: string): void {
    const item = this.find(viewer, 'tools', exposed)
    if (item === undefined || !this.viewOf(item.server.options).hideOutputSchema(item.own)) return
    this.#views.renew(item.server)
    this.#announce(['tools'], false)
  }

  /** What is known of a server on its connections, best first, or else from the cache: for the status. */
  summary(server: Server, connections: readonly Connection[]) {
    const view = this.views.get(server)
    const cached = view && this.#cache.ofAny(view)
    const readings = (list: ListName): Reading[] =>
      connections.flatMap(connection => this.#lists.of(connection, list)?.known ?? [])
    const listed = (list: ListName): Listed | undefined => readings(list)[0]?.listed ?? cached?.lists[list]
    const count = (list: ListName): number => listed(list)?.items.length ?? 0
    return {
      listed,
      /** When a list was read last, on the clock; undefined where it is only known from before. */
      readMs: (list: ListName): number | undefined => readings(list)[0]?.readMs,
      facts: connections[0]?.facts ?? cached?.facts,
      items: {
        tools: count('tools'),
        prompts: count('prompts'),
        resources: count('resources'),
        templates: count('templates'),
      },
      truncated: LIST_NAMES.filter(list => readings(list).some(({ cutAt }) => cutAt !== undefined)),
      /** The lists that an open connection could not read, why, and since when, on the clock. */
      unread: LIST_NAMES.flatMap(list => this.#unread(connections, list)),
    }
  }

  #unread([best]: readonly Connection[], list: ListName) {
    const { unreadWhy: why, failingSinceMs: sinceMs = 0 } = (best?.link && this.#lists.of(best, list)) ?? {}
    return why === undefined ? [] : [{ list, why, sinceMs }]
  }

  changed(connection: Connection, list: ListName): void {
    if (this.#views.on(connection) !== undefined) this.#lists.changed(connection, list)
  }

  /** Another replica read other lists of a server: where it is open it is asked, else they are believed. */
  learned(server: ServerOptions, known: CachedServer): void {
    const view = this.#views.current(server)
    if (view === undefined) return
    this.#announce(this.#cache.learned(view, known), false)
    for (const connection of view.server.connections)
      for (const list of LIST_NAMES)
        if (connection.link !== undefined && this.#lists.of(connection, list)?.known !== undefined)
          this.#lists.changed(connection, list)
  }

  /** A connection to a server is open, for the first time or again. */
  ready(connection: Connection): void {
    const view = this.#views.on(connection)
    if (view === undefined) return
    this.#cameBack(view.server)
    this.#cache.reached(view, connection)
    this.#clientViews.reset()
    const cached = this.#cache.on(view, connection)
    this.#lists.ready(connection, list => cached?.lists[list] !== undefined)
  }

  /** A connection was lost or not opened. If it was the only one, its lists stay for a while. */
  lost(connection: Connection): void {
    const server = this.#views.on(connection)?.server
    const isThere = server && [...server.connections].some(({ link }) => link !== undefined)
    if (server !== undefined && isThere === false) this.#wentAway(server)
  }

  /** A connection is closed for good: its clients now see what is cached for their profile. */
  ended(connection: Connection): void {
    const view = this.#views.on(connection)
    if (view !== undefined) {
      const next = this.#cache.on(view, connection)?.lists
      const isOther = (list: ListName): boolean => {
        const known = this.#lists.of(connection, list)?.known
        return known !== undefined && !looksSame(next?.[list], known.listed)
      }
      this.#announce(LIST_NAMES.filter(isOther), false)
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

  #wasRead(connection: Connection, list: ListName, before: Listed | undefined): void {
    const view = this.#views.on(connection)
    if (view === undefined) return
    const shown = before ?? this.#cache.on(view, connection)?.lists[list]
    const now = this.#lists.of(connection, list)?.known?.listed
    if (!looksSame(shown, now)) this.#announce([list], shown === undefined)
  }

  /** Some clients see something else in these lists. */
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

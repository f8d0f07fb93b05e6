import { within } from '../../kernel/async/deadline.js'
import type { Caller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { type CacheHints, type Contribution, mergeHints, UNCACHED } from '../../model/cache-hints.js'
import type { Client, Viewer } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { Server } from '../../peers/server.js'
import { lacksWorkspace } from '../../peers/sharing.js'
import { isSearchTool } from '../../search/search-tools.js'
import { tokensOfTool } from '../../search/tool-cost.js'
import { joinCapabilities, type Offer, withinView } from '../capabilities.js'
import { type Listed, mergedForModels } from '../listed.js'
import type { Choice } from '../views/tool-exposure.js'
import type { View } from '../views/view.js'
import { differsForApps, listForApps, listForModels, showsApps } from './app-tools.js'
import type { ClientViewsContext, ListPage } from './client-views-context.js'
import { Interned } from './interned.js'
import type { ListState } from './list-state.js'
import { type HidingFilter, MergedList, mergeKey, partsOf } from './merge.js'
import { cutPage, type ShownList } from './page.js'
import { type CachedProfile, offers } from './profile-cache.js'
import type { ServerView } from './server-view.js'
import { applyToolChoice, isPlainChoice } from './shown-tools.js'
import { hasSignInTool, signInTool } from './sign-in-tool.js'

interface ClientView {
  /** The scopes it was computed for: other scopes may show other servers. */
  readonly scopes: Caller['scopes']
  /** The servers visible with these scopes. */
  readonly servers: ReadonlyMap<Server, ServerView>
  /** True if another credential would show more. */
  readonly hasHidden: boolean
  readonly view: View | undefined
  readonly hiding: HidingFilter | undefined
  offer: Offer | undefined
  /** All items, which calls find, and those that the client sees. */
  readonly lists: Partial<Record<ListName, MergedList>>
  readonly visible: Partial<Record<ListName, MergedList>>
  /** The tool list as a choice presents it. */
  shown: { readonly by: Choice; readonly list: ShownList } | undefined
}

const NONE: ReadonlySet<string> = new Set()

/** Returns for how long clients may keep a list; undefined if the proxy would not keep it either. */
const contributionOf = (state: ListState | undefined, nowMs: number): Contribution | undefined => {
  const { known, isDue = true, reading } = state ?? {}
  if (isDue || reading !== undefined || known?.isWhole !== true) return undefined
  const { hints, readMs } = known
  return hints && { ttlMs: hints.ttlMs, cacheScope: hints.cacheScope, ageMs: nowMs - readMs }
}

/**
 * Computes each client's lists from its connections, or from the cache. Clients with equal lists share them.
 */
export class ClientViews {
  readonly #context: ClientViewsContext
  #byClient = new WeakMap<Client, ClientView>()
  #merged = new Interned<MergedList>()
  #shown = new Interned<ShownList>()

  constructor(context: ClientViewsContext) {
    this.#context = context
  }

  /** Recomputes the lists of all clients. */
  reset(): void {
    this.#byClient = new WeakMap()
  }

  /** Merges all lists and cuts their pages again. */
  reload(): void {
    this.#merged = new Interned()
    this.#shown = new Interned()
    this.reset()
  }

  forget(client: Client): void {
    this.#byClient.delete(client)
  }

  cached(server: Server, client: Client): CachedProfile | undefined {
    const view = this.#context.views.current(server.options)
    return view && this.#context.cache.of(view, client)
  }

  /** Returns the capabilities that a server declares to a client; undefined if they are unknown. */
  facts(server: Server, client: Client): ServerFacts | undefined {
    return server.connectionOf(client)?.facts ?? this.cached(server, client)?.facts
  }

  servers(viewer: Viewer): ReadonlyMap<Server, ServerView> {
    return this.#of(viewer).servers
  }

  offer(viewer: Viewer): Offer {
    const seen = this.#of(viewer)
    seen.offer ??= withinView(
      joinCapabilities(
        [...seen.servers.keys()].map(server => this.facts(server, viewer.client)),
        // Without servers, a reload may add some later.
        seen.hasHidden || seen.servers.size === 0,
        viewer.client.serverRequests,
      ),
      seen.view,
    )
    return seen.offer
  }

  /** Returns whether a viewer sees any list of this kind. */
  hasList(viewer: Viewer, list: ListName): boolean {
    return this.#of(viewer).view?.hasList(list) !== false
  }

  /** Returns the part of a list that a client sees of one server; undefined if it is unknown. */
  listed(server: Server, client: Client, list: ListName): Listed | undefined {
    return this.#state(server, client, list)?.known?.listed ?? this.cached(server, client)?.lists[list]
  }

  #isFresh(server: Server, client: Client, list: ListName): boolean {
    const connection = server.connectionOf(client)
    if (connection !== undefined && this.#context.lists.isFresh(connection, list, client)) return true
    if (!server.isResting(client, connection)) return false
    const state = this.#state(server, client, list)
    if (state?.isDue === true) return false
    if (state?.known !== undefined) return true
    const cached = this.cached(server, client)
    return cached?.isDue === false && (cached.lists[list] !== undefined || cached.refused.has(list))
  }

  /** Returns how long clients may keep a merged list, and its scope (server/utilities/caching). */
  #hints(viewer: Viewer, list: ListName): CacheHints {
    const { client } = viewer
    const nowMs = this.#context.clock.nowMs()
    const contributions: Contribution[] = []
    // Other users may see more.
    let isSplit = this.#of(viewer).hiding !== undefined
    for (const server of this.servers(viewer).keys()) {
      isSplit ||= server.shares.isSplit
      const facts = this.facts(server, client)
      if (facts !== undefined && !offers(facts, list)) continue
      const contribution = contributionOf(this.#state(server, client, list), nowMs)
      if (contribution === undefined) return UNCACHED
      contributions.push(contribution)
    }
    return mergeHints(contributions, isSplit || this.#differsForApps(viewer, list))
  }

  /** Returns whether clients that show apps receive another list of this kind. */
  #differsForApps(viewer: Viewer, list: ListName): boolean {
    const isSearched = this.#context.toolExposure?.known(viewer.client)?.mode === 'search'
    if (list !== 'tools' || (!isSearched && this.#context.options().isAlone)) return false
    // Without tools of apps, search mode needs no merged list.
    const mayHaveApps = (server: Server): boolean =>
      this.listed(server, viewer.client, list)?.mayHaveApps === true
    if (isSearched && ![...this.servers(viewer).keys()].some(mayHaveApps)) return false
    return differsForApps(this.visibleList(viewer, list).merged, isSearched)
  }

  /** See `Catalog.page`. */
  async page(viewer: Viewer, list: ListName, cursor: string | undefined, waitMs: number): Promise<ListPage> {
    // The search tools depend on no server, unless server tools are listed with them.
    const known = list === 'tools' ? this.#context.toolExposure?.known(viewer.client) : undefined
    if (known?.mode !== 'search' || listsServerTools(known, viewer.client))
      await this.refresh(viewer, list, waitMs)
    if (list === 'tools') this.choose(viewer)
    const { paged, version } = this.shownList(viewer, list)
    const result = cutPage(list, paged, cursor, this.#context.options().pageSize)
    return { result, version, hints: this.#hints(viewer, list) }
  }

  /**
   * Reads the outdated parts of a list within the usual time limit. Rejects with a Fault if nothing is known.
   */
  async refresh(viewer: Viewer, list: ListName, waitMs: number): Promise<void> {
    const { client } = viewer
    const isStale = (server: Server): boolean => !this.#isFresh(server, client, list)
    const faults = await this.#refresh(viewer, list, isStale, waitMs)
    const [fault] = faults
    const servers = [...this.servers(viewer).keys()]
    const isKnown = (server: Server): boolean =>
      this.listed(server, client, list) !== undefined || this.#isClosed(server)
    if (fault !== undefined && faults.length === servers.length && !servers.some(isKnown)) throw fault
  }

  /** Chooses how tools are presented to a client from the lists known now; undefined without tool search. */
  choose(viewer: Viewer): Choice | undefined {
    const { toolExposure } = this.#context
    if (toolExposure === undefined) return undefined
    return toolExposure.choose(viewer.client, () => {
      const list = this.visibleList(viewer, 'tools')
      const tokens = (): number =>
        [...mergedForModels(list.merged).byExposed.values()].reduce(
          (sum, { text }) => sum + tokensOfTool(text),
          0,
        )
      return { version: list.key, tools: list.size, tokens }
    })
  }

  /** See `Catalog.readOnce`. */
  async readOnce(viewer: Viewer, list: ListName): Promise<void> {
    await this.#refresh(viewer, list, server => this.listed(server, viewer.client, list) === undefined)
  }

  /** Reads a list on a client's connection. Rejects with a Fault. */
  async read(server: Server, client: Client, list: ListName): Promise<void> {
    await this.#context.lists.read(server.connectionFor(client), list, client)
  }

  /** Reads a list of several servers in parallel; resolves with the Faults of those that failed in time. */
  async #refresh(
    viewer: Viewer,
    list: ListName,
    isWanted: (server: Server) => boolean,
    waitMs = 0,
  ): Promise<Fault[]> {
    const { client } = viewer
    const { options, clock } = this.#context
    const { listWaitMs, startupWaitMs } = options()
    const faults: Fault[] = []
    const awaited: Promise<void>[] = []
    for (const server of this.servers(viewer).keys()) {
      if (!isWanted(server)) continue
      // A hanging server is not awaited twice; its cached list is shown meanwhile.
      const isAwaited =
        server.unansweredMs(client) <= startupWaitMs + listWaitMs && !this.#isFromDisk(server, client, list)
      const read = this.read(server, client, list).catch((thrown: unknown) => {
        faults.push(Fault.from(thrown))
      })
      if (isAwaited) awaited.push(read)
    }
    if (awaited.length > 0) await within(Promise.all(awaited), { clock, ms: Math.max(listWaitMs, waitMs) })
    return faults
  }

  mergedList(viewer: Viewer, list: ListName): MergedList {
    const seen = this.#of(viewer)
    const { lists } = seen
    lists[list] ??= this.#merge(viewer.client, seen, list)
    return lists[list]
  }

  /** Returns the merged list without hidden items. */
  visibleList(viewer: Viewer, list: ListName): MergedList {
    const seen = this.#of(viewer)
    const { hiding, visible } = seen
    if (hiding === undefined) return this.mergedList(viewer, list)
    visible[list] ??= this.#merge(viewer.client, seen, list, hiding)
    return visible[list]
  }

  /** See `Catalog.version`. Does not read the lists for a client without a choice. */
  version(viewer: Viewer, list: ListName): string {
    const { toolExposure } = this.#context
    const isOpen =
      list === 'tools' && toolExposure !== undefined && toolExposure.known(viewer.client) === undefined
    return isOpen ? this.visibleList(viewer, list).key : this.shownList(viewer, list).version
  }

  /** Returns the list that a client receives: the merged list, or the search tools. */
  shownList(viewer: Viewer, list: ListName): ShownList {
    const { client } = viewer
    if (list !== 'tools') return this.visibleList(viewer, list)
    const choice = this.#context.toolExposure?.known(client)
    if (choice !== undefined && !isPlainChoice(choice)) return this.#chosenList(viewer, choice)
    const merged = this.visibleList(viewer, list)
    if (showsApps(client)) return listForApps(merged)
    return this.#hidesApps(client) ? listForModels(merged) : merged
  }

  #hidesApps(client: Client): boolean {
    return !showsApps(client) && !this.#context.options().isAlone
  }

  #chosenList(viewer: Viewer, choice: Choice): ShownList {
    const { client } = viewer
    const seen = this.#of(viewer)
    if (seen.shown?.by !== choice) {
      const servers = [...seen.servers.keys()].map(({ name }) => name)
      const list = listsServerTools(choice, client) ? this.visibleList(viewer, 'tools') : undefined
      const reach = list && { list, showsApps: showsApps(client), hidesApps: this.#hidesApps(client) }
      const { mode, loadsByNeed, pins, max } = choice
      const key = JSON.stringify([mode, loadsByNeed, pins?.id, max, servers, list?.version, reach?.showsApps])
      seen.shown = { by: choice, list: this.#shown.get(key, () => applyToolChoice(choice, reach, servers)) }
    }
    return seen.shown.list
  }

  #merge(client: Client, seen: ClientView, list: ListName, hiding?: HidingFilter): MergedList {
    const { servers, view: ofClient } = seen
    const sources = [...servers].map(([server, view]) => {
      const listed = this.listed(server, client, list) ?? this.#inPlace(server, list)
      return { server, view, listed, hidden: (listed && hiding?.hidden(list, listed.items)) ?? NONE }
    })
    const key = mergeKey(list, sources, ofClient)
    const how = { view: ofClient, log: this.#context.log, isReserved: this.#isReserved(list) }
    return this.#merged.get(key, () => new MergedList(key, partsOf(list, sources, how)))
  }

  #isReserved(list: ListName): ((name: string) => boolean) | undefined {
    return list === 'tools' && this.#context.toolExposure !== undefined ? isSearchTool : undefined
  }

  /** Returns whether a user must sign in at a server first and gets a sign-in tool. */
  #isClosed(server: Server): boolean {
    return hasSignInTool(server) && !this.#context.options().isSignedIn(server.options)
  }

  /** Returns the substitute for a list that needs a login. */
  #inPlace(server: Server, list: ListName): Listed | undefined {
    return list === 'tools' && this.#isClosed(server) ? signInTool(server) : undefined
  }

  /** Returns whether a shown list comes from an earlier process. */
  #isFromDisk(server: Server, client: Client, list: ListName): boolean {
    if (this.#state(server, client, list)?.known !== undefined) return false
    const cached = this.cached(server, client)
    return cached?.isFromDisk === true && cached.lists[list] !== undefined
  }

  /** Returns whether a shown list was not yet read from the server by this process. */
  isUnread(server: Server, client: Client, list: ListName): boolean {
    return (
      this.#state(server, client, list)?.known === undefined &&
      this.cached(server, client)?.unread.has(list) === true
    )
  }

  /**
   * Returns whether the server may have another list than the one that was read: the connection was opened
   * again since then, or the server has announced a change.
   */
  isOutdated(server: Server, client: Client, list: ListName): boolean {
    const { known, connection, isDue, reading } = this.#state(server, client, list) ?? {}
    if (known === undefined) return false
    return isDue === true || reading !== undefined || !connection?.link || known.link !== connection.link
  }

  #state(server: Server, client: Client, list: ListName): ListState | undefined {
    const connection = server.connectionOf(client)
    return connection && this.#context.lists.of(connection, list, client)
  }

  #of({ client, caller }: Viewer): ClientView {
    const { scopes } = caller
    let view = this.#byClient.get(client)
    if (view === undefined || view.scopes !== scopes) {
      view = {
        scopes,
        ...this.#visibleTo(client, caller),
        hiding: this.#context.hidingFor?.({ client, caller }),
        ...{ offer: undefined, lists: {}, visible: {}, shown: undefined },
      }
      this.#byClient.set(client, view)
    }
    return view
  }

  #visibleTo(client: Client, caller: Caller): Pick<ClientView, 'servers' | 'view' | 'hasHidden'> {
    const servers = this.#allowedTo(client, caller)
    const hasHidden = servers.size < this.#context.views.all.size
    const view = this.#context.viewFor(client)
    if (view === undefined) return { servers, view, hasHidden }
    if (!view.isOpenTo(caller)) return { servers: new Map(), view, hasHidden: true }
    return { servers: new Map([...servers].filter(([, each]) => each.isIn(view))), view, hasHidden }
  }

  #allowedTo(client: Client, caller: Caller): ClientView['servers'] {
    const { all } = this.#context.views
    const isHere = ({ options }: Server): boolean =>
      !options.isPerPrincipal && !lacksWorkspace(options, client)
    if (caller.scopes === undefined && [...all.keys()].every(isHere)) return all
    const seen = [...all.values()].flatMap(view => {
      const isThere = !lacksWorkspace(view.server.options, client) && view.isVisibleTo(caller)
      return (isThere ? this.#context.views.for(view, caller.principal) : undefined) ?? []
    })
    return new Map(seen.map(view => [view.server, view]))
  }
}

/** Returns whether a client's list depends on the servers' lists, with any choice that is not plain. */
const listsServerTools = ({ pins }: Choice, client: Client): boolean =>
  pins !== undefined || showsApps(client)

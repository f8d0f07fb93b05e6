import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { Interned } from '../../kernel/interned.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { type CacheHints, type Contribution, mergeHints, UNCACHED } from '../../model/cache-hints.js'
import type { Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { Server } from '../../peers/server.js'
import { joinCapabilities, type Offer } from '../capabilities.js'
import type { ConnectionLists, ListState } from './connection-lists.js'
import { digestOf, type Listed } from './listed.js'
import { type Merged, mergeParts, type Part } from './merge.js'
import { cutPage } from './page.js'
import { type CachedProfile, offers, type ProfileCache } from './profile-cache.js'
import type { ServerView } from './server-view.js'

export interface ListOptions {
  readonly pageSize: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  /** How long a new client has waited for them before. */
  readonly startupWaitMs: number
}

export interface ClientViewsContext {
  readonly views: () => ReadonlyMap<Server, ServerView>
  readonly lists: ConnectionLists
  readonly cache: ProfileCache
  readonly options: () => ListOptions
  readonly clock: Clock
  readonly log: Logger
}

/** A page, the version of the merged list that it was cut from, and how long clients may keep it. */
export interface Page {
  readonly result: JsonText
  readonly version: string
  readonly hints: CacheHints
}

/** A list over all servers, shared by all clients who see the same of each. */
class MergedList {
  /** Equal for lists that look the same. */
  readonly version: string
  readonly #merge: () => Merged
  #merged: Merged | undefined

  constructor(version: string, merge: () => Merged) {
    this.version = version
    this.#merge = merge
  }

  get merged(): Merged {
    this.#merged ??= this.#merge()
    return this.#merged
  }
}

interface ClientView {
  offer: Offer | undefined
  readonly lists: Map<ListName, MergedList>
}

/** How long clients may keep a list; undefined if not at all, as when we would not keep it ourselves. */
const contributionOf = (state: ListState | undefined, nowMs: number): Contribution | undefined => {
  const { known, isDue = true, reading } = state ?? {}
  if (isDue || reading !== undefined || known?.isWhole !== true) return undefined
  const { hints, readMs } = known
  return hints && { ttlMs: hints.ttlMs, cacheScope: hints.cacheScope, ageMs: nowMs - readMs }
}

/** What each client sees: the lists of its connections, else the cache. Clients who see the same share it. */
export class ClientViews {
  readonly #context: ClientViewsContext
  #byClient = new WeakMap<Client, ClientView>()
  #merged = new Interned<MergedList>()

  constructor(context: ClientViewsContext) {
    this.#context = context
  }

  /** Some clients may see something else now. */
  reset(): void {
    this.#byClient = new WeakMap()
  }

  /** Merges all lists, and cuts their pages, again. */
  reload(): void {
    this.#merged = new Interned()
    this.reset()
  }

  forget(client: Client): void {
    this.#byClient.delete(client)
  }

  cached(server: Server, client: Client): CachedProfile | undefined {
    const view = this.#context.views().get(server)
    return view && this.#context.cache.of(view, client)
  }

  /** What a server declares to a client; undefined if that is not known. */
  facts(server: Server, client: Client): ServerFacts | undefined {
    return server.connectionOf(client)?.facts ?? this.cached(server, client)?.facts
  }

  offer(client: Client): Offer {
    const view = this.#of(client)
    view.offer ??= joinCapabilities(
      [...this.#context.views().keys()].map(server => this.facts(server, client)),
    )
    return view.offer
  }

  /** What a client sees of a list of one server; undefined if nothing is known of it. */
  listed(server: Server, client: Client, list: ListName): Listed | undefined {
    return this.#state(server, client, list)?.known?.listed ?? this.cached(server, client)?.lists[list]
  }

  #isFresh(server: Server, client: Client, list: ListName): boolean {
    const connection = server.connectionOf(client)
    if (connection !== undefined && this.#context.lists.isFresh(connection, list)) return true
    if (!server.isResting(client, connection)) return false
    const state = this.#state(server, client, list)
    if (state?.isDue === true) return false
    if (state?.known !== undefined) return true
    const cached = this.cached(server, client)
    return cached?.isDue === false && (cached.lists[list] !== undefined || cached.refused.has(list))
  }

  /** How long clients may keep a merged list, and for whom (server/utilities/caching). */
  #hints(client: Client, list: ListName): CacheHints {
    const nowMs = this.#context.clock.nowMs()
    const contributions: Contribution[] = []
    for (const server of this.#context.views().keys()) {
      const facts = this.facts(server, client)
      if (facts !== undefined && !offers(facts, list)) continue
      const contribution = contributionOf(this.#state(server, client, list), nowMs)
      if (contribution === undefined) return UNCACHED
      contributions.push(contribution)
    }
    return mergeHints(contributions)
  }

  /** See `Catalog.page`. */
  async page(client: Client, list: ListName, cursor: string | undefined, waitMs: number): Promise<Page> {
    const isStale = (server: Server): boolean => !this.#isFresh(server, client, list)
    const faults = await this.#refresh(client, list, isStale, waitMs)
    const [fault] = faults
    const servers = [...this.#context.views().keys()]
    const isKnown = (server: Server): boolean => this.listed(server, client, list) !== undefined
    if (fault !== undefined && faults.length === servers.length && !servers.some(isKnown)) throw fault
    const { merged, version } = this.mergedList(client, list)
    const result = cutPage(list, merged, cursor, this.#context.options().pageSize)
    return { result, version, hints: this.#hints(client, list) }
  }

  /** See `Catalog.readOnce`. */
  async readOnce(client: Client, list: ListName): Promise<void> {
    await this.#refresh(client, list, server => this.listed(server, client, list) === undefined)
  }

  /** Reads a list on the connection that a client uses. Rejects with a Fault. */
  async read(server: Server, client: Client, list: ListName): Promise<void> {
    await this.#context.lists.read(server.connectionFor(client), list)
  }

  /** Reads a list of some servers at once; resolves with the Faults of those that failed in time. */
  async #refresh(
    client: Client,
    list: ListName,
    isWanted: (server: Server) => boolean,
    waitMs = 0,
  ): Promise<Fault[]> {
    const { views, options, clock } = this.#context
    const { listWaitMs, startupWaitMs } = options()
    const faults: Fault[] = []
    const awaited: Promise<void>[] = []
    for (const server of views().keys()) {
      if (!isWanted(server)) continue
      // A server that hangs has had its chance, and what is cached is shown until it is known better.
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

  mergedList(client: Client, list: ListName): MergedList {
    const { lists } = this.#of(client)
    let merged = lists.get(list)
    if (merged === undefined) {
      merged = this.#merge(client, list)
      lists.set(list, merged)
    }
    return merged
  }

  #merge(client: Client, list: ListName): MergedList {
    const { views, log } = this.#context
    const parts: Part[] = []
    const digests: string[] = []
    let key: string = list
    for (const [server, view] of views()) {
      const listed = this.listed(server, client, list)
      parts.push({ index: server.index, alias: server.options.alias, items: listed?.items ?? [] })
      key += ` ${view.id} ${server.index} ${listed?.digest}`
      // A name without prefix is free only where it does not begin with the alias of a server.
      if (!view.exposure.prefix) digests.push(...[...views().keys()].map(({ options }) => options.alias))
      if (listed !== undefined && listed.items.length > 0) digests.push(listed.digest)
    }
    return this.#merged.get(key, () => new MergedList(digestOf(digests), () => mergeParts(list, parts, log)))
  }

  /** Whether a list that is shown comes from an earlier process. */
  #isFromDisk(server: Server, client: Client, list: ListName): boolean {
    if (this.#state(server, client, list)?.known !== undefined) return false
    const cached = this.cached(server, client)
    return cached?.isFromDisk === true && cached.lists[list] !== undefined
  }

  #state(server: Server, client: Client, list: ListName): ListState | undefined {
    const connection = server.connectionOf(client)
    return connection && this.#context.lists.of(connection, list)
  }

  #of(client: Client): ClientView {
    let view = this.#byClient.get(client)
    if (view === undefined) {
      view = { offer: undefined, lists: new Map() }
      this.#byClient.set(client, view)
    }
    return view
  }
}

import type { Clock, Timer } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import { withLimit } from '../kernel/with-limit.js'
import { type CacheHints, type Contribution, mergeHints, UNCACHED } from '../model/cache-hints.js'
import type { ListName } from '../model/listing.js'
import type { ServerOptions } from '../peers/options.js'
import type { Server } from '../peers/server.js'
import { contributionOf, isSame, isStale, looksSame, NOTHING, type Slice } from './freshness.js'
import type { KnownServers } from './known.js'
import { itemsOf, type Merged, mergeParts } from './merge.js'
import { AS_IT_IS, type Showing } from './options.js'
import { cutPage } from './page.js'
import { inheritedSlices, knownOf, offers, recalledSlices, type Slices, showAnew } from './slices.js'
import { type Item, ServerView } from './snapshot.js'
import { LIST_NAMES, LISTS, type Walked, walkList } from './walk.js'

/** How the catalogue behaves. */
export interface CatalogOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly pageSize: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  /** How long a new client has waited for them before. */
  readonly startupWaitMs: number
  /** Told after a merged list has become another one; `isFirst` when nothing was known of that list of a server before. */
  readonly onChanged: (list: ListName, isFirst: boolean) => void
  /** The one server of a proxy that has no other is shown as it is. */
  readonly isAlone: boolean
  readonly showingOf: (server: Server) => Showing
  /** What is remembered of servers; undefined if nothing is. */
  readonly known?: KnownServers | undefined
}

/** A page, which version of the merged list it was cut from, and how long that may be kept. */
export interface Page {
  readonly result: JsonText
  readonly version: number
  readonly hints: CacheHints
}

/** What another configuration changes in the catalogue. */
export interface CatalogChange extends Pick<CatalogOptions, 'pageSize' | 'startupWaitMs'> {
  /** Whether a server that stays is shown in another way. */
  readonly isReshown: (server: Server) => boolean
  /** From servers that are new to those whose place they take: what these listed is shown until they have answered. */
  readonly successors: ReadonlyMap<Server, Server>
}

/** Changes that come in a burst are one change. */
const MERGE_MS = 50
/** A server that changes a list again and again has it read so often. */
const APART_MS = 1000
const RESTLESS = 'the server changes a list again and again; it is read, and clients are told, once a second'
/** How long the last known list of a server that is away, or does not answer, stays. */
const AWAY_MS = 5 * 60_000

/**
 * What all servers offer, merged. Each server's lists are read once and kept until it says that they changed or until
 * they are too old; a server that is down, slow or wrong never holds up the others.
 */
export class Catalog {
  #views: ReadonlyMap<Server, ServerView> = new Map()
  /** Also of servers that have left, for the calls that they still answer. */
  readonly #viewsByOptions = new WeakMap<ServerOptions, ServerView>()
  #options: CatalogOptions
  #slices: ReadonlyMap<Server, Slices> = new Map()
  readonly #merged = new Map<ListName, Merged>()
  readonly #versions = new Map<ListName, number>()
  readonly #away = new Map<Server, Timer>()

  constructor(servers: readonly Server[], options: CatalogOptions) {
    this.#options = options
    this.#take(servers, () => false, new Map())
  }

  /** How each server is shown, in their order; another map when servers, or how they are shown, have changed. */
  get views(): ReadonlyMap<Server, ServerView> {
    return this.#views
  }

  /** Other servers, another order, or other ways to show them. Tells of the lists in which clients see a difference. */
  reload(servers: readonly Server[], { isReshown, successors, ...pace }: CatalogChange): void {
    const before = LIST_NAMES.map(list => [list, this.merged(list)] as const)
    this.#options = { ...this.#options, ...pace }
    const left = [...this.#slices].filter(([server]) => !servers.includes(server))
    this.#take(servers, isReshown, successors)
    for (const [server, slices] of left) {
      this.#away.get(server)?.cancel()
      this.#away.delete(server)
      for (const list of LIST_NAMES) slices[list].burst?.cancel()
    }
    // One that is known is not away: it only has not been called yet.
    for (const server of successors.keys()) if (server.facts === undefined) this.wentAway(server)
    this.#merged.clear()
    for (const [list, merged] of before) {
      if (looksSame(itemsOf(merged), itemsOf(this.merged(list)))) continue
      this.#isAnother(list, false)
    }
  }

  #take(
    servers: readonly Server[],
    isReshown: (server: Server) => boolean,
    successors: ReadonlyMap<Server, Server>,
  ): void {
    const slicesBefore = this.#slices
    const viewsBefore = this.#views
    this.#views = new Map(
      servers.map(server => {
        const known = viewsBefore.get(server)
        return [server, known !== undefined && !isReshown(server) ? known : this.#viewFor(server, known)]
      }),
    )
    this.#slices = new Map(
      [...this.#views].map(([server, view]) => {
        const known = slicesBefore.get(server)
        const predecessor = successors.get(server)
        const inherited = predecessor && slicesBefore.get(predecessor)
        if (known === undefined) {
          const nowMs = this.#options.clock.nowMs()
          const recalled = this.#options.known?.recall(server.options)
          if (recalled === undefined) return [server, inheritedSlices(inherited, view, nowMs)]
          server.recall(recalled.facts)
          return [server, recalledSlices(recalled, view, nowMs)]
        }
        if (view !== viewsBefore.get(server)) showAnew(known, view)
        return [server, known]
      }),
    )
  }

  #viewFor(server: Server, earlier: ServerView | undefined): ServerView {
    const { isAlone, showingOf, log } = this.#options
    const view = new ServerView(server, isAlone ? AS_IT_IS : showingOf(server), log, earlier)
    this.#viewsByOptions.set(server.options, view)
    return view
  }

  /** How the server with these options is shown. */
  viewOf(server: ServerOptions): ServerView {
    const view = this.#viewsByOptions.get(server)
    if (view === undefined) throw new Fault('internal', `Server ${server.name} is not in the catalogue`)
    return view
  }

  /**
   * A page of a merged list; servers that are starting are waited for as for any list, or for `waitMs` if that is longer.
   * Rejects with a Fault for a bad cursor, or if no server could be reached.
   */
  async page(list: ListName, cursor: string | undefined, waitMs = 0): Promise<Page> {
    const faults = await this.#refresh(list, server => !this.#isFresh(server, list), waitMs)
    const [fault] = faults
    if (fault !== undefined && faults.length === this.#slices.size && !this.#isKnown(list)) throw fault
    const result = cutPage(list, this.merged(list), cursor, this.#options.pageSize)
    return { result, version: this.version(list), hints: this.#hints(list) }
  }

  /** Counts how often what clients see of a merged list has become something else. */
  version(list: ListName): number {
    return this.#versions.get(list) ?? 0
  }

  /** The merged list as it stands. */
  merged(list: ListName): Merged {
    const kept = this.#merged.get(list)
    if (kept !== undefined) return kept
    const parts = [...this.#slices].map(([server, slices]) => ({
      index: server.index,
      alias: server.options.alias,
      items: slices[list].known?.items ?? [],
    }))
    const merged = mergeParts(list, parts, this.#options.log)
    this.#merged.set(list, merged)
    return merged
  }

  /** The item that clients know by this name. */
  find(list: 'tools' | 'prompts', exposed: string): Item | undefined {
    return this.merged(list).byExposed.get(exposed)
  }

  /** The tool that clients know by this name did not return what its `outputSchema` promises: it is shown without from now on. */
  breaksOutput(exposed: string): void {
    const item = this.find('tools', exposed)
    const slice = item && this.#slice(item.server, 'tools')
    const view = item && this.#views.get(item.server)
    if (slice?.known === undefined || view?.breaksOutput(item?.own ?? '') !== true) return
    slice.known = { ...slice.known, items: view.show('tools', slice.known.walked.items) }
    this.#isAnother('tools', false)
  }

  /** Waits until a list was read from every server at least once, as far as that can be had in time. Never rejects. */
  async readOnce(list: ListName): Promise<void> {
    await this.#refresh(list, server => this.#slice(server, list)?.known === undefined)
  }

  /** The lists of a server of which something is left out because there is too much. */
  truncated(server: Server): readonly ListName[] {
    return LIST_NAMES.filter(list => this.#slice(server, list)?.known?.walked.cutAt !== undefined)
  }

  /** Reads one server's list anew, once for all who ask at the same time. Rejects with a Fault if that fails. */
  read(server: Server, list: ListName): Promise<void> {
    const slice = this.#slice(server, list)
    if (slice === undefined) return Promise.resolve()
    slice.reading ??= this.#read(server, list, slice).finally(() => {
      slice.reading = undefined
    })
    return slice.reading
  }

  /** A server said that a list changed: read it soon, once for a burst, and once a second while bursts go on. */
  changed(server: Server, list: ListName): void {
    const slice = this.#slice(server, list)
    if (slice === undefined) return
    const { clock, log } = this.#options
    const restMs = slice.burstMs + APART_MS - clock.nowMs()
    if (slice.burst === undefined) {
      slice.burstMs = clock.nowMs() + Math.max(0, restMs)
      if (restMs > 0) log.warn({ server: server.name, list }, RESTLESS)
    }
    this.#readSoon(server, list, restMs)
  }

  #readSoon(server: Server, list: ListName, leastMs = 0): void {
    const slice = this.#slice(server, list)
    if (slice === undefined) return
    slice.isDue = true
    slice.burst ??= this.#options.clock.after(Math.max(MERGE_MS, leastMs), () => {
      slice.burst = undefined
      void this.#readIfDue(server, list, slice)
    })
  }

  /** A server can be asked again. */
  cameBack(server: Server): void {
    this.#away.get(server)?.cancel()
    this.#away.delete(server)
    this.#options.known?.met(server.options)
    for (const list of LIST_NAMES) {
      const slice = this.#slice(server, list)
      // A list that it offers no longer is read too, which takes it away.
      const isWanted = this.#offers(server, list) || (slice?.known?.items.length ?? 0) > 0
      if (isWanted && slice?.reading === undefined) this.#readSoon(server, list)
    }
  }

  /** A server is away: its last known lists stay for a while. */
  wentAway(server: Server): void {
    if (this.#away.has(server) || !this.#slices.has(server)) return
    const timer = this.#options.clock.after(AWAY_MS, () => {
      this.#away.delete(server)
      for (const list of LIST_NAMES) {
        if (this.#slice(server, list)?.known !== undefined) this.#drop(server, list)
      }
    })
    this.#away.set(server, timer)
  }

  close(): void {
    for (const timer of this.#away.values()) timer.cancel()
    this.#away.clear()
    for (const slices of this.#slices.values()) for (const list of LIST_NAMES) slices[list].burst?.cancel()
  }

  /** Reads a list from some servers at once; resolves with why they could not be read, as far as known in time. */
  async #refresh(list: ListName, isWanted: (server: Server) => boolean, waitMs = 0): Promise<Fault[]> {
    const faults: Fault[] = []
    const { listWaitMs, startupWaitMs, clock } = this.#options
    const reads = [...this.#slices.keys()].filter(isWanted).map(server => ({
      read: this.read(server, list).catch((thrown: unknown) => {
        faults.push(Fault.from(thrown))
      }),
      // One that hangs has had its chance: it would hold up every list of every client.
      // One that was remembered is as good as any, until it is known better.
      isWorthWaiting:
        server.unansweredMs <= startupWaitMs + listWaitMs &&
        this.#slice(server, list)?.known?.isRecalled !== true,
    }))
    const waits = reads.filter(({ isWorthWaiting }) => isWorthWaiting).map(({ read }) => read)
    if (waits.length > 0) await withLimit(Promise.all(waits), Math.max(listWaitMs, waitMs), clock)
    return faults
  }

  /** A reading under way may have been asked before the change: then it is followed by another one. */
  async #readIfDue(server: Server, list: ListName, slice: Slice): Promise<void> {
    try {
      await slice.reading?.catch(() => undefined)
      if (slice.isDue) await this.read(server, list)
    } catch (thrown) {
      if (!this.#slices.has(server)) return
      const why = Fault.from(thrown).message
      this.#options.log.warn({ server: server.name, list, why }, 'could not read a list')
    }
  }

  async #read(server: Server, list: ListName, slice: Slice): Promise<void> {
    const { clock, log } = this.#options
    slice.isDue = false
    try {
      const link = await server.anyLink()
      // From here on a change may come before the list that holds it.
      slice.isDue = false
      const limit = { clock, timeoutMs: server.options.timeouts.listMs }
      const walked = this.#offers(server, list) ? await walkList(link, list, limit, server.bounds) : NOTHING
      const { isWhole, why, items, cutAt } = walked
      if (cutAt !== undefined) server.bounds.hit(cutAt, { list })
      if (!isWhole) log.warn({ server: server.name, list, why, items: items.length }, 'a list is not whole')
      slice.failingSinceMs = undefined
      this.#put(server, list, walked)
      this.#options.known?.learnt(server.options, () => knownOf(server.facts, this.#slices.get(server)))
    } catch (thrown) {
      slice.isDue = true
      slice.failingSinceMs ??= clock.nowMs()
      const isLong = clock.nowMs() - slice.failingSinceMs >= AWAY_MS
      if (slice.known !== undefined && isLong) this.#drop(server, list)
      throw Fault.from(thrown).about(server.name)
    }
  }

  #put(server: Server, list: ListName, walked: Walked): void {
    const slice = this.#slice(server, list)
    const view = this.#views.get(server)
    if (slice === undefined || view === undefined) return
    const { known } = slice
    const readMs = this.#options.clock.nowMs()
    if (known !== undefined && isSame(known.walked.items, walked.items)) {
      slice.known = { ...known, walked, readMs, isRecalled: false }
      return
    }
    const items = view.show(list, walked.items)
    slice.known = { walked, items, readMs, isRecalled: false }
    if (looksSame(known?.items ?? [], items)) return
    this.#isAnother(list, known === undefined)
  }

  /** What clients see of a merged list has become something else. */
  #isAnother(list: ListName, isFirst: boolean): void {
    this.#merged.delete(list)
    this.#versions.set(list, this.version(list) + 1)
    this.#options.onChanged(list, isFirst)
  }

  /** What a server had is not shown any more, until it can be read again. */
  #drop(server: Server, list: ListName): void {
    this.#put(server, list, NOTHING)
    const slice = this.#slice(server, list)
    if (slice !== undefined) slice.isDue = true
  }

  /** How long clients may keep a merged list, and for whom: as long as all of its parts (server/utilities/caching). */
  #hints(list: ListName): CacheHints {
    const nowMs = this.#options.clock.nowMs()
    const contributions: Contribution[] = []
    for (const [server, slices] of this.#slices) {
      if (server.facts !== undefined && !this.#offers(server, list)) continue
      const contribution = contributionOf(slices[list], nowMs)
      if (contribution === undefined) return UNCACHED
      contributions.push(contribution)
    }
    return mergeHints(contributions)
  }

  #slice(server: Server, list: ListName): Slice | undefined {
    return this.#slices.get(server)?.[list]
  }

  #isKnown(list: ListName): boolean {
    return [...this.#slices.values()].some(slices => slices[list].known !== undefined)
  }

  #isFresh(server: Server, list: ListName): boolean {
    const slice = this.#slice(server, list)
    if (slice?.known === undefined || slice.isDue) return false
    if (server.isResting) return true
    if (slice.known.isRecalled) return false
    const capability = server.facts?.capabilities[LISTS[list].capability]
    const willTell = server.hears() && (capability === undefined || capability.listChanged)
    if (willTell && slice.known.walked.isWhole) return true
    return !isStale(slice.known, this.#options.clock.nowMs())
  }

  /** What a server did not announce is not asked for (basic/lifecycle, "Operation"). */
  #offers({ facts }: Server, list: ListName): boolean {
    return facts !== undefined && offers(facts, list)
  }
}

import type { Clock, Timer } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { ListName } from '../model/listing.js'
import type { ServerOptions } from '../peers/options.js'
import type { Server } from '../peers/server.js'
import { freshItems, isSame, type ListState, UNREAD } from './freshness.js'
import { type Merged, mergeParts } from './merge.js'
import { AS_IT_IS, type Showing } from './options.js'
import { cutPage } from './page.js'
import { type Item, ServerView } from './snapshot.js'
import { LIST_NAMES, LISTS, walkList } from './walk.js'

/** How the catalogue behaves. */
export interface CatalogOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly pageSize: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  /** Told after a merged list has become another one. */
  readonly onChanged: (list: ListName) => void
  /** The one server of a proxy that has no other is shown as it is. */
  readonly isAlone: boolean
  readonly showingOf: (server: Server) => Showing
}

/** A server without a live channel for changes is asked again when a client asks and its list is older than this. */
const STALE_MS = 30_000
/** Changes that come in a burst are one change. */
const MERGE_MS = 50
/** How long the last known list of a server that is away stays. */
const AWAY_MS = 5 * 60_000

/**
 * What all servers offer, merged. Each server's lists are read once and kept until it says that they changed or until
 * they are too old; a server that is down, slow or wrong never holds up the others.
 */
export class Catalog {
  readonly views: ReadonlyMap<Server, ServerView>
  readonly #viewsByOptions: ReadonlyMap<ServerOptions, ServerView>
  readonly #options: CatalogOptions
  readonly #states = new Map<Server, Record<ListName, ListState>>()
  readonly #merged = new Map<ListName, Merged>()
  readonly #reading = new Map<string, Promise<void>>()
  readonly #due = new Map<string, Timer>()
  readonly #away = new Map<Server, Timer>()

  constructor(servers: readonly Server[], options: CatalogOptions) {
    this.#options = options
    this.views = new Map(
      servers.map(server => [
        server,
        new ServerView(server, options.isAlone ? AS_IT_IS : options.showingOf(server), options.log),
      ]),
    )
    this.#viewsByOptions = new Map([...this.views].map(([server, view]) => [server.options, view]))
    for (const server of servers) {
      this.#states.set(server, { tools: UNREAD, prompts: UNREAD, resources: UNREAD, templates: UNREAD })
    }
  }

  /** How the server with these options is shown. */
  viewOf(server: ServerOptions): ServerView {
    const view = this.#viewsByOptions.get(server)
    if (view === undefined) throw new Fault('internal', `Server ${server.name} is not in the catalogue`)
    return view
  }

  /** A page of a merged list as a result. Rejects with a Fault for a bad cursor, or if no server could be reached. */
  async page(list: ListName, cursor: string | undefined): Promise<JsonText> {
    const faults = this.#isFresh(list) ? [] : await this.refresh(list, this.#options.listWaitMs)
    const [fault] = faults
    if (fault !== undefined && faults.length === this.#states.size && !this.#isKnown(list)) throw fault
    return cutPage(list, this.merged(list), cursor, this.#options.pageSize)
  }

  /** The merged list as it stands. */
  merged(list: ListName): Merged {
    const kept = this.#merged.get(list)
    if (kept !== undefined) return kept
    const parts = [...this.#states].map(([server, states]) => ({
      index: server.index,
      alias: server.options.alias,
      items: freshItems(states[list]),
    }))
    const merged = mergeParts(list, parts, this.#options.log)
    this.#merged.set(list, merged)
    return merged
  }

  /** The item that clients know by this name or URI. */
  find(list: ListName, exposed: string): Item | undefined {
    return this.merged(list).byExposed.get(exposed)
  }

  /**
   * Reads what is not fresh, from all servers at once, and waits for that at most `waitMs`. Resolves with why servers
   * could not be read, as far as that is known by then; never rejects.
   */
  async refresh(list: ListName, waitMs: number): Promise<Fault[]> {
    const faults: Fault[] = []
    const reads = [...this.#states.keys()]
      .filter(server => !this.#isServerFresh(server, list))
      .map(server =>
        this.read(server, list).catch((thrown: unknown) => {
          faults.push(Fault.from(thrown))
        }),
      )
    if (reads.length > 0) await withLimit(Promise.all(reads), waitMs, this.#options.clock)
    return faults
  }

  /** Reads one server's list anew, once for all who ask at the same time. Rejects with a Fault if that fails. */
  read(server: Server, list: ListName): Promise<void> {
    const key = `${server.index} ${list}`
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      reading = this.#read(server, list).finally(() => this.#reading.delete(key))
      this.#reading.set(key, reading)
    }
    return reading
  }

  /** A server said that a list changed, or came back after an absence: read it soon, once for a burst. */
  changed(server: Server, list: ListName): void {
    const key = `${server.index} ${list}`
    if (this.#due.has(key)) return
    const timer = this.#options.clock.after(MERGE_MS, () => {
      this.#due.delete(key)
      // One that is being read already may have been asked before the change: read again after it.
      const current = this.#reading.get(key) ?? Promise.resolve()
      void current
        .catch(() => undefined)
        .then(() => this.read(server, list))
        .catch((thrown: unknown) =>
          this.#options.log.warn(
            { server: server.name, list, why: Fault.from(thrown).message },
            'could not read a list',
          ),
        )
    })
    this.#due.set(key, timer)
  }

  /** A server can be asked again. */
  cameBack(server: Server): void {
    this.#away.get(server)?.cancel()
    this.#away.delete(server)
    for (const list of LIST_NAMES) {
      if (this.#offers(server, list) && this.#reading.get(`${server.index} ${list}`) === undefined)
        this.changed(server, list)
    }
  }

  /** A server is away: its last known lists stay for a while. */
  wentAway(server: Server): void {
    if (this.#away.has(server)) return
    const timer = this.#options.clock.after(AWAY_MS, () => {
      this.#away.delete(server)
      for (const list of LIST_NAMES) this.#put(server, list, [])
    })
    this.#away.set(server, timer)
  }

  close(): void {
    for (const timer of [...this.#due.values(), ...this.#away.values()]) timer.cancel()
    this.#due.clear()
    this.#away.clear()
  }

  async #read(server: Server, list: ListName): Promise<void> {
    const { clock, log } = this.#options
    const link = await server.anyLink()
    if (!this.#offers(server, list)) {
      this.#put(server, list, [])
      return
    }
    const walked = await walkList(link, list, { clock, pageMs: server.options.timeouts.listMs })
    if (!walked.isWhole)
      log.warn(
        { server: server.name, list, why: walked.why, items: walked.items.length },
        'a list is not whole',
      )
    this.#put(server, list, walked.items)
  }

  #put(server: Server, list: ListName, raw: readonly JsonText[]): void {
    const states = this.#states.get(server)
    const view = this.views.get(server)
    if (states === undefined || view === undefined) return
    const before = states[list]
    const nowMs = this.#options.clock.nowMs()
    if (before.at === 'read' && isSame(before.raw, raw)) {
      states[list] = { ...before, readMs: nowMs }
      return
    }
    states[list] = { at: 'read', raw, items: view.show(list, raw), readMs: nowMs }
    this.#merged.delete(list)
    // A first reading that found nothing changed nothing for anybody.
    if (before.at === 'read' || raw.length > 0) this.#options.onChanged(list)
  }

  #isFresh(list: ListName): boolean {
    for (const server of this.#states.keys()) if (!this.#isServerFresh(server, list)) return false
    return true
  }

  #isKnown(list: ListName): boolean {
    return [...this.#states.values()].some(states => states[list].at === 'read')
  }

  #isServerFresh(server: Server, list: ListName): boolean {
    const state = this.#states.get(server)?.[list] ?? UNREAD
    if (state.at === 'unread') return false
    const capability = server.facts?.capabilities[LISTS[list].capability]
    if (server.hears() && (capability === undefined || capability.listChanged)) return true
    return this.#options.clock.nowMs() - state.readMs < STALE_MS
  }

  /** What a server did not announce is not asked for (basic/lifecycle, "Operation"). */
  #offers(server: Server, list: ListName): boolean {
    return server.facts?.capabilities[LISTS[list].capability] !== undefined
  }
}

const withLimit = async (work: Promise<unknown>, limitMs: number, clock: Clock): Promise<void> => {
  let timer: Timer | undefined
  const limit = new Promise<void>(resolve => {
    timer = clock.after(limitMs, resolve)
  })
  await Promise.race([work, limit])
  timer?.cancel()
}

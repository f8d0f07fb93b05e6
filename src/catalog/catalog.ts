import type { Clock, Timer } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Logger } from '../kernel/logger.js'
import { type CacheHints, type Contribution, mergeHints, UNCACHED } from '../model/cache-hints.js'
import type { Client } from '../model/links.js'
import { LIST_NAMES, type ListName } from '../model/listing.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { joinInstructions } from './capabilities.js'
import { contributionOf } from './lists/freshness.js'
import { digestOf, type Item, type Listed } from './lists/listed.js'
import type { Merged } from './lists/merge.js'
import { cutPage } from './lists/page.js'
import { AWAY_MS, Readings } from './lists/readings.js'
import type { KnownServers } from './lists/remembered.js'
import { offers, Remembered } from './lists/remembered.js'
import { ServerView } from './lists/server-view.js'
import { Sights } from './lists/sights.js'
import { AS_IT_IS, type Showing } from './showing.js'

/** How the catalogue behaves. */
export interface CatalogOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly pageSize: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  /** How long a new client has waited for them before. */
  readonly startupWaitMs: number
  /** Told after some clients see another list; `isFirst` when nothing was known before of that list of a server. */
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
  readonly version: string
  readonly hints: CacheHints
}

/** What another configuration changes in the catalogue. */
export interface CatalogChange extends Pick<CatalogOptions, 'pageSize' | 'startupWaitMs'> {
  /** Whether a server that stays is shown in another way. */
  readonly isReshown: (server: Server) => boolean
  /** From servers that are new to those whose place they take: what these listed is shown until they have answered. */
  readonly successors: ReadonlyMap<Server, Server>
}

const LOOKS_OF_NOTHING = digestOf([])

/**
 * What all servers offer, merged, as each client sees it: what its own connections list. A list is read once on each connection and
 * kept until the server says that it changed or until it is too old; a server that is down, slow or wrong never holds up the others.
 */
export class Catalog {
  #options: CatalogOptions
  #views: ReadonlyMap<Server, ServerView> = new Map()
  /** Also of servers that have left, for the calls that they still answer. */
  readonly #viewsByOptions = new WeakMap<ServerOptions, ServerView>()
  readonly #readings: Readings
  readonly #remembered: Remembered
  readonly #sights: Sights
  readonly #away = new Map<Server, Timer>()

  constructor(servers: readonly Server[], options: CatalogOptions) {
    const { clock, log } = options
    this.#options = options
    this.#remembered = new Remembered(options.known)
    this.#readings = new Readings({
      clock,
      log,
      viewOf: connection => this.#viewOf(connection),
      learnt: (connection, list, listed) =>
        this.#with(connection, view => this.#remembered.learnt(view, connection, list, listed)),
      refused: (connection, list) =>
        this.#with(connection, view => this.#remembered.refused(view, connection, list)),
      changed: (connection, list, before) => this.#wasRead(connection, list, before),
    })
    this.#sights = new Sights({
      views: () => this.#views,
      readings: this.#readings,
      remembered: this.#remembered,
      log,
    })
    this.#take(servers, () => false, new Map())
  }

  // ── servers ──

  /** How each server is shown, in their order; another map when servers, or how they are shown, have changed. */
  get views(): ReadonlyMap<Server, ServerView> {
    return this.#views
  }

  /** How the server with these options is shown. */
  viewOf(server: ServerOptions): ServerView {
    const view = this.#viewsByOptions.get(server)
    if (view === undefined) throw new Fault('internal', `Server ${server.name} is not in the catalogue`)
    return view
  }

  /** Other servers, another order, or other ways to show them. */
  reload(servers: readonly Server[], { isReshown, successors, ...pace }: CatalogChange): void {
    this.#options = { ...this.#options, ...pace }
    this.#sights.reload()
    const left = [...this.#views.keys()].filter(server => !servers.includes(server))
    this.#take(servers, isReshown, successors)
    for (const server of left) {
      this.#cameBack(server)
      for (const connection of server.connections) this.#readings.forget(connection)
    }
    // One that is known is not away: it only has not been called yet.
    for (const [server, view] of this.#views)
      if (successors.has(server) && this.#remembered.ofAny(view)?.facts === undefined) this.#wentAway(server)
    this.#othersSee(LIST_NAMES, false)
  }

  #take(
    servers: readonly Server[],
    isReshown: (server: Server) => boolean,
    successors: ReadonlyMap<Server, Server>,
  ): void {
    const before = this.#views
    this.#views = new Map(
      servers.map(server => {
        const known = before.get(server)
        return [server, known !== undefined && !isReshown(server) ? known : this.#newView(server, known)]
      }),
    )
    for (const [server, predecessor] of successors) {
      const [view, from] = [this.#views.get(server), before.get(predecessor)]
      if (view !== undefined && from !== undefined) this.#remembered.inherit(view, from)
    }
  }

  #newView(server: Server, earlier: ServerView | undefined): ServerView {
    const { isAlone, showingOf, log } = this.#options
    const view = new ServerView(server, isAlone ? AS_IT_IS : showingOf(server), log, earlier)
    this.#viewsByOptions.set(server.options, view)
    if (earlier !== undefined) {
      this.#remembered.inherit(view, earlier)
      this.#readings.showAnew(server.connections, view)
    }
    return view
  }

  // ── what clients see ──

  /**
   * A page of a merged list; servers that are starting are waited for as for any list, or for `waitMs` if that is longer.
   * Rejects with a Fault for a bad cursor, or if no server could be reached.
   */
  async page(client: Client, list: ListName, cursor: string | undefined, waitMs = 0): Promise<Page> {
    const faults = await this.#refresh(client, list, server => !this.#isFresh(server, client, list), waitMs)
    const [fault] = faults
    const isKnown = (server: Server): boolean => this.#sights.listed(server, client, list) !== undefined
    if (fault !== undefined && faults.length === this.#views.size && ![...this.#views.keys()].some(isKnown))
      throw fault
    const { merged, version } = this.#sights.lineup(client, list)
    const result = cutPage(list, merged, cursor, this.#options.pageSize)
    return { result, version, hints: this.#hints(client, list) }
  }

  /** The same for lists that look the same. */
  version(client: Client, list: ListName): string {
    return this.#sights.lineup(client, list).version
  }

  /** The merged list as it stands for a client. */
  merged(client: Client, list: ListName): Merged {
    return this.#sights.lineup(client, list).merged
  }

  /** The item that a client knows by this name. */
  find(client: Client, list: 'tools' | 'prompts', exposed: string): Item | undefined {
    return this.merged(client, list).byExposed.get(exposed)
  }

  /** What a server says of itself to a client; undefined if it is not known. */
  facts(server: Server, client: Client) {
    return this.#sights.facts(server, client)
  }

  /** What a client can be told that all servers can do together. */
  offer(client: Client) {
    return this.#sights.offer(client)
  }

  /** Whether anything is remembered of a server that a client has not reached. */
  isRemembered(server: Server, client: Client): boolean {
    return this.#sights.memory(server, client) !== undefined
  }

  /** What the server that is served as it is says of itself to a client, if one is and it is known. */
  own(client: Client) {
    const [server] = this.#views.keys()
    return this.#options.isAlone && server !== undefined ? this.facts(server, client) : undefined
  }

  /** What servers say about their use to a client. */
  instructions(client: Client): string | undefined {
    if (this.#options.isAlone) return this.own(client)?.instructions
    const said = [...this.#views.keys()].map(
      server => [server.options.alias, this.#sights.facts(server, client)] as const,
    )
    return joinInstructions(said)
  }

  /** Whether all that is known of a server, which runs elsewhere and may have changed, comes from an earlier process. */
  isOnlyRecalled(server: Server, client: Client): boolean {
    const isMet = server.connectionOf(client)?.facts !== undefined
    return !server.options.isProcess && !isMet && this.#sights.memory(server, client)?.isRecalled === true
  }

  /** Waits until a client knows a list of every server, as far as that can be had in time. Never rejects. */
  async readOnce(client: Client, list: ListName): Promise<void> {
    await this.#refresh(client, list, server => this.#sights.listed(server, client, list) === undefined)
  }

  /** Reads a list of the server that a client uses anew. Rejects with a Fault. */
  async read(server: Server, client: Client, list: ListName): Promise<void> {
    await this.#readings.read(server.connectionFor(client), list)
  }

  /** The tool that a client knows by this name did not return what its `outputSchema` promises: it is shown without from now on. */
  breaksOutput(client: Client, exposed: string): void {
    const item = this.find(client, 'tools', exposed)
    const view = item && this.#views.get(item.server)
    if (item === undefined || view?.breaksOutput(item.own) !== true) return
    this.#views = new Map(
      [...this.#views].map(([server, one]) => [server, one === view ? this.#newView(server, view) : one]),
    )
    this.#othersSee(['tools'], false)
  }

  // ── what servers list ──

  /** What is known of a server's lists, by the best of its connections that has any. */
  listedBy(server: Server, connections: Iterable<Connection>): (list: ListName) => Listed | undefined {
    const view = this.#views.get(server)
    const memory = view && this.#remembered.ofAny(view)
    return list => {
      for (const connection of connections) {
        const known = this.#readings.of(connection, list)?.known
        if (known !== undefined) return known.listed
      }
      return memory?.lists[list]
    }
  }

  /** What a server said of itself last, to whomever. */
  saidBy(server: Server) {
    const view = this.#views.get(server)
    return view && this.#remembered.ofAny(view)?.facts
  }

  /** The lists of a server of which something is left out because there is too much. */
  truncated(server: Server): readonly ListName[] {
    const isCut = (list: ListName): boolean =>
      [...server.connections].some(one => this.#readings.of(one, list)?.known?.cutAt !== undefined)
    return LIST_NAMES.filter(isCut)
  }

  /** A server said on a connection that a list changed. */
  changed(connection: Connection, list: ListName): void {
    if (this.#viewOf(connection) !== undefined) this.#readings.changed(connection, list)
  }

  /** A server can be asked on a connection, for the first time or again. */
  ready(connection: Connection): void {
    this.#with(connection, view => {
      this.#cameBack(view.server)
      this.#remembered.met(view, connection)
      this.#sights.reset()
      const memory = this.#remembered.on(view, connection)
      this.#readings.ready(connection, list => memory?.lists[list] !== undefined)
    })
  }

  /** A connection was lost, or could not be opened: if it was the only one, the last known lists stay for a while. */
  lost(connection: Connection): void {
    this.#with(connection, ({ server }) => {
      if (!isThere(server)) this.#wentAway(server)
    })
  }

  /** A connection is closed for good: whoever used it sees what the next one is taken to list. */
  ended(connection: Connection): void {
    this.#with(connection, view => {
      const next = this.#remembered.on(view, connection)?.lists
      const isOther = (list: ListName): boolean => {
        const known = this.#readings.of(connection, list)?.known
        return known !== undefined && known.listed.looks !== (next?.[list]?.looks ?? LOOKS_OF_NOTHING)
      }
      this.#othersSee(LIST_NAMES.filter(isOther), false)
    })
    this.#readings.forget(connection)
  }

  /** A client uses other connections than before. */
  moved(client: Client): void {
    this.#sights.forget(client)
  }

  close(): void {
    for (const timer of this.#away.values()) timer.cancel()
    this.#away.clear()
    this.#readings.close()
  }

  /** Reads a list from some servers at once; resolves with why they could not be read, as far as known in time. */
  async #refresh(
    client: Client,
    list: ListName,
    isWanted: (server: Server) => boolean,
    waitMs = 0,
  ): Promise<Fault[]> {
    const faults: Fault[] = []
    const { listWaitMs, startupWaitMs, clock } = this.#options
    const reads = [...this.#views.keys()].filter(isWanted).map(server => ({
      // One that hangs has had its chance: it would hold up every list of every client.
      // One that was remembered is as good as any, until it is known better.
      isWorthWaiting:
        server.unansweredMs(client) <= startupWaitMs + listWaitMs && !this.#isRecalled(server, client, list),
      read: this.read(server, client, list).catch((thrown: unknown) => {
        faults.push(Fault.from(thrown))
      }),
    }))
    const waits = reads.filter(({ isWorthWaiting }) => isWorthWaiting).map(({ read }) => read)
    if (waits.length > 0) await within(Promise.all(waits), { clock, ms: Math.max(listWaitMs, waitMs) })
    return faults
  }

  #isFresh(server: Server, client: Client, list: ListName): boolean {
    const connection = server.connectionOf(client)
    if (connection !== undefined && this.#readings.isFresh(connection, list)) return true
    if (!server.isResting(client, connection)) return false
    const slice = connection && this.#readings.of(connection, list)
    if (slice?.isDue) return false
    const memory = this.#sights.memory(server, client)
    const isRemembered = memory?.lists[list] !== undefined || memory?.refused.has(list)
    return slice?.known !== undefined || (memory?.isDue === false && isRemembered === true)
  }

  #isRecalled(server: Server, client: Client, list: ListName): boolean {
    const connection = server.connectionOf(client)
    if (connection !== undefined && this.#readings.of(connection, list)?.known !== undefined) return false
    const memory = this.#sights.memory(server, client)
    return memory?.isRecalled === true && memory.lists[list] !== undefined
  }

  #wasRead(connection: Connection, list: ListName, before: Listed | undefined): void {
    this.#with(connection, view => {
      const shown = before ?? this.#remembered.on(view, connection)?.lists[list]
      const now = this.#readings.of(connection, list)?.known?.listed
      if ((shown?.looks ?? LOOKS_OF_NOTHING) === now?.looks) return
      this.#othersSee([list], shown === undefined)
    })
  }

  /** Some clients see something else in these lists. */
  #othersSee(lists: readonly ListName[], isFirst: boolean): void {
    this.#sights.reset()
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
      const view = this.#views.get(server)
      if (view === undefined) return
      this.#remembered.forget(view)
      for (const connection of server.connections) this.#readings.drop(connection)
      this.#othersSee(LIST_NAMES, false)
    })
    this.#away.set(server, timer)
  }

  /** How long clients may keep a merged list, and for whom: as long as all of its parts (server/utilities/caching). */
  #hints(client: Client, list: ListName): CacheHints {
    const nowMs = this.#options.clock.nowMs()
    const contributions: Contribution[] = []
    for (const server of this.#views.keys()) {
      const facts = this.#sights.facts(server, client)
      if (facts !== undefined && !offers(facts, list)) continue
      const connection = server.connectionOf(client)
      const contribution = contributionOf(connection && this.#readings.of(connection, list), nowMs)
      if (contribution === undefined) return UNCACHED
      contributions.push(contribution)
    }
    return mergeHints(contributions)
  }

  #viewOf({ server }: Connection): ServerView | undefined {
    const view = this.#viewsByOptions.get(server)
    return view && this.#views.get(view.server)
  }

  #with(connection: Connection, act: (view: ServerView) => void): void {
    const view = this.#viewOf(connection)
    if (view !== undefined) act(view)
  }
}

/** Whether a server can be asked over any connection. */
const isThere = ({ connections }: Server): boolean => [...connections].some(({ link }) => link !== undefined)

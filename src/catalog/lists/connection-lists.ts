import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import type { Connection } from '../../peers/connection.js'
import { type DeclaredSet, NOTHING_DECLARED } from '../../peers/declared-sets.js'
import type { ServerOptions } from '../../peers/dial.js'
import { isForOne, type OwnPeerRequest } from '../../peers/own-requests.js'
import type { Listed } from '../listed.js'
import { type ReadList, readList } from './list-reader.js'
import { type ListState, type ListStates, newListStates, type Reading } from './list-state.js'
import { offers } from './profile-cache.js'
import type { ServerView } from './server-view.js'

export interface ConnectionListsContext {
  readonly clock: Clock
  readonly log: Logger
  /** Returns the view of a connection's server; undefined once the server has left. */
  readonly viewOf: (connection: Connection) => ServerView | undefined
  /** Called after reading a list that a new connection would receive as well. */
  readonly onRead: (view: ServerView, state: ListState, listed: Listed) => void
  readonly onRefused: (view: ServerView, state: ListState) => void
  /** Called after a list was replaced; `before` is its last known content. */
  readonly onChanged: (state: ListState, before: Listed | undefined) => void
}

/** Changes within this time count as one. */
const MERGE_MS = 50
/**
 * Delay for reading a list that no client requested, so that servers' requests during calls are not refused.
 */
const CALLS_FIRST_MS = 1000
/** Minimum time between readings of a list that keeps changing. */
const APART_MS = 1000
const RESTLESS =
  'the server keeps changing a list; it is read, and clients are notified, at most once a second'
/** Time for which the last lists of an unreachable server or a failing connection stay visible. */
export const AWAY_MS = 5 * 60_000
/** Age after which a requested list is read again, if its server does not announce changes. */
const STALE_MS = 30_000
/**
 * Maximum number of different lists that a server's connections may keep, each up to the limit for one list.
 */
const LISTS_KEPT = 16
const EMPTY: ReadList = { items: [], isWhole: true }

/**
 * Keeps the lists of each connection. Reads them when it opens, on announced changes, and when they are
 * outdated.
 */
export class ConnectionLists {
  readonly #context: ConnectionListsContext
  /** By connection and by what the clients declared, since lists may depend on that (`DeclaredSet`). */
  readonly #byConnection = new Map<Connection, Map<string, ListStates>>()
  /** Bytes kept per server, and the number of connections that share each list. */
  readonly #bytes = new WeakMap<ServerOptions, number>()
  readonly #holders = new WeakMap<Listed, number>()

  constructor(context: ConnectionListsContext) {
    this.#context = context
  }

  /** Returns the list of a connection for a client; undefined if it was never read. */
  of(connection: Connection, list: ListName, client: Client): ListState | undefined {
    return this.#find(connection, connection.shares.declaredBy(client))?.[list]
  }

  /** Returns the states of a list of a connection, one for each different declaration of clients. */
  all(connection: Connection, list: ListName): readonly ListState[] {
    return this.#statesOf(connection).map(states => states[list])
  }

  /** Reads a list again, once for all concurrent requests. Rejects with a Fault on failure. */
  read(connection: Connection, list: ListName, client: Client): Promise<void> {
    const state = this.#state(connection, list, connection.shares.declaredBy(client))
    if (state.reading === undefined) return this.#begin(state, [client])
    state.reading.own.join(client)
    return state.reading.done
  }

  #begin(state: ListState, clients: Iterable<Client>): Promise<void> {
    const own = state.connection.ownRequests.on(clients)
    const done = this.#read(state, own).finally(() => {
      state.reading = undefined
    })
    state.reading = { done, own }
    return done
  }

  /** Handles an announced change: reads the list soon, and at most once a second while changes continue. */
  changed(connection: Connection, list: ListName): void {
    const { facts } = connection
    // One notification may be about several lists.
    if (facts !== undefined && !offers(facts, list)) return
    for (const state of this.#usedStates(connection, list)) this.#changed(state)
  }

  #changed(state: ListState): void {
    const { clock, log } = this.#context
    const { connection, list } = state
    const restMs = state.debouncedMs + APART_MS - clock.nowMs()
    if (state.debounce === undefined) {
      state.debouncedMs = clock.nowMs() + Math.max(0, restMs)
      if (restMs > 0) log.warn({ server: connection.server.name, list }, RESTLESS)
    }
    this.#readSoon(state, restMs)
  }

  /** Handles a connection that opened or reopened: reads the lists that it offers or that clients see. */
  ready(connection: Connection, isShown: (list: ListName) => boolean): void {
    const { facts } = connection
    for (const list of LIST_NAMES) {
      const states = this.#usedStates(connection, list)
      // A list that is no longer offered is read too, which empties it.
      const isKnown = states.some(({ known }) => known !== undefined)
      const isWanted = (facts && offers(facts, list)) || isKnown || isShown(list)
      for (const state of isWanted ? states : []) if (state.reading === undefined) this.#readSoon(state)
    }
  }

  /** Returns whether a list can be shown without reading it again. */
  isFresh(connection: Connection, list: ListName, client: Client): boolean {
    const { known, isDue = true } = this.of(connection, list, client) ?? {}
    if (known === undefined || isDue) return false
    const { link, facts } = connection
    const reports =
      facts === undefined ||
      !offers(facts, list) ||
      facts.capabilities[LISTS[list].changesOf]?.listChanged === true
    const isAnnounced = link?.receivesUnsolicited === true && reports
    return (isAnnounced && known.isWhole) || !isStale(list, known, this.#context.clock.nowMs())
  }

  /** Empties the lists of a connection that has been away for too long. */
  drop(connection: Connection): void {
    for (const state of this.#known(connection)) this.#drop(state)
  }

  showAnew(view: ServerView): void {
    for (const connection of view.server.connections) {
      for (const state of this.#known(connection)) {
        const { known } = state
        if (known === undefined) continue
        const listed = view.show(state.list, known.listed.raw, connection.facts)
        listed.locked?.wasRead(known.isWhole)
        this.#keep(state, { ...known, listed })
      }
    }
  }

  forget(connection: Connection): void {
    for (const states of this.#statesOf(connection)) this.#forget(states)
    this.#byConnection.delete(connection)
  }

  close(): void {
    for (const connection of [...this.#byConnection.keys()]) this.forget(connection)
  }

  #forget(states: ListStates): void {
    for (const state of Object.values(states)) {
      state.debounce?.cancel()
      this.#keep(state, undefined)
    }
  }

  #state(connection: Connection, list: ListName, declared: DeclaredSet): ListState {
    let states = this.#find(connection, declared)
    if (states === undefined) {
      states = newListStates(connection, declared)
      const all = this.#byConnection.get(connection) ?? new Map<string, ListStates>()
      this.#byConnection.set(connection, all.set(declared.key, states))
    }
    return states[list]
  }

  /** A server with sessions knows one declaration, the connection's own, so that all states are one. */
  #find(connection: Connection, { key }: DeclaredSet): ListStates | undefined {
    const all = this.#byConnection.get(connection)
    const isOne = connection.facts !== undefined && connection.serverRequests === 'pushed'
    return isOne ? all?.values().next().value : all?.get(key)
  }

  #statesOf(connection: Connection): readonly ListStates[] {
    return [...(this.#byConnection.get(connection)?.values() ?? [])]
  }

  /** Returns the states of a list that clients use now, and forgets those of clients that are gone. */
  #usedStates(connection: Connection, list: ListName): readonly ListState[] {
    if (!connection.shares.isSplit) return [this.#state(connection, list, NOTHING_DECLARED)]
    const used = new Map(
      [...connection.clients].map(client => connection.shares.declaredBy(client)).map(one => [one.key, one]),
    )
    if (used.size === 0) {
      const kept = this.all(connection, list)
      return kept.length > 0 ? kept : [this.#state(connection, list, NOTHING_DECLARED)]
    }
    const states = new Set([...used.values()].map(declared => this.#state(connection, list, declared)))
    const all = this.#byConnection.get(connection)
    for (const [key, one] of all ?? []) {
      if (states.has(one[list])) continue
      this.#forget(one)
      all?.delete(key)
    }
    return [...states]
  }

  #known(connection: Connection): readonly ListState[] {
    return this.#statesOf(connection)
      .flatMap(states => Object.values(states))
      .filter(state => state.known !== undefined)
  }

  #readSoon(state: ListState, leastMs = 0): void {
    state.isDue = true
    const { clock } = this.#context
    state.debounce ??= clock.after(Math.max(MERGE_MS, leastMs), () =>
      this.#readAfterCalls(state, clock.nowMs() + CALLS_FIRST_MS),
    )
  }

  /** Reads a list after the calls in flight: a server's request during the reading would be refused. */
  #readAfterCalls(state: ListState, lastMs: number): void {
    const { clock } = this.#context
    const { connection, isDue } = state
    if (isDue && clock.nowMs() < lastMs && hasOthersCalls(connection)) {
      state.debounce = clock.after(MERGE_MS, () => this.#readAfterCalls(state, lastMs))
      return
    }
    state.debounce = undefined
    void this.#readIfDue(state)
  }

  /** Reads again if the list changed after the last reading began. */
  async #readIfDue(state: ListState): Promise<void> {
    const { connection, list } = state
    try {
      await state.reading?.done.catch(() => undefined)
      if (state.isDue && this.#isCurrent(state))
        await (state.reading?.done ?? this.#begin(state, connection.clients))
    } catch (thrown) {
      if (this.#context.viewOf(connection) === undefined) return
      const why = Fault.from(thrown).message
      this.#context.log.warn({ server: connection.server.name, list, why }, 'cannot read a list')
    }
  }

  async #read(state: ListState, own: OwnPeerRequest): Promise<void> {
    const { connection, list } = state
    const { clock } = this.#context
    const { server, bounds } = connection
    state.isDue = false
    let isOpen = false
    try {
      const link = await connection.open()
      isOpen = true
      // The next change may be announced before this reading returns.
      state.isDue = false
      const capabilities = state.declared.own
      const limit = { clock, timeoutMs: server.timeouts.listMs, own, capabilities }
      const found = offers(link.facts, list)
        ? await readList(connection.meter.traces?.over(link) ?? link, list, limit, bounds)
        : EMPTY
      this.#wasRead(state, found)
    } catch (thrown) {
      state.isDue = true
      state.failingSinceMs ??= clock.nowMs()
      const isLong = clock.nowMs() - state.failingSinceMs >= AWAY_MS
      if (state.known !== undefined && isLong) this.#drop(state)
      if (isOpen) this.#unread(state, Fault.from(thrown))
      throw Fault.from(thrown).about(server.name)
    }
  }

  #isCurrent(state: ListState): boolean {
    return this.all(state.connection, state.list).includes(state)
  }

  #unread(state: ListState, why: Fault): void {
    const { connection, list } = state
    state.unreadWhy = why
    this.#context.viewOf(connection)?.unread(list)
  }

  /** Throws a Fault if the server refused the list, or if it exceeds the number of lists kept. */
  #wasRead(state: ListState, { items, error, ...found }: ReadList): void {
    const { connection, list, known: before } = state
    const { clock, log, viewOf, onRead, onRefused } = this.#context
    const view = viewOf(connection)
    // The connection may have closed during the reading.
    if (view === undefined || !this.#isCurrent(state)) return
    if (error !== undefined) {
      onRefused(view, state)
      throw error
    }
    const { isWhole, reason: why, cutAt, isBroken = false } = found
    if (cutAt !== undefined) connection.bounds.hit(cutAt, { list })
    if (!isWhole)
      log.warn({ server: connection.server.name, list, why, items: items.length }, 'a list is incomplete')
    const listed = view.show(list, items, connection.facts, before?.listed)
    this.#checkRoom(connection, listed)
    state.failingSinceMs = undefined
    state.unreadWhy = undefined
    listed.locked?.wasRead(isWhole)
    this.#put(state, { ...found, listed, readMs: clock.nowMs(), link: connection.link })
    if (!isBroken && isTypical(connection, before)) onRead(view, state, listed)
  }

  /** Shows an empty list until it can be read again. */
  #drop(state: ListState): void {
    const view = this.#context.viewOf(state.connection)
    if (view === undefined) return
    const readMs = this.#context.clock.nowMs()
    this.#put(state, { listed: view.show(state.list, []), isWhole: true, readMs, link: undefined })
    state.isDue = true
  }

  #put(state: ListState, now: Reading): void {
    const before = state.known?.listed
    this.#keep(state, now)
    this.#context.onChanged(state, before)
  }

  /** Counts the bytes kept; connections with equal lists share them. */
  #keep(state: ListState, now: Reading | undefined): void {
    const { server } = state.connection
    const count = (listed: Listed | undefined, by: 1 | -1): void => {
      if (listed === undefined) return
      const holders = (this.#holders.get(listed) ?? 0) + by
      this.#holders.set(listed, holders)
      if (holders !== (by === 1 ? 1 : 0)) return
      this.#bytes.set(server, (this.#bytes.get(server) ?? 0) + by * listed.bytes)
      if (holders === 0) listed.locked?.released()
    }
    count(now?.listed, 1)
    count(state.known?.listed, -1)
    state.known = now
  }

  /** Throws a Fault for one list too many, when every connection has a different list. */
  #checkRoom({ server, bounds }: Connection, listed: Listed): void {
    const isKept = (this.#holders.get(listed) ?? 0) > 0
    const max = bounds.max.listBytes * LISTS_KEPT
    if (isKept || (this.#bytes.get(server) ?? 0) + listed.bytes <= max) return
    throw bounds.overloaded('listBytes', `its connections list ${max} bytes of different lists`)
  }
}

/** Returns whether other clients have calls in flight on a shared connection. */
const hasOthersCalls = ({ inFlight, link, onlyClient, clients }: Connection): boolean =>
  inFlight > 0 && link?.serverRequests === 'pushed' && onlyClient === undefined && !isForOne(clients)

/** Only skills are kept for as long as their server says (SEP-2640): other lists may change earlier. */
const isStale = (list: ListName, { hints, readMs }: Reading, nowMs: number): boolean => {
  const { ttlMs = STALE_MS } = hints ?? {}
  return nowMs - readMs >= (list === 'skills' ? ttlMs : Math.min(STALE_MS, ttlMs))
}

/**
 * Returns whether other connections would receive the same list. Changes by a session's own calls are private
 * to it.
 */
const isTypical = (connection: Connection, before: Reading | undefined): boolean =>
  connection.server.sharing !== 'session' ||
  connection.serverRequests === 'returned' ||
  !connection.hasCarried ||
  before === undefined ||
  before.readMs < connection.sinceMs

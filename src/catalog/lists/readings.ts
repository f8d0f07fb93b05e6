import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import type { Connection } from '../../peers/connection.js'
import type { ServerOptions } from '../../peers/dial.js'
import { createSlice, isStale, type Reading, type Slice } from './freshness.js'
import { type ReadList, readList } from './list-reader.js'
import { isSame, type Listed } from './listed.js'
import { offers } from './remembered.js'
import type { ServerView } from './server-view.js'

/** What reading lists needs. */
export interface ReadingsContext {
  readonly clock: Clock
  readonly log: Logger
  /** How the server of a connection is shown; undefined if it is not any more. */
  readonly viewOf: (connection: Connection) => ServerView | undefined
  /** A list was read, and is what a new connection would list as well. */
  readonly learnt: (connection: Connection, list: ListName, listed: Listed) => void
  /** The server answers with an error when it is asked for a list. */
  readonly refused: (connection: Connection, list: ListName) => void
  /** A list was read; `before` is what was last known of it on the connection. */
  readonly changed: (connection: Connection, list: ListName, before: Listed | undefined) => void
}

/** The lists of one connection. */
type Slices = Readonly<Record<ListName, Slice>>

/** Changes that come in a burst are one change. */
const MERGE_MS = 50
/** A server that changes a list again and again has it read so often. */
const APART_MS = 1000
const RESTLESS = 'the server changes a list again and again; it is read, and clients are told, once a second'
/** How long the last known lists stay of a server that is away, or of a connection that cannot read them any more. */
export const AWAY_MS = 5 * 60_000
/** What the connections of one server may list that is not the same, in lists as long as one may be. */
const LISTS_KEPT = 16
/** A list of a server that has none. */
const NOTHING: ReadList = { items: [], isWhole: true }

/**
 * What each connection lists: read when it opens and when somebody asks for what is not fresh, kept until its server says that it
 * changed or until it is too old.
 */
export class Readings {
  readonly #context: ReadingsContext
  readonly #byConnection = new Map<Connection, Slices>()
  /** What is kept of the lists of each server, and on how many connections each of them is listed. */
  readonly #bytes = new WeakMap<ServerOptions, number>()
  readonly #holders = new WeakMap<Listed, number>()

  constructor(context: ReadingsContext) {
    this.#context = context
  }

  /** A list as a connection has it; undefined if nothing was ever read there. */
  of(connection: Connection, list: ListName): Slice | undefined {
    return this.#byConnection.get(connection)?.[list]
  }

  /** Reads one list anew, once for all who ask at the same time. Rejects with a Fault if that fails. */
  read(connection: Connection, list: ListName): Promise<void> {
    const slice = this.#slices(connection)[list]
    slice.reading ??= this.#read(connection, list, slice).finally(() => {
      slice.reading = undefined
    })
    return slice.reading
  }

  /** The server said that a list changed: read it soon, once for a burst, and once a second while bursts go on. */
  changed(connection: Connection, list: ListName): void {
    const { clock, log } = this.#context
    const slice = this.#slices(connection)[list]
    const restMs = slice.burstMs + APART_MS - clock.nowMs()
    if (slice.burst === undefined) {
      slice.burstMs = clock.nowMs() + Math.max(0, restMs)
      if (restMs > 0) log.warn({ server: connection.server.name, list }, RESTLESS)
    }
    this.#readSoon(connection, list, restMs)
  }

  /** The server can be asked, for the first time or again: what it offers is read, and what it is taken to list. */
  ready(connection: Connection, isShown: (list: ListName) => boolean): void {
    const { facts } = connection
    for (const list of LIST_NAMES) {
      const slice = this.of(connection, list)
      // A list that it offers no longer is read too, which takes it away.
      const isWanted = (facts && offers(facts, list)) || slice?.known !== undefined || isShown(list)
      if (isWanted && slice?.reading === undefined) this.#readSoon(connection, list)
    }
  }

  /** Whether a list need not be read to be shown: nobody could say that it is another one, or somebody would have. */
  isFresh(connection: Connection, list: ListName): boolean {
    const { known, isDue = true } = this.of(connection, list) ?? {}
    if (known === undefined || isDue) return false
    const { link, facts } = connection
    const capability = facts?.capabilities[LISTS[list].capability]
    const willTell = link?.hearsAmbient === true && (capability === undefined || capability.listChanged)
    return (willTell && known.isWhole) || !isStale(known, this.#context.clock.nowMs())
  }

  /** The connection has been away for too long to be taken to list anything. */
  drop(connection: Connection): void {
    for (const list of LIST_NAMES) {
      const slice = this.of(connection, list)
      if (slice?.known !== undefined) this.#drop(connection, list, slice)
    }
  }

  /** The server of these connections is shown in another way. */
  showAnew(connections: Iterable<Connection>, view: ServerView): void {
    for (const connection of connections) {
      for (const list of LIST_NAMES) {
        const slice = this.of(connection, list)
        if (slice?.known === undefined) continue
        this.#keep(connection, slice, { ...slice.known, listed: view.show(list, slice.known.listed.raw) })
      }
    }
  }

  /** The connection is over. */
  forget(connection: Connection): void {
    for (const slice of Object.values(this.#byConnection.get(connection) ?? {})) {
      slice.burst?.cancel()
      this.#keep(connection, slice, undefined)
    }
    this.#byConnection.delete(connection)
  }

  close(): void {
    for (const connection of [...this.#byConnection.keys()]) this.forget(connection)
  }

  #slices(connection: Connection): Slices {
    let slices = this.#byConnection.get(connection)
    if (slices === undefined) {
      slices = {
        tools: createSlice(),
        prompts: createSlice(),
        resources: createSlice(),
        templates: createSlice(),
      }
      this.#byConnection.set(connection, slices)
    }
    return slices
  }

  /** Whether a list is still that of a connection, which may have been closed while it was read: then nobody would take it back. */
  #isKept(connection: Connection, list: ListName, slice: Slice): boolean {
    return this.of(connection, list) === slice
  }

  #readSoon(connection: Connection, list: ListName, leastMs = 0): void {
    const slice = this.#slices(connection)[list]
    slice.isDue = true
    slice.burst ??= this.#context.clock.after(Math.max(MERGE_MS, leastMs), () => {
      slice.burst = undefined
      void this.#readIfDue(connection, list, slice)
    })
  }

  /** A reading under way may have been asked before the change: then it is followed by another one. */
  async #readIfDue(connection: Connection, list: ListName, slice: Slice): Promise<void> {
    const { log, viewOf } = this.#context
    try {
      await slice.reading?.catch(() => undefined)
      if (slice.isDue && this.#isKept(connection, list, slice)) await this.read(connection, list)
    } catch (thrown) {
      if (viewOf(connection) === undefined) return
      log.warn(
        { server: connection.server.name, list, why: Fault.from(thrown).message },
        'could not read a list',
      )
    }
  }

  async #read(connection: Connection, list: ListName, slice: Slice): Promise<void> {
    const { clock } = this.#context
    const { server } = connection
    slice.isDue = false
    try {
      const link = await connection.open()
      // From here on a change may come before the list that holds it.
      slice.isDue = false
      const limit = { clock, timeoutMs: server.timeouts.listMs }
      const isOffered = offers(link.facts, list)
      const found = isOffered ? await readList(link, list, limit, connection.bounds) : NOTHING
      this.#wasRead(connection, list, slice, found)
    } catch (thrown) {
      slice.isDue = true
      slice.failingSinceMs ??= clock.nowMs()
      const isLong = clock.nowMs() - slice.failingSinceMs >= AWAY_MS
      if (slice.known !== undefined && isLong) this.#drop(connection, list, slice)
      throw Fault.from(thrown).about(server.name)
    }
  }

  /** Throws the Fault of a list that the server refuses. */
  #wasRead(connection: Connection, list: ListName, slice: Slice, { items, error, ...found }: ReadList): void {
    const { clock, log, viewOf, learnt, refused } = this.#context
    const view = viewOf(connection)
    if (view === undefined || !this.#isKept(connection, list, slice)) return
    if (error !== undefined) {
      refused(connection, list)
      throw error
    }
    const { server, bounds } = connection
    const { isWhole, reason, cutAt, isBroken = false } = found
    if (cutAt !== undefined) bounds.hit(cutAt, { list })
    if (!isWhole)
      log.warn({ server: server.name, list, why: reason, items: items.length }, 'a list is not whole')
    const before = slice.known
    const listed =
      before !== undefined && isSame(before.listed.raw, items) ? before.listed : view.show(list, items)
    this.#checkRoom(connection, listed)
    const isTypical = !isBroken && isOfAll(connection, before)
    slice.failingSinceMs = undefined
    this.#put(connection, list, slice, { ...found, listed, readMs: clock.nowMs() })
    if (isTypical) learnt(connection, list, listed)
  }

  /** What a connection had is not shown any more, until it can be read again. */
  #drop(connection: Connection, list: ListName, slice: Slice): void {
    const view = this.#context.viewOf(connection)
    if (view === undefined) return
    const readMs = this.#context.clock.nowMs()
    this.#put(connection, list, slice, { listed: view.show(list, []), isWhole: true, readMs })
    slice.isDue = true
  }

  #put(connection: Connection, list: ListName, slice: Slice, now: Reading): void {
    const before = slice.known?.listed
    this.#keep(connection, slice, now)
    this.#context.changed(connection, list, before)
  }

  /** Connections that list the same keep it once. */
  #keep({ server }: Connection, slice: Slice, now: Reading | undefined): void {
    const change = (listed: Listed | undefined, by: 1 | -1): void => {
      if (listed === undefined) return
      const holders = (this.#holders.get(listed) ?? 0) + by
      this.#holders.set(listed, holders)
      const isOther = holders === (by === 1 ? 1 : 0)
      if (isOther) this.#bytes.set(server, (this.#bytes.get(server) ?? 0) + by * listed.bytes)
    }
    change(now?.listed, 1)
    change(slice.known?.listed, -1)
    slice.known = now
  }

  /** Throws a Fault for a list that is one too many, where each connection has another one. */
  #checkRoom({ server, bounds }: Connection, listed: Listed): void {
    const isKept = (this.#holders.get(listed) ?? 0) > 0
    const max = bounds.max.listBytes * LISTS_KEPT
    if (isKept || (this.#bytes.get(server) ?? 0) + listed.bytes <= max) return
    throw bounds.overloaded('listBytes', `its connections list ${max} bytes of different things already`)
  }
}

/**
 * Whether what is listed now is what another connection would list. What a session caused by its calls is its own; of others it is the
 * state of what they share.
 */
const isOfAll = (connection: Connection, before: Reading | undefined): boolean =>
  connection.server.sharing !== 'session' ||
  connection.serverRequests === 'returned' ||
  !connection.hasCarried ||
  before === undefined ||
  before.readMs < connection.sinceMs

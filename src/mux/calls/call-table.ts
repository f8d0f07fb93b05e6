import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Client, DownstreamCall, ServerRequest } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { Evidence } from '../server-requests/origin.js'
import { type DepartedCall, DepartedCalls } from './departed-calls.js'
import { InFlightCall } from './in-flight-call.js'
import { PartyList } from './party-list.js'

/** The precision of timeouts: one timer checks all calls. */
const TICK_MS = 250
const NONE: Iterable<InFlightCall> & { readonly size: number } = new PartyList<InFlightCall>()

/**
 * Ticks this far apart show that the process was stalled. Answers may be waiting, so nothing times out yet.
 */
const STALL_MS = 4 * TICK_MS

/** The calls of one connection that a message of its server could belong to. */
class ConnectionCalls {
  /** Calls that were sent and have not ended, including parked ones. */
  readonly calls = new PartyList<InFlightCall>()
  readonly departed = new DepartedCalls()
  /** Calls that became tasks, by task id. */
  readonly byTask = new Map<string, InFlightCall>()
  /** Number of calls by clients that get server requests in results. */
  returned = 0
  /** Number of calls ever sent. */
  sent = 0

  get isEmpty(): boolean {
    return this.calls.size === 0 && this.departed.size === 0
  }

  /**
   * Returns the party of all calls, including departed ones; undefined if there are none. 2026-07-28 clients
   * with identical descriptions count as one person if one calls after the other's call was cancelled: nearly
   * always, a user has cancelled a call and made another.
   */
  party(nowMs: number): number | 'several' | undefined {
    const departed = this.departed.party(nowMs)
    const inFlight = this.calls.party ?? departed
    if (departed === undefined || departed === inFlight) return inFlight
    const { latest } = this.calls
    const isNext = latest !== undefined && latest.ordinal > this.departed.sent
    return isNext && latest.call.client.id === departed ? inFlight : 'several'
  }
}

/**
 * Tracks all calls that a server message may belong to: those in flight, parked ones, and those that were
 * cancelled or timed out. Enforces their time limits.
 */
export class CallTable {
  readonly #clock: Clock
  readonly #onLost: (connection: Connection) => void
  /** Empty entries stay for a while, since the next call usually comes soon. */
  readonly #byConnection = new Map<Connection, ConnectionCalls>()
  #size = 0
  #tick: Timer | undefined
  #tickedMs = 0

  /** `onLost` is called with each lost connection. */
  constructor(clock: Clock, onLost: (connection: Connection) => void = () => undefined) {
    this.#clock = clock
    this.#onLost = onLost
  }

  /** The number of calls in flight or pending. */
  get size(): number {
    return this.#size
  }

  /** Counts a call that waits for its connection. */
  begin(connection: Connection): void {
    this.#size += 1
    connection.inFlight += 1
  }

  /** Ends the wait of a call, which may be sent by then. */
  end(connection: Connection): void {
    this.#size -= 1
    connection.callEnded()
  }

  add(call: InFlightCall): void {
    const { connection } = call
    let entry = this.#byConnection.get(connection)
    if (entry === undefined) {
      entry = new ConnectionCalls()
      this.#byConnection.set(connection, entry)
    }
    call.place = entry.calls.add(call)
    entry.sent += 1
    call.ordinal = entry.sent
    if (call.call.client.serverRequests === 'returned') entry.returned += 1
    this.#size += 1
    connection.inFlight += 1
    if (this.#tick !== undefined) return
    this.#tickedMs = this.#clock.nowMs()
    this.#tick = this.#clock.every(TICK_MS, () => this.#checkTimes())
  }

  remove(call: InFlightCall): void {
    const { connection, place } = call
    const entry = this.#byConnection.get(connection)
    if (entry === undefined || place === undefined || !entry.calls.remove(place)) return
    if (call.call.client.serverRequests === 'returned') entry.returned -= 1
    if (entry.byTask.size > 0) {
      const { taskId } = call
      if (taskId !== undefined && entry.byTask.get(taskId) === call) entry.byTask.delete(taskId)
    }
    this.#size -= 1
    connection.callEnded()
  }

  /** Keeps the party of a cancelled or timed-out call; returns undefined above the maximum. */
  depart(call: InFlightCall): DepartedCall | undefined {
    const entry = this.#byConnection.get(call.connection)
    return entry?.departed.add({ party: call.call.client.id, sent: entry.sent }, this.#clock.nowMs())
  }

  /** Forgets the cancelled requests of a lost connection. */
  lost(connection: Connection): void {
    connection.ownRequests.lost()
    this.#onLost(connection)
    this.#byConnection.get(connection)?.departed.clear()
  }

  /** Returns the calls of a connection, oldest first. */
  on(connection: Connection): Iterable<InFlightCall> & { readonly size: number } {
    return this.#byConnection.get(connection)?.calls ?? NONE
  }

  /** Returns whether a client that gets server requests in results has a call on a connection. */
  hasReturned(connection: Connection): boolean {
    return (this.#byConnection.get(connection)?.returned ?? 0) > 0
  }

  /** Returns whether any call in flight on a connection may have caused an open question. */
  isAsked(connection: Connection, request: ServerRequest): boolean {
    for (const call of this.on(connection)) if (call.isAsked(request)) return true
    return false
  }

  /** Collects the evidence of a server message's origin; `about` is its known request, if any. */
  evidence(connection: Connection, about: DownstreamCall | undefined): Evidence<Client, InFlightCall> {
    const entry = this.#byConnection.get(connection)
    const { onlyClient, ownRequests, link } = connection
    const nowMs = this.#clock.nowMs()
    const party = entry?.party(nowMs)
    const own = link?.isPinging === true ? 'several' : ownRequests.party(nowMs)
    return {
      about: about && (this.#about(connection, about) ?? 'another'),
      latest: entry?.calls.latest,
      isOnes: onlyClient !== undefined || (party !== 'several' && (own === undefined || own === party)),
      onlyClient,
    }
  }

  /** Returns the call in flight that a request to a server is part of. */
  #about(connection: Connection, down: DownstreamCall): InFlightCall | undefined {
    const { owner } = down
    if (owner instanceof InFlightCall) return owner.isRunning && owner.isAbout(down) ? owner : undefined
    for (const call of this.on(connection)) if (call.isAbout(down)) return call
    return undefined
  }

  /** Records that the server created a task for a call. */
  becameTask(call: InFlightCall, taskId: string | undefined): void {
    if (taskId !== undefined) this.#byConnection.get(call.connection)?.byTask.set(taskId, call)
  }

  ofTask(connection: Connection, taskId: string | undefined): InFlightCall | undefined {
    return taskId === undefined ? undefined : this.#byConnection.get(connection)?.byTask.get(taskId)
  }

  close(): void {
    this.#tick?.cancel()
    this.#tick = undefined
  }

  #checkTimes(): void {
    const nowMs = this.#clock.nowMs()
    const isStalled = nowMs - this.#tickedMs > STALL_MS
    this.#tickedMs = nowMs
    if (isStalled) return
    for (const [connection, entry] of this.#byConnection) {
      for (const call of entry.calls) call.checkTime(nowMs)
      entry.departed.expire(nowMs)
      if (entry.isEmpty) this.#byConnection.delete(connection)
    }
    if (this.#byConnection.size === 0 && this.#size === 0) this.close()
  }
}

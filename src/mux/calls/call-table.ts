import type { Clock, Timer } from '../../kernel/async/clock.js'
import { LinkedList } from '../../kernel/linked-list.js'
import type { Client, DownstreamCall } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { Evidence } from '../server-requests/origin.js'
import type { InFlightCall } from './in-flight-call.js'

/** The precision of timeouts: one timer checks all calls. */
const TICK_MS = 250
const NONE = new LinkedList<InFlightCall>()

/** Ticks this far apart mean that the process was stalled: answers may wait, so nothing times out yet. */
const STALL_MS = 4 * TICK_MS

export class CallTable {
  readonly #clock: Clock
  /** Empty lists stay for a while: the next call usually comes soon. */
  readonly #byConnection = new Map<Connection, LinkedList<InFlightCall>>()
  #size = 0
  #tick: Timer | undefined
  #tickedMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many calls are in flight or pending. */
  get size(): number {
    return this.#size
  }

  begin(connection: Connection): void {
    this.#size += 1
    connection.callBegan()
  }

  end(connection: Connection): void {
    this.#size -= 1
    connection.callEnded()
  }

  add(call: InFlightCall): void {
    const { connection } = call
    let calls = this.#byConnection.get(connection)
    if (calls === undefined) {
      calls = new LinkedList()
      this.#byConnection.set(connection, calls)
    }
    call.place = calls.add(call)
    this.begin(connection)
    if (this.#tick !== undefined) return
    this.#tickedMs = this.#clock.nowMs()
    this.#tick = this.#clock.every(TICK_MS, () => this.#checkTimes())
  }

  remove(call: InFlightCall): void {
    const { connection, place } = call
    if (place !== undefined && this.#byConnection.get(connection)?.remove(place)) this.end(connection)
  }

  /** Oldest first. */
  on(connection: Connection): Iterable<InFlightCall> & { readonly size: number } {
    return this.#byConnection.get(connection) ?? NONE
  }

  /** Collects the evidence of where a server message belongs; `about` is what the transport knows. */
  evidence(connection: Connection, about: DownstreamCall | undefined): Evidence<Client, InFlightCall> {
    const known = this.#about(connection, about)
    // Where the transport knows, the other calls do not matter.
    const running = known === undefined ? [...this.on(connection)].filter(call => call.isRunning) : []
    return { about: known, running, onlyClient: connection.onlyClient }
  }

  /** The call that the transport names; `another` if that is over, or a request of our own. */
  #about(connection: Connection, down: DownstreamCall | undefined): InFlightCall | 'another' | undefined {
    if (down === undefined) return undefined
    for (const call of this.on(connection)) if (call.isAbout(down)) return call
    return 'another'
  }

  ofTask(connection: Connection, taskId: string | undefined): InFlightCall | undefined {
    if (taskId === undefined) return undefined
    for (const call of this.on(connection)) if (call.taskId === taskId) return call
    return undefined
  }

  close(): void {
    this.#tick?.cancel()
    this.#tick = undefined
  }

  #checkTimes(): void {
    if (this.#size === 0) {
      this.close()
      this.#byConnection.clear()
      return
    }
    const nowMs = this.#clock.nowMs()
    const isStalled = nowMs - this.#tickedMs > STALL_MS
    this.#tickedMs = nowMs
    if (isStalled) return
    for (const [connection, calls] of this.#byConnection) {
      for (const call of calls) call.checkTime(nowMs)
      if (calls.size === 0) this.#byConnection.delete(connection)
    }
  }
}

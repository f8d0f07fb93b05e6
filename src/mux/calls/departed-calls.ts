import type { OnLate } from '../../model/links.js'
import { LATE_MAX, LATE_MS } from '../../peers/own-requests.js'
import { PartyList, type Place } from './party-list.js'

/** A call that was cancelled or timed out, while its server may still be working on it. */
export interface DepartedCall {
  readonly party: number
  /** The number of calls sent on the connection by then. */
  readonly sent: number
  readonly untilMs: number
  /** Called when the server is done with the call, or after that time. */
  readonly over: OnLate
  /** Set by the holder of the call's turn. */
  onOver: (() => void) | undefined
}

/**
 * Tracks the calls of one connection that were cancelled or timed out. Servers may ignore or miss a
 * cancellation (basic/utilities/cancellation, "Timing Considerations") and still send requests. Each call is
 * kept until its late answer, the end of the connection, or for `LATE_MS`. Beyond `LATE_MAX` calls, the
 * connection counts as used by several parties for that time.
 */
export class DepartedCalls {
  readonly #calls = new PartyList<DepartedCall>()
  #fullUntilMs = Number.NEGATIVE_INFINITY

  get size(): number {
    return this.#calls.size
  }

  /** Returns the party of all calls; undefined if there are none. */
  party(nowMs: number): number | 'several' | undefined {
    return nowMs < this.#fullUntilMs ? 'several' : this.#calls.party
  }

  /** The number of calls sent on the connection when the last of them was cancelled. */
  get sent(): number {
    return this.#calls.latest?.sent ?? 0
  }

  /** Adds a call; returns undefined above the maximum. */
  add({ party, sent }: Pick<DepartedCall, 'party' | 'sent'>, nowMs: number): DepartedCall | undefined {
    const untilMs = nowMs + LATE_MS
    if (this.#calls.size >= LATE_MAX) {
      this.#fullUntilMs = untilMs
      return undefined
    }
    const call: DepartedCall = { party, sent, untilMs, over: () => this.#over(place), onOver: undefined }
    const place = this.#calls.add(call)
    return call
  }

  /** Forgets calls after `LATE_MS`; called periodically. */
  expire(nowMs: number): void {
    while (this.#calls.first !== undefined && this.#calls.first.untilMs <= nowMs) this.#calls.first.over()
  }

  /** Forgets all calls of a lost connection. */
  clear(): void {
    this.#fullUntilMs = Number.NEGATIVE_INFINITY
    for (const call of this.#calls) call.over()
  }

  #over(place: Place<DepartedCall>): void {
    if (this.#calls.remove(place)) place.item.onOver?.()
  }
}

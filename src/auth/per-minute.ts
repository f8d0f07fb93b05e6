import type { Clock } from '../kernel/async/clock.js'

const MINUTE_MS = 60_000
/** More addresses than this within a minute are an attack that no count for each of them would stop. */
const MOST_KEYS = 10_000

/** Counts what happens within a minute under each key, such as an address. */
export class PerMinute {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How often it happened in this minute. */
  count(key: string): number {
    return this.#current().get(key) ?? 0
  }

  add(key: string): void {
    const counts = this.#current()
    if (counts.size >= MOST_KEYS && !counts.has(key)) counts.clear()
    counts.set(key, this.count(key) + 1)
  }

  /** When the counts begin anew. */
  get leftMs(): number {
    return Math.max(0, this.#sinceMs + MINUTE_MS - this.#clock.nowMs())
  }

  #current(): Map<string, number> {
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#counts.clear()
      this.#sinceMs = nowMs
    }
    return this.#counts
  }
}

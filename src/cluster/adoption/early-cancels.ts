import type { Clock } from '../../kernel/async/clock.js'

/** Bounds the cancellations remembered for a session; the oldest is forgotten first. */
const EARLY_MAX = 64
const EARLY_MS = 5000

interface Early {
  readonly atMs: number
  readonly reason: string | undefined
}

/**
 * Remembers cancellations of unknown requests. With several replicas, one may overtake its request, which
 * takes a longer path.
 */
export class EarlyCancels {
  readonly #clock: Clock
  readonly #byKey = new Map<string, Early>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(key: string, reason: string | undefined): void {
    this.#byKey.delete(key)
    this.#byKey.set(key, { atMs: this.#clock.nowMs(), reason })
    const [oldest] = this.#byKey.keys()
    if (this.#byKey.size > EARLY_MAX && oldest !== undefined) this.#byKey.delete(oldest)
  }

  /** Returns the cancellation of a request that arrives now; undefined if none. */
  take(key: string): { readonly reason: string | undefined } | undefined {
    const early = this.#byKey.size === 0 ? undefined : this.#byKey.get(key)
    if (early === undefined) return undefined
    this.#byKey.delete(key)
    return this.#clock.nowMs() - early.atMs <= EARLY_MS ? early : undefined
  }
}

import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import type { Principal } from '../kernel/caller.js'
import type { ClusterStore } from './engine/store.js'
import type { KeyRing } from './key-ring.js'

/** What was said is good for so long, and said again before that. */
const TTL_MS = 3600_000
const AGAIN_MS = TTL_MS / 3
/** How long somebody who begins a session waits for the engine. */
const WAIT_MS = 100

export interface SessionCountsOptions {
  /** Of this instance. */
  readonly id: string
  readonly store: ClusterStore
  readonly ring: KeyRing
  readonly clock: Clock
  /** How many replicas there are, with this one. */
  readonly replicas: () => number
}

interface Count {
  own: number
  /** What the others know, and since when. */
  said: number
  saidMs: number
}

/** How many sessions each principal has: here, which the others are told, and at the others. */
export class SessionCounts {
  readonly #options: SessionCountsOptions
  readonly #counts = new Map<Principal, Count>()

  constructor(options: SessionCountsOptions) {
    this.#options = options
  }

  came(principal: Principal): void {
    this.#of(principal).own += 1
  }

  left(principal: Principal): void {
    this.#of(principal).own -= 1
  }

  /**
   * How many a principal, who is about to begin one here, has at the other replicas; without the engine as
   * many as if all replicas had the same number. Never rejects.
   */
  async elsewhere(principal: Principal): Promise<number> {
    const { store, clock, replicas } = this.#options
    const count = this.#of(principal)
    const asked = store.isUp ? this.#say(principal, count, count.own + 1).catch(() => undefined) : undefined
    return (
      (await within(asked ?? Promise.resolve(undefined), { clock, ms: WAIT_MS })) ??
      count.own * Math.max(0, replicas() - 1)
    )
  }

  /** Tells the others what they do not know; called now and then. */
  keepUp(): void {
    const { clock, store } = this.#options
    if (!store.isUp) return
    const oldMs = clock.nowMs() - AGAIN_MS
    for (const [principal, count] of this.#counts) {
      if (count.own === 0 && count.said === 0) this.#counts.delete(principal)
      else if (count.own !== count.said || count.saidMs < oldMs)
        void this.#say(principal, count, count.own).catch(() => undefined)
    }
  }

  #of(principal: Principal): Count {
    const count = this.#counts.get(principal) ?? { own: 0, said: 0, saidMs: 0 }
    this.#counts.set(principal, count)
    return count
  }

  async #say(principal: Principal, count: Count, own: number): Promise<number> {
    const { id, store, ring, clock } = this.#options
    count.said = own
    count.saidMs = clock.nowMs()
    return await store.count(ring.nameOf(`principal ${principal}`), id, own, TTL_MS)
  }
}

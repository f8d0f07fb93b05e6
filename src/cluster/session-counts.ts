import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import type { Principal } from '../kernel/caller.js'
import type { ClusterStore } from './engine/store.js'
import type { KeyRing } from './key-ring.js'

/** Lifetime of a published count; it is published again before it expires. */
const TTL_MS = 3600_000
const AGAIN_MS = TTL_MS / 3
/** Maximum time that a new session waits for the engine. */
const WAIT_MS = 100

export interface SessionCountsOptions {
  /** Id of this instance. */
  readonly id: string
  readonly store: ClusterStore
  readonly ring: KeyRing
  readonly clock: Clock
  /** Number of replicas, including this one. */
  readonly replicas: () => number
}

interface Count {
  own: number
  /** The published count, and the time of publication. */
  said: number
  publishedMs: number
}

/** Counts the sessions of each principal, here and at the other replicas. */
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
   * Returns how many sessions a principal has at other replicas, before it opens one here. Without the engine
   * assumes that each replica has as many as this one. Never rejects.
   */
  async elsewhere(principal: Principal): Promise<number> {
    const { store, clock, replicas } = this.#options
    const count = this.#of(principal)
    const asked = store.isUp
      ? this.#publish(principal, count, count.own + 1).catch(() => undefined)
      : undefined
    return (
      (await within(asked ?? Promise.resolve(undefined), { clock, ms: WAIT_MS })) ??
      count.own * Math.max(0, replicas() - 1)
    )
  }

  /** Publishes changed and old counts. */
  keepUp(): void {
    const { clock, store } = this.#options
    if (!store.isUp) return
    const oldMs = clock.nowMs() - AGAIN_MS
    for (const [principal, count] of this.#counts) {
      if (count.own === 0 && count.said === 0) this.#counts.delete(principal)
      else if (count.own !== count.said || count.publishedMs < oldMs)
        void this.#publish(principal, count, count.own).catch(() => undefined)
    }
  }

  #of(principal: Principal): Count {
    const count = this.#counts.get(principal) ?? { own: 0, said: 0, publishedMs: 0 }
    this.#counts.set(principal, count)
    return count
  }

  async #publish(principal: Principal, count: Count, own: number): Promise<number> {
    const { id, store, ring, clock } = this.#options
    count.said = own
    count.publishedMs = clock.nowMs()
    return await store.count(ring.nameOf(`principal ${principal}`), id, own, TTL_MS)
  }
}

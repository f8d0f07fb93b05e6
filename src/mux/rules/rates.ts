import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Rate, Rule } from '../../kernel/rule.js'

/** Maximum time that a call waits for the rates that replicas share. */
const WAIT_MS = 100
/** Minimum time between two searches for buckets that can be forgotten. */
const SWEEP_MS = 1000
/** Times are sums of fractions; smaller differences are rounding errors. */
const EPSILON_MS = 1e-6

/** One bucket that counts a call. */
export interface Charge {
  readonly rule: Rule
  readonly rate: Rate
  /** Equal for all calls that are counted together. */
  readonly key: string
}

/** A bucket in numbers: a call every `intervalMs`, and `burst` at once. */
export interface BucketRate {
  readonly key: string
  readonly intervalMs: number
  readonly burst: number
}

/** PORT. Buckets that all replicas share. */
export interface SharedRates {
  /** The number of replicas, including this one. */
  readonly replicas: number
  /**
   * Charges all buckets, or none: then it resolves with the time until each has room, in ms; empty if it
   * charged them. Undefined if the store cannot be reached.
   */
  take(buckets: readonly BucketRate[]): Promise<readonly number[] | undefined>
}

/** The result: charged, or the bucket that refuses; without a wait, there are too many buckets. */
export type RateVerdict = 'ok' | { readonly over: Charge; readonly waitMs?: number }

export interface RateBucketsOptions {
  readonly clock: Clock
  readonly bounds: LimitCounters
  /** Returns undefined without replicas. */
  readonly shared?: (() => SharedRates | undefined) | undefined
}

/**
 * Counts calls (GCRA): a bucket is the time at which it is full again. It survives a change of the rules if
 * the id and the rate of its rule stay the same, because both are in its key.
 */
export class RateBuckets {
  readonly #options: RateBucketsOptions
  readonly #fullMs = new Map<string, number>()
  #sweptMs = Number.NEGATIVE_INFINITY

  constructor(options: RateBucketsOptions) {
    this.#options = options
  }

  /** Charges a call once, if all buckets conform. Never rejects. */
  take(charges: readonly Charge[]): RateVerdict | Promise<RateVerdict> {
    const shared = this.#options.shared?.()
    return shared === undefined ? this.#takeHere(charges, 1) : this.#takeShared(charges, shared)
  }

  /** Without the store, each replica allows its share. */
  async #takeShared(charges: readonly Charge[], shared: SharedRates): Promise<RateVerdict> {
    const asked = shared.take(charges.map(({ key, rate }) => bucketOf(key, rate, 1)))
    const { clock } = this.#options
    const waits = await within(
      asked.catch(() => undefined),
      { clock, ms: WAIT_MS },
    )
    return waits === undefined ? this.#takeHere(charges, shared.replicas) : longest(charges, waits)
  }

  #takeHere(charges: readonly Charge[], replicas: number): RateVerdict {
    const nowMs = this.#options.clock.nowMs()
    const buckets = charges.map(({ key, rate }) => bucketOf(key, rate, replicas))
    const waits = buckets.map(({ key, intervalMs, burst }) => {
      const fullMs = this.#fullMs.get(key) ?? nowMs
      return Math.max(0, fullMs - intervalMs * (burst - 1) - nowMs)
    })
    const taken = longest(charges, waits)
    if (taken !== 'ok') return taken
    const [first] = charges
    if (first !== undefined && !this.#hasRoom(buckets, nowMs)) return { over: first }
    for (const { key, intervalMs } of buckets)
      this.#fullMs.set(key, Math.max(nowMs, this.#fullMs.get(key) ?? nowMs) + intervalMs)
    return 'ok'
  }

  #hasRoom(buckets: readonly BucketRate[], nowMs: number): boolean {
    const { rateBuckets } = this.#options.bounds.max
    const more = buckets.filter(({ key }) => !this.#fullMs.has(key)).length
    const hasRoom = (): boolean => this.#fullMs.size + more <= rateBuckets
    if (hasRoom() || nowMs - this.#sweptMs < SWEEP_MS) return hasRoom()
    this.#sweptMs = nowMs
    for (const [key, fullMs] of this.#fullMs) if (fullMs <= nowMs) this.#fullMs.delete(key)
    return hasRoom()
  }
}

const bucketOf = (key: string, { calls, periodMs, burst }: Rate, replicas: number): BucketRate => {
  const share = (count: number): number => Math.max(1, Math.floor(count / replicas))
  return { key, intervalMs: periodMs / share(calls), burst: share(burst) }
}

/** Returns the bucket that has room last. */
const longest = (charges: readonly Charge[], waits: readonly number[]): RateVerdict => {
  const waitMs = Math.max(...waits)
  const over = charges[waits.indexOf(waitMs)]
  return over === undefined || waitMs <= EPSILON_MS ? 'ok' : { over, waitMs: Math.ceil(waitMs - EPSILON_MS) }
}

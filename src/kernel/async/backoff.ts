export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * Computes the delay before attempt `tries` (0 = first): doubles up to `maxMs`, with 20 % jitter either way.
 */
export const backoffMs = (tries: number, backoff: Backoff): number =>
  steadyBackoffMs(tries, backoff) * jitter()

/** Computes the same delay without jitter. Pure. */
export const steadyBackoffMs = (tries: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30))

/** Returns a random factor of 1 ± 20 %, so that peers that failed together do not retry together. */
export const jitter = (): number => 0.8 + 0.4 * Math.random()

export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/** Computes the wait before try `tries` (0 = first): doubles up to `maxMs`, with 20 % jitter either way. */
export const backoffMs = (tries: number, backoff: Backoff): number =>
  steadyBackoffMs(tries, backoff) * jitter()

/** The same without jitter. Pure. */
export const steadyBackoffMs = (tries: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30))

/** Spreads by up to 20 % the waits of those who would otherwise come back together. */
export const jitter = (): number => 0.8 + 0.4 * Math.random()

/** Bounds of a series of growing waits. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * How long to wait before try number `tries` (0 = first): doubles up to `maxMs`, with 20 % jitter either way.
 */
export const backoffMs = (tries: number, backoff: Backoff): number =>
  steadyBackoffMs(tries, backoff) * jitter()

/** The same without jitter. Pure. */
export const steadyBackoffMs = (tries: number, { firstMs, maxMs }: Backoff): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30))

/**
 * By which factor a wait is made longer or shorter, so that those who wait for the same do not come together:
 * up to 20 %.
 */
export const jitter = (): number => 0.8 + 0.4 * Math.random()

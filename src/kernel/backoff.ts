/** Bounds of a series of growing waits. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/** How long to wait before try number `tries` (0 = first): doubles up to `maxMs`, with 20 % jitter either way. */
export const backoffMs = (tries: number, { firstMs, maxMs }: Backoff): number => {
  const even = Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30))
  return even * (0.8 + 0.4 * Math.random())
}

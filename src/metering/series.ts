/** A number that only grows. Counting allocates nothing, and knows neither names nor labels. */
export class Counter {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}

/** An example of what was observed. */
interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** Since 1970. */
  readonly atMs: number
}

/** How values are distributed over buckets; `observe` allocates nothing. */
export class Histogram {
  /** The upper bounds of all buckets but the last one, which has none; ascending. */
  readonly bounds: readonly number[]
  /** How many values fell into each bucket alone. */
  readonly counts: Float64Array
  readonly #sum = new Float64Array(1)
  /** Of each bucket, the last one that was told; empty until then. */
  readonly exemplars: Exemplar[] = []

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  get sum(): number {
    return this.#sum[0] ?? 0
  }

  /** `traceId`: where more is known of this value. */
  observe(value: number, traceId?: string): void {
    const { bounds, counts } = this
    let at = 0
    // Most values are small, and there are few buckets.
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
    counts[at] = (counts[at] ?? 0) + 1
    this.#sum[0] = this.sum + value
    if (traceId !== undefined) this.exemplars[at] = { traceId, value, atMs: Date.now() }
  }

  /** The least bound that this share of all values does not exceed; undefined before the first one. */
  quantile(share: number): number | undefined {
    const count = this.counts.reduce((sum, one) => sum + one, 0)
    let left = Math.ceil(count * share)
    if (count === 0) return undefined
    const at = this.counts.findIndex(one => {
      left -= one
      return left <= 0
    })
    return this.bounds[Math.min(at, this.bounds.length - 1)]
  }
}

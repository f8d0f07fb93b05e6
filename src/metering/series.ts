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
  /** The counts of all buckets, and behind them the sum: side by side they are soon written. */
  readonly #values: Float64Array
  /** Of each bucket, the last one that was told; empty until then. */
  readonly exemplars: Exemplar[] = []

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#values = new Float64Array(bounds.length + 2)
  }

  /** How many values fell into each bucket alone. */
  get counts(): Float64Array {
    return this.#values.subarray(0, -1)
  }

  get sum(): number {
    return this.#values.at(-1) ?? 0
  }

  /** `traceId`: where more is known of this value. */
  observe(value: number, traceId?: string): void {
    const { bounds } = this
    const values = this.#values
    const last = bounds.length
    let at = 0
    // Most values are small, and there are few buckets.
    while (at < last && value > (bounds[at] ?? 0)) at += 1
    values[at] = (values[at] ?? 0) + 1
    values[last + 1] = (values[last + 1] ?? 0) + value
    if (traceId !== undefined) this.exemplars[at] = { traceId, value, atMs: Date.now() }
  }

  /** The least bound that this share of all values does not exceed; undefined before the first one. */
  quantile(share: number): number | undefined {
    const { counts } = this
    const count = counts.reduce((sum, one) => sum + one, 0)
    let left = Math.ceil(count * share)
    if (count === 0) return undefined
    const at = counts.findIndex(one => {
      left -= one
      return left <= 0
    })
    return this.bounds[Math.min(at, this.bounds.length - 1)]
  }
}

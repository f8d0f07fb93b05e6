/** A monotonic counter without name and labels; counting allocates nothing. */
export class Counter {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}

/** An observed value with its trace. */
interface Exemplar {
  readonly traceId: string
  readonly value: number
  /** Milliseconds since 1970. */
  readonly atMs: number
}

/** A histogram; `observe` allocates nothing. */
export class Histogram {
  /** Upper bounds of all buckets except the last, unbounded one; ascending. */
  readonly bounds: readonly number[]
  /** The counts of all buckets, then the sum, in one array for fast writes. */
  readonly #values: Float64Array
  /** The last exemplar of each bucket. */
  readonly exemplars: Exemplar[] = []

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#values = new Float64Array(bounds.length + 2)
  }

  /** Number of values in each bucket, not cumulative. */
  get counts(): Float64Array {
    return this.#values.subarray(0, -1)
  }

  get sum(): number {
    return this.#values.at(-1) ?? 0
  }

  /** Adds a value; `traceId` makes it an exemplar. */
  observe(value: number, traceId?: string): void {
    const { bounds } = this
    const values = this.#values
    const last = bounds.length
    let at = 0
    // Linear search: most values are small, and there are few buckets.
    while (at < last && value > (bounds[at] ?? 0)) at += 1
    values[at] = (values[at] ?? 0) + 1
    values[last + 1] = (values[last + 1] ?? 0) + value
    if (traceId !== undefined) this.exemplars[at] = { traceId, value, atMs: Date.now() }
  }

  /** Returns the upper bound of a quantile; undefined without values. */
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

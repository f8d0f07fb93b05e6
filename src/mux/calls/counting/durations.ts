/** Number of kept durations per tool or server. */
const DURATIONS = 256
const SLOT_MS = 10_000
const SLOTS = 60

/** The last durations of one tool or server. */
export class Durations {
  readonly #ms = new Float32Array(DURATIONS)
  #count = 0
  #errors = 0
  lastMs = 0

  get calls(): number {
    return this.#count
  }

  get errors(): number {
    return this.#errors
  }

  add(ms: number, nowMs: number, isError: boolean): void {
    this.#errors += isError ? 1 : 0
    this.#ms[this.#count % DURATIONS] = ms
    this.#count += 1
    this.lastMs = nowMs
  }

  /** Undefined before the first one. */
  quantile(share: number): number | undefined {
    const known = this.#ms.slice(0, Math.min(this.#count, DURATIONS)).sort()
    return known[Math.min(known.length - 1, Math.ceil(known.length * share) - 1)]
  }
}

/** Ten seconds of calls to a server. */
export interface Slot {
  readonly calls: number
  readonly errors: number
  readonly sumMs: number
  readonly longestMs: number
}

/** The calls to a server in the last ten minutes. */
export class Slots {
  readonly #values = new Float64Array(SLOTS * 4)
  #newest = 0

  add(nowMs: number, ms: number, isError: boolean): void {
    const at = this.#move(nowMs)
    const values = this.#values
    values[at] = (values[at] ?? 0) + 1
    values[at + 1] = (values[at + 1] ?? 0) + (isError ? 1 : 0)
    values[at + 2] = (values[at + 2] ?? 0) + ms
    values[at + 3] = Math.max(values[at + 3] ?? 0, ms)
  }

  /** Returns the slots, oldest first; the last one is still open. */
  read(nowMs: number): readonly Slot[] {
    this.#move(nowMs)
    return Array.from({ length: SLOTS }, (_, n) => {
      const at = ((this.#newest + 1 + n) % SLOTS) * 4
      const [calls = 0, errors = 0, sumMs = 0, longestMs = 0] = this.#values.subarray(at, at + 4)
      return { calls, errors, sumMs, longestMs }
    })
  }

  /** Advances to the current slot and empties the skipped ones; returns its start. */
  #move(nowMs: number): number {
    const slot = Math.floor(nowMs / SLOT_MS)
    const skipped = Math.min(SLOTS, slot - this.#newest)
    for (let n = 0; n < skipped; n++) {
      const at = ((slot - n) % SLOTS) * 4
      this.#values.fill(0, at, at + 4)
    }
    this.#newest = slot
    return (slot % SLOTS) * 4
  }
}

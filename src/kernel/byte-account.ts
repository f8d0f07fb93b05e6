/** Smaller reservations are not counted, because their number is bounded. */
export const SMALL_BYTES = 16 * 1024

/** The bytes counted for one peer. */
export class Holding {
  readonly #account: ByteAccount
  /**
   * Discards the bytes, because this holding is the largest; it no longer counts by then. Undefined: not
   * possible.
   */
  readonly cut: (() => void) | undefined
  readonly #measure: (() => number) | undefined
  #bytes = 0

  constructor(account: ByteAccount, cut: (() => void) | undefined, measure?: () => number) {
    this.#account = account
    this.cut = cut
    this.#measure = measure
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Sets the current size. This holding, or others, may be cut before this returns. */
  set(bytes: number): void {
    const more = bytes - this.#bytes
    if (more === 0) return
    this.#bytes = bytes
    this.#account.changed(this, more)
  }

  /** Measures again, for holdings that shrink without notice. */
  remeasure(): void {
    if (this.#measure !== undefined) this.set(Math.min(this.#bytes, this.#measure()))
  }
}

/**
 * Limits the bytes kept for all peers together, for one purpose. Above the limit the largest holding is cut
 * first, so that a large peer cannot starve a small one.
 */
export class ByteAccount {
  readonly #max: () => number
  readonly #hit: () => void
  readonly #open = new Set<Holding>()
  /** Represents everything too small to be counted. */
  readonly #small = new Holding(this, undefined)
  #bytes = 0
  #reserved = 0

  /** `max` returns the current limit; `hit` is called for each holding that is cut. */
  constructor(max: () => number, hit: () => void) {
    this.#max = max
    this.#hit = hit
  }

  get bytes(): number {
    return this.#bytes
  }

  get maxBytes(): number {
    return this.#max()
  }

  /** Opens a holding that `cut` discards. Before any cut, `measure` is asked for the current size. */
  open(cut: () => void, measure?: () => number): Holding {
    return new Holding(this, cut, measure)
  }

  /**
   * Reserves room for bytes that cannot be discarded, until set to 0; undefined if there is none.
   * Reservations take at most half of the account. Small ones are not counted, because their number is
   * bounded.
   */
  reserve(bytes: number): Holding | undefined {
    if (bytes < SMALL_BYTES) return this.#small
    if (this.#reserved + bytes > this.#max() / 2) return undefined
    const holding = new Holding(this, undefined)
    holding.set(bytes)
    return holding
  }

  /** Cuts the largest holdings until at most `maxBytes` is kept. */
  shed(maxBytes: number): void {
    if (this.#bytes <= maxBytes) return
    for (const holding of [...this.#open]) holding.remeasure()
    if (this.#bytes <= maxBytes) return
    for (const holding of this.#largest(this.#bytes - maxBytes)) {
      if (this.#bytes <= maxBytes) return
      // A previous cut may have emptied this one, too.
      if (holding.bytes === 0) continue
      this.#hit()
      holding.set(0)
      holding.cut?.()
    }
  }

  /** Returns holdings to cut, largest first. One is usually enough, which avoids sorting thousands. */
  #largest(missing: number): Holding[] {
    let most = this.#small
    for (const holding of this.#open) if (holding.bytes > most.bytes) most = holding
    return most.bytes >= missing ? [most] : [...this.#open].sort((one, other) => other.bytes - one.bytes)
  }

  changed(holding: Holding, more: number): void {
    this.#bytes += more
    if (holding.cut === undefined) this.#reserved += more
    else if (holding.bytes > 0) this.#open.add(holding)
    else this.#open.delete(holding)
    if (more > 0) this.shed(this.#max())
  }
}

const SMALL_BYTES = 16 * 1024

/** What the account counts for one peer. */
export class Holding {
  readonly #account: ByteAccount
  /** Gives it up, because it is the largest; no longer counted by then. Undefined: that cannot be. */
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

  /** Sets how much is kept now; 0 for nothing. This holding, or others, may be cut before this returns. */
  set(bytes: number): void {
    const more = bytes - this.#bytes
    if (more === 0) return
    this.#bytes = bytes
    this.#account.changed(this, more)
  }

  /** Measures again, where the size changes without anybody telling us. */
  look(): void {
    if (this.#measure !== undefined) this.set(Math.min(this.#bytes, this.#measure()))
  }
}

/**
 * Bytes that all peers together have us keep, for one reason. Above the limit whoever holds most loses it
 * first, so that nobody who wants little is refused for what others want.
 */
export class ByteAccount {
  readonly #max: () => number
  readonly #hit: () => void
  readonly #open = new Set<Holding>()
  /** Stands for all that is too small to be counted. */
  readonly #small = new Holding(this, undefined)
  #bytes = 0
  #reserved = 0

  /** `max` is the limit at the moment, `hit` is called for each holding that is cut. */
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

  /** Opens a holding that `cut` gives up; before anybody is cut, `measure` is asked whether it shrank. */
  open(cut: () => void, measure?: () => number): Holding {
    return new Holding(this, cut, measure)
  }

  /**
   * Reserves room for what is kept whole until it is set to 0; undefined if there is none. Half of the
   * account is left to what can be cut. What is small is bounded by how many there may be of it.
   */
  reserve(bytes: number): Holding | undefined {
    if (bytes < SMALL_BYTES) return this.#small
    if (this.#reserved + bytes > this.#max() / 2) return undefined
    const holding = new Holding(this, undefined)
    holding.set(bytes)
    return holding
  }

  /** Cuts the largest, one after the other, until no more than `maxBytes` is kept. */
  shed(maxBytes: number): void {
    if (this.#bytes <= maxBytes) return
    for (const holding of [...this.#open]) holding.look()
    if (this.#bytes <= maxBytes) return
    for (const holding of this.#largest(this.#bytes - maxBytes)) {
      if (this.#bytes <= maxBytes) return
      // One that was cut may have taken others with it.
      if (holding.bytes === 0) continue
      this.#hit()
      holding.set(0)
      holding.cut?.()
    }
  }

  /** Those to cut for so much room, largest first; mostly one is enough, and thousands need not be sorted. */
  #largest(missing: number): Holding[] {
    let most = this.#small
    for (const holding of this.#open) if (holding.bytes > most.bytes) most = holding
    return most.bytes >= missing ? [most] : [...this.#open].sort((one, other) => other.bytes - one.bytes)
  }

  /** Called by a holding. */
  changed(holding: Holding, more: number): void {
    this.#bytes += more
    if (holding.cut === undefined) this.#reserved += more
    else if (holding.bytes > 0) this.#open.add(holding)
    else this.#open.delete(holding)
    if (more > 0) this.shed(this.#max())
  }
}

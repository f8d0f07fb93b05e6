const SMALL_BYTES = 16 * 1024

/** What one peer has us keep at the moment, as the account knows it. */
export class Holding {
  readonly #account: ByteAccount
  /**
   * Lets go of it, because it is the largest; the account counts it no more by then. Undefined: it cannot be
   * given up.
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

  /**
   * It is so many bytes now; 0 when nothing is kept any more. It, or others, may be cut before this returns.
   */
  set(bytes: number): void {
    const more = bytes - this.#bytes
    if (more === 0) return
    this.#bytes = bytes
    this.#account.changed(this, more)
  }

  /** Looks how much it is, where that changes without anybody telling us. */
  look(): void {
    if (this.#measure !== undefined) this.set(Math.min(this.#bytes, this.#measure()))
  }
}

/**
 * Bytes that all peers together have us keep, for one reason. When they are more than they may be, those who
 * have us keep most lose it first, so that whoever wants little is never refused for what others want.
 */
export class ByteAccount {
  readonly #max: () => number
  readonly #hit: () => void
  /** All that keep something and can be cut. */
  readonly #open = new Set<Holding>()
  /** Stands for all that is not counted. */
  readonly #small = new Holding(this, undefined)
  #bytes = 0
  #reserved = 0

  /** `max` says what is allowed at the moment, `hit` is told of each that is cut. */
  constructor(max: () => number, hit: () => void) {
    this.#max = max
    this.#hit = hit
  }

  /** What all keep. */
  get bytes(): number {
    return this.#bytes
  }

  /** What all may keep. */
  get maxBytes(): number {
    return this.#max()
  }

  /**
   * For somebody who may come to keep something, which `cut` gives up. With `measure` it may have become less
   * than what was last set: it is asked before anybody is cut.
   */
  open(cut: () => void, measure?: () => number): Holding {
    return new Holding(this, cut, measure)
  }

  /**
   * For what is kept whole until it is over, and then set to 0; undefined if there is no room. Half of the
   * account is left to what can be cut. What is small is bounded by how many there may be of it.
   */
  reserve(bytes: number): Holding | undefined {
    if (bytes < SMALL_BYTES) return this.#small
    if (this.#reserved + bytes > this.#max() / 2) return undefined
    const holding = new Holding(this, undefined)
    holding.set(bytes)
    return holding
  }

  /** Cuts the largest, one after the other, until no more than this is kept. */
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

  /**
   * Those to be cut until there is room for so much, largest first: mostly one is enough, and thousands need
   * not be sorted.
   */
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

import type { ByteAccount, Holding } from '../../kernel/byte-account.js'

/** Smaller pieces are merged: a peer that sends byte by byte must not cost a Buffer per byte. */
const COPIED_BELOW_BYTES = 4096
const SLAB_BYTES = 4 * COPIED_BELOW_BYTES

/** Limits on lines or events. `onOverrun` is called before an overlong one has ended; must not throw. */
export interface FramingOptions {
  readonly maxBytes: number
  /** Input without room in the account is too long, even below `maxBytes`. */
  readonly account?: ByteAccount | undefined
  readonly onOverrun?: () => void
}

/**
 * Collects bytes and joins them once, at the end: linear for any chunking. Keeps references to its input,
 * which must not be modified afterwards.
 */
export class ByteRope {
  /** The number of bytes collected. */
  size = 0
  #pieces: Buffer[] = []
  /** A buffer for small pieces; its first `#used` bytes follow `#pieces`. */
  #slab: Buffer | undefined
  #used = 0
  readonly #holding: Holding | undefined
  /** All retained memory: a piece retains the whole chunk it was cut from. */
  #keptBytes = 0
  #lastChunk: ArrayBufferLike | undefined

  /** Reports its size to `holding`; if that is cut, its owner must call `clear`. */
  constructor(holding?: Holding) {
    this.#holding = holding
  }

  add(bytes: Buffer): void {
    if (bytes.length === 0) return
    // The first piece is never copied: most messages arrive in one.
    if (this.size === 0 || bytes.length >= COPIED_BELOW_BYTES) {
      this.#closeSlab()
      this.#pieces.push(bytes)
      if (bytes.buffer !== this.#lastChunk) this.#keptBytes += bytes.buffer.byteLength
      this.#lastChunk = bytes.buffer
    } else {
      this.#copy(bytes)
    }
    this.size += bytes.length
    this.#holding?.set(this.#keptBytes)
  }

  /** Returns all bytes as one Buffer, without a copy if they arrived as one, and empties the rope. */
  take(): Buffer {
    this.#closeSlab()
    const [only] = this.#pieces
    const whole =
      only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces, this.size)
    this.clear()
    return whole
  }

  first(bytes: number): Buffer {
    const pieces =
      this.#slab === undefined ? this.#pieces : [...this.#pieces, this.#slab.subarray(0, this.#used)]
    const first: Buffer[] = []
    let missing = bytes
    for (const piece of pieces) {
      if (missing <= 0) break
      first.push(piece.subarray(0, missing))
      missing -= piece.length
    }
    return Buffer.concat(first)
  }

  clear(): void {
    this.#pieces = []
    this.size = 0
    this.#slab = undefined
    this.#used = 0
    this.#keptBytes = 0
    this.#lastChunk = undefined
    this.#holding?.set(0)
  }

  #copy(bytes: Buffer): void {
    if (this.#slab === undefined || this.#slab.length - this.#used < bytes.length) {
      this.#closeSlab()
      this.#slab = Buffer.allocUnsafe(SLAB_BYTES)
      this.#keptBytes += SLAB_BYTES
    }
    this.#slab.set(bytes, this.#used)
    this.#used += bytes.length
  }

  #closeSlab(): void {
    if (this.#slab !== undefined) this.#pieces.push(this.#slab.subarray(0, this.#used))
    this.#slab = undefined
    this.#used = 0
  }
}

const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Removes one UTF-8 byte order mark from the start of a stream, across chunk boundaries. Programs on Windows
 * send one, though neither JSON (RFC 8259 §8.1) nor a line or event may begin with it.
 */
export class BomFilter {
  /** Bytes of the mark received so far; `MARK.length` also once the start of the stream is over. */
  #seen = 0

  /** True once no mark can follow. */
  get isOver(): boolean {
    return this.#seen === MARK.length
  }

  /** Returns the bytes after the mark; bytes that may still belong to a mark are held back. */
  pass(chunk: Buffer): Buffer {
    const before = this.#seen
    if (before === MARK.length) return chunk
    let at = 0
    while (this.#seen < MARK.length && chunk[at] === MARK[this.#seen]) {
      this.#seen += 1
      at += 1
    }
    if (this.#seen === MARK.length || at === chunk.length) return chunk.subarray(at)
    this.#seen = MARK.length
    return before === 0 ? chunk : Buffer.concat([MARK.subarray(0, before), chunk])
  }

  /** Returns the bytes held back if the stream ends inside a mark. */
  end(): Buffer {
    const held = MARK.subarray(0, this.#seen % MARK.length)
    this.#seen = MARK.length
    return held
  }
}

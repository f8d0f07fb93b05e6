const MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Removes one UTF-8 byte order mark from the start of a stream, however it is cut. Programs on Windows send
 * one, though neither JSON (RFC 8259 §8.1) nor a line or event may begin with it.
 */
export class BomFilter {
  /** How many bytes of the mark have come; `MARK.length` also once the start of the stream is over. */
  #seen = 0

  /** What of the stream follows the mark; bytes that may still become a mark are held back. */
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

  /** What was held back when the stream ended in the middle of a mark. */
  end(): Buffer {
    const held = MARK.subarray(0, this.#seen % MARK.length)
    this.#seen = MARK.length
    return held
  }
}

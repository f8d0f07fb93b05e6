/** Counted for each frame in addition to its bytes; exceeds the actual heap use, because heap is scarce. */
const FRAME_BYTES = 1024
/** Length of the shortest frame head. */
const HEAD_BYTES = 2
const MASK_BYTES = 4

/**
 * Parses frame heads (RFC 6455 §5.2) to know how much memory `ws` holds for an incomplete message: each
 * frame, and the chunks that contain them. Leaves the detection of invalid frames to `ws`.
 */
export class FrameMeter {
  #bytes = 0
  /** Received bytes of the current frame head, and its length as far as known. */
  #headAt = 0
  #headBytes = HEAD_BYTES
  #lengthBytes = 0
  #first = 0
  /** Remaining payload bytes. */
  #left = 0

  /** Parses the next bytes of the connection; returns how many bytes are held now. */
  push(chunk: Buffer): number {
    let isKept = false
    for (let i = 0; i < chunk.length; ) {
      if (this.#headAt < this.#headBytes) {
        this.#readHead(chunk[i++] ?? 0)
        if (this.#headAt < this.#headBytes) continue
        if (this.#isData) this.#bytes += FRAME_BYTES
      }
      const taken = Math.min(this.#left, chunk.length - i)
      i += taken
      this.#left -= taken
      isKept ||= this.#isData
      if (this.#left > 0) continue
      if (this.#isData && this.#isLast) {
        this.#bytes = 0
        isKept = false
      }
      this.#headAt = 0
      this.#headBytes = HEAD_BYTES
    }
    if (isKept) this.#bytes += chunk.length
    return this.#bytes
  }

  /** Control frames may come between the frames of a message. */
  get #isData(): boolean {
    return (this.#first & 0x08) === 0
  }

  get #isLast(): boolean {
    return (this.#first & 0x80) !== 0
  }

  #readHead(byte: number): void {
    const at = this.#headAt++
    if (at === 0) this.#first = byte
    else if (at === 1) {
      const length = byte & 0x7f
      this.#lengthBytes = length === 126 ? 2 : length === 127 ? 8 : 0
      this.#left = this.#lengthBytes === 0 ? length : 0
      this.#headBytes = HEAD_BYTES + this.#lengthBytes + ((byte & 0x80) === 0 ? 0 : MASK_BYTES)
    } else if (at < HEAD_BYTES + this.#lengthBytes) this.#left = this.#left * 256 + byte
  }
}

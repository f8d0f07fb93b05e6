/** Counted for each frame besides its bytes: more than it takes, because it takes scarce heap. */
const FRAME_BYTES = 1024
/** The shortest head of a frame. */
const HEAD_BYTES = 2
const MASK_BYTES = 4

/**
 * Reads the heads of frames (RFC 6455 §5.2) to know what `ws` holds of an incomplete message, which it does
 * not say: each frame, and the chunks they came in with everything in between. Leaves it to `ws` to notice
 * invalid frames.
 */
export class FrameMeter {
  #bytes = 0
  /** How much of the current frame's head has come, and how long it is as far as known. */
  #headAt = 0
  #headBytes = HEAD_BYTES
  #lengthBytes = 0
  #first = 0
  /** Missing from its payload. */
  #left = 0

  /** Takes the next bytes of the connection; returns how many bytes are kept then. */
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

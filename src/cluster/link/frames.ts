import { ByteRope } from '../../wire/framing/byte-rope.js'

/** Path for batches of requests; each response is sent back as soon as it is ready. */
export const BATCH_PATH = '/peer/parcel'

/** The JSON line before a frame's body, with the size of that body. */
export interface FrameHead {
  readonly size: number
}

/** Exceeds the largest accepted set of headers. */
const LINE_MAX = 256 * 1024
const LF = 0x0a

/** Encodes the head of a frame; each character is a byte (latin1). */
export const lineOf = (head: FrameHead): string => `${Buffer.from(JSON.stringify(head)).toString('latin1')}\n`

export interface FrameEvents<Head> {
  head(head: Head): void
  /** Called with each piece of the body. */
  data(bytes: Buffer): void
  /** Called at the end of the frame. */
  over(): void
}

/** Parses frames from chunks of any size. */
export class FrameReader<Head extends FrameHead> {
  readonly #on: FrameEvents<Head>
  /** Start of an incomplete line. */
  readonly #line = new ByteRope()
  #left = 0

  constructor(on: FrameEvents<Head>) {
    this.#on = on
  }

  /** Parses a chunk. Throws for invalid frames. */
  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) rest = rest.subarray(this.#left > 0 ? this.#body(rest) : this.#head(rest))
  }

  /** Returns the number of bytes consumed. */
  #body(bytes: Buffer): number {
    const taken = Math.min(this.#left, bytes.length)
    this.#left -= taken
    this.#on.data(bytes.subarray(0, taken))
    if (this.#left === 0) this.#on.over()
    return taken
  }

  #head(bytes: Buffer): number {
    const end = bytes.indexOf(LF)
    this.#line.add(end < 0 ? bytes : bytes.subarray(0, end))
    if (this.#line.size > LINE_MAX) throw new RangeError('The head of the frame is too long')
    if (end < 0) return bytes.length
    const head = JSON.parse(this.#line.take().toString()) as Head
    this.#left = head.size
    this.#on.head(head)
    if (this.#left === 0) this.#on.over()
    return end + 1
  }
}

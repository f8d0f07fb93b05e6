import { ByteRope } from '../../wire/framing/byte-rope.js'

/** Where requests of one turn go together; each answer comes back as soon as it is ready. */
export const PARCEL_PATH = '/peer/parcel'

/** What a packet begins with: a line of JSON, which says how many bytes follow. */
export interface PacketHead {
  readonly size: number
}

/** Longer than any headers that came in or go out. */
const LINE_MAX = 256 * 1024
const LF = 0x0a

/** The line of a packet; each character is a byte (latin1). */
export const lineOf = (head: PacketHead): string =>
  `${Buffer.from(JSON.stringify(head)).toString('latin1')}\n`

export interface PacketEvents<Head> {
  head(head: Head): void
  /** The next of its bytes. */
  data(bytes: Buffer): void
  /** It is complete. */
  over(): void
}

/** Reads packets, however they were cut on their way. */
export class PacketReader<Head extends PacketHead> {
  readonly #on: PacketEvents<Head>
  /** The beginning of a line whose end is still to come. */
  readonly #line = new ByteRope()
  #left = 0

  constructor(on: PacketEvents<Head>) {
    this.#on = on
  }

  /** Throws for what is no packet. */
  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) rest = rest.subarray(this.#left > 0 ? this.#body(rest) : this.#head(rest))
  }

  /** How many bytes were taken. */
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
    if (this.#line.size > LINE_MAX) throw new RangeError('A packet begins with a line that is too long')
    if (end < 0) return bytes.length
    const head = JSON.parse(this.#line.take().toString()) as Head
    this.#left = head.size
    this.#on.head(head)
    if (this.#left === 0) this.#on.over()
    return end + 1
  }
}

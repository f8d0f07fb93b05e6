import type { Writable } from 'node:stream'

const NEWLINE = Buffer.from('\n')

/** Writes messages as lines; those of one tick reach the operating system in one call. */
export class LineWriter {
  readonly #stream: Writable
  #corked = false

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** Bytes that the operating system has not taken yet. */
  get queuedBytes(): number {
    return this.#stream.writableLength
  }

  /** False: the peer is behind, or cannot be written to any more. */
  send(message: Buffer): boolean {
    const stream = this.#stream
    if (!stream.writable) return false
    if (!this.#corked) {
      this.#corked = true
      stream.cork()
      process.nextTick(() => {
        this.#corked = false
        stream.uncork()
      })
    }
    stream.write(message)
    return stream.write(NEWLINE)
  }
}

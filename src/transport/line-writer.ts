import type { Writable } from 'node:stream'
import { type OutgoingMessage, whole } from '../wire/message-parts.js'

const NEWLINE = Buffer.from('\n')
/** Up to this size a message is copied together with its newline, which costs less than a second write. */
const JOINED_BYTES = 64 * 1024
/** With this much waiting, the stream is flushed before the turn is over. */
const FLUSH_BYTES = 256 * 1024

/** Writes messages as lines; those of one turn of the event loop with one system call. */
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

  /** False: the peer is behind, or can no longer be written to. What is alone waits for no others. */
  send(message: OutgoingMessage, isAlone = false): boolean {
    const stream = this.#stream
    if (!stream.writable) return false
    if (!this.#corked && !isAlone) {
      this.#corked = true
      stream.cork()
      setImmediate(this.#flush)
    }
    const isFine = this.#put(message)
    if (stream.writableLength >= FLUSH_BYTES) this.#flush()
    return isFine
  }

  #put(message: OutgoingMessage): boolean {
    const stream = this.#stream
    if (Buffer.isBuffer(message)) {
      if (message.length <= JOINED_BYTES) return stream.write(Buffer.concat([message, NEWLINE]))
      stream.write(message)
      return stream.write(NEWLINE)
    }
    const { head, body } = message
    const tail = `${message.tail}\n`
    if (body.length <= JOINED_BYTES) return stream.write(whole({ head, body, tail }))
    stream.write(head, 'latin1')
    stream.write(body)
    return stream.write(tail, 'latin1')
  }

  readonly #flush = (): void => {
    if (!this.#corked) return
    this.#corked = false
    this.#stream.uncork()
  }
}

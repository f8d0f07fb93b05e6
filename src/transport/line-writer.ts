import type { Writable } from 'node:stream'
import { type OutgoingMessage, whole } from '../wire/message-parts.js'

const NEWLINE = Buffer.from('\n')
/** Up to this size a message and its newline are written as one piece: copying them costs less than a second piece. */
const JOINED_BYTES = 64 * 1024
/** With so much waiting, the operating system gets it before the turn is over. */
const FLUSH_BYTES = 256 * 1024

/**
 * Writes messages as lines; those of one turn of the event loop reach the operating system in one call. A turn and not a tick:
 * each message that comes in has a tick of its own, and a call of the system costs as much as all else that is done for one.
 */
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
  send(message: OutgoingMessage): boolean {
    const stream = this.#stream
    if (!stream.writable) return false
    if (!this.#corked) {
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

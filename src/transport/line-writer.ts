import type { Writable } from 'node:stream'
import { type OutgoingMessage, whole } from '../wire/message-parts.js'

const NEWLINE = Buffer.from('\n')
/** Up to this size, copying a message together with its newline is cheaper than a second write. */
const JOINED_BYTES = 64 * 1024
/** Above this backlog, the stream is flushed before the end of the turn. */
const FLUSH_BYTES = 256 * 1024

/** Writes messages as lines; all messages of one turn of the event loop in one system call. */
export class LineWriter {
  readonly #stream: Writable
  #corked = false

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** Bytes not yet accepted by the operating system. */
  get queuedBytes(): number {
    return this.#stream.writableLength
  }

  /** Queues a message, or writes it at once if `isAlone`. Returns false if the peer is behind or gone. */
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

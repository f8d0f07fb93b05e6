import { NO_BYTES } from '../kernel/nothing.js'

/** Bytes between two short texts, such as an event or a large answer, kept separate to avoid a copy. */
export interface MessageParts {
  /** The text before the bytes; one character per byte (latin1), as in `tail`. */
  readonly head: string
  readonly body: Buffer
  readonly tail: string
}

/** An outgoing message. */
export type OutgoingMessage = Buffer | MessageParts

/** Makes a message of a text with one character per byte (latin1). */
export const textFrame = (text: string): MessageParts => ({ head: text, body: NO_BYTES, tail: '' })

export const lengthOf = (frame: OutgoingMessage): number =>
  Buffer.isBuffer(frame) ? frame.length : frame.head.length + frame.body.length + frame.tail.length

export const whole = (frame: OutgoingMessage): Buffer => {
  if (Buffer.isBuffer(frame)) return frame
  const { head, body, tail } = frame
  const bytes = Buffer.allocUnsafe(head.length + body.length + tail.length)
  bytes.write(head, 0, 'latin1')
  bytes.set(body, head.length)
  bytes.write(tail, head.length + body.length, 'latin1')
  return bytes
}

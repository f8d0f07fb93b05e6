/** Bytes between a few characters, such as an event or a large answer, kept apart to save a copy. */
export interface MessageParts {
  /** Before the bytes; each character is a byte (latin1), as in `tail`. */
  readonly head: string
  readonly body: Buffer
  readonly tail: string
}

/** A message on its way out. */
export type OutgoingMessage = Buffer | MessageParts

const NOTHING = Buffer.alloc(0)

/** A text, each character of which is a byte (latin1), as a message. */
export const textFrame = (text: string): MessageParts => ({ head: text, body: NOTHING, tail: '' })

export const lengthOf = (frame: OutgoingMessage): number =>
  Buffer.isBuffer(frame) ? frame.length : frame.head.length + frame.body.length + frame.tail.length

export const whole = (frame: OutgoingMessage): Buffer => (Buffer.isBuffer(frame) ? frame : joined(frame))

function joined({ head, body, tail }: MessageParts): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + body.length + tail.length)
  bytes.write(head, 0, 'latin1')
  bytes.set(body, head.length)
  bytes.write(tail, head.length + body.length, 'latin1')
  return bytes
}

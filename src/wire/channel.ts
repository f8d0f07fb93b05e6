import type { Fault } from '../kernel/faults.js'
import type { OutgoingMessage } from './message-parts.js'

/** What a channel reports; nothing before `listen`, nothing after `closed`. */
export interface ChannelListener {
  /** One whole message, without its framing; never empty. The bytes belong to the listener. */
  message(bytes: Buffer): void
  /** A message above the limit was skipped; `ends` are its first and last bytes, if known. */
  skipped(bytes: number, ends?: Buffer): void
  /** A line or event is longer than the limit and not over yet; where it ends it is told as `skipped`. */
  overrun?(): void
  /** The peer reads again after `send` had returned false. */
  drained(): void
  /**
   * The peer has said all, but may still read: the listener closes the channel when all is answered. Channels
   * that cannot be half open never call it; without it the channel is closed.
   */
  ended?(): void
  /** The channel is gone: by `close`, by the peer (no fault), or by a failure. Comes exactly once. */
  closed(fault: Fault | undefined): void
}

/** PORT. A two-way stream of messages: stdin and stdout, a child's pipes, a socket. Bytes, no JSON. */
export interface Channel {
  listen(listener: ChannelListener): void
  /**
   * Queues one line of JSON text. False: the peer is behind, slow down until `drained`. Sending on a closed
   * channel does nothing and returns false. `isAlone`: no other is likely to follow soon, to be sent with it.
   */
  send(message: OutgoingMessage, isAlone?: boolean): boolean
  /** Bytes that were sent but not yet taken by the operating system. */
  readonly queuedBytes: number
  /** Stops reading from the peer, so that it feels the back-pressure. */
  pause(): void
  resume(): void
  /**
   * Ends the channel in order (a child goes through the kill ladder); never rejects. The peer is told `why`
   * where the transport has a word for it.
   */
  close(why?: 'unauthorized'): Promise<void>
}

/**
 * The same listener for a channel whose events nobody else catches: `failed` gets what it throws, and gives
 * up that one channel.
 */
export const guarded = (listener: ChannelListener, failed: (thrown: unknown) => void): ChannelListener => {
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (thrown) {
      failed(thrown)
    }
  }
  return {
    message: bytes => attempt(() => listener.message(bytes)),
    skipped: (bytes, ends) => attempt(() => listener.skipped(bytes, ends)),
    overrun: () => attempt(() => listener.overrun?.()),
    drained: () => attempt(() => listener.drained()),
    ...(listener.ended !== undefined && { ended: () => attempt(() => listener.ended?.()) }),
    closed: fault => attempt(() => listener.closed(fault)),
  }
}

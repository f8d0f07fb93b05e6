import type { Fault } from '../kernel/faults.js'
import type { OutgoingMessage } from './message-parts.js'

/** Receives the events of a channel; nothing before `listen`, nothing after `closed`. */
export interface ChannelListener {
  /** True while a server owes an answer, and may be too busy to show other signs of life. */
  readonly isBusy?: boolean
  /** One complete message without its framing; never empty. The listener owns the bytes. */
  message(bytes: Buffer): void
  /** A message above the limit was skipped; `ends` are its first and last bytes, if known. */
  skipped(bytes: number, ends?: Buffer): void
  /** A line or event exceeds the limit and has not ended yet; `skipped` follows at its end. */
  overrun?(): void
  /** The peer reads again after `send` returned false. */
  drained(): void
  /**
   * The peer closed its output but may still read: the listener closes the channel once everything is
   * answered. Never called by channels that cannot be half open. Without this method, the channel is closed.
   */
  ended?(): void
  /**
   * The peer refused a message without processing it, and will refuse all others: the channel takes no more,
   * and `closed` follows once the ones on their way had time for their answers. Without this method, the
   * channel is closed.
   */
  refused?(message: Buffer, why: Fault): void
  /** The channel is gone: by `close`, by the peer (no fault), or by a failure. Called exactly once. */
  closed(fault: Fault | undefined): void
}

/**
 * PORT. A two-way stream of messages: stdin and stdout, a child's pipes, a socket. Carries bytes, not JSON.
 */
export interface Channel {
  listen(listener: ChannelListener): void
  /**
   * Queues one line of JSON text. Returns false if the peer is behind: slow down until `drained`. On a closed
   * channel it does nothing and returns false. `isAlone`: no other message is likely to follow soon, so that
   * batching is useless.
   */
  send(message: OutgoingMessage, isAlone?: boolean): boolean
  /** Bytes sent but not yet accepted by the operating system. */
  readonly queuedBytes: number
  /** Stops reading from the peer, which applies back-pressure. */
  pause(): void
  resume(): void
  /**
   * Ends the channel in order (a child goes through the kill ladder); never rejects. Reports `why` to the
   * peer where the transport supports it.
   */
  close(why?: 'unauthorized'): Promise<void>
}

/** Wraps a listener so that exceptions close only its own channel: they are passed to `failed`. */
export const guarded = (listener: ChannelListener, failed: (thrown: unknown) => void): ChannelListener => {
  const attempt = (work: () => void): void => {
    try {
      work()
    } catch (thrown) {
      failed(thrown)
    }
  }
  return {
    get isBusy() {
      return listener.isBusy === true
    },
    message(bytes) {
      try {
        listener.message(bytes)
      } catch (thrown) {
        failed(thrown)
      }
    },
    skipped: (bytes, ends) => attempt(() => listener.skipped(bytes, ends)),
    overrun: () => attempt(() => listener.overrun?.()),
    drained: () => attempt(() => listener.drained()),
    ...(listener.ended !== undefined && { ended: () => attempt(() => listener.ended?.()) }),
    ...(listener.refused !== undefined && {
      refused: (message, why) => attempt(() => listener.refused?.(message, why)),
    }),
    closed: fault => attempt(() => listener.closed(fault)),
  }
}

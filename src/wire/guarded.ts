import type { ChannelListener } from './channel.js'

/**
 * The same listener, for a channel whose events nobody else catches: what it throws is told to `failed`, which gives up that one
 * channel, and goes no further.
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

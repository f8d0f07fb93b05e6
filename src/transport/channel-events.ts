import type { Fault } from '../kernel/faults.js'
import type { ChannelListener } from '../wire/channel.js'

/** Holds the listener of a channel and reports the end exactly once, even to a later listener. */
export class ChannelEvents {
  /** Undefined until `attach`. */
  listener: ChannelListener | undefined
  isClosed = false
  #fault: Fault | undefined

  /** Sets the listener. Returns false if the channel is closed; the listener is notified in the next turn. */
  attach(listener: ChannelListener): boolean {
    this.listener = listener
    if (this.isClosed) setImmediate(() => listener.closed(this.#fault))
    return !this.isClosed
  }

  /** Ends the channel; only the first call counts. */
  close(fault: Fault | undefined): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#fault = fault
    this.listener?.closed(fault)
  }
}

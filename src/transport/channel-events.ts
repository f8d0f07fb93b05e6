import type { Fault } from '../kernel/faults.js'
import type { ChannelListener } from '../wire/channel.js'

/** Holds the listener of a channel and reports the end exactly once, even to a later listener. */
export class ChannelEvents {
  /** Undefined until `attach`. */
  listener: ChannelListener | undefined
  #end: { readonly fault: Fault | undefined } | undefined

  get isClosed(): boolean {
    return this.#end !== undefined
  }

  /** Sets the listener. Returns false if the channel is closed; the listener is notified in the next turn. */
  attach(listener: ChannelListener): boolean {
    this.listener = listener
    const end = this.#end
    if (end !== undefined) setImmediate(() => listener.closed(end.fault))
    return end === undefined
  }

  /** Ends the channel; only the first call counts. */
  close(fault: Fault | undefined): void {
    if (this.#end !== undefined) return
    this.#end = { fault }
    this.listener?.closed(fault)
  }
}

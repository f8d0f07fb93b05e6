import type { Fault } from '../kernel/faults.js'
import type { ChannelListener } from '../wire/channel.js'

/** The listener of a channel and the channel's end: `closed` comes once, also to a listener that arrives after it. */
export class ChannelEvents {
  /** Undefined until `attach`. */
  listener: ChannelListener | undefined
  #end: { readonly fault: Fault | undefined } | undefined

  get isClosed(): boolean {
    return this.#end !== undefined
  }

  /** Takes the listener; false if the channel is closed already, which the listener learns in the next turn. */
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

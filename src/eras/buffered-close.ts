import type { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { DownlinkListener, DownstreamCall, ServerRequest } from '../model/links.js'

/** Passes on what a link says, but its end only once it is in use: another link may follow a failed try. */
export class BufferedClose implements DownlinkListener {
  readonly #listener: DownlinkListener
  #end: Fault | undefined
  #isReleased = false

  constructor(listener: DownlinkListener) {
    this.#listener = listener
  }

  requested(ask: ServerRequest): void {
    this.#listener.requested(ask)
  }

  notified(method: string, params: JsonText | undefined, about: DownstreamCall | undefined): void {
    this.#listener.notified(method, params, about)
  }

  closed(fault: Fault): void {
    this.#end = fault
    if (this.#isReleased) this.#listener.closed(fault)
  }

  /** The link is in use from here on. */
  release(): void {
    this.#isReleased = true
    if (this.#end !== undefined) this.#listener.closed(this.#end)
  }
}

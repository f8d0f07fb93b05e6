import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { DownlinkListener, DownstreamCall, ServerRequest } from '../../model/links.js'

/**
 * Forwards the events of a link, but holds back its close until it is in use, because a failed attempt may be
 * followed by another link.
 */
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

  /** The link is in use from now on. */
  release(): void {
    this.#isReleased = true
    if (this.#end !== undefined) this.#listener.closed(this.#end)
  }
}

import type { CallSink, DownstreamCall } from '../../../model/links.js'
import type { Outcome, Settle } from '../../../model/outcome.js'

/** A request that this side of the connection serves itself. Like any other it is answered after it was made, not while. */
export class LocalCall implements DownstreamCall {
  readonly #sink: CallSink
  readonly #forget: (settle: Settle) => void
  #isOver = false

  /** `forget` is told when nobody waits any more for what `serve` was to settle. */
  constructor(
    sink: CallSink,
    serve: (settle: Settle) => void,
    forget: (settle: Settle) => void = () => undefined,
  ) {
    this.#sink = sink
    this.#forget = forget
    queueMicrotask(() => {
      if (!this.#isOver) serve(this.#settle)
    })
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#forget(this.#settle)
  }

  readonly #settle = (outcome: Outcome): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.ended(outcome)
  }
}

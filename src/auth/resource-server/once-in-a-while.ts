import type { Clock } from '../../kernel/async/clock.js'

/** How long the outcome of an attempt stands. */
export interface Keep {
  readonly doneMs: number
  readonly failedMs: number
}

/** Asks somebody once, whoever wants the answer meanwhile, and not again until it is too old. */
export class OnceInAWhile<T> {
  readonly #load: () => Promise<T>
  readonly #keep: Keep
  readonly #clock: Clock
  #attempt: Promise<T> | undefined
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(load: () => Promise<T>, keep: Keep, clock: Clock) {
    this.#load = load
    this.#keep = keep
    this.#clock = clock
  }

  /** Rejects like the attempt, and for a while after it. */
  get(): Promise<T> {
    if (this.#attempt !== undefined && this.#clock.nowMs() < this.#untilMs) return this.#attempt
    this.#untilMs = Number.POSITIVE_INFINITY
    this.#attempt = this.#load().then(
      value => {
        this.#untilMs = this.#clock.nowMs() + this.#keep.doneMs
        return value
      },
      (thrown: unknown) => {
        this.#untilMs = this.#clock.nowMs() + this.#keep.failedMs
        throw thrown
      },
    )
    return this.#attempt
  }
}

import type { Clock } from '../../kernel/async/clock.js'

/** Lifetime of a result. */
export interface Keep {
  readonly doneMs: number
  readonly failedMs: number
}

/** Caches an asynchronous result; all callers share one attempt. */
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

  /** Rejects like the last attempt, until it may be repeated. */
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

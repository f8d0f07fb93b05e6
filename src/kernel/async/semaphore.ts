import { Fault } from '../faults.js'
import type { Clock } from './clock.js'

export interface SemaphoreOptions {
  /** The current maximum of concurrent holders. */
  readonly places: () => number
  /** A holder that takes longer no longer counts. */
  readonly holdMs: number
  readonly clock: Clock
  readonly onWait?: () => void
}

interface Waiting {
  readonly enter: () => void
}

/** Limits concurrent work; waiters run in order of arrival. */
export class Semaphore {
  readonly #options: SemaphoreOptions
  #inside = 0
  readonly #waiting = new Set<Waiting>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Runs the work when a place is free. Rejects as the work does, or with a Fault `cancelled` if aborted
   * before.
   */
  async pass<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const turn = this.#enter(signal)
    if (turn !== undefined) await turn
    let isGone = false
    const leave = (): void => {
      if (isGone) return
      isGone = true
      limit.cancel()
      this.#leave()
    }
    const limit = this.#options.clock.after(this.#options.holdMs, leave)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  /** Resolves when a place is free; undefined if one is free now. */
  #enter(signal: AbortSignal): Promise<void> | undefined {
    if (signal.aborted) return Promise.reject(calledOff())
    if (this.#inside < this.#options.places()) {
      this.#inside += 1
      return undefined
    }
    this.#options.onWait?.()
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(waiting)
        reject(calledOff())
      }
      const waiting: Waiting = {
        enter: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Hands the freed place to the next waiters; the number of places may have changed. */
  #leave(): void {
    this.#inside -= 1
    for (const next of this.#waiting) {
      if (this.#inside >= this.#options.places()) return
      this.#inside += 1
      this.#waiting.delete(next)
      next.enter()
    }
  }
}

const calledOff = (): Fault => new Fault('cancelled', 'it was called off before its turn')

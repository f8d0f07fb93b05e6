import { Fault } from '../faults.js'
import type { Clock } from './clock.js'

/** Who is let in, and for how long. */
export interface SemaphoreOptions {
  /** How many at a time, at the moment. */
  readonly places: () => number
  /** Who is inside for longer no longer takes up a place. */
  readonly holdMs: number
  readonly clock: Clock
  /** Told whenever somebody has to wait. */
  readonly onWait?: () => void
}

interface Waiting {
  readonly enter: () => void
}

/** Lets so many through at a time; the others wait in the order in which they came. */
export class Semaphore {
  readonly #options: SemaphoreOptions
  #inside = 0
  readonly #waiting = new Set<Waiting>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /**
   * Does the work when it is its turn, at once if that is now, and lets the next one in when it is over.
   * Rejects as the work does, or with a Fault `cancelled` if `signal` is aborted before.
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

  /** The time until it is one's turn; undefined if that is now. */
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

  /** The place of one who leaves is the next one's at once; there may be more places by now, or fewer. */
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

import { Fault } from '../faults.js'
import type { Clock } from './clock.js'

export interface SemaphoreOptions {
  /** How many may be inside at the moment. */
  readonly places: () => number
  /** Whoever is inside for longer no longer takes up a place. */
  readonly holdMs: number
  readonly clock: Clock
  readonly onWait?: () => void
}

interface Waiting {
  readonly enter: () => void
}

/** Lets a limited number through at a time; the others wait in order of arrival. */
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

  /** Runs the work in turn. Rejects as the work does, or with a Fault `cancelled` if aborted before. */
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

  /** Resolves when it is one's turn; undefined if that is now. */
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

  /** Passes the freed place on at once; there may be more places by now, or fewer. */
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

import type { Clock, Timer } from '../../src/kernel/async/clock.js'

interface Due {
  atMs: number
  readonly periodMs: number | undefined
  readonly work: () => void
}

/** A clock that only advances on request. */
export class FakeClock implements Clock {
  #nowMs = 1_000_000
  readonly #due = new Set<Due>()

  /** Returns the number of pending timers. */
  get pending(): number {
    return this.#due.size
  }

  nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, work: () => void): Timer {
    return this.#add({ atMs: this.#nowMs + delayMs, periodMs: undefined, work })
  }

  every(periodMs: number, work: () => void): Timer {
    return this.#add({ atMs: this.#nowMs + periodMs, periodMs, work })
  }

  /** Advances the time; timers run in the order of their due times. */
  advance(ms: number): void {
    const endMs = this.#nowMs + ms
    for (;;) {
      const [next] = [...this.#due].filter(due => due.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#nowMs = next.atMs
      if (next.periodMs === undefined) this.#due.delete(next)
      else next.atMs += next.periodMs
      next.work()
    }
    this.#nowMs = endMs
  }

  #add(due: Due): Timer {
    this.#due.add(due)
    const cancel = (): void => {
      this.#due.delete(due)
    }
    return { cancel, [Symbol.dispose]: cancel }
  }
}

/** Runs all pending microtasks and immediates. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(resolve => setImmediate(resolve))
}

import { setTimeout as delay } from 'node:timers/promises'

/** Maximum extension on a busy machine; some clients wait at most ten seconds for a server. */
const SPARE_MS = 2500

/**
 * A deadline that is extended by the delay of our own timers: on a busy machine, the process that we wait for
 * is slow too.
 */
export class Deadline {
  readonly #limitMs: number
  #endMs: number
  #spareMs = SPARE_MS

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#endMs = performance.now() + limitMs
  }

  get hasEnded(): boolean {
    return performance.now() >= this.#endMs
  }

  /** Restarts the deadline. */
  renew(): void {
    this.#endMs = Math.max(this.#endMs, performance.now() + this.#limitMs)
  }

  async pause(ms: number): Promise<void> {
    const nowMs = performance.now()
    const wakeMs = Math.min(nowMs + ms, this.#endMs)
    // Newer versions of Node warn about a negative delay.
    await delay(Math.max(0, wakeMs - nowMs))
    const lateMs = Math.min(Math.max(performance.now() - wakeMs, 0), this.#spareMs)
    this.#spareMs -= lateMs
    this.#endMs += lateMs
  }
}

import { setTimeout as delay } from 'node:timers/promises'

/** What a busy machine may add; some clients wait for no more than ten seconds for their servers. */
const SPARE_MS = 2500

/**
 * How long something may take, not counting how much later than it was to we were woken up in between: where
 * others take the processor, what we wait for is as slow as we are.
 */
export class Patience {
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

  /** Begins anew. */
  renew(): void {
    this.#endMs = Math.max(this.#endMs, performance.now() + this.#limitMs)
  }

  async pause(ms: number): Promise<void> {
    const wakeMs = Math.min(performance.now() + ms, this.#endMs)
    await delay(wakeMs - performance.now())
    const lateMs = Math.min(Math.max(performance.now() - wakeMs, 0), this.#spareMs)
    this.#spareMs -= lateMs
    this.#endMs += lateMs
  }
}

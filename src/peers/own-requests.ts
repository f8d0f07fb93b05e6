import type { OnLate } from '../model/links.js'

/** Maximum time that a server is taken to work on a request that was cancelled. */
export const LATE_MS = 180_000
/** Maximum number of cancelled requests that are told apart on one connection. */
export const LATE_MAX = 1024

/** Counts the proxy's own requests that a server may be working on: its questions may be about them. */
export class OwnRequests {
  #open = 0
  /** When each cancelled request stops counting, in order. */
  readonly #cancelled = new Set<{ readonly untilMs: number }>()

  began(): void {
    this.#open += 1
  }

  ended(): void {
    this.#open -= 1
  }

  /** Keeps counting a request that was cancelled: until its late answer, or for `LATE_MS`. */
  cancelled(nowMs: number): OnLate {
    this.#open -= 1
    const late = { untilMs: nowMs + LATE_MS }
    this.#cancelled.add(late)
    if (this.#cancelled.size > LATE_MAX) this.#forgetOldest()
    return () => this.#cancelled.delete(late)
  }

  /** Whether the server may be working on any. */
  isAny(nowMs: number): boolean {
    if (this.#open > 0) return true
    for (const late of this.#cancelled) {
      if (late.untilMs > nowMs) return true
      this.#cancelled.delete(late)
    }
    return false
  }

  /** Forgets the cancelled requests: the connection is gone. */
  lost(): void {
    this.#cancelled.clear()
  }

  #forgetOldest(): void {
    const [oldest] = this.#cancelled
    if (oldest !== undefined) this.#cancelled.delete(oldest)
  }
}

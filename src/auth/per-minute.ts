import type { Clock } from '../kernel/async/clock.js'

const MINUTE_MS = 60_000
/** Maximum number of keys per minute; the oldest are dropped. */
const MOST_KEYS = 10_000

/** Returns the part of an address that identifies one party: for IPv6, the network (RFC 6177). */
export const addressGroup = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '').replace(/%.*$/, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::')
  const [before, after] = [head, tail ?? ''].map(part => part.split(':').filter(group => group !== ''))
  const zeros = tail === undefined ? 0 : 8 - (before?.length ?? 0) - (after?.length ?? 0)
  return [...(before ?? []), ...Array<string>(Math.max(0, zeros)).fill('0'), ...(after ?? [])]
    .slice(0, 4)
    .join(':')
}

/** Counts events per minute by key, such as an address. */
export class PerMinute {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns the count in this minute. */
  count(key: string): number {
    return this.#current().get(key) ?? 0
  }

  add(key: string): void {
    const counts = this.#current()
    const [oldest] = counts.keys()
    if (oldest !== undefined && counts.size >= MOST_KEYS && !counts.has(key)) counts.delete(oldest)
    counts.set(key, this.count(key) + 1)
  }

  /** Milliseconds until the counts are reset. */
  get leftMs(): number {
    return Math.max(0, this.#sinceMs + MINUTE_MS - this.#clock.nowMs())
  }

  #current(): Map<string, number> {
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#counts.clear()
      this.#sinceMs = nowMs
    }
    return this.#counts
  }
}

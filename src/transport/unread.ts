import type { ServerResponse } from 'node:http'
import type { Bounds } from '../kernel/bounds.js'
import type { Clock, Timer } from '../kernel/clock.js'
import type { Logger } from '../kernel/logger.js'

/** How soon we notice that a client takes nothing. */
const LOOK_MS = 1000
/** What is on its way counts as taken only in large pieces, so a long answer on a slow line gets time by its length. */
const SLOWEST_BYTES_PER_MS = 256
/** An answer that is shorter than this fits into what the operating system holds for us. */
const WORTH_WATCHING_BYTES = 16 * 1024

/** What we last saw of an answer that waits for its client. */
interface Seen {
  bytes: number
  tookMs: number
}

const CUT_OFF = new Error('The client does not read')

/**
 * Answers that wait for clients who do not read them fast enough. One of which nothing was taken for too long is cut off, and
 * so are the longest when all together are too long: whoever does not read costs nobody else anything.
 */
export class Unread {
  readonly #bounds: Bounds
  readonly #clock: Clock
  readonly #log: Logger
  readonly #seen = new Map<ServerResponse, Seen>()
  #timer: Timer | undefined

  constructor(bounds: Bounds, clock: Clock, log: Logger) {
    this.#bounds = bounds
    this.#clock = clock
    this.#log = log
  }

  /** What waits at the moment, in bytes. */
  get bytes(): number {
    let sum = 0
    for (const response of this.#seen.keys()) sum += response.writableLength
    return sum
  }

  /** So many bytes were written to an answer; most are taken at once. */
  wrote(response: ServerResponse, bytes: number): void {
    if (bytes < WORTH_WATCHING_BYTES && response.writableLength < WORTH_WATCHING_BYTES) return
    if (response.writableLength === 0 || response.destroyed) return
    if (!this.#seen.has(response)) {
      this.#seen.set(response, { bytes: response.writableLength, tookMs: this.#clock.nowMs() })
      response.once('close', () => this.#seen.delete(response))
      this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
    }
    if (bytes >= WORTH_WATCHING_BYTES) this.shed(this.#bounds.max.unread)
  }

  /** Cuts off those who have the most in front of them, until no more than this waits. */
  shed(maxBytes: number): void {
    let sum = this.bytes
    while (sum > maxBytes) {
      let longest: ServerResponse | undefined
      for (const response of this.#seen.keys()) {
        if (response.writableLength > (longest?.writableLength ?? 0)) longest = response
      }
      if (longest === undefined) return
      sum -= longest.writableLength
      this.#cutOff(longest, 'unread')
    }
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #look(): void {
    if (this.#seen.size === 0) {
      this.close()
      return
    }
    const nowMs = this.#clock.nowMs()
    for (const [response, seen] of this.#seen) {
      const { writableLength } = response
      if (writableLength === 0) {
        this.#seen.delete(response)
        continue
      }
      if (writableLength < seen.bytes) seen.tookMs = nowMs
      seen.bytes = writableLength
      const patienceMs = Math.max(this.#bounds.max.stall, writableLength / SLOWEST_BYTES_PER_MS)
      if (nowMs - seen.tookMs >= patienceMs) this.#cutOff(response, 'stall')
    }
  }

  #cutOff(response: ServerResponse, limit: 'stall' | 'unread'): void {
    const { writableLength: queuedBytes } = response
    this.#seen.delete(response)
    this.#bounds.hit(limit, { client: response.socket?.remoteAddress })
    this.#log.warn({ queuedBytes }, 'cut off a client that does not read an answer')
    // Without an error of ours Node makes one for each chunk that waits (lib/internal/streams/writable.js, errorBuffer).
    response.destroy(CUT_OFF)
  }
}

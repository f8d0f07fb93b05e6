import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Holding } from '../../kernel/byte-account.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'

/** How soon we notice that a client takes nothing. */
const LOOK_MS = 1000
/** What is on its way counts as taken only in large pieces, so a long answer on a slow line gets time by its length. */
const SLOWEST_BYTES_PER_MS = 256
/** An answer that is shorter than this fits into what the operating system holds for us. */
const WORTH_WATCHING_BYTES = 16 * 1024

/** What we last saw of an answer that waits for its client. */
interface Seen {
  readonly holding: Holding
  readonly onClose: () => void
  bytes: number
  tookMs: number
}

const CUT_OFF = new Error('The client does not read')

/**
 * Answers that wait for clients who do not read them fast enough. One of which nothing was taken for too long is cut off, and
 * so are the longest when all together are too long: whoever does not read costs nobody else anything.
 */
export class Unread {
  readonly #bounds: LimitCounters
  readonly #clock: Clock
  readonly #log: Logger
  readonly #seen = new Map<ServerResponse, Seen>()
  #timer: Timer | undefined

  constructor(bounds: LimitCounters, clock: Clock, log: Logger) {
    this.#bounds = bounds
    this.#clock = clock
    this.#log = log
  }

  /** So many bytes were written to an answer; most are taken at once. */
  wrote(response: ServerResponse, bytes: number): void {
    if (bytes < WORTH_WATCHING_BYTES && response.writableLength < WORTH_WATCHING_BYTES) return
    if (response.writableLength === 0 || response.destroyed) return
    const { holding } = this.#seen.get(response) ?? this.#watch(response)
    holding.set(response.writableLength)
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #watch(response: ServerResponse): Seen {
    const holding = this.#bounds.unread.open(
      () => this.#cutOff(response),
      () => response.writableLength,
    )
    const onClose = (): void => this.#forget(response)
    const seen = { holding, onClose, bytes: response.writableLength, tookMs: this.#clock.nowMs() }
    this.#seen.set(response, seen)
    response.on('close', onClose)
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#look())
    return seen
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
        this.#forget(response)
        continue
      }
      if (writableLength < seen.bytes) seen.tookMs = nowMs
      seen.bytes = writableLength
      const patienceMs = Math.max(this.#bounds.max.stall, writableLength / SLOWEST_BYTES_PER_MS)
      if (nowMs - seen.tookMs < patienceMs) continue
      this.#bounds.hit('stall', { client: response.socket?.remoteAddress })
      this.#cutOff(response)
    }
  }

  #forget(response: ServerResponse): void {
    const seen = this.#seen.get(response)
    if (seen === undefined) return
    seen.holding.set(0)
    // A stream that lives for days may be behind now and then.
    response.off('close', seen.onClose)
    this.#seen.delete(response)
  }

  #cutOff(response: ServerResponse): void {
    this.#log.warn({ queuedBytes: response.writableLength }, 'cut off a client that does not read an answer')
    this.#forget(response)
    // Without an error of ours Node makes one for each chunk that waits (lib/internal/streams/writable.js, errorBuffer).
    response.destroy(CUT_OFF)
  }
}

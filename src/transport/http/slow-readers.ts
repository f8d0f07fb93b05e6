import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Holding } from '../../kernel/byte-account.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'

/** Interval of the checks. */
const LOOK_MS = 1000
/** Progress is visible only in large steps, so the allowed time is proportional to the length. */
const SLOWEST_BYTES_PER_MS = 256
/** A shorter response fits into the socket buffers of the operating system. */
const WORTH_WATCHING_BYTES = 16 * 1024

/** State of a response that the client has not read. */
interface Seen {
  readonly holding: Holding
  readonly onClose: () => void
  bytes: number
  tookMs: number
}

const CUT_OFF = new Error('The client does not read')

/**
 * Watches responses to clients that do not read. Cuts off those without progress for too long, and the
 * longest ones when all together take too much memory.
 */
export class SlowReaders {
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

  /** Call after writing to a response whose bytes were not accepted at once. */
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
    this.#timer ??= this.#clock.every(LOOK_MS, () => this.#check())
    return seen
  }

  #check(): void {
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
      const graceMs = Math.max(this.#bounds.max.stall, writableLength / SLOWEST_BYTES_PER_MS)
      if (nowMs - seen.tookMs < graceMs) continue
      this.#bounds.hit('stall', { client: response.socket?.remoteAddress })
      this.#cutOff(response)
    }
  }

  #forget(response: ServerResponse): void {
    const seen = this.#seen.get(response)
    if (seen === undefined) return
    seen.holding.set(0)
    // A long-lived stream may fall behind now and then.
    response.off('close', seen.onClose)
    this.#seen.delete(response)
  }

  #cutOff(response: ServerResponse): void {
    this.#log.warn({ queuedBytes: response.writableLength }, 'cut off a client that does not read a response')
    this.#forget(response)
    // Without an error Node creates one for each queued chunk (lib/internal/streams/writable.js,
    // errorBuffer).
    response.destroy(CUT_OFF)
  }
}

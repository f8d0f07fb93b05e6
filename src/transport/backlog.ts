import type { Clock, Timer } from '../kernel/async/clock.js'
import type { ByteAccount, Holding } from '../kernel/byte-account.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../kernel/limits.js'

/** Bounds on what waits for a peer that does not read. */
export interface BacklogLimits {
  /** Above it `send` returns false. */
  readonly softBytes: number
  /** A peer that is further behind than this when the next message comes is cut off. */
  readonly hardBytes: number
  /** The time in which a peer has to read up to 4 MiB; for more it gets more, in proportion. */
  readonly stallMs: number
}

/** The bounds of every connection that is not a child of ours. */
export const backlogLimits = ({ softQueue, clientQueue, stall }: Limits): BacklogLimits => ({
  softBytes: softQueue,
  // Several large answers at once pile up for a moment in front of readers that are quick.
  hardBytes: clientQueue,
  stallMs: stall,
})

/** The same where nothing else was said. */
export const BACKLOG_LIMITS: BacklogLimits = backlogLimits(DEFAULT_LIMITS)

/** What even a slow connection carries within `stallMs`. */
const STALL_BYTES = 4 * 1024 * 1024

/** Less than this is on its way to the operating system. */
const WORTH_COUNTING_BYTES = 16 * 1024

/** Whose backlog it is, and whom to tell. */
export interface BacklogOptions {
  readonly limits: BacklogLimits
  readonly clock: Clock
  /** Where a peer that was behind for too long is counted. */
  readonly bounds?: LimitCounters | undefined
  /** Where what waits is counted with that of others, and cut off when it is most of too much. */
  readonly account?: ByteAccount | undefined
  /** Bytes that the operating system has not taken yet. */
  readonly queuedBytes: () => number
  readonly onDrained: () => void
  /** The peer was behind for too long, or by too much; comes once. */
  readonly onStalled: () => void
}

/** Watches what waits for one peer: whether to slow down, when to go on, and when to give up. */
export class Backlog {
  readonly #options: BacklogOptions
  readonly #holding: Holding | undefined
  /** Runs as long as the peer is behind. */
  #patience: Timer | undefined
  #behindSinceMs = 0
  #peakBytes = 0

  constructor(options: BacklogOptions) {
    this.#options = options
    // Not now: whoever sends does not expect the end of the channel in the middle of it.
    this.#holding = options.account?.open(() => setImmediate(options.onStalled), options.queuedBytes)
  }

  get isBehind(): boolean {
    return this.#patience !== undefined
  }

  /** Whether one more message may be queued, however large it is itself. */
  get hasRoom(): boolean {
    return this.#options.queuedBytes() <= this.#options.limits.hardBytes
  }

  /** A message was queued. False: the peer is behind. */
  grew(): boolean {
    const { clock, limits, queuedBytes } = this.#options
    const bytes = queuedBytes()
    this.#holding?.set(bytes < WORTH_COUNTING_BYTES ? 0 : bytes)
    if (this.#patience === undefined) {
      if (bytes <= limits.softBytes) return true
      this.#behindSinceMs = clock.nowMs()
      this.#peakBytes = bytes
      this.#wait()
    }
    this.#peakBytes = Math.max(this.#peakBytes, bytes)
    return false
  }

  /** The operating system took something. */
  shrank(): void {
    this.#holding?.look()
    if (this.#patience === undefined) return
    if (this.#options.queuedBytes() > this.#options.limits.softBytes) return
    this.end()
    this.#options.onDrained()
  }

  /** Nothing will be told any more, unless the peer gets behind again. */
  end(): void {
    this.#holding?.set(0)
    this.#patience?.cancel()
    this.#patience = undefined
  }

  #wait(): void {
    const { clock, limits, onStalled } = this.#options
    const allowedMs = limits.stallMs * Math.max(1, this.#peakBytes / STALL_BYTES)
    const restMs = this.#behindSinceMs + allowedMs - clock.nowMs()
    // A message that came meanwhile may have bought time.
    if (restMs > 0) this.#patience = clock.after(restMs, () => this.#wait())
    else {
      this.end()
      this.#options.bounds?.hit('stall')
      onStalled()
    }
  }
}

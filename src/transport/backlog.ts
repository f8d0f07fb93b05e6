import { getDefaultHighWaterMark } from 'node:stream'
import type { Clock, Timer } from '../kernel/async/clock.js'
import type { Holding } from '../kernel/byte-account.js'
import type { LimitCounters } from '../kernel/limit-counters.js'

/** What even a slow connection carries within the `stall` limit; a longer backlog gets more time. */
const STALL_BYTES = 4 * 1024 * 1024

/** Anything less is already on its way to the operating system. */
const WORTH_COUNTING_BYTES = 16 * 1024

/** Node says that what waits was taken ('drain') only if it was as much as this: 64 KiB from Node 22 on. */
const TOLD_BYTES = getDefaultHighWaterMark(false)

/** Far above `serverQueue`, because responses and notifications to a child do not stop at it. */
const CHILD_FACTOR = 16

/** Whose backlog it is, and what happens when it grows too long. */
export interface BacklogOptions {
  readonly peer: 'client' | 'server' | 'child'
  readonly clock: Clock
  readonly bounds: LimitCounters
  /** Bytes that the operating system has not taken yet. */
  readonly queuedBytes: () => number
  readonly onDrained: () => void
  /** Whether a peer may stay behind for ever, as long as what waits for it is within its limit. */
  readonly isPatient?: boolean
  /** The peer was behind for too long, or by too much. Never called while a message is being sent. */
  readonly onStalled: () => void
}

/** Watches what waits for one peer: when to slow down, when to go on, and when to give up. */
export class Backlog {
  readonly #options: BacklogOptions
  readonly #limit: 'clientQueue' | 'serverQueue'
  readonly #hardBytes: number
  readonly #softBytes: number
  readonly #holding: Holding | undefined
  /** What is counted of the backlog of a program. */
  #countedBytes = 0
  /** Runs while the peer is behind. */
  #stallTimer: Timer | undefined
  #behindSinceMs = 0
  /** When the peer was last seen to take something, or had nothing to take. */
  #takenMs: number
  #peakBytes = 0

  constructor(options: BacklogOptions) {
    const { bounds, onStalled, peer, queuedBytes } = options
    const { clientQueue, serverQueue, softQueue } = bounds.max
    this.#options = options
    this.#takenMs = options.clock.nowMs()
    this.#limit = peer === 'child' ? 'serverQueue' : 'clientQueue'
    this.#hardBytes = peer === 'child' ? CHILD_FACTOR * serverQueue : clientQueue
    this.#softBytes = Math.max(softQueue, TOLD_BYTES)
    // Only requests wait for servers, and they are bounded where they come from.
    if (peer === 'client') this.#holding = bounds.unread.open(() => setImmediate(onStalled), queuedBytes)
  }

  get isBehind(): boolean {
    return this.#stallTimer !== undefined
  }

  /** Whether what waits for the peer is within its limit. */
  get hasRoom(): boolean {
    return this.#options.queuedBytes() <= this.#hardBytes
  }

  /**
   * Whether one more message may be queued, however large it is itself; gives up on the peer if not. A client
   * that reads may be far behind for a moment, since servers may answer many of its calls at once:
   * `limits.unread` bounds what waits for all clients.
   */
  admit(): boolean {
    const { bounds, clock, peer } = this.#options
    if (this.hasRoom) return true
    if (peer !== 'child' && clock.nowMs() - this.#takenMs < bounds.max.stall) return true
    bounds.hit(this.#limit)
    setImmediate(this.#options.onStalled)
    return false
  }

  /** Call after queueing a message. False: the peer is behind. */
  grew(): boolean {
    const bytes = this.#options.queuedBytes()
    this.#holding?.set(bytes < WORTH_COUNTING_BYTES ? 0 : bytes)
    this.#count(bytes < WORTH_COUNTING_BYTES ? 0 : bytes)
    if (this.#stallTimer === undefined) {
      if (bytes <= this.#softBytes) return true
      this.#behindSinceMs = this.#options.clock.nowMs()
      this.#takenMs = this.#behindSinceMs
      this.#peakBytes = bytes
      this.#wait()
    }
    this.#peakBytes = Math.max(this.#peakBytes, bytes)
    return false
  }

  /** Call when the operating system has taken something. */
  shrank(): void {
    this.#takenMs = this.#options.clock.nowMs()
    this.#holding?.remeasure()
    if (this.#countedBytes > 0) this.#count(this.#options.queuedBytes())
    if (this.#stallTimer === undefined) return
    if (this.#options.queuedBytes() > this.#softBytes) return
    this.end()
    this.#options.onDrained()
  }

  /** Stops watching, unless the peer gets behind again. */
  end(): void {
    this.#holding?.set(0)
    this.#count(0)
    this.#stallTimer?.cancel()
    this.#stallTimer = undefined
  }

  #count(bytes: number): void {
    if (this.#options.peer !== 'child') return
    this.#options.bounds.queues.servers += bytes - this.#countedBytes
    this.#countedBytes = bytes
  }

  #wait(): void {
    const { bounds, clock, isPatient, onStalled } = this.#options
    const allowedMs = bounds.max.stall * Math.max(1, this.#peakBytes / STALL_BYTES)
    const restMs = this.#behindSinceMs + allowedMs - clock.nowMs()
    // The backlog may have grown meanwhile, and with it the time allowed.
    if (isPatient === true) this.#stallTimer = clock.after(bounds.max.stall, () => this.#wait())
    else if (restMs > 0) this.#stallTimer = clock.after(restMs, () => this.#wait())
    else {
      this.end()
      bounds.hit('stall')
      onStalled()
    }
  }
}

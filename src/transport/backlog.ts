import { getDefaultHighWaterMark } from 'node:stream'
import type { Clock, Timer } from '../kernel/async/clock.js'
import type { Holding } from '../kernel/byte-account.js'
import type { LimitCounters } from '../kernel/limit-counters.js'

/** Amount that even a slow connection carries within the `stall` limit; a longer backlog gets more time. */
const STALL_BYTES = 4 * 1024 * 1024

/** A smaller amount is already on its way to the operating system. */
const WORTH_COUNTING_BYTES = 16 * 1024

/** Node emits 'drain' only above this backlog: 64 KiB since Node 22. */
const TOLD_BYTES = getDefaultHighWaterMark(false)

/** Far above `serverQueue`, because responses and notifications to a child ignore that limit. */
const CHILD_FACTOR = 16

/** The peer of a backlog, and callbacks. */
export interface BacklogOptions {
  readonly peer: 'client' | 'server' | 'child'
  readonly clock: Clock
  readonly bounds: LimitCounters
  /** The bytes not yet accepted by the operating system. */
  readonly queue: { readonly queuedBytes: number }
  readonly onDrained: () => void
  /** Allows a peer to stay behind forever, as long as its backlog is within the limit. */
  readonly isPatient?: boolean
  /** The peer was behind for too long, or by too much. Never called while a message is being sent. */
  readonly onStalled: () => void
}

/** Watches the backlog of one peer: when to pause, when to resume, and when to give up. */
export class Backlog {
  readonly #options: BacklogOptions
  readonly #limit: 'clientQueue' | 'serverQueue'
  readonly #hardBytes: number
  readonly #softBytes: number
  readonly #holding: Holding | undefined
  /** Counted part of a child's backlog. */
  #countedBytes = 0
  /** Runs while the peer is behind. */
  #stallTimer: Timer | undefined
  #behindSinceMs = 0
  /** Time at which the peer last took data, or its backlog was empty. */
  #takenMs: number
  #peakBytes = 0

  constructor(options: BacklogOptions) {
    const { bounds, onStalled, peer, queue } = options
    const { clientQueue, serverQueue, softQueue } = bounds.max
    this.#options = options
    this.#takenMs = options.clock.nowMs()
    this.#limit = peer === 'child' ? 'serverQueue' : 'clientQueue'
    this.#hardBytes = peer === 'child' ? CHILD_FACTOR * serverQueue : clientQueue
    this.#softBytes = Math.max(softQueue, TOLD_BYTES)
    // Only requests wait for servers; their source bounds them.
    if (peer !== 'client') return
    this.#holding = bounds.unread.open(
      () => setImmediate(onStalled),
      () => queue.queuedBytes,
    )
  }

  get isBehind(): boolean {
    return this.#stallTimer !== undefined
  }

  /** Reports whether the backlog is within its limit. */
  get hasRoom(): boolean {
    return this.#options.queue.queuedBytes <= this.#hardBytes
  }

  /**
   * Reports whether one more message of any size may be queued; gives up on the peer if not. A client that
   * reads may be far behind for a moment, when servers answer many of its calls at once: `limits.unread`
   * bounds the sum for all clients.
   */
  admit(): boolean {
    const { bounds, clock, peer, queue } = this.#options
    if (queue.queuedBytes <= this.#hardBytes) return true
    if (peer !== 'child' && clock.nowMs() - this.#takenMs < bounds.max.stall) return true
    bounds.hit(this.#limit)
    setImmediate(this.#options.onStalled)
    return false
  }

  /** Call after queueing a message. Returns false if the peer is behind. */
  grew(): boolean {
    const bytes = this.#options.queue.queuedBytes
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

  /** Call when the operating system has accepted data. */
  shrank(): void {
    this.#takenMs = this.#options.clock.nowMs()
    this.#holding?.remeasure()
    if (this.#countedBytes > 0) this.#count(this.#options.queue.queuedBytes)
    if (this.#stallTimer === undefined) return
    if (this.#options.queue.queuedBytes > this.#softBytes) return
    this.end()
    this.#options.onDrained()
  }

  /** Stops watching until the peer falls behind again. */
  end(): void {
    this.#count(0)
    this.#stallTimer?.cancel()
    this.#stallTimer = undefined
  }

  #count(bytes: number): void {
    this.#holding?.set(bytes)
    if (this.#options.peer !== 'child' || bytes === this.#countedBytes) return
    this.#options.bounds.queues.servers += bytes - this.#countedBytes
    this.#countedBytes = bytes
  }

  #wait(): void {
    const { bounds, clock, isPatient, onStalled } = this.#options
    const allowedMs = bounds.max.stall * Math.max(1, this.#peakBytes / STALL_BYTES)
    const restMs = this.#behindSinceMs + allowedMs - clock.nowMs()
    // The backlog may have grown meanwhile, and with it the allowed time.
    if (isPatient === true) this.#stallTimer = clock.after(bounds.max.stall, () => this.#wait())
    else if (restMs > 0) this.#stallTimer = clock.after(restMs, () => this.#wait())
    else {
      this.end()
      bounds.hit('stall')
      onStalled()
    }
  }
}

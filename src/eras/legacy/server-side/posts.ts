import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../kernel/async/clock.js'
import { Semaphore } from '../../../kernel/async/semaphore.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'

/** Each POST occupies a connection. */
const MAX_IN_FLIGHT = 64
/** Some servers answer only after processing the message: then the next one is sent after this time. */
const HOLD_MS = 10_000
/** Unanswered POSTs, and bytes in multiples of `serverQueue`, at which the connection is closed. */
const UNANSWERED_MAX = 2048
const HARD = 16

/** Limits POSTs in flight, because each might otherwise open a connection. */
export const createPostSemaphore = (clock: Clock, signal: AbortSignal): Semaphore => {
  // Each waiting POST adds a listener.
  setMaxListeners(0, signal)
  return new Semaphore({ places: () => MAX_IN_FLIGHT, holdMs: HOLD_MS, clock })
}

/** Options for sending POSTs. */
export interface PostsOptions {
  /** Posts a message; resolves when it is answered. Never rejects. */
  readonly post: (frame: Buffer) => Promise<void>
  /** Called if the server stops taking messages. */
  readonly onUnresponsive: () => void
  readonly bounds: LimitCounters
  readonly clock: Clock
  /** Aborts POSTs in flight, and those waiting. */
  readonly signal: AbortSignal
}

/** Sends messages that get no JSON-RPC answer: notifications and responses. */
export class Posts {
  readonly #options: PostsOptions
  readonly #semaphore: Semaphore
  /** The next message by subject, sent when the one in flight is answered. */
  readonly #next = new Map<string, Buffer | undefined>()
  #unanswered = 0
  #bytes = 0

  constructor(options: PostsOptions) {
    this.#options = options
    this.#semaphore = createPostSemaphore(options.clock, options.signal)
  }

  /** Posts a message; resolves when it is answered, or never will be. */
  async send(frame: Buffer): Promise<void> {
    const { bounds, onUnresponsive, post, signal } = this.#options
    if (this.#unanswered >= UNANSWERED_MAX || this.#bytes > HARD * bounds.max.serverQueue) {
      bounds.hit('serverQueue')
      onUnresponsive()
      return
    }
    this.#unanswered += 1
    this.#bytes += frame.length
    // Aborted.
    await this.#semaphore.pass(signal, () => post(frame)).catch(() => undefined)
    this.#unanswered -= 1
    this.#bytes -= frame.length
  }

  /**
   * Posts a message that replaces earlier ones about the same subject: only the last waiting one is sent.
   */
  async sendLatest(about: string, frame: Buffer): Promise<void> {
    const isInFlight = this.#next.has(about)
    this.#next.set(about, isInFlight ? frame : undefined)
    if (isInFlight) return
    for (let due: Buffer | undefined = frame; due !== undefined; due = this.#next.get(about)) {
      this.#next.set(about, undefined)
      await this.send(due)
    }
    this.#next.delete(about)
  }
}

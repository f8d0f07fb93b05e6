import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { Logger } from '../../../kernel/logger.js'
import type { Outcome } from '../../../model/outcome.js'
import { errorCode, RPC_CODES } from '../../../model/rpc-error.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'

const ANSWER_MS = 10_000
/** Unanswered pings in a row after which the connection counts as lost. */
const MISSES_MAX = 2

/** Options for pinging a server. */
export interface HeartbeatOptions {
  readonly clock: Clock
  readonly log: Logger
  /** The time of silence before a ping. */
  readonly pingMs: number
}

/**
 * Pings a silent server (utilities/ping). Any answer proves that it is alive; a server without the method is
 * not pinged again. Busy servers are not pinged, and need not answer an earlier ping.
 */
export class Heartbeat {
  readonly #conversation: Conversation
  readonly #clock: Clock
  readonly #log: Logger
  /** The value of `receivedCount` at the last check. */
  #seen: number
  readonly #tick: Timer
  #timeout: Timer | undefined
  #misses = 0

  constructor(conversation: Conversation, options: HeartbeatOptions) {
    this.#conversation = conversation
    this.#clock = options.clock
    this.#log = options.log
    this.#seen = conversation.receivedCount
    this.#tick = options.clock.every(options.pingMs, () => this.#check())
  }

  /** True while a ping is unanswered. */
  get isPinging(): boolean {
    return this.#timeout !== undefined
  }

  stop(): void {
    this.#tick.cancel()
    this.#answered()
  }

  #answered(): void {
    this.#timeout?.cancel()
    this.#timeout = undefined
  }

  #check(): void {
    const { receivedCount } = this.#conversation
    const isSilent = receivedCount === this.#seen
    this.#seen = receivedCount
    if (!isSilent) this.#misses = 0
    if (!isSilent || this.#conversation.isBusy) return
    const id = this.#conversation.nextId()
    this.#timeout = this.#clock.after(ANSWER_MS, () => this.#missed(id))
    this.#conversation.request(id, 'ping', undefined, {
      progress: () => undefined,
      ended: outcome => {
        this.#answered()
        this.#misses = 0
        if (isUnknown(outcome)) this.stop()
      },
    })
  }

  #missed(id: number): void {
    this.#conversation.forget(id)
    this.#timeout = undefined
    // A server may answer nothing else while it serves a request, for as long as the client waits for that.
    if (this.#conversation.isBusy) return
    this.#misses += 1
    this.#log.warn({ misses: this.#misses }, 'the server did not answer a ping')
    if (this.#misses < MISSES_MAX) return
    this.stop()
    void this.#conversation.close()
  }
}

const isUnknown = (outcome: Outcome): boolean =>
  outcome.kind === 'error' && errorCode(outcome.error) === RPC_CODES['unknown-method']

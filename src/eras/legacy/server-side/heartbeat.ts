import type { Clock, Timer } from '../../../kernel/async/clock.js'
import { memberOf } from '../../../kernel/json/text.js'
import type { Logger } from '../../../kernel/logger.js'
import { RPC_CODES } from '../../../model/fault-table.js'
import type { Outcome } from '../../../model/outcome.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'

const ANSWER_MS = 10_000
/** So many pings in a row without any answer, and the connection counts as lost. */
const MISSES_MAX = 2

/**
 * Pings a server that is silent (utilities/ping). Any answer will do, also an error, but one that does not know pings is not
 * asked again. While requests are under way their own time limits watch over the server, so that one that is busy is not taken
 * for dead.
 */
export class Heartbeat {
  readonly #talk: Conversation
  readonly #clock: Clock
  readonly #log: Logger
  readonly #silenceMs: number
  readonly #tick: Timer
  #patience: Timer | undefined
  #misses = 0

  constructor(
    talk: Conversation,
    around: { readonly clock: Clock; readonly log: Logger; readonly pingMs: number },
  ) {
    this.#talk = talk
    this.#clock = around.clock
    this.#log = around.log
    this.#silenceMs = around.pingMs
    this.#tick = around.clock.every(around.pingMs, () => this.#check())
  }

  stop(): void {
    this.#tick.cancel()
    this.#patience?.cancel()
  }

  #check(): void {
    const isSilent = this.#clock.nowMs() - this.#talk.lastHeardMs >= this.#silenceMs
    if (!isSilent) this.#misses = 0
    if (!isSilent || this.#talk.isBusy) return
    const id = this.#talk.nextId()
    this.#patience = this.#clock.after(ANSWER_MS, () => this.#missed(id))
    this.#talk.request(id, 'ping', undefined, {
      progress: () => undefined,
      ended: outcome => {
        this.#patience?.cancel()
        this.#misses = 0
        if (isUnknown(outcome)) this.stop()
      },
    })
  }

  #missed(id: number): void {
    this.#talk.forget(id)
    this.#misses += 1
    this.#log.warn({ misses: this.#misses }, 'the server did not answer a ping')
    if (this.#misses < MISSES_MAX) return
    this.stop()
    void this.#talk.close()
  }
}

const isUnknown = (outcome: Outcome): boolean =>
  outcome.kind === 'error' &&
  Number(memberOf(outcome.error, 'code')?.toString('latin1')) === RPC_CODES['unknown-method']

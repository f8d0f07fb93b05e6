import type { Clock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Call, ClientHandler } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { watch, withCall } from '../around.js'

/** A request that is meant to stay open: nobody waits for its end (2026-07-28, basic/patterns/subscriptions). */
const ENDLESS = 'subscriptions/listen'

/**
 * Stands in front of a reception and counts the calls that are under way. Once it is shut no further call gets in, and whoever
 * wants to go can wait for those inside; their questions and answers pass all the same.
 */
export class Admission {
  /** What to report to in place of the one behind. */
  readonly reception: ClientHandler
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  #isShut = false
  #inside = 0
  readonly #isEmpty = new Deferred<void>()

  constructor(behind: ClientHandler, clock: Clock, bounds = new LimitCounters()) {
    this.#bounds = bounds
    this.reception = withCall(behind, call => this.#call(call, behind))
    this.#clock = clock
  }

  get isShut(): boolean {
    return this.#isShut
  }

  /** Calls under way. */
  get inside(): number {
    return this.#inside
  }

  /** Lets no call in from now on; resolves with the number of those that were not over within `limitMs`. */
  async shut(limitMs: number): Promise<number> {
    this.#isShut = true
    if (this.#inside === 0) return 0
    const limit = this.#clock.after(limitMs, () => this.#isEmpty.resolve())
    await this.#isEmpty.promise
    limit.cancel()
    return this.#inside
  }

  #call(call: Call, behind: ClientHandler): void {
    if (this.#isShut) {
      call.end(failed(new Fault('unavailable', 'The proxy is shutting down')))
      return
    }
    const full = this.#isFull()
    if (full !== undefined) {
      call.end(failed(full))
      return
    }
    const params = this.#bounds.inbound.reserve(call.params?.length ?? 0)
    if (params === undefined) {
      call.end(failed(this.#bounds.overloaded('inbound', 'Too much is under way at the same time')))
      return
    }
    if (params.bytes > 0) watch(call, () => params.set(0))
    if (call.method !== ENDLESS) {
      this.#inside += 1
      watch(call, this.#over)
    }
    behind.call(call)
  }

  /** Why no more work is taken on, if so. */
  #isFull(): Fault | undefined {
    const { max, pressure } = this.#bounds
    if (pressure >= 4) return this.#bounds.shortOfMemory()
    if (this.#inside < max.calls) return undefined
    return this.#bounds.overloaded('calls', `${this.#inside} requests are under way`)
  }

  readonly #over = (): void => {
    this.#inside -= 1
    if (this.#isShut && this.#inside === 0) this.#isEmpty.resolve()
  }
}

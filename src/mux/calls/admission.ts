import type { Clock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Call, ClientHandler } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import { whenOver } from './call-events.js'

/** Stays open by design: shutting down does not wait for it (2026-07-28, basic/patterns/subscriptions). */
const ENDLESS = 'subscriptions/listen'

/** Admits calls up to a limit and counts those in flight; once shut it refuses new calls. */
export class Admission {
  /** The handler to use in place of the one given. */
  readonly handler: ClientHandler
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  #isShut = false
  #inside = 0
  readonly #isEmpty = new Deferred<void>()

  constructor(behind: ClientHandler, clock: Clock, bounds = new LimitCounters()) {
    this.#bounds = bounds
    this.handler = {
      welcome: client => behind.welcome(client),
      call: call => this.#call(call, behind),
      ownIdentity: client => behind.ownIdentity(client),
      toolSchema: (client, exposed) => behind.toolSchema(client, exposed),
      notified: (client, method, params) => behind.notified(client, method, params),
      rests: client => behind.rests(client),
      left: client => behind.left(client),
    }
    this.#clock = clock
  }

  get isShut(): boolean {
    return this.#isShut
  }

  get inside(): number {
    return this.#inside
  }

  /** Refuses calls from now on; resolves with the number of those that have not ended within `limitMs`. */
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
    const overload = this.#overload()
    if (overload !== undefined) {
      call.end(failed(overload))
      return
    }
    const params = this.#bounds.inbound.reserve(call.params?.length ?? 0)
    if (params === undefined) {
      call.end(failed(this.#bounds.overloaded('inbound', 'Too much is under way at the same time')))
      return
    }
    if (params.bytes > 0) whenOver(call, () => params.set(0))
    if (call.method !== ENDLESS) {
      this.#inside += 1
      whenOver(call, this.#over)
    }
    behind.call(call)
  }

  #overload(): Fault | undefined {
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

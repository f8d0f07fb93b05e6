import type { Clock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { SMALL_BYTES } from '../../kernel/byte-account.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import { failed } from '../../model/outcome.js'
import { type CallRecord, type CallVerdict, type Interceptor, NEXT } from './call-record.js'
import type { CallMeter } from './counting/call-meter.js'

/** Stays open by design, so shutdown does not wait for it (2026-07-28, basic/patterns/subscriptions). */
export const ENDLESS = 'subscriptions/listen'

/** Admits calls up to a limit and counts those in flight; rejects new calls after `shut`. */
export class Admission {
  /** Marks the errors of rejected calls, so that a holder of this id knows that a call did not start. */
  readonly refusal = randomId()
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #meter: CallMeter | undefined
  readonly #isEmpty = new Deferred<void>()
  /** True once new calls are rejected. */
  isShut = false
  readonly isDraining = (): boolean => this.isShut
  /** The number of calls in flight. */
  inside = 0

  constructor(clock: Clock, bounds = new LimitCounters(), meter?: CallMeter) {
    this.#clock = clock
    this.#bounds = bounds
    this.#meter = meter
  }

  get interceptors(): readonly Interceptor[] {
    const name = 'admission'
    return [
      { name, stage: 'request', run: this.#admit },
      { name, stage: 'settled', run: this.#over },
    ]
  }

  /**
   * Rejects new calls from now on. Resolves with the number of calls that have not ended within `limitMs`.
   */
  async shut(limitMs: number): Promise<number> {
    this.isShut = true
    if (this.inside === 0) return 0
    const limit = this.#clock.after(limitMs, () => this.#isEmpty.resolve())
    await this.#isEmpty.promise
    limit.cancel()
    return this.inside
  }

  readonly #admit = (record: CallRecord): CallVerdict => {
    const { max, pressure } = this.#bounds
    if (this.isShut) {
      this.#meter?.refused('draining')
      const data = { refusal: this.refusal }
      return failed(new Fault('unavailable', 'The proxy is shutting down', { data }))
    }
    if (pressure >= 4) {
      this.#meter?.refused('memory')
      return failed(this.#bounds.shortOfMemory())
    }
    if (this.inside >= max.calls)
      return failed(this.#bounds.overloaded('calls', `${this.inside} requests are in flight`))
    const bytes = record.params?.length ?? 0
    if (bytes >= SMALL_BYTES) {
      record.holding = this.#bounds.inbound.reserve(bytes)
      if (record.holding === undefined)
        return failed(this.#bounds.overloaded('inbound', 'Too many bytes of requests are in flight'))
    }
    record.isAdmitted = true
    if (record.method !== ENDLESS) this.inside += 1
    return NEXT
  }

  readonly #over = (record: CallRecord): CallVerdict => {
    if (!record.isAdmitted) return NEXT
    record.holding?.set(0)
    if (record.method !== ENDLESS) this.inside -= 1
    if (this.isShut && this.inside === 0) this.#isEmpty.resolve()
    return NEXT
  }
}

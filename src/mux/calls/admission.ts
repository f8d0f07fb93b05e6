import type { Clock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Holding } from '../../kernel/byte-account.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Call, ClientHandler } from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import type { Tracer } from '../../model/tracer.js'
import { whenOver } from './call-events.js'
import { type CallLog, logCall } from './call-facts.js'
import type { CallMeter } from './counting/call-meter.js'
import type { FaultLog } from './fault-log.js'
import { intercept } from './interceptor.js'

/** Stays open by design, so shutdown does not wait for it (2026-07-28, basic/patterns/subscriptions). */
const ENDLESS = 'subscriptions/listen'

/** Receives sessions and finished calls. */
export interface Watch {
  readonly meter?: CallMeter | undefined
  readonly faults?: FaultLog | undefined
  readonly tracer?: Tracer | undefined
  readonly callLog?: CallLog | undefined
}

/** Admits calls up to a limit and counts those in flight; rejects new calls after `shut`. */
export class Admission {
  /** The given handler, wrapped. */
  readonly handler: ClientHandler
  /** Marks the errors of rejected calls, so that a holder of this id knows that a call did not start. */
  readonly refusal = randomId()
  readonly #clock: Clock
  readonly #bounds: LimitCounters
  readonly #meter: CallMeter | undefined
  readonly #faults: FaultLog | undefined
  readonly #tracer: Tracer | undefined
  readonly #callLog: CallLog | undefined
  #isShut = false
  #inside = 0
  readonly #isEmpty = new Deferred<void>()

  constructor(behind: ClientHandler, clock: Clock, bounds = new LimitCounters(), watch: Watch = {}) {
    this.#bounds = bounds
    this.#meter = watch.meter
    this.#faults = watch.faults
    this.#tracer = watch.tracer
    this.#callLog = watch.callLog
    this.handler = intercept(behind, {
      welcome: client => {
        this.#meter?.came(client)
        return behind.welcome(client)
      },
      left: client => {
        this.#meter?.left(client)
        behind.left(client)
      },
      call: call => this.#call(call, behind),
      answering: call => {
        this.#begin(call)
        whenOver(call, this.#told)
      },
    })
    this.#clock = clock
  }

  get isShut(): boolean {
    return this.#isShut
  }

  get inside(): number {
    return this.#inside
  }

  /**
   * Rejects new calls from now on. Resolves with the number of calls that have not ended within `limitMs`.
   */
  async shut(limitMs: number): Promise<number> {
    this.#isShut = true
    if (this.#inside === 0) return 0
    const limit = this.#clock.after(limitMs, () => this.#isEmpty.resolve())
    await this.#isEmpty.promise
    limit.cancel()
    return this.#inside
  }

  /** The call log, while finished calls are logged. */
  get #wanted(): CallLog | undefined {
    const log = this.#callLog
    return log !== undefined && (log.slowMs() !== Number.POSITIVE_INFINITY || log.isEach()) ? log : undefined
  }

  #begin(call: Call): void {
    if (this.#tracer !== undefined) call.trace = this.#tracer.decide(call)
    call.beganMs = this.#clock.nowMs()
  }

  #call(call: Call, behind: ClientHandler): void {
    this.#begin(call)
    this.#meter?.history.began(call)
    const params = this.#refusal() ?? this.#reserve(call)
    if (params instanceof Fault) {
      whenOver(call, this.#told)
      call.end(failed(params))
      return
    }
    if (call.method !== ENDLESS) {
      this.#inside += 1
      whenOver(call, this.#over)
    } else whenOver(call, this.#told)
    if (params.bytes > 0) whenOver(call, () => params.set(0))
    behind.call(call)
  }

  #refusal(): Fault | undefined {
    const { max, pressure } = this.#bounds
    if (this.#isShut) {
      this.#meter?.refused('draining')
      const data = { refusal: this.refusal }
      return new Fault('unavailable', 'The proxy is shutting down', { data })
    }
    if (pressure >= 4) {
      this.#meter?.refused('memory')
      return this.#bounds.shortOfMemory()
    }
    if (this.#inside < max.calls) return undefined
    return this.#bounds.overloaded('calls', `${this.#inside} requests are in flight`)
  }

  #reserve({ params }: Call): Holding | Fault {
    return (
      this.#bounds.inbound.reserve(params?.length ?? 0) ??
      this.#bounds.overloaded('inbound', 'Too many bytes of requests are in flight')
    )
  }

  readonly #told = (outcome: Outcome | undefined, call: Call): void => {
    this.#meter?.over(outcome, call)
    const log = this.#wanted
    if (log !== undefined && call.method !== ENDLESS) logCall(log, call, outcome, this.#clock.nowMs())
    if (outcome?.kind === 'fault') this.#faults?.over(outcome, call)
    if (call.trace !== undefined) this.#tracer?.over(call.trace, call, outcome)
  }

  readonly #over = (outcome: Outcome | undefined, call: Call): void => {
    this.#inside -= 1
    this.#told(outcome, call)
    if (this.#isShut && this.#inside === 0) this.#isEmpty.resolve()
  }
}

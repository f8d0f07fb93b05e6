import type { Clock } from '../kernel/async/clock.js'
import type { Fault } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Meter } from '../kernel/meter.js'
import type { Downlink } from '../model/links.js'
import type { Tracer } from '../model/tracer.js'
import type { ServerOptions } from './dial.js'
import { OwnTraces } from './own-traces.js'

interface Watchers {
  readonly clock: Clock
  readonly meter?: Meter | undefined
  readonly tracer?: Tracer | undefined
  readonly bounds?: LimitCounters | undefined
}

/** Counts and traces the connection attempts, sessions and losses of one connection. */
export class ConnectionMeter {
  /** Undefined without tracing. */
  readonly traces: OwnTraces | undefined
  readonly #server: ServerOptions
  readonly #clock: Clock
  readonly #meter: Meter | undefined
  readonly #bounds: LimitCounters | undefined
  #startedMs = 0
  /** The open session. */
  #open: { readonly revision: string; readonly sinceMs: number } | undefined

  constructor(server: ServerOptions, { clock, meter, tracer, bounds }: Watchers) {
    this.#server = server
    this.#clock = clock
    this.#meter = meter
    this.#bounds = bounds
    this.traces = tracer && new OwnTraces(server, clock, tracer)
  }

  /** `isAgain` is true after a loss or a failed attempt. */
  starting(isAgain: boolean): void {
    if (isAgain) this.#bounds?.remark('restarted')
    this.#startedMs = this.#clock.nowMs()
    this.traces?.began()
  }

  ready(link: Downlink): void {
    this.traces?.started(link, undefined)
    const nowMs = this.#clock.nowMs()
    const { name } = this.#server
    this.#open = { revision: link.facts.revision, sinceMs: nowMs }
    this.#meter?.counter('mcp_proxy_server_starts', name, 'ok').add()
    this.#meter?.histogram('mcp_proxy_server_start_seconds', name).observe((nowMs - this.#startedMs) / 1000)
  }

  /** Records a lost connection or a failed attempt. */
  lost(why: Fault): void {
    const { code } = why
    this.traces?.started(undefined, why)
    const { name } = this.#server
    if (this.#open === undefined) {
      this.#meter?.counter('mcp_proxy_server_starts', name, code).add()
      return
    }
    this.#meter?.counter('mcp_proxy_server_losses', name, code).add()
    this.#ended(code)
  }

  /** Counts a notification that reached no client. */
  droppedNotification(): void {
    this.#meter?.counter('mcp_proxy_notifications_dropped', this.#server.name).add()
  }

  closed(): void {
    if (this.#open !== undefined) this.#ended('')
  }

  #ended(errorType: string): void {
    if (this.#open === undefined) return
    const { revision, sinceMs } = this.#open
    this.#open = undefined
    this.#meter
      ?.histogram('mcp_client_session_duration_seconds', revision, this.#server.protocol ?? '', errorType)
      .observe((this.#clock.nowMs() - sinceMs) / 1000)
  }
}

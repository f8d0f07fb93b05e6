import type { Clock } from '../kernel/async/clock.js'
import type { Fault } from '../kernel/faults.js'
import type { Meter } from '../kernel/meter.js'
import type { ServerOptions } from './dial.js'

/** Counts how one connection to a server comes and goes. */
export class ConnectionMeter {
  readonly #server: ServerOptions
  readonly #clock: Clock
  readonly #meter: Meter
  #startedMs = 0
  /** Of the session that is open. */
  #open: { readonly revision: string; readonly sinceMs: number } | undefined

  constructor(server: ServerOptions, clock: Clock, meter: Meter) {
    this.#server = server
    this.#clock = clock
    this.#meter = meter
  }

  starting(): void {
    this.#startedMs = this.#clock.nowMs()
  }

  ready(revision: string): void {
    const nowMs = this.#clock.nowMs()
    const { name } = this.#server
    this.#open = { revision, sinceMs: nowMs }
    this.#meter.counter('mcp_proxy_server_starts', name, 'ok').add()
    this.#meter.histogram('mcp_proxy_server_start_seconds', name).observe((nowMs - this.#startedMs) / 1000)
  }

  /** It was lost, or could not be opened. */
  lost({ code }: Fault): void {
    const { name } = this.#server
    if (this.#open === undefined) {
      this.#meter.counter('mcp_proxy_server_starts', name, code).add()
      return
    }
    this.#meter.counter('mcp_proxy_server_losses', name, code).add()
    this.#ended(code)
  }

  closed(): void {
    if (this.#open !== undefined) this.#ended('')
  }

  #ended(errorType: string): void {
    if (this.#open === undefined) return
    const { revision, sinceMs } = this.#open
    this.#open = undefined
    this.#meter
      .histogram('mcp_client_session_duration_seconds', revision, this.#server.protocol ?? '', errorType)
      .observe((this.#clock.nowMs() - sinceMs) / 1000)
  }
}

import type { CallTrace, Destination, SpanContext } from './call-trace.js'
import type { Failure } from './failure.js'
import type { Call } from './links.js'
import type { Outcome } from './outcome.js'

/** A request of our own to a server, which is a trace by itself. */
export interface OwnRequest {
  readonly method: string
  readonly to: Destination
  readonly beganMs: number
  /** Undefined if it did not fail. */
  readonly failure: Failure | undefined
}

/**
 * PORT. Decides which calls are traced, and makes spans of those that are over; what is not sampled costs no
 * more than that decision. Implemented by `telemetry/tracing/tracer.ts`.
 */
export interface Tracer {
  /** Undefined: nothing is kept of the call, and nothing written into its requests. */
  decide(call: Call): CallTrace | undefined
  over(trace: CallTrace, call: Call, outcome: Outcome | undefined): void
  /** The span of a request of our own that begins; undefined if it is not sampled. */
  root(): SpanContext | undefined
  /** That request is over. */
  ended(root: SpanContext, request: OwnRequest): void
}

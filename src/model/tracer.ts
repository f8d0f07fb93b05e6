import type { CallTrace, Destination, SpanContext } from './call-trace.js'
import type { Failure } from './failure.js'
import type { Call } from './links.js'
import type { Outcome } from './outcome.js'

/** A call with its server and the server's own name of the called item, once they are known. */
export interface TracedCall extends Call {
  readonly servedBy?: string | undefined
  readonly ownName?: string | undefined
}

/** A request of the proxy to a server, which is a trace of its own. */
export interface OwnRequest {
  readonly method: string
  readonly to: Destination
  readonly beganMs: number
  /** Undefined if it succeeded. */
  readonly failure: Failure | undefined
}

/**
 * PORT. Decides which calls are traced, and exports their spans at the end. Without sampling, a call costs no
 * more than that decision. Implemented by `telemetry/tracing/tracer.ts`.
 */
export interface Tracer {
  /** Returns undefined if the call is not traced. */
  decide(call: Call): CallTrace | undefined
  over(trace: CallTrace, call: TracedCall, outcome: Outcome | undefined): void
  /** Starts the span of a request of the proxy; undefined if it is not sampled. */
  root(): SpanContext | undefined
  /** Ends that span. */
  ended(root: SpanContext, request: OwnRequest): void
}

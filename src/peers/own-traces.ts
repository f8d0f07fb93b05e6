import type { Clock } from '../kernel/async/clock.js'
import type { Fault } from '../kernel/faults.js'
import { type Destination, type SpanContext, withTraceContext } from '../model/call-trace.js'
import { failureOf } from '../model/failure.js'
import type { Downlink } from '../model/links.js'
import { failed, isFine, type Outcome } from '../model/outcome.js'
import type { Progress } from '../model/progress.js'
import type { Tracer } from '../model/tracer.js'
import type { ServerOptions } from './dial.js'

/**
 * Traces the proxy's own requests on one connection; each is a trace of its own. Calls that waited for a
 * start link to the trace of that start.
 */
export class OwnTraces {
  readonly #server: ServerOptions
  readonly #clock: Clock
  readonly #tracer: Tracer
  #context: SpanContext | undefined
  #beganMs = 0
  #isOver = true

  constructor(server: ServerOptions, clock: Clock, tracer: Tracer) {
    this.#server = server
    this.#clock = clock
    this.#tracer = tracer
  }

  /** The span of the last start, if it is traced. */
  get context(): SpanContext | undefined {
    return this.#context
  }

  began(): void {
    this.#context = this.#tracer.root()
    this.#beganMs = this.#clock.nowMs()
    this.#isOver = false
  }

  /** Ends the span of a start, on success (`link`) or failure. Only the first end after a start counts. */
  started(link: Downlink | undefined, why: Fault | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#context === undefined) return
    this.#tracer.ended(this.#context, {
      method: link?.serverRequests === 'returned' ? 'server/discover' : 'initialize',
      to: destinationOf(this.#server, link),
      beganMs: this.#beganMs,
      failure: why && failureOf(failed(why), 'client'),
    })
  }

  /** Returns a link that traces each request by itself. */
  over(link: Downlink): Pick<Downlink, 'call' | 'serverRequests'> {
    return {
      serverRequests: link.serverRequests,
      call: (request, sink) => {
        const root = this.#tracer.root()
        if (root === undefined) return link.call(request, sink)
        const { method } = request
        const [to, beganMs] = [destinationOf(this.#server, link), this.#clock.nowMs()]
        const ended = (outcome: Outcome): void => {
          const failure = isFine(outcome) ? undefined : failureOf(outcome, 'client')
          this.#tracer.ended(root, { method, to, beganMs, failure })
          sink.ended(outcome)
        }
        const progress = (said: Progress): void => sink.progress(said)
        return link.call(to.propagatesTrace ? withTraceContext(request, { context: root }) : request, {
          progress,
          ended,
        })
      },
    }
  }
}

/** Returns the destination of requests for their spans; the revision is known only once connected. */
export const destinationOf = (server: ServerOptions, link: Downlink | undefined): Destination => ({
  server: server.name,
  revision: link?.facts.revision ?? '',
  protocol: server.protocol,
  isProcess: server.isProcess,
  address: server.address?.host,
  port: server.address?.port,
  propagatesTrace: server.propagate,
})

import type { ProxyConfig } from '../../config/types.js'
import type { CallTrace, SpanContext } from '../../model/call-trace.js'
import type { Call } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import type { OwnRequest, TracedCall, Tracer } from '../../model/tracer.js'
import type { SendingTracer, TracerOptions } from './tracer.js'

/** Loads the tracer in the background. Traces nothing until then, or if loading fails. */
export class LateTracer implements Tracer {
  /** Resolves once the tracer is loaded or has failed to load. */
  readonly isReady: Promise<void>
  #tracer: SendingTracer | undefined

  constructor(config: ProxyConfig, options: Omit<TracerOptions, 'settings'>) {
    this.isReady = this.#load(config, options).catch((thrown: unknown) => {
      options.log.error({ err: thrown }, 'cannot load tracing; no calls are traced')
    })
  }

  decide(call: Call): CallTrace | undefined {
    return this.#tracer?.decide(call)
  }

  over(trace: CallTrace, call: TracedCall, outcome: Outcome | undefined): void {
    this.#tracer?.over(trace, call, outcome)
  }

  root(): SpanContext | undefined {
    return this.#tracer?.root()
  }

  ended(root: SpanContext, request: OwnRequest): void {
    this.#tracer?.ended(root, request)
  }

  /** Sends the remaining spans in a short time. Never rejects. */
  async close(): Promise<void> {
    await this.isReady
    await this.#tracer?.close()
  }

  async #load(config: ProxyConfig, options: Omit<TracerOptions, 'settings'>): Promise<void> {
    const { createTracer, resolveTracing } = await import('./tracer.js')
    const settings = resolveTracing(config, process.env, message => options.log.warn({}, message))
    if (settings !== undefined) this.#tracer = createTracer({ ...options, settings })
  }
}

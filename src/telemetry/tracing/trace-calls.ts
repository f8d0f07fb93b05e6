import type { Tracer } from '../../model/tracer.js'
import { type Interceptor, NEXT } from '../../mux/calls/call-record.js'

/** Traces the calls that the tracer selects. */
export const traceCalls = (tracer: Tracer | undefined): readonly Interceptor[] => {
  if (tracer === undefined) return []
  const decide: Interceptor['run'] = record => {
    record.trace = tracer.decide(record)
    return NEXT
  }
  const over: Interceptor['run'] = (record, outcome) => {
    if (record.trace !== undefined) tracer.over(record.trace, record, outcome)
    return NEXT
  }
  return [
    { name: 'tracing', stage: 'request', seesAnswered: true, run: decide },
    { name: 'tracing', stage: 'settled', seesAnswered: true, run: over },
  ]
}

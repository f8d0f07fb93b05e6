// Prints the cost of metrics and traces per call. Reports only; never fails.
// Usage: node bench/micro/observing.js [another checkout of the same layout]
import { built, show } from './measure.js'

const names = ['calls/counting/call-meter', 'calls/admission'].map(name => `mux/${name}`)
const [meters, admissions, registry, tracers, otlp, spans, json] = await Promise.all(
  [
    ...names,
    ...['metrics/registry', 'tracing/tracer', 'tracing/otlp', 'tracing/spans'].map(name => `app/${name}`),
    'kernel/json/text',
  ].map(built),
)

const clock = {
  nowMs: () => performance.now(),
  after: () => ({ cancel() {} }),
  every: () => ({ cancel() {} }),
}
/** Advances one second per call, so that every call may be traced. */
let lateMs = 0
const hurried = {
  ...clock,
  nowMs: () => {
    lateMs += 1000
    return lateMs
  },
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const client = { id: 1, via: 'http', revision: '2025-11-25', sessionId: 'x', serverRequests: 'pushed' }
const caller = { principal: 'local' }
const parent = flags => `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-${flags}`
const paramsOf = meta =>
  json.rawText(JSON.stringify({ name: 'a__echo', arguments: { text: 'x'.repeat(60) }, ...meta }))
const PLAIN = paramsOf({})
const UNSAMPLED = paramsOf({ _meta: { traceparent: parent('00') } })
const SAMPLED = paramsOf({ _meta: { traceparent: parent('01') } })
const OUTCOME = { kind: 'result', result: json.rawText('{"content":[]}'), isPlain: true }
const TO = { server: 'a', revision: '2025-11-25', protocol: undefined, isProcess: true, isTold: true }
const SINK = { progress() {}, ended() {} }
const LINK = {
  call(_request, sink) {
    sink.ended(OUTCOME)
    return { id: 1 }
  },
}

class BenchCall {
  client = client
  caller = caller
  method = 'tools/call'
  beganMs = undefined
  sentMs = undefined
  awayMs = undefined
  number = undefined
  trace = undefined
  onOver = undefined
  servedBy = 'a'
  ownName = 'echo'

  constructor(params, named) {
    this.params = params
    this.named = named
  }

  end(outcome) {
    this.onOver?.(outcome, this)
  }
}

const newMeter = () =>
  new meters.CallMeter({
    meter: new registry.Metrics({ series: 2000, clock }),
    clock,
    hasToolHistograms: false,
    isListed: () => true,
  })

const newTracer = ratio =>
  tracers.createTracer({
    settings: {
      ...{ ratio, isParentBased: true, propagates: true, perSecond: 1 },
      ...{ keepsErrors: false, keepsSlowMs: Number.POSITIVE_INFINITY, hasContent: false },
      ...{ headers: {}, tls: {}, resource: {}, baggage: new Set(), queue: 0, batch: 512, delayMs: 5000 },
    },
    clock: hurried,
    log: silent,
    meter: undefined,
  })

/** Runs a call through the mux with a server that answers at once. */
const runner = watch => {
  const behind = {
    call(call) {
      const link = call.trace?.over(LINK, TO) ?? LINK
      link.call({ method: call.method, params: call.params }, SINK)
      call.trace?.answered(OUTCOME)
      watch.meter?.served(call, 'a', OUTCOME, 1)
      call.end(OUTCOME)
    },
  }
  const callLog = { slowMs: () => Number.POSITIVE_INFINITY, isEach: () => false, log: silent }
  const { handler } = new admissions.Admission(behind, clock, undefined, { ...watch, callLog })
  return params => {
    // The mux recognises calls of SDKs without `_meta`.
    handler.call(new BenchCall(params, params === PLAIN ? 'a__echo' : undefined))
    return true
  }
}

const off = runner({})
const counted = runner({ meter: newMeter() })
const [none, all] = [runner({ tracer: newTracer(0) }), runner({ tracer: newTracer(1) })]
show('admission with nothing that watches', 0, () => off(PLAIN))
show('counted', 0, () => counted(PLAIN))
show('tracing is on, not sampled', 0, () => none(PLAIN))
show('the same, its parent is not sampled', 0, () => none(UNSAMPLED))
show('sampled: two spans are made', 0, () => all(PLAIN))
show('the same, with a parent', 0, () => all(SAMPLED))

const call = new BenchCall(SAMPLED)
const trace = newTracer(1).decide(call)
trace.over(LINK, TO).call({ method: call.method, params: SAMPLED }, SINK)
const at = { offsetMs: 0, nowMs: 1, hasContent: false }
const two = [spans.serverSpan(trace, call, OUTCOME, at), spans.partSpan(trace, call, trace.parts[0], at)]
const batch = Array.from({ length: 512 }, (_, n) => two[n % 2])
const resource = { attributes: {}, scope: { name: 'bench', version: '1' } }
show('512 spans as protobuf', 0, () => otlp.encodeProtobuf(batch, resource))
show('512 spans as JSON', 0, () => otlp.encodeJson(batch, resource))

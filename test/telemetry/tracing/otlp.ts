import {
  JsonLogsSerializer,
  JsonTraceSerializer,
  ProtobufLogsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer'
import fc from 'fast-check'
import t from 'tap'
import {
  encodeJson,
  encodeLogsJson,
  encodeLogsProtobuf,
  encodeProtobuf,
} from '../../../src/telemetry/tracing/otlp.js'
import {
  KIND,
  type LogRecord,
  type Resource,
  type Span,
  STATUS,
} from '../../../src/telemetry/tracing/span.js'
import { runs } from '../../support/property.js'

type OfficialSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]

const hex = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(all => Buffer.from(all).toString('hex'))
const words = fc.string({ unit: 'binary', maxLength: 300 }).map(text => Buffer.from(text).toString())
const attributes = fc.dictionary(
  fc.constantFrom('mcp.method.name', 'gen_ai.tool.name', 'error.type', 'mcp_proxy.attempt', 'ü'),
  fc.oneof(words, fc.nat(), fc.boolean()),
)
const timeMs = fc.integer({ min: 8, max: 8e12 }).map(quarters => quarters / 4)

const anySpan: fc.Arbitrary<Span> = fc.record({
  ...{ traceId: hex(16), spanId: hex(8), parentSpanId: fc.option(hex(8), { nil: undefined }) },
  isParentRemote: fc.boolean(),
  traceState: fc.constantFrom(undefined, 'a=1,b=2'),
  flags: fc.constantFrom(1, 3),
  name: words,
  kind: fc.constantFrom(...Object.values(KIND)),
  ...{ startMs: timeMs, endMs: timeMs, attributes },
  status: fc.oneof(
    fc.constant({ code: STATUS.unset }),
    words.map(message => (message === '' ? { code: STATUS.error } : { code: STATUS.error, message })),
  ),
  links: fc.array(
    fc.record({ traceId: hex(16), spanId: hex(8), flags: fc.constant(1), isRemote: fc.boolean() }),
    { maxLength: 3 },
  ),
})

const RESOURCE: Resource = {
  attributes: { 'service.name': 'mcp-proxy', 'service.version': '1' },
  scope: { name: 'mcp-proxy', version: '1.2.3' },
}
const SDK_RESOURCE = { attributes: RESOURCE.attributes } as OfficialSpan['resource']

const hrTime = (ms: number): [number, number] => {
  const whole = Math.floor(ms)
  return [Math.floor(whole / 1000), (whole % 1000) * 1e6 + Math.floor((ms - whole) * 1e6)]
}

/** The span as the official SDK holds it. */
const official = (span: Span): OfficialSpan => {
  const state = { serialize: () => span.traceState ?? '' }
  const { traceId, spanId, parentSpanId, flags, isParentRemote } = span
  return {
    name: span.name,
    kind: span.kind - 1,
    spanContext: () => ({
      ...{ traceId, spanId, traceFlags: flags },
      ...(span.traceState !== undefined && { traceState: state }),
    }),
    ...((parentSpanId !== undefined || isParentRemote) && {
      parentSpanContext: { traceId, spanId: parentSpanId ?? '', traceFlags: flags, isRemote: isParentRemote },
    }),
    startTime: hrTime(span.startMs),
    endTime: hrTime(span.endMs),
    status: span.status,
    attributes: span.attributes,
    links: span.links.map(({ flags: traceFlags, ...link }) => ({ context: { ...link, traceFlags } })),
    events: [],
    resource: SDK_RESOURCE,
    instrumentationScope: RESOURCE.scope,
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
  } as unknown as OfficialSpan
}

t.test('JSON is member for member what the official exporter writes', async t => {
  fc.assert(
    fc.property(fc.array(anySpan, { minLength: 1, maxLength: 4 }), spans => {
      const theirs = JsonTraceSerializer.serializeRequest(spans.map(official)) ?? new Uint8Array()
      t.strictSame(
        JSON.parse(encodeJson(spans, RESOURCE).toString()),
        JSON.parse(Buffer.from(theirs).toString()),
      )
    }),
    runs(100),
  )
})

t.test('a whole batch exceeds the initial buffer', async t => {
  const spans = fc.sample(anySpan, 400)
  const theirs = ProtobufTraceSerializer.serializeRequest(spans.map(official)) ?? new Uint8Array()
  t.ok(encodeProtobuf(spans, RESOURCE).equals(theirs))
})

t.test('protobuf is byte for byte what the official exporter writes', async t => {
  fc.assert(
    fc.property(fc.array(anySpan, { minLength: 1, maxLength: 4 }), spans => {
      const theirs = ProtobufTraceSerializer.serializeRequest(spans.map(official)) ?? new Uint8Array()
      t.equal(encodeProtobuf(spans, RESOURCE).toString('hex'), Buffer.from(theirs).toString('hex'))
    }),
    runs(100),
  )
})

const anyRecord: fc.Arbitrary<LogRecord> = fc.record({
  ...{
    timeMs,
    observedMs: timeMs,
    severity: fc.constantFrom(9, 13, 17),
    eventName: fc.constant('mcp_proxy.audit.call'),
    body: words,
    attributes,
  },
  ...{ traceId: hex(16), spanId: hex(8) },
})

type OfficialRecord = Parameters<typeof JsonLogsSerializer.serializeRequest>[0][number]

const officialRecord = (record: LogRecord): OfficialRecord =>
  ({
    ...{ hrTime: hrTime(record.timeMs), hrTimeObserved: hrTime(record.observedMs) },
    ...{ severityNumber: record.severity, eventName: record.eventName, body: record.body },
    spanContext: { traceId: record.traceId, spanId: record.spanId, traceFlags: 1 },
    ...{ attributes: record.attributes, droppedAttributesCount: 0, resource: SDK_RESOURCE },
    instrumentationScope: RESOURCE.scope,
  }) as unknown as OfficialRecord

t.test('log records are what the official exporter writes', async t => {
  fc.assert(
    fc.property(fc.array(anyRecord, { minLength: 1, maxLength: 4 }), records => {
      const theirs = records.map(officialRecord)
      const json = JsonLogsSerializer.serializeRequest(theirs) ?? new Uint8Array()
      t.strictSame(
        JSON.parse(encodeLogsJson(records, RESOURCE).toString()),
        JSON.parse(Buffer.from(json).toString()),
      )
      const bytes = ProtobufLogsSerializer.serializeRequest(theirs) ?? new Uint8Array()
      t.equal(encodeLogsProtobuf(records, RESOURCE).toString('hex'), Buffer.from(bytes).toString('hex'))
    }),
    runs(30),
  )
})

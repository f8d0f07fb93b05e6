import t, { type Test } from 'tap'
import { type Caller, LOCAL, unauthenticatedCaller } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Call } from '../../../src/model/links.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import type { Router } from '../../../src/mux/router.js'
import { resolveTracing, type TracingSettings } from '../../../src/telemetry/tracing/settings.js'
import { createTracer } from '../../../src/telemetry/tracing/tracer.js'
import { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { FakeClock } from '../../support/fake-clock.js'
import { Collector } from '../../support/server/collector.js'

const IDS = [1, 2, 3].map(n => ({ trace: String(n).repeat(32), span: String(n).repeat(16) }))
const parent = (n: number, flags = '01'): string => `00-${IDS[n]?.trace}-${IDS[n]?.span}-${flags}`

const setUp = async (t: Test, more: Partial<TracingSettings> = {}) => {
  const collector = new Collector()
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.start(t),
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  }
  const settings = resolveTracing({ tracing: 'env', slowMs: 0 }, env, t.fail)
  if (settings === undefined) throw new Error('it is on')
  const clock = new FakeClock()
  const tracer = createTracer({
    settings: { ...settings, ...more },
    ...{ clock, log: silentLogger, meter: undefined },
  })
  return { collector, clock, tracer }
}

interface Said {
  readonly meta?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly caller?: Caller
  readonly method?: string
  readonly params?: object
  /** The params as they came. */
  readonly text?: string
}

const callOf = ({
  meta,
  headers,
  caller = LOCAL,
  method = 'tools/call',
  params = { name: 'x' },
  text,
}: Said): Call => {
  const client = Object.assign(new FakeClient({} as Router), { via: 'http' })
  const call = new FakeCall(client, method, text ?? { ...params, ...(meta && { _meta: meta }) }, false)
  return Object.assign(call, { arrival: headers && { headers }, caller })
}

const STRANGER = unauthenticatedCaller('anonymous 10.0.0.1')
const KNOWN: Caller = { principal: 'i s', scopes: new Set(['mcp']), endsMs: Number.POSITIVE_INFINITY }

t.test('who decides, and what is a parent or a link', async t => {
  const { tracer } = await setUp(t)
  const rows: readonly (readonly [why: string, said: Said, expected: object | undefined])[] = [
    ['nobody says anything', {}, { parentId: undefined, links: [] }],
    ['_meta', { meta: { traceparent: parent(0) } }, { parentId: IDS[0]?.span, links: [] }],
    ['a header', { headers: { traceparent: parent(1) } }, { parentId: IDS[1]?.span, links: [] }],
    [
      '_meta beats the header',
      { meta: { traceparent: parent(0) }, headers: { traceparent: parent(1) } },
      { parentId: IDS[0]?.span, links: [{ traceId: IDS[1]?.trace }] },
    ],
    [
      'both say the same',
      { meta: { traceparent: parent(0) }, headers: { traceparent: parent(0) } },
      { parentId: IDS[0]?.span, links: [] },
    ],
    [
      '_meta says nonsense',
      { meta: { traceparent: 'x' }, headers: { traceparent: parent(1) } },
      { parentId: IDS[1]?.span, links: [] },
    ],
    ['_meta is no object', { params: { name: 'x', _meta: 'traceparent' } }, { parentId: undefined }],
    [
      'in an escape',
      { text: `{"_meta":{"traceparent":"\\u0030${parent(0).slice(1)}"}}` },
      { parentId: IDS[0]?.span },
    ],
    ['numbers', { meta: { traceparent: 7, tracestate: {} } }, { parentId: undefined }],
    ['a parent that is not sampled', { meta: { traceparent: parent(0, '00') } }, undefined],
    [
      'a stranger',
      { meta: { traceparent: parent(0) }, caller: STRANGER },
      { parentId: undefined, links: [{ traceId: IDS[0]?.trace }] },
    ],
    [
      'somebody with a credential',
      { meta: { traceparent: parent(0) }, caller: KNOWN },
      { parentId: IDS[0]?.span },
    ],
  ]
  for (const [why, said, expected] of rows) {
    const trace = tracer.decide(callOf(said))
    if (expected === undefined) t.equal(trace, undefined, why)
    else t.match(trace && { parentId: trace.origin.parentId, links: trace.links }, expected, why)
    if (trace?.origin.parentId === undefined && trace !== undefined)
      t.notOk(
        IDS.some(({ trace: id }) => id === trace.origin.context.traceId),
        `${why}: a trace of its own`,
      )
  }
})

t.test('no client has all its requests recorded', async t => {
  const { tracer, clock } = await setUp(t, { perSecond: 5 })
  const sampled = (): number =>
    Array.from({ length: 100 }, () => tracer.decide(callOf({ meta: { traceparent: parent(0) } }))).filter(
      trace => trace !== undefined,
    ).length
  t.equal(sampled(), 5)
  clock.advance(999)
  t.equal(sampled(), 0, 'a second begins with each of them')
  clock.advance(1)
  t.equal(sampled(), 5)
})

t.test('the ratio decides about what begins here, and about all where parents do not', async t => {
  const none = (await setUp(t, { ratio: 0 })).tracer
  t.equal(none.decide(callOf({})), undefined)
  t.equal(none.root(), undefined)
  t.ok(none.decide(callOf({ meta: { traceparent: parent(0) } })), 'a parent that is sampled')
  const some = (await setUp(t, { ratio: 0.5, perSecond: 1e6 })).tracer
  const share = Array.from({ length: 2000 }, () => some.root()).filter(root => root !== undefined).length
  t.ok(share > 700 && share < 1300, String(share))
  const own = (await setUp(t, { ratio: 0.5, isParentBased: false })).tracer
  const low = `00-${'0'.repeat(31)}1-${IDS[0]?.span}-00`
  const high = `00-${'f'.repeat(32)}-${IDS[0]?.span}-01`
  t.ok(own.decide(callOf({ meta: { traceparent: low } })), 'by the id of the trace')
  t.equal(own.decide(callOf({ meta: { traceparent: high } })), undefined)
  const deaf = (await setUp(t, { propagates: false })).tracer
  t.equal(deaf.decide(callOf({ meta: { traceparent: parent(0) } }))?.origin.parentId, undefined)
})

t.test('errors and slow calls are recorded although they are not sampled', async t => {
  const { tracer, clock, collector } = await setUp(t, { ratio: 0, keepsErrors: true, keepsSlowMs: 500 })
  const run = (method: string, ms: number, isFine: boolean): void => {
    const call = callOf({ method })
    const trace = tracer.decide(call)
    t.equal(trace?.isSampled, false)
    clock.advance(ms)
    const outcome = isFine ? succeeded(rawText('{}')) : failed(new Fault('timeout', 'too late for x'))
    if (trace !== undefined) tracer.over(trace, call, outcome)
  }
  run('prompts/get', 1, true)
  run('tools/call', 1, false)
  run('resources/read', 501, true)
  await tracer.close()
  const spans = await collector.spans(() => true)
  t.match(
    spans.map(({ name, status }) => [name, status.code]),
    [
      ['tools/call x', 2],
      ['resources/read', 0],
    ],
  )
  t.match(spans[0], {
    status: { message: 'too late for x' },
    attributes: { 'error.type': 'timeout', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'x' },
  })
})

t.test(
  'a URI is recorded without what may be secret, contents only if wanted, and the faults of askers are none',
  async t => {
    const { tracer, collector } = await setUp(t, { hasContent: true })
    const uri = `https://user:hunter2${'x'.repeat(600)}@example.com/a?key=hunter2#hunter2`
    const read = callOf({ method: 'resources/read', params: { uri } })
    const readTrace = tracer.decide(read)
    if (readTrace) tracer.over(readTrace, read, failed(new Fault('invalid-params', 'no')))
    const call = callOf({ params: { name: 'x', arguments: { q: 'words', password: 'hunter2' } } })
    const trace = tracer.decide(call)
    if (trace)
      tracer.over(trace, call, succeeded(textOf({ content: [{ type: 'text', text: 'y'.repeat(20_000) }] })))
    const gone = callOf({})
    const goneTrace = tracer.decide(gone)
    if (goneTrace) tracer.over(goneTrace, gone, undefined)
    await tracer.close()
    const [first, second, third] = await collector.spans(() => true, 3)
    t.match(first, {
      status: { code: 0 },
      attributes: { 'mcp.resource.uri': 'https://example.com/a', 'rpc.response.status_code': '-32602' },
    })
    t.equal(first?.attributes['error.type'], undefined)
    t.match(second?.attributes, { 'gen_ai.tool.call.arguments': '{"q":"words","password":"***"}' })
    t.ok(String(second?.attributes['gen_ai.tool.call.result']).length <= 8192)
    t.equal(third?.attributes['error.type'], 'cancelled')
    t.notMatch(JSON.stringify([first, second, third]), /hunter2/)
  },
)

import t, { type Test } from 'tap'
import { silentLogger } from '../../../src/kernel/logger.js'
import { Exporter } from '../../../src/telemetry/tracing/exporter.js'
import { rejectedIn } from '../../../src/telemetry/tracing/partial-success.js'
import { resolveTracing, type TracingSettings } from '../../../src/telemetry/tracing/settings.js'
import { KIND, type Span, STATUS } from '../../../src/telemetry/tracing/span.js'
import { FakeClock } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { Collector } from '../../support/server/collector.js'

const SPAN: Span = {
  ...{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), parentSpanId: undefined, isParentRemote: false },
  ...{ traceState: undefined, flags: 1, name: 'tools/call echo', kind: KIND.server, startMs: 1, endMs: 2 },
  ...{ attributes: {}, status: { code: STATUS.unset }, links: [] },
}

const setUp = async (t: Test, more: Partial<TracingSettings> = {}) => {
  const collector = new Collector()
  const base = await collector.start(t)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const settings = resolveTracing({ tracing: 'env', slowMs: 0 }, env, t.fail)
  if (settings === undefined) throw new Error('it is on')
  const clock = new FakeClock()
  const counts = { sent: 0, dropped: 0 }
  const warnings: string[] = []
  const waits: string[] = []
  const exporter = new Exporter({
    settings: { ...settings, ...more },
    resource: { attributes: {}, scope: { name: 'mcp-proxy', version: '1' } },
    clock,
    log: {
      ...silentLogger,
      warn: (_, words) => warnings.push(words),
      debug: (_, words) => waits.push(words),
    },
    count: (result, spans) => {
      counts[result] += spans
    },
  })
  return { collector, clock, counts, warnings, waits, exporter }
}

t.test('spans are sent together, after a while or when there are many', async t => {
  const { collector, clock, counts, exporter } = await setUp(t, { batch: 3, headers: { 'x-key': 'k' } })
  exporter.add(SPAN)
  clock.advance(4999)
  t.equal(collector.posts.length, 0)
  clock.advance(1)
  await collector.posted(1)
  t.match(collector.posts[0], {
    path: '/v1/traces',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'x-key': 'k' },
  })
  await until(() => counts.sent === 1, 'the answer')
  for (let n = 0; n < 3; n++) exporter.add(SPAN)
  await collector.posted(2)
  await until(() => counts.sent === 4, 'the other answer')
  t.same(counts, { sent: 4, dropped: 0 })
})

t.test('a retryable answer causes another attempt, any other one does not', async t => {
  for (const status of [429, 502, 503, 504]) {
    const { collector, clock, counts, warnings, waits, exporter } = await setUp(t, { batch: 1 })
    collector.answer = { status, headers: { 'retry-after': '45' } }
    exporter.add(SPAN)
    await until(() => waits.length === 1, 'the wait')
    collector.answer = { status: 200 }
    clock.advance(44_000)
    t.equal(collector.posts.length, 1, `${status}: it waits as long as it is told`)
    clock.advance(1000)
    await collector.posted(2)
    await until(() => counts.sent === 1, `${status}: the answer`)
    t.same(warnings, [], 'nobody is bothered')
  }
  for (const status of [301, 400, 401, 404, 413, 500]) {
    const { collector, counts, warnings, exporter } = await setUp(t, { batch: 1 })
    collector.answer = { status, headers: { location: '/elsewhere' } }
    exporter.add(SPAN)
    await until(() => counts.dropped === 1, `${status}: the end`)
    exporter.add(SPAN)
    await until(() => counts.dropped === 2, `${status}: the next end`)
    t.equal(collector.posts.length, 2)
    t.same(warnings, ['cannot send spans'], 'it is said once')
  }
})

t.test('what a collector says that it did not take was dropped', async t => {
  const { collector, counts, exporter } = await setUp(t, { batch: 3 })
  const says = async (rejectedSpans: unknown, dropped: number): Promise<void> => {
    const before = { ...counts }
    collector.answer = { status: 200, body: JSON.stringify({ partialSuccess: { rejectedSpans } }) }
    for (let n = 0; n < 3; n++) exporter.add(SPAN)
    const done = before.sent + before.dropped + 3
    await until(() => counts.sent + counts.dropped === done, 'the answer')
    t.equal(counts.dropped - before.dropped, dropped, String(rejectedSpans))
  }
  await says('2', 2)
  await says(1, 1)
  await says(1e9, 3)
  await says(-5, 0)
  await says('many', 0)
  await says({}, 0)
  t.equal(rejectedIn(Buffer.from([0x0a, 2, 0x08, 5]), false), 5)
  t.equal(rejectedIn(Buffer.from([0x0a, 3, 0x08, 0xac, 2]), false), 300)
  for (const bad of [
    [],
    [0x0a],
    [0x0a, 2],
    [0x0a, 2, 0x08],
    [0x0a, 2, 0x12, 1],
    [0x08, 5],
    Array(64).fill(0xff),
  ])
    t.equal(rejectedIn(Buffer.from(bad), false), 0)
  t.equal(rejectedIn(Buffer.from('no JSON'), true), 0)
  t.equal(rejectedIn(Buffer.from('[]'), true), 0)
})

t.test('a collector that does not answer costs a few tries and no more than the queue', async t => {
  const { collector, clock, counts, waits, exporter } = await setUp(t, {
    ...{ batch: 2, queue: 4, isZipped: false },
  })
  collector.answer = undefined
  for (let n = 0; n < 100; n++) exporter.add(SPAN)
  t.equal(counts.dropped, 94, 'all above the queue and what is on its way')
  for (let tries = 1; tries <= 5; tries++) {
    await collector.posted(tries)
    clock.advance(10_000)
    if (tries === 5) continue
    await until(() => waits.length === tries, 'the wait')
    clock.advance(40_000)
  }
  await until(() => counts.dropped === 96, 'the first ones to be given up')
  const closed = exporter.close()
  await until(() => clock.pending > 0, 'the limit')
  clock.advance(1500)
  await closed
  t.same(counts, { sent: 0, dropped: 100 })
  exporter.add(SPAN)
  t.equal(counts.dropped, 101, 'nothing is kept after the end')
})

t.test('the rest is sent at shutdown', async t => {
  const { collector, counts, exporter } = await setUp(t)
  exporter.add(SPAN)
  await exporter.close()
  t.equal(collector.posts.length, 1)
  t.same(counts, { sent: 1, dropped: 0 })
})

t.test('an unavailable or verbose collector delays nothing', async t => {
  const { exporter, counts, waits } = await setUp(t, { batch: 1, url: 'http://127.0.0.1:1/v1/traces' })
  exporter.add(SPAN)
  await until(() => waits.length === 1, 'the wait')
  await exporter.close()
  t.same(counts, { sent: 0, dropped: 1 })
  const loud = await setUp(t, { batch: 1 })
  loud.collector.answer = { status: 200, body: ' '.repeat(1024 * 1024) }
  loud.exporter.add(SPAN)
  await until(() => loud.counts.sent === 1, 'the end of it')
})

t.test('the console is the log, and a certificate that is not there is said', async t => {
  const { exporter, counts } = await setUp(t, { exporter: 'console', batch: 1 })
  exporter.add(SPAN)
  await until(() => counts.sent === 1, 'the line')
  await t.rejects(setUp(t, { tls: { ca: '/nowhere', key: undefined, cert: undefined } }), {
    code: 'invalid-params',
  })
})

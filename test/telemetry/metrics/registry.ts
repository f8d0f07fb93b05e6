import t from 'tap'
import { addSecrets } from '../../../src/kernel/secrets/mask.js'
import { FAMILY_NAMES } from '../../../src/telemetry/metrics/families.js'
import { Metrics } from '../../../src/telemetry/metrics/registry.js'
import { FakeClock } from '../../support/fake-clock.js'

const MINUTE = 60_000

const setUp = (series = 2000) => {
  const clock = new FakeClock()
  const metrics = new Metrics({ series, clock })
  const servers = (family: Parameters<Metrics['samples']>[0]) => [
    ...new Set(metrics.samples(family).map(one => one.labels[0])),
  ]
  return { clock, metrics, servers }
}

t.test('who asks twice for a series gets the same one', async t => {
  const { metrics } = setUp()
  t.equal(
    metrics.counter('mcp_proxy_tool_calls', 'a', 'x', 'ok'),
    metrics.counter('mcp_proxy_tool_calls', 'a', 'x', 'ok'),
  )
  t.not(
    metrics.counter('mcp_proxy_tool_calls', 'a', 'x', 'ok'),
    metrics.counter('mcp_proxy_tool_calls', 'a', 'x', 'error'),
  )
})

t.test('ten thousand tools share one series beyond the limit, which counts them', async t => {
  const { metrics } = setUp()
  for (let n = 0; n < 10_000; n++) metrics.counter('mcp_proxy_tool_calls', 'a', `tool-${n}`, 'ok').add()
  t.ok(metrics.size < 2000, String(metrics.size))
  const samples = metrics.samples('mcp_proxy_tool_calls')
  const rest = samples.find(({ labels }) => labels[1] === '_overflow')
  t.equal(Number(rest?.value) + samples.length - 1, 10_000, 'nothing is lost')
  t.same(
    metrics.overflows.filter(({ value }) => value !== 0),
    [{ labels: ['mcp_proxy_tool_calls'], value: rest?.value }],
  )
  t.match(metrics.overflows[0], { value: 0 }, 'an alert sees the first one')
  metrics.histogram('mcp_proxy_server_start_seconds', 'a').observe(1)
  t.equal(metrics.samples('mcp_proxy_server_start_seconds').length, 1, 'others still have room')
})

t.test('there are fewer histograms than series', async t => {
  const { metrics } = setUp()
  for (let n = 0; n < 1000; n++)
    metrics.histogram('mcp_client_operation_duration_seconds', `s${n}`, 'tools/call').observe(1)
  t.equal(metrics.samples('mcp_client_operation_duration_seconds').length, 401)
})

t.test('what may happen to a server is 0 until it does, unless there are many servers', async t => {
  const { metrics } = setUp()
  const names = Array.from({ length: 200 }, (_, n) => `s${n}`)
  metrics.serve(names)
  const repairs = metrics.samples('mcp_proxy_repairs').map(({ labels, value }) => [...labels, value])
  t.match(repairs[0], ['s0', 'item', 0])
  t.ok(repairs.length < 500)
  for (const family of ['mcp_proxy_server_starts', 'mcp_proxy_server_losses'] as const)
    t.match(
      metrics.samples(family).find(({ labels }) => labels.join(' ') === 's0 unauthorized'),
      { value: 0 },
      family,
    )
  t.match(
    metrics.overflows.find(({ labels }) => labels[0] === 'mcp_server_operation_duration_seconds'),
    { value: 0 },
    'also of what was never counted',
  )
  t.ok(metrics.size < 1500, 'there is room for their tools')
  t.ok(metrics.overflows.every(({ value }) => value === 0))
})

t.test('the series of a server go five minutes after it', async t => {
  const { clock, metrics, servers } = setUp()
  metrics.serve(['a', 'b'])
  metrics.histogram('mcp_proxy_server_start_seconds', 'a')
  const { size, epoch } = metrics
  metrics.serve(['b'])
  metrics.serve(['b'])
  clock.advance(5 * MINUTE - 1)
  t.same(servers('mcp_proxy_server_starts'), ['a', 'b'])
  t.equal(metrics.epoch, epoch)
  clock.advance(1)
  t.same(servers('mcp_proxy_server_starts'), ['b'])
  t.same(servers('mcp_proxy_server_start_seconds'), [])
  t.ok(metrics.size < size)
  for (const family of FAMILY_NAMES)
    t.notOk(
      metrics.samples(family).some(({ labels }) => labels.includes('a')),
      family,
    )
  t.not(metrics.epoch, epoch, 'who keeps series must ask again')
  t.equal(clock.pending, 0)
})

t.test('a server that comes back in time keeps its numbers', async t => {
  const { clock, metrics, servers } = setUp()
  metrics.serve(['a', 'b'])
  metrics.counter('mcp_proxy_server_starts', 'a', 'ok').add(7)
  metrics.serve(['b'])
  clock.advance(MINUTE)
  metrics.serve(['a', 'b'])
  clock.advance(10 * MINUTE)
  t.same(servers('mcp_proxy_server_starts'), ['a', 'b'])
  t.equal(metrics.counter('mcp_proxy_server_starts', 'a', 'ok').value, 7)
  metrics.serve(['b'])
  metrics.close()
  t.equal(clock.pending, 0)
})

t.test('names that are shown alike, because they are long or no text, have series of their own', async t => {
  const { metrics, servers } = setUp()
  const names = [...['1', '2'].map(end => 'x'.repeat(200) + end), 'a\ud800', 'a\udfff', 'é', 'b']
  for (const name of names) metrics.counter('mcp_proxy_server_starts', name, 'ok').add()
  const shown = servers('mcp_proxy_server_starts')
  t.equal(new Set(shown).size, names.length)
  t.ok(shown.every(name => Buffer.byteLength(name ?? '') <= 128))
  t.same(shown.slice(-2), ['é', 'b'], 'what can be shown is shown as it is')
  metrics.counter('mcp_proxy_server_starts', names[0] ?? '', 'ok').add()
  t.equal(metrics.samples('mcp_proxy_server_starts').length, names.length)
})

t.test('a tool that its server named after a secret shows none of it', async t => {
  t.teardown(addSecrets(['planted-word']))
  const { metrics } = setUp()
  const names = ['planted-word', 'get_planted-word_now', `sk-${'a1'.repeat(12)}`, 'search_planted_words']
  for (const name of names) metrics.counter('mcp_proxy_tool_calls', 'a', name, 'ok')
  for (const name of names)
    metrics.histogram('mcp_client_operation_duration_seconds', 'a', 'tools/call', '', '', name)
  const shown = [
    ...metrics.samples('mcp_proxy_tool_calls').map(({ labels }) => labels[1]),
    ...metrics.samples('mcp_client_operation_duration_seconds').map(({ labels }) => labels[4]),
  ]
  t.notMatch(shown.join(' '), /planted-word|a1a1/)
  t.equal(shown.filter(name => name === 'search_planted_words').length, 2, 'others are as they were')
})

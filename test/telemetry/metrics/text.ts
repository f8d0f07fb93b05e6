import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { FAMILIES, FAMILY_NAMES } from '../../../src/telemetry/metrics/families.js'
import { Metrics } from '../../../src/telemetry/metrics/registry.js'
import { encodeMetrics, formatFor } from '../../../src/telemetry/metrics/text.js'
import { FakeClock } from '../../support/fake-clock.js'
import { readMetrics } from '../../support/metrics.js'
import { runs } from '../../support/property.js'

const write = (metrics: Metrics, format: 'text' | 'openmetrics'): string =>
  [...encodeMetrics(FAMILY_NAMES, name => metrics.samples(name), format)].join('')

t.test('what a scraper accepts decides which format it gets', async t => {
  const rows: readonly (readonly [accept: string | undefined, format: 'text' | 'openmetrics'])[] = [
    [undefined, 'text'],
    ['*/*', 'text'],
    ['text/plain', 'text'],
    ['text/html,*/*;q=0.8', 'text'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
    ['application/openmetrics-text;version="1.0.0";q=0.5,text/plain;q=0.4', 'openmetrics'],
    ['application/openmetrics-text;version=1.0.0;q=0.1,text/plain;version=0.0.4;q=0.4', 'text'],
    ['application/openmetrics-text;version=2.0.0', 'text'],
    ['application/openmetrics-text;q=0', 'text'],
    [
      'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      'openmetrics',
    ],
  ]
  for (const [accept, format] of rows) t.equal(formatFor(accept), format, String(accept))
})

t.test('a histogram and a counter are written as each format wants them', async t => {
  const metrics = new Metrics({ series: 2000, clock: new FakeClock() })
  metrics.histogram('mcp_proxy_overhead_seconds').observe(0.000_07)
  metrics.counter('mcp_proxy_bytes', 'a', 'sent').add(3)
  const text = write(metrics, 'text')
  t.match(text, '# TYPE mcp_proxy_bytes_total counter\n')
  t.match(text, 'mcp_proxy_bytes_total{server="a",direction="sent"} 3\n')
  t.match(text, 'mcp_proxy_overhead_seconds_bucket{le="0.00005"} 0\n')
  t.match(text, 'mcp_proxy_overhead_seconds_bucket{le="0.0001"} 1\n')
  t.match(text, 'mcp_proxy_overhead_seconds_bucket{le="+Inf"} 1\nmcp_proxy_overhead_seconds_sum 0.00007\n')
  t.match(text, '# TYPE mcp_proxy_build_info gauge\n')
  t.notMatch(text, '# EOF')
  const open = write(metrics, 'openmetrics')
  t.match(open, '# TYPE mcp_proxy_bytes counter\n# UNIT mcp_proxy_bytes bytes\n')
  t.match(open, '{le="5e-05"} 0\n')
  t.match(open, '# TYPE mcp_proxy_build info\n')
  t.ok(open.endsWith('# EOF\n'))
})

t.test('each sample stays one readable line, with any names of servers and tools', async () => {
  const strange = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('"', '\\', '\n', '\\n"', '\ud800', '\udfff\ud800', 'x'.repeat(65_536), '', '\u2028\r\n#'),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(strange, strange), { maxLength: 8 }), names => {
      const metrics = new Metrics({ series: 2000, clock: new FakeClock() })
      for (const [server, tool] of names) metrics.counter('mcp_proxy_tool_calls', server, tool, 'ok').add()
      for (const format of ['text', 'openmetrics'] as const) {
        const read = readMetrics(Buffer.from(write(metrics, format)).toString(), format)
        const found = read.get('mcp_proxy_tool_calls_total') ?? []
        const sum = found.reduce((total, { value }) => total + value, 0)
        if (sum !== names.length) throw new Error(`${sum} of ${names.length} calls`)
        if (new Set(found.map(({ labels }) => JSON.stringify(labels))).size !== found.length)
          throw new Error('a series stands there twice')
      }
    }),
    runs(200),
  )
})

t.test('every family is in the documentation, with its labels', async t => {
  const docs = readFileSync(new URL('../../../docs/observability.md', import.meta.url), 'utf8')
  for (const name of FAMILY_NAMES) {
    const { labels } = FAMILIES[name]
    const row = new RegExp(`^\\| \`${name}(_total|_seconds|_bytes|_info)?\``)
    const line = docs.split('\n').find(each => row.test(each))
    t.ok(line, name)
    for (const label of labels) t.match(line, `\`${label}\``)
  }
})

t.test('a bucket names the trace of its last value, where that is allowed', async t => {
  const metrics = new Metrics({ series: 2000, clock: new FakeClock() })
  const histogram = metrics.histogram('mcp_server_operation_duration_seconds', 'tools/call')
  histogram.observe(0.003)
  histogram.observe(0.004, 'a'.repeat(32))
  const open = write(metrics, 'openmetrics')
  t.match(open, new RegExp(`le="0.005"} 2 # {trace_id="${'a'.repeat(32)}"} 0.004 \\d+\\.\\d{3}\n`))
  readMetrics(open, 'openmetrics')
  t.notMatch(write(metrics, 'text'), / # /)
})

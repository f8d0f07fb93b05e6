import t from 'tap'
import type { TracingConfig } from '../../../src/config/types.js'
import { resolveTracing } from '../../../src/telemetry/tracing/settings.js'

const resolve = (env: Record<string, string>, warnings: string[] = []) =>
  resolveTracing({ tracing: 'env', slowMs: 1000 }, env, words => warnings.push(words))

const CONFIG: TracingConfig = {
  ...{ endpoint: 'https://collector.example/base/', protocol: 'http/json', headers: { 'x-key': 'secret' } },
  ...{
    ratio: 0.1,
    trustParents: undefined,
    perSecond: 7,
    keep: ['slow'],
    content: true,
    baggage: ['tenant'],
  },
}

t.test('variables count for nothing where the configuration does not name them', async t => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://evil.example', OTEL_TRACES_SAMPLER: 'always_off' }
  t.equal(resolveTracing({ tracing: undefined, slowMs: 1 }, env, t.fail), undefined)
  const settings = resolveTracing({ tracing: CONFIG, slowMs: 1000 }, env, t.fail)
  t.match(settings, {
    ...{ url: 'https://collector.example/base/v1/traces', protocol: 'http/json', ratio: 0.1, perSecond: 7 },
    ...{ keepsErrors: false, keepsSlowMs: 1000, isZipped: true, timeoutMs: 10_000, queue: 2048, batch: 512 },
  })
  t.equal(settings?.hasContent, false, 'contents are wanted by both or not at all')
  const both = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'True' }
  t.equal(resolveTracing({ tracing: CONFIG, slowMs: 1000 }, both, t.fail)?.hasContent, true)
  t.equal(resolve(both)?.hasContent, false)
})

t.test('the variables of OpenTelemetry are supported, those for traces first', async t => {
  const rows: readonly (readonly [env: Record<string, string>, expected: object])[] = [
    [
      {},
      { url: 'http://localhost:4318/v1/traces', protocol: 'http/protobuf', ratio: 1, isParentBased: true },
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1/x/' }, { url: 'http://c:1/x/v1/traces' }],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:1', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://d/own' },
      { url: 'http://d/own' },
    ],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_COMPRESSION: 'none' },
      { protocol: 'http/json', isZipped: false },
    ],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b = x%20y ,bad,c=%' }, { headers: { a: '1', b: 'x y', c: '%' } }],
    [{ OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2500' }, { timeoutMs: 2500 }],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '3500' }, { timeoutMs: 3500 }],
    [
      { OTEL_EXPORTER_OTLP_CERTIFICATE: '/ca', OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: '/key' },
      { tls: { ca: '/ca', key: '/key', cert: undefined } },
    ],
    [
      { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=other,env=test' },
      { resource: { 'service.name': 'mine', env: 'test' } },
    ],
    [{ OTEL_RESOURCE_ATTRIBUTES: 'env=test' }, { resource: { 'service.name': 'mcp-proxy', env: 'test' } }],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, { ratio: 0, isParentBased: false }],
    [
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { ratio: 0.25, isParentBased: true },
    ],
    [{ OTEL_PROPAGATORS: 'none' }, { propagates: false }],
    [{ OTEL_PROPAGATORS: 'tracecontext,baggage' }, { propagates: true }],
    [
      {
        ...{ OTEL_BSP_MAX_QUEUE_SIZE: '64', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8' },
        OTEL_BSP_SCHEDULE_DELAY: '100',
      },
      { queue: 64, batch: 8, delayMs: 100 },
    ],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: '1000000000' }, { queue: 8192 }],
    [{ OTEL_TRACES_EXPORTER: 'console' }, { exporter: 'console' }],
  ]
  for (const [env, expected] of rows) t.match(resolve(env), expected, JSON.stringify(env))
})

t.test('what is switched off is off, and what cannot be is said', async t => {
  t.equal(resolve({ OTEL_SDK_DISABLED: 'true' }), undefined)
  t.equal(resolve({ OTEL_TRACES_EXPORTER: 'none' }), undefined)
  t.throws(() => resolve({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), { message: /4318/ })
  t.throws(() => resolve({ OTEL_EXPORTER_OTLP_PROTOCOL: 'carrier pigeon' }), { code: 'invalid-params' })
  t.throws(() => resolve({ OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' }), { code: 'invalid-params' })
  const warned = (env: Record<string, string>): string => {
    const warnings: string[] = []
    resolve(env, warnings)
    return warnings.join()
  }
  t.match(warned({ OTEL_PROPAGATORS: 'b3' }), /OTEL_PROPAGATORS/)
  t.match(warned({ OTEL_TRACES_SAMPLER: 'jaeger_remote' }), /OTEL_TRACES_SAMPLER/)
  t.match(warned({ OTEL_TRACES_EXPORTER: 'zipkin' }), /OTEL_TRACES_EXPORTER/)
  t.match(warned({ OTEL_BSP_SCHEDULE_DELAY: '-1' }), /OTEL_BSP_SCHEDULE_DELAY/)
  t.match(warned({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' }), /SAMPLER_ARG/)
})

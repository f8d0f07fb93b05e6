import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { codecOf, NEWEST } from '../support/era/codec.js'
import { skipWithout } from '../support/processes.js'
import { BIN, configFile, startBin, startProxy } from '../support/proxy/start.js'
import { Collector } from '../support/server/collector.js'
import { listenFor, startPlainServer } from '../support/server/plain-http-server.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const PARENT = `00-${TRACE}-${CALLER}-01`
const SERVER = 2

/** Every variable of the specification of OpenTelemetry's SDKs and its exporters. */
const variables = (endpoint: string): Record<string, string> => ({
  OTEL_SDK_DISABLED: 'false',
  OTEL_SERVICE_NAME: 'host',
  OTEL_RESOURCE_ATTRIBUTES: 'a=b',
  OTEL_LOG_LEVEL: 'debug',
  OTEL_PROPAGATORS: 'tracecontext,baggage,b3',
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_TRACES_SAMPLER_ARG: '1',
  ...Object.fromEntries(['TRACES', 'METRICS', 'LOGS'].map(kind => [`OTEL_${kind}_EXPORTER`, 'otlp'])),
  ...Object.fromEntries(
    ['', 'TRACES_', 'METRICS_', 'LOGS_'].flatMap(kind => [
      [`OTEL_EXPORTER_OTLP_${kind}ENDPOINT`, endpoint],
      [`OTEL_EXPORTER_OTLP_${kind}PROTOCOL`, 'http/json'],
      [`OTEL_EXPORTER_OTLP_${kind}HEADERS`, 'x-key=k'],
      [`OTEL_EXPORTER_OTLP_${kind}TIMEOUT`, '100'],
      [`OTEL_EXPORTER_OTLP_${kind}COMPRESSION`, 'none'],
      [`OTEL_EXPORTER_OTLP_${kind}CERTIFICATE`, '/nowhere.pem'],
      [`OTEL_EXPORTER_OTLP_${kind}CLIENT_KEY`, '/nowhere.pem'],
      [`OTEL_EXPORTER_OTLP_${kind}CLIENT_CERTIFICATE`, '/nowhere.pem'],
    ]),
  ),
  OTEL_EXPORTER_ZIPKIN_ENDPOINT: endpoint,
  OTEL_BSP_SCHEDULE_DELAY: '1',
  OTEL_BSP_EXPORT_TIMEOUT: '100',
  OTEL_BSP_MAX_QUEUE_SIZE: '1',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
  OTEL_BLRP_SCHEDULE_DELAY: '1',
  OTEL_METRIC_EXPORT_INTERVAL: '1',
  OTEL_METRICS_EXEMPLAR_FILTER: 'always_on',
  OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '128',
  OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '10',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  TRACEPARENT: PARENT,
})

/** A server over HTTP that keeps what it gets to the byte. */
const startRecorder = async (t: Test) => {
  const heard: string[] = []
  const codec = codecOf(NEWEST)
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const { host, ...headers } = request.headers
      // The id by which a server is asked which revisions it knows is made up.
      const known = body.replace(/"probe-[\w-]{22}"/, '"probe"')
      heard.push(`${request.method} ${JSON.stringify(headers)} ${known}`)
      const { id, method } = JSON.parse(body === '' ? '{}' : body)
      if (id === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end()
      else {
        const usual = codec.answer(method, { alias: 'r', revision: NEWEST, capabilities: { tools: {} } })
        const own = { result: { content: [], tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(typeof usual === 'object' ? usual : own) }))
      }
    })
  })
  return { entry: { type: 'http', url: `${await listenFor(t, server)}/mcp` }, heard }
}

const isTracing = (file: string | URL): boolean =>
  readFileSync(file, 'utf8').includes('OTEL_BSP_SCHEDULE_DELAY')

/** Whether a program that wrote what it covered there has loaded the part that traces. */
const loadsTracing = (folder: string): boolean => {
  const urls = readdirSync(folder).flatMap(name => {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: { url: string }[] }
    return result.map(({ url }) => url)
  })
  const own = urls.filter(url => url.startsWith('file:') && url.includes('/dist/'))
  if (own.length === 0) throw new Error('nothing was covered')
  return own.some(url => isTracing(new URL(url)))
}

t.test(
  'no variable turns tracing on: servers get the same bytes, no module is loaded, and no connection is opened',
  { skip: skipWithout.signals },
  async t => {
    let connections = 0
    const endpoint = await listenFor(
      t,
      createServer((_, response) => response.end()).on('connection', () => {
        connections += 1
      }),
    )
    const run = async (env: Record<string, string>) => {
      const recorder = await startRecorder(t)
      const folder = mkdtempSync(join(tmpdir(), 'mcp-loaded-'))
      t.teardown(() => rmSync(folder, { recursive: true, force: true }))
      const file = configFile(t, { a: recorder.entry }, { knownServers: false })
      const bin = startBin(t, ['serve', '--port', '0', '--config', file], {
        env: { ...env, NODE_V8_COVERAGE: folder },
      })
      const client = new RawClient((await bin.line(/listening on http/)).split(' ').at(-1) ?? '')
      client.headers = { traceparent: PARENT, tracestate: 'a=1', baggage: 'user=b' }
      await client.initialize()
      await client.call(1, 'a__echo', '{"n":1.0}')
      await client.call(2, 'a__echo', '{}', { traceparent: PARENT, tracestate: 'A bad one', baggage: 'x' })
      await client.call(3, 'a__echo', '{}', { traceparent: 7, progressToken: 'p' })
      await client.request('tools/list')
      bin.child.kill('SIGTERM')
      await bin.exited
      return { heard: recorder.heard, isTracing: loadsTracing(folder) }
    }
    const [plain, told] = await Promise.all([run({}), run(variables(endpoint))])
    t.same(told.heard, plain.heard)
    t.ok(plain.heard.some(one => one.includes('A bad one')))
    t.equal(told.isTracing, false)
    const dist = `${dirname(dirname(BIN))}/dist`
    t.ok(
      readdirSync(dist).some(name => name.endsWith('.js') && isTracing(join(dist, name))),
      'it is there',
    )
    t.equal(connections, 0)
  },
)

const BAD_PARENTS: readonly unknown[] = [
  ...['', ' ', '00', 'x', 'null', '00-', '-', '----', TRACE, `00-${TRACE}`, `00-${TRACE}-${CALLER}`],
  ...[`${PARENT}0`, `${PARENT}-x`, ` 0${PARENT}`, `0${PARENT}`, `${PARENT},${PARENT}`, `"${PARENT}"`],
  ...[PARENT.toUpperCase(), PARENT.replaceAll('-', '_'), `ff${PARENT.slice(2)}`, `0x${PARENT.slice(2)}`],
  ...[`00-${'0'.repeat(32)}-${CALLER}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`, `00-${TRACE}-${CALLER}-0x`],
  ...[`00-${TRACE.slice(1)}g-${CALLER}-01`, `00-${TRACE}-${CALLER}-1`, `01-${TRACE}-${CALLER}-01x`],
  ...[`00-${CALLER}-${TRACE}-01`, 'a'.repeat(55), '0'.repeat(8192), `${PARENT}\u00e9`],
]
/** What only JSON can say. */
const STRANGE: readonly unknown[] = [
  ...[null, 0, 1.5, true, [], {}, [PARENT], { traceparent: PARENT }, `${PARENT}\0`, `\n${PARENT}\n${PARENT}`],
  ...['\ud800', `${PARENT}\ud800`, '٠٠-', '\u202e', 'é'.repeat(1000)],
]
const BAD_STATES: readonly unknown[] = [
  ...[
    '',
    ' ',
    ',',
    '=',
    'a',
    'a=',
    '=a',
    'A=1',
    'a b=1',
    'a=1,a=2',
    'a=b=c',
    '@a=1',
    'a@=1',
    'a@b@c=1',
    '1a=1',
  ],
  ...[
    'a;b=1',
    '{"a":1}',
    'a=1,B=2',
    'a=1;b=2',
    'a=1,,=',
    'a=\u00e9',
    'ü=1',
    '-a=1',
    '*=1',
    'a=1,b',
    '"a"="1"',
  ],
  ...[`a=${'v'.repeat(257)}`, `${'k'.repeat(257)}=1`, 'a=1,'.repeat(2000), 'x'.repeat(8000)],
  Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(','),
]
const BAD_BAGGAGE: readonly unknown[] = [
  ...[
    '',
    ' ',
    ',',
    '=',
    ';',
    'tenant',
    'tenant;',
    '=x',
    'ten ant=x',
    '"tenant"=x',
    'tenant\u00e9=x',
    '{}',
    '%',
  ],
  ...[
    ',,,',
    ';;;',
    '===',
    'a,b,c',
    'TENANT=x',
    'tenant@x=1',
    'x'.repeat(8193),
    ' ,'.repeat(2000),
    'a=;b=;c=',
  ],
  ...['<script>', '\\', '(tenant)=x', '[tenant]=x', 'tenant:x', 'tenant/x', '?tenant=x', 'null', '0', 'true'],
]

t.test(
  'what is malformed of a trace fails no call, in params and in headers: the trace is a new one',
  async t => {
    const server = await startPlainServer(t, NEWEST)
    const collector = new Collector()
    const tracing = {
      ...{ endpoint: await collector.start(t), protocol: 'http/json', perSecond: 10_000 },
      baggage: ['tenant'],
    }
    const proxy = startProxy(t, { a: server.entry }, { more: { tracing } })
    const client = new RawClient((await proxy.listen({ port: 0 })).url)
    await client.initialize()
    let calls = 0
    const call = async (
      meta: object | undefined,
      headers: Readonly<Record<string, string>>,
    ): Promise<void> => {
      calls += 1
      client.headers = headers
      const { message } = (await client.call(`n${calls}`, 'a__echo', '{}', meta)).last
      if (message.result === undefined) t.fail(JSON.stringify([meta, headers, message]))
    }
    const isHeader = (value: unknown): value is string =>
      typeof value === 'string' && /^[ -~\u00a0-ÿ]*$/.test(value)
    for (const value of [...BAD_PARENTS, ...STRANGE]) {
      await call({ traceparent: value, tracestate: 'a=1' }, {})
      if (isHeader(value)) await call(undefined, { traceparent: value, tracestate: 'a=1' })
    }
    const orphans = calls
    for (const value of [...BAD_STATES, ...STRANGE]) {
      await call({ traceparent: PARENT, tracestate: value }, {})
      if (isHeader(value)) await call(undefined, { traceparent: PARENT, tracestate: value })
    }
    const children = calls
    for (const value of [...BAD_BAGGAGE, ...STRANGE]) {
      await call({ traceparent: PARENT, baggage: value }, {})
      if (isHeader(value)) await call(undefined, { traceparent: PARENT, baggage: value })
    }
    t.ok(calls > 200, `${calls} calls`)
    await proxy.close()
    const spans = (await collector.spans(() => true)).filter(
      ({ kind, name }) => kind === SERVER && name === 'tools/call a__echo',
    )
    t.equal(spans.length, calls)
    for (const span of spans) {
      const n = Number(String(span.attributes['jsonrpc.request.id']).slice(1))
      const is = { parent: span.parentSpanId, state: span.traceState, isTheirs: span.traceId === TRACE }
      const expected =
        n <= orphans ? { parent: undefined, isTheirs: false } : { parent: CALLER, isTheirs: true }
      if (is.parent !== expected.parent || is.isTheirs !== expected.isTheirs || is.state !== undefined)
        t.fail(`call ${n}: ${JSON.stringify(is)}`)
    }
    t.equal(spans.filter(({ traceId }) => traceId === TRACE).length, calls - orphans)
    t.ok(children > orphans)
    const told = server.seen.filter(({ message }) => message.method === 'tools/call')
    t.equal(told.length, calls)
    for (const { headers, message } of told) {
      const { _meta } = message.params
      if (!/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/.test(_meta.traceparent)) t.fail(JSON.stringify(message))
      if (headers['traceparent'] !== _meta.traceparent) t.fail(JSON.stringify(headers))
      if (_meta.tracestate !== undefined || headers['tracestate'] !== undefined)
        t.fail(JSON.stringify(message))
    }
  },
)

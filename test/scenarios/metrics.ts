import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { FAMILIES, FAMILY_NAMES } from '../../src/telemetry/metrics/families.js'
import { RawClient } from '../support/client/raw-client.js'
import { type ReadSample, readMetrics } from '../support/metrics.js'
import { until } from '../support/processes.js'
import { rawServer, tiny } from '../support/proxy/start.js'

const OPEN = 'application/openmetrics-text;version=1.0.0'

const setUp = async (t: Test, mcpServers: object, more: object = {}) => {
  const text = JSON.stringify({ mcpServers, startupWait: '60s', ...more })
  const { config } = parseConfig(text, 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config, { listWaitMs: 60_000 })
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const page = new URL('/metrics', url)
  const scrape = async (headers: Record<string, string> = {}) => {
    const response = await fetch(page, { headers })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  /** Scrapes until it holds; a text is kept for a second. */
  const read = async (wanted: (found: ReadonlyMap<string, readonly ReadSample[]>) => boolean) => {
    let found: ReadonlyMap<string, readonly ReadSample[]> = new Map()
    await until(async () => {
      found = readMetrics((await scrape()).text)
      return wanted(found)
    }, 'the metrics')
    return found
  }
  return { proxy, url, page, scrape, read }
}

const valueOf = (
  found: ReadonlyMap<string, readonly ReadSample[]>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined =>
  found.get(name)?.find(one => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
    ?.value

t.test('every family is there in both formats, before anything has happened', async t => {
  const { scrape } = await setUp(t, { a: tiny() })
  const text = await scrape()
  t.equal(text.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const open = await scrape({ accept: OPEN })
  t.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  readMetrics(text.text)
  readMetrics(open.text, 'openmetrics')
  for (const name of FAMILY_NAMES) {
    t.match(open.text, `# TYPE ${name} ${FAMILIES[name].kind}\n`)
    t.match(text.text, `# HELP ${name}`)
  }
  const zipped = await scrape({ 'accept-encoding': 'gzip' })
  t.equal(zipped.headers.get('content-encoding'), 'gzip')
  t.match(zipped.text, 'mcp_proxy_ready 1\n')
})

t.test('malformed input is counted, of every kind and transport', async t => {
  const { proxy, url, read } = await setUp(t, { a: tiny() })
  const post = (path: string, body: string, type = 'application/json') =>
    fetch(new URL(path, url), {
      method: 'POST',
      headers: { 'content-type': type, accept: 'application/json, text/event-stream' },
      body,
    })
  const sent = [
    await post('/mcp', '{'),
    await post('/mcp', '{"jsonrpc":"1.0","id":1,"method":"ping"}'),
    await post('/mcp', '[{"jsonrpc":"2.0","id":1,"method":"ping"},5]'),
    await post('/mcp', '{}', 'text/plain'),
    await post('/messages?sessionId=x', '{}', 'text/plain'),
  ]
  t.ok(sent.every(({ status }) => status >= 400))
  const { wsUrl } = await proxy.listen({ port: 0 })
  const socket = new WebSocket(wsUrl ?? '', 'mcp')
  await once(socket, 'open')
  socket.send('{')
  const labels = { reason: 'malformed' }
  const found = await read(all => (valueOf(all, 'mcp_proxy_refused_total', labels) ?? 0) >= 6)
  t.equal(valueOf(found, 'mcp_proxy_refused_total', labels), 6)
  socket.close()
})

t.test('the requests add up, however they ended', async t => {
  const { url, read } = await setUp(t, { a: tiny() })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  await client.call(1, 'a__echo')
  await client.call(2, 'a__echo')
  await client.call(3, 'a__fail')
  await client.call(4, 'a__refuse')
  await client.call(5, 'a__nobody')
  await client.request('made/up')
  await client.request('ping')
  await new RawClient(url).post({ id: 1, method: 'initialize', params: {} })
  const count = 'mcp_server_operation_duration_seconds_count'
  const found = await read(all => valueOf(all, count, { mcp_method_name: '_OTHER' }) === 1)
  const sum = (found.get(count) ?? []).reduce((total, { value }) => total + value, 0)
  t.equal(sum, 10, 'initialize twice, a list, five calls, a ping and what nobody knows')
  const tools = found.get('mcp_proxy_tool_calls_total') ?? []
  t.same(
    Object.fromEntries(tools.map(({ labels, value }) => [`${labels['tool']} ${labels['outcome']}`, value])),
    {
      'echo ok': 2,
      'fail tool_error': 1,
      'refuse error': 1,
      '_OTHER fault': 1,
    },
  )
  t.equal(valueOf(found, 'mcp_proxy_server_state', { server: 'a', state: 'ready' }), 1)
  t.equal(valueOf(found, 'mcp_proxy_items', { server: 'a', list: 'tools' }), 6)
  t.equal(valueOf(found, 'mcp_proxy_clients', { transport: 'http', mcp_protocol_version: '2025-11-25' }), 1)
  t.equal(valueOf(found, 'mcp_proxy_server_starts_total', { server: 'a', result: 'ok' }), 1)
})

t.test('a call of a tool that no server lists counts under the server that its name tells', async t => {
  const { url, read } = await setUp(t, {
    a: tiny(),
    broken: { command: process.execPath, args: ['-e', 'process.exit(3)'] },
  })
  const client = new RawClient(url)
  await client.initialize()
  for (let n = 0; n < 20; n += 1) await client.call(n, `a__made-up-${n}`)
  await client.call(21, 'a__echo', '[1]')
  await client.call(22, 'broken__anything')
  await client.call(23, 'unknown__anything')
  const found = await read(() => true)
  const tools = found.get('mcp_proxy_tool_calls_total') ?? []
  t.same(Object.fromEntries(tools.map(({ labels, value }) => [Object.values(labels).join(' '), value])), {
    'a _OTHER fault': 20,
    'a echo fault': 1,
    'broken _OTHER fault': 1,
  })
})

t.test('cancelled and timed-out calls are counted too, and each of a batch', async t => {
  const { url, read } = await setUp(t, {
    a: rawServer(),
    slow: { ...rawServer(), timeouts: { call: '300ms' } },
  })
  const client = new RawClient(url)
  await client.initialize({}, '2025-03-26')
  await client.call('late', 'slow__wait')
  const waiting = client.call('gone', 'a__wait')
  await read(all => valueOf(all, 'mcp_proxy_server_requests_in_flight', { server: 'a' }) === 1)
  await client.post({ method: 'notifications/cancelled', params: { requestId: 'gone' } })
  const one = (id: number, name: string) => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name, arguments: { values: [] } },
  })
  await client.postText(JSON.stringify([one(1, 'a__echo'), one(2, 'a__progress'), one(3, 'a__nobody')]))
  client.vanish()
  await waiting.catch(() => undefined)
  const count = 'mcp_server_operation_duration_seconds_count'
  const calls = (all: ReadonlyMap<string, readonly ReadSample[]>) =>
    Object.fromEntries(
      (all.get(count) ?? [])
        .filter(({ labels }) => labels['mcp_method_name'] === 'tools/call')
        .map(({ labels, value }) => [
          `${labels['error_type'] ?? ''} ${labels['rpc_response_status_code'] ?? ''}`.trim(),
          value,
        ]),
    )
  const found = await read(all => Object.values(calls(all)).reduce((sum, value) => sum + value, 0) === 5)
  t.same(calls(found), { '': 2, '-32602': 1, cancelled: 1, 'timeout -32603': 1 })
  const tools = (found.get('mcp_proxy_tool_calls_total') ?? []).map(({ labels }) => Object.values(labels))
  t.same(tools.sort(), [
    ['a', '_OTHER', 'fault'],
    ['a', 'echo', 'ok'],
    ['a', 'progress', 'ok'],
    ['a', 'wait', 'cancelled'],
    ['slow', 'wait', 'fault'],
  ])
})

t.test('a server that never starts shows in its state and its starts', async t => {
  const { read } = await setUp(t, { dead: { ...tiny('--die'), start: 'eager' } })
  const found = await read(
    all =>
      (all.get('mcp_proxy_server_starts_total') ?? []).some(
        ({ labels, value }) => labels['result'] !== 'ok' && value > 0,
      ) && valueOf(all, 'mcp_proxy_server_state', { state: 'starting' }) === 0,
  )
  t.equal(valueOf(found, 'mcp_proxy_server_state', { server: 'dead', state: 'ready' }), 0)
})

t.test('metrics that are switched off are nowhere', async t => {
  const { proxy, scrape } = await setUp(t, { a: tiny() }, { metrics: false })
  t.equal((await scrape()).status, 404)
  t.equal(proxy.metrics, undefined)
})

t.test('an address of their own serves the metrics and nothing else', async t => {
  const { proxy } = await setUp(t, { a: tiny() }, { metrics: { listen: '127.0.0.1:0' } })
  const endpoint = await proxy.listenMetrics()
  const ask = (path: string, options: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${endpoint?.port}${path}`, options)
  t.equal((await ask('/metrics')).status, 200)
  t.equal((await ask('/metrics', { method: 'HEAD' })).status, 200)
  t.equal((await ask('/metrics', { method: 'POST' })).status, 405)
  t.equal((await ask('/status')).status, 404)
  t.equal((await ask('/mcp')).status, 404)
})

t.test('a token is required to read metrics, for every host name', async t => {
  const { proxy } = await setUp(
    t,
    { a: tiny() },
    { metrics: { listen: '127.0.0.1:0', token: 'a-token-of-metrics' } },
  )
  const endpoint = await proxy.listenMetrics()
  const ask = async (headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${endpoint?.port}/metrics`, { headers })).status
  t.equal(await ask({}), 401)
  t.equal(await ask({ authorization: 'Bearer another' }), 401)
  t.equal(await ask({ authorization: 'Bearer a-token-of-metrics' }), 200)
})

t.test('metrics that others could read without a token are not served', async t => {
  const { proxy } = await setUp(t, { a: tiny() }, { metrics: { listen: '0.0.0.0:0' } })
  await t.rejects(proxy.listenMetrics(), { code: 'invalid-params', message: /metrics\.token/ })
})

t.test('the shipped dashboard and alerts name nothing that is not there', async t => {
  const { scrape } = await setUp(t, { a: tiny() })
  const known = new Set(
    (await scrape()).text.match(/^# TYPE \S+/gm)?.flatMap(line => {
      const name = line.slice('# TYPE '.length)
      return [name, `${name}_bucket`, `${name}_count`, `${name}_sum`]
    }),
  )
  for (const file of ['grafana-dashboard.json', 'alerts.yaml']) {
    const text = readFileSync(new URL(`../../config/${file}`, import.meta.url), 'utf8')
    const named = new Set(text.match(/\b(?:mcp_(?:server|client|proxy)|process|nodejs)_[a-z_]+\b/g))
    named.delete('mcp_method_name')
    named.delete('mcp_protocol_version')
    t.ok(named.size > 5, file)
    for (const name of named) t.ok(known.has(name), `${file}: ${name}`)
  }
  const { files } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  for (const file of ['config/grafana-dashboard.json', 'config/alerts.yaml']) t.ok(files.includes(file), file)
})

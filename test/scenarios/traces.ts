import { on, once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { RawClient } from '../support/client/raw-client.js'
import { hello, key, MODERN, mirrored, modern, NEWEST } from '../support/era/codec.js'
import { startProxy } from '../support/proxy/start.js'
import { Collector, type SentSpan } from '../support/server/collector.js'
import { startPlainServer } from '../support/server/plain-http-server.js'
import { type Hop, startServer } from '../support/server/started-server.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const PARENT = `00-${TRACE}-${CALLER}-01`
const SERVER = 2
const CLIENT = 3

const start = async (
  t: Test,
  servers: Readonly<Record<string, object>>,
  how: object = {},
  more: object = {},
) => {
  const collector = new Collector()
  const endpoint = await collector.start(t)
  const tracing = { endpoint, protocol: 'http/json', ...how }
  const proxy = startProxy(t, servers, { more: { tracing, ...more } })
  const { url } = await proxy.listen({ port: 0 })
  /** Ends the proxy, which sends what is left, and finds the spans of a trace. */
  const spansOf = async (traceId: string): Promise<readonly SentSpan[]> => {
    await proxy.close()
    return (await collector.spans(() => true)).filter(span => span.traceId === traceId)
  }
  return { proxy, url, collector, spansOf }
}

const traceIdOf = (n: number): string => n.toString(16).padStart(32, 'a')

/** A client on a WebSocket; what it returns sends a request and resolves with the answer. */
const webSocketTo = async (t: Test, url: string) => {
  const socket = new WebSocket(url.replace(/^http(.*)mcp$/, 'ws$1ws'))
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const ask = async (message: { readonly id: unknown; readonly [member: string]: unknown }) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
    for await (const [data] of on(socket, 'message')) if (JSON.parse(String(data)).id === message.id) return
  }
  await ask({
    id: 'hello',
    method: 'initialize',
    params: hello('2025-11-25', {}, { name: 'w', version: '1' }),
  })
  return ask
}

t.test('one trace leads from each kind of client to each kind of server', async t => {
  const http = {
    'old-http': await startPlainServer(t, NEWEST),
    'new-http': await startPlainServer(t, MODERN),
  }
  const piped = {
    'old-pipe': await startServer(t, 'stdio', '2025-06-18'),
    'new-pipe': await startServer(t, 'stdio', MODERN),
    'old-ws': await startServer(t, 'ws', NEWEST),
    'new-ws': await startServer(t, 'ws', MODERN),
    'old-socket': await startServer(t, 'socket', NEWEST),
    'new-socket': await startServer(t, 'socket', MODERN),
    'old-sse': await startServer(t, 'sse', '2025-03-26'),
  }
  const all = { ...http, ...piped }
  const servers = Object.fromEntries(Object.entries(all).map(([name, { entry }]) => [name, entry]))
  // More than are traced in a second without it.
  const { url, spansOf } = await start(t, servers, { perSecond: 1000 })
  const old = new RawClient(url)
  await old.initialize()
  const young = new RawClient(url)
  const ws = await webSocketTo(t, url)
  const hops = new Map<string, Hop[]>()
  const traces: { traceId: string; server: string; era: string }[] = []
  for (const server of Object.keys(all)) {
    for (const era of ['old', 'new', 'ws']) {
      const traceId = traceIdOf(traces.length + 1)
      traces.push({ traceId, server, era })
      const traceparent = `00-${traceId}-${CALLER}-01`
      const name = `${server}__echo`
      const _meta = { traceparent, tracestate: 'a=1' }
      const id = traces.length
      if (era === 'old') await old.call(id, name, '{}', _meta)
      else if (era === 'ws') await ws({ id, method: 'tools/call', params: { name, arguments: {}, _meta } })
      else {
        const request = modern(id, 'tools/call', { name, arguments: {} }, _meta)
        young.headers = mirrored(request)
        await young.post(request)
      }
    }
  }
  for (const [name, { hops: read }] of Object.entries(piped)) hops.set(name, [...read()])
  await spansOf('')
  for (const { traceId, server, era } of traces) {
    const spans = await spansOf(traceId)
    const title = `${era} client, ${server}`
    const top = spans.find(({ kind }) => kind === SERVER)
    const down = spans.find(({ kind }) => kind === CLIENT)
    t.match(top, { name: `tools/call ${server}__echo`, parentSpanId: CALLER, traceState: 'a=1' }, title)
    t.match(down, { name: 'tools/call echo', parentSpanId: top?.spanId }, title)
    const told = { traceparent: `00-${traceId}-${down?.spanId}-01`, tracestate: 'a=1' }
    const isIt = (message: { params?: { _meta?: { traceparent?: string } } }): boolean =>
      message.params?._meta?.traceparent?.includes(traceId) === true
    const seen = http[server as keyof typeof http]?.seen.find(({ message }) => isIt(message))
    const said = seen?.message ?? hops.get(server)?.find(({ message }) => isIt(message))?.message
    t.match(said?.params._meta, told, title)
    if (seen !== undefined) t.match(seen.headers, told, `${title}: the headers say the same`)
  }
})

t.test('a traced request has one _meta, with its trace and all else that its server needs', async t => {
  const servers = { old: await startPlainServer(t, NEWEST), new: await startPlainServer(t, MODERN) }
  const entries = { old: servers.old.entry, new: servers.new.entry }
  const { url, proxy } = await start(t, entries, { ratio: 1, perSecond: 1000 })
  const [old, young] = [new RawClient(url), new RawClient(url)]
  await old.initialize()
  for (const server of ['old', 'new'] as const) {
    const name = `${server}__echo`
    for (const [id, meta] of [
      [`plain-${server}`, undefined],
      [`token-${server}`, { progressToken: 'p' }],
    ] as const) {
      t.match((await old.call(`old-${id}`, name, '{}', meta)).last.message, { result: {} })
      const request = modern(`new-${id}`, 'tools/call', { name, arguments: {} }, meta)
      young.headers = mirrored(request)
      t.match((await young.post(request)).last.message, { result: {} })
    }
    const calls = servers[server].seen.filter(({ message }) => message.method === 'tools/call')
    t.equal(calls.length, 4)
    t.ok(calls.every(({ message }) => /^00-/.test(message.params._meta.traceparent)))
    t.equal(calls.filter(({ message }) => message.params._meta.progressToken !== undefined).length, 2)
  }
  await proxy.close()
})

t.test('a wait, a question and a start are spans, and what waited for it links to the start', async t => {
  const server = await startServer(t, 'stdio', '2025-06-18')
  const { url, spansOf, collector } = await start(t, { old: server.entry })
  const client = new RawClient(url)
  client.onAsk = () => ({ action: 'decline' })
  await client.initialize({ elicitation: {} })
  const params = { message: 'Well?', requestedSchema: { type: 'object', properties: {} } }
  const question = JSON.stringify({ method: 'elicitation/create', params, key: 'k' })
  await client.call(1, 'old__ask', question, { traceparent: PARENT })
  const spans = await spansOf(TRACE)
  const top = spans.find(({ kind }) => kind === SERVER)
  t.match(spans.find(({ name }) => name === 'elicitation/create')?.parentSpanId, top?.spanId)
  t.match(
    spans.find(({ attributes }) => attributes['mcp_proxy.reason'] === 'asked'),
    { name: 'wait', parentSpanId: top?.spanId, kind: 1 },
  )
  const all = await collector.spans(({ name }) => name === 'initialize old')
  t.match(
    all.find(({ name }) => name === 'initialize old'),
    { parentSpanId: undefined, attributes: { 'mcp_proxy.server': 'old', 'network.transport': 'pipe' } },
  )
  t.match(
    all.find(({ name }) => name === 'tools/list old'),
    { parentSpanId: undefined, kind: CLIENT },
  )
})

t.test('a request that is made again links to the one before, also after a restart', async t => {
  const server = await startServer(t, 'stdio', MODERN)
  const requestState = { keys: [Buffer.alloc(32, 7).toString('base64')] }
  const more = { requestState }
  const first = await start(t, { new: server.entry }, {}, more)
  const params = { message: 'Well?', requestedSchema: { type: 'object', properties: {} } }
  const asking = { method: 'elicitation/create', params, key: 'k' }
  const call = async (url: string, id: number, again: object) => {
    const client = new RawClient(url)
    const meta = { [key('clientCapabilities')]: { elicitation: {} }, traceparent: PARENT }
    const request = modern(id, 'tools/call', { name: 'new__ask', arguments: asking, ...again }, meta)
    client.headers = mirrored(request)
    return (await client.post(request)).last.message.result
  }
  const asked = await call(first.url, 1, {})
  t.equal(asked.resultType, 'input_required')
  const [before] = (await first.spansOf(TRACE)).filter(({ kind }) => kind === SERVER)
  const second = await start(t, { new: server.entry }, {}, more)
  const inputResponses = Object.fromEntries(
    Object.keys(asked.inputRequests).map(name => [name, { action: 'decline' }]),
  )
  await call(second.url, 2, { inputResponses, requestState: asked.requestState })
  const [after] = (await second.spansOf(TRACE)).filter(({ kind }) => kind === SERVER)
  t.match(after?.links, [{ traceId: TRACE, spanId: before?.spanId }])
})

t.test('each round of questions is a request of its own', async t => {
  const server = await startServer(t, 'stdio', MODERN)
  const { url, spansOf } = await start(t, { new: server.entry })
  const client = new RawClient(url)
  client.onAsk = () => ({ action: 'decline' })
  await client.initialize({ elicitation: {} })
  const params = { message: 'Well?', requestedSchema: { type: 'object', properties: {} } }
  const question = JSON.stringify({ method: 'elicitation/create', params, key: 'k' })
  await client.call(1, 'new__ask', question, { traceparent: PARENT })
  const spans = await spansOf(TRACE)
  const down = spans.filter(({ name }) => name === 'tools/call ask')
  t.same(
    down.map(({ attributes }) => attributes['mcp_proxy.attempt']),
    [1, 2],
  )
  const told = server
    .hops()
    .filter(({ message }) => message.method === 'tools/call')
    .map(({ message }) => message.params?._meta?.traceparent)
  t.same(
    told,
    down.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
  )
})

t.test('where it is off, or not sampled, or not wanted, everything passes as it came', async t => {
  const http = await startPlainServer(t, NEWEST)
  const quiet = await startPlainServer(t, NEWEST)
  const sent = { traceparent: PARENT.replace(/01$/, '00'), tracestate: 'A broken one', baggage: 'user=b' }
  const last = () => http.seen.findLast(({ message }) => message.method === 'tools/call')
  const ask = async (url: string, meta: object, name = 'a__echo'): Promise<void> => {
    const client = new RawClient(url)
    client.headers = { traceparent: PARENT, tracestate: 'a=1', baggage: 'user=b,tenant=x' }
    await client.initialize()
    await client.call(1, name, '{}', meta)
  }
  const off = startProxy(t, { a: http.entry })
  process.env['OTEL_TRACES_EXPORTER'] = 'otlp'
  t.teardown(() => Reflect.deleteProperty(process.env, 'OTEL_TRACES_EXPORTER'))
  await ask((await off.listen({ port: 0 })).url, sent)
  t.same(last()?.message.params._meta, sent)
  t.equal(last()?.headers['traceparent'], undefined)
  const { url } = await start(
    t,
    { a: http.entry, b: { ...quiet.entry, propagate: false } },
    { baggage: ['tenant'] },
  )
  await ask(url, sent)
  t.same(last()?.message.params._meta, sent, 'not sampled')
  t.equal(last()?.headers['traceparent'], undefined)
  const meta = { traceparent: PARENT }
  await ask(url, meta, 'b__echo')
  const toQuiet = quiet.seen.findLast(({ message }) => message.method === 'tools/call')
  t.same(toQuiet?.message.params._meta, meta, 'not wanted')
  t.equal(toQuiet?.headers['traceparent'], undefined)
  await ask(url, { baggage: 'user=c' })
  t.equal(last()?.message.params._meta.baggage, 'user=c')
  t.match(last()?.message.params._meta.traceparent, PARENT.slice(0, 35), 'the header is a parent')
  t.equal(last()?.headers['baggage'], 'tenant=x')
})

t.test('the spans contain caller, server, id, transport and repairs', async t => {
  const strange = await startPlainServer(t, NEWEST, ({ method }) =>
    method === 'tools/call' ? { result: { content: 'no list' } } : undefined,
  )
  const { url, collector, spansOf } = await start(t, { a: strange.entry })
  const client = new RawClient(url)
  await client.initialize()
  await client.call('my id', 'a__echo', '{}', { traceparent: PARENT })
  const ws = await webSocketTo(t, url)
  const other = traceIdOf(1)
  const _meta = { traceparent: `00-${other}-${CALLER}-01` }
  await ws({ id: 7, method: 'tools/call', params: { name: 'a__echo', arguments: {}, _meta } })
  const spans = await spansOf(TRACE)
  const told = strange.seen.findLast(({ message }) => message.method === 'tools/call')?.message
  const { hostname, port } = new URL((strange.entry as { url: string }).url)
  const http = {
    'network.transport': 'tcp',
    'network.protocol.name': 'http',
    'network.protocol.version': '1.1',
  }
  const revision = { 'mcp.protocol.version': NEWEST, 'mcp.method.name': 'tools/call' }
  t.match(spans.find(({ kind }) => kind === SERVER)?.attributes, {
    ...{ ...http, ...revision, 'jsonrpc.request.id': 'my id', 'client.address': '127.0.0.1' },
    ...{ 'client.port': Number, 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'a__echo' },
    ...{ 'mcp_proxy.server': 'a', 'mcp_proxy.repaired': true, 'mcp.session.id': /^[\w-]{16}$/ },
  })
  t.match(spans.find(({ kind }) => kind === CLIENT)?.attributes, {
    ...{ ...http, ...revision, 'server.address': hostname, 'server.port': Number(port) },
    ...{ 'gen_ai.tool.name': 'echo', 'mcp_proxy.server': 'a', 'mcp_proxy.attempt': 1 },
  })
  const all = await collector.spans(() => true)
  const idOf = (trace: string) =>
    all.find(({ kind, traceId }) => kind === CLIENT && traceId === trace)?.attributes['jsonrpc.request.id']
  t.equal(idOf(other), String(told.id), 'the id of this hop, not that of the client')
  t.match(all.find(({ kind, traceId }) => kind === SERVER && traceId === other)?.attributes, {
    ...{ 'jsonrpc.request.id': '7', 'network.protocol.name': 'websocket', 'client.address': /127\.0\.0\.1/ },
  })
})

t.test('what introduces a client, asks whether we are there, or goes no further, has a span too', async t => {
  const { url, collector, spansOf } = await start(t, { a: (await startPlainServer(t, NEWEST)).entry })
  const client = new RawClient(url)
  const params = { ...hello('2025-11-25', {}, { name: 'x', version: '1' }), _meta: { traceparent: PARENT } }
  await client.post({ id: 1, method: 'initialize', params })
  await client.post({ id: 2, method: 'ping', params: { _meta: { traceparent: PARENT } } })
  await client.post({ id: 3, method: 'initialize', params })
  const young = new RawClient(url)
  const request = modern(4, 'server/discover', {}, { traceparent: PARENT })
  young.headers = mirrored(request)
  await young.post(request)
  const spans = (await spansOf(TRACE)).filter(({ kind }) => kind === SERVER)
  t.match(
    spans.map(({ name, parentSpanId, attributes, status }) => [
      ...[name, parentSpanId, attributes['jsonrpc.request.id']],
      ...[attributes['rpc.response.status_code'], status.code],
    ]),
    [
      ['initialize', CALLER, '1', undefined, 0],
      ['ping', CALLER, '2', undefined, 0],
      ['initialize', CALLER, '3', '-32600', 0],
      ['server/discover', CALLER, '4', undefined, 0],
    ],
  )
  t.ok(collector.posts.length > 0)
})

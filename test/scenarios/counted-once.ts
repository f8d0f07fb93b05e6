import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { codecOf, key, mirrored, modern, NEWEST } from '../support/era/codec.js'
import { type ReadSample, readMetrics } from '../support/metrics.js'
import { startProxy } from '../support/proxy/start.js'
import { Collector, type SentSpan } from '../support/server/collector.js'
import { listenFor } from '../support/server/plain-http-server.js'
import { startServer } from '../support/server/started-server.js'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = `00-${TRACE}-00f067aa0ba902b7-01`
const SERVER = 2
const CLIENT = 3

const start = async (t: Test, servers: Readonly<Record<string, object>>) => {
  const collector = new Collector()
  const tracing = { endpoint: await collector.start(t), protocol: 'http/json' }
  const proxy = startProxy(t, servers, { more: { tracing } })
  const { url } = await proxy.listen({ port: 0 })
  /** What was counted of calls of tools and their servers, and then the spans of the trace. */
  const end = async () => {
    const page = await (await proxy.metrics?.())?.page(undefined)
    const found = readMetrics(page?.body.toString() ?? '')
    await proxy.close()
    const spans = (await collector.spans(() => true)).filter(({ traceId }) => traceId === TRACE)
    return { counts: (name: string) => countsOf(found.get(name) ?? []), spans }
  }
  return { url, end }
}

/** From the values of the labels to how many there were, of calls of tools and without what is 0. */
const countsOf = (samples: readonly ReadSample[]): Readonly<Record<string, number>> =>
  Object.fromEntries(
    samples
      .filter(
        ({ labels, value }) => value > 0 && (labels['mcp_method_name'] ?? 'tools/call') === 'tools/call',
      )
      .map(({ labels: { mcp_method_name: _, ...labels }, value }) => [
        Object.values(labels).join(' '),
        value,
      ]),
  )

const OPERATIONS = 'mcp_server_operation_duration_seconds_count'
const REQUESTS = 'mcp_client_operation_duration_seconds_count'
const CALLS = 'mcp_proxy_tool_calls_total'

const ofKind = (spans: readonly SentSpan[], kind: number): readonly SentSpan[] =>
  spans.filter(span => span.kind === kind && span.name.startsWith('tools/call'))

/** A server that forgets its first session when a tool is called. */
const startForgetful = async (t: Test): Promise<object> => {
  const gone = new Set<string>()
  let mayForget = true
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const session = request.headers['mcp-session-id']?.toString()
      const { id, method } = JSON.parse(body || '{}')
      if (method === 'tools/call' && mayForget && session !== undefined) gone.add(session)
      mayForget &&= method !== 'tools/call'
      if (session !== undefined && gone.has(session)) response.writeHead(404).end()
      else if (request.method !== 'POST') response.writeHead(405).end()
      else if (id === undefined) response.writeHead(202).end()
      else {
        const facts = { alias: 'plain', revision: NEWEST, capabilities: { tools: {} } }
        const known = codecOf(NEWEST).answer(method, facts)
        const tools = [{ name: 'echo', inputSchema: { type: 'object' } }]
        const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'said' }] }
        const begun = method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {}
        response.writeHead(200, { 'content-type': 'application/json', ...begun })
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id, ...(typeof known === 'object' ? known : { result }) }),
        )
      }
    })
  })
  return { type: 'http', url: `${await listenFor(t, server)}/mcp` }
}

t.test(
  'a call that is sent again, because its server forgot the session, is one call with two requests',
  async t => {
    const { url, end } = await start(t, { a: await startForgetful(t) })
    const client = new RawClient(url)
    await client.initialize()
    await client.request('tools/list')
    const { last } = await client.call(1, 'a__echo', '{}', { traceparent: PARENT })
    t.match(last.message.result, { content: [{ text: 'said' }] })
    const { counts, spans } = await end()
    t.same(counts(CALLS), { 'a echo ok': 1 })
    t.same(counts(OPERATIONS), { '': 1 })
    t.same(counts(REQUESTS), { a: 1, 'a session-lost -32603': 1 })
    t.match(counts('mcp_proxy_repairs_total'), { 'a resend': 1 })
    t.equal(ofKind(spans, SERVER).length, 1)
    const down = ofKind(spans, CLIENT)
    t.match(
      down.map(({ attributes, parentSpanId }) => [
        ...[attributes['mcp_proxy.attempt'], attributes['error.type'], parentSpanId],
      ]),
      [
        [1, 'session-lost', ofKind(spans, SERVER)[0]?.spanId],
        [2, undefined, ofKind(spans, SERVER)[0]?.spanId],
      ],
    )
  },
)

t.test('a parked call is one call of its tool, and each request of its client one of the proxy', async t => {
  const server = await startServer(t, 'stdio', '2025-06-18')
  const { url, end } = await start(t, { old: server.entry })
  const params = { message: 'Well?', requestedSchema: { type: 'object', properties: {} } }
  const asking = { method: 'elicitation/create', params, key: 'k' }
  const call = async (id: number, again: object) => {
    const client = new RawClient(url)
    const meta = { [key('clientCapabilities')]: { elicitation: {} }, traceparent: PARENT }
    const request = modern(id, 'tools/call', { name: 'old__ask', arguments: asking, ...again }, meta)
    client.headers = mirrored(request)
    return (await client.post(request)).last.message.result
  }
  const asked = await call(1, {})
  t.equal(asked.resultType, 'input_required')
  const inputResponses = Object.fromEntries(
    Object.keys(asked.inputRequests).map(name => [name, { action: 'decline' }]),
  )
  const answered = await call(2, { inputResponses, requestState: asked.requestState })
  t.equal(answered.resultType, 'complete')
  const { counts, spans } = await end()
  t.same(counts(CALLS), { 'old ask ok': 1 })
  t.same(counts(OPERATIONS), { '': 2 })
  t.same(counts(REQUESTS), { old: 1 })
  t.match(counts('mcp_proxy_questions_total'), { 'elicitation/create result': 1 })
  t.match(counts('mcp_proxy_wait_seconds_count'), { parked: 1 })
  const [first, second] = ofKind(spans, SERVER)
  t.match(second?.links, [{ traceId: TRACE, spanId: first?.spanId }], 'the retry links to the one before')
  const down = ofKind(spans, CLIENT)
  t.equal(down.length, 1, 'its server was asked once')
  t.equal(down[0]?.parentSpanId, first?.spanId)
  t.ok(spans.some(({ name, attributes }) => name === 'wait' && attributes['mcp_proxy.reason'] === 'parked'))
})

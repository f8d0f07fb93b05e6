import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createHttpListener } from '../../../src/eras/listen/http-listener.js'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Call } from '../../../src/model/links.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import { listenHttp } from '../../../src/transport/http/server.js'
import { mirrored, modern } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { runs } from '../../support/property.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { boundsOf, IDENTITY, progressOf } from '../../support/values.js'
import { FakeResponder, httpRequest } from '../../support/wire/fake-http.js'

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const hello = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}

const start = () => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const host = createHttpListener({
    handler,
    clock,
    identity: IDENTITY,
    log: silentLogger,
  })
  const send = (method: string, body: string | object, headers: Record<string, string> = {}) => {
    const responder = new FakeResponder()
    host.handle(httpRequest(method, { ...HEADERS, ...headers }, body), responder)
    return responder
  }
  return { handler, clock, host, send }
}

t.test('one endpoint serves sessions and requests that stand for themselves at the same time', async t => {
  const { handler, send, host } = start()
  const greeting = send('POST', hello)
  await settled()
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const [older, newer] = [
    send('POST', { id: 1, method: 'tools/list' }, session),
    send('POST', modern(1, 'tools/list'), { ...session, ...mirrored(modern(1, 'tools/list')) }),
  ]
  for (const call of handler.calls) call.end(succeeded(rawText('{"tools":[]}')))
  t.same(older.json.result, { tools: [] })
  t.match(newer.json.result, { tools: [], resultType: 'complete' })
  t.ok(older.headers['mcp-session-id'])
  t.notOk(newer.headers['mcp-session-id'])
  t.equal(host.sessions, 1)
})

t.test(
  'the header alone makes nothing modern, and keeps a forgetful request from being taken for older',
  async t => {
    const { handler, send } = start()
    const header = { 'mcp-protocol-version': '2026-07-28' }
    for (const message of [{ id: 1, method: 'tools/list' }, hello]) {
      const answer = send('POST', message, header)
      t.same([answer.status, answer.json.error?.code], [400, -32602])
      t.match(answer.json.error?.message, 'Missing _meta io.modelcontextprotocol/protocolVersion')
    }
    t.same(handler.calls, [])
    t.same(handler.clients, [])
  },
)

t.test('GET and DELETE are about sessions; other methods are refused', async t => {
  const { send } = start()
  const header = { 'mcp-protocol-version': '2026-07-28' }
  t.equal(send('GET', '', header).status, 400)
  t.equal(send('DELETE', '', header).status, 400)
  const other = send('PUT', '')
  t.same([other.status, other.headers['allow']], [405, 'GET, POST, DELETE'])
})

t.test(
  'a body other than JSON, or an unacceptable answer type, is refused before the era is known',
  async t => {
    const { handler, send } = start()
    t.equal(send('POST', hello, { 'content-type': 'text/plain' }).status, 415)
    t.equal(send('POST', hello, { accept: 'text/html' }).status, 406)
    const broken = send('POST', '{')
    t.same([broken.status, broken.json.error?.code, broken.json.id], [400, -32700, undefined])
    const answer = send('POST', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}')
    t.same([answer.status, answer.json.id], [400, undefined], 'an error is no answer to an answer')
    t.same(handler.clients, [])
  },
)

t.test('a batch belongs to a session whose revision has batches', async t => {
  const { send } = start()
  const greeting = send('POST', { ...hello, params: { ...hello.params, protocolVersion: '2025-03-26' } })
  await settled()
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  t.match(send('POST', [ping], session).messages, [{ id: 1, result: {} }])
  const claiming = send('POST', [ping, { jsonrpc: '2.0', ...modern(2, 'tools/list') }], session)
  t.same([claiming.status, claiming.json.error?.code], [400, -32600])
})

t.test('streams of both eras are kept alive, until the face is closed', async t => {
  const { send, clock, host } = start()
  const greeting = send('POST', hello)
  await settled()
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const standalone = send('GET', '', { ...session, accept: 'text/event-stream' })
  const listen = modern('L', 'subscriptions/listen')
  const listening = send('POST', listen, mirrored(listen))
  clock.advance(30_000)
  t.match(standalone.body, /:\n\n$/)
  t.match(listening.body, /:\n\n$/)
  host.close()
  t.ok(standalone.isEnded && listening.isEnded)
  t.equal(clock.pending, 0)
  t.equal(send('POST', hello).status, 503)
})

const anyOf = (...values: unknown[]) => fc.constantFrom(...values)
const VERSIONS = anyOf('2026-07-28', '2026-07-28', '2025-11-25', '2027-01-01', '', 20260728, null, undefined)
const METHODS = [
  'tools/list',
  'tools/call',
  'resources/read',
  'server/discover',
  'ping',
  'initialize',
  'x',
  '',
]

const anyEnvelope = fc.record({
  'io.modelcontextprotocol/protocolVersion': VERSIONS,
  'io.modelcontextprotocol/clientCapabilities': anyOf(
    {},
    {},
    { roots: {} },
    { roots: 1 },
    [],
    null,
    undefined,
  ),
  'io.modelcontextprotocol/clientInfo': anyOf({ name: 'c', version: '1' }, { name: 1 }, 'c', undefined),
  'io.modelcontextprotocol/logLevel': anyOf('info', 'loud', 7, undefined, undefined),
  progressToken: anyOf(0, 'a', 1.5, {}, undefined),
})

const anyMessage = fc.record({
  jsonrpc: anyOf('2.0', '2.0', '2.0', '1.0'),
  id: anyOf(0, 'a', 1.5, null, undefined),
  method: fc.constantFrom(...METHODS, 7, undefined),
  params: fc.record({
    _meta: fc.oneof(anyEnvelope, anyOf(null, [], undefined)),
    name: anyOf('x', 7),
    uri: anyOf('a:b'),
  }),
})

const anyHeaders = fc.record({
  'mcp-protocol-version': anyOf('2026-07-28', '2026-07-28', '2025-11-25', 'x', undefined),
  'mcp-method': fc.constantFrom(...METHODS, '=?base64?!?=', undefined),
  'mcp-name': anyOf('x', 'a:b', '=?base64?eA==?=', '\u00e9', undefined),
  'mcp-session-id': anyOf('x', undefined, undefined),
  accept: anyOf('application/json', 'text/event-stream', '*/*', 'text/html', HEADERS.accept),
})

t.test('every request is answered once, with the matching status', async t => {
  const { handler, send } = start()
  const known = new Set([200, 202, 400, 404, 406])
  const property = fc.property(anyMessage, anyHeaders, (message, headers) => {
    const before = handler.calls.length
    const answer = send('POST', JSON.stringify(message), headers as Record<string, string>)
    // An accepted request has a known method, and waits.
    const calls = handler.calls.slice(before)
    for (const call of calls) call.end(succeeded(rawText('{}')))
    const isAsked = message.method === 'server/discover' || message.method === 'initialize'
    return calls.length <= 1 && (answer.answers === 1 ? known.has(answer.status) : isAsked)
  })
  t.doesNotThrow(() => fc.assert(property, runs(2000)))
  await settled()
})

// ── the official client over sockets ──

async function overSockets(t: Test) {
  const handler = new FakeHandler()
  const around = { log: silentLogger, clock: systemClock }
  const host = createHttpListener({
    ...around,
    handler,
    identity: IDENTITY,
  })
  const listener = await listenHttp({
    ...around,
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: [],
    authorize: () => LOCAL,
    endpoints: new Map([['/mcp', host.handle]]),
    other: () => Promise.resolve((_request, response) => void response.writeHead(404).end()),
    bounds: boundsOf({ body: 1024 * 1024 }),
    drainMs: 50,
  })
  t.teardown(async () => {
    host.close()
    await listener.close()
  })
  const connect = async (mode: 'legacy' | 'auto' | { pin: string }) => {
    const client = new Client(
      { name: 'sdk', version: '2' },
      { capabilities: { elicitation: {} }, versionNegotiation: { mode } },
    )
    t.teardown(() => client.close())
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${listener.port}/mcp`)))
    return client
  }
  return { handler, host, connect }
}

const nameOf = (call: Call): string => (JSON.parse(call.params?.toString() ?? '{}') as { name: string }).name

t.test('the official client works in the era that it wants, or finds', async t => {
  const { handler, host, connect } = await overSockets(t)
  handler.onCall = call => {
    switch (call.method) {
      case 'tools/list':
        call.end(succeeded(textOf({ tools: [{ name: 'a__x', inputSchema: { type: 'object' } }] })))
        return
      case 'resources/read':
        call.end({ kind: 'error', error: rawText('{"code":-32002,"message":"not there"}') })
        return
      default:
        if (call.wantsProgress) call.progress(progressOf({ progressToken: 'x', progress: 0.5 }))
        call.end(succeeded(textOf({ content: [{ type: 'text', text: nameOf(call) }] })))
    }
  }
  const CASES = [
    ['legacy', 'legacy', 1, -32002],
    ['auto', 'modern', 0, -32602],
    [{ pin: '2026-07-28' }, 'modern', 0, -32602],
  ] as const
  for (const [mode, era, sessions, code] of CASES) {
    const client = await connect(mode)
    t.equal(client.getProtocolEra(), era)
    t.equal(host.sessions, sessions)
    t.match(client.getServerVersion(), { name: 'proxy', version: '1' })
    t.equal(client.getInstructions(), 'be nice')
    t.match((await client.listTools()).tools, [{ name: 'a__x' }])
    const steps: number[] = []
    const call = client.callTool({ name: 'a__x' }, { onprogress: ({ progress }) => steps.push(progress) })
    t.match(await call, { content: [{ type: 'text', text: 'a__x' }] })
    t.same(steps, [0.5])
    await t.rejects(client.readResource({ uri: 'a:b' }), { code })
    t.equal(handler.last.client.serverRequests, era === 'modern' ? 'returned' : 'pushed')
    if (mode === 'legacy') await (client.transport as StreamableHTTPClientTransport).terminateSession()
    await client.close()
  }
})

t.test('the official client answers what a server wants to know, in a second request', async t => {
  const { handler, connect } = await overSockets(t)
  const heard: string[] = []
  handler.onCall = call => {
    const params = JSON.parse(call.params?.toString() ?? '{}') as Record<string, unknown>
    if (params['inputResponses'] === undefined) {
      const k = {
        method: 'elicitation/create',
        params: { message: 'm', requestedSchema: { type: 'object', properties: { a: { type: 'string' } } } },
      }
      call.end({ kind: 'input', result: textOf({ inputRequests: { k }, requestState: 'sealed' }) })
    } else {
      heard.push(JSON.stringify([params['requestState'], params['inputResponses']]))
      call.end(succeeded(textOf({ content: [] })))
    }
  }
  const client = await connect('auto')
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept' as const, content: { a: 'b' } }))
  t.match(await client.callTool({ name: 'a__x' }), { content: [] })
  t.same(heard, ['["sealed",{"k":{"action":"accept","content":{"a":"b"}}}]'])
})

t.test('a call that the official client gives up is cancelled', async t => {
  const { handler, connect } = await overSockets(t)
  const client = await connect('auto')
  const stop = new AbortController()
  const call = client.callTool({ name: 'a__x' }, { signal: stop.signal })
  await until(() => handler.calls.length > 0, 'the call')
  stop.abort('enough')
  await t.rejects(call)
  await until(() => handler.cancels.length > 0, 'the cancellation')
  t.same(handler.cancels, ['tools/call the client closed the stream'])
})

t.test('the official client gets change notifications until either side stops', async t => {
  const { handler, host, connect } = await overSockets(t)
  const open: Call[] = []
  handler.onCall = call => {
    open.push(call)
    call.notify(
      'notifications/subscriptions/acknowledged',
      textOf({ notifications: { toolsListChanged: true } }),
    )
  }
  const client = await connect('auto')
  let changes = 0
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    changes += 1
  })
  const one = await client.listen({ toolsListChanged: true, promptsListChanged: true })
  t.same(one.honoredFilter, { toolsListChanged: true })
  open[0]?.notify('notifications/tools/list_changed', undefined)
  await until(() => changes === 1, 'the change')
  await one.close()
  await until(() => handler.cancels.length === 1, 'the cancellation')
  const two = await client.listen({ toolsListChanged: true })
  host.close()
  t.equal(await two.closed, 'graceful')
})

t.test(
  'a refusal that has a status of its own reaches the official client as the error that it is',
  async t => {
    const { handler, connect } = await overSockets(t)
    const error = rawText('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}')
    handler.onCall = call =>
      call.end(
        call.method === 'tools/call' ? { kind: 'error', error } : failed(new Fault('invalid-params', 'bad')),
      )
    const client = await connect('auto')
    await t.rejects(client.callTool({ name: 'a__x' }), { code: -32021 })
    await t.rejects(client.getPrompt({ name: 'p' }), { name: 'ProtocolError', code: -32602 })
  },
)

t.test(
  'messages that are nested too deeply, and batches that are too long, are refused and counted',
  async t => {
    const bounds = boundsOf({ depth: 20, batch: 2 })
    const handler = new FakeHandler()
    const host = createHttpListener({
      handler,
      clock: new FakeClock(),
      identity: IDENTITY,
      log: silentLogger,
      bounds,
    })
    const post = (body: string) => {
      const responder = new FakeResponder()
      const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
      host.handle(httpRequest('POST', headers, body), responder)
      return responder
    }
    const deep = post(
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${'['.repeat(20)}${']'.repeat(20)}}}`,
    )
    t.equal(deep.status, 400)
    t.match(deep.json.error, { code: -32700, message: /nested deeper than 20 levels/ })
    const long = post(`[${Array(3).fill('{"jsonrpc":"2.0","method":"x"}').join(',')}]`)
    t.equal(long.status, 400)
    t.match(long.json.error, { message: 'A batch may hold 2 messages (limits.batch)' })
    t.same([bounds.hits.depth?.hits, bounds.hits.batch?.hits], [1, 1])
    host.close()
  },
)

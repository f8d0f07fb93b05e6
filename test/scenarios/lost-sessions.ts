import type { IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { reply, resultOf, rpcError, SessionServer } from '../support/server/session-server.js'
import { SseSessionServer } from '../support/server/sse-session-server.js'

const proxied = async (t: Test, entry: object): Promise<RawClient> => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: { s: entry } }), 'test.json', {})
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config)
  t.teardown(() => proxy.close())
  const client = new RawClient((await proxy.listen({ port: 0 })).url)
  await client.initialize()
  await client.request('tools/list')
  return client
}

const NO_SESSION = 'Bad Request: No valid session ID provided'

/** Answers of servers that forgot the session, each with its body. */
const LOSSES: Readonly<Record<string, Parameters<typeof answers>>> = {
  'the TypeScript SDK, as in its README': [400, rpcError(-32000, NO_SESSION)],
  'the TypeScript SDK after a restart': [400, rpcError(-32000, 'Bad Request: Server not initialized')],
  'an SDK that repeats the id': [400, undefined, rpcError(-32000, NO_SESSION)],
  'the Python SDK': [400, rpcError(-32600, 'Bad Request: No valid session ID provided', 'server-error')],
  'the Rust SDK': [401, 'Unauthorized: Session not found'],
  'a 401 without body or challenge': [401],
  'a gateway': [503, '<html><title>Session expired</title></html>'],
  'a 400 without a body': [400],
  'plain text': [400, 'missing Mcp-Session-Id'],
  'JSON without JSON-RPC': [422, { error: 'unknown session' }],
  'a 403 with a reason': [403, { message: 'Invalid session id' }],
  gone: [410],
  'a 404 in HTML': [404, '<pre>Cannot POST /mcp</pre>'],
}

const answers = (status: number, body?: object | string, withId?: object) => ({ status, body, withId })

t.test('a session that the server lost is replaced once, and each call runs once', async t => {
  const tried = async ([name, loss]: [string, Parameters<typeof answers>]): Promise<void> => {
    const { status, body, withId } = answers(...loss)
    const server = new SessionServer()
    server.onUnknown = ({ id }, response) => reply(response, status, withId ? { ...withId, id } : body)
    const client = await proxied(t, await server.start(t))
    t.match((await client.call(1, 's__echo')).last.message.result, { content: [{ text: '{}' }] }, name)
    server.forget()
    const all = await Promise.all([2, 3, 4].map(id => client.call(id, 's__echo', `{"n":${id}}`)))
    for (const { last } of all) t.match(last.message, { result: { content: [{ type: 'text' }] } }, name)
    t.equal(server.ran.filter(method => method === 'tools/call').length, 4, name)
    t.equal(server.initialized, 2, name)
  }
  await Promise.all(Object.entries(LOSSES).map(tried))
})

const textIn = (answer: { readonly last: { readonly text: string } }): string => answer.last.text

t.test('an answer about the request, a login or a limit is passed on, and the session stays', async t => {
  const rows: [number, object | string, Record<string, string>, RegExp][] = [
    [400, rpcError(-32602, 'Unknown session_id argument', 7), {}, /-32602,"message":"Unknown session_id/],
    [400, { message: 'no such region' }, {}, /HTTP status 400: no such region/],
    [429, 'too many sessions', {}, /HTTP status 429: too many sessions/],
    [500, 'the session store is down', {}, /HTTP status 500: the session store is down/],
    [401, 'session expired', { 'www-authenticate': 'Bearer' }, /needs a login|auth login/],
    [403, { message: 'no seats left' }, {}, /HTTP status 403\): no seats left/],
    [422, 'city is required', {}, /HTTP status 422: city is required/],
  ]
  const tried = async ([status, body, headers, expected]: (typeof rows)[number]): Promise<void> => {
    const server = new SessionServer()
    const client = await proxied(t, await server.start(t))
    server.onPost = ({ id, method }, response) =>
      method === 'tools/call' && reply(response, status, withId(body, id), headers)
    t.match(textIn(await client.call(7, 's__echo')), expected)
    t.equal(server.initialized, 1, `${status}`)
  }
  await Promise.all(rows.map(tried))
})

/** Puts the id of the request where the body has one. */
const withId = (body: object | string, id: unknown): object | string =>
  typeof body === 'object' && 'id' in body ? { ...body, id } : body

t.test('a refusal whose text mentions a session is passed on if the server answers a ping', async t => {
  const rows: [number, object | string | undefined, RegExp][] = [
    [400, { message: 'The browser session was closed' }, /HTTP status 400: The browser session was closed/],
    [400, rpcError(-32000, 'Your session limit is reached', 7), /Your session limit is reached/],
    [403, 'session of another region', /session of another region/],
    [503, 'no session left in the pool', /no session left in the pool/],
    [400, undefined, /HTTP status 400/],
  ]
  const tried = async ([status, body, expected]: (typeof rows)[number]): Promise<void> => {
    const server = new SessionServer()
    const client = await proxied(t, await server.start(t))
    t.match(textIn(await client.call(1, 's__echo')), /content/)
    server.onPost = ({ id, method }, response) =>
      method === 'tools/call' && reply(response, status, body && withId(body, id))
    t.match(textIn(await client.call(7, 's__echo')), expected)
    t.equal(server.posted.filter(method => method === 'tools/call').length, 2, 'the call was sent once')
    t.equal(server.initialized, 1, `${status}`)
  }
  await Promise.all(rows.map(tried))
})

t.test('over HTTP+SSE, a refused call is not repeated while the server takes a ping', async t => {
  const server = new SseSessionServer()
  server.onUnknown = ({ method }, response) =>
    reply(response, method === 'ping' ? 202 : 400, { message: 'the browser session was closed' })
  const client = await proxied(t, await server.start(t))
  t.match(textIn(await client.call(1, 's__echo')), /content/)
  server.forget()
  t.match(textIn(await client.call(2, 's__echo')), /HTTP status 400: the browser session was closed/)
  t.equal(server.ran.filter(method => method === 'tools/call').length, 1)
})

t.test('a server that answers the same in the new session gives its reason', async t => {
  const server = new SessionServer()
  const client = await proxied(t, await server.start(t))
  t.match(textIn(await client.call(1, 's__echo')), /"text":"\{\}"/)
  server.onPost = ({ method }, response) =>
    method === 'tools/call' && reply(response, 400, { message: 'no session for you' })
  const before = Date.now()
  for (const id of [2, 3, 4]) {
    t.match(textIn(await client.call(id, 's__echo')), /HTTP status 400: no session for you/)
  }
  const seconds = (Date.now() - before) / 1000
  t.equal(server.posted.filter(method => method === 'tools/call').length <= 7, true, 'two attempts at most')
  t.ok(server.initialized <= 2 + seconds, `${server.initialized} sessions within ${seconds} s`)
})

t.test('subscriptions and the log level are restored in the new session', async t => {
  const server = new SessionServer()
  server.capabilities = { tools: {}, resources: { subscribe: true }, logging: {} }
  server.onUnknown = (_message, response) => reply(response, 400, rpcError(-32000, NO_SESSION))
  const client = await proxied(t, await server.start(t))
  await client.request('logging/setLevel', { level: 'error' })
  await client.request('resources/list')
  await client.request('resources/subscribe', { uri: 'mem:a' })
  server.forget()
  server.ran.length = 0
  t.match(textIn(await client.call(1, 's__echo')), /content/)
  await until(() => server.ran.includes('resources/subscribe'), 'the subscription')
  t.ok(server.ran.includes('logging/setLevel'))
})

t.test('over HTTP+SSE, calls that are refused for their session are sent again on the next one', async t => {
  const refusals: [number, object | string][] = [
    [404, 'Could not find session'],
    [400, { error: 'invalid session' }],
    [400, ''],
    [401, ''],
    [503, 'no such session here'],
  ]
  const tried = async ([status, body]: (typeof refusals)[number]): Promise<void> => {
    const server = new SseSessionServer()
    server.onUnknown = (_message, response) => reply(response, status, body)
    const client = await proxied(t, await server.start(t))
    t.match(textIn(await client.call(1, 's__echo')), /content/)
    server.forget()
    const all = await Promise.all([2, 3, 4].map(id => client.call(id, 's__echo')))
    for (const one of all) t.match(textIn(one), /content/, `${status}`)
    t.equal(server.ran.filter(method => method === 'tools/call').length, 4)
    t.equal(server.opened, 2)
  }
  await Promise.all(refusals.map(tried))
})

t.test('over HTTP+SSE, a refused call gets its reason', async t => {
  const server = new SseSessionServer()
  server.onUnknown = (_message, response) => reply(response, 422, { message: 'city is required' })
  const client = await proxied(t, await server.start(t))
  server.forget()
  t.match(textIn(await client.call(1, 's__echo')), /HTTP status 422: city is required/)
})

// ── kept connections ──

/** Closes each kept connection as soon as a request with an id arrives on it. */
const closing = (methods: readonly string[], seen: Loose[]) => {
  const used = new WeakSet<object>()
  return ({ id, method }: Loose, _response: unknown, { socket }: IncomingMessage): boolean => {
    if (methods.includes(method)) seen.push(method)
    const isKept = used.has(socket)
    used.add(socket)
    const isClosed = isKept && id !== undefined && methods.includes(method)
    if (isClosed) socket.destroy()
    return isClosed
  }
}

t.test(
  'lists, reads and pings are sent again once after a kept connection closed, and calls never',
  async t => {
    const reads: [string, object | undefined][] = [
      ['resources/read', { uri: 'mem:a' }],
      ['prompts/get', { name: 's__p' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 's__p' }, argument: { name: 'a', value: '' } },
      ],
    ]
    const server = new SessionServer()
    server.capabilities = { tools: {}, resources: {}, prompts: {}, completions: {} }
    const seen: Loose[] = []
    const client = await proxied(t, await server.start(t))
    await client.request('resources/list')
    await client.request('prompts/list')
    server.onPost = closing([...reads.map(([method]) => method), 'tools/call'], seen)
    for (const [method, params] of reads) {
      seen.length = 0
      t.ok((await client.request(method, params)).last.message.result, method)
      t.ok(seen.length <= 2, method)
    }
    seen.length = 0
    t.match(textIn(await client.call(1, 's__echo')), /lost/)
    t.same(seen, ['tools/call'], 'a call may have run')
    server.onPost = () => false
    t.match(textIn(await client.call(2, 's__echo')), /content/, 'the next one works')
    t.equal(server.initialized, 1)
  },
)

// ── event streams ──

t.test('a server without a route for GET offers no stream, and its session stays', async t => {
  const pages: [number, string][] = [
    [404, '<pre>Cannot GET /mcp</pre>'],
    [404, ''],
    [400, 'Bad Request: session required'],
    [401, ''],
    [501, ''],
  ]
  for (const [status, page] of pages) {
    const server = new SessionServer()
    server.onGet = (_message, response) => reply(response, status, page, { 'content-type': 'text/html' })
    const client = await proxied(t, await server.start(t))
    for (const id of [1, 2, 3]) t.match(textIn(await client.call(id, 's__echo')), /content/, `${status}`)
    t.equal(server.initialized, 1, `${status}`)
  }
})

t.test('a stream that a server refuses later is checked with a ping', async t => {
  const server = new SessionServer()
  let gets = 0
  server.onGet = (_message, response) => {
    gets += 1
    return gets === 1 || server.initialized > 1 ? server.stream(response) : reply(response, 404)
  }
  const client = await proxied(t, await server.start(t))
  await until(() => gets === 1, 'the stream')
  server.endStreams()
  await until(() => server.posted.includes('ping'), 'the ping')
  t.match(textIn(await client.call(1, 's__echo')), /content/)
  t.equal(server.initialized, 1, 'the server still knows the session')

  const other = new SessionServer()
  let opened = 0
  other.onGet = (_message, response, request) => {
    opened += 1
    return other.sessions.has(String(request.headers['mcp-session-id']))
      ? other.stream(response)
      : reply(response, 404)
  }
  await proxied(t, await other.start(t))
  await until(() => opened === 1, 'the stream')
  other.forget()
  other.endStreams()
  await until(() => other.initialized === 2 && opened === 3, 'the new session')
  t.pass('the loss is found without a call')
})

t.test('answers that arrive on the stream of a GET after a 202 count', async t => {
  const server = new SessionServer()
  server.onGet = (_message, response) => server.stream(response)
  server.onPost = (message, response) => {
    if (message.id === undefined) return false
    reply(response, 202)
    setImmediate(() => server.push({ id: message.id, result: resultOf(message) }))
    return true
  }
  const client = await proxied(t, await server.start(t))
  t.match(textIn(await client.request('tools/list')), /s__echo/)
  t.match(textIn(await client.call(1, 's__echo')), /content/)
})

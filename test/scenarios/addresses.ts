import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { RawClient } from '../support/client/raw-client.js'
import { hello } from '../support/era/codec.js'
import { startProxy, tiny } from '../support/proxy/start.js'
import { nginx, noNginx, type ReverseProxy, strippingProxy } from '../support/wire/reverse-proxy.js'

const VIEWS = { web: { servers: ['gh'] } }
const TOOLS = ['echo', 'strict', 'fail', 'refuse', 'picture', 'facts'].map(name => `gh__${name}`)

const start = async (t: Test, more: object = {}) => {
  const proxy = startProxy(t, { gh: tiny() }, { more: { views: VIEWS, listen: { port: 0 }, ...more } })
  const { localUrl, port } = await proxy.listen({ port: 0 })
  return { proxy, base: new URL(localUrl).origin, port }
}

const join = async (url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  const params = hello('2025-11-25', {}, { name: 'raw', version: '1' })
  await client.post({ id: 'i', method: 'initialize', params })
  await client.post({ method: 'notifications/initialized', params: null })
  return client
}

const namesIn = (message: { readonly result?: unknown }): readonly string[] =>
  ((message.result ?? {}) as { tools?: { name: string }[] }).tools?.map(({ name }) => name) ?? []

t.test('an endpoint with a slash at its end is the same endpoint', async t => {
  const { base } = await start(t)
  for (const path of ['/mcp/', '/mcp/web/', '/mcp/web']) {
    const client = await join(base + path)
    t.same(namesIn((await client.request('tools/list')).last.message), TOOLS, path)
    const same = new RawClient(base + path.replace(/\/$/, ''))
    same.session = client.session
    t.same(namesIn((await same.request('tools/list')).last.message), TOOLS, 'one session under both names')
  }
  for (const path of ['/mcp//', '/mcp/web//', '/mcp/nope/', '/sse//'])
    t.equal((await fetch(base + path, { method: 'POST', redirect: 'manual' })).status, 404, path)
})

/** Returns the first message that a WebSocket brings after each of these is sent. */
const overWebSocket = async (url: string, ...sent: readonly object[]): Promise<readonly unknown[]> => {
  const socket = new WebSocket(url, 'mcp')
  const heard: unknown[] = []
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  for (const message of sent) {
    const answered = new Promise<unknown>(resolve =>
      socket.once('message', (data: Buffer) => resolve(JSON.parse(data.toString()))),
    )
    socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
    if ('id' in message) heard.push(await answered)
  }
  socket.close()
  return heard
}

t.test('HTTP+SSE and WebSocket take a slash at the end too', async t => {
  const { base, port } = await start(t)
  for (const path of ['/sse', '/sse/', '/sse/web', '/sse/web/']) {
    const client = new SdkClient({ name: 'sdk', version: '1' })
    await client.connect(new SSEClientTransport(new URL(base + path)))
    t.same(namesIn({ result: await client.listTools() }), TOOLS, path)
    await client.close()
  }
  const list = { id: 1, method: 'tools/list', params: null }
  for (const path of ['/ws', '/ws/', '/ws/web/']) {
    const begin = { id: 0, method: 'initialize', params: hello('2025-11-25') }
    const initialized = { method: 'notifications/initialized', params: null }
    const [, listed] = await overWebSocket(`ws://127.0.0.1:${port}${path}`, begin, initialized, list)
    t.same(namesIn(listed as object), TOOLS, path)
  }
})

t.test('params that are null count as absent', async t => {
  const { base } = await start(t)
  const client = await join(`${base}/mcp`)
  const ask = async (params: object) => (await client.post({ id: 77, method: 'tools/list', ...params })).last
  t.same((await ask({ params: null })).text, (await ask({})).text)
  t.equal((await client.post({ id: 'p', method: 'ping', params: null })).status, 200)
  for (const params of ['[]', '0', '""', 'false'])
    t.equal(
      (await client.postText(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${params}}`)).status,
      400,
    )
  const newest = new RawClient(`${base}/mcp`)
  newest.headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  const listed = async (params: object) => {
    const { status, last } = await newest.post({ id: 1, method: 'tools/list', ...params })
    return { status, code: last.message.error?.code, text: last.message.error?.message }
  }
  t.same(await listed({ params: null }), await listed({}))
})

const FRONTS: readonly (readonly [name: string, front: ReverseProxy, skip: string | false])[] = [
  ['a reverse proxy', strippingProxy, false],
  ['nginx', nginx, noNginx],
]

for (const [name, front, skip] of FRONTS) {
  t.test(`all transports work behind ${name} that removes a path`, { skip }, async t => {
    const { port } = await start(t)
    const base = `${await front(t, '/tools', port)}/tools`
    for (const path of ['/sse', '/sse/', '/sse/web']) {
      const client = new SdkClient({ name: 'sdk', version: '1' })
      await client.connect(new SSEClientTransport(new URL(base + path)))
      t.same(namesIn({ result: await client.listTools() }), TOOLS, path)
      await client.close()
    }
    const client = await join(`${base}/mcp`)
    t.same(namesIn((await client.request('tools/list')).last.message), TOOLS)
    const begin = { id: 0, method: 'initialize', params: hello('2025-11-25') }
    const list = { id: 1, method: 'tools/list' }
    const [, listed] = await overWebSocket(`${base.replace('http', 'ws')}/ws`, begin, list)
    t.same(namesIn(listed as object), TOOLS)
  })
}

t.test('below listen.path are all endpoints and pages, and nothing elsewhere', async t => {
  const listen = { port: 0, path: '/a/tools' }
  const proxy = startProxy(t, { gh: tiny() }, { more: { views: VIEWS, listen } })
  const { localUrl, url, sseUrl, wsUrl, port } = await proxy.listen()
  const origin = `http://127.0.0.1:${port}`
  const base = `${origin}/a/tools`
  t.same([localUrl, url, sseUrl], [`${base}/mcp`, `${base}/mcp`, `${base}/sse`])
  for (const path of ['/mcp', '/mcp/', '/mcp/web']) {
    const client = await join(base + path)
    t.same(namesIn((await client.request('tools/list')).last.message), TOOLS, path)
  }
  for (const path of ['/sse', '/sse/', '/sse/web/']) {
    const client = new SdkClient({ name: 'sdk', version: '1' })
    await client.connect(new SSEClientTransport(new URL(base + path)))
    t.same(namesIn({ result: await client.listTools() }), TOOLS, path)
    await client.close()
  }
  const begin = { id: 0, method: 'initialize', params: hello('2025-11-25') }
  const [, listed] = await overWebSocket(wsUrl ?? '', begin, { id: 1, method: 'tools/list' })
  t.same(namesIn(listed as object), TOOLS)
  const forwarded = { headers: { 'x-forwarded-prefix': '/evil' } }
  for (const path of ['/healthz', '/readyz', '/status', '/metrics', '/ui/', '/ui/app.css'])
    t.equal((await fetch(base + path, forwarded)).status, 200, path)
  for (const path of ['/healthz', '/mcp', '/a/mcp', '/a/toolsx/mcp', '/a/tools2', '/ui/', '/'])
    t.equal((await fetch(origin + path, forwarded)).status, 404, path)
  await t.rejects(overWebSocket(`ws://127.0.0.1:${port}/ws`), /404/)
  const none = await fetch(`${base}/nope`)
  t.match(await none.json(), { error: 'Not found: the MCP endpoint is /a/tools/mcp' })
})

t.test('each server has an address of its own, with its own names', async t => {
  const servers = { gh: { ...tiny(), tools: { deny: ['fail'] } }, 'a b/c': tiny() }
  const views = { default: { tools: { deny: ['gh__echo'] } }, ...VIEWS }
  const proxy = startProxy(t, servers, { more: { views, listen: { port: 0 } } })
  const { localUrl } = await proxy.listen()
  const base = new URL(localUrl).origin
  const gh = await join(`${base}/servers/gh/mcp`)
  const all = ['echo', 'strict', 'fail', 'refuse', 'picture', 'facts']
  t.same(
    namesIn((await gh.request('tools/list')).last.message),
    all.filter(name => name !== 'fail' && name !== 'echo'),
    'without the tools that the server and the view deny',
  )
  t.ok((await gh.call(1, 'facts')).last.message.result)
  for (const hidden of ['echo', 'fail', 'gh__facts', 'a-b-c__facts'])
    t.equal((await gh.call(2, hidden)).last.message.error?.code, -32602, hidden)
  t.same((await gh.request('resources/list')).last.message.result.resources[0].uri, 'memo://one')
  // The server has no such methods: the answer shows that it was asked.
  const asked = [
    await gh.request('resources/read', { uri: 'memo://one' }),
    await gh.request('prompts/get', { name: 'greet' }),
  ]
  for (const { last } of asked) t.equal(last.message.error?.code, -32601)
  t.match((await gh.request('prompts/list')).last.message.result, { prompts: [{ name: 'greet' }] })
  const thief = new RawClient(localUrl)
  thief.session = gh.session
  t.equal((await thief.request('tools/list')).status, 404, 'a session belongs to its address')
  for (const path of ['/servers/a%20b%2Fc/mcp', '/servers/a%20b%2fc/mcp/']) {
    const other = await join(base + path)
    t.same(namesIn((await other.request('tools/list')).last.message), all, path)
  }
  const client = new SdkClient({ name: 'sdk', version: '1' })
  await client.connect(new SSEClientTransport(new URL(`${base}/servers/a%20b%2Fc/sse`)))
  t.same(namesIn({ result: await client.listTools() }), all)
  await client.close()
  const begin = { id: 0, method: 'initialize', params: hello('2025-11-25') }
  const url = `${base.replace('http', 'ws')}/servers/a%20b%2Fc/ws`
  const [, listed] = await overWebSocket(url, begin, { id: 1, method: 'tools/list' })
  t.same(namesIn(listed as object), all)
  for (const path of [
    '/servers/nope/mcp',
    '/servers/%zz/mcp',
    '/servers//mcp',
    '/servers/gh/mcp/web',
    '/mcp/server:gh',
  ])
    t.equal((await fetch(base + path, { method: 'POST' })).status, 404, path)
  const status = proxy.status().servers.map(server => server.url)
  t.same(status, [`${base}/servers/gh/mcp`, `${base}/servers/a%20b%2Fc/mcp`])
})

t.test('without listen.servers there are no such addresses', async t => {
  const { base, proxy } = await start(t, { listen: { port: 0, servers: false } })
  const answer = await fetch(`${base}/servers/gh/mcp`, { method: 'POST' })
  t.match([answer.status, await answer.json()], [404, { error: /listen\.servers is off/ }])
  t.notOk(proxy.status().servers[0]?.url)
})

import { connect } from 'node:net'
import t, { type Test } from 'tap'
import type { Proxy } from '../../src/app/proxy.js'
import type { ProxyStatus } from '../../src/telemetry/status/status.js'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

// Each bound, hit through the door where a peer would hit it, with somebody else beside who must not notice.

const KIB = 1024
const MIB = 1024 * KIB

const textOf = (answer: { last: { message: { result?: { content?: { text: string }[] } } } }) =>
  answer.last.message.result?.content?.[0]?.text

const joined = async (url: string, capabilities: object = {}): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize(capabilities)
  return client
}

const hits = (proxy: Proxy): Record<string, number> =>
  Object.fromEntries(Object.entries(proxy.status().limits).map(([name, limit]) => [name, limit.hits]))

/** Sends a POST of a session over a connection of its own, and never reads what comes. */
const lazily = (t: Test, url: string, session: string | undefined, message: object): { closed: boolean } => {
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  const seen = { closed: false }
  socket.on('error', () => undefined)
  socket.on('close', () => {
    seen.closed = true
  })
  socket.pause()
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: ${session ?? ''}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  t.teardown(() => socket.destroy())
  return seen
}

t.test('clients that never read delay no others, and use at most their limit', async t => {
  const proxy = startProxy(
    t,
    { s: rawServer() },
    { limits: { unread: '8MiB', streamQueue: '1MiB', serverQueue: '64MiB' } },
  )
  const { url } = await proxy.listen({ port: 0 })
  const lazy = await joined(url)
  const quick = await joined(url)
  const call = (id: number, name: string, args: object, _meta?: object) => ({
    id,
    method: 'tools/call',
    params: { name: `s__${name}`, arguments: args, ...(_meta && { _meta }) },
  })
  const values = Array.from({ length: 5000 }, (_, value) => value)
  for (let id = 1; id <= 12; id += 1) {
    lazily(t, url, lazy.session, call(id, 'raw', { n: 'x'.repeat(4 * MIB) }))
    lazily(
      t,
      url,
      lazy.session,
      call(100 + id, 'progress', { values, tag: 'y'.repeat(200) }, { progressToken: id }),
    )
  }
  for (let id = 1; id <= 50; id += 1) {
    const answer = await quick.call(id, 's__echo', JSON.stringify({ id }))
    t.equal(textOf(answer), JSON.stringify({ id }))
  }
  await until(() => (hits(proxy)['unread'] ?? 0) > 0, 'the longest answers to be cut off')
  await until(() => proxy.status().calls === 0, 'every call to end')
  t.equal(textOf(await quick.call(99, 's__echo', '{}')), '{}')
})

t.test('a session beyond the limit gets 503 with a message, and delays no other client', async t => {
  const proxy = startProxy(t, { s: rawServer() }, { limits: { sessionsPerPrincipal: 2 } })
  const { url, sseUrl = '' } = await proxy.listen({ port: 0 })
  const clients = [await joined(url), await joined(url)]
  const refused = await new RawClient(url).post({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  })
  t.equal(refused.status, 503)
  t.match(refused.last.message, {
    id: 1,
    error: {
      code: -32603,
      message: 'You have too many sessions (limits.sessionsPerPrincipal is 2); try again later',
      data: { reason: 'overloaded', limit: 'sessionsPerPrincipal', max: 2, retryAfterMs: 1000 },
    },
  })
  for (const client of clients) t.equal((await client.call(1, 's__echo')).status, 200)
  const events = await Promise.all(
    [1, 2, 3].map(() => fetch(sseUrl, { headers: { accept: 'text/event-stream' } })),
  )
  t.same(events.map(({ status }) => status).sort(), [200, 200, 503])
  for (const event of events) await event.body?.cancel()
  await clients[0]?.end()
  t.ok((await joined(url)).session, 'a place that was left is free')
  t.equal(hits(proxy)['sessionsPerPrincipal'], 2)
})

t.test('requests beyond the limit of one client get 429; other clients are served', async t => {
  const proxy = startProxy(t, { s: rawServer() }, { limits: { callsPerClient: 3 } })
  const { url } = await proxy.listen({ port: 0 })
  const greedy = await joined(url)
  const modest = await joined(url)
  const waiting = ['a', 'b', 'c'].map((key, id) => greedy.call(id, 's__wait', JSON.stringify({ key })))
  await until(() => proxy.status().calls === 3, 'the calls to be under way')
  const refused = await greedy.call(9, 's__echo')
  t.equal(refused.status, 429)
  t.match(refused.last.message, { id: 9, error: { data: { limit: 'callsPerClient', max: 3 } } })
  t.equal(textOf(await modest.call(1, 's__echo', '{"a":1}')), '{"a":1}')
  for (const key of ['a', 'b', 'c']) await modest.call(key, 's__release', JSON.stringify({ key }))
  for (const answer of await Promise.all(waiting)) t.equal(textOf(answer), 'released')
  t.same(hits(proxy), { callsPerClient: 1 })
})

t.test('a server that answers nothing fills its own places, and none of its neighbours’', async t => {
  const limits = { callsPerServer: 2 }
  const proxy = startProxy(t, { hung: { ...rawServer(), limits }, well: rawServer() })
  const { url } = await proxy.listen({ port: 0 })
  const client = await joined(url)
  const waiting = ['a', 'b'].map((key, id) => client.call(id, 'hung__wait', JSON.stringify({ key })))
  await until(() => proxy.status().calls === 2, 'the calls to be under way')
  const refused = await client.call(3, 'hung__echo')
  t.match(refused.last.message.error, {
    code: -32603,
    message: 'Server hung has 2 requests in flight (limits.callsPerServer is 2); try again later',
    data: { reason: 'overloaded', limit: 'callsPerServer', max: 2, server: 'hung' },
  })
  for (let id = 10; id < 20; id += 1) t.equal(textOf(await client.call(id, 'well__echo')), '{}')
  t.same(hits(proxy), { callsPerServer: 1 })
  client.vanish()
  await Promise.allSettled(waiting)
})

t.test('a message of a server that is too long fails its call alone, and names the limit', async t => {
  const limits = { message: '64KiB' }
  const proxy = startProxy(t, { big: { ...rawServer(), limits }, well: rawServer() })
  const { url } = await proxy.listen({ port: 0 })
  const client = await joined(url)
  const args = JSON.stringify({ n: 'x'.repeat(100 * KIB) })
  const failed = await client.call(1, 'big__raw', args)
  t.match(failed.last.message.error, { code: -32603, data: { reason: 'too-large', server: 'big' } })
  t.equal(textOf(await client.call(2, 'big__echo', '{"b":2}')), '{"b":2}', 'it still works')
  t.equal(textOf(await client.call(3, 'well__echo', args)), args, 'others have limits of their own')
  t.same(hits(proxy), { message: 1 })
})

/**
 * A server that answers `initialize` and the list, and then reads no more; it is another one after each
 * start.
 */
const DEAF = `
  const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  let rest = ''
  process.stdin.on('data', chunk => {
    const lines = (rest + chunk).split('\\n')
    rest = lines.pop()
    for (const line of lines) {
      const { id, method } = JSON.parse(line)
      if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'deaf', version: '1' } } })
      else if (method === 'tools/list') {
        send({ id, result: { tools: [{ name: 'x', inputSchema: { type: 'object' } }] } })
        process.stdin.pause()
      }
      else if (id !== undefined) send({ id, error: { code: -32601, message: 'no' } })
    }
  })
  setInterval(() => undefined, 1000)`

t.test('a server that does not read its input gets no more data, and is restarted', async t => {
  const deaf = {
    command: process.execPath,
    args: ['-e', DEAF],
    limits: { serverQueue: '256KiB', stall: '1s' },
  }
  const proxy = startProxy(t, { deaf, well: rawServer() }, { limits: { softQueue: '64KiB' } })
  const { url } = await proxy.listen({ port: 0 })
  const client = await joined(url)
  await client.request('tools/list')
  const childOf = (name: string) => proxy.status().servers.find(server => server.name === name)?.pids[0]
  const before = childOf('deaf')
  const args = JSON.stringify({ n: 'x'.repeat(2.5 * MIB) })
  const lost = client.call(1, 'deaf__x', args)
  await until(() => proxy.status().calls === 1, 'the call to be under way')
  const refused = await client.call(3, 'deaf__x', args)
  t.match(refused.last.message.error, {
    message: /^Server deaf: The server does not read its input \(limits\.serverQueue is 256KiB\)/,
    data: { reason: 'overloaded', limit: 'serverQueue', server: 'deaf' },
  })
  t.equal(textOf(await client.call(4, 'well__echo', args)), args)
  const { last } = await lost
  t.match(last.message.error, {
    message: /did not read its input/,
    data: { server: 'deaf' },
  })
  await until(() => childOf('deaf') !== before && childOf('deaf') !== undefined, 'another process')
  t.match(hits(proxy), { serverQueue: 1, stall: 1 })
})

t.test('no more processes run than may', async t => {
  const proxy = startProxy(
    t,
    { one: rawServer(), two: rawServer() },
    { limits: { children: 1 }, startupWait: '1s' },
  )
  const { url } = await proxy.listen({ port: 0 })
  const client = await joined(url)
  const answers = await Promise.all(['one', 'two'].map((name, id) => client.call(id, `${name}__echo`)))
  t.equal(answers.filter(answer => textOf(answer) === '{}').length, 1)
  t.equal(proxy.children.pids.length, 1)
  t.ok((hits(proxy)['children'] ?? 0) >= 1)
})

t.test('the status tells which limits were reached, and how often', async t => {
  const proxy = startProxy(
    t,
    { s: rawServer('s', '2025-11-25', '50') },
    { limits: { items: 20, body: '4KiB' } },
  )
  const { url } = await proxy.listen({ port: 0 })
  const client = await joined(url)
  const { last } = await client.request('tools/list')
  t.equal(last.message.result.tools.length, 20)
  t.equal((await client.call(1, 's__echo', JSON.stringify({ n: 'x'.repeat(5000) }))).status, 413)
  const response = await fetch(new URL('/status', url))
  const status = (await response.json()) as ProxyStatus
  t.match(status.limits, { body: { hits: 1, agoMs: Number }, items: { hits: Number, agoMs: Number } })
  t.match(status.servers, [{ name: 's', truncated: ['tools'] }])
  t.equal(status.pressure, 0)
  t.match(await (await fetch(new URL('/readyz', url))).json(), { status: 'ready' })
})

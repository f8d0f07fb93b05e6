import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ProxyConfig } from '../../src/config/types.js'
import { mask } from '../../src/kernel/secrets/mask.js'
import { RawClient } from '../support/client/raw-client.js'
import { isRunning, until } from '../support/processes.js'
import { rawServer } from '../support/proxy/start.js'
import { listenFor } from '../support/server/plain-http-server.js'

const read = (mcpServers: object, more: object = {}): ProxyConfig => {
  const { config } = parseConfig(JSON.stringify({ mcpServers, ...more }), 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  return config
}

const eager = (...args: string[]) => ({ ...rawServer(...args), start: 'eager' })

t.test('a program can change the configuration of its proxy, and learns what that changed', async t => {
  const proxy = createProxy(read({ a: eager(), b: eager() }))
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const client = new RawClient(url)
  await client.initialize()
  const pidOf = (name: string) => proxy.status().servers.find(server => server.name === name)?.pids[0]
  await until(() => pidOf('a') !== undefined && pidOf('b') !== undefined, 'both')
  const [a, b] = [pidOf('a'), pidOf('b')]
  const next = read({ a: eager(), c: rawServer() }, { listen: { port: 1 }, limits: { calls: 1000 } })
  t.match(proxy.reload(next), {
    added: ['c'],
    removed: ['b'],
    replaced: [],
    settings: ['limits'],
    needRestart: ['listen'],
  })
  t.match(
    proxy.reload(next),
    { added: [], removed: [], settings: [], needRestart: ['listen'] },
    'still to come',
  )
  await until(() => !isRunning(b ?? 0), 'the end of what was removed')
  t.equal(pidOf('a'), a)
  t.equal((await client.call(1, 'c__echo', '{"n":1}')).last.message.result.content[0].text, '{"n":1}')
  t.equal(proxy.status().config, undefined, 'no file is behind it')
})

t.test('what a proxy cannot serve is refused as a whole', async t => {
  const proxy = createProxy(read({ a: rawServer() }))
  t.teardown(() => proxy.close())
  const config = read({ a: rawServer(), b: rawServer() })
  const [a] = config.servers
  if (a === undefined) throw new Error('missing')
  t.throws(() => proxy.reload({ ...config, servers: [a, { ...a, name: 'b', prefix: 'a' }] }), {
    code: 'invalid-params',
  })
  t.same(
    proxy.status().servers.map(({ name }) => name),
    ['a'],
  )
  await proxy.drain(0)
  t.throws(() => proxy.reload(config), { code: 'unavailable' })
})

t.test('configurations that are refused do not make it forget the secrets of the one that holds', async t => {
  const proxy = createProxy(read({ a: { ...rawServer(), env: { TOKEN: 'correct horse' } } }))
  t.teardown(() => proxy.close())
  const { servers, ...config } = read({ b: rawServer() })
  for (let times = 0; times < 20; times++)
    t.throws(() => proxy.reload({ ...config, servers: [...servers, ...servers] }))
  t.equal(mask('at correct horse'), 'at ***')
})

t.test('a standalone server stays the only one', async t => {
  const proxy = createProxy(read({ a: rawServer() }), { isAlone: true })
  t.teardown(() => proxy.close())
  t.throws(() => proxy.reload(read({ a: rawServer(), b: rawServer() })), { code: 'invalid-params' })
  t.match(proxy.reload(read({ a: rawServer('other') })), { replaced: ['a'] })
})

/** A server over HTTP with sessions, and those that were ended there. */
const startSessions = async (t: Test) => {
  const ended: unknown[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    if (request.method !== 'POST') {
      if (request.method === 'DELETE') ended.push(request.headers['mcp-session-id'])
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      return
    }
    const { id, method } = JSON.parse(body)
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [] },
    }
    const result = results[method]
    if (id === undefined) response.writeHead(202).end()
    else {
      const session = method === 'initialize' ? { 'mcp-session-id': 'sid' } : {}
      response.writeHead(200, { 'content-type': 'application/json', ...session })
      const error = { code: -32601, message: 'unknown' }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }))
    }
  })
  return { entry: { type: 'http', url: `${await listenFor(t, server)}/mcp` }, ended }
}

t.test('a proxy that closes ends its sessions at servers, also those whose client has just left', async t => {
  const { entry, ended } = await startSessions(t)
  const proxy = createProxy(read({ s: { ...entry, sharing: 'session' } }))
  t.teardown(() => proxy.close())
  const client = new RawClient((await proxy.listen({ port: 0 })).url)
  await client.initialize()
  t.match((await client.call(1, 's__echo', '{}')).last.message, { result: {} })
  await proxy.close()
  t.same(ended, ['sid'])
})

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import type { Environment } from '../../src/config/types.js'
import { hello } from '../support/era/codec.js'
import { startForwardProxy } from '../support/forward-proxy.js'
import { configFile, runHere } from '../support/proxy/start.js'

type Headers = Readonly<Record<string, string>>

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'remote', version: '1' },
  },
  'tools/list': { tools: [{ name: 'echo', description: 'Echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
}

interface Front {
  /** Returns a status to refuse a request with. */
  readonly refuses?: (request: IncomingMessage, method: string) => number | undefined
  readonly answered?: (response: ServerResponse, method: string) => void
  readonly encode?: { readonly coding: string; readonly with: (text: string) => Buffer }
}

/** Starts an MCP server behind a front, and notes its requests. */
const startServer = async (t: Test, { refuses, answered, encode }: Front = {}) => {
  const seen: { readonly method: string; readonly headers: IncomingMessage['headers'] }[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { id, method } = (text === '' ? {} : JSON.parse(text)) as { id?: unknown; method?: string }
    const name = method ?? request.method ?? ''
    seen.push({ method: name, headers: request.headers })
    const refusal = refuses?.(request, name) ?? (request.method === 'GET' ? 405 : undefined)
    answered?.(response, name)
    if (refusal !== undefined) return void response.writeHead(refusal).end()
    if (id === undefined) return void response.writeHead(202).end()
    const result = RESULTS[name]
    const error = { code: -32601, message: 'unknown' }
    const body = JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
    response.setHeader('content-type', 'application/json')
    if (encode !== undefined) response.setHeader('content-encoding', encode.coding)
    response.writeHead(result ? 200 : 400).end(encode?.with(body) ?? body)
  }
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { seen, port, url: `http://127.0.0.1:${port}/mcp` }
}

/** Serves one server, and returns a function that opens sessions. */
const serve = async (t: Test, entry: object, env: Environment = {}) => {
  const { config, problems } = parseConfig(JSON.stringify({ mcpServers: { s: entry } }), 'test.json', env)
  if (config === undefined || config.servers.length === 0) throw new Error(JSON.stringify(problems))
  const proxy = createProxy(config)
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const post = async (headers: Headers, body: object): Promise<Response> =>
    await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const open = async (first: Headers = {}, later = first) => {
    const params = hello('2025-06-18', {}, { name: 'raw', version: '1' })
    const { headers } = await post(first, { id: 1, method: 'initialize', params })
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
    await post({ ...later, ...session }, { method: 'notifications/initialized' })
    const ask = async (method: string, params: object, more: Headers = {}): Promise<string> =>
      await (await post({ ...later, ...more, ...session }, { id: 2, method, params })).text()
    return {
      list: () => ask('tools/list', {}),
      call: (more?: Headers) => ask('tools/call', { name: 's__echo', arguments: {} }, more),
    }
  }
  return { proxy, open }
}

t.test('a server that only the proxy of the environment knows is reached through it', async t => {
  const { port, seen } = await startServer(t)
  const { host, seen: passed } = await startForwardProxy(t, { port, login: 'ann:pa ss' })
  const { open } = await serve(
    t,
    { url: 'http://mcp.corp.invalid/mcp' },
    {
      HTTP_PROXY: `http://ann:pa%20ss@${host}`,
    },
  )
  t.match(await (await open()).call(), /done/)
  t.equal(passed.length, seen.length, 'every request')
  t.ok(passed.every(line => line.endsWith(' http://mcp.corp.invalid/mcp')))
})

t.test('a server may compress every answer', async t => {
  const { url } = await startServer(t, { encode: { coding: 'gzip', with: text => gzipSync(text) } })
  const { open } = await serve(t, { url })
  const client = await open()
  t.match(await client.list(), /s__echo/)
  t.match(await client.call(), /done/)
})

t.test('a sticky balancer gets its cookie back on each connection', async t => {
  let turn = 0
  const workerOf = ({ headers }: IncomingMessage): string | undefined =>
    /LB=(\d+)/.exec(headers.cookie ?? '')?.[1]
  let set = ''
  const { url, seen } = await startServer(t, {
    refuses: (request, method) => {
      const worker = workerOf(request)
      const isFirst = method === 'initialize' || method === 'server/discover'
      if (worker === undefined) turn += 1
      set = worker ?? String(turn)
      return worker === undefined && !isFirst ? 404 : undefined
    },
    answered: response => void response.setHeader('set-cookie', `LB=${set}; Path=/; HttpOnly`),
  })
  const { open } = await serve(t, { url })
  const [one, other] = [await open(), await open()]
  for (let i = 0; i < 5; i += 1) for (const client of [one, other]) t.match(await client.call(), /done/)
  const cookies = new Set(
    seen.filter(({ method }) => method === 'tools/call').map(each => each.headers.cookie),
  )
  t.equal(cookies.size, 2, 'each session has its own cookie')
})

t.test('user and password of an address are sent as Basic, and a refusal names the address', async t => {
  let accepted = `Basic ${Buffer.from('us:er:pä ss').toString('base64')}`
  const { url } = await startServer(t, {
    refuses: ({ headers }) => (headers.authorization === accepted ? undefined : 401),
  })
  const address = url.replace('//', '//us%3Aer:p%C3%A4%20ss@')
  accepted = `Basic ${Buffer.from('us:er:pä ss').toString('base64')}`
  const right = await serve(t, { url: address })
  t.match(await (await right.open()).call(), /done/)
  t.notMatch(JSON.stringify(right.proxy.status()), /p%C3%A4|pä ss/)
  accepted = 'Basic other'
  const wrong = await serve(t, { url: address })
  const answer = await (await wrong.open()).call()
  t.match(answer, /refused the user and password in its address: check \\"url\\"/)
  t.notMatch(answer, /pä ss|p%C3%A4/)
})

t.test('a server that wants a password names the address and "headers", not a login', async t => {
  const { url, seen } = await startServer(t, {
    refuses: () => 401,
    answered: response => void response.setHeader('www-authenticate', 'Basic realm="mcp"'),
  })
  for (const more of [{}, { oauth: false }]) {
    const { proxy, open } = await serve(t, { url, ...more })
    await (await open()).list()
    const [status] = proxy.status().servers
    t.match(status?.why, /requires (?:a user and password|credentials).*"headers"/)
    t.equal(status?.cause?.code, 'D035.credentials')
    t.notMatch(JSON.stringify(status), /auth login/)
  }
  t.ok(
    seen.every(({ method }) => /^(?:server|initialize|GET)/.test(method)),
    'no authorization server',
  )
  const file = configFile(t, { s: { url } })
  const login = await runHere(t, 'auth', 'login', 's', '--config', file)
  t.match(login, { code: 4, err: /requires a user and password.*"url".*"headers"/ })
  t.match(await runHere(t, 'auth', 'status', '--config', file), { out: /^s +shared +none /m })
})

t.test('headers of a client reach the server with its calls, and split shared connections', async t => {
  const { url, seen } = await startServer(t)
  const entry = { url, sharing: 'all', forwardHeaders: ['X-Request-Id', 'X-Tenant-*'] }
  const { open } = await serve(t, entry)
  const ids = () =>
    seen
      .splice(0)
      .map(({ method, headers }) => `${method} ${headers['x-tenant-id']} ${headers['x-request-id']}`)
  const one = await open({ 'X-Tenant-Id': 'a', 'X-Other': 'no' })
  await one.list()
  t.ok(
    ids().every(line => line.endsWith(' a undefined')),
    'also requests of the proxy',
  )
  await one.call({ 'x-request-id': '1' })
  await one.call({ 'x-request-id': '2' })
  t.same(ids(), ['tools/call a 1', 'tools/call a 2'])
  const same = await open({ 'x-tenant-id': 'a' })
  await same.call()
  t.same(ids(), ['tools/call a undefined'], 'the same headers share a connection')
  const lacking = await open({ 'x-tenant-id': 'a', 'x-request-id': '0' }, {})
  await lacking.call({ 'x-tenant-id': 'c' })
  await lacking.call()
  t.same(
    ids().filter(line => line.startsWith('tools/call')),
    ['tools/call c undefined', 'tools/call undefined undefined'],
    'a call has no header of an earlier request',
  )
  const other = await open({ 'x-tenant-id': 'b' })
  await other.list()
  await other.call()
  const others = ids()
  t.ok(
    others.some(line => line.startsWith('initialize b')),
    'others have their own',
  )
  t.ok(others.every(line => line.includes(' b ')))
  t.ok(seen.every(({ headers }) => headers['x-other'] === undefined))
})

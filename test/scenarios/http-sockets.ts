import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { createProxy, type Proxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import type { Environment } from '../../src/config/types.js'
import { socketUrlOf } from '../../src/kernel/machine/socket-path.js'
import { RawClient } from '../support/client/raw-client.js'
import { endWith, isWindows, OWN_GROUP, socketFile, until } from '../support/processes.js'
import { configFile, runHere, setEnv, startBin } from '../support/proxy/start.js'

const DUAL = fileURLToPath(new URL('../conformance/dual-server.mjs', import.meta.url))
/** A proxy at which no request may arrive. */
const DEAD_PROXY = { HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' }

/** Starts the official servers of both eras behind HTTP on one local socket. */
const startDual = async (t: Test, path: string): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [DUAL, 'http', path], {
    ...OWN_GROUP,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWith(t, child)
  for await (const _line of createInterface({ input: child.stdout })) return child
  throw new Error('it did not start')
}

/** Serves HTTP on a local socket from this process. */
const listen = async (
  t: Test,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> => {
  const path = socketFile(t)
  const server = createServer(handle)
  await new Promise<void>(resolve => server.listen(path, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return path
}

const serve = async (
  t: Test,
  entry: object,
  env: Environment = DEAD_PROXY,
): Promise<{ readonly proxy: Proxy; readonly url: string }> => {
  const text = JSON.stringify({ mcpServers: { s: entry }, startupWait: '60s' })
  const { config, problems } = parseConfig(text, 'test.json', env)
  t.same(problems, [])
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config)
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  return { proxy, url }
}

const connectOlder = async (t: Test, url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize()
  t.teardown(() => client.vanish())
  return client
}

const connectNewer = async (t: Test, url: string): Promise<Client> => {
  const options = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
  const client = new Client({ name: 'newer', version: '1' }, options)
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  return client
}

t.test(
  'a server behind HTTP on a local socket serves clients of both eras, also after it came back',
  async t => {
    const path = socketFile(t)
    const first = await startDual(t, path)
    const { url, proxy } = await serve(t, { url: `${socketUrlOf(path)}#/mcp` })
    const older = await connectOlder(t, url)
    const newer = await connectNewer(t, url)
    const call = async (): Promise<void> => {
      const { last } = await older.call(1, 's__test_simple_text')
      t.match(last.message.result?.content, [{ type: 'text' }])
      const result = await newer.callTool({ name: 's__test_simple_text', arguments: {} })
      t.match(result.content, [{ type: 'text' }])
    }
    await call()
    const revisions = new Set(proxy.status().servers.map(({ revision }) => revision))
    t.equal(revisions.size, 1)
    first.kill('SIGKILL')
    await once(first, 'close')
    if (!isWindows) rmSync(path, { force: true })
    const { last } = await older.call(2, 's__test_simple_text')
    t.match(
      last.message.error?.message ?? last.message.result?.content?.[0]?.text,
      /the socket|not reachable/,
    )
    await startDual(t, path)
    await until(
      async () => (await older.call(3, 's__test_simple_text')).last.message.error === undefined,
      'the server',
    )
    await call()
  },
)

/** Answers like a server of 2025-06-18 without streams. */
const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = Buffer.concat(await request.toArray()).toString()
  const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string }
  if (request.method === 'GET') return void response.writeHead(405).end()
  if (id === undefined) return void response.writeHead(202).end()
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'local', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  }
  const result = results[method ?? '']
  const error = { code: -32601, message: 'unknown' }
  response.setHeader('content-type', 'application/json')
  response
    .writeHead(result === undefined ? 400 : 200)
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
}

t.test(
  'requests on a local socket have the target after #, the headers of the entry and no proxy',
  async t => {
    const seen: { readonly url: string | undefined; readonly headers: IncomingMessage['headers'] }[] = []
    const path = await listen(t, (request, response) => {
      seen.push({ url: request.url, headers: request.headers })
      response.setHeader('set-cookie', 'LB=7; Path=/')
      void answer(request, response)
    })
    const { url } = await serve(t, {
      url: `${socketUrlOf(path)}#/deep/er%20x?k=v`,
      headers: { 'X-Key': 'k', Authorization: 'Bearer t' },
    })
    const client = await connectOlder(t, url)
    t.match((await client.call(1, 's__echo')).last.message.result?.content, [{ text: 'done' }])
    for (const { url: target, headers } of seen) {
      t.equal(target, '/deep/er%20x?k=v')
      t.match(headers, { host: 'localhost', 'x-key': 'k', authorization: 'Bearer t' })
    }
    t.equal(seen.at(-1)?.headers.cookie, 'LB=7')
  },
)

t.test('a server of 2024-11-05 is reached by HTTP+SSE on its socket', async t => {
  const open = new Map<string, SSEServerTransport>()
  const path = await listen(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response)
      open.set(transport.sessionId, transport)
      const server = new Server({ name: 'old', version: '1' }, { capabilities: { tools: {} } })
      server.setRequestHandler(ListToolsRequestSchema, () => ({
        tools: [{ name: 'echo', inputSchema: { type: 'object' as const } }],
      }))
      server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: 'text', text: 'old' }] }))
      void server.connect(transport)
    } else if (pathname === '/messages')
      void open.get(searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response)
    else response.writeHead(404).end()
  })
  for (const entry of [{}, { type: 'sse' }]) {
    const { url } = await serve(t, { url: `${socketUrlOf(path)}#/sse`, ...entry })
    const client = await connectOlder(t, url)
    t.match((await client.call(1, 's__echo')).last.message.result?.content, [{ text: 'old' }])
  }
})

t.test('a server that wants credentials on its socket names "headers", and no login is tried', async t => {
  const path = await listen(t, (_request, response) => {
    const challenge = 'Bearer resource_metadata="http://127.0.0.1:9/.well-known/oauth-protected-resource"'
    response.writeHead(401, { 'www-authenticate': challenge }).end()
  })
  const file = configFile(t, { s: { url: `${socketUrlOf(path)}#/mcp` } })
  const { out } = await runHere(t, 'list', '--alone', '--config', file, '--json')
  const [{ state, why }] = JSON.parse(out).servers
  t.equal(state, 'failed')
  t.match(why, /requires credentials: write an Authorization header into "headers"/)
  const login = await runHere(t, 'auth', 'login', 's', '--config', file)
  t.match(login, { code: 2, err: /does not take a login: it is a local socket/ })
  const doctor = await runHere(t, 'doctor', '--config', file, '--server', 's')
  t.notMatch(doctor.out + doctor.err, /auth login/)
})

t.test('HTTP at a socket without # is explained by list, add and doctor', async t => {
  const path = await listen(t, (request, response) => void answer(request, response))
  const file = configFile(t, { s: { url: socketUrlOf(path) } })
  const listed = await runHere(t, 'list', '--alone', '--config', file, '--json')
  t.match(JSON.parse(listed.out).servers[0].why, /speaks HTTP: append "#\/mcp"/)
  const added = await runHere(t, 'add', 'x', socketUrlOf(path), '--config', file)
  t.match(added, { code: 4, err: /append "#\/mcp"[\s\S]*fix: append "#\/mcp" to its "url"/ })
  const doctor = await runHere(t, 'doctor', '--config', file, '--server', 's')
  t.match(doctor.out + doctor.err, /D035[\s\S]*append "#\/mcp"/)
  const right = await runHere(
    t,
    'add',
    'y',
    `${socketUrlOf(path)}#/mcp`,
    '--config',
    file,
    '--header',
    'X-A: b',
  )
  t.match(right, { code: 0, err: /y: 1 tool, written to/ })
  t.match(await runHere(t, 'check', '--config', file), { code: 0, out: /^y +auto .*#\/mcp$/m })
})

t.test("VS Code's form of socket addresses is imported, and bridged", async t => {
  const path = socketFile(t)
  await startDual(t, path)
  const home = t.testdir({ '.vscode': {} })
  setEnv(t, { HOME: home, USERPROFILE: home, MCP_PROXY_CONFIG: '', ...DEAD_PROXY })
  const address = isWindows ? socketUrlOf(path).replace('pipe:///', 'pipe:///pipe/') : socketUrlOf(path)
  const theirs = join(home, '.vscode', 'mcp.json')
  writeFileSync(
    theirs,
    JSON.stringify({ servers: { bare: { type: 'http', url: address }, deep: { url: `${address}#/mcp` } } }),
  )
  const ours = join(home, 'ours.json')
  t.match(await runHere(t, 'import', theirs, '--config', ours), { code: 0 })
  const { mcpServers } = JSON.parse(readFileSync(ours, 'utf8'))
  t.match(mcpServers, { bare: { url: `${address}#/` }, deep: { url: `${address}#/mcp` } })
  const { out } = await runHere(t, 'list', '--alone', '--config', ours, '--json')
  const { servers, tools } = JSON.parse(out)
  t.same(
    servers.map(({ state }: { state: string }) => state),
    ['ready', 'ready'],
  )
  t.ok(tools.length > 2)
  const bridge = startBin(t, ['bridge', `${address}#/mcp`, '--to', 'stdio'])
  bridge.send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  })
  t.match(JSON.parse(await bridge.line(/"id":1/)), { result: { serverInfo: {} } })
})

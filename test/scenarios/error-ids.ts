import { once } from 'node:events'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { encodeLegacyFault as legacyFault } from '../../src/eras/legacy/errors.js'
import { encodeModernFault as modernFault } from '../../src/eras/modern/errors.js'
import { isErrorId } from '../../src/kernel/error-ids.js'
import { Fault, type FaultCode } from '../../src/kernel/faults.js'
import { valueOf } from '../../src/kernel/json/text.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { RPC_CODES } from '../../src/model/rpc-error.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { hello, NEWEST } from '../support/era/codec.js'
import { until } from '../support/processes.js'
import { startAuthorized } from '../support/proxy/authorized.js'
import { configFile, rawServer, runHere, startBin, tiny } from '../support/proxy/start.js'
import { listenFor } from '../support/server/plain-http-server.js'

const MODERN = '2026-07-28'
const JSON_TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const start = async (t: Test) => {
  const gate = createServer((request, response) => {
    request.resume()
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
  })
  const mcpServers = {
    raw: { ...rawServer(), timeouts: { call: '1s', total: '1s' }, limits: { callsPerServer: 1 } },
    mortal: rawServer(),
    dead: { ...tiny('--die'), restart: { first: '5m', max: '5m' } },
    login: { url: `${await listenFor(t, gate)}/mcp` },
  }
  const text = JSON.stringify({ mcpServers, startupWait: '60s', limits: { body: '64KiB', batch: 2 } })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config, { listWaitMs: 60_000, configProblems: () => problems })
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const api = await proxy.api()
  const why = async (id: string): Promise<Loose> => {
    const query = new URLSearchParams({ q: id })
    return ((await api.answer({ method: 'GET', path: '/why', query, body: '' })) as Loose).value
  }
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  return { proxy, url, why, client }
}

type Started = Awaited<ReturnType<typeof start>>

const posted = async (url: string, body: string, headers: Record<string, string> = {}): Promise<Loose> => {
  const response = await fetch(url, { method: 'POST', headers: { ...JSON_TYPES, ...headers }, body })
  return JSON.parse(/^data: (.*)$/m.exec(await response.clone().text())?.[1] ?? (await response.text()))
}

const modern = ({ url }: Started, method: string, more: Loose = {}): Promise<Loose> => {
  const { params = {}, headers, meta } = more
  const _meta = meta ?? {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } })
  const named = params.name === undefined ? {} : { 'mcp-name': params.name }
  return posted(url, body, { 'mcp-protocol-version': MODERN, 'mcp-method': method, ...named, ...headers })
}

const legacy = async ({ client }: Started, method: string, params?: object): Promise<Loose> =>
  (await client.request(method, params)).last.message

const called = async ({ client }: Started, name: string): Promise<Loose> =>
  (await client.call(`call ${name}`, name)).last.message

/** What a client does, and what is said to it on a WebSocket. */
const overSocket = async ({ url }: Started, ...lines: readonly string[]): Promise<Loose> => {
  const socket = new WebSocket(`${url.replace('http', 'ws').replace(/\/mcp$/, '')}/ws`, 'mcp')
  await once(socket, 'open')
  return new Promise((resolve, reject) => {
    socket.on('close', () => reject(new Error('closed without an error')))
    socket.on('message', text => {
      const message = JSON.parse(String(text))
      if (message.error === undefined) return
      resolve(message)
      socket.close()
    })
    for (const text of lines) socket.send(text)
  })
}

/** What a client posts, and what is said to it on its stream of HTTP+SSE (2024-11-05). */
const overSse = async ({ url }: Started, ...bodies: readonly string[]): Promise<Loose> => {
  const abort = new AbortController()
  const { body } = await fetch(new URL('/sse', url), {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  let said = ''
  try {
    for await (const chunk of body ?? []) {
      said += Buffer.from(chunk as Uint8Array).toString()
      const endpoint = /^data: (messages.*)$/m.exec(said)?.[1]
      while (endpoint !== undefined && bodies.length > 0) {
        const [next = '', ...rest] = bodies
        bodies = rest
        await fetch(new URL(endpoint, url), { method: 'POST', headers: JSON_TYPES, body: next })
      }
      const error = /^data: (.*"error".*)$/m.exec(said)?.[1]
      if (error !== undefined) return JSON.parse(error)
    }
    throw new Error('closed without an error')
  } finally {
    abort.abort()
  }
}

const HELLO = JSON.stringify({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params: hello(NEWEST) })
const line = (method: string, more: object = {}) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...more })

/** Each way in which a client of some transport and era can be told of a fault of ours. */
const ROWS: Readonly<Record<string, (started: Started) => Promise<Loose>>> = {
  'what is no JSON': ({ url }) => posted(url, '{no'),
  'what is no JSON-RPC': ({ url }) => posted(url, '{"id":1}'),
  'an empty batch': ({ url }) => posted(url, '[]'),
  'a method that there is not': started => legacy(started, 'no/such'),
  'a tool that there is not': started => called(started, 'raw__nobody'),
  'a prompt that there is not': started => legacy(started, 'prompts/get', { name: 'raw__nobody' }),
  'a resource that there is not': started => legacy(started, 'resources/read', { uri: 'x://nothing' }),
  'params without a name': started => legacy(started, 'tools/call', {}),
  'a level that there is not': started => legacy(started, 'logging/setLevel', { level: 'loud' }),
  'a cursor that is none': started => legacy(started, 'tools/list', { cursor: 'x' }),
  'a second initialize': started => legacy(started, 'initialize', hello(NEWEST)),
  'a server that does not start': started => called(started, 'dead__echo'),
  'a server that wants a login': started => called(started, 'login__echo'),
  'a server that ends': started => called(started, 'mortal__exit'),
  'a server that does not answer': started => called(started, 'raw__wait'),
  'more calls than a server takes': async started => {
    const first = started.client.call('first', 'raw__wait')
    const answer = async () => (await started.client.call('more', 'raw__echo')).last.message
    let said: Loose
    await until(async () => {
      said = await answer()
      return said.error !== undefined
    }, 'the limit')
    await first
    return said
  },
  'a session that there is not': ({ url }) => posted(url, line('ping'), { 'mcp-session-id': 'nobody' }),
  'no session': ({ url }) => posted(url, line('tools/list')),
  'a body that is too large': ({ url }) => posted(url, ' '.repeat(80_000)),
  'a type that is not JSON': ({ url }) => posted(url, line('ping'), { 'content-type': 'text/plain' }),
  'an Accept that fits nothing': ({ url }) => posted(url, line('ping'), { accept: 'text/html' }),
  'a page of somebody else': ({ url }) => posted(url, line('ping'), { origin: 'https://evil.example' }),
  'modern: a method that there is not': started => modern(started, 'no/such'),
  'modern: a tool that there is not': started =>
    modern(started, 'tools/call', { params: { name: 'nobody' } }),
  'modern: a server that does not start': started =>
    modern(started, 'tools/call', { params: { name: 'dead__echo', arguments: {} } }),
  'modern: nothing about the client': started => modern(started, 'tools/list', { meta: {} }),
  'modern: a revision that there is not': started =>
    modern(started, 'tools/list', {
      headers: { 'mcp-protocol-version': '2031-01-01' },
      meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' },
    }),
  'modern: headers that say something else': started =>
    modern(started, 'tools/list', { headers: { 'mcp-method': 'prompts/list' } }),
  'ws: what is no request': started => overSocket(started, HELLO, '{"jsonrpc":"1.0","id":1,"method":"x"}'),
  'ws: a method that there is not': started => overSocket(started, HELLO, line('no/such')),
  'ws: a server that does not start': started =>
    overSocket(started, HELLO, line('tools/call', { params: { name: 'dead__echo' } })),
  'sse: a method that there is not': started => overSse(started, HELLO, line('no/such')),
  'sse: a tool that there is not': started =>
    overSse(started, HELLO, line('tools/call', { params: { name: 'raw__nobody' } })),
  'sse: a server that does not start': started =>
    overSse(started, HELLO, line('tools/call', { params: { name: 'dead__echo' } })),
  'sse: a session that there is not': ({ url }) =>
    posted(new URL('/messages?sessionId=nobody', url).href, line('ping')),
}

t.test('each error of ours that a client reads has an id, by which why finds it', async t => {
  const started = await start(t)
  for (const [what, provoke] of Object.entries(ROWS)) {
    const { error } = await provoke(started)
    t.ok(isErrorId(error?.data?.errorId ?? ''), `${what}: ${JSON.stringify(error)}`)
    const found = await started.why(error?.data?.errorId ?? 'none')
    t.match(found, { kind: 'error', answered: true, error: { code: error?.code } }, what)
    t.match(found.fix ?? error.message, /mcp-proxy|client|raise|nothing|again/, `the fix of ${what}`)
  }
})

/** Many clients show nothing but the message. */
const RETRIED: readonly FaultCode[] = [
  ...(['unavailable', 'timeout', 'disconnected', 'overloaded', 'too-large', 'internal'] as const),
]

t.test('every fault has an id in every era, and why names its fix', async t => {
  const { why } = await start(t)
  for (const code of Object.keys(RPC_CODES) as FaultCode[])
    for (const [era, encode] of [
      ['legacy', legacyFault],
      ['modern', modernFault],
    ] as const) {
      const { message, data } = valueOf(encode(new Fault(code, 'A fault of this test'))) as Loose
      const found = await why(data.errorId)
      t.match(found, { kind: 'error', answered: true, error: { fault: code } }, `${code}, ${era}`)
      t.ok(found.fix?.length > 20, `the fix of ${code}`)
      if (RETRIED.includes(code)) t.ok(message.endsWith(`(${data.errorId})`), `${code} shows its id`)
    }
})

t.test('stdio: what is refused has an id that the verb finds', async t => {
  const file = configFile(t, { dead: { ...tiny('--die'), restart: { first: '5m', max: '5m' } } })
  const proxy = startBin(t, ['stdio', '--config', file])
  proxy.child.stdin?.write(`${HELLO}\n{"jsonrpc":"1.0","id":2,"method":"x"}\n${line('no/such')}\n`)
  await proxy.line(/"id":1/)
  const errors = proxy.out
    .trim()
    .split('\n')
    .map(text => JSON.parse(text).error)
    .filter(Boolean)
  t.same(errors.map(({ code }) => code).sort(), [-32600, -32601])
  for (const { data } of errors)
    t.match(await runHere(t, 'why', data.errorId, '--config', file), {
      code: 0,
      out: /an error of this run.*fix/s,
    })
  proxy.child.stdin?.end()
  await proxy.exited
})

t.test(
  'an error about a login names its server and its call, and keeps no address to sign in at',
  async t => {
    const started = await start(t)
    const { error } = await called(started, 'login__echo')
    t.match(error.message, /or open http.*\/oauth\/connect\/.{16}/, 'the client is told where')
    const found = await started.why(error.data.errorId)
    t.match(found, {
      server: 'login',
      own: 'login__echo',
      error: { fault: 'unauthorized', method: 'tools/call' },
    })
    t.match(found.fix, 'mcp-proxy auth login login')
    t.notMatch(JSON.stringify(found), /oauth\/connect\/\w/)
  },
)

t.test('a credential that is refused is refused over HTTP alone, without an id', async t => {
  const { initialize } = await startAuthorized(t, {
    people: { alice: { tokens: [{ hash: `sha256:${tokenHash(createPersonalToken())}` }] } },
  })
  for (const token of [undefined, 'wrong', createPersonalToken()]) {
    const { status, text } = await initialize(token)
    t.match({ status, ...JSON.parse(text) }, { status: 401, error: String, error_description: String })
    t.notMatch(text, /jsonrpc|errorId/)
  }
})

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { startProxy } from '../support/proxy/start.js'

const MODERN = '2026-07-28'
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'old', version: '1' },
}
const TOOLS = [{ name: 'who', inputSchema: { type: 'object' } }]
const said = (text: string) => ({ content: [{ type: 'text', text }] })

/** The answer of a server of the older era; undefined to what it does not know. */
const oldAnswer = (method: string, name = 'old'): object | undefined =>
  ({ initialize: INITIALIZED, 'tools/list': { tools: TOOLS }, 'tools/call': said(name), ping: {} })[method]

const newAnswer = (method: string): object | undefined =>
  ({
    'server/discover': {
      supportedVersions: [MODERN],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'new', version: '2' } },
    },
    'tools/list': { tools: TOOLS },
    'tools/call': said('new'),
  })[method]

/** A client of a proxy of one server, which is called `a`. */
const clientOf = async (t: Test, entry: object): Promise<RawClient> => {
  const proxy = startProxy(t, { a: entry }, { startupWait: '30s' })
  const face = await proxy.listen({ port: 0 })
  const client = new RawClient(face.url)
  await client.initialize()
  t.teardown(() => client.vanish())
  return client
}

const who = async (client: RawClient): Promise<string> => {
  const { last } = await client.call('who', 'a__who')
  return last.message.result?.content[0].text ?? JSON.stringify(last.message)
}

// ── programs ──

/**
 * A program that writes down each start and each method, and does something about methods that it does not
 * know.
 */
const program = (notes: string, otherwise: string): object => ({
  command: process.execPath,
  args: [
    '-e',
    `const { appendFileSync } = require('node:fs')
    const note = words => appendFileSync(${JSON.stringify(notes)}, words + '\\n')
    const results = { initialize: ${JSON.stringify(INITIALIZED)}, 'tools/list': ${JSON.stringify({ tools: TOOLS })},
      'tools/call': ${JSON.stringify(said('old'))} }
    note('start')
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
      const { id, method } = JSON.parse(line)
      note(method)
      const result = results[method]
      if (result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
      else if (id !== undefined) { ${otherwise} }
    })`,
  ],
})

const notesFile = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'detection-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return join(folder, 'notes')
}

const notesIn = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')
const DIALOGUE = ['initialize', 'notifications/initialized', 'tools/list', 'tools/call']

t.test('a program that ends at anything but initialize is started once more, and works', async t => {
  const file = notesFile(t)
  const client = await clientOf(t, program(file, 'process.exit(1)'))
  t.equal(await who(client), 'old')
  t.same(notesIn(file), ['start', 'server/discover', 'start', ...DIALOGUE])
})

t.test(
  'a program that leaves unknown methods unanswered gets initialize after a while, and no cancellation',
  async t => {
    const file = notesFile(t)
    const client = await clientOf(t, { ...program(file, ''), timeouts: { probe: '200ms' } })
    t.equal(await who(client), 'old')
    t.same(notesIn(file), ['start', 'server/discover', ...DIALOGUE])
  },
)

t.test('a program that is said to be an old one is not asked', async t => {
  for (const pin of [{ era: 'legacy' }, { protocolVersion: '2025-06-18' }]) {
    const file = notesFile(t)
    const client = await clientOf(t, { ...program(file, 'process.exit(1)'), ...pin })
    t.equal(await who(client), 'old')
    t.same(notesIn(file), ['start', ...DIALOGUE])
  }
})

t.test(
  'a program configured as modern that is not cannot be reached, with the cause in the message',
  async t => {
    const file = notesFile(t)
    const refuse = `console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))`
    const client = await clientOf(t, { ...program(file, refuse), era: 'modern' })
    const { last } = await client.request('tools/list')
    t.match(last.message.error?.message, /Server a .*does not speak 2026-07-28.*check "era"/)
    t.notOk(notesIn(file).includes('initialize'))
  },
)

// ── WebSocket ──

t.test('a WebSocket server that closes at what it does not know is connected once more', async t => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  t.teardown(() => {
    for (const socket of server.clients) socket.terminate()
    server.close()
  })
  await new Promise(resolve => server.once('listening', resolve))
  const seen: string[][] = []
  server.on('connection', socket => {
    const methods: string[] = []
    seen.push(methods)
    socket.on('message', data => {
      const { id, method } = JSON.parse(String(data))
      methods.push(method)
      const result = oldAnswer(method)
      if (result !== undefined) socket.send(JSON.stringify({ jsonrpc: '2.0', id, result }))
      else if (id !== undefined) socket.close(1002)
    })
  })
  const client = await clientOf(t, { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}` })
  t.equal(await who(client), 'old')
  t.same(seen, [['server/discover'], DIALOGUE])
})

// ── HTTP ──

/** A server whose era a test can change, at one address. */
const changingServer = async (t: Test) => {
  const state = { era: 'legacy' as 'legacy' | 'modern', sessions: 0, seen: [] as string[] }
  const answer = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const { id, method } = body === '' ? ({} as Loose) : JSON.parse(body)
    const send = (status: number, message: object, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ jsonrpc: '2.0', ...message }))
    }
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    state.seen.push(method)
    const session = request.headers['mcp-session-id']
    const result = state.era === 'modern' ? newAnswer(method) : oldAnswer(method)
    if (state.era === 'modern') {
      const version = request.headers['mcp-protocol-version']
      const unsupported = { code: -32022, message: 'no', data: { supported: [MODERN], requested: version } }
      if (version !== MODERN) send(400, { id, error: unsupported })
      else send(200, { id, result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } })
    } else if (method === 'initialize') {
      state.sessions += 1
      send(200, { id, result }, { 'mcp-session-id': `${state.sessions}` })
    } else if (session === undefined) {
      send(400, { id: null, error: { code: -32000, message: 'Bad Request: Server not initialized' } })
    } else if (session !== `${state.sessions}`)
      send(404, { id: null, error: { code: -32001, message: 'no' } })
    else if (id === undefined) response.writeHead(202).end()
    else send(200, { id, result })
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { state, entry: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` } }
}

t.test('a server that is upgraded behind its address is spoken to in its new revision', async t => {
  const { state, entry } = await changingServer(t)
  const client = await clientOf(t, entry)
  t.equal(await who(client), 'old')
  state.seen = []
  state.era = 'modern'
  t.equal(await who(client), 'new')
  t.same(
    state.seen.filter(method => method === 'initialize').length,
    1,
    'whether it speaks the older one too is found out once',
  )
})

t.test('a server that is replaced by an older one completes the call that found it out, once', async t => {
  const { state, entry } = await changingServer(t)
  state.era = 'modern'
  const client = await clientOf(t, entry)
  t.equal(await who(client), 'new')
  state.seen = []
  state.era = 'legacy'
  t.equal(await who(client), 'old')
  // Its lists may be read at any time once it is introduced.
  const calls = state.seen.filter(method => !method.endsWith('/list'))
  t.same(calls.slice(0, 6), [
    'tools/call',
    'server/discover',
    'server/discover',
    'initialize',
    'notifications/initialized',
    'tools/call',
  ])
})

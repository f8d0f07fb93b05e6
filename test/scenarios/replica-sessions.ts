import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { type Daemon, rawServer, startDaemon } from '../support/proxy/start.js'
import { noRedis, type Redis, startRedis } from '../support/redis.js'
import { listenFor } from '../support/server/plain-http-server.js'

/** A server over HTTP with sessions, which notes what becomes of them. */
const startRemote = async (t: Test) => {
  const sessions = new Set<string>()
  const seen = { begun: 0, ended: 0, ids: [] as number[] }
  const results: Record<string, (message: Loose, session: string) => object> = {
    initialize: ({ params }) => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'remote', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'whose', inputSchema: { type: 'object' } }] }),
    'tools/call': ({ id }, session) => {
      seen.ids.push(id)
      return { content: [{ type: 'text', text: session }] }
    },
  }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const message: Loose = body === '' ? {} : JSON.parse(body)
    let session = request.headers['mcp-session-id']?.toString() ?? ''
    if (message.method === 'initialize') {
      session = randomUUID()
      sessions.add(session)
      seen.begun += 1
    }
    if (message.method !== 'server/discover' && !sessions.has(session)) response.writeHead(404).end()
    else if (request.method === 'DELETE') {
      seen.ended += 1
      sessions.delete(session)
      response.writeHead(200).end()
    } else if (request.method === 'GET') response.writeHead(405).end()
    else if (message.id === undefined) response.writeHead(202).end()
    else {
      const result = results[message.method]?.(message, session)
      const answer = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }))
    }
  })
  return { url: `${await listenFor(t, server)}/mcp`, seen, forget: () => sessions.clear() }
}

const KEY = randomBytes(32).toString('base64')

const startReplica = (t: Test, { url }: Redis, server: object): Promise<Daemon> => {
  const cluster = { url, keys: [KEY], peer: { listen: '127.0.0.1:0' }, lease: '2s', linger: '0s' }
  return startDaemon(t, { s: server }, { cluster, knownServers: false, drain: '1s' })
}

/** Two replicas; a client began its session at the first, and goes to the second from now on. */
const begun = async (t: Test) => {
  const redis = await startRedis(t)
  const remote = await startRemote(t)
  const owner = await startReplica(t, redis, remote)
  const other = await startReplica(t, redis, remote)
  t.teardown(() => other.stop())
  const raw = new RawClient(owner.url)
  await raw.initialize()
  const client = new RawClient(other.url)
  client.session = raw.session
  /** Which session of the server a call gets to. */
  const whose = async (id: number): Promise<string> =>
    (await client.call(id, 's__whose')).last.message.result?.content[0].text
  const first = await whose(1)
  // Without the session at the server a record has less than half of that.
  const kept = (): string => redis.ask('hstrlen', redis.ask('keys', '*:s:*').trim(), 'd')
  await until(() => Number(kept()) > 450, 'a record with the session at the server')
  return { redis, remote, owner, whose, first }
}

t.test(
  'a session at a remote server goes on when the replica that had it ends, or is killed',
  { skip: noRedis },
  async t => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { remote, owner, whose, first } = await begun(t)
      owner.child.kill(signal)
      await once(owner.child, 'exit')
      t.equal(await whose(2), first, signal)
      t.match(remote.seen, { begun: 1, ended: 0 })
      const [before = 0, after = 0] = remote.seen.ids
      t.ok(after > before + 1000, 'no request has an id that the one before may have used')
    }
  },
)

t.test('a server that has forgotten such a session gets a new one', { skip: noRedis }, async t => {
  const { remote, owner, whose, first } = await begun(t)
  owner.child.kill('SIGKILL')
  await once(owner.child, 'exit')
  remote.forget()
  const second = await whose(2)
  t.type(second, 'string')
  t.not(second, first)
  t.equal(await whose(3), second)
  t.equal(remote.seen.begun, 2)
})

t.test('an answer that was due over a replica which ends comes over another', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const owner = await startReplica(t, redis, rawServer('s'))
  const edge = await startReplica(t, redis, rawServer('s'))
  t.teardown(() => owner.stop())
  const direct = new RawClient(owner.url)
  // One that can be asked something gets a stream at once.
  await direct.initialize({ elicitation: {} })
  const client = new RawClient(edge.url)
  client.session = direct.session
  const asked = fetch(edge.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': direct.session ?? '',
    },
    body: '{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"s__wait","arguments":{"key":"k"}}}',
  })
  const body = (await asked).text()
  await until(async () => (await owner.status()).calls === 1, 'a call')
  t.equal((await edge.stop()).code, 0)
  const sent = await body
  t.match(sent, /\nretry: \d+\n\n$/)
  const last = /^id: (.*)$/m.exec(sent)?.[1] ?? ''
  const again = fetch(owner.url, {
    headers: {
      accept: 'text/event-stream',
      'mcp-session-id': direct.session ?? '',
      'last-event-id': last,
    },
  })
  t.equal((await direct.call('r', 's__release', '{"key":"k"}')).status, 200)
  t.match(await (await again).text(), /"id":"w","result".*released/)
})

import { once } from 'node:events'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { parseConfig } from '../../src/config/parse.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { hello, mirrored, modern } from '../support/era/codec.js'
import { until } from '../support/processes.js'
import { type Authorized, JSON_HEADERS, startAuthorized } from '../support/proxy/authorized.js'
import { tiny } from '../support/proxy/start.js'
import { withoutErrorIds } from '../support/values.js'

const [LAPTOP, PHONE, BOB, CAROL] = [
  createPersonalToken(),
  createPersonalToken(),
  createPersonalToken(),
  createPersonalToken(),
]
const hashed = (...tokens: readonly string[]) => tokens.map(token => ({ hash: `sha256:${tokenHash(token)}` }))

const AUTH = {
  people: {
    alice: { tokens: hashed(LAPTOP, PHONE), scopes: ['mcp', 'github'] },
    bob: { tokens: hashed(BOB) },
    carol: { tokens: hashed(CAROL), scopes: ['mcp', 'github:admin'] },
  },
  scopeImplies: { 'github:admin': ['github'] },
}

const SERVERS = {
  gh: { ...tiny(), access: { see: ['github'], call: { 'fa*': ['github:admin'] } } },
  open: tiny(),
}

interface Session {
  readonly id: string
  post(body: object, token?: string | null): ReturnType<Authorized['ask']>
  /** Resolves when the stream ends. */
  stream(token?: string, more?: Readonly<Record<string, string>>): ReturnType<Authorized['ask']>
}

const bearer = (token: string | null): Record<string, string> =>
  token === null ? {} : { authorization: `Bearer ${token}` }

const start = async (t: Test) => {
  const proxy = await startAuthorized(t, AUTH, { more: { mcpServers: SERVERS } })
  const post = (body: object, token: string | null, more: Record<string, string> = {}) =>
    proxy.ask('/mcp', {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...bearer(token), ...more },
      body: JSON.stringify(Array.isArray(body) ? body : { jsonrpc: '2.0', ...body }),
    })
  const open = async (mine: string, version = '2025-11-25'): Promise<Session> => {
    const greeting = await post({ id: 0, method: 'initialize', params: hello(version) }, mine)
    const id = String(greeting.headers['mcp-session-id'])
    const session = { 'mcp-session-id': id }
    await post({ method: 'notifications/initialized' }, mine, session)
    return {
      id,
      post: (body, token = mine) => post(body, token, session),
      stream: (token = mine, more = {}) =>
        proxy.ask('/mcp', {
          headers: { accept: 'text/event-stream', ...bearer(token), ...session, ...more },
        }),
    }
  }
  const toolsOf = async (session: Session, token?: string) => {
    const { text } = await session.post({ id: 'l', method: 'tools/list' }, token)
    return text.match(/"name":"[a-z]+__\w+"/g)?.map(name => name.slice(8, -1)) ?? []
  }
  const reload = (people: object): void => {
    const text = JSON.stringify({ mcpServers: SERVERS, listen: { port: 0 }, auth: { ...AUTH, people } })
    const { config } = parseConfig(text, 'test.json', process.env)
    if (config === undefined) throw new Error('bad test configuration')
    proxy.proxy.reload(config)
  }
  return { ...proxy, post, open, toolsOf, reload }
}

const call = (name: string, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
})

t.test('a session is its principal’s, with any of its tokens', async t => {
  const { open, lines } = await start(t)
  const session = await open(LAPTOP)
  const ping = { id: 1, method: 'ping' }
  t.equal((await session.post(ping, null)).status, 401)
  const [foreign, unknown] = [
    await session.post(ping, BOB),
    await (await open(BOB)).stream(BOB, { 'mcp-session-id': 'never-was' }),
  ]
  t.same([foreign.status, unknown.status], [404, 404])
  t.equal(
    withoutErrorIds(foreign.text).replace('"id":1,', ''),
    withoutErrorIds(unknown.text).replace('"id":null,', ''),
    'in the same words',
  )
  t.equal((await session.stream(BOB, { 'last-event-id': '0-0' })).status, 404)
  t.equal((await session.post(ping, PHONE)).status, 200)
  t.equal((await session.post(ping)).status, 200)
  for (const token of [LAPTOP, PHONE, BOB]) t.notMatch(JSON.stringify(lines), token)
})

t.test('a call that needs more is refused before it runs', async t => {
  const { open } = await start(t)
  const session = await open(LAPTOP, '2025-03-26')
  const refused = await session.post(call('gh__facts'))
  t.equal(refused.status, 403)
  t.match(
    String(refused.headers['www-authenticate']),
    /^Bearer realm="mcp-proxy", error="insufficient_scope", .*scope="github:admin"$/,
  )
  t.same(Object.keys(JSON.parse(refused.text)), ['error', 'error_description'])
  const batch = await session.post([call('open__echo', 1), call('gh__facts', 2)])
  t.equal(batch.status, 403)
  t.match(String(batch.headers['www-authenticate']), /scope="github:admin"$/)
  const fine = await session.post([call('open__echo', 1), call('gh__echo', 2)])
  t.equal(fine.status, 200)
  t.notMatch(fine.text, '"error"')
  const carol = await open(CAROL)
  t.equal((await carol.post(call('gh__facts'))).status, 200)
})

t.test('nor is a call with which a client meets the server, asked for progress', async t => {
  const { post, open } = await start(t)
  const session = await open(LAPTOP)
  const { params, ...rest } = call('gh__facts')
  const eager = await session.post({ ...rest, params: { ...params, _meta: { progressToken: 1 } } })
  t.equal(eager.status, 403)
  const message = modern(1, 'tools/call', { name: 'gh__facts', arguments: {} }, { progressToken: 1 })
  t.equal((await post(message, LAPTOP, mirrored(message))).status, 403)
})

t.test('who sees what', async t => {
  const { open, toolsOf, post } = await start(t)
  const [alice, bob, carol] = [await open(LAPTOP), await open(BOB), await open(CAROL)]
  t.ok((await toolsOf(alice)).includes('gh__echo'))
  t.ok((await toolsOf(carol)).includes('gh__echo'), 'a broader scope includes it')
  const seen = await toolsOf(bob)
  t.ok(seen.includes('open__echo'))
  t.notMatch(seen.join(), 'gh__')
  const answers = [await bob.post(call('gh__echo')), await bob.post(call('no__echo'))]
  for (const { status, text } of answers) {
    t.equal(status, 200)
    t.match(JSON.parse(text), { error: { code: -32602 } })
  }
  const [hidden, unknown] = answers.map(({ text }) => withoutErrorIds(text).replace(/gh|no/g, 'XX'))
  t.equal(hidden, unknown)
  const message = modern(1, 'tools/list')
  for (const [token, sees] of [
    [BOB, false],
    [LAPTOP, true],
  ] as const) {
    const { text } = await post(message, token, mirrored(message))
    t.match(JSON.parse(text), { result: { cacheScope: 'private' } })
    t.equal(text.includes('gh__echo'), sees)
  }
})

t.test('a WebSocket has the credential of its upgrade', async t => {
  const { origin, reload } = await start(t)
  const url = `${origin.replace('http', 'ws')}/ws`
  const refused = new WebSocket(url, 'mcp')
  const [error] = (await once(refused, 'error')) as [Error]
  t.match(error.message, '401')
  const socket = new WebSocket(url, 'mcp', { headers: bearer(LAPTOP) })
  await once(socket, 'open')
  /** The answer to a request; lists may change at any time. */
  const answer = (message: object): Promise<unknown> =>
    new Promise(resolve => {
      const onMessage = (data: Buffer): void => {
        const said: object = JSON.parse(data.toString())
        if (!('id' in said)) return
        socket.off('message', onMessage)
        resolve(said)
      }
      socket.on('message', onMessage)
      socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
    })
  await answer({ id: 0, method: 'initialize', params: hello('2025-11-25') })
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  const error2 = { code: -32603, data: { reason: 'insufficient-scope', scope: 'github:admin' } }
  t.match(await answer(call('gh__facts')), { id: 1, error: error2 })
  reload({ ...AUTH.people, alice: { tokens: hashed(LAPTOP), scopes: ['mcp'] } })
  t.match(await answer(call('gh__echo')), { error: { code: -32602 } }, 'fewer scopes hold at once')
  reload({ ...AUTH.people, alice: { tokens: hashed(PHONE) } })
  const [code] = (await once(socket, 'close')) as [number]
  t.equal(code, 1008)
})

t.test('a token that is taken out of the file ends its sessions and streams', async t => {
  const { origin, open, reload, toolsOf } = await start(t)
  const listen = ({ id }: Session, token: string) =>
    fetch(`${origin}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': id, ...bearer(token) },
    })
  const [session, other, bob] = [await open(LAPTOP), await open(PHONE), await open(BOB)]
  const [ending, staying] = [await listen(session, LAPTOP), await listen(bob, BOB)]
  reload({ ...AUTH.people, alice: { tokens: hashed(PHONE), scopes: ['mcp'] } })
  t.type(await ending.text(), 'string', 'the stream ends')
  t.equal((await session.post({ id: 1, method: 'ping' })).status, 401)
  t.equal((await session.post({ id: 1, method: 'ping' }, PHONE)).status, 404)
  t.notMatch((await toolsOf(other)).join(), 'gh__')
  t.equal((await bob.post({ id: 1, method: 'ping' })).status, 200)
  await staying.body?.cancel()
})

t.test('access that changes in the file holds at once', async t => {
  const { proxy, open, toolsOf } = await start(t)
  const bob = await open(BOB)
  const reload = (mcpServers: object): void => {
    const text = JSON.stringify({ mcpServers, listen: { port: 0 }, auth: AUTH })
    const { config } = parseConfig(text, 'test.json', process.env)
    if (config !== undefined) proxy.reload(config)
  }
  t.notMatch((await toolsOf(bob)).join(), 'gh__')
  reload({ ...SERVERS, gh: tiny() })
  await until(async () => (await toolsOf(bob)).includes('gh__echo'), 'the tools of the server')
  reload(SERVERS)
  t.notMatch((await toolsOf(bob)).join(), 'gh__')
  t.match(JSON.parse((await bob.post(call('gh__echo'))).text), { error: { code: -32602 } })
})

import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createProxy } from '../../../src/app/proxy.js'
import { createPersonalToken, tokenHash } from '../../../src/kernel/secrets/personal-token.js'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  Browser,
  exchange,
  register,
} from '../../support/auth-server.js'
import { hello, NEWEST } from '../../support/era/codec.js'
import { until } from '../../support/processes.js'
import { type Authorized, configWith, JSON_HEADERS, startAuthorized } from '../../support/proxy/authorized.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const ALICE = createPersonalToken()
const BOB = createPersonalToken()
const hashOf = (token: string): string => `sha256:${tokenHash(token)}`

const PEOPLE = {
  alice: { tokens: [{ name: 'laptop', hash: hashOf(ALICE) }] },
  bob: { tokens: [{ hash: hashOf(BOB) }], scopes: ['other'] },
}

t.test('without auth, programs on this machine need no credential', async t => {
  const { initialize } = await startAuthorized(t, undefined)
  t.match(await initialize(), { status: 200 })
  t.match(await initialize('nonsense'), { status: 200 })
})

t.test('clients of the local socket need no credential', async t => {
  const { proxy } = await startAuthorized(t, { people: PEOPLE })
  // The path of a socket is short.
  const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'mcp.sock')
  await proxy.listenSocket(path)
  const socket = connect(path)
  t.teardown(() => socket.destroy())
  const answered = new Promise<string>(resolve => socket.once('data', data => resolve(String(data))))
  const message = { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello(NEWEST) }
  socket.write(`${JSON.stringify(message)}\n`)
  t.match(await answered, /"serverInfo"/)
})

t.test(
  'challenges mention client credentials only where programs may authenticate as themselves',
  async t => {
    const ask = async (embedded: object | undefined) => {
      const people = { alice: { tokens: [{ hash: hashOf(ALICE) }] } }
      const { origin } = await startAuthorized(t, { people, embedded })
      const version = '2026-07-28'
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      }
      const response = await fetch(`${origin}/mcp`, {
        method: 'POST',
        headers: {
          ...JSON_HEADERS,
          authorization: `Bearer ${ALICE}`,
          'mcp-protocol-version': version,
          'mcp-method': 'server/discover',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta } }),
      })
      const { result } = (await response.json()) as { result: { capabilities: { extensions?: object } } }
      return result.capabilities.extensions
    }
    t.equal(await ask(undefined), undefined)
    t.same(await ask({ clients: { nightly: { hash: hashOf('secret') } } }), {
      'io.modelcontextprotocol/oauth-client-credentials': {},
    })
  },
)

t.test('a personal token is what lets a request in', async t => {
  const { initialize } = await startAuthorized(t, { people: PEOPLE })
  const none = await initialize()
  t.equal(none.status, 401)
  t.equal(none.headers['www-authenticate'], 'Bearer realm="mcp-proxy"')
  t.equal(none.headers['content-type'], 'application/json')
  t.same(JSON.parse(none.text), {
    error: 'unauthorized',
    error_description: 'A bearer token is needed',
  })
  t.match(await initialize(ALICE), { status: 200 })
  const wrong = await initialize(createPersonalToken())
  t.equal(wrong.status, 401)
  t.match(String(wrong.headers['www-authenticate']), /^Bearer realm="mcp-proxy", error="invalid_token", /)
})

t.test('a token without the base scope is refused with what it lacks', async t => {
  const { initialize } = await startAuthorized(t, { people: PEOPLE })
  const answer = await initialize(BOB)
  t.equal(answer.status, 403)
  t.match(String(answer.headers['www-authenticate']), /error="insufficient_scope".*scope="mcp"$/)
})

t.test('one credential, of the scheme Bearer in any case', async t => {
  const { ask, initialize } = await startAuthorized(t, { people: PEOPLE })
  t.match(await initialize(undefined, { authorization: `bEaReR ${ALICE}` }), { status: 200 })
  const basic = await initialize(undefined, { authorization: 'Basic YTpi' })
  t.equal(basic.status, 401)
  t.notMatch(String(basic.headers['www-authenticate']), /error/)
  for (const joined of [`Bearer ${ALICE}, Bearer ${ALICE}`, `Basic YTpi, Bearer ${ALICE}`]) {
    t.match(await initialize(undefined, { authorization: joined }), { status: 400 })
  }
  const twice = ['authorization', `Bearer ${ALICE}`, 'Authorization', `Bearer ${ALICE}`]
  const headers = [...Object.entries(JSON_HEADERS).flat(), 'host', 'localhost', ...twice]
  const answer = await ask('/mcp', { method: 'POST', headers, body: '{}' })
  t.equal(answer.status, 400)
  t.match(String(answer.headers['www-authenticate']), /error="invalid_request"/)
})

t.test('a token in the query is none, and stands in no log', async t => {
  const { ask, lines } = await startAuthorized(t, { people: PEOPLE })
  const answer = await ask(`/mcp?access_token=${ALICE}`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: '{}',
  })
  t.equal(answer.status, 401)
  t.notMatch(JSON.stringify(lines), ALICE)
})

/** Writes a request by hand, and resolves with what comes until the connection is closed. */
const raw = (origin: string, head: readonly string[], body = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin)
    const socket = connect(Number(port), hostname)
    let heard = ''
    socket.on('data', chunk => {
      heard += chunk.toString('latin1')
    })
    socket.on('error', reject).on('close', () => resolve(heard))
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  })

t.test('a request without credential is answered before its body, and cut', async t => {
  const { origin } = await startAuthorized(t, { people: PEOPLE })
  const head = ['POST /mcp HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  const length = `Content-Length: ${16 * 1024 * 1024}`
  t.match(await raw(origin, [...head, length], '{'), /^HTTP\/1\.1 401 /)
  const denied = await raw(origin, ['POST /mcp HTTP/1.1', 'Host: evil.test', length], '{')
  t.match(denied, /^HTTP\/1\.1 403 /, 'the Host comes first')
})

t.test('a WebSocket is refused before the upgrade', async t => {
  const { origin } = await startAuthorized(t, { people: PEOPLE })
  const head = (...more: string[]) => [
    `GET /ws?access_token=${ALICE} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
  ]
  const none = await raw(origin, head())
  t.match(none, /^HTTP\/1\.1 401 /)
  t.match(none, /WWW-Authenticate: Bearer realm="mcp-proxy"/)
  t.match(await raw(origin, head(`Sec-WebSocket-Protocol: mcp, ${ALICE}`)), /^HTTP\/1\.1 401 /)
  t.match(await raw(origin, head(`Authorization: Bearer ${BOB}`)), /^HTTP\/1\.1 403 /)
  const { hostname, port } = new URL(origin)
  const good = connect(Number(port), hostname)
  t.teardown(() => good.destroy())
  good.write(`${head(`Authorization: Bearer ${ALICE}`).join('\r\n')}\r\n\r\n`)
  const answer = await new Promise<string>(resolve => good.once('data', chunk => resolve(chunk.toString())))
  t.match(answer, /^HTTP\/1\.1 101 /)
})

t.test('a session id is not a credential, and cannot be used by another principal', async t => {
  const carol = createPersonalToken()
  const people = { ...PEOPLE, carol: { tokens: [{ hash: hashOf(carol) }] } }
  const { ask, initialize } = await startAuthorized(t, { people })
  const session = String((await initialize(ALICE)).headers['mcp-session-id'])
  const ping = (headers: Readonly<Record<string, string>>) =>
    ask('/mcp', {
      method: 'POST',
      headers: { ...JSON_HEADERS, 'mcp-session-id': session, ...headers },
      body: '{"jsonrpc":"2.0","id":2,"method":"ping"}',
    })
  for (const method of ['GET', 'DELETE', 'POST']) {
    t.match(await ask('/mcp', { method, headers: { 'mcp-session-id': session } }), { status: 401 }, method)
  }
  t.match(await ping({ authorization: `Bearer ${carol}` }), { status: 404 })
  t.match(await ping({ authorization: `Bearer ${ALICE}` }), { status: 200 }, 'it lives on')
})

t.test('a token taken out of the file, or past its day, is unknown from then on', async t => {
  const { proxy, initialize } = await startAuthorized(t, { people: PEOPLE })
  t.match(await initialize(ALICE), { status: 200 })
  const { bob } = PEOPLE
  const diff = proxy.reload(configWith({ people: { bob: { ...bob, scopes: ['mcp'] } } }))
  t.match(diff, { settings: ['auth'], needRestart: [] })
  t.match(await initialize(ALICE), { status: 401 })
  t.match(await initialize(BOB), { status: 200 })
  const late = await startAuthorized(t, {
    people: { alice: { tokens: [{ hash: hashOf(ALICE), expires: '2020-01-01' }] } },
  })
  t.match(await late.initialize(ALICE), {
    status: 401,
    headers: { 'www-authenticate': /error_description="The access token has expired"/ },
  })
})

t.test('an auth that is gone from the file, or that needs a restart, stays in force', async t => {
  const { proxy, initialize, lines } = await startAuthorized(t, { people: PEOPLE })
  t.match(proxy.reload(configWith(undefined)), { needRestart: ['auth'] })
  t.match(await initialize(), { status: 401 })
  t.match(await initialize(ALICE), { status: 200 })
  t.ok(lines.some(([level, , words]) => level === 'error' && words.includes('it stays active')))
  const open = { people: PEOPLE, loopback: 'open' }
  t.match(proxy.reload(configWith(open)), { settings: [], needRestart: ['auth'] })
  t.match(await initialize(), { status: 401 })
  const { proxy: without, initialize: enter } = await startAuthorized(t, undefined)
  t.match(without.reload(configWith({ people: PEOPLE })), { needRestart: ['auth'] })
  t.match(await enter(), { status: 200 })
})

/** An event stream of a session; `isOpen` until its connection ends. */
const listening = async (t: Test, { origin, initialize }: Authorized, token: string, more = {}) => {
  const { headers, status } = await initialize(token, more)
  t.equal(status, 200)
  const session = String(headers['mcp-session-id'])
  const asked = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'mcp-session-id': session }
  const stream = { isOpen: false }
  const sent = request(`${origin}/mcp`, { headers: { ...asked, ...more }, agent: false }, response => {
    stream.isOpen = response.statusCode === 200
    response.resume().once('close', () => {
      stream.isOpen = false
    })
  })
  sent.on('error', () => undefined).end()
  t.teardown(() => sent.destroy())
  await until(() => stream.isOpen, 'the stream')
  return stream
}

t.test('taken out of the file, a token loses its sockets and streams wherever they work', async t => {
  const views = { reading: { servers: ['nowhere'], scopes: ['other'] } }
  const people = { ...PEOPLE, bob: { tokens: PEOPLE.bob.tokens, scopes: ['mcp', 'other'] } }
  const running = await startAuthorized(t, { people }, { more: { views } })
  const folder = { 'mcp-proxy-workspace': t.testdir({}) }
  const socketAt = async (path: string, headers: Record<string, string>) => {
    const url = `${running.origin.replace('http', 'ws')}${path}`
    const ws = new WebSocket(url, { headers: { authorization: `Bearer ${BOB}`, ...headers } })
    t.teardown(() => ws.terminate())
    await once(ws, 'open')
    return { closed: once(ws, 'close').then(([code]) => code as number) }
  }
  const sockets = [await socketAt('/ws', {}), await socketAt('/ws', folder)]
  const inView = await socketAt('/ws/reading', folder)
  const streams = [await listening(t, running, BOB), await listening(t, running, BOB, folder)]
  const alice = await listening(t, running, ALICE, folder)
  const weaker = { ...people, bob: { ...people.bob, scopes: ['mcp'] } }
  running.proxy.reload(configWith({ people: weaker }, { views }))
  t.equal(await inView.closed, 1008, 'its view needs more')
  for (const stream of streams) t.ok(stream.isOpen)
  running.proxy.reload(configWith({ people: { alice: people.alice } }, { views }))
  for (const { closed } of sockets) t.equal(await closed, 1008)
  await until(() => streams.every(({ isOpen }) => !isOpen), 'the end of the streams')
  t.ok(alice.isOpen, 'others keep theirs')
})

t.test('a revoked token loses its streams within five seconds', async t => {
  const clients = { nightly: { secret: 'a-long-secret-of-a-machine', scopes: ['mcp'] } }
  const running = await startAuthorized(t, { people: PEOPLE, embedded: { clients } })
  const login = `Basic ${Buffer.from('nightly:a-long-secret-of-a-machine').toString('base64')}`
  const post = async (path: string, body: Record<string, string>) => {
    const headers = { authorization: login, 'content-type': 'application/x-www-form-urlencoded' }
    return await running.ask(path, {
      ...{ method: 'POST', headers },
      body: new URLSearchParams(body).toString(),
    })
  }
  const { text } = await post('/token', { grant_type: 'client_credentials', scope: 'mcp' })
  const token = String(JSON.parse(text).access_token)
  const stream = await listening(t, running, token)
  t.match(await post('/revoke', { token }), { status: 200 })
  const sinceMs = performance.now()
  await until(() => !stream.isOpen, 'the end of the stream')
  t.ok(performance.now() - sinceMs < 5000)
})

t.test('a stolen refresh token that is used again ends an open WebSocket within five seconds', async t => {
  const running = await startAuthorized(t, { people: PEOPLE, embedded: true }, { stateDir: t.testdir() })
  const as = { base: running.origin }
  const client = String((await register(as)).body['client_id'])
  const browser = new Browser(running.origin, running.origin)
  const { code } = answerAt(await allowWith(browser, authorizePath(client), ALICE))
  const { refresh_token: stolen } = (await exchange(as, client, code)).body
  const refresh = () =>
    askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: stolen })
  const { access_token: thiefs } = (await refresh()).body
  const url = `${running.origin.replace('http', 'ws')}/ws`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${thiefs}` } })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const closed = once(socket, 'close')
  const sinceMs = performance.now()
  t.match((await refresh()).body, { error: 'invalid_grant' })
  t.same((await closed)[0], 1008)
  t.ok(performance.now() - sinceMs < 5000)
})

t.test('until all parts can serve every address says that the proxy is starting', async t => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as AddressInfo
  await new Promise(resolve => free.close(resolve))
  const config = configWith({ people: PEOPLE, embedded: true }, { listen: { port } })
  const proxy = createProxy(config, { log: recordedLog().log })
  t.teardown(() => proxy.close())
  const paths = ['/readyz', '/mcp', '/register', '/token', '/.well-known/oauth-authorization-server']
  const early: Response[] = []
  const listening = proxy.listen().then(() => true)
  while (!(await Promise.race([listening, new Promise(resolve => setImmediate(resolve))])))
    for (const path of paths) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'GET' }).catch(() => undefined)
      if (answer !== undefined) early.push(answer)
    }
  const unready = early.filter(({ status }) => status === 503)
  t.ok(unready.every(({ headers }) => headers.has('retry-after')))
  t.same(
    early.filter(({ status }) => status === 404),
    [],
  )
  t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
  t.equal((await fetch(`http://127.0.0.1:${port}/.well-known/oauth-authorization-server`)).status, 200)
})

t.test('with an open loopback only a bad credential is refused', async t => {
  const { initialize } = await startAuthorized(t, { people: PEOPLE, loopback: 'open' })
  t.match(await initialize(), { status: 200 })
  t.match(await initialize(ALICE), { status: 200 })
  t.match(await initialize('wrong'), { status: 401 })
})

t.test('pages need no credential; the status is for this machine and for mcp:admin', async t => {
  const admin = createPersonalToken()
  const people = { ...PEOPLE, admin: { tokens: [{ hash: hashOf(admin) }], scopes: ['mcp', 'mcp:admin'] } }
  const { ask } = await startAuthorized(t, { publicUrl: 'https://p.test', people })
  for (const path of ['/healthz', '/readyz']) t.match(await ask(path), { status: 200 })
  t.match(await ask('/status'), { status: 200 })
  const through = (token?: string) =>
    ask('/status', {
      headers: { host: 'p.test', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    })
  t.match(await through(), { status: 401 }, 'a reverse proxy here is not this machine')
  const denied = await through(ALICE)
  t.match(denied, { status: 403, headers: { 'www-authenticate': /scope="mcp:admin"/ } })
  const { auth } = JSON.parse((await through(admin)).text)
  t.same(auth, { people: 3, issuers: [], embedded: false, refused: 0 })
})

t.test('a reverse proxy on this machine is recognized however its clients write its host', async t => {
  const views = { reading: { servers: ['nowhere'] } }
  const { ask, origin } = await startAuthorized(
    t,
    { publicUrl: 'https://p.test', people: PEOPLE },
    { more: { views, listen: { port: 0, allowedHosts: ['other.test'] } } },
  )
  const { port } = new URL(origin)
  const names = ['p.test', 'P.Test', 'p.test:443', 'p.test:80', `p.test:${port}`, 'other.test', 'localhost']
  for (const host of names) {
    const headers = { host }
    t.match(await ask('/status', { headers }), { status: 401 }, host)
    t.match(await ask('/metrics', { headers }), { status: 401 }, host)
    t.notMatch(await ask('/mcp/no-such', { headers }), { text: /reading/ }, `views at ${host}`)
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
    t.match(await ask('/status', { headers: { host } }), { status: 200 }, host)
})

t.test('a refused credential is logged and counted, and stands nowhere', async t => {
  const { ask, initialize, lines } = await startAuthorized(t, { people: PEOPLE })
  const wrong = createPersonalToken()
  const { text, headers } = await initialize(wrong)
  t.ok(lines.some(([level, , words]) => level === 'warn' && words === 'refused a credential'))
  const { text: status } = await ask('/status')
  t.match(JSON.parse(status), { auth: { refused: 1 } })
  for (const said of [text, JSON.stringify(headers), JSON.stringify(lines), status]) {
    for (const token of [wrong, ALICE, BOB]) t.notOk(said.includes(token))
  }
})

t.test('refused credentials are counted for each address', async t => {
  const { ask, initialize } = await startAuthorized(t, { people: PEOPLE })
  for (let wrong = 0; wrong < 20; wrong += 1) t.match(await initialize(`wrong${wrong}`), { status: 401 })
  t.match(await initialize('wrong'), { status: 429 })
  t.match(await initialize(ALICE), { status: 200 })
  if (process.platform !== 'linux') return
  const headers = { authorization: 'Bearer wrong' }
  t.match(await ask('/mcp', { from: '127.0.0.2', headers }), { status: 401 }, 'another address')
})

t.test('a trusted proxy names the clients whose failures count, and no other peer does', async t => {
  const from = (address: string) => ({ 'x-forwarded-for': address, authorization: 'Bearer wrong' })
  const trusting = { more: { listen: { port: 0, trustedProxies: ['127.0.0.1/32'] } } }
  const trusted = await startAuthorized(t, { people: PEOPLE }, trusting)
  const untrusted = await startAuthorized(t, { people: PEOPLE })
  for (let wrong = 0; wrong < 20; wrong += 1)
    for (const { ask } of [trusted, untrusted]) await ask('/mcp', { headers: from('203.0.113.1') })
  t.match(await trusted.ask('/mcp', { headers: from('203.0.113.1') }), { status: 429 })
  t.match(await trusted.ask('/mcp', { headers: from('203.0.113.2') }), { status: 401 })
  t.match(await untrusted.ask('/mcp', { headers: from('203.0.113.2') }), { status: 429 })
  t.match(await trusted.ask('/status', { headers: { 'x-forwarded-for': '203.0.113.2' } }), { status: 401 })
})

t.test('registrations are limited for each client behind a trusted proxy', async t => {
  const auth = { publicUrl: 'https://p.test', embedded: true, people: PEOPLE }
  const trusting = { more: { listen: { port: 0, trustedProxies: ['127.0.0.1/32'] } } }
  const trusted = await startAuthorized(t, auth, { ...trusting, stateDir: join(t.testdir(), 'a') })
  const untrusted = await startAuthorized(t, auth, { stateDir: join(t.testdirName, 'b') })
  const registerFrom = async ({ ask }: typeof trusted, address: string) => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address, host: 'p.test' }
    const body = JSON.stringify({ redirect_uris: ['https://app.test/cb'], client_name: 'App' })
    return (await ask('/register', { method: 'POST', headers, body })).status
  }
  for (const running of [trusted, untrusted]) {
    for (let n = 0; n < 10; n += 1) t.equal(await registerFrom(running, '203.0.113.1'), 201)
    t.equal(await registerFrom(running, '203.0.113.1'), 429)
  }
  t.equal(await registerFrom(trusted, '203.0.113.2'), 201)
  t.equal(await registerFrom(untrusted, '203.0.113.2'), 429, 'an untrusted peer names nobody')
})

t.test('a token reaches no server, no log, no audit and no status', async t => {
  const heard: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      heard.push(JSON.stringify(request.rawHeaders) + body)
      const { id, method } = body === '' ? {} : JSON.parse(body)
      const results: Record<string, object> = {
        initialize: {
          ...hello(NEWEST),
          serverInfo: { name: 's', version: '1' },
          capabilities: { tools: {} },
        },
        'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [] },
      }
      response.writeHead(id === undefined ? 202 : 200, { 'content-type': 'application/json' })
      response.end(
        id === undefined ? '' : JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }),
      )
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const audit = join(t.testdir(), 'audit.jsonl')
  const { ask, initialize, lines } = await startAuthorized(
    t,
    { people: PEOPLE },
    { more: { audit, mcpServers: { s: { url: `http://127.0.0.1:${port}/mcp`, era: 'legacy' } } } },
  )
  const session = String((await initialize(ALICE)).headers['mcp-session-id'])
  const headers = { ...JSON_HEADERS, 'mcp-session-id': session, authorization: `Bearer ${ALICE}` }
  const params = { name: 's__echo', arguments: {} }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params })
  t.match(await ask('/mcp', { method: 'POST', headers, body }), { status: 200 })
  t.ok(heard.some(text => text.includes('tools/call')))
  await until(() => readFileSync(audit, 'utf8').includes('person alice'), 'the audit line of the caller')
  const { text: status } = await ask('/status')
  for (const said of [...heard, JSON.stringify(lines), readFileSync(audit, 'utf8'), status]) {
    t.notOk(said.includes(ALICE) || said.includes(tokenHash(ALICE)))
  }
})

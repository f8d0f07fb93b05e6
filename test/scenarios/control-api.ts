import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { KeptLines } from '../../src/telemetry/logs/kept-lines.js'
import { createLogger } from '../../src/telemetry/logs/logger.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { startAuthorized } from '../support/proxy/authorized.js'
import { logInPage } from '../support/proxy/page-login.js'
import { rawServer, tiny } from '../support/proxy/start.js'

const setUp = async (t: Test, mcpServers: object, more: object = {}) => {
  const text = JSON.stringify({ mcpServers, startupWait: '60s', ...more })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const lines = new KeptLines()
  const nowhere = { write: () => undefined }
  const log = await createLogger({
    ...{ level: 'debug', isTerminal: false, sink: nowhere },
    keep: sink => lines.over(sink),
  })
  const proxy = createProxy(config, { listWaitMs: 60_000, lines, log, configProblems: () => problems })
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const { origin } = new URL(url)
  const send = (path: string, options: RequestInit = {}) => fetch(`${origin}/api/v1/${path}`, options)
  const { response: login, headers: page } = await logInPage(origin, proxy.pageSessions().newCode())
  const get = async (path: string): Promise<Loose> => (await send(path, { headers: page })).json()
  const post = async (path: string, body: object = {}): Promise<Loose> =>
    (await send(path, { method: 'POST', headers: { ...page, origin }, body: JSON.stringify(body) })).json()
  /** Follows a stream; what `heard` returns is everything that came until now. */
  const follow = async (path: string, options: RequestInit = {}) => {
    const abort = new AbortController()
    t.teardown(() => abort.abort())
    const headers = { ...page, origin, accept: 'text/event-stream' }
    const response = await send(path, { headers, ...options, signal: abort.signal })
    let text = ''
    const ended = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array)
    })().catch(() => undefined)
    return { response, ended, heard: () => text, leave: () => abort.abort() }
  }
  return { proxy, url, origin, send, page, get, post, login, follow }
}

t.test('a code lets a page in once, with a cookie that no script reads', async t => {
  const { proxy, send, origin, login, page } = await setUp(t, { a: tiny() })
  t.match(
    login.headers.get('set-cookie'),
    new RegExp(
      `^mcp-proxy-${new URL(origin).port}-page=\\d+\\.[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`,
    ),
  )
  const code = proxy.pageSessions().newCode()
  const enter = (given: unknown, headers: Record<string, string> = { origin, 'x-mcp-proxy': '1' }) =>
    send('login', { method: 'POST', headers, body: JSON.stringify({ code: given }) })
  t.equal((await enter('made up')).status, 401)
  t.equal((await enter(7)).status, 401)
  t.equal((await enter(code, { origin })).status, 403, 'a form cannot set the header')
  t.equal((await enter(code, { 'x-mcp-proxy': '1' })).status, 403, 'without an origin')
  t.equal((await enter(code)).status, 200)
  t.equal((await enter(code)).status, 401, 'a second time')
  t.equal((await send('status', { headers: page })).status, 200)
  const twice = proxy.pageSessions().newCode()
  const both = await Promise.all([enter(twice), enter(twice)])
  t.same(both.map(({ status }) => status).sort(), [200, 401], 'two at once')
})

const GETS = [
  ...['status', 'servers', 'tools', 'tools/a__echo', 'clients', 'calls', 'config', 'errors', 'why?q=a'],
  ...['events', 'logs', 'servers/a/tools', 'approvals', 'rules?q=a'],
]
const POSTS = [
  ...['servers/a/restart', 'servers/a/disable', 'servers/a/enable', 'servers/a/probe'],
  ...[
    'servers/a/tools/echo/disable',
    'servers/a/tools/echo/enable',
    'approvals/a/approve',
    'approvals/a/deny',
  ],
  ...['call', 'reload', 'login'],
]

t.test('the routes of these tests are all that there are', async t => {
  const source = await readFile('src/control/api/api.ts', 'utf8')
  const routes = [...source.matchAll(/'(GET|POST) \/([\w/*]+)'/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  const known = [
    ...GETS.map(path => `GET ${path.replace(/a__echo|(?<=\/)a(?=\/)/, '*').replace(/\?.*/, '')}`),
    ...POSTS.map(path => `POST ${path.replace('/a/', '/*/').replace('/echo/', '/*/')}`),
  ]
  t.ok(routes.length > 10)
  for (const route of routes) t.ok(known.includes(route), route)
})

t.test('no other caller is allowed on any path, and nothing is changed', async t => {
  const { proxy, send, origin, page } = await setUp(t, { a: { ...tiny(), start: 'eager' } })
  const pid = () => proxy.status().servers.find(({ name }) => name === 'a')?.pids[0]
  await until(() => proxy.status().servers[0]?.state === 'ready', 'the server')
  const before = pid()
  const other = 'http://127.0.0.1:9'
  const foreignHost = (path: string, method: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { ...page, origin: 'http://evil.example', host: 'evil.example' }
      request(`${origin}/api/v1/${path}`, { method, headers }, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  for (const [method, path] of [
    ...GETS.map(path => ['GET', path] as const),
    ...POSTS.map(path => ['POST', path] as const),
  ]) {
    const isPost = method === 'POST'
    const status = async (headers: Record<string, string>): Promise<number> => {
      const abort = new AbortController()
      const response = await send(path, { method, headers, signal: abort.signal })
      t.equal(response.headers.get('access-control-allow-origin'), null)
      abort.abort()
      return response.status
    }
    const own = isPost ? { origin } : {}
    t.equal(await status({}), 403, `${path} without anything`)
    t.equal(await status({ 'x-mcp-proxy': '1', ...own }), 401, `${path} without a cookie`)
    t.equal(await status({ cookie: page.cookie, ...own }), 403, `${path} without the header`)
    t.equal(await status({ ...page, origin: other }), 403, `${path} from another port`)
    t.equal(await status({ ...page, origin: 'null' }), 403, `${path} from nowhere`)
    if (isPost) t.equal(await status(page), 403, `${path} without an origin`)
    t.equal(await foreignHost(path, method), 403, `${path} under another name`)
    if (path === 'login') continue
    const { cookie: good, 'x-mcp-proxy-secret': _, ...halfOnly } = page
    t.equal(await status({ ...halfOnly, cookie: good, ...own }), 401, `${path} with the cookie alone`)
    t.equal(await status({ ...page, cookie: '', ...own }), 401, `${path} with the secret alone`)
    const [name] = good.split('=')
    for (const cookie of [`${good}x`, good.replace('=1', '=2'), `${name}=`, `${name}=9.x`])
      t.equal(await status({ ...page, ...own, cookie }), 401, `${path} with another cookie`)
  }
  const preflight = { origin: other, 'access-control-request-method': 'POST' }
  const asked = await send('call', { method: 'OPTIONS', headers: preflight })
  t.equal(asked.headers.get('access-control-allow-origin'), null)
  t.equal((await send('nowhere', { headers: page })).status, 404)
  t.equal(pid(), before, 'the server runs as before')
})

t.test('with auth a token with the scope mcp:admin does what a cookie does, and no other token', async t => {
  const [admin, other] = [createPersonalToken(), createPersonalToken()]
  const tokens = (token: string) => [{ hash: `sha256:${tokenHash(token)}` }]
  const people = {
    root: { tokens: tokens(admin), scopes: ['mcp', 'mcp:admin'] },
    bob: { tokens: tokens(other) },
  }
  const { ask, origin } = await startAuthorized(
    t,
    { people, publicUrl: 'https://p.test' },
    { more: { mcpServers: { a: tiny() } } },
  )
  const marked = { 'x-mcp-proxy': '1' }
  const bearer = (token: string) => ({ ...marked, authorization: `Bearer ${token}` })
  // As it comes through a reverse proxy on this machine: from anywhere.
  const away = { host: 'p.test', origin: 'https://p.test' }
  for (const from of [{ origin }, away]) {
    t.equal((await ask('/api/v1/status', { headers: { ...marked, ...from } })).status, 401)
    t.equal((await ask('/api/v1/status', { headers: { ...bearer(other), ...from } })).status, 401)
    t.equal((await ask('/api/v1/status', { headers: { ...bearer('wrong'), ...from } })).status, 401)
    const got = await ask('/api/v1/servers', { headers: { ...bearer(admin), ...from } })
    t.match(JSON.parse(got.text), { version: 1, servers: [{ name: 'a' }] })
    const post = { method: 'POST', body: JSON.stringify({ name: 'a__echo', arguments: { text: 'hello' } }) }
    const called = await ask('/api/v1/call', { ...post, headers: { ...bearer(admin), ...from } })
    t.match(called.text, /"result":.*hello/)
    t.equal((await ask('/api/v1/call', { ...post, headers: { ...bearer(other), ...from } })).status, 401)
  }
  const stranger = { ...bearer(admin), origin: 'http://127.0.0.1:9' }
  t.equal((await ask('/api/v1/status', { headers: stranger })).status, 403, 'a page of another port')
})

t.test('the views show servers, tools, calls and clients, and nothing of contents', async t => {
  const { url, get, post } = await setUp(t, { a: { ...tiny(), env: { A_TOKEN: 'quite-a-secret-1234' } } })
  const client = new RawClient(url)
  await client.initialize()
  await client.call(1, 'a__echo', '{"s":"canary-of-contents"}')
  await client.call(2, 'a__fail')
  const { tools } = await get('tools?q=ECHO&schemas=true')
  t.match(tools, [
    { name: 'a__echo', own: 'echo', server: 'a', calls: 1, errors: 0, inputSchema: { type: 'object' } },
  ])
  t.type(tools[0].p99Ms, 'number')
  t.match(await get('tools/a__echo'), { server: 'a', own: 'echo', tool: { name: 'a__echo' } })
  t.match(await get('tools/a__nobody'), { error: /Unknown tool/ })
  const calls = await get('calls')
  t.match(calls.recent, [
    { method: 'tools/call', server: 'a', name: 'echo', outcome: 'ok' },
    { method: 'tools/call', server: 'a', name: 'fail', outcome: 'tool_error' },
  ])
  t.same((await get(`calls?after=${calls.recent[1].n}`)).recent, [])
  t.match((await get('clients')).clients, [
    { name: 'raw', version: '1', transport: 'http', calls: 0, queuedBytes: 0 },
  ])
  t.match(await post('call', { name: 'x'.repeat(70_000) }), { error: /exceeds 65536 bytes/ })
  const { servers, overheadP99Ms, problems } = await get('servers')
  t.match(servers, [{ name: 'a', state: 'ready', inFlight: 0, remarks: [], p50Ms: Number, p99Ms: Number }])
  t.type(overheadP99Ms, 'number')
  t.same(problems, [])
  t.equal(servers[0].slots.length, 60)
  t.match(servers[0].slots.at(-1).calls + servers[0].slots.at(-2).calls, 2)
  const config = await get('config')
  t.match(config, { config: { servers: [{ name: 'a' }] }, problems: [] })
  const all = JSON.stringify([config, calls, servers, await get('status'), await get('errors')])
  t.notMatch(all, /canary-of-contents|quite-a-secret/)
  t.match(await post('call', { name: 'a__echo', arguments: { n: 1 } }), {
    result: { content: [{ text: '{"n":1}' }] },
  })
  t.match(await post('call', { name: 'a__nobody' }), {
    error: { code: -32602, data: { errorId: /^\w{4}-\w+$/ } },
  })
  t.match(await post('call', { arguments: [] }), { error: /the body must be/ })
  t.match(await post('call', { name: 'x', arguments: 7 }), { error: /must be an object/ })
  t.match(await post('reload'), { error: /without a configuration file/ })
})

t.test('a server can be switched off and on, and started again', async t => {
  const { proxy, url, get, post } = await setUp(t, { a: { ...tiny(), start: 'eager' }, b: tiny() })
  const stateOf = async (name: string) =>
    (await get('servers')).servers.find((one: Loose) => one.name === name)?.state
  const pid = () => proxy.status().servers.find(({ name }) => name === 'a')?.pids[0]
  await until(() => pid() !== undefined && proxy.status().servers[0]?.state === 'ready', 'the server')
  const before = pid()
  t.same(await post('servers/a/restart'), { version: 1 })
  t.not(pid(), before)
  await post('servers/a/disable')
  t.equal(await stateOf('a'), 'disabled')
  t.match(await get('why?q=a'), { kind: 'server', verdict: 'disabled', answered: false })
  const client = new RawClient(url)
  await client.initialize()
  t.match((await client.call(1, 'a__echo')).last.message.error, { code: -32602 })
  await post('servers/a/enable')
  t.not(await stateOf('a'), 'disabled')
  t.match(await post('servers/nobody/disable'), { error: /Unknown server: nobody/ })
  t.match(await post('servers/nobody/restart'), { error: /Unknown server: nobody/ })
})

t.test('each error of ours has an id that can be asked about', async t => {
  const { url, get } = await setUp(t, { dead: tiny('--die'), a: tiny() })
  const client = new RawClient(url)
  await client.initialize()
  const { error } = (await client.call(1, 'dead__echo')).last.message
  const id = /\(([a-z0-9]{4}-[a-z0-9]+)\)$/.exec(error.message)?.[1] ?? ''
  const { errors } = await get('errors')
  t.ok(
    errors.some((one: Loose) => one.id === error.data.errorId),
    'the last errors hold it',
  )
  const why = await get(`why?q=${error.data.errorId}`)
  t.match(why, { kind: 'error', answered: true, error: { id: error.data.errorId, method: 'tools/call' } })
  if (error.data.reason !== undefined) t.equal(id, error.data.errorId, 'the message ends in it')
  const broken = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{no',
  })
  const said = (await broken.json()) as Loose
  t.match(said.error, { code: -32700, data: { errorId: /^\w{4}-\w+$/ } })
  t.match(await get(`why?q=${said.error.data.errorId}`), { kind: 'error', answered: true })
  t.match(await get('why?q=zzzz-1'), { answered: false, causes: [{ words: /another run/ }] })
})

t.test('why explains every name', async t => {
  const servers = {
    a: {
      ...tiny(),
      tools: { deny: ['re*'], rename: { fail: 'flop' }, override: { echo: { title: 'Echo' } } },
    },
    b: { ...tiny(), tools: { allow: ['echo'] } },
    // Not tried again meanwhile.
    dead: { ...tiny('--die'), start: 'eager', restart: { first: '5m', max: '5m' } },
  }
  const { url, get } = await setUp(t, servers)
  const client = new RawClient(url)
  await client.initialize()
  await client.call(1, 'b__echo')
  await client.call(2, 'a__echo')
  // A call waits for no lists but that of tools.
  for (const list of ['resources/list', 'prompts/list']) await client.request(list)
  const why = (name: string) => get(`why?q=${encodeURIComponent(name)}`)
  await until(async () => (await why('dead')).verdict !== 'starting', 'the end of its start')
  const rows: readonly (readonly [string, object])[] = [
    ['a__facts', { kind: 'tool', verdict: 'shown', answered: true, server: 'a', own: 'facts', causes: [] }],
    ['a__refuse', { verdict: 'hidden', answered: false, causes: [{ verdict: 'hidden', pattern: 're*' }] }],
    ['b__fail', { verdict: 'hidden', answered: false, causes: [{ words: /tools\.allow/ }] }],
    ['a__flop', { verdict: 'shown', own: 'fail', causes: [{ verdict: 'renamed' }] }],
    ['a__echo', { verdict: 'shown', causes: [{ verdict: 'overridden' }] }],
    ['echo', { verdict: 'ambiguous', answered: false }],
    ['a__nobody', { verdict: 'unknown', answered: false, server: 'a' }],
    ['a', { kind: 'server', verdict: 'shown', answered: true }],
    ['dead', { kind: 'server', answered: false }],
    ['nobody', { kind: 'unknown', verdict: 'unknown', answered: false }],
    ['a+memo://one', { kind: 'resource', verdict: 'shown', own: 'memo://one' }],
    ['a+memo://two', { kind: 'resource', verdict: 'uri-by-prefix', answered: true, own: 'memo://two' }],
    ['a__greet', { kind: 'prompt', verdict: 'shown' }],
  ]
  for (const [name, expected] of rows)
    t.match(await why(name), { version: 1, query: name, ...expected }, name)
})

t.test('who follows hears first what is, and then what changes', async t => {
  const { url, send, page } = await setUp(t, { a: tiny() })
  const abort = new AbortController()
  const heard: string[] = []
  const response = await send('events?view=status,clients,calls', { headers: page, signal: abort.signal })
  t.equal(response.headers.get('content-type'), 'text/event-stream')
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) heard.push(decoder.decode(chunk as Uint8Array))
  })().catch(() => undefined)
  await until(() => /event: status/.test(heard.join('')), 'the state')
  const client = new RawClient(url)
  await client.initialize()
  await client.call(1, 'a__echo')
  await until(() => /"name":"raw"/.test(heard.join('')) && /"name":"echo"/.test(heard.join('')), 'the call')
  abort.abort()
  await reading
})

t.test('a client that calls a tool gets its progress, and cancels by disconnecting', async t => {
  const { follow, get, post } = await setUp(t, { raw: rawServer() })
  const body = JSON.stringify({ name: 'raw__progress', arguments: { values: [1, 2], tag: 'read' } })
  const call = await follow('call', { method: 'POST', body })
  t.equal(call.response.headers.get('content-type'), 'text/event-stream')
  await call.ended
  t.match(
    call.heard(),
    /event: progress\ndata: \{.*"progress":1.*event: progress\n.*"progress":2.*event: answer\ndata: .*"text":"read"/s,
  )
  const waiting = await follow('call', { method: 'POST', body: JSON.stringify({ name: 'raw__wait' }) })
  const seen = async () => JSON.stringify(await post('call', { name: 'raw__seen' }))
  await until(async () => (await get('calls')).underWay.some((one: Loose) => one.name === 'wait'), 'the call')
  waiting.leave()
  await until(async () => /notifications\/cancelled/.test(await seen()), 'the cancellation')
  const asks = { name: 'raw__ask', arguments: { method: 'elicitation/create', params: {} } }
  t.match(JSON.stringify(await post('call', asks)), /"code/, 'its questions are refused')
  const wrong = await follow('call', { method: 'POST', body: '[]' })
  t.equal(wrong.response.status, 400)
})

t.test('only new errors are streamed, and as many log lines as requested', async t => {
  const { follow, post, get } = await setUp(t, { a: { ...tiny(), start: 'eager' } })
  await post('call', { name: 'a__nobody' })
  const { errors } = await get('errors')
  const [last] = errors.slice(-1)
  const stream = await follow('events?view=errors')
  await until(() => stream.heard().includes(`"${last.id}"`), 'the last error')
  await post('call', { name: 'a__nowhere' })
  await until(() => /event: errors.*event: errors/s.test(stream.heard()), 'the next one')
  t.equal(stream.heard().split(`"${last.id}"`).length, 2, 'the first one once')
  const tail = await follow('logs?tail=1')
  await until(() => tail.heard().includes('\n\n'), 'a line')
  t.equal(tail.heard().split('event: line').length, 2)
})

t.test('eight may follow at a time, and who comes back reads on where it was', async t => {
  const { send, page, post, proxy } = await setUp(t, { a: { ...tiny(), start: 'eager' } })
  await until(() => proxy.status().servers[0]?.state === 'ready', 'the server')
  // Has it say a second line.
  await post('servers/a/restart')
  const aborts = Array.from({ length: 8 }, () => new AbortController())
  const open = await Promise.all(
    aborts.map(({ signal }) => send('logs', { headers: { ...page, accept: 'text/event-stream' }, signal })),
  )
  for (const { status } of open) t.equal(status, 200)
  t.equal((await send('events', { headers: page })).status, 503)
  for (const abort of aborts) abort.abort()
  let all = ''
  await until(async () => {
    const abort = new AbortController()
    const response = await send('logs', { headers: { ...page, 'last-event-id': '1' }, signal: abort.signal })
    if (response.status !== 200) return false
    const reader = response.body?.getReader()
    all = new TextDecoder().decode((await reader?.read())?.value)
    abort.abort()
    return true
  }, 'a place')
  t.match(all, /^id: 2\nevent: line\ndata: \{/)
})

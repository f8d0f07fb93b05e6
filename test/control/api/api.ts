import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createProxy } from '../../../src/app/proxy.js'
import { parseConfig } from '../../../src/config/parse.js'
import type { Api } from '../../../src/control/api/api.js'
import { LocalClient } from '../../../src/control/local-client.js'
import { textOf } from '../../../src/kernel/json/text.js'
import type { Loose } from '../../support/client/raw-client.js'
import { until } from '../../support/processes.js'
import { startListing } from '../../support/server/listing-server.js'

const open = async (t: Test, mcpServers: object, file = 'test.json', auth?: object) => {
  const text = JSON.stringify({ mcpServers, auth, startupWait: '60s', knownServers: false })
  const { config, problems } = parseConfig(text, file, {})
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config, {
    ...{ listWaitMs: 60_000, configProblems: () => problems },
    configStatus: () => ({
      ...{ file, generation: 1, loadedAt: new Date(0).toISOString(), lastReload: undefined },
      problems: { errors: 0, warnings: 0 },
    }),
  })
  t.teardown(() => proxy.close())
  const api: Api = await proxy.api()
  const get = async (target: string): Promise<Loose> => {
    const { pathname, searchParams } = new URL(target, 'http://localhost')
    const answer = await api.answer({ method: 'GET', path: pathname, query: searchParams, body: '' })
    return answer !== undefined && 'value' in answer ? answer.value : answer
  }
  const client = new LocalClient(proxy.clientHandler)
  t.teardown(() => client.close())
  const call = (name: string) => client.request('tools/call', textOf({ name, arguments: {} }))
  const why = (name: string, more = '') => get(`/why?q=${encodeURIComponent(name)}${more}`)
  return { proxy, api, get, why, call, client, list: () => client.list('tools') }
}

const LONG = 'a-name-that-is-far-longer-than-any-client-takes-it-because-somebody-could-not-stop'
const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

t.test(
  'servers come with their line, their masked target and their restarts; so do misconfigured ones',
  async t => {
    const web = await startListing(t, { tools: [tool('fine')] })
    const file = join(t.testdir(), 'mcp.json')
    const command = { command: process.execPath, args: ['-e', '0', '--token', 's3cret-0123456789'] }
    const mcpServers = { web, 'a.b': command, 'bad.one': { command: [] } }
    writeFileSync(file, JSON.stringify({ mcpServers }, null, 2))
    const { api, get } = await open(t, mcpServers, file)
    await api.answer({ method: 'POST', path: '/servers/web/restart', query: new URLSearchParams(), body: '' })
    const { servers, troubles } = await get('/servers')
    t.match(servers, [
      { name: 'web', line: 3, target: /^http:\/\/127\.0\.0\.1:\d+\/mcp$/, restarts: 1 },
      { name: 'a.b', target: `${process.execPath} -e 0 --token ***`, restarts: 0 },
      { name: 'bad.one', state: 'misconfigured', where: 'file', line: /\d+/ },
    ])
    t.match(troubles, [{ server: 'bad.one', view: 'servers', kind: 'misconfigured' }])
    t.match(await get('/why?q=bad.one'), { verdict: 'misconfigured' })
  },
)

t.test('why lists the item’s problems at its server, and our repairs', async t => {
  const tools = [
    tool('fine'),
    tool('twice', { title: 'the first' }),
    tool('twice', { title: 'the second' }),
    tool('odd name!'),
    tool(LONG),
    tool('untyped', { inputSchema: 'no schema' }),
    tool('list', { inputSchema: { type: 'array' } }),
    tool('promising', { outputSchema: { type: 'object' } }),
    tool('tasked', { execution: { taskSupport: 'optional' } }),
  ]
  const resourceTemplates = [{ uriTemplate: 'file:///{path}', name: 'files' }]
  const web = await startListing(t, { tools, resourceTemplates })
  const { why, call, client, list } = await open(t, { web })
  await list()
  await client.list('templates')
  await call('web__promising')
  const rows: readonly (readonly [string, object])[] = [
    ['web__fine', { verdict: 'shown', answered: true, causes: [] }],
    ['web__twice', { verdict: 'shown', answered: true, causes: [{ verdict: 'repeated' }] }],
    ['web__list', { verdict: 'broken', answered: false, causes: [{ words: /does not describe an object/ }] }],
    ['web__untyped', { verdict: 'shown', causes: [{ verdict: 'repaired', words: /added an inputSchema/ }] }],
    ['odd name!', { causes: [{ verdict: 'shortened', words: /not allowed: .*!.*; clients see web__odd/ }] }],
    [LONG, { causes: [{ verdict: 'shortened', words: /is too long by \d+ characters; clients see / }] }],
    ['web__promising', { causes: [{ verdict: 'output-schema-withdrawn' }] }],
    ['web+file:///motd', { verdict: 'uri-by-template', answered: true, own: 'file:///{path}' }],
    ['web__fin', { verdict: 'unknown', causes: [{ words: /lists no such tool; did you mean web__fine\?/ }] }],
    ['wep', { kind: 'unknown', causes: [{ words: /did you mean web\?/ }] }],
  ]
  for (const [name, expected] of rows) t.match(await why(name), { query: name, ...expected }, name)
  t.match(
    await why('web__tasked', '&for=2025-06-18'),
    { answered: true, causes: [{ verdict: 'changed', words: /clients of 2025-06-18 see it without/ }] },
    'what an old revision does not know is left out for it',
  )
  t.same((await why('web__tasked', '&for=2026-07-28')).causes, [])
  t.same((await why('web__fine', '&for=2025-06-18')).causes, [])
  t.match(await why('web__fine', '&for=2031-01-01'), { error: /unknown revision: 2031-01-01/ })
})

t.test('why says whose name it is if two servers have it, and where nothing can be said yet', async t => {
  const same = await startListing(t, { tools: [tool('echo'), tool('one')] })
  const { why, list } = await open(t, {
    first: { ...same, prefix: false },
    second: { ...same, prefix: false },
    away: { url: 'http://127.0.0.1:1/mcp' },
    typo: { comand: 'x' },
  })
  t.match(await why('away__x'), { kind: 'tool', server: 'away', causes: [{ verdict: 'list-not-read' }] })
  await list()
  t.match(await why('echo'), { verdict: 'shown', server: 'first', own: 'echo' })
  t.match(await why('second__echo'), {
    server: 'second',
    causes: [
      {
        verdict: 'prefixed',
        words: 'its name was taken; it is exposed as second__echo, because first has the same name',
      },
    ],
  })
  t.match(await why('typo'), {
    kind: 'server',
    verdict: 'misconfigured',
    answered: false,
    causes: [{ verdict: 'misconfigured', file: 'test.json', line: 1 }],
  })
})

t.test('why names the new name of a renamed tool, and the parts that an override replaces', async t => {
  const web = await startListing(t, { tools: [tool('old'), tool('plain')] })
  const tools = {
    rename: { old: 'new' },
    override: { plain: { title: 'P', annotations: { readOnlyHint: true } } },
  }
  const { why, list } = await open(t, { web: { ...web, tools } })
  await list()
  t.match(await why('web__new'), { answered: true, causes: [{ words: 'tools.rename calls it new' }] })
  t.match(await why('web__old'), {
    ...{ kind: 'tool', server: 'web', own: 'old', verdict: 'renamed', answered: false },
    causes: [{ code: 'renamed.old', words: 'tools.rename calls it new; clients see web__new' }],
  })
  t.match(await why('old'), { causes: [{ words: 'tools.rename calls it new; clients see web__new' }] })
  t.match(await why('web__plain'), {
    causes: [{ words: 'tools.override replaces parts of it: title, annotations.readOnlyHint' }],
  })
})

t.test('why names the servers that could own a URI that no list contains', async t => {
  const resources = [{ uri: 'page://one', name: 'one' }]
  const one = await startListing(t, { resources })
  const { why, client } = await open(t, { one, two: await startListing(t, { resources }) })
  await client.list('resources')
  t.match(await why('gone://x'), {
    ...{ verdict: 'ambiguous', answered: false },
    causes: [{ words: 'no list contains it; these servers have resources and could own it: one, two' }],
  })
})

t.test('why and its causes name the fix', async t => {
  const web = { ...(await startListing(t, { tools: [tool('one')] })), tools: { deny: ['one'] } }
  const { why, list } = await open(t, { web, off: { command: 'x', disabled: true } })
  await list()
  const fix = 'remove or narrow the pattern in the "tools" of web'
  t.match(await why('web__one'), { fix, causes: [{ code: 'hidden.deny', fix }] })
})

t.test('why names the place in the file that defines an item', async t => {
  const servers = {
    off: { url: 'http://127.0.0.1:1/mcp', disabled: true },
    web: { ...(await startListing(t, { tools: [tool('one'), tool('two')] })), tools: { deny: ['t*'] } },
  }
  const file = join(t.testdir(), 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers }, null, 2))
  const { why, list } = await open(t, servers, file)
  await list()
  t.match(await why('off'), {
    ...{ verdict: 'disabled', answered: false },
    causes: [{ words: '"disabled" in the file', file, line: 5 }],
  })
  t.match(await why('web__two'), { causes: [{ words: 'tools.deny[0] "t*"', file, line: 11 }] })
})

t.test('an error that was forgotten is told from one of another run', async t => {
  const { why, get, call } = await open(t, { web: await startListing(t, {}) })
  t.match(await why('aaaa-1'), { causes: [{ words: /while no proxy runs$/ }] }, 'this run has none yet')
  await call('web__nothing')
  const [{ id }] = (await get('/errors')).errors
  t.match(await why(id), { kind: 'error', answered: true })
  const forgotten = id.replace(/-.*/, '-zzzz')
  t.match(await why(forgotten), { answered: false, causes: [{ words: /not among the last 1,000 errors/ }] })
  t.match(await why('aaaa-1'), {
    answered: false,
    causes: [{ words: /to another run.* begin with \w{4}-$/ }],
  })
})

t.test('a call in flight shows what it waits for, without its contents', async t => {
  let finish = (): void => undefined
  const held = new Promise<object>(resolve => {
    finish = () => resolve({ content: [] })
  })
  const web = await startListing(t, { tools: [tool('slow')] }, () => held)
  const { get, call, list } = await open(t, { web, other: await startListing(t, { tools: [tool('x')] }) })
  await list()
  const ending = call('web__slow')
  await until(async () => (await get('/calls')).underWay[0]?.where === 'server', 'the call at the server')
  const { underWay } = await get('/calls')
  t.match(underWay, [{ method: 'tools/call', server: 'web', name: 'slow', where: 'server' }])
  t.type(underWay[0].ms, 'number')
  const status = await get('/status')
  const client = { clientName: 'mcp-proxy' }
  t.match(status, { calls: 1, inFlight: [{ server: 'web', name: 'slow', where: 'server', ...client }] })
  t.equal(status.oldestCallMs, status.inFlight[0].ageMs)
  t.ok(status.oldestCallMs >= 0)
  t.match((await get('/clients')).clients, [{ calls: 1 }])
  t.match((await get('/servers')).servers[0], { name: 'web', inFlight: 1 })
  finish()
  await ending
  t.same((await get('/calls')).underWay, [])
  t.match(await get('/status'), { calls: 0, oldestCallMs: undefined, inFlight: [] })
  const names = async (query: string) =>
    (await get(`/tools${query}`)).tools.map(({ name }: { readonly name: string }) => name)
  t.same(await names(''), ['web__slow', 'other__x'])
  t.same(await names('?server=other&limit=many'), ['other__x'])
})

t.test('a path that cannot be read and an item that is not there are errors of who asks', async t => {
  const { api, get } = await open(t, {})
  t.match(await get('/tools/%ff'), { error: /bad path/ })
  t.match(await get('/tools/x'), { error: /Unknown tool: x/ })
  t.equal(await get('/nowhere'), undefined)
  const body = '{no'
  const bad = await api.answer({ method: 'POST', path: '/call', query: new URLSearchParams(), body })
  t.match(bad, { status: 400, value: { error: /the body must be/ } })
})

t.test(
  'a token acts as its principal: what its access hides is neither shown, called nor changed',
  async t => {
    const [payroll, plain] = [
      await startListing(t, { tools: [tool('pay')] }),
      await startListing(t, { tools: [tool('open')] }),
    ]
    const servers = {
      payroll: { url: payroll.url, access: { see: ['payroll'] } },
      plain: { url: plain.url },
    }
    const people = { carol: { tokens: [{ hash: `sha256:${'0'.repeat(64)}` }] } }
    const { api, list } = await open(t, servers, 'test.json', { people })
    await list()
    const carol = {
      principal: 'person carol',
      scopes: new Set(['mcp', 'mcp:admin']),
      endsMs: Number.POSITIVE_INFINITY,
    }
    const ask = async (target: string, body = ''): Promise<Loose> => {
      const { pathname: path, searchParams: query } = new URL(target, 'http://localhost')
      const answer = await api.answer({ method: body ? 'POST' : 'GET', path, query, body, caller: carol })
      return answer !== undefined && 'value' in answer ? answer.value : answer
    }
    for (const path of ['/status', '/servers', '/tools', '/config', '/why?q=payroll__pay']) {
      const shown = JSON.stringify(await ask(path))
      t.notMatch(shown, path.startsWith('/why') ? /"server":"payroll"/ : /payroll/, path)
    }
    t.match(JSON.stringify(await ask('/tools')), /plain__open/)
    t.match(await ask('/tools'), { total: 1 }, 'hidden tools are not counted')
    t.match((await ask('/tools?limit=1')).tools, [{ name: 'plain__open' }], 'and leave room for others')
    const called = await ask('/call', JSON.stringify({ name: 'payroll__pay', arguments: {} }))
    t.ok(called.error, 'as at the endpoint')
    t.match(await ask('/servers/payroll/restart', '{}'), { error: 'Unknown server: payroll' })
  },
)

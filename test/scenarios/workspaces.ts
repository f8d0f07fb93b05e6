import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import { tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { RawClient } from '../support/client/raw-client.js'
import { stdioParameters } from '../support/client/sdk-transports.js'
import { SHIM, ShimClient } from '../support/client/shim-client.js'
import { skipWithout, until } from '../support/processes.js'
import { asked, configured, placeFor, WAITING } from '../support/proxy/shared-daemon.js'
import { configFile, startBin, startDaemon } from '../support/proxy/start.js'

/** A server that runs in the folder of its clients. */
const W = { w: { command: process.execPath, args: [WAITING, '${workspaceFolder}'] } }

const foldersOf = (t: Test): readonly [one: string, two: string] => {
  const [one, two] = [join(t.testdirName, 'one'), join(t.testdirName, 'two')]
  for (const folder of [one, two]) mkdirSync(folder)
  return [one, two]
}

const uriOf = (folder: string): string => pathToFileURL(folder).href

t.test('a client works in the first of its roots, unless its way in says better', async t => {
  const file = configured(t, W)
  const [one, two] = foldersOf(t)
  const roots = ['https://x/y', uriOf(join(one, 'nowhere')), uriOf('/'), uriOf(one), uriOf(two)]
  const cases: readonly (readonly [what: string, where: string, client: ShimClient])[] = [
    ['roots before the folder it was started in', one, new ShimClient(t, file, { roots, cwd: two })],
    [
      '--workspace before roots',
      two,
      new ShimClient(t, file, { roots, args: ['--workspace', two], cwd: '/' }),
    ],
    [
      'CLAUDE_PROJECT_DIR where --workspace is no folder',
      two,
      new ShimClient(t, file, {
        roots,
        args: ['--workspace', join(one, 'nowhere')],
        env: { CLAUDE_PROJECT_DIR: two },
        cwd: '/',
      }),
    ],
    ['where it was started if it names no root', two, new ShimClient(t, file, { cwd: two, roots: [] })],
    ['where it was started if it has none', two, new ShimClient(t, file, { cwd: two })],
  ]
  await Promise.all(cases.map(([, , client]) => client.initialize()))
  const facts = await Promise.all(
    cases.map(async ([, , client]) => {
      const listed = client.ask('tools/list')
      const called = await client.call('w__wait', { ms: 5 })
      t.match(
        await client.answer(listed),
        { result: { tools: [{ name: 'w__wait' }] } },
        'lists wait for roots',
      )
      return called
    }),
  )
  for (const [at, [what, where]] of cases.entries()) t.equal(facts[at]?.['cwd'], where, what)
  t.equal(new Set(facts.map(({ pid }) => pid)).size, 2, 'one process for each folder')
  const { sessions } = (await asked(placeFor(file).socket, '/v1/sessions'))?.body ?? {}
  t.same(new Set(sessions.map(({ workspace }: Record<string, string>) => workspace)), new Set([one, two]))
  await Promise.all(cases.map(([, , client]) => client.leave()))
})

t.test('asked for roots, the proxy names the folder of a client that has none', async t => {
  const file = configured(t, W)
  const [one, two] = foldersOf(t)
  const without = new ShimClient(t, file, { cwd: one })
  const having = new ShimClient(t, file, { args: ['--workspace', one], roots: [uriOf(two)] })
  await Promise.all([without.initialize(), having.initialize()])
  t.same((await without.call('w__wait', { asks: 'roots/list' }))['answered'], {
    roots: [{ uri: uriOf(one), name: 'one' }],
  })
  t.same((await having.call('w__wait', { asks: 'roots/list' }))['answered'], { roots: [{ uri: uriOf(two) }] })
  t.match((await without.call('w__wait', { asks: 'elicitation/create' }))['answered'], { code: -32601 })
  await Promise.all([without.leave(), having.leave()])
})

t.test('a server waits until a client works somewhere (D033)', async t => {
  const file = configured(t, { ...W, plain: { command: process.execPath, args: [WAITING] } })
  const { socket } = placeFor(file)
  const nowhere = new ShimClient(t, file, { cwd: '/', roots: [] })
  await nowhere.initialize()
  t.match(await nowhere.answer(nowhere.ask('tools/list')), { result: { tools: [{ name: 'plain__wait' }] } })
  t.match((await asked(socket, '/v1/status'))?.body.servers, [
    { name: 'w', state: 'waiting', why: /^D033: no client has a known working folder/ },
    { name: 'plain', state: 'ready' },
  ])
  await t.rejects(nowhere.call('w__wait'), /w__wait/)
  const [one] = foldersOf(t)
  const somewhere = new ShimClient(t, file, { cwd: one })
  await somewhere.initialize()
  t.match(await somewhere.call('w__wait'), { cwd: one })
  t.match((await asked(socket, '/v1/status'))?.body.servers, [{ name: 'w', state: 'ready' }, {}])
  await Promise.all([nowhere.leave(), somewhere.leave()])
})

t.test('a call that is given up while its client is asked reaches no server', async t => {
  const file = configured(t, W)
  const [one] = foldersOf(t)
  const client = new ShimClient(t, file, { cwd: one, roots: [uriOf(one)] })
  await client.initialize()
  const id = client.ask('tools/call', { name: 'w__wait', arguments: { note: 'given up' } })
  client.running.send({ method: 'notifications/cancelled', params: { requestId: id } })
  t.match(await client.call('w__wait', { note: 'next' }), { note: 'next', cwd: one })
  t.same(client.answers(id), [])
  await client.leave()
})

t.test('stdio works in the folder that it is told', async t => {
  const [one, two] = ((file: string) => [file, ...foldersOf(t)] as const)(configFile(t, W)).slice(1)
  const file = join(t.testdirName, 'mcp.json')
  const stdio = startBin(t, ['stdio', '--config', file, '--workspace', one ?? ''], { cwd: two ?? '' })
  stdio.send(
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'w__wait', arguments: {} } },
  )
  t.match(await stdio.line(/"id":2/), `cwd\\":\\"${one}`)
})

// ── of 2026-07-28, whose clients are asked in answers ──

/** A client behind `connect`, with the roots that it is asked for. */
const modern = async (
  t: Test,
  file: string,
  { roots, cwd, args = [] }: { roots?: readonly string[]; cwd: string; args?: readonly string[] },
) => {
  const asked = { times: 0 }
  const client = new Client(
    { name: 'modern', version: '1' },
    {
      capabilities: roots === undefined ? {} : { roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  )
  if (roots !== undefined)
    client.setRequestHandler('roots/list', () => {
      asked.times += 1
      return { roots: roots.map(uri => ({ uri })) }
    })
  const command = stdioParameters([process.execPath, SHIM, '--config', file, ...args])
  await client.connect(new StdioClientTransport({ ...command, cwd }))
  t.teardown(() => client.close())
  const call = async (args: object = {}, name = 'w__wait') => {
    const { content } = await client.callTool({ name, arguments: { ...args } })
    const [first] = content as readonly { text: string }[]
    return JSON.parse(first?.text ?? '{}')
  }
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  return { asked, call, names }
}

t.test('clients of 2026-07-28 are asked once, with their first call', async t => {
  const file = configured(t, W)
  const [one, two] = foldersOf(t)
  const known = await modern(t, file, { cwd: one })
  t.same(await known.names(), ['w__wait'])
  const cases = [
    [two, await modern(t, file, { cwd: one, roots: [uriOf('/'), uriOf(two)] }), 1],
    [one, await modern(t, file, { cwd: two, roots: [uriOf(one)] }), 1],
    [two, await modern(t, file, { cwd: two, roots: [] }), 1],
    [one, await modern(t, file, { cwd: two, roots: [uriOf(two)], args: ['--workspace', one] }), 0],
    [one, known, 0],
  ] as const
  for (const [, client] of cases) t.same(await client.names(), ['w__wait'])
  for (let round = 0; round < 2; round++) {
    const facts = await Promise.all(cases.map(([, client], at) => client.call({ ms: 5, note: at })))
    t.same(
      facts.map(({ cwd, note }) => [cwd, note]),
      cases.map(([folder], at) => [folder, at]),
    )
    t.equal(new Set(facts.map(({ pid }) => pid)).size, 2, 'two processes for five clients')
  }
  t.same(
    cases.map(([, { asked }]) => asked.times),
    cases.map(([, , times]) => times),
  )
  const { sessions } = (await asked(placeFor(file).socket, '/v1/sessions'))?.body ?? {}
  t.same(new Set(sessions.map(({ workspace }: Record<string, string>) => workspace)), new Set([one, two]))
})

t.test('one that was started nowhere sees the server of its roots after its first call', async t => {
  const file = configured(t, { ...W, plain: { command: process.execPath, args: [WAITING] } })
  const [one] = foldersOf(t)
  const client = await modern(t, file, { cwd: '/', roots: [uriOf(one)] })
  t.same(await client.names(), ['plain__wait'])
  t.match(await client.call({ note: 'asked' }, 'plain__wait'), { note: 'asked' })
  t.same(await client.names(), ['w__wait', 'plain__wait'])
  t.match(await client.call(), { cwd: one })
  t.equal(client.asked.times, 1)
})

t.test('a server started only for its lists ends once its client has a workspace', async t => {
  const file = configured(t, W)
  const [one, two] = foldersOf(t)
  const client = await modern(t, file, { cwd: one, roots: [uriOf(two)] })
  t.same(await client.names(), ['w__wait'])
  t.match(await client.call(), { cwd: two })
  const status = async () => (await asked(placeFor(file).socket, '/v1/status'))?.body.servers[0]
  await until(async () => (await status()).pids.length === 1, 'the end of the other')
})

t.test(
  'a server of several sessions is told the folder of clients without roots, and theirs of others',
  async t => {
    const file = configured(t, W)
    const [one, two] = foldersOf(t)
    const [having, without] = [
      await modern(t, file, { cwd: one, roots: [uriOf(one), uriOf(two)] }),
      await modern(t, file, { cwd: one }),
    ]
    const old = new ShimClient(t, file, { cwd: one })
    await old.initialize()
    const [first, second, third] = [
      await having.call({ asks: 'roots/list' }),
      await without.call({ asks: 'roots/list' }),
      await old.call('w__wait', { asks: 'roots/list' }),
    ]
    t.same(first.answered, { roots: [{ uri: uriOf(one) }, { uri: uriOf(two) }] })
    const named = { roots: [{ uri: uriOf(one), name: 'one' }] }
    t.same(second.answered, named)
    t.same(third['answered'], named)
    t.same([second.pid, third['pid']], [first.pid, first.pid])
  },
)

// ── over HTTP ──

const inFolder = async (
  url: string,
  headers: Readonly<Record<string, string>>,
  roots?: readonly string[],
  more: object = {},
): Promise<RawClient> => {
  const client = new RawClient(url)
  client.headers = headers
  client.onAsk = () => ({ roots: (roots ?? []).map(uri => ({ uri })) })
  await client.initialize({ ...more, ...(roots !== undefined && { roots: {} }) })
  return client
}

const factsOf = async (client: RawClient, note: unknown) => {
  const { last } = await client.call(1, 'w__wait', JSON.stringify({ ms: 5, note }))
  return JSON.parse(last.message.result?.content?.[0]?.text ?? '{}')
}

t.test('over HTTP the folder is in a header, or the first root', { skip: skipWithout.modes }, async t => {
  const daemon = await startDaemon(t, W)
  const [one, two] = foldersOf(t)
  const header = 'Mcp-Proxy-Workspace'
  const clients = await Promise.all([
    inFolder(daemon.url, { [header]: one }),
    inFolder(daemon.url, { [header]: uriOf(two) }, [uriOf(one)]),
    inFolder(daemon.url, {}, [uriOf(two)]),
    inFolder(daemon.url, { [header]: one }, undefined, { elicitation: {}, sampling: {} }),
  ])
  const where = [one, two, two, one]
  for (let round = 0; round < 3; round++) {
    const facts = await Promise.all(clients.map(factsOf))
    t.same(
      facts.map(({ cwd, note }) => [cwd, note]),
      where.map((folder, note) => [folder, note]),
    )
    t.equal(new Set(facts.map(({ pid }) => pid)).size, 2, 'two processes for four clients')
  }
  for (const headers of [
    {},
    { [header]: 'one' },
    { [header]: '/' },
    { [header]: one, 'X-Forwarded-For': '10.0.0.1' },
  ] as readonly Record<string, string>[]) {
    const client = await inFolder(daemon.url, headers)
    t.match(
      (await client.request('tools/list')).last.message,
      { result: { tools: [] } },
      JSON.stringify(headers),
    )
  }
})

t.test('people in the same folder do not share what runs there', { skip: skipWithout.modes }, async t => {
  const tokens = { ann: `mcpp_${'a'.repeat(43)}`, bob: `mcpp_${'b'.repeat(43)}` }
  const people = Object.fromEntries(
    Object.entries(tokens).map(([name, token]) => [
      name,
      { tokens: [{ hash: `sha256:${tokenHash(token)}` }] },
    ]),
  )
  const daemon = await startDaemon(t, W, { auth: { people } })
  const [one, two] = foldersOf(t)
  const client = (name: 'ann' | 'bob', folder: string) =>
    inFolder(daemon.url, { authorization: `Bearer ${tokens[name]}`, 'Mcp-Proxy-Workspace': folder })
  const clients = await Promise.all([
    client('ann', one),
    client('ann', two),
    client('bob', one),
    client('ann', one),
  ])
  const facts = await Promise.all(clients.map(factsOf))
  t.same(
    facts.map(({ cwd, note }) => [cwd, note]),
    [one, two, one, one].map((folder, note) => [folder, note]),
  )
  const [ann1, ann2, bob1, ann3] = facts.map(({ pid }) => pid)
  t.equal(ann3, ann1)
  t.equal(new Set([ann1, ann2, bob1]).size, 3)
})

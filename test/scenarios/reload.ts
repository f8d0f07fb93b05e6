import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { Deferred } from '../../src/kernel/async/deferred.js'
import type { ConfigStatus } from '../../src/telemetry/status/config-status.js'
import type { ProxyStatus } from '../../src/telemetry/status/status.js'
import { RawClient } from '../support/client/raw-client.js'
import { isRunning, skipWithout, until } from '../support/processes.js'
import { configFile, INITIALIZE, type Running, rawServer, startBin } from '../support/proxy/start.js'

type Entries = Readonly<Record<string, object>>

/** A running `serve` whose file a test changes. */
class Followed {
  readonly file: string
  readonly running: Running
  url = ''

  constructor(t: Test, entries: Entries, more: object = {}) {
    this.file = configFile(t, entries, more)
    this.running = startBin(t, ['serve', '--config', this.file, '--port', '0'])
  }

  async start(): Promise<this> {
    const line = await this.running.line(/listening on http/)
    this.url = line.split(' ').at(-1) ?? ''
    return this
  }

  async status(): Promise<ProxyStatus> {
    return (await (await fetch(new URL('/status', this.url))).json()) as ProxyStatus
  }

  /** Does something to the file, and waits until the proxy has taken notice of it. */
  async after(
    what: string,
    work: () => void | Promise<void>,
  ): Promise<NonNullable<ConfigStatus['lastReload']>> {
    const before = (await this.status()).config?.lastReload?.at
    await work()
    let last: ConfigStatus['lastReload']
    await until(async () => {
      last = (await this.status()).config?.lastReload
      return last !== undefined && last.at !== before
    }, `a reload after ${what}`)
    return last as NonNullable<ConfigStatus['lastReload']>
  }

  write(entries: Entries, more: object = {}): void {
    writeFileSync(this.file, JSON.stringify({ mcpServers: entries, ...more }))
  }

  /** As careful programs save. */
  replace(entries: Entries): void {
    writeFileSync(`${this.file}.new`, JSON.stringify({ mcpServers: entries }))
    renameSync(`${this.file}.new`, this.file)
  }

  /** The processes of each server, once all of them run. */
  async pids(): Promise<Record<string, readonly number[]>> {
    let pids: Record<string, readonly number[]> = {}
    await until(async () => {
      const { servers, leaving } = await this.status()
      pids = Object.fromEntries(servers.map(server => [server.name, server.pids]))
      return (
        leaving.length === 0 &&
        servers.every(({ state, pids: { length } }) => state === 'ready' && length === 1)
      )
    }, 'all servers')
    return pids
  }

  async client(): Promise<RawClient> {
    const client = new RawClient(this.url)
    await client.initialize()
    return client
  }
}

const eager = (...args: string[]): object => ({ ...rawServer(...args), start: 'eager' })

const follow = (t: Test, entries: Entries, more?: object): Promise<Followed> =>
  new Followed(t, entries, more).start()

/** The process of each of these servers that serves this client; others may be there for others. */
const pidsFor = async (client: RawClient, ...names: readonly string[]): Promise<Record<string, number>> => {
  const pids = names.map(async name => [
    name,
    Number(textOf(await client.call(`pid-${name}`, `${name}__pid`))),
  ])
  return Object.fromEntries(await Promise.all(pids))
}

const textOf = (answer: Awaited<ReturnType<RawClient['post']>>): string =>
  String(answer.last.message.result?.content?.[0]?.text)

t.test('a broken or missing file, or a folder, changes nothing, and the problem is reported', async t => {
  const proxy = await follow(t, { a: eager(), b: eager() })
  const client = await proxy.client()
  const before = await pidsFor(client, 'a', 'b')
  const { file } = proxy
  const text = readFileSync(file, 'utf8')
  const bad = { b: { ...eager(), env: { X: '${}' } } }
  const table: readonly (readonly [string, () => void, RegExp])[] = [
    ['a half', () => writeFileSync(file, text.slice(0, 40)), /mcp\.json:1:\d+: error: expected/],
    ['nothing', () => writeFileSync(file, ''), /mcp\.json.*: error: /],
    ['no list of servers', () => writeFileSync(file, '{}'), /the key .+ is missing/],
    ['a bad entry beside a new one', () => proxy.write({ ...bad, c: eager() }), /invalid variable after/],
    ['no file', () => unlinkSync(file), /there is no such file/],
    ['a folder', () => mkdirSync(file), /this is a folder/],
  ]
  for (const [what, work, words] of table) {
    const last = await proxy.after(what, work)
    t.equal(last.result, 'refused', what)
    if (last.result === 'refused') t.match(last.problems[0], words)
    await until(() => words.test(proxy.running.err), `${what} in the log`)
    t.same(await pidsFor(client, 'a', 'b'), before)
    t.equal(textOf(await client.call(1, 'b__echo', '{"still":"there"}')), '{"still":"there"}')
  }
  rmdirSync(file)
  const last = await proxy.after('the file is back', () => writeFileSync(file, text))
  t.match(last, { result: 'ok', added: [], removed: [], replaced: [] })
  t.same(await pidsFor(client, 'a', 'b'), before)
  t.equal((await proxy.status()).config?.generation, 1)
})

t.test('the last server is disabled or removed while clients are served, and one is added later', async t => {
  const proxy = await follow(t, { a: eager() })
  const client = await proxy.client()
  await client.listen()
  const tools = async (): Promise<readonly string[]> => {
    const { last } = await client.request('tools/list')
    return ((last.message.result?.['tools'] ?? []) as { name: string }[]).map(({ name }) => name)
  }
  t.ok((await tools()).includes('a__echo'))
  const { a = 0 } = await pidsFor(client, 'a')
  const off = await proxy.after('disabled', () => proxy.write({ a: { ...eager(), disabled: true } }))
  t.match(off, { result: 'ok', removed: ['a'] })
  await until(() => !isRunning(a), 'the end of its process')
  t.same(await tools(), [])
  t.match((await client.call(2, 'a__echo')).last.message, { error: { code: -32602 } })
  t.match(await proxy.after('on', () => proxy.write({ a: eager() })), { result: 'ok', added: ['a'] })
  await proxy.pids()
  t.ok((await tools()).includes('a__echo'))
  t.match(await proxy.after('removed', () => proxy.write({})), { result: 'ok', removed: ['a'] })
  t.same(await tools(), [])
})

t.test('a proxy without servers answers every list with an empty one, and serves what is added', async t => {
  const proxy = await follow(t, {})
  const client = await proxy.client()
  await client.listen()
  const lists = { tools: 'tools', prompts: 'prompts', resources: 'resources' }
  for (const [method, member] of Object.entries({ ...lists, 'resources/templates': 'resourceTemplates' })) {
    const { last } = await client.request(`${method}/list`)
    t.same(last.message.result, { [member]: [] }, method)
  }
  await proxy.after('added', () => proxy.write({ a: eager() }))
  await until(() => client.ambient.some(({ text }) => text.includes('tools/list_changed')), 'list_changed')
  t.match(await pidsFor(client, 'a'), { a: Number })
})

t.test('only what changed is touched: one server is renamed, of another the arguments change', async t => {
  const proxy = await follow(t, { a: eager(), b: eager(), c: eager() })
  const client = await proxy.client()
  await client.listen()
  await client.request('tools/list')
  const before = await pidsFor(client, 'a', 'b', 'c')
  const waiting = client.call(7, 'a__wait', '{"key":"k"}')
  const last = await proxy.after('a new name', () => proxy.replace({ a: eager(), new: eager(), c: eager() }))
  t.match(last, { result: 'ok', added: ['new'], removed: ['b'], replaced: [] })
  const renamed = await pidsFor(client, 'a', 'new', 'c')
  t.same([renamed['a'], renamed['c']], [before['a'], before['c']])
  t.not(renamed['new'], before['b'])
  await until(() => !isRunning(before['b'] ?? 0), 'the end of the old process')
  await until(() => client.ambient.some(({ text }) => text.includes('tools/list_changed')), 'list_changed')
  t.match((await client.call(8, 'b__echo')).last.message, {
    error: { message: 'Unknown tool: b__echo (server b was removed from the configuration)' },
  })
  t.equal(textOf(await client.call(9, 'new__echo', '{"n":1}')), '{"n":1}')
  const next = await proxy.after('new arguments', () =>
    proxy.write({ a: eager(), new: eager(), c: eager('other', '2025-06-18') }),
  )
  t.match(next, { result: 'ok', added: [], removed: [], replaced: ['c'] })
  const changed = await pidsFor(client, 'a', 'new', 'c')
  t.same([changed['a'], changed['new']], [before['a'], renamed['new']])
  t.not(changed['c'], before['c'])
  await client.call(10, 'a__release', '{"key":"k"}')
  t.equal(textOf(await waiting), 'released', 'a call that was under way all the time gets its answer')
  t.equal((await proxy.status()).sessions, 1)
})

t.test('a server that is removed while it is used finishes its call', async t => {
  const proxy = await follow(t, { a: eager(), b: rawServer() })
  const client = await proxy.client()
  const pid = Number(textOf(await client.call(1, 'b__pid')))
  const answered = new Deferred<object>()
  const other = new RawClient(proxy.url)
  const asked = new Deferred<void>()
  other.onAsk = () => {
    asked.resolve()
    return answered.promise
  }
  await other.initialize({ elicitation: {} })
  const question = { message: 'well?', requestedSchema: { type: 'object', properties: {} } }
  const args = JSON.stringify({ method: 'elicitation/create', params: question })
  const asking = other.call(3, 'b__ask', args)
  await asked.promise
  await proxy.after('the removal', () => proxy.write({ a: eager() }))
  t.match((await proxy.status()).leaving, [{ name: 'b', state: 'draining' }])
  t.match((await client.call(4, 'b__echo')).last.message, { error: { message: /server b was removed/ } })
  answered.resolve({ action: 'accept', content: {} })
  t.match(textOf(await asking), '"action":"accept"')
  await until(() => !isRunning(pid), 'its end')
  await until(async () => (await proxy.status()).leaving.length === 0, 'nothing left of it')
})

t.test('a file that is written many times in a row is what it was last, and nothing runs twice', async t => {
  const proxy = await follow(t, { a: eager() })
  const before = await proxy.pids()
  await proxy.after('many writes', async () => {
    for (let n = 1; n <= 20; n += 1) {
      proxy.write({ a: eager(), b: eager('b', '2025-11-25', String(n)) })
      await new Promise(resolve => setImmediate(resolve))
    }
  })
  await until(
    async () => (await proxy.status()).servers.some(({ items }) => items?.tools === 33),
    'the last of them',
  )
  const after = await proxy.pids()
  t.same(after['a'], before['a'])
  t.same(Object.keys(after), ['a', 'b'])
})

t.test(
  'a file behind symbolic links is followed when one of them leads somewhere else',
  { skip: skipWithout.links },
  async t => {
    const proxy = await follow(t, { a: eager() })
    const before = await proxy.pids()
    const folder = dirname(proxy.file)
    // As Kubernetes mounts a ConfigMap.
    const publish = (version: string, entries: Entries): void => {
      mkdirSync(join(folder, version))
      writeFileSync(join(folder, version, 'mcp.json'), JSON.stringify({ mcpServers: entries }))
      symlinkSync(version, join(folder, '..data~'))
      renameSync(join(folder, '..data~'), join(folder, '..data'))
    }
    await proxy.after('it is a link', () => {
      publish('..1', { a: eager(), b: eager() })
      rmSync(proxy.file)
      symlinkSync(join('..data', 'mcp.json'), proxy.file)
    })
    t.same((await proxy.pids())['a'], before['a'])
    const last = await proxy.after('the swap', () => publish('..2', { a: eager(), c: eager() }))
    t.match(last, { added: ['c'], removed: ['b'] })
    const again = await proxy.after('a change of what it leads to', () =>
      writeFileSync(join(folder, '..2', 'mcp.json'), JSON.stringify({ mcpServers: { a: eager() } })),
    )
    t.match(again, { removed: ['c'] })
    t.same(await proxy.pids(), before)
  },
)

t.test(
  'SIGHUP reads the file again, and what needs a restart is named',
  { skip: skipWithout.signals },
  async t => {
    const proxy = await follow(t, { a: eager() })
    const before = await proxy.pids()
    const same = await proxy.after('SIGHUP', () => void proxy.running.child.kill('SIGHUP'))
    t.match(same, { result: 'ok', added: [], needRestart: [] })
    const last = await proxy.after('other settings', () =>
      proxy.write({ a: eager() }, { listen: { port: 1 }, audit: 'stderr', log: { level: 'silent' } }),
    )
    t.match(last, { result: 'ok', settings: ['log.level'], needRestart: ['listen', 'audit'] })
    t.match(proxy.running.err, /"needRestart":\["listen","audit"\]/)
    const length = proxy.running.err.length
    await proxy.after('SIGHUP', () => void proxy.running.child.kill('SIGHUP'))
    t.equal(proxy.running.err.length, length, 'the log is silent from then on')
    t.same(await proxy.pids(), before)
    proxy.running.child.kill('SIGTERM')
    t.equal(await proxy.running.exited, 0)
  },
)

t.test('a client on stdio keeps its proxy, and is notified of new tools', async t => {
  const file = configFile(t, { a: rawServer() })
  const proxy = startBin(t, ['stdio', '--config', file])
  proxy.send(INITIALIZE, { method: 'notifications/initialized' })
  proxy.send({ id: 2, method: 'tools/list' })
  await proxy.line(/"id":2/)
  writeFileSync(file, JSON.stringify({ mcpServers: { a: rawServer(), b: rawServer() } }))
  await proxy.line(/tools\/list_changed/)
  proxy.send({ id: 3, method: 'tools/call', params: { name: 'b__echo', arguments: { n: 1 } } })
  t.match(await proxy.line(/"id":3/), '{\\"n\\":1}')
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
})

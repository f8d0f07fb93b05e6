import { appendFileSync, copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { ProxyStatus } from '../../src/telemetry/status/status.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import {
  configFile,
  INITIALIZE,
  type Running,
  STATE_HOME,
  startBin,
  TINY,
  tiny,
} from '../support/proxy/start.js'

// What a proxy knows of servers that an earlier one has met: the program as users start it, with its state
// folder.

const KNOWN = join(STATE_HOME, 'mcp-proxy', 'known')
const known = (): string[] => (existsSync(KNOWN) ? readdirSync(KNOWN) : [])

const serve = async (t: Test, file: string): Promise<Running & { url: string }> => {
  const running = startBin(t, ['serve', '--config', file, '--port', '0'])
  const line = await running.line(/listening on http/)
  return Object.assign(running, { url: line.split(' ').at(-1) ?? '' })
}

const introduced = async (url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize()
  await client.listen()
  return client
}

const ended = async (proxy: Running): Promise<void> => {
  proxy.child.kill('SIGTERM')
  await proxy.exited
}

const serversAt = async (url: string): Promise<ProxyStatus['servers']> =>
  ((await (await fetch(new URL('/status', url))).json()) as ProxyStatus).servers

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']
const look = async (client: RawClient): Promise<Loose[]> => {
  const answers: Loose[] = []
  for (const method of LISTS) answers.push((await client.request(method)).last.message.result)
  return answers
}

/** Lets a proxy meet the servers of a file, and ends it when it has written down what they are. */
const meet = async (t: Test, file: string, count: number): Promise<Loose[]> => {
  const before = known().length
  const proxy = await serve(t, file)
  const client = await introduced(proxy.url)
  const lists = await look(client)
  await until(() => known().length === before + count, 'what is known')
  await ended(proxy)
  return lists
}

t.test('a program that was met before is introduced and listed without being started', async t => {
  const SECRET = 'hunter2hunter2'
  const one = { ...tiny(), env: { API_TOKEN: SECRET } }
  const file = configFile(t, { one, two: tiny('x') })
  const lists = await meet(t, file, 2)
  for (const name of known()) {
    t.notMatch(name, SECRET)
    t.notMatch(readFileSync(join(KNOWN, name), 'utf8'), SECRET)
  }
  const proxy = await serve(t, file)
  const client = new RawClient(proxy.url)
  const { last } = await client.initialize()
  t.match(last.message.result.capabilities, { tools: {}, prompts: {}, resources: {} })
  await client.listen()
  t.same(await look(client), lists)
  t.match(
    (await serversAt(proxy.url)).map(({ state, pids, items }) => [state, pids, items?.tools]),
    [
      ['idle', [], 6],
      ['idle', [], 6],
    ],
  )
  t.match(await client.call(1, 'two__echo', '{"n":1.0}'), {
    last: { message: { result: { content: [{ text: '{"n":1.0}' }] } } },
  })
  const [untouched, called] = await serversAt(proxy.url)
  t.match(untouched, { state: 'idle', pids: [] })
  t.match(called, { state: 'ready', pids: [Number] })
  t.same(await look(client), lists)
  t.same(client.ambient, [], 'nobody is told of a change where nothing changed')
  await ended(proxy)
})

t.test('a new version of a program is started, and its lists are compared', async t => {
  const program = join(t.testdirName, 'server.mjs')
  const file = configFile(t, { one: { command: process.execPath, args: [program] } })
  copyFileSync(TINY, program)
  await meet(t, file, 1)
  appendFileSync(program, "\ntools.push({ name: 'added', inputSchema: { type: 'object' } })\n")
  const proxy = await serve(t, file)
  const client = await introduced(proxy.url)
  const [{ tools }] = await look(client)
  t.ok(tools.some(({ name }: { name: string }) => name === 'one__added'))
  t.match(await serversAt(proxy.url), [{ state: 'ready' }])
  await ended(proxy)
})

t.test('what changed although the program is the same is told once, when it is called', async t => {
  const more = join(t.testdirName, 'more')
  const script = `
    import { existsSync } from 'node:fs'
    process.argv.splice(2, 0, 'raw', '2025-11-25', existsSync(${JSON.stringify(more)}) ? '1' : '0')
    await import(${JSON.stringify(new URL('../fixtures/raw-server.mjs', import.meta.url).href)})`
  const entry = { command: process.execPath, args: ['--input-type=module', '-e', script, 'x'] }
  const file = configFile(t, { one: entry })
  await meet(t, file, 1)
  appendFileSync(more, '')
  const proxy = await serve(t, file)
  const client = await introduced(proxy.url)
  await look(client)
  await client.call(1, 'one__echo')
  await client.ambientIs(({ message }) => message.method === 'notifications/tools/list_changed')
  const [{ tools }] = await look(client)
  t.ok(tools.some(({ name }: { name: string }) => name === 'one__tool-0'))
  await client.call(2, 'one__echo')
  t.same(
    client.ambient.map(({ message }) => message.method),
    ['notifications/tools/list_changed'],
  )
  await ended(proxy)
})

t.test('stdio knows what serve knows, and nothing is kept where nothing is to be', async t => {
  const file = configFile(t, { one: tiny('y') })
  await meet(t, file, 1)
  const stdio = startBin(t, ['stdio', '--config', file, '--log-level', 'info'])
  stdio.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  t.match(JSON.parse(await stdio.line(/"id":2/)), { result: { tools: [{ name: 'one__echo' }] } })
  t.notMatch(stdio.err, 'server is ready')
  stdio.send({ id: 3, method: 'tools/call', params: { name: 'one__echo', arguments: {} } })
  t.match(JSON.parse(await stdio.line(/"id":3/)), { result: {} })
  await until(() => stdio.err.includes('server is ready'), 'the start of the server')
  stdio.child.stdin?.end()
  await stdio.exited

  const before = known()
  const none = configFile(t, { one: tiny('z') }, { knownServers: false })
  const proxy = await serve(t, none)
  await look(await introduced(proxy.url))
  await ended(proxy)
  t.same(known(), before)
})

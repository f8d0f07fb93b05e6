import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CachedServer } from '../../src/catalog/lists/profile-cache.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ServerConfig } from '../../src/config/types.js'
import { rawText, textOf } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { fingerprint, ServerCacheFiles } from '../../src/state/server-cache.js'
import { cacheFolder } from '../../src/state/server-cache-file.js'
import { FakeClock } from '../support/fake-clock.js'
import { FakeServer } from '../support/server/fake-server.js'
import { tool } from '../support/values.js'

const { facts } = new FakeServer('a', { tools: [] })

const knownOf = (...names: string[]): CachedServer =>
  new Map([['all', { facts, lists: { tools: names.map(name => textOf(tool(name))) } }]])

const namesOf = (known: CachedServer | undefined): string[] | undefined =>
  known?.get('all')?.lists.tools?.map(item => (JSON.parse(item.toString()) as { name: string }).name)

/** The memory of a proxy; several may share one folder. */
const create = (
  t: Test,
  stateDir = t.testdir({ 'server.mjs': '' }),
  { cwd = stateDir, file = '/etc/proxy/mcp.json' }: { cwd?: string | null; file?: string } = {},
) => {
  const server = { command: 'node', args: ['server.mjs'], ...(cwd !== null && { cwd }) }
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: server } }), file, {})
  const [configured] = config?.servers ?? []
  const options = new FakeServer('a', {}).options
  const clock = new FakeClock()
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (_facts: object, words: string) => warnings.push(words) }
  const files = new ServerCacheFiles({
    stateDir,
    configOf: one => (one === options ? configured : undefined),
    clock,
    log,
  })
  const folder = cacheFolder(stateDir)
  return { files, options, clock, stateDir, folder, warnings }
}

t.test('what was learnt is recalled by the next proxy, and written once for all lists', async t => {
  const one = create(t)
  t.equal(one.files.load(one.options), undefined)
  one.files.reached(one.options)
  let asked = 0
  for (const names of [['x'], ['x', 'y']]) {
    one.files.update(one.options, () => {
      asked += 1
      return knownOf(...names)
    })
    one.clock.advance(100)
  }
  t.equal(asked, 0)
  one.clock.advance(1000)
  t.equal(asked, 1)
  await one.files.close()
  t.equal(readdirSync(one.folder).length, 1)
  t.equal(one.clock.pending, 0)
  const two = create(t, one.stateDir)
  t.same(namesOf(two.files.load(two.options)), ['x', 'y'])
  t.equal(two.files.load(new FakeServer('b', {}).options), undefined, 'what is not configured is not known')
  two.files.update(new FakeServer('b', {}).options, () => knownOf('z'))
  await two.files.close()
})

t.test('the end of a proxy does not wait for the lists to settle', async t => {
  const { files, options, folder } = create(t)
  files.update(options, () => knownOf('x'))
  await files.close()
  t.equal(readdirSync(folder).length, 1)
})

t.test('a known list is not written again, but counts as used', async t => {
  const one = create(t)
  one.files.update(one.options, () => knownOf('x'))
  await one.files.close()
  const [name = ''] = readdirSync(one.folder)
  const file = join(one.folder, name)
  utimesSync(file, 1_700_000_000, 1_700_000_000)
  const { ino } = statSync(file)
  const two = create(t, one.stateDir)
  two.files.load(two.options)
  two.files.update(two.options, () => knownOf('x'))
  await two.files.close()
  t.equal(statSync(file).ino, ino)
  t.ok(statSync(file).mtimeMs > 1_700_000_000_000)
})

t.test('what a program said before it was replaced is not taken for what the new one says', async t => {
  const one = create(t)
  one.files.reached(one.options)
  one.files.update(one.options, () => knownOf('old'))
  writeFileSync(join(one.stateDir, 'server.mjs'), 'another')
  await one.files.close()
  const two = create(t, one.stateDir)
  t.equal(two.files.load(two.options), undefined)
  one.files.reached(one.options)
  one.files.update(one.options, () => knownOf('new'))
  await one.files.close()
  t.same(namesOf(two.files.load(two.options)), ['new'])
})

t.test('lists that are too long are not kept', async t => {
  const { files, options, stateDir } = create(t)
  const long = { facts, lists: { tools: [rawText(`"${'x'.repeat(9 * 2 ** 20)}"`)] } }
  files.update(options, () => new Map([['all', long]]))
  await files.close()
  files.update(options, () => new Map([['all', long]]))
  await files.close()
  t.notOk(readdirSync(stateDir).includes('known'))
})

t.test('a disk that takes nothing costs a word in the log', async t => {
  const stateDir = t.testdir({ known: '' })
  const { files, options, warnings } = create(t, stateDir)
  for (const name of ['x', 'y']) {
    files.update(options, () => knownOf(name))
    await files.close()
  }
  t.same(warnings, ['cannot cache the lists of servers'])
})

const server = (entry: object): ServerConfig => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: entry } }), '/etc/proxy/mcp.json', {})
  const [one] = config?.servers ?? []
  if (one === undefined) throw new Error('bad test configuration')
  return one
}

const print = (entry: object): string => fingerprint(server(entry))

t.test('every part of a server’s identity makes it another server', async t => {
  const plain = { command: 'x', args: ['1'], env: { A: 'a', B: 'b' } }
  const prints = [
    plain,
    { ...plain, command: 'y' },
    { ...plain, args: ['1', '2'] },
    { ...plain, args: [] },
    { ...plain, cwd: '/' },
    { ...plain, env: { A: 'a', B: 'c' } },
    { ...plain, env: { A: 'a' } },
    { ...plain, env: { A: 'a', B: null } },
    { ...plain, era: 'legacy' },
    { ...plain, protocolVersion: '2025-06-18' },
    { url: 'http://h/' },
    { url: 'http://h/', type: 'http' },
    { url: 'http://h/', headers: { Authorization: 'Bearer one' } },
    { url: 'http://h/', headers: { Authorization: 'Bearer two' } },
    { url: 'http://h/x' },
    { url: 'unix:///run/x.sock' },
    { url: 'unix:///run/y.sock' },
  ].map(print)
  t.equal(new Set(prints).size, prints.length)
  for (const one of prints)
    t.match(one, /^[A-Za-z0-9_-]{43}$/, 'fit for the name of a file, and tells nothing')
})

t.test('what only decides how it is shown, shared or waited for does not', async t => {
  const plain = { command: 'x', env: { A: 'a', B: 'b' } }
  t.equal(
    print({
      ...plain,
      env: { B: 'b', A: 'a' },
      prefix: 'p',
      tools: { deny: ['*'] },
      sharing: 'session',
      start: 'eager',
      timeouts: { call: '5m' },
      idleStop: 'off',
    }),
    print(plain),
  )
})

t.test('another version of a program is another server, other files in its folder do not matter', async t => {
  const cwd = t.testdir({ 'server.mjs': 'one', data: {} })
  const file = join(cwd, 'server.mjs')
  const entry = { command: 'node', args: ['./server.mjs', 'data', 'x'.repeat(5000)], cwd }
  const at = new Date(1_700_000_000_000)
  utimesSync(file, at, at)
  const first = print(entry)
  t.equal(print(entry), first)
  writeFileSync(join(cwd, 'data', 'x'), '')
  mkdirSync(join(cwd, 'node'))
  t.equal(print(entry), first)
  writeFileSync(file, 'another')
  utimesSync(file, at, at)
  const longer = print(entry)
  t.not(longer, first)
  utimesSync(file, at, new Date(1_700_000_001_000))
  t.not(print(entry), longer)
})

t.test('processes with a file each know that they mean the same server', async t => {
  const printOf = (file: string, cwd: string | null): string | undefined => {
    const { files, options } = create(t, undefined, { cwd, file })
    return files.printOf(options)
  }
  const print = printOf('/etc/one/mcp.json', null)
  t.equal(printOf('/etc/two/mcp.json', null), print)
  t.not(printOf('/etc/one/mcp.json', '/srv'), print)
})

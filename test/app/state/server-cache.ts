import { readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KnownFiles } from '../../../src/app/state/server-cache.js'
import { knownFolder } from '../../../src/app/state/server-cache-file.js'
import type { Known } from '../../../src/catalog/lists/known.js'
import { parseConfig } from '../../../src/config/parse.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { FakeClock } from '../../support/fake-clock.js'
import { FakeServer, tool } from '../../support/mux.js'

const { facts } = new FakeServer('a', { tools: [] })

const knownOf = (...names: string[]): Known =>
  new Map([['all', { facts, lists: { tools: names.map(name => textOf(tool(name))) } }]])

const namesOf = (known: Known | undefined): string[] | undefined =>
  known?.get('all')?.lists.tools?.map(item => (JSON.parse(item.toString()) as { name: string }).name)

/** The memory of a proxy; several may share one folder. */
const create = (t: Test, stateDir = t.testdir({ 'server.mjs': '' })) => {
  const { config } = parseConfig(
    JSON.stringify({ mcpServers: { a: { command: 'node', args: ['server.mjs'], cwd: stateDir } } }),
    '/etc/proxy/mcp.json',
    {},
  )
  const [server] = config?.servers ?? []
  const options = new FakeServer('a', {}).options
  const clock = new FakeClock()
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (_facts: object, words: string) => warnings.push(words) }
  const files = new KnownFiles({
    stateDir,
    configOf: one => (one === options ? server : undefined),
    clock,
    log,
  })
  const folder = knownFolder(stateDir)
  return { files, options, clock, stateDir, folder, warnings }
}

t.test('what was learnt is recalled by the next proxy, and written once for all lists', async t => {
  const one = create(t)
  t.equal(one.files.recall(one.options), undefined)
  one.files.met(one.options)
  let asked = 0
  for (const names of [['x'], ['x', 'y']]) {
    one.files.learnt(one.options, () => {
      asked += 1
      return knownOf(...names)
    })
    one.clock.advance(100)
  }
  t.equal(asked, 0)
  one.clock.advance(250)
  t.equal(asked, 1)
  await one.files.close()
  t.equal(readdirSync(one.folder).length, 1)
  t.equal(one.clock.pending, 0)
  const two = create(t, one.stateDir)
  t.same(namesOf(two.files.recall(two.options)), ['x', 'y'])
  t.equal(two.files.recall(new FakeServer('b', {}).options), undefined, 'what is not configured is not known')
  two.files.learnt(new FakeServer('b', {}).options, () => knownOf('z'))
  await two.files.close()
})

t.test('the end of a proxy does not wait for the lists to settle', async t => {
  const { files, options, folder } = create(t)
  files.learnt(options, () => knownOf('x'))
  await files.close()
  t.equal(readdirSync(folder).length, 1)
})

t.test('what is known already is not written again, but counts as met', async t => {
  const one = create(t)
  one.files.learnt(one.options, () => knownOf('x'))
  await one.files.close()
  const [name = ''] = readdirSync(one.folder)
  const file = join(one.folder, name)
  utimesSync(file, 1_700_000_000, 1_700_000_000)
  const { ino } = statSync(file)
  const two = create(t, one.stateDir)
  two.files.recall(two.options)
  two.files.learnt(two.options, () => knownOf('x'))
  await two.files.close()
  t.equal(statSync(file).ino, ino)
  t.ok(statSync(file).mtimeMs > 1_700_000_000_000)
})

t.test('what a program said before it was replaced is not taken for what the new one says', async t => {
  const one = create(t)
  one.files.met(one.options)
  one.files.learnt(one.options, () => knownOf('old'))
  writeFileSync(join(one.stateDir, 'server.mjs'), 'another')
  await one.files.close()
  const two = create(t, one.stateDir)
  t.equal(two.files.recall(two.options), undefined)
  one.files.met(one.options)
  one.files.learnt(one.options, () => knownOf('new'))
  await one.files.close()
  t.same(namesOf(two.files.recall(two.options)), ['new'])
})

t.test('lists that are too long are not kept', async t => {
  const { files, options, stateDir } = create(t)
  const long = { facts, lists: { tools: [rawText(`"${'x'.repeat(9 * 2 ** 20)}"`)] } }
  files.learnt(options, () => new Map([['all', long]]))
  await files.close()
  files.learnt(options, () => new Map([['all', long]]))
  await files.close()
  t.notOk(readdirSync(stateDir).includes('known'))
})

t.test('a disk that takes nothing costs a word in the log', async t => {
  const stateDir = t.testdir({ known: '' })
  const { files, options, warnings } = create(t, stateDir)
  for (const name of ['x', 'y']) {
    files.learnt(options, () => knownOf(name))
    await files.close()
  }
  t.same(warnings, ['what servers list cannot be remembered'])
})

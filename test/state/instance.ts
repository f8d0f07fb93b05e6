import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../src/kernel/async/clock.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { thisPlace } from '../../src/shim/place.js'
import { Instance, readRecords } from '../../src/state/instance.js'
import { Children } from '../../src/state/processes/children.js'
import type { ProcessTable } from '../../src/transport/process/process-table.js'
import { FakeClock } from '../support/fake-clock.js'
import { isWindows, skipWithout } from '../support/processes.js'

const MARK = 'aaaaaaaaaaaaaaaaaaaaaa'
const RECORD = {
  version: 1,
  mark: MARK,
  place: 'here',
  pid: 4711,
  born: 'then',
  startedAt: '2026-08-01T00:00:00.000Z',
  writtenAt: '2026-08-02T00:00:00.000Z',
  verb: 'serve',
  url: 'http://127.0.0.1:1/mcp',
  config: '/etc/mcp.json',
  children: [{ pid: 4712, sinceMs: 1_800_000_000_000, born: 'later' }],
}

/** What is read of a file with this in it. */
const readBack = async (t: Test, record: unknown) => {
  const folder = t.testdir()
  writeFileSync(join(folder, `${MARK}.json`), JSON.stringify(record), { mode: 0o600 })
  const [read] = await readRecords(folder)
  return read
}

t.test('a record comes back as it was written', async t => {
  t.same(await readBack(t, RECORD), RECORD)
  t.same(await readBack(t, { ...RECORD, url: 1, config: null }), {
    ...RECORD,
    url: undefined,
    config: undefined,
  })
})

t.test('a malformed record is ignored', async t => {
  const bad = [
    null,
    [],
    1,
    { ...RECORD, version: 2 },
    { ...RECORD, mark: undefined },
    { ...RECORD, pid: 0 },
    { ...RECORD, pid: 1 },
    { ...RECORD, pid: '4711' },
    { ...RECORD, pid: 1.5 },
    { ...RECORD, children: {} },
  ]
  for (const value of bad) t.equal(await readBack(t, value), undefined)
  const children = [{ pid: 1 }, { pid: -5 }, null, 'x', { pid: 7, born: 3, sinceMs: '1' }]
  t.same((await readBack(t, { ...RECORD, children }))?.children, [
    { pid: 7, born: undefined, sinceMs: Number.NaN },
  ])
})

t.test('a proxy that is the first process of this container is known', async t => {
  const first = { ...RECORD, pid: 1, place: thisPlace() }
  t.match(await readBack(t, first), { pid: 1 })
})

t.test('only files that no other user can have written are read', { skip: skipWithout.modes }, async t => {
  const folder = t.testdir()
  const write = (mark: string, text: string, mode = 0o600) => {
    writeFileSync(join(folder, `${mark}.json`), text, { mode })
    chmodSync(join(folder, `${mark}.json`), mode)
  }
  const text = (mark: string) => JSON.stringify({ ...RECORD, mark })
  write(MARK, text(MARK))
  write('bbbbbbbbbbbbbbbbbbbbbb', text('bbbbbbbbbbbbbbbbbbbbbb'), 0o666)
  write('cccccccccccccccccccccc', text(MARK))
  write('dddddddddddddddddddddd', '{"version":')
  write('too-short', text('too-short'))
  write('eeeeeeeeeeeeeeeeeeeeee', ' '.repeat(2 ** 20 + 1))
  symlinkSync(join(folder, `${MARK}.json`), join(folder, 'ffffffffffffffffffffff.json'))
  t.same(
    (await readRecords(folder)).map(({ mark }) => mark),
    [MARK],
  )
  t.same(await readRecords(join(folder, 'nowhere')), [])
})

const facts = { verb: 'serve', url: 'http://127.0.0.1:1/mcp', config: '/mcp.json', socket: undefined }
const table: ProcessTable = {
  rows: () => Promise.reject(new Error('takes a second on Windows')),
  births: () =>
    Promise.resolve(
      new Map([
        [process.pid, 'first'],
        [4711, 'second'],
      ]),
    ),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
}
/** No time passes: what waits goes on in the next turn. */
const clock: Clock = {
  ...systemClock,
  after: (_ms, work) => {
    const cancel = clearImmediate.bind(undefined, setImmediate(work))
    return { cancel, [Symbol.dispose]: cancel }
  },
}
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))

t.test('a proxy writes down that it runs and what runs for it, and takes it back', async t => {
  const folder = join(t.testdir(), 'state')
  const children = new Children()
  const instance = new Instance({ facts, children, folder, table, clock, log: silentLogger })
  await instance.written
  const file = join(folder, 'instances', `${children.mark}.json`)
  t.match(read(file), {
    version: 1,
    mark: children.mark,
    pid: process.pid,
    born: 'first',
    ...facts,
    children: [],
  })
  if (!isWindows) {
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(statSync(join(folder, 'instances')).mode & 0o777, 0o700)
  }
  children.added(4711, {})
  children.added(4712, {})
  await instance.written
  const [first, second] = read(file).children
  t.match(first, { pid: 4711, born: 'second', sinceMs: Number })
  t.match(second, { pid: 4712, born: undefined, sinceMs: Number })
  t.ok(Math.abs(Date.now() - second.sinceMs) < 60_000)
  t.ok(Date.parse(read(file).writtenAt) >= second.sinceMs)
  children.removed(4711)
  await instance.written
  t.same(read(file).children, [second])
  await instance.close()
  children.added(4713, {})
  await instance.written
  t.same(readdirSync(join(folder, 'instances')), [], 'nothing is left, not even a half-written file')
})

t.test('programs that start together are written down together, and closing waits for none', async t => {
  const folder = t.testdir()
  const children = new Children()
  const held = new FakeClock()
  const instance = new Instance({ facts, children, folder, table, clock: held, log: silentLogger })
  const file = join(folder, 'instances', `${children.mark}.json`)
  const isWritten = async (count: number) => {
    while (!existsSync(file) || read(file).children.length < count) await new Promise(setImmediate)
  }
  await isWritten(0)
  while (held.pending === 0) await new Promise(setImmediate)
  children.added(4711, {})
  children.added(4712, {})
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  t.same(read(file).children, [])
  held.advance(1000)
  await isWritten(2)
  children.added(4713, {})
  await instance.close()
  t.notOk(existsSync(file))
})

t.test('until when its children are known to be its own is written when one has answered', async t => {
  const folder = t.testdir()
  const children = new Children()
  children.added(4711, {})
  const instance = new Instance({ facts, children, folder, table, clock, log: silentLogger })
  await instance.written
  const file = join(folder, 'instances', `${children.mark}.json`)
  const before = read(file).writtenAt
  while (new Date().toISOString() === before) await new Promise(resolve => setImmediate(resolve))
  children.answered()
  await instance.written
  t.ok(read(file).writtenAt > before)
})

t.test('a folder that cannot be written to costs nothing but the record', async t => {
  const folder = join(t.testdir(), 'a-file')
  writeFileSync(folder, '')
  const logged: string[] = []
  const log = { ...silentLogger, debug: (_: object, words: string) => void logged.push(words) }
  const instance = new Instance({ facts, children: new Children(), folder, table, clock, log })
  await instance.written
  await instance.close()
  t.same(logged, ['cannot write the record of this proxy'])
})

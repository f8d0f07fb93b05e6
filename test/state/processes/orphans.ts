import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { thisPlace } from '../../../src/shim/place.js'
import type { InstanceRecord } from '../../../src/state/instance.js'
import { endOrphans, isAlive } from '../../../src/state/processes/orphans.js'
import { MARK_VARIABLE } from '../../../src/transport/process/orphans.js'
import { type ProcessTable, processTable } from '../../../src/transport/process/process-table.js'
import { isRunning, skipWithout, until } from '../../support/processes.js'

const skip = skipWithout.groups
const table = processTable()
const marks = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(22))

const setUp = async (t: Test) => {
  // The timers of the clock keep no process alive; a proxy that serves lives anyway.
  const hold = setInterval(() => undefined, 2 ** 30)
  t.teardown(() => clearInterval(hold))
  const folder = t.testdir()
  const records = join(folder, 'instances')
  mkdirSync(records)
  const place = thisPlace()
  const bornAt = async (pid: number) => (await table.rows()).find(row => row.pid === pid)?.born
  return {
    /** A server of the proxy with this mark. */
    async server(mark: string) {
      const child = spawn(process.execPath, ['-e', "setInterval(() => {}, 1000); console.log('here')"], {
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { ...process.env, [MARK_VARIABLE]: mark },
      })
      t.teardown(() => child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      const pid = child.pid ?? 0
      return { pid, sinceMs: Date.now(), born: await bornAt(pid) }
    },
    write(mark: string, record: object): string {
      const file = join(records, `${mark}.json`)
      const whole = { version: 1, mark, place, startedAt: 'then', verb: 'serve', ...record }
      writeFileSync(file, JSON.stringify(whole), { mode: 0o600 })
      return file
    },
    bornAt,
    left: () => readdirSync(records).sort(),
    sweep: () => endOrphans({ folder, table, clock: systemClock, log: silentLogger }),
  }
}

t.test('servers of killed proxies are ended; servers of running ones are left alone', { skip }, async t => {
  const [dead = '', alive = '', reused = '', elsewhere = ''] = marks
  const around = await setUp(t)
  const servers = await Promise.all(marks.map(mark => around.server(mark)))
  const pids = servers.map(({ pid }) => pid)
  const own = { pid: process.pid, born: await around.bornAt(process.pid) }
  around.write(dead, { pid: 2 ** 22 + 1, born: 'then', children: [servers[0]] })
  around.write(alive, { ...own, children: [servers[1]] })
  around.write(reused, { ...own, born: 'another time', children: [servers[2]] })
  around.write(elsewhere, {
    pid: 2 ** 22 + 1,
    born: 'then',
    place: 'another machine',
    children: [servers[3]],
  })
  await around.sweep()
  await until(() => !isRunning(pids[0] ?? 0) && !isRunning(pids[2] ?? 0), 'the end of two')
  t.same(pids.map(isRunning), [false, true, false, true])
  t.same(around.left(), [`${alive}.json`, `${elsewhere}.json`], 'records that are done with are removed')
})

t.test('what a proxy was writing when it was killed is removed with its record', { skip }, async t => {
  const [dead = ''] = marks
  const around = await setUp(t)
  const file = around.write(dead, { pid: 2 ** 22 + 1, born: 'then', children: [] })
  writeFileSync(`${file}.draft`, 'half')
  await around.sweep()
  t.same(around.left(), [])
})

t.test(
  'the socket and the token of a killed proxy are removed with its record, unless a process answers there',
  { skip: skipWithout.unixSockets },
  async t => {
    const [dead = '', replaced = '', none = ''] = marks
    const around = await setUp(t)
    const folder = mkdtempSync(join(tmpdir(), 'mcp-orphans-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const listen = async (socket: string) => {
      const code = `require('net').createServer().listen(${JSON.stringify(socket)}, () => console.log(1))`
      const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'ignore'] })
      t.teardown(() => child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      return child
    }
    const [stale, live] = [join(folder, 'stale.sock'), join(folder, 'live.sock')]
    const killed = await listen(stale)
    await listen(live)
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    const gone = { pid: 2 ** 22 + 1, born: 'then', children: [] }
    const say = (name: string, pid: number) => writeFileSync(join(folder, name), JSON.stringify({ pid }))
    say('stale.json', gone.pid)
    say('live.json', process.pid)
    say('none.json', gone.pid)
    around.write(dead, { ...gone, socket: stale })
    around.write(replaced, { ...gone, socket: live })
    const token = join(folder, `${none}.token`)
    writeFileSync(token, 'secret')
    around.write(none, { ...gone, socket: join(folder, 'none.sock'), token })
    await around.sweep()
    t.same(readdirSync(folder).sort(), ['live.json', 'live.sock'])
    t.same(around.left(), [])
  },
)

t.test('a proxy that runs within the servers of a dead one does not end itself', { skip }, async t => {
  const [mark = ''] = marks
  const around = await setUp(t)
  const server = await around.server(mark)
  around.write(mark, { pid: 2 ** 22 + 1, born: 'then', children: [server] })
  process.env[MARK_VARIABLE] = mark
  t.teardown(() => delete process.env[MARK_VARIABLE])
  await around.sweep()
  t.ok(isRunning(server.pid))
})

t.test('records of other machines go when they are a month old', async t => {
  const around = await setUp(t)
  const [old = '', young = ''] = marks
  const record = { pid: 4711, place: 'another machine', children: [] }
  const file = around.write(old, record)
  around.write(young, record)
  const longAgo = Date.now() / 1000 - 31 * 24 * 3600
  utimesSync(file, longAgo, longAgo)
  await around.sweep()
  t.same(around.left(), [`${young}.json`])
})

const blind: ProcessTable = {
  rows: () => Promise.resolve([]),
  births: () => Promise.resolve(new Map()),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
}

t.test('without access to the process table, no process is ended, and leftovers are reported', async t => {
  const around = await setUp(t)
  const [gone = '', runs = ''] = marks
  const folder = join(around.write(gone, { pid: 2 ** 22 + 1, born: 'then', children: [] }), '..', '..')
  around.write(runs, { pid: process.pid, born: 'then', children: [] })
  const warned: object[] = []
  const log = { ...silentLogger, warn: (facts: object) => void warned.push(facts) }
  await endOrphans({ folder, table: blind, clock: systemClock, log })
  t.same(around.left(), [`${gone}.json`, `${runs}.json`])
  t.same(warned, [{ of: 2 ** 22 + 1 }])
  await endOrphans({ folder: join(folder, 'nowhere'), table: blind, clock: systemClock, log })
  t.equal(warned.length, 1)
})

const record: InstanceRecord = {
  version: 1,
  mark: 'a'.repeat(22),
  place: 'here',
  pid: process.pid,
  born: undefined,
  startedAt: '2026-08-01T00:00:00.000Z',
  writtenAt: '2026-08-01T00:00:00.000Z',
  verb: 'serve',
  url: undefined,
  config: undefined,
  socket: undefined,
  children: [],
}
const STARTED_MS = Date.parse(record.startedAt)

for (const [title, pid, rows, expected] of [
  ['its number is used, where processes cannot be seen', process.pid, [], true],
  ['nobody has its number, where processes cannot be seen', 2 ** 22 + 1, [], false],
  ['on Windows its process began before it wrote so', process.pid, [STARTED_MS - 500], true],
  ['on Windows a later process has its number', process.pid, [STARTED_MS + 60_000], false],
] as const) {
  t.test(`a proxy is ${expected ? 'alive' : 'gone'}: ${title}`, async t => {
    const seen = rows.map(bornMs => ({ pid: process.pid, group: process.pid, born: '', parent: 1, bornMs }))
    t.equal(isAlive({ ...record, pid }, seen), expected)
  })
}

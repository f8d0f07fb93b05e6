import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/kernel/clock.js'
import { processTable } from '../../src/transport/process-table.js'
import { processTree } from '../../src/transport/process-tree.js'
import { endStrays, MARK_VARIABLE, type RecordedChild } from '../../src/transport/strays.js'
import { isRunning, until } from '../support/processes.js'

const skip = process.platform === 'win32' ? 'POSIX only' : false
const table = processTable()
const MARK = 'a-mark-that-nobody-else'
const IGNORES = "process.on('SIGTERM', () => {});"
const STAYS = "setInterval(() => {}, 1000); console.log('here');"

/** A process that leads a group of its own, as servers do. */
const start = async (t: Test, code: string, mark?: string): Promise<ChildProcess> => {
  const child = spawn(process.execPath, ['-e', code], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...(mark !== undefined && { [MARK_VARIABLE]: mark }) },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout ?? child, 'data')
  return child
}

const bornAt = async (pid: number): Promise<string | undefined> =>
  (await table.rows()).find(row => row.pid === pid)?.born

/** The timers of the clock keep no process alive; a proxy that serves lives anyway. */
const end = async (children: readonly RecordedChild[]): Promise<number[]> => {
  const hold = setInterval(() => undefined, 2 ** 30)
  const groups = await endStrays({ mark: MARK, children }, { table, clock: systemClock, termMs: 100 })
  clearInterval(hold)
  return groups
}

t.test('a recorded child is ended, also one that ignores SIGTERM', { skip }, async t => {
  const child = await start(t, IGNORES + STAYS, MARK)
  const pid = child.pid ?? 0
  t.same(await end([{ pid, born: await bornAt(pid) }]), [pid])
  await until(() => !isRunning(pid), 'its end')
})

t.test('what a recorded child left in its group is ended, by its mark', { skip }, async t => {
  const code = `
    const options = { stdio: ['ignore', 'inherit', 'ignore'] }
    const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(STAYS)}], options)
    setTimeout(() => process.exit(), 100)`
  const leader = spawn(process.execPath, ['-e', code], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, [MARK_VARIABLE]: MARK },
  })
  await Promise.all([once(leader.stdout, 'data'), once(leader, 'exit')])
  const group = leader.pid ?? 0
  const left = (await table.rows()).filter(row => row.group === group).map(({ pid }) => pid)
  t.equal(left.length, 1)
  t.same(await end([{ pid: group, born: 'long ago' }]), [group])
  await until(() => !left.some(isRunning), 'its end')
})

t.test('what a recorded child started in a session of its own is ended, by its mark', { skip }, async t => {
  const [gone, stubborn, other] = await Promise.all([
    start(t, STAYS, MARK),
    start(t, IGNORES + STAYS, MARK),
    start(t, STAYS, 'another-mark-altogether'),
  ])
  const [one = 0, two = 0, three = 0] = [gone, stubborn, other].map(child => child.pid ?? 0)
  t.same(new Set(await end([{ pid: 999_999_999, born: 'long ago' }])), new Set([one, two]))
  await until(() => ![one, two].some(isRunning), 'their end')
  t.ok(isRunning(three))
})

t.test('a process that only has the number of a recorded child is left alone', { skip }, async t => {
  const [other, unmarked, strange] = await Promise.all([
    start(t, STAYS),
    start(t, STAYS),
    start(t, STAYS, 'another-mark-altogether'),
  ])
  const pids = [other, unmarked, strange].map(child => child.pid ?? 0)
  const [first = 0, second = 0, third = 0] = pids
  const children = [
    { pid: first, born: 'another time' },
    { pid: second, born: undefined },
    { pid: third, born: undefined },
    { pid: 2 ** 22 + 1, born: undefined },
  ]
  t.same(await end(children), [])
  t.ok(pids.every(isRunning))
})

t.test('on Windows a recorded child is ended with taskkill, if it is that very child', { skip }, async t => {
  const [child, other] = await Promise.all([start(t, STAYS), start(t, STAYS)])
  const [pid = 0, second = 0] = [child.pid, other.pid]
  const flags: string[] = []
  const tree = processTree({
    platform: 'win32',
    run: (_file, args) => {
      flags.push(args.slice(1).join(' '))
      if (!args.includes('/F')) return Promise.reject(new Error('can only be terminated forcefully'))
      process.kill(Number(args[1]), 'SIGKILL')
      return Promise.resolve()
    },
  })
  const children = [
    { pid, born: '133000000000000000' },
    { pid: second, born: '133000000000000000' },
  ]
  const seen = {
    rows: () =>
      Promise.resolve([
        { pid, group: pid, born: '133000000000000000' },
        { pid: second, group: second, born: '133000000000000001' },
      ]),
    carries: () => Promise.resolve(false),
    carriers: () => Promise.resolve([]),
  }
  t.same(await endStrays({ mark: MARK, children }, { table: seen, clock: systemClock, tree }), [pid])
  t.same(flags, [`${pid} /T`, `${pid} /T /F`])
  await until(() => !isRunning(pid), 'its end')
  t.ok(isRunning(second))
})

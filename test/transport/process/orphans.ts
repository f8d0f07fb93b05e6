import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import {
  endRecorded,
  MARK_VARIABLE,
  orphansOf,
  type RecordedChild,
} from '../../../src/transport/process/orphans.js'
import { processTable } from '../../../src/transport/process/process-table.js'
import { type ProcessTree, processTree } from '../../../src/transport/process/process-tree.js'
import { isRunning, skipWithout, until, windowsRow, windowsTable } from '../../support/processes.js'

const skip = skipWithout.groups
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
const end = async (recorded: readonly Omit<RecordedChild, 'sinceMs'>[]): Promise<number[]> => {
  const hold = setInterval(() => undefined, 2 ** 30)
  const children = recorded.map(child => ({ ...child, sinceMs: Date.now() }))
  const groups = await endRecorded(
    { mark: MARK, untilMs: Date.now(), children },
    { table, clock: systemClock, termMs: 100 },
  )
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

// ── Windows ──

const SINCE_MS = 1_790_000_000_000
const UNTIL_MS = SINCE_MS + 3_600_000

for (const [title, one, isOwned] of [
  ['a recorded process that still runs is owned', windowsRow(40, 1, SINCE_MS - 20), true],
  ['its number in the hands of a later process is not', windowsRow(40, 1, UNTIL_MS), false],
  ['what it started is owned, whether it runs itself or not', windowsRow(50, 40, SINCE_MS + 60_000), true],
  ['what it started in its first moment is owned', windowsRow(50, 40, SINCE_MS - 10), true],
  ['what an earlier process of its number started is not', windowsRow(50, 40, SINCE_MS - 60_000), false],
  ['what a later process of its number started is not', windowsRow(50, 40, UNTIL_MS + 60_000), false],
  ['what others started is not', windowsRow(50, 41, SINCE_MS + 1), false],
  ['what tells no birth is not', { pid: 40, group: 40, born: 'then' }, false],
] as const) {
  t.test(`${title} when the proxy was killed`, async t => {
    t.same(orphansOf(new Map([[40, SINCE_MS]]), [one], UNTIL_MS), isOwned ? [one.pid] : [])
  })
}

t.test('what a recorded shim left on Windows is ended with taskkill, not who has its number now', async t => {
  const flags: string[] = []
  let running = [40, 50]
  const taskkill = processTree({
    platform: 'win32',
    run: (_file, args) => {
      flags.push(args.slice(1).join(' '))
      if (!args.includes('/F')) return Promise.reject(new Error('can only be terminated forcefully'))
      running = running.filter(pid => pid !== Number(args[1]))
      return Promise.resolve()
    },
  })
  const windows: ProcessTree = {
    hasGroups: false,
    end: pid => taskkill.end(pid),
    kill: pid => taskkill.kill(pid),
    isRunning: pid => Promise.resolve(running.includes(pid)),
  }
  // The shim is gone, and 40 is somebody else's; its server runs on.
  const seen = windowsTable([windowsRow(40, 1, UNTIL_MS + 60_000), windowsRow(50, 40, SINCE_MS + 300)])
  const brood = {
    mark: MARK,
    untilMs: UNTIL_MS,
    children: [{ pid: 40, sinceMs: SINCE_MS, born: undefined }],
  }
  t.same(await endRecorded(brood, { table: seen, clock: systemClock, tree: windows }), [50])
  t.same(flags, ['50 /T', '50 /T /F'])
  t.same(running, [40])
})

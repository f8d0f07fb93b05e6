import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { endGroup } from '../../../src/transport/process/kill-ladder.js'
import { processTree } from '../../../src/transport/process/process-tree.js'
import { isRunning, skipWithout, until } from '../../support/processes.js'

/** Longer than anything takes: a rung that is waited for is left because it worked. */
const patient = { closeMs: 60_000, termMs: 60_000, graceMs: 60_000 }
/** For what ignores the first rungs. */
const quick = { ...patient, closeMs: 60, termMs: 60 }
const skip = skipWithout.groups

const start = (...args: string[]): ChildProcess =>
  spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer]
  return chunk.toString()
}

t.test(
  'a child that follows the spec exits at the end of its stdin and gets no signal',
  { skip },
  async t => {
    const child = start('-e', "process.stdin.resume(); console.log('ready')")
    await firstLine(child)
    t.equal(await endGroup(child, systemClock, patient), true)
    t.equal(child.exitCode, 0)
  },
)

t.test('a child that ignores its stdin is ended by SIGTERM', { skip }, async t => {
  const child = start('-e', "setInterval(() => {}, 1000); console.log('ready')")
  await firstLine(child)
  t.equal(await endGroup(child, systemClock, { ...patient, closeMs: 60 }), true)
  t.equal(child.signalCode, 'SIGTERM')
})

t.test('a child that ignores stdin and SIGTERM is killed together with its own child', { skip }, async t => {
  const child = start(fileURLToPath(new URL('../../fixtures/stubborn.mjs', import.meta.url)))
  const pids = JSON.parse(await firstLine(child)) as number[]
  t.equal(pids.length, 2)
  t.same(pids.map(isRunning), [true, true])
  const startMs = performance.now()
  await endGroup(child, systemClock, quick)
  t.ok(performance.now() - startMs >= 110, 'each rung had its time')
  t.equal(child.signalCode, 'SIGKILL')
  t.same(pids.map(isRunning), [false, false])
})

t.test('what a child left behind when it exited by itself is ended too', { skip }, async t => {
  const inner = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready')"
  const outer = `const c = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}],
    { stdio: ['ignore', 'pipe', 'ignore'] })
    c.stdout.once('data', () => { console.log(c.pid); process.exit(0) })`
  const child = start('-e', outer)
  const [line] = await Promise.all([firstLine(child), once(child, 'exit')])
  const grandchild = Number(line)
  t.equal(isRunning(grandchild), true)
  await endGroup(child, systemClock, { ...quick, graceMs: 60 })
  await until(() => !isRunning(grandchild), 'the end of the grandchild')
  t.equal(await endGroup(child, systemClock, quick), true, 'a second time finds nothing')
})

t.test('a child that never started, and numbers that are not groups, are ignored', { skip }, async t => {
  const child = spawn('/nonexistent/program', { detached: true })
  child.on('error', () => undefined)
  t.equal(await endGroup(child, systemClock, quick), true)
  for (const number of [0, 1, -5, 1.5, Number.NaN]) t.equal(await processTree().isRunning(number), false)
})

/** Plays `taskkill`, which refuses to ask a program without a window; `asks` makes it ask. */
function playWindows(child: ChildProcess, asks: boolean) {
  const flags: string[] = []
  const tree = processTree({
    platform: 'win32',
    run: (_file, args) => {
      flags.push(args.slice(2).join(' '))
      const isForced = args.includes('/F')
      if (!isForced && !asks) return Promise.reject(new Error('can only be terminated forcefully'))
      child.kill(isForced ? 'SIGKILL' : 'SIGTERM')
      return Promise.resolve()
    },
  })
  return { tree, flags }
}

for (const [title, code, asks, flags] of [
  ['ends with its stdin gets no taskkill', 'process.stdin.resume()', true, []],
  ['ignores its stdin is asked to end', 'setInterval(() => {}, 1000)', true, ['/T']],
  [
    'ignores being asked is ended',
    "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)",
    true,
    ['/T', '/T /F'],
  ],
  ['cannot be asked is ended without another wait', 'setInterval(() => {}, 1000)', false, ['/T', '/T /F']],
] as const) {
  t.test(`on Windows a child that ${title}`, { skip }, async t => {
    const child = start('-e', `${code}; console.log('ready')`)
    t.teardown(() => child.kill('SIGKILL'))
    await firstLine(child)
    const played = playWindows(child, asks)
    const times = {
      ...patient,
      ...(flags.length > 0 && { closeMs: 60 }),
      ...(flags.length > 1 && asks && { termMs: 60 }),
    }
    t.equal(await endGroup(child, systemClock, times, played.tree), true)
    t.same(played.flags, flags)
    t.same(await endGroup(child, systemClock, times, played.tree), true)
    t.same(played.flags, flags, 'its number may be that of somebody else by now')
  })
}

t.test('on Windows a child that taskkill could not end is not taken for gone', { skip }, async t => {
  const child = start('-e', "setInterval(() => {}, 1000); console.log('ready')")
  t.teardown(() => child.kill('SIGKILL'))
  await firstLine(child)
  const tree = processTree({ platform: 'win32', run: () => Promise.reject(new Error('access denied')) })
  t.equal(await endGroup(child, systemClock, quick, tree), false)
})

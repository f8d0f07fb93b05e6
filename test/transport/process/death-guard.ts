import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { packageFile } from '../../../src/kernel/machine/package-file.js'
import {
  createDeathGuard,
  DEATH_GUARD_SCRIPT,
  guardProgram,
} from '../../../src/transport/process/death-guard.js'
import { isRunning, programOfSources, skipWithout, until } from '../../support/processes.js'

const skip = skipWithout.groups
const windowsGuard = fileURLToPath(packageFile('dist/windows-guard.js'))
const parentFixture = fileURLToPath(new URL('../../fixtures/guarded-parent.mjs', import.meta.url))

const kill = (pid: number) => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

const serve = () =>
  spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' })

t.test('when a proxy is killed its children go, except those it no longer owns', { skip }, async t => {
  const parent = spawn(process.execPath, [parentFixture, DEATH_GUARD_SCRIPT, '0', '1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(parent.stdout, 'data')) as [Buffer]
  const pids = JSON.parse(chunk.toString()) as { guard: number; watched: number; released: number }
  t.teardown(() => Object.values(pids).forEach(kill))
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) process.kill(pids.guard, signal)
  t.same(Object.values(pids).map(isRunning), [true, true, true])
  parent.kill('SIGKILL')
  await until(() => !isRunning(pids.watched), 'the end of a server that ignores SIGTERM')
  await until(() => !isRunning(pids.guard), 'the end of the guard')
  t.equal(isRunning(pids.released), true)
})

for (const shell of ['/bin/dash', '/bin/bash']) {
  t.test(
    `the script runs in ${shell}`,
    { skip: skip || (!existsSync(shell) && 'this shell is not installed') },
    async t => {
      const victim = serve()
      const other = serve()
      t.teardown(() => other.kill('SIGKILL'))
      const guard = spawn(shell, ['-c', DEATH_GUARD_SCRIPT, 'death-guard', '0', '0'], {
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      let output = ''
      for (const stream of [guard.stdout, guard.stderr]) stream.on('data', chunk => (output += String(chunk)))
      guard.stdin.end(`+${other.pid}\n+${victim.pid}\n+999999999\nx*\n-${other.pid}\n+${victim.pid}`)
      const [code] = (await once(guard, 'exit')) as [number]
      t.equal(code, 0)
      t.equal(output, '')
      await until(() => !isRunning(victim.pid ?? 0), 'the end of the watched group')
      t.equal(isRunning(other.pid ?? 0), true)
    },
  )
}

t.test('what carries the mark ends too, wherever it is', { skip: skipWithout.proc }, async t => {
  const env = { ...process.env, GUARD_MARK: 'of this test' }
  const code = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
  const marked = spawn(process.execPath, ['-e', code], { detached: true, stdio: 'ignore', env })
  const other = serve()
  t.teardown(() => [marked, other].forEach(child => void child.kill('SIGKILL')))
  const guard = spawn(
    '/bin/sh',
    ['-c', DEATH_GUARD_SCRIPT, 'death-guard', '0', '1', 'GUARD_MARK=of this test'],
    {
      stdio: ['pipe', 'ignore', 'ignore'],
    },
  )
  guard.stdin.end()
  await until(() => !isRunning(marked.pid ?? 0), 'its end')
  t.equal(isRunning(other.pid ?? 0), true)
})

t.test('a guard that is closed ends what is still watched', { skip }, async t => {
  const guard = createDeathGuard()
  t.equal(guard.pid, undefined, 'nothing runs before there is something to guard')
  const [kept, forgotten] = [serve(), serve()]
  t.teardown(() => forgotten.kill('SIGKILL'))
  guard.watch(kept.pid ?? 0)
  guard.watch(forgotten.pid ?? 0)
  guard.forget(forgotten.pid ?? 0)
  guard.close()
  guard.close()
  const [, signal] = (await once(kept, 'exit')) as [null, string]
  t.equal(signal, 'SIGTERM')
  t.equal(isRunning(forgotten.pid ?? 0), true)
})

t.test('a guard that dies is replaced, and the new one knows all children', { skip }, async t => {
  const guard = createDeathGuard()
  const child = serve()
  guard.watch(child.pid ?? 0)
  const first = guard.pid ?? 0
  process.kill(first, 'SIGKILL')
  await until(() => guard.pid !== undefined && guard.pid !== first, 'a new guard')
  guard.watch(0)
  guard.watch(1)
  const exit = once(child, 'exit')
  guard.close()
  await exit
  await until(() => guard.pid === undefined, 'the end of the guard')
  guard.watch(child.pid ?? 0)
  t.equal(guard.pid, undefined, 'a closed guard starts nothing')
})

t.test('a proxy that is killed leaves none of its children and no guard', { skip }, async t => {
  const code = `
    import { createDeathGuard } from './transport/process/death-guard.ts'
    import { spawnChild } from './transport/stdio/child.ts'
    import { systemClock } from './kernel/async/clock.ts'
    import { silentLogger } from './kernel/logger.ts'
    const guard = createDeathGuard()
    const server = 'setInterval(() => {}, 1000)'
    const options = { command: process.execPath, args: ['-e', server], env: {}, log: silentLogger, clock: systemClock, guard }
    const children = [spawnChild(options), spawnChild(options)]
    console.log(JSON.stringify([guard.pid, ...children.map(child => child.pid)]))
  `
  const proxy = spawn(process.execPath, programOfSources(code), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(proxy.stdout, 'data')) as [Buffer]
  const pids = JSON.parse(String(chunk)) as number[]
  t.teardown(() => pids.forEach(kill))
  t.same(pids.map(isRunning), [true, true, true])
  proxy.kill('SIGKILL')
  await until(() => !pids.some(isRunning), 'the end of all of them')
})

/**
 * A folder that looks like Windows to the guard: its programs write down what they are told, and `taskkill
 * /F` kills.
 */
const playWindows = (folder: string, rows: string) => {
  const powershell = join(folder, 'System32', 'WindowsPowerShell', 'v1.0', 'powershell.exe')
  mkdirSync(join(powershell, '..'), { recursive: true })
  writeFileSync(powershell, `#!/bin/sh\n${rows}`, { mode: 0o755 })
  const taskkill = `#!/bin/sh\necho "$@" >> ${folder}/taskkill.log\n[ "$4" = /F ] && kill -s KILL "$2"\n`
  writeFileSync(join(folder, 'System32', 'taskkill.exe'), taskkill, { mode: 0o755 })
  const log = join(folder, 'taskkill.log')
  return () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').sort() : [])
}

t.test(
  'the guard of Windows ends trees with taskkill, and what a child that is gone had started',
  { skip },
  async t => {
    const [child, orphan, other] = [serve(), serve(), serve()]
    t.teardown(() => [child, orphan, other].forEach(one => void one.kill('SIGKILL')))
    const [watched = 0, left = 0, gone = 999_999_998] = [child.pid, orphan.pid]
    const folder = t.testdir()
    const program = guardProgram('', 'win32')
    const guard = createDeathGuard('', {
      ...program,
      args: [windowsGuard, '0', '0'],
      cwd: folder,
      env: { SystemRoot: folder, PATH: '/usr/bin:/bin' },
    })
    for (const pid of [watched, gone, other.pid ?? 0]) guard.watch(pid)
    // Read when the guard ends them: born while they are watched, however slow the machine is.
    const born = (BigInt(Date.now()) + 11_644_473_600_000n) * 10_000n
    const rows = [`${watched} 1 ${born}`, `${left} ${gone} ${born}`, `${other.pid} 1 ${born}`]
    const told = playWindows(folder, rows.map(row => `echo '${row}'\n`).join(''))
    guard.forget(other.pid ?? 0)
    guard.close()
    await until(() => guard.pid === undefined, 'the end of the guard')
    await until(() => ![watched, left].some(isRunning), 'the end of both')
    t.same(told(), [watched, left].flatMap(pid => [`/PID ${pid} /T`, `/PID ${pid} /T /F`]).sort())
    t.equal(isRunning(other.pid ?? 0), true)
  },
)

t.test('the guard of Windows is this program, which needs nothing of the environment', async t => {
  const { file, args, env, cwd } = guardProgram('A=b', 'win32')
  t.equal(file, process.execPath)
  t.match(args[0], /windows-guard\.js$/)
  t.same(args.slice(1), ['1000', '2000'])
  t.same(Object.keys(env), ['SystemRoot'])
  t.equal(cwd, env['SystemRoot'])
})

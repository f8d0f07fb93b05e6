import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createDeathGuard, DEATH_GUARD_SCRIPT } from '../../src/transport/death-guard.js'
import { isRunning, until } from '../support/processes.js'

const skip = process.platform === 'win32' ? 'POSIX only' : false
const parentFixture = fileURLToPath(new URL('../fixtures/guarded-parent.mjs', import.meta.url))

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
  t.test(`the script runs in ${shell}`, { skip: skip || !existsSync(shell) }, async t => {
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
  })
}

t.test('what carries the mark ends too, wherever it is', { skip: process.platform !== 'linux' }, async t => {
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
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)
  const code = `
    import { createDeathGuard } from ${source('transport/death-guard.ts')}
    import { spawnChild } from ${source('transport/stdio-child.ts')}
    import { systemClock } from ${source('kernel/clock.ts')}
    import { silentLogger } from ${source('kernel/logger.ts')}
    const guard = createDeathGuard()
    const server = 'setInterval(() => {}, 1000)'
    const options = { command: process.execPath, args: ['-e', server], env: {}, log: silentLogger, clock: systemClock, guard }
    const children = [spawnChild(options), spawnChild(options)]
    console.log(JSON.stringify([guard.pid, ...children.map(child => child.pid)]))
  `
  const proxy = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = (await once(proxy.stdout, 'data')) as [Buffer]
  const pids = JSON.parse(String(chunk)) as number[]
  t.teardown(() => pids.forEach(kill))
  t.same(pids.map(isRunning), [true, true, true])
  proxy.kill('SIGKILL')
  await until(() => !pids.some(isRunning), 'the end of all of them')
})

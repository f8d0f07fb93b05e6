import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { processTree } from '../../../src/transport/process/process-tree.js'
import { isRunning, skipWithout, until } from '../../support/processes.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const skip = skipWithout.groups
const STAYS = "setInterval(() => {}, 1000); console.log('here')"

const recordedRuns = () => {
  const runs: [string, ...string[]][] = []
  const run = (file: string, args: readonly string[]) => {
    runs.push([file, ...args])
    return Promise.resolve()
  }
  return { runs, run }
}

t.test('on Windows a tree is asked to end, and then ended, by the taskkill of the system', async t => {
  const { runs, run } = recordedRuns()
  const tree = processTree({ platform: 'win32', run })
  const { SystemRoot } = process.env
  t.teardown(() => {
    if (SystemRoot === undefined) delete process.env['SystemRoot']
    else process.env['SystemRoot'] = SystemRoot
  })
  process.env['SystemRoot'] = join('/', 'somewhere', 'Windows')
  t.equal(tree.hasGroups, false)
  t.equal(await tree.end(4711), true)
  await tree.kill(4711)
  delete process.env['SystemRoot']
  await tree.kill(12)
  const taskkill = join('/', 'somewhere', 'Windows', 'System32', 'taskkill.exe')
  t.same(runs, [
    [taskkill, '/PID', '4711', '/T'],
    [taskkill, '/PID', '4711', '/T', '/F'],
    [join('C:\\Windows', 'System32', 'taskkill.exe'), '/PID', '12', '/T', '/F'],
  ])
})

t.test('a failing or missing taskkill is reported in the debug log only', async t => {
  const { log, lines } = recordedLog()
  const refuses = processTree({ platform: 'win32', log, run: () => Promise.reject(new Error('refused')) })
  t.equal(await refuses.end(4711), false)
  await refuses.kill(4711)
  if (process.platform !== 'win32') t.equal(await processTree({ platform: 'win32', log }).end(4711), false)
  t.ok(lines.length >= 2)
  t.ok(lines.every(line => JSON.stringify(line).includes('debug')))
})

t.test('on Windows numbers that no server has are not passed to taskkill', async t => {
  const { runs, run } = recordedRuns()
  const tree = processTree({ platform: 'win32', run })
  for (const number of [0, 1, -5, 1.5, Number.NaN]) {
    t.equal(await tree.end(number), false)
    await tree.kill(number)
    t.equal(await tree.isRunning(number), false)
  }
  t.same(runs, [])
})

t.test('on Windows it can be seen whether a process runs', async t => {
  const tree = processTree({ platform: 'win32' })
  const child = spawn(process.execPath, ['-e', STAYS], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  t.equal(await tree.isRunning(child.pid ?? 0), true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(await tree.isRunning(child.pid ?? 0), false)
})

t.test('elsewhere all of a process group is asked to end, and ended', { skip }, async t => {
  const tree = processTree()
  t.equal(tree.hasGroups, true)
  for (const [code, signal] of [
    [STAYS, 'SIGTERM'],
    [`process.on('SIGTERM', () => {}); ${STAYS}`, 'SIGKILL'],
  ] as const) {
    const child = spawn(process.execPath, ['-e', code], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const pid = child.pid ?? 0
    t.equal(await tree.isRunning(pid), true)
    t.equal(await processTree({ platform: 'darwin' }).isRunning(pid), true)
    t.equal(await tree.end(pid), true)
    const exit = once(child, 'exit')
    if (signal === 'SIGKILL') {
      t.equal(isRunning(pid), true)
      await tree.kill(pid)
    }
    t.equal((await exit)[1], signal)
    await until(async () => !(await tree.isRunning(pid)), 'the end of the group')
  }
})

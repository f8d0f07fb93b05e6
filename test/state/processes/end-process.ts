import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { endProcess } from '../../../src/state/processes/end-process.js'
import { isRunning, skipWithout } from '../../support/processes.js'

const skip = skipWithout.signals

t.test(
  'a process is ended, one that ignores SIGTERM too, and another with its id is not',
  { skip },
  async t => {
    const start = async (script: string) => {
      const child = spawn(process.execPath, [
        '-e',
        `${script}; setInterval(() => {}, 1e6); console.log('up')`,
      ])
      t.teardown(() => child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      return child.pid ?? 0
    }
    const [mild, stubborn] = await Promise.all([start(''), start("process.on('SIGTERM', () => {})")])
    t.equal(await endProcess(mild, 'born at another time'), false)
    t.ok(isRunning(mild))
    t.same(await Promise.all([endProcess(mild, undefined), endProcess(stubborn, undefined)]), [true, true])
    t.notOk(isRunning(mild) || isRunning(stubborn))
    t.equal(await endProcess(mild, undefined), true, 'one that is gone')
  },
)

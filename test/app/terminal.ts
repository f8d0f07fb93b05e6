import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { watchTerminal } from '../../src/app/terminal.js'
import { BIN, configFile, tiny } from '../support/cli.js'
import { skipWithout } from '../support/platform.js'
import { endWith, isRunning, OWN_GROUP, until } from '../support/processes.js'

t.test('a terminal is closed if there was one and is none any more', t => {
  const table: readonly (readonly [boolean, boolean, boolean])[] = [
    [true, false, true],
    [true, true, false],
    [false, false, false],
    [false, true, false],
  ]
  for (const [before, after, isClosed] of table) {
    let isThere = before
    const terminal = watchTerminal(() => isThere)
    isThere = after
    t.equal(terminal.isClosed, isClosed, `${before} ${after}`)
  }
  t.equal(watchTerminal().isClosed, false, 'nothing has happened to ours')
  t.end()
})

t.test(
  'a terminal counts as there when only a descriptor for it cannot be had',
  { skip: skipWithout.mocks },
  async t => {
    const codes: Record<string, boolean> = {
      ENXIO: true,
      EIO: true,
      ENOENT: true,
      EMFILE: false,
      ENFILE: false,
    }
    for (const [code, isClosed] of Object.entries(codes)) {
      let isFailing = false
      const openSync = () => {
        if (isFailing) throw Object.assign(new Error('no'), { code })
        return 99
      }
      const { watchTerminal: mocked } = await t.mockImport<typeof import('../../src/app/terminal.js')>(
        '../../src/app/terminal.js',
        { 'node:fs': { openSync, closeSync: () => undefined, constants: {} } },
      )
      const terminal = mocked()
      isFailing = true
      t.equal(terminal.isClosed, isClosed, code)
    }
  },
)

t.test('a proxy ends with the terminal that it was started in', { skip: skipWithout.script }, async t => {
  const file = configFile(t, { one: tiny() })
  const command = `exec ${[process.execPath, BIN, 'serve', '--config', file, '--port', '0'].join(' ')}`
  // What `script` runs has a terminal, which is closed when `script` is killed.
  const terminal = spawn('script', ['-qfc', command, '/dev/null'], {
    ...OWN_GROUP,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  endWith(t, terminal)
  let out = ''
  terminal.stdout.on('data', chunk => {
    out += String(chunk)
  })
  await until(() => /listening on (http\S+\/mcp)/.test(out), 'the proxy')
  const url = /listening on (http\S+\/mcp)/.exec(out)?.[1] ?? ''
  const status = async () =>
    (await fetch(new URL('/status', url))).json() as Promise<{ pid: number; config: object }>
  const { pid } = await status()
  t.teardown(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
  process.kill(pid, 'SIGHUP')
  await until(async () => 'lastReload' in (await status()).config, 'the reload')
  terminal.kill('SIGKILL')
  await once(terminal, 'close')
  await until(() => !isRunning(pid), 'its end')
  t.pass('a hang-up of the terminal is the end')
})

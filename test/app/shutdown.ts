import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { createShutdown, watchTerminal } from '../../src/app/shutdown.js'
import { Deferred } from '../../src/kernel/async/deferred.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { FakeClock } from '../support/fake-clock.js'
import { endWith, isRunning, OWN_GROUP, skipWithout, until } from '../support/processes.js'
import { BIN, configFile, tiny } from '../support/proxy/start.js'
import { recordedLog } from '../support/wire/channel-pair.js'

const codeOf = () => 0

t.test('a signal closes once, and then the code is known', async t => {
  const before = process.listenerCount('SIGHUP')
  const closing = new Deferred<void>()
  const exits: number[] = []
  let closes = 0
  const close = () => {
    closes += 1
    return closing.promise
  }
  const shutdown = createShutdown({ close, log: silentLogger, codeOf, exit: code => exits.push(code) })
  process.emit('SIGTERM', 'SIGTERM')
  shutdown.end(7)
  t.equal(closes, 1)
  t.same(exits, [])
  process.emit('SIGINT', 'SIGINT')
  t.same(exits, [130], 'a second signal does not wait')
  process.emit('SIGHUP', 'SIGHUP')
  t.same(exits, [130, 129])
  closing.resolve()
  t.equal(await shutdown.ended, 0)
  t.equal(process.listenerCount('SIGHUP'), before, 'we no longer listen for signals after the end')
})

t.test('shutdown waits for requests in flight, unless a second signal arrives', async t => {
  const drained = new Deferred<void>()
  const done: string[] = []
  const drain = async () => {
    await drained.promise
    done.push('drained')
  }
  const close = async () => void done.push('closed')
  const exit = (code: number) => void done.push(`left with ${code}`)
  const shutdown = createShutdown({ drain, close, log: silentLogger, codeOf, exit })
  process.emit('SIGTERM', 'SIGTERM')
  process.emit('SIGINT', 'SIGINT')
  t.same(done, ['left with 130'])
  drained.resolve()
  t.equal(await shutdown.ended, 0)
  t.same(done, ['left with 130', 'drained', 'closed'])
})

t.test('a Ctrl-C that arrives twice through the parent process counts once', async t => {
  const drained = new Deferred<void>()
  const exits: number[] = []
  const clock = new FakeClock()
  const shutdown = createShutdown({
    drain: () => drained.promise,
    close: () => Promise.resolve(),
    log: silentLogger,
    codeOf,
    exit: code => exits.push(code),
    clock,
  })
  process.emit('SIGINT', 'SIGINT')
  clock.advance(30)
  process.emit('SIGINT', 'SIGINT')
  t.same(exits, [])
  clock.advance(370)
  process.emit('SIGINT', 'SIGINT')
  t.same(exits, [130], 'who presses it again does not want to wait')
  drained.resolve()
  t.equal(await shutdown.ended, 0)
})

t.test('Ctrl-Break on Windows ends in order', async t => {
  let closes = 0
  const close = async () => {
    closes += 1
  }
  const shutdown = createShutdown({ close, log: silentLogger, codeOf })
  process.emit('SIGBREAK', 'SIGBREAK')
  t.equal(await shutdown.ended, 0)
  t.equal(closes, 1)
})

t.test('a hang-up may mean something else than the end, but not twice the end', async t => {
  const heard: string[] = []
  let isTaken = true
  const onHangup = () => {
    heard.push('hung up')
    return isTaken
  }
  const close = async () => void heard.push('closed')
  const exit = (code: number) => void heard.push(`left with ${code}`)
  const clock = new FakeClock()
  const options = { close, onHangup, log: silentLogger, codeOf, exit, clock }
  const shutdown = createShutdown(options)
  process.emit('SIGHUP', 'SIGHUP')
  t.same(heard, ['hung up'])
  isTaken = false
  process.emit('SIGHUP', 'SIGHUP')
  t.same(heard, ['hung up', 'hung up', 'closed'])
  isTaken = true
  clock.advance(1000)
  process.emit('SIGHUP', 'SIGHUP')
  t.same(heard.slice(3), ['left with 129'], 'who has to end does not begin anew')
  t.equal(await shutdown.ended, 0)
})

t.test('an uncaught error closes the proxy with exit code 1', async t => {
  const logged: object[] = []
  const log = { ...silentLogger, error: (facts: object) => void logged.push(facts) }
  const shutdown = createShutdown({ close: () => Promise.resolve(), log, codeOf })
  const own = process.listeners('uncaughtException').at(-1)
  own?.(new Error('oops'), 'uncaughtException')
  ;(own as ((thrown: unknown) => void) | undefined)?.('again')
  t.equal(await shutdown.ended, 1)
  t.match(logged, [{ err: { message: 'oops' } }, { err: { code: 'internal', cause: 'again' } }])
})

t.test('a service continues after an uncaught error', async t => {
  const { log, lines } = recordedLog()
  let isClosed = false
  const close = async () => {
    isClosed = true
  }
  const shutdown = createShutdown({ close, log, codeOf, isService: true })
  const [thrown, rejected] = (['uncaughtException', 'unhandledRejection'] as const).map(
    event => process.listeners(event as 'uncaughtException').at(-1) as (thrown: unknown) => void,
  )
  thrown?.(new Error('oops'))
  rejected?.('again')
  t.match(lines, [
    ['error', { err: { message: 'oops' } }],
    ['error', { err: { code: 'internal', cause: 'again' } }],
  ])
  t.notOk(isClosed)
  shutdown.end(0)
  t.equal(await shutdown.ended, 0)
})

t.test('what does not close within the 5 s that hosts give us is left behind', async t => {
  const warned: object[] = []
  const log = { ...silentLogger, warn: (facts: object) => void warned.push(facts) }
  const clock = new FakeClock()
  const shutdown = createShutdown({ close: () => new Promise(() => undefined), log, codeOf, clock })
  shutdown.end(4)
  clock.advance(4999)
  t.equal(await shutdown.ended, 4)
  t.match(warned, [{ limitMs: Number }])
})

t.test('a terminal that disappears closes the proxy', t => {
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
      const { watchTerminal: mocked } = await t.mockImport<typeof import('../../src/app/shutdown.js')>(
        '../../src/app/shutdown.js',
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

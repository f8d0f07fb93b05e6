import { spawnSync } from 'node:child_process'
import { unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Reloader } from '../../src/app/reload.js'
import { type ConfigDiff, diffConfigs } from '../../src/config/diff.js'
import { loadConfig } from '../../src/config/load.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ProxyConfig } from '../../src/config/types.js'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { FakeClock } from '../support/fake-clock.js'
import { skipWithout, until } from '../support/processes.js'

const ONE = { one: { command: 'x' } }
const TWO = { ...ONE, two: { command: 'y' } }

/** A reloader of a file, and what it did. Time stands still, so that only what is asked for is done. */
class Bench {
  readonly file: string
  readonly reloader: Reloader
  readonly applied: ConfigDiff[] = []
  readonly onReloaded: ProxyConfig[] = []
  readonly logged: string[] = []
  readonly env: Record<string, string>
  refusal: Fault | undefined
  #config: ProxyConfig

  private constructor(
    t: Test,
    file: string,
    loaded: Awaited<ReturnType<typeof loadConfig>>,
    env: Record<string, string>,
  ) {
    if (loaded.config === undefined) throw new Error('bad configuration')
    this.file = file
    this.env = env
    this.#config = loaded.config
    const log = (_: object, words: string): void => void this.logged.push(words)
    this.reloader = new Reloader({
      file,
      loaded,
      parse: text => parseConfig(text, file, env),
      apply: config => {
        if (this.refusal !== undefined) throw this.refusal
        const diff = diffConfigs(this.#config, config)
        this.#config = config
        this.applied.push(diff)
        return diff
      },
      onReloaded: config => void this.onReloaded.push(config),
      clock: new FakeClock(),
      log: { ...silentLogger, info: log, warn: log, error: log },
    })
    t.teardown(() => this.reloader.close())
  }

  static async on(
    t: Test,
    servers: object,
    more: object = {},
    env: Record<string, string> = {},
  ): Promise<Bench> {
    const file = join(t.testdir(), 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }))
    return new Bench(t, file, await loadConfig(file, env), env)
  }

  write(servers: object, more: object = {}): void {
    writeFileSync(this.file, JSON.stringify({ mcpServers: servers, ...more }))
  }

  get config(): ProxyConfig {
    return this.#config
  }

  get last(): unknown {
    return this.reloader.status.lastReload
  }

  /** Reads the file again, and waits until that is over. */
  async reload(): Promise<unknown> {
    const before = this.last
    void this.reloader.reload()
    await until(() => this.last !== before, 'the reload')
    return this.last
  }
}

t.test('a good file is applied, and counted if it changed something', async t => {
  const bench = await Bench.on(t, ONE)
  t.match(bench.reloader.status, { file: bench.file, generation: 1, lastReload: undefined })
  bench.write(TWO)
  t.match(await bench.reload(), { result: 'ok', added: ['two'] })
  t.match(bench.reloader.status, { generation: 2 })
  t.match(await bench.reload(), { result: 'ok', added: [] })
  t.match(bench.reloader.status, { generation: 2 })
  t.same(bench.logged, [
    'the configuration was reloaded',
    'the configuration was reloaded; nothing has changed',
  ])
  t.equal(bench.onReloaded.length, 2)
})

t.test('the settings that the file disables are reported while they are disabled', async t => {
  const bench = await Bench.on(t, { ...ONE, off: { command: 'x', disabled: true } })
  t.same(bench.reloader.status.disabled, ['off'])
  bench.write(TWO)
  await bench.reload()
  t.equal(bench.reloader.status.disabled, undefined)
  bench.write({ ...TWO, gone: { command: 'x', enabled: false }, wrong: { command: 5 } })
  await bench.reload()
  t.equal(bench.reloader.status.disabled, undefined, 'a file that is refused switches nothing off')
})

t.test(
  'the first read is silent if the file is unchanged since the start, otherwise it is a reload',
  async t => {
    const same = await Bench.on(t, ONE)
    same.reloader.start()
    await until(() => same.applied.length > 0, 'the first look')
    t.same([same.last, same.logged], [undefined, []])
    const other = await Bench.on(t, ONE)
    other.write(TWO)
    other.reloader.start()
    await until(() => other.last !== undefined, 'the first look')
    t.match(other.last, { result: 'ok', added: ['two'] })
  },
)

t.test('a bad file is refused in the words of check, and a fixed one is not', async t => {
  const bench = await Bench.on(t, ONE)
  writeFileSync(bench.file, '{ "mcpServers": { "one": { "command": 7 } } }')
  const words = `${bench.file}:1:39: error: mcpServers.one.command: expected a string, found a number`
  const startsWith = new RegExp(`^${words.replaceAll('\\', '\\\\')}`)
  t.match(await bench.reload(), { result: 'refused', problems: [startsWith] })
  t.match(bench.logged, [startsWith, 'the configuration was not reloaded; the previous one stays active'])
  t.same(bench.applied, [])
  bench.write(ONE)
  t.match(await bench.reload(), { result: 'ok' })
  unlinkSync(bench.file)
  t.match(await bench.reload(), { result: 'refused', problems: [/there is no such file/] })
})

t.test('an error that was there at the start does not stand in the way of other changes', async t => {
  const bad = { command: 'x', env: { A: '${UNSET}' } }
  const bench = await Bench.on(t, { ...ONE, bad })
  bench.write({ more: { command: 'z' }, ...ONE, bad })
  t.match(await bench.reload(), { result: 'ok', added: ['more'], removed: [] })
  t.match(bench.logged[0], /the variable UNSET is not set/, 'but it is told')
  bench.write({ more: { command: 'z' }, ...ONE, bad: { command: 'x' } })
  t.match(await bench.reload(), { result: 'ok', added: ['bad'] })
  bench.write({ more: { command: 'z' }, ...ONE, bad })
  t.match(await bench.reload(), { result: 'refused' }, 'once it was fixed it does')
})

t.test('an error elsewhere in the file does not keep the access of removed users and tokens', async t => {
  const token = (text: string) => ({ hash: `sha256:${text.repeat(64)}` })
  const people = { alice: { tokens: [token('a'), token('b')] }, bob: { tokens: [token('c')] } }
  const bench = await Bench.on(t, ONE, { auth: { people } })
  const wrong = { ...ONE, two: { command: 5 } }
  bench.write(wrong, { pageSize: 7, auth: { people: { alice: { tokens: [token('b')] }, carol: {} } } })
  await bench.reloader.reload()
  t.match(bench.last, { result: 'refused' })
  t.match(bench.applied, [{ added: [], settings: ['auth'] }], 'nothing else is applied')
  t.match(bench.logged.at(-1), 'ended the access of users, tokens and scopes')
  const now = bench.config.auth?.people ?? []
  t.same(
    now.map(({ name, tokens }) => [name, tokens.map(({ sha256 }) => sha256[0]).join('')]),
    [['alice', 'b']],
  )
  bench.write(wrong)
  await bench.reloader.reload()
  bench.write(wrong, { auth: { people: { alice: {} }, typo: 1 } })
  await bench.reloader.reload()
  t.equal(bench.applied.length, 1, 'without a valid auth, nothing is')
})

t.test('an error in any guard of the file does not keep the access of removed users and scopes', async t => {
  const token = (text: string) => ({ hash: `sha256:${text.repeat(64)}` })
  const admin = { tokens: [token('a')], scopes: ['mcp', 'mcp:admin'] }
  const people = { alice: admin, bob: { tokens: [token('b')] } }
  for (const guard of [{ rules: [{ typo: 1 }] }, { lock: 'gone.lock.json' }, { cluster: {} }]) {
    const bench = await Bench.on(t, ONE, { auth: { people } })
    bench.write(ONE, { ...guard, auth: { people: { alice: { ...admin, scopes: ['mcp'] } } } })
    await bench.reloader.reload()
    t.match(bench.last, { result: 'refused' })
    t.match(bench.config.auth?.people, [{ name: 'alice', scopes: ['mcp'] }], JSON.stringify(guard))
    t.equal(bench.config.auth?.people.length, 1)
    bench.write(ONE, { ...guard, auth: { people: { alice: { tokens: [token('a')] } } } })
    await bench.reloader.reload()
    t.equal(bench.applied.length, 1, 'the base scope is the same')
  }
})

t.test('the last server can be disabled or removed', async t => {
  const bench = await Bench.on(t, ONE)
  bench.write({ one: { command: 'x', disabled: true } })
  t.match(await bench.reload(), { result: 'ok', removed: ['one'] })
  t.same(bench.reloader.status.disabled, ['one'])
  bench.write(ONE)
  t.match(await bench.reload(), { result: 'ok', added: ['one'] })
  bench.write({})
  t.match(await bench.reload(), { result: 'ok', removed: ['one'] })
  t.equal(bench.reloader.status.generation, 4)
})

t.test('a configuration that the proxy cannot apply is refused', async t => {
  const bench = await Bench.on(t, ONE)
  bench.write(TWO)
  bench.refusal = new Fault('invalid-params', 'not these two')
  t.match(await bench.reload(), { result: 'refused', problems: ['not these two'] })
  t.equal(bench.reloader.status.generation, 1)
})

t.test('another value of a variable is a change, and is not told', async t => {
  const bench = await Bench.on(t, { one: { command: 'x', env: { A: '${V}' } } }, {}, { V: 'secret-1' })
  bench.env['V'] = 'secret-2'
  t.match(await bench.reload(), { result: 'ok', replaced: ['one'] })
  t.notMatch(JSON.stringify([bench.last, bench.logged]), 'secret')
})

t.test('what is touched without being changed is not reloaded', async t => {
  const bench = await Bench.on(t, ONE)
  const clock = new FakeClock()
  const { config } = await loadConfig(bench.file, {})
  let applied = 0
  const reloader = new Reloader({
    file: bench.file,
    loaded: { config, problems: [], disabled: [] },
    parse: text => parseConfig(text, bench.file, {}),
    apply: next => {
      applied += 1
      return diffConfigs(next, next)
    },
    clock,
    log: silentLogger,
  })
  t.teardown(() => reloader.close())
  reloader.start()
  await until(() => applied === 1, 'the first look')
  const resting = clock.pending
  utimesSync(bench.file, 1, 1)
  await until(() => clock.pending > resting, 'the event')
  clock.advance(1000)
  void reloader.reload()
  await until(() => applied === 2, 'the one that was asked for')
  t.equal(applied, 2)
})

t.test('wishes that come while a file is read are one more reading', async t => {
  const bench = await Bench.on(t, ONE)
  for (let n = 0; n < 10; n += 1) void bench.reloader.reload()
  bench.write(TWO)
  await until(() => bench.applied.length > 0, 'the first')
  await until(
    () => bench.last !== undefined && bench.applied.some(({ added }) => added.includes('two')),
    'the second',
  )
  t.ok(bench.applied.length <= 2)
})

t.test('a pipe is not waited for', { skip: skipWithout.fifos }, async t => {
  const bench = await Bench.on(t, ONE)
  unlinkSync(bench.file)
  t.equal(spawnSync('mkfifo', [bench.file]).status, 0)
  t.match(await bench.reload(), { result: 'refused', problems: [/can be read only once/] })
})

t.test('after it is closed nothing is applied', async t => {
  const bench = await Bench.on(t, ONE)
  bench.write(TWO)
  void bench.reloader.reload()
  bench.reloader.close()
  void bench.reloader.reload()
  for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
  t.same([bench.applied, bench.last], [[], undefined])
})

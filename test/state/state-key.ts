import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { silentLogger } from '../../src/kernel/logger.js'
import { createLazySealer, keptKey, stateDir } from '../../src/state/state-key.js'
import { isWindows, programOfSources, skipWithout } from '../support/processes.js'

const fileIn = (dir: string): string => join(dir, 'request-state.key')

t.test('a key is created once, readable only by its user, and found again', async t => {
  const dir = join(t.testdir(), 'state', 'mcp-proxy')
  const key = keptKey(dir)
  t.equal(key.length, 32)
  t.same(keptKey(dir), key)
  t.same(readdirSync(dir), ['request-state.key'], 'nothing else is left there')
  if (isWindows) return
  t.equal(statSync(fileIn(dir)).mode & 0o777, 0o600)
  t.equal(statSync(dir).mode & 0o777, 0o700)
})

t.test('two folders have two keys', async t => {
  const root = t.testdir()
  t.notSame(keptKey(join(root, 'a')), keptKey(join(root, 'b')))
})

t.test('a file that holds no key is replaced', async t => {
  const broken = [
    '',
    'AAAA',
    'not base64 at all, but long enough to be 32 bytes',
    Buffer.alloc(33).toString('base64'),
  ]
  for (const text of broken) {
    const dir = t.testdir({ 'request-state.key': text })
    const key = keptKey(dir)
    t.same(keptKey(dir), key)
    t.equal(readFileSync(fileIn(dir), 'utf8').trim(), Buffer.from(key).toString('base64'), text)
  }
})

t.test(
  'a key that others can read or write is not used, and that is said',
  { skip: skipWithout.modes },
  async t => {
    for (const mode of [0o666, 0o644, 0o660, 0o640, 0o602]) {
      const dir = t.testdir({})
      const exposed = keptKey(dir)
      chmodSync(fileIn(dir), mode)
      const told: string[] = []
      const key = keptKey(dir, path => told.push(path))
      t.notSame(key, exposed, mode.toString(8))
      t.same(told, [fileIn(dir)])
      t.same(keptKey(dir), key)
      t.equal(statSync(fileIn(dir)).mode & 0o777, 0o600)
    }
  },
)

t.test(
  'what cannot be read or written is said',
  { skip: skipWithout.modes || (process.getuid?.() === 0 && 'the superuser may read and write everything') },
  async t => {
    const dir = t.testdir()
    chmodSync(dir, 0o500)
    t.throws(() => keptKey(dir), { code: 'EACCES' })
    chmodSync(dir, 0o700)
  },
)

t.test('a folder instead of the file is reported too', async t => {
  const dir = t.testdir()
  mkdirSync(fileIn(dir))
  t.throws(() => keptKey(dir), { code: 'EISDIR' })
  const file = join(dir, 'file')
  writeFileSync(file, '')
  t.throws(() => keptKey(join(file, 'state')))
})

t.test('proxies that start at the same time agree on one key', async t => {
  const dir = join(t.testdir(), 'mcp-proxy')
  const program = programOfSources(`
    import { keptKey } from './state/state-key.ts'
    const keys = Array.from({ length: 20 }, (_, n) => Buffer.from(keptKey(process.argv[1] + n)).toString('base64'))
    console.log(JSON.stringify(keys))`)
  const args = [...program, dir]
  const run = () =>
    new Promise<string>((done, fail) => {
      execFile(process.execPath, args, (error, stdout) => {
        if (error === null) done(stdout)
        else fail(new Error('the program failed', { cause: error }))
      })
    })
  const [first, ...others] = await Promise.all([run(), run(), run(), run()])
  for (const other of others) t.equal(other, first)
})

t.test('the folder is in the home of the user, or named by the environment', async t => {
  const absolute = resolve('/x')
  const rows: readonly (readonly [NodeJS.ProcessEnv, NodeJS.Platform, string])[] = [
    [{}, 'linux', join(homedir(), '.local', 'state', 'mcp-proxy')],
    [{ XDG_STATE_HOME: absolute }, 'linux', join(absolute, 'mcp-proxy')],
    [{ XDG_STATE_HOME: 'x' }, 'linux', join(homedir(), '.local', 'state', 'mcp-proxy')],
    [{ XDG_STATE_HOME: '' }, 'darwin', join(homedir(), '.local', 'state', 'mcp-proxy')],
    [{}, 'win32', join(homedir(), 'AppData', 'Local', 'mcp-proxy')],
    [{ LOCALAPPDATA: absolute, XDG_STATE_HOME: resolve('/y') }, 'win32', join(absolute, 'mcp-proxy')],
  ]
  for (const [env, platform, expected] of rows) t.equal(stateDir(env, platform), expected)
})

const STATE = {
  kind: 'url',
  server: 'a',
  method: 'tools/call',
  digest: 'd',
  principal: 'p',
  elicitations: ['e'],
} as const
const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64')

t.test('nothing is read or written until something is sealed', async t => {
  const dir = join(t.testdir(), 'mcp-proxy')
  const sealer = createLazySealer({ configured: [], dir, log: silentLogger })
  t.notOk(existsSync(dir))
  const seal = sealer.seal(STATE, 60_000)
  t.ok(existsSync(dir))
  t.same(sealer.open(seal), STATE)
  const later = createLazySealer({ configured: [], dir, log: silentLogger })
  t.same(later.open(seal), STATE, 'a restart does not invalidate what clients carry')
})

t.test(
  'with keys of one’s own nothing is kept; a new one in front seals, the old one still opens',
  async t => {
    const dir = join(t.testdir(), 'mcp-proxy')
    const sealerOf = (...configured: string[]) => createLazySealer({ configured, dir, log: silentLogger })
    const seal = sealerOf(key(1)).seal(STATE, 60_000)
    t.same(sealerOf(key(2), key(1)).open(seal), STATE)
    t.equal(sealerOf(key(2)).open(seal), undefined)
    t.equal(sealerOf(key(1)).open(sealerOf(key(2), key(1)).seal(STATE, 60_000)), undefined)
    t.notOk(existsSync(dir))
  },
)

t.test(
  'where no key can be kept there is one for this process, and one line in the log without it',
  async t => {
    const file = join(t.testdir(), 'file')
    writeFileSync(file, '')
    const lines: unknown[] = []
    const log = { ...silentLogger, warn: (...line: unknown[]) => lines.push(line) }
    const sealer = createLazySealer({ configured: [], dir: join(file, 'mcp-proxy'), log })
    const seal = sealer.seal(STATE, 60_000)
    t.same(sealer.open(seal), STATE)
    t.equal(lines.length, 1)
    t.match(lines[0], [{ dir: join(file, 'mcp-proxy') }, /cannot keep a key/])
    t.notMatch(JSON.stringify(lines), /[A-Za-z0-9+/]{43}=/)
  },
)

import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { keptKey, stateDir } from '../../../src/app/state/state-key.js'
import { isWindows, skipWithout } from '../../support/platform.js'
import { sourceUrl } from '../../support/processes.js'

const fileIn = (dir: string): string => join(dir, 'request-state.key')

t.test('a key is made once, for nobody else to read, and found again', async t => {
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

t.test('a folder in the place of the file is said too', async t => {
  const dir = t.testdir()
  mkdirSync(fileIn(dir))
  t.throws(() => keptKey(dir), { code: 'EISDIR' })
  const file = join(dir, 'file')
  writeFileSync(file, '')
  t.throws(() => keptKey(join(file, 'state')))
})

t.test('proxies that start at the same time agree on one key', async t => {
  const dir = join(t.testdir(), 'mcp-proxy')
  const module = sourceUrl('app/state/state-key.ts')
  const script = `const { keptKey } = await import(${JSON.stringify(module)})
    const keys = Array.from({ length: 20 }, (_, n) => Buffer.from(keptKey(process.argv[1] + n)).toString('base64'))
    console.log(JSON.stringify(keys))`
  const args = [...process.execArgv, '--input-type=module', '-e', script, dir]
  const run = () =>
    new Promise<string>((done, fail) => {
      execFile(process.execPath, args, (error, stdout) => {
        if (error === null) done(stdout)
        else fail(error)
      })
    })
  const [first, ...others] = await Promise.all([run(), run(), run(), run()])
  for (const other of others) t.equal(other, first)
})

t.test('the folder is that of the user, or the one that the environment names', async t => {
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

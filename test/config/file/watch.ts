import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, posix, win32 } from 'node:path'
import t, { type Test } from 'tap'
import type { FileWatchOptions } from '../../../src/config/file/watch.js'
import { FileWatch, isSamePath } from '../../../src/config/file/watch.js'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { FakeClock } from '../../support/fake-clock.js'
import { skipWithout, until } from '../../support/processes.js'

/** A watch on a file, whose changes can be waited for. */
class Watched {
  readonly troubles: string[] = []
  changes = 0
  readonly ready: Promise<void>

  constructor(t: Test, file: string, more: Partial<FileWatchOptions> = {}, watch = FileWatch) {
    const options = {
      clock: systemClock,
      onChange: () => {
        this.changes += 1
      },
      onUnwatchable: (code: string) => void this.troubles.push(code),
      ...more,
    }
    const watched = new watch(file, options)
    this.ready = watched.ready
    t.teardown(() => watched.close())
  }

  async after(what: string, work: () => void): Promise<void> {
    await this.ready
    const before = this.changes
    work()
    await until(() => this.changes > before, what)
  }
}

t.test('every kind of change to a file is noticed', async t => {
  const dir = t.testdir({ file: '1' })
  const file = join(dir, 'file')
  const watched = new Watched(t, file)
  await watched.after('a write', () => writeFileSync(file, '2'))
  await watched.after('a rename over it', () => {
    writeFileSync(`${file}~`, '3')
    renameSync(`${file}~`, file)
  })
  await watched.after('a write to the new one', () => writeFileSync(file, '4'))
  await watched.after('its removal', () => unlinkSync(file))
  await watched.after('its return', () => writeFileSync(file, '5'))
  await watched.after('a folder in its place', () => {
    unlinkSync(file)
    mkdirSync(file)
  })
  await watched.after('a file in its place again', () => {
    rmdirSync(file)
    writeFileSync(file, '6')
  })
  await watched.after('the way of vi: moved aside, made anew', () => {
    renameSync(file, `${file}~`)
    writeFileSync(file, '7')
  })
  t.same(watched.troubles, [])
})

t.test('links on the way are followed, and each of them may change', { skip: skipWithout.links }, async t => {
  const dir = t.testdir({
    one: { conf: { file: '1' } },
    two: { conf: { file: '2' } },
    etc: {},
    current: t.fixture('symlink', 'one'),
  })
  const file = join(dir, 'etc', 'file')
  symlinkSync(join('..', 'current', 'conf', 'file'), file)
  const watched = new Watched(t, file)
  await watched.after('what it leads to', () => writeFileSync(join(dir, 'one', 'conf', 'file'), '3'))
  await watched.after('a folder on the way', () => {
    symlinkSync('two', join(dir, 'next'))
    renameSync(join(dir, 'next'), join(dir, 'current'))
  })
  t.equal(readFileSync(file, 'utf8'), '2')
  await watched.after('what it leads to now', () => writeFileSync(join(dir, 'two', 'conf', 'file'), '4'))
  await watched.after('a file in place of the link', () => {
    rmSync(file)
    writeFileSync(file, '5')
  })
  await watched.after('a link to itself', () => {
    rmSync(file)
    symlinkSync('file', file)
  })
  await watched.after('a link to nowhere', () => {
    rmSync(file)
    symlinkSync(join('..', 'later'), file)
  })
  await watched.after('which is somewhere', () => writeFileSync(join(dir, 'later'), '6'))
})

t.test('a folder that is removed with its file, and made again, is watched again', async t => {
  const dir = t.testdir({ a: { b: { file: '1' } } })
  const file = join(dir, 'a', 'b', 'file')
  const watched = new Watched(t, file)
  await watched.after('the end of the folder', () => rmSync(join(dir, 'a'), { recursive: true }))
  await watched.after('a new one', () => {
    mkdirSync(join(dir, 'a', 'b'), { recursive: true })
    writeFileSync(file, '2')
  })
  await watched.after('a write', () => writeFileSync(file, '3'))
})

t.test(
  'changes that follow each other closely are one, and what never rests is told all the same',
  async t => {
    const dir = t.testdir({ file: '0', other: '0' })
    const file = join(dir, 'file')
    const clock = new FakeClock()
    const watched = new Watched(t, file, { clock })
    await watched.ready
    const resting = clock.pending
    for (let n = 1; n <= 5; n += 1) writeFileSync(file, String(n))
    await until(() => clock.pending > resting, 'the events')
    t.equal(watched.changes, 0, 'it may not be over')
    clock.advance(1000)
    await until(() => watched.changes === 1, 'the change')
    // Until then, for the system may take its time to tell of the writes.
    let n = 0
    await until(() => {
      n += 1
      writeFileSync(file, String(n))
      clock.advance(200)
      return watched.changes > 1
    }, 'the change that never rests')
  },
)

t.test('without file notifications, changes are found by polling', { skip: skipWithout.mocks }, async t => {
  const dir = t.testdir({ file: '1' })
  const file = join(dir, 'file')
  const fail = () => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  }
  const mocked = await t.mockImport<typeof import('../../../src/config/file/watch.js')>(
    '../../../src/config/file/watch.js',
    {
      'node:fs': { watch: fail },
    },
  )
  const clock = new FakeClock()
  const watched = new Watched(t, file, { clock }, mocked.FileWatch)
  await until(() => watched.troubles.length > 0, 'the trouble')
  t.same(watched.troubles, ['ENOSPC'], 'told once')
  writeFileSync(file, '22')
  utimesSync(file, 1, 1)
  await until(() => {
    clock.advance(1000)
    return watched.changes > 0
  }, 'the change')
  t.same(watched.troubles, ['ENOSPC'])
})

t.test('after it is closed nothing is told and nothing is left', async t => {
  const dir = t.testdir({ file: '1' })
  const file = join(dir, 'file')
  const clock = new FakeClock()
  let changes = 0
  const watched = new FileWatch(file, {
    clock,
    onChange: () => {
      changes += 1
    },
    onUnwatchable: () => undefined,
  })
  watched.close()
  writeFileSync(file, '2')
  await new Promise(resolve => setImmediate(resolve))
  clock.advance(60_000)
  t.equal(changes, 0)
  t.equal(clock.pending, 0)
})

for (const [one, other, path, expected] of [
  ['Z:\\work\\Config.json', 'z:\\WORK\\config.JSON', win32, true],
  ['C:/work/config.json', 'C:\\work\\.\\config.json', win32, true],
  ['\\\\Server\\Share\\a.json', '\\\\server\\share\\a.json', win32, true],
  ['C:\\a.json', 'D:\\a.json', win32, false],
  ['C:\\a.json', 'C:\\a.json.bak', win32, false],
  ['Config.json', 'config.json', win32, true],
  ['/etc/mcp.json', '/etc/x/../mcp.json', posix, true],
  ['/etc/MCP.json', '/etc/mcp.json', posix, false],
] as const) {
  t.test(
    `${one} and ${other} are ${expected ? 'one place' : 'two'} where paths are separated by ${path.sep}`,
    async t => {
      t.equal(isSamePath(one, other, path), expected)
    },
  )
}

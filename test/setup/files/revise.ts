import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Disk, systemDisk } from '../../../src/setup/files/disk.js'
import { type FileState, type Files, readState, replaceFile } from '../../../src/setup/files/revise.js'

const OLD = Buffer.from('old')
const NEW = Buffer.from('new')

const place = (t: Test) => {
  const folder = t.testdir({ 'a.json': 'old' })
  return { file: join(folder, 'a.json'), folder, backups: join(folder, 'state', 'backups') }
}

const filesBeside = (folder: string) => readdirSync(folder).filter(name => name.startsWith('a.json'))

t.test('a file is replaced behind its links, keeps its mode, and a private copy is kept', async t => {
  const { file, folder, backups } = place(t)
  chmodSync(file, 0o640)
  mkdirSync(join(folder, 'links'))
  symlinkSync('../a.json', join(folder, 'links', 'one'))
  symlinkSync('one', join(folder, 'links', 'two'))
  const state = await readState(systemDisk, join(folder, 'links', 'two'))
  await replaceFile({ disk: systemDisk, backups }, state, NEW)
  const backup = join(backups, readdirSync(backups)[0] ?? '')
  t.equal(readFileSync(file, 'utf8'), 'new')
  t.equal(statSync(file).mode & 0o777, 0o640)
  t.ok(lstatSync(join(folder, 'links', 'two')).isSymbolicLink())
  t.equal(readFileSync(String(backup), 'utf8'), 'old')
  t.equal(statSync(String(backup)).mode & 0o777, 0o600)
  t.same(filesBeside(folder), ['a.json'], 'no draft is left')
})

t.test('the last twenty copies of a file are kept', async t => {
  const { file, backups } = place(t)
  for (let count = 0; count < 23; count += 1) {
    const state = await readState(systemDisk, file)
    await replaceFile({ disk: systemDisk, backups }, state, Buffer.from(String(count)))
  }
  t.equal(readdirSync(backups).length, 20)
})

t.test('a link to a file that is not there creates it', async t => {
  const { folder, backups } = place(t)
  symlinkSync('gone/b.json', join(folder, 'link'))
  const state = await readState(systemDisk, join(folder, 'link'))
  await replaceFile({ disk: systemDisk, backups }, state, NEW)
  t.equal(readFileSync(join(folder, 'gone', 'b.json'), 'utf8'), 'new')
  symlinkSync('loop', join(folder, 'loop'))
  await t.rejects(readState(systemDisk, join(folder, 'loop')), /links lead nowhere/)
})

t.test('a read-only file, and one that changed since it was read, are left alone', async t => {
  const { file, folder, backups } = place(t)
  const state = await readState(systemDisk, file)
  writeFileSync(file, 'theirs')
  await t.rejects(replaceFile({ disk: systemDisk, backups }, state, NEW), /has just changed/)
  t.equal(readFileSync(file, 'utf8'), 'theirs')
  chmodSync(file, 0o444)
  await t.rejects(
    replaceFile({ disk: systemDisk, backups }, await readState(systemDisk, file), NEW),
    /read-only/,
  )
  t.same(filesBeside(folder), ['a.json'])
})

const refusal = (files: Files, state: FileState): Promise<unknown> =>
  replaceFile(files, state, NEW).catch((thrown: unknown) => thrown)

t.test('what keeps a file from being written is told with what to do', async t => {
  const { file } = place(t)
  const state = await readState(systemDisk, file)
  for (const [code, fix] of [
    ['ENOSPC', 'make room on the disk, and run this again'],
    ['EACCES', 'see whose the file and its folder are, and run this again'],
    ['EIO', 'run this again'],
  ] as const)
    t.match(await refusal({ disk: failing(0, code).disk, backups: undefined }, state), { fix })
  const readOnly = { ...state, mode: 0o444 }
  const fix = `make ${state.path} writable, and run this again`
  t.match(await refusal({ disk: systemDisk, backups: undefined }, readOnly), { fix })
})

/** A disk whose n-th operation and all after it fail, as on a full disk or in a killed process. */
const failing = (after: number, code: string): { disk: Disk; count: () => number } => {
  let done = 0
  const step =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      done += 1
      if (done > after) throw Object.assign(new Error(code), { code })
      return await work(...args)
    }
  const { open, ...others } = systemDisk
  const rest = Object.fromEntries(
    Object.entries(others).map(([name, work]) => [name, step(work as () => Promise<unknown>)]),
  )
  const opened = step(async (path: string, flags: string, mode: number) => {
    const handle = await open(path, flags, mode)
    return new Proxy(handle, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key)
        if (typeof member !== 'function') return member
        const bound = member.bind(target)
        return ['writeFile', 'sync', 'chmod'].includes(String(key)) ? step(bound) : bound
      },
    })
  })
  return { disk: { ...rest, open: opened } as unknown as Disk, count: () => done }
}

t.test('whichever step fails, there is the old file or the new one', async t => {
  for (const code of ['ENOSPC', 'EIO']) {
    let wasWritten = false
    for (let after = 0; !wasWritten; after += 1) {
      const { file, backups } = place(t)
      const state = await readState(systemDisk, file)
      const { disk } = failing(after, code)
      wasWritten = await replaceFile({ disk, backups }, state, NEW).then(
        () => true,
        (thrown: unknown) => {
          t.match(String(thrown), code, 'it is said why')
          return false
        },
      )
      const found = readFileSync(file)
      t.ok(found.equals(OLD) || found.equals(NEW), `step ${after}`)
      if (wasWritten) t.ok(found.equals(NEW))
      if (after > 40) t.bailout('it never ends')
    }
  }
})

t.test('a full disk leaves no half of a file or of a copy', async t => {
  const { file, folder, backups } = place(t)
  const open = async (path: string, flags: string, mode: number) => {
    const handle = await systemDisk.open(path, flags, mode)
    const half = async (bytes: Buffer): Promise<void> => {
      await handle.write(bytes.subarray(0, 1))
      throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    }
    return Object.assign(handle, { writeFile: half })
  }
  const files = { disk: { ...systemDisk, open } as unknown as Disk, backups }
  const state = await readState(systemDisk, file)
  await t.rejects(replaceFile(files, state, NEW), { message: /the disk is full/ })
  await t.rejects(replaceFile({ ...files, backups: undefined }, state, NEW), { message: /the disk is full/ })
  t.same([filesBeside(folder), readdirSync(backups)], [['a.json'], []])
})

t.test('a link in a linked folder leads where the system finds it', async t => {
  const folder = t.testdir({ dotfiles: { apps: { cursor: {} }, shared: { 'mcp.json': 'old' } }, home: {} })
  const at = (...steps: string[]) => join(folder, ...steps)
  symlinkSync('../dotfiles/apps/cursor', at('home', '.cursor'))
  symlinkSync('../../shared/mcp.json', at('dotfiles', 'apps', 'cursor', 'mcp.json'))
  symlinkSync('.cursor/../../shared/later.json', at('home', 'through.json'))
  const state = await readState(systemDisk, at('home', '.cursor', 'mcp.json'))
  t.match(state, { path: at('dotfiles', 'shared', 'mcp.json'), bytes: OLD })
  await replaceFile({ disk: systemDisk, backups: undefined }, state, NEW)
  t.equal(readFileSync(at('dotfiles', 'shared', 'mcp.json'), 'utf8'), 'new')
  t.same(readdirSync(folder), ['dotfiles', 'home'], 'nothing is made above the home folder')
  t.match(await readState(systemDisk, at('home', 'through.json')), {
    path: at('dotfiles', 'shared', 'later.json'),
    bytes: undefined,
  })
})

t.test('a folder that cannot be made is told with the reason of the system', async t => {
  const folder = t.testdir()
  // As on a disk that is mounted read-only, where nothing below the first folder is there.
  const mkdir = (path: string, options: object): Promise<never> => {
    const code = 'recursive' in options || path !== join(folder, 'a') ? 'ENOENT' : 'EROFS'
    return Promise.reject(Object.assign(new Error(code), { code }))
  }
  const disk = { ...systemDisk, mkdir }
  const state = await readState(systemDisk, join(folder, 'a', 'b', 'c.json'))
  await t.rejects(replaceFile({ disk, backups: undefined }, state, NEW), {
    message: /\(EROFS\): the disk is read-only/,
  })
  const existing = await readState(systemDisk, join(t.testdir({ 'x.json': 'old' }), 'x.json'))
  const backups = join(folder, 'a', 'backups')
  await t.rejects(replaceFile({ disk, backups }, existing, NEW), {
    message: /\(EROFS\): the disk is read-only/,
  })
})

t.test(
  'a draft that a killed process left is removed with the next change, and no other file is',
  async t => {
    const { file, folder, backups } = place(t)
    const others = ['a.json.0123456789ab.tmp.old', 'a.json.tmp', 'b.json.0123456789ab.tmp']
    for (const name of ['a.json.0123456789ab.tmp', ...others]) writeFileSync(join(folder, name), 'key')
    await replaceFile({ disk: systemDisk, backups }, await readState(systemDisk, file), NEW)
    t.same(readdirSync(folder).sort(), ['a.json', ...others, 'state'].sort())
  },
)

import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { removePrivate, whenReleased, writePrivate } from '../../src/state/private-file.js'
import { isWindows } from '../support/processes.js'

const failing = (code: string, times: number) => {
  let left = times
  return () => {
    left -= 1
    return left >= 0 ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve('done')
  }
}

t.test('a file is there whole, for its user alone, and another takes its place', async t => {
  const file = join(t.testdir(), 'folder', 'one.json')
  await writePrivate(file, 'first')
  await writePrivate(file, Buffer.from('second'))
  t.equal(readFileSync(file, 'utf8'), 'second')
  if (!isWindows) {
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  }
  t.same(readdirSync(join(file, '..')), ['one.json'], 'nothing else is left')
  await removePrivate(file)
  await removePrivate(file)
  t.same(readdirSync(join(file, '..')), [])
})

t.test('what cannot be put in its place leaves nothing behind', async t => {
  const folder = t.testdir()
  mkdirSync(join(folder, 'one.json', 'in the way'), { recursive: true })
  await t.rejects(writePrivate(join(folder, 'one.json'), 'text'))
  t.same(readdirSync(folder), ['one.json'])
})

t.test('a file that a scanner holds on Windows is tried again, within a second', async t => {
  const waitsMs: number[] = []
  const wait = (delayMs: number) => Promise.resolve(waitsMs.push(delayMs))
  const windows = { platform: 'win32', wait } as const
  t.equal(await whenReleased(failing('EPERM', 3), windows), 'done')
  t.equal(waitsMs.length, 3)
  await t.rejects(whenReleased(failing('EBUSY', 99), windows), { code: 'EBUSY' })
  t.ok(waitsMs.reduce((sum, one) => sum + one) < 2000)
  waitsMs.length = 0
  await t.rejects(whenReleased(failing('ENOSPC', 1), windows), { code: 'ENOSPC' })
  await t.rejects(whenReleased(failing('EPERM', 1), { platform: 'linux', wait }), { code: 'EPERM' })
  t.same(waitsMs, [], 'nothing else is waited for')
})

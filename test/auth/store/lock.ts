import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { withLock } from '../../../src/auth/store/lock.js'
import { thisPlace } from '../../../src/shim/place.js'

const fileOf = (t: Test): string => join(t.testdir(), 'a.lock')

t.test('one holder at a time works under a lock, and leaves nothing behind', async t => {
  const file = fileOf(t)
  let inside = 0
  let most = 0
  const work = async (index: number) => {
    inside += 1
    most = Math.max(most, inside)
    await new Promise(setImmediate)
    inside -= 1
    return index
  }
  const all = await Promise.all(Array.from({ length: 20 }, (_, index) => withLock(file, () => work(index))))
  t.same(
    all,
    Array.from({ length: 20 }, (_, index) => index),
  )
  t.equal(most, 1)
  t.notOk(existsSync(file))
  await t.rejects(
    withLock(file, () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
  t.notOk(existsSync(file), 'also after a failure')
})

t.test('a lock is stale when its process is gone, when it is old, or when its time lies ahead', async t => {
  const place = thisPlace()
  const now = Date.now()
  for (const owner of [
    { pid: 2 ** 22 - 1, place, atMs: now, id: 'gone' },
    { pid: process.pid, place, atMs: now, id: 'of a process before us with this id' },
    { pid: 1, place: 'elsewhere', atMs: now - 31_000, id: 'old' },
    { pid: 1, place: 'elsewhere', atMs: now + 60_000, id: 'ahead' },
  ]) {
    const file = fileOf(t)
    writeFileSync(file, JSON.stringify(owner))
    const startedMs = performance.now()
    const holders = await Promise.all(
      [1, 2, 3].map(() => withLock(file, () => JSON.parse(readFileSync(file, 'utf8')).pid)),
    )
    t.same(holders, [process.pid, process.pid, process.pid], owner.id)
    t.ok(performance.now() - startedMs < 5000, owner.id)
  }
  const file = fileOf(t)
  writeFileSync(file, '')
  utimesSync(file, now / 1000 - 60, now / 1000 - 60)
  t.equal(await withLock(file, () => 'half written'), 'half written')
})

t.test('the holder of an expired lock does not remove the lock of another process', async t => {
  const file = fileOf(t)
  const other = JSON.stringify({ pid: 1, place: 'elsewhere', atMs: Date.now(), id: 'other' })
  await withLock(file, () => writeFileSync(file, other))
  t.equal(readFileSync(file, 'utf8'), other)
})

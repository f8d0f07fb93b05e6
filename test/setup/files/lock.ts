import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Disk, systemDisk } from '../../../src/setup/files/disk.js'
import { withFileLock } from '../../../src/setup/files/lock.js'
import { exclusively, readState, replaceFile } from '../../../src/setup/files/revise.js'

const fileIn = (t: Test) => {
  const file = join(t.testdir({ 'a.json': '' }), 'a.json')
  return { file, lock: `${file}.lock` }
}

t.test('work for one file is done one after the other, also where it is nested', async t => {
  const { file, lock } = fileIn(t)
  const add = async (line: number): Promise<void> => {
    await exclusively(systemDisk, file, async () => {
      const state = await readState(systemDisk, file)
      const bytes = Buffer.from(`${String(state.bytes)}${line}\n`)
      await replaceFile({ disk: systemDisk, backups: undefined }, state, bytes)
    })
  }
  await Promise.all(Array.from({ length: 12 }, async (_, line) => await add(line)))
  t.equal(readFileSync(file, 'utf8').trim().split('\n').length, 12)
  t.notOk(existsSync(lock), 'no lock is left')
})

t.test('a lock that a killed process left, and an old one, are taken over', async t => {
  const { file, lock } = fileIn(t)
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'close')
  writeFileSync(lock, `${child.pid} x`)
  t.equal(await withFileLock(systemDisk, file, () => Promise.resolve('done')), 'done')
  // As if its process id belonged to another program by now.
  writeFileSync(lock, `${process.ppid} x`)
  const before = new Date(Date.now() - 60_000)
  utimesSync(lock, before, before)
  t.equal(await withFileLock(systemDisk, file, () => Promise.resolve('done')), 'done')
  t.notOk(existsSync(lock))
})

t.test('a lock that could not be removed blocks nothing in the same process', async t => {
  const { file, lock } = fileIn(t)
  const disk: Disk = { ...systemDisk, rm: () => Promise.reject(new Error('the disk is gone')) }
  await withFileLock(disk, file, () => Promise.resolve())
  t.ok(existsSync(lock))
  t.equal(await withFileLock(systemDisk, file, () => Promise.resolve('done')), 'done')
})

t.test('what fails under a lock releases it', async t => {
  const { file, lock } = fileIn(t)
  await t.rejects(
    exclusively(systemDisk, file, () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  t.notOk(existsSync(lock))
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import t from 'tap'
import { processTable, rowsOfPs, rowsOfWindows } from '../../../src/transport/process/process-table.js'
import { skipWithout } from '../../support/processes.js'

const skip = skipWithout.groups

t.test('a process is known by its number, its group and the moment of its birth', { skip }, async t => {
  const table = processTable()
  const code = "console.log('here'); setInterval(() => {}, 1000)"
  const child = spawn(process.execPath, ['-e', code], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, SOME_MARK: 'abc' },
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const pid = child.pid ?? 0
  const find = async () => (await table.rows()).find(row => row.pid === pid)
  const row = await find()
  t.equal(row?.group, pid)
  t.same(await find(), row, 'the same whenever one looks')
  const births = await table.births([2 ** 22 + 1, pid])
  t.same([...births], [[pid, row?.born]], 'the same when one asks for it alone')
  const self = (await table.rows()).find(one => one.pid === process.pid)
  t.ok(self)
  t.equal(await table.carries(pid, 'SOME_MARK', 'abc'), true)
  t.equal(await table.carries(pid, 'SOME_MARK', 'ab'), false, 'a part of the value is not the value')
  t.equal(await table.carries(2 ** 22 + 1, 'SOME_MARK', 'abc'), false, 'nobody carries nothing')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.equal(await find(), undefined)
  t.equal((await table.births([pid])).size, 0)
})

t.test('what ps of macOS prints is read, and zombies are left out', async t => {
  const text = [
    '    1     1 Ss   Mon Aug  3 10:00:01 2026    ',
    ' 4711  4700 S+   Tue Aug 11 09:05:59 2026',
    ' 4712  4700 Z    Tue Aug 11 09:05:59 2026',
    'nonsense',
    '',
  ].join('\n')
  t.same(rowsOfPs(text), [
    { pid: 1, group: 1, born: 'Mon Aug 3 10:00:01 2026' },
    { pid: 4711, group: 4700, born: 'Tue Aug 11 09:05:59 2026' },
  ])
})

t.test('what PowerShell prints is read', async t => {
  t.same(rowsOfWindows('4 0 133000000000000000\r\n\r\nGet-Cim : no\r\n812 4 116444736000010000\r\n'), [
    { pid: 4, group: 4, parent: 0, born: '133000000000000000', bornMs: Date.UTC(2022, 5, 18, 4, 26, 40) },
    { pid: 812, group: 812, parent: 4, born: '116444736000010000', bornMs: 1 },
  ])
})

t.test(
  'the output of ps is the process table where /proc is missing',
  { skip: skip || !existsSync('/bin/ps') },
  async t => {
    const table = processTable('darwin')
    const self = (await table.rows()).find(({ pid }) => pid === process.pid)
    t.match(self, { pid: process.pid, group: Number, born: / \d{4}$/ })
    t.same([...(await table.births([process.pid]))], [[process.pid, self?.born]])
    t.equal(await table.carries(2 ** 22 + 1, 'SOME_MARK', 'abc'), false)
    t.notOk((await table.carriers('SOME_MARK', 'abc')).includes(process.pid), 'who asks is none of them')
  },
)

t.test('on Windows, no process is recognized by its environment', async t => {
  const table = processTable('win32')
  t.same([...(await table.births([process.pid]))], [])
  t.equal(await table.carries(process.pid, 'PATH', process.env['PATH'] ?? ''), false)
  t.same(await table.carriers('PATH', ''), [])
})

import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseRecord, readRecords } from '../../../src/app/state/instance-record.js'
import { skipWithout } from '../../support/platform.js'

const MARK = 'aaaaaaaaaaaaaaaaaaaaaa'
const RECORD = {
  version: 1,
  mark: MARK,
  place: 'here',
  pid: 4711,
  born: 'then',
  startedAt: '2026-08-01T00:00:00.000Z',
  writtenAt: '2026-08-02T00:00:00.000Z',
  verb: 'serve',
  url: 'http://127.0.0.1:1/mcp',
  config: '/etc/mcp.json',
  children: [{ pid: 4712, sinceMs: 1_800_000_000_000, born: 'later' }],
}

t.test('a record comes back as it was written', async t => {
  t.same(parseRecord(JSON.stringify(RECORD)), RECORD)
  t.same(parseRecord(JSON.stringify({ ...RECORD, url: 1, config: null })), {
    ...RECORD,
    url: undefined,
    config: undefined,
  })
})

t.test('what is no record of ours is none', async t => {
  const bad = [
    null,
    [],
    1,
    { ...RECORD, version: 2 },
    { ...RECORD, mark: undefined },
    { ...RECORD, pid: 0 },
    { ...RECORD, pid: 1 },
    { ...RECORD, pid: '4711' },
    { ...RECORD, pid: 1.5 },
    { ...RECORD, children: {} },
  ]
  for (const value of bad) t.equal(parseRecord(JSON.stringify(value)), undefined)
  const children = [{ pid: 1 }, { pid: -5 }, null, 'x', { pid: 7, born: 3, sinceMs: '1' }]
  t.same(parseRecord(JSON.stringify({ ...RECORD, children }))?.children, [
    { pid: 7, born: undefined, sinceMs: Number.NaN },
  ])
})

t.test('only files that nobody else can have written are read', { skip: skipWithout.modes }, async t => {
  const folder = t.testdir()
  const write = (mark: string, text: string, mode = 0o600) => {
    writeFileSync(join(folder, `${mark}.json`), text, { mode })
    chmodSync(join(folder, `${mark}.json`), mode)
  }
  const text = (mark: string) => JSON.stringify({ ...RECORD, mark })
  write(MARK, text(MARK))
  write('bbbbbbbbbbbbbbbbbbbbbb', text('bbbbbbbbbbbbbbbbbbbbbb'), 0o666)
  write('cccccccccccccccccccccc', text(MARK))
  write('dddddddddddddddddddddd', '{"version":')
  write('too-short', text('too-short'))
  write('eeeeeeeeeeeeeeeeeeeeee', ' '.repeat(2 ** 20 + 1))
  symlinkSync(join(folder, `${MARK}.json`), join(folder, 'ffffffffffffffffffffff.json'))
  t.same(
    (await readRecords(folder)).map(({ mark }) => mark),
    [MARK],
  )
  t.same(await readRecords(join(folder, 'nowhere')), [])
})

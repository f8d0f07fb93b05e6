import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { hashOfLine, LineChain } from '../../../src/telemetry/audit/chain.js'
import { verifyAudit } from '../../../src/telemetry/audit/verify.js'

/** Returns the lines of a run, `after` a line of another one. */
const run = (count: number, after: string | null = null, chain = new LineChain()): string[] => {
  const lines = Array.from({ length: count }, (_, at) =>
    JSON.stringify(at === 0 ? { audit: 'chain', after } : { audit: 'call', name: `tool ${at}` }),
  )
  const sealed = chain.seal(lines)
  chain.wrote(sealed)
  return sealed.map(({ text }) => text)
}

t.test('every change of a line shows, at its place', async t => {
  const dir = t.testdir()
  const file = join(dir, 'audit.jsonl')
  const lines = run(6)
  const check = async (changed: readonly string[]) => {
    writeFileSync(file, changed.map(line => `${line}\n`).join(''))
    const { ok, breaks } = await verifyAudit([file])
    return ok ? 'ok' : breaks.map(({ line, what }) => [line, what])
  }
  const edited = lines.map((line, at) => (at === 3 ? line.replace('tool 3', 'tool 9') : line))
  const rows: readonly (readonly [string, readonly string[], unknown])[] = [
    ['unchanged', lines, 'ok'],
    ['edited', edited, [[4, 'the line was edited']]],
    ['removed', lines.toSpliced(3, 1), [[4, 'lines before it were removed or moved']]],
    ['repeated', lines.toSpliced(3, 0, lines[2] ?? ''), [[4, 'the line is repeated or was moved']]],
    [
      'swapped',
      [0, 1, 3, 2, 4, 5].map(at => lines[at] ?? ''),
      [
        [3, 'lines before it were removed or moved'],
        [4, 'the line is repeated or was moved'],
      ],
    ],
    ['no JSON', lines.toSpliced(6, 0, '{'), [[7, 'the line is not JSON']]],
    ['a foreign line', lines.toSpliced(2, 0, '{"audit":"call"}'), [[3, 'the line belongs to no chain']]],
    ['a torn line, covered', [...lines.slice(0, 5), '{"to', ...run(2, hashOfLine('{"to'))], 'ok'],
    [
      'a torn line, repeated',
      [...lines.slice(0, 5), '{"to', '{"to', ...run(2, hashOfLine('{"to'))],
      [[7, 'the line is not JSON']],
    ],
    ['too long', lines.toSpliced(2, 0, 'x'.repeat(2 ** 20 + 1)), [[3, 'the line is longer than 1 MiB']]],
    ['the first lines are gone', lines.slice(2), 'ok'],
    ['the last lines are gone', lines.slice(0, 4), 'ok'],
  ]
  for (const [what, changed, expected] of rows) t.same(await check(changed), expected, what)
})

t.test('several runs in one file, interleaved, are checked on their own', async t => {
  const file = join(t.testdir(), 'audit.jsonl')
  const one = run(4)
  const last = one.at(-1) ?? ''
  const after = hashOfLine(last)
  const other = run(3, after)
  const mixed = [...one.slice(0, 4), ...other]
  const check = async (lines: readonly string[], head?: string) => {
    writeFileSync(file, `${lines.join('\n')}\n`)
    return await verifyAudit([file], head)
  }
  t.match(await check(mixed), { ok: true, lines: 7, chains: [{ from: 0, to: 3, head: after }, { to: 2 }] })
  const third = run(3)
  t.match(await check(one.flatMap((line, at) => [line, ...third.slice(at, at + 1)])), { ok: true })
  t.match(
    await check(mixed.toSpliced(3, 1)),
    { ok: false, breaks: [{ line: 4 }] },
    'the end of a run is gone',
  )
  t.match(
    await check(mixed.toSpliced(4, 1)),
    { ok: false, breaks: [{ line: 5 }] },
    'the start of a run is gone',
  )
  t.match(await check(one.slice(0, 3), after), { ok: false, breaks: [{ line: 3, what: /no line has/ }] })
  t.match(await check(mixed, after), { ok: true }, 'a head of earlier')
  t.equal(readFileSync(file, 'utf8').split('\n').length, 8)
})

t.test('a rotated file may begin within several runs, also after the start of a new one', async t => {
  const file = join(t.testdir(), 'audit.jsonl')
  const chain = new LineChain()
  run(4, null, chain)
  const started = run(2)
  const reopened = run(3, hashOfLine(started[0] ?? ''), chain)
  const check = async (lines: readonly string[]) => {
    writeFileSync(file, `${lines.join('\n')}\n`)
    return await verifyAudit([file])
  }
  t.match(await check([started[0] ?? '', ...reopened, started[1] ?? '']), { ok: true, lines: 5 })
  t.match(
    await check([started[0] ?? '', ...reopened.slice(1), started[1] ?? '']),
    { ok: false, breaks: [{ line: 2, what: 'lines before it were removed' }] },
    'the line of the reopening is gone',
  )
})

t.test('files are read in order, and one that is missing is an error', async t => {
  const dir = t.testdir()
  const lines = run(6)
  const files = ['1', '2'].map(name => join(dir, name))
  writeFileSync(files[0] ?? '', `${lines.slice(0, 3).join('\n')}\n`)
  writeFileSync(files[1] ?? '', `${lines.slice(3).join('\n')}\n`)
  t.match(await verifyAudit(files), { ok: true, files: 2, lines: 6, chains: [{ from: 0, to: 5 }] })
  t.match(await verifyAudit(files.toReversed()), { ok: false })
  await t.rejects(verifyAudit([join(dir, 'none')]), { code: 'ENOENT' })
})

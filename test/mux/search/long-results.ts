import fc from 'fast-check'
import t from 'tap'
import { type JsonText, textOf, valueOf } from '../../../src/kernel/json/text.js'
import type { Viewer } from '../../../src/model/links.js'
import { succeeded } from '../../../src/model/outcome.js'
import { LongResults } from '../../../src/mux/search/long-results.js'
import { FakeClock } from '../../support/fake-clock.js'
import { holds, runs } from '../../support/property.js'

const MIB = 1024 * 1024

const viewer = (id: number): Viewer =>
  ({ client: { id }, caller: { principal: 'person ann', scopes: undefined } }) as unknown as Viewer

const keeping = (max: number) => {
  const clock = new FakeClock()
  const results = new LongResults({ clock, maxChars: () => max, viewOf: () => '' })
  const cut = (who: Viewer, text: string) => {
    const outcome = results.cut(who, succeeded(textOf({ content: [{ type: 'text', text }] })))
    const { content } = valueOf((outcome as { result: JsonText }).result) as { content: { text: string }[] }
    const [shown, remark] = content.map(block => block.text)
    const [, id = '', offset = ''] = /read_result id=(\w+) offset=(\d+)/.exec(remark ?? '') ?? []
    return { shown: shown ?? '', remark, id, offset: Number(offset) }
  }
  const read = (who: Viewer, id: string, offset: number, length: number) =>
    results.read(who, { id, offset, length, find: undefined })
  return { clock, results, cut, read }
}

/** Puts together what is read on, piece by piece; throws where a character was cut in two. */
const readOn = (kept: ReturnType<typeof keeping>, who: Viewer, text: string, length: number): string => {
  const { id, offset } = kept.cut(who, text)
  const pieces = [text.slice(0, offset)]
  for (let next: number | undefined = offset; next !== undefined; ) {
    const said: string = kept.read(who, id, next, length) ?? ''
    const end = said.lastIndexOf('\n[')
    pieces.push(said.slice(0, end))
    const more = /offset=(\d+)\]$/.exec(said.slice(end))
    if (more !== null && Number(more[1]) <= next) throw new Error(`no way on: ${said.slice(end)}`)
    next = more === null ? undefined : Number(more[1])
  }
  for (const piece of pieces)
    if (/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(piece)) throw new Error('half a character')
  return pieces.join('')
}

void holds(
  t,
  'whatever is cut is read on to its end, piece by piece, and no character is cut in two',
  fc.property(
    fc.array(fc.constantFrom('a', 'ä', '\n', '\r\n', '😀', '👩‍👩‍👧', ' word', '[', '\n['), {
      minLength: 30,
      maxLength: 300,
    }),
    fc.integer({ min: 4, max: 25 }),
    fc.integer({ min: 2, max: 40 }),
    (words, max, length) => {
      const text = words.join('')
      const kept = keeping(max)
      if (readOn(kept, viewer(1), text, length) !== text) throw new Error('not the same')
      kept.results.close()
    },
  ),
  runs(500).numRuns,
)

t.test('eight mebibytes are read on to their end', t => {
  const line = `${'lorem ipsum 😀 '.repeat(20)}\n`
  const text = line.repeat(Math.floor((8 * MIB) / line.length))
  const kept = keeping(48_000)
  t.ok(kept.cut(viewer(1), text).shown.endsWith(' '), 'the first piece ends with a line')
  t.ok(readOn(kept, viewer(1), text, 48_000) === text)
  t.end()
})

t.test('a result beyond the stored size is cut, with a note', t => {
  const kept = keeping(1000)
  const { remark, id } = kept.cut(viewer(1), 'x'.repeat(8 * MIB + 1))
  t.equal(id, '')
  t.match(remark, 'The rest was too long to keep: ask for less.')
  t.equal(kept.results.size, 0)
  t.end()
})

t.test('the oldest results go where a client, or all of them, have too many', t => {
  const kept = keeping(1000)
  const large = 'x'.repeat(6 * MIB)
  const first = kept.cut(viewer(1), large)
  t.ok(kept.read(viewer(1), first.id, 0, 10))
  kept.cut(viewer(1), large)
  t.equal(kept.read(viewer(1), first.id, 0, 10), undefined, '16 MiB for a client')
  for (let id = 2; id < 9; id++) kept.cut(viewer(id), large)
  t.equal(kept.results.size, 5, '64 MiB for all')
  t.end()
})

t.test('results go with the session that they belong to, and after ten minutes', t => {
  const kept = keeping(1000)
  const [mine, other] = [viewer(1), viewer(2)]
  const text = 'word\n'.repeat(1000)
  const gone = kept.cut(mine, text)
  const stays = kept.cut(other, text)
  kept.results.forget(mine.client)
  t.equal(kept.read(mine, gone.id, 0, 10), undefined)
  t.match(kept.read(other, stays.id, 0, 10), /^word\nword\n/)
  kept.clock.advance(600_001)
  t.equal(kept.results.size, 0)
  t.end()
})

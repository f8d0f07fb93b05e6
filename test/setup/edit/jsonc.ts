import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { type ParseError, parse } from 'jsonc-parser'
import t from 'tap'
import { edit } from '../../../src/setup/edit/change.js'
import { parseJsonc } from '../../../src/setup/edit/jsonc.js'
import { holds } from '../../support/property.js'

type Layout = readonly [open: string, gaps: readonly string[], close: string, hasComma: boolean]

/** Lists of distinct texts on one line or several, with comments anywhere. */
const layout: fc.Arbitrary<Layout> = fc.tuple(
  fc.constantFrom('', ' ', '\n    ', ' // open\n    ', '\n    // open\n    ', '/* open */'),
  fc.array(fc.constantFrom(',', ', ', ',\n    ', ', // end\n    ', ' /* in */, ', ',\n    // own\n    '), {
    maxLength: 4,
  }),
  fc.constantFrom('', ' ', '\n  ', ' // close\n  ', '\n    // close\n  '),
  fc.boolean(),
)

const textOf = ([open, gaps, close, hasComma]: Layout): string => {
  const items = gaps.map((gap, at) => `"x${at}"${gap}`).join('')
  return `{\n  // before\n  "d": [${open}${items}"last"${hasComma ? ',' : ''}${close}], // after\n  "z": 1\n}\n`
}

const listIn = (text: string): readonly string[] => {
  const errors: ParseError[] = []
  const { d } = parse(text, errors, { allowTrailingComma: true }) as { d: readonly string[] }
  if (errors.length > 0) throw new Error(`not JSON: ${text}`)
  return d
}

const written = (text: string, value: readonly string[]): string =>
  edit(parseJsonc, text, [{ at: [], name: 'd', value }])

const commentsIn = (text: string): readonly string[] => text.match(/\/\/ \w+|\/\* \w+ \*\//g) ?? []

void holds(
  t,
  'an element that is added to a list and removed again leaves the bytes as they were',
  fc.property(layout, each => {
    const text = textOf(each)
    const list = listIn(text)
    const added = written(text, [...list, 'new'])
    deepEqual(listIn(added), [...list, 'new'])
    equal(written(added, list), text)
  }),
)

void holds(
  t,
  'a list that loses an element keeps the others and all comments',
  fc.property(layout, fc.nat(), (each, index) => {
    const text = textOf(each)
    const list = listIn(text)
    const left = list.toSpliced(index % list.length, 1)
    const removed = written(text, left)
    deepEqual(listIn(removed), left)
    deepEqual(commentsIn(removed), commentsIn(text))
  }),
)

t.test('an empty list is filled where it is, and its comments stay', async t => {
  const rows: readonly (readonly [before: string, after: string])[] = [
    ['{\n  "d": [] // c\n}\n', '{\n  "d": ["new"] // c\n}\n'],
    ['{\n  "d": [\n    // none\n  ]\n}\n', '{\n  "d": [\n    // none\n    "new"\n  ]\n}\n'],
    ['{"d":[]}', '{"d":["new"]}'],
  ]
  for (const [before, after] of rows) {
    t.equal(written(before, ['new']), after)
    t.equal(written(after, []), before)
  }
})

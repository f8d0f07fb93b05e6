import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { endsIn, LONG_BYTES } from '../../../src/kernel/json/long-values.js'
import { LEFT_OUT, outlineOf } from '../../../src/kernel/json/outline.js'
import { values } from '../../support/arbitraries.js'
import { holds } from '../../support/property.js'

const outline = (text: string) => outlineOf(Buffer.from(text))
const LONG = 'x'.repeat(LONG_BYTES)

t.test('an outline is the text itself, but for what its long strings hold', async t => {
  const same = ['', '{}', '"a', '{"a":"b"}', '['.repeat(1024)]
  for (const text of same) t.equal(outline(text), text)
  const rows = [
    [`"${LONG}"`, `"${LEFT_OUT}"`],
    [`{"a":"\\"b\\\\","c":"${LONG}"}`, `{"a":"\\"b\\\\","c":"${LEFT_OUT}"}`],
    [`{"a":"\\"${LONG}\\n\\"${LONG}","b":"${LONG}"} `, `{"a":"${LEFT_OUT}","b":"${LEFT_OUT}"} `],
    [`{"${LONG}":["é",0]}`, `{"${LEFT_OUT}":["\xc3\xa9",0]}`],
  ]
  for (const [text = '', expected] of rows) t.equal(outline(text), expected)
})

t.test(
  'what is long beside its strings has no outline, nor a string with an escape that is not short',
  async t => {
    for (const text of [
      `[${'0,'.repeat(1000)}0]`,
      `["${LONG}"${',0'.repeat(600)}]`,
      `["${LONG}\\u0061"]`,
      `["${LONG}\n"]`,
      `["${LONG}`,
      JSON.stringify(Array.from({ length: 1000 }, () => LONG)),
    ])
      t.equal(outline(text), undefined)
  },
)

t.test('the ends of the longest strings are remembered, and told by those who remember them', async t => {
  const text = Buffer.from(`["${'x'.repeat(LONG_BYTES)}"]`)
  t.ok(outlineOf(text))
  t.equal(endsIn(text)?.get(text.byteOffset + 1), text.byteOffset + text.length - 1)
  // Nobody writes to what was once read; but so a test can see that it is not read again.
  text[5] = 0
  t.equal(outlineOf(text), `["${LEFT_OUT}"]`)
  t.equal(outlineOf(text.subarray(0, -2)), undefined, 'in a part of it the string does not end')
})

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

void holds(
  t,
  'an outline is JSON exactly if the text is, whatever is put into it behind quotes',
  fc.property(
    values,
    fc.array(fc.tuple(fc.nat(), fc.constantFrom(LONG, '\\"x\\n'.repeat(LONG_BYTES / 4), '\\', '"')), {
      maxLength: 3,
    }),
    (text, runs) => {
      const parts = text.split('"')
      for (const [n, run] of runs) parts[n % parts.length] = run + parts[n % parts.length]
      const long = parts.join('"')
      const found = outline(long)
      if (found !== undefined) assert.equal(isJson(found), isJson(long))
    },
  ),
)

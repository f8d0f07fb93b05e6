import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson } from '../../../src/kernel/json/canonical.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { runs } from '../../support/property.js'

const SAME: readonly (readonly [why: string, one: string, two: string, canonical: string])[] = [
  ['white space', '{ "a" : [ 1 , 2 ] }', '{"a":[1,2]}', '{"a":[1,2]}'],
  [
    'order of members, at every level',
    '{"b":{"d":1,"c":2},"a":0}',
    '{"a":0,"b":{"c":2,"d":1}}',
    '{"a":0,"b":{"c":2,"d":1}}',
  ],
  ['escapes', '"\\u0061\\/\\u20ac\\u000a"', '"a/€\\n"', '"a/€\\n"'],
  ['escapes in keys', '{"\\u0061":1}', '{"a":1}', '{"a":1}'],
  ['spellings of a number', '[1.0,1e2,0.10,-0,1E-7]', '[1,100,0.1,0,0.0000001]', '[1,100,0.1,0,1e-7]'],
  ['a large power', '1000000000000000000000', '1e21', '1e+21'],
]

t.test('two spellings of one value have one canonical text', async t => {
  for (const [why, one, two, canonical] of SAME) {
    t.equal(canonicalJson(rawText(one)), canonical, why)
    t.equal(canonicalJson(rawText(two)), canonical, why)
  }
})

t.test('keys are sorted by UTF-16 units (RFC 8785, 3.2.3)', async t => {
  const sorted = ['\r', '1', '\u0080', 'ö', '€', '😀', '\ufb33']
  const text = textOf(Object.fromEntries([...sorted].reverse().map(key => [key, 0])))
  t.equal(canonicalJson(text), `{${sorted.map(key => `${JSON.stringify(key)}:0`).join(',')}}`)
})

t.test('numbers that a double cannot hold keep their text, so different ones stay different', async t => {
  for (const text of [
    '12345678901234567890',
    '12345678901234567891',
    '1e400',
    '-1e400',
    '1e-400',
    '0.10000000000000000555',
  ]) {
    t.equal(canonicalJson(rawText(text)), text)
  }
  t.not(canonicalJson(rawText('9007199254740993')), canonicalJson(rawText('9007199254740992')))
})

t.test('repeated members are both there', async t => {
  t.equal(canonicalJson(rawText('{"b":1,"a":1,"a":2}')), '{"a":1,"a":2,"b":1}')
})

t.test('what was parsed and written again has the same canonical text', async t => {
  const isStable = fc.property(fc.jsonValue(), value => {
    const text = JSON.stringify(value)
    const canonical = canonicalJson(rawText(text))
    return (
      isDeepStrictEqual(JSON.parse(canonical), JSON.parse(text)) &&
      canonicalJson(rawText(canonical)) === canonical &&
      canonicalJson(textOf(JSON.parse(text))) === canonical
    )
  })
  t.doesNotThrow(() => fc.assert(isStable, runs(300)))
})

import fc from 'fast-check'
import t from 'tap'
import { endsIn, LONG_BYTES, rememberCopy } from '../../../src/kernel/json/long-values.js'
import {
  elementsOf,
  type JsonText,
  memberOf,
  membersOf,
  oneLine,
  rawText,
  readJson,
} from '../../../src/kernel/json/text.js'

/** Behind the long value that is remembered to start at `i`. */
const rememberedEnd = (bytes: Buffer, i: number): number | undefined => {
  const end = endsIn(bytes)?.get(bytes.byteOffset + i)
  return end && end - bytes.byteOffset
}

/** Long and short strings with all that is hard in them, between white space of all kinds. */
const string = fc
  .tuple(
    fc.constantFrom(1, 40, LONG_BYTES - 2, LONG_BYTES, 20_000),
    fc.constantFrom('x', 'é', '\\', '"', '{"a":1}\n'),
  )
  .map(([length, unit]) => JSON.stringify(unit.repeat(length)))
const space = fc.constantFrom('', ' ', '\n', '\r\n', '\t ')
const members = fc.array(fc.tuple(space, string, space), { maxLength: 24 })

const textOf = (parts: readonly (readonly [string, string, string])[]): string =>
  `{${parts.map(([before, value, after], n) => `${before}"k${n}"${after}:${before}${value}${after}`).join(',')}}`

t.test('members are found, and line breaks leave, as if nothing were remembered', t => {
  fc.assert(
    fc.property(members, members, (one, other) => {
      // Both in the same memory, the second read first: what is remembered of one must not be taken for the
      // other's.
      const texts = [textOf(one), textOf(other)]
      const joined = Buffer.from(texts.join('\n'))
      const cut = Buffer.byteLength(texts[0] ?? '')
      const read = [joined.subarray(cut + 1), joined.subarray(0, cut)].map(bytes => readJson(bytes))
      for (const [at, text] of [texts[1] ?? '', texts[0] ?? ''].entries()) {
        const json = read[at]
        if (json === undefined) return false
        const meant = Object.entries(JSON.parse(text) as Record<string, string>)
        const found = [...membersOf(json)].map(({ key, value }) => [
          key,
          JSON.parse(value.toString()) as string,
        ])
        if (JSON.stringify(found) !== JSON.stringify(meant)) return false
        for (const [key, value] of meant) {
          if (JSON.parse(memberOf(json, key)?.toString() ?? 'null') !== value) return false
        }
        if (oneLine(json).toString() !== text.replaceAll(/[\r\n]/g, ' ')) return false
      }
      return true
    }),
    { numRuns: 60 },
  )
  t.end()
})

t.test('a long value is found at its place in every slice that holds all of it, and in no other', t => {
  const long = { string: JSON.stringify('x'.repeat(LONG_BYTES)), array: `[${'0,'.repeat(LONG_BYTES)}{}]` }
  for (const [kind, value] of Object.entries(long)) {
    const bytes = Buffer.from(`{"params":{"long":${value}},"id":1}`)
    const text = readJson(bytes)
    const params = memberOf(text, 'params')
    const from = '{"long":'.length
    t.equal(params && rememberedEnd(params, from), from + value.length, kind)
    const part = bytes.subarray(0, 100) as JsonText
    t.equal(memberOf(part, 'params')?.length, 100 - '{"params":'.length, 'a slice that ends in it ends it')
    t.equal(rememberedEnd(Buffer.from(bytes), '{"params":{"long":'.length), undefined)
  }
  t.end()
})

t.test('what is walked over for the first time is remembered as well: values, and the space between', t => {
  const space = ' '.repeat(LONG_BYTES)
  for (const value of [`[${space}]`, `{"a":"${space}"}`, '1'.repeat(LONG_BYTES), `"${space}"`]) {
    const text = rawText(`{"long":${value},"gap":${space}1}`)
    t.equal(memberOf(text, 'gap')?.toString(), '1')
    t.equal(rememberedEnd(text, '{"long":'.length), '{"long":'.length + value.length)
    t.equal(rememberedEnd(text, text.length - space.length - 2), text.length - 2)
  }
  t.end()
})

t.test('of values inside each other only so many are remembered, and those are the longest', t => {
  const depth = 400
  const chain = '['.repeat(depth) + ' '.repeat(LONG_BYTES) + ']'.repeat(depth)
  const text = readJson(Buffer.from(`[${Array.from({ length: 100 }, () => chain).join()}]`))
  const places = Array.from({ length: text.length }, (_, i) => i)
  const found = places.filter(i => rememberedEnd(text, i) !== undefined)
  t.ok(found.length <= 16_384, `${found.length} are remembered`)
  t.equal(rememberedEnd(text, 0), text.length)
  t.end()
})

t.test('for a small part of a large message not all that is remembered of the message is looked at', t => {
  const value = JSON.stringify('x'.repeat(LONG_BYTES))
  const [first] = elementsOf(readJson(Buffer.from(`[${Array.from({ length: 16_000 }, () => value).join()}]`)))
  // So many times that only work in proportion to the part comes to the end of: anything else meets the time
  // limit of the test.
  const copy = Buffer.alloc(2 * LONG_BYTES)
  for (let times = 0; first !== undefined && times < 400_000; times++) {
    rememberCopy(first, copy, offset => offset)
  }
  t.equal(rememberedEnd(copy, 0), value.length)
  t.end()
})

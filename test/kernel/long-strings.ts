import fc from 'fast-check'
import t from 'tap'
import { memberOf, membersOf, oneLine, readJson } from '../../src/kernel/json-text.js'
import { LONG_BYTES, outsideLongStrings, rememberedEnd } from '../../src/kernel/long-strings.js'

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
      // Both in the same memory, the second read first: what is remembered of one must not be taken for the other's.
      const texts = [textOf(one), textOf(other)]
      const joined = Buffer.from(texts.join('\n'))
      const cut = Buffer.byteLength(texts[0] ?? '')
      const read = [joined.subarray(cut + 1), joined.subarray(0, cut)].map(bytes => readJson(bytes))
      for (const [at, text] of [texts[1] ?? '', texts[0] ?? ''].entries()) {
        const json = read[at]
        if (json === undefined) return false
        const meant = Object.entries(JSON.parse(text) as Record<string, string>)
        const found = membersOf(json).map(({ key, value }) => [key, JSON.parse(value.toString()) as string])
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

t.test('a long string is found at its place in every slice that holds all of it, and in no other', t => {
  const long = JSON.stringify('x'.repeat(LONG_BYTES))
  const bytes = Buffer.from(`{"params":{"long":${long}},"id":1}`)
  const text = readJson(bytes)
  const params = memberOf(text, 'params')
  const from = '{"long":'.length
  t.equal(params && rememberedEnd(params, from), from + long.length)
  t.equal(rememberedEnd(bytes.subarray(0, 100), '{"params":{"long":'.length), undefined)
  t.equal(rememberedEnd(Buffer.from(bytes), '{"params":{"long":'.length), undefined)
  t.equal(params && Buffer.concat(outsideLongStrings(params)).toString(), '{"long":}')
  t.end()
})

t.test('nothing is remembered once the message has been dealt with', async t => {
  const bytes = Buffer.from(JSON.stringify({ long: 'x'.repeat(LONG_BYTES) }))
  const text = readJson(bytes)
  t.type(rememberedEnd(text, '{"long":'.length), 'number')
  await Promise.resolve()
  t.equal(rememberedEnd(text, '{"long":'.length), undefined)
})

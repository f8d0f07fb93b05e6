import fc from 'fast-check'
import t from 'tap'
import { createFindSpecial } from '../../../src/kernel/json/long-strings.js'
import { JsonTextError, readJson } from '../../../src/kernel/json/text.js'
import { runs } from '../../support/property.js'

const find = createFindSpecial()

t.test('the first byte that may not simply stand in a string is found wherever it is', async t => {
  if (find === undefined) throw new Error('there is no WebAssembly')
  for (const length of [0, 1, 15, 16, 17, 511, 512, 513, 4096, 65_535, 65_536, 200_000]) {
    const plain = Buffer.alloc(length, 'é lorem \x7f ÿ')
    t.equal(find(plain, 0), length)
    for (const special of [0, 1, 0x0a, 0x1f, 0x22]) {
      for (const at of [0, length >> 1, length - 1]) {
        if (at < 0 || at >= length) continue
        const bytes = Buffer.from(plain)
        bytes[at] = special
        t.equal(find(bytes, 0), at, `${special} at ${at} of ${length}`)
        t.equal(find(bytes, at), at)
      }
    }
  }
})

t.test('what a search looked at before does not count', async t => {
  t.equal(find?.(Buffer.alloc(1000, '"'), 0), 0)
  t.equal(find?.(Buffer.from('abc'), 0), 3)
})

/** Long strings with escapes of all kinds at any place, some of them broken. */
const pieces = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 3000 }).map(length => 'x'.repeat(length)) },
  { weight: 6, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u00e9', '\\ud83d', 'é😀') },
  { weight: 1, arbitrary: fc.constantFrom('\\x', '\n', '\x00', '"', '\\', '\\u00g0') },
)

t.test('long strings are valid exactly when they are for JSON.parse', async () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), parts => {
      const text = `["${parts.join('')}"]`
      let isValid = true
      try {
        JSON.parse(text)
      } catch {
        isValid = false
      }
      try {
        const read = readJson(Buffer.from(text))
        return isValid && read.length === Buffer.byteLength(text)
      } catch (thrown) {
        return !isValid && thrown instanceof JsonTextError
      }
    }),
    runs(500),
  )
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { rawText, stringOf } from '../../src/kernel/json/text.js'
import { Words } from '../../src/kernel/words.js'

t.test('a word means what it would mean without those before it', async () => {
  const value = fc.oneof(
    fc.constantFrom(
      '"a"',
      '"b"',
      '"\\u0061"',
      '"é"',
      '"\\""',
      '""',
      '1',
      'null',
      '[]',
      '{"a":1}',
      '"ab"',
      '"\\n"',
    ),
    fc.string({ maxLength: 60 }).map(text => JSON.stringify(text)),
  )
  fc.assert(
    fc.property(fc.array(value, { maxLength: 20 }), values => {
      const words = new Words()
      for (const text of values) {
        const bytes = Buffer.from(`{"x":${text},"y":"a"}`)
        const end = bytes.length - ',"y":"a"}'.length
        assert.equal(words.at(bytes, '{"x":'.length, end), stringOf(rawText(text)), text)
      }
    }),
  )
})

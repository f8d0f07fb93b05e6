import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { sha256 } from '../../src/kernel/sha256.js'

t.test('says the same as the one of Node, around each end of a block', async t => {
  const lengths = [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 121, 128, 1000]
  const texts = [
    ...lengths.map(length => 'a'.repeat(length)),
    '/home/ann/mcp.json\0host 4026531836',
    'é𝄞'.repeat(31),
  ]
  for (const text of texts) t.equal(sha256(text), createHash('sha256').update(text).digest('hex'))
})

t.test('says the same as the one of Node about any text', async () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      text => sha256(text) === createHash('sha256').update(text).digest('hex'),
    ),
  )
})

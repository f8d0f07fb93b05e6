import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { remembered } from '../../../src/eras/shared/remembered.js'
import { type JsonText, memberOf, rawText, textOf } from '../../../src/kernel/json/text.js'

const long = (n: number, length = 100) => textOf({ n, padding: 'x'.repeat(length) })

t.test('a text always gives the same result, in any order of reads', async () => {
  const read = (text: JsonText) => text.toString()
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom(0, 60, 100, 101, 5000)), { maxLength: 100 }),
      fc.nat({ max: 3 }),
      (texts, kept) => {
        const reader = remembered(read, (_result, text) => text.length % 4 <= kept)
        for (const [n, length] of texts) {
          const text = long(n, length)
          assert.equal(reader(text), text.toString())
        }
      },
    ),
  )
})

t.test('a text that came before is not read again, until others have taken its place', async t => {
  let reads = 0
  const reader = remembered(
    text => {
      reads += 1
      return memberOf(text, 'n')?.toString()
    },
    () => true,
  )
  t.same([reader(long(1)), reader(long(1)), reader(long(2)), reader(long(1))], ['1', '1', '2', '1'])
  t.equal(reads, 2)
  for (let n = 3; n <= 18; n++) reader(long(n))
  reader(long(1))
  t.equal(reads, 19)
  const short = rawText('{"n":1}')
  t.same([reader(short), reader(short)], ['1', '1'])
  t.equal(reads, 21, 'short ones are read each time')
})

t.test('results that are not kept are read each time', async t => {
  let reads = 0
  const reader = remembered(
    text => {
      reads += 1
      return text.length
    },
    () => false,
  )
  reader(long(1))
  reader(long(1))
  t.equal(reads, 2)
})

t.test('a kept result does not change with its message', async t => {
  const reader = remembered(
    text => memberOf(text, 'n'),
    () => true,
  )
  const text = long(7)
  reader(text)
  const same = Buffer.from(text)
  text.fill(0x20)
  t.equal(String(reader(rawText(same.toString()))), '7')
})

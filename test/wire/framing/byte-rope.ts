import fc from 'fast-check'
import t from 'tap'
import { ByteAccount } from '../../../src/kernel/byte-account.js'
import { ByteRope } from '../../../src/wire/framing/byte-rope.js'

t.test('the output equals the input, for any cuts', async _t => {
  const lengths = fc.array(fc.oneof(fc.nat(10), fc.nat(9000), fc.constantFrom(4095, 4096, 16_384)))
  fc.assert(
    fc.property(lengths, sizes => {
      const rope = new ByteRope()
      const pieces = sizes.map((size, i) => Buffer.alloc(size, i + 1))
      for (const piece of pieces) rope.add(piece)
      const whole = Buffer.concat(pieces)
      return rope.size === whole.length && rope.take().equals(whole) && rope.size === 0
    }),
  )
})

t.test('bytes that came as one are not copied', async t => {
  const rope = new ByteRope()
  for (const piece of [Buffer.alloc(10), Buffer.alloc(10_000)]) {
    rope.add(piece)
    t.equal(rope.take(), piece)
  }
})

t.test('a removed slice does not change when the rope is used again', async t => {
  const rope = new ByteRope()
  const fill = (text: string) => {
    for (const letter of text) rope.add(Buffer.from(letter))
    return rope.take()
  }
  const first = fill('abc')
  const second = fill('xyz')
  t.equal(first.toString(), 'abc')
  t.equal(second.toString(), 'xyz')
})

t.test('nothing is left after clearing', async t => {
  const rope = new ByteRope()
  rope.add(Buffer.from('a'))
  rope.add(Buffer.from('b'))
  rope.clear()
  t.equal(rope.size, 0)
  t.equal(rope.take().length, 0)
  rope.add(Buffer.from('c'))
  t.equal(rope.take().toString(), 'c')
})

t.test(
  'an account knows how much memory is kept, which is more than the bytes that are collected',
  async t => {
    const account = new ByteAccount(
      () => 2 ** 20,
      () => undefined,
    )
    const rope = new ByteRope(account.open(() => rope.clear()))
    const chunk = Buffer.allocUnsafeSlow(65_536)
    rope.add(chunk.subarray(65_000))
    t.equal(account.bytes, 65_536, 'a piece keeps the chunk that it was cut from')
    rope.add(chunk.subarray(0, 5000))
    t.equal(account.bytes, 65_536, 'once')
    for (let byte = 0; byte < 1000; byte += 1) rope.add(Buffer.from('a'))
    t.equal(account.bytes, 65_536 + 16_384, 'short pieces are copied together')
    rope.take()
    t.equal(account.bytes, 0)
    rope.add(Buffer.allocUnsafeSlow(2 ** 20))
    t.equal(rope.size, 2 ** 20)
    rope.add(Buffer.allocUnsafeSlow(8192))
    t.equal(rope.size, 0, 'cut')
    t.equal(account.bytes, 0)
  },
)

import fc from 'fast-check'
import t from 'tap'
import { FrameMeter } from '../../../src/transport/ws/frame-meter.js'
import { cutInto } from '../../support/property.js'

const CONTINUED = 0
const TEXT = 1
const PING = 9

/** A frame of RFC 6455 §5.2. */
const frame = (opcode: number, payloadBytes: number, { fin = true, mask = true } = {}): Buffer => {
  const head = Buffer.alloc(payloadBytes < 126 ? 2 : payloadBytes < 65_536 ? 4 : 10)
  head[0] = opcode | (fin ? 0x80 : 0)
  head[1] = (mask ? 0x80 : 0) | (head.length === 2 ? payloadBytes : head.length === 4 ? 126 : 127)
  if (head.length > 2) head.writeUIntBE(payloadBytes, head.length === 4 ? 2 : 4, head.length === 4 ? 2 : 6)
  return Buffer.concat([head, Buffer.alloc((mask ? 4 : 0) + payloadBytes)])
}

/** What is kept after these bytes came in one chunk. */
const kept = (...frames: readonly Buffer[]): number => new FrameMeter().push(Buffer.concat(frames))

t.test('nothing is kept of whole messages, however their frames are cut', async () => {
  const anyFrame = fc.record({
    sizes: fc.array(fc.constantFrom(0, 1, 125, 126, 65_535, 65_536), { minLength: 1, maxLength: 4 }),
    mask: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(anyFrame, { maxLength: 4 }),
      fc.array(fc.nat(), { maxLength: 8 }),
      (messages, cuts) => {
        const frames = messages.flatMap(({ sizes, mask }) =>
          sizes.flatMap((size, i) => [
            frame(i === 0 ? TEXT : CONTINUED, size, { fin: i === sizes.length - 1, mask }),
            frame(PING, 3, { mask }),
          ]),
        )
        const meter = new FrameMeter()
        let after = 0
        for (const chunk of cutInto(Buffer.concat(frames), cuts)) after = meter.push(chunk)
        return after === 0
      },
    ),
  )
})

t.test(
  'of a message that is not complete the chunks count in which it came, and each of its frames',
  async t => {
    const begun = frame(TEXT, 1, { fin: false })
    const one = kept(begun)
    t.ok(one > 1000)
    t.equal(kept(begun, frame(CONTINUED, 0, { fin: false })), 2 * one - 1, 'an empty one as well')
    t.equal(kept(frame(TEXT, 7), begun) - one, frame(TEXT, 7).length, 'with what else is in the chunk')
    t.equal(kept(begun, frame(PING, 100)) - one, frame(PING, 100).length)
    const meter = new FrameMeter()
    const long = frame(TEXT, 100_000)
    t.ok(meter.push(long.subarray(0, 50_000)) > 50_000)
    t.ok(meter.push(long.subarray(50_000, 99_000)) > 99_000)
    t.equal(meter.push(long.subarray(99_000)), 0)
    t.equal(meter.push(frame(PING, 100)), 0, 'nor a ping')
  },
)

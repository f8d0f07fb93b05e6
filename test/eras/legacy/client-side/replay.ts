import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  lostEvent,
  Replay,
  ReplayTotal,
  replayLimits,
} from '../../../../src/eras/legacy/client-side/replay.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { boundsOf } from '../../../support/values.js'

const WIDE = { events: 1e6, bytes: 1e9, ageMs: 1e9 }

t.test('from every last event, a client gets exactly the rest of that stream in order', async () => {
  const streams = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 60 })
  fc.assert(
    fc.property(streams, fc.nat(), (sends, pick) => {
      const replay = new Replay(new FakeClock(), WIDE)
      const numbers = [0, 1, 2, 3].map(() => replay.open())
      const sent = sends.map((which, index) => {
        const stream = numbers[which] ?? 0
        return { stream, id: replay.record(stream, Buffer.from(String(index))), text: String(index) }
      })
      assert.equal(new Set(sent.map(({ id }) => id)).size, sent.length)
      const seen = sent[pick % Math.max(1, sent.length)]
      if (seen === undefined) return
      const rest = sent.slice(sent.indexOf(seen) + 1).filter(({ stream }) => stream === seen.stream)
      const place = replay.after(seen.id)
      assert.equal(place?.stream, seen.stream)
      assert.deepEqual(
        place.events.map(({ id, frame }) => [id, frame.toString()]),
        rest.map(({ id, text }) => [id, text]),
      )
    }),
  )
})

t.test('with little room a client gets everything that it missed, or hears that it cannot', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 40 })), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 10 }),
      (sends, events) => {
        const replay = new Replay(new FakeClock(), { events, bytes: 100, ageMs: 1000 })
        const numbers = [replay.open(), replay.open()] as const
        const ids = sends.map(([first, size]) => replay.record(numbers[first ? 0 : 1], Buffer.alloc(size)))
        for (const [index, id] of ids.entries()) {
          const rest = ids.slice(index + 1).filter(other => other.split('.')[0] === id.split('.')[0])
          const place = replay.after(id)
          if (place !== undefined)
            assert.deepEqual(
              place.events.map(event => event.id),
              rest,
            )
          else assert.ok(rest.length > 0, 'nothing was missed, so nothing can be missing')
        }
        const newest = ids.at(-1) ?? ''
        assert.deepEqual(replay.after(newest)?.events, [])
      },
    ),
  )
})

t.test('ids that were never given out lead nowhere', async t => {
  const replay = new Replay(new FakeClock(), WIDE)
  const stream = replay.open()
  replay.record(stream, Buffer.from('a'))
  const foreign = [
    '1.2',
    '2.0',
    '0.0',
    '1',
    '1.',
    '.1',
    '1.-1',
    '1.01',
    '01.1',
    '1.1 ',
    '1.1.1',
    'x',
    '',
    '1.1e0',
  ]
  for (const id of [...foreign, '1.9999999999', '9'.repeat(300)]) t.equal(replay.after(id), undefined, id)
  t.ok(replay.after('1.0'))
})

t.test('the newest event is kept regardless of its size, older ones are dropped', async t => {
  const replay = new Replay(new FakeClock(), { events: 10, bytes: 100, ageMs: 1000 })
  const stream = replay.open()
  for (const size of [50, 50, 5000]) replay.record(stream, Buffer.alloc(size))
  t.equal(replay.after('1.2')?.events.length, 1)
  t.equal(replay.after('1.1'), undefined)
})

t.test('events grow too old without any other event, and their ended streams go with them', async t => {
  const clock = new FakeClock()
  const replay = new Replay(clock, { events: 10, bytes: 100, ageMs: 1000 })
  const [ended, open] = [replay.open(), replay.open()]
  replay.record(ended, Buffer.from('answer'))
  replay.record(open, Buffer.from('notice'))
  replay.end(ended)
  clock.advance(1000)
  replay.expire()
  t.equal(replay.after('1.0')?.events.length, 1)
  clock.advance(1)
  replay.expire()
  t.equal(replay.after('1.0'), undefined)
  t.equal(replay.place(ended), '1.0', 'nothing is left of an ended stream')
  t.equal(replay.after('2.0'), undefined)
  t.same(replay.after('2.1')?.events, [], 'an open stream can be taken up where it stands')
  t.equal(replay.place(open), '2.1')
})

t.test('a stream that ended without an event is forgotten at once', async t => {
  const replay = new Replay(new FakeClock(), WIDE)
  const stream = replay.open()
  replay.end(stream)
  replay.end(stream)
  t.equal(replay.after('1.0'), undefined)
  t.throws(() => replay.record(stream, Buffer.from('x')))
})

t.test(
  'all sessions together keep so much: the one that was told nothing for longest lets go first',
  async t => {
    const clock = new FakeClock()
    const bounds = boundsOf({ replayTotal: 2048 }, clock)
    const total = new ReplayTotal(bounds)
    const [one, other] = [1, 2].map(() => new Replay(clock, replayLimits(bounds), total))
    if (one === undefined || other === undefined) throw new Error('there are two')
    const streams = [one.open(), other.open()]
    one.record(streams[0] ?? 0, Buffer.alloc(1000))
    other.record(streams[1] ?? 0, Buffer.alloc(1000))
    t.equal(total.bytes, 2000)
    other.record(streams[1] ?? 0, Buffer.alloc(1000))
    t.equal(total.bytes, 2000)
    t.equal(one.after('1.0'), undefined, 'what came after it is not kept any more')
    t.equal(other.after('1.0')?.events.length, 2)
    t.same(one.after('1.1')?.events, [])
    one.record(streams[0] ?? 0, Buffer.alloc(10))
    t.equal(one.after('1.1')?.events.length, 1, 'what comes later is kept again')
    t.equal(bounds.hits.replayTotal?.hits, 1)
    clock.advance(3_600_000)
    one.expire()
    other.expire()
    t.equal(total.bytes, 0)
  },
)

t.test('a session that begins while memory is short keeps nothing', async t => {
  const bounds = boundsOf()
  bounds.pressure = 1
  const replay = new Replay(new FakeClock(), replayLimits(bounds))
  const stream = replay.open()
  t.equal(replay.record(stream, Buffer.from('a')), '1.1')
  t.equal(replay.after('1.0'), undefined)
  t.same(replay.after('1.1')?.events, [])
})

t.test('an event of an earlier owner names the request that lost its answer, or is refused', async t => {
  const mark = (text: string) => Buffer.from(text).toString('base64url')
  t.same(lostEvent('1-2.4', 2), { is: 'standalone' })
  t.match(lostEvent(`1-2.4~${mark('"a"')}`, 2), { is: 'answer', id: Buffer.from('"a"') })
  for (const forged of [
    '1-2.4~',
    '1-2.4~Ig',
    `1-2.4~${mark('{}')}`,
    `1-2.4~${mark('1,"x":1')}`,
    '2-2.4',
    'x',
  ])
    t.equal(lostEvent(forged, 2), undefined, forged)
})

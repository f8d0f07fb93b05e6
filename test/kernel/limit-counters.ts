import t from 'tap'
import { LimitCounters } from '../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.js'
import { type Logger, silentLogger } from '../../src/kernel/logger.js'
import { FakeClock } from '../support/fake-clock.js'

/** Bounds on a clock that stands still, and what they write to the log. */
const world = () => {
  const clock = new FakeClock()
  const lines: object[] = []
  const log: Logger = { ...silentLogger, warn: facts => lines.push(facts) }
  return { clock, lines, bounds: new LimitCounters({ clock, log }) }
}

t.test('every bound that is reached is counted under the name of its key', async t => {
  const { bounds, clock } = world()
  t.same(bounds.hits, {}, 'nothing is told of bounds that nobody reached')
  bounds.hit('sessions')
  clock.advance(1500)
  bounds.hit('calls')
  bounds.hit('calls')
  t.same(bounds.hits, { sessions: { hits: 1, agoMs: 1500 }, calls: { hits: 2, agoMs: 0 } })
})

t.test('a bound that is reached again and again is logged every 10 s, with how often it was not', async t => {
  const { bounds, clock, lines } = world()
  for (let time = 0; time < 1000; time += 1) bounds.hit('calls', { server: 'a' })
  bounds.hit('sessions')
  t.same(lines, [
    { limit: 'calls', max: 16_384, hits: 1, server: 'a' },
    { limit: 'sessions', max: 10_000, hits: 1 },
  ])
  clock.advance(9_999)
  bounds.hit('calls')
  t.equal(lines.length, 2)
  clock.advance(1)
  bounds.hit('calls', { server: 'b' })
  t.same(lines.at(-1), { limit: 'calls', max: 16_384, hits: 1002, unlogged: 1000, server: 'b' })
})

t.test('a refusal names the limit, its value, and the retry time', async t => {
  const { bounds } = world()
  const fault = bounds.overloaded('serverQueue', 'The server does not read its input', { server: 'a' })
  t.equal(fault.code, 'overloaded')
  t.equal(fault.message, 'The server does not read its input (limits.serverQueue is 8MiB); try again later')
  t.same(fault.data, { limit: 'serverQueue', max: 8 * 2 ** 20, retryAfterMs: 1000, server: 'a' })
  t.equal(bounds.hits.serverQueue?.hits, 1)
})

t.test('changed limits apply at once, except where a server has its own', async t => {
  const { bounds } = world()
  const own = bounds.narrowed({ message: 5000 })
  t.equal(own.max.message, 5000)
  t.equal(own.max.stall, DEFAULT_LIMITS.stall)
  bounds.set({ ...DEFAULT_LIMITS, message: 7000, stall: 1000 })
  t.equal(bounds.max.message, 7000)
  t.equal(own.max.message, 5000)
  t.equal(own.max.stall, 1000)
  own.hit('message')
  t.equal(bounds.hits.message?.hits, 1, 'all count together')
})

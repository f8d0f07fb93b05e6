import fc from 'fast-check'
import t, { type Test } from 'tap'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../src/kernel/limits.js'
import { type Charge, RateBuckets, type SharedRates } from '../../../src/mux/rules/rates.js'
import { FakeClock } from '../../support/fake-clock.js'
import { holds, runs } from '../../support/property.js'
import { rulesOf } from '../../support/rules.js'

const chargesOf = (rate: unknown, key = 'k'): readonly Charge[] => {
  const [rule] = rulesOf([{ rate }])
  if (rule === undefined) throw new Error('no rule')
  return rule.rates.map((each, at) => ({ rule, rate: each, key: `${key} ${at}` }))
}

const start = (options: Partial<ConstructorParameters<typeof RateBuckets>[0]> = {}) => {
  const clock = new FakeClock()
  const zeroMs = clock.nowMs()
  const buckets = new RateBuckets({ clock, bounds: new LimitCounters({ clock }), ...options })
  return { clock, buckets, goTo: (ms: number) => clock.advance(zeroMs + ms - clock.nowMs()) }
}

type Step = readonly [atMs: number, expected: 'ok' | number]

const play = (t: Test, rate: unknown, steps: readonly Step[]): void => {
  const { buckets, goTo } = start()
  for (const [atMs, expected] of steps) {
    goTo(atMs)
    const taken = buckets.take(chargesOf(rate))
    const found = typeof taken === 'object' && 'waitMs' in taken ? taken.waitMs : taken
    t.same(found, expected, `${JSON.stringify(rate)} at ${atMs}`)
  }
}

t.test('calls are spread over the period, with a burst at the start', async t => {
  play(t, '2/10s', [
    [0, 'ok'],
    [0, 'ok'],
    [0, 5000],
    [4999, 1],
    [5000, 'ok'],
    [5001, 4999],
    [30_000, 'ok'],
    [30_000, 'ok'],
    [30_000, 5000],
  ])
  play(t, { limit: '2/10s', burst: 1 }, [
    [0, 'ok'],
    [10, 4990],
    [5000, 'ok'],
  ])
  play(t, '3/1s', [
    [0, 'ok'],
    [0, 'ok'],
    [0, 'ok'],
    [0, 334],
    [334, 'ok'],
  ])
  play(t, '1000/1d', [[0, 'ok']])
})

t.test('a call is charged only if all rates allow it, and the longest wait is reported', async t => {
  play(
    t,
    ['2/10s', '3/1m'],
    [
      [0, 'ok'],
      [0, 'ok'],
      [0, 5000],
      [5000, 'ok'],
      [10_000, 10_000],
      [20_000, 'ok'],
    ],
  )
})

t.test('buckets are bounded: full ones are forgotten first', async t => {
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, rateBuckets: 2 } })
  const { buckets, goTo } = start({ bounds })
  const take = (key: string) => buckets.take(chargesOf('1/10s', key))
  t.equal(take('a'), 'ok')
  t.equal(take('b'), 'ok')
  t.match(take('c'), { over: { key: 'c 0' }, waitMs: undefined })
  t.match(take('a'), { waitMs: 10_000 })
  goTo(10_000)
  t.equal(take('c'), 'ok')
})

t.test('replicas share buckets, and each allows its share while the store does not answer', async t => {
  const waits: (readonly number[] | undefined)[] = [[], [7], undefined]
  const shared: SharedRates = { replicas: 2, take: () => Promise.resolve(waits.shift()) }
  const { buckets } = start({ shared: () => shared })
  const take = () => buckets.take(chargesOf('4/10s'))
  t.equal(await take(), 'ok')
  t.match(await take(), { waitMs: 7 })
  t.equal(await take(), 'ok')
  t.equal(await take(), 'ok')
  t.match(await take(), { waitMs: 5000 })
})

t.test('a store that does not answer within 100 ms is not waited for', async t => {
  const shared: SharedRates = { replicas: 4, take: () => new Promise(() => undefined) }
  const { buckets, clock } = start({ shared: () => shared })
  const first = buckets.take(chargesOf('2/10s'))
  clock.advance(100)
  t.equal(await first, 'ok')
  const second = buckets.take(chargesOf('2/10s'))
  clock.advance(100)
  t.match(await second, { waitMs: 9900 })
})

void holds(
  t,
  'at most the limit and the burst pass in any period',
  fc.property(
    fc.record({ calls: fc.integer({ min: 1, max: 5 }), burst: fc.integer({ min: 1, max: 5 }) }),
    fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 60 }),
    ({ calls, burst }, waits) => {
      const { buckets, clock } = start()
      const passed: number[] = []
      for (const ms of waits) {
        clock.advance(ms)
        const taken = buckets.take(chargesOf({ limit: `${calls}/1s`, burst }))
        if (taken === 'ok') passed.push(clock.nowMs())
        else if (
          typeof taken === 'object' &&
          'waitMs' in taken &&
          !(taken.waitMs >= 1 && taken.waitMs <= 1000)
        )
          throw new Error(`wait ${taken.waitMs}`)
      }
      const most = Math.max(
        0,
        ...passed.map(at => passed.filter(each => each >= at && each < at + 1000).length),
      )
      if (most > calls + burst) throw new Error(`${most} calls passed`)
    },
  ),
  runs(500).numRuns,
)

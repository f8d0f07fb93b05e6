import t from 'tap'
import type { Pressure } from '../../../src/kernel/limit-counters.js'
import {
  type MemorySample,
  pressureOf,
  sampleMemory,
  watchMemory,
} from '../../../src/telemetry/status/memory-pressure.js'
import { FakeClock } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const used = (share: number, heap = 0): MemorySample => ({
  usedBytes: share * 1000,
  limitBytes: 1000,
  heapUsedBytes: heap * 1000,
  heapLimitBytes: 1000,
})

t.test('how short memory is follows from how much is used, and is slow to end', async t => {
  const rows: readonly (readonly [share: number, before: Pressure, now: Pressure])[] = [
    [0.79, 0, 0],
    [0.8, 0, 1],
    [0.85, 0, 2],
    [0.9, 0, 3],
    [0.95, 0, 4],
    [2, 0, 4],
    [0.94, 4, 4],
    [0.91, 4, 3],
    [0.86, 4, 2],
    [0.78, 1, 1],
    [0.76, 4, 0],
  ]
  for (const [share, before, now] of rows) {
    t.equal(pressureOf(used(share), before), now, `${share} after ${before}`)
    t.equal(pressureOf(used(0.1, share), before), now, `${share} of the heap after ${before}`)
  }
})

t.test('what is measured is of this process, and no more than is allowed', async t => {
  const sample = sampleMemory(2 ** 40)
  t.ok(sample.usedBytes > 1e6 && sample.usedBytes < sample.limitBytes)
  t.ok(sample.heapUsedBytes > 1e6 && sample.heapUsedBytes < sample.heapLimitBytes)
  t.equal(sampleMemory(1e6).limitBytes, 1e6)
})

t.test('the bounds learn of it while it lasts, and the log when it changes', async t => {
  const clock = new FakeClock()
  const bounds = boundsOf({ memory: 12_345 }, clock)
  const { log, lines } = recordedLog()
  let share = 0.5
  let relieved = 0
  const asked: number[] = []
  const timer = watchMemory({
    bounds,
    clock,
    log,
    relieve: () => {
      relieved += 1
    },
    sample: maxBytes => {
      asked.push(maxBytes)
      return used(share)
    },
  })
  const levels = [0.5, 0.82, 0.96, 0.96, 0.91, 0.5].map(next => {
    share = next
    clock.advance(500)
    return bounds.pressure
  })
  t.same(levels, [0, 1, 4, 4, 3, 0])
  t.equal(relieved, 3)
  t.equal(asked[0], 12_345)
  t.equal(bounds.inbound.maxBytes, 250, 'what all bytes may be together follows')
  t.equal(lines.length, 4)
  t.equal(bounds.hits.memory?.hits, 2)
  timer.cancel()
  t.equal(clock.pending, 0)
})

t.test('unmeasurable memory, without free file descriptors, changes nothing', async t => {
  const clock = new FakeClock()
  const bounds = boundsOf({}, clock)
  let isBlind = false
  const timer = watchMemory({
    bounds,
    clock,
    log: recordedLog().log,
    relieve: () => undefined,
    sample: () => {
      if (isBlind) throw new Error('EMFILE: too many open files, uv_resident_set_memory')
      return used(0.86)
    },
  })
  clock.advance(500)
  isBlind = true
  clock.advance(5000)
  t.equal(bounds.pressure, 2)
  timer.cancel()
})

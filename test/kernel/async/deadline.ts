import t from 'tap'
import { within } from '../../../src/kernel/async/deadline.js'
import { Deferred } from '../../../src/kernel/async/deferred.js'
import { Fault } from '../../../src/kernel/faults.js'
import { FakeClock } from '../../support/fake-clock.js'

t.test('work that ends in time is what the wait comes to', async t => {
  const clock = new FakeClock()
  t.equal(await within(Promise.resolve(1), { clock, ms: 10 }), 1)
  await t.rejects(within(Promise.reject(new Error('no')), { clock, ms: 10 }), { message: 'no' })
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('work that is late is not waited for, and may fail unseen', async t => {
  const clock = new FakeClock()
  const work = new Deferred<number>()
  const plain = within(work.promise, { clock, ms: 10 })
  const strict = within(work.promise, { clock, ms: 10, timedOut: () => new Fault('timeout', 'too late') })
  clock.advance(10)
  t.equal(await plain, undefined)
  await t.rejects(strict, { code: 'timeout', message: 'too late' })
  work.reject(new Error('nobody hears this'))
})

t.test('a wait ends when its signal is aborted, also if that was before', async t => {
  const clock = new FakeClock()
  const abort = new AbortController()
  const wait = within(new Deferred().promise, { clock, ms: Number.POSITIVE_INFINITY, signal: abort.signal })
  abort.abort()
  await t.rejects(wait, { code: 'cancelled' })
  await t.rejects(within(Promise.resolve(1), { clock, ms: 10, signal: abort.signal }), { code: 'cancelled' })
})

import t from 'tap'
import { Deferred } from '../../../src/kernel/async/deferred.js'
import { Semaphore } from '../../../src/kernel/async/semaphore.js'
import { FakeClock, settled } from '../../support/fake-clock.js'

const never = new AbortController().signal

/** A semaphore and the order in which its users passed. */
const create = (places: number) => {
  const clock = new FakeClock()
  const state = { places, waits: 0 }
  const semaphore = new Semaphore({
    places: () => state.places,
    holdMs: 10_000,
    clock,
    onWait: () => {
      state.waits += 1
    },
  })
  const inside: string[] = []
  const ends = new Map<string, Deferred<string>>()
  const come = (name: string, signal = never): Promise<string> =>
    semaphore.pass(signal, () => {
      inside.push(name)
      const end = new Deferred<string>()
      ends.set(name, end)
      return end.promise
    })
  return { semaphore, inside, ends, come, clock, state }
}

t.test('at most the allowed number enter at a time, the others in order of arrival', async t => {
  const { semaphore, inside, ends, come, state } = create(2)
  const all = ['a', 'b', 'c', 'd', 'e'].map(name => come(name))
  await settled()
  t.same(inside, ['a', 'b'])
  t.equal(semaphore.waiting, 3)
  t.equal(state.waits, 3)
  ends.get('b')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'b', 'c'])
  for (const name of ['a', 'c', 'd', 'e']) {
    ends.get(name)?.resolve('done')
    await settled()
  }
  t.same(await Promise.all(all), Array(5).fill('done'))
  t.same(inside, ['a', 'b', 'c', 'd', 'e'])
})

t.test('work that fails makes room as well, and its failure is told', async t => {
  const { semaphore, inside, ends, come } = create(1)
  const fails = come('a')
  void come('b')
  await settled()
  ends.get('a')?.reject(new Error('no'))
  await t.rejects(fails, { message: 'no' })
  await settled()
  t.same(inside, ['a', 'b'])
  ends.get('b')?.resolve('done')
  await t.rejects(
    semaphore.pass(never, () => {
      throw new Error('at once')
    }),
    { message: 'at once' },
  )
})

t.test('a cancelled waiter stops waiting, and frees its place', async t => {
  const { semaphore, inside, ends, come } = create(1)
  const gone = new AbortController()
  void come('a')
  const waiting = come('b', gone.signal)
  void come('c')
  await settled()
  gone.abort()
  await t.rejects(waiting, { code: 'cancelled' })
  t.equal(semaphore.waiting, 1)
  ends.get('a')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'c'])
  await t.rejects(come('late', gone.signal), { code: 'cancelled' })
  ends.get('c')?.resolve('done')
  await settled()
  void come('d')
  await settled()
  t.same(inside, ['a', 'c', 'd'])
})

t.test('a holder that exceeds its time continues, and no longer counts', async t => {
  const { inside, ends, come, clock } = create(1)
  const slow = come('a')
  void come('b')
  void come('c')
  await settled()
  clock.advance(9999)
  await settled()
  t.same(inside, ['a'])
  clock.advance(1)
  await settled()
  t.same(inside, ['a', 'b'])
  ends.get('a')?.resolve('at last')
  t.equal(await slow, 'at last')
  await settled()
  t.same(inside, ['a', 'b'], 'its place was another’s already')
  ends.get('b')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'b', 'c'])
  ends.get('c')?.resolve('done')
  await settled()
  t.equal(clock.pending, 0)
})

t.test('the number of places may change', async t => {
  const { inside, ends, come, state } = create(1)
  for (const name of ['a', 'b', 'c', 'd']) void come(name)
  await settled()
  state.places = 2
  ends.get('a')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'b', 'c'])
  state.places = 1
  ends.get('b')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'b', 'c'])
  ends.get('c')?.resolve('done')
  await settled()
  t.same(inside, ['a', 'b', 'c', 'd'])
  ends.get('d')?.resolve('done')
})

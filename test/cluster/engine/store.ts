import t, { type Test } from 'tap'
import { createEngineStore } from '../../../src/cluster/engine/engine-store.js'
import type { ClusterStore, MemberFacts } from '../../../src/cluster/engine/store.js'
import { FakeClock } from '../../support/fake-clock.js'
import { connectEngine, noRedis, startRedis } from '../../support/redis.js'
import { SharedMemory } from '../../support/shared-memory.js'

const FACTS: MemberFacts = {
  address: '127.0.0.1:1',
  state: 'ready',
  version: '1',
  keys: ['k'],
  sinceMs: Number.POSITIVE_INFINITY,
}
const OTHER: MemberFacts = { ...FACTS, address: '127.0.0.1:2' }
const LIFE_MS = 60_000
const session = (owner: string, epoch: number, text = 'sealed') => ({
  owner,
  epoch,
  sealed: Buffer.from(text),
})

/** What a kind of engine has to do, whatever it is; `pass` lets that many milliseconds go by for it. */
interface Kind {
  readonly name: string
  readonly skip: string | false
  start(t: Test): Promise<{ store: ClusterStore; pass(ms: number): Promise<void> }>
}

const KINDS: readonly Kind[] = [
  {
    name: 'memory',
    skip: false,
    start: () => {
      const clock = new FakeClock()
      const pass = (ms: number): Promise<void> => Promise.resolve(clock.advance(ms))
      return Promise.resolve({ store: new SharedMemory(clock).store(), pass })
    },
  },
  {
    name: 'Redis',
    skip: noRedis,
    start: async t => {
      const engine = await connectEngine(t, await startRedis(t))
      // Its own clock judges, and nobody holds that.
      const pass = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
      return { store: createEngineStore(engine, 'test'), pass }
    },
  },
]

for (const { name, skip, start } of KINDS) {
  t.test(`in ${name}`, { skip }, async t => {
    const { store, pass } = await start(t)

    await t.test('members are there until their lease is over', async t => {
      const first = await store.beat('a', FACTS, 500)
      t.match(first, { wasOver: true, members: [{ id: 'a', address: '127.0.0.1:1', keys: ['k'] }] })
      t.equal((await store.beat('a', { ...FACTS, sinceMs: 7 }, 500)).wasOver, false)
      const { members, generation } = await store.beat('b', OTHER, 1000)
      t.same(members.map(({ id, sinceMs }) => [id, sinceMs]).sort(), [
        ['a', 7],
        ['b', Number.POSITIVE_INFINITY],
      ])
      t.equal(generation, first.generation)
      await pass(510)
      t.same(
        (await store.beat('b', FACTS, 1000)).members.map(({ id }) => id),
        ['b'],
      )
      t.equal((await store.beat('a', FACTS, 1000)).wasOver, true, 'a lease that is over is said to be')
      await store.leave('a')
      t.same(
        (await store.beat('b', FACTS, 1000)).members.map(({ id }) => id),
        ['b'],
      )
    })

    await t.test('buckets are charged together or not at all', async t => {
      const bucket = (key: string, burst: number) => ({ key, intervalMs: 300, burst })
      const charge = (...buckets: ReturnType<typeof bucket>[]) => store.charge(buckets)
      t.same(await charge(bucket('one', 2), bucket('two', 1)), [])
      const [one, two = 0] = await charge(bucket('one', 2), bucket('two', 1))
      t.equal(one, 0)
      t.ok(two > 0 && two <= 300, String(two))
      t.same(await charge(bucket('one', 2)), [], 'nothing was charged before')
      await pass(310)
      t.same(await charge(bucket('two', 1)), [])
    })

    await t.test('who comes to the address of another takes its place', async t => {
      const at = (address: string, sinceMs?: number) => ({
        ...FACTS,
        address,
        sinceMs: sinceMs ?? Number.POSITIVE_INFINITY,
      })
      await store.beat('old', at('127.0.0.1:3'), 60_000)
      await store.beat('elsewhere', at('127.0.0.1:4'), 60_000)
      t.match(
        (await store.beat('young', at('127.0.0.1:3', 7), 60_000)).members.length,
        4,
        'it was there before',
      )
      await store.write('left', session('old', 1), LIFE_MS)
      const { members } = await store.beat('young', at('127.0.0.1:3'), 60_000)
      t.same(members.map(({ id }) => id).sort(), ['b', 'elsewhere', 'young'])
      t.match(await store.claim('left', 'young', LIFE_MS), { is: 'claimed', owner: 'young', epoch: 2 })
      for (const id of ['elsewhere', 'young', 'b']) await store.leave(id)
    })

    await t.test('only the owner of the highest epoch writes a session', async t => {
      t.equal(await store.write('s', session('a', 1), LIFE_MS), true)
      t.equal(await store.write('s', session('b', 1), LIFE_MS), false, 'another one in the same epoch')
      t.equal(await store.write('s', session('a', 1, 'new'), LIFE_MS), true)
      t.same(await store.read('s'), session('a', 1, 'new'))
      t.equal(await store.write('s', session('b', 2), LIFE_MS), true)
      t.equal(await store.write('s', session('a', 1), LIFE_MS), false, 'an epoch that is over')
      await store.remove('s', 'a')
      t.same((await store.read('s'))?.owner, 'b', 'it is not for others to remove')
      await store.remove('s', 'b')
      t.equal(await store.read('s'), undefined)
    })

    await t.test('a session is taken over from the dead alone, by one', async t => {
      await store.beat('alive', OTHER, 1000)
      await store.write('of-alive', session('alive', 1), LIFE_MS)
      t.same(await store.claim('of-alive', 'b', LIFE_MS), { is: 'alive', owner: 'alive' })
      await store.beat('b', FACTS, 5000)
      await store.write('of-dead', session('dead', 3), LIFE_MS)
      const claims = await Promise.all([
        store.claim('of-dead', 'b', LIFE_MS),
        store.claim('of-dead', 'alive', LIFE_MS),
      ])
      t.same(claims.map(({ is }) => is).sort(), ['alive', 'claimed'])
      const owner = claims[0].is === 'claimed' ? 'b' : 'alive'
      t.same(
        await store.claim('of-dead', owner, LIFE_MS),
        { is: 'claimed', ...session(owner, 4) },
        'once more',
      )
      t.same(await store.claim('nobody', 'b', LIFE_MS), { is: 'none' })
    })

    await t.test('a lock has one holder at a time, and ends with the lease of its holder', async t => {
      await store.beat('holder', { ...FACTS, address: '127.0.0.1:7' }, 400)
      t.equal(await store.take('l', 'holder', LIFE_MS), true)
      t.equal(await store.take('l', 'other', LIFE_MS), false)
      await store.release('l', 'other')
      t.equal(await store.take('l', 'other', LIFE_MS), false, 'only its holder gives it back')
      await pass(450)
      t.equal(await store.take('l', 'other', LIFE_MS), true)
      await store.beat('other', { ...FACTS, address: '127.0.0.1:8' }, LIFE_MS)
      await store.release('l', 'other')
      t.equal(await store.take('l', 'third', 20), true)
      await store.leave('other')
    })

    await t.test('what is noted is told in order, each name once', async t => {
      t.same(await store.news(0), { version: 0, names: [], isCut: false })
      for (const [name, text] of ['a 1', 'b 1', 'a 2'].map(each => each.split(' ')) as [string, string][])
        await store.note(name, Buffer.from(text), name === 'b' ? 30 : 0)
      t.same(await store.news(0), { version: 3, names: ['b', 'a'], isCut: false })
      t.same(await store.news(2), { version: 3, names: ['a'], isCut: false })
      t.same(await store.news(3), { version: 3, names: [], isCut: false })
      t.equal((await store.beat('a', FACTS, 500)).news, 3)
      t.same(await store.noted('a'), Buffer.from('2'))
      await pass(50)
      t.equal(await store.noted('b'), undefined, 'it was to be kept for a while only')
    })

    await t.test('a reader learns that notes left the list before it read them', async t => {
      const { version } = await store.news(0)
      for (let batch = 0; batch < 10; batch += 1)
        await Promise.all(
          Array.from({ length: 1000 }, (_, n) => store.note(`many ${batch} ${n}`, Buffer.from('x'), LIFE_MS)),
        )
      t.match(await store.news(version), { isCut: false, names: { length: 100 } }, 'all are listed')
      await store.note('one more', Buffer.from('x'), LIFE_MS)
      t.match(await store.news(version), { isCut: true, names: { length: 100 } })
      t.match(await store.news(version + 1), { isCut: false }, 'that one was read')
    })

    await t.test('the sessions of a principal are counted on live replicas', async t => {
      await store.beat('one', { ...FACTS, address: '127.0.0.1:11' }, LIFE_MS)
      await store.beat('two', { ...FACTS, address: '127.0.0.1:12' }, LIFE_MS)
      t.equal(await store.count('ada', 'one', 2, LIFE_MS), 0)
      t.equal(await store.count('ada', 'two', 3, LIFE_MS), 2)
      t.equal(await store.count('bob', 'two', 1, LIFE_MS), 0)
      t.equal(await store.count('ada', 'one', 0, LIFE_MS), 3)
      t.equal(await store.count('ada', 'two', 3, LIFE_MS), 0)
      await store.leave('two')
      t.equal(await store.count('ada', 'one', 1, LIFE_MS), 0, 'the dead have none')
      await store.leave('one')
    })

    await t.test('a session that is not renewed is forgotten', async t => {
      await store.write('short', session('a', 1), 20)
      await pass(40)
      t.equal(await store.read('short'), undefined)
    })
  })
}

t.test('a restarted engine has another generation, and a lost one is reported', async t => {
  const memory = new SharedMemory(new FakeClock())
  const store = memory.store()
  const { generation } = await store.beat('a', FACTS, 1000)
  memory.clear()
  const beat = await store.beat('a', FACTS, 1000)
  t.not(beat.generation, generation)
  memory.isUp = false
  t.equal(store.isUp, false)
  await t.rejects(store.beat('a', FACTS, 1000), { code: 'unavailable' })
})

t.test('a damaged generation in Redis is replaced by a new one', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const store = createEngineStore(await connectEngine(t, redis), 'test')
  const { generation } = await store.beat('a', FACTS, 1000)
  for (const damaged of ['rubbish', 'rubbish!', '', 'ABCDEF01', `${generation}00`]) {
    redis.ask('set', 'test:{m}:gen', damaged)
    const beat = await store.beat('a', FACTS, 1000)
    t.match(beat.generation, /^[0-9a-f]{8}$/, damaged)
    t.equal((await store.beat('b', OTHER, 1000)).generation, beat.generation, 'for all replicas')
  }
})

import t from 'tap'
import { ReplicatedStores } from '../../../src/auth/authorization-server/replicated-stores.js'
import { type Kept, TokenStore } from '../../../src/auth/authorization-server/token-store.js'
import type { BroadcastListener } from '../../../src/cluster/broadcasts.js'
import { Fault } from '../../../src/kernel/faults.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { FakeClock, settled } from '../../support/fake-clock.js'

interface Word extends Kept {
  readonly word: string
}

/** What replicas tell each other, in one place; `isUp` false: nobody can be told anything. */
class Room {
  readonly clock = new FakeClock()
  readonly noted = new Map<string, Buffer>()
  readonly listeners: BroadcastListener[] = []
  readonly lives: number[] = []
  isUp = true

  /** The first one to join is the eldest. */
  join(): TokenStore<Word> {
    const isFirst = this.listeners.length === 0
    const stores = new ReplicatedStores({
      ...{ clock: this.clock, log: silentLogger, isEldest: () => isFirst },
      broadcasts: {
        on: (_kind, listener) => void this.listeners.push(listener),
        read: (_kind, subject) => this.#run(() => this.noted.get(subject)),
        write: (_kind, subject, { value, ttlMs = 0 }) =>
          this.#run(() => {
            this.noted.set(subject, value)
            this.lives.push(ttlMs)
            for (const listener of this.listeners) listener.received(value)
          }),
      },
    })
    return new TokenStore<Word>({ most: 10, shared: { stores, name: 'words' }, log: silentLogger })
  }

  #run<T>(work: () => T): Promise<T> {
    return this.isUp ? Promise.resolve().then(work) : Promise.reject(new Fault('unavailable', 'no engine'))
  }
}

const inAnHour = (): number => Math.floor(Date.now() / 1000) + 3600

t.test('what one replica puts on a store, changes or drops is so at all of them', async t => {
  const room = new Room()
  const [one, other] = [room.join(), room.join()]
  void one.set('a', { word: 'first' })
  void one.set('a', { word: 'second', exp: inAnHour() })
  void one.set('b', { word: 'kept' })
  await settled()
  t.match([other.get('a')?.word, other.get('b')?.word], ['second', 'kept'])
  t.equal(one.get('a')?.word, 'second', 'what it hears of itself changes nothing')
  t.ok(room.lives.includes(0), 'for ever')
  t.ok(room.lives.some(ms => ms > 3_500_000 && ms <= 3_600_000))
  void other.delete('a', 'nothing')
  await settled()
  t.equal(one.get('a'), undefined)
  t.match([await one.seek('a'), (await one.seek('b'))?.word], [undefined, 'kept'])
})

t.test('a replica that joins late loads the shared grants and publishes its own', async t => {
  const room = new Room()
  const one = room.join()
  void one.set('a', { word: 'early' })
  await settled()
  const late = room.join()
  t.equal(late.get('a'), undefined)
  t.equal((await late.seek('a'))?.word, 'early')
  room.noted.clear()
  room.listeners[0]?.lost()
  await settled()
  t.equal(room.noted.size, 1, 'the engine has lost its data')
  room.listeners[1]?.lost()
  await settled()
  t.equal(late.get('a')?.word, 'early')
})

t.test('without the engine, local grants stay and others are unknown', async t => {
  const room = new Room()
  const [one, other] = [room.join(), room.join()]
  room.isUp = false
  void one.set('a', { word: 'alone' })
  await settled()
  t.equal(one.get('a')?.word, 'alone')
  await t.rejects(other.seek('a'), { code: 'unavailable' })
  void one.set('a', { word: 'newer' })
  room.isUp = true
  room.clock.advance(1000)
  await settled()
  t.equal(other.get('a')?.word, 'newer')
})

t.test(
  'a replica that returns with old files does not revive grants that were revoked meanwhile',
  async t => {
    const room = new Room()
    room.join()
    const returned = room.join()
    void returned.set('a', { word: 'revoked' })
    await settled()
    // The engine has lost its data, and with it the revocation.
    room.noted.clear()
    room.isUp = false
    room.listeners[1]?.lost()
    await settled()
    room.listeners[1]?.lost()
    await settled()
    t.equal(returned.get('a')?.word, 'revoked', 'an engine that does not answer says nothing about grants')
    room.isUp = true
    room.clock.advance(1000)
    await settled()
    t.equal(returned.get('a'), undefined)
    t.equal(room.noted.size, 0)

    void returned.set('b', { word: 'new' })
    await settled()
    room.noted.clear()
    room.listeners[1]?.lost()
    await settled()
    t.equal(room.noted.size, 1, 'what it has learned since the start is published again')
  },
)

t.test('an entry that makes room for others is unknown to all replicas', async t => {
  const room = new Room()
  const [one, other] = [room.join(), room.join()]
  for (let n = 0; n < 12; n += 1) void one.set(`k${n}`, { word: `w${n}`, exp: inAnHour() })
  await settled()
  t.equal(other.size, 10)
  t.equal(await other.seek('k0'), undefined, 'it is not found in the engine either')
  t.equal((await other.seek('k11'))?.word, 'w11')
  t.ok(Math.min(...room.lives) <= 60_000, 'nothing is left of it after a minute')
})

t.test('without the engine, entries that come and go do not add up', async t => {
  const room = new Room()
  const one = room.join()
  room.isUp = false
  for (let n = 0; n < 2000; n += 1) void one.set(`k${n}`, { word: `w${n}` })
  await settled()
  room.isUp = true
  for (let n = 0; n < 50; n += 1) {
    room.clock.advance(1000)
    await settled()
  }
  t.ok(room.lives.length <= 110, `${room.lives.length} changes were written for 10 entries`)
  t.same([...one.entries()].filter(([key]) => !room.noted.has(`words ${key}`)).length, 0)
})

t.test('without the engine, entries that expire do not add up', async t => {
  const room = new Room()
  const one = room.join()
  room.isUp = false
  for (let n = 0; n < 500; n += 1) void one.set(`k${n}`, { word: `w${n}`, exp: 1 })
  await settled()
  room.isUp = true
  for (let n = 0; n < 10; n += 1) {
    room.clock.advance(1000)
    await settled()
  }
  t.ok(room.lives.length <= 10, `${room.lives.length} changes of expired entries were written`)
})

t.test('a code or token that was used at another replica is not used again here', async t => {
  const room = new Room()
  const [one, other] = [room.join(), room.join()]
  void one.set('a', { word: 'unused' })
  await settled()
  // The broadcast does not arrive.
  room.listeners.splice(1)
  void one.set('a', { word: 'used' })
  await settled()
  t.equal(other.get('a')?.word, 'unused')
  await other.refresh('a')
  t.equal(other.get('a')?.word, 'used')
  room.isUp = false
  await other.refresh('a')
  t.equal(other.get('a')?.word, 'used', 'without an answer it keeps what it knows')
})

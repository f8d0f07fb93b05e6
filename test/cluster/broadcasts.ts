import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Broadcasts } from '../../src/cluster/broadcasts.js'
import type { ClusterStore } from '../../src/cluster/engine/store.js'
import { KeyRing } from '../../src/cluster/key-ring.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { SharedMemory } from '../support/shared-memory.js'

const [first = '', second = ''] = [1, 2].map(() => randomBytes(32).toString('base64'))

const FACTS = { address: '', version: '1', keys: [], state: 'ready', sinceMs: 1 } as const

type Writable<T> = { -readonly [K in keyof T]: T[K] }

const start = () => {
  const clock = new FakeClock()
  const memory = new SharedMemory(clock)
  const settling = { is: true }
  const join = (id: string, keys = [first]) => {
    const store: Writable<ClusterStore> = memory.store()
    const notes = new Broadcasts({
      ...{ id, store, clock, ring: new KeyRing(keys) },
      isSettled: () => settling.is,
    })
    const heard: string[] = []
    notes.on('word', { received: value => heard.push(value.toString()), lost: () => heard.push('lost') })
    const beat = async (): Promise<void> => {
      notes.receive(await store.beat(id, { ...FACTS, address: id }, 6000))
      await settled()
    }
    return { notes, store, heard, beat }
  }
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
      clock.advance(100)
      await settled()
    }
  }
  return { memory, join, pass, settling }
}

t.test('what one replica notes is heard by all, also by those with another first key', async t => {
  const { memory, join } = start()
  const [a, b] = [join('a', [first, second]), join('b', [second, first])]
  await a.beat()
  await b.beat()
  t.same([a.heard, b.heard], [['lost'], ['lost']], 'whoever comes says what it knows')
  await a.notes.write('word', 'greeting', { value: Buffer.from('hello\nyou') })
  await a.notes.write('other', 'greeting', { value: Buffer.from('not for these') })
  t.equal((await b.notes.read('word', 'greeting'))?.toString(), 'hello\nyou')
  t.equal(await b.notes.read('word', 'farewell'), undefined)
  await b.beat()
  t.same(b.heard.splice(0), ['lost', 'hello\nyou'])
  await b.beat()
  t.same(b.heard, [], 'once')
  memory.clear()
  await b.beat()
  t.same(b.heard, ['lost'])
  const [stranger] = [join('c', [randomBytes(32).toString('base64')])]
  await a.notes.write('word', 'greeting', { value: Buffer.from('again') })
  await stranger.beat()
  t.same(stranger.heard, ['lost'], 'with other keys there is nothing to be read')
})

t.test('broadcasts arrive although their numbering restarts', async t => {
  const { join } = start()
  const [a, b] = [join('a'), join('b')]
  await b.beat()
  for (const word of ['one', 'two']) await a.notes.write('word', word, { value: Buffer.from(word) })
  await b.beat()
  b.store.news = () => Promise.resolve({ version: 0, names: [], isCut: false })
  b.heard.splice(0)
  b.notes.receive({ ...(await b.store.beat('b', FACTS, 6000)), news: 1 })
  t.same(b.heard, ['lost'], 'it says what it knows, and reads all')
})

t.test('a replica that was away while too many notes were written compares what it has', async t => {
  const { join } = start()
  const [a, b] = [join('a'), join('b')]
  await a.beat()
  await a.notes.write('word', 'first', { value: Buffer.from('first') })
  await b.beat()
  b.heard.splice(0)
  for (let n = 0; n < 10_001; n += 1) await a.store.note(`flood ${n}`, Buffer.from('not for these'), 60_000)
  await b.beat()
  t.same(b.heard, ['lost'])
})

t.test('a listener that subscribes during a read gets the broadcasts read before', async t => {
  const { join } = start()
  const [a, b] = [join('a'), join('b')]
  await a.beat()
  await a.notes.write('late', 's', { value: Buffer.from('x') })
  const news = b.store.news
  const answers: (() => void)[] = []
  b.store.news = async after => {
    const said = await news(after)
    if (after > 0) await new Promise<void>(resolve => answers.push(resolve))
    return said
  }
  await b.beat()
  const heard: string[] = []
  b.notes.on('late', { received: value => heard.push(value.toString()), lost: () => undefined })
  await b.beat()
  b.store.news = news
  for (const answer of answers) answer()
  await settled()
  await b.beat()
  t.same(heard, ['x'])
})

t.test('only one at a time does what only one may do', async t => {
  const { join, pass, memory, settling } = start()
  const [a, b] = [join('a'), join('b')]
  await a.beat()
  await b.beat()
  const order: string[] = []
  const gates: (() => void)[] = []
  const work = (name: string) => async (): Promise<string> => {
    order.push(name)
    await new Promise<void>(resolve => gates.push(resolve))
    return name
  }
  const all = [
    a.notes.exclusively('word', 's', work('a1')),
    a.notes.exclusively('word', 's', work('a2')),
    b.notes.exclusively('word', 's', work('b1')),
    b.notes.exclusively('word', 'other', work('b2')),
  ]
  await pass(500)
  t.same(order, ['a1', 'b2'])
  for (let n = 0; n < 4; n += 1) {
    for (const open of gates.splice(0)) open()
    await pass(500)
  }
  t.same((await Promise.all(all)).sort(), ['a1', 'a2', 'b1', 'b2'])

  void a.notes.exclusively('word', 's', work('stuck'))
  await settled()
  const after = b.notes.exclusively('word', 's', () => Promise.resolve('done'))
  await pass(5000)
  await b.beat()
  await pass(2000)
  t.equal(await after, 'done', 'whoever is gone holds nobody up')

  settling.is = false
  await t.rejects(b.notes.exclusively('word', 's', work('x')), {
    code: 'unavailable',
    message: /still recovering/,
  })
  settling.is = true
  memory.isUp = false
  await t.rejects(b.notes.exclusively('word', 'y', work('x')), { code: 'unavailable' })
})

t.test('what cannot be noted is tried again for a while, and so is a turn that does not come', async t => {
  const { join, pass, memory } = start()
  const [a, b] = [join('a'), join('b')]
  await a.beat()
  memory.isUp = false
  const late = a.notes.write('word', 's', { value: Buffer.from('x') })
  await pass(3000)
  memory.isUp = true
  await pass(1000)
  await late
  memory.isUp = false
  const never = t.rejects(a.notes.write('word', 's', { value: Buffer.from('x') }), { code: 'unavailable' })
  await pass(11_000)
  await never
  memory.isUp = true
  void a.notes.exclusively('word', 's', () => new Promise(() => undefined))
  await settled()
  const waiting = t.rejects(
    b.notes.exclusively('word', 's', () => Promise.resolve()),
    { code: 'timeout' },
  )
  for (let n = 0; n < 19; n += 1) {
    await a.beat()
    await pass(2000)
  }
  await waiting
})

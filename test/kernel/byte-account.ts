import t from 'tap'
import { ByteAccount } from '../../src/kernel/byte-account.js'
import { boundsOf } from '../support/values.js'

/** An account of 100 bytes, and who was cut. */
const world = (max = 100) => {
  const cut: string[] = []
  let hits = 0
  const account = new ByteAccount(
    () => max,
    () => {
      hits += 1
    },
  )
  const holder = (name: string, measure?: () => number) => account.open(() => cut.push(name), measure)
  return { account, cut, holder, hits: () => hits }
}

t.test('above the total limit, the peer with the most bytes is cut off, and small peers are not', async t => {
  const { account, cut, holder, hits } = world()
  const [small, large, medium] = [holder('small'), holder('large'), holder('medium')]
  small.set(5)
  large.set(60)
  medium.set(35)
  t.same(cut, [])
  small.set(6)
  t.same(cut, ['large'])
  t.equal(account.bytes, 41)
  medium.set(200)
  t.same(cut, ['large', 'medium'], 'also when it is the one that grows')
  t.equal(account.bytes, 6)
  t.equal(hits(), 2)
  small.set(0)
  t.equal(account.bytes, 0)
})

t.test('what became less by itself is looked at before anybody is cut', async t => {
  const { account, cut, holder } = world()
  let waiting = 90
  const queue = holder('queue', () => waiting)
  queue.set(90)
  waiting = 10
  holder('other').set(80)
  t.same(cut, [])
  t.equal(account.bytes, 90)
  t.equal(queue.bytes, 10)
})

t.test('what cannot be cut gets half of the room at most, and the rest makes way for it', async t => {
  const KIB = 1024
  const { account, cut, holder } = world(100 * KIB)
  holder('body').set(90 * KIB)
  const call = account.reserve(50 * KIB)
  t.ok(call)
  t.same(cut, ['body'])
  t.equal(account.reserve(16 * KIB), undefined)
  t.equal(account.reserve(100)?.bytes, 0, 'there is always room for what is small')
  t.equal(account.bytes, 50 * KIB, 'what was refused does not count')
  call?.set(0)
  t.ok(account.reserve(50 * KIB))
})

t.test('while memory is short all but a part can be let go of', async t => {
  const { account, cut, holder } = world()
  for (const [name, bytes] of Object.entries({ a: 10, b: 30, c: 20 })) holder(name).set(bytes)
  account.shed(15)
  t.same(cut, ['b', 'c'])
  account.shed(15)
  t.equal(cut.length, 2)
})

t.test('one that goes with another is not cut itself', async t => {
  const cut: string[] = []
  const account = new ByteAccount(
    () => 100,
    () => undefined,
  )
  const second = account.open(() => cut.push('second'))
  const first = account.open(() => {
    cut.push('first')
    second.set(0)
  })
  second.set(45)
  first.set(50)
  account.shed(10)
  t.same(cut, ['first'])
})

t.test('an account takes a quarter of the memory at most, and what it cuts is counted', async t => {
  const MIB = 2 ** 20
  const bounds = boundsOf({ memory: 1024 * MIB })
  t.equal(bounds.inbound.maxBytes, 256 * MIB)
  bounds.memoryBytes = 400 * MIB
  t.equal(bounds.narrowed({}).inbound.maxBytes, 100 * MIB)
  bounds.inbound.open(() => undefined).set(101 * MIB)
  t.equal(bounds.hits.inbound?.hits, 1)
  t.equal(bounds.unread.bytes, 0)
})

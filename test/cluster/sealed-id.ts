import { randomBytes } from 'node:crypto'
import t from 'tap'
import { KeyRing } from '../../src/cluster/key-ring.js'
import { newGeneration, principalTag, SessionIds } from '../../src/cluster/sealed-id.js'
import { silentLogger } from '../../src/kernel/logger.js'

const KEYS = [randomBytes(32).toString('base64')]
const birth = {
  owner: '0123456789abcdef',
  generation: newGeneration(),
  nowMs: 1_795_460_000_000,
  principal: 'person ada',
  facts: 0x0325,
}

t.test('a session id names its owner to replicas with the key, and nothing to others', async t => {
  const id = new SessionIds(new KeyRing(KEYS)).make(birth)
  t.match(id, /^[\w-]{84}$/)
  const name = new SessionIds(new KeyRing(KEYS)).open(id)
  t.match(name, { owner: birth.owner, generation: birth.generation, bornMs: birth.nowMs, facts: 0x0325 })
  t.equal(name?.principalTag, principalTag('person ada'))
  t.not(name?.principalTag, principalTag('person bob'))
  t.equal(Buffer.from(id, 'base64url').includes('ada'), false)
  t.equal(new SessionIds(new KeyRing([randomBytes(32).toString('base64')])).open(id), undefined)
})

t.test('the name in the engine is the same for every replica, and another for every session', async t => {
  const [one, other] = [new SessionIds(new KeyRing(KEYS)), new SessionIds(new KeyRing(KEYS))]
  const ids = [one.make(birth), one.make(birth)]
  const sids = ids.map(id => other.open(id)?.sid)
  t.same(
    sids,
    ids.map(id => one.open(id)?.sid),
  )
  t.not(sids[0], sids[1])
})

t.test('an id from the future is good, and that clocks differ is said once', async t => {
  const said: unknown[] = []
  const log = { ...silentLogger, warn: (facts: object, words: string) => said.push([facts, words]) }
  const ids = new SessionIds(new KeyRing(KEYS), log)
  const from = (nowMs: number) => ids.open(ids.make({ ...birth, nowMs }))
  for (const aheadMs of [-300_000, 30_000]) t.ok(from(Date.now() + aheadMs))
  t.same(said, [])
  for (let n = 0; n < 2; n += 1) t.ok(from(Date.now() + 300_000))
  t.match(said, [[{ replica: birth.owner, aheadMs: Number }, /^the clock of a replica is ahead/]])
})

t.test('anything but an id of ours is none', async t => {
  const ids = new SessionIds(new KeyRing(KEYS))
  const id = ids.make(birth)
  for (const other of ['', 'x', id.slice(1), `${id}x`, 'A'.repeat(84), '!'.repeat(84)])
    t.equal(ids.open(other), undefined, other)
})

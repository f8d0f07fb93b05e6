import t from 'tap'
import { LEASE_MS, ReplicaRoom } from '../support/replica-room.js'

t.test('the sessions of a principal are counted over all replicas that live', async t => {
  const room = new ReplicaRoom({ sessionsPerPrincipal: 3 })
  const [a, b, c] = await room.three()
  const [first] = [await a.begin(), await b.begin(), await c.begin()]
  const refused = a.greet()
  await room.pass(0)
  t.match([refused.status, refused.headers['retry-after']], [503, '5'])
  t.match(refused.body, /You have too many sessions/)

  a.send('DELETE', { 'mcp-session-id': first })
  await room.pass(250)
  t.not(await b.begin(), '', 'there is room again, wherever it comes')
  const again = c.greet()
  await room.pass(0)
  t.equal(again.status, 503)

  await room.kill(b)
  await room.pass(LEASE_MS)
  t.not(await c.begin(), '', 'the dead have none')
})

t.test('without the engine each replica has its share', async t => {
  const room = new ReplicaRoom({ sessionsPerPrincipal: 6 })
  const [a] = await room.three()
  room.memory.isUp = false
  for (const _ of [1, 2]) t.not(await a.begin(), '')
  const refused = a.greet()
  await room.pass(250)
  t.equal(refused.status, 503)
})

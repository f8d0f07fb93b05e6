import t from 'tap'
import type { ClusterStore } from '../../src/cluster/engine/store.js'
import { LOCAL } from '../../src/kernel/caller.js'
import { LEASE_MS, type Replica, ReplicaRoom } from '../support/replica-room.js'

const RESULT = /"result":\{"tools":\[\]\}/

/** An answer at each of them; texts. */
const everywhere = async (room: ReplicaRoom, session: string): Promise<readonly string[]> => {
  const answers = room.replicas.map((each, n) => each.ask(session, `e${n}`))
  await room.pass(0)
  return answers.map(({ body }) => body)
}

const adopted = ({ replicas }: ReplicaRoom): number =>
  replicas.reduce(
    (sum, { cluster }) => sum + cluster.status().adoptions.record + cluster.status().adoptions.rebuilt,
    0,
  )

t.test('without the engine, replicas continue, and live sessions are not taken over', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const old = await a.begin()
  room.memory.isUp = false
  await room.pass(30_000)
  t.match(await everywhere(room, old), [RESULT, RESULT, RESULT])
  const young = await b.begin()
  t.match(await everywhere(room, young), [RESULT, RESULT, RESULT])
  for (const { cluster } of room.replicas)
    t.match(cluster.status(), { engine: 'down', state: 'degraded', members: { length: 3 } })

  room.memory.isUp = true
  const after = await everywhere(room, old)
  await room.pass(1250)
  for (const { cluster } of room.replicas) t.match(cluster.status(), { engine: 'up', state: 'ready' })
  t.match([...after, ...(await everywhere(room, old))], Array(6).fill(RESULT), 'nobody waited for the others')
  await room.pass(2 * LEASE_MS)
  t.match(await everywhere(room, young), [RESULT, RESULT, RESULT])
  t.equal(adopted(room), 0)

  await room.kill(b)
  const moved = a.ask(young, 'm')
  await room.pass(LEASE_MS + 1000)
  t.match(moved.body, RESULT, 'what began without the engine was written since')
})

t.test('what an owner without the engine leaves waits for eight seconds, and works later', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  room.memory.isUp = false
  await room.pass(3000)
  await room.kill(a)
  const [call, end] = [b.ask(session, 1), b.send('DELETE', { 'mcp-session-id': session })]
  await room.pass(7500)
  t.equal(call.status, 0)
  await room.pass(1000)
  t.match([call.status, call.headers['retry-after'], call.body], [503, '5', /engine_unavailable/])
  t.equal(end.status, 503)
  room.memory.isUp = true
  await room.pass(2 * LEASE_MS + 2000)
  const later = b.ask(session, 2)
  await room.pass(1000)
  t.match(later.body, RESULT)
})

t.test('an engine that was restarted empty is told everything again', async t => {
  for (const awayMs of [0, 10_000]) {
    const room = new ReplicaRoom()
    const [a, b, c] = await room.three()
    const [living, ended, dead] = [await a.begin(), await a.begin(), await c.begin()]
    a.send('DELETE', { 'mcp-session-id': ended })
    await room.kill(c)
    room.memory.isUp = awayMs === 0
    await room.pass(awayMs)
    room.memory.clear()
    room.memory.isUp = true
    const early = b.ask(living, 'early')
    await room.pass(2000)
    t.match([early.body, ...(await everywhere(room, living))], [RESULT, RESULT, RESULT])
    const gone = b.ask(ended, 'gone')
    await room.pass(2 * LEASE_MS + 1000)
    t.equal(adopted(room), 0, 'nothing of the living')
    t.ok([404, 503].includes(gone.status))
    const rebuilt = b.ask(dead, 'r')
    const late = b.ask(ended, 'late')
    await room.pass(1000)
    t.match(rebuilt.body, RESULT, 'the id alone says enough of what the dead had')
    t.equal(late.status, 404, 'what was ended stays so')
    t.equal(adopted(room), 1)
  }
})

t.test('what a replica gives up is taken over also where the engine has only just come back', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const [given, dead] = [await a.begin(), await a.begin()]
  room.memory.clear()
  await room.pass(2500)
  a.ask(dead, 1, { method: 'tools/call' })
  await room.pass(0)
  await a.cluster.drain()
  t.equal(await a.cluster.letGo(), 1)
  const answer = b.ask(given, 2)
  await room.pass(500)
  t.match(answer.body, RESULT)
  await room.kill(a)
  const early = b.ask(dead, 3)
  await room.pass(LEASE_MS)
  t.equal(early.status, 0, 'who may live is counted first')
})

t.test('a replica that alone has lost the engine is another one after that', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  a.isCutOff = true
  await room.pass(LEASE_MS + 500)
  t.equal(a.cluster.status().state, 'fenced')
  const there = b.ask(session, 2)
  await room.pass(1000)
  t.match(there.body, RESULT)
  const here = a.ask(session, 1)
  await room.pass(1000)
  t.match(here.body, RESULT, 'it passes on what it may not serve')
  a.isCutOff = false
  await room.pass(2000)
  const after = a.ask(session, 3)
  await room.pass(0)
  t.match(after.body, RESULT)
  t.same(
    [a, b].map(({ handler }) => handler.calls.length),
    [0, 3],
  )
})

t.test('a client learns its session id once other replicas could adopt the session', async t => {
  const room = new ReplicaRoom()
  const gate = { isShut: true }
  const slow = (store: ClusterStore): ClusterStore => ({
    ...store,
    isUp: true,
    async write(...said) {
      while (gate.isShut) await new Promise<void>(resolve => room.clock.after(10, resolve))
      return await store.write(...said)
    },
  })
  const { greet } = await room.start({ wrap: slow })
  const [greeting, other] = [greet(), greet()]
  await room.pass(50)
  t.equal(greeting.status, 0)
  gate.isShut = false
  await room.pass(10)
  t.same([greeting.status, other.status], [200, 200])
  gate.isShut = true
  const late = greet()
  await room.pass(110)
  t.equal(late.status, 200, 'an engine that is slow holds nobody up for long')
})

t.test('requests that a replica does not understand are left to newer ones', async t => {
  const room = new ReplicaRoom()
  const later = (store: ClusterStore): ClusterStore => ({
    ...store,
    isUp: true,
    write: (sid, session, ttlMs) =>
      store.write(sid, { ...session, sealed: Buffer.from('of a later version') }, ttlMs),
  })
  const [a, b] = [await room.start({ wrap: later }), await room.start()]
  const session = await a.begin()
  await room.kill(a)
  const answer = b.ask(session, 1)
  await room.pass(LEASE_MS + 3000)
  t.match([answer.status, answer.body], [503, /engine_unavailable/], 'it may be there for others')
  t.equal(adopted(room), 0)
})

t.test('a session belongs to its principal, and to the view in which it began', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  await room.kill(a)
  await room.pass(LEASE_MS)
  const view = b.ask(session, 1, { caller: { ...LOCAL, view: 'other' } })
  const stranger = b.ask(session, 1, { caller: { ...LOCAL, principal: 'p' } })
  await room.pass(500)
  t.same([stranger.status, view.status], [404, 404])
  const own = b.ask(session, 1)
  await room.pass(500)
  t.match(own.body, RESULT)
})

t.test('a replica with a new key that others lack does not serve', async t => {
  const room = new ReplicaRoom()
  const first = await room.start()
  await room.pass(1000)
  const later = await room.start({ keys: [Buffer.alloc(32, 7).toString('base64')] })
  await room.pass(LEASE_MS)
  t.same([first, later].map(state), ['ready', 'keys'])
  const session = await first.begin()
  const answer = later.ask(session, 1)
  await room.pass(0)
  t.equal(answer.status, 404)

  const right = await room.start()
  await room.pass(LEASE_MS)
  t.equal(state(right), 'ready', 'whoever is not ready keeps nobody else from being it')
})

const state = ({ cluster }: Replica): string => cluster.status().state

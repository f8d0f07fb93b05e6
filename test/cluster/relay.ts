import t from 'tap'
import { KeyRing } from '../../src/cluster/key-ring.js'
import { SessionIds } from '../../src/cluster/sealed-id.js'
import { Fault } from '../../src/kernel/faults.js'
import { textOf } from '../../src/kernel/json/text.js'
import { LEASE_MS, type Replica, ReplicaRoom } from '../support/replica-room.js'

const adoptedBy = ({ cluster }: Replica): number => cluster.status().adoptions.record
const RESULT = /"result":\{"tools":\[\]\}/

t.test('a request that reaches another replica is answered by the one that has its session', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  const answer = b.ask(session, 1)
  await room.pass(0)
  t.match([answer.status, answer.body], [200, RESULT])
  t.match([a.handler.calls.length, b.handler.calls.length], [1, 0])
  t.match(b.cluster.status(), { forwarded: 1, held: 0, lost: 0 })

  const gone = b.send('DELETE', { 'mcp-session-id': session })
  await room.pass(0)
  t.equal(gone.status, 200)
  for (const each of room.replicas) {
    const after = each.ask(session, 2)
    await room.pass(0)
    t.equal(after.status, 404)
  }
})

t.test('when the owner dies, calls in flight are lost, and later ones wait and continue', async t => {
  const room = new ReplicaRoom()
  const [a, b, c] = await room.three()
  const session = await a.begin()
  const stream = b.listen(session)
  const call = b.ask(session, 'c', { method: 'tools/call' })
  await room.pass(0)
  await room.kill(a)
  t.match(call.body, /replica_lost.*"mayHaveRun":true/s)
  t.match([stream.isEnded, stream.isDestroyed], [true, false])

  const [first, second, again] = [b.ask(session, 1), c.ask(session, 2), c.listen(session, '1-1.0')]
  await room.pass(1000)
  t.same([first.status, second.status, b.cluster.status().held], [0, 0, 1], 'they wait')
  t.match([again.status, again.body], [200, /^:/], 'who listens is told that somebody is there')
  await room.pass(LEASE_MS)
  t.match([first.body, second.body], [RESULT, RESULT])
  t.equal(adoptedBy(b) + adoptedBy(c), 1, 'one of them has it')
  t.match(again.body, /list_changed/)
})

t.test('a process that comes to the address of a dead one is not taken for it', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  await room.kill(a)
  const heir = await room.start({ address: a.address })
  const answer = b.ask(session, 1)
  await room.pass(1000)
  t.match([answer.status, answer.body], [200, RESULT], 'nobody waits for the lease of the dead')
  const at = heir.ask(session, 2)
  await room.pass(1000)
  t.match(at.body, RESULT)
})

t.test('an address that another process answers counts as absent while its lease lasts', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  await room.kill(a)
  const other = await room.start({ address: '127.0.0.1:99' })
  Object.assign(other, { address: a.address })
  const answer = b.ask(session, 1)
  await room.pass(1000)
  t.equal(answer.status, 0, 'it is not said to be over')
  await room.pass(LEASE_MS)
  t.match([answer.status, answer.body], [200, RESULT])
})

t.test('between two that do not reach each other a request waits for three seconds', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  const cut = `${b.address} ${a.address}`
  room.cuts.add(cut)
  const [short, long] = [b.ask(session, 1), b.ask(session, 2)]
  await room.pass(1000)
  t.equal(short.status, 0)
  room.cuts.delete(cut)
  await room.pass(500)
  t.match([short.body, long.body], [RESULT, RESULT], 'what is back is used')

  room.cuts.add(cut)
  const late = b.ask(session, 3)
  await room.pass(2500)
  t.equal(late.status, 0)
  await room.pass(1500)
  t.match([late.status, late.headers['retry-after'], late.body], [503, '5', /peer_unreachable/])
  t.equal(adoptedBy(b), 0, 'nobody takes over from the living')
})

t.test('a silent replica is given up', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  const stream = b.listen(session)
  await room.pass(0)
  a.isSilent = true
  const [call, answer, get, gone] = [
    b.ask(session, 1, { method: 'tools/call' }),
    b.send(
      'POST',
      { 'content-type': 'application/json', accept: '*/*', 'mcp-session-id': session },
      { id: 'q', result: {} },
    ),
    b.listen(session),
    b.ask(session, 2),
  ]
  gone.goAway()
  await room.pass(8000)
  t.match([call.status, call.body], [200, /replica_lost/])
  t.equal(answer.status, 0, 'an answer that was not taken is not said to be')
  t.equal(stream.isEnded, true)
  t.equal(get.status, 200, 'a stream that did not begin is waited for')

  await room.pass(3000)
  t.match([answer.status, answer.body], [503, /peer_unreachable/])
  const begun = a.handler.calls.length
  const late = b.ask(session, 3, { method: 'tools/call' })
  await room.pass(2500)
  t.equal(late.status, 0)
  await room.pass(1000)
  t.match([late.status, late.body], [503, /peer_unreachable/], 'nothing more is sent into the void')
  a.isSilent = false
  const again = b.ask(session, 4)
  await room.pass(3000)
  t.match([again.body, a.handler.calls.length], [RESULT, begun + 1])
})

t.test('after a loss nothing is sent before its replica has given a sign of life', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  const call = b.ask(session, 1, { method: 'tools/call' })
  await room.pass(0)
  const headers = { 'content-type': 'application/json', accept: '*/*', 'mcp-session-id': session }
  const question = b.send('POST', headers, { id: 'q', result: {} })
  room.reset(a)
  t.match(call.body, /replica_lost/)
  await room.pass(0)
  t.equal(question.status, 202, 'an answer can be given twice')
  room.memory.isUp = false
  const [one, other] = [b.ask(session, 2), b.ask(session, 3)]
  await room.pass(250)
  t.match([one.body, other.body], [RESULT, RESULT], 'for which nobody needs the engine')
})

t.test('a replica that was frozen serves nothing before it knows what is still its own', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const [taken, kept] = [await a.begin(), await a.begin()]
  a.isCutOff = true
  a.isSilent = true
  await room.pass(LEASE_MS + 2000)
  const there = b.ask(taken, 1)
  await room.pass(1000)
  t.match(there.body, RESULT)
  a.isSilent = false
  t.equal(a.cluster.status().state, 'fenced')
  const [own, other] = [a.ask(kept, 2), a.ask(taken, 3)]
  await room.pass(1000)
  t.match([own.body, other.body], [RESULT, RESULT], 'others answer, who reach the engine')
  t.equal(a.handler.calls.length, 0)
  a.isCutOff = false
  await room.pass(2500)
  t.match(a.cluster.status(), { state: 'ready', sessions: 0 })
  const later = a.ask(taken, 4)
  await room.pass(0)
  t.match(later.body, RESULT)
  t.equal(a.handler.calls.length, 0, 'it passes on what it had')
})

t.test('calls in flight for a session that moved to another replica end as lost', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  const call = a.ask(session, 'c', { method: 'tools/call' })
  const sid = new SessionIds(new KeyRing(room.keys)).open(session)?.sid ?? ''
  await room.memory.store().write(sid, { owner: b.id, epoch: 2, sealed: Buffer.alloc(0) }, 60_000)
  a.ask(session, 1, { method: 'logging/setLevel' })
  await room.pass(500)
  t.equal(a.listener.has(session), false)
  t.match(call.body, /"id":"c".*"reason":"replica_lost","mayHaveRun":true/s)
})

t.test('a retry goes to the replica of its parked call, and is served locally without one', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const retry = (owner: string) => {
    const served: string[] = []
    const responder = new (class {
      status = 0
      send(status: number) {
        this.status = status
      }
      stream(): never {
        throw new Error('no stream is expected')
      }
      onGone() {}
    })()
    const request = {
      method: 'POST',
      path: '/mcp',
      query: new URLSearchParams(),
      headers: {},
      body: Buffer.from('{}'),
    }
    const caller = { principal: 'p', scopes: undefined, endsMs: Number.POSITIVE_INFINITY }
    const isTaken = b.cluster.relay.parked(owner, {
      request: { ...request, caller, remoteAddress: '127.0.0.1', remotePort: 1 },
      responder,
      serve: () => served.push('here'),
    })
    return { isTaken, served, responder }
  }
  t.equal(retry('').isTaken, false)
  t.equal(retry(`waits in ${b.id}`).isTaken, false, 'it waits here')
  t.equal(retry(`waits in ${'f'.repeat(16)}`).isTaken, false, 'its replica is gone')
  const passed = retry(`waits in ${a.id}`)
  await room.pass(0)
  t.match([passed.isTaken, passed.responder.status, passed.served], [true, 415, []], 'it was judged there')
  await room.kill(a)
  const late = retry(`waits in ${a.id}`)
  await room.pass(1000)
  t.same([late.isTaken, late.served], [true, []], 'its replica may live')
  await room.pass(LEASE_MS)
  t.same(late.served, ['here'])
})

t.test('a replica that ends gives its sessions up, and passes new ones on', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const [idle, busy] = [await a.begin(), await a.begin()]
  const call = a.ask(busy, 1, { method: 'tools/call' })
  await room.pass(0)
  await a.cluster.drain()
  await room.pass(2000)
  t.equal(a.cluster.status().state, 'draining')
  const young = await a.begin()
  t.equal(a.listener.has(young), false)
  t.equal(await a.cluster.letGo(), 1)
  const answer = a.ask(idle, 2)
  await room.pass(500)
  t.match(answer.body, RESULT, 'another one has it at once')
  t.equal(a.listener.sessions, 1)
  a.handler.last.end({ kind: 'fault', fault: { code: 'internal', message: 'x' } as never })
  t.match(call.status, 200)
  t.equal(await a.cluster.letGo(), 0)
  await a.cluster.close()
  await room.kill(a)
  const later = b.ask(busy, 3)
  await room.pass(500)
  t.match(later.body, RESULT)
})

t.test('streams that end with the replica in between can be taken up elsewhere', async t => {
  const room = new ReplicaRoom()
  const [a, b, c] = await room.three()
  const session = await a.begin()
  const [call, listening] = [b.ask(session, 'c', { method: 'tools/call' }), b.listen(session)]
  await room.pass(0)
  await b.cluster.drain()
  await b.cluster.close()
  for (const stream of [call, listening]) {
    t.match(stream.body, /\nretry: \d+\n\n$/)
    t.match([stream.isEnded, /replica_lost/.test(stream.body)], [true, false])
  }
  const [, last = ''] = /^id: (.*)$/m.exec(call.body) ?? []
  const again = c.listen(session, last)
  await room.pass(0)
  a.handler.last.end({ kind: 'result', result: textOf({ content: [] }) })
  await room.pass(0)
  t.match(again.body, /"id":"c"/, 'and the answer comes there')
})

t.test('a replica that has left gets no requests, even before the next heartbeat', async t => {
  const room = new ReplicaRoom()
  const [a, b] = await room.three()
  const session = await a.begin()
  await a.cluster.drain()
  await a.cluster.letGo()
  await a.cluster.close()
  t.equal(b.cluster.status().members.length, 2)
  const before = b.cluster.status().forwarded
  const answer = b.ask(session, 1)
  await room.pass(500)
  t.match([answer.status, answer.body], [200, RESULT])
  t.equal(b.cluster.status().forwarded, before)
})

t.test('a session is not over while the replica that gives it up has not told the engine yet', async t => {
  const room = new ReplicaRoom()
  let tell = (): void => undefined
  const a = await room.start({
    wrap: store => ({
      ...store,
      isUp: true,
      async write(sid, session, ttlMs) {
        if (session.epoch > 1) await new Promise<void>(resolve => (tell = resolve))
        return await store.write(sid, session, ttlMs)
      },
    }),
  })
  const b = await room.start()
  await room.pass(LEASE_MS / 3)
  const session = await a.begin()
  await a.cluster.drain()
  await room.pass(1000)
  const letGo = a.cluster.letGo()
  const [early, elsewhere] = [a.ask(session, 1), b.ask(session, 2)]
  await room.pass(1000)
  t.same([early.status, elsewhere.status], [0, 0], 'they wait')
  tell()
  await letGo
  await room.pass(500)
  for (const answer of [early, elsewhere]) t.match([answer.status, answer.body], [200, RESULT])
})

t.test('a session is not over while a replica takes it over', async t => {
  const room = new ReplicaRoom()
  const a = await room.start()
  let tell = (): void => undefined
  const b = await room.start({
    wrap: store => ({
      ...store,
      isUp: true,
      async claim(...asked) {
        const claim = await store.claim(...asked)
        await new Promise<void>(resolve => (tell = resolve))
        return claim
      },
    }),
  })
  const c = await room.start()
  await room.pass(LEASE_MS / 3)
  const session = await a.begin()
  await room.kill(a)
  const first = b.ask(session, 1)
  await room.pass(LEASE_MS + 500)
  const elsewhere = c.ask(session, 2)
  await room.pass(1000)
  t.same([first.status, elsewhere.status], [0, 0], 'they wait')
  tell()
  await room.pass(500)
  for (const answer of [first, elsewhere]) t.match([answer.status, answer.body], [200, RESULT])
})

t.test('a replica that hears too late that a session is its own does not go on with it', async t => {
  const room = new ReplicaRoom()
  const a = await room.start()
  let tell = (): void => undefined
  const b = await room.start({
    wrap: store => ({
      ...store,
      isUp: true,
      async claim(...asked) {
        const claim = await store.claim(...asked)
        await new Promise<void>(resolve => (tell = resolve))
        return claim
      },
    }),
  })
  const c = await room.start()
  await room.pass(LEASE_MS / 3)
  const session = await a.begin()
  await room.kill(a)
  b.ask(session, 1)
  await room.pass(LEASE_MS + 500)
  b.isCutOff = true
  await room.pass(2 * LEASE_MS)
  const answer = c.ask(session, 2)
  await room.pass(500)
  t.match([answer.status, answer.body], [200, RESULT], 'another one has it by then')
  tell()
  await room.pass(500)
  t.same([adoptedBy(b), b.handler.calls.length], [0, 0])
})

t.test('that an owner renewed its lease just before it died does not make it alive', async t => {
  const room = new ReplicaRoom()
  const a = await room.start()
  await room.pass(1000)
  const b = await room.start()
  await room.pass(LEASE_MS + 1500)
  const session = await a.begin()
  await room.kill(a)
  const answer = b.ask(session, 1)
  await room.pass(LEASE_MS + 500)
  t.match([answer.status, answer.body], [200, RESULT])
})

t.test('a session survives although the adopting replica missed the notification', async t => {
  const room = new ReplicaRoom()
  const a = await room.start()
  let isLate = true
  const b = await room.start({
    wrap: store => ({
      ...store,
      isUp: true,
      async claim(...asked) {
        const claim = await store.claim(...asked)
        if (isLate) throw new Fault('unavailable', 'too late')
        return claim
      },
    }),
  })
  const c = await room.start()
  await room.pass(LEASE_MS / 3)
  const session = await a.begin()
  await room.kill(a)
  const first = b.ask(session, 1)
  await room.pass(9000)
  t.equal(first.status, 503)
  isLate = false
  const elsewhere = c.ask(session, 2)
  await room.pass(500)
  t.match([elsewhere.status, elsewhere.body], [200, RESULT])
  const again = b.ask(session, 3)
  await room.pass(0)
  t.match([again.status, again.body], [200, RESULT])
})

import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Cluster } from '../../src/cluster/cluster.js'
import type { ClusterStore } from '../../src/cluster/engine/store.js'
import { createHttpListener } from '../../src/eras/listen/http-listener.js'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { HttpClient } from '../../src/wire/http.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { FakeHandler } from '../support/proxy/listeners.js'
import { ReplicaRoom } from '../support/replica-room.js'
import { SharedMemory } from '../support/shared-memory.js'
import { boundsOf, IDENTITY } from '../support/values.js'
import { FakeResponder, httpRequest } from '../support/wire/fake-http.js'

const LEASE_MS = 6000
const NOTHING = { pause() {}, resume() {}, discard() {}, abort() {} }

/** A replica that can lose the engine, and one more that says of itself whether it has. */
const start = async (peer: { engine: 'up' | 'down' }) => {
  const clock = new FakeClock()
  const memory = new SharedMemory(clock)
  const bounds = boundsOf({}, clock)
  const own = memory.store()
  const way = { isCut: false }
  const engine: ClusterStore = {
    ...own,
    get isUp() {
      return !way.isCut
    },
    beat: (...said) =>
      way.isCut ? Promise.reject(new Fault('unavailable', 'no engine')) : own.beat(...said),
  }
  const http: HttpClient = {
    send(_, listener) {
      queueMicrotask(() => {
        listener.head(200, {})
        listener.data(Buffer.from(peer.engine))
        listener.ended(undefined)
      })
      return NOTHING
    },
    close: () => Promise.resolve(),
  }
  const cluster = new Cluster({
    ...{ id: 'a'.repeat(16), engine, keys: [randomBytes(32).toString('base64')], leaseMs: LEASE_MS },
    ...{ address: '127.0.0.1:1', version: '1', http, scheme: 'http', bounds, clock, log: silentLogger },
    waitsIn: () => undefined,
    digest: () => '',
  })
  const sinceMs = Number.POSITIVE_INFINITY
  const other = { address: '127.0.0.1:2', version: '1', keys: [], state: 'ready', sinceMs } as const
  await memory.store().beat('b'.repeat(16), other, 3600_000)
  await cluster.join()
  const { relay, directory } = cluster
  const handler = new FakeHandler()
  const listener = createHttpListener({
    ...{ handler, clock, identity: IDENTITY, log: silentLogger, bounds, relay, directory },
  })
  const send = (method: string, headers: Record<string, string>, body?: object) => {
    const responder = new FakeResponder()
    listener.handle(httpRequest(method, headers, body), responder)
    return responder
  }
  const post = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const greeting = send('POST', post, { id: 0, method: 'initialize', params: hello })
  await settled()
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const listen = (more = {}) => send('GET', { accept: 'text/event-stream', ...session, ...more })
  /** A lease, and one beat more. */
  const letLeaseEnd = async () => {
    for (let n = 0; n < 4; n += 1) {
      clock.advance(LEASE_MS / 3)
      await settled()
    }
  }
  t.teardown(() => listener.close())
  return { cluster, listener, listen, letLeaseEnd, way }
}

t.test('a replica that alone has lost the engine ends its streams once its lease is over', async t => {
  const { cluster, listener, listen, letLeaseEnd, way } = await start({ engine: 'up' })
  const stream = listen()
  t.match([stream.status, stream.isEnded], [200, false])
  const before = stream.body
  way.isCut = true
  await letLeaseEnd()
  t.equal(cluster.status().state, 'fenced')
  t.equal(stream.isEnded, true)
  t.match(stream.body.slice(before.length), /^retry: \d+\n\n$/, 'its client comes back, but not at once')
  t.equal(listener.sessions, 1, 'the session stays until it is known whose it is')

  way.isCut = false
  await letLeaseEnd()
  t.equal(cluster.status().state, 'ready')
  const [, id = ''] = /^id: (.*)$/m.exec(before) ?? []
  const again = listen({ 'last-event-id': id })
  t.match([again.status, again.isEnded], [200, false], 'nobody took it, and its stream is taken up')
})

t.test('streams stay open while all replicas have lost the engine', async t => {
  const { cluster, listen, letLeaseEnd, way } = await start({ engine: 'down' })
  const stream = listen()
  way.isCut = true
  await letLeaseEnd()
  t.equal(cluster.status().state, 'degraded')
  t.equal(stream.isEnded, false)
})

for (const speaks of [1, 2])
  t.test(`what reaches a replica as it is fenced goes elsewhere, from one of link ${speaks}`, async t => {
    const room = new ReplicaRoom()
    const edge = await room.start({ speaks })
    await room.pass(1000)
    const owner = await room.start()
    const session = await owner.begin()
    await room.pass(LEASE_MS)
    owner.isCutOff = true
    // The edge has heard of it since, and it has not heard anything for as long as its lease.
    while (owner.listener.sessions === 1 && owner.cluster.status().state !== 'fenced') await room.pass(250)
    t.equal(edge.cluster.status().members.length, 2, 'the edge counts it still')
    const answer = edge.ask(session, 7)
    await room.pass(1000)
    if (speaks === 1) t.match(answer.body, /engine_unavailable/, 'one that knows no better is told in time')
    else t.match(answer.body, /"tools":\[\]/, 'it is taken over')
  })

t.test('that configurations differ is said once, after ten minutes', async t => {
  const room = new ReplicaRoom()
  const lines: string[] = []
  const say = (_: object, text: string): void => void lines.push(text)
  const log = { ...silentLogger, warn: say }
  await room.start({ digest: 'one', log })
  await room.start({ digest: 'one' })
  await room.pass(11 * 60_000)
  t.same(lines, [])
  await room.start({ digest: 'two' })
  await room.pass(9 * 60_000)
  t.same(lines, [], 'replicas are replaced one by one')
  await room.pass(2 * 60_000)
  t.same(lines, ['a replica has had a different configuration for ten minutes'])
  await room.pass(2 * 60_000)
  t.equal(lines.length, 1)
})

t.test('a replica that was taken for dead is the youngest one when it returns', async t => {
  const room = new ReplicaRoom()
  const [one, two, three] = await room.three()
  const oldest = (): readonly boolean[] => [one, two, three].map(({ cluster }) => cluster.isEldest)
  t.same(oldest(), [true, false, false])
  one.isCutOff = true
  await room.pass(2 * LEASE_MS)
  t.same(oldest(), [false, true, false])
  one.isCutOff = false
  await room.pass(LEASE_MS)
  t.same(oldest(), [false, true, false], 'codes and refresh tokens were used at the other one meanwhile')
  t.equal(one.cluster.eldest?.id, two.id)
  t.equal(three.cluster.eldest?.id, two.id)
})

import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { ConnectionSharing } from '../../src/peers/dial.js'
import { Server } from '../../src/peers/server.js'
import { FakeClient } from '../support/client/fake-client.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import { deafListener } from '../support/server/deaf-listener.js'
import { FakeServer } from '../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING } from '../support/values.js'

const nobody = new World({}).router
const MODERN = '2026-07-28'

type Either = '2025-11-25' | typeof MODERN

/** A scripted server, and who may be connected to it. */
const create = (sharing: ConnectionSharing, revision: Either = MODERN, otherRevision?: Either) => {
  const both = otherRevision && { otherRevision }
  const fake = new FakeServer('a', { tools: [], revision, ...both, options: { sharing } })
  const clock = new FakeClock()
  const server = new Server(fake.options, 0, {
    dial: (_name, greeting, listener, signal) => fake.dial(greeting, listener, signal),
    listener: deafListener,
    clock,
    log: silentLogger,
  })
  const [ann, bob] = ['ann', 'bob'].map(principal => new FakeClient(nobody, { principal }))
  if (ann === undefined || bob === undefined) throw new Error('nobody is there')
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  const becomes = (other: '2025-11-25' | typeof MODERN): void => {
    Object.assign(fake.script, { revision: other })
  }
  return { fake, server, clock, ann, bob, pass, becomes }
}

t.teardown(() => nobody.close())

t.test('a stateless server is shared by all, with any configuration', async t => {
  for (const sharing of ['session', 'principal', 'all'] as const) {
    const { fake, server, ann, bob, pass } = create(sharing)
    const connection = server.connectionFor(ann)
    await connection.open()
    t.equal(server.connectionFor(bob), connection, sharing)
    t.equal(server.connectionFor(new FakeClient(nobody, { capabilities: CAN_NOTHING })), connection)
    t.equal(fake.links.length, 1)
    server.release(ann)
    t.not(connection.link, undefined, 'whoever opened it may leave')
    server.release(bob)
    await pass(60_000)
    server.sweep(1_000_000 + 60_000)
    t.not(connection.link, undefined, 'for a while it may be without clients')
    t.equal(server.connectionFor(bob), connection)
    await server.close()
  }
})

t.test('in one folder clients of both eras meet in the first process that is there', async t => {
  const { fake, server, ann, pass } = create('workspace', '2025-11-25', MODERN)
  const bare = new FakeClient(nobody, { principal: 'ann', capabilities: CAN_NOTHING })
  const modern = new FakeClient(nobody, { principal: 'ann', revision: MODERN })
  const elsewhere = new FakeClient(nobody, { principal: 'ann' })
  for (const client of [ann, bare, modern]) client.workspace = '/one'
  elsewhere.workspace = '/two'
  const connection = server.connectionFor(ann)
  t.equal(server.connectionFor(modern), connection, 'also while it starts')
  await connection.open()
  await pass(1000)
  for (const client of [ann, bare, modern]) t.equal(server.connectionFor(client), connection)
  t.not(server.connectionFor(elsewhere), connection)
  t.equal(fake.links.length, 1)
  await server.close()
})

t.test('clients that arrive during a start without clients wait for it', async t => {
  for (const revision of ['2025-11-25', MODERN] as const) {
    const { fake, server, pass } = create('principal', revision)
    const start = server.start()
    const client = new FakeClient(nobody, { principal: 'local', capabilities: CAN_NOTHING })
    const able = new FakeClient(nobody, { principal: 'local' })
    const connection = server.connectionFor(client)
    const second = new FakeClient(nobody, { principal: 'local', capabilities: CAN_NOTHING })
    t.equal(server.connectionFor(second), connection)
    t.not(server.connectionFor(able), connection, 'it is told of no capabilities')
    await Promise.all([start, connection.open()])
    t.equal(fake.links.length, 1, revision)
    t.equal(server.connectionFor(client), connection)
    await pass(1000)
    await server.close()
  }
})

t.test('it replaces a speculative connection if the server supports a better one', async t => {
  const { fake, server } = create('principal', MODERN, '2025-11-25')
  const start = server.start()
  const client = new FakeClient(nobody, { principal: 'local', capabilities: CAN_NOTHING })
  const connection = server.connectionFor(client)
  await start
  const own = server.connectionFor(client)
  t.not(own, connection)
  await own.open()
  t.same(
    fake.greetings.map(({ serverRequests }) => serverRequests),
    ['returned', 'pushed'],
  )
  await server.close()
})

t.test('clients from before detection keep their connection while it lasts', async t => {
  const { fake, server, ann, bob, pass } = create('session')
  const [first, second] = [server.connectionFor(ann), server.connectionFor(bob)]
  t.not(first, second)
  await Promise.all([first.open(), second.open()])
  t.equal(server.connectionFor(ann), first)
  t.equal(server.connectionFor(bob), second)
  const newcomer = new FakeClient(nobody)
  t.equal(server.connectionFor(newcomer), first)
  fake.links[1]?.drop()
  t.equal(server.connectionFor(bob), first)
  t.same([...second.clients], [])
  await pass(1000)
  server.sweep(1_001_000)
  t.notOk([...server.connections].includes(second), 'what nobody uses is closed')
  await server.close()
})

t.test('a client keeps the older connection that it has as long as that lasts', async t => {
  const { fake, server, ann, bob, becomes } = create('session', '2025-11-25')
  const first = server.connectionFor(ann)
  await first.open()
  becomes(MODERN)
  const second = server.connectionFor(bob)
  await second.open()
  t.equal(server.connectionFor(ann), first)
  fake.links[0]?.drop()
  t.equal(server.connectionFor(ann), second)
  t.same([...first.clients], [])
  await server.close()
})

t.test('when the server is downgraded, no client reaches it on a connection of another client', async t => {
  for (const sharing of ['session', 'principal'] as const) {
    const { fake, server, ann, bob, pass, becomes } = create(sharing)
    const connection = server.connectionFor(ann)
    await connection.open()
    t.equal(server.connectionFor(bob), connection)
    becomes('2025-11-25')
    fake.link.drop()
    // What was asked for meanwhile was asked for by anybody.
    const waiting = connection.open().catch((thrown: unknown) => Fault.from(thrown))
    await settled()
    t.match(await waiting, { code: 'unavailable', message: /no longer be shared; try again$/ })
    t.ok(fake.link.isClosed)
    const bobs = server.connectionFor(bob)
    t.not(bobs, connection, sharing)
    await bobs.open()
    t.equal(server.connectionFor(ann), connection)
    await pass(2000)
    t.equal(connection.link?.serverRequests, 'pushed', 'whose it is gets it back')
    t.same([...connection.clients], [ann])
    t.same([...bobs.clients], [bob])
    t.same(
      fake.greetings.map(({ capabilities }) => capabilities),
      fake.greetings.map(() => ALL_ABILITIES),
    )
    await server.close()
  }
})

t.test('when all its users may share it, a connection continues with an older server', async t => {
  const { fake, server, ann, becomes } = create('session')
  const connection = server.connectionFor(ann)
  await connection.open()
  becomes('2025-11-25')
  fake.link.drop()
  const link = await connection.open()
  t.equal(link.serverRequests, 'pushed')
  t.equal(server.connectionFor(ann), connection)
  server.release(ann)
  t.same([...server.connections], [], 'it is that client’s alone again')
  await server.close()
})

t.test(
  'clients of a server of both eras have one more connection for each key, when it is needed',
  async t => {
    for (const sharing of ['session', 'principal', 'all'] as const) {
      for (const revision of ['2025-11-25', MODERN] as const) {
        const other = revision === MODERN ? '2025-11-25' : MODERN
        const { fake, server, ann } = create(sharing, revision, other)
        const older = [ann, new FakeClient(nobody, { principal: 'ann' })]
        const newer = new FakeClient(nobody, { principal: 'ann', revision: MODERN })
        for (const client of older) {
          const link = await server.connectionFor(client).open()
          t.equal(link.serverRequests, 'pushed')
        }
        const before = fake.links.length
        t.equal(before, sharing === 'session' ? 2 : 1)
        const common = server.connectionFor(newer)
        t.equal((await common.open()).serverRequests, 'returned')
        t.equal(server.connectionFor(new FakeClient(nobody, { principal: 'bob', revision: MODERN })), common)
        t.equal(fake.links.length, before + 1, sharing)
        t.equal(server.connectionFor(ann).link?.serverRequests, 'pushed', 'and keep those that they have')
        await server.close()
      }
    }
  },
)

t.test('clients of both eras share the connection to a server of one', async t => {
  for (const sharing of ['principal', 'all'] as const) {
    for (const revision of ['2025-11-25', MODERN] as const) {
      for (const first of ['2025-11-25', MODERN] as const) {
        const { fake, server } = create(sharing, revision)
        const client = (its: Either) => new FakeClient(nobody, { principal: 'ann', revision: its })
        const connection = server.connectionFor(client(first))
        await connection.open()
        for (const its of ['2025-11-25', MODERN] as const)
          t.equal(server.connectionFor(client(its)), connection)
        t.equal(fake.links.length, 1)
        await server.close()
      }
    }
  }
})

t.test('a client leaves the connection that only stood in, once its server can do better', async t => {
  const { fake, server, ann, pass } = create('principal')
  const newer = new FakeClient(nobody, { principal: 'ann', revision: MODERN })
  const common = server.connectionFor(newer)
  await common.open()
  t.equal(server.connectionFor(ann), common, 'the server has only this')
  Object.assign(fake.script, { otherRevision: '2025-11-25' })
  fake.link.drop()
  t.equal((await common.open()).serverRequests, 'pushed', 'the older clients cannot be asked otherwise')
  common.inFlight += 1
  const own = server.connectionFor(newer)
  t.not(own, common)
  t.equal((await own.open()).serverRequests, 'returned')
  t.equal(server.connectionFor(ann), common)
  server.release(ann)
  await pass(3_600_000)
  server.sweep(1_000_000 + 3_600_000)
  t.not(common.link, undefined, 'what somebody waits for on it is not cut off')
  common.callEnded()
  await pass(3_600_000)
  server.sweep(1_000_000 + 7_200_000)
  t.equal(common.link, undefined)
  await server.close()
})

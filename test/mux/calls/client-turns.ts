import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, World, wishOf } from '../../support/proxy/router.js'
import type { FakeServer, Script } from '../../support/server/fake-server.js'
import { CAN_NOTHING, tool } from '../../support/values.js'

const FORM = { message: 'Seat?', requestedSchema: { type: 'object', properties: {} } }
const ACCEPT = { action: 'accept' }

/** Clients that share one connection to a server that has them take turns. */
const shared = async (
  count: number,
  script: Script = {},
  about: Parameters<World['client']>[0] = {},
): Promise<{ world: World; server: FakeServer; clients: FakeClient[] }> => {
  const options = { serialize: true, ...script.options }
  const world = new World({ a: { tools: [tool('x')], ...script, options } })
  const clients: FakeClient[] = []
  for (let n = 0; n < count; n += 1) clients.push(await world.client(about))
  await clients[0]?.get('tools/list')
  return { world, server: world.server('a'), clients }
}

const call = (client: FakeClient | undefined) => {
  if (client === undefined) throw new Error('no client')
  return client.call('tools/call', { name: 'a__x', arguments: { of: client.id } })
}

t.test('of clients that share a server one calls at a time, in the order in which they came', async t => {
  const { world, server, clients } = await shared(3)
  const calls = clients.map(call)
  t.equal(server.got('tools/call').length, 1)
  for (const [index, one] of calls.entries()) {
    const { params } = server.last('tools/call')
    t.match(params, { arguments: { of: clients[index]?.id } })
    server.last('tools/call').answer()
    t.match(one.ended, { result: {} })
    await settled()
  }
  t.equal(server.got('tools/call').length, 3)
  t.match(world.router.load, { calls: 0 })
})

t.test('ten questions to two clients that call at the same time all find their person', async t => {
  const { server, clients } = await shared(2)
  for (let n = 0; n < 5; n += 1) clients.map(call)
  for (let n = 0; n < 10; n += 1) {
    const request = server.got('tools/call')[n]
    const of = (request?.params as { arguments: { of: number } } | undefined)?.arguments.of
    const ask = server.link.ask('elicitation/create', FORM)
    const asked = clients.filter(client => client.asked.length > 0)
    t.same(
      asked.map(({ id }) => id),
      [of],
      `question ${n}`,
    )
    asked[0]?.asked.pop()?.ask.answer(succeeded(textOf(ACCEPT)))
    t.same(ask.answered, { result: ACCEPT })
    request?.answer()
    await settled()
  }
})

t.test('a client may have several calls in flight, but none that arrived after a waiting client', async t => {
  const { server, clients } = await shared(2)
  call(clients[0])
  call(clients[0])
  t.equal(server.got('tools/call').length, 2)
  call(clients[1])
  call(clients[0])
  t.equal(server.got('tools/call').length, 2)
  for (const request of server.got('tools/call')) request.answer()
  await settled()
  t.equal(server.got('tools/call').length, 3)
  server.last('tools/call').answer()
  await settled()
  t.equal(server.got('tools/call').length, 4)
})

t.test('clients behind one that gave up continue in order', async t => {
  const { server, clients } = await shared(2)
  call(clients[0])
  const between = call(clients[1])
  call(clients[0])
  t.equal(server.got('tools/call').length, 1)
  between.cancel('user')
  await settled()
  t.equal(server.got('tools/call').length, 2)
})

t.test('a client that cannot be asked does not wait, and delays no other', async t => {
  const { server, clients } = await shared(2, {}, { capabilities: CAN_NOTHING })
  clients.map(call)
  t.equal(server.got('tools/call').length, 2)
  const plain = await shared(2, { options: { serialize: false } })
  plain.clients.map(call)
  t.equal(plain.server.got('tools/call').length, 2)
  const returning = await shared(2, { revision: '2026-07-28' })
  returning.clients.map(call)
  t.equal(returning.server.got('tools/call').length, 2, 'nor where questions stand in the answers')
})

t.test('waiting for a turn is not the server’s silence, but does not go on for ever', async t => {
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 60_000 }
  const { world, server, clients } = await shared(3, { options: { timeouts } })
  const [first, second, third] = clients.map(call)
  second?.cancel('user')
  for (let n = 1; n <= 4; n += 1) {
    await world.pass(5000)
    server.last('tools/call').progress(n)
  }
  t.same(third?.ends, [])
  server.last('tools/call').answer()
  await settled()
  t.match(first?.ended, { result: {} })
  t.equal(server.got('tools/call').length, 2, 'whoever gave up has left the line')
  await world.pass(9000)
  t.same(third?.ends, [], 'its own silence begins when it is sent')
  await world.pass(2000)
  t.match(third?.ended, { code: -32603, message: /Timed out/ })

  call(clients[0])
  await world.pass(5000)
  const late = call(clients[1])
  for (let n = 1; n <= 7; n += 1) {
    server.last('tools/call').progress(n)
    await world.pass(9000)
  }
  t.match(late.ended, { code: -32603, message: /Timed out/ })
  server.last('tools/call').answer()
  t.match(world.router.load, { calls: 0 })
})

t.test('a call that waits for its turn is not lost with the server: it was never sent', async t => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const { world, server, clients } = await shared(5, {}, { revision })
    const calls = clients.map(call)
    server.link.drop()
    await world.pass(1)
    t.equal(server.links.length, 2)
    server.link.drop()
    await world.pass(1)
    t.equal(server.links.length, 2, 'which has failed twice, and is left alone for a moment')
    const refused = call(clients[0])
    await settled()
    t.match(refused.ended, { message: /a is not reachable/, data: { retryAfterMs: Number } })
    clients[2]?.leave()
    await world.pass(3000)
    t.equal(server.links.length, 3)
    for (const n of [3, 4]) {
      t.match(server.last('tools/call').params, { arguments: { of: clients[n]?.id } })
      server.last('tools/call').answer()
      await settled()
    }
    t.match(
      calls.map(one => one.ends[0]?.kind),
      ['fault', 'fault', undefined, 'result', 'result'],
    )
    t.equal(server.got('tools/call').length, 4)
    t.match(world.router.load, { calls: 0 })
  }
})

t.test('nor is it lost with a server that is given up, or goes: it ends with the reason', async t => {
  const { world, server, clients } = await shared(2)
  const [, second] = clients.map(call)
  server.dialling = 'refuse'
  server.link.drop()
  await world.pass(1)
  t.match(second?.ended, { message: /not reachable/ })
  const other = await shared(2)
  const [, waiting] = other.clients.map(call)
  void other.world.router.close()
  await settled()
  t.match(waiting?.ended, { code: -32603 })
})

t.test(
  'clients that say the same about themselves take turns too: each request may be another one’s',
  async t => {
    const { server, clients } = await shared(1, {}, { revision: '2026-07-28' })
    const [client] = clients
    const calls = [call(client), call(client)]
    t.equal(server.got('tools/call').length, 1)
    server.last('tools/call').answer()
    await settled()
    t.equal(server.got('tools/call').length, 2)
    server.last('tools/call').answer()
    t.match(
      calls.map(one => one.ended),
      [{ result: {} }, { result: {} }],
    )
  },
)

t.test('a call that is sent again keeps its turn', async t => {
  const { server, clients } = await shared(2)
  const calls = clients.map(call)
  server.last('tools/call').end(failed(new Fault('session-lost', 'gone')))
  t.equal(server.got('tools/call').length, 2)
  server.last('tools/call').answer()
  await settled()
  server.last('tools/call').answer()
  t.match(
    calls.map(one => one.ended),
    [{ result: {} }, { result: {} }],
  )
})

t.test('a call that is parked has its turn until it is over', async t => {
  const { world, server, clients } = await shared(2, {}, { revision: '2026-07-28' })
  const [first] = clients.map(call)
  if (first === undefined) return t.fail('no call')
  const ask = server.link.ask('elicitation/create', FORM)
  await world.pass(10)
  t.ok(wishOf(first))
  t.equal(server.got('tools/call').length, 1)
  again(first, { '1-1': ACCEPT })
  t.same(ask.answered, { result: ACCEPT })
  server.last('tools/call').answer()
  await settled()
  t.equal(server.got('tools/call').length, 2)
})

t.test('a parked call whose client does not come back gives up its turn to others that wait', async t => {
  const { world, server, clients } = await shared(2, {}, { revision: '2026-07-28' })
  const first = call(clients[0])
  const ask = server.link.ask('elicitation/create', FORM)
  await world.pass(10)
  t.ok(wishOf(first))
  await world.pass(300_000)
  call(clients[1])
  await world.pass(30_000, 1000)
  t.equal(server.got('tools/call').length, 2)
  t.match(server.link.ask('elicitation/create', FORM).answered, { code: -32602 }, 'it may be about either')
  const retry = again(first, { '1-1': ACCEPT })
  t.same(ask.answered, { result: ACCEPT }, 'the client can still come back')
  for (const request of server.got('tools/call')) request.answer()
  t.match(retry.ended, { result: {} })
  t.match(world.router.load, { calls: 0 })
})

t.test('a cancelled call keeps its turn until its server answers it, or for three minutes', async t => {
  for (const end of ['answered', 'late'] as const) {
    const { world, server, clients } = await shared(2)
    const [first, second] = clients.map(call)
    first?.cancel()
    await world.pass(170_000, 1000)
    t.equal(server.got('tools/call').length, 1)
    t.match(server.link.ask('elicitation/create', FORM).answered, { code: -32602 })
    if (end === 'answered') server.last('tools/call').late()
    else await world.pass(10_000, 250)
    await settled()
    t.equal(server.got('tools/call').length, 2, end)
    server.last('tools/call').answer()
    t.match(second?.ended, { result: {} })
  }
})

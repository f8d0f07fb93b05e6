import t from 'tap'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, REQUESTS, withReturned as returned, World, wishOf } from '../../support/proxy/router.js'
import type { FakeServer } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, tool } from '../../support/values.js'

const ROOTS = { roots: [{ uri: 'file:///w' }] }
const NOT_GIVEN = { code: -32603, message: 'Client did not provide input', data: undefined }
const NOBODY = { code: -32602, message: 'No client request is associated with this request' }
const BUSY = 'completion/complete'

/** With a client on a channel of its own, which is one person. */
const withReturned = (...[script, options]: Parameters<typeof returned>) =>
  returned(script, { via: 'socket', ...options })

for (const [method, params] of REQUESTS) {
  t.test(
    `roots that a server wants at its start are asked for by the next ${method}, which then goes on`,
    async t => {
      const { world, server, client } = await withReturned()
      const ask = server.link.ask('roots/list')
      t.same(ask.outcomes, [])
      t.match(world.router.load, { serverRequests: 1 })
      const call = client.call(method, params)
      t.same(wishOf(call).inputRequests, { '1-1': { method: 'roots/list' } })
      t.same(server.got(method), [], 'not before the roots are known')
      const retry = again(call, {
        '1-1': { roots: [{ uri: 'file:///w', name: 'w' }, { uri: 'https://x' }], x: 1 },
      })
      t.same(ask.answered, { result: { roots: [{ uri: 'file:///w', name: 'w' }] } })
      t.equal(server.got(method).length, 1)
      t.notMatch(server.last(method).params, { requestState: String })
      server.last(method).answer({ done: 1 })
      t.match(retry.ended, { result: { done: 1 } })
      t.match(world.router.load, { calls: 0, serverRequests: 0 })
    },
  )
}

t.test(
  'several roots requests are sent to the client once; requests that arrive meanwhile get the same answer',
  async t => {
    const { server, client } = await withReturned()
    const [first, second] = [server.link.ask('roots/list'), server.link.ask('roots/list')]
    const call = client.call('tools/call', REQUESTS[0][1])
    const third = server.link.ask('roots/list')
    again(call, { '1-1': ROOTS })
    t.same(
      [first, second, third].map(ask => ask.answered),
      [ROOTS, ROOTS, ROOTS].map(result => ({ result })),
    )
  },
)

t.test('while one call asks for the roots, others go on', async t => {
  const { server, client } = await withReturned()
  server.link.ask('roots/list')
  wishOf(client.call('tools/call', REQUESTS[0][1]))
  const other = client.call('tools/call', REQUESTS[0][1])
  server.last('tools/call').answer()
  t.match(other.ended, { result: {} })
})

t.test('a server waits 30 s for a client that can be asked, and another 30 s for the roots', async t => {
  const { world, server, client } = await withReturned()
  const ask = server.link.ask('roots/list')
  await world.pass(29_999)
  const call = client.call('tools/call', REQUESTS[0][1])
  await world.pass(29_999)
  t.same(ask.outcomes, [])
  await world.pass(1)
  t.same(ask.answered, NOT_GIVEN)
  again(call, { '1-1': ROOTS })
  t.equal(server.got('tools/call').length, 1, 'a late client is served all the same')
  t.equal(ask.outcomes.length, 1)
  const alone = server.link.ask('roots/list')
  server.last('tools/call').answer()
  await world.pass(30_000)
  t.equal(alone.outcomes.length, 1)
})

t.test('a client that comes back without roots is served, and the server waits on', async t => {
  const { world, server, client } = await withReturned()
  const ask = server.link.ask('roots/list')
  const call = client.call('prompts/get', REQUESTS[1][1])
  const none = again(call, {})
  t.equal(server.got('prompts/get').length, 1)
  const wrong = again(call, { '1-1': { roots: 1 } })
  t.match(wrong.ended, { code: -32602, message: 'inputResponses: 1-1 is not an answer to roots/list' })
  t.match(again(call, []).ended, { code: -32602 })
  t.same([ask.outcomes, none.ends], [[], []])
  t.equal(server.got('prompts/get').length, 1)
  await world.pass(30_000)
  t.same(ask.answered, NOT_GIVEN)
})

t.test('a withdrawn question, or one of a lost server, is not asked', async t => {
  for (const end of [
    (server: FakeServer) => server.link.asks[0]?.withdraw(),
    (server: FakeServer) => server.link.drop(),
  ]) {
    const { world, server, client } = await withReturned()
    server.link.ask('roots/list')
    end(server)
    t.match(world.router.load, { serverRequests: 0 })
    const call = client.call('tools/call', REQUESTS[0][1])
    await settled()
    t.same(call.ends, [])
    t.equal(server.got('tools/call').length, 1)
  }
})

t.test('without a client that could answer, the server gets an error at once', async t => {
  const { server, client } = await withReturned(
    {},
    { capabilities: { ...CAN_NOTHING, elicitation: ALL_ABILITIES.elicitation } },
  )
  t.match(server.link.ask('roots/list').answered, { code: -32601 })
  t.match(server.link.ask('sampling/createMessage', { messages: [] }).answered, { code: -32601 })
  t.match(server.link.ask('elicitation/create', { message: 'm' }).answered, NOBODY)
  client.leave()

  const other = await withReturned()
  t.match(other.server.link.ask('sampling/createMessage', { messages: [] }).answered, NOBODY)
  const asks = Array.from({ length: 9 }, () => other.server.link.ask('roots/list'))
  t.match(asks[8]?.answered, NOBODY, 'eight at most')
  t.match(other.server.link.ask('roots/list', undefined, other.server.last('tools/list')).answered, NOBODY)
  await other.world.router.close()
  t.same(asks[0]?.answered, NOT_GIVEN, 'and none beyond the end of the proxy')
})

t.test('where clients are asked themselves nothing is held for others', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = (about: object): Promise<FakeClient> => world.client(about)
  const legacy = await client({})
  const modern = await client({ revision: '2026-07-28' })
  await modern.get('tools/list')
  modern.call('tools/call', { name: 'a__x' })
  world.server('a').last('tools/call').answer()
  t.match(world.server('a').link.ask('roots/list').answered, NOBODY)
  t.same(legacy.asked, [])
})

t.test('once a call was sent, the roots may belong to it: no other client is asked', async t => {
  for (const [method, params] of [
    ['tools/call', REQUESTS[0][1]],
    [BUSY, { ref: { type: 'ref/prompt', name: 'a__p' }, argument: { name: 'a', value: '' } }],
  ] as const) {
    const { world, server, client } = await withReturned({ capabilities: { completions: true } })
    const first = client.call(method, params)
    if (method === BUSY) t.match(server.link.ask('roots/list').answered, NOBODY, 'while it runs')
    server.last(method).answer({ content: [], completion: { values: [] } })
    t.match(first.ended, { result: {} })
    t.match(server.link.ask('roots/list').answered, NOBODY, method)
    const next = client.call('tools/call', REQUESTS[0][1])
    t.same(next.ends, [])
    server.link.drop()
    await world.pass(1)
    t.equal(server.links.length, 2)
    t.same(server.link.ask('roots/list').outcomes, [], 'a server that begins anew may want them again')
  }
})

t.test('roots are asked of the one client that was there, and of no other that comes next', async t => {
  const { world, server, client } = await withReturned()
  const ask = server.link.ask('roots/list')
  const other = await world.client({ revision: '2026-07-28', via: 'socket' })
  const call = other.call('tools/call', REQUESTS[0][1])
  t.same(call.ends, [])
  t.equal(server.got('tools/call').length, 1)
  t.same(ask.answered, NOT_GIVEN)
  server.last('tools/call').answer()
  t.match(server.link.ask('roots/list').answered, NOBODY)
  t.same(client.call('tools/call', REQUESTS[0][1]).ends, [])
})

t.test('a call that was on its way when the roots were asked for is what they are wanted for', async t => {
  const { world, server, client } = await withReturned({ capabilities: { logging: true } })
  server.silent.add('logging/setLevel')
  const call = client.call('tools/call', REQUESTS[0][1], { logLevel: 'debug' })
  const ask = server.link.ask('roots/list')
  t.same(server.got('tools/call'), [], 'the server must be told the level first')
  server.last('logging/setLevel').answer({})
  await settled()
  t.equal(server.got('tools/call').length, 1)
  await world.pass(10)
  t.same(wishOf(call).inputRequests, { '1-1': { method: 'roots/list' } })
  const retry = again(call, { '1-1': ROOTS })
  t.same(ask.answered, { result: ROOTS })
  server.last('tools/call').answer()
  t.match(retry.ended, { result: {} })
})

t.test(
  'over HTTP, clients that describe themselves alike may be several people: roots wait for none',
  async t => {
    const { server, client } = await returned()
    t.match(server.link.ask('roots/list').answered, NOBODY)
    const call = client.call('tools/call', REQUESTS[0][1])
    t.same(call.ends, [], 'nothing is asked')
    t.equal(server.got('tools/call').length, 1)
  },
)

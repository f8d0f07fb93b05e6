import t from 'tap'
import { settled } from '../support/fake-clock.js'
import { again, REQUESTS, World, wishOf, withReturned } from '../support/proxy/router.js'
import type { FakeServer } from '../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, tool } from '../support/values.js'

// Questions that a server pushes to a client that is returned them, through the whole mux; `parked-calls` has
// the parts.

const FORM = 'elicitation/create'
const ASK = { message: 'Seat?', requestedSchema: { type: 'object', properties: {} } }
const ACCEPT = { action: 'accept' }
const PAGE = { mode: 'url', message: 'm', url: 'https://a/b', elicitationId: 'e1' }
const NOBODY = { code: -32602, message: 'No client request is associated with this request' }
const DONE = { content: [] }

/** What happens at a server, in its order. */
const deedsOf = (server: FakeServer): string[] => {
  const deeds: string[] = []
  const request = server.last('tools/call')
  const cancel = request.cancel.bind(request)
  request.cancel = reason => {
    deeds.push(`cancelled: ${reason}`)
    cancel(reason)
  }
  for (const ask of server.link.asks) {
    const answer = ask.answer.bind(ask)
    ask.answer = outcome => {
      deeds.push(`answered ${ask.method}`)
      answer(outcome)
    }
  }
  return deeds
}

t.test('while a server waits for an answer, its questions may be about that call or any other', async t => {
  const { world, server, client } = await withReturned()
  const meal = () => server.link.ask(FORM, { ...ASK, message: 'Meal?' })
  const first = client.call(...REQUESTS[0])
  const seat = server.link.ask(FORM, ASK)
  await world.pass(10)
  t.match(wishOf(first).inputRequests, { '1-1': { method: FORM } })
  const second = client.call(...REQUESTS[0])
  t.match(meal().answered, { code: -32602, message: /^No single/ }, 'the first may ask two things')
  seat.withdraw()
  t.match(meal().answered, { code: -32602, message: /^No single/ }, 'the first goes on')
  server.got('tools/call')[0]?.answer()
  meal()
  await world.pass(10)
  t.match(wishOf(second).inputRequests, { '1-1': { params: { message: 'Meal?' } } })
})

t.test('a question on the stream of a call belongs to that call', async t => {
  const { world, server, client } = await withReturned()
  const [first, second] = [client.call(...REQUESTS[0]), client.call(...REQUESTS[0])]
  server.link.ask(FORM, ASK, server.got('tools/call')[0])
  await world.pass(10)
  wishOf(first)
  t.same(second.ends, [])
})

t.test('two clients that call at the same time are both left alone', async t => {
  const { world, server, client } = await withReturned()
  const other = await world.client({ revision: '2026-07-28' })
  for (const one of [client, other]) one.call(...REQUESTS[0])
  t.match(server.link.ask(FORM, ASK).answered, { code: -32602, message: /^No single client request/ })
})

t.test('outside a request that can return a question, no client is asked', async t => {
  const { world, server, client } = await withReturned({ capabilities: { completions: true } })
  t.match(server.link.ask(FORM, ASK).answered, NOBODY)
  const ref = { type: 'ref/prompt', name: 'a__p' }
  const completion = client.call('completion/complete', { ref, argument: { name: 'n', value: '' } })
  t.match(server.link.ask(FORM, ASK).answered, NOBODY)
  t.match(server.link.ask(FORM, ASK, server.last('completion/complete')).answered, NOBODY)
  await world.pass(10)
  server.last('completion/complete').answer({ completion: { values: ['x'] } })
  t.match(completion.ended, { result: { completion: { values: ['x'] } } })
})

t.test(
  'what a client did not declare is refused to the server, and the client hears nothing of it',
  async t => {
    const forms = { ...CAN_NOTHING, elicitation: { form: true, url: false } }
    const { world, server, client } = await withReturned({}, { capabilities: forms })
    const call = client.call(...REQUESTS[0])
    const refused = { code: -32602, message: 'Elicitation mode not supported: url', data: undefined }
    t.same(server.link.ask(FORM, PAGE).answered, refused)
    t.match(server.link.ask('roots/list').answered, { code: -32601 })
    await world.pass(10)
    t.same(call.ends, [])
    server.last('tools/call').answer()
    t.same(call.ended, { result: DONE })
  },
)

t.test('on a retry its own declarations count: what the first request could be asked is refused', async t => {
  const { world, server, client } = await withReturned()
  const call = client.call(...REQUESTS[0])
  const [form, page] = [server.link.ask(FORM, ASK), server.link.ask(FORM, PAGE)]
  await world.pass(10)
  const forms = { ...CAN_NOTHING, elicitation: { form: true, url: false } }
  const poorer = await world.client({ revision: '2026-07-28', capabilities: forms })
  const retry = again(call, {}, { client: poorer })
  t.same(page.answered, { code: -32602, message: 'Elicitation mode not supported: url', data: undefined })
  t.same(Object.keys(wishOf(retry).inputRequests ?? {}), ['2-1'])
  const last = again(retry, { '2-1': ACCEPT })
  t.same(form.answered, { result: ACCEPT })
  t.match(server.link.ask('roots/list').answered, { code: -32601 }, 'from now on')
  server.last('tools/call').answer()
  t.same(last.ended, { result: DONE })
})

t.test(
  'a page is asked for without the id that the server gave it; that the user agreed is all it hears',
  async t => {
    const { world, server, client } = await withReturned()
    const call = client.call(...REQUESTS[0])
    const page = server.link.ask(FORM, { ...PAGE, _meta: { progressToken: 1 } })
    await world.pass(10)
    const params = { mode: 'url', message: 'm', url: 'https://a/b' }
    t.same(wishOf(call).inputRequests, { '1-1': { method: FORM, params } })
    server.link.notice('notifications/elicitation/complete', { elicitationId: 'e1' })
    again(call, { '1-1': { action: 'accept', content: { x: 1 }, _meta: {} } })
    t.match(page.answered, { result: { action: 'accept' } })
  },
)

t.test('a server that withdraws its question is not answered, and its call goes on', async t => {
  const { world, server, client } = await withReturned()
  const call = client.call(...REQUESTS[0])
  const ask = server.link.ask(FORM, ASK)
  await world.pass(10)
  ask.withdraw()
  const retry = again(call, { '1-1': ACCEPT })
  t.same(ask.outcomes, [])
  server.last('tools/call').answer()
  t.same(retry.ended, { result: DONE })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test('a server that gave up on its question and returned a result: the next retry gets it', async t => {
  const { world, server, client } = await withReturned()
  const call = client.call(...REQUESTS[0])
  server.link.ask(FORM, ASK).withdraw()
  server.link.ask(FORM, ASK)
  await world.pass(10)
  server.last('tools/call').answer({ content: [{ type: 'resource_link', uri: 'mem:r', name: 'r' }] })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
  t.match(again(call, {}).ended, { result: { content: [{ uri: 'a+mem:r' }] } }, 'in words that clients know')
})

t.test('an unclaimed call is cancelled at its server before its questions are answered', async t => {
  const { world, server, client } = await withReturned()
  client.call(...REQUESTS[0])
  server.link.ask(FORM, ASK)
  server.link.ask('sampling/createMessage', { messages: [], maxTokens: 1 })
  await world.pass(10)
  const deeds = deedsOf(server)
  await world.pass(599_999)
  t.same(deeds, [])
  await world.pass(1)
  t.same(deeds, ['cancelled: input not provided', `answered ${FORM}`, 'answered sampling/createMessage'])
  t.same(server.link.asks[0]?.answered, { result: { action: 'cancel' } })
  t.match(server.link.asks[1]?.answered, { code: -32603, message: 'Client did not provide input' })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test(
  'at the end of the proxy a parked call is cancelled at its server, then its question is answered',
  async t => {
    const { world, server, client } = await withReturned()
    client.call(...REQUESTS[0])
    server.link.ask(FORM, ASK)
    await world.pass(10)
    const deeds = deedsOf(server)
    const closed = world.router.close()
    t.same(deeds, ['cancelled: input not provided', `answered ${FORM}`])
    await closed
    t.match(world.router.load, { calls: 0, serverRequests: 0 })
  },
)

t.test('the time that a person takes does not count against the call, nor for ever', async t => {
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 60_000 }
  const { world, server, client } = await withReturned({ options: { timeouts } })
  const call = client.call(...REQUESTS[0])
  await world.pass(9000)
  server.link.ask(FORM, ASK)
  await world.pass(500_000, 50_000)
  const retry = again(call, { '1-1': ACCEPT })
  await world.pass(9000)
  t.same(retry.ends, [], 'silence counts from the answer on')
  server.last('tools/call').progress(1)
  for (let n = 2; n <= 5; n += 1) {
    await world.pass(8000)
    server.last('tools/call').progress(n)
  }
  t.same(retry.ends, [], '50 s without those of the person')
  await world.pass(9500, 500)
  server.last('tools/call').progress(6)
  await world.pass(2000, 500)
  t.match(retry.ended, { code: -32603, message: /Timed out/ })
  t.same(server.last('tools/call').cancels, ['timed out'])
})

t.test('the 33rd call of a user that would be parked is not: its server is refused, and goes on', async t => {
  const { world, server, client } = await withReturned()
  const calls = Array.from({ length: 33 }, () => client.call(...REQUESTS[0]))
  const asks = server.got('tools/call').map(request => server.link.ask(FORM, ASK, request))
  await world.pass(10)
  t.equal(calls.filter(call => call.ends.length > 0).length, 32)
  t.match(asks[32]?.answered, { code: -32603, message: /^Too many calls wait/ })
  server.last('tools/call').answer()
  t.same(calls[32]?.ended, { result: DONE })
  for (const call of calls.slice(0, 1)) again(call, { '1-1': ACCEPT })
  t.match(world.router.load, { serverRequests: 31 })
})

t.test('progress and log lines go to the request that is open, if it wants them', async t => {
  const { world, server, client } = await withReturned({ capabilities: { logging: true } })
  const call = client.call(...REQUESTS[0], { wantsProgress: true, logLevel: 'error' })
  await settled()
  const request = server.last('tools/call')
  const log = (level: string): void =>
    server.link.notice('notifications/message', { level, data: level }, request)
  request.progress(0.2)
  server.link.ask(FORM, ASK)
  await world.pass(10)
  request.progress(0.4)
  request.progress(0.6)
  for (const level of ['error', 'warning', 'debug']) log(level)
  t.same(call.progresses, [0.2])
  const retry = again(call, { '1-1': ACCEPT }, { wantsProgress: true, logLevel: 'error' })
  t.same(retry.progresses, [0.6])
  t.same(
    retry.told.map(([, params]) => params),
    [{ level: 'error', data: 'error', logger: 'a' }],
  )
  t.equal(call.late, 0)
})

// ── connections ──

t.test('a server that waits for the answer of a disconnected client is kept until the wait ends', async t => {
  for (const sharing of ['session', 'principal'] as const) {
    const { world, server, client } = await withReturned({ options: { sharing } })
    const call = client.call(...REQUESTS[0])
    server.link.ask(FORM, ASK)
    await world.pass(10)
    client.isGone = true
    world.router.left(client)
    await world.pass(590_000, 10_000)
    t.notOk(server.link.isClosed, sharing)
    const later = await world.client({ revision: '2026-07-28' })
    const retry = again(call, { '1-1': ACCEPT }, { client: later })
    const request = server.got('tools/call')[0]
    await world.pass(20_000, 10_000)
    t.same(request?.cancels, [])
    request?.answer()
    t.same(retry.ended, { result: DONE })
    const [first] = server.links
    await world.pass(sharing === 'session' ? 10_000 : 1_000_000, 10_000)
    t.ok(first?.isClosed, `${sharing}: and no longer`)
  }
})

t.test('a session that rests keeps no server that only it uses, as before', async t => {
  const world = new World({ a: { tools: [tool('x')], options: { sharing: 'session' } } })
  const client = await world.client({ capabilities: ALL_ABILITIES })
  await client.get('tools/list')
  client.call('tools/call', { name: 'a__x' })
  world.router.idle(client)
  await settled()
  t.ok(world.server('a').links.some(link => link.isClosed))
})

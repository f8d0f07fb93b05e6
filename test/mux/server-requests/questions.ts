import t, { type Test } from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import { settled } from '../../support/fake-clock.js'
import { again, World, wishOf, withReturned } from '../../support/proxy/router.js'
import { CAN_NOTHING, tool } from '../../support/values.js'

const FORM = { mode: 'form', message: 'Seat?', requestedSchema: { type: 'object', properties: {} } }
const SAMPLING = { messages: [], maxTokens: 5 }
const SAMPLE = { role: 'assistant', content: { type: 'text', text: 'a' }, model: 'm' }
const ROOTS = { roots: [{ uri: 'file:///w' }] }
const ACCEPT = { action: 'accept', content: { seat: '12A' } }
const BOOKED = { content: [{ type: 'text', text: 'booked 12A' }] }

const QUESTIONS = [
  ['elicitation/create', FORM, ACCEPT],
  ['sampling/createMessage', SAMPLING, SAMPLE],
  ['roots/list', undefined, ROOTS],
] as const

/** Nothing of what was asked is left. */
const isQuiet = (t: Test, world: World): void => {
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
}

/** The second of two requests, which must be the first again with answers. */
const retryOf = <T extends { readonly params: unknown }>(
  t: Test,
  [, retry, ...more]: readonly T[],
  inputResponses: object,
): T | undefined => {
  t.same(more, [])
  t.same(retry?.params, { name: 'x', arguments: { day: 'fri' }, inputResponses, requestState: 'S1' })
  return retry
}

// ── the four cells: each answer reaches the server once, each request runs once ──

for (const [method, params, answer] of QUESTIONS) {
  t.test(
    `${method} of a server that pushes it, to a client that is returned it: one answer, one run`,
    async t => {
      const { world, server, client } = await withReturned()
      const call = client.call('tools/call', { name: 'a__x', arguments: { day: 'fri' } })
      const ask = server.link.ask(method, params)
      await world.pass(10)
      const wish = wishOf(call)
      t.equal(wish.resultType, 'input_required')
      t.same(wish.inputRequests, { '1-1': { method, ...(params && { params }) } })
      const retry = again(call, { '1-1': answer })
      t.same(ask.answered, { result: answer })
      server.last('tools/call').answer(BOOKED)
      t.same(retry.ended, { result: BOOKED })
      t.equal(server.got('tools/call').length, 1)
      t.same(client.asked, [], 'nothing was pushed')
      isQuiet(t, world)
    },
  )

  t.test(
    `${method} of a server that returns it, to a client that is pushed it: one answer, one run`,
    async t => {
      const world = new World({ a: { tools: [tool('x')], revision: '2026-07-28' } })
      const client = await world.client()
      await client.get('tools/list')
      const call = client.call('tools/call', { name: 'a__x', arguments: { day: 'fri' } })
      world
        .server('a')
        .last('tools/call')
        .returns({ k: { method, ...(params && { params }) } }, 'S1')
      const [seen, ...others] = client.asked
      t.same(others, [])
      t.equal(seen?.during, call)
      t.equal(seen?.ask.method, method)
      seen?.ask.answer(succeeded(textOf(answer)))
      const retry = retryOf(t, world.server('a').got('tools/call'), { k: answer })
      retry?.answer(BOOKED)
      t.same(call.ended, { result: BOOKED })
      t.match(retry?.requester, { capabilities: client.capabilities })
      isQuiet(t, world)
    },
  )

  t.test(
    `${method} of a server that returns it, to a client that is returned it: one answer, one run`,
    async t => {
      const { world, server: a, client } = await withReturned({ revision: '2026-07-28' })
      const call = client.call('tools/call', { name: 'a__x', arguments: { day: 'fri' } })
      a.last('tools/call').returns({ k: { method, ...(params && { params }) } }, 'S1')
      const wish = wishOf(call)
      t.same(wish.inputRequests, { k: { method, ...(params && { params }) } })
      t.not(wish.requestState, 'S1')
      isQuiet(t, world)
      const retry = again(call, { k: answer })
      retryOf(t, a.got('tools/call'), { k: answer })?.answer(BOOKED)
      t.same(retry.ended, { result: BOOKED })
      isQuiet(t, world)
    },
  )
}

t.test('a question that a client is pushed goes to a server that pushes it as before', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await client.get('tools/list')
  const call = client.call('tools/call', { name: 'a__x' })
  const ask = world.server('a').link.ask('elicitation/create', FORM)
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  t.same(ask.answered, { result: ACCEPT })
  world.server('a').last('tools/call').answer(BOOKED)
  t.same(call.ended, { result: BOOKED })
  isQuiet(t, world)
})

// ── a client that is pushed, a server that returns ──

/** One such pair, in the middle of a round. */
const driven = async (requests: object, about: Parameters<World['client']>[0] = {}) => {
  const world = new World({ b: { tools: [tool('x')], prompts: [{ name: 'p' }], revision: '2026-07-28' } })
  const client = await world.client(about)
  await client.get('tools/list')
  await client.get('prompts/list')
  const call = client.call('tools/call', { name: 'b__x' })
  const server = world.server('b')
  server.last('tools/call').returns(requests, 'S')
  return { world, client, call, server }
}

t.test(
  'the end of a page’s visit is told on the call before its result, to clients that know it',
  async t => {
    const page = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'm', url: 'https://pay.example' },
    }
    const { world, client, call, server } = await driven({ k: page })
    const { elicitationId } = JSON.parse(client.asked[0]?.ask.params?.toString() ?? '') as {
      elicitationId: string
    }
    client.asked[0]?.ask.answer(succeeded(textOf({ action: 'accept' })))
    server.last('tools/call').answer()
    t.same(call.told, [['notifications/elicitation/complete', { elicitationId }]])
    t.match(call.ended, { result: {} })
    t.equal(call.late, 0)
    isQuiet(t, world)
  },
)

t.test('a client that cancels during a question is asked no more, and its server gets nothing', async t => {
  const { world, client, call, server } = await driven({
    k: { method: 'elicitation/create', params: FORM },
  })
  call.cancel('user')
  t.ok(client.asked[0]?.withdrawn)
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  t.equal(server.got('tools/call').length, 1, 'no retry')
  t.same(call.ends, [])
  isQuiet(t, world)
})

t.test('a client that leaves while it is asked leaves nothing behind, and causes nothing', async t => {
  const { world, client, server } = await driven({ k: { method: 'elicitation/create', params: FORM } })
  client.leave()
  t.equal(server.got('tools/call').length, 1)
  t.match(world.router.load, { clients: 0, calls: 0, serverRequests: 0 })
})

t.test('a person may take longer than a server: only the limit for the answers counts meanwhile', async t => {
  const { world, client, call, server } = await driven({ k: { method: 'elicitation/create', params: FORM } })
  await world.pass(599_000)
  t.same(call.ends, [])
  client.asked[0]?.ask.answer(succeeded(textOf(ACCEPT)))
  await world.pass(299_000)
  t.same(call.ends, [])
  server.last('tools/call').answer(BOOKED)
  t.same(call.ended, { result: BOOKED })
})

t.test('a form that is not filled in ends the call with a message, and is withdrawn', async t => {
  const { world, client, call, server } = await driven({ k: { method: 'elicitation/create', params: FORM } })
  await world.pass(600_000)
  t.match(call.ended, {
    result: { isError: true, content: [{ text: /^Server b asked for input, but no answer arrived/ }] },
  })
  t.ok(client.asked[0]?.withdrawn)
  t.equal(server.got('tools/call').length, 1)
  isQuiet(t, world)
})

t.test('a client that can be asked nothing reads what the server wanted, and is asked nothing', async t => {
  const { world, client, call } = await driven(
    { k: { method: 'elicitation/create', params: FORM } },
    { capabilities: CAN_NOTHING },
  )
  t.match(call.ended, {
    result: {
      isError: true,
      content: [{ text: 'Server b asked for input this client cannot provide: elicitation' }],
    },
  })
  t.same(client.asked, [])
  const prompt = client.call('prompts/get', { name: 'b__p' })
  world
    .server('b')
    .last('prompts/get')
    .returns({ k: { method: 'roots/list' } })
  t.match(prompt.ended, { code: -32603, message: /roots/ })
  isQuiet(t, world)
})

t.test('a wish for input where there may be none is an error, for every client', async t => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const world = new World({
      b: { prompts: [{ name: 'p' }], revision: '2026-07-28', capabilities: { completions: true } },
    })
    const client = await world.client({ revision })
    await client.get('prompts/list')
    const ref = { type: 'ref/prompt', name: 'b__p' }
    const call = client.call('completion/complete', { ref, argument: { name: 'a', value: '' } })
    world
      .server('b')
      .last('completion/complete')
      .returns({ k: { method: 'roots/list' } })
    t.match(call.ended, { code: -32603 }, revision)
    t.same(client.asked, [])
  }
})

t.test('what a client that is asked says about rounds of others does not reach the server', async t => {
  const { client, server } = await driven({})
  client.call('tools/call', { name: 'b__x', requestState: 'stolen', inputResponses: {}, arguments: {} })
  t.same(server.last('tools/call').params, { name: 'x', arguments: {} })
})

t.test('a server may return 64 questions: the next one is an invalid answer', async t => {
  const requests = Object.fromEntries(
    Array.from({ length: 65 }, (_, n) => [`k${n}`, { method: 'sampling/createMessage', params: SAMPLING }]),
  )
  const { world, call } = await driven(requests)
  t.match(call.ended, { result: { isError: true, content: [{ text: /unanswered/ }] } })
  isQuiet(t, world)
})

t.test('log lines on the way of a call that is driven reach its client, in every round', async t => {
  const { client, call, server } = await driven({ k: { method: 'roots/list' } })
  const log = (text: string): void =>
    server.link.notice('notifications/message', { level: 'error', data: text }, server.last('tools/call'))
  client.asked[0]?.ask.answer(succeeded(textOf(ROOTS)))
  log('second round')
  t.match(call.told, [['notifications/message', { data: 'second round' }]])
})

t.test('a connection that breaks after an answer ends the call without a retry', async t => {
  for (const code of ['disconnected', 'session-lost', 'maybe-replaced'] as const) {
    const { world, client, call, server } = await driven({ k: { method: 'roots/list' } })
    client.asked[0]?.ask.answer(succeeded(textOf(ROOTS)))
    server.last('tools/call').fail(new Fault(code, 'the server is gone, and has done half of it'))
    server.link.drop()
    await world.pass(1)
    t.match(call.ended, { code: -32603, data: { server: 'b' } }, code)
    t.equal(server.got('tools/call').length, 2, code)
  }
})

// ── what a server is told about the client of a request ──

t.test('each request declares the capabilities of its client and its log level', async t => {
  const world = new World({
    b: { tools: [tool('x')], revision: '2026-07-28', capabilities: { logging: true } },
  })
  const forms = { ...CAN_NOTHING, elicitation: { form: true, url: false } }
  const legacy = await world.client({ capabilities: forms })
  const modern = await world.client({ revision: '2026-07-28', capabilities: CAN_NOTHING })
  await legacy.get('tools/list')
  const callerOf = async (client: typeof legacy, logLevel?: 'debug') => {
    client.call('tools/call', { name: 'b__x' }, logLevel && { logLevel })
    await settled()
    return world.server('b').last('tools/call').requester
  }
  t.same(await callerOf(legacy), { capabilities: forms, logLevel: undefined })
  await legacy.get('logging/setLevel', { level: 'warning' })
  t.same(await callerOf(legacy), { capabilities: forms, logLevel: 'warning' })
  t.same(await callerOf(modern), { capabilities: CAN_NOTHING, logLevel: undefined })
  t.same(await callerOf(modern, 'debug'), { capabilities: CAN_NOTHING, logLevel: 'debug' })
  t.equal(world.server('b').last('tools/list').requester, undefined, 'nobody can be asked for ourselves')
})

import t from 'tap'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World, wishOf, withReturned } from '../../support/proxy/router.js'
import type { FakeServer, Script } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, tool } from '../../support/values.js'

const SAMPLING = { messages: [], maxTokens: 1 }
const NOBODY = { code: -32602, message: 'No client request is associated with this request' }
const AMBIGUOUS = { code: -32602, message: 'No single client request is associated with this request' }

const withTool = async (
  script: Script = {},
  count = 1,
): Promise<{ world: World; server: FakeServer; clients: FakeClient[] }> => {
  const world = new World({ a: { tools: [tool('x')], ...script } })
  const clients: FakeClient[] = []
  for (let index = 0; index < count; index += 1) clients.push(await world.client())
  await clients[0]?.get('tools/list')
  return { world, server: world.server('a'), clients }
}

const call = (client: FakeClient | undefined) => {
  if (client === undefined) throw new Error('no client')
  return client.call('tools/call', { name: 'a__x' })
}

t.test(
  'a question in the middle of the only call reaches its client on that call, and the answer its server',
  async t => {
    const { world, server, clients } = await withTool()
    const [client] = clients
    const running = call(client)
    const question = server.link.ask('sampling/createMessage', { ...SAMPLING, 'x/y': 1 })
    const [seen] = client?.asked ?? []
    t.equal(client?.asked.length, 1)
    t.equal(seen?.during, running)
    t.equal(seen?.ask.wantsProgress, true)
    t.same(JSON.parse(seen?.ask.params?.toString() ?? ''), { ...SAMPLING, 'x/y': 1 })
    t.match(world.router.load, { serverRequests: 1 })
    seen?.ask.progress(textOf({ progress: 1 }))
    seen?.ask.answer({ kind: 'error', error: textOf({ code: -1, message: 'User rejected' }) })
    seen?.ask.answer(succeeded(rawText('{}')))
    seen?.ask.progress(textOf({ progress: 2 }))
    t.same(question.answered, { code: -1, message: 'User rejected' }, 'one answer, as the client gave it')
    t.same(question.progresses, [{ progress: 1 }], 'with the progress before it')
    t.match(world.router.load, { serverRequests: 0 })
  },
)

t.test('a malformed sampling request is refused, and a malformed answer becomes an error', async t => {
  const { server, clients } = await withTool()
  const [client] = clients
  call(client)
  const user = (content: unknown, role = 'user') => ({ messages: [{ role, content }], maxTokens: 1 })
  for (const params of [
    undefined,
    {},
    { messages: 'x' },
    user({ type: 'text', text: 'x' }, 'system'),
    user('x'),
  ])
    t.match(server.link.ask('sampling/createMessage', params).answered, { code: -32602 })
  t.same(client?.asked, [])
  const content = { type: 'text', text: 'x' }
  for (const answer of [
    { role: 'assistant', content },
    { role: 'system', content, model: 'm' },
  ]) {
    const question = server.link.ask('sampling/createMessage', SAMPLING)
    client?.asked.at(-1)?.ask.answer(succeeded(textOf(answer)))
    t.match(question.answered, { code: -32603 }, JSON.stringify(answer))
  }
})

t.test('of two clients that call at the same time, the one on whose stream it comes is asked', async t => {
  const { server, clients } = await withTool({}, 2)
  const calls = clients.map(call)
  const [first] = server.got('tools/call')
  server.link.ask('sampling/createMessage', SAMPLING, first)
  t.equal(clients[0]?.asked[0]?.during, calls[0])
  t.same(clients[1]?.asked, [])
})

t.test('of two concurrent clients, neither is asked without evidence: the server gets an error', async t => {
  const { server, clients, world } = await withTool({}, 2)
  clients.forEach(call)
  const question = server.link.ask('elicitation/create', { message: '?' })
  t.match(question.answered, AMBIGUOUS)
  t.same(
    clients.map(client => client.asked),
    [[], []],
  )
  t.match(world.router.load, { serverRequests: 0 })
})

t.test('of several calls of one client the latest is taken', async t => {
  const { server, clients } = await withTool({}, 2)
  call(clients[0])
  const latest = call(clients[0])
  server.link.ask('roots/list')
  t.equal(clients[0]?.asked[0]?.during, latest)
})

t.test('a question outlives the calls that it may belong to, and gets the answer of its client', async t => {
  for (const end of ['answer', 'refuse', 'cancel'] as const) {
    const { world, server, clients } = await withTool()
    const calls = [call(clients[0]), call(clients[0])]
    const question = server.link.ask('sampling/createMessage', SAMPLING)
    const [asked] = clients[0]?.asked ?? []
    t.equal(asked?.during, calls[1])
    server.got('tools/call')[1]?.answer({ content: [] })
    t.equal(calls[1]?.ends.length, 1)
    if (end === 'answer') server.got('tools/call')[0]?.answer()
    else if (end === 'refuse') server.got('tools/call')[0]?.refuse(-1, 'no')
    else calls[0]?.cancel()
    t.notOk(asked?.withdrawn, end)
    t.same(question.outcomes, [], end)
    asked?.ask.answer({ kind: 'error', error: textOf({ code: -1, message: 'No' }) })
    t.match(question.answered, { code: -1 })
    t.match(world.router.load, { serverRequests: 0 })
  }
})

t.test('a question whose calls are over waits no longer than one that never had any', async t => {
  const { world, server, clients } = await withTool()
  const slow = call(clients[0])
  const question = server.link.ask('sampling/createMessage', SAMPLING)
  await world.pass(700_000)
  t.same(question.outcomes, [], 'while a call is in flight it may belong to, its user may think')
  server.last('tools/call').answer()
  t.equal(slow.ends.length, 1)
  await world.pass(600_000)
  t.match(question.answered, { code: -32603, data: { limit: 'questionTime' } })
  t.ok(clients[0]?.asked[0]?.withdrawn)
})

t.test('no call times out while its user may be asked about it; afterwards silence counts again', async t => {
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 600_000 }
  const { world, server, clients } = await withTool({ options: { timeouts } })
  const [asking, other] = [call(clients[0]), call(clients[0])]
  const question = server.link.ask('elicitation/create', { message: 'remove it?' })
  await world.pass(60_000, 250)
  t.same([asking.ends, other.ends], [[], []])
  clients[0]?.asked[0]?.ask.answer(succeeded(rawText('{"action":"accept"}')))
  t.same(question.answered, { result: { action: 'accept' } })
  server.got('tools/call')[0]?.answer()
  t.match(asking.ended, { result: {} })
  await world.pass(10_250, 250)
  t.match(other.ended, { message: /Timed out/ })
})

for (const [how, end, isLate] of [
  ['was cancelled', (call: FakeCall) => call.cancel(), false],
  ['was of a session that has ended', (call: FakeCall) => call.client.leave(), false],
  ['timed out', undefined, false],
  ['was answered late', (call: FakeCall) => call.cancel(), true],
] as const)
  t.test(`a question that may belong to a call that ${how} reaches no other client`, async t => {
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      const timeouts = { connectMs: 1000, listMs: 1000, callMs: 10_000, totalMs: 600_000 }
      const world = new World({ a: { tools: [tool('x')], options: { timeouts } } })
      const alice = await world.client({ revision })
      const bob = await world.client({ revision, name: 'bob' })
      await alice.get('tools/list')
      const server = world.server('a')
      const hers = alice.call('tools/call', { name: 'a__x' })
      if (end === undefined) await world.pass(10_250, 250)
      else end(hers)
      const his = bob.call('tools/call', { name: 'a__x' })
      if (isLate) server.got('tools/call')[0]?.late()
      const question = server.link.ask('elicitation/create', { message: "delete alice's files?" })
      server.link.notice('notifications/message', { level: 'error', data: 'alice' })
      await world.pass(10)
      if (isLate) t.same(question.outcomes, [], 'the server is done with it')
      else {
        t.match(question.answered, AMBIGUOUS, revision)
        t.same([bob.asked, his.ends, his.told], [[], [], []])
      }
    }
  })

t.test('a cancelled call may own questions for three minutes, or until its connection ends', async t => {
  const { world, server, clients } = await withTool({}, 2)
  call(clients[0]).cancel()
  call(clients[1])
  await world.pass(179_000, 250)
  t.match(server.link.ask('elicitation/create', { message: '?' }).answered, AMBIGUOUS)
  await world.pass(1000, 250)
  t.same(server.link.ask('elicitation/create', { message: '?' }).outcomes, [])

  call(clients[0]).cancel()
  server.link.drop()
  await world.pass(1)
  call(clients[1])
  await settled()
  t.same(server.link.ask('elicitation/create', { message: '?' }).outcomes, [])
})

t.test('with more cancelled calls than are told apart, no client is asked', async t => {
  const { server, clients } = await withTool({}, 2)
  for (let n = 0; n < 1025; n += 1) call(clients[0]).cancel()
  for (const request of server.got('tools/call')) request.late()
  call(clients[1])
  t.match(server.link.ask('elicitation/create', { message: '?' }).answered, AMBIGUOUS)
})

t.test('the only client so far is asked, regardless of its cancelled calls', async t => {
  const { server, clients } = await withTool()
  call(clients[0]).cancel()
  server.link.ask('roots/list')
  const running = call(clients[0])
  server.link.ask('roots/list')
  t.same(
    clients[0]?.asked.map(({ during }) => during),
    [undefined, running],
  )
})

t.test('the second question of a call, and its log line, reach no other client', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const alice = world.modern()
  await alice.get('tools/list')
  const server = world.server('a')
  const hers = alice.call('tools/call', { name: 'a__x' }, { logLevel: 'debug' })
  await settled()
  server.link.ask('elicitation/create', { message: 'one' })
  await world.pass(10)
  t.equal(hers.ends.length, 1)
  const his = world.modern().call('tools/call', { name: 'a__x' }, { logLevel: 'debug' })
  await settled()
  server.link.notice('notifications/message', { level: 'error', data: 'alice' })
  t.match(server.link.ask('elicitation/create', { message: 'two' }).answered, AMBIGUOUS)
  await world.pass(10)
  t.same([his.ends, his.told], [[], []])
})

for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel', 'tools/list'])
  t.test(`a question that may be about ${method} reaches no client that calls meanwhile`, async t => {
    const world = new World({
      a: { tools: [tool('x')], resources: [], capabilities: { logging: true } },
    })
    const [alice, bob] = [await world.client(), await world.client()]
    await alice.get('tools/list')
    await bob.get('tools/list')
    const server = world.server('a')
    await alice.get('resources/subscribe', { uri: 'a+x://diary' })
    server.silent.add(method)
    if (method === 'resources/subscribe') alice.call(method, { uri: 'a+x://other' })
    else if (method === 'resources/unsubscribe') alice.call(method, { uri: 'a+x://diary' })
    else if (method === 'logging/setLevel') alice.call(method, { level: 'error' })
    else server.link.notice('notifications/tools/list_changed')
    await world.pass(1000)
    t.ok(server.got(method).length > 0)
    call(bob)
    await settled()
    t.match(server.link.ask('elicitation/create', { message: 'alice?' }).answered, AMBIGUOUS)
    server.last(method).answer({ tools: [] })
    await settled()
    t.same(server.link.ask('elicitation/create', { message: 'bob?' }).outcomes, [])
    t.equal(bob.asked.length, 1)
    await world.router.close()
  })

/** Lets the server of two sessions work on a request of the proxy that the first one caused. */
const CAUSES: Record<string, (alice: FakeClient, server: FakeServer, world: World) => Promise<void>> = {
  'tools/list': async (alice, server, world) => {
    server.link.notice('notifications/tools/list_changed')
    await world.pass(10)
    alice.call('tools/list')
  },
  'logging/setLevel': async alice => void alice.call('logging/setLevel', { level: 'error' }),
  'resources/subscribe': async alice => void alice.call('resources/subscribe', { uri: 'a+x://other' }),
  'resources/unsubscribe': async alice => void alice.call('resources/unsubscribe', { uri: 'a+x://diary' }),
}

for (const [method, cause] of Object.entries(CAUSES))
  t.test(`while ${method} is sent for a client, its own call is asked, and no other client's`, async t => {
    const world = new World({
      a: { tools: [tool('x')], resources: [], capabilities: { logging: true } },
    })
    const [alice, bob] = [await world.client(), await world.client()]
    await alice.get('tools/list')
    const server = world.server('a')
    call(bob).cancel()
    server.last('tools/call').late()
    await world.pass(100)
    await alice.get('resources/subscribe', { uri: 'a+x://diary' })
    const before = server.got(method).length
    server.silent.add(method)
    await cause(alice, server, world)
    await settled()
    t.equal(server.got(method).length, before + 1)
    call(alice)
    server.link.notice('notifications/message', { level: 'error', data: 'hers' })
    t.same(server.link.ask('elicitation/create', { message: 'hers?' }).outcomes, [])
    t.equal(alice.asked.length, 1)
    t.match(alice.calls.at(-1)?.told, [['notifications/message', { data: 'hers' }]])
    call(bob)
    t.match(server.link.ask('elicitation/create', { message: 'whose?' }).answered, AMBIGUOUS)
    t.same(bob.asked, [])
    await world.router.close()
  })

t.test('a list that two clients wait for is read for neither of them alone', async t => {
  for (const isShared of [false, true]) {
    const world = new World({ a: { tools: [tool('x')], prompts: [{ name: 'p' }] } })
    const [alice, bob] = [await world.client(), await world.client()]
    await alice.get('prompts/list')
    const server = world.server('a')
    bob.call('prompts/get', { name: 'a__p' })
    await settled()
    server.last('prompts/get').answer({ messages: [] })
    server.silent.add('tools/list')
    alice.call('tools/list')
    if (isShared) bob.call('tools/list')
    alice.call('prompts/get', { name: 'a__p' })
    await settled()
    t.equal(server.got('tools/list').length, 1)
    const { answered, outcomes } = server.link.ask('elicitation/create', { message: 'hers?' })
    if (isShared) t.match(answered, AMBIGUOUS)
    else t.same(outcomes, [])
    await world.router.close()
  }
})

t.test(
  'a changed list is read after the calls in flight, or a second later: their questions arrive',
  async t => {
    for (const isEnding of [true, false]) {
      const world = new World({ a: { tools: [tool('x')] } })
      const alice = world.modern()
      await alice.get('tools/list')
      await world.pass(1100)
      const server = world.server('a')
      const before = server.got('tools/list').length
      const hers = alice.call('tools/call', { name: 'a__x' })
      await settled()
      server.silent.add('tools/list')
      server.link.notice('notifications/tools/list_changed')
      await world.pass(900)
      t.equal(server.got('tools/list').length, before)
      if (isEnding) server.last('tools/call').answer({ content: [] })
      else {
        server.link.ask('elicitation/create', { message: 'hers?' })
        await world.pass(10)
        t.match(wishOf(hers).inputRequests, { '1-1': { params: { message: 'hers?' } } })
      }
      await world.pass(isEnding ? 60 : 200)
      t.equal(server.got('tools/list').length, before + 1)
      await world.router.close()
    }
  },
)

t.test('a call that may be asked waits for requests of the proxy for no client, for a second', async t => {
  for (const isAnswered of [true, false]) {
    const world = new World({ a: { tools: [tool('x')], prompts: [{ name: 'p' }] } })
    const [alice, bob] = [await world.client(), await world.client()]
    await alice.get('prompts/list')
    const server = world.server('a')
    bob.call('prompts/get', { name: 'a__p' })
    await settled()
    server.last('prompts/get').answer({ messages: [] })
    server.silent.add('tools/list')
    alice.call('tools/list')
    bob.call('tools/list')
    await settled()
    alice.call('prompts/get', { name: 'a__p' })
    await settled()
    t.equal(server.got('prompts/get').length, 1, 'it is not sent yet')
    if (isAnswered) server.last('tools/list').answer({ tools: [tool('x')] })
    else await world.pass(1000)
    await settled()
    t.equal(server.got('prompts/get').length, 2)
    const { answered, outcomes } = server.link.ask('elicitation/create', { message: 'hers?' })
    if (isAnswered) t.same(outcomes, [])
    else t.match(answered, AMBIGUOUS)
    await world.router.close()
  }
})

t.test('a level that a session brings along delays no log line of its first call', async t => {
  const world = new World({ a: { tools: [tool('x')], capabilities: { logging: true } } })
  const [first, second] = [await world.client(), await world.client()]
  await first.get('tools/list')
  await world.pass(100)
  const server = world.server('a')
  server.silent.add('logging/setLevel')
  await second.get('logging/setLevel', { level: 'debug' })
  const hers = call(second)
  await settled()
  t.equal(server.got('logging/setLevel').length, 1)
  server.link.notice('notifications/message', { level: 'info', data: 'hers' })
  t.match(hers.told, [['notifications/message', { data: 'hers' }]])
  await world.router.close()
})

t.test('a request of the proxy that timed out may own questions until its late answer', async t => {
  const { world, server, clients } = await withTool({ resources: [], capabilities: { logging: true } }, 2)
  server.silent.add('logging/setLevel')
  clients[0]?.call('logging/setLevel', { level: 'error' })
  await world.pass(20_000)
  t.equal(server.last('logging/setLevel').cancels.length, 1)
  call(clients[1])
  t.match(server.link.ask('elicitation/create', { message: '?' }).answered, AMBIGUOUS)
  server.last('logging/setLevel').late()
  t.same(server.link.ask('elicitation/create', { message: '?' }).outcomes, [])
})

t.test('clients that say the same about themselves may be two people: neither gets the question', async t => {
  for (const method of ['tools/call', 'completion/complete']) {
    const { server, client } = await withReturned({ capabilities: { completions: true } })
    const anns = client.call('tools/call', { name: 'a__x' })
    const bobs = client.call(method, {
      name: 'a__x',
      ref: { type: 'ref/prompt', name: 'a__p' },
      argument: { name: 'a', value: '' },
    })
    t.equal(server.got(method).length, method === 'tools/call' ? 2 : 1)
    t.match(server.link.ask('elicitation/create', { message: 'Pay for ann?' }).answered, AMBIGUOUS, method)
    await settled()
    t.same([anns.ends, bobs.ends], [[], []])
    server.last(method).answer({ content: [], completion: { values: [] } })
    if (method === 'tools/call') continue
    const question = server.link.ask('elicitation/create', { message: 'Pay for ann?' })
    t.same(question.outcomes, [], 'alone it is one person’s')
  }
})

t.test('a call that was never sent cannot be the subject of a question', async t => {
  const { server, clients } = await withTool({ options: { serialize: true } }, 2)
  const first = call(clients[0])
  call(clients[1]).cancel()
  server.link.ask('roots/list')
  t.equal(clients[0]?.asked[0]?.during, first)
})

t.test('finished calls and our own requests do not redirect a question to another client', async t => {
  const { server, clients } = await withTool({}, 2)
  const first = call(clients[0])
  const [request] = server.got('tools/call')
  call(clients[1])
  first.cancel()
  t.match(server.link.ask('sampling/createMessage', SAMPLING, request).answered, NOBODY)
  t.match(server.link.ask('sampling/createMessage', SAMPLING, server.last('tools/list')).answered, NOBODY)
  t.same(
    clients.map(client => client.asked),
    [[], []],
  )
})

t.test(
  'outside of any call, the only client that ever used the server is asked; a second one ends that',
  async t => {
    const { world, server, clients } = await withTool()
    const question = server.link.ask('roots/list')
    t.equal(clients[0]?.asked.length, 1)
    t.equal(clients[0]?.asked[0]?.during, undefined)
    clients[0]?.asked[0]?.ask.answer(
      succeeded(
        textOf({ roots: [{ uri: 'https://x' }, { uri: 'file:///w', name: 'w' }, { uri: 7 }], _meta: {} }),
      ),
    )
    t.same(
      question.answered,
      { result: { roots: [{ uri: 'file:///w', name: 'w' }], _meta: {} } },
      'roots are files',
    )

    const second = await world.client()
    const done = call(second)
    server.last('tools/call').answer()
    t.match(done.ended, { result: {} })
    t.match(server.link.ask('roots/list').answered, NOBODY)
    second.leave()
    t.match(server.link.ask('roots/list').answered, NOBODY, 'even after it left')
  },
)

t.test('a client is not asked for what it did not offer: the error names it', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const rows = [
    ['roots/list', undefined, {}, -32601, 'Roots not supported'],
    ['sampling/createMessage', SAMPLING, {}, -32601, 'Sampling not supported'],
    ['elicitation/create', { message: '?' }, {}, -32601, 'Elicitation not supported'],
    [
      'sampling/createMessage',
      { ...SAMPLING, tools: [] },
      { sampling: { tools: false, context: false } },
      -32602,
      'Sampling with tools not supported',
    ],
    [
      'sampling/createMessage',
      { ...SAMPLING, toolChoice: {} },
      { sampling: { tools: false, context: false } },
      -32602,
      'Sampling with tools not supported',
    ],
    [
      'elicitation/create',
      { mode: 'url', url: 'https://x', elicitationId: '1' },
      { elicitation: { form: true, url: false } },
      -32602,
      'Elicitation mode not supported: url',
    ],
  ] as const
  for (const [method, params, more, code, message] of rows) {
    const client = await world.client({ capabilities: { ...CAN_NOTHING, ...more } })
    await client.get('tools/list')
    call(client)
    await settled()
    const question = world.server('a').link.ask(method, params)
    t.same(question.answered, { code, message, data: undefined })
    t.same(client.asked, [])
    client.leave()
  }
})

t.test(
  'servers shared by all clients get an initialize without client capabilities, and ask no client',
  async t => {
    const { server, clients } = await withTool({ options: { sharing: 'all' } })
    t.same(server.greetings[0]?.capabilities, CAN_NOTHING)
    call(clients[0])
    t.match(server.link.ask('sampling/createMessage', SAMPLING).answered, { code: -32601 })
    t.same(clients[0]?.asked, [])
  },
)

t.test('next to other servers, none gets the context of all: includeContext is left out', async t => {
  for (const [servers, includeContext, expected] of [
    [['a', 'b'], 'thisServer', undefined],
    [['a', 'b'], 'allServers', undefined],
    [['a', 'b'], 'none', 'none'],
    [['a'], 'thisServer', 'thisServer'],
  ] as const) {
    const world = new World(Object.fromEntries(servers.map(name => [name, { tools: [tool('x')] }])))
    const client = await world.client()
    world.server('a').link.ask('sampling/createMessage', { ...SAMPLING, includeContext })
    const params = JSON.parse(client.asked[0]?.ask.params?.toString() ?? '') as object
    t.same(
      params,
      { ...SAMPLING, ...(expected && { includeContext: expected }) },
      `${includeContext} of ${servers.length}`,
    )
  }
})

t.test(
  'when a server withdraws its question, the client is notified, and late answers are dropped',
  async t => {
    const { world, server, clients } = await withTool()
    call(clients[0])
    const question = server.link.ask('sampling/createMessage', SAMPLING)
    question.withdraw()
    const [seen] = clients[0]?.asked ?? []
    t.ok(seen?.withdrawn)
    seen?.ask.answer(succeeded(rawText('{}')))
    seen?.ask.progress(textOf({ progress: 1 }))
    t.same([question.outcomes, question.progresses], [[], []])
    t.match(world.router.load, { serverRequests: 0 })
  },
)

t.test(
  'a client that leaves has cancelled its dialogs; its other questions fail, and then its call is cancelled',
  async t => {
    const { world, server, clients } = await withTool({}, 2)
    call(clients[0])
    const questions = ['elicitation/create', 'sampling/createMessage'].map(method =>
      server.link.ask(method, { message: '?', ...SAMPLING }),
    )
    clients[0]?.leave()
    t.same(questions[0]?.answered, { result: { action: 'cancel' } })
    t.match(questions[1]?.answered, { code: -32603 })
    t.equal(server.last('tools/call').cancels.length, 1)
    t.match(world.router.load, { clients: 1, calls: 0, serverRequests: 0, subscriptions: 0 })
  },
)

for (const [how, end] of [
  ['answered', (_client: FakeClient, server: FakeServer) => server.last('tools/call').answer()],
  ['cancelled', (client: FakeClient) => client.calls.at(-1)?.cancel('user')],
  ['ended by the loss of its server', (_client: FakeClient, server: FakeServer) => server.link.drop()],
] as const) {
  t.test(`when a call is ${how}, the dialogs that came on its stream are taken back`, async t => {
    const { world, server, clients } = await withTool()
    const [client] = clients
    if (client === undefined) return
    call(client)
    const question = server.link.ask('elicitation/create', { message: '?' }, server.last('tools/call'))
    end(client, server)
    t.ok(client.asked[0]?.withdrawn)
    t.same(question.answered, { result: { action: 'cancel' } })
    client.asked[0]?.ask.answer(succeeded(rawText('{"action":"accept"}')))
    t.equal(question.outcomes.length, 1)
    t.match(world.router.load, { calls: 0, serverRequests: 0 })
  })
}

t.test('a server with 64 open questions is refused the next, until one is answered', async t => {
  const { world, server, clients } = await withTool()
  call(clients[0])
  const questions = Array.from({ length: 65 }, () => server.link.ask('elicitation/create', { message: '?' }))
  t.equal(clients[0]?.asked.length, 64)
  t.match(questions[64]?.answered, { code: -32603 }, 'an error: nobody cancelled anything')
  clients[0]?.asked[0]?.ask.answer(succeeded(rawText('{"action":"accept"}')))
  server.link.ask('elicitation/create', { message: '?' })
  t.equal(clients[0]?.asked.length, 65)
  t.match(world.router.load, { serverRequests: 64 })
  clients[0]?.leave()
  t.match(world.router.load, { serverRequests: 0 })
})

t.test('questions whose client has not come back for long make room for others', async t => {
  const { world, server, client } = await withReturned()
  const first = client.call('tools/call', { name: 'a__x' })
  const asked = () => server.link.ask('elicitation/create', { message: '?' }, server.got('tools/call')[0])
  for (let n = 0; n < 64; n += 1) asked()
  await world.pass(10)
  t.equal(first.ends.length, 1)
  client.call('tools/call', { name: 'a__x' })
  const ask = () => server.link.ask('elicitation/create', { message: '?' }, server.last('tools/call'))
  t.match(ask().answered, { code: -32603 })
  await world.pass(30_000)
  t.same(ask().outcomes, [])
  t.match(world.router.load, { serverRequests: 1 })
})

t.test('that a URL was visited is told to the client that was shown it, once', async t => {
  const { server, clients, world } = await withTool({}, 2)
  call(clients[0])
  server.link.ask('elicitation/create', { mode: 'url', url: 'https://x', elicitationId: 'e' })
  const complete = 'notifications/elicitation/complete'
  for (let time = 0; time < 2; time += 1) server.link.notice(complete, { elicitationId: 'e' })
  server.link.notice(complete, { elicitationId: 'other' })
  server.link.notice(complete)
  t.same(
    clients.map(client => client.heard(complete)),
    [[{ elicitationId: 'e' }], []],
  )

  server.link.ask('elicitation/create', { mode: 'url', url: 'https://x', elicitationId: 'f' })
  clients[0]?.leave()
  server.link.notice(complete, { elicitationId: 'f' })
  t.match(world.router.load, { serverRequests: 0 })
})

t.test('a question on a connection that is already closed is refused', async t => {
  const { world, server } = await withTool()
  const { link } = server
  await world.router.close()
  t.match(link.ask('roots/list').answered, { code: -32603 })
})

t.test('changed roots are told to the servers that were told to expect it', async t => {
  const roots = 'notifications/roots/list_changed'
  const world = new World({
    own: { tools: [], options: { sharing: 'session' } },
    shared: { tools: [], options: { sharing: 'all' } },
  })
  const client = await world.client()
  const other = await world.client({ capabilities: { ...ALL_ABILITIES, roots: { listChanged: false } } })
  other.call('tools/call', { name: 'own__x' })
  world.router.notified(client, roots, undefined)
  world.router.notified(other, roots, undefined)
  world.router.notified(client, 'notifications/other', undefined)
  t.same(
    world.server('own').links.map(link => link.told),
    [[[roots, undefined]], []],
  )
  t.same(world.server('shared').link.told, [])
})

t.test('changed roots of each client are told to a program that clients share', async t => {
  const roots = 'notifications/roots/list_changed'
  const world = new World({ a: { tools: [tool('x')], options: { sharing: 'principal' } } })
  const [first, second, stranger] = [await world.client(), await world.client(), await world.client()]
  for (const client of [first, second]) client.call('tools/call', { name: 'a__x' })
  await settled()
  const { link } = world.server('a')
  for (const client of [first, second]) world.router.notified(client, roots, undefined)
  t.equal(link.told.length, 2)
  world.router.notified(stranger, roots, undefined)
  t.equal(link.told.length, 2, 'a client that does not use it has no say')
  first.leave()
  world.router.notified(second, roots, undefined)
  t.equal(link.told.length, 3, 'also after the first one has left')
})

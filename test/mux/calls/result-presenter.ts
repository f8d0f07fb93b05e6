import t from 'tap'
import type { FakeCall } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, REQUESTS, World, wishOf, withReturned } from '../../support/proxy/router.js'
import type { FakeServer } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, resource, tool } from '../../support/values.js'

const CONNECT = { mode: 'url', elicitationId: 'e1', url: 'https://s.example/connect', message: 'Connect' }
const CONFIRM = { mode: 'url', elicitationId: 'e2', url: 'https://s.example/confirm', message: '' }
const COMPLETE = 'notifications/elicitation/complete'
const ACCEPT = { action: 'accept' }
const NO_URL = { ...ALL_ABILITIES, elicitation: { form: true, url: false } }

const wantsPages = (server: FakeServer, method: string, elicitations: readonly object[] = [CONNECT]): void =>
  server.last(method).refuse(-32042, 'Authorization required', { elicitations })

// ── pages that must be visited first ──

for (const [method, params] of REQUESTS) {
  t.test(
    `the pages that ${method} needs are a question; once they were visited it is called again`,
    async t => {
      const { world, server, client } = await withReturned()
      const call = client.call(method, params)
      wantsPages(server, method, [CONNECT, CONFIRM])
      t.same(wishOf(call).inputRequests, {
        '1-1': {
          method: 'elicitation/create',
          params: { mode: 'url', message: 'Connect', url: CONNECT.url },
        },
        '1-2': { method: 'elicitation/create', params: { mode: 'url', message: '', url: CONFIRM.url } },
      })
      const retry = again(call, { '1-1': ACCEPT, '1-2': ACCEPT })
      server.link.notice(COMPLETE, { elicitationId: 'e2' })
      await settled()
      t.equal(server.got(method).length, 1, 'one visit is not over')
      server.link.notice(COMPLETE, { elicitationId: 'e1' })
      await settled()
      t.equal(server.got(method).length, 2)
      t.same(server.last(method).text, server.got(method)[0]?.text, 'the same request')
      server.last(method).answer({ done: 1 })
      t.match(retry.ended, { result: { done: 1 } })
      t.match(world.router.load, { calls: 0, serverRequests: 0 })
    },
  )
}

t.test('a visit that was over before the client came back is not waited for', async t => {
  const { server, client } = await withReturned()
  const call = client.call(...REQUESTS[0])
  wantsPages(server, 'tools/call')
  server.link.notice(COMPLETE, { elicitationId: 'e1' })
  again(call, { '1-1': ACCEPT })
  await settled()
  t.equal(server.got('tools/call').length, 2)
})

t.test('a visit of which nothing is heard is waited for for 30 s; then the server decides', async t => {
  const { world, server, client } = await withReturned()
  const call = client.call(...REQUESTS[0])
  wantsPages(server, 'tools/call')
  const [first, second] = [again(call, { '1-1': ACCEPT }), again(call, { '1-1': ACCEPT })]
  second.cancel()
  await world.pass(29_999)
  t.equal(server.got('tools/call').length, 1)
  await world.pass(1)
  t.equal(server.got('tools/call').length, 2, 'and not for whom nobody waits')
  wantsPages(server, 'tools/call')
  t.match(wishOf(first), { resultType: 'input_required' }, 'it may ask again')
})

t.test('a proxy that knows nothing of the visit does not wait', async t => {
  const before = await withReturned()
  const call = before.client.call(...REQUESTS[0])
  wantsPages(before.server, 'tools/call')
  const { server, client } = await withReturned()
  again(call, { '1-1': ACCEPT }, { client })
  await settled()
  t.equal(server.got('tools/call').length, 1)
})

t.test('a user who does not want to visit the page is not sent there again', async t => {
  for (const action of ['decline', 'cancel']) {
    const { server, client } = await withReturned()
    const [call, prompt] = [client.call(...REQUESTS[0]), client.call(...REQUESTS[1])]
    wantsPages(server, 'tools/call')
    wantsPages(server, 'prompts/get')
    const words = `Server a needed a page to be visited; the user answered: ${action}`
    t.match(again(call, { '1-1': { action } }).ended, {
      result: { isError: true, content: [{ text: words }] },
    })
    t.match(again(prompt, { '1-1': { action } }).ended, { code: -32603, message: words })
    t.equal(server.got('tools/call').length, 1)
  }
})

t.test(
  'a client that cannot send its user anywhere is told which capability it lacks, by its own era',
  async t => {
    const { server, client } = await withReturned({}, { capabilities: NO_URL })
    const call = client.call(...REQUESTS[0])
    wantsPages(server, 'tools/call')
    t.match(call.ended, { code: -32042, data: { elicitations: [CONNECT] } }, 'the encoder knows its code')
  },
)

t.test(
  'a client of 2025-11-25 with that mode gets the error itself, and hears when the visit is over',
  async t => {
    const world = new World({ a: { tools: [tool('x')] } })
    const client = await world.client()
    await client.get('tools/list')
    const call = client.call('tools/call', { name: 'a__x' })
    wantsPages(world.server('a'), 'tools/call')
    t.match(call.ended, {
      code: -32042,
      message: 'Authorization required',
      data: { elicitations: [CONNECT] },
    })
    for (let time = 0; time < 2; time += 1) world.server('a').link.notice(COMPLETE, { elicitationId: 'e1' })
    t.same(client.heard(COMPLETE), [{ elicitationId: 'e1' }])
  },
)

t.test('any other client gets text about the requested input, and no further messages', async t => {
  const words =
    'Server a: Authorization required\nConnect: https://s.example/connect\nhttps://s.example/confirm'
  for (const about of [
    { capabilities: NO_URL },
    { capabilities: CAN_NOTHING },
    { revision: '2025-06-18' as const },
  ]) {
    const world = new World({ a: { tools: [tool('x')], prompts: [{ name: 'p' }] } })
    const client = await world.client(about)
    await client.get('tools/list')
    await client.get('prompts/list')
    const server = world.server('a')
    const [call, prompt] = [
      client.call('tools/call', { name: 'a__x' }),
      client.call('prompts/get', { name: 'a__p' }),
    ]
    wantsPages(server, 'tools/call', [CONNECT, CONFIRM])
    wantsPages(server, 'prompts/get', [CONNECT, CONFIRM])
    t.same(call.ended, { result: { content: [{ type: 'text', text: words }], isError: true } })
    t.match(prompt.ended, { code: -32603, message: words })
    server.link.notice(COMPLETE, { elicitationId: 'e1' })
    t.same(client.heard(COMPLETE), [])
  }
})

t.test('a wish for pages that names none is passed on as any other error', async t => {
  const { server, client } = await withReturned()
  for (const data of [
    undefined,
    { elicitations: [] },
    { elicitations: [{ url: 7 }, 'x'] },
    { elicitations: 7 },
  ]) {
    const call = client.call(...REQUESTS[0])
    server.last('tools/call').refuse(-32042, 'm', data)
    t.match(call.ended, { code: -32042 }, JSON.stringify(data))
  }
})

// ── words of clients ──

t.test('the URI in the error for a resource is the one that its client wrote', async t => {
  const world = new World({ a: { resources: [resource('mem:r')], tools: [tool('x')] }, b: { tools: [] } })
  const client = await world.client()
  await client.get('resources/list')
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['a+mem:r', { uri: 'mem:r', k: 1 }, { uri: 'a+mem:r', k: 1 }],
    ['A+mem:r', { uri: 'mem:r' }, { uri: 'A+mem:r' }],
    ['mem:r', { uri: 'mem:r' }, { uri: 'mem:r' }],
    ['a+mem:r', { uri: 'mem:other' }, { uri: 'a+mem:other' }],
    ['a+mem:r', { uri: 7 }, { uri: 7 }],
    ['a+mem:r', {}, {}],
  ]
  for (const [uri, data, expected] of rows) {
    const call: FakeCall = client.call('resources/read', { uri })
    await settled()
    world
      .server('a')
      .last('resources/read')
      .refuse(-32002, 'Resource not found', data as object)
    t.same(call.ended, { code: -32002, message: 'Resource not found', data: expected }, uri)
  }
  const call = client.call('tools/call', { name: 'a__x' })
  await settled()
  world.server('a').last('tools/call').refuse(-32002, 'm', { uri: 'mem:r' })
  t.match(call.ended, { data: { uri: 'mem:r' } }, 'other requests name no resource')
})

// ── promises of tools ──

t.test(
  'a tool that returns no structured output although it promised some is listed without the promise',
  async t => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } }
    const world = new World({ a: { tools: [tool('x', { outputSchema }), tool('y', { outputSchema })] } })
    const client = await world.client()
    const listed = async (): Promise<unknown[]> =>
      ((await client.get('tools/list')) as { result: { tools: object[] } }).result.tools.map(
        one => 'outputSchema' in one,
      )
    t.same(await listed(), [true, true])
    const answer = (name: string, result: object): FakeCall => {
      const call = client.call('tools/call', { name })
      world.server('a').last('tools/call').answer(result)
      return call
    }
    const text = { content: [{ type: 'text', text: 'no' }] }
    t.same(answer('a__x', { ...text, isError: true }).ended, { result: { ...text, isError: true } })
    t.same(answer('a__y', { ...text, structuredContent: { n: 1 } }).ended, {
      result: { ...text, structuredContent: { n: 1 } },
    })
    await world.pass(50)
    t.same([await listed(), client.heard('notifications/tools/list_changed')], [[true, true], []])
    t.same(answer('a__x', text).ended, { result: text }, 'the result itself passes')
    await world.pass(50)
    t.equal(client.heard('notifications/tools/list_changed').length, 1)
    t.same(await listed(), [false, true])
    answer('a__x', text)
    world.server('a').link.notice('notifications/tools/list_changed')
    await world.pass(50)
    t.same(await listed(), [false, true], 'and so it stays')
    t.equal(client.heard('notifications/tools/list_changed').length, 1)
  },
)

import t from 'tap'
import { rawText } from '../../../../src/kernel/json/text.js'
import type { FakeCall, FakeClient } from '../../../support/client/fake-client.js'
import { again, testSealer, World, wishOf, withReturned } from '../../../support/proxy/router.js'
import { CAN_NOTHING, tool } from '../../../support/values.js'

const FORM = { method: 'elicitation/create', params: { message: 'm' } }
const PAGE = { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://x' } }
const SAMPLING = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
const ROOTS = { method: 'roots/list' }

const call = (client: FakeClient): FakeCall => client.call('tools/call', { name: 'a__x' })

t.test('a wish for input is passed on as it came, but for the state, and nothing of it is kept', async t => {
  const { world, server, client } = await withReturned({ revision: '2026-07-28' })
  const result = `{ "x-new":1e400, "resultType":"input_required", "requestState" : "SECRET", "inputRequests":{"k":{"method":"roots/list", "x":1.0}} }`
  const pending = world.clock.pending
  const one = call(client)
  server.last('tools/call').end({ kind: 'input', result: rawText(result) })
  const [outcome] = one.ends
  if (outcome?.kind !== 'input') return t.fail('no wish')
  const state = JSON.stringify(wishOf(one).requestState)
  t.equal(outcome.result.toString(), result.replace('"SECRET"', state))
  t.notMatch(state, /SECRET/)
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
  t.equal(world.clock.pending, pending + 1, 'but for the timer of all calls')
})

t.test('a wish that only wants to be asked again gets a state too', async t => {
  const { server, client } = await withReturned({ revision: '2026-07-28' })
  const one = call(client)
  server.last('tools/call').returns(undefined, 'LOAD')
  t.equal(wishOf(one).inputRequests, undefined)
  again(one)
  t.same(server.last('tools/call').params, { name: 'x', requestState: 'LOAD' })
})

t.test('what its client did not declare never reaches it: that is the server’s fault', async t => {
  const forms = { ...CAN_NOTHING, elicitation: { form: true, url: false } }
  const some = { ...forms, sampling: { tools: false, context: false } }
  const rows: readonly (readonly [object, typeof CAN_NOTHING, boolean])[] = [
    [{ k: FORM }, forms, true],
    [{ k: FORM, l: ROOTS }, forms, false],
    [{ k: PAGE }, forms, false],
    [{ k: SAMPLING }, some, true],
    [{ k: { ...SAMPLING, params: { ...SAMPLING.params, tools: [] } } }, some, false],
    [{ k: { method: 'new/kind' } }, some, false],
    [{ k: {} }, some, false],
    [{ k: 7 }, some, false],
  ]
  for (const [requests, capabilities, isRelayed] of rows) {
    const { server, client } = await withReturned({ revision: '2026-07-28' }, { capabilities })
    const one = call(client)
    server.last('tools/call').returns(requests, 'S')
    const why = JSON.stringify(requests)
    if (isRelayed) t.match(wishOf(one), { inputRequests: requests }, why)
    else
      t.same(
        one.ended,
        {
          code: -32603,
          message: 'Server a asked for input that this client cannot provide',
          data: { server: 'a' },
        },
        why,
      )
    t.same(server.last('tools/call').cancels, [])
  }
})

t.test('a wish that cannot be understood is an error', async t => {
  const { server, client } = await withReturned({ revision: '2026-07-28' })
  const results = [
    '{"resultType":"input_required"}',
    '{"inputRequests":[]}',
    '{"inputRequests":{},"requestState":7}',
    '{"requestState":"a","requestState":"b"}',
  ]
  for (const result of results) {
    const one = call(client)
    server.last('tools/call').end({ kind: 'input', result: rawText(result) })
    t.match(one.ended, { code: -32603, message: /with an invalid request/ }, result)
  }
})

t.test('a state that is too large to be carried is an error', async t => {
  const { server, client } = await withReturned({ revision: '2026-07-28' })
  const one = call(client)
  server.last('tools/call').returns({ k: ROOTS }, 'S'.repeat(300_000))
  t.match(one.ended, { code: -32603, message: /too large/ })
})

t.test(
  'next to other servers, a client whose questions are returned gives no server the context of all',
  async t => {
    for (const [servers, includeContext, expected] of [
      [['a', 'b'], 'thisServer', undefined],
      [['a', 'b'], 'none', 'none'],
      [['a'], 'allServers', 'allServers'],
    ] as const) {
      for (const revision of ['2026-07-28', '2025-11-25'] as const) {
        const script = { tools: [tool('x')], revision }
        const world = new World(Object.fromEntries(servers.map(name => [name, script])))
        const client = await world.client({ revision: '2026-07-28' })
        await client.get('tools/list')
        const one = call(client)
        const asked = { ...SAMPLING.params, includeContext }
        const { link } = world.server('a')
        if (revision === '2026-07-28')
          world
            .server('a')
            .last('tools/call')
            .returns({ '1-1': { ...SAMPLING, params: asked } })
        else link.ask(SAMPLING.method, asked)
        await world.pass(10)
        const params = { ...SAMPLING.params, ...(expected && { includeContext: expected }) }
        t.same(wishOf(one).inputRequests, { '1-1': { ...SAMPLING, params } }, `${revision} ${servers.join()}`)
      }
    }
  },
)

t.test('the state identifies its server and request, to the proxy only', async t => {
  const { world, server, client } = await withReturned({ revision: '2026-07-28' })
  const one = call(client)
  server.last('tools/call').returns({ k: ROOTS }, 'S1')
  const state = testSealer(world.clock).open(wishOf(one).requestState)
  t.match(state, { kind: 'relay', server: 'a', method: 'tools/call' })
  t.notMatch(JSON.stringify(state), /local/, 'not even we read who it was')
})

t.test('the state of a program identifies its process: another program may not know it', async t => {
  for (const isProcess of [true, false]) {
    const { world, server, client } = await withReturned({ revision: '2026-07-28', options: { isProcess } })
    const one = call(client)
    server.last('tools/call').returns({ k: ROOTS }, 'S1')
    const { requestState } = wishOf(one)
    t.equal(world.router.waitsIn(requestState) !== undefined, isProcess)
    again(one)
    t.match(server.last('tools/call').params, { requestState: 'S1' })
  }
})

import t from 'tap'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, REQUESTS, testSealer, World, wishOf, withReturned } from '../../support/proxy/router.js'
import { CAN_NOTHING, tool } from '../../support/values.js'

const FORM = 'elicitation/create'
const ASK = { message: 'Seat?', requestedSchema: { type: 'object', properties: {} } }
const ACCEPT = { action: 'accept', content: { seat: '12A' } }
const DECLINE = { action: 'decline' }
const INVALID = { code: -32602, message: 'Invalid or expired requestState', data: undefined }
const EXPIRED = { code: -32602, message: 'Request state expired; call the tool again', data: undefined }
const DONE = { content: [] }

/** A call that its server has asked something about, and the question. */
const parked = async (method: string = 'tools/call', script: Parameters<typeof withReturned>[0] = {}) => {
  const { world, server, client } = await withReturned(script)
  const [, params] = REQUESTS.find(([one]) => one === method) ?? REQUESTS[0]
  const call = client.call(method, params)
  const ask = server.link.ask(FORM, ASK)
  await world.pass(10)
  return { world, server, client, call, ask }
}

/** The same request with another state than it was given. */
const retryWith = (
  call: FakeCall,
  requestState: unknown,
  more: { client?: FakeClient; params?: object } = {},
): FakeCall => again(call, { '1-1': ACCEPT }, { ...more, params: { requestState, ...more.params } })

// ── states that do not count ──

t.test(
  'a state in which a character was changed is refused, whichever it is, and the call stays parked',
  async t => {
    const { call, ask, server } = await parked()
    const { requestState } = wishOf(call)
    const forgeries = Array.from(
      requestState,
      (char, at) => requestState.slice(0, at) + (char === 'A' ? 'B' : 'A') + requestState.slice(at + 1),
    )
    const answers = forgeries.map(forged => JSON.stringify(retryWith(call, forged).ended))
    t.same(new Set(answers), new Set([JSON.stringify(INVALID)]))
    t.same(ask.outcomes, [])
    t.equal(server.got('tools/call').length, 1)
    const retry = again(call, { '1-1': ACCEPT })
    t.same(ask.answered, { result: ACCEPT })
    server.last('tools/call').answer()
    t.same(retry.ended, { result: DONE })
  },
)

t.test('a state is worth nothing for another request, and says the same words for every cause', async t => {
  const { world, server, client, call, ask } = await parked()
  const state = wishOf(call).requestState
  const other = await world.client({ revision: '2026-07-28', principal: 'eve' })
  const sealer = testSealer(world.clock)
  const own = sealer.open(state)
  if (own?.kind !== 'park') return t.fail('not our state')
  const written = JSON.stringify(state)
  const twice = `{"requestState":${written},"name":"a__x","arguments":{"day":"fri"},"requestState":${written}}`
  const refused: readonly (readonly [string, FakeCall])[] = [
    ['other arguments', retryWith(call, state, { params: { arguments: { day: 'sat' } } })],
    ['another tool', retryWith(call, state, { params: { name: 'a__y' } })],
    ['another method', client.call('prompts/get', { name: 'a__p', requestState: state })],
    ['another principal', retryWith(call, state, { client: other })],
    ['another key', retryWith(call, testSealer(world.clock, 9).seal(own, 60_000))],
    ['no text', retryWith(call, 7)],
    ['nothing', retryWith(call, null)],
    ['something', retryWith(call, 'S1')],
    ['two states', client.call('tools/call', twice)],
    ['a round that was not', retryWith(call, sealer.seal({ ...own, round: 2 }, 60_000))],
  ]
  await settled()
  for (const [why, { ended }] of refused) t.same(ended, INVALID, why)
  t.same(ask.outcomes, [])
  t.equal(server.got('tools/call').length, 1)
  const retry = again(call, { '1-1': ACCEPT })
  server.last('tools/call').answer()
  t.same([ask.answered, retry.ended], [{ result: ACCEPT }, { result: DONE }], 'the call was still parked')
})

t.test('a state expires', async t => {
  const { world, call, server } = await parked('resources/read')
  await world.pass(3_601_000, 600_000)
  t.same(again(call, { '1-1': ACCEPT }).ended, INVALID)
  t.equal(server.got('resources/read').length, 1)
})

t.test('arguments that say the same in other words are the same', async t => {
  const { world, client, call, ask } = await parked()
  const state = JSON.stringify(wishOf(call).requestState)
  const responses = '"inputResponses":{"1-1":{"action":"decline"}}'
  client.call(
    'tools/call',
    `{ "requestState" : ${state}, "arguments":{"d\\u0061y" : "fri"}, "name":"a__x", ${responses} }`,
  )
  t.same(ask.answered, { result: DECLINE })
  t.match(world.router.load, { calls: 1 })
})

t.test('of two retries of one round one goes on, and the other is refused', async t => {
  const { server, call, ask, world } = await parked()
  const [first, second] = [again(call, { '1-1': ACCEPT }), again(call, { '1-1': DECLINE })]
  t.same(second.ended, INVALID)
  t.same(ask.answered, { result: ACCEPT })
  server.last('tools/call').answer()
  t.same(first.ended, { result: DONE })
  t.equal(server.got('tools/call').length, 1)
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test('a state that was used up is no way to have the tool called again', async t => {
  const { server, call } = await parked()
  again(call, { '1-1': ACCEPT })
  server.last('tools/call').answer()
  const replayed = again(call, { '1-1': ACCEPT })
  await settled()
  t.same(replayed.ended, EXPIRED)
  t.equal(server.got('tools/call').length, 1)
})

t.test('an invalid answer is refused, and the call stays parked', async t => {
  const { call, ask } = await parked()
  const nonsense: object[] = [{ '1-1': 'yes' }, { '1-1': { action: 'maybe' } }, []]
  for (const responses of nonsense)
    t.match(
      again(call, responses).ended,
      { code: -32602, message: /inputResponses/ },
      JSON.stringify(responses),
    )
  t.same(ask.outcomes, [])
  again(call, { '1-1': DECLINE })
  t.same(ask.answered, { result: DECLINE })
})

t.test('cancelling a retry cancels the one call at its server; a later retry finds nothing', async t => {
  const { server, call, ask, world } = await parked()
  const retry = again(call, { '1-1': ACCEPT })
  t.same(ask.answered, { result: ACCEPT })
  retry.cancel('user')
  t.same(server.last('tools/call').cancels, ['user'])
  const late = again(call, { '1-1': ACCEPT })
  await settled()
  t.same(late.ended, EXPIRED)
  t.equal(server.got('tools/call').length, 1)
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

// ── calls that were lost while parked ──

t.test(
  'what only reads runs again after a restart, and the answer of the retry is not asked for twice',
  async t => {
    for (const method of ['prompts/get', 'resources/read']) {
      const { call } = await parked(method)
      const { world, server, client } = await withReturned()
      const retry = again(call, { '1-1': ACCEPT }, { client })
      await settled()
      t.same(retry.ends, [], method)
      const { params } = server.last(method)
      t.notMatch(params, { requestState: String }, 'what belongs to the retry stays here')
      t.notMatch(params, { inputResponses: Object })
      const ask = server.link.ask(FORM, { ...ASK, _meta: { progressToken: 7 } })
      t.same(ask.answered, { result: ACCEPT })
      const other = server.link.ask(FORM, { ...ASK, message: 'Meal?' })
      await world.pass(10)
      t.same(Object.keys(wishOf(retry).inputRequests ?? {}), ['2-1'], 'keys go on where they were')
      const last = again(retry, { '2-1': DECLINE })
      t.same(other.answered, { result: DECLINE })
      server.last(method).answer({ done: 1 })
      t.same(last.ended, { result: { done: 1 } })
      t.match(world.router.load, { calls: 0, serverRequests: 0 })
    }
  },
)

t.test(
  'all that was answered so far is known after a restart, in every round, and as often as it was asked',
  async t => {
    const first = await parked('prompts/get')
    let { call } = first
    const answer = (n: number) => ({ action: 'accept', content: { n } })
    call = again(call, { '1-1': answer(1) })
    for (const n of [2, 3]) {
      first.server.link.ask(FORM, n === 2 ? ASK : { ...ASK, message: 'Meal?' })
      await first.world.pass(10)
      if (n === 2) call = again(call, { '2-1': answer(2) })
    }
    const { server, client } = await withReturned()
    again(call, { '3-1': answer(3) }, { client })
    await settled()
    const asked = ['Seat?', 'Meal?', 'Seat?'].map(message => server.link.ask(FORM, { ...ASK, message }))
    t.same(
      asked.map(ask => ask.answered),
      [1, 3, 2].map(n => ({ result: answer(n) })),
    )
  },
)

t.test('an unclaimed parked call expires: a read-only tool runs again', async t => {
  const { world, server, call, ask } = await parked('prompts/get')
  await world.pass(600_000)
  t.same(ask.answered, { result: { action: 'cancel' } })
  again(call, { '1-1': ACCEPT })
  await settled()
  t.equal(server.got('prompts/get').length, 2)
  t.same(server.link.ask(FORM, ASK).answered, { result: ACCEPT })
})

t.test(
  'a tool runs again only if it says that this does no harm, and the configuration believes it',
  async t => {
    const rows: readonly (readonly [annotations: object, replay: boolean, isRun: boolean])[] = [
      [{ readOnlyHint: true }, true, true],
      [{ idempotentHint: true }, true, true],
      [{ readOnlyHint: true }, false, false],
      [{ destructiveHint: true }, true, false],
      [{ readOnlyHint: 'true', idempotentHint: 1 }, true, false],
    ]
    for (const [annotations, replay, isRun] of rows) {
      const script = { tools: [tool('x', { annotations })], options: { replay } }
      const { call } = await parked('tools/call', script)
      const { server, client } = await withReturned(script)
      const retry = again(call, { '1-1': ACCEPT }, { client })
      await settled()
      const why = JSON.stringify([annotations, replay])
      t.equal(server.got('tools/call').length, isRun ? 1 : 0, why)
      if (isRun) t.same(server.link.ask(FORM, ASK).answered, { result: ACCEPT }, why)
      else t.same(retry.ended, EXPIRED, why)
    }
  },
)

t.test('a proxy that has listed nothing yet finds out what a tool says', async t => {
  const script = { tools: [tool('x', { annotations: { readOnlyHint: true } })], options: { replay: true } }
  const { call } = await parked('tools/call', script)
  const world = new World({ a: script })
  const client = await world.client({ revision: '2026-07-28' })
  again(call, { '1-1': ACCEPT }, { client })
  await settled()
  t.equal(world.server('a').got('tools/call').length, 1)
})

t.test('an invalid answer is refused before anything runs again', async t => {
  const { call } = await parked('prompts/get')
  const { server, client } = await withReturned()
  const nonsense: object[] = [{ '1-1': 'yes' }, []]
  for (const responses of nonsense) {
    const retry = again(call, responses, { client })
    await settled()
    t.match(retry.ended, { code: -32602, message: /inputResponses/ })
  }
  t.same(server.got('prompts/get'), [])
})

t.test('the loss of a server during a parked call is reported with the next retry', async t => {
  const { server, call, world } = await parked()
  server.link.drop()
  t.match(again(call, { '1-1': ACCEPT }).ended, { code: -32603, data: { server: 'a' } })
  t.match(world.router.load, { calls: 0, serverRequests: 0 })
})

t.test('a state for a server that the name does not lead to any more is refused', async t => {
  const { call } = await parked('prompts/get')
  const { world, client, server } = await withReturned()
  const sealer = testSealer(world.clock)
  const state = sealer.open(wishOf(call).requestState)
  if (state === undefined) return t.fail('not our state')
  const elsewhere = sealer.seal({ ...state, server: 'b' }, 60_000)
  const retry = again(call, {}, { client, params: { requestState: elsewhere } })
  await settled()
  t.same(retry.ended, INVALID)
  t.same(server.got('prompts/get'), [])
})

// ── on to a server that returns its questions ──

t.test(
  'a server’s state comes back byte for byte with the answers as they are, and none if it sent none',
  async t => {
    const { server, client } = await withReturned({ revision: '2026-07-28' })
    const inner = '"S\\u00e9 é\\/"'
    const requests = '{"k":{"method":"roots/list"}}'
    const states = [
      [`{"requestState":${inner},"inputRequests":${requests}}`, `,"requestState":${inner}`],
      [`{"inputRequests":${requests}}`, ''],
    ] as const
    for (const [result, expected] of states) {
      const call = client.call('tools/call', '{"name":"a__x","arguments":{"n":1e400}}')
      server.last('tools/call').end({ kind: 'input', result: rawText(result) })
      const state = JSON.stringify(wishOf(call).requestState)
      const responses = '{"k":{"roots":[{"uri":"https://x"}],"x":1.0}}'
      const params = `"name":"a__x","arguments":{"n":1e400},"inputResponses":${responses},"requestState":${state}`
      client.call('tools/call', `{${params}}`)
      t.equal(
        server.last('tools/call').text,
        `{"name":"x","arguments":{"n":1e400},"inputResponses":${responses}${expected}}`,
      )
    }
  },
)

t.test(
  'answers without a state go on to a server that returns its questions, and not to one that pushes them',
  async t => {
    for (const revision of ['2026-07-28', '2025-11-25'] as const) {
      const { server, client } = await withReturned({ revision })
      client.call('tools/call', { name: 'a__x', inputResponses: { k: ACCEPT }, arguments: {} })
      t.same(
        server.last('tools/call').params,
        { name: 'x', ...(revision === '2026-07-28' && { inputResponses: { k: ACCEPT } }), arguments: {} },
        revision,
      )
    }
  },
)

t.test('a state for a relayed round is refused to everybody else, and after its time', async t => {
  const { world, server, client } = await withReturned({ revision: '2026-07-28' })
  const call = client.call('tools/call', { name: 'a__x', arguments: { day: 'fri' } })
  server.last('tools/call').returns({ k: { method: 'roots/list' } }, 'S1')
  const eve = await world.client({ revision: '2026-07-28', principal: 'eve' })
  t.same(again(call, {}, { client: eve }).ended, INVALID)
  t.same(again(call, {}, { params: { arguments: {} } }).ended, INVALID)
  await world.pass(3_601_000, 600_000)
  t.same(again(call, {}).ended, INVALID)
  t.equal(server.got('tools/call').length, 1)
})

t.test('what a client that is asked itself carries means nothing', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client({ capabilities: CAN_NOTHING })
  await client.get('tools/list')
  const call = client.call('tools/call', { name: 'a__x', requestState: 'S', inputResponses: 1 })
  world
    .server('a')
    .last('tools/call')
    .end(succeeded(textOf(DONE)))
  t.same(call.ended, { result: DONE })
})

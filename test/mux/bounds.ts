import t from 'tap'
import { textOf } from '../../src/kernel/json/text.js'
import { succeeded } from '../../src/model/outcome.js'
import { Admission } from '../../src/mux/calls/admission.js'
import { FakeCall, type FakeClient } from '../support/client/fake-client.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { begin } from '../support/proxy/records.js'
import { World } from '../support/proxy/router.js'
import { boundsOf, tool } from '../support/values.js'

t.test('a server has so many requests in flight and no more; other servers do not notice', async t => {
  const bounds = boundsOf({ callsPerServer: 3 })
  const options = { sharing: 'principal' } as const
  const world = new World(
    { slow: { tools: [tool('x')], options }, quick: { tools: [tool('x')], options } },
    { bounds },
  )
  const client = await world.client()
  const calls = [1, 2, 3, 4].map(() => client.call('tools/call', { name: 'slow__x' }))
  await settled()
  t.equal(world.server('slow').got('tools/call').length, 3)
  t.same(calls[3]?.ended, {
    code: -32603,
    message: 'Server slow has 3 requests in flight (limits.callsPerServer is 3); try again later',
    data: { limit: 'callsPerServer', max: 3, retryAfterMs: 1000, server: 'slow' },
  })
  const other = client.call('tools/call', { name: 'quick__x' })
  await settled()
  world.server('quick').last('tools/call').answer()
  t.same(other.ended, { result: { content: [] } })
  world.server('slow').last('tools/call').answer()
  const next = client.call('tools/call', { name: 'slow__x' })
  await settled()
  t.equal(next.ended, 'ended 0 times', 'there is room again')
  t.equal(bounds.hits.callsPerServer?.hits, 1)
})

t.test('a server may have a bound of its own', async t => {
  const options = { limits: { callsPerServer: 1 } }
  const world = new World({ one: { tools: [tool('x')], options }, two: { tools: [tool('x')] } })
  const client = await world.client()
  const [, refused] = [1, 2].map(() => client.call('tools/call', { name: 'one__x' }))
  for (let call = 0; call < 2; call += 1) client.call('tools/call', { name: 'two__x' })
  await settled()
  t.match(refused?.ended, { data: { limit: 'callsPerServer', max: 1, server: 'one' } })
  t.equal(world.server('two').got('tools/call').length, 2)
})

t.test('of a server with too many tools the rest is not shown, and that can be seen', async t => {
  const bounds = boundsOf({ items: 3 })
  const tools = ['a', 'b', 'c', 'd'].map(name => tool(name))
  const world = new World({ many: { tools }, few: { tools: [tool('x')] } }, { bounds })
  const client = await world.client()
  t.same(await client.list('tools/list'), ['many__a', 'many__b', 'many__c', 'few__x'])
  const [many, few] = world.router.pool.servers
  t.same(many && world.router.catalog.summary(many, [...many.connections]).truncated, ['tools'])
  t.same(few && world.router.catalog.summary(few, [...few.connections]).truncated, [])
  t.ok((bounds.hits.items?.hits ?? 0) >= 1)
})

t.test('a server that asks without end is refused, and its other questions are answered', async t => {
  const bounds = boundsOf({ questionsPerServer: 2 })
  const world = new World({ curious: { tools: [tool('x')] } }, { bounds })
  const client = await world.client()
  client.call('tools/call', { name: 'curious__x' })
  await settled()
  const asks = [1, 2, 3].map(() => world.server('curious').link.ask('roots/list'))
  t.match(asks[2]?.answered, { data: { limit: 'questionsPerServer', max: 2, server: 'curious' } })
  t.equal(client.asked.length, 2)
  t.equal(bounds.hits.questionsPerServer?.hits, 1)
})

t.test('a client has so many subscriptions and no more', async t => {
  const bounds = boundsOf({ subscriptions: 1 })
  const world = new World({ a: { resources: [{ uri: 'x:1', name: '1' }] } }, { bounds })
  const client = await world.client()
  t.match(await client.get('resources/subscribe', { uri: 'a+x:1' }), { result: {} })
  t.match(await client.get('resources/subscribe', { uri: 'a+x:2' }), {
    message: 'You have 1 subscriptions (limits.subscriptions is 1); try again later',
  })
  t.equal(bounds.hits.subscriptions?.hits, 1)
})

t.test('as many requests listen as may, for all clients of one principal together', async t => {
  const bounds = boundsOf({ listens: 1 })
  const world = new World({ a: { tools: [tool('x')] } }, { bounds })
  const [one, same, other] = [world.modern(), world.modern(), world.modern({ principal: 'ann' })]
  const listen = (client: FakeClient) => client.call('subscriptions/listen', { notifications: {} })
  const calls = [one, same, other].map(listen)
  await settled()
  t.match(calls[1]?.ended, { data: { limit: 'listens', max: 1 } })
  t.match([calls[0]?.ended, calls[2]?.ended], ['ended 0 times', 'ended 0 times'])
  t.equal(bounds.hits.listens?.hits, 1)
})

t.test('the total number of requests in flight is bounded; requests in flight continue', async t => {
  const bounds = boundsOf({ calls: 2 })
  const gate = new Admission(new FakeClock(), bounds)
  const call = () => {
    const made = new FakeCall({} as FakeClient, 'tools/call', undefined, false)
    begin(made, gate.interceptors)
    return made
  }
  const [one, , refused] = [call(), call(), call()]
  t.match(refused?.ended, { data: { limit: 'calls', max: 2, retryAfterMs: 1000 } })
  one?.cancel()
  t.equal(call().ended, 'ended 0 times')
  bounds.pressure = 4
  t.match(call().ended, { message: /short of memory/, data: { limit: 'memory', retryAfterMs: 5000 } })
  t.same([bounds.hits.calls?.hits, bounds.hits.memory?.hits], [1, 1])
})

t.test('a question that belongs to no call is not waited for without end', async t => {
  const clock = new FakeClock()
  const bounds = boundsOf({ questionTime: 60_000 }, clock)
  const world = new World({ a: { tools: [tool('x')] } }, { bounds, clock })
  const client = await world.client()
  await client.get('tools/list')
  const link = world.server('a').link
  const [late, answered] = [link.ask('roots/list'), link.ask('roots/list')]
  t.equal(client.asked.length, 2)
  client.asked[1]?.ask.answer(succeeded(textOf({ roots: [] })))
  clock.advance(59_999)
  t.equal(late.answered, '0 answers')
  clock.advance(1)
  t.match(late.answered, { code: -32603, message: 'No answer within 60 s', data: { limit: 'questionTime' } })
  t.same(answered.answered, { result: { roots: [] } })
  t.same(
    client.asked.map(({ withdrawn }) => withdrawn),
    [true, false],
  )
  t.equal(bounds.hits.questionTime?.hits, 1)
})

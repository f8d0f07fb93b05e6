import t from 'tap'
import { settled } from '../support/fake-clock.js'
import { tool, World } from '../support/mux.js'

const MESSAGE = 'notifications/message'
const LOGS = { tools: [tool('x')], capabilities: { logging: true } }

const levels = (world: World, name = 'a'): unknown[] =>
  world
    .server(name)
    .got('logging/setLevel')
    .map(({ params }) => (params as { level: string }).level)

t.test(
  'a server is told the most verbose level that one of its clients wants, when that changes',
  async t => {
    const world = new World({ a: LOGS, b: { tools: [] } })
    const [first, second] = [await world.client(), await world.client()]
    t.same(levels(world), [], 'nobody asked: the server decides')
    const set = (client: typeof first, level: string) => client.get('logging/setLevel', { level })
    t.same(await set(first, 'warning'), { result: {} })
    second.call('tools/call', { name: 'a__x' })
    await settled()
    await set(second, 'error')
    t.same(levels(world), ['warning'])
    await set(second, 'debug')
    t.same(levels(world), ['warning', 'debug'])
    second.leave()
    t.same(levels(world), ['warning', 'debug', 'warning'])
    t.same(levels(world, 'b'), [], 'a server without logging hears nothing')
  },
)

t.test('an unknown level is -32602 and changes nothing', async t => {
  const world = new World({ a: LOGS })
  const client = await world.client()
  for (const params of [{ level: 'loud' }, { level: 3 }, {}, undefined]) {
    t.match(await client.get('logging/setLevel', params), { code: -32602 })
  }
  t.same(levels(world), [])
})

t.test('without a server that logs there is no such method', async t => {
  const world = new World({ a: { tools: [] } })
  const client = await world.client()
  t.match(await client.get('logging/setLevel', { level: 'info' }), { code: -32601 })
})

t.test('after a loss the server is told the level again', async t => {
  const world = new World({ a: LOGS })
  const client = await world.client()
  await client.get('logging/setLevel', { level: 'debug' })
  world.server('a').link.drop()
  await world.pass(1)
  t.equal(world.server('a').links.length, 2)
  t.same(levels(world), ['debug', 'debug'])
})

t.test('a client that joins a server later brings its level along', async t => {
  const world = new World({ a: LOGS })
  await world.client()
  const late = await world.client()
  await late.get('logging/setLevel', { level: 'debug' })
  t.same(levels(world), [])
  late.call('tools/call', { name: 'a__x' })
  await settled()
  t.same(levels(world), ['debug'])
})

t.test(
  'a message reaches its one client at its level, on its call, under the name of its server',
  async t => {
    const world = new World({ a: LOGS, b: LOGS })
    const client = await world.client()
    const { link } = world.server('a')
    link.notice(MESSAGE, { level: 'info', data: 1, logger: 'db', 'x/y': 2 })
    link.notice(MESSAGE, { level: 'debug', data: 2 })
    link.notice(MESSAGE, { level: 'strange', data: 3 })
    link.notice(MESSAGE)
    t.same(client.heard(MESSAGE), [
      { level: 'info', data: 1, logger: 'a/db', 'x/y': 2 },
      { level: 'strange', data: 3, logger: 'a' },
    ])
    await client.get('logging/setLevel', { level: 'error' })
    await client.get('tools/list')
    const call = client.call('tools/call', { name: 'a__x' })
    link.notice(MESSAGE, { level: 'warning', data: 4 })
    link.notice(MESSAGE, { level: 'error', data: 5 })
    t.same(call.told, [[MESSAGE, { level: 'error', data: 5, logger: 'a' }]])
    t.equal(client.heard(MESSAGE).length, 2)
    world.server('a').last('tools/call').answer()
    link.notice(MESSAGE, { level: 'error', data: 6 })
    t.equal(call.late, 0)
  },
)

t.test('a server that stands alone logs under its own names', async t => {
  const world = new World({ a: LOGS }, { isAlone: true })
  const client = await world.client()
  world.server('a').link.notice(MESSAGE, { level: 'info', data: 1 })
  t.same(client.heard(MESSAGE), [{ level: 'info', data: 1 }])
})

t.test(
  'a message goes to nobody while it could be two clients’, and to one as soon as there is evidence',
  async t => {
    const world = new World({ a: LOGS })
    const [first, second] = [await world.client(), await world.client()]
    await first.get('tools/list')
    const { link } = world.server('a')
    const one = first.call('tools/call', { name: 'a__x' })
    const say = (data: string, about?: Parameters<typeof link.notice>[2]) =>
      link.notice(MESSAGE, { level: 'info', data }, about)
    say('only call')
    const two = second.call('tools/call', { name: 'a__x' })
    say('whose?')
    const [requestOne, requestTwo] = world.server('a').got('tools/call')
    say('on the stream', requestTwo)
    two.cancel()
    say('on the stream of a call that is over', requestTwo)
    say('on the stream of our own list', world.server('a').last('tools/list'))
    requestOne?.answer()
    say('no call')
    t.same(
      [...one.told, ...two.told].map(([, params]) => (params as { data: string }).data),
      ['only call', 'on the stream'],
    )
    t.same([...first.heard(MESSAGE), ...second.heard(MESSAGE)], [])
    t.equal(one.late + two.late, 0)
  },
)

import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import type { McpLogLevel } from '../../../src/model/log-level.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { FakeServer } from '../../support/server/fake-server.js'
import { tool } from '../../support/values.js'

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

t.test('a level that a server refuses after a restart is tried again', async t => {
  const world = new World({ a: LOGS })
  const client = await world.client()
  await client.get('logging/setLevel', { level: 'debug' })
  await client.get('tools/list')
  await client.get('logging/setLevel', { level: 'debug' })
  const server = world.server('a')
  const before = levels(world).length
  const error = textOf({ code: -32603, message: 'still loading' })
  server.failing.set('logging/setLevel', { kind: 'error', error })
  server.link.drop()
  await world.pass(1)
  await world.pass(500)
  t.equal(levels(world).length, before + 1)
  server.failing.clear()
  await world.pass(1000)
  t.equal(levels(world).length, before + 2)
  await world.pass(10_000)
  t.equal(levels(world).length, before + 2, 'once it is taken, no more')
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
    t.same(client.heard(MESSAGE), [{ level: 'info', data: 1, logger: 'a/db', 'x/y': 2 }])
    await client.get('logging/setLevel', { level: 'error' })
    await client.get('tools/list')
    const call = client.call('tools/call', { name: 'a__x' })
    link.notice(MESSAGE, { level: 'warning', data: 4 })
    link.notice(MESSAGE, { level: 'error', data: 5 })
    t.same(call.told, [[MESSAGE, { level: 'error', data: 5, logger: 'a' }]])
    t.equal(client.heard(MESSAGE).length, 1)
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

t.test('a message that could belong to two clients is dropped, until there is evidence for one', async t => {
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
})

/** What each call heard, by what was said. */
const heardBy = (...calls: readonly { told: readonly (readonly [string, unknown])[] }[]): unknown[] =>
  calls.map(({ told }) => told.map(([, params]) => (params as { data: unknown }).data))

t.test('a call with a log level gets messages of that level, a call without one gets none', async t => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const world = new World({ a: { ...LOGS, revision } })
    const client = world.modern()
    await client.get('tools/list')
    const { link } = world.server('a')
    const call = async (logLevel?: 'debug' | 'error') => {
      const made = client.call('tools/call', { name: 'a__x' }, logLevel && { logLevel })
      await settled()
      return { made, request: world.server('a').last('tools/call') }
    }
    const [debug, error, none] = [await call('debug'), await call('error'), await call()]
    for (const { request } of [debug, error, none]) {
      link.notice(MESSAGE, { level: 'debug', data: 1 }, request)
      link.notice(MESSAGE, { level: 'error', data: 2, logger: 'db' }, request)
      link.notice(MESSAGE, { level: 'strange', data: 3 }, request)
    }
    t.same(heardBy(debug.made, error.made, none.made), [[1, 2], [2], []], revision)
    t.same(error.made.told, [[MESSAGE, { level: 'error', data: 2, logger: 'a/db' }]])
    debug.request.answer()
    link.notice(MESSAGE, { level: 'error', data: 4 }, debug.request)
    t.same(heardBy(debug.made, error.made, none.made), [[1, 2], [2], []], 'nothing after the end')
    t.same(client.told, [], 'and nothing outside calls')
  }
})

t.test('a message without evidence goes to the only call in flight, or is dropped', async t => {
  const world = new World({ a: { ...LOGS, options: { sharing: 'all' } } })
  const client = world.modern()
  await client.get('tools/list')
  const { link } = world.server('a')
  const say = (data: number) => link.notice(MESSAGE, { level: 'error', data })
  const call = async (who = client, logLevel?: 'debug') => {
    const made = who.call('tools/call', { name: 'a__x' }, logLevel && { logLevel })
    await settled()
    return made
  }
  say(1)
  const none = await call()
  say(2)
  const one = await call(client, 'debug')
  say(3)
  world.server('a').got('tools/call')[0]?.answer()
  say(4)
  const stranger = await call(world.modern({ principal: 'other' }))
  say(5)
  world.server('a').got('tools/call')[2]?.answer()
  say(6)
  const session = await world.client()
  const ours = await call(session)
  say(7)
  world.server('a').got('tools/call')[1]?.answer()
  say(8)
  world.server('a').got('tools/call')[3]?.answer()
  say(9)
  t.same(heardBy(none, one, stranger, ours), [[], [4, 6], [], [8]])
  t.same([...client.told, ...session.told], [], 'never outside a call where others could have caused it')
})

t.test('a server that is told with each request whether to log is heard on calls alone', async t => {
  const world = new World({ a: { ...LOGS, revision: '2026-07-28' } })
  const session = await world.client()
  await session.get('tools/list')
  const { link } = world.server('a')
  link.notice(MESSAGE, { level: 'error', data: 1 })
  const call = session.call('tools/call', { name: 'a__x' })
  link.notice(MESSAGE, { level: 'debug', data: 2 }, world.server('a').last('tools/call'))
  await session.get('logging/setLevel', { level: 'debug' })
  link.notice(MESSAGE, { level: 'debug', data: 3 }, world.server('a').last('tools/call'))
  link.notice(MESSAGE, { level: 'debug', data: 4 })
  t.same(heardBy(call), [[3, 4]])
  t.same(session.told, [])
})

const SET_LEVEL = 'logging/setLevel'

const levelsOf = (server: FakeServer): unknown[] =>
  server.got(SET_LEVEL).map(({ params }) => (params as { level: string }).level)

const callX = async (client: FakeClient, logLevel?: McpLogLevel): Promise<FakeCall> => {
  const call = client.call('tools/call', { name: 'a__x' }, logLevel === undefined ? {} : { logLevel })
  await settled()
  return call
}

/** A world whose server is known already. */
const known = async (script: object = {}): Promise<{ world: World; server: FakeServer }> => {
  const world = new World({ a: { ...LOGS, ...script } })
  await world.modern().get('tools/list')
  return { world, server: world.server('a') }
}

t.test('a call that wants messages is sent when its server has agreed to send them', async t => {
  const { world, server } = await known()
  const client = world.modern()
  await callX(client)
  t.same(levelsOf(server), [], 'one that wants none asks for none')
  server.silent.add(SET_LEVEL)
  await callX(client, 'debug')
  t.same(levelsOf(server), ['debug'])
  t.equal(server.got('tools/call').length, 1)
  server.last(SET_LEVEL).answer({})
  await settled()
  t.equal(server.got('tools/call').length, 2)
  await callX(client, 'error')
  t.same(levelsOf(server), ['debug'], 'what is said already is enough for the next one')
  t.equal(server.got('tools/call').length, 3)
})

t.test('a call that is cancelled, or whose client leaves, before the server agreed is not sent', async t => {
  const { world, server } = await known()
  const client = world.modern()
  server.silent.add(SET_LEVEL)
  const call = await callX(client, 'debug')
  call.cancel()
  server.last(SET_LEVEL).answer({})
  await settled()
  t.same(server.got('tools/call'), [])
  t.match(world.router.load, { calls: 0 })
})

t.test('a call reaches a server that rejects or ignores the log level', async t => {
  const refusing = await known()
  refusing.server.silent.add(SET_LEVEL)
  await callX(refusing.world.modern(), 'debug')
  refusing.server.last(SET_LEVEL).refuse(-32603, 'no')
  await settled()
  t.equal(refusing.server.got('tools/call').length, 1)

  const silent = await known()
  silent.server.silent.add(SET_LEVEL)
  await callX(silent.world.modern(), 'debug')
  await silent.world.pass(10_000)
  t.equal(silent.server.got('tools/call').length, 1)
})

t.test('servers without logging, or with a level per request, get no log level', async t => {
  for (const script of [{ capabilities: { logging: false } }, { revision: '2026-07-28' }]) {
    const { world, server } = await known(script)
    await callX(world.modern(), 'debug')
    const session = await world.client()
    await session.get(SET_LEVEL, { level: 'debug' })
    await callX(session)
    t.same(levelsOf(server), [])
    t.equal(server.got('tools/call').length, 2)
  }
})

t.test(
  'a minute after the last call that wanted it, the server is as silent again as sessions want it',
  async t => {
    const { world, server } = await known()
    const client = world.modern()
    const first = await callX(client, 'debug')
    await world.pass(100_000)
    t.same(levelsOf(server), ['debug'], 'not while the call is under way')
    const second = await callX(client, 'warning')
    first.cancel()
    await world.pass(60_000)
    t.same(levelsOf(server), ['debug', 'warning'])
    second.cancel()
    await world.pass(59_000)
    t.same(levelsOf(server), ['debug', 'warning'])
    await world.pass(2000)
    t.same(levelsOf(server), ['debug', 'warning', 'info'], 'what those hear who never said')
    await callX(client, 'debug')
    t.same(levelsOf(server).slice(3), ['debug'])
  },
)

t.test('a call raises the level of its server, and never lowers it for others', async t => {
  const { world, server } = await known()
  const session = await world.client()
  await callX(session)
  const client = world.modern()
  await callX(client, 'error')
  t.same(levelsOf(server), ['info'], 'the session hears that much unasked')
  await session.get(SET_LEVEL, { level: 'warning' })
  t.same(levelsOf(server), ['info', 'warning'])
  await callX(client, 'notice')
  await callX(client, 'critical')
  t.same(levelsOf(server), ['info', 'warning', 'notice'])
})

t.test('levelsOf reach a server one after another, so that the last one counts', async t => {
  const { world, server } = await known()
  server.silent.add(SET_LEVEL)
  const client = world.modern()
  await callX(client, 'error')
  await callX(client, 'debug')
  t.same(levelsOf(server), ['error'])
  server.last(SET_LEVEL).answer({})
  await settled()
  t.same(levelsOf(server), ['error', 'debug'])
  t.equal(server.got('tools/call').length, 1)
  server.last(SET_LEVEL).answer({})
  await settled()
  t.equal(server.got('tools/call').length, 2)
})

t.test('a server that was lost is told the level again before the next call', async t => {
  const { world, server } = await known()
  const client = world.modern()
  await callX(client, 'debug')
  server.link.drop()
  await world.pass(1)
  t.same(levelsOf(server), ['debug', 'debug'])
  await callX(client, 'debug')
  t.same(levelsOf(server), ['debug', 'debug'])
  await world.router.close()
  t.equal(world.clock.pending, 0)
})

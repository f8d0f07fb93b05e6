import t from 'tap'
import type { LogLevel } from '../../../src/model/log-level.js'
import { settled } from '../../support/fake-clock.js'
import { type FakeCall, type FakeClient, type FakeServer, tool, World } from '../../support/mux.js'

const SET_LEVEL = 'logging/setLevel'
const LOGS = { tools: [tool('x')], capabilities: { logging: true } }

const levels = (server: FakeServer): unknown[] =>
  server.got(SET_LEVEL).map(({ params }) => (params as { level: string }).level)

const callX = async (client: FakeClient, logLevel?: LogLevel): Promise<FakeCall> => {
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
  t.same(levels(server), [], 'one that wants none asks for none')
  server.silent.add(SET_LEVEL)
  await callX(client, 'debug')
  t.same(levels(server), ['debug'])
  t.equal(server.got('tools/call').length, 1)
  server.last(SET_LEVEL).answer({})
  await settled()
  t.equal(server.got('tools/call').length, 2)
  await callX(client, 'error')
  t.same(levels(server), ['debug'], 'what is said already is enough for the next one')
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

t.test('a server that does not agree, or says nothing about it, gets the call all the same', async t => {
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

t.test('servers without logging, and those that are told with each request, are told nothing', async t => {
  for (const script of [{ capabilities: { logging: false } }, { revision: '2026-07-28' }]) {
    const { world, server } = await known(script)
    await callX(world.modern(), 'debug')
    const session = await world.client()
    await session.get(SET_LEVEL, { level: 'debug' })
    await callX(session)
    t.same(levels(server), [])
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
    t.same(levels(server), ['debug'], 'not while the call is under way')
    const second = await callX(client, 'warning')
    first.cancel()
    await world.pass(60_000)
    t.same(levels(server), ['debug', 'warning'])
    second.cancel()
    await world.pass(59_000)
    t.same(levels(server), ['debug', 'warning'])
    await world.pass(2000)
    t.same(levels(server), ['debug', 'warning', 'info'], 'what those hear who never said')
    await callX(client, 'debug')
    t.same(levels(server).slice(3), ['debug'])
  },
)

t.test('a call raises the level of its server, and never lowers it for others', async t => {
  const { world, server } = await known()
  const session = await world.client()
  await callX(session)
  const client = world.modern()
  await callX(client, 'error')
  t.same(levels(server), ['info'], 'the session hears that much unasked')
  await session.get(SET_LEVEL, { level: 'warning' })
  t.same(levels(server), ['info', 'warning'])
  await callX(client, 'notice')
  await callX(client, 'critical')
  t.same(levels(server), ['info', 'warning', 'notice'])
})

t.test('levels reach a server one after another, so that the last one counts', async t => {
  const { world, server } = await known()
  server.silent.add(SET_LEVEL)
  const client = world.modern()
  await callX(client, 'error')
  await callX(client, 'debug')
  t.same(levels(server), ['error'])
  server.last(SET_LEVEL).answer({})
  await settled()
  t.same(levels(server), ['error', 'debug'])
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
  t.same(levels(server), ['debug', 'debug'])
  await callX(client, 'debug')
  t.same(levels(server), ['debug', 'debug'])
  await world.router.close()
  t.equal(world.clock.pending, 0)
})

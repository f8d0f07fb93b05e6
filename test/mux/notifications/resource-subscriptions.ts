import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../src/kernel/limits.js'
import { failed } from '../../../src/model/outcome.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { FakeServer, Script } from '../../support/server/fake-server.js'
import { resource } from '../../support/values.js'

const UPDATED = 'notifications/resources/updated'
const A = { uri: 'a+file:///a' }

const withResource = async (script: Script = {}, count = 1) => {
  const world = new World({ a: { resources: [resource('file:///a')], ...script }, b: { tools: [] } })
  const clients: FakeClient[] = []
  for (let index = 0; index < count; index += 1) clients.push(await world.client())
  return { world, server: world.server('a'), clients: clients as [FakeClient, FakeClient, FakeClient] }
}

const sent = (server: FakeServer): string[] =>
  server.links
    .flatMap(link => link.requests)
    .filter(({ method }) => method.endsWith('subscribe'))
    .map(({ method, params }) => `${method.slice(10)} ${(params as { uri: string }).uri}`)

t.test('a server is subscribed once for all clients, and unsubscribed with the last', async t => {
  const { world, server, clients } = await withResource({}, 3)
  const [first, second, third] = clients
  t.same(await first.get('resources/subscribe', A), { result: {} })
  t.same(await second.get('resources/subscribe', A), { result: {} })
  t.same(await first.get('resources/subscribe', A), { result: {} }, 'twice is once')
  t.same(sent(server), ['subscribe file:///a'])
  server.link.notice(UPDATED, { uri: 'file:///a', title: 't' })
  t.same(
    clients.map(client => client.heard(UPDATED)),
    [[{ ...A, title: 't' }], [{ ...A, title: 't' }], []],
  )
  t.same(await first.get('resources/unsubscribe', A), { result: {} })
  t.same(await first.get('resources/unsubscribe', A), { result: {} })
  t.same(await third.get('resources/unsubscribe', A), { result: {} }, 'what was not subscribed')
  t.same(sent(server), ['subscribe file:///a'])
  second.leave()
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.equal(first.heard(UPDATED).length, 1)
  t.match(world.router.load, { subscriptions: 0 })
})

t.test(
  'an update below a subscription goes to the nearest one above it; any other update is dropped',
  async t => {
    const { server, clients } = await withResource({}, 2)
    const [near, far] = clients
    await far.get('resources/subscribe', { uri: 'a+file:///dir' })
    await near.get('resources/subscribe', { uri: 'a+file:///dir/sub/' })
    const rows = [
      ['file:///dir/sub/x', ['a+file:///dir/sub/x'], []],
      ['file:///dir/y', [], ['a+file:///dir/y']],
      ['file:///dir?q', [], ['a+file:///dir?q']],
      ['file:///dir', [], ['a+file:///dir']],
      ['file:///dirty', [], []],
    ] as const
    for (const [uri, nears, fars] of rows) {
      near.told.length = 0
      far.told.length = 0
      server.link.notice(UPDATED, { uri })
      t.same(
        [near.heard(UPDATED), far.heard(UPDATED)],
        [nears.map(one => ({ uri: one })), fars.map(one => ({ uri: one }))],
        uri,
      )
    }
    server.link.notice(UPDATED)
    server.link.notice(UPDATED, { uri: 7 })
  },
)

t.test('an update of a URI that another client may have subscribed to is dropped', async t => {
  for (const script of [{}, { options: { sharing: 'all' } }, { revision: '2026-07-28' }] as const) {
    const { world, server, clients } = await withResource(script, 2)
    const stranger = await world.client({ principal: 'other' })
    const everyone = [...clients, stranger]
    const uris = ['file:///a', 'file:///B', 'file:///c']
    for (const [n, client] of everyone.entries())
      t.same(await client.get('resources/subscribe', { uri: `a+${uris[n]}` }), { result: {} })
    server.links[0]?.notice(UPDATED, { uri: 'file:///b' })
    t.same(
      everyone.map(client => client.heard(UPDATED)),
      [[], [], []],
      JSON.stringify(script),
    )
  }
})

t.test('a server may write the URI in another spelling: its subscribers are told in their own', async t => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const { server, clients } = await withResource({ revision, resources: [resource('db://a/x y')] }, 2)
    await clients[0].get('resources/subscribe', { uri: 'a+db://a/x y' })
    await clients[1].get('resources/subscribe', { uri: 'a+db://b' })
    for (const uri of ['DB://a/x%20y', 'db://a/z/../x y']) server.link.notice(UPDATED, { uri })
    t.same(
      clients.map(client => client.heard(UPDATED)),
      [Array(2).fill({ uri: 'a+db://a/x y' }), []],
    )
  }
})

t.test('the only session that ever used a server gets all its updates', async t => {
  const { world, server, clients } = await withResource()
  await clients[0].get('resources/subscribe', A)
  server.link.notice(UPDATED, { uri: 'file:///other' })
  t.same(clients[0].heard(UPDATED), [{ uri: 'a+file:///other' }])
  await (await world.client()).get('resources/subscribe', { uri: 'a+file:///b' })
  server.link.notice(UPDATED, { uri: 'file:///other' })
  t.equal(clients[0].heard(UPDATED).length, 1)
})

t.test('a client is told in the words in which it subscribed, each of them', async t => {
  const { server, clients } = await withResource()
  await clients[0].get('resources/subscribe', A)
  await clients[0].get('resources/subscribe', { uri: 'file:///a' })
  t.same(sent(server), ['subscribe file:///a'])
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.same(clients[0].heard(UPDATED), [A, { uri: 'file:///a' }])
  await clients[0].get('resources/unsubscribe', A)
  t.equal(sent(server).length, 1)
  await clients[0].get('resources/unsubscribe', { uri: 'file:///a' })
  t.equal(sent(server).length, 2)
})

t.test(
  'a server without subscriptions is not asked for one, and a refusal is everybody’s who waited for it',
  async t => {
    const none = await withResource({ capabilities: { resources: { listChanged: true, subscribe: false } } })
    // Another server brings the capability.
    const world = new World({
      a: { resources: [], capabilities: { resources: { listChanged: true, subscribe: false } } },
      c: { resources: [] },
    })
    const client = await world.client()
    t.match(await client.get('resources/subscribe', A), { code: -32601, message: /a does not support/ })
    t.same([...sent(none.server), ...sent(world.server('a'))], [])

    const { server, clients } = await withResource({}, 2)
    server.silent.add('resources/subscribe')
    const calls = clients.map(one => one.call('resources/subscribe', A))
    await settled()
    server.last('resources/subscribe').refuse(-32002, 'no such', { uri: 'file:///a' })
    await settled()
    t.same(
      calls.map(call => call.ended),
      Array(2).fill({ code: -32002, message: 'no such', data: { uri: 'file:///a' } }),
    )
    server.silent.clear()
    t.same(await clients[0].get('resources/subscribe', A), { result: {} }, 'it can be tried again')
    t.same(sent(server), ['subscribe file:///a', 'subscribe file:///a'])
  },
)

t.test('a server that does not answer a subscription is given up on', async t => {
  const { world, server, clients } = await withResource()
  server.silent.add('resources/subscribe')
  const call = clients[0].call('resources/subscribe', A)
  await settled()
  await world.pass(301_000)
  t.match(call.ended, { code: -32603, data: { server: 'a' } })
  t.same(server.last('resources/subscribe').cancels, ['timed out'])
  t.match(world.router.load, { subscriptions: 0 })
})

t.test('requests about one URI go one after another, so that the last one counts', async t => {
  const { world, server, clients } = await withResource({}, 2)
  server.silent.add('resources/subscribe').add('resources/unsubscribe')
  const [first, second] = clients
  const one = first.call('resources/subscribe', A)
  await settled()
  first.call('resources/unsubscribe', A)
  const two = second.call('resources/subscribe', A)
  await settled()
  t.same(sent(server), ['subscribe file:///a'], 'nothing overtakes it')
  server.last('resources/subscribe').answer({})
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  t.equal(two.ends.length, 0)
  server.last('resources/unsubscribe').answer({})
  await settled()
  server.last('resources/subscribe').answer({})
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a', 'subscribe file:///a'])
  t.match([one.ended, two.ended], [{ result: {} }, { result: {} }])
  t.match(world.router.load, { subscriptions: 1 })
})

t.test('a client that leaves while its server starts is never subscribed', async t => {
  const { world, server, clients } = await withResource()
  const [client] = clients
  server.dialling = 'hang'
  server.link.drop()
  await settled()
  client.call('resources/subscribe', A)
  await settled()
  client.leave()
  server.admit()
  await settled()
  t.same(sent(server), [])
  t.match(world.router.load, { subscriptions: 0 })
})

t.test('a client that cancels a subscription before it is confirmed has none', async t => {
  const { world, server, clients } = await withResource()
  const [client] = clients
  server.silent.add('resources/subscribe')
  const call = client.call('resources/subscribe', A)
  await settled()
  call.cancel()
  server.last('resources/subscribe').answer({})
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  t.match(world.router.load, { subscriptions: 0 })
})

t.test('after a loss subscriptions are renewed, and what may have been missed is reported', async t => {
  const { world, server, clients } = await withResource()
  const [client] = clients
  await client.get('resources/subscribe', A)
  server.link.drop()
  await world.pass(1)
  t.equal(server.links.length, 2)
  t.same(sent(server), ['subscribe file:///a', 'subscribe file:///a'])
  t.same(client.heard(UPDATED), [A])

  server.failing.set('resources/subscribe', failed(new Fault('internal', 'no')))
  server.link.drop()
  await world.pass(2000)
  t.equal(server.links.length, 3)
  t.equal(client.heard(UPDATED).length, 1, 'a renewal that fails reports nothing')
  server.failing.clear()
  const other = await world.client()
  t.same(await other.get('resources/subscribe', A), { result: {} }, 'and the next subscriber tries again')
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.equal(client.heard(UPDATED).length, 2)
})

t.test('a subscription at a server that is lost before it confirms is an error', async t => {
  const { world, server, clients } = await withResource()
  server.silent.add('resources/subscribe')
  const call = clients[0].call('resources/subscribe', A)
  await settled()
  server.link.drop()
  await settled()
  t.match(call.ended, { code: -32603, message: /^Server a: /, data: { server: 'a' } })
  t.match(world.router.load, { subscriptions: 0 })
})

t.test('no client has more than 1000 subscriptions', async t => {
  const { server, clients } = await withResource()
  for (let index = 0; index < 1000; index += 1)
    clients[0].call('resources/subscribe', { uri: `a+x:${index}` })
  await settled()
  t.match(await clients[0].get('resources/subscribe', { uri: 'a+x:1000' }), { code: -32603, message: /1000/ })
  t.same(await clients[0].get('resources/subscribe', { uri: 'a+x:7' }), { result: {} })
  t.equal(sent(server).length, 1000)
})

t.test('a URI that is longer than any real one cannot be subscribed', async t => {
  const { server, clients } = await withResource({})
  const uri = `a+file:///${'x'.repeat(8192)}`
  t.match(await clients[0].get('resources/subscribe', { uri }), { code: -32602, message: /8192 characters/ })
  t.same(sent(server), [])
})

t.test('who subscribes and gives up again and again is refused while the server answers nothing', async t => {
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, callsPerServer: 4 } })
  const world = new World({ a: { resources: [resource('file:///a')] } }, { bounds })
  const server = world.server('a')
  const client = await world.client()
  for (const method of ['subscribe', 'unsubscribe']) server.silent.add(`resources/${method}`)
  for (const uri of ['a', 'b', 'c', 'd', 'e', 'f', 'f', 'f']) {
    for (let time = 0; time < 2; time += 1) {
      const call = client.call('resources/subscribe', { uri: `a+file:///${uri}` })
      await settled()
      call.cancel('user')
      await settled()
    }
  }
  t.ok(sent(server).length <= 4, sent(server).join(', '))
  t.match(await client.get('resources/subscribe', A), { data: { limit: 'callsPerServer', server: 'a' } })
  t.match(world.router.load, { subscriptions: 0 })
  server.silent.clear()
  await world.pass(1_000_000, 10_000)
  t.same(await client.get('resources/subscribe', A), { result: {} }, 'until there is room again')
})

t.test('a subscription that was refused when it was renewed is tried again, and asked for again', async t => {
  for (const by of ['proxy', 'client']) {
    const world = new World({ a: { resources: [] } })
    const client = await world.client()
    await client.get('resources/subscribe', { uri: 'a+x://1' })
    const server = world.server('a')
    const error = textOf({ code: -32603, message: 'still loading' })
    server.failing.set('resources/subscribe', { kind: 'error', error })
    server.link.drop()
    await world.pass(1)
    await world.pass(500)
    t.equal(server.got('resources/subscribe').length, 2)
    server.failing.clear()
    if (by === 'proxy') await world.pass(1000)
    else t.match(await client.get('resources/subscribe', { uri: 'a+x://1' }), { result: {} })
    t.equal(server.got('resources/subscribe').length, 3, by)
  }
})

t.test(
  'a subscription that a server does not answer fails after 60 s, although calls have no limit',
  async t => {
    const off = Number.POSITIVE_INFINITY
    const timeouts = { connectMs: 1000, listMs: 1000, callMs: off, totalMs: off }
    const { world, server, clients } = await withResource({ options: { timeouts } })
    server.silent.add('resources/subscribe')
    const call = clients[0].call('resources/subscribe', A)
    await settled()
    await world.pass(59_000)
    t.same(call.ends, [])
    await world.pass(2000)
    t.match(call.ended, { code: -32603, message: /no answer within 60 s/ })
  },
)

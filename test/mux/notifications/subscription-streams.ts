import t from 'tap'
import type { Revision } from '../../../src/model/revision.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { FakeServer } from '../../support/server/fake-server.js'
import { CAN_NOTHING, resource, tool } from '../../support/values.js'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const TOOLS_CHANGED = 'notifications/tools/list_changed'
const RESOURCES_CHANGED = 'notifications/resources/list_changed'
const UPDATED = 'notifications/resources/updated'
const SUBSCRIBE = 'resources/subscribe'

const NO_SUBSCRIPTIONS = { resources: { listChanged: true, subscribe: false } }

/** Two servers whose resources can be subscribed, and one whose cannot. */
const sources = (revision: Revision = '2025-11-25'): World =>
  new World({
    a: {
      revision,
      tools: [tool('x')],
      resources: [resource('file:///a'), resource('file:///d')],
    },
    b: { resources: [resource('file:///b')], showing: { uris: 'preserve' } },
    none: { resources: [resource('x:1')], capabilities: NO_SUBSCRIPTIONS },
  })

const listen = async (client: FakeClient, notifications: object): Promise<FakeCall> => {
  const call = client.call('subscriptions/listen', { notifications })
  await settled()
  return call
}

/** Once the servers are known and listed. */
const ready = async (world: World): Promise<FakeClient> => {
  const client = world.modern()
  await client.get('tools/list')
  await world.pass(500, 10)
  return client
}

const honoured = ({ told }: FakeCall): unknown =>
  (told[0]?.[1] as { notifications: unknown } | undefined)?.notifications
const updatesOf = ({ told }: FakeCall): unknown[] =>
  told.filter(([method]) => method === UPDATED).map(([, params]) => (params as { uri: string }).uri)
const sent = (server: FakeServer): string[] =>
  server.links
    .flatMap(link => link.requests)
    .filter(({ method }) => method.endsWith('subscribe'))
    .map(({ method, params }) => `${method.slice(10)} ${(params as { uri: string }).uri}`)

t.test('a client is told first what it will hear: what it asked for, as far as that is there', async t => {
  const world = sources()
  const client = await ready(world)
  const rows = [
    [{}, {}],
    [{ toolsListChanged: true }, { toolsListChanged: true }],
    [{ toolsListChanged: false, resourcesListChanged: true }, { resourcesListChanged: true }],
    [{ promptsListChanged: true, toolsListChanged: true, newListChanged: true }, { toolsListChanged: true }],
    [{ resourceSubscriptions: [] }, {}],
    [{ resourceSubscriptions: ['none+x:1', 'nobody+x:1'] }, {}],
    [
      { resourceSubscriptions: ['a+file:///a', 'none+x:1', 'file:///b', 'a+file:///a'] },
      { resourceSubscriptions: ['a+file:///a', 'file:///b'] },
    ],
  ] as const
  for (const [asked, answer] of rows) {
    const call = await listen(client, asked)
    t.same(call.told, [[ACKNOWLEDGED, { notifications: answer }]], JSON.stringify(asked))
    t.equal(call.ends.length, 0, 'and the request stays open')
    call.cancel()
  }
  t.same(sent(world.server('none')), [], 'who has no subscriptions is not asked')
  t.match(world.router.load, { subscriptionStreams: 0, subscriptions: 0 })
})

t.test('a listening request without a valid filter gets -32602', async t => {
  const client = await ready(sources())
  const params = [
    undefined,
    {},
    ...[
      null,
      [],
      'all',
      { toolsListChanged: 'yes' },
      { promptsListChanged: null },
      { resourceSubscriptions: 'x:1' },
      { resourceSubscriptions: { uri: 'x:1' } },
      { resourceSubscriptions: ['x:1', 7] },
    ].map(notifications => ({ notifications })),
  ]
  for (const one of params) {
    t.match(await client.get('subscriptions/listen', one), { code: -32602 }, JSON.stringify(one))
  }
})

t.test('sessions subscribe and do not listen, other clients listen and do not subscribe', async t => {
  const world = sources()
  const session = await world.client()
  const client = await ready(world)
  const rows = [
    [session, 'subscriptions/listen', { notifications: {} }],
    [client, SUBSCRIBE, { uri: 'a+file:///a' }],
    [client, 'resources/unsubscribe', { uri: 'a+file:///a' }],
    [client, 'logging/setLevel', { level: 'info' }],
  ] as const
  for (const [who, method, params] of rows)
    t.match(await who.get(method, params), { code: -32601, message: `Method not found: ${method}` })
})

t.test('a server that does not accept in five seconds is left out, however it decides later', async t => {
  const world = sources()
  const client = await ready(world)
  const server = world.server('a')
  server.silent.add(SUBSCRIBE)
  const call = client.call('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['a+file:///a', 'file:///b'] },
  })
  await world.pass(4900)
  t.same(call.told, [])
  world.server('b').link.notice(UPDATED, { uri: 'file:///b' })
  t.same(call.told, [], 'nothing is said before the acknowledgement')
  await world.pass(200)
  t.same(honoured(call), { resourceSubscriptions: ['file:///b'] })
  server.last(SUBSCRIBE).answer({})
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.equal(call.told.length, 1)
})

t.test('a server that cannot be reached in time is not asked for a subscription afterwards', async t => {
  const world = sources()
  const client = await ready(world)
  const server = world.server('a')
  server.dialling = 'hang'
  server.link.drop()
  const call = client.call('subscriptions/listen', {
    notifications: { resourceSubscriptions: ['a+file:///a'] },
  })
  await world.pass(5000)
  t.same(honoured(call), {})
  server.admit()
  await settled()
  t.same(sent(server), [])
})

t.test('an update reaches each request that listens once, in the words that it used', async t => {
  const world = sources()
  const client = await ready(world)
  const { link } = world.server('b')
  const one = await listen(client, { resourceSubscriptions: ['file:///b'] })
  const other = await listen(client, { resourceSubscriptions: ['b+file:///b', 'file:///b'] })
  const elsewhere = await listen(client, { resourceSubscriptions: ['a+file:///d'], toolsListChanged: true })
  const session = await world.client()
  await session.get(SUBSCRIBE, { uri: 'file:///b' })
  link.notice(UPDATED, { uri: 'file:///b', title: 't' })
  link.notice(UPDATED, { uri: 'file:///b#part' })
  t.same(updatesOf(one), ['file:///b', 'file:///b#part'])
  t.same(updatesOf(other), ['file:///b', 'file:///b#part'], 'the second spelling is no resource of b')
  t.same(updatesOf(elsewhere), [])
  t.match(one.told[1]?.[1], { title: 't' })
  t.equal(session.heard(UPDATED).length, 2)
  t.same(client.told, [], 'nothing is said outside the requests')
})

t.test('what a client listens to goes with it to a connection that suits it better', async t => {
  const world = new World({
    a: { resources: [], revision: '2026-07-28', options: { sharing: 'principal' } },
  })
  const server = world.server('a')
  const session = await world.client()
  const client = world.modern()
  const call = await listen(client, { resourceSubscriptions: ['a+file:///a'] })
  t.same([server.links.length, sent(server)], [1, ['subscribe file:///a']])
  // It comes back as a server that has sessions too, which the session needs.
  Object.assign(server.script, { otherRevision: '2025-11-25' })
  server.link.drop()
  await world.pass(2000, 10)
  t.equal(server.link.serverRequests, 'pushed')
  client.call('resources/read', { uri: 'a+file:///a' })
  await world.pass(500, 10)
  t.equal(server.link.serverRequests, 'returned')
  t.same(
    server.link.requests.map(({ method }) => method).filter(method => method === SUBSCRIBE),
    [SUBSCRIBE],
  )
  const before = updatesOf(call).length
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.equal(updatesOf(call).length, before + 1)
  server.links.at(-2)?.notice(UPDATED, { uri: 'file:///a' })
  t.equal(updatesOf(call).length, before + 1, 'the other one is no longer its own')
  t.ok(session)
  await world.router.close()
})

t.test('servers are subscribed once for all who listen, and unsubscribed with the last', async t => {
  const world = sources()
  const client = await ready(world)
  const server = world.server('a')
  const wanted = { resourceSubscriptions: ['a+file:///a'] }
  const [one, two] = [await listen(client, wanted), await listen(client, wanted)]
  t.same(sent(server), ['subscribe file:///a'])
  one.cancel()
  server.link.notice(UPDATED, { uri: 'file:///a' })
  t.same([updatesOf(one), updatesOf(two)], [[], ['a+file:///a']])
  t.equal(one.late, 0)
  t.same(sent(server), ['subscribe file:///a'])
  two.cancel()
  await settled()
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  t.match(world.router.load, { subscriptionStreams: 0, subscriptions: 0 })
})

t.test('a client that ends its request before it is acknowledged is subscribed to nothing', async t => {
  const world = sources()
  const client = await ready(world)
  const server = world.server('a')
  server.silent.add(SUBSCRIBE)
  const call = await listen(client, { resourceSubscriptions: ['a+file:///a'], toolsListChanged: true })
  call.cancel()
  server.last(SUBSCRIBE).answer({})
  await settled()
  t.same(call.told, [])
  t.equal(call.late, 0)
  t.same(sent(server), ['subscribe file:///a', 'unsubscribe file:///a'])
  t.match(world.router.load, { subscriptionStreams: 0, subscriptions: 0 })
})

t.test('a listening request gets every change of the lists it was promised, and of no others', async t => {
  const world = sources()
  const client = await ready(world)
  const tools = await listen(client, { toolsListChanged: true })
  const resources = await listen(client, { resourcesListChanged: true })
  const nothing = await listen(client, {})
  const changes = (call: FakeCall) => call.told.slice(1)
  const { link, lists } = world.server('a')
  for (let time = 0; time < 20; time += 1) link.notice(TOOLS_CHANGED)
  await world.pass(500, 10)
  t.same(changes(tools), [], 'the list is still the same')
  lists.tools = [tool('x'), tool('y')]
  for (let time = 0; time < 20; time += 1) link.notice(TOOLS_CHANGED)
  await world.pass(500, 10)
  lists.resources = []
  link.notice(RESOURCES_CHANGED)
  await world.pass(500, 10)
  t.same(changes(tools), [[TOOLS_CHANGED, undefined]])
  t.same(changes(resources), [[RESOURCES_CHANGED, undefined]])
  t.same(changes(nothing), [])
  lists.tools = [tool('z')]
  link.notice(TOOLS_CHANGED)
  await world.pass(1000, 10)
  t.equal(changes(tools).length, 2, 'though it has not read the list in between')
  t.same(client.told, [])
})

t.test('the first list of a server is a change for clients that know a list without it', async t => {
  const world = new World({ a: { tools: [tool('x')] }, late: { tools: [tool('y')] } })
  world.server('late').dialling = 'hang'
  const [listener, reader] = [world.modern(), world.modern({ capabilities: CAN_NOTHING })]
  const list = reader.call('tools/list')
  await world.pass(5000, 100)
  t.match(list.ended, { result: { tools: [{ name: 'a__x' }] } })
  const call = await listen(listener, { toolsListChanged: true })
  world.server('late').admit()
  await world.pass(500, 10)
  t.same(call.told.slice(1), [[TOOLS_CHANGED, undefined]])
})

t.test('for an unread list, the first list of a later server is a change', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const early = await listen(world.modern(), { toolsListChanged: true })
  void world.router.welcome(world.modern({ principal: 'other' }))
  await settled()
  const late = await listen(world.modern(), { toolsListChanged: true })
  await world.pass(500, 10)
  t.same(
    [early, late].map(({ told }) => told.slice(1)),
    [[[TOOLS_CHANGED, undefined]], []],
  )
})

t.test('the first list of a server is not a change for clients that have read it', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const call = await listen(world.modern(), { toolsListChanged: true })
  await world.modern().get('tools/list')
  await world.pass(500, 10)
  t.same(call.told.slice(1), [])
})

t.test('when a server was lost and is back, who listens hears what it may have missed', async t => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    const world = sources(revision)
    const client = await ready(world)
    const server = world.server('a')
    const call = await listen(client, { toolsListChanged: true, resourceSubscriptions: ['a+file:///a'] })
    server.lists.tools = []
    server.link.drop()
    await world.pass(500, 10)
    t.same(call.ends, [], 'the request stays open')
    t.same(sent(server), ['subscribe file:///a', 'subscribe file:///a'])
    t.same(call.told.slice(1), [
      [UPDATED, { uri: 'a+file:///a' }],
      [TOOLS_CHANGED, undefined],
    ])
  }
})

t.test('a server runs while a client listens for changes of its lists', async t => {
  const world = new World({ a: { tools: [tool('x')] }, b: { prompts: [] } })
  const [first, client] = [await ready(world), world.modern()]
  const call = await listen(client, { toolsListChanged: true })
  first.leave()
  await world.pass(3_600_000, 60_000)
  const open = () => world.servers.map(({ links }) => links.filter(link => !link.isClosed).length)
  t.same(open(), [1, 0])
  world.server('a').lists.tools = []
  world.server('a').link.drop()
  await world.pass(500, 10)
  t.same(open(), [1, 0], 'it is started again')
  t.same(call.told.slice(1), [[TOOLS_CHANGED, undefined]])
  call.cancel()
  await world.pass(3_600_000, 60_000)
  t.same(open(), [0, 0])
})

t.test('a principal has eight requests that listen, and a place again when one of them ends', async t => {
  const world = sources()
  const client = await ready(world)
  const calls: FakeCall[] = []
  for (let count = 0; count < 8; count += 1) calls.push(await listen(client, {}))
  const another = world.modern()
  t.match((await listen(another, {})).ended, { code: -32603 })
  t.match(honoured(await listen(world.modern({ principal: 'other' }), {})), {})
  calls[3]?.cancel()
  t.same(honoured(await listen(another, {})), {})
  t.match(world.router.load, { subscriptionStreams: 9 })
  await world.pass(24 * 3_600_000, 3_600_000)
  t.match(world.router.load, { subscriptionStreams: 9 }, 'no time ends them')
})

t.test(
  'when the proxy closes, requests that listen end with an empty result, and no new ones begin',
  async t => {
    const world = sources()
    const client = await ready(world)
    const server = world.server('a')
    const open = await listen(client, { resourceSubscriptions: ['a+file:///a'] })
    server.silent.add(SUBSCRIBE)
    const opening = await listen(client, { resourceSubscriptions: ['a+file:///d'] })
    world.router.closing()
    for (const call of [open, opening]) t.same(call.ended, { result: {} })
    t.match((await listen(client, {})).ended, { code: -32603 })
    await world.router.close()
    await settled()
    for (const call of [open, opening]) t.equal(call.late, 0)
    t.equal(world.clock.pending, 0)
  },
)

t.test('a connection with a resource subscription is never closed to make room', async t => {
  const options = { isProcess: true, limits: { childrenPerServer: 1 } } as const
  const world = new World({ a: { tools: [tool('x')], resources: [resource('file:///a')], options } })
  const call = await listen(await ready(world), { resourceSubscriptions: ['a+file:///a'] })
  t.match(honoured(call), { resourceSubscriptions: ['a+file:///a'] })
  await world.pass(1000)
  const other = world.modern({ capabilities: { ...CAN_NOTHING, roots: { listChanged: false } } })
  t.match(await other.get('tools/call', { name: 'a__x' }), { message: /^Server a has 1 connections/ })
  world.server('a').link.notice(UPDATED, { uri: 'file:///a' })
  t.same(updatesOf(call), ['a+file:///a'])
})

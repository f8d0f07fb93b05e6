import t from 'tap'
import { textOf } from '../../src/kernel/json/text.js'
import type { Welcome } from '../../src/model/links.js'
import { succeeded } from '../../src/model/outcome.js'
import type { FakeClient } from '../support/client/fake-client.js'
import { settled } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import { resource, tool } from '../support/values.js'

const DONE = succeeded(textOf({ content: [] }))
const TOOLS_CHANGED = 'notifications/tools/list_changed'
const RESOURCES_CHANGED = 'notifications/resources/list_changed'

/** Welcomes and tells whether that is over. */
const greet = (world: World, client: FakeClient): { welcome: Welcome | undefined } => {
  const greeted: { welcome: Welcome | undefined } = { welcome: undefined }
  void world.router.welcome(client).then(welcome => {
    greeted.welcome = welcome
  })
  return greeted
}

t.test('a newcomer waits for servers that start, but not longer than the start-up wait', async t => {
  const world = new World({ a: { tools: [] }, slow: { prompts: [] } })
  world.server('slow').dialling = 'hang'
  const greeted = greet(world, world.newcomer())
  await world.pass(4900)
  t.equal(greeted.welcome, undefined)
  await world.pass(200)
  t.same(greeted.welcome?.capabilities, {
    tools: true,
    prompts: true,
    resources: { subscribe: true },
    completions: false,
    logging: false,
  })
})

t.test('a hanging server delays the first clients, not all later ones', async t => {
  const world = new World({ a: { tools: [tool('x')] }, slow: { prompts: [] } })
  world.server('slow').dialling = 'hang'
  greet(world, world.newcomer())
  await world.pass(3000)
  const second = greet(world, world.newcomer())
  await world.pass(1900)
  t.equal(second.welcome, undefined, 'it waits for the rest of the first wait')
  await world.pass(200)
  t.ok(second.welcome)
  await world.pass(3000)
  const third = world.newcomer()
  const greeted = greet(world, third)
  await settled()
  t.ok(greeted.welcome, 'after that nobody waits')
  const call = third.call('tools/list')
  await settled()
  t.match(call.ended, { result: { tools: [{ name: 'a__x' }] } }, 'nor for a list')
})

t.test('a server that failed long ago is waited for when it starts again', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  world.server('a').dialling = 'refuse'
  const first = world.newcomer()
  greet(world, first)
  await settled()
  first.leave()
  await world.pass(600_000)
  world.server('a').dialling = 'hang'
  const late = greet(world, world.newcomer())
  await world.pass(4900)
  t.equal(late.welcome, undefined, 'the old failure is no reason to answer without it')
  await world.pass(200)
  t.ok(late.welcome, 'nor is it waited for longer than any other')
})

t.test('when all servers are there, or known to be away, a newcomer waits for nothing', async t => {
  const world = new World({
    a: { tools: [] },
    b: { resources: [], capabilities: { resources: { listChanged: true, subscribe: false } } },
  })
  const first = greet(world, world.newcomer())
  await settled()
  t.same(first.welcome?.capabilities, {
    tools: true,
    prompts: false,
    resources: { subscribe: false },
    completions: false,
    logging: false,
  })
  world.server('a').dialling = 'refuse'
  const refused = new World({ a: {} })
  refused.server('a').dialling = 'refuse'
  const second = greet(refused, refused.newcomer())
  await settled()
  t.same(second.welcome?.capabilities.tools, true, 'what an unknown server might bring is announced')
})

t.test('what no server can do does not exist', async t => {
  const world = new World({ a: { tools: [] } })
  const client = await world.client()
  for (const method of [
    'prompts/get',
    'resources/read',
    'logging/setLevel',
    'completion/complete',
    'nope',
    'initialize',
  ]) {
    t.match(await client.get(method, { uri: 'a+x:y' }), {
      code: -32601,
      message: `Method not found: ${method}`,
    })
  }
  t.match(await world.newcomer().get('tools/list'), { code: -32601 }, 'nothing exists before the welcome')
  for (const method of ['logging/setLevel', `${'x '.repeat(55)}ghp_0123456789abcdefghijklmnopqrstuvwxyz`])
    t.notMatch(
      await client.get(method, { level: `${'x '.repeat(27)}ghp_0123456789abcdefghijklmnopqrstuvwxyz` }),
      { message: 'ghp_' },
      'no half of a secret shows',
    )
  t.same(
    world.server('a').links.flatMap(link => link.requests),
    [],
  )
})

t.test('a list of a kind that no server has is empty for every client', async t => {
  const lists = {
    'prompts/list': 'prompts',
    'resources/list': 'resources',
    'resources/templates/list': 'resourceTemplates',
    'tools/list': 'tools',
  }
  const world = new World({ a: { capabilities: { completions: true } } })
  for (const client of [await world.client(), world.modern()]) {
    for (const [method, member] of Object.entries(lists))
      t.same(await client.get(method), { result: { [member]: [] } }, method)
  }
  t.same(
    world.server('a').links.flatMap(link => link.requests),
    [],
    'no server is asked for what it does not have',
  )
})

t.test('a server that failed to start is listed once it runs, and clients are notified', async t => {
  const world = new World({ a: { tools: [tool('x')] }, late: { tools: [tool('y')] } })
  world.server('late').dialling = 'hang'
  const client = world.newcomer()
  const greeted = greet(world, client)
  await world.pass(5000)
  t.ok(greeted.welcome)
  const call = client.call('tools/list')
  await settled()
  await world.pass(3000)
  t.match(call.ended, { result: { tools: [{ name: 'a__x' }] } })
  client.told.length = 0
  world.server('late').admit()
  await settled()
  await world.pass(200, 10)
  t.same(client.told, [[TOOLS_CHANGED, undefined]])
  t.same(await client.list('tools/list'), ['a__x', 'late__y'])
})

t.test('a client that has just listed is not notified of the same list', async t => {
  const world = new World({ a: { tools: [tool('x')], resources: [resource('x:1')] } })
  const client = await world.client()
  await client.list('tools/list')
  await world.pass(500, 10)
  t.same(client.heard(TOOLS_CHANGED), [])
  t.equal(world.server('a').got('tools/list').length, 1, 'and the server was not asked twice')
})

t.test(
  'twenty notifications without a change are dropped; with a change they become one, for affected clients',
  async t => {
    const world = new World({ a: { tools: [tool('x')], prompts: [] }, b: { tools: [tool('y')] } })
    const clients = [await world.client(), await world.client({ principal: 'other' })]
    for (const client of clients) await client.list('tools/list')
    await world.pass(500, 10)
    for (const client of clients) client.told.length = 0
    const burst = async () => {
      for (let time = 0; time < 20; time += 1) {
        for (const link of world.server('a').links) link.notice(TOOLS_CHANGED)
        await world.pass(5)
      }
      await world.pass(500, 10)
    }
    const before = world.server('a').got('tools/list').length
    await burst()
    t.same(
      clients.flatMap(client => client.told),
      [],
    )
    t.ok(world.server('a').got('tools/list').length - before <= 6, 'nor is the server asked for each')
    world.server('a').lists.tools = [tool('x'), tool('new')]
    await burst()
    t.same(
      clients.map(client => client.told),
      [[[TOOLS_CHANGED, undefined]], [[TOOLS_CHANGED, undefined]]],
    )
    t.same(await clients[0]?.list('tools/list'), ['a__x', 'a__new', 'b__y'])
    t.equal(world.server('b').got('tools/list').length, 2)
  },
)

t.test('an invisible change is not announced', async t => {
  const world = new World({
    a: {
      tools: [tool('x'), tool('secret')],
      showing: { tools: { allow: ['x'], deny: [], rename: {}, override: {} } },
    },
  })
  const client = await world.client()
  await client.list('tools/list')
  world.server('a').lists.tools = [tool('x'), tool('secret', { description: 'new' })]
  world.server('a').link.notice(TOOLS_CHANGED)
  await world.pass(500, 10)
  t.equal(world.server('a').got('tools/list').length, 2)
  t.same(client.told, [])
})

t.test('clients are notified of changes to announced lists, and of nothing else', async t => {
  const world = new World({
    a: { tools: [tool('x')] },
    b: { resources: [resource('x:1')], options: { sharing: 'session' } },
  })
  world.server('b').dialling = 'refuse'
  const early = await world.client()
  t.ok(early)
  const lone = new World({ a: { tools: [] } })
  const client = await lone.client()
  // The server turns out to have resources when it comes back: this client was told that there are none.
  Object.assign(lone.server('a').script, { resources: [] })
  lone.server('a').lists.resources = [resource('x:1')]
  lone.server('a').link.drop()
  await lone.pass(500, 10)
  t.same(client.told, [])
  t.same(await client.list('resources/list', 'uri'), ['a+x:1'], 'whoever looks all the same sees them')
  const newcomer = await lone.client()
  t.same(await newcomer.list('resources/list', 'uri'), ['a+x:1'])
})

t.test('resources and their templates change in one notice', async t => {
  const world = new World({ a: { resources: [], templates: [] } })
  const client = await world.client()
  await client.get('resources/list')
  await client.get('resources/templates/list')
  await world.pass(500, 10)
  client.told.length = 0
  world.server('a').lists.resources = [resource('x:1')]
  world.server('a').lists.templates = [{ uriTemplate: 'x:{n}', name: 'n' }]
  world.server('a').link.notice(RESOURCES_CHANGED)
  await world.pass(500, 10)
  t.same(client.told, [[RESOURCES_CHANGED, undefined]])
})

t.test('a cursor that is not a string gets -32602', async t => {
  const world = new World({ a: { tools: [] } })
  const client = await world.client()
  for (const cursor of [7, null, {}, '', 'bogus']) {
    t.match(await client.get('tools/list', { cursor }), { code: -32602, message: 'Invalid cursor' })
  }
})

t.test('an unknown notification is dropped', async t => {
  const world = new World({ a: { tools: [] } })
  const client = await world.client()
  world.server('a').link.notice('notifications/other', { a: 1 })
  t.same(client.told, [])
})

t.test('eager servers start at once, lazy ones at first use', async t => {
  const world = new World({ eager: { tools: [], options: { start: 'eager' } }, lazy: { tools: [] } })
  world.router.start()
  await settled()
  t.equal(world.server('eager').links.length, 1)
  t.equal(world.server('lazy').links.length, 0)
  world.server('eager').dialling = 'refuse'
})

t.test('a server with a connection for each client is listed on each, and kept once', async t => {
  const world = new World({ a: { tools: [tool('x')], options: { sharing: 'session' } } })
  const clients = [await world.client(), await world.client(), await world.client()]
  const calls = clients.map(client => client.call('tools/list'))
  await settled()
  t.equal(world.server('a').links.length, 3)
  t.equal(world.server('a').got('tools/list').length, 3)
  const [first, ...others] = calls.map(({ ends: [end] }) => (end?.kind === 'result' ? end.result : end))
  t.match(first, Buffer)
  for (const other of others) t.equal(other, first)
  await world.pass(500, 10)
  t.equal(world.server('a').got('tools/list').length, 3)
  clients[1]?.leave()
  await settled()
  t.same(
    world.server('a').links.map(link => link.isClosed),
    [false, true, false],
    'each ends with its client',
  )
})

t.test('what runs for an absent client alone is stopped, and starts again when it comes back', async t => {
  const world = new World({
    own: { tools: [tool('x')], resources: [resource('x:1')], options: { sharing: 'session' } },
    shared: { tools: [tool('x')] },
  })
  const [absent, watching] = [await world.client(), await world.client()]
  for (const client of [absent, watching]) client.call('tools/call', { name: 'own__x' })
  watching.call('resources/subscribe', { uri: 'own+x:1' })
  await settled()
  const closed = () => world.server('own').links.map(link => link.isClosed)
  world.router.idle(absent)
  world.router.idle(watching)
  await settled()
  t.same(closed(), [true, false], 'a subscription goes on')
  t.equal(world.server('shared').links[0]?.isClosed, false)
  absent.call('tools/call', { name: 'own__x' })
  await settled()
  t.same(closed(), [true, false, false])
})

t.test(
  'a server has so many connections and no more; the client that is too many hears which server',
  async t => {
    const options = { sharing: 'session', isProcess: true, limits: { childrenPerServer: 2 } } as const
    const world = new World({ own: { tools: [tool('x')], options } })
    const clients = [await world.client(), await world.client(), await world.client()]
    await world.pass(500, 10)
    const calls = clients.map(client => client.call('tools/call', { name: 'own__x' }))
    await settled()
    t.equal(world.server('own').links.length, 2)
    t.match(calls[2]?.ended, {
      code: -32603,
      message: /^Server own has 2 connections/,
      data: { server: 'own' },
    })
    clients[0]?.leave()
    clients[2]?.call('tools/call', { name: 'own__x' })
    await settled()
    t.equal(world.server('own').links.length, 3, 'the place of one that left is free')
  },
)

t.test('where there is no more room, the connection that is idle for longest makes some', async t => {
  const options = { sharing: 'session', isProcess: true, limits: { childrenPerServer: 4 } } as const
  const world = new World({
    own: {
      tools: [tool('x')],
      resources: [resource('x:1')],
      capabilities: { resources: { listChanged: false, subscribe: true } },
      options,
    },
  })
  const { links } = world.server('own')
  const call = async (client: FakeClient) => {
    world.clock.advance(10)
    const made = client.call('tools/call', { name: 'own__x' })
    await settled()
    return made
  }
  const finish = async (client: FakeClient) => {
    const before = new Set(links.flatMap(({ requests }) => requests))
    const made = await call(client)
    const sent = links.flatMap(({ requests }) => requests).filter(request => !before.has(request))
    for (const request of sent) if (request.method === 'tools/call') request.end(DONE)
    await settled()
    return made
  }
  const [busy, subscribed, first, second] = [
    await world.client(),
    await world.client(),
    await world.client(),
    await world.client(),
  ]
  const open = await call(busy)
  subscribed.call('resources/subscribe', { uri: 'own+x:1' })
  await settled()
  await finish(first)
  await finish(second)
  const closed = () => links.map(({ isClosed }) => isClosed)
  t.same(closed(), [false, false, false, false])
  await finish(await world.client())
  t.same(closed(), [false, false, true, false, false], 'neither a call nor a subscription is lost')
  await finish(await world.client())
  t.same(closed(), [false, false, true, true, false, false])
  t.notOk(open.isOver)
  t.match((await finish(first)).ended, { result: {} }, 'who had to make room comes back')
  t.equal(await world.router.pool.makeRoom(), true)
  t.equal(closed().filter(isClosed => !isClosed).length, 3)
})

t.test('nothing is kept of a thousand clients that came, did everything, and left', async t => {
  const world = new World({
    shared: { tools: [tool('x')], resources: [resource('x:1')], capabilities: { logging: true } },
    own: { tools: [tool('x')], options: { sharing: 'session' } },
  })
  const { servers } = world.router.pool
  for (let index = 0; index < 1000; index += 1) {
    const client = world.newcomer()
    await world.router.welcome(client)
    client.call('tools/list')
    client.call('logging/setLevel', { level: 'debug' })
    client.call('resources/subscribe', { uri: 'shared+x:1' })
    client.call('tools/call', { name: 'own__x' })
    client.call('tools/call', { name: 'shared__x' })
    if (index % 10 === 0) await settled()
    for (const server of world.servers)
      server.links.at(-1)?.ask('elicitation/create', { mode: 'url', elicitationId: `${index}` })
    client.leave()
  }
  await settled()
  t.same(
    Object.entries(world.router.load).filter(([, count]) => count !== 0),
    [],
  )
  for (const server of servers) {
    for (const connection of server.connections) t.equal(connection.clients.size, 0, server.name)
  }
  t.ok([...(servers[1]?.connections ?? [])].length <= 1, 'at most a spare connection is left')
  t.ok(world.server('own').links.filter(link => !link.isClosed).length <= 1)
  await world.pass(20 * 60_000, 60_000)
  t.equal(
    [...world.server('own').links, ...world.server('shared').links].filter(link => !link.isClosed).length,
    0,
  )
  await world.router.close()
  t.equal(world.clock.pending, 0)
})

import t from 'tap'
import type { CachedServer, ServerCache } from '../../../src/catalog/lists/profile-cache.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../src/kernel/limits.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { viewerOf } from '../../../src/model/links.js'
import type { ClientCapabilities } from '../../../src/model/peer.js'
import type { ConnectionSharing } from '../../../src/peers/dial.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { FakeRequest, Script } from '../../support/server/fake-server.js'
import { ALL_ABILITIES, CAN_NOTHING, resource, tool } from '../../support/values.js'

const CHANGED = 'notifications/tools/list_changed'
const tools = (...names: string[]) => names.map(name => tool(name))
const list = (client: FakeClient): Promise<string[]> => client.list('tools/list')

/** The server has other tools on one of its connections, and says so there. */
const relist = (world: World, at: number, ...names: string[]): void => {
  const link = world.server('a').links[at]
  if (link === undefined) throw new Error(`there is no connection ${at}`)
  link.lists.tools = tools(...names)
  link.notice(CHANGED)
}

/** How a call of a tool that its server answers at once has ended. */
const call = async (world: World, client: FakeClient, name: string): Promise<unknown> => {
  const made = client.call('tools/call', { name })
  await settled()
  for (const { links } of world.servers)
    for (const { requests } of links)
      for (const one of requests) if (one.method === 'tools/call') one.answer({ by: one.params })
  await settled()
  return made.ended
}

// ── what the connection has ──

t.test('each client sees, calls and is notified of the items of its own connection', async t => {
  for (const sharing of ['session', 'principal'] as const) {
    const world = new World({ a: { tools: tools('x'), options: { sharing } } })
    const clients = [await world.client(), await world.client({ principal: 'other' })] as const
    for (const client of clients) t.same(await list(client), ['a__x'])
    await world.pass(500, 10)
    relist(world, 1, 'x', 'gained')
    await world.pass(500, 10)
    t.same(
      clients.map(client => client.heard(CHANGED).length),
      [0, 1],
      sharing,
    )
    t.same(await list(clients[1]), ['a__x', 'a__gained'])
    t.match(await call(world, clients[1], 'a__gained'), { result: { by: { name: 'gained' } } })
    t.same(await list(clients[0]), ['a__x'])
    t.match(await call(world, clients[0], 'a__gained'), { code: -32602, message: 'Unknown tool: a__gained' })
    await world.router.close()
  }
})

t.test(
  'a server may list different items for clients with other capabilities, in any order of arrival',
  async t => {
    const able = { capabilities: ALL_ABILITIES }
    const unable = { capabilities: CAN_NOTHING }
    const script: Script = {
      tools: tools('all'),
      own: ({ capabilities: { sampling } }) =>
        sampling === undefined
          ? {}
          : {
              tools: tools('all', 'sampling'),
              prompts: [{ name: 'p' }],
              capabilities: { prompts: { listChanged: true } },
            },
    }
    for (const order of [
      [able, unable],
      [unable, able],
    ]) {
      for (const sharing of ['principal', 'session'] as const) {
        const world = new World({ a: { ...script, options: { sharing } } })
        for (const about of order) {
          const client = world.newcomer(about)
          const { capabilities } = await world.router.welcome(client)
          t.equal(capabilities.prompts, about === able, 'nobody is told of what only others have')
          t.same(await list(client), about === able ? ['a__all', 'a__sampling'] : ['a__all'])
          t.same(await client.list('prompts/list'), about === able ? ['a__p'] : [])
        }
        await world.router.close()
      }
    }
  },
)

t.test('a server that is served as it is introduces itself to each client as it does without us', async t => {
  const script: Script = {
    tools: [],
    instructions: 'x'.repeat(9000),
    own: ({ capabilities }) => (capabilities.sampling ? { capabilities: { logging: true } } : {}),
  }
  const world = new World({ a: script }, { isAlone: true })
  for (const [capabilities, logging] of [
    [ALL_ABILITIES, true],
    [CAN_NOTHING, false],
  ] as const) {
    const welcome = await world.router.welcome(world.newcomer({ capabilities }))
    t.match(welcome, { instructions: /^x{9000}$/, own: { capabilities: { logging } } })
  }
})

t.test('a server of 2026-07-28 has the same for all, and is asked once', async t => {
  const world = new World({
    a: { tools: tools('x'), revision: '2026-07-28', options: { sharing: 'session' } },
  })
  for (const capabilities of [ALL_ABILITIES, CAN_NOTHING])
    for (const client of [await world.client({ capabilities }), world.modern({ capabilities })])
      t.same(await list(client), ['a__x'])
  t.equal(world.server('a').got('tools/list').length, 1)
})

t.test('a server with different items in each era shows each client the items of its era', async t => {
  const own: Script['own'] = ({ serverRequests }) =>
    serverRequests === 'pushed' ? { tools: tools('older') } : {}
  const script: Script = { tools: tools('newer'), revision: '2026-07-28', otherRevision: '2025-11-25', own }
  for (const isLegacyFirst of [true, false]) {
    const world = new World({ a: script })
    const legacy = isLegacyFirst ? await world.client() : undefined
    const modern = world.modern()
    t.same(await list(modern), ['a__newer'])
    t.same(await list(legacy ?? (await world.client())), ['a__older'])
    t.match(await call(world, modern, 'a__newer'), { result: {} })
    t.match(await call(world, modern, 'a__older'), { message: 'Unknown tool: a__older' })
    t.same(await list(modern), ['a__newer'])
    await world.router.close()
  }
})

t.test('a listening request is notified only of items that its own connection gains', async t => {
  const world = new World({ a: { tools: tools('x'), options: { sharing: 'session' } } })
  const clients = [world.modern(), world.modern()] as const
  for (const client of clients) t.same(await list(client), ['a__x'])
  const listens = clients.map(client =>
    client.call('subscriptions/listen', { notifications: { toolsListChanged: true } }),
  )
  await world.pass(500, 10)
  relist(world, 1, 'x', 'gained')
  await world.pass(500, 10)
  t.same(
    listens.map(({ told }) => told.filter(([method]) => method === CHANGED).length),
    [0, 1],
  )
})

t.test('a cursor goes on in what its own client sees', async t => {
  const world = new World(
    { a: { tools: tools('a', 'b', 'c', 'd'), options: { sharing: 'session' } } },
    { pageSize: 2 },
  )
  const [one, other] = [await world.client(), await world.client()]
  await list(one)
  await list(other)
  await world.pass(500, 10)
  const { result } = (await other.get('tools/list')) as { result: { nextCursor: string } }
  relist(world, 1, 'a', 'b', 'b2', 'd')
  await world.pass(500, 10)
  const { nextCursor: cursor } = result
  t.match(await one.get('tools/list', { cursor }), {
    result: { tools: [{ name: 'a__c' }, { name: 'a__d' }] },
  })
  t.match(await other.get('tools/list', { cursor }), {
    result: { tools: [{ name: 'a__b2' }, { name: 'a__d' }] },
  })
})

t.test('the owner of a URI without prefix is who lists it to that client', async t => {
  const shown: Script = { resources: [], showing: { uris: 'preserve' }, options: { sharing: 'session' } }
  const own = (uri: string, who: ClientCapabilities): Script => ({
    ...shown,
    own: ({ capabilities }) => ({ resources: capabilities.roots === who.roots ? [resource(uri)] : [] }),
  })
  const world = new World({ a: own('f:1', ALL_ABILITIES), b: own('f:1', CAN_NOTHING) })
  for (const [capabilities, owner] of [
    [ALL_ABILITIES, 'a'],
    [CAN_NOTHING, 'b'],
  ] as const) {
    const client = await world.client({ capabilities })
    client.call('resources/read', { uri: 'f:1' })
    await settled()
    t.match(world.server(owner).last('resources/read').params, { uri: 'f:1' })
  }
  t.same(
    world.servers.map(server => server.got('resources/read').length),
    [1, 1],
  )
})

t.test('a tool that breaks its promise to one client is shown to none with it', async t => {
  const promising = [tool('x', { outputSchema: { type: 'object' } })]
  const world = new World({ a: { tools: promising, options: { sharing: 'session' } } })
  const clients = [await world.client(), await world.client()] as const
  const promised = async (client: FakeClient): Promise<boolean> =>
    JSON.stringify(await client.get('tools/list')).includes('outputSchema')
  for (const client of clients) t.equal(await promised(client), true)
  t.match(await call(world, clients[0], 'a__x'), { result: {} })
  await world.pass(500, 10)
  for (const client of clients) {
    t.equal(client.heard(CHANGED).length, 1)
    t.equal(await promised(client), false)
  }
  t.match(await call(world, clients[1], 'a__x'), { result: {} })
})

t.test('a client is notified of the items that it loses with their connection', async t => {
  const options = { sharing: 'session', isProcess: true, limits: { childrenPerServer: 1 } } as const
  const world = new World({ a: { tools: tools('x'), options } })
  const [loser, next] = [await world.client(), await world.client()]
  await list(loser)
  await world.pass(500, 10)
  await call(world, loser, 'a__x')
  const { link } = world.server('a')
  relist(world, 0, 'x', 'gained')
  await world.pass(2000, 10)
  t.same(await list(loser), ['a__x', 'a__gained'])
  t.same([loser.heard(CHANGED).length, next.heard(CHANGED).length], [1, 0])
  await call(world, next, 'a__x')
  await world.pass(2000, 10)
  t.equal(link.isClosed, true, 'it made room')
  t.same([loser.heard(CHANGED).length, next.heard(CHANGED).length], [2, 0])
  t.same(await list(loser), ['a__x'])
})

// ── what is shared ──

t.test('clients with the same lists share one copy, independently of other clients', async t => {
  const world = new World({
    a: { tools: tools('x'), options: { sharing: 'session' } },
    b: { tools: tools('y') },
  })
  const clients: FakeClient[] = []
  for (let index = 0; index < 50; index += 1) clients.push(await world.client())
  for (const client of clients) await list(client)
  const { catalog } = world.router
  const [first, other] = clients
  if (first === undefined || other === undefined) throw new Error('nobody is there')
  const shared = catalog.merged(viewerOf(first), 'tools')
  for (const client of clients) t.equal(catalog.merged(viewerOf(client), 'tools'), shared)
  relist(world, 1, 'x', 'z')
  await world.pass(500, 10)
  t.same(
    clients.map(client => catalog.merged(viewerOf(client), 'tools') === shared),
    clients.map(client => client !== other),
  )
  relist(world, 1, 'x')
  await world.pass(2000, 10)
  t.equal(catalog.merged(viewerOf(other), 'tools'), shared)
})

t.test('what one session does to its list rings no other, however often', async t => {
  const world = new World({ a: { tools: tools('x'), options: { sharing: 'session' } } })
  const [still, restless] = [await world.client(), await world.client()]
  for (const client of [still, restless]) await list(client)
  await world.pass(500, 10)
  for (let time = 0; time < 5; time += 1) {
    relist(world, 1, `t${time}`)
    await world.pass(1000, 10)
  }
  t.equal(still.heard(CHANGED).length, 0)
  t.ok(restless.heard(CHANGED).length >= 4)
  relist(world, 0, 'late')
  await world.pass(150, 10)
  t.equal(still.heard(CHANGED).length, 1, 'nor does it make another wait')
})

t.test('what the connections of a server list that is not the same is bounded together', async t => {
  let sessions = 0
  const own = (): Script => {
    sessions += 1
    return { tools: tools(`t${sessions}${'x'.repeat(50)}`) }
  }
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, listBytes: 1000 } })
  const world = new World({ a: { tools: [], own, options: { sharing: 'session' } } }, { bounds })
  const clients: FakeClient[] = []
  for (let index = 0; index < 100; index += 1) clients.push(await world.client())
  const lists = await Promise.all(clients.map(client => list(client)))
  const isOwn = (index: number): boolean => lists[index]?.[0]?.startsWith(`a__t${index + 1}x`) === true
  t.ok(isOwn(0))
  t.ok(isOwn(50))
  t.notOk(isOwn(99), 'whoever comes too late is shown what others have')
  t.ok((bounds.hits.listBytes?.hits ?? 0) > 0)
  for (const client of clients.slice(0, 99)) client.leave()
  await world.pass(500, 10)
  t.match(await list(clients[99] as FakeClient), [/^a__t100x/], 'until there is room again')
})

t.test('a session that leaves while its list is read leaves nothing behind', async t => {
  let sessions = 0
  const own = (): Script => {
    sessions += 1
    return { tools: tools(`t${sessions}${'x'.repeat(50)}`, 'last') }
  }
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, listBytes: 1000 } })
  const options = { sharing: 'session' } as const
  const warnings: string[] = []
  const log = { ...silentLogger, warn: (_: object, words: string) => warnings.push(words) }
  const world = new World({ a: { tools: [], own, pageSize: 1, options } }, { bounds, log })
  const server = world.server('a')
  const answerTo = server.answerTo.bind(server)
  const isNext = ({ params }: FakeRequest): boolean => params !== undefined
  server.answerTo = (request, link) => (isNext(request) ? undefined : answerTo(request, link))
  const still = await world.client()
  await world.pass(500, 10)
  for (let index = 0; index < 100; index += 1) {
    const client = await world.client()
    client.call('tools/list')
    await world.pass(100, 10)
    server.link.notice(CHANGED)
    await world.pass(100, 10)
    client.leave()
    await world.pass(100, 10)
  }
  server.answerTo = answerTo
  t.notOk(warnings.includes('cannot read a list'), 'it is not read again')
  t.same(still.heard(CHANGED), [], 'nobody is told of it')
  t.match(await list(await world.client()), [/^a__t102x/, 'a__last'])
  t.equal(bounds.hits.listBytes, undefined)
})

// ── what is remembered ──

/** What outlives a proxy. */
class Memory implements ServerCache {
  held: CachedServer | undefined
  readonly reached = (): void => undefined
  readonly load = (): CachedServer | undefined => this.held
  readonly update = (_server: object, known: () => CachedServer): void => {
    this.held = known()
  }
}

const program = (sharing: ConnectionSharing, more: Script = {}): Script => ({
  tools: tools('x'),
  options: { isProcess: true, sharing },
  ...more,
})

t.test(
  'a program that is known to one kind of clients is started for another, and then known to both',
  async t => {
    const own: Script['own'] = ({ capabilities }) =>
      capabilities.sampling ? { tools: tools('x', 'sampling') } : {}
    const script = program('principal', { own })
    const known = new Memory()
    const both = [{ capabilities: ALL_ABILITIES }, { capabilities: CAN_NOTHING }] as const
    for (const [index, about] of both.entries()) {
      const world = new World({ a: script }, { known })
      const client = await world.client(about)
      t.same(await list(client), index === 0 ? ['a__x', 'a__sampling'] : ['a__x'])
      t.equal(world.server('a').greetings.length, 1)
      await world.pass(500, 10)
      await world.router.close()
    }
    const world = new World({ a: script }, { known })
    for (const about of both)
      t.same(await list(await world.client(about)), about === both[0] ? ['a__x', 'a__sampling'] : ['a__x'])
    t.equal(world.server('a').greetings.length, 0)
  },
)

t.test('a program that runs per session is started only by sessions that call it', async t => {
  const world = new World({ a: program('session') })
  const caller = await world.client()
  await list(caller)
  await world.pass(500, 10)
  await call(world, caller, 'a__x')
  const other = await world.client()
  t.same(await list(other), ['a__x'])
  t.equal(world.server('a').greetings.length, 1)
  await call(world, other, 'a__x')
  t.equal(world.server('a').greetings.length, 2)
})

t.test('what a session gained by its calls is not what the next one is taken to have', async t => {
  const known = new Memory()
  const world = new World({ a: program('session') }, { known })
  const client = await world.client()
  await list(client)
  await world.pass(500, 10)
  await call(world, client, 'a__x')
  relist(world, 0, 'x', 'gained')
  await world.pass(500, 10)
  t.same(await list(client), ['a__x', 'a__gained'])
  client.leave()
  await world.pass(500, 10)
  const next = await world.client()
  t.same(await list(next), ['a__x'])
  t.equal(world.server('a').greetings.length, 1, 'and it need not be started for that')
  await world.router.close()
  const again = new World({ a: program('session') }, { known })
  t.same(await list(await again.client()), ['a__x'])
})

t.test(
  'a program that refuses one of its lists is known by the others, and not started for that one',
  async t => {
    const known = new Memory()
    const script = program('principal', { prompts: [{ name: 'p' }], resources: [] })
    const refuse = (world: World): void => {
      world
        .server('a')
        .failing.set('prompts/list', { kind: 'error', error: textOf({ code: -32603, message: 'no' }) })
    }
    const first = new World({ a: script, b: { prompts: [{ name: 'q' }] } }, {})
    refuse(first)
    t.same(await (await first.client()).list('prompts/list'), ['b__q'])
    await first.router.close()

    const before = new World({ a: script }, { known })
    refuse(before)
    const client = await before.client()
    t.match(await client.get('prompts/list'), { code: -32603, message: 'Server a: prompts/list failed: no' })
    await before.pass(500, 10)
    await before.router.close()

    const after = new World({ a: script }, { known })
    const next = await after.client()
    t.same(await list(next), ['a__x'])
    t.same(await next.list('prompts/list'), [])
    t.same(await next.list('resources/list', 'uri'), [])
    t.equal(after.server('a').greetings.length, 0)
    await call(after, next, 'a__x')
    await after.pass(500, 10)
    t.same(await next.list('prompts/list'), ['a__p'], 'when it runs, it is asked again')
    t.equal(next.heard('notifications/prompts/list_changed').length, 1)
  },
)

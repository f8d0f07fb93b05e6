import t, { type Test } from 'tap'
import type { ServerCache } from '../../src/catalog/lists/profile-cache.js'
import { textOf } from '../../src/kernel/json/text.js'
import type { ServerOptions } from '../../src/peers/dial.js'
import { profileOf } from '../../src/peers/sharing.js'
import { settled } from '../support/fake-clock.js'
import { World, type WorldOptions } from '../support/proxy/router.js'
import { FakeServer, type Script } from '../support/server/fake-server.js'
import { ALL_ABILITIES, resource, tool } from '../support/values.js'

const TOOLS_CHANGED = 'notifications/tools/list_changed'

/** Does something to servers before they are dialled, also to those that are not there yet. */
const whenDialled = (t: Test, work: (server: FakeServer) => void): void => {
  const { dial } = FakeServer.prototype
  t.teardown(() => {
    FakeServer.prototype.dial = dial
  })
  FakeServer.prototype.dial = function (...args) {
    work(this)
    return dial.apply(this, args)
  }
}

/** A world whose servers can be exchanged, as a reload does. */
class Changing extends World {
  readonly options = new Map<string, ServerOptions>()

  constructor(scripts: Readonly<Record<string, Script>>, options: WorldOptions = {}) {
    super(scripts, options)
    for (const { options } of this.router.pool.servers) this.options.set(options.name, options)
  }

  /** Servers by name: with a script it is a new one, with options it stays and has these from now on. */
  async change(
    next: Readonly<Record<string, Script | Partial<ServerOptions> | undefined>>,
    { reshown = [], drainMs = 10_000 }: { reshown?: readonly string[]; drainMs?: number } = {},
  ): Promise<{ isDone: boolean }> {
    const servers = Object.entries(next).map(([name, change]) => {
      const known = this.options.get(name)
      const isScript = change !== undefined && ['tools', 'prompts', 'resources'].some(key => key in change)
      if (known !== undefined && !isScript) return Object.assign(known, change)
      const fake = new FakeServer(name, (change ?? {}) as Script)
      const at = this.servers.findIndex(server => server.name === name)
      const all = this.servers as FakeServer[]
      if (at >= 0) all.splice(at, 1, fake)
      else all.push(fake)
      this.options.set(name, fake.options)
      return this.options.get(name) as ServerOptions
    })
    const done = { isDone: false }
    const change = { servers, drainMs, pageSize: 100, startupWaitMs: 5000 }
    const shown = new Set(reshown.map(name => this.options.get(name) as ServerOptions))
    void this.router.reload({ ...change, reshown: shown }).then(() => {
      done.isDone = true
    })
    await settled()
    return done
  }
}

t.test('a new server starts for connected clients, and its tools are announced once', async t => {
  const world = new Changing({ a: { tools: [tool('x')] } })
  const client = await world.client()
  t.same(await client.list('tools/list'), ['a__x'])
  await world.change({ a: undefined, b: { tools: [tool('y')] } })
  await world.pass(1000, 50)
  t.same(client.heard(TOOLS_CHANGED), [undefined])
  t.same(await client.list('tools/list'), ['a__x', 'b__y'])
  t.equal(world.server('a').links.length, 1, 'the other one notices nothing')
  t.notOk(world.server('a').link.isClosed)
})

t.test('a new lazy server does not start without clients', async t => {
  const world = new Changing({ a: { tools: [] } })
  await world.change({ a: undefined, lazy: { tools: [] }, eager: { tools: [], options: { start: 'eager' } } })
  t.equal(world.server('lazy').links.length, 0)
  t.equal(world.server('eager').links.length, 1)
})

t.test('a removed server finishes its calls, accepts no new ones, and is reported as removed', async t => {
  const world = new Changing({
    a: { tools: [tool('x')] },
    b: { tools: [tool('y')], resources: [resource('u:1')] },
  })
  const client = await world.client()
  await client.list('tools/list')
  const [gone] = [world.server('b')]
  const [call, other] = [
    client.call('tools/call', { name: 'b__y' }),
    client.call('tools/call', { name: 'a__x' }),
  ]
  await settled()
  const done = await world.change({ a: undefined })
  t.match(await client.get('tools/call', { name: 'b__y' }), {
    code: -32602,
    message: 'Unknown tool: b__y (server b was removed from the configuration)',
    data: { server: 'b' },
  })
  t.match(await client.get('resources/read', { uri: 'b+u:1' }), {
    message: 'Resource not found (server b was removed from the configuration)',
  })
  await world.pass(100, 50)
  t.same(client.heard(TOOLS_CHANGED), [undefined])
  t.same(await client.list('tools/list'), ['a__x'])
  t.notOk(done.isDone)
  t.notOk(gone.link.isClosed)
  gone.last('tools/call').answer({ content: [{ type: 'resource_link', name: 'r', uri: 'u:1' }] })
  await settled()
  t.match(call.ended, { result: { content: [{ uri: 'b+u:1' }] } }, 'shown as ever')
  t.ok(gone.link.isClosed)
  t.ok(done.isDone)
  t.same([...world.router.pool.leaving], [])
  world.server('a').last('tools/call').answer()
  await settled()
  t.match(other.ended, { result: {} })
})

t.test('calls at a removed server have the drain time, and then end with an error that names it', async t => {
  const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
  const client = await world.client()
  await client.list('tools/list')
  const call = client.call('tools/call', { name: 'b__y' })
  await settled()
  const gone = world.server('b')
  const done = await world.change({ a: undefined }, { drainMs: 3000 })
  await world.pass(2900)
  t.notOk(done.isDone)
  await world.pass(200)
  t.ok(done.isDone)
  t.match(call.ended, { code: -32603, data: { server: 'b' } })
  t.ok(gone.link.isClosed)
})

t.test(
  'a replaced server keeps its place in the lists; an unchanged list causes no notification',
  async t => {
    const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
    const client = await world.client()
    await client.list('tools/list')
    const before = world.server('a')
    const call = client.call('tools/call', { name: 'a__x' })
    await settled()
    await world.change({ a: { tools: [tool('x')] }, b: undefined })
    const after = world.server('a')
    t.not(after, before)
    t.equal(after.links.length, 1, 'it was in use, so the next one is started')
    const next = client.call('tools/call', { name: 'a__x' })
    await settled()
    after.last('tools/call').answer({ content: [], n: 2 })
    before.last('tools/call').answer({ content: [], n: 1 })
    await settled()
    t.match([call.ended, next.ended], [{ result: { n: 1 } }, { result: { n: 2 } }])
    t.ok(before.link.isClosed)
    await world.pass(1000, 50)
    t.same(client.heard(TOOLS_CHANGED), [])
    t.same(await client.list('tools/list'), ['a__x', 'b__y'])
    t.equal(world.server('b').links.length, 1)
  },
)

t.test('a server that is replaced by one that lists something else is announced once', async t => {
  const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
  const client = await world.client()
  await client.list('tools/list')
  await world.change({ a: { tools: [tool('z')] }, b: undefined })
  await world.pass(1000, 50)
  t.same(client.heard(TOOLS_CHANGED), [undefined])
  t.same(await client.list('tools/list'), ['a__z', 'b__y'])
})

t.test('what a server listed stays for a while if the one in its place does not start', async t => {
  const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
  const client = await world.client()
  await client.list('tools/list')
  whenDialled(t, server => {
    if (server.name === 'a') server.dialling = 'refuse'
  })
  await world.change({ a: { tools: [tool('x')] }, b: undefined })
  await world.pass(60_000, 1000)
  t.same(await client.list('tools/list'), ['a__x', 'b__y'])
  t.match(await client.get('tools/call', { name: 'a__x' }), { message: /Server a is not reachable/ })
  await world.pass(5 * 60_000, 10_000)
  t.same(await client.list('tools/list'), ['b__y'])
})

t.test(
  'a server that is shown in another way keeps its process, and one that has another place too',
  async t => {
    const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
    const client = await world.client()
    await client.list('tools/list')
    await world.change({ b: undefined, a: { alias: 'other' } }, { reshown: ['a'] })
    await world.pass(100, 50)
    t.same(client.heard(TOOLS_CHANGED), [undefined])
    t.same(await client.list('tools/list'), ['b__y', 'other__x'])
    const call = client.call('tools/call', { name: 'other__x' })
    await settled()
    world.server('a').last('tools/call').answer()
    await settled()
    t.match(call.ended, { result: {} })
    t.equal(world.server('a').links.length, 1)
    t.match(await client.get('tools/call', { name: 'a__x' }), { message: 'Unknown tool: a__x' })
  },
)

t.test('a running server uses the current timeouts', async t => {
  const world = new Changing({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await client.list('tools/list')
  const timeouts = { connectMs: 60_000, listMs: 30_000, callMs: 1000, totalMs: 3_600_000 }
  await world.change({ a: { timeouts } })
  const call = client.call('tools/call', { name: 'a__x' })
  await world.pass(1500, 250)
  t.match(call.ended, { message: 'Timed out waiting for server a' })
  t.equal(world.server('a').links.length, 1)
})

t.test('a client continues in a list at its cursor, after any changes', async t => {
  const names = ['a', 'b', 'c', 'd']
  const world = new Changing(Object.fromEntries(names.map(name => [name, { tools: [tool('x')] }])))
  const client = await world.client()
  await client.list('tools/list')
  const small = { servers: names.map(name => world.options.get(name) as ServerOptions), drainMs: 0 }
  await world.router.reload({ ...small, reshown: new Set(), pageSize: 2, startupWaitMs: 5000 })
  const { result } = (await client.get('tools/list')) as { result: { nextCursor: string } }
  const [, , c, d] = small.servers
  const servers = [c, d].flatMap(one => one ?? [])
  await world.router.reload({ servers, drainMs: 0, reshown: new Set(), pageSize: 2, startupWaitMs: 5000 })
  t.match(
    await client.get('tools/list', { cursor: result.nextCursor }),
    { result: { tools: [{ name: 'c__x' }, { name: 'd__x' }] } },
    'nothing is left out although two are gone in front of it',
  )
})

t.test(
  'subscriptions move to the server that takes the place of theirs, and end with one that is gone',
  async t => {
    const script: Script = { resources: [resource('u:1')] }
    const world = new Changing({ a: script, b: script })
    const client = await world.client()
    await client.get('resources/subscribe', { uri: 'a+u:1' })
    await client.get('resources/subscribe', { uri: 'b+u:1' })
    t.equal(world.router.load.subscriptions, 2)
    await world.change({ a: { ...script } })
    await settled()
    t.equal(world.router.load.subscriptions, 1)
    t.match(world.server('a').got('resources/subscribe'), [{ params: { uri: 'u:1' } }])
    t.same(
      client.heard('notifications/resources/updated'),
      [{ uri: 'a+u:1' }],
      'something may have been missed',
    )
    t.same(
      world.servers.flatMap(server => server.got('resources/unsubscribe')),
      [],
    )
    world.server('a').link.notice('notifications/resources/updated', { uri: 'u:1' })
    t.equal(client.heard('notifications/resources/updated').length, 2)
    await client.get('resources/unsubscribe', { uri: 'a+u:1' })
    t.equal(world.router.load.subscriptions, 0)
  },
)

t.test('a subscription that the replacement of its server refuses at first is tried again', async t => {
  const script: Script = { resources: [resource('u:1')] }
  const world = new Changing({ a: script })
  const client = await world.client()
  await client.get('resources/subscribe', { uri: 'a+u:1' })
  const error = textOf({ code: -32603, message: 'still loading' })
  whenDialled(t, server => {
    server.failing.set('resources/subscribe', { kind: 'error', error })
  })
  await world.change({ a: { ...script } })
  await settled()
  const server = world.server('a')
  t.equal(server.got('resources/subscribe').length, 1)
  server.failing.clear()
  await world.pass(1000)
  t.equal(server.got('resources/subscribe').length, 2)
  t.same(client.heard('notifications/resources/updated'), [{ uri: 'a+u:1' }])
  await client.get('resources/unsubscribe', { uri: 'a+u:1' })
  t.equal(world.router.load.subscriptions, 0)
})

t.test('a client that leaves while its subscription moves takes it along', async t => {
  const script: Script = { resources: [resource('u:1')] }
  const world = new Changing({ a: script })
  const client = await world.client()
  await client.get('resources/subscribe', { uri: 'a+u:1' })
  whenDialled(t, server => {
    server.dialling = 'hang'
  })
  await world.change({ a: { ...script } })
  client.leave()
  world.server('a').admit()
  await settled()
  t.equal(world.router.load.subscriptions, 0)
  t.same(world.server('a').got('resources/subscribe'), [])
})

t.test('the client of a server that is replaced while it is asked something is asked to stop', async t => {
  const world = new Changing({ a: { tools: [tool('x')] }, b: { tools: [tool('y')] } })
  const client = await world.client()
  await client.list('tools/list')
  const call = client.call('tools/call', { name: 'a__x' })
  await settled()
  const before = world.server('a')
  before.link.ask('elicitation/create', { message: 'well?' }, before.last('tools/call'))
  await world.change({ a: { tools: [tool('x')] }, b: undefined }, { drainMs: 1000 })
  t.match(client.asked, [{ withdrawn: false }], 'it may still answer')
  await world.pass(1100)
  t.match(client.asked, [{ withdrawn: true }])
  t.match(call.ended, { data: { server: 'a' } })
  t.equal(world.router.load.serverRequests, 0)
})

t.test('nothing is kept of servers that came and went, however often', async t => {
  const world = new Changing({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await client.list('tools/list')
  const pending = world.clock.pending
  for (let round = 0; round < 50; round += 1) {
    await world.change({ a: { tools: [tool('x')] }, [`s${round}`]: { tools: [tool('y')] } }, { drainMs: 0 })
    await world.pass(200, 50)
  }
  await world.change({ a: undefined })
  await world.pass(200, 50)
  t.same(await client.list('tools/list'), ['a__x'])
  t.same([...world.router.pool.leaving], [])
  t.equal([...world.router.pool.connections()].length, 1)
  t.equal(world.servers.flatMap(({ links }) => links).filter(link => !link.isClosed).length, 1)
  t.ok(world.clock.pending <= pending + 1)
})

t.test('servers that come and are known are listed at once, and started when they are called', async t => {
  const fake = new FakeServer('known', { tools: [] })
  const known: ServerCache = {
    load: ({ name }) =>
      name === 'known'
        ? new Map([
            [
              profileOf(ALL_ABILITIES, 'pushed'),
              { facts: fake.facts, lists: { tools: [textOf(tool('old'))] } },
            ],
          ])
        : undefined,
    reached: () => undefined,
    update: () => undefined,
  }
  const program = { options: { isProcess: true } }
  const world = new Changing({ a: { tools: [tool('x')] } }, { known })
  const client = await world.client()
  t.same(await client.list('tools/list'), ['a__x'])
  await world.pass(500, 10)
  await world.change({ a: undefined, known: { tools: [tool('old')], ...program } })
  await world.pass(1000, 50)
  t.same(client.heard(TOOLS_CHANGED), [undefined])
  t.same(await client.list('tools/list'), ['a__x', 'known__old'])
  t.equal(world.server('known').links.length, 0)
  await world.change({ a: undefined, known: { tools: [tool('old'), tool('new')], ...program } })
  await world.pass(3_600_000, 60_000)
  t.same(
    await client.list('tools/list'),
    ['a__x', 'known__old'],
    'it is as it is known, however long it rests',
  )
  t.equal(world.server('known').links.length, 0)
  client.call('tools/call', { name: 'known__old' })
  await world.pass(1000, 50)
  t.equal(world.server('known').got('tools/call').length, 1)
  t.same(await client.list('tools/list'), ['a__x', 'known__old', 'known__new'])
  await world.router.close()
})

import t from 'tap'
import type { CachedServer, ServerCache } from '../../../src/catalog/lists/profile-cache.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import type { Script } from '../../support/server/fake-server.js'
import { resource, tool } from '../../support/values.js'

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const PROMPTS_CHANGED = 'notifications/prompts/list_changed'

/** What outlives a proxy, by the names of servers. */
class Memory implements ServerCache {
  readonly held = new Map<string, CachedServer>()
  readonly reached = (): void => undefined

  load({ name }: { readonly name: string }): CachedServer | undefined {
    return this.held.get(name)
  }

  update({ name }: { readonly name: string }, known: () => CachedServer | undefined): void {
    const now = known()
    if (now !== undefined) this.held.set(name, now)
  }
}

const PROGRAM = { isProcess: true }
const SCRIPT: Script = {
  tools: [tool('x')],
  prompts: [{ name: 'p' }],
  resources: [resource('r:1')],
  instructions: 'Use it.',
  options: PROGRAM,
}

/** A proxy whose servers an earlier one has met; `script` is what they are now. */
const again = async (script: Script = SCRIPT, before: Script = SCRIPT) => {
  const known = new Memory()
  const first = new World({ a: before }, { known })
  const client = await first.client()
  await client.list('tools/list')
  await first.pass(500, 10)
  await first.router.close()
  return { known, world: new World({ a: script }, { known }) }
}

/** Everything that can be asked without asking a server. */
const look = async (client: FakeClient) => ({
  tools: await client.list('tools/list'),
  prompts: await client.list('prompts/list'),
  resources: await client.list('resources/list', 'uri'),
  templates: await client.get('resources/templates/list'),
})

const SEEN = {
  tools: ['a__x'],
  prompts: ['a__p'],
  resources: ['a+r:1'],
  templates: { result: { resourceTemplates: [] } },
}

t.test('a program that is known is not started to be introduced and listed, but to be called', async t => {
  const { world } = await again()
  const client = world.newcomer()
  const welcome = await world.router.welcome(client)
  t.same(welcome, {
    capabilities: {
      tools: true,
      prompts: true,
      resources: { subscribe: true },
      completions: false,
      logging: false,
    },
    instructions: '## a\nUse it.',
    isComplete: true,
  })
  t.same(await look(client), SEEN)
  const modern = world.modern()
  t.match(await modern.get('tools/list'), { result: { tools: [{ name: 'a__x' }] } })
  t.match(JSON.parse(String(world.router.tool(client, 'a__x'))), { inputSchema: { type: 'object' } })
  t.equal(world.server('a').greetings.length, 0)
  await world.pass(3_600_000, 5000)
  t.same(await look(client), SEEN)
  t.equal(world.server('a').greetings.length, 1, 'its lists are checked once')
  t.equal(world.server('a').got('tools/list').length, 1)

  const call = client.call('tools/call', { name: 'a__x' })
  await settled()
  t.equal(world.server('a').greetings.length, 2)
  world.server('a').last('tools/call').answer({ content: [], n: 1 })
  t.match(call.ended, { result: { n: 1 } })
  await world.pass(500, 10)
  t.ok(world.server('a').got('tools/list').length > 0, 'then its lists are read')
  t.same(client.told, [], 'and nothing has changed')
  await world.router.close()
})

for (const [method, params] of [
  ['resources/read', { uri: 'a+r:1' }],
  ['prompts/get', { name: 'a__p' }],
  ['resources/subscribe', { uri: 'a+r:1' }],
] as const) {
  t.test(`${method} starts a program that is known`, async t => {
    const { world } = await again()
    const client = await world.client()
    t.equal(world.server('a').greetings.length, 0)
    client.call(method, params)
    await settled()
    t.equal(world.server('a').got(method).length, 1)
    await world.router.close()
  })
}

t.test('what has changed meanwhile is told once for each list, when it is called', async t => {
  const { world } = await again({ ...SCRIPT, tools: [tool('x'), tool('new')], prompts: [] })
  const [seeing, blind, listening] = [await world.client(), await world.client(), world.modern()]
  await look(seeing)
  const listen = listening.call('subscriptions/listen', { notifications: { toolsListChanged: true } })
  await settled()
  t.equal(world.server('a').greetings.length, 0)
  seeing.call('tools/call', { name: 'a__x' })
  await settled()
  world.server('a').last('tools/call').answer()
  await world.pass(2000, 10)
  for (const client of [seeing, blind]) {
    t.same(client.told.map(([method]) => method).sort(), [PROMPTS_CHANGED, TOOLS_CHANGED])
  }
  t.equal(listen.told.filter(([method]) => method === TOOLS_CHANGED).length, 1)
  t.same(await look(seeing), { ...SEEN, tools: ['a__x', 'a__new'], prompts: [] })
  listen.cancel()
  await world.router.close()
})

t.test('lists that a program no longer has are gone when it was called', async t => {
  const { prompts: _, ...rest } = SCRIPT
  const { world } = await again(rest)
  const client = await world.client()
  t.same((await look(client)).prompts, ['a__p'])
  client.call('tools/call', { name: 'a__x' })
  await world.pass(500, 10)
  t.same(client.heard(PROMPTS_CHANGED).length, 1)
  t.same((await look(client)).prompts, [])
  t.same(world.server('a').got('prompts/list'), [], 'it is not asked for what it does not have')
  await world.router.close()
})

t.test('a tool that is there no longer gets the server’s own answer', async t => {
  const { world } = await again({ ...SCRIPT, tools: [] })
  const client = await world.client()
  const call = client.call('tools/call', { name: 'a__x' })
  await settled()
  world.server('a').last('tools/call').refuse(-32602, 'Unknown tool: x')
  t.match(call.ended, { code: -32602, message: 'Unknown tool: x' })
  await world.router.close()
})

t.test('a tool that is new is found by starting the program that could have it', async t => {
  const { world } = await again({ ...SCRIPT, tools: [tool('x'), tool('new')] })
  const client = await world.client()
  client.call('tools/call', { name: 'a__new' })
  await settled()
  t.equal(world.server('a').got('tools/call').length, 1)
  await world.router.close()
})

t.test(
  'a list that was not remembered is read, and a program that is not known is started as ever',
  async t => {
    const { known, world } = await again()
    await world.router.close()
    const withoutPrompts = [...(known.held.get('a') ?? [])].map(([profile, { facts, lists }]) => {
      const { prompts: _, ...others } = lists
      return [profile, { facts, lists: others }] as const
    })
    t.equal(withoutPrompts.length, 1)
    known.held.set('a', new Map(withoutPrompts))
    const partly = new World({ a: SCRIPT, b: { ...SCRIPT, tools: [tool('y')] } }, { known })
    const client = await partly.client()
    t.equal(partly.server('b').greetings.length, 1)
    t.same(await client.list('tools/list'), ['a__x', 'b__y'])
    t.equal(partly.server('a').greetings.length, 0)
    t.same(await client.list('prompts/list'), ['a__p', 'b__p'])
    t.equal(partly.server('a').greetings.length, 1)
    await partly.router.close()
  },
)

t.test('an eager program starts whether it is known or not', async t => {
  const { world } = await again({ ...SCRIPT, options: { ...PROGRAM, start: 'eager' } })
  world.router.start()
  await settled()
  t.equal(world.server('a').greetings.length, 1)
  await world.router.close()
})

t.test('a server elsewhere is listed at once as it is known, and looked at behind that', async t => {
  const remote = { options: { isProcess: false, sharing: 'session' } } as const
  const { world } = await again({ ...SCRIPT, ...remote, tools: [tool('z')] }, { ...SCRIPT, ...remote })
  world.server('a').dialling = 'hang'
  const client = await world.client()
  t.equal(world.server('a').greetings.length, 1, 'the connection of that client')
  t.same(await look(client), SEEN, 'the client no longer waits for it')
  t.equal(world.server('a').greetings.length, 1)
  world.server('a').admit()
  await world.pass(500, 10)
  t.same(client.told, [[TOOLS_CHANGED, undefined]])
  t.same(await client.list('tools/list'), ['a__z'])
  await world.router.close()
})

t.test(
  'a program that is known but does not start any more is listed for five minutes, then gone',
  async t => {
    const { world } = await again()
    const client = await world.client()
    await world.pass(3_600_000, 60_000)
    world.server('a').dialling = 'refuse'
    t.match(await client.get('tools/call', { name: 'a__x' }), {
      code: -32603,
      message: /connection refused/,
      data: { server: 'a' },
    })
    await world.pass(4 * 60_000, 10_000)
    t.same(await client.list('tools/list'), ['a__x'])
    await world.pass(2 * 60_000, 10_000)
    t.same(await client.list('tools/list'), [])
    t.equal(client.heard(TOOLS_CHANGED).length, 1)
    world.server('a').dialling = 'open'
    await world.pass(2 * 60_000, 10_000)
    t.same(await client.list('tools/list'), ['a__x'])
    await world.router.close()
  },
)

// ── programs that nobody uses ──

t.test('a program that was stopped while idle stays listed, and starts when it is called', async t => {
  const world = new World({ a: SCRIPT })
  const first = await world.client()
  await look(first)
  first.leave()
  await world.pass(16 * 60_000, 60_000)
  t.ok(world.server('a').link.isClosed)
  const later = await world.client()
  await world.pass(3_600_000, 60_000)
  t.same(await look(later), SEEN)
  t.equal(world.server('a').greetings.length, 1)
  later.call('tools/call', { name: 'a__x' })
  await world.pass(500, 10)
  t.equal(world.server('a').greetings.length, 2)
  t.same(later.told, [])
  await world.router.close()
})

t.test('how long a program may be without clients is for its configuration to say', async t => {
  const idleStop = (ms: number) => ({ ...SCRIPT, options: { ...PROGRAM, idleStopMs: ms } })
  const world = new World({ soon: idleStop(60_000), never: idleStop(Number.POSITIVE_INFINITY) })
  const client = await world.client()
  client.leave()
  await world.pass(59_000)
  t.notOk(world.server('soon').link.isClosed)
  await world.pass(12_000)
  t.ok(world.server('soon').link.isClosed)
  await world.pass(3 * 24 * 3_600_000, 3_600_000)
  t.notOk(world.server('never').link.isClosed)
  await world.router.close()
})

/** Tells it what another replica has read. */
const learned = ({ router }: World, { held }: Memory): void => {
  for (const { options } of router.pool.servers) router.catalog.learned(options, held.get('a') ?? new Map())
}

const listedBy = (world: World): number => world.server('a').got('tools/list').length

t.test('what another replica has read is believed of a program that does not run', async t => {
  const { world } = await again()
  const { known: other } = await again(
    { ...SCRIPT, tools: [] },
    { ...SCRIPT, tools: [tool('x'), tool('new')] },
  )
  const client = await world.client()
  await look(client)
  learned(world, other)
  await world.pass(2000, 10)
  t.same(
    client.told.map(([method]) => method),
    [TOOLS_CHANGED],
  )
  t.same(await look(client), { ...SEEN, tools: ['a__x', 'a__new'] })
  t.equal(world.server('a').greetings.length, 0, 'it was not started for that')
  await world.router.close()
})

t.test('a server that runs is asked whether it lists what another replica has read of it', async t => {
  const { world } = await again()
  const { known: other } = await again(
    { ...SCRIPT, tools: [] },
    { ...SCRIPT, tools: [tool('x'), tool('new')] },
  )
  const client = await world.client()
  client.call('tools/call', { name: 'a__x' })
  await settled()
  world.server('a').last('tools/call').answer()
  await world.pass(2000, 10)
  const asked = listedBy(world)
  learned(world, other)
  await world.pass(2000, 10)
  t.equal(listedBy(world), asked + 1)
  t.same(await client.list('tools/list'), ['a__x'], 'its own answer counts')
  await world.router.close()
})

import t from 'tap'
import { accessOf } from '../../src/auth/resource-server/access-rules.js'
import { textOf } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { viewerOf } from '../../src/model/links.js'
import type { Revision } from '../../src/model/revision.js'
import { callerWith, type FakeClient } from '../support/client/fake-client.js'
import { settled } from '../support/fake-clock.js'
import { again, World, wishOf } from '../support/proxy/router.js'
import type { Script } from '../support/server/fake-server.js'
import { ALL_ABILITIES, resource, tool } from '../support/values.js'

const GUARDED = accessOf({ see: ['github'], call: [['delete_*', ['github:admin']]] }, silentLogger)

const GH: Script = {
  tools: [tool('read'), tool('delete_repo')],
  prompts: [{ name: 'p' }],
  resources: [resource('file:///r')],
  templates: [{ name: 't', uriTemplate: 'file:///t/{x}' }],
  capabilities: { completions: true, logging: true },
  instructions: 'Mind the forge.',
  showing: { access: GUARDED },
}

const OPEN: Script = {
  tools: [tool('x')],
  prompts: [{ name: 'q' }],
  resources: [resource('mem:o')],
  capabilities: { completions: true },
}

const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28']
const UPDATED = 'notifications/resources/updated'
const CHANGED = 'notifications/tools/list_changed'
const INVALID = { code: -32602, message: 'Invalid or expired requestState', data: undefined }

const forbidden = (scope: string) => ({
  code: -32603,
  message: `The credential does not allow this; it needs the scope ${scope}`,
  data: { scope },
})

/** A proxy in front of a server for some and one for everybody, and a client that saw all lists. */
const start = async (scopes: readonly string[] | undefined, revision: Revision = '2025-11-25') => {
  const world = new World({ gh: GH, open: OPEN })
  return { world, client: await join(world, scopes, revision) }
}

const join = async (world: World, scopes: readonly string[] | undefined, revision: Revision) => {
  const client = await world.client({ principal: 'person bob', revision, ...(scopes && { scopes }) })
  for (const list of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])
    await client.get(list)
  return client
}

/** From now on its requests come with a token of these scopes. */
const stepTo = (world: World, client: FakeClient, ...scopes: readonly string[]): void => {
  client.caller = callerWith(client.principal, scopes)
  world.router.callerChanged(client)
}

t.test('what a caller may not see stands in no list, and nothing says that it is there', async t => {
  for (const revision of REVISIONS) {
    const { world, client } = await start(['mcp'], revision)
    t.same(await client.list('tools/list'), ['open__x'])
    t.same(await client.list('prompts/list'), ['open__q'])
    t.same(await client.list('resources/list', 'uri'), ['open+mem:o'])
    t.match(await client.get('resources/templates/list'), { result: { resourceTemplates: [] } })
    const { instructions } = await world.router.welcome(client)
    t.equal(instructions, undefined)
    t.equal(world.router.tool(client, 'gh__read'), undefined)
    t.equal(world.router.tool(client, 'read'), undefined)
    t.match(await client.get('tools/call', { name: 'read' }), { message: 'Unknown tool: read' })
    t.equal(world.server('gh').greetings.length, 0, 'it was not even started')
    const member = await join(world, ['mcp', 'github'], revision)
    t.same(await member.list('tools/list'), ['gh__read', 'gh__delete_repo', 'open__x'])
    t.match((await world.router.welcome(member)).instructions, /Mind the forge/)
    t.same(await client.list('tools/list'), ['open__x'], 'whoever else sees more')
  }
})

t.test('every request with its name is answered like a request with an unknown name', async t => {
  const requests = (alias: string): [string, object][] => [
    ['tools/call', { name: `${alias}__read` }],
    ['prompts/get', { name: `${alias}__p` }],
    ['resources/read', { uri: `${alias}+file:///r` }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: `${alias}__p` }, argument: {} }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: `${alias}+file:///t/{x}` }, argument: {} }],
  ]
  for (const revision of REVISIONS) {
    const { world, client } = await start(['mcp'], revision)
    const member = await join(world, ['mcp', 'github'], revision)
    member.call('resources/read', { uri: 'gh+file:///r' })
    const open = world.server('open')
    const outcomes = async (alias: string) => {
      const before = open.links.flatMap(({ requests }) => requests).length
      const ends: unknown[] = []
      for (const [method, params] of requests(alias)) ends.push(await client.get(method, params))
      const passed = open.links.flatMap(link => link.requests).slice(before)
      return JSON.stringify([ends, passed.map(({ method, params }) => [method, params])]).replaceAll(
        alias,
        'ALIAS',
      )
    }
    const before = world.server('gh').links.flatMap(link => link.requests).length
    t.equal(await outcomes('gh'), await outcomes('never'), revision)
    t.match(await client.get('tools/call', { name: 'gh__read' }), {
      code: -32602,
      message: 'Unknown tool: gh__read',
    })
    t.equal(world.server('gh').links.flatMap(link => link.requests).length, before)
  }
})

t.test('a URI without a prefix never leads to a server that its reader may not see', async t => {
  const preserved = { showing: { uris: 'preserve', access: GUARDED } } as const
  const world = new World({ gh: { ...GH, ...preserved }, open: OPEN })
  const [member, client] = [
    await join(world, ['mcp', 'github'], '2025-11-25'),
    await join(world, ['mcp'], '2025-11-25'),
  ]
  member.call('resources/read', { uri: 'file:///r' })
  await settled()
  world.server('gh').last('resources/read').answer({ contents: [] })
  for (const uri of ['file:///r', 'file:///t/1']) {
    client.call('resources/read', { uri })
    await settled()
    t.match(world.server('open').last('resources/read').params, { uri })
  }
  t.equal(world.server('gh').got('resources/read').length, 1)
  await client.get('resources/subscribe', { uri: 'file:///r' })
  t.equal(world.server('gh').got('resources/subscribe').length, 0)
})

t.test('a call that needs more than its caller has never reaches the server', async t => {
  for (const revision of REVISIONS) {
    const { world, client } = await start(['mcp', 'github'], revision)
    // Apps name tools as their server does.
    for (const name of ['gh__delete_repo', 'delete_repo'])
      t.same(await client.get('tools/call', { name }), forbidden('github:admin'))
    t.equal(world.server('gh').got('tools/call').length, 0)
    client.call('tools/call', { name: 'gh__read' })
    t.match(world.server('gh').last('tools/call').params, { name: 'read' })
    const admin = await join(world, ['mcp', 'github', 'github:admin'], revision)
    admin.call('tools/call', { name: 'gh__delete_repo' })
    t.match(world.server('gh').last('tools/call').params, { name: 'delete_repo' })
  }
})

t.test(
  'a call is checked with its own credential, not with the one of a later request of its session',
  async t => {
    const { world, client } = await start(['mcp', 'github', 'github:admin'])
    const gh = world.server('gh')
    gh.lists.tools = [...gh.lists.tools, tool('delete_all')]
    // The name is not known yet, so that the list is read again before the call can be judged.
    const allowed = client.call('tools/call', { name: 'gh__delete_all' })
    stepTo(world, client, 'mcp', 'github')
    await settled()
    t.match(gh.last('tools/call').params, { name: 'delete_all' })
    t.same(allowed.ends, [])
    gh.lists.tools = [...gh.lists.tools, tool('delete_more')]
    await world.pass(1001)
    const refused = client.call('tools/call', { name: 'gh__delete_more' })
    stepTo(world, client, 'mcp', 'github', 'github:admin')
    await settled()
    t.same(refused.ended, forbidden('github:admin'))
    gh.silent.add('tools/list')
    gh.link.notice(CHANGED)
    const list = client.call('tools/list')
    stepTo(world, client, 'mcp')
    await world.pass(3000)
    t.match(JSON.stringify(list.ended), /gh__read/, 'nor is a list')
  },
)

t.test('with another credential, a session sees other servers, and is notified', async t => {
  const { world, client } = await start(['mcp'])
  stepTo(world, client, 'mcp', 'github')
  t.same(await client.list('tools/list'), ['gh__read', 'gh__delete_repo', 'open__x'])
  client.told.length = 0
  await world.pass(60)
  t.same(client.heard(CHANGED), [], 'it has read the list by then')
  stepTo(world, client, 'mcp')
  await world.pass(2000, 50)
  t.equal(client.heard(CHANGED).length, 1)
  t.same(await client.list('tools/list'), ['open__x'])
  stepTo(world, client, 'mcp', 'other')
  await world.pass(2000, 50)
  t.equal(client.heard(CHANGED).length, 1, 'but not where nothing looks different')
})

t.test('clients who see the same share a list, and no others do', async t => {
  const { world, client } = await start(['mcp', 'github'])
  const same = await join(world, ['mcp', 'github', 'unrelated'], '2025-11-25')
  const less = await join(world, ['mcp'], '2025-11-25')
  const { catalog } = world.router
  const merged = (one: FakeClient) => catalog.merged(viewerOf(one), 'tools')
  t.equal(merged(client), merged(same))
  t.not(merged(client), merged(less))
  t.same([...merged(less).byExposed.keys()], ['open__x'])
})

t.test('a cursor of another caller shows nothing that its reader may not see', async t => {
  const world = new World({ open: OPEN, gh: GH, last: { tools: [tool('z')] } }, { pageSize: 1 })
  const member = await join(world, ['mcp', 'github'], '2025-11-25')
  const client = await join(world, ['mcp'], '2025-11-25')
  const first = (await member.get('tools/list')) as { result: { nextCursor: string } }
  const second = (await member.get('tools/list', { cursor: first.result.nextCursor })) as typeof first
  for (const { result } of [first, second])
    t.match(await client.get('tools/list', { cursor: result.nextCursor }), {
      result: { tools: [{ name: 'last__z' }] },
    })
})

t.test('a session hears nothing of a server that it may not see any more', async t => {
  const { world, client } = await start(['mcp', 'github'])
  const gh = world.server('gh')
  await client.get('resources/subscribe', { uri: 'gh+file:///r' })
  const speak = async (): Promise<void> => {
    gh.link.notice(UPDATED, { uri: 'file:///r' })
    gh.link.notice(UPDATED, { uri: 'file:///unasked' })
    gh.link.notice('notifications/message', { level: 'error', data: 'words' })
    gh.lists.tools = [...gh.lists.tools, tool(`more${gh.lists.tools.length}`)]
    gh.link.notice(CHANGED)
    await world.pass(2000, 50)
  }
  const ask = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } }
  stepTo(world, client, 'mcp')
  await world.pass(2000, 50)
  client.told.length = 0
  await speak()
  t.same(client.told, [])
  const refused = gh.link.ask('elicitation/create', ask)
  t.match(refused.answered, { code: -32602 })
  t.same(client.asked, [])
  stepTo(world, client, 'mcp', 'github')
  await world.pass(2000, 50)
  client.told.length = 0
  await speak()
  t.strictSame(
    new Set(client.told.map(([method]) => method)),
    new Set([UPDATED, CHANGED, 'notifications/message']),
  )
  gh.link.ask('elicitation/create', ask)
  t.equal(client.asked.length, 1)
})

t.test('a listening request is notified of the servers that its own credential may see', async t => {
  const world = new World({ gh: GH, open: OPEN })
  const member = await join(world, ['mcp', 'github'], '2026-07-28')
  const client = await join(world, ['mcp'], '2026-07-28')
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['gh+file:///r'] }
  const [seeing, other] = [member, client].map(one => one.call('subscriptions/listen', { notifications }))
  await world.pass(10)
  t.match(seeing?.told[0]?.[1], { notifications: { resourceSubscriptions: ['gh+file:///r'] } })
  const gh = world.server('gh')
  t.equal(gh.got('resources/subscribe').length, 1)
  gh.lists.tools = [tool('new')]
  gh.link.notice(CHANGED)
  gh.link.notice(UPDATED, { uri: 'file:///r' })
  await world.pass(2000, 50)
  t.same(
    seeing?.told
      .slice(1)
      .map(([method]) => method)
      .sort(),
    [UPDATED, CHANGED].sort(),
  )
  t.equal(other?.told.length, 1, 'which is the acknowledgement')
})

for (const name of ['gh__delete_repo', 'delete_repo'])
  t.test(`a parked call of ${name} is taken up only by who may make it`, async t => {
    const world = new World({ gh: GH })
    const all = ['mcp', 'github', 'github:admin']
    const member = await join(world, all, '2026-07-28')
    const call = member.call('tools/call', { name })
    const gh = world.server('gh')
    const ask = gh.link.ask('elicitation/create', {
      message: 'Sure?',
      requestedSchema: { type: 'object', properties: {} },
    })
    await world.pass(10)
    t.ok(wishOf(call).requestState)
    const answers = { '1-1': { action: 'accept', content: {} } }
    const as = async (principal: string, scopes: readonly string[]) =>
      again(call, answers, { client: await world.client({ principal, scopes, revision: '2026-07-28' }) })
        .ended
    t.same(await as('person eve', all), INVALID, 'another principal')
    t.same(await as('person bob', ['mcp', 'github']), forbidden('github:admin'))
    t.same(await as('person bob', ['mcp']), INVALID, 'one who does not see the server')
    t.same(ask.outcomes, [])
    again(call, answers)
    t.match(ask.answered, { result: { action: 'accept' } })
  })

t.test('the scopes that some of several calls lack are told together', async t => {
  const world = new World({
    gh: GH,
    open: OPEN,
    forge: {
      ...GH,
      showing: {
        access: accessOf({ see: [], call: [['delete_*', ['forge:admin']]] }, silentLogger),
      },
    },
  })
  const client = world.newcomer({ principal: 'person bob', scopes: ['mcp', 'github'] })
  const lacking = (...tools: readonly string[]) =>
    world.router.lackingScopes(
      viewerOf(client),
      tools.map(name => textOf({ name })),
    )
  t.same(await lacking('gh__read', 'open__x', 'never__was'), [])
  t.same(await lacking('gh__delete_repo', 'gh__read', 'forge__delete_repo', 'gh__delete_repo'), [
    'github:admin',
    'forge:admin',
  ])
  const stranger = world.newcomer({ principal: 'person eve', scopes: ['mcp'] })
  t.same(
    await world.router.lackingScopes(viewerOf(stranger), [textOf({ name: 'gh__delete_repo' })]),
    [],
    'what is not there',
  )
})

t.test('a server that is gone is named to those alone who saw it', async t => {
  const { world, client } = await start(['mcp'])
  const member = await join(world, ['mcp', 'github'], '2025-11-25')
  const servers = [world.server('open').options]
  void world.router.reload({ servers, reshown: new Set(), drainMs: 0, pageSize: 100, startupWaitMs: 5000 })
  await settled()
  for (const [method, params] of [
    ['tools/call', { name: 'gh__read' }],
    ['resources/read', { uri: 'gh+file:///r' }],
  ] as const) {
    const [seen, unseen] = [member, client].map(one => one.call(method, params))
    await settled()
    t.notMatch(JSON.stringify([unseen?.ended, unseen?.told]), 'removed')
    if (method === 'tools/call') t.match(JSON.stringify(seen?.ended), /server gh was removed/)
  }
})

t.test('the only server, served unchanged, does not exist for callers that may not see it', async t => {
  const world = new World({ gh: { ...GH, announced: { secret: 1 } } }, { isAlone: true })
  const client = await join(world, ['mcp'], '2025-11-25')
  const { own, instructions } = await world.router.welcome(client)
  t.same([own, instructions, world.router.ownIdentity(client)], [undefined, undefined, undefined])
  t.same(await client.list('tools/list'), [])
  t.match(await client.get('tools/call', { name: 'read' }), { code: -32602 })
  t.match(await client.get('resources/read', { uri: 'file:///r' }), { message: 'Resource not found' })
  const member = await join(world, ['mcp', 'github'], '2025-11-25')
  t.same(await member.list('tools/list'), ['read', 'delete_repo'])
  t.same(await member.get('tools/call', { name: 'delete_repo' }), forbidden('github:admin'))
})

t.test('what a client carries for us is worth nothing to another principal', async t => {
  const URL_REQUIRED = {
    elicitations: [{ mode: 'url', elicitationId: 'e', url: 'https://x.test', message: 'Sign in' }],
  }
  const asked = {
    'a page to visit': (world: World) =>
      world.server('a').last('tools/call').refuse(-32042, 'visit', URL_REQUIRED),
    'a question of a newer server': (world: World) =>
      world
        .server('b')
        .last('tools/call')
        .returns({ k: { method: 'roots/list' } }, 'S'),
  }
  for (const [what, ask] of Object.entries(asked)) {
    const world = new World({ a: { tools: [tool('x')] }, b: { tools: [tool('x')], revision: '2026-07-28' } })
    const capabilities = { ...ALL_ABILITIES, elicitation: { form: true, url: true } }
    const about = { revision: '2026-07-28', capabilities, scopes: ['mcp'] } as const
    const alice = await world.client({ ...about, principal: 'person alice' })
    const bob = await world.client({ ...about, principal: 'person bob' })
    for (const client of [alice, bob]) await client.get('tools/list')
    const call = alice.call('tools/call', { name: what.startsWith('a page') ? 'a__x' : 'b__x' })
    ask(world)
    await settled()
    const calls = () => world.servers.flatMap(server => server.got('tools/call')).length
    const before = calls()
    t.same(again(call, {}, { client: bob }).ended, INVALID, what)
    t.equal(calls(), before)
    again(call, {})
    await world.pass(30_000)
    t.equal(calls(), before + 1)
  }
})

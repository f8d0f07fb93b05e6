import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { readExtensions } from '../../../src/model/extensions.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../../src/model/peer.js'
import type { Revision } from '../../../src/model/revision.js'
import type { FakeClient } from '../../support/client/fake-client.js'
import { World, type WorldOptions } from '../../support/proxy/router.js'
import { tool } from '../../support/values.js'

const ui = (more: object): object => ({ _meta: { ui: more } })
const APPS: ClientCapabilities = {
  ...NO_CAPABILITIES,
  declared: {
    extensions: readExtensions(textOf({ extensions: { 'io.modelcontextprotocol/ui': {} } })),
    experimental: undefined,
    others: [],
    revision: '2025-11-25',
    withheld: [],
  },
}

const start = (options: WorldOptions = {}) =>
  new World(
    {
      alpha: {
        tools: [
          tool('show', ui({ resourceUri: 'ui://show/app.html' })),
          tool('refresh', ui({ visibility: ['app'] })),
          tool('save'),
          tool('think', ui({ visibility: ['model'] })),
        ],
      },
      beta: { tools: [tool('save'), tool('board', { _meta: { 'ui/resourceUri': 'ui://b' } })] },
      gamma: { tools: [tool('plain')] },
    },
    options,
  )

t.test('clients that show apps get the tools of apps under their own names, at the end', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const apps = await world.client({ capabilities: APPS })
  t.same(await apps.list('tools/list'), [
    'alpha__show',
    'alpha__refresh',
    'alpha__save',
    'alpha__think',
    'beta__save',
    'beta__board',
    'gamma__plain',
    'show',
    'refresh',
    'board',
  ])
  const listed = JSON.stringify(await apps.get('tools/list'))
  t.match(
    listed,
    '{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://alpha+show/app.html","visibility":["app"]}}}',
  )
  const plain = await world.client()
  t.same(await plain.list('tools/list'), [
    'alpha__show',
    'alpha__save',
    'alpha__think',
    'beta__save',
    'beta__board',
    'gamma__plain',
  ])
})

t.test('a tool is called by its own name if only one server has it for apps', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const client = await world.client()
  await client.list('tools/list')
  client.call('tools/call', { name: 'refresh' })
  await world.pass(1)
  t.match(world.server('alpha').last('tools/call').params, { name: 'refresh' })
  t.match(await client.get('tools/call', { name: 'save' }), {
    code: -32602,
    message: 'Several servers have the tool save; name one of: alpha__save, beta__save',
    data: { tool: 'save' },
  })
  client.call('tools/call', { name: 'alpha__show' })
  client.call('tools/call', { name: 'save' })
  await world.pass(1)
  t.match(world.server('alpha').last('tools/call').params, { name: 'save' }, 'the app that is open')
  t.match(await client.get('tools/call', { name: 'think' }), { message: 'Unknown tool: think' })
})

t.test('a client hears of changed tools only if its own list changed', async t => {
  const CHANGED = 'notifications/tools/list_changed'
  for (const toolExposure of [undefined, { expose: { mode: 'search' } } as const]) {
    const world = new World(
      { alpha: { tools: [tool('show', ui({ resourceUri: 'ui://a' }))] } },
      { ...(toolExposure && { toolExposure }) },
    )
    t.teardown(() => world.router.close())
    const [apps, plain] = [await world.client({ capabilities: APPS }), await world.client()]
    for (const client of [apps, plain]) await client.list('tools/list')
    const alpha = world.server('alpha')
    const change = async (...more: object[]): Promise<void> => {
      alpha.lists.tools = [tool('show', ui({ resourceUri: 'ui://a' })), ...more]
      for (const link of alpha.links) link.notice(CHANGED)
      await world.pass(3000, 100)
    }
    await change(tool('refresh', ui({ visibility: ['app'] })))
    t.same([apps.heard(CHANGED).length, plain.heard(CHANGED).length], [1, 0], 'the first tool of its kind')
    await change(tool('refresh', ui({ visibility: [] })))
    t.same([apps.heard(CHANGED).length, plain.heard(CHANGED).length], [2, 0], 'another description of it')
    await change(tool('refresh'))
    const isSearched = toolExposure !== undefined
    t.same([apps.heard(CHANGED).length, plain.heard(CHANGED).length], [3, isSearched ? 0 : 1])
    await change()
    t.same([apps.heard(CHANGED).length, plain.heard(CHANGED).length], [4, isSearched ? 0 : 2])
  }
})

const FEW = {
  expose: { mode: 'search', pin: ['beta__save', 'alpha__refresh'] },
  clients: [{ name: 'small', maxTools: 6, expose: undefined }],
} as const

const SEARCH = ['find_tools', 'describe_tools', 'call_read_tool', 'call_write_tool', 'read_result']

interface Listed {
  readonly name: string
  readonly _meta?: Readonly<Record<string, unknown>>
}

const textOfCall = async (client: FakeClient, name: string, args: object): Promise<string> => {
  const { result } = (await client.get('tools/call', { name, arguments: args })) as {
    result: { content: { text: string }[] }
  }
  return result.content[0]?.text ?? ''
}

t.test('in search mode, clients that show apps also get what opens and serves interfaces', async t => {
  const world = start({ toolExposure: { expose: { mode: 'search' } } })
  t.teardown(() => world.router.close())
  const apps = await world.client({ capabilities: APPS })
  t.same(await apps.list('tools/list'), [
    ...SEARCH,
    'alpha__show',
    'alpha__refresh',
    'beta__board',
    'show',
    'refresh',
    'board',
  ])
  t.same(await (await world.client()).list('tools/list'), SEARCH)
  const few = start({ pageSize: 2, toolExposure: FEW })
  t.teardown(() => few.router.close())
  const small = await few.client({ capabilities: APPS, name: 'small' })
  t.same(
    await small.list('tools/list'),
    [...SEARCH, 'alpha__refresh', 'beta__save', 'show', 'refresh', 'board'],
    'pins come first, and tools of apps do not count',
  )
})

t.test('the tool search does not know the tools that only apps call', async t => {
  const world = start({ toolExposure: { expose: { mode: 'search', pin: ['alpha__refresh'] } } })
  t.teardown(() => world.router.close())
  for (const client of [await world.client({ capabilities: APPS }), await world.client()]) {
    await client.list('tools/list')
    for (const name of ['describe_tools', 'call_read_tool', 'call_write_tool'])
      for (const tool of ['alpha__refresh', 'refresh', 'show'])
        t.match(
          await textOfCall(client, name, name === 'describe_tools' ? { names: [tool] } : { name: tool }),
          new RegExp(`^Unknown tool: ${tool}\\.`),
        )
    t.notMatch(await textOfCall(client, 'find_tools', { query: 'refresh' }), 'refresh')
    t.match(await textOfCall(client, 'find_tools', { query: 'show' }), /^1 of 6 tools/)
    client.call('tools/call', { name: 'alpha__refresh' })
    client.call('tools/call', { name: 'refresh' })
    await world.pass(1)
  }
  t.equal(world.server('alpha').got('tools/call').length, 4, 'apps call it')
})

t.test('tools that only apps call do not count toward the limit of a client', async t => {
  const refresh = (count: number) =>
    Array.from({ length: count }, (_, at) => tool(`refresh${at}`, ui({ visibility: ['app'] })))
  for (const hidden of [2, 2000]) {
    const world = new World(
      { alpha: { tools: [tool('a'), ...refresh(hidden), tool('b'), tool('c')] } },
      {
        pageSize: 5000,
        toolExposure: { expose: { mode: 'auto' }, clients: [{ name: 'c', maxTools: 3, expose: undefined }] },
      },
    )
    t.teardown(() => world.router.close())
    const plain = await world.client({ name: 'c' })
    t.same(await plain.list('tools/list'), ['alpha__a', 'alpha__b', 'alpha__c'])
    const apps = await world.client({ name: 'c', capabilities: APPS })
    t.equal((await apps.list('tools/list')).length, 3 + hidden)
  }
})

t.test('pins of clients that load tools by need leave out the tools that only apps call', async t => {
  const world = start({ toolExposure: { expose: { pin: ['alpha__*'] } } })
  t.teardown(() => world.router.close())
  const marked = async (client: FakeClient): Promise<readonly string[]> => {
    const { result } = (await client.get('tools/list')) as { result: { tools: Listed[] } }
    return result.tools.map(({ name, _meta }) =>
      _meta?.['anthropic/alwaysLoad'] === true ? `${name}*` : name,
    )
  }
  const plain = ['alpha__show*', 'alpha__save*', 'alpha__think*', 'beta__save', 'beta__board', 'gamma__plain']
  t.same(await marked(await world.client({ name: 'claude-code' })), plain)
  const [show, ...others] = plain
  t.same(await marked(await world.client({ name: 'claude-code', capabilities: APPS })), [
    show,
    'alpha__refresh',
    ...others,
    ...['show', 'refresh', 'board'],
  ])
})

t.test(
  'exposed names win over own names, and own names never cross the prefix of another server',
  async t => {
    const world = new World({
      alpha: {
        tools: [
          tool('beta__drop'),
          tool('beta__save'),
          tool('alpha__x'),
          tool('show', ui({ resourceUri: 'ui://a' })),
        ],
      },
      beta: { tools: [tool('save')] },
    })
    t.teardown(() => world.router.close())
    const apps = await world.client({ capabilities: APPS })
    t.same(await apps.list('tools/list'), [
      ...['alpha__beta__drop', 'alpha__beta__save', 'alpha__alpha__x', 'alpha__show', 'beta__save'],
      ...['alpha__x', 'show'],
    ])
    t.match(await apps.get('tools/call', { name: 'beta__drop' }), { message: 'Unknown tool: beta__drop' })
    apps.call('tools/call', { name: 'beta__save' })
    apps.call('tools/call', { name: 'save' })
    await world.pass(1)
    t.same(
      [world.server('alpha').got('tools/call').length, world.server('beta').got('tools/call').length],
      [0, 2],
    )
  },
)

t.test('visibility of any other type means that a tool is for all', async t => {
  const odd = [true, 'app', { app: true }, 1, null, ['app', 'model', 'x']].map((visibility, at) =>
    tool(`odd${at}`, ui({ visibility })),
  )
  const none = [[], [1], [['model']], ['Model'], [null]].map((visibility, at) =>
    tool(`none${at}`, ui({ visibility })),
  )
  const broken = [tool('ui', { _meta: { ui: 'x' } }), tool('list', { _meta: { ui: [{ visibility: [] }] } })]
  const world = new World({ alpha: { tools: [...odd, ...none, ...broken] } })
  t.teardown(() => world.router.close())
  const client = await world.client()
  const names = [...odd.map((_, at) => `odd${at}`), 'ui', 'list']
  t.same(
    await client.list('tools/list'),
    names.map(name => `alpha__${name}`),
  )
  t.match(await client.get('tools/call', { name: 'none0' }), { message: 'Unknown tool: none0' })
})

t.test('an app opens by a call or a read that had to look for its server first', async t => {
  for (const open of ['call', 'read']) {
    const app = [tool('save'), tool('show', ui({ resourceUri: 'ui://a' }))]
    const world = new World({
      alpha: { tools: app, resources: [{ uri: 'ui://a', name: 'a' }] },
      beta: { tools: [tool('save')] },
    })
    t.teardown(() => world.router.close())
    const client = await world.client()
    if (open === 'call') client.call('tools/call', { name: 'alpha__show' })
    else client.call('resources/read', { uri: 'ui://a' })
    await world.pass(10)
    client.call('tools/call', { name: 'save' })
    await world.pass(1)
    t.match(world.server('alpha').last('tools/call').params, { name: 'save' }, open)
    t.same(world.server('beta').got('tools/call'), [])
  }
})

t.test('an own name is found before the client has read any list', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const client = world.modern()
  client.call('tools/call', { name: 'refresh' })
  await world.pass(10)
  t.match(world.server('alpha').last('tools/call').params, { name: 'refresh' })
  t.match(await client.get('tools/call', { name: 'save' }), {
    message: 'Several servers have the tool save; name one of: alpha__save, beta__save',
  })
  client.call('tools/call', { name: 'alpha__show' })
  await world.pass(1)
  t.match(
    await client.get('tools/call', { name: 'save' }),
    { code: -32602 },
    'without sessions nothing is open',
  )
})

t.test('a stream of a client without sessions tells only of changes of its own list', async t => {
  const CHANGED = 'notifications/tools/list_changed'
  const world = new World({ alpha: { tools: [tool('show', ui({ resourceUri: 'ui://a' }))] } })
  t.teardown(() => world.router.close())
  const streams = await Promise.all(
    [APPS, NO_CAPABILITIES].map(async capabilities => {
      const client = world.modern({ capabilities })
      await client.get('tools/list')
      return client.call('subscriptions/listen', { notifications: { toolsListChanged: true } })
    }),
  )
  await world.pass(1000, 100)
  const heard = () => streams.map(({ told }) => told.filter(([method]) => method === CHANGED).length)
  const alpha = world.server('alpha')
  const show = alpha.lists.tools ?? []
  for (const [more, expected] of [
    [[tool('refresh', ui({ visibility: ['app'] }))], [1, 0]],
    [[tool('save')], [2, 1]],
  ] as const) {
    alpha.lists.tools = [...show, ...more]
    for (const link of alpha.links) link.notice(CHANGED)
    await world.pass(3000, 100)
    t.same(heard(), expected)
  }
})

t.test('an interface that no list of resources has is read from the server of its tool', async t => {
  const resources = [{ uri: 'file:///r', name: 'r' }]
  const world = new World({
    alpha: { tools: [tool('show', ui({ resourceUri: 'ui://a' }))], resources, showing: { uris: 'preserve' } },
    beta: { tools: [tool('board', ui({ resourceUri: 'ui://b' }))], resources, showing: { uris: 'preserve' } },
  })
  t.teardown(() => world.router.close())
  const client = await world.client({ capabilities: APPS })
  await client.list('tools/list')
  client.call('resources/read', { uri: 'ui://b' })
  await world.pass(10)
  t.match(world.server('beta').last('resources/read').params, { uri: 'ui://b' })
  t.match(await client.get('resources/read', { uri: 'ui://c' }), { code: -32602 })
})

t.test('a client whose tools have no _meta cannot hide the tools of apps, and does not get them', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const names = async (revision: Revision) =>
    (await world.client({ capabilities: APPS, revision })).list('tools/list')
  t.equal((await names('2025-03-26')).includes('alpha__refresh'), false)
  t.equal((await names('2025-06-18')).includes('alpha__refresh'), true)
})

import t from 'tap'
import { rawText } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import { settled } from '../../support/fake-clock.js'
import { World } from '../../support/proxy/router.js'
import { resource, tool } from '../../support/values.js'

const ECHO = { content: [{ type: 'text', text: 'ok' }] }

t.test(
  'a tool is called under its own name at the one server that has it, with everything else untouched',
  async t => {
    const world = new World({ gh: { tools: [tool('search')] }, fs: { tools: [tool('search')] } })
    const client = await world.client()
    t.same(await client.list('tools/list'), ['gh__search', 'fs__search'])
    const call = client.call('tools/call', {
      name: 'gh__search',
      arguments: { q: 'x' },
      _meta: { 'v.x/k': 1 },
    })
    t.same(world.server('gh').last('tools/call').params, {
      name: 'search',
      arguments: { q: 'x' },
      _meta: { 'v.x/k': 1 },
    })
    t.same(world.server('fs').got('tools/call'), [])
    world.server('gh').last('tools/call').answer(ECHO)
    t.same(call.ended, { result: ECHO })
  },
)

t.test('numbers that a parser would round reach the server as they were written', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await client.get('tools/list')
  client.call('tools/call', '{ "arguments":{"n":12345678901234567890, "m":1.0},"name":"a__x"}')
  t.equal(
    world.server('a').last('tools/call').text,
    '{ "arguments":{"n":12345678901234567890, "m":1.0},"name":"x"}',
  )
})

t.test('an unknown name gets -32602, after its server was asked for it once', async t => {
  const world = new World({ gh: { tools: [] }, fs: { tools: [] } })
  const client = await world.client()
  await client.get('tools/list')
  const asked = world.server('gh').got('tools/list').length
  t.same(await client.get('tools/call', { name: 'gh__nope' }), {
    code: -32602,
    message: 'Unknown tool: gh__nope',
    data: undefined,
  })
  t.equal(world.server('gh').got('tools/list').length, asked + 1)
  await client.get('tools/call', { name: 'gh__nope' })
  t.equal(world.server('gh').got('tools/list').length, asked + 1, 'not for each wrong name')
  t.equal(world.server('fs').got('tools/list').length, 1, 'nor at other servers')
  t.match(
    await client.get('prompts/get', { name: 'gh__nope' }),
    { code: -32601 },
    'prompts were not announced',
  )
})

t.test('a tool that a server has since the last list is called all the same', async t => {
  const world = new World({ gh: { tools: [] } })
  const client = await world.client()
  await client.get('tools/list')
  world.server('gh').lists.tools = [tool('late')]
  const call = client.call('tools/call', { name: 'gh__late' })
  await settled()
  world.server('gh').last('tools/call').answer()
  t.match(call.ended, { result: {} })
})

t.test(
  'a server that cannot be asked for a tool is said to be away, and the tool not to be unknown',
  async t => {
    const world = new World({ gh: { tools: [tool('x')] }, fs: { tools: [tool('y')] } })
    world.server('gh').dialling = 'refuse'
    const client = await world.client()
    for (let time = 0; time < 2; time += 1) {
      t.match(await client.get('tools/call', { name: 'gh__x' }), {
        code: -32603,
        message: /gh/,
        data: { server: 'gh' },
      })
    }
  },
)

t.test('a hidden tool is not listed and cannot be called: the server hears nothing of it', async t => {
  const world = new World({
    a: {
      tools: [tool('read'), tool('rm'), tool('.hidden'), tool('admin/rm')],
      showing: { tools: { allow: undefined, deny: ['rm', '.*', 'admin*'], rename: {}, override: {} } },
    },
  })
  const client = await world.client()
  t.same(await client.list('tools/list'), ['a__read'])
  for (const name of ['a__rm', 'rm']) t.match(await client.get('tools/call', { name }), { code: -32602 })
  t.same(world.server('a').got('tools/call'), [])
})

t.test(
  'a renamed tool is listed and called under its new name only; the server knows the old one',
  async t => {
    const world = new World({
      a: {
        tools: [tool('x', { description: 'theirs' })],
        showing: {
          tools: {
            allow: undefined,
            deny: [],
            rename: { x: 'better' },
            override: { x: { description: 'ours', annotations: { readOnlyHint: true } } },
          },
        },
      },
    })
    const client = await world.client()
    t.match(await client.get('tools/list'), {
      result: { tools: [{ name: 'a__better', description: 'ours', annotations: { readOnlyHint: true } }] },
    })
    client.call('tools/call', { name: 'a__better' })
    t.same(world.server('a').last('tools/call').params, { name: 'x' })
    t.match(await client.get('tools/call', { name: 'a__x' }), { code: -32602 })
  },
)

t.test(
  'where prefixes are off and two servers have one name, the later one is moved aside and both can be called',
  async t => {
    const bare = { prefix: false }
    const world = new World({
      a: { tools: [tool('x')], showing: bare },
      b: { tools: [tool('x'), tool('y')], showing: bare },
    })
    const client = await world.client()
    t.same(await client.list('tools/list'), ['x', 'b__x', 'y'])
    client.call('tools/call', { name: 'x' })
    client.call('tools/call', { name: 'b__x' })
    t.same(world.server('a').last('tools/call').params, { name: 'x' })
    t.same(world.server('b').last('tools/call').params, { name: 'x' })
  },
)

t.test('an unknown bare name is found although another server that could have it is away', async t => {
  const bare = { prefix: false }
  const world = new World({ a: { tools: [], showing: bare }, b: { tools: [], showing: bare } })
  world.server('a').dialling = 'refuse'
  const client = await world.client()
  await client.get('tools/list')
  world.server('b').lists.tools = [tool('late')]
  client.call('tools/call', { name: 'late' })
  await settled()
  t.same(world.server('b').last('tools/call').params, { name: 'late' })
})

t.test('a server that stands alone is shown as it is, and gets names that we do not know', async t => {
  const world = new World(
    { a: { tools: [tool('x')], resources: [resource('file:///a')] } },
    { isAlone: true },
  )
  const client = await world.client()
  t.same(await client.list('tools/list'), ['x'])
  t.same(await client.list('resources/list', 'uri'), ['file:///a'])
  const call = client.call('tools/call', { name: 'a__unlisted' })
  t.same(world.server('a').last('tools/call').params, { name: 'a__unlisted' })
  world.server('a').last('tools/call').refuse(-32602, 'Unknown tool: a__unlisted', { theirs: 1 })
  t.same(call.ended, { code: -32602, message: 'Unknown tool: a__unlisted', data: { theirs: 1 } })
  client.call('resources/read', { uri: 'b+file:///z' })
  t.same(world.server('a').last('resources/read').params, { uri: 'b+file:///z' })
})

t.test('three servers that all own file:///a are each read and subscribed under their own URI', async t => {
  const owner = { resources: [resource('file:///a')] }
  const world = new World({ a: owner, b: owner, c_d: owner })
  const client = await world.client()
  t.same(await client.list('resources/list', 'uri'), ['a+file:///a', 'b+file:///a', 'c.d+file:///a'])
  for (const [name, uri] of [
    ['a', 'a+file:///a'],
    ['b', 'b+file:///a'],
    ['c_d', 'c.d+file:///a'],
  ] as const) {
    const server = world.server(name)
    const call = client.call('resources/read', { uri })
    t.same(server.last('resources/read').params, { uri: 'file:///a' })
    server.last('resources/read').answer({ contents: [{ uri: 'file:///a', text: name }] })
    t.same(call.ended, { result: { contents: [{ uri, text: name }] } })
    t.same(await client.get('resources/subscribe', { uri }), { result: {} })
    t.equal(server.got('resources/subscribe').length, 1)
    server.link.notice('notifications/resources/updated', { uri: 'file:///a', more: 1 })
    t.same(client.heard('notifications/resources/updated').at(-1), { uri, more: 1 })
  }
  t.equal(client.heard('notifications/resources/updated').length, 3)
})

t.test('a URI without a prefix goes to the one server that can own it', async t => {
  const world = new World({
    a: { resources: [resource('file:///a')], templates: [{ uriTemplate: 'db://{table}', name: 't' }] },
    b: { resources: [resource('file:///b')], templates: [{ uriTemplate: 'db://b/{+path}', name: 't' }] },
  })
  const client = await world.client()
  const rows = [
    ['file:///b', 'b', 'the only one that lists it, though nobody listed before'],
    ['db://x', 'a', 'the only template that matches'],
    ['db://b/x', 'b', 'the longest of two templates'],
  ] as const
  for (const [uri, name, why] of rows) {
    client.call('resources/read', { uri })
    await settled()
    t.same(world.server(name).last('resources/read').params, { uri }, why)
  }
  const error = await client.get('resources/read', { uri: 'other://x' })
  t.match(error, { code: -32602, message: /a\+other:\/\/x, b\+other:\/\/x/ }, 'else the candidates are named')
  t.equal(world.servers.flatMap(server => server.got('resources/read')).length, 3)
})

t.test('a URI without an owner is not found', async t => {
  const world = new World({ a: { tools: [] }, b: { tools: [], capabilities: { resources: undefined } } })
  world.server('b').dialling = 'refuse'
  const client = await world.client()
  t.match(await client.get('resources/read', { uri: 'x://y' }), {
    message: 'Resource not found',
    data: { uri: 'x://y' },
  })
})

t.test('servers that keep their URIs: one seen only in a result is read where it came from', async t => {
  const keep = { uris: 'preserve' as const }
  const world = new World({
    a: { tools: [tool('x')], resources: [resource('file:///same')], showing: keep },
    b: { tools: [tool('x')], resources: [resource('file:///same')], showing: keep },
  })
  const client = await world.client()
  t.same(await client.list('resources/list', 'uri'), ['file:///same', 'file:///same'], 'both are listed')
  t.match(await client.get('resources/read', { uri: 'file:///same' }), {
    code: -32602,
    message: /a \(its URIs are not prefixed\), b \(/,
  })
  await client.get('tools/list')
  const call = client.call('tools/call', { name: 'b__x' })
  const link = { type: 'resource_link', uri: 'mem://1', name: 'm' }
  const embedded = { type: 'resource', resource: { uri: 'file:///same', text: '' } }
  world
    .server('b')
    .last('tools/call')
    .answer({ content: [link, embedded] })
  t.same(call.ended, { result: { content: [link, embedded] } })
  for (const uri of ['mem://1', 'file:///same']) {
    client.call('resources/read', { uri })
    await settled()
    t.same(world.server('b').last('resources/read').params, { uri })
  }
  t.same(world.server('a').got('resources/read'), [])
})

t.test('URIs in results have the prefix of their server; URIs of interfaces keep their scheme', async t => {
  const ui = { _meta: { ui: { resourceUri: 'ui://w' } } }
  const world = new World({
    a: { tools: [tool('x', ui)], resources: [resource('ui://w')] },
    b: { tools: [] },
  })
  const client = await world.client()
  t.match(await client.get('tools/list'), {
    result: { tools: [{ _meta: { ui: { resourceUri: 'ui://a+w' } } }] },
  })
  t.same(await client.list('resources/list', 'uri'), ['ui://a+w'])
  client.call('resources/read', { uri: 'ui://a+w' })
  t.same(world.server('a').last('resources/read').params, { uri: 'ui://w' })
  const call = client.call('tools/call', { name: 'a__x' })
  world
    .server('a')
    .last('tools/call')
    .answer({ content: [{ type: 'resource_link', uri: 'm://1', name: 'm' }] })
  t.match(call.ended, { result: { content: [{ uri: 'a+m://1' }] } })
})

t.test(
  'completions go to the owner of the prompt or template; a server without them is not asked',
  async t => {
    const template = { uriTemplate: 'db://{t}', name: 't' }
    const world = new World({
      a: { prompts: [{ name: 'p' }], templates: [template], capabilities: { completions: true } },
      b: { prompts: [{ name: 'p' }], templates: [template] },
      old: { prompts: [{ name: 'p' }], revision: '2024-11-05' },
    })
    const client = await world.client()
    const argument = { name: 'n', value: 'v' }
    client.call('completion/complete', { ref: { type: 'ref/prompt', name: 'a__p' }, argument })
    await settled()
    t.same(world.server('a').last('completion/complete').params, {
      ref: { type: 'ref/prompt', name: 'p' },
      argument,
    })
    client.call('completion/complete', { ref: { type: 'ref/resource', uri: 'a+db://{t}' }, argument })
    t.match(world.server('a').last('completion/complete').params, { ref: { uri: 'db://{t}' } })

    const nothing = { result: { completion: { values: [], hasMore: false } } }
    t.same(
      await client.get('completion/complete', { ref: { type: 'ref/prompt', name: 'b__p' }, argument }),
      nothing,
    )
    t.same(world.server('b').got('completion/complete'), [])
    const call = client.call('completion/complete', { ref: { type: 'ref/prompt', name: 'old__p' }, argument })
    await settled()
    world.server('old').last('completion/complete').refuse(-32601, 'Method not found')
    t.same(call.ended, nothing, 'the oldest revision had no capability to say so')

    t.match(await client.get('completion/complete', { ref: { type: 'ref/other' }, argument }), {
      code: -32602,
    })
    t.match(await client.get('completion/complete', { ref: { type: 'ref/prompt' } }), { code: -32602 })
    t.match(
      await client.get('completion/complete', { ref: { type: 'ref/resource', uri: 'db://{t}' }, argument }),
      {
        code: -32602,
        message: /a\+db:\/\/\{t\}, b\+db:\/\/\{t\}/,
      },
    )
  },
)

t.test('nothing is opened for a session that left while a template was looked for', async t => {
  const world = new World({
    a: { templates: [], options: { sharing: 'session' }, showing: { uris: 'preserve' } },
    b: { templates: [], showing: { uris: 'preserve' }, capabilities: { completions: true } },
  })
  for (const method of ['resources/list', 'resources/templates/list']) world.server('a').silent.add(method)
  const client = await world.client()
  await world.pass(500, 10)
  const late = await world.client()
  late.call('completion/complete', {
    ref: { type: 'ref/resource', uri: 'db://{t}' },
    argument: { name: 'n', value: 'v' },
  })
  await world.pass(100, 10)
  late.leave()
  await world.pass(5000, 100)
  const users = [...world.router.pool.connections()].flatMap(({ clients }) => [...clients])
  t.same(
    [...new Set(users)].map(({ id }) => id),
    [client.id],
  )
})

t.test('a request that names nothing, or is malformed, is -32602 and reaches no server', async t => {
  const world = new World({ a: { tools: [], prompts: [], resources: [] } })
  const client = await world.client()
  for (const [method, params] of [
    ['tools/call', undefined],
    ['tools/call', { name: 7 }],
    ['prompts/get', {}],
    ['tools/call', { name: 'a__x', arguments: [1] }],
    ['tools/call', { name: 'a__x', arguments: 'x' }],
    ['resources/read', { uri: null }],
    ['resources/read', { uri: '' }],
    ['resources/read', { uri: 'doc' }],
    ['resources/read', { uri: `a+x:${'y'.repeat(10_000)}` }],
    ['resources/subscribe', {}],
    ['resources/unsubscribe', undefined],
  ] as const) {
    t.match(await client.get(method, params), { code: -32602 }, method)
  }
  t.same(
    world.server('a').links.flatMap(link => link.requests),
    [],
  )
})

t.test('a client that gives up while its server is looked for causes nothing at any server', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client()
  const call = client.call('tools/call', { name: 'a__x' })
  call.cancel()
  await settled()
  t.equal(world.server('a').got('tools/list').length, 1)
  t.same(world.server('a').got('tools/call'), [])

  const leaver = await world.client({ principal: 'other' })
  leaver.call('tools/call', { name: 'a__new' })
  leaver.leave()
  world.server('a').lists.tools = [tool('new')]
  await settled()
  const users = world.router.pool.servers.flatMap(server =>
    [...server.connections].flatMap(one => [...one.clients]),
  )
  t.same(users, [client], 'nor is it taken for a user of the server')
})

t.test('only the client that got a URL in an error is notified of its completion', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const [older, other, asker] = [
    await world.client({ revision: '2025-06-18' }),
    await world.client(),
    await world.client(),
  ]
  await asker.get('tools/list')
  const error = { elicitations: [{ mode: 'url', elicitationId: 'e1', url: 'https://x', message: 'm' }] }
  const call = asker.call('tools/call', { name: 'a__x' })
  world.server('a').last('tools/call').refuse(-32042, 'Authorization required', error)
  t.match(call.ended, { code: -32042, data: error })
  for (const id of ['e2', 'e1', 'e1']) {
    world.server('a').link.notice('notifications/elicitation/complete', { elicitationId: id })
  }
  t.same(asker.heard('notifications/elicitation/complete'), [{ elicitationId: 'e1' }])
  t.same(
    [...other.told, ...older.told].filter(([method]) => method.includes('elicitation')),
    [],
  )
})

t.test('a result that is not an object becomes an error that names the server', async t => {
  const world = new World({ a: { tools: [tool('x')] } })
  const client = await world.client()
  await client.get('tools/list')
  for (const result of ['null', '[]', '"x"', '5', 'true']) {
    const call = client.call('tools/call', { name: 'a__x' })
    world
      .server('a')
      .last('tools/call')
      .end(succeeded(rawText(result)))
    t.same(call.ended, {
      code: -32603,
      message: 'Server a: its result is not an object',
      data: { server: 'a' },
    })
  }
})

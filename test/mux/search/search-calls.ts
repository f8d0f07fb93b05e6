import fc from 'fast-check'
import t from 'tap'
import { Views } from '../../../src/catalog/views/views.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { ToolExposureOptions } from '../../../src/search/expose-rules.js'
import { tokensOfTool } from '../../../src/search/tool-cost.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { holds, runs } from '../../support/property.js'
import { again, World, type WorldOptions, wishOf } from '../../support/proxy/router.js'
import type { Script } from '../../support/server/fake-server.js'
import { tool } from '../../support/values.js'

const OWN = ['find_tools', 'describe_tools', 'call_read_tool', 'call_write_tool', 'read_result']
const CHANGED = 'notifications/tools/list_changed'
const READS = { annotations: { readOnlyHint: true } }

const PULL_REQUEST = {
  type: 'object',
  properties: { owner: { type: 'string' }, title: { type: 'string' }, draft: { type: 'boolean' } },
  required: ['owner', 'title'],
}

const GH: Script = {
  tools: [
    tool('create_pull_request', {
      description: 'Create a new pull request. It needs two branches.',
      inputSchema: PULL_REQUEST,
    }),
    tool('list_issues', { ...READS, description: 'List the issues of a repository' }),
    tool('whoami', READS),
  ],
}

const MAIL: Script = { tools: [tool('send_mail', { description: 'Send a mail' })] }

const RESULT = { content: [{ type: 'text', text: 'done' }], structuredContent: { a: 1 } }

const SEARCH = { expose: { mode: 'search' } } as const satisfies Partial<ToolExposureOptions>

const start = async (options: WorldOptions = {}, about: Parameters<World['client']>[0] = {}) => {
  const world = new World({ gh: GH, mail: MAIL }, { toolExposure: SEARCH, ...options })
  const client = await world.client(about)
  return { world, client, gh: world.server('gh') }
}

interface Result {
  readonly result: { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean }
}

const callOwn = async (client: FakeClient, name: string, args: object | string = {}) => {
  const call = client.call('tools/call', { name, arguments: args })
  for (let turn = 0; turn < 10 && call.ends.length === 0; turn++) await settled()
  const { result } = call.ended as Result
  return { text: result.content.map(({ text }) => text).join('\n'), isError: result.isError === true }
}

const through = async (
  client: FakeClient,
  name: string,
  args?: object | string,
  more: object = {},
): Promise<FakeCall> => {
  const by = 'via' in more ? String(more.via) : 'call_write_tool'
  const call = client.call(
    'tools/call',
    { name: by, arguments: { name, ...(args !== undefined && { arguments: args }) } },
    more,
  )
  await settled()
  return call
}

t.test('a client in search mode always lists five tools', async t => {
  const { world, client, gh } = await start()
  gh.silent.add('tools/list')
  t.same(await client.list('tools/list'), OWN)
  t.same(gh.got('tools/list'), [], 'no server is asked for that')
  t.match(JSON.stringify(await client.get('tools/list')), /tools of the connected servers: gh, mail\. Say/)
  t.same(await (await world.client()).list('tools/list'), OWN)
})

/** More than any client takes. */
const VERY_MANY = Array.from({ length: 600 }, (_, at) => tool(`tool${at}`))

for (const mode of ['search', 'auto'] as const) {
  t.test(`the lists of servers are not indexed before the first search (${mode})`, async t => {
    const noted: unknown[] = []
    const log = { ...silentLogger, warn: (...words: unknown[]) => void noted.push(words) }
    const world = new World(
      { mail: { tools: [...(MAIL.tools ?? []), tool('send_mail'), ...VERY_MANY] } },
      { toolExposure: { expose: { mode } }, log },
    )
    const client = await world.client()
    t.same(await client.list('tools/list'), OWN)
    await world.pass(500, 10)
    t.equal(world.server('mail').got('tools/list').length, 1, 'it was read')
    t.same(await client.list('tools/list'), OWN)
    t.same(noted, [])
    t.match(await callOwn(client, 'find_tools', { query: 'send mail' }), { text: /^5 of 601 tools/ })
    t.match(JSON.stringify(noted), /its name is repeated/)
  })
}

t.test('however many servers there are, the list stays within 700 tokens', async t => {
  const names = Array.from({ length: 300 }, (_, at) => `some-rather-long-name-of-a-server-${at}`)
  const world = new World(Object.fromEntries(names.map(name => [name, { tools: [] }])), {
    toolExposure: SEARCH,
  })
  const { result } = (await (await world.client()).get('tools/list')) as { result: { tools: object[] } }
  const tokens = result.tools.reduce((sum, each) => sum + tokensOfTool(textOf(each)), 0)
  t.ok(tokens > 500 && tokens <= 700, `${tokens} tokens`)
})

t.test('tools are found by plain words, with their arguments', async t => {
  const { client } = await start()
  const found = await callOwn(client, 'find_tools', { query: 'open a pull request' })
  const [head, ...lines] = found.text.split('\n')
  t.match(head, /^\d of 4 tools \(gh/)
  t.same(lines.slice(0, 2), [
    'gh__create_pull_request [write] Create a new pull request. Arguments: owner*, title*, draft',
    `  schema: ${JSON.stringify(PULL_REQUEST)}`,
  ])
  const among = await callOwn(client, 'find_tools', { query: 'mail', also: ['issues'], limit: 2 })
  t.match(among.text, /^2 of 4 tools/)
  t.match(among.text, /gh__list_issues \[read\] List the issues of a repository No arguments\./)
  const one = await callOwn(client, 'find_tools', { query: 'list issues', server: 'mail' })
  t.equal(
    one.text.split('\n')[0],
    'No tool found; try other words, or name the product. Tools by server: gh 3, mail 1',
  )
})

t.test('a tool is found by every word of its name, though its name is shown short', async t => {
  const names = ['change_how_branches_are_called_by_tigers', 'change_how_branches_are_called_by_walruses']
  const world = new World({ forge: { tools: names.map(name => tool(name)) } }, { toolExposure: SEARCH })
  const client = await world.client()
  const { text } = await callOwn(client, 'find_tools', { query: 'walruses' })
  t.match(text, /^1 of 2 tools \(forge\)\nforge__change_how_\w+ /)
})

t.test('invalid arguments of our own tools get an explanation', async t => {
  const { client } = await start()
  for (const [name, args, words] of [
    ['find_tools', {}, 'query: must be text'],
    ['find_tools', { query: 7 }, 'query: must be text'],
    ['find_tools', { query: 'x'.repeat(501) }, 'query: at most 500 characters'],
    ['find_tools', { query: 'x', also: ['1', '2', '3', '4', '5'] }, 'also: at most 4'],
    ['find_tools', { query: 'x', limit: 21 }, 'limit: must be a whole number from 1 to 20'],
    ['find_tools', { query: 'x'.repeat(70_000) }, 'arguments: too long'],
    ['find_tools', '[]', 'arguments: must be an object'],
    [
      'find_tools',
      { query: 'x', server: 'nobody' },
      'server: no server with tools has this name. No tool found; try other words, or name the product. Tools by server: gh 3, mail 1',
    ],
    ['describe_tools', {}, 'names: must be a list of names'],
    ['call_write_tool', {}, 'name: must be text'],
    [
      'call_write_tool',
      { name: 'gh__whoami', arguments: [] },
      'arguments: must be an object, the arguments of the tool',
    ],
    [
      'call_write_tool',
      { name: 'gh__whoami', arguments: '{' },
      'arguments: must be an object, the arguments of the tool',
    ],
    ['read_result', { id: 'r1' }, 'id: this result is no longer kept. Call the tool again.'],
  ] as const)
    t.same(await callOwn(client, name, args), { text: words, isError: true })
})

t.test('tools are described in full by their names', async t => {
  const { client } = await start()
  const { text, isError } = await callOwn(client, 'describe_tools', { names: ['gh__whoami', 'gh__issues'] })
  t.notOk(isError)
  t.equal(
    text,
    [
      'gh__whoami [read]',
      '  schema: {"type":"object"}',
      'Unknown tool: gh__issues. Did you mean gh__list_issues, gh__create_pull_request, gh__whoami? Use the exact name of a result of find_tools.',
    ].join('\n'),
  )
})

t.test('a call is renamed and nothing else: its server sees what it would see of a direct one', async t => {
  const { client, gh } = await start()
  for (const [name, args] of [
    ['gh__create_pull_request', { title: 'x', deep: [1, { a: null }] }],
    ['gh__whoami', undefined],
    ['gh__create_pull_request', '{"title": "as text"}'],
  ] as const) {
    const call = await through(client, name, args)
    const own = name.slice(4)
    const meant = typeof args === 'string' ? (JSON.parse(args) as object) : args
    t.same(gh.last('tools/call').params, { name: own, ...(meant && { arguments: meant }) })
    gh.last('tools/call').answer(RESULT)
    await settled()
    t.same(call.ended, { result: RESULT })
  }
  const raw =
    '{"_meta":{"x":1.0},"arguments":{"arguments":{"big":12345678901234567890},"name":"gh__whoami"},"name":"call_read_tool","arguments":{"name":"mail__send_mail"}}'
  client.call('tools/call', raw)
  await settled()
  t.equal(
    gh.last('tools/call').text,
    '{"_meta":{"x":1.0},"name":"whoami","arguments":{"big":12345678901234567890}}',
  )
})

t.test('progress, cancellation and questions pass as in a direct call', async t => {
  const { client, gh } = await start()
  const call = await through(client, 'gh__whoami', {}, { wantsProgress: true })
  const request = gh.last('tools/call')
  t.ok(request.wantsProgress)
  request.progress(1)
  t.same(call.progresses, [1])
  gh.link.ask('elicitation/create', { message: 'who?', requestedSchema: { type: 'object' } }, request)
  await settled()
  t.equal(client.asked[0]?.during, call, 'on the stream of the call')
  call.cancel('enough')
  t.same(request.cancels, ['enough'])
})

t.test('a question instead of a result is answered by calling once more', async t => {
  const world = new World(
    { gh: { ...GH, revision: '2026-07-28' } },
    { toolExposure: { expose: { mode: 'search' } } },
  )
  const client = await world.client({ revision: '2026-07-28' })
  t.same(await client.list('tools/list'), OWN)
  const first = await through(client, 'gh__whoami', {}, { via: 'call_read_tool' })
  world
    .server('gh')
    .last('tools/call')
    .returns({ q: { method: 'elicitation/create', params: { message: 'who?' } } }, 'mine')
  await settled()
  t.ok(wishOf(first).requestState)
  const second = again(
    first,
    { q: { action: 'decline' } },
    {
      params: { name: 'call_read_tool', arguments: { name: 'gh__whoami', arguments: {} } },
    },
  )
  await settled()
  t.match(world.server('gh').last('tools/call').params, { name: 'whoami', requestState: 'mine' })
  world.server('gh').last('tools/call').answer()
  await settled()
  t.match(second.ended, { result: { content: [] } })
})

t.test('only what its server says is reading goes through call_read_tool', async t => {
  const world = new World(
    {
      a: {
        tools: [
          tool('reads', READS),
          tool('says_nothing'),
          tool('writes', { annotations: { readOnlyHint: false } }),
          tool('get_as_text', { annotations: { readOnlyHint: 'true' } }),
          tool('corrected', READS),
        ],
        showing: {
          tools: {
            allow: undefined,
            deny: [],
            rename: {},
            override: { corrected: { annotations: { readOnlyHint: false } } },
          },
        },
      },
    },
    { toolExposure: SEARCH },
  )
  const client = await world.client()
  for (const name of ['says_nothing', 'writes', 'get_as_text', 'corrected']) {
    const { text, isError } = await callOwn(client, 'call_read_tool', { name: `a__${name}` })
    t.same([text, isError], [`a__${name} may change things: use call_write_tool`, true])
  }
  t.same(world.server('a').got('tools/call'), [])
  await through(client, 'a__reads', {}, { via: 'call_read_tool' })
  await through(client, 'a__reads', {})
  t.equal(world.server('a').got('tools/call').length, 2)
})

t.test('an unknown name gets similar names, and invalid arguments get the schema', async t => {
  const { client, gh } = await start()
  t.same(await callOwn(client, 'call_write_tool', { name: 'gh__pull_request' }), {
    text: 'Unknown tool: gh__pull_request. Did you mean gh__create_pull_request, gh__list_issues, gh__whoami? Use the exact name of a result of find_tools.',
    isError: true,
  })
  for (const [name, meant] of [
    ['gh__list_isues', 'gh__list_issues'],
    ['mail_send__mail', 'mail__send_mail'],
    ['xyzzy', 'gh__'],
  ] as const) {
    const { text } = await callOwn(client, 'call_read_tool', { name })
    t.match(text, `Unknown tool: ${name}. Did you mean ${meant}`)
    t.equal(text.split('__').length - name.split('__').length, 3, 'three are named')
  }
  const call = await through(client, 'gh__whoami', { x: 1 })
  gh.last('tools/call').refuse(-32602, 'no x')
  await settled()
  t.match(call.ended, { code: -32602, message: 'no x\nIts input schema: {"type":"object"}' })
  const other = await through(client, 'gh__whoami', {})
  gh.last('tools/call').refuse(-32000, 'no')
  await settled()
  t.match(other.ended, { code: -32000, message: 'no' })
})

t.test('tools that are not in the list are called by their own names as well', async t => {
  const { client, gh } = await start()
  await client.list('tools/list')
  client.call('tools/call', { name: 'gh__whoami' })
  await settled()
  t.equal(gh.got('tools/call').length, 1)
})

t.test('a client that sees all tools gets none of the search tools', async t => {
  const { client } = await start({ toolExposure: { expose: { mode: 'direct' } } })
  t.same(await client.list('tools/list'), [
    'gh__create_pull_request',
    'gh__list_issues',
    'gh__whoami',
    'mail__send_mail',
  ])
  t.match(await client.get('tools/call', { name: 'find_tools', arguments: { query: 'x' } }), {
    code: -32602,
    message: 'Unknown tool: find_tools',
  })
})

t.test('a server’s tool of such a name is shown with its prefix', async t => {
  const showing = { prefix: false }
  const world = new World(
    { a: { tools: [tool('find_tools'), tool('x')], showing } },
    { toolExposure: { expose: { mode: 'direct' } } },
  )
  t.same(await (await world.client()).list('tools/list'), ['a__find_tools', 'x'])
})

t.test('pins stay in the list, and only their changes are news', async t => {
  const toolExposure = { expose: { mode: 'search', pin: ['gh__who*', 'mail__*'] } } as const
  const { world, client, gh } = await start({ toolExposure })
  t.same(await client.list('tools/list'), [...OWN, 'gh__whoami', 'mail__send_mail'])
  gh.lists.tools = [...(GH.tools ?? []), tool('archive_wiki')]
  gh.link.notice(CHANGED)
  await world.pass(3000, 100)
  t.same(client.heard(CHANGED), [])
  t.match((await callOwn(client, 'find_tools', { query: 'archive the wiki' })).text, /^1 of 5 tools/)
  gh.lists.tools = [tool('whoami', { description: 'new' })]
  gh.link.notice(CHANGED)
  await world.pass(3000, 100)
  t.same(client.heard(CHANGED), [undefined])
})

t.test('a long list of pages is one of few tools', async t => {
  const toolExposure = { expose: { mode: 'search', pin: ['*'] } } as const
  const { client } = await start({ toolExposure, pageSize: 2 })
  t.same(await client.list('tools/list'), [
    ...OWN,
    'gh__create_pull_request',
    'gh__list_issues',
    'gh__whoami',
    'mail__send_mail',
  ])
})

t.test('clients that load tools by need are told which are always needed', async t => {
  const world = new World({ gh: GH }, { toolExposure: { expose: { pin: ['gh__whoami'] } } })
  const client = await world.client({ name: 'claude-code' })
  const { result } = (await client.get('tools/list')) as {
    result: { tools: { name: string; _meta?: object }[] }
  }
  t.same(
    result.tools.map(({ name, _meta }) => [name, _meta]),
    [
      ['gh__create_pull_request', undefined],
      ['gh__list_issues', undefined],
      ['gh__whoami', { 'anthropic/alwaysLoad': true }],
    ],
  )
})

t.test('a session keeps how it is shown tools, and a client without one follows what there is', async t => {
  const toolExposure = { clients: [{ name: 'small*', maxTools: 4, expose: undefined }] }
  const { world, gh } = await start({ toolExposure })
  const session = await world.client({ name: 'small one' })
  const other = await world.client({ name: 'small two', revision: '2026-07-28' })
  t.equal((await session.list('tools/list')).length, 4)
  t.equal((await other.list('tools/list')).length, 4)
  gh.lists.tools = [...(GH.tools ?? []), tool('another')]
  for (const link of gh.links) link.notice(CHANGED)
  await world.pass(3000, 100)
  t.equal((await session.list('tools/list')).length, 5)
  t.same(await other.list('tools/list'), OWN)
  t.same(await (await world.client({ name: 'small three' })).list('tools/list'), OWN)
})

t.test('long results are cut, and read on', async t => {
  const { world, client, gh } = await start({ resultsMax: 1000 })
  const lines = Array.from({ length: 200 }, (_, at) => `line ${at} of it`).join('\n')
  const call = await through(client, 'gh__whoami')
  gh.last('tools/call').answer({
    content: [
      { type: 'text', text: lines },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
    ],
    structuredContent: { lines },
  })
  await settled()
  const { result } = call.ended as { result: { content: { text: string; type: string }[] } }
  const [cut, picture, remark] = result.content
  t.ok(lines.startsWith(`${cut?.text ?? ''}\n`), 'at the end of a line')
  t.equal(picture?.type, 'image')
  t.notOk('structuredContent' in result)
  const [, shown, id, offset] =
    /^\[(\d+) of 2,889 characters\. More: read_result id=(r\w+) offset=(\d+), or/.exec(remark?.text ?? '') ??
    []
  t.equal(shown, offset)
  const rest = await callOwn(client, 'read_result', { id, offset: Number(offset) })
  t.equal(
    `${cut?.text ?? ''}\n${rest.text}`,
    `${lines}\n[${shown ?? ''} to 2,889 of 2,889 characters. That is the end.]`,
  )
  t.match(
    (await callOwn(client, 'read_result', { id, find: 'LINE 150' })).text,
    /line 149 of it\nline 150 of it\nline 151 of it/,
  )
  const stranger = await world.client({ principal: 'person eve' })
  t.match(await callOwn(stranger, 'read_result', { id }), { isError: true })
  await world.pass(600_001)
  t.match(await callOwn(client, 'read_result', { id }), { isError: true })
})

t.test('what a session did not read on goes with it', async t => {
  const { world, client, gh } = await start({ resultsMax: 1000 })
  const call = await through(client, 'gh__whoami')
  gh.last('tools/call').answer({ content: [{ type: 'text', text: 'word\n'.repeat(500) }] })
  await settled()
  const [, id] = /id=(\w+)/.exec(JSON.stringify(call.ended)) ?? []
  const other = await world.client()
  t.match(await callOwn(other, 'read_result', { id }), { isError: false })
  client.leave()
  t.match(await callOwn(other, 'read_result', { id }), { isError: true })
})

t.test('in direct calls results are whole', async t => {
  const { client, gh } = await start({ resultsMax: 1000 })
  const call = client.call('tools/call', { name: 'gh__whoami' })
  await settled()
  gh.last('tools/call').answer({ content: [{ type: 'text', text: 'x'.repeat(5000) }] })
  await settled()
  t.match(call.ended, { result: { content: [{ text: 'x'.repeat(5000) }] } })
})

const MIXED: Script = {
  tools: [tool('get', READS), tool('put'), tool('delete_all'), tool('secret', READS)],
  showing: { tools: { allow: undefined, deny: ['secret'], rename: {}, override: {} } },
}

const spelling = (name: string): fc.Arbitrary<string> =>
  fc
    .constantFrom<(text: string) => string>(
      text => text,
      text => text.toUpperCase(),
      text => ` ${text}`,
      text => `${text} `,
      text => `${text}\u0000`,
      text => text.replace('__', '_'),
      text => text.replace('__', '____'),
      text => text.replace(/^.*__/, ''),
      text => text.replaceAll('e', '\u0435'),
      text => `call_write_tool/${text}`,
      text => text.normalize('NFD'),
    )
    .map(change => change(name))

const escaped = (text: string): string =>
  `"${[...text].map(char => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`).join('')}"`

void holds(
  t,
  'no call reaches a tool that a view or its server hides, by any spelling, directly or through our tools',
  fc.asyncProperty(
    fc.record({
      servers: fc.option(fc.subarray(['a', 'b*', 'c']), { nil: undefined }),
      allow: fc.option(fc.subarray(['a__*', '*get', 'b__put', 'c__delete_all']), { nil: undefined }),
      deny: fc.subarray(['*delete*', 'b__*', 'a__put']),
      onlyReads: fc.boolean(),
    }),
    fc
      .constantFrom('a', 'b', 'c')
      .chain(server =>
        fc.constantFrom('get', 'put', 'delete_all', 'secret').chain(own => spelling(`${server}__${own}`)),
      ),
    fc.constantFrom('direct', 'call_read_tool', 'call_write_tool', 'nested', 'escaped'),
    async ({ servers, allow, deny, onlyReads }, name, way) => {
      const rules = {
        ...{ name: 'v', servers, tags: undefined, tools: { allow, deny }, resources: true, prompts: true },
        ...{ annotations: onlyReads ? { readOnlyHint: true } : {}, scopes: [] },
      }
      const views = new Views({ views: [rules], clients: [] })
      const world = new World({ a: MIXED, b: MIXED, c: MIXED }, { toolExposure: SEARCH, views })
      const client = await world.client({ view: 'v' })
      const inner = JSON.stringify(name)
      const params = {
        direct: `{"name":${inner}}`,
        call_read_tool: `{"name":"call_read_tool","arguments":{"name":${inner}}}`,
        call_write_tool: `{"name":"call_write_tool","arguments":{"name":${inner},"arguments":"{}"}}`,
        nested: `{"name":"call_write_tool","arguments":{"name":"call_write_tool","arguments":{"name":${inner}}}}`,
        escaped: `{"name":"call\\u005fwrite_tool","arguments":{"\\u006eame":${escaped(name)},"name":"a__get"}}`,
      }
      client.call('tools/call', params[way])
      for (let turn = 0; turn < 4; turn++) await settled()
      const view = views.named('v')
      for (const server of world.servers) {
        for (const request of server.got('tools/call')) {
          const { name: own } = request.params as { name: string }
          const exposed = `${server.name}__${own}`
          const isSeen =
            view?.hasServer({ name: server.name, tags: [] }) === true &&
            view.namesTool(exposed) &&
            own !== 'secret' &&
            (!onlyReads || own === 'get')
          if (!isSeen) throw new Error(`${exposed} was called`)
          if (way === 'call_read_tool' && own !== 'get') throw new Error(`${exposed} was read`)
        }
      }
      await world.router.close()
    },
  ),
  runs(300).numRuns,
)

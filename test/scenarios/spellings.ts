import fc from 'fast-check'
import t, { type Test } from 'tap'
import { aliasOf, exposedName } from '../../src/catalog/names/names.js'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { hello } from '../support/era/codec.js'
import { holds, runs } from '../support/property.js'
import { JSON_HEADERS, startAuthorized } from '../support/proxy/authorized.js'
import { FakeIssuer } from '../support/server/fake-issuer.js'
import { startListing } from '../support/server/listing-server.js'

// Nothing that a view, a server's own rules or a scope hides is reached over HTTP, however it is spelt.

/** The address of the whole proxy, for which tokens of an issuer are. */
const PUBLIC = 'https://p.test'
const SCOPES = {
  alice: ['mcp'],
  bob: ['mcp', 'github', 'vip'],
  // Those whose tokens an issuer signs.
  carol: ['mcp'],
  dave: ['mcp', 'github'],
}
type Person = keyof typeof SCOPES
const PEOPLE = ['alice', 'bob', 'carol', 'dave'] as const satisfies readonly Person[]

/** A credential for each, and the `auth` that lets them in. */
const credentials = async (t: Test) => {
  const issuer = await FakeIssuer.start(t)
  const signed = (sub: 'carol' | 'dave'): Promise<string> =>
    issuer.sign(PUBLIC, { claims: { sub, scope: SCOPES[sub].join(' ') } })
  const [alice, bob] = [createPersonalToken(), createPersonalToken()]
  const person = (name: Person, token: string) => ({
    tokens: [{ hash: `sha256:${tokenHash(token)}` }],
    scopes: SCOPES[name],
  })
  const people = { alice: person('alice', alice), bob: person('bob', bob) }
  const auth = { publicUrl: PUBLIC, people, issuers: [{ issuer: issuer.issuer }] }
  return { auth, tokens: { alice, bob, carol: await signed('carol'), dave: await signed('dave') } }
}

const LONG = `read_${'a_rather_long_name_of_a_tool_'.repeat(3)}`
const READS = { annotations: { readOnlyHint: true } }
const schema = { inputSchema: { type: 'object' } }
const LISTS = {
  tools: [
    { name: 'get', ...READS, ...schema },
    { name: 'put', ...schema },
    { name: 'admin_all', ...schema },
    { name: 'secret', ...READS, ...schema },
    { name: 'old', ...schema },
    { name: LONG, ...READS, ...schema },
  ],
  prompts: [{ name: 'greet', arguments: [{ name: 'who' }] }],
  resources: [{ uri: 'memo://one/Ä?x=1', name: 'one' }],
  resourceTemplates: [{ uriTemplate: 'memo://{any}', name: 'any' }],
}

const SERVERS = ['gh', 'open', 'my_box'] as const
type ServerName = (typeof SERVERS)[number]

/** What a server's own rules leave out, and which tool goes by another name. */
const RULES = { tools: { deny: ['secret'], rename: { old: 'fresh' } } }
const ACCESS = { gh: { access: { see: ['github'], call: { 'admin*': ['github:admin'] } } } }

const HIDING = { servers: ['gh', 'open'], tools: { deny: ['open__put', 'open__fresh', '*a_rather*'] } }
const VIEWS = {
  web: { ...HIDING, prompts: false, resources: false },
  search: { ...HIDING, prompts: false, resources: false, expose: 'search' },
  all: { expose: 'search' },
  vip: { scopes: ['vip'] },
}
type ViewName = '' | keyof typeof VIEWS

interface Heard {
  readonly server: ServerName
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

const isAllowed = (person: Person, view: ViewName, { server, method, params }: Heard): boolean => {
  if (server === 'gh' && !SCOPES[person].includes('github')) return false
  const hides = view === 'web' || view === 'search'
  if (hides && server === 'my_box') return false
  if (method !== 'tools/call') return !hides
  const own = String(params['name'])
  if (own === 'secret' || (own === 'admin_all' && server === 'gh')) return false
  return !hides || (own !== LONG && !(server === 'open' && (own === 'put' || own === 'old')))
}

const ASKED = new Set([
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
])

const start = async (t: Test) => {
  const heard: Heard[] = []
  const mcpServers: Record<string, object> = {}
  for (const server of SERVERS) {
    const hears = (method: string, params: Heard['params']): void => {
      if (ASKED.has(method)) heard.push({ server, method, params })
    }
    const entry = await startListing(t, LISTS, undefined, hears)
    mcpServers[server] = { ...entry, ...RULES, ...(server === 'gh' && ACCESS.gh) }
  }
  const options = { more: { mcpServers, views: VIEWS }, listWaitMs: 10_000 }
  const { auth, tokens } = await credentials(t)
  const { ask } = await startAuthorized(t, auth, options)
  const post = (path: string, person: Person, body: string, session?: string) =>
    ask(path, {
      method: 'POST',
      headers: {
        ...JSON_HEADERS,
        authorization: `Bearer ${tokens[person]}`,
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body,
    })
  const greet = (path: string, person: Person) => {
    // The only revision with batches.
    const params = hello('2025-03-26')
    return post(path, person, JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  }
  const sessions = new Map<string, Promise<string>>()
  const join = (person: Person, view: ViewName): Promise<string> => {
    const key = `${person} ${view}`
    const open = async (): Promise<string> => {
      const id = String((await greet(pathOf(view), person)).headers['mcp-session-id'])
      await post(pathOf(view), person, '{"jsonrpc":"2.0","method":"notifications/initialized"}', id)
      await post(pathOf(view), person, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', id)
      return id
    }
    const session = sessions.get(key) ?? open()
    sessions.set(key, session)
    return session
  }
  return { heard, post, greet, join }
}

const pathOf = (view: ViewName): string => (view === '' ? '/mcp' : `/mcp/${view}`)

const CHANGES: readonly ((text: string) => string)[] = [
  text => text,
  text => text.toUpperCase(),
  text => text.replace(/^./, first => first.toUpperCase()),
  text => ` ${text}`,
  text => `${text}\n`,
  text => `${text}\u0000`,
  text => `\ufeff${text}`,
  text => text.replace('_', '\uff3f'),
  text => text.replace('e', '\u0435'),
  text => text.normalize('NFD'),
  text => text.normalize('NFKC'),
  text => text.replace('__', '_'),
  text => text.replace('__', '.'),
  text => text.replace('__', '/'),
  text => text.replace('_', '-'),
  text => text.replace(/^.*?__/, ''),
  text => text.replace(/^([a-z_]+?)__/, '$1__$1__'),
  text => text.replace(/^[^+]*\+/, ''),
  text => text.replace('+', '%2B'),
  text => text.replace('://', '%3A//'),
  text => text.replace('://', ':///../'),
  text => text.slice(0, 46),
  text => `${text.slice(0, 39)}_aaaaaa`,
  text => encodeURIComponent(text),
  text => [...text].map(char => `%${(char.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`).join(''),
  text => `call_write_tool__${text}`,
  text => `open__${text}`,
]

const spelt = (names: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...names), fc.array(fc.constantFrom(...CHANGES), { minLength: 0, maxLength: 2 }))
    .map(([name, changes]) => changes.reduce((text, change) => change(text), name))

// With the names that clients see of long ones: 39 characters and a hash (`catalog/names`).
const shownLong = SERVERS.flatMap(server => [
  `${server}__${LONG}`,
  exposedName(aliasOf(server, undefined), LONG),
])
const tools = SERVERS.flatMap(server =>
  ['get', 'put', 'admin_all', 'secret', 'old', 'fresh'].map(own => `${server}__${own}`),
)
const uris = SERVERS.flatMap(server => {
  const alias = server.replace('_', '.')
  return [`${alias}+memo://one/Ä?x=1`, `${alias}+memo://two`]
})

const escaped = (text: string): string =>
  `"${[...text].map(char => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`).join('')}"`

const called = (params: string): string => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`
const asked = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })

const TOOL_WAYS: readonly ((name: string) => string)[] = [
  name => called(`{"name":${JSON.stringify(name)}}`),
  name => called(`{"name":${escaped(name)},"arguments":{}}`),
  name => called(`{"name":"open__get","name":${JSON.stringify(name)}}`),
  name => called(`{"name":"call_read_tool","arguments":{"name":${JSON.stringify(name)}}}`),
  name =>
    called(
      `{"name":"call_write_tool","arguments":{"name":${JSON.stringify(name)},"arguments":"{\\"a\\":1}"}}`,
    ),
  name =>
    called(`{"name":"call\\u005fwrite_tool","arguments":{"name":"open__get","\\u006eame":${escaped(name)}}}`),
  name =>
    called(
      `{"name":"call_write_tool","arguments":{"name":"call_write_tool","arguments":{"name":${JSON.stringify(name)}}}}`,
    ),
]

const OTHER_WAYS: readonly ((name: string) => string)[] = [
  uri => asked('resources/read', { uri }),
  uri => asked('resources/subscribe', { uri }),
  uri =>
    asked('completion/complete', {
      ref: { type: 'ref/resource', uri },
      argument: { name: 'any', value: '' },
    }),
  name => asked('prompts/get', { name }),
  name =>
    asked('completion/complete', { ref: { type: 'ref/prompt', name }, argument: { name: 'who', value: '' } }),
]

const questions = fc.oneof(
  fc.tuple(spelt([...tools, ...shownLong]), fc.constantFrom(...TOOL_WAYS)),
  fc.tuple(spelt([...uris, ...SERVERS.map(server => `${server}__greet`)]), fc.constantFrom(...OTHER_WAYS)),
)

t.setTimeout(240_000)
t.test('visible names are reachable, and hidden ones are not', async t => {
  const { heard, post, join } = await start(t)
  const reaches = async (person: Person, view: ViewName, body: string): Promise<number> => {
    const before = heard.length
    await post(pathOf(view), person, body, await join(person, view))
    return heard.length - before
  }
  const [direct, , , , through] = TOOL_WAYS
  t.equal(await reaches('alice', '', direct?.('open__put') ?? ''), 1)
  t.equal(await reaches('alice', 'web', direct?.('open__put') ?? ''), 0)
  t.equal(await reaches('alice', 'all', through?.('open__put') ?? ''), 1)
  t.equal(await reaches('alice', 'search', through?.('open__put') ?? ''), 0)
  t.equal(await reaches('alice', 'all', through?.('gh__get') ?? ''), 0)
  t.equal(await reaches('bob', 'all', through?.('gh__get') ?? ''), 1)
  t.equal(await reaches('bob', 'all', through?.('gh__admin_all') ?? ''), 0)
  t.equal(await reaches('carol', 'all', through?.('gh__get') ?? ''), 0, 'nor with a token of an issuer')
  t.equal(await reaches('dave', 'all', through?.('gh__get') ?? ''), 1)
  const long = exposedName('open', LONG)
  t.equal(long.length, 46)
  t.equal(await reaches('alice', 'all', through?.(long) ?? ''), 1, 'by the name that clients see')
  t.equal(await reaches('alice', 'web', direct?.(long) ?? ''), 0)
  t.equal(await reaches('alice', 'search', through?.(long) ?? ''), 0)
  for (const way of OTHER_WAYS.slice(0, 2)) {
    t.equal(await reaches('bob', '', way('my.box+memo://two')), 1)
    t.equal(await reaches('bob', 'search', way('my.box+memo://two')), 0)
  }
})

t.test('a call through call_write_tool that needs more scopes is 403, also in a batch', async t => {
  const { heard, post, join } = await start(t)
  const session = await join('bob', 'all')
  const send = (body: string) => post('/mcp/all', 'bob', body, session)
  const hidden = called('{"name":"call_write_tool","arguments":{"name":"gh__admin_all"}}')
  const fine = called('{"name":"call_write_tool","arguments":{"name":"open__get"}}')
  for (const body of [hidden, `[${hidden}]`, `[${fine.replace('7', '8')},${hidden}]`]) {
    const refused = await send(body)
    t.equal(refused.status, 403)
    t.match(String(refused.headers['www-authenticate']), /insufficient_scope.*scope="github:admin"/)
  }
  t.same(heard, [])
  t.equal((await send(`[${fine}]`)).status, 200)
  t.equal(heard.length, 1)
})

t.test('an odd spelling of the path of a view is no way into another', async t => {
  const { post, greet } = await start(t)
  const paths = [
    ...['/mcp/%77eb', '/mcp/WEB', '/mcp/web/', '/mcp//web', '//mcp/web', '/mcp/./web', '/mcp/x/../web'],
    ...[
      '/mcp/..',
      '/mcp/web/..',
      '/mcp/web/../',
      '/mcp/web%2f..',
      '/mcp/web;x',
      '/mcp/web%00',
      '/mcp/web%20',
    ],
    ...[
      '/mcp/web\\..',
      '/mcp/ｗｅｂ'.normalize('NFKC').toUpperCase(),
      '/MCP',
      '/mcp//',
      '/mcp/%76ip',
      '/mcp/vip',
    ],
    ...['/mcp/vip?x', '/mcp/web?view=all', '/mcp/web?/../vip', '/mcp/web#vip', '/mcp;/vip', '/mcp%2fvip'],
  ]
  for (const path of paths) {
    const { status, headers } = await greet(path, 'alice')
    if (status !== 200) {
      t.ok([400, 403, 404].includes(status), `${path} ${status}`)
      continue
    }
    const session = String(headers['mcp-session-id'])
    await post(path, 'alice', '{"jsonrpc":"2.0","method":"notifications/initialized"}', session)
    const list = await post(path, 'alice', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', session)
    t.match(path, /^\/mcp\/web(?:[?#]|\/$)/, 'the path is that of the view')
    t.notMatch(list.text, /open__put|my_box/, path)
  }
})

t.test('a session of one view is invalid at the address of another', async t => {
  const { heard, post, join } = await start(t)
  const session = await join('bob', 'web')
  for (const path of ['/mcp', '/mcp/all', '/mcp/vip'])
    t.equal((await post(path, 'bob', called('{"name":"open__put"}'), session)).status, 404)
  t.equal((await post('/mcp/web', 'alice', called('{"name":"open__get"}'), session)).status, 404)
  t.same(heard, [])
})

void t.test('no spelling reaches what is hidden', async t => {
  const { heard, post, join } = await start(t)
  await holds(
    t,
    'whoever asks, in whatever view, by whatever way',
    fc.asyncProperty(
      fc.constantFrom<Person>(...PEOPLE),
      fc.constantFrom<ViewName>('', 'web', 'search', 'all'),
      questions,
      fc.boolean(),
      async (person, view, [name, way], inBatch) => {
        const session = await join(person, view)
        heard.length = 0
        const body = way(name)
        await post(pathOf(view), person, inBatch ? `[${body}]` : body, session)
        for (const each of heard)
          if (!isAllowed(person, view, each)) throw new Error(`reached ${JSON.stringify(each)}`)
      },
    ),
    runs(1500).numRuns,
  )
})

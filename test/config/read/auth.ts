import { createHash } from 'node:crypto'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { secretsOf } from '../../../src/config/read/secrets.js'

const hash = (fill: string): string => fill.repeat(64)
const ENV = { CI_TOKEN: 'mcpp_secret', SECRET: 'hunter2hunter2', URL: 'https://mcp.example.com' }

const read = (auth: unknown, more: object = {}) =>
  parseConfig(JSON.stringify({ auth, mcpServers: { a: { command: 'x' } }, ...more }), '/f/mcp.json', ENV)
const problems = (auth: unknown, more: object = {}): unknown[] =>
  read(auth, more).problems.map(({ severity, key, message }) => [severity, key, message])

t.test('people, issuers and the embedded server are read, with their defaults', async t => {
  const { config, problems } = read({
    publicUrl: '${URL}',
    people: {
      alice: { tokens: [{ name: 'laptop', hash: `sha256:${hash('A')}`, expires: '2027-06-30' }] },
      ci: { tokens: [{ token: '${CI_TOKEN}' }], scopes: ['mcp', 'github'] },
    },
    issuers: [
      { issuer: 'https://login.example.com', introspection: { clientId: 'p', clientSecret: '${SECRET}' } },
    ],
    embedded: true,
    grants: [{ group: 'developers', scopes: ['mcp'] }],
    scopeImplies: { 'github:admin': ['github'] },
  })
  t.same(problems, [])
  const auth = config?.auth
  t.equal(auth?.publicUrl, 'https://mcp.example.com')
  t.same([auth?.loopback, auth?.baseScope], ['token', 'mcp'])
  const end = Date.UTC(2027, 6, 1)
  t.same(auth?.people[0]?.tokens, [{ name: 'laptop', sha256: hash('a'), expiresMs: end }])
  const sha256 = createHash('sha256').update('mcpp_secret').digest('hex')
  t.same(auth?.people[1]?.tokens, [{ name: 'token 1', sha256, expiresMs: Number.POSITIVE_INFINITY }])
  t.match(auth?.issuers, [{ issuer: 'https://login.example.com', audience: undefined, allowHttp: false }])
  t.match(auth?.embedded, {
    registration: 'open',
    privateRedirects: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    login: undefined,
  })
  t.ok(config && secretsOf(config).includes('hunter2hunter2'), 'what stands in a variable is masked')
})

t.test('without auth no credential is needed, and embedded: false disables the server', async t => {
  t.equal(read(undefined).config?.auth, undefined)
  const { config } = read({ embedded: false, people: { a: { tokens: [{ hash: `sha256:${hash('1')}` }] } } })
  t.equal(config?.auth?.embedded, undefined)
})

t.test('a mistake in auth makes the file unusable, and never means that it is off', async t => {
  const token = { hash: `sha256:${hash('1')}` }
  const people = { alice: { tokens: [token] } }
  const rows: readonly (readonly [unknown, readonly (readonly string[])[]])[] = [
    [null, [['auth', 'expected an object, found null']]],
    [{ people, loopbak: 'open' }, [['auth.loopbak', 'unknown key']]],
    [{ people, loopback: 'off' }, [['auth.loopback', 'this value is not allowed here']]],
    [
      { people: { alice: { tokens: [{}] } } },
      [['auth.people.alice.tokens.0', 'a token needs either "hash" or "token"']],
    ],
    [{ people: { alice: { tokens: [token], scope: [] } } }, [['auth.people.alice.scope', 'unknown key']]],
    [
      { people: { alice: { tokens: [{ ...token, expires: 'soon' }] } } },
      [['auth.people.alice.tokens.0.expires', 'this is neither a day nor a time']],
    ],
    [
      { people: { alice: { tokens: [token] }, bob: { tokens: [token] } } },
      [['auth.people.bob.tokens.0', 'this token already belongs to alice']],
    ],
    ...['/x?', '/x#y', '/a//b', '/../x', '/a/%2e%2e/b', '/a b', '/ä', '//'].map(
      path =>
        [
          { people, publicUrl: `https://p.test${path}` },
          [['auth.publicUrl', 'this must be only scheme, host and port']],
        ] as const,
    ),
    [
      { people, publicUrl: '${GONE}' },
      [
        ['auth.publicUrl', 'the variable GONE is not set'],
        ['auth.publicUrl', 'this must be only scheme, host and port'],
      ],
    ],
    [
      { issuers: [{ issuer: 'http://login.example.com' }] },
      [['auth.issuers.0.issuer', 'this address does not use TLS']],
    ],
    [
      { issuers: [{ issuer: 'https://i.test' }, { issuer: 'https://i.test' }] },
      [['auth.issuers.1.issuer', 'this issuer is already in the list']],
    ],
    [
      { embedded: { clients: { nightly: { hash: token.hash, jwks: 'x' } } } },
      [['auth.embedded.clients.nightly', 'a client needs either "hash", "secret" or "jwks"']],
    ],
    [
      { people, loopback: 'open', publicUrl: 'https://p.test' },
      [['auth.loopback', 'behind a reverse proxy on this machine, all requests come from loopback']],
    ],
    [
      { embedded: true, publicUrl: 'http://192.0.2.7:8808' },
      [['auth.publicUrl', 'the embedded authorization server needs https']],
    ],
    [{ people, baseScope: 'a b' }, [['auth.baseScope', 'this string does not have the right form']]],
  ]
  for (const [auth, wanted] of rows) {
    const { config } = read(auth)
    t.equal(config, undefined, JSON.stringify(auth))
    t.same(
      problems(auth),
      wanted.map(each => ['error', ...each]),
      JSON.stringify(auth),
    )
  }
})

t.test('a key that looks like auth is an error, a remark is not', async t => {
  t.equal(read(undefined, { auht: {} }).config, undefined)
  t.ok(read(undefined, { _auth: {}, 'x-auth': {}, audit: 'off' }).config)
})

t.test('plain-text secrets, and an auth without any token, cause warnings', async t => {
  t.same(problems({ people: { ci: { tokens: [{ token: 'mcpp_x' }] } } }), [
    ['warning', 'auth.people.ci.tokens.0.token', 'this secret is in plain text'],
  ])
  const introspection = { clientId: 'p', clientSecret: '${SECRET}' }
  const issuers = (...tokens: (string | undefined)[]) => ({
    issuers: tokens.map((each, at) => ({
      issuer: `https://${at}.test`,
      introspection: { ...introspection, ...(each !== undefined && { tokens: each }) },
    })),
  })
  const words = 'several issuers are asked about the same tokens, so each sees tokens of the others'
  t.same(
    problems(issuers(undefined, undefined)),
    [0, 1].map(at => ['warning', `auth.issuers.${at}.introspection`, words]),
  )
  for (const tokens of [[undefined], ['a_', 'b_'], ['a_', undefined]])
    t.same(problems(issuers(...tokens)), [])
  t.same(problems({}), [['warning', 'auth', 'no token is configured, so every request is refused']])
  const short = 'this secret has fewer than 24 characters and may be guessed'
  const clients = (secret: string) => ({ embedded: { clients: { nightly: { secret } } } })
  const at = 'auth.embedded.clients.nightly.secret'
  t.same(problems(clients('${SECRET}')), [['warning', at, short]], 'the value of a variable counts')
  t.same(problems(clients('${URL}/')), [])
  t.same(problems(clients('x'.repeat(23))), [
    ['warning', at, 'this secret is in plain text'],
    ['warning', at, short],
  ])
  t.match(problems(clients('${GONE}')), [['error', at]], 'nothing is known of one that is not set')
})

t.test('a mistake in the access of a server leaves that server out, and no other', async t => {
  const access = (a: object) =>
    parseConfig(
      JSON.stringify({ mcpServers: { a: { command: 'x', access: a }, b: { command: 'x' } } }),
      'f',
      ENV,
    )
  t.same(
    access({ sea: ['github'] }).config?.servers.map(({ name }) => name),
    ['b'],
  )
  t.same(access({ see: ['github'], call: { 'delete_*': ['admin'] } }).config?.servers[0]?.access, {
    see: ['github'],
    call: [['delete_*', ['admin']]],
  })
})

t.test('publicUrl may have a path, and gets the path of listen if it has none', t => {
  const people = { alice: { tokens: [{ hash: `sha256:${'1'.repeat(64)}` }] } }
  const read = (publicUrl: string, path?: string) => {
    const listen = { ...(path !== undefined && { path }) }
    const text = JSON.stringify({ mcpServers: {}, listen, auth: { publicUrl, people } })
    const { config, problems } = parseConfig(text, '/etc/mcp.json', {})
    t.notOk(problems.some(({ severity }) => severity === 'error'))
    return config?.auth?.publicUrl
  }
  t.equal(read('https://p.test/tools'), 'https://p.test/tools')
  t.equal(read('https://p.test/tools/'), 'https://p.test/tools')
  t.equal(read('https://p.test:8443/a/b.c'), 'https://p.test:8443/a/b.c')
  t.equal(read('https://p.test', '/tools'), 'https://p.test/tools')
  t.equal(read('https://p.test/x', '/tools'), 'https://p.test/x')
  t.end()
})

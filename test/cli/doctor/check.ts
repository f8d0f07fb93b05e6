import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t from 'tap'
import { configFile, runHere, tiny } from '../../support/proxy/start.js'

const SECRETS = /s3cret|hunter2/

t.test('check leaves out prefix and sharing where every server has the defaults', async t => {
  const file = configFile(t, { one: { command: 'node' }, near: { url: 'unix:///run/mcp.sock' } })
  const { out } = await runHere(t, 'check', '--config', file)
  t.match(out, /^NAME +TRANSPORT +COMMAND OR URL\none +stdio +node\nnear +socket +unix:/m)
})

t.test('check shows what a good file amounts to, without its secrets', async t => {
  const file = configFile(t, {
    'my server': { command: 'node', args: ['a.js', '--token', 's3cret'], env: { KEY: 's3cret' } },
    plain: { command: '/opt/s3cret/run', args: ['s3cret'] },
    web: { url: 'https://user:hunter2@example.com/mcp?key=s3cret', prefix: false },
    near: { url: 'unix:///run/mcp.sock' },
    off: { command: 'x', disabled: true },
  })
  const { code, out, err } = await runHere(t, 'check', '--config', file)
  t.equal(code, 0)
  t.match(out, /^NAME +TRANSPORT +PREFIX +SHARING +COMMAND OR URL\n/m)
  t.match(out, /^my server +stdio +my-server-[a-z2-7]{6}__ +principal +node a\.js --token \*\*\*$/m)
  t.match(out, /^plain +stdio +plain__ +principal +\/opt\/\*\*\*\/run \*\*\*$/m, 'wherever they stand')
  t.match(out, /^web +auto +\(none\) +session +https:\/\/\*\*\*@example\.com\/mcp\?\*\*\*$/m)
  t.match(out, /^near +socket +near__ +session +unix:\/\/\/run\/mcp\.sock$/m)
  t.match(out, /^off +\(disabled\)$/m)
  t.notMatch(out + err, SECRETS)
  t.match(out, /^warning +D013: my server\.env\.KEY holds a secret; mcp-proxy doctor --fix --only D013$/m)
  t.match(out, /^warning +D013: web\.url holds a secret; /m)
  t.match(err, /^4 servers, 0 errors, [34] warnings\n$/, 'with one for rights where files have them')
})

t.test('check lists the variables of envFile and the servers that inherit all, without values', async t => {
  const entry = { command: 'node', envFile: 'a.env', inheritEnv: true }
  const file = configFile(t, { one: entry, two: { command: 'node' } })
  const path = join(dirname(file), 'a.env')
  writeFileSync(path, 'A=s3cret\nB=hunter2\n')
  const { code, out } = await runHere(t, 'check', '--config', file)
  t.match(out, `one reads ${path}: A, B\none inherits the whole environment of the proxy\n`)
  const json = await runHere(t, 'check', '--json', '--config', file)
  t.same(JSON.parse(json.out).environment, {
    one: { envFile: path, variables: ['A', 'B'], inheritEnv: true },
  })
  t.equal(code, 0)
  t.notMatch(out + json.out, SECRETS)
})

t.test('check can be read by programs', async t => {
  const file = configFile(t, { web: { url: 'https://example.com/?key=s3cret' }, bad: { url: 'nonsense' } })
  const { code, out } = await runHere(t, 'check', '--config', file, '--json')
  t.match(
    [code, JSON.parse(out)],
    [
      1,
      {
        version: 1,
        ok: false,
        servers: ['web'],
        disabled: [{ name: 'bad' }],
        problems: [{ severity: 'error', key: 'mcpServers.bad.url' }],
        checks: [{ id: /^D01/, level: 'warn' }],
      },
    ],
  )
  t.notMatch(out, SECRETS)
})

t.test('check tells where an error is and how to fix it, and ends with 1', async t => {
  const file = join(t.testdir(), 'mcp.json')
  writeFileSync(
    file,
    '{\n  "mcpServers": {\n    "bad": { "url": "nonsense" },\n    "good": { "command": "node" }\n  }\n}\n',
  )
  const { code, out, err } = await runHere(t, 'check', '--config', file)
  t.equal(code, 1)
  t.match(
    out,
    `${file}:3:21: error: mcpServers.bad.url: this is not the address of a server. Write a whole address`,
  )
  t.match(out, /^good +stdio/m)
  t.match(out, /^bad +\(invalid\)$/m)
  t.match(err, '1 server, 1 error,')
})

t.test('check lists the accepted kinds of tokens, without any token', async t => {
  const hash = `sha256:${'0'.repeat(64)}`
  const people = {
    alice: { tokens: [{ name: 'laptop', hash, expires: '2020-01-01' }], scopes: ['mcp', 'github'] },
    ci: { tokens: [{ token: '${CHECK_CI_TOKEN}' }] },
  }
  process.env['CHECK_CI_TOKEN'] = 'aVerySecretToken1234'
  const issuers = [{ issuer: 'https://login.example.com' }]
  const auth = { publicUrl: 'http://192.0.2.1', people, issuers }
  const { code, out } = await runHere(t, 'check', '--config', configFile(t, { one: tiny() }, { auth }))
  t.equal(code, 0)
  t.match(out, /^auth at http:\/\/192\.0\.2\.1; every token needs the scope mcp$/m)
  t.match(out, /^ {2}tokens travel unencrypted: put TLS in front/m)
  t.match(out, /^ {2}alice, laptop \(ended 2020-01-02T00:00:00.000Z\): mcp github$/m)
  t.match(out, /^ {2}ci, token 1 \(no end\): mcp$/m)
  t.match(out, /^ {2}https:\/\/login\.example\.com: signed tokens$/m)
  t.notMatch(out, /aVerySecretToken1234|0{64}/)
})

t.test(
  'check reports whether users can sign in at the identity provider, and the redirect URI to register',
  async t => {
    const idp = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ issuer, authorization_endpoint: `${issuer}/authorize` }))
    })
    await new Promise<void>(resolve => idp.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(idp.address() as AddressInfo).port}`
    const login = { issuer, clientId: 'p' }
    const auth = { publicUrl: 'https://mcp.example.com', embedded: { login } }
    const file = configFile(t, { one: tiny() }, { auth })
    const there = await runHere(t, 'check', '--config', file)
    const known = `auth.embedded.login: ${issuer}`
    const register = 'register there: https://mcp.example.com/oauth/callback'
    t.match(there, { code: 0, out: `ok  ${known} answers; ${register}\n` })
    await new Promise(resolve => {
      idp.close(resolve)
      idp.closeAllConnections()
    })
    const gone = await runHere(t, 'check', '--config', file)
    t.equal(gone.code, 0)
    t.match(gone.out, `warning  ${known} does not answer`)
    t.match(gone.out, register)
  },
)

t.test('check of a file that cannot be read ends with 3', async t => {
  const { code, out } = await runHere(t, 'check', '--config', '/nowhere/mcp.json')
  t.equal(code, 3)
  t.match(out, '/nowhere/mcp.json: error: there is no such file')
  t.match(await runHere(t, 'check', '--config', t.testdir()), { code: 3, out: /this is a folder/ })
})

t.test('check reports everything that serve refuses to start with, its place, and the fix', async t => {
  const clients = { nightly: { jwks: 'none.json' } }
  const tls = { cert: 'none.pem', key: 'none.pem', ca: 'none.pem' }
  const cluster = { url: 'redis://127.0.0.1:1', keys: [Buffer.alloc(32).toString('base64')] }
  const peer = { listen: '127.0.0.1:0', tls }
  for (const [key, settings, words] of [
    ['listen.host', { listen: { host: '0.0.0.0', port: 0 } }, 'can be reached from other machines'],
    [
      'listen.host',
      { listen: { host: '10.1.2.3', port: 0 }, auth: { embedded: true } },
      'can be reached from other machines',
    ],
    ['listen.socket', { listen: { port: 0, socket: '/none/here.sock' } }, 'cannot write to /none'],
    ['listen.socket', { listen: { port: 0, socket: `/tmp/${'s'.repeat(200)}` } }, 'too long'],
    ['audit', { listen: { port: 0 }, audit: 'none/audit.jsonl' }, 'cannot write to'],
    ['audit', { listen: { port: 0 }, audit: '.' }, 'is a folder'],
    ['audit', { listen: { port: 0 }, audit: { to: 'x'.repeat(300) } }, 'ENAMETOOLONG'],
    ['auth.embedded.clients.nightly.jwks', { auth: { embedded: { clients } } }, 'not a JSON Web Key Set'],
    ['cluster.peer.tls', { cluster: { ...cluster, peer } }, 'cannot be read'],
  ] as const) {
    const file = configFile(t, { one: tiny() }, settings)
    const { code, out } = await runHere(t, 'check', '--config', file, '--json')
    const problem = { severity: 'error', key, message: words, fix: /\.$/, line: Number }
    const { problems } = JSON.parse(out) as { problems: { severity: string; line: number }[] }
    const [error] = problems.filter(({ severity }) => severity === 'error')
    t.match(error, problem, key)
    t.ok((error?.line ?? 0) > 0)
    t.equal(code, 1)
  }
})

t.test('check reports keys of a client that no authorization server can use', async t => {
  for (const keys of [[{ kty: 'XYZ', x: 'AA' }], [{}], [{ kty: 'oct', k: 'AA' }]]) {
    const jwks = join(t.testdir({ 'keys.json': JSON.stringify({ keys }) }), 'keys.json')
    const file = configFile(t, { one: tiny() }, { auth: { embedded: { clients: { nightly: { jwks } } } } })
    const { code, out } = await runHere(t, 'check', '--config', file)
    t.equal(code, 1)
    t.match(out, /auth\.embedded\.clients\.nightly\.jwks/)
  }
})

t.test('check reports empty patterns and names in every section', async t => {
  for (const [section, value] of Object.entries({
    clients: { '': { maxTools: 1 } },
    expose: { pin: [''] },
    views: { v: { servers: [''] } },
    listen: { host: 'a b' },
    auth: { embedded: true, scopeImplies: { '': ['mcp'] } },
    timeouts: { tools: { '': '5m' } },
  })) {
    const file = configFile(t, { one: tiny() }, { [section]: value })
    const { code, out } = await runHere(t, 'check', '--config', file)
    t.match(out, `error: ${section}`)
    t.equal(code, 1, section)
  }
  for (const rule of [{ rename: { '': 'a' } }, { override: { '': { title: 'A' } } }, { deny: [''] }]) {
    const file = configFile(t, { one: { ...tiny(), tools: rule } })
    t.match((await runHere(t, 'check', '--config', file)).out, 'error: mcpServers.one.tools')
  }
  const file = configFile(t, { one: { ...tiny(), access: { call: { '': ['mcp'] } } } })
  t.match((await runHere(t, 'check', '--config', file)).out, 'error: mcpServers.one.access.call')
})

import t from 'tap'
import { diffConfigs } from '../../../src/config/diff.js'
import { parseConfig } from '../../../src/config/parse.js'
import { redactServer, secretsOf } from '../../../src/config/read/secrets.js'

const ENV = { SECRET: 'hunter2hunter2', ISSUER: 'https://a.test' }
const URL = 'https://s.test/mcp'

const read = (server: object, more: object = {}) =>
  parseConfig(JSON.stringify({ ...more, mcpServers: { s: server } }), '/f/mcp.json', ENV)
const oauthOf = (server: object) => read(server).config?.servers[0]?.oauth
const problems = (server: object): unknown[] =>
  read(server).problems.map(({ severity, key, message }) => [severity, key, message])

t.test('a login is found out for each address, but where it is off or there is a header', async t => {
  t.same(oauthOf({ url: URL }), {})
  t.same(oauthOf({ url: URL, oauth: 'auto' }), {})
  t.same(oauthOf({ url: URL, oauth: true }), {})
  t.same(oauthOf({ url: 'wss://s.test/ws' }), {})
  t.equal(oauthOf({ url: URL, oauth: false }), undefined)
  t.equal(oauthOf({ url: URL, headers: { authorization: 'Bearer x' } }), undefined)
  t.equal(oauthOf({ command: 'x' }), undefined)
  t.equal(oauthOf({ url: 'unix:///x.sock' }), undefined)
  t.same(problems({ url: URL, headers: { Authorization: 'Bearer x' }, oauth: true }), [
    ['error', 'mcpServers.s.oauth', 'an Authorization header is already configured'],
  ])
})

t.test('a login next to a command is an error of that entry alone', async t => {
  for (const more of [{ oauth: true }, { oauth: { clientId: 'x' } }, { credentials: 'per-principal' }]) {
    const [key] = Object.keys(more)
    t.same(problems({ command: 'x', ...more }), [
      ['error', `mcpServers.s.${key}`, 'programs and local sockets do not use logins'],
    ])
  }
  t.same(problems({ command: 'x', oauth: false, credentials: 'shared' }), [])
})

t.test(
  'all keys of a login are read, variables are expanded, and files are relative to the configuration',
  async t => {
    const oauth = {
      clientId: 'id',
      clientSecret: '${SECRET}',
      issuer: '${ISSUER}',
      scopes: ['a', 'b'],
      redirectUri: 'http://localhost:3118/callback',
      clientMetadataUrl: 'https://e.test/c.json',
      grant: 'id-jag',
      key: './key.pem',
      idp: { issuer: 'https://i.test', clientId: 'p', clientSecret: '${SECRET}', idToken: 'token' },
      assertion: 'a.jwt',
      resource: false,
      endpoints: { authorization: 'https://a.test/auth', token: 'https://a.test/token' },
      dpop: true,
    }
    const { config, problems } = read({ url: URL, oauth }, { credentialStore: 'keychain' })
    t.same(problems, [])
    t.match(config?.servers[0]?.oauth, {
      ...oauth,
      clientSecret: 'hunter2hunter2',
      issuer: 'https://a.test',
      key: '/f/key.pem',
      idp: { ...oauth.idp, clientSecret: 'hunter2hunter2', idToken: '/f/token' },
      assertion: '/f/a.jwt',
    })
    t.equal(config?.credentialStore, 'keychain')
    if (config === undefined) throw new Error('no configuration')
    t.ok(secretsOf(config).includes('hunter2hunter2'), 'it is masked in all that leaves the process')
    t.notMatch(JSON.stringify(config.servers.map(redactServer)), /hunter2/)
  },
)

t.test('what does not go together is said, with its place and how to fix it', async t => {
  for (const [oauth, key, message] of [
    ['yes', 'oauth', /not allowed/],
    [{ grant: 'password' }, 'oauth.grant', /not allowed/],
    [{ grant: 'client_credentials' }, 'oauth.grant', /credentials of the proxy/],
    [{ grant: 'client_credentials', clientId: 'x' }, 'oauth.grant', /credentials of the proxy/],
    [{ grant: 'id-jag', clientId: 'x' }, 'oauth.grant', /identity provider/],
    [{ grant: 'jwt-bearer' }, 'oauth.grant', /needs a token/],
    [{ issuer: 'a.test' }, 'oauth.issuer', /not an HTTP address/],
    [{ issuer: '${NOTHING}' }, 'oauth.issuer', /NOTHING is not set/],
    [{ endpoints: { token: 'file:///x' } }, 'oauth.endpoints.token', /not an HTTP address/],
    [{ redirectUri: 'https://e.test/callback' }, 'oauth.redirectUri', /cannot listen on this address/],
    [{ redirectUri: 'http://localhost/callback' }, 'oauth.redirectUri', /cannot listen on this address/],
    [{ allowPrivate: true }, 'oauth.allowPrivate', /any address in its network/],
    [{ clientID: 'x' }, 'oauth.clientID', /unknown key/],
    [{ clientId: 3 }, 'oauth.clientId', /expected a string/],
  ] as const) {
    const [problem] = read({ url: URL, oauth }).problems
    t.equal(problem?.key, `mcpServers.s.${key}`)
    t.match(problem?.message, message)
    t.ok(problem?.fix)
  }
  t.match(problems({ url: URL, credentials: 'per-principal', sharing: 'all' }), [
    ['error', 'mcpServers.s.sharing', /cannot have per-user credentials/],
  ])
  t.match(problems({ url: URL, credentials: 'per-principal' }), [
    ['warning', 'mcpServers.s.credentials', /without "auth", programs on this machine are one user/],
  ])
  for (const [more, message] of [
    [{ headers: { Authorization: 'Bearer x' } }, /an Authorization header is already/],
    [{ oauth: false }, /users cannot sign in/],
    [{ oauth: { grant: 'client_credentials', clientId: 'x', clientSecret: 'y' } }, /signs in as itself/],
  ] as const) {
    const [problem] = read({ url: URL, credentials: 'per-principal', ...more }).problems
    t.match(problem, { severity: 'error', key: 'mcpServers.s.credentials', message })
  }
})

t.test('another login is another connection to that server', async t => {
  const [before, after] = [{ clientId: 'a' }, { clientId: 'b' }].map(
    oauth => read({ url: URL, oauth }).config,
  )
  if (before === undefined || after === undefined) throw new Error('no configuration')
  t.same(diffConfigs(before, after).replaced, ['s'])
})

import t from 'tap'
import { type DiscoveryRequest, discover, type Visited } from '../../../src/auth/client/discover.js'
import type { Fault } from '../../../src/kernel/faults.js'

const S = 'https://s.test/mcp'
const PRM = 'https://s.test/.well-known/oauth-protected-resource'
const ASM = 'https://a.test/.well-known/oauth-authorization-server'
const OIDC = 'https://a.test/.well-known/openid-configuration'

const doc = (value: object): Visited => ({ is: 'document', value: { ...value } })
const resource = (more: object = {}) =>
  doc({ resource: S, authorization_servers: ['https://a.test'], ...more })
const server = (issuer = 'https://a.test') =>
  doc({ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` })
const broken: Visited = { is: 'failed', why: 'HTTP status 500' }

/** Plays discovery on a web of documents; what is not in it is not there. */
const play = (web: Readonly<Record<string, Visited>>, request: Partial<DiscoveryRequest> = {}) => {
  const visited: string[] = []
  const steps = discover({ url: S, ...request })
  try {
    for (let step = steps.next(); ; ) {
      if (step.done === true) return { visited, found: step.value, fault: undefined }
      visited.push(step.value)
      step = steps.next(web[step.value] ?? { is: 'none' })
    }
  } catch (thrown) {
    return { visited, found: undefined, fault: thrown as Fault }
  }
}

t.test('the metadata that a challenge names are read, and no others', async t => {
  const named = 'https://s.test/custom'
  const web = { [named]: resource(), [ASM]: server() }
  const { visited, found } = play(web, { resourceMetadata: '/custom' })
  t.same(visited, [named, ASM])
  t.match(found, { resource: S, by: 'metadata', server: { issuer: 'https://a.test' } })
  const { visited: tried, fault } = play(
    { ...web, [named]: broken, [PRM]: resource() },
    { resourceMetadata: named },
  )
  t.same(tried, [named])
  t.match(fault, { code: 'unauthorized', data: { reason: 'auth-unreachable' }, message: /HTTP status 500/ })
  t.match(play(web, { resourceMetadata: 'http://[' }).fault?.message, /does not contain a valid URL/)
})

t.test('without a challenge they are looked for at the path, then at the root', async t => {
  const { visited, found } = play({ [PRM]: resource(), [ASM]: server() })
  t.same(visited, [`${PRM}/mcp`, PRM, ASM])
  t.equal(found?.resource, S)
  t.same(play({}, { url: 'https://s.test/' }).visited[0], PRM)
  t.match(play({ [`${PRM}/mcp`]: broken, [PRM]: resource() }).fault?.message, /cannot be read/)
})

t.test('a resource is the server, or its prefix at a slash', async t => {
  const at = (url: string, id: unknown) =>
    play(
      { [PRM]: doc({ resource: id, authorization_servers: ['https://a.test'] }), [ASM]: server() },
      {
        url,
        resourceMetadata: PRM,
      },
    )
  for (const [url, id] of [
    ['https://s.test/mcp/', 'https://s.test/mcp'],
    ['https://s.test/mcp', 'https://s.test/mcp/'],
    ['https://s.test/mcp/x?y=1', 'https://s.test/mcp'],
    ['https://s.test/mcp', 'https://s.test'],
    ['https://s.test/mcp', 'https://s.test/'],
  ] as const) {
    t.equal(at(url, id).found?.resource, id, `${id} for ${url}, as it was written`)
  }
  for (const id of [
    ...['https://s.test/mc', 'https://s.test/mcp/x', 'http://s.test/mcp', 'https://evil.example.com/mcp'],
    ...['https://s.test:8443/mcp', 'https://s.test/mcp#x', 'mcp', 3, undefined],
  ]) {
    const { fault, visited } = at('https://s.test/mcp', id)
    t.match(fault?.message, /protected resource metadata/, String(id))
    t.same(visited, [PRM], 'nobody else is asked')
  }
})

t.test('the authorization server is the configured one, the known one, or the first', async t => {
  const two = { authorization_servers: ['https://a.test', 'https://b.test'] }
  const asmB = 'https://b.test/.well-known/oauth-authorization-server'
  const web = { [`${PRM}/mcp`]: resource(two), [ASM]: server(), [asmB]: server('https://b.test') }
  t.equal(play(web).found?.server.issuer, 'https://a.test')
  t.equal(play(web, { known: ['https://b.test'] }).found?.server.issuer, 'https://b.test')
  t.equal(play(web, { issuer: 'https://b.test/' }).found?.server.issuer, 'https://b.test')
  t.match(play(web, { issuer: 'https://c.test' }).fault?.message, /check "oauth.issuer"/)
  t.equal(play({ [ASM]: server() }, { issuer: 'https://a.test' }).found?.resource, undefined)
})

t.test('its metadata are looked for in the prescribed order', async t => {
  const at = (issuer: string) =>
    play(
      { [PRM]: doc({ resource: S, authorization_servers: [issuer] }) },
      {
        resourceMetadata: PRM,
      },
    ).visited.slice(1)
  t.same(at('https://a.test'), [ASM, OIDC])
  t.same(at('https://a.test/'), [ASM, OIDC])
  t.same(at('https://a.test/t'), [
    `${ASM}/t`,
    `${OIDC}/t`,
    'https://a.test/t/.well-known/openid-configuration',
  ])
  const { visited, fault } = play({ [`${PRM}/mcp`]: resource(), [ASM]: broken, [OIDC]: server() })
  t.equal(visited.at(-1), ASM, 'nothing is tried after a failure that may pass')
  t.match(fault?.message, /HTTP status 500/)
})

t.test('an issuer is the very string that the address was made from', async t => {
  const at = (named: string, own: string) =>
    play({
      [`${PRM}/mcp`]: doc({ resource: S, authorization_servers: [named] }),
      [ASM]: doc({ issuer: own, token_endpoint: 'https://a.test/token' }),
    })
  t.match(at('https://a.test', 'https://a.test/').fault?.message, /has the issuer https:\/\/a\.test\//)
  t.equal(at('https://a.test/', 'https://a.test').found?.server.issuer, 'https://a.test')
  for (const own of ['https://evil.test', 'https://A.test', 'https://a.test:443', 'http://a.test', '']) {
    t.ok(at('https://a.test', own).fault, own)
  }
})

t.test('without metadata of the resource the server is its own authorization server', async t => {
  const own = 'https://s.test/.well-known/oauth-authorization-server'
  const { visited, found } = play({ [own]: server('https://s.test') })
  t.same(visited, [`${PRM}/mcp`, PRM, own])
  t.match(found, { by: 'origin', resource: undefined, server: { token_endpoint: 'https://s.test/token' } })
  t.match(play({}).found, {
    by: 'endpoints',
    server: {
      issuer: 'https://s.test',
      authorization_endpoint: 'https://s.test/authorize',
      token_endpoint: 'https://s.test/token',
      registration_endpoint: 'https://s.test/register',
    },
  })
  for (const issuer of ['https://s.test/', 'https://s.test/oauth'])
    t.equal(play({ [own]: server(issuer) }).found?.server.issuer, issuer, 'that revision does not say')
  for (const issuer of ['', 'http://s.test', 'https://s.test.evil.test'])
    t.ok(play({ [own]: server(issuer) }).fault, issuer)
  t.match(play({ [own]: broken }).fault?.message, /cannot be used/, 'it may be there again in a moment')
  t.match(
    play({ [own]: { is: 'failed', why: 'it is not a JSON object' } }).fault?.message,
    /not a JSON object/,
  )
  t.match(play({ [own]: server('https://evil.test') }).fault?.message, /name it in "oauth.issuer"/)
})

t.test('an authorization server without metadata needs endpoints of the configuration', async t => {
  const { fault } = play({ [`${PRM}/mcp`]: resource() })
  t.match(fault?.message, /https:\/\/a\.test cannot be used .*"oauth\.endpoints"/)
  const endpoints = { authorization: 'https://a.test/auth', token: 'https://a.test/tok' }
  const { found } = play({ [`${PRM}/mcp`]: resource() }, { endpoints })
  t.match(found, { by: 'endpoints', resource: S, server: { token_endpoint: 'https://a.test/tok' } })
})

t.test('members of the wrong type are not there, and words of a peer are cut', async t => {
  const web = {
    [`${PRM}/mcp`]: resource({ scopes_supported: ['a', 3, 'b'] }),
    [ASM]: doc({ issuer: 'https://a.test', token_endpoint: 3, scopes_supported: 'x', unknown: 'y' }),
  }
  const { found } = play(web)
  t.same(found?.scopes, ['a', 'b'])
  t.same(found?.server, { issuer: 'https://a.test' })
  const long = play({ [`${PRM}/mcp`]: doc({ resource: `https://evil.test/${'x\n'.repeat(9999)}` }) })
  t.ok((long.fault?.message.length ?? 0) < 600)
})

import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto'
import t, { type Test } from 'tap'
import { hello, mirrored, modern } from '../../support/era/codec.js'
import { until } from '../../support/processes.js'
import { type Authorized, JSON_HEADERS, startAuthorized } from '../../support/proxy/authorized.js'
import { tiny } from '../../support/proxy/start.js'
import { FakeIssuer, json } from '../../support/server/fake-issuer.js'

const PUBLIC = 'https://p.test'
const MCP = `${PUBLIC}/mcp`
const JWKS = '/jwks'
const METADATA = '/.well-known/oauth-protected-resource'

interface Rig extends Authorized {
  readonly issuer: FakeIssuer
}

const start = async (t: Test, rules: object = {}, more: object = {}, around: object = {}): Promise<Rig> => {
  const issuer = await FakeIssuer.start(t)
  const issuers = [{ issuer: issuer.issuer, ...rules }]
  const proxy = await startAuthorized(t, { publicUrl: PUBLIC, issuers, ...more }, { more: around })
  return { issuer, ...proxy }
}

const now = (): number => Math.floor(Date.now() / 1000)

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

t.test('a signed token lets in, and its signature is checked once', async t => {
  const { initialize, issuer } = await start(t)
  const token = await issuer.sign(MCP)
  const all = await Promise.all([1, 2, 3].map(() => initialize(token)))
  t.same(
    all.map(({ status }) => status),
    [200, 200, 200],
  )
  t.match(await initialize(token), { status: 200 })
  t.equal(issuer.asked.filter(path => path === JWKS).length, 1, 'one request for the keys')
})

t.test('tokens that are not good are a table', async t => {
  const { initialize, issuer } = await start(t, {}, {}, { limits: { authFailures: 1000 } })
  const [shown] = issuer.shown
  const pem = createPublicKey({ key: { ...shown }, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const claims = { iss: issuer.issuer, sub: 'x', aud: MCP, exp: now() + 300, scope: 'mcp' }
  const confused = (secret: string | Buffer, alg = 'HS256'): string => {
    const signed = `${part({ alg, kid: 'one', typ: 'at+jwt' })}.${part(claims)}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const good = await issuer.sign(MCP)
  const [head = '', body = '', signature = ''] = good.split('.')
  const foreign = await FakeIssuer.start(t)
  const audience = (aud: string | string[]) => issuer.sign('', { claims: { aud } })
  const rows: Readonly<Record<string, readonly [token: string, status: number]>> = {
    'as it should be': [good, 200],
    'for the whole proxy': [await audience(PUBLIC), 200],
    'for the origin with a slash': [await audience(`${PUBLIC}/`), 200],
    'for another face of the endpoint': [await audience(`${PUBLIC}/sse`), 200],
    'for several': [await audience(['https://other.test', MCP]), 200],
    'for somebody else': [await audience('https://other.test'), 401],
    'for a view': [await audience(`${MCP}/readonly`), 401],
    'for something alike': [await audience(`${MCP}/`), 401],
    'for nobody': [await issuer.sign('', { claims: { aud: undefined } }), 401],
    'alg none': [`${part({ alg: 'none' })}.${part(claims)}.`, 401],
    'alg none, with a key': [`${part({ alg: 'none', kid: 'one' })}.${part(claims)}.${signature}`, 401],
    'HS256 with the public key': [confused(pem), 401],
    'HS256 with the JWK': [confused(JSON.stringify(shown)), 401],
    'HS256 with nothing': [confused(''), 401],
    'RS256 said, HMAC done': [confused(pem, 'RS256'), 401],
    unsigned: [`${head}.${body}.`, 401],
    'another body': [`${head}.${part({ ...claims, sub: 'admin' })}.${signature}`, 401],
    'a key of its own': [`${part({ alg: 'ES256', jwk: shown })}.${body}.${signature}`, 401],
    'unknown kid': [await issuer.sign(MCP, { header: { kid: 'two' } }), 401],
    'unknown crit': [`${part({ alg: 'ES256', crit: ['x'], x: 1 })}.${body}.${signature}`, 401],
    'ended 59 s ago': [await issuer.sign(MCP, { claims: { exp: now() - 58 } }), 200],
    'ended 61 s ago': [await issuer.sign(MCP, { claims: { exp: now() - 61 } }), 401],
    'without an end': [await issuer.sign(MCP, { claims: { exp: undefined } }), 401],
    'an end that is text': [await issuer.sign(MCP, { claims: { exp: '9999999999' } }), 401],
    'from the future': [await issuer.sign(MCP, { claims: { nbf: now() + 90 } }), 401],
    'almost from the future': [await issuer.sign(MCP, { claims: { nbf: now() + 50 } }), 200],
    'another issuer': [await issuer.sign(MCP, { claims: { iss: 'https://evil.test' } }), 401],
    'an issuer with a slash': [await issuer.sign(MCP, { claims: { iss: `${issuer.issuer}/` } }), 401],
    'signed by another issuer': [await foreign.sign(MCP, { claims: { iss: issuer.issuer } }), 401],
    'no issuer': [await issuer.sign(MCP, { claims: { iss: undefined } }), 401],
    'no subject': [await issuer.sign(MCP, { claims: { sub: undefined } }), 401],
    'empty subject': [await issuer.sign(MCP, { claims: { sub: '' } }), 401],
    'an ID token': [await issuer.sign(MCP, { claims: { nonce: 'n' }, header: { typ: 'JWT' } }), 401],
    'an ID token with at_hash': [await issuer.sign(MCP, { claims: { at_hash: 'n' } }), 401],
    'another type': [await issuer.sign(MCP, { header: { typ: 'logout+jwt' } }), 401],
    'the general type': [await issuer.sign(MCP, { header: { typ: 'JWT' } }), 200],
    'the long type': [await issuer.sign(MCP, { header: { typ: 'application/at+jwt' } }), 200],
    'no type': [await issuer.sign(MCP, { header: { typ: undefined } }), 200],
    huge: [await issuer.sign(MCP, { claims: { more: 'x'.repeat(7000) } }), 401],
    dots: ['..', 401],
    'no JSON': ['bm8.bm8.bm8', 401],
    'an array': [`${part([])}.${part([])}.x`, 401],
    encrypted: [`${part({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a.b.c.d`, 401],
  }
  for (const [what, [token, status]] of Object.entries(rows)) {
    const answer = await initialize(token)
    t.equal(answer.status, status, what)
    if (status === 200) continue
    const challenge = String(answer.headers['www-authenticate'])
    t.match(challenge, /error="invalid_token", error_description="[A-Z][a-zA-Z ,]+"/, what)
    t.notMatch(challenge + answer.text, token)
  }
  t.same(foreign.asked, [], 'nobody else was asked')
})

t.test('a strict issuer writes the type of access tokens', async t => {
  const { initialize, issuer } = await start(t, { strictType: true })
  t.match(await initialize(await issuer.sign(MCP)), { status: 200 })
  t.match(await initialize(await issuer.sign(MCP, { header: { typ: 'JWT' } })), { status: 401 })
  t.match(await initialize(await issuer.sign(MCP, { header: { typ: undefined } })), { status: 401 })
})

t.test('an issuer may write an audience of its own', async t => {
  const { initialize, issuer } = await start(t, { audience: ['api://proxy'] })
  t.match(await initialize(await issuer.sign('api://proxy')), { status: 200 })
  t.match(await initialize(await issuer.sign(MCP)), { status: 200 })
  t.match(await initialize(await issuer.sign('api://other')), { status: 401 })
})

t.test('groups and subjects say who it is and what is allowed', async t => {
  const { initialize, issuer } = await start(
    t,
    { scopeClaim: 'roles', groupsClaim: 'realm_access.roles' },
    { grants: [{ group: 'dev', scopes: ['mcp'] }], people: {} },
  )
  const groups = (roles: unknown) => ({ claims: { scope: undefined, realm_access: { roles } } })
  t.match(await initialize(await issuer.sign(MCP, groups(['ops', 'dev']))), { status: 200 })
  t.match(await initialize(await issuer.sign(MCP, groups('dev'))), { status: 200 })
  t.match(await initialize(await issuer.sign(MCP, groups(['ops']))), { status: 403 })
  t.match(await initialize(await issuer.sign(MCP, groups({ dev: 1 }))), { status: 403 })
  t.match(await initialize(await issuer.sign(MCP)), { status: 403 }, 'scope is not the claim')
  t.match(await initialize(await issuer.sign(MCP, { claims: { roles: ['mcp'] } })), { status: 200 })
})

t.test('an unreachable issuer does not make a token invalid', async t => {
  const { initialize, issuer } = await start(t)
  const [good, other] = [await issuer.sign(MCP), await issuer.sign(MCP, { claims: { sub: 'other' } })]
  issuer.answers.set(JWKS, (_request, response) => response.writeHead(500).end())
  const answer = await initialize(good)
  t.match(answer, { status: 503, headers: { 'retry-after': '5' } })
  t.notOk(answer.headers['www-authenticate'])
  t.match(await initialize(other), { status: 503 }, 'a known failure')
  t.equal(issuer.asked.filter(path => path === JWKS).length, 1, 'is not asked for again at once')
})

t.test('a known key goes on working while the issuer is out of reach', async t => {
  const { initialize, issuer } = await start(t)
  t.match(await initialize(await issuer.sign(MCP)), { status: 200 })
  issuer.answers.set(JWKS, (_request, response) => response.writeHead(500).end())
  t.match(await initialize(await issuer.sign(MCP, { claims: { sub: 'other' } })), { status: 200 })
  await issuer.addKey('two')
  t.match(await initialize(await issuer.sign(MCP)), { status: 401 }, 'unknown during the cooldown')
  const later = Date.now() + 31_000
  t.intercept(Date, 'now', { value: () => later })
  const unknown = await issuer.sign(MCP, { claims: { sub: 'third' } })
  t.match(await initialize(unknown), { status: 503 }, 'the last request for the keys failed')
  t.match(await initialize(await issuer.sign(MCP, { kid: 'one', claims: { sub: 'fourth' } })), {
    status: 200,
  })
})

t.test('keys are rotated under load with one request for all', async t => {
  const { initialize, issuer } = await start(t)
  t.match(await initialize(await issuer.sign(MCP)), { status: 200 })
  await issuer.addKey('two')
  const later = Date.now() + 31_000
  t.intercept(Date, 'now', { value: () => later })
  const subjects = Array.from({ length: 20 }, (_, index) => `sub-${index}`)
  const tokens = await Promise.all(subjects.map(sub => issuer.sign(MCP, { claims: { sub } })))
  const answers = await Promise.all(tokens.map(token => initialize(token)))
  t.same([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(issuer.asked.filter(path => path === JWKS).length, 2)
})

t.test('keys that are endless, elsewhere or no keys are none', async t => {
  const elsewhere = 'http://169.254.169.254/latest'
  const handlers: readonly Parameters<FakeIssuer['answers']['set']>[1][] = [
    (_request, response) => response.writeHead(302, { location: elsewhere }).end(),
    (_request, response) => json(response, { keys: 'none' }),
    (_request, response) => json(response, []),
    (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('{"keys":[]}'),
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const write = (): void => {
        while (!response.destroyed && response.write(' '.repeat(64 * 1024)));
        if (!response.destroyed) response.once('drain', write)
      }
      write()
    },
  ]
  for (const handler of handlers) {
    const { initialize, issuer, lines } = await start(t)
    issuer.answers.set(JWKS, handler)
    t.match(await initialize(await issuer.sign(MCP)), { status: 503 })
    t.match(JSON.stringify(lines), /cannot reach an issuer of tokens/)
  }
})

t.test('metadata cannot send us to a private address', async t => {
  const { initialize, issuer } = await start(t)
  issuer.answers.set('/.well-known/oauth-authorization-server', (_request, response) =>
    json(response, { ...issuer.metadata, jwks_uri: 'http://169.254.169.254/keys' }),
  )
  t.match(await initialize(await issuer.sign(MCP)), { status: 503 })
})

t.test('metadata of another issuer is not used; OpenID discovery is the second try', async t => {
  const { initialize, issuer } = await start(t)
  const { metadata } = issuer
  issuer.answers.set('/.well-known/oauth-authorization-server', (_request, response) =>
    json(response, { ...metadata, issuer: 'https://evil.test' }),
  )
  t.match(await initialize(await issuer.sign(MCP)), { status: 503 })
  const { initialize: again, issuer: second } = await start(t)
  second.answers.set('/.well-known/oauth-authorization-server', (_request, response) =>
    json(response, {}, 404),
  )
  second.answers.set('/.well-known/openid-configuration', (_request, response) =>
    json(response, second.metadata),
  )
  t.match(await again(await second.sign(MCP)), { status: 200 })
})

t.test('only so many tokens are checked at a time, and more have to come again', async t => {
  const { initialize, issuer } = await start(t, {}, {}, { limits: { tokenChecks: 1 } })
  let release = (): void => undefined
  issuer.answers.set(JWKS, (_request, response) => {
    release = () => json(response, { keys: issuer.shown })
  })
  const first = initialize(await issuer.sign(MCP))
  await until(() => issuer.asked.includes(JWKS), 'a request for the keys')
  const second = await initialize(await issuer.sign(MCP, { claims: { sub: 'other' } }))
  t.match(second, { status: 503 })
  release()
  t.match(await first, { status: 200 })
})

t.test('however many credentials were refused, a good one passes', async t => {
  const { ask, initialize, issuer } = await start(t, {}, {}, { limits: { authFailures: 3 } })
  const known = await issuer.sign(MCP)
  t.match(await initialize(known), { status: 200 })
  for (let wrong = 0; wrong < 3; wrong += 1) t.match(await initialize(`wrong${wrong}`), { status: 401 })
  t.match(await initialize('wrong'), { status: 429, headers: { 'retry-after': /^\d+$/ } })
  t.match(await initialize(await issuer.sign(MCP, { claims: { sub: 'new' } })), { status: 200 })
  t.match(await initialize(known), { status: 200 })
  t.match(await ask('/mcp'), { status: 401 }, 'without a credential nothing is guessed')
})

t.test('an opaque token is what its issuer says it is', async t => {
  const introspection = { clientId: 'us and them', clientSecret: 's:cret' }
  const { initialize, issuer } = await start(t, { introspection }, {}, { limits: { authFailures: 1000 } })
  const bodies: string[] = []
  let login: string | undefined
  const known: Record<string, object> = {
    good: {},
    ended: { exp: now() - 61 },
    endless: { exp: undefined },
    foreign: { aud: 'https://other.test' },
    early: { nbf: now() + 90 },
    nobody: { sub: undefined },
    other: { iss: 'https://evil.test' },
    inactive: { active: false },
    odd: { active: 'true' },
  }
  issuer.answers.set('/introspect', (request, response, body) => {
    bodies.push(body)
    login = request.headers.authorization
    const token = new URLSearchParams(body).get('token') ?? ''
    const claims = known[token]
    const all = { active: true, sub: 'x', aud: MCP, exp: now() + 300, scope: 'mcp' }
    json(response, claims === undefined ? { active: false } : { ...all, ...claims })
  })
  for (const token of Object.keys(known)) {
    t.match(await initialize(token), { status: token === 'good' ? 200 : 401 }, token)
  }
  t.equal(login, `Basic ${Buffer.from('us+and+them:s%3Acret').toString('base64')}`)
  const asked = bodies.length
  t.match(await initialize('good'), { status: 200 })
  t.match(await initialize('inactive'), { status: 401 })
  t.equal(bodies.length, asked, 'the answers are kept')
  t.match(await initialize(`mcpp_${'x'.repeat(43)}`), { status: 401 })
  t.equal(bodies.length, asked, 'a personal token is nobody else’s business')
  issuer.answers.set('/introspect', (_request, response) => response.writeHead(401).end())
  t.match(await initialize('new'), { status: 503 }, 'it is us who may not ask')
})

t.test('an opaque token goes to one issuer after the other, until one knows it', async t => {
  const login = { clientId: 'us', clientSecret: 's:cret' }
  const asked: Record<string, string[]> = { company: [], partner: [], late: [] }
  const issuers = []
  for (const [name, tokens] of [['company'], ['partner'], ['late', 'late_']] as const) {
    const issuer = await FakeIssuer.start(t)
    issuer.answers.set('/introspect', (_request, response, body) => {
      const token = new URLSearchParams(body).get('token') ?? ''
      asked[name]?.push(token)
      const aud = token.includes('foreign') ? 'https://other.test' : MCP
      const all = { active: true, sub: 'x', aud, exp: now() + 300, scope: 'mcp' }
      json(response, token.startsWith(name) ? all : { active: false })
    })
    issuers.push({ issuer: issuer.issuer, introspection: { ...login, ...(tokens && { tokens }) } })
  }
  const { initialize } = await startAuthorized(t, { publicUrl: PUBLIC, issuers })
  t.match(await initialize('company-token'), { status: 200 })
  t.match(await initialize('company-foreign'), { status: 401 }, 'an active answer ends the search')
  t.same(asked, { company: ['company-token', 'company-foreign'], partner: [], late: [] })
  t.match(await initialize('partner-token'), { status: 200 })
  t.match(await initialize('late_token'), { status: 200 })
  t.match(await initialize('late-token'), { status: 401 })
  t.same(asked['late'], ['late_token'], 'it is asked about its own alone')
  t.match(await initialize(`mcpt_${'x'.repeat(43)}`), { status: 401 })
  t.notMatch(JSON.stringify(asked), 'mcpt_', 'tokens of the embedded server are sent to no issuer')
})

t.test('other kinds of keys', async t => {
  const { initialize, issuer } = await start(t)
  await issuer.addKey('other')
  for (const alg of ['RS256', 'PS384', 'ES512', 'EdDSA']) await issuer.addKey(alg, alg)
  for (const alg of ['RS256', 'PS384', 'ES512', 'EdDSA']) {
    t.match(await initialize(await issuer.sign(MCP, { kid: alg, header: { alg } })), { status: 200 }, alg)
  }
  t.match(
    await initialize(await issuer.sign(MCP, { kid: 'other', header: { kid: undefined } })),
    { status: 200 },
    'a token need not say which of several keys it is signed with',
  )
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
  issuer.shown.push({ ...weak.publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' })
  t.match(await initialize(`${part({ alg: 'RS256', kid: 'weak' })}.${part({ iss: issuer.issuer })}.x`), {
    status: 401,
  })
})

const AT_VIEWS = {
  mcpServers: {
    gh: { ...tiny(), access: { see: ['github'], call: { echo: ['github:write'] } } },
    fig: { ...tiny(), access: { see: ['figma'] } },
  },
  views: { web: { servers: ['gh'], scopes: ['web'] } },
}

t.test('each view is an endpoint of its own, with its own tokens and scopes', async t => {
  const { ask, issuer } = await start(t, {}, {}, AT_VIEWS)
  const initialize = async (path: string, aud: string) => {
    const headers = {
      ...JSON_HEADERS,
      authorization: `Bearer ${await issuer.sign(aud, { claims: { scope: 'mcp web' } })}`,
    }
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: hello('2025-11-25'),
    })
    return await ask(path, { method: 'POST', headers, body })
  }
  const refused = await initialize('/mcp/web', MCP)
  t.equal(refused.status, 401, 'for the endpoint of everybody')
  const challenge = String(refused.headers['www-authenticate'])
  t.match(challenge, `resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource/mcp/web"`)
  t.match(challenge, 'scope="mcp web github"')
  for (const [path, aud] of [
    ['/mcp/web', `${MCP}/web`],
    ['/mcp/web', `${PUBLIC}/ws/web`],
    ['/mcp/web', PUBLIC],
    ['/mcp', PUBLIC],
  ] as const)
    t.match(await initialize(path, aud), { status: 200 }, `${aud} at ${path}`)
  const documents = [`${METADATA}/mcp/web`, `${METADATA}/mcp`].map(async path => {
    const { resource, scopes_supported } = JSON.parse((await ask(path)).text)
    return [resource, scopes_supported]
  })
  t.strictSame(await Promise.all(documents), [
    [`${MCP}/web`, ['mcp', 'web', 'github']],
    [MCP, ['mcp', 'github', 'figma']],
  ])
})

t.test('a caller without a scope of a view is directed to a token for that view', async t => {
  const { ask, issuer } = await start(t, {}, {}, AT_VIEWS)
  const token = await issuer.sign(`${MCP}/web`, { claims: { scope: 'mcp web github' } })
  const post = (body: object, more: object = {}) =>
    ask('/mcp/web', {
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: `Bearer ${token}`, ...more },
      body: JSON.stringify(body),
    })
  const params = hello('2025-03-26')
  const greeting = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const session = { 'mcp-session-id': String(greeting.headers['mcp-session-id']) }
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'gh__echo', arguments: {} } }
  const modernCall = modern(2, 'tools/call', call.params)
  for (const [body, headers] of [
    [call, session],
    [[call, { ...call, id: 2 }], session],
    [{ jsonrpc: '2.0', ...modernCall }, mirrored(modernCall)],
  ] as const) {
    const refused = await post(body, headers)
    t.equal(refused.status, 403)
    const challenge = String(refused.headers['www-authenticate'])
    t.match(challenge, `resource_metadata="${PUBLIC}${METADATA}/mcp/web", scope="github:write"`)
  }
})

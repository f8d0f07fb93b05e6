import t from 'tap'
import { authorizePath, register, startAuthServer } from '../../support/auth-server.js'

const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'

t.test('a client with a loopback redirect is native, regardless of its declared type', async t => {
  const as = await startAuthServer(t)
  const { status, body } = await register(as, {
    application_type: 'web',
    redirect_uris: ['http://localhost:8787/callback'],
    scope: 'mcp evil github',
    logo_uri: 'https://c.test/logo.png',
  })
  t.equal(status, 201)
  t.match(body, {
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: ['http://localhost:8787/callback'],
    scope: 'mcp github',
  })
  t.notOk(body['client_secret'])
  t.notOk(body['logo_uri'])
  const web = await register(as, { application_type: 'native', redirect_uris: ['https://c.test/cb'] })
  t.equal(web.body['application_type'], 'web')
})

t.test('redirect URIs that are not allowed are left out', async t => {
  const as = await startAuthServer(t, { embedded: { privateRedirects: [CURSOR] } })
  const cursor = [CURSOR, 'http://localhost:8787/callback', 'https://www.cursor.com/agents/oauth/callback']
  const all = await register(as, { redirect_uris: cursor })
  t.same([all.status, all.body['redirect_uris']], [201, cursor])
  const bad = [
    'evil://x',
    'cursor://anysphere.cursor-mcp/oauth/callback/more',
    'http://c.test/cb',
    'http://127.0.0.1.c.test/cb',
    'http://user@127.0.0.1/cb',
    'https://user:pw@c.test/cb',
    'https://c.test/cb#part',
    'javascript:alert(1)',
    'data:text/html,x',
    'nothing',
    '',
    7,
  ]
  for (const uri of bad) {
    const beside = await register(as, { redirect_uris: [uri, 'https://c.test/cb'] })
    t.same([beside.status, beside.body['redirect_uris']], [201, ['https://c.test/cb']], String(uri))
  }
})

t.test('a registration without a usable redirect URI is refused', async t => {
  const as = await startAuthServer(t)
  for (const uris of [['evil://x'], [CURSOR], ['http://c.test/cb'], [], 'https://c.test/cb']) {
    const { status, body } = await register(as, { redirect_uris: uris })
    t.same([status, body['error']], [400, 'invalid_redirect_uri'], JSON.stringify(uris))
  }
})

t.test('an invalid registration gets an error in JSON', async t => {
  const as = await startAuthServer(t)
  for (const body of [
    '',
    '[]',
    'null',
    '{"redirect_uris":',
    JSON.stringify({ client_name: 'x'.repeat(60_000) }),
  ]) {
    const response = await fetch(`${as.base}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    t.equal(response.status, 400)
    t.ok(((await response.json()) as { error?: string }).error)
  }
  const large = await register(as, { client_name: 'x'.repeat(20_000) })
  t.equal(large.body['error'], 'invalid_client_metadata')
})

t.test('an address registers ten clients in a minute, but for this machine', async t => {
  const as = await startAuthServer(t, { publicUrl: 'https://p.test' })
  const answers = []
  for (let at = 0; at < 11; at += 1) answers.push((await register(as)).status)
  t.same(answers.slice(0, 10), Array(10).fill(201))
  t.equal(answers[10], 429)
})

t.test('registrations are bounded altogether', async t => {
  const as = await startAuthServer(t, { limits: { registrations: 3 } })
  for (let at = 0; at < 3; at += 1) t.equal((await register(as)).status, 201)
  const { status, body } = await register(as)
  t.same([status, body['error']], [503, 'temporarily_unavailable'])
})

t.test('registration can be off', async t => {
  const as = await startAuthServer(t, { embedded: { registration: 'off' } })
  const { status } = await register(as)
  t.equal(status, 404)
  t.notOk(JSON.parse(as.server.metadata()).registration_endpoint)
})

t.test('a confidential client gets a secret, of which only the hash is kept', async t => {
  const as = await startAuthServer(t)
  const { body } = await register(as, { token_endpoint_auth_method: 'client_secret_basic' })
  t.ok(String(body['client_secret']).length > 40)
  const ask = async (secret: string) => {
    const response = await fetch(`${as.base}/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${String(body['client_id'])}:${secret}`).toString('base64')}`,
      },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x' }),
    })
    return ((await response.json()) as { error: string }).error
  }
  t.equal(await ask('wrong'), 'invalid_client')
  t.equal(await ask(String(body['client_secret'])), 'invalid_grant')
})

t.test('only the port of a native client’s loopback address may differ', async t => {
  const as = await startAuthServer(t)
  const client = String((await register(as)).body['client_id'])
  const open = (redirect: string) => as.browser().open(authorizePath(client, { redirect_uri: redirect }))
  t.equal((await open('http://127.0.0.1:5123/cb')).status, 200)
  const bad = [
    'http://127.0.0.1:5123/other',
    'http://localhost/cb',
    'http://127.0.0.1//evil/cb',
    '//evil',
    'http://user@127.0.0.1/cb',
    'http://127.0.0.1:5123@evil.test/cb',
    'https://127.0.0.1/cb',
    'http://127.0.0.1/cb?x',
  ]
  for (const redirect of bad) {
    const page = await open(redirect)
    t.equal(page.status, 400, redirect)
    t.equal(page.headers.get('location'), null, 'it leads nowhere')
    t.match(page.text, 'invalid_redirect_uri')
  }
})

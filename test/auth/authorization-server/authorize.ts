import t from 'tap'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  exchange,
  personOf,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const TOKEN = 'mcpp_alice'
const PEOPLE = { auth: { people: [personOf('alice', TOKEN)] } }

// Before all others: the library says each thing once in a process.
t.test('nothing of the library reaches stdout or stderr in a whole flow', async t => {
  const said = (['log', 'info', 'warn', 'error'] as const).map(name => t.capture(console, name))
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  await as.browser().open(authorizePath('nobody'))
  const { code } = answerAt(await allowWith(as.browser(), authorizePath(client), TOKEN))
  const { body } = await exchange(as, client, code)
  const refresh = { grant_type: 'refresh_token', client_id: client, refresh_token: body.refresh_token }
  const next = await askToken(as, refresh, { origin: 'http://localhost:6274' })
  t.equal(next.status, 200)
  const form = new URLSearchParams({ client_id: client, token: next.body.refresh_token })
  t.equal((await fetch(`${as.base}/revoke`, { method: 'POST', body: form })).status, 200)
  const lines = said.flatMap(results => results().flatMap(({ args }) => args.map(String)))
  const others = lines.filter(line => !line.includes('Unsupported runtime'))
  t.same(others, [], 'but for one line on stderr about Node 20')
})

t.test('the metadata is found at the root, for each endpoint, and as OpenID discovery', async t => {
  const as = await startAuthServer(t, { publicUrl: 'https://p.test' })
  const paths = [
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/mcp',
  ]
  for (const path of paths) {
    const response = await fetch(as.base + path, { headers: { 'mcp-protocol-version': '2025-03-26' } })
    t.equal(response.headers.get('access-control-allow-origin'), '*')
    t.match(response.headers.get('content-type'), 'application/json')
    t.match(
      await response.json(),
      {
        issuer: 'https://p.test',
        authorization_endpoint: 'https://p.test/authorize',
        token_endpoint: 'https://p.test/token',
        registration_endpoint: 'https://p.test/register',
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        scopes_supported: ['mcp', 'github', 'github:admin', 'offline_access'],
      },
      path,
    )
  }
})

t.test('a client that never read metadata finds the default endpoints', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const registered = await fetch(`${as.base}/register/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/cb'] }),
  })
  t.equal(registered.status, 201)
  const client = String(((await registered.json()) as Record<string, unknown>)['client_id'])
  const path = authorizePath(client).replace('/authorize?', '/authorize/?')
  const browser = as.browser()
  t.equal((await browser.open(path)).status, 200)
  const { code } = answerAt(await allowWith(browser, path, TOKEN))
  t.equal((await exchange(as, client, code)).status, 200)
})

t.test('PKCE with S256 is for everyone', async t => {
  const as = await startAuthServer(t)
  for (const method of ['none', 'client_secret_basic']) {
    const { body } = await register(as, { token_endpoint_auth_method: method })
    const client = String(body['client_id'])
    const bad = [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
    ]
    for (const more of bad) {
      const page = await as.browser().open(authorizePath(client, more))
      t.equal(answerAt(page)['error'], 'invalid_request', JSON.stringify(more))
    }
  }
})

t.test('every answer says who gives it, and an error keeps the state', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  const browser = as.browser()
  const denied = await browser.press(await browser.open(authorizePath(client)), 'deny')
  t.match(answerAt(denied), { error: 'access_denied', state: 'the state', iss: as.issuer })
  t.ok(denied.url.startsWith('http://127.0.0.1/cb?'))
  const allowed = answerAt(await allowWith(browser, authorizePath(client), TOKEN))
  t.match(allowed, { code: String, state: 'the state', iss: as.issuer })
  const stateless = answerAt(await allowWith(browser, authorizePath(client, { state: undefined }), TOKEN))
  t.notOk('state' in stateless, 'SDK 1.7 sends none')
})

t.test('only codes are given, and only in the query', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  for (const type of ['token', 'id_token', 'code id_token', 'none']) {
    const page = await as.browser().open(authorizePath(client, { response_type: type }))
    t.match(page.url, /^http:\/\/127\.0\.0\.1\/cb[?#]error=unsupported_response_type&/, type)
  }
  const page = await allowWith(as.browser(), authorizePath(client, { response_mode: 'form_post' }), TOKEN)
  t.ok(answerAt(page)['code'])
})

t.test('an unknown client gets a page that leads nowhere, a program JSON', async t => {
  const as = await startAuthServer(t)
  const page = await as.browser().open(authorizePath('nobody', { redirect_uri: 'https://evil.test/' }))
  t.equal(page.status, 400)
  t.match(page.text, 'does not know the client')
  t.match(page.headers.get('content-security-policy'), "default-src 'none'")
  const program = await fetch(as.base + authorizePath('nobody'), { redirect: 'manual' })
  t.match(program.headers.get('content-type'), 'application/json')
  t.match(await program.json(), { error: 'invalid_client' })
})

t.test('unknown and forbidden paths are answered in JSON', async t => {
  const as = await startAuthServer(t)
  const calls = [
    ['GET', '/token', 405],
    ['GET', '/register', 405],
    ['PUT', '/revoke', 405],
    ['POST', '/authorize', 405],
    ['DELETE', '/.well-known/oauth-authorization-server', 405],
    ['GET', '/nothing', 404],
  ] as const
  for (const [method, path, status] of calls) {
    const response = await fetch(as.base + path, { method })
    t.equal(response.status, status, `${method} ${path}`)
    t.ok(((await response.json()) as { error: string }).error)
    if (status === 405) t.ok(response.headers.get('allow'))
  }
  t.equal(as.server.owns('/mcp'), false)
  t.equal(as.server.owns('/authorize/'), true)
})

t.test('a failed token request gets a JSON error and is not stored', async t => {
  const as = await startAuthServer(t)
  const { status, headers, body } = await exchange(as, 'nobody', 'x')
  t.equal(status, 401)
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(body.error, 'invalid_client')
})

t.test('web pages of other origins may ask for tokens: no cookie counts there', async t => {
  const as = await startAuthServer(t)
  for (const path of ['/token', '/register', '/revoke']) {
    const response = await fetch(as.base + path, {
      method: 'OPTIONS',
      headers: { origin: 'http://localhost:6274', 'access-control-request-method': 'POST' },
    })
    t.equal(response.status, 204)
    t.match(response.headers.get('access-control-allow-headers'), 'authorization')
  }
})

t.test('sign-in over plain http works only on this machine', async t => {
  const start = (publicUrl: string) => startAuthServer(t, { publicUrl })
  await t.rejects(start('http://192.0.2.7:8808'), {
    message: /auth\.publicUrl is http:\/\/192\.0\.2\.7:8808/,
  })
  await t.resolves(start('https://192.0.2.7'))
})

t.test('a browser that comes by another name of this machine is sent to ours', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  const path = authorizePath(client)
  const { status, headers } = await fetch(as.base.replace('127.0.0.1', 'localhost') + path, {
    redirect: 'manual',
  })
  t.same([status, headers.get('location')], [307, as.issuer + path])
})

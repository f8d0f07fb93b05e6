import { createHash, createSign, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import {
  answerAt,
  askToken,
  authorizePath,
  type Browser,
  exchange,
  found,
  personOf,
  type RunningAuthServer,
  register,
  startAuthServer,
  type Visited,
} from '../../support/auth-server.js'
import { until } from '../../support/processes.js'

const KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const jwt = (claims: object): string => {
  const parts = [{ alg: 'RS256', typ: 'JWT' }, claims].map(part =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const text = parts.join('.')
  return `${text}.${createSign('RSA-SHA256').update(text).sign(KEY, 'base64url')}`
}

interface Provider {
  readonly issuer: string
  /** What it was asked at its token endpoint. */
  readonly asked: URLSearchParams[]
  groups: string[]
  /** What becomes of refresh tokens. */
  refreshes: 'ok' | 'refused' | 'down'
  /** Whether it gives refresh tokens at all. */
  isOffline: boolean
  /** How it tells of the session, and whether that holds. */
  tells: 'nothing' | 'userinfo' | 'introspection'
  isActive: boolean
}

/** An identity provider at which one person is signed in, in every browser. */
const startProvider = async (t: Test): Promise<Provider> => {
  const challenges = new Map<string, { nonce: string; challenge: string }>()
  const http = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', provider.issuer)
    const json = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (url.pathname === '/.well-known/openid-configuration') {
      json(200, {
        issuer: provider.issuer,
        authorization_endpoint: `${provider.issuer}/authorize`,
        token_endpoint: `${provider.issuer}/token`,
        jwks_uri: `${provider.issuer}/jwks`,
        scopes_supported: ['openid', 'profile', 'offline_access'],
        response_types_supported: ['code'],
        ...(provider.tells === 'userinfo' && { userinfo_endpoint: `${provider.issuer}/userinfo` }),
        ...(provider.tells === 'introspection' && {
          introspection_endpoint: `${provider.issuer}/introspect`,
        }),
      })
      return
    }
    if (url.pathname === '/userinfo') {
      json(provider.isActive ? 200 : 401, { sub: 'f3c1' })
      return
    }
    if (url.pathname === '/introspect') {
      json(200, { active: provider.isActive })
      return
    }
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const form = new URLSearchParams(text)
    provider.asked.push(form)
    const tokens = (nonce?: string) => ({
      access_token: 'theirs',
      token_type: 'Bearer',
      expires_in: 5,
      ...(provider.isOffline && { refresh_token: `refresh ${provider.asked.length}` }),
      id_token: jwt({
        iss: provider.issuer,
        aud: 'proxy',
        sub: 'f3c1',
        iat: Math.floor(Date.now() / 1000),
        exp: Math.floor(Date.now() / 1000) + 60,
        groups: provider.groups,
        ...(nonce !== undefined && { nonce }),
      }),
    })
    if (form.get('grant_type') === 'refresh_token') {
      if (provider.refreshes === 'ok') json(200, tokens())
      else if (provider.refreshes === 'refused') json(400, { error: 'invalid_grant' })
      else json(503, {})
      return
    }
    const known = challenges.get(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (known === undefined || known.challenge !== challenge) json(400, { error: 'invalid_grant' })
    else json(200, tokens(known.nonce))
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    http.closeAllConnections()
    http.close()
  })
  const provider: Provider & { authorize(url: string): string } = {
    issuer: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    asked: [],
    groups: [],
    refreshes: 'ok',
    isOffline: true,
    tells: 'nothing',
    isActive: true,
    authorize: url => {
      const { searchParams } = new URL(url)
      const code = `code ${challenges.size}`
      challenges.set(code, {
        nonce: searchParams.get('nonce') ?? '',
        challenge: searchParams.get('code_challenge') ?? '',
      })
      return code
    },
  }
  return provider
}

/** What the provider would send the browser back with. */
const returnOf = (provider: Provider, url: string, error?: string): string => {
  const { searchParams } = new URL(url)
  const code = (provider as Provider & { authorize(url: string): string }).authorize(url)
  const answer = new URLSearchParams({
    state: searchParams.get('state') ?? '',
    ...(error === undefined ? { code } : { error, error_description: 'Visit evil.test' }),
  })
  return `/oauth/callback?${answer}`
}

const start = async (t: Test, auth: Parameters<typeof startAuthServer>[1] = {}) => {
  const provider = await startProvider(t)
  const login = {
    issuer: provider.issuer,
    clientId: 'proxy',
    clientSecret: 's',
    groupsClaim: undefined,
    allowHttp: true,
  }
  const as = await startAuthServer(t, { ...auth, embedded: { login } })
  const client = String((await register(as)).body['client_id'])
  return { as, client, provider }
}

/** Opens the page, allows it, and comes back from the provider. */
const signIn = async (browser: Browser, provider: Provider, path: string): Promise<Visited> => {
  const there = await browser.press(await browser.open(path), 'login')
  return await browser.open(returnOf(provider, there.url))
}

t.test('people sign in at the identity provider, after they allowed the client here', async t => {
  const { as, client, provider } = await start(t)
  const browser = as.browser()
  const page = await browser.open(authorizePath(client))
  t.match(page, { status: 200, text: new URL(provider.issuer).host }, 'our page is first')
  const there = await browser.press(page, 'login')
  const asked = Object.fromEntries(new URL(there.url).searchParams)
  t.ok(there.url.startsWith(`${provider.issuer}/authorize?`))
  t.match(asked, {
    client_id: 'proxy',
    redirect_uri: `${as.issuer}/oauth/callback`,
    scope: 'openid profile offline_access',
    code_challenge_method: 'S256',
    response_type: 'code',
  })
  t.notOk('resource' in asked)
  const { code } = answerAt(await browser.open(returnOf(provider, there.url)))
  const { body } = await exchange(as, client, code)
  t.match(found(as, body.access_token), { principal: `${provider.issuer} f3c1`, scopes: ['mcp'] })
})

t.test('another client in the same browser has to be allowed too', async t => {
  const { as, client, provider } = await start(t, { publicUrl: 'https://p.test' })
  const browser = as.browser()
  await signIn(browser, provider, authorizePath(client))
  const other = String((await register(as, { client_name: 'Other' })).body['client_id'])
  const page = await browser.open(authorizePath(other))
  t.match(page, { status: 200, text: 'Allow Other?' })
  t.ok(answerAt(await browser.press(page, 'allow'))['code'], 'who is signed in need not do it again')
})

t.test('groups of the identity provider, and people with a subject there, have scopes', async t => {
  const { as, client, provider } = await start(t, {
    auth: { grants: [{ group: 'dev', scopes: ['mcp', 'github'] }] },
  })
  const ask = async () => {
    const answer = await signIn(as.browser(), provider, authorizePath(client, { scope: 'mcp github' }))
    return found(as, (await exchange(as, client, answerAt(answer)['code'])).body.access_token)
  }
  t.match(await ask(), { scopes: ['mcp'] })
  provider.groups = ['dev', 'other']
  t.match(await ask(), { scopes: ['mcp', 'github'] })
  const alice = { ...personOf('alice'), subjects: [{ issuer: provider.issuer, sub: 'f3c1' }] }
  as.auth = { ...as.auth, people: [alice] }
  t.match(await ask(), { principal: 'person alice', scopes: ['mcp'] })
})

const tokensOf = async ({
  as,
  client,
  provider,
}: {
  as: RunningAuthServer
  client: string
  provider: Provider
}) => {
  const answer = await signIn(as.browser(), provider, authorizePath(client))
  const { body } = await exchange(as, client, answerAt(answer)['code'])
  const refresh = (token: string) =>
    askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
  return { body, refresh }
}

t.test('our tokens outlive the tokens of the identity provider, but not its session', async t => {
  const parts = await start(t)
  const { body, refresh } = await tokensOf(parts)
  const { as, provider } = parts
  const next = await refresh(body.refresh_token)
  t.equal(next.status, 200)
  t.equal(provider.asked.at(-1)?.get('refresh_token'), 'refresh 1')
  const asked = provider.asked.length
  provider.refreshes = 'refused'
  const again = await refresh(next.body.refresh_token)
  t.equal(again.status, 200, 'asked at most every ten minutes')
  t.equal(provider.asked.length, asked)
  t.ok(found(as, again.body.access_token))
})

t.test('of two concurrent uses of a refresh token, one succeeds, and the grant ends', async t => {
  const parts = await start(t)
  const { body, refresh } = await tokensOf(parts)
  const both = await Promise.all([refresh(body.refresh_token), refresh(body.refresh_token)])
  t.same(both.map(({ status }) => status).sort(), [200, 400])
  const { body: won } = both.find(({ status }) => status === 200) ?? both[0]
  t.equal(found(parts.as, won.access_token), undefined, 'the second use ended the grant')
  t.equal((await refresh(won.refresh_token)).body.error, 'invalid_grant')
})

t.test('where the identity provider ended the session, our grant ends', async t => {
  const parts = await start(t)
  const { body, refresh } = await tokensOf(parts)
  parts.provider.refreshes = 'refused'
  t.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant')
  t.equal(found(parts.as, body.access_token), undefined)
})

t.test('a session that the identity provider ended ends our grant while its tokens are used', async t => {
  for (const tells of ['userinfo', 'introspection'] as const) {
    const parts = await start(t)
    parts.provider.tells = tells
    const { body, refresh } = await tokensOf(parts)
    parts.provider.isActive = false
    t.ok(found(parts.as, body.access_token), 'it is asked in the background')
    await until(() => found(parts.as, body.access_token) === undefined, 'the end of the token')
    t.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant', tells)
  }
})

t.test('an unreachable identity provider ends no logins', async t => {
  const parts = await start(t)
  const { body, refresh } = await tokensOf(parts)
  parts.provider.refreshes = 'down'
  t.equal((await refresh(body.refresh_token)).body.error, 'temporarily_unavailable')
  parts.provider.refreshes = 'ok'
  t.equal((await refresh(body.refresh_token)).status, 200)
})

t.test('an error of the identity provider becomes one at the client, in our words', async t => {
  const { as, client, provider } = await start(t)
  const browser = as.browser()
  const there = await browser.press(await browser.open(authorizePath(client)), 'login')
  const answer = answerAt(await browser.open(returnOf(provider, there.url, 'access_denied')))
  t.match(answer, { error: 'access_denied', state: 'the state', iss: as.issuer })
  t.notMatch(JSON.stringify(answer), 'evil')
})

t.test('a state is known, new, and of this browser, or nothing happens', async t => {
  const { as, client, provider } = await start(t)
  const browser = as.browser()
  const there = await browser.press(await browser.open(authorizePath(client)), 'login')
  const back = returnOf(provider, there.url)
  const bad = ['/oauth/callback', '/oauth/callback?state=x&code=y']
  for (const path of bad) t.match(await browser.open(path), { status: 400, text: 'is over' }, path)
  const elsewhere = as.browser()
  t.match(await elsewhere.open(back), { status: 400 }, 'a link that somebody else was sent')
  t.equal(provider.asked.length, 0, 'nobody was asked')
  t.match(await browser.open(back), { status: 400 }, 'and it is used up')
  const good = await signIn(browser, provider, authorizePath(client))
  t.ok(answerAt(good)['code'])
})

t.test('an identity provider that is not there is said on the page', async t => {
  const { as, client, provider } = await start(t)
  as.auth = { ...as.auth }
  const gone = await startAuthServer(t, {
    embedded: {
      login: {
        issuer: 'http://127.0.0.1:1',
        clientId: 'x',
        clientSecret: undefined,
        groupsClaim: undefined,
        allowHttp: true,
      },
    },
  })
  const browser = gone.browser()
  const id = String((await register(gone)).body['client_id'])
  const page = await browser.press(await browser.open(authorizePath(id)), 'login')
  t.match(page, { status: 200, text: 'role="alert"' })
  t.ok(client && provider)
})

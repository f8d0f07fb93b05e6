import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createPersonalToken, tokenHash } from '../../../src/kernel/secrets/personal-token.js'
import { Browser, type Visited } from '../../support/auth-server.js'
import { type Loose, RawClient } from '../../support/client/raw-client.js'
import { until } from '../../support/processes.js'
import { configWith, startAuthorized } from '../../support/proxy/authorized.js'
import { tiny } from '../../support/proxy/start.js'
import { FakeIssuer, json } from '../../support/server/fake-issuer.js'

const [ANN = '', BOB = ''] = [createPersonalToken(), createPersonalToken()]
const tokensOf = (token: string) => [{ hash: `sha256:${tokenHash(token)}` }]

/** A proxy with rules, whose calls come from `token`. */
const setUp = async (
  t: Test,
  rules: readonly object[],
  { auth, token }: { auth?: object; token?: string } = {},
) => {
  const more = { mcpServers: { shop: tiny() }, rules, startupWait: '60s', knownServers: false }
  const stateDir = join(t.testdir(), 'state')
  const authorized = await startAuthorized(t, auth, { more, stateDir, listWaitMs: 60_000 })
  const { origin, proxy } = authorized
  const client = new RawClient(`${origin}/mcp`)
  if (token !== undefined) client.headers = { authorization: `Bearer ${token}` }
  await client.initialize()
  await client.request('tools/list')
  let calls = 0
  const call = async (args = '{}'): Promise<Loose> => {
    calls += 1
    return (await client.call(calls, 'shop__echo', args)).last.message.result
  }
  const urlOf = async (args?: string): Promise<string> =>
    (await call(args))._meta['mcp-proxy/refused'].approval.url
  const api = await proxy.api()
  const waiting = async (): Promise<Loose[]> =>
    (
      (await api.answer({
        method: 'GET',
        path: '/approvals',
        query: new URLSearchParams(),
        body: '',
      })) as Loose
    ).value.approvals
  const reload = (next: readonly object[]) =>
    proxy.reload(configWith(auth, { ...more, ...(next.length > 0 ? { rules: next } : { rules: undefined }) }))
  return { ...authorized, call, urlOf, waiting, reload, browser: () => new Browser(origin, origin) }
}

const reasonOf = (result: Loose): unknown => result._meta?.['mcp-proxy/refused'].reason

const ASK = [{ id: 'a', tool: 'echo', then: 'ask' }]
const AUTH = { people: { ann: { tokens: tokensOf(ANN) }, bob: { tokens: tokensOf(BOB) } } }

t.test('only the form of the page decides, in the browser that received it', async t => {
  const { urlOf, call, browser, waiting, origin } = await setUp(t, ASK, { auth: AUTH, token: ANN })
  const url = await urlOf()
  const hers = browser()
  const question = await hers.press(await hers.open(url), 'token', { token: ANN })
  t.match(question.text, 'Allow this call?')
  t.match(question.headers.get('cache-control'), 'no-store')
  t.match(question.headers.get('content-security-policy'), "default-src 'none'")
  t.match(question.headers.get('content-security-policy'), "frame-ancestors 'none'")
  t.notMatch(question.text, '<script')
  const csrf = /name="csrf" value="([^"]+)"/.exec(question.text)?.[1] ?? ''
  const post = (body: Record<string, string>, headers: Record<string, string> = {}, by = hers) =>
    by.ask(url, { method: 'POST', headers: { origin, ...headers }, body: new URLSearchParams(body) })
  t.equal((await post({ action: 'allow' })).status, 403)
  t.equal((await post({ action: 'allow', csrf: `${csrf}x` })).status, 403)
  t.equal((await post({ action: 'allow', csrf }, { origin: 'https://evil.test' })).status, 403)
  t.equal((await post({ action: 'allow', csrf }, {}, browser())).status, 403, 'another browser')
  t.match((await post({ action: 'Allow', csrf })).status, 303, 'another action decides nothing')
  for (const method of ['PUT', 'DELETE', 'OPTIONS'])
    t.equal((await hers.ask(url, { method })).status, 405, method)
  t.equal((await hers.ask(`${url}?action=allow`)).status, 200)
  t.equal((await waiting()).length, 1, 'nothing is decided')
  const again = await hers.press(await hers.open(url), 'token', { token: ANN })
  t.match((await hers.press(again, 'allow')).text, 'The call is allowed')
  t.match(await call(), { content: [{ text: '{}' }] })
})

t.test('unknown, decided and expired approvals have one and the same page', async t => {
  const rules = [{ id: 'a', tool: 'echo', then: 'ask', ask: { timeout: '1s' } }]
  const { urlOf, browser, origin, proxy, waiting } = await setUp(t, [
    ...ASK.map(rule => ({ ...rule, id: 'b', when: { '/n': { equals: 1 } } })),
    ...rules,
  ])
  const decided = await urlOf('{"n":1}')
  const api = await proxy.api()
  const id = decided.split('/').at(-1)
  await api.answer({
    method: 'POST',
    path: `/approvals/${id}/deny`,
    query: new URLSearchParams(),
    body: '{}',
  })
  const expired = await urlOf()
  await until(async () => (await waiting()).length === 0, 'the end of the time')
  const last = await browser().open(expired)
  const unknown = await browser().open(`${origin}/approvals/${'0'.repeat(32)}`)
  const pages = [last, unknown, await browser().open(decided), await browser().open(`${origin}/approvals/`)]
  t.same(
    pages.map(({ status }) => status),
    [404, 404, 404, 404],
  )
  t.equal(new Set(pages.map(({ text }) => text)).size, 1)
  t.same(
    pages.map(({ headers }) => headers.get('set-cookie')),
    [null, null, null, null],
  )
})

t.test('a browser with the page of mcp-proxy ui decides as local', async t => {
  const { urlOf, call, origin, proxy } = await setUp(t, ASK)
  const url = await urlOf()
  const login = await fetch(`${origin}/api/v1/login`, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json', 'x-mcp-proxy': '1' },
    body: JSON.stringify({ code: proxy.pageSessions().newCode() }),
  })
  const one = new Browser(origin, origin)
  for (const cookie of login.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    one.cookies.set(name, value)
  }
  const question = await one.open(url)
  t.match(question.text, 'Allow this call?')
  t.match((await one.press(question, 'deny')).text, 'The call is refused')
  t.equal(reasonOf(await call()), 'approval-declined')
})

t.test('a call that waits is decided on its page, even if a reload removes all rules', async t => {
  const { urlOf, call, browser, reload } = await setUp(t, ASK, { auth: AUTH, token: ANN })
  const url = await urlOf()
  reload([])
  t.match(await call('{"n":2}'), { content: [{ text: '{"n":2}' }] })
  const hers = browser()
  const question = await hers.press(await hers.open(url), 'token', { token: ANN })
  t.match((await hers.press(question, 'deny')).text, 'The call is refused')
  reload(ASK)
  t.equal(reasonOf(await call()), 'approval-declined')
})

/** An identity provider at which `sub` is signed in, with `groups`. */
const startProvider = async (t: Test) => {
  const idp = await FakeIssuer.start(t)
  const user = { sub: '', groups: [] as string[], nonce: '' as string | null }
  const metadata = {
    ...idp.metadata,
    authorization_endpoint: `${idp.issuer}/authorize`,
    token_endpoint: `${idp.issuer}/token`,
    id_token_signing_alg_values_supported: ['ES256'],
  }
  idp.answers.set('/.well-known/openid-configuration', (_request, response) => json(response, metadata))
  idp.answers.set('/token', (_request, response) => {
    const claims = { ...user, iat: Math.floor(Date.now() / 1000) }
    void idp
      .sign('proxy', { claims })
      .then(token => json(response, { access_token: 'x', token_type: 'Bearer', id_token: token }))
  })
  return { idp, user }
}

t.test('people who sign in at the provider decide, with the scopes of their groups', async t => {
  const { idp, user } = await startProvider(t)
  const auth = {
    embedded: { login: { issuer: idp.issuer, clientId: 'proxy', groupsClaim: 'groups' } },
    grants: [{ group: 'money', scopes: ['mcp', 'finance'] }],
    people: { ann: { tokens: tokensOf(ANN), subjects: [{ issuer: idp.issuer, sub: 'sub-ann' }] } },
  }
  const rules = [
    { id: 'own', tool: 'echo', when: { '/own': { equals: true } }, then: 'ask' },
    { id: 'second', tool: 'echo', then: 'ask', ask: { of: { scopes: ['finance'] }, timeout: '1m' } },
  ]
  const { call, urlOf, waiting, browser, origin } = await setUp(t, rules, { auth, token: ANN })
  const callback = (away: Visited): string => {
    const { searchParams } = new URL(away.url)
    user.nonce = searchParams.get('nonce')
    return `${origin}/oauth/callback?code=c&state=${searchParams.get('state')}`
  }
  const signIn = async (one: Browser, url: string, sub: string, groups: string[]): Promise<Visited> => {
    Object.assign(user, { sub, groups })
    return await one.open(callback(await one.press(await one.open(url), 'identify')))
  }

  await t.test('another person of the group', async t => {
    const held = call('{"order":"B-18"}')
    await until(async () => (await waiting()).length > 0, 'the question')
    const url: string = (await waiting())[0].url
    const other = await signIn(browser(), url, 'sub-x', [])
    t.match(other, { status: 403, url })
    t.notMatch(other.text, /B-18|second|shop/)
    t.equal((await signIn(browser(), url, 'sub-ann', ['money'])).status, 403, 'never the caller')
    const one = browser()
    const question = await signIn(one, url, 'sub-y', ['money'])
    t.match(question.text, 'B-18')
    t.match((await one.press(question, 'allow')).text, 'The call is allowed')
    t.match(await held, { content: [{ text: '{"order":"B-18"}' }] })
  })

  await t.test('the caller, whose token of a client proves nothing', async t => {
    const url = await urlOf('{"own":true}')
    const hers = browser()
    const wrong = await hers.press(await hers.open(url), 'token', { token: ANN })
    t.match(wrong, { text: /No person can decide with this token/ })
    const question = await signIn(hers, url, 'sub-ann', [])
    t.match(question.text, 'Allow this call?')
    const thief = browser()
    const away = await thief.press(await thief.open(url), 'identify')
    t.match(await browser().open(callback(away)), { status: 400 }, 'the answer of another browser')
    t.match(await thief.open(callback(away)), { status: 400 }, 'and it works once')
    t.match((await hers.press(question, 'deny')).text, 'The call is refused')
  })

  await t.test('many sign-ins that never come back', async t => {
    const url = await urlOf('{"own":true,"n":1}')
    const first = browser()
    const away = await first.press(await first.open(url), 'identify')
    for (let n = 0; n < 32; n += 1) {
      const one = browser()
      await one.press(await one.open(url), 'identify')
    }
    t.not((await first.open(callback(away))).status, 200, 'the oldest is forgotten')
    t.match((await signIn(browser(), url, 'sub-ann', [])).text, 'Allow this call?')
  })
})

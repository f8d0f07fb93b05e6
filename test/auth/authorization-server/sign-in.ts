import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { approveSignIn } from '../../../src/auth/authorization-server/sign-in/approvals.js'
import {
  allowWith,
  answerAt,
  authorizePath,
  codeOn,
  exchange,
  found,
  personOf,
  type RunningAuthServer,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const TOKEN = 'mcpp_alice'
const PEOPLE = { auth: { people: [personOf('alice', TOKEN), personOf('bob', 'mcpp_bob')] } }

const clientOf = async (as: RunningAuthServer, metadata = {}): Promise<string> =>
  String((await register(as, metadata)).body['client_id'])

t.test('without people, a shell of the same user lets a client in as local', async t => {
  const as = await startAuthServer(t)
  const browser = as.browser()
  const client = await clientOf(as, { client_name: 'Claude Code' })
  const page = await browser.open(authorizePath(client))
  t.match(page.text, /<meta http-equiv="refresh" content="\d">/, 'the page goes on by itself')
  const code = codeOn(page)
  t.match(code, /^[A-Z2-7]{8}$/)
  t.match(await browser.press(page, 'allow'), { status: 200, text: code }, 'nobody has approved it yet')
  const answer = await approveSignIn(as.stateDir, { code: code.toLowerCase(), as: undefined })
  t.match(answer, { isApproved: true, words: /Claude Code.*127\.0\.0\.1.*local/ })
  const { code: granted } = answerAt(await browser.open(page.url))
  const { body } = await exchange(as, client, granted)
  t.match(found(as, body.access_token), { principal: 'local', scopes: ['mcp'] })
})

t.test('with people, an approval names one of them', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const browser = as.browser()
  const client = await clientOf(as)
  const page = await browser.open(authorizePath(client))
  const code = codeOn(page)
  t.match(await approveSignIn(as.stateDir, { code, as: undefined }), {
    isApproved: false,
    words: '--as NAME',
  })
  t.match(await approveSignIn(as.stateDir, { code, as: 'eve' }), { isApproved: false, words: 'eve' })
  t.match(await approveSignIn(as.stateDir, { code, as: 'bob' }), { isApproved: true })
  const answer = answerAt(await browser.press(page, 'allow'))
  const { body } = await exchange(as, client, answer['code'])
  t.equal(found(as, body.access_token)?.principal, 'person bob')
})

t.test('five wrong codes end every sign-in that waits', async t => {
  const as = await startAuthServer(t)
  const client = await clientOf(as)
  const waiting = await Promise.all(
    [1, 2].map(async () => {
      const browser = as.browser()
      return { browser, page: await browser.open(authorizePath(client)) }
    }),
  )
  const wrong = Array.from({ length: 5 }, () =>
    approveSignIn(as.stateDir, { code: 'AAAAAAAA', as: undefined }, 1000),
  )
  t.same(await Promise.all(wrong), Array(5).fill(undefined), 'a wrong code is nobody’s')
  for (const { browser, page } of waiting) {
    t.equal(await approveSignIn(as.stateDir, { code: codeOn(page), as: undefined }, 500), undefined)
    t.match(await browser.open(page.url), { status: 400, text: 'is over' })
  }
})

t.test('a file that others can write approves nothing', { skip: process.platform === 'win32' }, async t => {
  const { chmodSync, writeFileSync } = await import('node:fs')
  const as = await startAuthServer(t)
  const browser = as.browser()
  const page = await browser.open(authorizePath(await clientOf(as)))
  await approveSignIn(as.stateDir, { code: 'AAAAAAAA', as: undefined }, 100)
  const file = join(as.stateDir, 'approvals', 'forged.request')
  writeFileSync(file, JSON.stringify({ code: codeOn(page), atMs: Date.now() }))
  chmodSync(file, 0o666)
  await approveSignIn(as.stateDir, { code: 'AAAAAAAA', as: undefined }, 500)
  t.ok(codeOn(await browser.open(page.url)), 'it still waits')
  t.equal(statSync(join(as.stateDir, 'approvals')).mode & 0o777, 0o700)
  t.same(readdirSync(join(as.stateDir, 'approvals')), ['forged.request'], 'nothing else is left there')
})

t.test('a personal token signs its user in; a wrong one shows an error for a short time', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const browser = as.browser()
  const path = authorizePath(await clientOf(as))
  const page = await browser.open(path)
  for (let at = 0; at < 20; at += 1) {
    t.match(await browser.press(page, 'allow', { token: `wrong ${at}` }), {
      status: 200,
      text: 'No person has this',
    })
  }
  t.match(await browser.press(page, 'allow', { token: TOKEN }), { text: 'No person has this' })
})

t.test('a sign-in belongs to the browser in which it began', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const browser = as.browser()
  const page = await browser.open(authorizePath(await clientOf(as)))
  const other = as.browser()
  t.match(await other.open(page.url), { status: 400, text: 'is over' })
  t.match(await other.press(page, 'allow', { token: TOKEN }), { status: 400 })
  const before = [...browser.cookies.keys()]
  const done = await browser.press(page, 'allow', { token: TOKEN })
  t.ok(answerAt(done)['code'])
  const session = [...browser.cookies.keys()].filter(name => name.includes('session'))
  t.equal(session.length, 1)
  t.notOk(
    before.some(name => name.includes('session')),
    'the session is a new one after the sign-in',
  )
})

t.test('a form needs its token, and comes from our own page', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const browser = as.browser()
  const page = await browser.open(authorizePath(await clientOf(as)))
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const post = (form: Record<string, string>, headers: Record<string, string>) =>
    browser.ask(page.url, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ action: 'allow', token: TOKEN, ...form }),
    })
  t.equal((await post({}, { origin: as.issuer })).status, 403)
  t.equal((await post({ csrf: 'wrong' }, { origin: as.issuer })).status, 403)
  t.equal((await post({ csrf: `${csrf}é` }, {})).status, 403)
  t.equal((await post({ csrf }, { origin: 'https://evil.test' })).status, 403)
  t.equal((await post({ csrf, token: '' }, { origin: 'null' })).status, 200, 'the token decides')
  const other = await startAuthServer(t, PEOPLE)
  const foreign = await other.browser().open(authorizePath(await clientOf(other)))
  const theirs = /name="csrf" value="([^"]+)"/.exec(foreign.text)?.[1] ?? ''
  t.equal((await post({ csrf: theirs }, { origin: as.issuer })).status, 403)
  t.equal((await post({ csrf }, { origin: as.issuer })).status, 303)
})

t.test('a page shows who asks, in words that cannot deceive', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const name = `<script>alert(1)</script>\u202egnp.exe "\u0007${'x'.repeat(200)}`
  const client = await clientOf(as, { client_name: name })
  const page = await as.browser().open(authorizePath(client, { scope: 'mcp github' }))
  t.notMatch(page.text, '<script')
  t.notMatch(page.text, '\u202e')
  t.notMatch(page.text, '\u0007')
  t.notMatch(page.text, 'x'.repeat(81))
  t.match(page.text, '&lt;script&gt;alert(1)')
  t.match(page.text, '<dd>127.0.0.1</dd>')
  t.match(page.text, 'any program there may call itself')
  t.match(page.text, 'github')
  t.match(
    page.headers.get('content-security-policy'),
    /^default-src 'none'; style-src 'sha256-.*frame-ancestors 'none'$/,
  )
  t.equal(page.headers.get('x-frame-options'), 'DENY')
  t.equal(page.headers.get('referrer-policy'), 'no-referrer')
  t.equal(page.headers.get('cache-control'), 'no-store')
  t.equal(page.headers.get('cache-control'), 'no-store')
})

t.test('a web client is allowed once by a person, a native one each time', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, publicUrl: 'https://p.test' })
  const redirect = 'https://c.test/cb'
  const client = await clientOf(as, { redirect_uris: [redirect, 'https://d.test/cb'] })
  const path = (more = {}) => authorizePath(client, { redirect_uri: redirect, ...more })
  const browser = as.browser()
  t.notMatch((await browser.open(path())).text, 'any program there')
  t.ok(answerAt(await allowWith(browser, path(), TOKEN))['code'])
  const again = answerAt(await browser.open(path()))
  t.ok(again['code'], 'not asked again')
  const { body } = await exchange(as, client, again['code'], { redirect_uri: redirect })
  t.match(found(as, body.access_token), { principal: 'person alice', scopes: ['mcp'] })
  for (const more of [
    { scope: 'mcp github' },
    { redirect_uri: 'https://d.test/cb' },
    { prompt: 'consent' },
  ]) {
    t.match(
      await browser.open(path(more)),
      { status: 200, text: 'signed in as <strong>alice' },
      JSON.stringify(more),
    )
  }
  t.match(
    await browser.open(authorizePath(await clientOf(as))),
    { status: 200, text: 'signed in as' },
    'another client',
  )
  t.equal((await as.browser().open(path())).status, 200, 'another browser')
  const native = await clientOf(as)
  for (let times = 0; times < 2; times += 1) {
    const page = await browser.open(authorizePath(native))
    t.match(page.text, 'signed in as')
    t.ok(answerAt(await browser.press(page, 'allow'))['code'])
  }
})

t.test('another user can sign in with the same browser', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, publicUrl: 'https://p.test' })
  const browser = as.browser()
  const client = await clientOf(as)
  await allowWith(browser, authorizePath(client), TOKEN)
  const page = await browser.press(await browser.open(authorizePath(client)), 'switch')
  t.notMatch(page.text, 'signed in as')
  const { code } = answerAt(await browser.press(page, 'allow', { token: 'mcpp_bob' }))
  const { body } = await exchange(as, client, code)
  t.equal(found(as, body.access_token)?.principal, 'person bob')
})

t.test('two sign-ins in one browser do not disturb each other', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const browser = as.browser()
  const one = await browser.open(authorizePath(await clientOf(as), { state: 'one' }))
  const two = await browser.open(authorizePath(await clientOf(as), { state: 'two' }))
  t.match(answerAt(await browser.press(one, 'allow', { token: TOKEN })), { state: 'one', code: String })
  t.match(answerAt(await browser.press(two, 'allow', { token: 'mcpp_bob' })), { state: 'two', code: String })
})

t.test('cookies are for our host alone, and with TLS only there', async t => {
  const cookiesOf = async (publicUrl?: string) => {
    const as = await startAuthServer(t, { ...PEOPLE, ...(publicUrl !== undefined && { publicUrl }) })
    const browser = as.browser()
    const headers: string[] = []
    const page = await browser.ask(authorizePath(await clientOf(as)))
    headers.push(...page.headers.getSetCookie())
    let next = await browser.ask(`/${page.headers.get('location')}`.replace(/^\/(https?:|\/)/, '$1'))
    const csrf = /name="csrf" value="([^"]+)"/.exec(next.text)?.[1] ?? ''
    const form = new URLSearchParams({ csrf, action: 'allow', token: TOKEN })
    next = await browser.ask(next.url, { method: 'POST', body: form })
    headers.push(...next.headers.getSetCookie())
    next = await browser.ask(String(next.headers.get('location')))
    return [...headers, ...next.headers.getSetCookie()]
  }
  const secure = await cookiesOf('https://p.test')
  t.ok(secure.length > 3)
  for (const cookie of secure)
    t.match(cookie, /^__Host-[^;]+; Path=\/; HttpOnly; SameSite=Lax; Secure(; Max-Age=\d+)?$/)
  const plain = await cookiesOf()
  for (const cookie of plain)
    t.match(cookie, /^mcp-proxy-\d+-[^;]+; Path=\/; HttpOnly; SameSite=Lax(; Max-Age=\d+)?$/)
})

t.test('over http, cookies alone do not sign a user in: all ports of the host receive them', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const redirect = { redirect_uri: 'https://c.test/cb' }
  const path = authorizePath(await clientOf(as, { redirect_uris: ['https://c.test/cb'] }), redirect)
  const browser = as.browser()
  const answers: Record<string, string>[] = []
  for (let times = 0; times < 2; times += 1) answers.push(answerAt(await allowWith(browser, path, TOKEN)))
  t.match(answers, [{ code: String }, { code: String }], 'the user proves it each time')

  const page = await browser.open(path)
  t.notMatch(page.text, 'signed in as')
  const cookies = [...browser.cookies].flat().join()
  t.notMatch(cookies, page.url.slice(-21), 'no cookie leads to the page')
  const other = as.browser()
  for (const [name, value] of browser.cookies) other.cookies.set(name, value)
  const own = await other.open(path)
  t.match(await other.press(own, 'allow'), { status: 200, text: 'Enter your token' })
  await other.ask(path)
  const { pathname } = new URL(own.url)
  const resumed = await other.open(pathname.replace('/oauth/sign-in', '/authorize'))
  t.match(resumed.text, 'Your personal token')
  t.match(answerAt(await other.open(`${path}&prompt=none`)), { error: 'login_required' })
})

t.test('of too many sign-ins the oldest makes room', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, limits: { loginFlows: 2 } })
  const client = await clientOf(as)
  const browser = as.browser()
  const pages = []
  for (let at = 0; at < 3; at += 1) pages.push(await browser.open(authorizePath(client)))
  t.same(await Promise.all(pages.map(async page => (await browser.open(page.url)).status)), [400, 200, 200])
})

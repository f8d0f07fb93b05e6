import t from 'tap'
import type { GrantEvent } from '../../../src/auth/authorization-server/grant-events.js'
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
const REDIRECT = { redirect_uri: 'https://app.test/cb' }

t.test('each step of a sign-in is reported, with who and what, and without secrets', async t => {
  const events: GrantEvent[] = []
  const as = await startAuthServer(t, {
    ...PEOPLE,
    publicUrl: 'https://p.test',
    onEvent: event => events.push(event),
  })
  const taken = () => events.splice(0)
  const client = String((await register(as, { redirect_uris: [REDIRECT.redirect_uri] })).body['client_id'])
  const address = '127.0.0.1'
  t.match(taken(), [{ event: 'registered', client, redirectHost: 'app.test', address }])
  const browser = as.browser()
  const path = authorizePath(client, REDIRECT)
  await browser.press(await browser.open(path), 'deny')
  const facts = { client, redirectHost: 'app.test', scopes: ['mcp'], address }
  t.match(taken(), [{ event: 'denied', ...facts }])
  const { code } = answerAt(await allowWith(browser, path, TOKEN))
  const principal = 'person alice'
  t.match(taken(), [
    { event: 'signed in', principal, ...facts },
    { event: 'allowed', principal, ...facts },
  ])
  await browser.open(path)
  t.match(taken(), [{ event: 'allowed', principal, ...facts }], 'also without a page')
  const { body } = await exchange(as, client, code, REDIRECT)
  taken()
  const refresh = (token: string) =>
    askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
  const next = await refresh(body.refresh_token)
  t.match(taken(), [{ event: 'refreshed', principal, client, scopes: ['mcp'], address }])
  await refresh(body.refresh_token)
  t.match(taken(), [{ event: 'reuse detected', principal, client, address }])
  t.equal((await refresh(next.body.refresh_token)).status, 400)
  const again = answerAt(await browser.open(path))
  const last = await exchange(as, client, again['code'], REDIRECT)
  taken()
  const form = new URLSearchParams({ client_id: client, token: last.body.refresh_token })
  await fetch(`${as.base}/revoke`, { method: 'POST', body: form })
  t.match(taken(), [{ event: 'revoked', principal, client, address }])
})

t.test('a wrong personal token on the page is counted and logged', async t => {
  const lines: object[] = []
  const write = (facts: object, words: string) => lines.push({ ...facts, words })
  const log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const as = await startAuthServer(t, { ...PEOPLE, log })
  const client = String((await register(as)).body['client_id'])
  const browser = as.browser()
  await allowWith(browser, authorizePath(client), 'mcpp_wrong')
  t.match(lines, [{ words: 'refused a credential', client, address: '127.0.0.1', why: /personal token/ }])
  t.notMatch(JSON.stringify(lines), 'mcpp_wrong')
})

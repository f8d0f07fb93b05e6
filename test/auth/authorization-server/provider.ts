import t from 'tap'
import {
  allowWith,
  answerAt,
  authorizePath,
  personOf,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const TOKEN = 'mcpp_alice'
const PEOPLE = { auth: { people: [personOf('alice', TOKEN)] } }

/** Requests that end before a person has seen anything. */
const WRONG = [
  { prompt: 'none' },
  { response_type: 'token' },
  { code_challenge_method: 'plain' },
  { code_challenge: undefined },
  { resource: 'https://other.test' },
]

t.test('an error is redirected only to where a user has sent codes before (RFC 9700 §4.11.2)', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const redirect = { redirect_uri: 'https://login.phish.test/x' }
  const client = String((await register(as, { redirect_uris: [redirect.redirect_uri] })).body['client_id'])
  for (const more of WRONG) {
    const path = authorizePath(client, { ...redirect, ...more })
    const page = await as.browser().open(path)
    const what = JSON.stringify(more)
    t.match(page, { status: 400, text: /<a href="https:\/\/login\.phish\.test\/x[?#]error=/ }, what)
    t.equal(page.headers.get('location'), null, what)
    const program = await fetch(as.base + path, { redirect: 'manual' })
    t.match(await program.json(), { error: String }, what)
    t.equal(program.headers.get('location'), null, what)
  }
  const browser = as.browser()
  const denied = await browser.press(await browser.open(authorizePath(client, redirect)), 'deny')
  t.match(denied, { status: 403, text: /access_denied/ }, 'also an answer that the user gave')
  t.ok(denied.url.startsWith(as.base))

  t.ok(answerAt(await allowWith(browser, authorizePath(client, redirect), TOKEN))['code'])
  for (const more of WRONG) {
    const page = await as.browser().open(authorizePath(client, { ...redirect, ...more }))
    t.match(page.url, /^https:\/\/login\.phish\.test\/x[?#]error=/, JSON.stringify(more))
  }
})

t.test('errors are redirected to this machine and to listed private-use URIs at once', async t => {
  const listed = 'cursor://anysphere.cursor-mcp/oauth/callback'
  const as = await startAuthServer(t, { ...PEOPLE, embedded: { privateRedirects: [listed] } })
  for (const redirect_uri of [listed, 'http://127.0.0.1/cb', 'http://localhost:1/cb']) {
    const client = String((await register(as, { redirect_uris: [redirect_uri] })).body['client_id'])
    for (const more of WRONG) {
      const page = await as.browser().open(authorizePath(client, { redirect_uri, ...more }))
      t.ok(page.url.startsWith(redirect_uri), JSON.stringify(more))
    }
  }
})

import t from 'tap'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  exchange,
  personOf,
  type RunningAuthServer,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const [ALICE, BOB] = ['mcpp_alice', 'mcpp_bob']
const PEOPLE = { auth: { people: [personOf('alice', ALICE), personOf('bob', BOB)] } }
const REDIRECT = { redirect_uri: 'https://app.test/cb' }

const clientOf = async (as: RunningAuthServer): Promise<string> =>
  String((await register(as, { redirect_uris: [REDIRECT.redirect_uri] })).body['client_id'])

/** Signs a user in, in a new browser. */
const signIn = async (as: RunningAuthServer, client: string, token: string) => {
  const browser = as.browser()
  const { code } = answerAt(await allowWith(browser, authorizePath(client, REDIRECT), token))
  return { browser, body: (await exchange(as, client, code, REDIRECT)).body }
}

const refresh = (as: RunningAuthServer, client: string, token: string) =>
  askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: token })

t.test('a user who is redirected again and again keeps one grant, and ends none of others', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, publicUrl: 'https://p.test' })
  const client = await clientOf(as)
  const alice = await signIn(as, client, ALICE)
  const bob = await signIn(as, client, BOB)
  const answers = []
  for (let at = 0; at < 1200; at += 1)
    answers.push(answerAt(await bob.browser.ask(authorizePath(client, REDIRECT)).then(locationOf)))
  t.ok(answers.every(({ code }) => code !== undefined))
  const { code: hers } = answerAt(await alice.browser.ask(authorizePath(client, REDIRECT)).then(locationOf))
  for (let at = 0; at < 1200; at += 1) await bob.browser.ask(authorizePath(client, REDIRECT))
  t.equal((await exchange(as, client, hers, REDIRECT)).status, 200, 'codes that were not redeemed yet')
  t.equal((await refresh(as, client, alice.body.refresh_token)).status, 200)
  t.equal((await refresh(as, client, bob.body.refresh_token)).status, 200, 'not even his own')
})

const locationOf = ({
  headers,
  ...page
}: {
  headers: Headers
  status: number
  url: string
  text: string
}) => ({
  ...page,
  headers,
  url: headers.get('location') ?? '',
})

t.test('a stranger ends no sign-in that a user has open, whether or not pages are fetched', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, limits: { loginFlows: 20 } })
  const client = await clientOf(as)
  const browser = as.browser()
  const hers = await browser.open(authorizePath(client, REDIRECT))
  for (let at = 0; at < 60; at += 1) await as.browser().ask(authorizePath(client, REDIRECT))
  const other = await clientOf(as)
  for (let at = 0; at < 60; at += 1) await as.browser().open(authorizePath(other, REDIRECT))
  const next = await as.browser().open(authorizePath(client, REDIRECT))
  t.equal(next.status, 200, 'and others can begin')
  t.ok(answerAt(await browser.press(hers, 'allow', { token: ALICE }))['code'])
})

t.test('a client whose grants are revoked makes room for another registration', async t => {
  const as = await startAuthServer(t, { ...PEOPLE, limits: { registrations: 3 } })
  for (let at = 0; at < 3; at += 1) {
    const client = await clientOf(as)
    const { body } = await signIn(as, client, ALICE)
    const form = new URLSearchParams({ client_id: client, token: body.refresh_token })
    await fetch(`${as.base}/revoke`, { method: 'POST', body: form })
  }
  const client = await clientOf(as)
  const { body } = await signIn(as, client, ALICE)
  for (let at = 0; at < 2; at += 1) t.equal((await register(as)).status, 201)
  t.equal((await register(as)).status, 503, 'the others are new, or in use')
  t.equal((await refresh(as, client, body.refresh_token)).status, 200)
})

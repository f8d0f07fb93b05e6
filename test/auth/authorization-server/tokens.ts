import t, { type Test } from 'tap'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  exchange,
  found,
  personOf,
  type RunningAuthServer,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const TOKEN = 'mcpp_alice'

const start = (t: Test): Promise<RunningAuthServer> =>
  startAuthServer(t, { auth: { people: [personOf('alice', TOKEN, ['mcp', 'github'])] } })

const clientOf = async (as: RunningAuthServer): Promise<string> =>
  String((await register(as)).body['client_id'])

/** A client of alice's with tokens. */
const signIn = async (as: RunningAuthServer, more: Record<string, string | undefined> = {}) => {
  const client = await clientOf(as)
  const { code } = answerAt(await allowWith(as.browser(), authorizePath(client, more), TOKEN))
  return { client, code, ...(await exchange(as, client, code)) }
}

t.test('a code is worth tokens for the person who allowed it', async t => {
  const as = await start(t)
  const { status, headers, body } = await signIn(as, { scope: 'mcp github github:admin unknown' })
  t.equal(status, 200)
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal(body.scope, 'mcp github', 'what was asked for and she has')
  const token = found(as, body.access_token)
  t.match(token, { principal: 'person alice', audience: [`${as.issuer}/mcp`], scopes: ['mcp', 'github'] })
  t.ok((token?.endsMs ?? 0) - Date.now() <= 30 * 60_000, 'for half an hour')
  t.equal(found(as, 'something else'), undefined)
})

t.test('a client that names neither scope nor resource gets the base scope at /mcp', async t => {
  const as = await start(t)
  const { body } = await signIn(as)
  t.equal(body.scope, 'mcp')
  t.same(found(as, body.access_token)?.audience, [`${as.issuer}/mcp`])
})

t.test('a token is for the endpoint that was named, and for no other host', async t => {
  const as = await start(t)
  const { body } = await signIn(as, { resource: `${as.issuer}/sse` })
  t.same(found(as, body.access_token)?.audience, [`${as.issuer}/sse`])
  const all = await signIn(as, { resource: `${as.issuer}/` })
  t.same(found(as, all.body.access_token)?.audience, [as.issuer], 'the whole of it, with a slash')
  for (const resource of ['https://s.test', `${as.issuer}/other`, `${as.issuer}/mcp?x`, 'mcp']) {
    const page = await as.browser().open(authorizePath(await clientOf(as), { resource }))
    t.equal(answerAt(page)['error'], 'invalid_target', resource)
  }
})

t.test('a code is worth nothing with another verifier, client, redirect URI or resource', async t => {
  const as = await start(t)
  const other = await clientOf(as)
  const wrong = [
    { code_verifier: 'x'.repeat(43) },
    { client_id: other },
    { redirect_uri: 'http://127.0.0.1/other' },
  ]
  for (const more of wrong) {
    const client = await clientOf(as)
    const { code } = answerAt(await allowWith(as.browser(), authorizePath(client), TOKEN))
    const { status, body } = await exchange(as, client, code, more)
    t.same([status, body.error], [400, 'invalid_grant'], JSON.stringify(more))
  }
  const client = await clientOf(as)
  const { code } = answerAt(await allowWith(as.browser(), authorizePath(client), TOKEN))
  const { body } = await exchange(as, client, code, { resource: `${as.issuer}/sse` })
  t.equal(body.error, 'invalid_target')
})

t.test('a code without redirect_uri is accepted: old SDKs send none', async t => {
  const as = await start(t)
  const { body } = await register(as, { redirect_uris: ['http://127.0.0.1/cb', 'https://c.test/cb'] })
  const client = String(body['client_id'])
  const redirect = 'http://127.0.0.1:5123/cb'
  const path = authorizePath(client, { redirect_uri: redirect })
  const { code } = answerAt(await allowWith(as.browser(), path, TOKEN))
  const answer = await exchange(as, client, code, { redirect_uri: undefined })
  t.equal(answer.status, 200, answer.body.error_description ?? '')
})

t.test('a code that comes twice ends the token that it gave', async t => {
  const as = await start(t)
  const { client, code, body } = await signIn(as)
  t.ok(found(as, body.access_token))
  t.equal((await exchange(as, client, code)).status, 400)
  t.equal(found(as, body.access_token), undefined)
  const refresh = { grant_type: 'refresh_token', client_id: client, refresh_token: body.refresh_token }
  t.equal((await askToken(as, refresh)).body.error, 'invalid_grant')
})

t.test('a refresh token is good once; used again, it ends its family', async t => {
  const as = await start(t)
  const { client, body } = await signIn(as)
  const refresh = (token: string) =>
    askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
  const next = await refresh(body.refresh_token)
  t.equal(next.status, 200)
  t.not(next.body.refresh_token, body.refresh_token)
  t.equal(found(as, next.body.access_token)?.principal, 'person alice')
  t.equal((await refresh(body.refresh_token)).body.error, 'invalid_grant')
  t.equal((await refresh(next.body.refresh_token)).body.error, 'invalid_grant')
  t.equal(found(as, next.body.access_token), undefined)
})

t.test('a refresh token is the client’s own', async t => {
  const as = await start(t)
  const { body } = await signIn(as)
  const refresh = {
    grant_type: 'refresh_token',
    client_id: await clientOf(as),
    refresh_token: body.refresh_token,
  }
  t.equal((await askToken(as, refresh)).body.error, 'invalid_grant')
})

t.test('a revoked token is dead at once', async t => {
  const as = await start(t)
  const { client, body } = await signIn(as)
  const form = new URLSearchParams({ client_id: client, token: body.access_token })
  t.equal((await fetch(`${as.base}/revoke`, { method: 'POST', body: form })).status, 200)
  t.equal(found(as, body.access_token), undefined)
})

t.test('a user who comes back to the configuration has to sign in again', async t => {
  const as = await start(t)
  const { body } = await signIn(as)
  const { people } = as.auth
  as.auth = { ...as.auth, people: [personOf('bob')] }
  await as.server.reload()
  as.auth = { ...as.auth, people }
  await as.server.reload()
  t.equal(found(as, body.access_token), undefined)
})

t.test('a user removed from the configuration loses all grants at once', async t => {
  const as = await start(t)
  const { body, client } = await signIn(as, { scope: 'mcp github' })
  as.auth = { ...as.auth, people: [personOf('alice', TOKEN)] }
  const left = found(as, body.access_token)
  t.same(left?.scopes, ['mcp'], 'a scope that she no longer has')
  t.equal(found(as, body.access_token), left, 'weighed once for each configuration')
  as.auth = { ...as.auth, people: [personOf('bob')] }
  t.equal(found(as, body.access_token), undefined)
  const refresh = { grant_type: 'refresh_token', client_id: client, refresh_token: body.refresh_token }
  t.equal((await askToken(as, refresh)).body.error, 'invalid_grant')
})

t.test('a user without any requested scope is refused, at the client', async t => {
  const as = await startAuthServer(t, { auth: { people: [personOf('alice', TOKEN, ['github'])] } })
  const client = await clientOf(as)
  const answer = answerAt(await allowWith(as.browser(), authorizePath(client), TOKEN))
  t.match(answer, { error: 'access_denied', state: 'the state', iss: as.issuer })
})

t.test('a scope includes the scopes that it implies', async t => {
  const people = [personOf('alice', TOKEN, ['mcp', 'github:admin'])]
  const as = await startAuthServer(t, { auth: { people, scopeImplies: { 'github:admin': ['github'] } } })
  const { body } = await signIn(as, { scope: 'mcp github' })
  t.equal(body.scope, 'mcp github')
})

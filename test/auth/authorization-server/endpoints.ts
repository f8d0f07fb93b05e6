import { createHash } from 'node:crypto'
import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  exchange,
  found,
  personOf,
  register,
  startAuthServer,
} from '../../support/auth-server.js'

const TOKEN = 'mcpp_alice'
const PEOPLE = { auth: { people: [personOf('alice', TOKEN)] } }
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

t.test('a parameter that is repeated leads nowhere (OAuth 2.1 §3.1)', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  const path = authorizePath(client)
  for (const name of new URLSearchParams(path.split('?')[1]).keys()) {
    for (const value of ['x', new URLSearchParams(path.split('?')[1]).get(name) ?? '']) {
      const twice = `${path}&${new URLSearchParams({ [name]: value })}`
      const page = await as.browser().open(twice)
      t.match(page, { status: 400, text: /invalid_request/ }, `${name}=${value}`)
      t.equal(page.headers.get('location'), null)
    }
  }
  const scopes = await as.browser().open(`${path}&scope=mcp&scope=github`)
  t.match(scopes, { status: 400, text: 'must not be repeated: scope' })
  const resources = `&resource=${as.issuer}/mcp&resource=${as.issuer}/sse`
  t.equal((await as.browser().open(path + resources)).status, 200, 'but resource may be (RFC 8707 §2)')
})

const NIGHTLY = { id: 'nightly', sha256: sha256('secret'), jwks: undefined }
const basic = (secret: string) => ({
  authorization: `Basic ${Buffer.from(`nightly:${secret}`).toString('base64')}`,
})

t.test('a client without a scope in its request gets its own scopes (RFC 6749 §3.3)', async t => {
  const clients = [{ ...NIGHTLY, scopes: ['mcp', 'github'] }]
  const as = await startAuthServer(t, { embedded: { clients } })
  const ask = (scope?: string) => askToken(as, { grant_type: 'client_credentials', scope }, basic('secret'))
  const { status, body } = await ask()
  t.match([status, body.scope], [200, 'mcp github'])
  t.match(found(as, body.access_token), { scopes: ['mcp', 'github'] })
  t.equal((await ask('mcp github:admin')).body.scope, 'mcp')
  t.match(await ask('github:admin'), { status: 400, body: { error: 'invalid_scope' } })
})

t.test('guessing a client secret is throttled, logged and counted', async t => {
  const lines: object[] = []
  const write = (facts: object, words: string) => lines.push({ ...facts, words })
  const log = { debug: write, info: write, warn: write, error: write, child: () => log }
  const as = await startAuthServer(t, { embedded: { clients: [{ ...NIGHTLY, scopes: ['mcp'] }] }, log })
  const ask = (secret: string) =>
    askToken(as, { grant_type: 'client_credentials', scope: 'mcp' }, basic(secret))
  const answers = []
  for (let at = 0; at < 200; at += 1) answers.push(await ask(`guess ${at}`))
  const slowed = answers.filter(({ status }) => status === 429)
  t.ok(slowed.length > 150, String(slowed.length))
  t.equal(slowed[0]?.headers.get('retry-after'), '1')
  const refused = lines.filter(line => 'words' in line && line.words === 'refused a credential')
  t.equal(refused.length, 200)
  t.match(refused[0], { client: 'nightly', path: '/token', why: /did not authenticate/ })
  t.notMatch(JSON.stringify(lines), 'guess')
  let last = await ask('secret')
  for (let tries = 0; last.status === 429 && tries < 1000; tries += 1) last = await ask('secret')
  t.equal(last.status, 200, 'it is not locked out')
  const revoked = await fetch(`${as.base}/revoke`, {
    method: 'POST',
    headers: basic('guess'),
    body: new URLSearchParams({ token: 'x' }),
  })
  t.equal(revoked.status, 429, 'nor is its secret guessed there')
})

t.test('guessed refresh tokens are slowed down, and good ones never', async t => {
  const as = await startAuthServer(t, PEOPLE)
  const client = String((await register(as)).body['client_id'])
  const { code } = answerAt(await allowWith(as.browser(), authorizePath(client), TOKEN))
  const { body } = await exchange(as, client, code)
  const refresh = (token: string) =>
    askToken(as, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
  const statuses = []
  for (let at = 0; at < 60; at += 1) statuses.push((await refresh(`guess ${at}`)).status)
  t.ok(statuses.filter(status => status === 429).length > 20)
  t.equal((await refresh(body.refresh_token)).status, 200)
})

t.test('while other replicas cannot be asked, clients are told to try again', async t => {
  const failures: string[] = []
  const log = { ...silentLogger, error: (_fields: object, message: string) => void failures.push(message) }
  const unreachable = () => Promise.reject(new Fault('unavailable', 'no engine'))
  const broadcasts = { on: () => undefined, read: unreachable, write: unreachable }
  const as = await startAuthServer(t, {
    ...PEOPLE,
    log,
    replicas: { broadcasts, keys: [], isEldest: () => true },
  })
  const client = String((await register(as)).body['client_id'])
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(as.base + path, { method: 'POST', body: new URLSearchParams({ client_id: client, ...form }) })
  const renewal = { grant_type: 'refresh_token', refresh_token: 'unknown' }
  for (const answer of [
    await post('/token', renewal),
    await post('/token', { ...renewal, client_id: 'unknown' }),
    await post('/revoke', { token: 'unknown' }),
    await fetch(`${as.base}${authorizePath('unknown')}`),
  ]) {
    t.equal(answer.status, 503, answer.url)
    t.equal(answer.headers.get('retry-after'), '5')
    t.match(await answer.json(), { error: 'temporarily_unavailable' })
  }
  t.match(await as.browser().open(authorizePath('unknown')), { status: 503, text: 'try again soon' })
  t.same(failures, [], 'an outage of the engine is no fault of the authorization server')
})

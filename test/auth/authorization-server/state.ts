import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Logger } from '../../../src/kernel/logger.js'
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

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

t.test('clients, grants and consents outlive a restart, as hashes in files of our own', async t => {
  const publicUrl = 'https://p.test'
  const stateDir = t.testdir()
  const lines: string[] = []
  const write = (facts: object, words: string) => lines.push(JSON.stringify([facts, words]))
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log }
  const first = await startAuthServer(t, { ...PEOPLE, publicUrl, stateDir, log })
  const redirect = { redirect_uri: 'https://c.test/cb' }
  const { body: client } = await register(first, { redirect_uris: [redirect.redirect_uri] })
  const id = String(client['client_id'])
  const browser = first.browser()
  const { code } = answerAt(await allowWith(browser, authorizePath(id, redirect), TOKEN))
  const { body } = await exchange(first, id, code, redirect)
  await first.stop()

  const second = await startAuthServer(t, { ...PEOPLE, publicUrl, stateDir, log })
  t.equal(found(second, body.access_token), undefined, 'access tokens are in memory')
  const refresh = { grant_type: 'refresh_token', client_id: id, refresh_token: body.refresh_token }
  const next = await askToken(second, refresh)
  t.equal(next.status, 200, 'a client refreshes once')
  t.equal(found(second, next.body.access_token)?.principal, 'person alice')
  t.match(await second.browser().open(authorizePath(id, redirect)), { status: 200 }, 'the client is known')
  t.equal((await askToken(second, refresh)).body.error, 'invalid_grant', 'so is the used token')

  const files = filesIn(stateDir)
  t.ok(files.length >= 4)
  for (const file of files) {
    if (process.platform !== 'win32') t.equal(statSync(file).mode & 0o777, 0o600, file)
    const text = readFileSync(file, 'utf8')
    for (const secret of [body.refresh_token, body.access_token, next.body.refresh_token, code, TOKEN]) {
      t.notMatch(text, String(secret), `${file}`)
    }
  }
  for (const secret of [body.refresh_token, body.access_token, code, TOKEN])
    t.notMatch(lines.join(), String(secret))
})

t.test('state that is broken, or that others could have changed, counts for nothing', async t => {
  const stateDir = t.testdir()
  const publicUrl = 'https://p.test'
  const first = await startAuthServer(t, { ...PEOPLE, publicUrl, stateDir })
  const id = String((await register(first)).body['client_id'])
  await first.stop()
  const file = filesIn(stateDir).find(each => each.endsWith('clients.json')) ?? ''
  t.match(readFileSync(file, 'utf8'), id)
  for (const broken of ['{"half":', `{"${id}":null}`]) {
    writeFileSync(file, broken)
    const next = await startAuthServer(t, { ...PEOPLE, publicUrl, stateDir })
    t.match((await next.browser().open(authorizePath(id))).text, 'does not know the client', broken)
  }
})

t.test('a program of the configuration gets tokens for itself, by a secret', async t => {
  const clients = [
    {
      id: 'nightly',
      sha256: '2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b',
      jwks: undefined,
      scopes: ['mcp', 'github'],
    },
  ]
  const as = await startAuthServer(t, { embedded: { clients } })
  const ask = (secret: string, more = {}) =>
    askToken(
      as,
      { grant_type: 'client_credentials', scope: 'mcp github github:admin', ...more },
      { authorization: `Basic ${Buffer.from(`nightly:${secret}`).toString('base64')}` },
    )
  const { status, body } = await ask('secret')
  t.equal(status, 200)
  t.match(found(as, body.access_token), {
    principal: `${as.issuer} nightly`,
    audience: [`${as.issuer}/mcp`],
    scopes: ['mcp', 'github'],
  })
  t.equal((await ask('wrong')).body.error, 'invalid_client')
  t.equal((await ask('secret', { resource: 'https://s.test' })).body.error, 'invalid_target')
  const metadata = JSON.parse(as.server.metadata())
  t.ok(metadata.grant_types_supported.includes('client_credentials'))
  t.match(metadata.token_endpoint_auth_methods_supported, [
    'none',
    'client_secret_basic',
    'client_secret_post',
    'private_key_jwt',
  ])
  t.ok(metadata.token_endpoint_auth_signing_alg_values_supported.includes('ES256'))
  const page = await as.browser().open(authorizePath('nightly'))
  t.equal(page.status, 400, 'it signs nobody in')
})

t.test('a program of the configuration gets tokens for itself, by its key', async t => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const dir = t.testdir({ 'keys.json': JSON.stringify({ keys: [publicKey.export({ format: 'jwk' })] }) })
  const clients = [{ id: 'nightly', sha256: undefined, jwks: join(dir, 'keys.json'), scopes: undefined }]
  const as = await startAuthServer(t, { stateDir: join(dir, 'state'), embedded: { clients } })
  const assertion = (key: typeof privateKey) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: 'nightly',
      sub: 'nightly',
      aud: as.issuer,
      jti: randomUUID(),
      iat: now,
      exp: now + 60,
    }
    const text = [{ alg: 'ES256' }, claims]
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const ask = (text: string) =>
    askToken(as, {
      grant_type: 'client_credentials',
      scope: 'mcp',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: text,
    })
  const once = assertion(privateKey)
  const { body } = await ask(once)
  t.match(found(as, body.access_token), { principal: `${as.issuer} nightly`, scopes: ['mcp'] })
  t.equal((await ask(once)).body.error, 'invalid_client', 'an assertion is good once')
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  t.equal((await ask(assertion(other))).body.error, 'invalid_client')
  const missing = [{ id: 'nightly', sha256: undefined, jwks: join(dir, 'none.json'), scopes: undefined }]
  await t.rejects(startAuthServer(t, { stateDir: join(dir, 'other'), embedded: { clients: missing } }), {
    message: /auth\.embedded\.clients\.nightly\.jwks: the file is missing/,
  })
})

t.test('a client may be the document at its id', async t => {
  const id = 'https://c.test/client.json'
  const documents: Record<string, object> = {
    [id]: {
      client_id: id,
      client_name: 'Document client',
      redirect_uris: ['http://127.0.0.1/cb', 'evil://x'],
    },
    'https://c.test/other.json': {
      client_id: id,
      client_name: 'Other',
      redirect_uris: ['https://c.test/cb'],
    },
    'https://c.test/nameless.json': {
      client_id: 'https://c.test/nameless.json',
      redirect_uris: ['http://127.0.0.1/cb'],
    },
    'https://c.test/secret.json': {
      client_id: 'https://c.test/secret.json',
      client_name: 'Secret',
      client_secret: 's',
      redirect_uris: ['http://127.0.0.1/cb'],
    },
  }
  const visited: string[] = []
  const fetchDocument = async (url: unknown, init?: RequestInit) => {
    visited.push(String(url))
    t.equal(init?.redirect, 'manual')
    return Promise.resolve(
      Response.json(documents[String(url)] ?? {}, { headers: { 'cache-control': 'max-age=60' } }),
    )
  }
  const as = await startAuthServer(t, { ...PEOPLE, fetch: fetchDocument })
  const path = authorizePath(id, { redirect_uri: 'http://127.0.0.1:5123/cb' })
  const browser = as.browser()
  const page = await browser.open(path)
  t.match(page, { status: 200, text: 'Document client' })
  t.match(page.text, '<dd>c.test</dd>', 'who published it')
  t.match(page.text, 'any program there may call itself')
  const { code } = answerAt(await browser.press(page, 'allow', { token: TOKEN }))
  const { status } = await exchange(as, id, code, { redirect_uri: 'http://127.0.0.1:5123/cb' })
  t.equal(status, 200)
  t.equal(visited.length, 1, 'it is kept for as long as it says')
  for (const bad of Object.keys(documents).slice(1)) {
    t.match(await browser.open(authorizePath(bad)), { status: 400 }, bad)
  }
  t.match(await browser.open(authorizePath('http://c.test/client.json')), { status: 400 }, 'without TLS')
  const before = visited.length
  for (let at = before; at < 30; at += 1) await browser.open(authorizePath(`https://c.test/${at}.json`))
  t.equal(visited.length, 20, 'twenty in a minute')
})

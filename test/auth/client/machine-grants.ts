import { generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import t from 'tap'
import type { OAuthSettings } from '../../../src/auth/client/settings.js'
import { TokenSource } from '../../../src/auth/client/token-source.js'
import { A, contextOf, METADATA, MemoryStore, recordOf, S, usualWeb } from '../../support/sign-in.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const I = 'https://idp.test'
const TOKENS = { access_token: 'new', token_type: 'Bearer', refresh_token: 'not wanted' }

/** Gets the first tokens of a machine. */
const acquire = async (
  settings: OAuthSettings,
  {
    web = usualWeb(TOKENS),
    files = {},
  }: { web?: ReturnType<typeof usualWeb>; files?: Record<string, string> } = {},
) => {
  const store = new MemoryStore()
  const source = new TokenSource(contextOf(web.fetch, store, { settings, files }))
  const record = await source.acquire(undefined).catch(thrown => thrown)
  return { record, store, web, source, [Symbol.toStringTag]: 'acquired' }
}

const partsOf = (jwt = '') => {
  const [head = '', body = '', signature = ''] = jwt.split('.')
  const parsed = [head, body].map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
  return { head: parsed[0], claims: parsed[1], signed: Buffer.from(`${head}.${body}`), signature }
}

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()

t.test('a machine signs in by its key, to the issuer, for a minute', async t => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const grant = { grant: 'client_credentials', clientId: 'me' } as const
  for (const [key, files] of [
    [pem(privateKey), {}],
    ['./client.pem', { './client.pem': pem(privateKey) }],
  ] as const) {
    const { record, web } = await acquire({ ...grant, key }, { files })
    t.match(record.tokens, { access: 'new', refresh: undefined }, 'a refresh token is not kept')
    const [{ form = {}, headers } = {}] = web.to(`${A}/token`)
    t.equal(headers?.get('authorization'), null)
    t.equal(form['resource'], S)
    const { claims, signed, signature } = partsOf(form['client_assertion'])
    t.match(claims, { iss: 'me', sub: 'me', aud: A, jti: String })
    t.ok(claims.exp - claims.iat <= 60)
    const how = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
    t.ok(verify('sha256', signed, how, Buffer.from(signature, 'base64url')))
  }
})

t.test('a key may be of each of the usual algorithms, and no other', async t => {
  const algorithmOf = async (key: string) => {
    const { record, web } = await acquire({ grant: 'client_credentials', clientId: 'me', key })
    const form = web.to(`${A}/token`)[0]?.form
    return form === undefined ? record.message : partsOf(form['client_assertion']).head.alg
  }
  t.equal(await algorithmOf(pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)), 'RS256')
  t.equal(await algorithmOf(pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)), 'ES384')
  t.match(await algorithmOf(pem(generateKeyPairSync('ed25519').privateKey)), /^Ed(?:DSA|25519)$/)
  t.match(await algorithmOf(pem(generateKeyPairSync('x25519').privateKey)), /must be PKCS #8/)
  t.match(await algorithmOf('-----BEGIN nonsense-----'), /must be PKCS #8/)
  t.match(await algorithmOf('missing.pem'), /missing\.pem cannot be read/)
})

t.test('a machine asks once more, with all scopes that were ever wanted', async t => {
  const { source, web } = await acquire({ grant: 'client_credentials', clientId: 'me', scopes: ['a'] })
  const stepUp = { scopes: ['a', 'b'], attempts: 1, total: 1, sinceMs: 0 }
  const { asked } = await source.acquire(undefined, stepUp)
  t.same(asked, ['a', 'b'])
  t.same(
    web.to(`${A}/token`).map(({ form }) => form['scope']),
    ['a', 'a b'],
  )
})

const IDP: OAuthSettings = {
  grant: 'id-jag',
  clientId: 'me',
  clientSecret: 'secret',
  idp: { issuer: I, clientId: 'ours', clientSecret: 'other', idToken: 'id.jwt' },
}
const FILES = { 'id.jwt': 'the ID token\n' }

/** An identity provider that vouches as it is told. */
const webWithIdp = (answer: object) => {
  const web = usualWeb({ ...TOKENS })
  web.places[`${I}/.well-known/oauth-authorization-server`] = {
    ...METADATA,
    issuer: I,
    token_endpoint: `${I}/token`,
  }
  web.places[`${I}/token`] = answer
  return web
}

t.test('an identity provider vouches for the person at the authorization server', async t => {
  const vouched = {
    access_token: 'the-assertion',
    issued_token_type: ID_JAG,
    token_type: 'N_A',
    expires_in: 300,
  }
  const { record, web } = await acquire({ ...IDP, scopes: ['a'] }, { web: webWithIdp(vouched), files: FILES })
  t.match(record.tokens, { access: 'new' })
  const [exchange] = web.to(`${I}/token`)
  t.match(exchange?.form, {
    grant_type: EXCHANGE,
    requested_token_type: ID_JAG,
    subject_token: 'the ID token',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    audience: A,
    resource: S,
    scope: 'a',
  })
  t.equal(exchange?.headers.get('authorization'), `Basic ${btoa('ours:other')}`)
  const [last] = web.to(`${A}/token`)
  t.same(last?.form, { grant_type: BEARER, assertion: 'the-assertion', scope: 'a' })
  t.equal(last?.headers.get('authorization'), `Basic ${btoa('me:secret')}`)
  t.notOk(
    web.asked.some(({ url }) => url.startsWith(`${A}/authorize`)),
    'no person is sent there',
  )
})

t.test('extra members of an identity provider’s response are ignored', async t => {
  for (const [answer, words] of [
    [
      { access_token: 'x', issued_token_type: 'urn:other', token_type: 'N_A' },
      /did not send a valid identity assertion/,
    ],
    [{ access_token: 'x', issued_token_type: ID_JAG, token_type: 'Bearer' }, /not of type N_A/],
    [Response.json({ error: 'invalid_target' }, { status: 400 }), /invalid_target/],
    [new Response(null, { status: 503 }), /HTTP status 503/],
  ] as const) {
    const { record, web, store } = await acquire(IDP, { web: webWithIdp(answer), files: FILES })
    t.match(record.message, words)
    t.same(web.to(`${A}/token`), [], 'the authorization server hears nothing of it')
    t.equal(store.record, undefined)
  }
  t.match((await acquire(IDP, { web: webWithIdp({}) })).record.message, /id\.jwt cannot be read/)
  const { idp: _none, ...without } = IDP
  t.match((await acquire(without)).record.message, /no "oauth\.idp"/)
})

t.test('the token of a workload is sent once, and nothing is tried after a refusal', async t => {
  const settings = { grant: 'jwt-bearer', clientId: 'me', assertion: 'workload.jwt' } as const
  const files = { 'workload.jwt': 'the workload\n' }
  const { record, web } = await acquire(settings, { files })
  t.match(record, { redirect: 'none', tokens: { access: 'new', refresh: undefined } })
  t.match(web.to(`${A}/token`)[0]?.form, { grant_type: BEARER, assertion: 'the workload', resource: S })
  const refusing = usualWeb(() => Response.json({ error: 'invalid_grant' }, { status: 400 }))
  const refused = await acquire(settings, { web: refusing, files })
  t.match(refused.record, { message: /invalid_grant/, data: { reason: 'auth-unreachable' } })
  t.equal(refusing.to(`${A}/token`).length, 1)
})

t.test('with DPoP a key is made, and a nonce that is wanted is repeated', async t => {
  const proofs: ReturnType<typeof partsOf>[] = []
  const web = usualWeb(({ headers }: { headers: Headers }) => {
    proofs.push(partsOf(headers.get('dpop') ?? ''))
    return proofs.length === 1
      ? Response.json({ error: 'use_dpop_nonce' }, { status: 400, headers: { 'dpop-nonce': 'n1' } })
      : { access_token: 'bound', token_type: 'DPoP' }
  })
  const settings = { grant: 'client_credentials', clientId: 'me', clientSecret: 's', dpop: true } as const
  const { record } = await acquire(settings, { web })
  t.match(record.tokens, { access: 'bound', type: 'DPoP' })
  t.match(proofs[1], {
    head: { typ: 'dpop+jwt', alg: 'ES256' },
    claims: { nonce: 'n1', htm: 'POST', htu: `${A}/token` },
  })
  t.notOk(JSON.stringify(proofs).includes(String(record.dpopKey.d)), 'the private half stays here')
  const bearer = usualWeb({ access_token: 'x', token_type: 'Bearer' })
  t.match((await acquire(settings, { web: bearer })).record.message, /not of type DPoP/)
})

t.test('a stored machine login gets new tokens under the lock', async t => {
  const settings = { grant: 'client_credentials', clientId: 'me', clientSecret: 's' } as const
  const record = recordOf({ redirect: 'none', client: undefined, tokens: { access: 'old', type: 'Bearer' } })
  const store = new MemoryStore(record)
  const web = usualWeb(TOKENS)
  const renewed = await new TokenSource(contextOf(web.fetch, store, { settings })).renew(record, 'old')
  t.match(renewed.tokens, { access: 'new', refresh: undefined })
  t.equal(web.to(`${A}/token`)[0]?.form['grant_type'], 'client_credentials')
})

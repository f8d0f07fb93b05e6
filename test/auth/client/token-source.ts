import t from 'tap'
import { TokenSource } from '../../../src/auth/client/token-source.js'
import {
  A,
  contextOf,
  METADATA,
  MemoryStore,
  NOW,
  recordOf,
  S,
  usualWeb,
  webOf,
} from '../../support/sign-in.js'

const DAY_MS = 24 * 60 * 60_000
const PRM = 'https://s.test/.well-known/oauth-protected-resource/mcp'
const ASM = `${A}/.well-known/oauth-authorization-server`
const failed = (status: number, body: object = {}) => Response.json(body, { status })

t.test('a token that another process has just stored is used, and no login wanted', async t => {
  const newer = recordOf({ tokens: { access: 'newer', type: 'Bearer', refresh: 'r2' } })
  const store = new MemoryStore(recordOf())
  const web = usualWeb(() => {
    store.save(newer)
    return failed(400, { error: 'invalid_grant' })
  })
  const renewed = await new TokenSource(contextOf(web.fetch, store)).renew(recordOf(), 'old')
  t.equal(renewed.tokens?.access, 'newer')
  t.same(store.record, newer, 'nothing was forgotten')
})

t.test('of several waiters for the lock, only the first refreshes', async t => {
  const store = new MemoryStore(recordOf())
  const web = usualWeb({ access_token: 'new', token_type: 'Bearer', refresh_token: 'r2' })
  const source = () => new TokenSource(contextOf(web.fetch, store))
  const all = await Promise.all(Array.from({ length: 50 }, () => source().renew(recordOf(), 'old')))
  t.same(new Set(all.map(({ tokens }) => tokens?.access)), new Set(['new']))
  t.equal(web.to(`${A}/token`).length, 1)
  t.match(web.to(`${A}/token`)[0]?.form, { grant_type: 'refresh_token', refresh_token: 'r', resource: S })
})

t.test('an answer without a refresh token keeps the old one', async t => {
  const store = new MemoryStore(recordOf())
  await new TokenSource(contextOf(usualWeb().fetch, store)).renew(recordOf(), 'old')
  t.match(store.record?.tokens, { access: 'new', refresh: 'r' })
})

t.test('only what says that a grant or client is dead makes us forget', async t => {
  const after = async (answer: Response | object, record = recordOf(), settings = {}) => {
    const store = new MemoryStore(record)
    const source = new TokenSource(contextOf(usualWeb(() => answer).fetch, store, { settings }))
    const reason = await source.renew(record, 'old').then(
      () => 'renewed',
      fault => fault.data.reason,
    )
    return [reason, store.record?.tokens?.refresh, store.record?.client?.id]
  }
  t.same(await after(failed(400, { error: 'invalid_grant' })), ['needs-auth', undefined, 'c'])
  t.same(await after(failed(401, { error: 'invalid_client' })), ['needs-auth', undefined, undefined])
  const configured = recordOf({ client: { id: 'mine', by: 'configuration' } })
  const dead = await after(failed(401, { error: 'invalid_client' }), configured, { clientId: 'mine' })
  t.same(dead, ['needs-client', undefined, 'mine'], 'only the operator can fix it')
  for (const answer of [
    ...[failed(500), failed(503), failed(429), new Response('<html>'), new Response(null)],
    ...[failed(400, { error: 'invalid_request' }), failed(400, { error: 'server_error' }), failed(404)],
    ...[{ access_token: 7 }, { token_type: 'Bearer' }, new Response('null')],
    failed(429, { error: 'invalid_grant' }),
  ]) {
    t.same(await after(answer), ['auth-unreachable', 'r', 'c'])
  }
  t.same(await after(failed(400), recordOf({ tokens: { access: 'old', type: 'Bearer' } })), [
    'needs-auth',
    undefined,
    'c',
  ])
})

t.test('a refresh goes to the authorization server that was found, not to the server', async t => {
  const store = new MemoryStore(recordOf())
  const web = usualWeb()
  await new TokenSource(contextOf(web.fetch, store)).renew(recordOf(), 'old')
  t.same(
    web.asked.map(({ url }) => url),
    [`${A}/token`],
    'and nothing is looked for',
  )
})

t.test('after a day it is looked for again, and an endpoint may have moved', async t => {
  for (const discoveredMs of [NOW - DAY_MS, NOW + 1]) {
    const record = recordOf({ discoveredMs })
    const store = new MemoryStore(record)
    const web = usualWeb()
    web.places[ASM] = { ...METADATA, token_endpoint: `${A}/moved` }
    web.places[`${A}/moved`] = { access_token: 'new', token_type: 'Bearer' }
    const source = new TokenSource(contextOf(web.fetch, store))
    await source.renew(record, 'old')
    t.same(
      web.asked.map(({ url }) => url),
      [PRM, ASM, `${A}/moved`],
    )
    t.match(store.record, { discoveredMs: NOW, discovery: { server: { token_endpoint: `${A}/moved` } } })
  }
})

t.test('a rediscovered authorization server is not used if it differs or is missing', async t => {
  const record = recordOf({ discoveredMs: 0 })
  const B = 'https://b.test'
  for (const [at, found] of [
    [PRM, { resource: S, authorization_servers: [B] }],
    [PRM, { resource: 'https://s.test/', authorization_servers: [A] }],
    [PRM, failed(500)],
    [ASM, failed(503)],
    [ASM, new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    [ASM, { ...METADATA, issuer: B }],
  ] as const) {
    const store = new MemoryStore(record)
    const web = usualWeb()
    web.places[`${B}/.well-known/oauth-authorization-server`] = {
      ...METADATA,
      issuer: B,
      token_endpoint: `${B}/token`,
    }
    web.places[at] = found
    await new TokenSource(contextOf(web.fetch, store)).renew(record, 'old')
    t.match(store.record, { discoveredMs: 0, discovery: record.discovery, tokens: { access: 'new' } })
    t.same(web.to(`${B}/token`), [], 'nobody else sees the refresh token')
  }
})

t.test('metadata that a challenge named are read there again', async t => {
  const named = 'https://s.test/custom'
  const { discovery } = recordOf()
  const record = recordOf({ discoveredMs: 0, discovery: { ...discovery, resourceMetadata: named } })
  const web = usualWeb()
  web.places[named] = web.places[PRM] ?? {}
  await new TokenSource(contextOf(web.fetch, new MemoryStore(record))).renew(record, 'old')
  t.same([web.to(named).length, web.to(PRM).length], [1, 0])
})

t.test('a new login starts with the resource metadata and reports what is missing', async t => {
  const acquire = async (places: Parameters<typeof webOf>[0], settings = {}) => {
    const web = webOf({ [PRM]: { resource: S, authorization_servers: [A] }, ...places })
    const source = new TokenSource(contextOf(web.fetch, new MemoryStore(recordOf()), { settings }))
    const fault = await source.acquire(undefined).catch(thrown => thrown)
    return { web, reason: fault.data.reason, words: fault.message }
  }
  const can = { ...METADATA, registration_endpoint: `${A}/register` }
  const { web, reason } = await acquire({ [ASM]: can })
  t.equal(reason, 'needs-auth')
  t.same(
    web.asked.map(({ url }) => url),
    [PRM, ASM],
  )
  t.match(await acquire({ [ASM]: METADATA }), {
    reason: 'needs-client',
    words: /does not support dynamic client registration/,
  })
  t.match(await acquire({ [ASM]: METADATA }, { clientId: 'mine' }), { reason: 'needs-auth' })
  t.match(await acquire({}), { reason: 'auth-unreachable' })
})

t.test('each request for metadata names the revision that we would offer', async t => {
  const record = recordOf({ discoveredMs: 0 })
  const web = usualWeb()
  await new TokenSource(contextOf(web.fetch, new MemoryStore(record))).renew(record, 'old')
  for (const url of [PRM, ASM]) t.equal(web.to(url)[0]?.headers.get('mcp-protocol-version'), '2025-11-25')
})

t.test('a server of 2025-03-26 stays its own authorization server for a configured client', async t => {
  const own = 'https://s.test/.well-known/oauth-authorization-server'
  const discovery = {
    resource: undefined,
    scopes: undefined,
    server: { ...METADATA, issuer: 'https://s.test/oauth' },
    by: 'origin',
  } as const
  const acquire = async (places: Parameters<typeof webOf>[0]) => {
    const web = webOf({ [own]: discovery.server, ...places })
    const context = contextOf(web.fetch, new MemoryStore(recordOf({ discovery })), {
      settings: { clientId: 'mine', clientSecret: 's' },
    })
    return await new TokenSource(context).acquire(undefined).catch(thrown => thrown)
  }
  t.match(await acquire({}), { data: { reason: 'needs-auth' } })
  t.match(await acquire({ [PRM]: { resource: S, authorization_servers: [A] }, [ASM]: METADATA }), {
    data: { reason: 'auth-unreachable' },
    message: /names the authorization server https:\/\/a\.test, not https:\/\/s\.test/,
  })
})

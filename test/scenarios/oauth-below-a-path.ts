import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { startAuthorized } from '../support/proxy/authorized.js'

const REDIRECT = 'http://127.0.0.1:9/callback'
const AUTH = { embedded: true, people: { alice: { tokens: [{ hash: `sha256:${tokenHash('secret')}` }] } } }
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

const cookiesIn = (headers: Readonly<Record<string, unknown>>): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map(line => String(line).split(';')[0])
    .join('; ')

t.test('a client signs in below listen.path, whose addresses name the path', async t => {
  const { ask, origin, initialize } = await startAuthorized(t, AUTH, {
    more: { listen: { port: 0, path: '/tools' } },
    stateDir: t.testdir(),
  })
  const base = `${origin}/tools`
  const refused = await ask('/tools/mcp', { method: 'POST' })
  const metadata = `${origin}/.well-known/oauth-protected-resource/tools/mcp`
  t.match(refused, { status: 401, headers: { 'www-authenticate': `resource_metadata="${metadata}"` } })
  const resource = JSON.parse((await ask(new URL(metadata).pathname)).text)
  t.match(resource, { resource: `${base}/mcp`, authorization_servers: [base] })
  for (const path of [
    '/.well-known/oauth-authorization-server/tools',
    '/.well-known/openid-configuration/tools',
    '/tools/.well-known/openid-configuration',
  ]) {
    const found = JSON.parse((await ask(path)).text)
    t.match(found, {
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
    })
  }
  const client = { client_name: 'c', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' }
  const registered = await ask('/tools/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(client),
  })
  const { client_id } = JSON.parse(registered.text)
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id, redirect_uri: REDIRECT, scope: 'mcp', resource: `${base}/mcp` },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const begun = await ask(`/tools/authorize?${query}`)
  t.match(begun.headers.location, /^\/tools\/oauth\/sign-in\//)
  for (const cookie of begun.headers['set-cookie'] ?? []) t.match(cookie, '; Path=/tools;')
  const at = String(begun.headers.location)
  const cookie = cookiesIn(begun.headers)
  const page = await ask(at, { headers: { cookie } })
  t.match(page.text, `action="${at}"`)
  const [, csrf = ''] = /name="csrf" value="([^"]*)/.exec(page.text) ?? []
  const body = new URLSearchParams({ csrf, token: 'secret', action: 'allow' }).toString()
  const allowed = await ask(at, { method: 'POST', headers: { ...FORM, cookie }, body })
  const back = new URL(String(allowed.headers.location))
  t.match(back.href, `${base}/authorize/`)
  const ended = await ask(back.pathname, { headers: { cookie } })
  const answer = new URL(String(ended.headers.location)).searchParams
  t.equal(answer.get('iss'), base)
  const grant = { grant_type: 'authorization_code', code: answer.get('code') ?? '', code_verifier: verifier }
  const asked = new URLSearchParams({ ...grant, client_id, redirect_uri: REDIRECT }).toString()
  const { access_token } = JSON.parse(
    (await ask('/tools/token', { method: 'POST', headers: FORM, body: asked })).text,
  )
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const entered = await ask('/tools/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  t.equal(entered.status, 200)
  t.equal((await initialize(access_token)).status, 404, 'there is nothing outside the path')
})

t.test('behind a reverse proxy that removes the path of publicUrl, addresses name it', async t => {
  const { ask } = await startAuthorized(
    t,
    { ...AUTH, publicUrl: 'https://p.test/tools' },
    { stateDir: t.testdir() },
  )
  const headers = { host: 'p.test' }
  const challenge = 'resource_metadata="https://p.test/.well-known/oauth-protected-resource/tools/mcp"'
  for (const path of ['/mcp', '/tools/mcp'])
    t.match(
      await ask(path, { method: 'POST', headers }),
      { headers: { 'www-authenticate': challenge } },
      path,
    )
  for (const path of [
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-protected-resource/tools/mcp',
  ])
    t.match(JSON.parse((await ask(path, { headers })).text), { resource: 'https://p.test/tools/mcp' }, path)
})

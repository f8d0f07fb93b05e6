import t, { type Test } from 'tap'
import { startAuthorized } from '../../support/proxy/authorized.js'
import { FakeIssuer } from '../../support/server/fake-issuer.js'

const PRM = '/.well-known/oauth-protected-resource'
const ASM = '/.well-known/oauth-authorization-server'
const PUBLIC = 'https://p.test'

const withIssuer = async (t: Test) => {
  const issuer = await FakeIssuer.start(t)
  const proxy = await startAuthorized(t, { publicUrl: PUBLIC, issuers: [{ issuer: issuer.issuer }] })
  return { issuer, ...proxy }
}

t.test('each endpoint has metadata, which every web page may read', async t => {
  const { ask, issuer } = await withIssuer(t)
  for (const [path, resource] of [
    [`${PRM}/mcp`, `${PUBLIC}/mcp`],
    [PRM, `${PUBLIC}/mcp`],
    [`${PRM}/sse`, `${PUBLIC}/sse`],
    [`${PRM}/ws`, `${PUBLIC}/ws`],
  ] as const) {
    const headers = { host: 'p.test', origin: 'https://x.test', 'mcp-protocol-version': 'whatever' }
    const answer = await ask(path, { headers })
    t.equal(answer.status, 200)
    t.match(answer.headers, {
      'content-type': /^application\/json/,
      'access-control-allow-origin': '*',
      'cache-control': 'max-age=300',
    })
    t.same(JSON.parse(answer.text), {
      resource,
      authorization_servers: [issuer.issuer],
      scopes_supported: ['mcp'],
      bearer_methods_supported: ['header'],
      resource_name: 'mcp-proxy',
    })
  }
  t.match(await ask(`${PRM}/other`), { status: 404, headers: { 'content-type': /json/ } })
  const head = await ask(PRM, { method: 'HEAD' })
  t.match(head, { status: 200, text: '', headers: { 'cache-control': 'max-age=300' } })
  const preflight = await ask(PRM, {
    method: 'OPTIONS',
    headers: { origin: 'https://x.test', 'access-control-request-method': 'GET' },
  })
  t.match(preflight, {
    status: 204,
    headers: { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' },
  })
  t.match(await ask(PRM, { method: 'POST' }), { status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
})

t.test('a foreign Host gets no document, the host of publicUrl does', async t => {
  const { ask } = await withIssuer(t)
  t.match(await ask(PRM, { headers: { host: 'evil.test' } }), { status: 403 })
  t.match(await ask(PRM, { headers: { host: 'p.test' } }), { status: 200 })
  t.match(await ask('/mcp', { headers: { host: 'evil.test' } }), { status: 403 }, 'not 401')
})

t.test('with tokens alone, discovery is answered with a JSON error', async t => {
  const { ask } = await startAuthorized(t, { people: { alice: {} } })
  const paths = [PRM, `${PRM}/mcp`, ASM, `${ASM}/mcp`, '/.well-known/openid-configuration', '/register']
  for (const path of paths) {
    for (const method of ['GET', 'POST']) {
      const answer = await ask(path, { method })
      t.equal(answer.status, 404, `${method} ${path}`)
      t.match(answer.headers['content-type'], /^application\/json/)
      t.ok(JSON.parse(answer.text))
    }
  }
})

t.test('the metadata of the only issuer stands here too, byte for byte', async t => {
  const { ask, issuer } = await withIssuer(t)
  const text = ` {"issuer":"${issuer.issuer}",\n "odd" : 1.0 } `
  issuer.answers.set(ASM, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(text)
  })
  t.match(await ask(ASM), { status: 200, text })
  await ask(ASM)
  t.same(issuer.asked, [ASM], 'asked once')
  const { ask: other, issuer: silent } = await withIssuer(t)
  silent.answers.set(ASM, (_request, response) => response.writeHead(500).end())
  t.match(await other(ASM), { status: 503, headers: { 'retry-after': '10' } })
})

t.test('a web page of an allowed origin may send a token and read the challenge', async t => {
  const { ask } = await withIssuer(t)
  const origin = 'http://localhost:6274'
  const headers = { origin, 'access-control-request-method': 'POST' }
  const preflight = await ask('/mcp', { method: 'OPTIONS', headers })
  t.equal(preflight.status, 204, 'without a credential')
  t.match(preflight.headers['access-control-allow-headers'], /authorization.*mcp-protocol-version/)
  const answer = await ask('/mcp', { headers: { origin } })
  t.equal(answer.status, 401)
  t.match(answer.headers, {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': /WWW-Authenticate/,
  })
})

t.test('the challenge names the metadata and the scopes of the endpoint', async t => {
  const { ask } = await withIssuer(t)
  const challengeAt = async (path: string) => (await ask(path)).headers['www-authenticate']
  const named = (path: string) =>
    `Bearer realm="mcp-proxy", resource_metadata="${PUBLIC}${PRM}${path}", scope="mcp"`
  t.equal(await challengeAt('/mcp'), named('/mcp'))
  t.equal(await challengeAt('/sse'), named('/sse'))
  t.equal(await challengeAt('/messages'), named('/sse'), 'clients know no other address')
})

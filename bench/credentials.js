// Credentials of benchmarks: the `auth` configuration, the client's token, and its issuer.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** Starts an authorization server, optionally with a key. The proxy contacts it once, before measurements. */
export const startIssuer = async key => {
  const server = createServer(({ url }, response) => {
    const { port } = server.address()
    const issuer = `http://127.0.0.1:${port}`
    const places = {
      '/jwks': { keys: [key] },
      '/token': { access_token: randomBytes(32).toString('hex'), token_type: 'Bearer', expires_in: 86_400 },
    }
    const metadata = { issuer, jwks_uri: `${issuer}/jwks`, token_endpoint: `${issuer}/token` }
    const value = places[url] ?? metadata
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return `http://127.0.0.1:${server.address().port}`
}

/** Each resolves with `auth` of the configuration and a valid token. */
export const CREDENTIALS = {
  none: () => ({}),
  token() {
    const token = `mcpp_${randomBytes(32).toString('base64url')}`
    const hash = `sha256:${createHash('sha256').update(token).digest('hex')}`
    return { auth: { people: { bench: { tokens: [{ hash }] } } }, token }
  },
  async jwt() {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
    const issuer = await startIssuer({ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'bench' })
    const token = await new SignJWT({ scope: 'mcp' })
      .setProtectedHeader({ alg: 'ES256', kid: 'bench', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setSubject('bench')
      .setAudience('bench')
      .setExpirationTime('1h')
      .sign(privateKey)
    return { auth: { issuers: [{ issuer, audience: ['bench'] }] }, token }
  },
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Test } from 'tap'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A token to sign; undefined members are omitted. */
interface Wanted {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  /** Signing key of `keys`; the newest by default. */
  readonly kid?: string
}

/** An authorization server on loopback that signs any token. */
export class FakeIssuer {
  readonly issuer: string
  /** Requested paths, in order. */
  readonly asked: string[] = []
  /** Overrides the response at a path. */
  readonly answers = new Map<string, Handler>()
  /** The published JSON Web Key Set. */
  readonly shown: object[] = []
  readonly #private = new Map<string, Parameters<SignJWT['sign']>[0]>()
  #newest = ''

  private constructor(issuer: string) {
    this.issuer = issuer
  }

  static async start(t: Test): Promise<FakeIssuer> {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const issuer = new FakeIssuer(`http://127.0.0.1:${port}`)
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => issuer.#answer(request, response, Buffer.concat(chunks).toString()))
    })
    await issuer.addKey('one')
    return issuer
  }

  get metadata(): object {
    const { issuer } = this
    return {
      issuer,
      jwks_uri: `${issuer}/jwks`,
      introspection_endpoint: `${issuer}/introspect`,
      response_types_supported: ['code'],
    }
  }

  async addKey(kid: string, alg = 'ES256'): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
    this.#private.set(kid, privateKey)
    this.shown.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' })
    this.#newest = kid
  }

  /** Signs a token, by default valid at `audience` for five minutes. */
  async sign(
    audience: string,
    { claims = {}, header = {}, kid = this.#newest }: Wanted = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    const all = { iss: this.issuer, sub: 'sub-1', aud: audience, exp: now + 300, scope: 'mcp', ...claims }
    const key = this.#private.get(kid)
    if (key === undefined) throw new Error(`no key ${kid}`)
    const alg = 'ES256'
    return await new SignJWT(all).setProtectedHeader({ alg, kid, typ: 'at+jwt', ...header }).sign(key)
  }

  #answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const path = request.url ?? ''
    this.asked.push(path)
    const handler = this.answers.get(path)
    if (handler !== undefined) handler(request, response, body)
    else if (path === '/.well-known/oauth-authorization-server') json(response, this.metadata)
    else if (path === '/jwks') json(response, { keys: this.shown })
    else json(response, { error: 'not found' }, 404)
  }
}

export const json = (response: ServerResponse, value: unknown, status = 200): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

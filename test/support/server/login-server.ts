import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { isWindows } from '../processes.js'

/** A program for `BROWSER` that follows redirects; Windows cannot start scripts. */
export const BROWSER = fileURLToPath(new URL('../../fixtures/browser.mjs', import.meta.url))
export const canBrowse = !isWindows

/** A request that the server received. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly form: URLSearchParams
  readonly json: Readonly<Record<string, unknown>> | undefined
  readonly headers: IncomingMessage['headers']
}

/** Overrides a response; undefined keeps the default. */
type Answer = (seen: Seen) => Other | undefined | Promise<Other | undefined>

interface Other {
  readonly status?: number
  readonly body: unknown
  readonly type?: string
}

type Place = (seen: Seen, response: ServerResponse) => void

const RESOURCE = '/.well-known/oauth-protected-resource'

interface Certificate {
  readonly cert: string
  readonly key: string
}

interface Grant {
  readonly scopes: readonly string[]
  /** The signed-in user; lists and answers mention the name. */
  readonly user: string | undefined
  readonly challenge?: string
  isUsed: boolean
}

/**
 * A server that requires a login, with its authorization server, on one port: OAuth 2.1 with registration,
 * PKCE, rotating refresh tokens (reuse revokes all of them), and three tools.
 */
export class LoginServer {
  readonly seen: Seen[] = []
  /** Handlers by path, in addition to the authorization endpoints. */
  readonly places = new Map<string, Place>([['/mcp', (seen, response) => this.#mcp(seen, response)]])
  /** By path, such as `/token`. */
  readonly answers = new Map<string, Answer>()
  /** Metadata overrides. */
  metadata: Readonly<Record<string, unknown>> = {}
  resourceMetadata: Readonly<Record<string, unknown>> = {}
  expiresIn: unknown = 3600
  /** Scope in the 401 challenge. */
  scope: string | undefined = 'read'
  /** Additional scopes that tools need. */
  toolScopes = new Map<string, string>()
  url = ''
  readonly http: Server
  readonly #tokens = new Map<string, Grant>()
  readonly #refreshTokens = new Map<string, Grant>()
  readonly #codes = new Map<string, Grant>()
  #isDead = false

  constructor(tls?: Certificate) {
    const take = (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response)
    this.http = tls === undefined ? createServer(take) : createTlsServer(tls, take)
  }

  /** With a certificate for `localhost`, it uses TLS. */
  static async start(t: Test, tls?: Certificate): Promise<LoginServer> {
    const one = new LoginServer(tls)
    const { http } = one
    await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
    const { port } = http.address() as AddressInfo
    one.url = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
    t.teardown(() => {
      http.closeAllConnections()
      http.close()
    })
    return one
  }

  get mcpUrl(): string {
    return `${this.url}/mcp`
  }

  /** Returns the requests for a path. */
  to(path: string): readonly Seen[] {
    return this.seen.filter(one => one.path === path)
  }

  /** Messages that reached the server with a valid token. */
  readonly ran: string[] = []

  /** Every code, token and secret that it created. */
  readonly secrets: string[] = []

  /** Returns these and the secrets that clients sent. */
  everySecret(): readonly string[] {
    const sent = this.seen.flatMap(({ query, form }) =>
      ['state', 'code', 'code_verifier'].flatMap(name => [...query.getAll(name), ...form.getAll(name)]),
    )
    return [...new Set([...this.secrets, ...sent])]
  }

  /** Refuses with an error that repeats all received input. */
  readonly echo: Answer = ({ form }) => ({
    status: 400,
    body: { error: 'invalid_request', error_description: `No: ${[...form.values()].join(' ')}` },
  })

  /** Expires all access tokens; refresh tokens stay valid. */
  expire(): void {
    this.#tokens.clear()
  }

  /** Revokes all grants. */
  revoke(): void {
    this.#tokens.clear()
    this.#refreshTokens.clear()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const { pathname, searchParams } = new URL(request.url ?? '', this.url)
    const isJson = /json/.test(request.headers['content-type'] ?? '')
    const seen: Seen = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      form: new URLSearchParams(isJson ? '' : text),
      json: isJson ? JSON.parse(text) : undefined,
      headers: request.headers,
    }
    this.seen.push(seen)
    const other = await this.answers.get(pathname)?.(seen)
    if (other !== undefined) {
      const { status = 200, body, type = 'application/json' } = other
      response.writeHead(status, { 'content-type': type })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    } else (this.places.get(pathname) ?? this.#oauth)(seen, response)
  }

  readonly #oauth: Place = (seen, response) => {
    const send = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    if (seen.path.startsWith(RESOURCE)) {
      const resource = `${this.url}${seen.path.slice(RESOURCE.length)}`
      const metadata = { resource, authorization_servers: [this.url], scopes_supported: ['read', 'write'] }
      send(200, { ...metadata, ...this.resourceMetadata })
      return
    }
    switch (seen.path) {
      case '/.well-known/oauth-authorization-server':
        send(200, this.#metadata())
        return
      case '/register':
        send(201, { ...seen.json, client_id: `client-${randomUUID()}` })
        return
      case '/authorize':
        this.#authorize(seen, response)
        return
      case '/token':
        this.#token(seen, send)
        return
      case '/revoke':
        send(200, {})
        return
      default:
        send(404, {})
    }
  }

  #metadata(): object {
    const { url } = this
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      registration_endpoint: `${url}/register`,
      revocation_endpoint: `${url}/revoke`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      ...this.metadata,
    }
  }

  #authorize({ query, headers }: Seen, response: ServerResponse): void {
    const code = this.#secret('code')
    const challenge = query.get('code_challenge') ?? ''
    const user = /(?:^|; *)account=(\w+)/.exec(headers.cookie ?? '')?.[1]
    this.#codes.set(code, { challenge, scopes: (query.get('scope') ?? '').split(' '), user, isUsed: false })
    const to = new URL(query.get('redirect_uri') ?? '')
    to.searchParams.set('code', code)
    to.searchParams.set('state', query.get('state') ?? '')
    response.writeHead(302, { location: to.href }).end()
  }

  #token({ form }: Seen, send: (status: number, body: object) => void): void {
    const grant = form.get('grant_type')
    if (grant === 'client_credentials') {
      const scopes = (form.get('scope') ?? '').split(' ')
      send(200, this.#tokensFor({ scopes, user: undefined }, false))
      return
    }
    const isCode = grant === 'authorization_code'
    const spent = (isCode ? this.#codes : this.#refreshTokens).get(
      form.get(isCode ? 'code' : 'refresh_token') ?? '',
    )
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (spent?.isUsed === true) this.revoke()
    if (spent === undefined || spent.isUsed || this.#isDead || (isCode && verifier !== spent.challenge)) {
      send(400, { error: 'invalid_grant', error_description: 'It is not good any more' })
      return
    }
    spent.isUsed = true
    send(200, this.#tokensFor(spent))
  }

  /** Returns a response of the token endpoint for an anonymous user. */
  issue(scopes: readonly string[]): object {
    return this.#tokensFor({ scopes, user: undefined })
  }

  #tokensFor({ scopes, user }: Pick<Grant, 'scopes' | 'user'>, isRenewable = true): object {
    const [access, refresh] = [this.#secret('access'), this.#secret('refresh')]
    this.#tokens.set(access, { scopes, user, isUsed: false })
    if (isRenewable) this.#refreshTokens.set(refresh, { scopes, user, isUsed: false })
    return {
      access_token: access,
      token_type: 'Bearer',
      scope: scopes.join(' '),
      ...(isRenewable && { refresh_token: refresh }),
      ...(this.expiresIn !== undefined && { expires_in: this.expiresIn }),
    }
  }

  #secret(kind: string): string {
    const secret = `${kind}-${randomUUID()}`
    this.secrets.push(secret)
    return secret
  }

  /** Returns whether a request has a valid token. */
  lets(headers: IncomingMessage['headers']): boolean {
    return this.#grantOf(headers) !== undefined
  }

  /** Returns the challenge for a request without a valid token. */
  challengeFor(path: string): string {
    const scope = this.scope === undefined ? '' : `, scope="${this.scope}"`
    return `Bearer resource_metadata="${this.url}${RESOURCE}${path}"${scope}`
  }

  #grantOf({ authorization = '' }: IncomingMessage['headers']): Grant | undefined {
    return this.#tokens.get(/^Bearer (.*)$/.exec(authorization)?.[1] ?? '')
  }

  #mcp(seen: Seen, response: ServerResponse): void {
    const grant = this.#grantOf(seen.headers)
    const metadata = `resource_metadata="${this.url}${RESOURCE}/mcp"`
    if (grant === undefined) {
      response
        .writeHead(401, { 'www-authenticate': this.challengeFor('/mcp') })
        .end('{"error":"secret words"}')
      return
    }
    const { id, method, params } = (seen.json ?? {}) as {
      id?: number
      method?: string
      params?: { name?: string }
    }
    const needed = method === 'tools/call' ? this.toolScopes.get(params?.name ?? '') : undefined
    if (needed !== undefined && !grant.scopes.includes(needed)) {
      const challenge = `Bearer error="insufficient_scope", scope="${needed}", ${metadata}`
      response.writeHead(403, { 'www-authenticate': challenge }).end()
      return
    }
    if (method === undefined || id === undefined) {
      response.writeHead(seen.method === 'POST' ? 202 : 405).end()
      return
    }
    this.ran.push(method)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...resultOf(method, params?.name, grant.user) }))
  }
}

/** Returns the answer of the server, for a user if given. */
export const resultOf = (method: string, tool = '', user?: string): object => {
  if (method === 'initialize') {
    const serverInfo = { name: 'login-server', version: '1' }
    return { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } }
  }
  const own = user === undefined ? [] : [`of_${user}`]
  const tools = ['look', 'change', ...own].map(name => ({ name, inputSchema: { type: 'object' } }))
  if (method === 'tools/list') return { result: { tools } }
  const as = user === undefined ? '' : ` as ${user}`
  if (method === 'tools/call') return { result: { content: [{ type: 'text', text: `did ${tool}${as}` }] } }
  return { error: { code: -32601, message: 'Method not found' } }
}

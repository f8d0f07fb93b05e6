import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PerMinute } from '../../auth/per-minute.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../machine/loopback.js'
import { CALLBACK_PATH, ENDPOINTS, SIGN_IN_PATH } from './metadata.js'
import type { SignIn } from './sign-in/sign-in.js'
import type { Store } from './store.js'
import { withRedirectUri } from './token-request.js'

export interface EndpointsOptions {
  readonly issuer: URL
  readonly baseScope: string
  readonly scopes: () => readonly string[]
  /** The metadata, as JSON. */
  readonly metadata: () => string
  /** The paths of the MCP endpoints, under which clients look for metadata too (AU-15). */
  readonly resourcePaths: () => readonly string[]
  readonly mayRegister: boolean
  /** oidc-provider. */
  readonly provider: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly signIn: SignIn
  readonly store: Store
  /** Registrations of an address. */
  readonly registrations: PerMinute
  readonly bounds: LimitCounters
  readonly log: Logger
}

const WELL_KNOWN = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']

const READ = ['GET', 'HEAD', 'OPTIONS']

/** Lets any web page read what is public, or what nobody gets by a cookie. */
const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'authorization, content-type, mcp-protocol-version',
} as const

const REGISTRATIONS_PER_MINUTE = 10

/** The registration of an unknown client may be forgotten for another one after so long. */
const REGISTERED_MS = 10 * 60_000
const DAY_MS = 86_400_000

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path)

/** The HTTP side of the authorization server: which paths are ours, and who answers there. */
export class Endpoints {
  readonly #options: EndpointsOptions
  readonly #posts: ReadonlySet<string>

  constructor(options: EndpointsOptions) {
    this.#options = options
    this.#posts = new Set([
      ENDPOINTS.token,
      ENDPOINTS.revocation,
      ...(options.mayRegister ? [ENDPOINTS.registration] : []),
    ])
  }

  /** Whether a path is answered here. */
  owns(path: string): boolean {
    return this.#methodsOf(withoutSlash(path)) !== undefined
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#answer(request, response).catch((thrown: unknown) => {
      this.#options.log.error({ err: thrown }, 'an authorization request failed')
      if (response.headersSent) response.destroy()
      else sendError(response, 500, 'server_error')
    })
  }

  /** Whether a path is of a document that says the same whoever asks. */
  isDocument(path: string): boolean {
    const place = WELL_KNOWN.find(each => path.startsWith(each))
    if (place === undefined) return false
    return path === place || this.#options.resourcePaths().includes(path.slice(place.length))
  }

  #methodsOf(path: string): readonly string[] | undefined {
    if (this.isDocument(path) || path === ENDPOINTS.jwks) return READ
    if (this.#posts.has(path)) return ['POST', 'OPTIONS']
    if (path === ENDPOINTS.authorization || path === CALLBACK_PATH) return ['GET']
    if (path.startsWith(`${ENDPOINTS.authorization}/`)) return ['GET']
    return path.startsWith(`${SIGN_IN_PATH}/`) ? ['GET', 'POST'] : undefined
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [target = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
    const path = withoutSlash(target)
    const methods = this.#methodsOf(path) ?? []
    const { method = '' } = request
    if (methods.length === 0) sendError(response, 404, 'not_found')
    else if (!methods.includes(method)) {
      response.setHeader('Allow', methods.join(', '))
      sendError(response, 405, 'invalid_request', `${method} is not allowed here`)
    } else if (method === 'OPTIONS') response.writeHead(204, CORS).end()
    else if (this.isDocument(path)) this.#document(request, response)
    else if (path === CALLBACK_PATH) {
      await this.#options.signIn.callback(request, response, new URLSearchParams(query))
    } else if (path.startsWith(`${SIGN_IN_PATH}/`)) {
      await this.#options.signIn.handle(request, response, path.slice(SIGN_IN_PATH.length + 1))
    } else await this.#provide(request, response, { path, query })
  }

  #document(request: IncomingMessage, response: ServerResponse): void {
    const headers = { ...CORS, 'Content-Type': 'application/json', 'Cache-Control': 'max-age=300' }
    response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : this.#options.metadata())
  }

  async #provide(
    request: IncomingMessage,
    response: ServerResponse,
    { path, query }: { readonly path: string; readonly query: string },
  ): Promise<void> {
    const { issuer, provider, store } = this.#options
    if (path === ENDPOINTS.authorization) {
      // The cookies of `localhost` are not those of 127.0.0.1. Behind a proxy, `Host` may be anything.
      if (isLoopbackHost(issuer.hostname) && request.headers.host !== issuer.host) {
        response.writeHead(307, { Location: issuer.origin + (request.url ?? '') }).end()
        return
      }
      request.url = `${path}?${this.#authorizationQuery(query)}`
    } else request.url = path
    if (path === ENDPOINTS.registration && !this.#admits(request, response)) return
    if (this.#posts.has(path) && !response.hasHeader('Access-Control-Allow-Origin')) {
      response.setHeader('Access-Control-Allow-Origin', '*')
    }
    response.setHeader('Cache-Control', 'no-store')
    const asked = path === ENDPOINTS.token ? await withRedirectUri(request, store) : request
    if (asked === undefined) sendError(response, 413, 'invalid_request', 'the request is too large')
    else await provider(asked, response)
  }

  /**
   * What a client asks for, as oidc-provider takes it: scopes of ours, by default the base scope (AU-44), and
   * the answer in the query of the redirect URI, the only way that needs no script.
   */
  #authorizationQuery(query: string): string {
    const params = new URLSearchParams(query)
    params.delete('response_mode')
    const { baseScope, scopes } = this.#options
    const asked = params.getAll('scope')
    // Twice is an error, which is not for us to find.
    if (asked.length > 1) return params.toString()
    const known = (asked[0] ?? '').split(' ').filter(scope => scopes().includes(scope))
    const offline = asked[0]?.split(' ').includes('offline_access') === true ? ['offline_access'] : []
    params.set('scope', [...(known.length === 0 ? [baseScope] : known), ...offline].join(' '))
    return params.toString()
  }

  /** Whether one more client may be registered (AX-22); answers the request if not. */
  #admits(request: IncomingMessage, response: ServerResponse): boolean {
    const { issuer, registrations } = this.#options
    const { remoteAddress: address = '' } = request.socket
    // Where only this machine reaches us, its programs all have the same address.
    if (!isLoopbackHost(issuer.hostname) && registrations.count(address) >= REGISTRATIONS_PER_MINUTE) {
      response.setHeader('Retry-After', String(Math.ceil(registrations.leftMs / 1000)))
      sendError(response, 429, 'temporarily_unavailable', 'too many registrations: try again in a minute')
      return false
    }
    registrations.add(address)
    if (this.#makeRoom()) return true
    response.setHeader('Retry-After', String(REGISTERED_MS / 1000))
    sendError(response, 503, 'temporarily_unavailable', 'too many clients are registered')
    return false
  }

  /** Forgets clients that nobody has trusted so far, the oldest first. */
  #makeRoom(): boolean {
    const { bounds, store } = this.#options
    const clients = store.shelf('Client')
    for (const [id, { exp = Number.POSITIVE_INFINITY }] of clients.entries()) {
      if (clients.size < bounds.max.registrations) return true
      const ageMs = Date.now() - (exp * 1000 - DAY_MS)
      if (ageMs > REGISTERED_MS) void clients.delete(id)
    }
    if (clients.size < bounds.max.registrations) return true
    bounds.hit('registrations')
    return false
  }
}

/** An error for a program: always JSON (AU-61). */
const sendError = (response: ServerResponse, status: number, error: string, words?: string): void => {
  const body = JSON.stringify({ error, ...(words !== undefined && { error_description: words }) })
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(body)
}

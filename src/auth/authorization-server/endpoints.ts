import type { IncomingMessage, ServerResponse } from 'node:http'
import { basePathOf, baseUrlOf } from '../../kernel/base-url.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { addressGroup, type PerMinute } from '../per-minute.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import type { ClientTries } from './client-tries.js'
import { type ErrorAnswer, renderErrorAnswer, UNAVAILABLE } from './error-answer.js'
import { addressOf } from './grant-events.js'
import { CALLBACK_PATH, ENDPOINTS, SIGN_IN_PATH } from './metadata.js'
import type { Consents } from './sign-in/consents.js'
import type { SignInFlow } from './sign-in/sign-in.js'
import { REGISTERED_MS, type Store } from './store.js'
import { type ClientRequest, readClientRequest } from './token-request.js'

export interface EndpointsOptions {
  readonly issuer: URL
  readonly baseScope: string
  readonly scopes: () => readonly string[]
  /** Returns the metadata as JSON. */
  readonly metadata: () => string
  /** Paths of the MCP endpoints, under which clients also look for metadata. */
  readonly resourcePaths: () => readonly string[]
  readonly mayRegister: boolean
  /** The request handler of oidc-provider. */
  readonly provider: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  readonly signIn: SignInFlow
  readonly store: Store
  readonly consents: Consents
  /** Registrations by address. */
  readonly registrations: PerMinute
  readonly tries: ClientTries
  readonly refusals: RefusedCredentials
  readonly bounds: LimitCounters
  readonly log: Logger
}

const WELL_KNOWN = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']

const READ = ['GET', 'HEAD', 'OPTIONS']

/** Lets all web pages read public responses, and responses that do not depend on cookies. */
const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, OPTIONS',
  'Access-Control-Allow-Headers': 'authorization, content-type, mcp-protocol-version',
} as const

const REGISTRATIONS_PER_MINUTE = 10

const withoutSlash = (path: string): string => (path.length > 1 ? path.replace(/\/$/, '') : path)

/** The HTTP side of the authorization server: routes requests. */
export class AuthServerEndpoints {
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

  /** Reports whether a path belongs to the authorization server. */
  owns(path: string): boolean {
    return this.#methodsOf(withoutSlash(path)) !== undefined
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#answer(request, response).catch((thrown: unknown) => {
      const isUnavailable = thrown instanceof Fault && thrown.code === 'unavailable'
      if (!isUnavailable) this.#options.log.error({ err: thrown }, 'an authorization request failed')
      if (response.headersSent) response.destroy()
      else if (isUnavailable) sendAnswer(request, response, UNAVAILABLE)
      else sendError(response, 500, 'server_error')
    })
  }

  /** Reports whether a path is a public document, equal for all clients. */
  isDocument(path: string): boolean {
    const place = WELL_KNOWN.find(each => path.startsWith(each))
    if (place === undefined) return false
    const [base, named] = [basePathOf(this.#options.issuer), path.slice(place.length)]
    // The path of an issuer follows the well-known one (RFC 8414 §3.1).
    const below = named.startsWith(base) ? named.slice(base.length) : named
    return below === '' || this.#options.resourcePaths().includes(below)
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
    const { provider } = this.#options
    if (this.#posts.has(path) && !response.hasHeader('Access-Control-Allow-Origin')) {
      response.setHeader('Access-Control-Allow-Origin', '*')
    }
    if (path === ENDPOINTS.authorization) {
      if (this.#answersItself(request, response, query)) return
      request.url = `${path}?${this.#authorizationQuery(query)}`
    } else request.url = path
    // oidc-provider derives the path of its own addresses from it, as below an Express router.
    Object.assign(request, { originalUrl: basePathOf(this.#options.issuer) + request.url })
    if (path === ENDPOINTS.registration && !this.#admits(request, response)) return
    response.setHeader('Cache-Control', 'no-store')
    if (path === ENDPOINTS.token || path === ENDPOINTS.revocation) await this.#ofClient(request, response)
    else await provider(request, response)
  }

  /** Redirects or refuses an authorization request, if necessary, before using any of it. */
  #answersItself(request: IncomingMessage, response: ServerResponse, query: string): boolean {
    const { issuer } = this.#options
    // Cookies of `localhost` are not sent to 127.0.0.1. Behind a reverse proxy, `Host` may be anything.
    if (isLoopbackHost(issuer.hostname) && request.headers.host !== issuer.host) {
      response.writeHead(307, { Location: baseUrlOf(issuer) + (request.url ?? '') }).end()
      return true
    }
    const repeated = repeatedIn(new URLSearchParams(query))
    if (repeated.length > 0) sendRepeated(request, response, repeated)
    return repeated.length > 0
  }

  /** Answers a token or revocation request, with protection against guessed credentials. */
  async #ofClient(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { provider, store } = this.#options
    const asked = await readClientRequest(request, store)
    if (asked === undefined) sendError(response, 413, 'invalid_request', 'the request is too large')
    else if (this.#mayTry(asked)) await provider(asked.request, response)
    else {
      response.setHeader('Retry-After', '1')
      sendError(response, 429, 'temporarily_unavailable', 'too many credentials of this client were refused')
    }
  }

  #mayTry({ client = '', isGuess, request }: ClientRequest): boolean {
    const { bounds, refusals, tries } = this.#options
    const address = addressOf(request)
    if (!isGuess || tries.admits(client, address)) return true
    bounds.hit('authFailures', { client: address })
    refusals.report({
      address,
      path: request.url ?? '',
      why: 'too many credentials of this client were refused',
      client: sanitizeLine(client),
    })
    return false
  }

  /**
   * Adapts an authorization request for oidc-provider: known scopes only, by default the base scope, and a
   * response in the query of the redirect URI, the only mode without scripts.
   */
  #authorizationQuery(query: string): string {
    const params = new URLSearchParams(query)
    params.delete('response_mode')
    const { baseScope, scopes } = this.#options
    const asked = (params.get('scope') ?? '').split(' ')
    const known = asked.filter(scope => scopes().includes(scope))
    const offline = asked.includes('offline_access') ? ['offline_access'] : []
    params.set('scope', [...(known.length === 0 ? [baseScope] : known), ...offline].join(' '))
    return params.toString()
  }

  /** Reports whether another client may register; answers the request if not. */
  #admits(request: IncomingMessage, response: ServerResponse): boolean {
    const { issuer, registrations } = this.#options
    const address = addressGroup(addressOf(request))
    // On a loopback address all programs of the machine share one address.
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

  /** Deletes clients without a grant, least recently used first. */
  #makeRoom(): boolean {
    const { bounds, consents, store } = this.#options
    const clients = store.store('Client')
    const isFull = (): boolean => clients.size >= bounds.max.registrations
    if (!isFull()) return true
    for (const id of store.unusedClients()) {
      if (!isFull()) return true
      void clients.delete(id)
      void consents.forget(id)
    }
    if (!isFull()) return true
    bounds.hit('registrations')
    return false
  }
}

/** Returns repeated parameters; only `resource` may be repeated (OAuth 2.1 §3.1, RFC 8707 §2). */
const repeatedIn = (params: URLSearchParams): readonly string[] => {
  const names = [...params.keys()]
  return [...new Set(names.filter((name, at) => name !== 'resource' && names.indexOf(name) !== at))]
}

/** Shows an error page instead of redirecting, because the redirect URI is ambiguous. */
const sendRepeated = (request: IncomingMessage, response: ServerResponse, names: readonly string[]): void => {
  const message = `a parameter must not be repeated: ${sanitizeLine(names.slice(0, NAMES_SHOWN).join(', '), NAMES_LENGTH)}`
  sendAnswer(request, response, { error: 'invalid_request', message, status: 400 })
}

const NAMES_SHOWN = 5
const NAMES_LENGTH = 200

/** Sends an error as a page or JSON. */
const sendAnswer = (request: IncomingMessage, response: ServerResponse, answer: ErrorAnswer): void => {
  const { status, headers, text } = renderErrorAnswer(request.headers.accept, answer)
  response.writeHead(status, headers).end(text)
}

/** Sends an error as JSON. */
const sendError = (response: ServerResponse, status: number, error: string, message?: string): void => {
  const body = JSON.stringify({ error, ...(message !== undefined && { error_description: message }) })
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(body)
}

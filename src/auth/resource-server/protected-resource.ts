import { basePathOf } from '../../kernel/base-url.js'
import {
  ENDPOINT_PATHS,
  type EndpointPath,
  endpointPath,
  parseEndpointPath,
} from '../../wire/http/endpoint-path.js'

const METADATA = '/.well-known/oauth-protected-resource'

export interface ProtectedResourceOptions {
  /** Scheme, host, port and path for clients, without a slash at the end. */
  readonly origin: string
  /** Issuers whose tokens are accepted. */
  readonly issuers: readonly string[]
  /** Returns the recommended scopes for a view or all views; may change at any time. */
  readonly scopes: (view: string | undefined) => readonly string[]
  /** Returns the names of the views, each with its own endpoint. */
  readonly views: () => readonly string[]
}

/** The identifiers and metadata of the proxy as a protected resource (RFC 9728). */
export class ProtectedResource {
  readonly #options: ProtectedResourceOptions
  readonly #url: URL

  constructor(options: ProtectedResourceOptions) {
    this.#options = options
    this.#url = new URL(options.origin)
  }

  /** Returns the recommended scopes of an endpoint. */
  scopesAt(path: string): readonly string[] {
    return this.#options.scopes(this.#place(path).view)
  }

  /**
   * Reports whether a token for these audiences is valid for an endpoint (RFC 8707 §2): for the whole proxy,
   * or for any path of that endpoint; each view has its own paths.
   */
  isAudience(audience: readonly string[] | undefined, path: string): boolean {
    if (audience === undefined) return true
    const { origin } = this.#options
    const { view } = this.#place(path)
    // Some clients send the origin in the format of `URL.href`.
    const ours = [origin, `${origin}/`, ...endpointsOf(view).map(endpoint => origin + endpoint)]
    return audience.some(each => ours.includes(each))
  }

  /** All endpoint paths, the main one first. */
  get paths(): readonly [string, ...string[]] {
    return [...ENDPOINT_PATHS, ...this.#options.views().flatMap(view => endpointsOf(view))]
  }

  /**
   * Returns the URL of an endpoint's metadata. Undefined without an issuer, since it would lead clients into
   * logins that cannot succeed.
   */
  metadataUrl(path: string): string | undefined {
    const { issuers } = this.#options
    const { endpoint, view } = this.#place(path)
    // For HTTP+SSE, clients know the first of two endpoints.
    const known = endpointPath(endpoint === '/messages' ? '/sse' : endpoint, view)
    return issuers.length === 0 ? undefined : this.#url.origin + METADATA + basePathOf(this.#url) + known
  }

  /** Returns the metadata at a path (RFC 9728 §3.1); undefined if there is none. */
  document(path: string): string | undefined {
    const { origin, issuers } = this.#options
    if (!path.startsWith(METADATA)) return undefined
    const [base, named] = [basePathOf(this.#url), path.slice(METADATA.length).replace(/\/$/, '')]
    const endpoint = (named.startsWith(base) ? named.slice(base.length) : named) || '/mcp'
    if (issuers.length === 0 || !this.paths.includes(endpoint)) return undefined
    return JSON.stringify({
      resource: origin + endpoint,
      authorization_servers: issuers,
      scopes_supported: this.scopesAt(endpoint),
      bearer_methods_supported: ['header'],
      resource_name: 'mcp-proxy',
    })
  }

  /** Returns the endpoint at a path; the main one for any other path. */
  #place(path: string): EndpointPath {
    const place = parseEndpointPath(path)
    const isThere = place?.view === undefined || this.#options.views().includes(place.view)
    return place !== undefined && isThere ? place : MAIN
  }
}

const MAIN = { endpoint: ENDPOINT_PATHS[0], view: undefined }

const endpointsOf = (view: string | undefined): readonly string[] =>
  ENDPOINT_PATHS.map(endpoint => endpointPath(endpoint, view))

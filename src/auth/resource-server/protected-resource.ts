/**
 * Paths of the endpoints of one resource, the main one first; for HTTP+SSE, clients know the first of two.
 */
const ENDPOINTS: readonly [string, ...string[]] = ['/mcp', '/sse', '/messages', '/ws']
const POSTED_TO = new Map([['/messages', '/sse']])

const METADATA = '/.well-known/oauth-protected-resource'

export interface ProtectedResourceOptions {
  /** Scheme, host and port for clients, formatted like `URL.origin`. */
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

  constructor(options: ProtectedResourceOptions) {
    this.#options = options
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
    return [...ENDPOINTS, ...this.#options.views().flatMap(view => endpointsOf(view))]
  }

  /**
   * Returns the URL of an endpoint's metadata. Undefined without an issuer, since it would lead clients into
   * logins that cannot succeed.
   */
  metadataUrl(path: string): string | undefined {
    const { origin, issuers } = this.#options
    const { face, view } = this.#place(path)
    const endpoint = endpointsOf(view).at(ENDPOINTS.indexOf(POSTED_TO.get(face) ?? face))
    return issuers.length === 0 ? undefined : `${origin}${METADATA}${endpoint}`
  }

  /** Returns the metadata at a path (RFC 9728 §3.1); undefined if there is none. */
  document(path: string): string | undefined {
    const { origin, issuers } = this.#options
    if (!path.startsWith(METADATA)) return undefined
    const endpoint = path === METADATA ? '/mcp' : path.slice(METADATA.length)
    if (issuers.length === 0 || !this.paths.includes(endpoint)) return undefined
    return JSON.stringify({
      resource: origin + endpoint,
      authorization_servers: issuers,
      scopes_supported: this.scopesAt(endpoint),
      bearer_methods_supported: ['header'],
      resource_name: 'mcp-proxy',
    })
  }

  /** Returns the transport path and view of an endpoint; the main one for any other path. */
  #place(path: string): { readonly face: string; readonly view: string | undefined } {
    const [, endpoint = '', view] = /^(\/[^/]*)(?:\/(.*))?$/.exec(path) ?? []
    if (!ENDPOINTS.includes(endpoint)) return DEFAULT
    return view === undefined || this.#options.views().includes(view) ? { face: endpoint, view } : DEFAULT
  }
}

const DEFAULT = { face: ENDPOINTS[0], view: undefined }

const endpointsOf = (view: string | undefined): readonly string[] =>
  view === undefined ? ENDPOINTS : ENDPOINTS.map(endpoint => `${endpoint}/${view}`)

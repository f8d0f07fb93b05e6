/**
 * The paths of our endpoints, which are faces of one resource, the usual one first; HTTP+SSE has two, of
 * which clients know the first.
 */
const FACES: readonly [string, ...string[]] = ['/mcp', '/sse', '/messages', '/ws']
const POSTED_TO = new Map([['/messages', '/sse']])

const METADATA = '/.well-known/oauth-protected-resource'

export interface ProtectedResourceOptions {
  /** Scheme, host and port under which clients reach us, as `URL.origin` writes them. */
  readonly origin: string
  /** The issuers whose tokens are accepted. */
  readonly issuers: readonly string[]
  /** The scopes with which most can be done, of a view or of all there is; they may change at any time. */
  readonly scopes: (view: string | undefined) => readonly string[]
  /** The names of the views, each of which is another endpoint. */
  readonly views: () => readonly string[]
}

/** What we are for clients that want a token: our identifiers and our metadata (RFC 9728). */
export class ProtectedResource {
  readonly #options: ProtectedResourceOptions

  constructor(options: ProtectedResourceOptions) {
    this.#options = options
  }

  /** What the endpoint at a path is of most use with. */
  scopesAt(path: string): readonly string[] {
    return this.#options.scopes(this.#place(path).view)
  }

  /**
   * Whether a token for these audiences is for the endpoint at a path (RFC 8707 §2): for all of us, or for
   * any face of that endpoint, of which a view has its own.
   */
  isAudience(audience: readonly string[] | undefined, path: string): boolean {
    if (audience === undefined) return true
    const { origin } = this.#options
    const { view } = this.#place(path)
    // Some clients send the origin as `URL.href` has it.
    const ours = [origin, `${origin}/`, ...facesOf(view).map(face => origin + face)]
    return audience.some(each => ours.includes(each))
  }

  /** Every path of an endpoint of ours, the usual one first. */
  get paths(): readonly [string, ...string[]] {
    return [...FACES, ...this.#options.views().flatMap(view => facesOf(view))]
  }

  /**
   * Where the metadata of the endpoint at a path is. Undefined if there is none: without an issuer to name it
   * would only send clients into logins that cannot succeed.
   */
  metadataUrl(path: string): string | undefined {
    const { origin, issuers } = this.#options
    const { face, view } = this.#place(path)
    const endpoint = facesOf(view).at(FACES.indexOf(POSTED_TO.get(face) ?? face))
    return issuers.length === 0 ? undefined : `${origin}${METADATA}${endpoint}`
  }

  /** The text of the metadata at a path of ours (RFC 9728 §3.1); undefined if there is none. */
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

  /** The face and the view of an endpoint; those of the usual one for any other path. */
  #place(path: string): { readonly face: string; readonly view: string | undefined } {
    const [, face = '', view] = /^(\/[^/]*)(?:\/(.*))?$/.exec(path) ?? []
    if (!FACES.includes(face)) return USUAL
    return view === undefined || this.#options.views().includes(view) ? { face, view } : USUAL
  }
}

const USUAL = { face: FACES[0], view: undefined }

const facesOf = (view: string | undefined): readonly string[] =>
  view === undefined ? FACES : FACES.map(face => `${face}/${view}`)

import type { AuthorizationServer } from 'oauth4webapi'
import { Fault } from '../../kernel/faults.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { scopesOf } from './challenges.js'
import { isResourceOf, resourceMetadataUrls, serverMetadataUrls } from './well-known.js'

/** Result of a document request. */
export type Visited =
  | { readonly is: 'document'; readonly value: Readonly<Record<string, unknown>> }
  /** Not found: HTTP status 4xx, 502, or a redirect. */
  | { readonly is: 'none' }
  /** Unknown: the request failed. */
  | { readonly is: 'failed'; readonly why: string }

/** The endpoints of an authorization server without metadata (`oauth.endpoints`). */
export interface OAuthEndpoints {
  readonly authorization?: string | undefined
  readonly token?: string | undefined
  readonly registration?: string | undefined
  readonly revocation?: string | undefined
  readonly device?: string | undefined
}

export interface DiscoveryRequest {
  /** URL of the server, with `http` or `https`. */
  readonly url: string
  /** From the server's challenge; relative to `url`. */
  readonly resourceMetadata?: string | undefined
  /** The configured issuer, or a previously discovered one that is pinned. */
  readonly issuer?: string | undefined
  /** Issuers with an existing credential. */
  readonly known?: readonly string[]
  readonly endpoints?: OAuthEndpoints | undefined
}

/** The authorization server of a server. */
export interface Discovery {
  /** Resource of the tokens; undefined at servers of 2025-03-26. */
  readonly resource: string | undefined
  /** `scopes_supported` of the resource. */
  readonly scopes: readonly string[] | undefined
  /** URL of the resource metadata from a challenge; undefined if well-known URLs were tried. */
  readonly resourceMetadata?: string | undefined
  /** Only the used members. */
  readonly server: AuthorizationServer
  /**
   * Source of the authorization server: `metadata` of the resource or configuration; `origin` of the server
   * (2025-03-26); or `endpoints`, from the configuration or the defaults of that revision.
   */
  readonly by: 'metadata' | 'origin' | 'endpoints'
}

/** A step of discovery: yields the URL of a document, and is resumed with the result. */
type Step<T> = Generator<string, T, Visited>

/**
 * Finds the authorization server of a server (2025-11-25, basic/authorization; 2025-03-26, "Metadata
 * Discovery"). Pure: yields each URL to request, and returns the result. Throws a Fault with the reason
 * `auth-unreachable`.
 */
export function* discover(request: DiscoveryRequest): Step<Discovery> {
  const resource = yield* readResource(request)
  const { origin } = new URL(request.url)
  if (resource === undefined && (request.issuer ?? origin) === origin) return yield* atOrigin(request)
  const issuer = chooseIssuer(resource, request)
  const { resourceMetadata: named } = request
  const found = {
    resource: resource?.id,
    scopes: resource?.scopes,
    resourceMetadata: named && new URL(named, request.url).href,
  }
  const { value, why } = yield* readServer(issuer, name => isSameIssuer(issuer, name))
  if (value !== undefined) {
    return { ...found, server: withEndpoints(value, request.endpoints), by: 'metadata' }
  }
  if (request.endpoints?.token !== undefined) {
    return { ...found, server: withEndpoints({ issuer }, request.endpoints), by: 'endpoints' }
  }
  throw unreachable(
    `the metadata of its authorization server ${shown(issuer)} cannot be used (${why}); if it has none, name` +
      ' the endpoints in "oauth.endpoints"',
  )
}

interface Resource {
  readonly id: string
  readonly scopes: readonly string[] | undefined
  readonly issuers: readonly string[]
}

/** Reads the metadata of the resource; undefined if there is none at any well-known URL. */
function* readResource({ url, resourceMetadata }: DiscoveryRequest): Step<Resource | undefined> {
  if (resourceMetadata !== undefined) {
    if (!URL.canParse(resourceMetadata, url)) throw unreachable('its challenge does not contain a valid URL')
    const named = new URL(resourceMetadata, url).href
    const visited = yield named
    if (visited.is === 'document') return resourceIn(visited.value, url)
    throw unreachable(`${shown(named)}, from its challenge, cannot be read (${whyOf(visited)})`)
  }
  for (const place of resourceMetadataUrls(url)) {
    const visited = yield place
    if (visited.is === 'document') return resourceIn(visited.value, url)
    if (visited.is === 'failed') throw unreachable(`${shown(place)} cannot be read (${visited.why})`)
  }
  return undefined
}

const resourceIn = (document: Readonly<Record<string, unknown>>, url: string): Resource => {
  const { resource } = document
  if (typeof resource !== 'string' || !isResourceOf(resource, url)) {
    const message = typeof resource === 'string' ? `is for ${shown(resource)}` : 'names no resource'
    throw unreachable(`its protected resource metadata ${message}, not for ${shown(url)}`)
  }
  const scopes = textsIn(document['scopes_supported'])
  return {
    id: resource,
    scopes: scopes && scopesOf(scopes),
    issuers: (textsIn(document['authorization_servers']) ?? []).filter(issuer => URL.canParse(issuer)),
  }
}

/** Throws a Fault if the resource does not list the configured issuer. */
const chooseIssuer = (
  resource: Resource | undefined,
  { url, issuer, known = [] }: DiscoveryRequest,
): string => {
  const issuers = resource?.issuers ?? []
  if (issuer === undefined) {
    const held = issuers.find(one => known.some(other => isAlike(one, other)))
    return held ?? issuers[0] ?? new URL(url).origin
  }
  const named = issuers.find(one => isAlike(one, issuer))
  if (named !== undefined || issuers.length === 0) return named ?? issuer
  throw unreachable(
    `it names the authorization server ${issuers.map(shown).join(', ')}, not ${shown(issuer)}: check` +
      ' "oauth.issuer"',
  )
}

/** Reports whether two spellings of an issuer match, in either direction. */
const isAlike = (one: string, other: string): boolean => isSameIssuer(one, other) || isSameIssuer(other, one)

/** Reads the metadata of an authorization server; its issuer must pass `isRight`. */
function* readServer(
  issuer: string,
  isRight: (issuer: string) => boolean,
): Step<{ readonly value?: AuthorizationServer; readonly isMissing?: boolean; readonly why: string }> {
  for (const place of serverMetadataUrls(issuer)) {
    const visited = yield place
    if (visited.is === 'failed') return { why: `${visited.why}, at ${shown(place)}` }
    if (visited.is === 'none') continue
    const value = serverIn(visited.value)
    if (!isRight(value.issuer))
      return { why: `${shown(place)} has the issuer ${shown(value.issuer) || '""'}` }
    return { value, why: '' }
  }
  return { isMissing: true, why: 'there is none' }
}

/** Finds the authorization server of a 2025-03-26 server, at the server's origin. */
function* atOrigin({ url, endpoints }: DiscoveryRequest): Step<Discovery> {
  const { origin } = new URL(url)
  const found = { resource: undefined, scopes: undefined }
  // That revision does not prescribe the issuer; it must not be another host's.
  const { value, isMissing, why } = yield* readServer(
    origin,
    name => URL.canParse(name) && new URL(name).origin === origin,
  )
  if (value !== undefined) return { ...found, server: withEndpoints(value, endpoints), by: 'origin' }
  if (isMissing !== true) {
    throw unreachable(
      `the metadata of its authorization server cannot be used (${why}); if that is another, name it in` +
        ' "oauth.issuer"',
    )
  }
  const defaults: OAuthEndpoints = {
    authorization: `${origin}/authorize`,
    token: `${origin}/token`,
    registration: `${origin}/register`,
  }
  return {
    ...found,
    server: withEndpoints({ issuer: origin }, { ...defaults, ...endpoints }),
    by: 'endpoints',
  }
}

/** Compares issuers (RFC 8414 §3.3), but allows the expected one an additional trailing slash. */
const isSameIssuer = (wanted: string, found: string): boolean => wanted === found || wanted === `${found}/`

const TEXTS = [
  ...['authorization_endpoint', 'token_endpoint', 'registration_endpoint', 'revocation_endpoint'],
  'device_authorization_endpoint',
]
const LISTS = [
  ...['scopes_supported', 'code_challenge_methods_supported', 'token_endpoint_auth_methods_supported'],
  ...['grant_types_supported', 'dpop_signing_alg_values_supported'],
]
const FLAGS = ['authorization_response_iss_parameter_supported', 'client_id_metadata_document_supported']

/** Returns the used members with valid types. */
const serverIn = (document: Readonly<Record<string, unknown>>): AuthorizationServer => {
  const pick = (names: readonly string[], read: (value: unknown) => unknown): [string, unknown][] =>
    names.flatMap(name => {
      const value = read(document[name])
      return value === undefined ? [] : [[name, value] as [string, unknown]]
    })
  const texts = pick(['issuer', ...TEXTS], value => (typeof value === 'string' ? value : undefined))
  const flags = pick(FLAGS, value => (value === true ? true : undefined))
  return { issuer: '', ...Object.fromEntries([...texts, ...pick(LISTS, textsIn), ...flags]) }
}

const textsIn = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : undefined

const withEndpoints = (server: AuthorizationServer, endpoints: OAuthEndpoints = {}): AuthorizationServer => {
  const { authorization, token, registration, revocation, device } = endpoints
  return {
    ...server,
    ...(authorization !== undefined && { authorization_endpoint: authorization }),
    ...(token !== undefined && { token_endpoint: token }),
    ...(registration !== undefined && { registration_endpoint: registration }),
    ...(revocation !== undefined && { revocation_endpoint: revocation }),
    ...(device !== undefined && { device_authorization_endpoint: device }),
  }
}

const whyOf = (visited: Visited): string => (visited.is === 'failed' ? visited.why : 'there is nothing')

const SHOWN_BYTES = 300

const shown = (url: string): string => sanitizeLine(url, SHOWN_BYTES)

const unreachable = (message: string): Fault =>
  new Fault('unauthorized', message, { data: { reason: 'auth-unreachable' } })

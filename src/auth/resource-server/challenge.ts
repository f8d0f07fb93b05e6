/** A response that refuses a request. */
export interface AccessRefusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Content of a refusal. */
export interface Challenge {
  /** A code of RFC 6750 §3.1; undefined without a credential. */
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope'
  /** A generic text without values of the request. */
  readonly description: string
  /** Required scopes. */
  readonly scopes: readonly string[]
  /** URL of the metadata; undefined without an authorization server. */
  readonly metadata: string | undefined
}

/**
 * Creates a refusal with one challenge in one header, with all values quoted, because clients parse it with
 * regular expressions (RFC 6750 §3, RFC 9728 §5.1).
 */
export const refuseAccess = (status: 400 | 401 | 403, challenge: Challenge): AccessRefusal => ({
  status,
  headers: { ...PLAIN, 'WWW-Authenticate': challengeText(challenge) },
  body: errorBody(challenge.error ?? 'unauthorized', challenge.description),
})

/** Creates a temporary refusal. */
export const refuseForNow = (status: 429 | 503, retryMs: number, description: string): AccessRefusal => ({
  status,
  headers: { ...PLAIN, 'Retry-After': String(Math.max(1, Math.ceil(retryMs / 1000))) },
  body: errorBody(status === 429 ? 'too_many_requests' : 'temporarily_unavailable', description),
})

const PLAIN = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

const errorBody = (error: string, description: string): string =>
  JSON.stringify({ error, error_description: description })

const challengeText = ({ error, description, scopes, metadata }: Challenge): string => {
  const named = {
    realm: 'mcp-proxy',
    ...(error !== undefined && { error, error_description: description }),
    ...(metadata !== undefined && { resource_metadata: metadata }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  return `Bearer ${Object.entries(named).map(parameter).join(', ')}`
}

const parameter = ([name, value]: readonly [string, string]): string =>
  `${name}="${value.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`

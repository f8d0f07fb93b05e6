/** The credential of a request; a token may still be malformed. */
export type Credential = 'none' | 'several' | { readonly token: string }

/**
 * Reads the header `Authorization`; it is the only place where a credential counts. Another scheme counts as
 * none, and so does a token in the query or the body.
 */
export const readBearer = (header: string | undefined, isRepeated: boolean): Credential => {
  if (isRepeated) return 'several'
  if (header === undefined) return 'none'
  // No token has a comma; it would be between two credentials (RFC 9110 §5.3).
  if (header.includes(',')) return /(?:^|,)\s*bearer(?:\s|$)/i.test(header) ? 'several' : 'none'
  const isBearer = header.length === SCHEME.length || header.charAt(SCHEME.length) === ' '
  if (!isBearer || header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return 'none'
  return { token: header.slice(SCHEME.length).trim() }
}

const SCHEME = 'bearer'

/** Longer ones are invalid. */
const TOKEN_CHARS = 8 * 1024

/** Whether a text can be a token: a `b64token` (RFC 6750 §2.1). Those that are known need not be asked. */
export const isWellFormed = (token: string): boolean =>
  token.length <= TOKEN_CHARS && /^[\w.~+/-]+=*$/.test(token)

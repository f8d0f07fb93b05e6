/** The credential of a request; a token may still be malformed. */
export type BearerCredential = 'none' | 'several' | { readonly token: string }

/**
 * Reads a bearer token from `Authorization`. Ignores other schemes, and tokens in the query or the body.
 */
export const readBearer = (header: string | undefined, isRepeated: boolean): BearerCredential => {
  if (isRepeated) return 'several'
  if (header === undefined) return 'none'
  // Tokens contain no commas; a comma separates two credentials (RFC 9110 §5.3).
  if (header.includes(',')) return /(?:^|,)\s*bearer(?:\s|$)/i.test(header) ? 'several' : 'none'
  const isBearer = header.length === SCHEME.length || header.charAt(SCHEME.length) === ' '
  if (!isBearer || header.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return 'none'
  return { token: header.slice(SCHEME.length).trim() }
}

const SCHEME = 'bearer'

/** Maximum length of a token. */
const TOKEN_CHARS = 8 * 1024

/** Reports whether a text is a valid `b64token` (RFC 6750 §2.1). Not needed for known tokens. */
export const isWellFormed = (token: string): boolean =>
  token.length <= TOKEN_CHARS && /^[\w.~+/-]+=*$/.test(token)

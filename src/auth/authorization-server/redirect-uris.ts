const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Reports whether a URL leads to the local machine of its user (RFC 8252 §7.3). */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.has(hostname)

const MAX_LENGTH = 2048

/**
 * Parses a redirect URI that may receive codes: `https`, `http` on loopback, or a configured private-use URI.
 * Returns undefined for any other.
 */
export const redirectUrl = (uri: unknown, privateRedirects: readonly string[]): URL | undefined => {
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !URL.canParse(uri)) return undefined
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '' || uri.includes('#')) return undefined
  if (url.protocol === 'https:') return isLoopback(url) ? undefined : url
  if (url.protocol === 'http:') return isLoopback(url) ? url : undefined
  return privateRedirects.includes(uri) ? url : undefined
}

/** Reports whether a redirect URI leads to a program on the user's machine, which cannot be verified. */
export const isNative = (url: URL): boolean => url.protocol !== 'https:'

/**
 * Reports whether a consent for a redirect URI may be remembered: not for native clients, since any program
 * of the machine could use the name.
 */
export const isRemembered = (applicationType: string | undefined, url: URL): boolean =>
  applicationType !== 'native' && !isNative(url)

/** Returns the destination of a code, as shown to users. */
export const redirectHost = (url: URL): string => (url.host === '' ? url.protocol : url.host)

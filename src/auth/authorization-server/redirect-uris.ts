const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether a URL leads to this machine, wherever it is opened (RFC 8252 §7.3). */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.has(hostname)

const MAX_LENGTH = 2048

/**
 * The redirect URI as a URL, if codes may be sent there (AU-49): `https`, `http` on this machine, or a
 * private-use URI that is allowed by name (AU-50). Undefined for any other.
 */
export const redirectUrl = (uri: unknown, privateRedirects: readonly string[]): URL | undefined => {
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !URL.canParse(uri)) return undefined
  const url = new URL(uri)
  if (url.username !== '' || url.password !== '' || uri.includes('#')) return undefined
  if (url.protocol === 'https:') return isLoopback(url) ? undefined : url
  if (url.protocol === 'http:') return isLoopback(url) ? url : undefined
  return privateRedirects.includes(uri) ? url : undefined
}

/** Whether programs of the person's machine wait at a redirect URI: nobody can tell which. */
export const isNative = (url: URL): boolean => url.protocol !== 'https:'

/**
 * Whether a consent for a redirect URI of a client is remembered: not for native clients, as any program of
 * the
 * machine could be behind the name (AX-18).
 */
export const isRemembered = (applicationType: string | undefined, url: URL): boolean =>
  applicationType !== 'native' && !isNative(url)

/** Where a code goes, as a person can judge it. */
export const redirectHost = (url: URL): string => (url.host === '' ? url.protocol : url.host)

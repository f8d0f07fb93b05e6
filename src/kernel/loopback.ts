/**
 * Reports whether a host, with or without the brackets of a URL, is always this machine: `localhost`,
 * 127.0.0.0/8 or ::1, also mapped into IPv6.
 */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:localhost|\[?(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+|::ffff:7f[\da-f]{2}:[\da-f]{1,4})\]?)$/i.test(host)

/** Reports whether requests to a URL leave this machine unencrypted. */
export const isUnencrypted = (url: string): boolean => {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLoopbackHost(hostname)
}

/** Returns whether a host, with or without brackets, means all addresses: only listeners can use it. */
export const isWildcardHost = (host: string): boolean => /^(?:|0\.0\.0\.0|::|\[::\])$/.test(host)

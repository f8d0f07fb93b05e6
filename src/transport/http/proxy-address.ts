import { Fault } from '../../kernel/faults.js'
import { type ForwardProxy, proxyUrl } from '../../kernel/machine/forward-proxy.js'
import { bareHost, portOf } from '../../kernel/url-address.js'

/** The address of a forward proxy, and the headers for it. */
export interface ProxyAddress {
  readonly protocol: string
  readonly origin: string
  readonly host: string
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

/** Parses the address of a proxy. Throws a Fault that names its setting. */
export const proxyAddress = ({ url: text, from }: ForwardProxy): ProxyAddress => {
  const url = proxyUrl(text)
  if (url === undefined) {
    const what = `${from} is not the address of an HTTP proxy`
    throw new Fault('unavailable', `${what}: write "http://HOST:PORT" (SOCKS is not supported)`)
  }
  const { protocol, origin, hostname, username, password } = url
  const isKnown = username !== '' || password !== ''
  return {
    protocol,
    origin,
    host: bareHost(hostname),
    port: portOf(url),
    headers: isKnown ? { 'proxy-authorization': basicCredentials(username, password) } : {},
  }
}

/** Returns the value of a header for the percent-encoded user and password of a URL (RFC 7617). */
const basicCredentials = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${decoded(user)}:${decoded(password)}`).toString('base64')}`

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

import { isWildcardHost } from './loopback.js'

/** Returns a host of a URL without the brackets of an IPv6 address, as sockets take it. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** Returns the port of a URL, also if it is the default one of its scheme. */
export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number => {
  if (port !== '') return Number(port)
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80
}

/** Returns a host as URLs and `Host` headers contain it: an IPv6 address in brackets. */
export const bracketedHost = (host: string): string =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host

/** Returns the host of a listen address for URLs of clients on this machine: loopback for a wildcard. */
export const localUrlHost = (host: string): string =>
  isWildcardHost(host) ? '127.0.0.1' : bracketedHost(host)

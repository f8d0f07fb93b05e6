/** Returns a host of a URL without the brackets of an IPv6 address, as sockets take it. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** Returns the port of a URL, also if it is the default one of its scheme. */
export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number => {
  if (port !== '') return Number(port)
  return protocol === 'https:' || protocol === 'wss:' ? 443 : 80
}

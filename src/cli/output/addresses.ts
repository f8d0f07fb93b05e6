import { socketUrlOf } from '../../kernel/socket-path.js'

/** How clients can speak to us on an address that we listen on. */
export type Way = 'http' | 'sse' | 'ws' | 'unix'

/** An address that we listen on. */
export interface ListenAddress {
  readonly way: Way
  readonly url: string
}

/** The addresses of one HTTP port, as far as they are served. */
export interface HttpUrls {
  readonly url: string
  readonly sseUrl: string | undefined
  readonly wsUrl: string | undefined
}

/** All addresses of an HTTP port and a socket, that of the way that was asked for first. */
export const addressesOf = (
  http: HttpUrls | undefined,
  socketPath: string | undefined,
  first: Way = 'http',
): readonly ListenAddress[] => {
  const all: readonly (readonly [Way, string | undefined])[] = [
    ['http', http?.url],
    ['sse', http?.sseUrl],
    ['ws', http?.wsUrl],
    ['unix', socketPath === undefined ? undefined : socketUrlOf(socketPath)],
  ]
  const found = all.flatMap(([way, url]) => (url === undefined ? [] : [{ way, url }]))
  return [...found.filter(({ way }) => way === first), ...found.filter(({ way }) => way !== first)]
}

const WORDS: Readonly<Record<Way, string>> = {
  http: ' (Streamable HTTP)',
  sse: ' (HTTP+SSE)',
  ws: ' (WebSocket)',
  unix: '',
}

/** The lines of stdout about them. The first ends with its URL, because programs read it. */
export const listeningLines = (addresses: readonly ListenAddress[]): string =>
  addresses
    .map(({ way, url }, index) => `mcp-proxy listening on ${url}${index === 0 ? '' : WORDS[way]}`)
    .join('\n')

/** Prefix of named pipes on Windows. */
export const PIPE_FOLDER = '\\\\.\\pipe\\'

const UNIX_URL = /^unix:(?:\/\/)?(\/(?!\/)[^?#]*)(?:#(.*))?$/is
/** The origin of HTTP over a socket, as in Visual Studio Code. */
const HTTP_ORIGIN = 'http://localhost'

/** Visual Studio Code writes `pipe:///pipe/name`. */
const PIPE_URL = /^pipe:\/\/\/(?:pipe\/)?([^/\\?#]+)(?:#(.*))?$/is

function decoded(text: string): string | undefined {
  try {
    const path = decodeURIComponent(text)
    return path.includes('\0') ? undefined : path
  } catch {
    return undefined
  }
}

/** The `data.reason` of a Fault about a socket that speaks HTTP, although its address has no fragment. */
export const SPEAKS_HTTP = 'speaks_http'

/** The address of a local socket. */
export interface SocketAddress {
  /** The path of a unix domain socket, or the name of a pipe. */
  readonly path: string
  /** The address of HTTP requests over the socket; undefined for one message per line. */
  readonly httpUrl?: string
}

/**
 * Parses `unix:///run/x.sock`, `unix:/run/x.sock` or `pipe:///name`. A fragment is the target of HTTP
 * requests, as in Visual Studio Code: `unix:///run/x.sock#/mcp`.
 */
export function parseSocketUrl(url: string): SocketAddress | undefined {
  const [, written, fragment] = UNIX_URL.exec(url) ?? PIPE_URL.exec(url) ?? []
  const path = socketPath(url, decoded(written ?? ''))
  if (path === undefined || fragment === undefined) return path === undefined ? undefined : { path }
  const httpUrl = `${HTTP_ORIGIN}/${fragment.replace(/^\//, '').replaceAll('#', '%23')}`
  return { path, httpUrl }
}

const socketPath = (url: string, path: string | undefined): string | undefined => {
  if (/^unix:/i.test(url)) return path === '' ? undefined : path
  return path === undefined || path === '' || /[/\\]/.test(path) ? undefined : `${PIPE_FOLDER}${path}`
}

/** Returns the path in the address of a socket without HTTP; undefined for any other address. */
export function socketPathOf(url: string): string | undefined {
  const address = parseSocketUrl(url)
  return address?.httpUrl === undefined ? address?.path : undefined
}

export const isNamedPipe = (path: string): boolean => path.toLowerCase().startsWith(PIPE_FOLDER)

/**
 * Returns the URL of an absolute path, for HTTP over the socket with the address of its requests; the inverse
 * of `parseSocketUrl`.
 */
export const socketUrlOf = (path: string, httpUrl?: string): string => {
  const [scheme, rest] = isNamedPipe(path) ? ['pipe:///', path.slice(PIPE_FOLDER.length)] : ['unix://', path]
  const address = scheme + encodeURI(rest).replace(/[?#]/g, encodeURIComponent)
  return httpUrl === undefined ? address : `${address}#${httpUrl.slice(HTTP_ORIGIN.length)}`
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopbackHost, isWildcardHost } from '../../kernel/loopback.js'
import { bracketedHost } from '../../kernel/url-address.js'

/** A valid `Host`: a name, an IPv4 or a bracketed IPv6 address, and an optional port (RFC 9110 §7.2). */
const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/

const HAS_PORT = /:\d{1,5}$/

/** Names that always resolve to this machine, regardless of DNS. */
const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

const DEFAULT_PORTS = ['80', '443']

/** The listening address, and further names allowed by the operator. */
export interface Reachable {
  readonly host: string
  readonly port: number
  readonly configured: readonly string[]
}

/** Returns the spellings of an entry without a port: bare, with our port, or with a TLS proxy's. */
function spellings(entry: string, port: number): string[] {
  const name = entry.trim().toLowerCase()
  if (!HAS_PORT.test(name) || /^[^[]*:.*:/.test(name)) {
    const plain = bracketedHost(name)
    return [plain, `${plain}:${port}`, ...DEFAULT_PORTS.map(known => `${plain}:${known}`)]
  }
  const colon = name.lastIndexOf(':')
  return DEFAULT_PORTS.includes(name.slice(colon + 1)) ? [name, name.slice(0, colon)] : [name]
}

/** Returns all allowed `Host` headers in lower case, for `hostAllowed`. */
export function resolveHosts({ host, port, configured }: Reachable): ReadonlySet<string> {
  const own = isWildcardHost(host) ? LOOPBACK_NAMES : [...LOOPBACK_NAMES, bracketedHost(host.toLowerCase())]
  const all = [
    ...own.flatMap(name => [name, `${name}:${port}`]),
    ...configured.flatMap(entry => spellings(entry, port)),
  ]
  // Drops entries without a name, which would match requests without a host name.
  return new Set(all.filter(name => /^[^:]/.test(name)))
}

/**
 * Reports whether `Host` is allowed: the protection against DNS rebinding (spec 2025-11-25, transports,
 * "Security Warning"). A request without `Host` (HTTP/1.0) is not.
 */
export function hostAllowed(header: string | undefined, allowed: ReadonlySet<string>): boolean {
  if (header === undefined) return false
  // Most clients send it in lower case.
  if (allowed.has(header)) return true
  const host = header.toLowerCase()
  return HOST.test(host) && allowed.has(host)
}

/**
 * Reports whether a request names the address and port of its connection, as local programs do. A reverse
 * proxy passes on its clients' name for it, in any spelling (RFC 9110 §4.2.3).
 */
export function isDirect({
  headers: { host = '' },
  socket: { localAddress = '', localPort },
}: Addressed): boolean {
  const [, name = '', port = '80'] = /^(.*?)(?::(\d{1,5}))?$/.exec(host.toLowerCase()) ?? []
  const ours = bracketedHost(localAddress.replace(/^::ffff:/, ''))
  const isOurs = isLoopbackHost(name) || name === ours
  return isOurs && Number(port) === localPort
}

interface Addressed {
  readonly headers: { readonly host?: string | undefined }
  readonly socket: { readonly localAddress?: string | undefined; readonly localPort?: number | undefined }
}

/** Exactly `scheme://host:port`, so that `http://localhost@evil.example` is rejected. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\]+$/i

const LOOPBACK_ORIGIN_HOSTS = new Set(LOOPBACK_NAMES)

function parseOrigin(text: string): { readonly origin: string; readonly url: URL } | undefined {
  if (!ORIGIN.test(text)) return undefined
  try {
    const url = new URL(text)
    // `URL.origin` of an extension (`chrome-extension://id`) is "null", which would allow all of them.
    const origin = url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin
    return { origin: origin.toLowerCase(), url }
  } catch {
    return undefined
  }
}

/** Normalizes the configured origins for `originAllowed`; drops invalid ones. */
export const resolveOrigins = (configured: readonly string[]): ReadonlySet<string> =>
  new Set(configured.flatMap(entry => parseOrigin(entry.trim().replace(/\/$/, ''))?.origin ?? []))

/**
 * Reports whether a web page may send requests. Only browsers send `Origin`. Pages of this machine are
 * allowed on any port; `null` (a sandboxed frame, a file) could be any page and is refused.
 */
export function originAllowed(header: string | undefined, allowed: ReadonlySet<string>): boolean {
  if (header === undefined) return true
  const parsed = parseOrigin(header)
  if (parsed === undefined) return false
  const isWeb = parsed.url.protocol === 'http:' || parsed.url.protocol === 'https:'
  return (isWeb && LOOPBACK_ORIGIN_HOSTS.has(parsed.url.hostname)) || allowed.has(parsed.origin)
}

const ALLOWED_METHODS = 'GET, POST, DELETE'

const ALLOWED_HEADERS =
  'content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id, ' +
  'mcp-method, mcp-name'

const EXPOSED_HEADERS = 'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate'

/** Headers for parameters marked with `x-mcp-header` in a tool (2026-07-28). */
const MIRRORED = /^mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
const MAX_MIRRORED = 32

/** Allows a web page of an allowed origin to read the response. */
export function shareWith(origin: string, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
  response.setHeader('Vary', 'Origin')
}

/** Reports whether an OPTIONS request is a CORS preflight (Fetch standard, "CORS-preflight request"). */
export const isPreflight = (request: IncomingMessage): boolean =>
  request.headers.origin !== undefined && request.headers['access-control-request-method'] !== undefined

/** Answers a preflight from an allowed origin. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  const asked = (request.headers['access-control-request-headers'] ?? '').toLowerCase().split(/\s*,\s*/)
  const mirrored = asked.filter(name => MIRRORED.test(name)).slice(0, MAX_MIRRORED)
  response.writeHead(204, {
    'Access-Control-Allow-Methods': ALLOWED_METHODS,
    'Access-Control-Allow-Headers': [ALLOWED_HEADERS, ...mirrored].join(', '),
    'Access-Control-Max-Age': '600',
  })
  response.end()
}

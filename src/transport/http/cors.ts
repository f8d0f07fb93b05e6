import type { IncomingMessage, ServerResponse } from 'node:http'

const ALLOWED_METHODS = 'GET, POST, DELETE'

const ALLOWED_HEADERS = [
  'content-type',
  'accept',
  'authorization',
  'mcp-session-id',
  'mcp-protocol-version',
  'last-event-id',
  'mcp-method',
  'mcp-name',
]

const EXPOSED_HEADERS = 'Mcp-Session-Id, MCP-Protocol-Version'

/** Revision 2026-07-28 mirrors parameters that a tool marks with `x-mcp-header`; their names are the tool's. */
const MIRRORED = /^mcp-param-[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/
const MAX_MIRRORED = 32

/** Lets the web page of an origin that passed the guard read our answer. */
export function shareWith(origin: string, response: ServerResponse): void {
  response.setHeader('Access-Control-Allow-Origin', origin)
  response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
  response.setHeader('Vary', 'Origin')
}

/** Whether a browser asks what a page may send, before it sends it (Fetch standard, "CORS-preflight request"). */
export const isPreflight = (request: IncomingMessage): boolean =>
  request.method === 'OPTIONS' &&
  request.headers.origin !== undefined &&
  request.headers['access-control-request-method'] !== undefined

/** Answers a preflight from an allowed origin. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  const asked = (request.headers['access-control-request-headers'] ?? '').toLowerCase().split(/\s*,\s*/)
  const mirrored = asked.filter(name => MIRRORED.test(name)).slice(0, MAX_MIRRORED)
  response.writeHead(204, {
    'Access-Control-Allow-Methods': ALLOWED_METHODS,
    'Access-Control-Allow-Headers': [...ALLOWED_HEADERS, ...mirrored].join(', '),
    'Access-Control-Max-Age': '600',
  })
  response.end()
}

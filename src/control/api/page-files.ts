import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { packageFile } from '../../kernel/machine/package-file.js'
import { sendJson } from './http.js'
import { type PortEntry, refusalFor } from './port.js'

const PAGE_BASE = '/ui'

const FILES: ReadonlyMap<string, readonly [file: string, type: string]> = new Map([
  ['/ui/', ['index.html', 'text/html; charset=utf-8']],
  ['/ui/app.js', ['app.js', 'text/javascript; charset=utf-8']],
  ['/ui/app.css', ['app.css', 'text/css; charset=utf-8']],
  ['/ui/icon.svg', ['icon.svg', 'image/svg+xml']],
])

/** Allow only our own files and no inline scripts: the page shows text from servers. */
const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Contents of the files that were read. A failed read is retried. */
const kept = new Map<string, Buffer>()

/** Returns true for the page and the paths below it. */
export const isPage = (path: string): boolean => path === PAGE_BASE || path.startsWith(`${PAGE_BASE}/`)

/** Serves the static files of the page. All data comes from the API. Reads each file on first request. */
export const answerPage = async (
  request: IncomingMessage,
  response: ServerResponse,
  entry: PortEntry,
): Promise<void> => {
  response.removeHeader('access-control-allow-origin')
  response.removeHeader('access-control-expose-headers')
  const [path = ''] = (request.url ?? '').split('?', 1)
  const refusal = refusalFor(request, entry)
  const found = FILES.get(path)
  if (refusal !== undefined) sendJson(response, refusal.status, { error: refusal.error })
  else if (request.method !== 'GET' && request.method !== 'HEAD')
    sendJson(response, 405, { error: 'method not allowed: use GET' }, { allow: 'GET, HEAD' })
  else if (path === PAGE_BASE) response.writeHead(308, { ...HEADERS, location: 'ui/' }).end()
  else if (found === undefined) sendJson(response, 404, { error: 'the page is /ui/' })
  else await sendFile(request, response, found)
}

const sendFile = async (
  { method }: IncomingMessage,
  response: ServerResponse,
  [file, type]: readonly [file: string, type: string],
): Promise<void> => {
  try {
    const body = kept.get(file) ?? (await readFile(packageFile(`dist/ui/${file}`)))
    kept.set(file, body)
    response.writeHead(200, { ...HEADERS, 'content-type': type, 'content-length': body.length })
    response.end(method === 'HEAD' ? undefined : body)
  } catch {
    sendJson(response, 503, { error: 'the files of the page are missing: reinstall mcp-proxy' })
  }
}

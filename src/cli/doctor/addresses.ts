import { connect } from 'node:net'
import type { AddressFacts } from '../../doctor/facts.js'
import { systemCode } from '../../kernel/faults.js'

const CONNECT_MS = 2000
const ASK_MS = 5000

/** Returns whether an address accepts connections. Never rejects. */
export const isListening = (url: string): Promise<boolean> =>
  new Promise(resolve => {
    const { hostname, port, protocol } = new URL(url)
    const usual = protocol === 'https:' || protocol === 'wss:' ? 443 : 80
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? usual : Number(port),
    })
    const settle = (isAlive: boolean): void => {
      socket.destroy()
      resolve(isAlive)
    }
    socket.setTimeout(CONNECT_MS, () => settle(false))
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })

const CA = 'NODE_EXTRA_CA_CERTS=/path/to/ca.pem mcp-proxy daemon restart'

const CODES: Readonly<Partial<Record<string, readonly [why: string, fix: string]>>> = {
  ENOTFOUND: ['its name is not known to DNS', 'check the host in its "url"'],
  EAI_AGAIN: ['DNS does not answer', 'check the network, or a VPN that it needs'],
  ECONNREFUSED: ['nothing listens there', 'start the server, or check the port in its "url"'],
  ECONNRESET: ['it hung up', 'check whether it wants https instead of http'],
  EHOSTUNREACH: ['there is no route to it', 'check the network, or a VPN that it needs'],
  ENETUNREACH: ['there is no route to it', 'check the network, or a VPN that it needs'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'contact its operator'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['its certificate is self-signed', CA],
  SELF_SIGNED_CERT_IN_CHAIN: ['its certificate is signed by an unknown authority', CA],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['its certificate cannot be verified', CA],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['its certificate cannot be verified', CA],
  ERR_TLS_CERT_ALTNAME_INVALID: ['its certificate is for another host', 'check the host in its "url"'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not speak TLS', 'write http instead of https into its "url"'],
}

/** Requests an address directly to find why its server is unreachable. Never rejects. */
export const askAddress = async (url: string): Promise<AddressFacts> => {
  const found = await statusOf(url)
  if (typeof found !== 'number') {
    const [why, fix] = CODES[found] ?? [
      found === 'timeout' ? 'it does not answer' : `it fails with ${found}`,
      undefined,
    ]
    return { status: undefined, why, fix }
  }
  if (found === 404 || found === 405) {
    const other = await otherPath(url)
    if (other !== undefined)
      return { status: found, why: `it answers ${found} there`, fix: `write "url": "${other}"` }
  }
  if (found >= 500) return { status: found, why: `it answers ${found}`, fix: 'contact its operator' }
  return { status: found, why: found < 400 ? undefined : `it answers ${found}`, fix: undefined }
}

/** Returns the HTTP status of `initialize`, or an error code. */
const statusOf = async (url: string): Promise<number | string> => {
  try {
    // fetch refuses ports such as 6000.
    const { request } = await import('undici')
    const { statusCode, body } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: INITIALIZE,
      signal: AbortSignal.timeout(ASK_MS),
    })
    body.on('error', () => undefined).destroy()
    return statusCode
  } catch (thrown) {
    if (!(thrown instanceof Error)) return 'an unknown error'
    if (thrown.name === 'TimeoutError') return 'timeout'
    return systemCode(thrown) ?? thrown.message
  }
}

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'mcp-proxy', version: '0' },
  },
})

/**
 * Finds another path on the host with an MCP server. Sends no credentials, which belong to the given address
 * only.
 */
const otherPath = async (url: string): Promise<string | undefined> => {
  for (const path of ['/mcp', '/sse']) {
    const other = new URL(path, url)
    if (other.href === url) continue
    const status = path === '/sse' ? await streamStatus(other.href) : await statusOf(other.href)
    if (typeof status === 'number' && (status < 400 || status === 401)) return other.href
  }
  return undefined
}

const streamStatus = async (url: string): Promise<number | undefined> => {
  try {
    const { request } = await import('undici')
    const { statusCode, body } = await request(url, {
      headers: { accept: 'text/event-stream' },
      signal: AbortSignal.timeout(ASK_MS),
    })
    body.on('error', () => undefined).destroy()
    return statusCode
  } catch {
    return undefined
  }
}

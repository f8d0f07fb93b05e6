import { connect } from 'node:net'
import type { CauseCode } from '../../diagnostics/causes.js'
import { cause } from '../../diagnostics/explain.js'
import type { AddressFacts } from '../../doctor/facts.js'
import { systemCode } from '../../kernel/faults.js'

const CONNECT_MS = 2000
const ASK_MS = 5000
/** Stands in for an error code if no answer comes in time. */
const LATE = 'timeout'

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

type AddressCode = Extract<CauseCode, `D035.${string}`>

const CODES: Readonly<Partial<Record<string, AddressCode>>> = {
  ENOTFOUND: 'D035.unknown-host',
  EAI_AGAIN: 'D035.no-dns',
  ECONNREFUSED: 'D035.no-listener',
  ECONNRESET: 'D035.reset',
  EHOSTUNREACH: 'D035.no-route',
  ENETUNREACH: 'D035.no-route',
  CERT_HAS_EXPIRED: 'D035.expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'D035.self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'D035.unknown-authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'D035.unverified',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'D035.unverified',
  ERR_TLS_CERT_ALTNAME_INVALID: 'D035.other-host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'D035.no-tls',
  [LATE]: 'D035.silent',
}

/** Requests the address of a server directly to find why it is unreachable. Never rejects. */
export const askAddress = async (server: string, address: string): Promise<AddressFacts> => {
  const found = await statusOf(address)
  const status = typeof found === 'number' ? found : undefined
  const because = (code: AddressCode, url = address): AddressFacts => {
    const facts = { server, url, status: status ?? 0, reason: found }
    return { status, cause: cause(code, facts, server) }
  }
  if (status === undefined) return because(CODES[found] ?? 'D035.failing')
  if (status === 404 || status === 405) {
    const other = await otherPath(address)
    if (other !== undefined) return because('D035.path', other)
  }
  if (status >= 500) return because('D035.broken')
  return status < 400 ? { status, cause: undefined } : because('D035.refused')
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
    if (thrown.name === 'TimeoutError') return LATE
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

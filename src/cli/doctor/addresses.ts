import { connect } from 'node:net'
import { cause } from '../../diagnostics/explain.js'
import type { AddressFacts } from '../../doctor/facts.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { nothing } from '../../kernel/nothing.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { bareHost, portOf } from '../../kernel/url-address.js'
import { type AddressCode, connectionCause } from '../../telemetry/status/connection-cause.js'
import type { createHttpClient } from '../../transport/http/client.js'
import type { RemoteNetwork } from '../../transport/http/routes.js'

const CONNECT_MS = 2000
const ASK_MS = 5000

/** Returns whether an address accepts connections. Never rejects. */
export const isListening = (url: string): Promise<boolean> =>
  new Promise(resolve => {
    const to = new URL(url)
    const socket = connect({ host: bareHost(to.hostname), port: portOf(to) })
    const settle = (isAlive: boolean): void => {
      socket.destroy()
      resolve(isAlive)
    }
    socket.setTimeout(CONNECT_MS, () => settle(false))
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })

type HttpClient = ReturnType<typeof createHttpClient>
type OutboundRequest = Parameters<HttpClient['send']>[0]

/** The address of a server, and the way to it. */
export interface AskedServer extends RemoteNetwork {
  readonly url: string
}

/** Requests the address of a server directly to find why it is unreachable. Never rejects. */
export const askAddress = async (server: string, asked: AskedServer): Promise<AddressFacts> => {
  const { createHttpClient } = await import('../../transport/http/client.js')
  const http = createHttpClient({ ...asked, connectTimeoutMs: ASK_MS })
  try {
    return await examine(server, asked.url, http)
  } finally {
    await http.close()
  }
}

const examine = async (server: string, address: string, http: HttpClient): Promise<AddressFacts> => {
  const found = await statusOf(http, address)
  const status = typeof found === 'number' ? found : undefined
  const because = (code: AddressCode, url = address): AddressFacts => {
    const reason = found instanceof Fault ? sanitizeLine(codeOf(found) ?? found.message) : found
    const why = found instanceof Fault ? found.message : undefined
    return { status, cause: cause(code, { server, url, status: status ?? 0, reason, why }, server) }
  }
  if (found instanceof Fault) return because(addressCode(found))
  if (status === 404 || status === 405) {
    const other = await otherPath(http, address)
    if (other !== undefined) return because('D035.path', other)
  }
  if (found >= 500) return because('D035.broken')
  return found < 400 ? { status, cause: undefined } : because('D035.refused')
}

const addressCode = (fault: Fault): AddressCode =>
  fault.code === 'timeout' ? 'D035.silent' : (connectionCause(fault) ?? 'D035.failing')

/** Returns the code of the system or of OpenSSL. */
const codeOf = (fault: Fault): string | undefined => systemCode(fault.cause)

/** Resolves with the HTTP status of `initialize`, or with the reason why there is none. */
const statusOf = (http: HttpClient, url: string): Promise<number | Fault> =>
  headOf(http, {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: INITIALIZE,
  })

const headOf = (http: HttpClient, request: OutboundRequest): Promise<number | Fault> =>
  new Promise(resolve => {
    const late = setTimeout(() => {
      sent.abort()
      resolve(new Fault('timeout', 'timeout'))
    }, ASK_MS)
    const settle = (found: number | Fault): void => {
      clearTimeout(late)
      resolve(found)
    }
    const sent = http.send(request, {
      head: status => {
        sent.abort()
        settle(status)
      },
      data: nothing,
      ended: fault => settle(fault ?? new Fault('disconnected', 'no answer')),
    })
  })

const INITIALIZE = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'mcp-proxy', version: '0' },
    },
  }),
)

/**
 * Finds another path on the host with an MCP server. Sends no credentials, which belong to the given address
 * only.
 */
const otherPath = async (http: HttpClient, url: string): Promise<string | undefined> => {
  for (const path of ['/mcp', '/sse']) {
    const other = new URL(path, url).href
    if (other === url) continue
    const stream: OutboundRequest = { method: 'GET', url: other, headers: { accept: 'text/event-stream' } }
    const status = path === '/sse' ? await headOf(http, stream) : await statusOf(http, other)
    if (typeof status === 'number' && (status < 400 || status === 401)) return other
  }
  return undefined
}

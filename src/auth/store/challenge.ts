import type { UrlTransport } from '../../config/types.js'
import { systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { textOf } from '../../kernel/json/text.js'
import { silentLogger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { NEWEST_LEGACY } from '../../model/revision.js'
import { createHttpClient } from '../../transport/http/client.js'
import type { HttpClient, HttpHeaders, OutboundExchange, OutboundRequest } from '../../wire/http.js'
import type { HttpCredential } from '../../wire/http-credential.js'
import { encodeRequest } from '../../wire/jsonrpc.js'
import { type BearerChallenge, bearerChallenge, isBasicOnly } from '../client/challenges.js'

const LIMIT_MS = 10_000

interface Head {
  readonly status: number
  readonly headers: HttpHeaders
}

/** Response of a server to requests without a token. */
export interface AskedChallenge {
  /** True if it refused any request. */
  readonly isRefused: boolean
  readonly challenge: BearerChallenge | undefined
  /** True if it asked for a user and password, and for no token. */
  readonly takesPassword?: boolean
}

/**
 * Sends requests without a token until the server refuses one, since some accept the first. Rejects with a
 * Fault if it cannot be reached.
 */
export const askChallenge = (transport: UrlTransport): Promise<AskedChallenge> =>
  transport.kind === 'ws' ? askUpgrade(transport) : askRequests(transport)

const askedIn = ({ status, headers }: Head): AskedChallenge => {
  if (status !== 401) return { isRefused: false, challenge: undefined }
  const header = headers['www-authenticate']
  const challenge = bearerChallenge(header)
  return { isRefused: true, challenge, ...(isBasicOnly(header) && { takesPassword: true }) }
}

const askUpgrade = async ({ url, headers, proxy, tls }: UrlTransport): Promise<AskedChallenge> => {
  const { connectWs } = await import('../../transport/ws/client.js')
  const refusals: Head[] = []
  const credential: HttpCredential = {
    authorize: () => undefined,
    refused(refusal) {
      refusals.push(refusal)
      return undefined
    },
  }
  const { signal } = new AbortController()
  const options = {
    url,
    headers,
    proxy,
    tls,
    credential,
    connectTimeoutMs: LIMIT_MS,
    signal,
    log: silentLogger,
  }
  try {
    const channel = await connectWs({ ...options, clock: systemClock })
    await channel.close()
  } catch (thrown) {
    if (refusals.length === 0) throw thrown
  }
  return askedIn(refusals[0] ?? { status: 101, headers: {} })
}

const askRequests = async ({ url, headers, kind, proxy, tls }: UrlTransport): Promise<AskedChallenge> => {
  const http = createHttpClient({ headersTimeoutMs: LIMIT_MS, proxy, tls })
  try {
    let session: Readonly<Record<string, string>> = {}
    const connection = http.forConnection()
    for (const request of requestsTo(url, kind)) {
      const head = await askHead(connection, {
        ...request,
        headers: { ...headers, ...request.headers, ...session },
      })
      if (head.status === 401) return askedIn(head)
      const id = head.headers['mcp-session-id']
      if (id !== undefined) session = { 'mcp-session-id': id }
    }
    return { isRefused: false, challenge: undefined }
  } finally {
    await http.close()
  }
}

function* requestsTo(url: string, kind: UrlTransport['kind']): Generator<OutboundRequest> {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  }
  const initialize = { protocolVersion: NEWEST_LEGACY, capabilities: {}, clientInfo: IDENTITY }
  if (kind !== 'sse') {
    const post = (id: number, method: string, params: object): OutboundRequest => ({
      ...{ method: 'POST', url, headers },
      body: encodeRequest(id, method, textOf(params)),
    })
    yield post(1, 'initialize', initialize)
    yield post(2, 'tools/list', {})
  }
  yield { method: 'GET', url, headers: { accept: 'text/event-stream' } }
}

/** Resolves with the head of a response and discards its body. */
const askHead = (http: HttpClient, request: OutboundRequest): Promise<Head> =>
  new Promise((resolve, reject) => {
    const timer = systemClock.after(LIMIT_MS, () => {
      exchange.abort()
      reject(new Fault('timeout', 'the server did not answer in time'))
    })
    const exchange: OutboundExchange = http.send(request, {
      head: (status, headers) => {
        timer.cancel()
        exchange.discard()
        resolve({ status, headers })
      },
      data: () => undefined,
      ended: fault => {
        timer.cancel()
        reject(fault ?? new Fault('disconnected', 'the server sent no reply'))
      },
    })
  })

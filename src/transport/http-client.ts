import { Agent, type Dispatcher, request } from 'undici'
import { Fault } from '../kernel/faults.js'
import type { HttpClient, HttpHeaders, InboundReply, OutboundRequest } from '../wire/http.js'
import { transferFault } from './http-faults.js'

/** Times of an HTTP client; 0 is without a limit. */
export interface HttpClientOptions {
  /** From the first packet to an open (TLS) connection. */
  readonly connectTimeoutMs?: number
  /** From the request to the status line; a call may take minutes, and the caller has its own limit. */
  readonly headersTimeoutMs?: number
}

type Reply = Dispatcher.ResponseData

const MAX_REDIRECTS = 3

/** What we read of an answer that nobody wants, so that its connection can be used again. */
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 1000

const nothing = (): void => undefined

/** Where to go on, when that is the same origin and repeats the request as it was; RFC 9110 §15.4. */
function nextUrl(reply: Reply, method: OutboundRequest['method'], current: string): string | undefined {
  const repeats = [307, 308].includes(reply.statusCode)
  if (!repeats && !(method === 'GET' && [301, 302, 303].includes(reply.statusCode))) return undefined
  const { location } = reply.headers
  if (typeof location !== 'string' || !URL.canParse(location, current)) return undefined
  const next = new URL(location, current)
  return next.origin === new URL(current).origin ? next.href : undefined
}

function discard({ body, headers }: Reply, isBeingRead: boolean): void {
  // The rest of a short answer is cheaper than a new connection; an event stream has no end to wait for.
  if (isBeingRead || String(headers['content-type']).startsWith('text/event-stream')) body.destroy()
  else body.dump({ limit: DISCARD_BYTES, signal: AbortSignal.timeout(DISCARD_MS) }).catch(nothing)
}

const joined = (headers: Reply['headers']): HttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )

function inboundReply(reply: Reply, { url, signal }: OutboundRequest): InboundReply {
  let isBeingRead = false
  async function* pieces(): AsyncGenerator<Buffer, void> {
    isBeingRead = true
    try {
      for await (const chunk of reply.body) yield chunk as Buffer
    } catch (error) {
      throw transferFault(error, url, signal)
    }
  }
  return {
    status: reply.statusCode,
    headers: joined(reply.headers),
    body: pieces(),
    discard: () => discard(reply, isBeingRead),
  }
}

async function sendFollowing(outbound: OutboundRequest, dispatcher: Agent): Promise<InboundReply> {
  const { method, headers, body = null, signal } = outbound
  let { url } = outbound
  for (let redirects = 0; ; redirects += 1) {
    const reply = await request(url, { dispatcher, method, headers, body, signal })
    // An abort between the head and the first read of the body has nobody else who would hear of it.
    reply.body.on('error', nothing)
    const next = redirects < MAX_REDIRECTS ? nextUrl(reply, method, url) : undefined
    if (next === undefined) return inboundReply(reply, outbound)
    discard(reply, false)
    url = next
  }
}

/** An HTTP client for remote servers: connections are kept, and a body may stay silent for hours. */
export function createHttpClient(options: HttpClientOptions = {}): HttpClient {
  const { connectTimeoutMs = 10_000, headersTimeoutMs = 0 } = options
  // Event streams hold a connection each, so their number is left to the limits of sessions and servers.
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: headersTimeoutMs,
    bodyTimeout: 0,
  })
  return {
    async send(outbound) {
      if (outbound.signal.aborted) throw new Fault('cancelled', 'the request was cancelled')
      try {
        return await sendFollowing(outbound, agent)
      } catch (error) {
        throw transferFault(error, outbound.url, outbound.signal)
      }
    },
    close: () => agent.destroy().catch(nothing),
  }
}

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { WebSocket } from 'ws'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault, type RemoteFailure, systemCode } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { type ProxyRules, proxyFor } from '../../kernel/machine/forward-proxy.js'
import { type TlsSettings, tlsOptions } from '../../kernel/machine/tls-settings.js'
import { bareHost, portOf } from '../../kernel/url-address.js'
import type { Channel } from '../../wire/channel.js'
import type { HttpHeaders } from '../../wire/http.js'
import type { HttpCredential } from '../../wire/http-credential.js'
import { watchCertificateRequest } from '../http/certificate-requests.js'
import { CookieJar } from '../http/cookies.js'
import { transferFault } from '../http/faults.js'
import { openTunnel } from '../http/tunnel.js'
import { maxMessageBytes, WS_SUBPROTOCOL, WsChannel } from './channel.js'

/** Silence of a connection after which the system checks that the other machine is still there. */
const PROBE_AFTER_MS = 60_000

/** The part of the body of a refused handshake that is read; it holds the reason. */
const REFUSAL_BYTES = 4096
/** The time for that body to arrive. */
const REFUSAL_MS = 2000

/** A handshake that was answered with another status, and the beginning of the body. */
interface Refusal {
  readonly status: number
  readonly statusText: string
  readonly headers: HttpHeaders
  readonly text: string
}

interface StatedReason {
  readonly reason?: string | undefined
  readonly remote?: RemoteFailure | undefined
}

export interface WsClientOptions {
  /** `ws:` or `wss:`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Authenticates the handshake; absent if the headers do, or no authentication is needed. */
  readonly credential?: HttpCredential | undefined
  /** From the first packet to the end of the opening handshake. */
  readonly connectTimeoutMs: number
  /** Aborts the connection attempt; the open channel ignores it. */
  readonly signal: AbortSignal
  readonly proxy?: ProxyRules | undefined
  readonly tls?: TlsSettings | undefined
  /** Returns the reason that a refusal gives, without secrets; absent if it is not wanted. */
  readonly statedIn?: (refusal: Refusal) => StatedReason
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock: Clock
}

/** Returns scheme, host and port; undefined if it is not a WebSocket URL. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hash, origin } = new URL(url)
  return (protocol === 'ws:' || protocol === 'wss:') && hash === '' ? origin : undefined
}

function statusFault({ status }: Refusal, origin: string, { reason, remote }: StatedReason = {}): Fault {
  const said = reason === undefined ? '' : `; it answered: ${reason}`
  const more = remote === undefined ? {} : { remote, data: { httpStatus: status } }
  if (status === 401 || status === 403) {
    const message = `${origin} refused access (HTTP ${status}): check "headers"${said}`
    return new Fault('unauthorized', message, more)
  }
  // A redirect could leak the credentials.
  const problem =
    status >= 300 && status < 400
      ? `sent a redirect (HTTP ${status}), which the proxy does not follow: check "url"`
      : `did not open a WebSocket (HTTP ${status}): check "url"`
  return new Fault('unavailable', `${origin} ${problem}${said}`, more)
}

/** Reads the beginning of the body of a refused handshake, for a limited time. Never rejects. */
const readRefusal = (response: IncomingMessage): Promise<Refusal> =>
  new Promise(resolve => {
    const chunks: Buffer[] = []
    let bytes = 0
    const done = (): void => {
      clearTimeout(timer)
      const { statusCode: status = 0, statusMessage: statusText = '' } = response
      const headers = joinedHeaders(response.headers)
      resolve({ status, statusText, headers, text: Buffer.concat(chunks).toString('utf8', 0, REFUSAL_BYTES) })
    }
    const timer = setTimeout(done, REFUSAL_MS)
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= REFUSAL_BYTES) done()
    })
    response.on('close', done).on('error', done)
  })

const joinedHeaders = (headers: IncomingHttpHeaders): HttpHeaders =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )

function handshakeFault(error: Error, origin: string): Fault {
  const more = { cause: error }
  // `ws` has no error codes for invalid responses.
  if (error.message.includes('subprotocol')) {
    return new Fault('unavailable', `${origin} does not speak the subprotocol "${WS_SUBPROTOCOL}"`, more)
  }
  const code = systemCode(error) ?? ''
  const isNetwork = code !== '' || error instanceof AggregateError
  if (!isNetwork || code.startsWith('HPE_')) {
    return new Fault('unavailable', `the response of ${origin} is not a WebSocket handshake`, more)
  }
  const { message, remote } = transferFault(error, origin)
  return new Fault('unavailable', message, { ...more, remote })
}

type Proof = Readonly<Record<string, string>> | undefined

type Resolved = WsClientOptions & { readonly bounds: LimitCounters }

function open({ bounds, headers, tls = {}, url }: Resolved, proof: Proof, tunnel?: Socket): WebSocket {
  try {
    return new WebSocket(url, WS_SUBPROTOCOL, {
      headers: { ...headers, ...proof },
      ...tlsOptions(tls),
      ...connectionOf(new URL(url), tunnel),
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: maxMessageBytes(bounds.max, 'server'),
    })
  } catch (error) {
    tunnel?.destroy()
    throw new Fault('unavailable', 'a header of the server is not valid: check "headers"', { cause: error })
  }
}

/** Uses a tunnel, if there is one, and encrypts the connection for `wss`. */
const connectionOf = ({ protocol, hostname }: URL, tunnel: Socket | undefined) => {
  if (protocol !== 'wss:') return tunnel && { createConnection: () => tunnel }
  return {
    createConnection: (...[options]: unknown[]): Socket => {
      const servername = isIP(bareHost(hostname)) === 0 ? hostname : ''
      // Node would take the path of the URL for the path of a local socket.
      const to = { servername, ...(options as ConnectionOptions), path: undefined }
      const socket = connectTls(tunnel === undefined ? to : { ...to, socket: tunnel })
      watchCertificateRequest(socket)
      return socket
    },
  }
}

async function opened(ws: WebSocket, origin: string, options: Resolved): Promise<Channel> {
  const { bounds, clock, connectTimeoutMs: ms, log, signal } = options
  const handshake = new Promise<Channel>((resolve, reject) => {
    let socket: Duplex | undefined
    // Not `once`: an abandoned handshake also reports an error.
    ws.on('error', error => reject(handshakeFault(error, origin)))
    ws.once('unexpected-response', (_request, response) => {
      const setCookie = response.headers['set-cookie'] ?? []
      void readRefusal(response).then(refusal => {
        const fault = statusFault(refusal, origin, options.statedIn?.(refusal))
        reject(new RefusedHandshake(fault, refusal, setCookie))
      })
    })
    ws.once('upgrade', response => {
      socket = response.socket.setKeepAlive(true, PROBE_AFTER_MS)
    })
    ws.once('open', () => {
      // Synchronously, so that the channel listens before the server's next message.
      if (socket !== undefined) resolve(new WsChannel(ws, { peer: 'server', socket, log, clock, bounds }))
    })
  })
  const timedOut = () => new Fault('unavailable', `cannot connect to ${origin} (no answer in time)`)
  try {
    return await within(handshake, { clock, ms, signal, timedOut })
  } catch (fault) {
    ws.terminate()
    throw fault
  }
}

/**
 * Connects to a server by WebSocket. Rejects with the Fault `unavailable`, `unauthorized` or `cancelled`,
 * whose message contains only scheme, host and port of the URL.
 */
export async function connectWs(options: WsClientOptions): Promise<Channel> {
  const { bounds = new LimitCounters(), url } = options
  const origin = originOf(url)
  // Without a cause: the message of `ws` contains the URL with its secrets.
  if (origin === undefined) throw new Fault('unavailable', 'the URL of the server is not valid: check "url"')
  return await prove({ ...options, bounds }, origin)
}

/** Opens the connection with a credential, and retries once if a better one is available. */
async function prove(options: Resolved, origin: string, cookies?: CookieJar): Promise<Channel> {
  const { credential, url } = options
  const isRepeated = cookies !== undefined
  const request = { method: 'GET', url: url.replace(/^ws/i, 'http'), headers: {} } as const
  const proof = credential && (await credential.authorize(request))
  try {
    const tunnel = await tunnelFor(options)
    return await opened(open(options, proof, tunnel), origin, options)
  } catch (thrown) {
    if (!(thrown instanceof RefusedHandshake)) throw thrown
    const { fault, setCookie } = thrown
    const { status, headers } = thrown.refusal
    const again = credential?.refused({ status, headers, sent: proof, isRepeated })
    if (again === undefined) throw fault
    await again
    const jar = new CookieJar()
    jar.store(request.url, setCookie)
    return await prove({ ...options, headers: jar.addTo(options.headers, request.url) }, origin, jar)
  }
}

/** Opens a tunnel through the forward proxy of a server; undefined without one. Rejects with a Fault. */
async function tunnelFor({ connectTimeoutMs, proxy, url }: Resolved): Promise<Socket | undefined> {
  const forward = proxyFor(proxy, url)
  if (forward === undefined) return undefined
  const to = new URL(url)
  return await openTunnel(forward, { host: bareHost(to.hostname), port: portOf(to) }, connectTimeoutMs)
}

/** A handshake that was answered with another status. */
class RefusedHandshake extends Error {
  readonly fault: Fault
  readonly refusal: Refusal
  readonly setCookie: readonly string[]

  constructor(fault: Fault, refusal: Refusal, setCookie: readonly string[]) {
    super(fault.message)
    this.fault = fault
    this.refusal = refusal
    this.setCookie = setCookie
  }
}

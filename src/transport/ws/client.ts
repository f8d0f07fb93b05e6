import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel } from '../../wire/channel.js'
import { transferFault } from '../http/faults.js'
import { WS_LIMITS, WS_SUBPROTOCOL, WsChannel, type WsLimits, wsLimits } from './channel.js'

/** Which server, and what it needs from us. */
export interface WsClientOptions {
  /** `ws:` or `wss:`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** From the first packet to the end of the opening handshake. */
  readonly connectTimeoutMs: number
  /** Of the attempt to connect; the open channel does not look at it. */
  readonly signal: AbortSignal
  readonly limits?: Partial<WsLimits>
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock: Clock
}

const nothing = (): void => undefined

/** Scheme, host and port; undefined for what is no URL of a WebSocket. */
function placeOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hash, origin } = new URL(url)
  return (protocol === 'ws:' || protocol === 'wss:') && hash === '' ? origin : undefined
}

function statusFault(status: number, place: string): Fault {
  if (status === 401 || status === 403) {
    return new Fault('unauthorized', `${place} does not let us in (HTTP ${status}): check "headers"`)
  }
  // A redirect would carry our credentials to whom it likes.
  const words =
    status >= 300 && status < 400
      ? `redirects to another place (HTTP ${status}), which is not followed: check "url"`
      : `opens no WebSocket (HTTP ${status}): check "url"`
  return new Fault('unavailable', `${place} ${words}`)
}

function handshakeFault(error: Error, place: string): Fault {
  const more = { cause: error }
  // The library has no codes for what it finds in the answer.
  if (error.message.includes('subprotocol')) {
    return new Fault('unavailable', `${place} does not speak the subprotocol "${WS_SUBPROTOCOL}"`, more)
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const isNetwork = code !== '' || error instanceof AggregateError
  if (!isNetwork || code.startsWith('HPE_')) {
    return new Fault('unavailable', `${place} answered something that is no WebSocket`, more)
  }
  return new Fault('unavailable', transferFault(error, place).message, more)
}

const limitsOf = ({ bounds, limits }: WsClientOptions): WsLimits => ({
  ...(bounds === undefined ? WS_LIMITS : wsLimits(bounds.max, 'server')),
  ...limits,
})

function open(options: WsClientOptions): WebSocket {
  const { url, headers } = options
  try {
    return new WebSocket(url, WS_SUBPROTOCOL, {
      headers,
      followRedirects: false,
      perMessageDeflate: false,
      maxPayload: limitsOf(options).messageBytes,
    })
  } catch (error) {
    throw new Fault('unavailable', 'a header of the server is not valid: check "headers"', { cause: error })
  }
}

function opened(ws: WebSocket, place: string, options: WsClientOptions): Promise<Channel> {
  const { clock, connectTimeoutMs, log, signal } = options
  return new Promise((resolve, reject) => {
    let socket: Duplex | undefined
    let isOpen = false
    const settle = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
    }
    const fail = (fault: Fault): void => {
      settle()
      reject(fault)
      ws.terminate()
    }
    const onAbort = (): void => fail(new Fault('cancelled', 'the connection was not wanted any more'))
    const timer = clock.after(connectTimeoutMs, () =>
      fail(new Fault('unavailable', `cannot connect to ${place} (no answer in time)`)),
    )
    signal.addEventListener('abort', onAbort)
    // Not once: a handshake that we gave up is told as an error, too.
    ws.on('error', error => {
      if (!isOpen) fail(handshakeFault(error, place))
    })
    ws.once('unexpected-response', (_request, response) => {
      response.on('error', nothing)
      fail(statusFault(response.statusCode ?? 0, place))
    })
    ws.once('upgrade', response => {
      socket = response.socket
    })
    ws.once('open', () => {
      isOpen = true
      settle()
      const { bounds } = options
      const limits = limitsOf(options)
      if (socket !== undefined)
        resolve(new WsChannel(ws, { peer: 'server', socket, limits, log, clock, bounds }))
    })
  })
}

/**
 * Connects to a server by WebSocket. Rejects with the Fault `unavailable`, `unauthorized` or `cancelled`, whose
 * words name no more of the URL than scheme, host and port.
 */
export async function connectWs(options: WsClientOptions): Promise<Channel> {
  const place = placeOf(options.url)
  // Without a cause: the words of the library repeat the URL with all its secrets.
  if (place === undefined) throw new Fault('unavailable', 'the URL of the server is not valid: check "url"')
  if (options.signal.aborted) throw new Fault('cancelled', 'the connection was not wanted any more')
  return await opened(open(options), place, options)
}

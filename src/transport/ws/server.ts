import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel } from '../../wire/channel.js'
import { refuseOn } from '../http/answer.js'
import type { UpgradeHandler } from '../http/gate.js'
import { WS_LIMITS, WS_SUBPROTOCOL, WsChannel, type WsLimits, wsLimits } from './channel.js'

/** What is known of a client beside its channel. */
export interface WsRequest {
  /** Address of the peer, for the principal and the log. */
  readonly remoteAddress: string
  /** Without query. */
  readonly path: string
}

/** Where WebSockets are accepted, and for whom. */
export interface WsServerOptions {
  /** Exact paths; others get 404. */
  readonly paths: readonly string[]
  /** Called for every client; nothing is read from it until `listen`. */
  readonly onChannel: (channel: Channel, request: WsRequest) => void
  readonly limits?: Partial<WsLimits>
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock: Clock
}

/** WebSockets behind an HTTP server, which checks Host and Origin before. */
export interface WsServer {
  readonly upgrade: UpgradeHandler
  /** Refuses further clients, says goodbye to all and resolves when they are gone; never rejects. */
  close(): Promise<void>
}

/** Of one message. Each costs some of the heap until the message is complete, and a peer can send ten thousand at once. */
const MAX_FRAMES = 1024

const nothing = (): void => undefined

function refuse(socket: Duplex, status: number): number {
  socket.on('error', nothing)
  refuseOn(socket, status)
  return status
}

/** A client that lists subprotocols wants one of them; one that lists none takes what there is. */
function offersOurs(request: IncomingMessage): boolean {
  const offered = request.headers['sec-websocket-protocol']
  return offered === undefined || offered.split(',').some(name => name.trim() === WS_SUBPROTOCOL)
}

/** Accepts WebSockets with the subprotocol `mcp`, or without any. */
export function createWsServer(options: WsServerOptions): WsServer {
  const { clock, log, onChannel } = options
  const paths = new Set(options.paths)
  const { bounds } = options
  const limits = {
    ...(bounds === undefined ? WS_LIMITS : wsLimits(bounds.max, 'client')),
    ...options.limits,
  }
  const channels = new Set<WsChannel>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // A few bytes could make us unpack as many as we allow, and each connection would hold a dictionary.
    perMessageDeflate: false,
    maxPayload: limits.messageBytes,
    maxFragments: MAX_FRAMES,
    handleProtocols: () => WS_SUBPROTOCOL,
  })
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    server.close()
    await Promise.all([...channels].map(channel => channel.close()))
  }
  return {
    upgrade(request, socket, head) {
      const [path = ''] = (request.url ?? '').split('?', 1)
      if (!paths.has(path)) return refuse(socket, 404)
      if (!offersOurs(request)) return refuse(socket, 400)
      const { size } = channels
      server.handleUpgrade(request, socket, head, ws => {
        const channel = new WsChannel(ws, { peer: 'client', socket, limits, log, clock, bounds })
        channels.add(channel)
        ws.once('close', () => channels.delete(channel))
        onChannel(channel, { remoteAddress: request.socket.remoteAddress ?? '', path })
      })
      // Whoever offers another version, or no key, is refused by the library.
      return channels.size > size ? undefined : 400
    },
    close: () => (closing ??= close()),
  }
}

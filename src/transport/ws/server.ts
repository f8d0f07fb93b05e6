import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { nothing } from '../../kernel/nothing.js'
import type { Channel } from '../../wire/channel.js'
import type { UpgradeHandler } from '../http/gate.js'
import { clientAddressOf } from '../http/request.js'
import { refuseOn } from '../http/responder.js'
import { maxMessageBytes, WS_SUBPROTOCOL, WsChannel } from './channel.js'

/** Address of a client. */
interface From {
  readonly remoteAddress: string
  readonly remotePort: number | undefined
}

export interface WsServerOptions {
  /** Reports whether a path has an endpoint; others get 404. */
  readonly serves: (path: string) => boolean
  /** Called for each client; nothing is read from it until `listen`. */
  readonly onChannel: (channel: Channel, caller: Caller, from: From) => void
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock: Clock
}

/** WebSockets behind an HTTP server, which has already checked Host, Origin and credential. */
export interface WsServer {
  readonly upgrade: UpgradeHandler
  /** Refuses new clients and closes all channels; resolves when they are gone, never rejects. */
  close(): Promise<void>
}

/**
 * Maximum frames of a message. Each takes heap until the message is complete; a peer could send thousands.
 */
const MAX_FRAMES = 1024

function refuse(socket: Duplex, status: number): number {
  socket.on('error', nothing)
  refuseOn(socket, status)
  return status
}

/** A client that lists subprotocols needs one of them; one without a list accepts any. */
function offersOurs(request: IncomingMessage): boolean {
  const offered = request.headers['sec-websocket-protocol']
  return offered === undefined || offered.split(',').some(name => name.trim() === WS_SUBPROTOCOL)
}

/** Accepts WebSockets with the subprotocol `mcp`, or without any. */
export function createWsServer(options: WsServerOptions): WsServer {
  const { bounds = new LimitCounters(), clock, log, onChannel } = options
  const channels = new Set<WsChannel>()
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // A few bytes could expand to the largest allowed message, and each connection would hold a dictionary.
    perMessageDeflate: false,
    maxPayload: maxMessageBytes(bounds.max, 'client'),
    maxFragments: MAX_FRAMES,
    handleProtocols: () => WS_SUBPROTOCOL,
  })
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    server.close()
    await Promise.all([...channels].map(channel => channel.close()))
  }
  return {
    upgrade(request, socket, head, caller) {
      const [path = ''] = (request.url ?? '').split('?', 1)
      if (!options.serves(path)) return refuse(socket, 404)
      if (!offersOurs(request)) return refuse(socket, 400)
      const { size } = channels
      server.handleUpgrade(request, socket, head, ws => {
        const channel = new WsChannel(ws, { peer: 'client', socket, log, clock, bounds })
        channels.add(channel)
        ws.once('close', () => channels.delete(channel))
        onChannel(channel, caller, {
          remoteAddress: clientAddressOf(request),
          remotePort: request.socket.remotePort,
        })
      })
      // `ws` refuses a client with another version or without a key.
      return channels.size > size ? undefined : 400
    },
    close: () => (closing ??= close()),
  }
}

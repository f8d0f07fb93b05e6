import type { Principal } from '../../model/peer.js'
import type { UpgradeHandler } from '../../transport/http/front.js'
import type { WsRequest, WsServer } from '../../transport/ws/server.js'
import { lateModule } from '../late-module.js'
import { type PipeContext, PipeListeners } from './pipes.js'

/** The face over WebSocket of an HTTP server. */
export interface WsFront {
  /** Takes over the connection of a client. Rejects with a Fault `unavailable` while that cannot be done. */
  readonly upgrade: UpgradeHandler
  readonly sessions: number
  /** Ends all sessions, and lets nobody in any more. Never rejects. */
  close(): Promise<void>
}

/** Where it is, and whose clients they are. */
export interface WsFrontOptions {
  readonly path: string
  readonly principalOf: (request: WsRequest) => Principal
  readonly around: PipeContext
}

const wsServer = lateModule(() => import('../../transport/ws/server.js'))

/** Serves clients over WebSocket, each on a channel of its own. What that takes is loaded with the first of them. */
export const createWsFront = ({ path, principalOf, around }: WsFrontOptions): WsFront => {
  const hosts = new PipeListeners(around)
  let server: WsServer | undefined
  let isClosing = false
  const load = async (): Promise<WsServer> => {
    const { createWsServer } = await wsServer()
    // The first clients may have come at the same time.
    server ??= createWsServer({
      ...around,
      paths: [path],
      onChannel: (channel, request) => hosts.serve(channel, principalOf(request)),
    })
    if (isClosing) void server.close()
    return server
  }
  return {
    async upgrade(request, socket, head) {
      const loaded = server ?? (await load())
      return await loaded.upgrade(request, socket, head)
    },
    get sessions() {
      return hosts.size
    },
    async close() {
      isClosing = true
      await hosts.close()
      await server?.close()
    },
  }
}

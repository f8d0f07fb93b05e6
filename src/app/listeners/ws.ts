import type { Principal } from '../../model/peer.js'
import type { UpgradeHandler } from '../../transport/http/gate.js'
import type { WsRequest, WsServer } from '../../transport/ws/server.js'
import { lateModule } from '../late-module.js'
import { type PipeContext, PipeListeners } from './pipes.js'

/** The WebSocket endpoint of an HTTP server. */
export interface WsFront {
  /** Takes over a client's connection. Rejects with a Fault `unavailable` while the module cannot be loaded. */
  readonly upgrade: UpgradeHandler
  readonly sessions: number
  /** Ends all sessions and accepts no more. Never rejects. */
  close(): Promise<void>
}

/** The path of the endpoint, and who its clients are. */
export interface WsFrontOptions {
  readonly path: string
  readonly principalOf: (request: WsRequest) => Principal
  readonly context: PipeContext
}

const wsServer = lateModule(() => import('../../transport/ws/server.js'))

/** Serves clients over WebSocket, each on a channel of its own; the server is loaded with the first client. */
export const createWsFront = ({ path, principalOf, context }: WsFrontOptions): WsFront => {
  const listeners = new PipeListeners(context)
  let server: WsServer | undefined
  let isClosing = false
  const load = async (): Promise<WsServer> => {
    const { createWsServer } = await wsServer()
    // Several first clients may arrive at the same time.
    server ??= createWsServer({
      ...context,
      paths: [path],
      onChannel: (channel, request) => listeners.serve(channel, principalOf(request)),
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
      return listeners.size
    },
    async close() {
      isClosing = true
      await listeners.close()
      await server?.close()
    },
  }
}

import { listenSocket } from '../../transport/socket/server.js'
import { type PipeContext, PipeListeners } from './pipe-listeners.js'

/** The face on a unix domain socket or named pipe. */
export interface SocketFront {
  readonly path: string
  close(): Promise<void>
}

/**
 * Serves clients on a socket of this machine, framed as on stdio: whoever may open the socket is the local user. Rejects with
 * a Fault `unavailable` if it cannot listen.
 */
export const serveSocket = async (path: string, around: PipeContext): Promise<SocketFront> => {
  const hosts = new PipeListeners(around)
  const listener = await listenSocket({
    ...around,
    path,
    onChannel: channel => hosts.serve(channel, 'local'),
  })
  return {
    path: listener.path,
    async close() {
      await hosts.close()
      await listener.close()
    },
  }
}

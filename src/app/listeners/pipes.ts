import { servePipe } from '../../eras/index.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { ClientHandler } from '../../model/links.js'
import type { Principal } from '../../model/peer.js'
import { listenSocket } from '../../transport/socket/server.js'
import { createStdioSelf, protectStdout } from '../../transport/stdio/self.js'
import type { Channel } from '../../wire/channel.js'
import { IDENTITY } from '../identity.js'

/** What every client on a channel reports to. */
export interface PipeContext {
  readonly reception: ClientHandler
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** Whether nobody is let in any more. */
  readonly isDraining: () => boolean
  /** How long calls may take whose client has said all, in milliseconds. */
  readonly drainMs: () => number
}

/** The clients of one face that each have a channel of their own: WebSockets, sockets. */
export class PipeListeners {
  readonly #around: PipeContext
  readonly #open = new Set<ReturnType<typeof servePipe>>()

  constructor(around: PipeContext) {
    this.#around = around
  }

  get size(): number {
    return this.#open.size
  }

  /** Serves a new client until it is gone. */
  serve(channel: Channel, principal: Principal): void {
    if (this.#around.isDraining()) {
      void channel.close()
      return
    }
    const host = servePipe(channel, principal, { ...this.#around, identity: IDENTITY })
    this.#open.add(host)
    void host.gone.then(() => this.#open.delete(host))
  }

  /** Ends all sessions. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(host => host.close('the proxy is shutting down')))
  }
}

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

/** The face on our own stdin and stdout. */
export interface StdioFront {
  /** Resolves when the client closed our stdin, and has its answers. */
  readonly gone: Promise<void>
  /** Whether the client has closed our stdin. */
  readonly isLeaving: boolean
  close(): Promise<void>
}

/** Serves the one client that started us, on stdin and stdout; nothing else may write to stdout from here on. */
export const serveStdio = (around: {
  readonly reception: ClientHandler
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly drainMs: () => number
}): StdioFront => {
  protectStdout()
  const host = servePipe(createStdioSelf(around), 'local', {
    ...around,
    identity: IDENTITY,
  })
  return {
    gone: host.gone,
    get isLeaving() {
      return host.isLeaving
    },
    close: () => host.close('the proxy is shutting down'),
  }
}

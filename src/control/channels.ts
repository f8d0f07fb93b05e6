import { servePipe } from '../eras/index.js'
import type { Clock } from '../kernel/async/clock.js'
import { type Caller, LOCAL, type RenewCaller } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import type { RefusalReason } from '../kernel/meter.js'
import type { Arrival, ClientHandler, Via } from '../model/links.js'
import { createStdioSelf, protectStdout } from '../transport/stdio/self.js'
import type { Channel } from '../wire/channel.js'
import { firstWorkspace } from './workspace.js'

export interface ChannelContext {
  readonly handler: ClientHandler
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** True if new clients are refused. Connected clients can finish. */
  readonly isDraining: () => boolean
  /** Returns the remaining time of calls once the proxy drains or the client closed its side. */
  readonly drainMs: () => number
  /** True if answers depend on the caller and must not be cached for other callers. */
  readonly isPrivate: boolean
  readonly refused: ((reason: RefusalReason) => void) | undefined
}

/** Serves clients with one channel each: WebSockets and sockets. */
export class ChannelListeners {
  readonly #context: ChannelContext
  readonly #via: Via
  readonly #open = new Set<ReturnType<typeof servePipe>>()

  constructor(context: ChannelContext, via: Via) {
    this.#context = context
    this.#via = via
  }

  get size(): number {
    return this.#open.size
  }

  /** `arrival` is the network address of the client, if any. */
  serve(channel: Channel, caller: Caller, arrival?: Arrival): void {
    if (this.#context.isDraining()) {
      void channel.close()
      return
    }
    const options = { ...this.#context, identity: IDENTITY, via: this.#via, arrival }
    const listener = servePipe(channel, caller, options)
    this.#open.add(listener)
    void listener.gone.then(() => this.#open.delete(listener))
  }

  /** Applies new rules: closes sessions whose credential is no longer valid. */
  renewCallers(renew: RenewCaller): void {
    for (const listener of [...this.#open]) listener.renewCallers(renew)
  }

  /** Ends all sessions. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(listener => listener.close('the proxy is shutting down')))
  }
}

export interface SocketEndpoint {
  readonly path: string
  close(): Promise<void>
}

/** Serves local clients on a socket with stdio framing. Rejects with a Fault `unavailable`. */
export const serveSocket = async (path: string, context: ChannelContext): Promise<SocketEndpoint> => {
  const { listenSocket } = await import('../transport/socket/server.js')
  const listeners = new ChannelListeners(context, 'socket')
  const listener = await listenSocket({
    ...context,
    path,
    onChannel: channel => listeners.serve(channel, LOCAL),
  })
  return {
    path: listener.path,
    async close() {
      await listeners.close()
      await listener.close()
    },
  }
}

export interface StdioEndpoint {
  /**
   * Resolves when the client has closed stdin and received its answers, or with a fault if the session
   * failed.
   */
  readonly gone: Promise<Fault | undefined>
  readonly isLeaving: boolean
  close(): Promise<void>
}

/**
 * Serves the parent process on stdin and stdout. Nothing else may write to stdout afterwards. `view` must
 * exist. `given` is the client's working folder, if known. Never rejects.
 */
export const serveStdio = async (
  context: Omit<ChannelContext, 'isDraining'>,
  view?: string,
  given?: string,
): Promise<StdioEndpoint> => {
  protectStdout()
  const [workspace, cwd] = await Promise.all([
    firstWorkspace(given, process.env['CLAUDE_PROJECT_DIR']),
    firstWorkspace(process.cwd()),
  ])
  const listener = servePipe(
    createStdioSelf(context),
    { ...LOCAL, workspace, cwd, view },
    { ...context, identity: IDENTITY, via: 'stdio' },
  )
  return {
    gone: listener.gone,
    get isLeaving() {
      return listener.isLeaving
    },
    close: () => listener.close('the proxy is shutting down'),
  }
}

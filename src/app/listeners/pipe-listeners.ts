import { servePipe } from '../../eras/index.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { ClientHandler } from '../../model/links.js'
import type { Principal } from '../../model/peer.js'
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

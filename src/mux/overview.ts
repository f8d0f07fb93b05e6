import { joinWelcome } from '../catalog/capabilities.js'
import type { Clock } from '../kernel/clock.js'
import { withLimit } from '../kernel/with-limit.js'
import type { Client, Welcome } from '../model/links.js'
import type { Server } from '../peers/server.js'

/** What the overview needs of the router. */
export interface OverviewContext {
  readonly servers: () => readonly Server[]
  readonly clock: Clock
  readonly startupWaitMs: number
  readonly isAlone: boolean
}

/** What all servers can do together, and how they are reached in the first place. */
export class Overview {
  readonly #context: OverviewContext
  #current: Welcome | undefined

  constructor(context: OverviewContext) {
    this.#context = context
  }

  /** As of now; put together again only after something changed. */
  get current(): Welcome {
    this.#current ??= joinWelcome(this.#context.servers(), this.#context.isAlone)
    return this.#current
  }

  /** A server said something about itself. */
  changed(): void {
    this.#current = undefined
  }

  /** Starts the servers that were not reached yet, on behalf of a client, and waits within the start-up wait. Never rejects. */
  async reach(client: Client): Promise<void> {
    if (this.current.isComplete) return
    const { clock, startupWaitMs } = this.#context
    // A server that we know already need not run for a client that may never use it.
    const starts = this.#context
      .servers()
      .filter(server => server.facts === undefined)
      .map(server => ({ started: startFor(server, client), restMs: startupWaitMs - server.unansweredMs }))
      .filter(({ restMs }) => restMs > 0)
    if (starts.length === 0) return
    const restMs = Math.max(...starts.map(start => start.restMs))
    await withLimit(Promise.all(starts.map(start => start.started)), restMs, clock)
  }
}

/** Starts a server on behalf of a client, so that the client's own connection is the one that answers first. */
const startFor = async (server: Server, client: Client): Promise<void> => {
  try {
    await server.connectionFor(client).open()
  } catch {
    // Its connection has logged why; the client is served by the others.
  }
}

import { joinWelcome } from '../catalog/capabilities.js'
import type { Clock, Timer } from '../kernel/clock.js'
import type { Logger } from '../kernel/logger.js'
import { withLimit } from '../kernel/with-limit.js'
import type { Client, Welcome } from '../model/links.js'
import type { Server } from '../peers/server.js'

/** What the overview needs of the router. */
export interface OverviewContext {
  readonly servers: () => readonly Server[]
  readonly clock: Clock
  readonly log: Logger
  readonly startupWaitMs: number
  readonly isAlone: boolean
}

/** Servers that are starting; the promise never rejects. */
export interface Start {
  readonly started: Promise<unknown>
  readonly restMs: number
}

/** Whoever waits for so long may wonder what for. */
const SLOW_MS = 2000

const NOTHING_TO_START: Start = { started: Promise.resolve(), restMs: 0 }

/** What all servers can do together, and how they are reached in the first place. */
export class Overview {
  #context: OverviewContext
  #current: Welcome | undefined
  /** Runs while clients wait. */
  #slow: Timer | undefined

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

  /** Other servers, or another time to wait for them. */
  reload(pace: Pick<OverviewContext, 'startupWaitMs'>): void {
    this.#context = { ...this.#context, ...pace }
    this.changed()
  }

  /** Starts the servers that were not reached yet, on behalf of a client, and waits within the start-up wait. Never rejects. */
  async reach(client: Client): Promise<void> {
    const { started, restMs } = this.start(client)
    if (restMs > 0) await withLimit(started, restMs, this.#context.clock)
  }

  /** The same without waiting: tells for how long one should, which is nothing if all were reached or had their time. */
  start(client: Client): Start {
    const { servers, startupWaitMs } = this.#context
    // What such a server says by itself would be lost before the client's own connection is there.
    for (const server of servers()) if (server.isOnlyRemembered) void startFor(server, client)
    if (this.current.isComplete) return NOTHING_TO_START
    // A server that we know already need not run for a client that may never use it.
    const starts = servers()
      .filter(server => server.facts === undefined)
      .map(server => ({ started: startFor(server, client), restMs: startupWaitMs - server.unansweredMs }))
      .filter(({ restMs }) => restMs > 0)
    const restMs = Math.max(0, ...starts.map(start => start.restMs))
    if (restMs > SLOW_MS) this.#slow ??= this.#context.clock.after(SLOW_MS, () => this.#tellSlow())
    return { started: Promise.all(starts.map(start => start.started)), restMs }
  }

  close(): void {
    this.#slow?.cancel()
  }

  #tellSlow(): void {
    this.#slow = undefined
    const { log, servers, startupWaitMs } = this.#context
    for (const { facts, connections, name } of servers()) {
      const isStarting = [...connections].some(({ state }) => state.at === 'starting')
      if (facts === undefined && isStarting)
        log.warn({ server: name, startupWaitMs }, 'the server is still starting, and clients wait for it')
    }
  }
}

/** Starts a server on behalf of a client, so that the client's own connection is the one that answers first. */
export const startFor = async (server: Server, client: Client): Promise<void> => {
  try {
    await server.connectionFor(client).open()
  } catch {
    // Its connection has logged why; the client is served by the others.
  }
}

import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/remembered.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { withLimit } from '../../kernel/async/deadline.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'

/** What it takes to reach servers. */
export interface ReachContext {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly log: Logger
  readonly startupWaitMs: number
}

/** Servers that are starting; the promise never rejects. */
export interface Start {
  readonly started: Promise<unknown>
  readonly restMs: number
}

/** Whoever waits for so long may wonder what for. */
const SLOW_MS = 2000

const NOTHING_TO_START: Start = { started: Promise.resolve(), restMs: 0 }

/** How servers are reached in the first place: on behalf of a client that comes, or asks what there is. */
export class Reach {
  #context: ReachContext
  /** Runs while clients wait. */
  #slow: Timer | undefined

  constructor(context: ReachContext) {
    this.#context = context
  }

  /** Another time to wait for them. */
  reload(pace: Pick<ReachContext, 'startupWaitMs'>): void {
    this.#context = { ...this.#context, ...pace }
  }

  /** Starts the servers that a client does not know yet, and waits within the start-up wait. Never rejects. */
  async all(client: Client): Promise<void> {
    const { started, restMs } = this.start(client)
    if (restMs > 0) await withLimit(started, restMs, this.#context.clock)
  }

  /** The same without waiting: tells for how long one should, which is nothing if all were reached or had their time. */
  start(client: Client): Start {
    const { catalog, startupWaitMs } = this.#context
    const servers = [...catalog.views.keys()]
    // What such a server says by itself would be lost before the client's own connection is there.
    for (const server of servers) if (catalog.isOnlyRecalled(server, client)) void startFor(server, client)
    if (catalog.offer(client).isComplete) return NOTHING_TO_START
    // A server that is known already need not run for a client that may never use it.
    const starts = servers
      .filter(server => catalog.facts(server, client) === undefined)
      .map(server => ({
        restMs: startupWaitMs - server.unansweredMs(client),
        started: startFor(server, client),
      }))
      .filter(({ restMs }) => restMs > 0)
    const restMs = Math.max(0, ...starts.map(start => start.restMs))
    if (restMs > SLOW_MS) this.#slow ??= this.#context.clock.after(SLOW_MS, () => this.#tellSlow(client))
    return { started: Promise.all(starts.map(start => start.started)), restMs }
  }

  close(): void {
    this.#slow?.cancel()
  }

  /** Opens a client's own connections to the servers of these lists, but for those that rest, to hear what they say. */
  hear(client: Client, lists: ReadonlySet<ListName>): void {
    const { catalog } = this.#context
    for (const server of catalog.views.keys()) {
      const facts = catalog.facts(server, client)
      const hasSome = facts === undefined || [...lists].some(list => offers(facts, list))
      if (hasSome && (facts === undefined || !server.isResting(client)))
        server.open(client).catch(() => undefined)
    }
  }

  #tellSlow(client: Client): void {
    this.#slow = undefined
    const { catalog, log, startupWaitMs } = this.#context
    for (const server of catalog.views.keys()) {
      const isStarting = catalog.facts(server, client) === undefined && server.unansweredMs(client) > 0
      if (isStarting)
        log.warn(
          { server: server.name, startupWaitMs },
          'the server is still starting, and clients wait for it',
        )
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

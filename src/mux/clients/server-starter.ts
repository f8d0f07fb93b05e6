import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/profile-cache.js'
import type { Timer } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import type { Client, Viewer } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import { KnownCheck, type KnownCheckContext } from './known-check.js'

export interface ServerStarterContext extends KnownCheckContext {
  readonly catalog: Catalog
  readonly startupWaitMs: number
}

/**
 * Servers that are starting. `started` never rejects; `restMs` is the remaining time that a client should
 * wait.
 */
export interface ServerStart {
  readonly started: Promise<unknown>
  readonly restMs: number
}

const SLOW_MS = 2000

const NOTHING_TO_START: ServerStart = { started: Promise.resolve(), restMs: 0 }

/** Starts servers for clients that connect, or that read the merged lists. */
export class ServerStarter {
  readonly #check: KnownCheck
  #context: ServerStarterContext
  #slow: Timer | undefined

  constructor(context: ServerStarterContext) {
    this.#context = context
    this.#check = new KnownCheck(context)
  }

  reload(pace: Pick<ServerStarterContext, 'startupWaitMs'>): void {
    this.#context = { ...this.#context, ...pace }
  }

  /**
   * Starts the servers that a client has not reached yet, and waits for them within the limit. Never rejects.
   */
  async startAll(viewer: Viewer): Promise<void> {
    const { started, restMs } = this.start(viewer)
    if (restMs > 0) await within(started, { clock: this.#context.clock, ms: restMs })
  }

  /** Starts them without waiting; `restMs` is 0 if all were reached or exceeded their time. */
  start(viewer: Viewer): ServerStart {
    const { client } = viewer
    const { catalog, startupWaitMs } = this.#context
    const servers = [...catalog.visibleTo(viewer).keys()]
    this.#askKnown(servers, client)
    if (catalog.offer(viewer).isComplete) return NOTHING_TO_START
    // A server with cached lists need not run for a client that may never use it.
    const starts = servers
      .filter(server => catalog.facts(server, client) === undefined)
      .map(server => ({
        restMs: startupWaitMs - server.unansweredMs(client),
        started: startFor(server, client),
      }))
      .filter(({ restMs }) => restMs > 0)
    const restMs = Math.max(0, ...starts.map(start => start.restMs))
    if (restMs > SLOW_MS) this.#slow ??= this.#context.clock.after(SLOW_MS, () => this.#warnSlow(viewer))
    return { started: Promise.all(starts.map(start => start.started)), restMs }
  }

  /** Asks servers whose lists come from an earlier process: remote ones now, and programs in a moment. */
  #askKnown(servers: Iterable<Server>, client: Client): void {
    for (const server of servers) {
      if (!this.#context.catalog.isOnlyFromDisk(server, client)) continue
      if (server.options.isProcess) this.#check.add(server, client)
      // Such a server's notifications would be lost until the client has a connection of its own.
      else void startFor(server, client)
    }
  }

  /** Returns how long a request waits for starting servers; a session has already waited at its start. */
  waitMsFor(viewer: Viewer): number {
    // The visible lists must not depend on `server/discover`.
    if (viewer.client.serverRequests === 'returned') return this.start(viewer).restMs
    // A session that was rebuilt after a restart had no start here.
    this.#askKnown(this.#context.catalog.visibleTo(viewer).keys(), viewer.client)
    return 0
  }

  close(): void {
    this.#slow?.cancel()
    this.#check.close()
  }

  /** Opens a client's own connections to the servers of these lists, except idle ones. */
  openFor(viewer: Viewer, lists: ReadonlySet<ListName>): void {
    const { client } = viewer
    const { catalog } = this.#context
    for (const server of catalog.visibleTo(viewer).keys()) {
      const facts = catalog.facts(server, client)
      const hasSome = facts === undefined || [...lists].some(list => offers(facts, list))
      if (hasSome && (facts === undefined || !server.isResting(client)))
        server.open(client).catch(() => undefined)
    }
  }

  #warnSlow(viewer: Viewer): void {
    this.#slow = undefined
    const { client } = viewer
    const { catalog, log, startupWaitMs } = this.#context
    for (const server of catalog.visibleTo(viewer).keys()) {
      const isStarting = catalog.facts(server, client) === undefined && server.unansweredMs(client) > 0
      if (isStarting)
        log.warn(
          { server: server.name, startupWaitMs },
          'the server is still starting, and clients wait for it',
        )
    }
  }
}

/** Starts a server for a client, so that the client's own connection answers first. */
export const startFor = async (server: Server, client: Client): Promise<void> => {
  try {
    await server.connectionFor(client).open()
  } catch {
    // The connection has logged the reason; other servers still serve the client.
  }
}

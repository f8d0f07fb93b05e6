import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/profile-cache.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Semaphore } from '../../kernel/async/semaphore.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client } from '../../model/links.js'
import { LIST_NAMES } from '../../model/listing.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'

/** The delay after the first client, which may call a server or leave at once. */
const AFTER_MS = 5000
/** Programs asked at the same time; one that takes longer than `HOLD_MS` no longer counts. */
const AT_ONCE = 2
const HOLD_MS = 5000

export interface KnownCheckContext {
  readonly catalog: Pick<Catalog, 'isOnlyFromDisk' | 'read'>
  readonly clients: { has(client: Client): boolean }
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Asks programs whose lists come from an earlier process for their present ones, once each and in the
 * background: an update of a package changes no configuration. Clients are notified of differences.
 */
export class KnownCheck {
  readonly #context: KnownCheckContext
  readonly #semaphore: Semaphore
  readonly #stop = new AbortController()
  readonly #seen = new WeakSet<Server>()
  #due: (readonly [Server, Client])[] = []
  #timer: Timer | undefined

  constructor(context: KnownCheckContext) {
    this.#context = context
    this.#semaphore = new Semaphore({ places: () => AT_ONCE, holdMs: HOLD_MS, clock: context.clock })
  }

  /** Schedules the check of a program for a client that may see its lists. */
  add(server: Server, client: Client): void {
    if (this.#seen.has(server)) return
    this.#seen.add(server)
    this.#due.push([server, client])
    this.#timer ??= this.#context.clock.after(AFTER_MS, () => this.#begin())
  }

  close(): void {
    this.#timer?.cancel()
    this.#stop.abort()
  }

  #begin(): void {
    this.#timer = undefined
    const due = this.#due
    this.#due = []
    for (const [server, client] of due)
      this.#semaphore.pass(this.#stop.signal, () => this.#check(server, client)).catch(() => undefined)
  }

  /** Starts a program, reads its lists, and lets it rest again unless a client called it. Never rejects. */
  async #check(server: Server, client: Client): Promise<void> {
    const { catalog, clients, log } = this.#context
    // The next client schedules it again.
    if (!clients.has(client)) this.#seen.delete(server)
    if (!clients.has(client) || !catalog.isOnlyFromDisk(server, client)) return
    let connection: Connection | undefined
    try {
      connection = server.connectionFor(client)
      const { facts } = await connection.open()
      for (const list of LIST_NAMES) if (offers(facts, list)) await catalog.read(server, client, list)
    } catch (thrown) {
      log.debug({ server: server.name, err: thrown }, 'could not check the cached lists of a server')
    }
    if (connection === undefined || connection.hasCarried || connection !== server.idlest()) return
    await server.end(connection)
  }
}

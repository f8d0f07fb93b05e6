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
/** Clients that wait for the check of a server; of more, the oldest are forgotten. */
const WAITING_MAX = 64

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
  /** Servers that were asked. */
  readonly #seen = new WeakSet<Server>()
  /** The clients of scheduled servers: the first ones may leave before the check. */
  readonly #waiting = new Map<Server, Set<Client>>()
  #due: Server[] = []
  #timer: Timer | undefined

  constructor(context: KnownCheckContext) {
    this.#context = context
    this.#semaphore = new Semaphore({ places: () => AT_ONCE, holdMs: HOLD_MS, clock: context.clock })
  }

  /** Schedules the check of a program for a client that may see its lists. */
  add(server: Server, client: Client): void {
    if (this.#seen.has(server)) return
    const waiting = this.#waiting.get(server) ?? new Set()
    waiting.add(client)
    const [oldest] = waiting
    if (waiting.size > WAITING_MAX && oldest !== undefined) waiting.delete(oldest)
    if (this.#waiting.has(server)) return
    this.#waiting.set(server, waiting)
    this.#due.push(server)
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
    for (const server of due)
      this.#semaphore.pass(this.#stop.signal, () => this.#check(server)).catch(() => undefined)
  }

  /** Starts a program, reads its lists, and lets it rest again unless a client called it. Never rejects. */
  async #check(server: Server): Promise<void> {
    const { catalog, clients, log } = this.#context
    const client = [...(this.#waiting.get(server) ?? [])].find(
      each => clients.has(each) && catalog.isOnlyFromDisk(server, each),
    )
    this.#waiting.delete(server)
    // The next client schedules it again.
    if (client === undefined) return
    this.#seen.add(server)
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

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
 * Asks programs whose lists come from an earlier process for their present ones, in the background: an
 * update of a package changes no configuration. Each is asked once for each profile of its clients, because
 * its lists may depend on their capabilities. Clients are notified of differences.
 */
export class KnownCheck {
  readonly #context: KnownCheckContext
  readonly #semaphore: Semaphore
  readonly #stop = new AbortController()
  /** The profiles for which servers were asked; `ProfileCache` bounds their number. */
  readonly #seen = new WeakMap<Server, Set<string>>()
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
    if (this.#wasAsked(server, client)) return
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

  /** Asks a program for each profile of the clients that wait and are still there. Never rejects. */
  async #check(server: Server): Promise<void> {
    const { catalog, clients } = this.#context
    const waiting = this.#waiting.get(server) ?? []
    // The next client schedules it again.
    this.#waiting.delete(server)
    for (const client of waiting) {
      if (this.#stop.signal.aborted || !clients.has(client) || this.#wasAsked(server, client)) continue
      if (catalog.isOnlyFromDisk(server, client)) await this.#ask(server, client)
    }
  }

  #wasAsked(server: Server, client: Client): boolean {
    const [profile] = server.profilesOf(client)
    return this.#seen.get(server)?.has(profile) === true
  }

  /** Starts a program, reads its lists, and lets it rest again unless a client called it. Never rejects. */
  async #ask(server: Server, client: Client): Promise<void> {
    const { catalog, log } = this.#context
    const [profile] = server.profilesOf(client)
    this.#seen.set(server, (this.#seen.get(server) ?? new Set()).add(profile))
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

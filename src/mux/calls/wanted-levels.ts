import type { Client } from '../../model/links.js'
import { LOG_LEVELS } from '../../model/log-level.js'
import type { Connection } from '../../peers/connection.js'

/** The slot of sessions that have not set a level. */
const UNSET = LOG_LEVELS.length

/** Keeps the log levels that clients set, as ranks, and counts the sessions of each connection by level. */
export class WantedLevels {
  readonly #ranks = new Map<Client, number>()
  readonly #counts = new WeakMap<Connection, number[]>()

  of(client: Client): number | undefined {
    return this.#ranks.get(client)
  }

  /** `connections` are all connections of the client. */
  set(client: Client, rank: number, connections: readonly Connection[]): void {
    for (const connection of connections) this.#count(connection, client, -1)
    this.#ranks.set(client, rank)
    for (const connection of connections) this.#count(connection, client, 1)
  }

  /** Forgets a client without connections. */
  forget(client: Client): void {
    this.#ranks.delete(client)
  }

  joined(connection: Connection, client: Client): void {
    this.#count(connection, client, 1)
  }

  parted(connection: Connection, client: Client): void {
    this.#count(connection, client, -1)
  }

  /** Returns the most verbose level that a client of a connection has set; undefined if none has. */
  lowestOn(connection: Connection): number | undefined {
    const rank = this.#counts.get(connection)?.findIndex(count => count > 0) ?? -1
    return rank < 0 || rank === UNSET ? undefined : rank
  }

  /** Returns whether a session on a connection has not set a level. */
  hasUnset(connection: Connection): boolean {
    return (this.#counts.get(connection)?.[UNSET] ?? 0) > 0
  }

  #count(connection: Connection, client: Client, by: 1 | -1): void {
    if (client.serverRequests !== 'pushed') return
    const slot = this.#ranks.get(client) ?? UNSET
    const counts = this.#counts.get(connection) ?? Array.from({ length: UNSET + 1 }, () => 0)
    counts[slot] = (counts[slot] ?? 0) + by
    this.#counts.set(connection, counts)
  }
}

import type { Clock } from '../../../kernel/async/clock.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { Client } from '../../../model/links.js'
import type { Connection } from '../../../peers/connection.js'

/** Visits that are remembered at a time; the oldest is forgotten. */
const VISITS_MAX = 1000
/** One whose id is longer is not waited for. */
const ID_CHARS = 1024

interface Elicitation {
  readonly client: Client
  isComplete: boolean
  /** Calls that wait for it. */
  readonly waiting: Set<() => void>
}

/** Pages that users were sent to for servers of 2025-11-25, which say when a visit is complete (client/elicitation). */
export class UrlElicitations {
  readonly #clock: Clock
  readonly #visits = new Map<string, Elicitation>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A client is shown a page, by a question or by an error that names it. */
  shown(connection: Connection, client: Client, id: string): void {
    if (id.length > ID_CHARS) return
    if (this.#visits.size >= VISITS_MAX) {
      const [oldest] = this.#visits.keys()
      if (oldest !== undefined) this.#visits.delete(oldest)
    }
    this.#visits.set(keyOf(connection, id), { client, isComplete: false, waiting: new Set() })
  }

  /** A server says that a visit is complete: for the client that was shown the page, and no other. */
  complete(connection: Connection, params: JsonText | undefined): void {
    const id = params && textMember(params, 'elicitationId')
    if (id === undefined) return
    const key = keyOf(connection, id)
    const visit = this.#visits.get(key)
    if (visit?.client.serverRequests === 'returned') {
      visit.isComplete = true
      for (const check of [...visit.waiting]) check()
      return
    }
    this.#visits.delete(key)
    if (visit?.client.capabilities.elicitation?.url === true)
      visit.client.notify('notifications/elicitation/complete', params)
  }

  /** Resolves when all of these visits are complete, or after `limitMs`; what is not known here is not waited for. */
  async completed(connection: Connection, ids: readonly string[], limitMs: number): Promise<void> {
    const keys = ids.map(id => keyOf(connection, id))
    await new Promise<void>(resolve => {
      const isDone = (): boolean => keys.every(key => this.#visits.get(key)?.isComplete !== false)
      const timer = this.#clock.after(limitMs, resolve)
      const check = (): void => {
        if (!isDone()) return
        timer.cancel()
        resolve()
      }
      for (const key of keys) this.#visits.get(key)?.waiting.add(check)
      check()
    })
    for (const key of keys) this.#visits.delete(key)
  }

  /** A client is gone: nothing of it is kept. */
  forget(client: Client): void {
    for (const [key, visit] of this.#visits) if (visit.client === client) this.#visits.delete(key)
  }
}

const keyOf = (connection: Connection, id: string): string =>
  `${connection.server.name}\0${connection.share.key}\0${id}`

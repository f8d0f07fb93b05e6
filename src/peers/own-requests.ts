import { Deferred } from '../kernel/async/deferred.js'
import { type Client, isOnePerson, type OnLate } from '../model/links.js'

/** Maximum time that a cancelled request counts as in progress at the server. */
export const LATE_MS = 180_000
/** Maximum number of cancelled requests tracked per connection. */
export const LATE_MAX = 1024
/** The party of requests for no client, or for several; no client has this id. */
const NOBODY = 0

/** Requests that the proxy sends one after another on behalf of the same clients. */
export interface OwnPeerRequest {
  /** Counts one more client that the requests are made for. */
  join(client: Client): void
  began(): void
  ended(): void
  /** Keeps counting a cancelled request until its late answer, or for `LATE_MS`. */
  cancelled(nowMs: number): OnLate
}

/**
 * Tracks the parties of the proxy's own requests that a server may be working on, since its questions may be
 * about them. A request for one client belongs to that client's party.
 */
export class OwnRequests {
  /** The number of requests of each party. */
  readonly #counts = new Map<number, number>()
  /** The time at which each cancelled request stops counting, in order. */
  readonly #cancelled = new Set<{ readonly party: number; readonly untilMs: number }>()
  #fullUntilMs = Number.NEGATIVE_INFINITY
  /** The number of requests in flight for no client, or for several. */
  #unowned = 0
  #noneUnowned: Deferred<void> | undefined

  /** Prepares requests on behalf of these clients. */
  on(clients: Iterable<Client>): OwnPeerRequest {
    let party = partyOfAll(clients)
    let open = 0
    const count = (by: 1 | -1): void => {
      open += by
      this.#count(party, by)
      if (party === NOBODY) this.#countUnowned(by)
    }
    return {
      join: client => {
        if (partyOfAll([client]) === party) return
        this.#count(party, -open)
        party = NOBODY
        this.#count(party, open)
        this.#countUnowned(open)
      },
      began: () => count(1),
      ended: () => count(-1),
      cancelled: nowMs => {
        count(-1)
        return this.#late(party, nowMs)
      },
    }
  }

  /** Resolves when no request for no client, or for several, is in flight; undefined if none is. */
  noneUnowned(): Promise<void> | undefined {
    if (this.#unowned === 0) return undefined
    this.#noneUnowned ??= new Deferred()
    return this.#noneUnowned.promise
  }

  /**
   * Returns the party of all requests that the server may be working on; undefined if there are none.
   * Requests for no client, or for several, are a party of their own.
   */
  party(nowMs: number): number | 'several' | undefined {
    for (const late of this.#cancelled) {
      if (late.untilMs > nowMs) break
      this.#over(late)
    }
    if (this.#counts.size > 1 || nowMs < this.#fullUntilMs) return 'several'
    const [party] = this.#counts.keys()
    return party
  }

  /** Forgets the cancelled requests of a lost connection. */
  lost(): void {
    this.#fullUntilMs = Number.NEGATIVE_INFINITY
    for (const late of this.#cancelled) this.#over(late)
  }

  #late(party: number, nowMs: number): OnLate {
    const untilMs = nowMs + LATE_MS
    if (this.#cancelled.size >= LATE_MAX) {
      this.#fullUntilMs = untilMs
      return () => undefined
    }
    const late = { party, untilMs }
    this.#cancelled.add(late)
    this.#count(party, 1)
    return () => this.#over(late)
  }

  #over(late: { readonly party: number; readonly untilMs: number }): void {
    if (this.#cancelled.delete(late)) this.#count(late.party, -1)
  }

  #countUnowned(by: number): void {
    this.#unowned += by
    if (this.#unowned > 0) return
    this.#noneUnowned?.resolve()
    this.#noneUnowned = undefined
  }

  #count(party: number, by: number): void {
    const count = (this.#counts.get(party) ?? 0) + by
    if (count === 0) this.#counts.delete(party)
    else this.#counts.set(party, count)
  }
}

/** Returns whether requests on behalf of these clients belong to one party. */
export const isForOne = (clients: Iterable<Client>): boolean => partyOfAll(clients) !== NOBODY

const partyOfAll = (clients: Iterable<Client>): number => {
  let party = NOBODY
  for (const client of clients) {
    if (party !== NOBODY || !isOnePerson(client)) return NOBODY
    party = client.id
  }
  return party
}

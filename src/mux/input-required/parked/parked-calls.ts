import type { Clock } from '../../../kernel/async/clock.js'
import type { Fault } from '../../../kernel/faults.js'
import { unguessableId } from '../../../kernel/ids.js'
import type { JsonText } from '../../../kernel/json/text.js'
import { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Call } from '../../../model/links.js'
import type { Principal } from '../../../model/peer.js'
import type {
  EarlierRun,
  Parkable,
  ParkedCallContext,
  ParkLimits,
  ParkOrigin,
  ParkRound,
} from './park-house.js'
import { ParkedCall } from './parked-call.js'

/** How much is parked unless somebody says otherwise. */
export const PARK_LIMITS: ParkLimits = {
  windowMs: 10,
  roundMs: 600_000,
  totalMs: 3_600_000,
  rounds: 32,
  beatMs: 15_000,
  resultBytes: 1024 * 1024,
}

/** What the table of parks is made of. */
export interface ParkedCallsOptions extends Pick<ParkedCallContext, 'refusal' | 'wantsNotice'> {
  readonly clock: Clock
  readonly limits: ParkLimits
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  /** The `requestState` by which the client finds the park of this id again. */
  mintState(id: string, park: Parkable, round: ParkRound): string
}

/** Where a park's place is counted. */
interface Place {
  readonly principal: Principal
  readonly connection: object
}

/**
 * Calls of modern clients that wait at legacy servers for answers: what was asked, who may answer it, and until when. A call
 * is adopted when it starts, which most are for nothing and costs next to nothing; once it is parked, the client finds it
 * again by the id in its sealed state.
 */
export class ParkedCalls {
  readonly #house: ParkedCallContext
  readonly #bounds: LimitCounters
  /** All calls that were ever parked and are not over: a retry may name those that run, to be refused. */
  readonly #parks = new Map<string, Parkable>()
  readonly #ids = new WeakMap<Parkable, string>()
  readonly #places = new Map<Parkable, Place>()
  readonly #ofPrincipal = new Map<Principal, number>()
  readonly #onConnection = new Map<object, number>()

  constructor(options: ParkedCallsOptions) {
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#house = {
      clock: options.clock,
      limits: options.limits,
      account: this.#bounds.unread,
      mintState: (park, round) => options.mintState(this.#idOf(park), park, round),
      refusal: (client, ask) => options.refusal(client, ask),
      wantsNotice: (call, method, params) => options.wantsNotice(call, method, params),
      admit: park => this.#admit(park),
      release: park => this.#release(park),
      forget: park => this.#parks.delete(this.#ids.get(park) ?? ''),
    }
  }

  /** How many calls hold a place: what is asked of their clients, or finished and not fetched. */
  get size(): number {
    return this.#places.size
  }

  /** How many of them are on a connection, which must not be closed for being idle meanwhile. */
  on(connection: object): number {
    return this.#onConnection.get(connection) ?? 0
  }

  /** The request to give to a live call in place of the client's own, so that it can be parked. */
  adopt(call: Call, from: ParkOrigin, earlier?: EarlierRun): ParkedCall {
    return new ParkedCall(call, from, this.#house, earlier)
  }

  /**
   * A request of a client with the state of a park that was opened and found to be bound to it. `taken`: the park ends the
   * request. `gone`: there is no such park, here or any more. A Fault: the request must be refused, the park stays.
   */
  retry(
    call: Call,
    state: { readonly parkId: string; readonly round: number },
    responses: JsonText | undefined,
  ): 'taken' | 'gone' | Fault {
    const park = this.#parks.get(state.parkId)
    if (park === undefined) return 'gone'
    return park.retry(call, state.round, responses) ?? 'taken'
  }

  /** Ends all that is parked, as at its deadline; calls that run are left to whoever runs them. */
  close(): void {
    for (const park of [...this.#parks.values()]) park.expire()
  }

  #admit(park: Parkable): boolean {
    if (this.#places.has(park)) return true
    const { max } = this.#bounds
    const { principal } = park.client
    const { connection, server } = park.from
    const ofPrincipal = this.#ofPrincipal.get(principal) ?? 0
    const onConnection = this.on(connection)
    const limit = ofPrincipal >= max.parksPerPrincipal ? 'parksPerPrincipal' : 'parks'
    if (ofPrincipal >= max.parksPerPrincipal || onConnection >= max.parks) {
      this.#bounds.hit(limit, { server, principal })
      return false
    }
    this.#ofPrincipal.set(principal, ofPrincipal + 1)
    this.#onConnection.set(connection, onConnection + 1)
    this.#places.set(park, { principal, connection })
    this.#parks.set(this.#idOf(park), park)
    return true
  }

  #idOf(park: Parkable): string {
    const id = this.#ids.get(park) ?? unguessableId()
    this.#ids.set(park, id)
    return id
  }

  #release(park: Parkable): void {
    const place = this.#places.get(park)
    if (place === undefined) return
    this.#places.delete(park)
    countDown(this.#ofPrincipal, place.principal)
    countDown(this.#onConnection, place.connection)
  }
}

const countDown = <K>(counts: Map<K, number>, key: K): void => {
  const left = (counts.get(key) ?? 1) - 1
  if (left === 0) counts.delete(key)
  else counts.set(key, left)
}

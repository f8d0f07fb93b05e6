import { annotationOf } from '../../../catalog/annotations.js'
import type { Catalog } from '../../../catalog/catalog.js'
import type { Item } from '../../../catalog/listed.js'
import type { Clock } from '../../../kernel/async/clock.js'
import type { ByteAccount } from '../../../kernel/byte-account.js'
import type { Principal } from '../../../kernel/caller.js'
import type { Fault } from '../../../kernel/faults.js'
import { randomId } from '../../../kernel/ids.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import { insufficientScope } from '../../../model/access.js'
import type { Call, Client, Viewer } from '../../../model/links.js'
import type { Connection } from '../../../peers/connection.js'
import type { ServerOptions } from '../../../peers/dial.js'
import type { CallRecord } from '../../calls/call-record.js'
import type { LogLevels } from '../../calls/log-levels.js'
import { partyOf } from '../../calls/party-list.js'
import { invalidState, type RequestStates } from '../retry/request-states.js'
import type { SealedState } from '../retry/sealed-state.js'
import { ParkedCall } from './parked-call.js'
import {
  ABANDONED_MS,
  type EarlierRun,
  type Parkable,
  type ParkedCallContext,
  type ParkLimits,
  type ParkRound,
} from './parked-call-context.js'

/** @internal */
export const PARK_LIMITS: ParkLimits = {
  windowMs: 10,
  roundMs: 600_000,
  totalMs: 3_600_000,
  rounds: 32,
  beatMs: 15_000,
  resultBytes: 1024 * 1024,
}

/** Maximum number of remembered parties of parked calls; a retry beyond it counts as another user's. */
const PARTIES_MAX = 1024

type ParkCatalog = Pick<Catalog, 'find' | 'ofApps' | 'sees' | 'viewFor' | 'lackingScopes'>

export interface ParkedCallsOptions {
  readonly catalog: ParkCatalog
  readonly clock: Clock
  readonly limits?: ParkLimits | undefined
  readonly bounds: LimitCounters
  readonly states: Pick<RequestStates, 'seal' | 'replica'>
  readonly logLevels: Pick<LogLevels, 'isWanted'>
  /** Called with the time that a call was parked, in ms. */
  readonly onParked?: ((ms: number) => void) | undefined
}

interface Slot {
  readonly principal: Principal
  readonly connection: Connection
}

/** Holds calls of modern clients that may wait at legacy servers for answers; most are never parked. */
export class ParkedCalls implements ParkedCallContext {
  readonly clock: Clock
  readonly limits: ParkLimits
  readonly account: ByteAccount
  readonly onParked: ((ms: number) => void) | undefined
  readonly #catalog: ParkCatalog
  readonly #bounds: LimitCounters
  readonly #states: Pick<RequestStates, 'seal' | 'replica'>
  readonly #logLevels: Pick<LogLevels, 'isWanted'>
  /** All calls that were parked and are not over; a retry of a running one is an error. */
  readonly #byId = new Map<string, Parkable>()
  readonly #ids = new WeakMap<Parkable, string>()
  /** The parties of parked calls that ended, latest last. */
  readonly #parties = new Map<string, number>()
  readonly #places = new Map<Parkable, Slot>()
  readonly #ofPrincipal = new Map<Principal, number>()
  readonly #onConnection = new Map<Connection, number>()

  constructor(options: ParkedCallsOptions) {
    this.onParked = options.onParked
    this.#catalog = options.catalog
    this.clock = options.clock
    this.limits = options.limits ?? PARK_LIMITS
    this.account = options.bounds.unread
    this.#bounds = options.bounds
    this.#states = options.states
    this.#logLevels = options.logLevels
  }

  /** The number of calls that are parked, or finished but not fetched. */
  get size(): number {
    return this.#places.size
  }

  on(connection: Connection): number {
    return this.#onConnection.get(connection) ?? 0
  }

  /** Wraps a client's request so that it can be parked. */
  adopt(call: CallRecord, connection: Connection, party?: number, earlier?: EarlierRun): ParkedCall {
    const parked = new ParkedCall(call, connection, this, earlier)
    parked.party = party
    return parked
  }

  /**
   * Hands a retry to the call named by its state; `gone` if there is none. After a Fault the call stays
   * parked.
   */
  retry(
    call: CallRecord,
    state: { readonly parkId: string; readonly round: number },
    responses: JsonText | undefined,
  ): 'taken' | 'gone' | Fault {
    const parked = this.#byId.get(state.parkId)
    if (parked === undefined) return 'gone'
    return this.#refusal(call, parked.connection) ?? parked.retry(call, state.round, responses) ?? 'taken'
  }

  /** Returns why a retry may not take over its call: its own credential allows less. */
  #refusal(call: Call, { server }: Connection): Fault | undefined {
    const { caller, method, params } = call
    if (caller.scopes === undefined && this.#catalog.viewFor(call.client) === undefined) return undefined
    if (!this.#catalog.sees(call, server)) return invalidState()
    if (method !== 'tools/call') return undefined
    const tool = this.#toolOf(call, params, server)
    if (tool === undefined) return invalidState()
    const lacking = this.#catalog.lackingScopes(caller, server, tool.own)
    return lacking.length === 0 ? undefined : insufficientScope(lacking)
  }

  #toolOf(viewer: Viewer, params: JsonText | undefined, server: ServerOptions): Item | undefined {
    const name = params && textMember(params, 'name')
    if (name === undefined) return undefined
    const named = this.#catalog.find(viewer, 'tools', name)
    return named ?? this.#catalog.ofApps(viewer, name).find(one => one.server.options === server)
  }

  /** Ends all parked calls, as at their deadlines. */
  close(): void {
    for (const parked of [...this.#byId.values()]) parked.expire()
  }

  mintState(parked: Parkable, round: ParkRound): string {
    const { replica } = this.#states
    const facts = { kind: 'park', parkId: this.#idOf(parked), replica, ...round } as const
    return this.#states.seal(parked, parked.connection.server.alias, facts, this.limits.totalMs)
  }

  wantsNotification(call: Call, method: string, params: JsonText | undefined): boolean {
    return method !== 'notifications/message' || this.#logLevels.isWanted(call, params)
  }

  /** Returns whether a call may run again after a loss, by its tool's annotations. */
  mayReplay(parked: Omit<Parkable, 'retry' | 'expire' | 'party' | 'isParkedSince'>): boolean {
    if (parked.method !== 'tools/call') return true
    if (!parked.connection.server.replay) return false
    const tool = this.#toolOf(parked, parked.params, parked.connection.server)
    return ['readOnlyHint', 'idempotentHint'].some(
      hint => tool !== undefined && annotationOf(tool.text, hint)?.toString() === 'true',
    )
  }

  admit(parked: Parkable): boolean {
    if (this.#places.has(parked)) return true
    const { principal } = parked.client
    const { connection } = parked
    const slot = { principal, connection }
    const limit = this.#fullFor(slot)
    if (limit !== undefined) this.#endAbandoned(limit, slot)
    if (this.#fullFor(slot) !== undefined) {
      this.#bounds.hit(limit ?? 'parks', { server: connection.server.name, principal })
      return false
    }
    this.#ofPrincipal.set(principal, (this.#ofPrincipal.get(principal) ?? 0) + 1)
    this.#onConnection.set(connection, this.on(connection) + 1)
    this.#places.set(parked, slot)
    this.#byId.set(this.#idOf(parked), parked)
    return true
  }

  #fullFor({ principal, connection }: Slot): 'parksPerPrincipal' | 'parks' | undefined {
    const { max } = this.#bounds
    if ((this.#ofPrincipal.get(principal) ?? 0) >= max.parksPerPrincipal) return 'parksPerPrincipal'
    return this.on(connection) >= max.parks ? 'parks' : undefined
  }

  /** Ends the call that has waited longest for its client, if it has waited long enough. */
  #endAbandoned(limit: 'parksPerPrincipal' | 'parks', { principal, connection }: Slot): void {
    const sinceMs = this.clock.nowMs() - ABANDONED_MS
    for (const [parked, slot] of this.#places) {
      const isHere = limit === 'parks' ? slot.connection === connection : slot.principal === principal
      if (!isHere || !parked.isParkedSince(sinceMs)) continue
      parked.expire()
      return
    }
  }

  #idOf(parked: Parkable): string {
    const id = this.#ids.get(parked) ?? randomId()
    this.#ids.set(parked, id)
    return id
  }

  forget(parked: Parkable): void {
    const id = this.#ids.get(parked)
    if (id === undefined || !this.#byId.delete(id) || parked.party === undefined) return
    this.#parties.set(id, parked.party)
    if (this.#parties.size <= PARTIES_MAX) return
    const [oldest] = this.#parties.keys()
    if (oldest !== undefined) this.#parties.delete(oldest)
  }

  /** Returns the party of a call. A retry after a lost parked call keeps the party of that call. */
  partyOf(client: Client, retry: { readonly state: SealedState | undefined } | undefined): number {
    const before = retry?.state?.kind === 'park' ? this.#parties.get(retry.state.parkId) : undefined
    return before ?? partyOf(client)
  }

  release(parked: Parkable): void {
    const place = this.#places.get(parked)
    if (place === undefined) return
    this.#places.delete(parked)
    countDown(this.#ofPrincipal, place.principal)
    countDown(this.#onConnection, place.connection)
  }
}

const countDown = <K>(counts: Map<K, number>, key: K): void => {
  const left = (counts.get(key) ?? 1) - 1
  if (left === 0) counts.delete(key)
  else counts.set(key, left)
}

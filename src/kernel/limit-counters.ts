import { type Clock, systemClock } from './async/clock.js'
import { ByteAccount } from './byte-account.js'
import { Fault } from './faults.js'
import { DEFAULT_LIMITS, type LimitName, type Limits, shownLimit } from './limits.js'
import { type Logger, silentLogger } from './logger.js'

/** The memory pressure, from none (0) to so high that no new work is accepted (4). */
export type Pressure = 0 | 1 | 2 | 3 | 4

/** The level at which health checks report `degraded`. */
export const DEGRADED: Pressure = 2

/** The number of times a bound was reached, and the milliseconds since the last. */
export interface Hits {
  readonly hits: number
  readonly agoMs: number
}

/** Facts about the peer that reached a bound, for an operator; never secrets. */
export type HitFacts = Readonly<Record<string, string | number | undefined>>

/** Kept bytes without an account, because each peer's own bound limits them. */
interface Queues {
  /** Not yet read by stdio servers. */
  servers: number
  /** For clients that lost their connection. */
  replay: number
}

interface Tally {
  hits: number
  lastMs: number
  loggedMs: number
  unlogged: number
}

/** Anomalies of a server, in addition to the limits that it reached. */
type RemarkKind = 'noise' | 'malformed' | 'lost' | 'restarted'

/** An anomaly of a server: how often it occurred, and when last. */
export interface Remark {
  readonly kind: RemarkKind | LimitName
  readonly count: number
  readonly lastMs: number
  /** The latest times, oldest first. */
  readonly times: readonly number[]
}

const TIMES = 5

interface Shared {
  limits: Limits
  pressure: Pressure
  memoryBytes: number
  readonly inbound: ByteAccount
  readonly unread: ByteAccount
  readonly tallies: Map<LimitName, Tally>
  readonly queues: Queues
  readonly remarks: Map<string, Map<Remark['kind'], Remark>>
  readonly clock: Clock
  readonly log: Logger
}

const LOG_EVERY_MS = 10_000
const RETRY_AFTER_MS = 1000
const MEMORY_RETRY_MS = 5000
/** The maximum share of memory for one account, even if its limit is higher. */
const ACCOUNT_PART = 1 / 4

/**
 * The limits of one proxy, and how often each was reached. New limits apply at once. Each limit that is
 * reached is counted, and logged at most every 10 s.
 */
export class LimitCounters {
  readonly #shared: Shared
  #own: Partial<Limits> | undefined
  readonly #facts: HitFacts | undefined
  #base: Limits
  #max: Limits

  /** `own` overrides the shared limits, and stays when those change. */
  constructor(
    from:
      | { readonly limits?: Limits; readonly clock?: Clock; readonly log?: Logger }
      | { readonly shared: Shared; readonly own: Partial<Limits>; readonly facts: HitFacts } = {},
  ) {
    if ('shared' in from) {
      this.#shared = from.shared
      this.#own = from.own
      this.#facts = from.facts
    } else {
      const { limits = DEFAULT_LIMITS, clock = systemClock, log = silentLogger } = from
      this.#shared = {
        limits,
        pressure: 0,
        memoryBytes: limits.memory,
        inbound: this.#account('inbound'),
        unread: this.#account('unread'),
        tallies: new Map(),
        queues: { servers: 0, replay: 0 },
        remarks: new Map(),
        clock,
        log,
      }
    }
    this.#base = this.#shared.limits
    this.#max = { ...this.#base, ...this.#own }
  }

  get max(): Limits {
    if (this.#base !== this.#shared.limits) {
      this.#base = this.#shared.limits
      this.#max = { ...this.#base, ...this.#own }
    }
    return this.#max
  }

  /** Replaces the shared limits. Existing usage above a new limit is not reclaimed. */
  set(limits: Limits): void {
    this.#shared.limits = limits
  }

  /** Returns the same counters with different limits for one server, named in `facts`. */
  narrowed(own: Partial<Limits>, facts: HitFacts = {}): LimitCounters {
    return new LimitCounters({
      shared: this.#shared,
      own: { ...this.#own, ...own },
      facts: { ...this.#facts, ...facts },
    })
  }

  setOwn(own: Partial<Limits>): void {
    this.#own = own
    this.#max = { ...this.#base, ...own }
  }

  /** Incomplete or unprocessed input of peers. */
  get inbound(): ByteAccount {
    return this.#shared.inbound
  }

  get unread(): ByteAccount {
    return this.#shared.unread
  }

  get queues(): Queues {
    return this.#shared.queues
  }

  set memoryBytes(bytes: number) {
    this.#shared.memoryBytes = bytes
  }

  get pressure(): Pressure {
    return this.#shared.pressure
  }

  set pressure(pressure: Pressure) {
    this.#shared.pressure = pressure
  }

  /** Records an anomaly of the server that these counters belong to. */
  remark(kind: Remark['kind']): void {
    const server = this.#facts?.['server']
    if (server === undefined) return
    const { remarks, clock } = this.#shared
    const lastMs = clock.nowMs()
    const known = remarks.get(String(server)) ?? new Map<Remark['kind'], Remark>()
    const { count = 0, times = [] } = known.get(kind) ?? {}
    known.set(kind, { kind, count: count + 1, lastMs, times: [...times.slice(1 - TIMES), lastMs] })
    remarks.set(String(server), known)
  }

  /** Returns the anomalies of a server so far. */
  remarksOn(server: string): readonly Remark[] {
    return [...(this.#shared.remarks.get(server)?.values() ?? [])]
  }

  hit(name: LimitName, facts?: HitFacts): void {
    this.remark(name)
    const { tallies, clock, log } = this.#shared
    const nowMs = clock.nowMs()
    let tally = tallies.get(name)
    if (tally === undefined) {
      tally = { hits: 0, lastMs: nowMs, loggedMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
      tallies.set(name, tally)
    }
    tally.hits += 1
    tally.lastMs = nowMs
    if (nowMs - tally.loggedMs < LOG_EVERY_MS) {
      tally.unlogged += 1
      return
    }
    const more = tally.unlogged > 0 ? { unlogged: tally.unlogged } : {}
    tally.loggedMs = nowMs
    tally.unlogged = 0
    log.warn(
      { limit: name, max: this.max[name], hits: tally.hits, ...more, ...this.#facts, ...facts },
      'a limit was reached',
    )
  }

  /** Returns whether a value exceeds a limit; counts the hit if so. */
  isOver(name: LimitName, value: number): boolean {
    if (value <= this.max[name]) return false
    this.hit(name)
    return true
  }

  /** Counts a hit and returns its fault; `reason` names the excess. */
  overloaded(name: LimitName, reason: string, facts: HitFacts = {}): Fault {
    this.hit(name, facts)
    return this.overloadFault(name, reason, facts)
  }

  overloadFault(name: LimitName, reason: string, { server }: HitFacts = {}): Fault {
    const data = { limit: name, max: this.max[name], retryAfterMs: RETRY_AFTER_MS }
    return new Fault(
      'overloaded',
      `${reason} (limits.${name} is ${shownLimit(name, this.max[name])}); try again later`,
      {
        data: server === undefined ? data : { ...data, server },
      },
    )
  }

  tooLarge(name: LimitName, reason: string): Fault {
    this.hit(name)
    const max = this.max[name]
    return new Fault('too-large', `${reason} (limits.${name} is ${shownLimit(name, max)})`, {
      data: { limit: name, max },
    })
  }

  shortOfMemory(): Fault {
    this.hit('memory')
    return new Fault('overloaded', 'The proxy is short of memory; try again later', {
      data: { limit: 'memory', retryAfterMs: MEMORY_RETRY_MS },
    })
  }

  get hits(): Readonly<Partial<Record<LimitName, Hits>>> {
    const nowMs = this.#shared.clock.nowMs()
    return Object.fromEntries(
      [...this.#shared.tallies].map(([name, { hits, lastMs }]) => [
        name,
        { hits, agoMs: Math.round(nowMs - lastMs) },
      ]),
    )
  }

  #account(name: 'inbound' | 'unread'): ByteAccount {
    const max = (): number => Math.min(this.max[name], this.#shared.memoryBytes * ACCOUNT_PART)
    return new ByteAccount(max, () => this.hit(name))
  }
}

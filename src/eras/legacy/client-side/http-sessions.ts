import type { Clock } from '../../../kernel/async/clock.js'
import type { Principal, RenewCaller } from '../../../kernel/caller.js'
import type { Fault } from '../../../kernel/faults.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import { REPLICA_LOST } from '../../../rpc/adopted-session.js'
import { REVOKED } from '../../../rpc/host.js'
import { CLIENT_AWAY_MS, type HttpSession } from './http-session.js'
import { ReplayTotal } from './replay.js'
import { SessionQuota } from './session-quota.js'

/**
 * While memory is short, each sweep ends this fraction of the abandoned sessions, but at least `SHED_LEAST`.
 */
const SHED_PART = 8
const SHED_LEAST = 100

/** The sessions of one HTTP endpoint by their unguessable ids, each bound to its principal. */
export class HttpSessions {
  /** The total replay buffer of all sessions. */
  readonly kept: ReplayTotal
  readonly byId = new Map<string, HttpSession>()
  readonly #quota: SessionQuota
  readonly #bounds: LimitCounters
  readonly #clock: Clock
  readonly #hasReplicas: boolean

  constructor(clock: Clock, bounds: LimitCounters, hasReplicas = false) {
    this.#clock = clock
    this.#hasReplicas = hasReplicas
    this.#bounds = bounds
    this.#quota = new SessionQuota(bounds)
    this.kept = new ReplayTotal(bounds)
  }

  /** Adds a session once its client has initialized. */
  add(session: HttpSession): void {
    this.byId.set(session.id, session)
    session.opened()
    this.#quota.add(session.uplink.principal)
  }

  /**
   * Makes room for one more session; returns a Fault if that is impossible. Ends only sessions of clients
   * that seem gone, because SDK clients do not initialize again. `elsewhere` counts the principal's sessions
   * at other replicas.
   */
  makeRoom(principal: Principal, elsewhere: number): Fault | undefined {
    const limit = this.#quota.limitFor(principal, elsewhere)
    if (limit !== undefined) this.#forgetOne(limit === 'sessions' ? undefined : principal)
    return this.#quota.faultFor(principal, elsewhere)
  }

  #forgetOne(principal: Principal | undefined): void {
    const nowMs = this.#clock.nowMs()
    let oldest: HttpSession | undefined
    for (const session of this.byId.values()) {
      if (principal !== undefined && session.uplink.principal !== principal) continue
      if (!session.isAbandoned(nowMs)) continue
      if (session.lastUsedMs < (oldest?.lastUsedMs ?? Number.POSITIVE_INFINITY)) oldest = session
    }
    if (oldest !== undefined) this.end(oldest, 'it made room for another')
  }

  /** Frees memory by ending a part of the sessions that have been idle longest. */
  shed(): void {
    const nowMs = this.#clock.nowMs()
    const abandoned = [...this.byId.values()]
      .filter(session => session.isAbandoned(nowMs))
      .sort((one, other) => one.lastUsedMs - other.lastUsedMs)
    const count = Math.max(SHED_LEAST, abandoned.length / SHED_PART)
    for (const session of abandoned.slice(0, count)) this.end(session, 'memory is short')
  }

  /** Ends a session; `isFinal` if its client must not continue it. */
  end(session: HttpSession, reason: string, isFinal = false): void {
    if (!this.byId.delete(session.id)) return
    this.#quota.remove(session.uplink.principal)
    session.adopted?.ended(isFinal)
    session.close(reason)
  }

  /** Ends a session here that continues at another replica. */
  drop(id: string): void {
    const session = this.byId.get(id)
    if (session === undefined || !this.byId.delete(id)) return
    this.#quota.remove(session.uplink.principal)
    session.reconnectClient()
    session.adopted?.moved?.()
    session.close('another replica has it now', REPLICA_LOST)
  }

  release(): void {
    for (const session of this.byId.values()) session.release()
  }

  /** Like `drop`, unless a request is in flight. */
  handOver(id: string): boolean {
    if (this.byId.get(id)?.uplink.isBusy === true) return false
    this.drop(id)
    return true
  }

  /** Ends sessions that have been idle for too long. */
  sweep(): void {
    const nowMs = this.#clock.nowMs()
    for (const session of this.byId.values()) {
      session.expire()
      // Idle time begins when the last stream is gone, not with the request that opened it.
      if (!session.isIdle) session.lastUsedMs = nowMs
      else if (session.lastUsedMs < nowMs - CLIENT_AWAY_MS) session.reportIdle()
      if (session.lastUsedMs < nowMs - this.#bounds.max.sessionIdle) {
        this.end(session, 'it was idle for too long')
      }
    }
  }

  /** Keeps the streams and requests of all sessions open; called every few seconds. */
  keepAlive(): void {
    for (const session of this.byId.values()) session.keepAlive()
  }

  renewCallers(renew: RenewCaller): void {
    for (const session of [...this.byId.values()]) {
      const caller = renew(session.uplink.caller)
      if (caller === undefined) this.end(session, REVOKED, true)
      else session.uplink.setCaller(caller)
      session.releaseUnless(listening => renew(listening) !== undefined)
    }
  }

  /**
   * Ends all sessions. With several replicas, the next one that is asked takes them over; otherwise the next
   * process restores them.
   */
  close(reason: string): void {
    for (const session of [...this.byId.values()])
      if (this.#hasReplicas) this.drop(session.id)
      else {
        // Like priming events, a `retry` without data breaks older SDK clients.
        if (session.adopted !== undefined && session.isPrimed) session.reconnectClient()
        this.end(session, reason)
      }
  }
}

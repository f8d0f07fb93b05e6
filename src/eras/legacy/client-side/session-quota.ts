import type { Principal } from '../../../kernel/caller.js'
import type { Fault } from '../../../kernel/faults.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'

/** Counts the sessions of one listener and checks its limits. */
export class SessionQuota {
  readonly #bounds: LimitCounters
  readonly #ofPrincipal = new Map<Principal, number>()
  #size = 0

  constructor(bounds: LimitCounters) {
    this.#bounds = bounds
  }

  add(principal: Principal): void {
    this.#size += 1
    this.#ofPrincipal.set(principal, (this.#ofPrincipal.get(principal) ?? 0) + 1)
  }

  remove(principal: Principal): void {
    this.#size -= 1
    const rest = (this.#ofPrincipal.get(principal) ?? 1) - 1
    if (rest === 0) this.#ofPrincipal.delete(principal)
    else this.#ofPrincipal.set(principal, rest)
  }

  /**
   * Returns the limit that one more session would exceed; `elsewhere` counts the principal's sessions at
   * other replicas.
   */
  limitFor(principal: Principal, elsewhere = 0): 'sessions' | 'sessionsPerPrincipal' | undefined {
    const { max } = this.#bounds
    const own = this.#ofPrincipal.get(principal) ?? 0
    if (own + elsewhere >= max.sessionsPerPrincipal) return 'sessionsPerPrincipal'
    return this.#size >= max.sessions ? 'sessions' : undefined
  }

  faultFor(principal: Principal, elsewhere = 0): Fault | undefined {
    if (this.#bounds.pressure >= 2) return this.#bounds.shortOfMemory()
    const limit = this.limitFor(principal, elsewhere)
    if (limit === undefined) return undefined
    const reason = limit === 'sessions' ? 'There are too many sessions' : 'You have too many sessions'
    return this.#bounds.overloaded(limit, reason, { principal })
  }
}

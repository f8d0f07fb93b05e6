import type { IncomingMessage } from 'node:http'
import { addressOf, type OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import { addressGroup, PerMinute } from '../../auth/per-minute.js'
import type { RefusedCredentials } from '../../auth/refused-credentials.js'
import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'

export interface PageLoginsContext {
  readonly refusals: RefusedCredentials
  /** Undefined if sign-ins are not audited. */
  readonly onGrant?: OnGrantEvent | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
}

/** Client name of page logins in the log and the audit log. */
const CLIENT = 'page'
const PATH = '/api/v1/login'

/**
 * Audits page logins, and limits, logs and counts wrong codes. A valid code always passes: it cannot be
 * guessed, and wrong codes sent by others must not lock a user out.
 */
export class PageLogins {
  readonly #context: PageLoginsContext
  readonly #failures: PerMinute

  constructor(context: PageLoginsContext) {
    this.#context = context
    this.#failures = new PerMinute(context.clock)
  }

  succeeded(request: IncomingMessage): void {
    const address = addressOf(request)
    this.#context.onGrant?.({ event: 'signed in', principal: LOCAL.principal, client: CLIENT, address })
  }

  /** Returns the seconds until the next attempt if a network sent `limits.authFailures` wrong codes. */
  failed(request: IncomingMessage): number | undefined {
    const { bounds, refusals } = this.#context
    const address = addressOf(request)
    const network = addressGroup(address)
    if (this.#failures.count(network) >= bounds.max.authFailures) {
      bounds.hit('authFailures', { client: address })
      return Math.ceil(this.#failures.leftMs / 1000)
    }
    this.#failures.add(network)
    refusals.report({ address, path: PATH, why: 'the code is wrong, used or expired', client: CLIENT })
    return undefined
  }
}

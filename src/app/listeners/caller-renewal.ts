import type { Clock, Timer } from '../../kernel/async/clock.js'
import { type Caller, hasEnded, type RenewCaller } from '../../kernel/caller.js'
import type { ResourceServer } from '../auth/resource-server.js'
import type { ViewCallers } from './views.js'

/** Interval between checks of the credentials of open sessions, sockets and streams. */
const RENEW_MS = 2000

interface RenewalContext {
  readonly views: ViewCallers
  /** The owners of sessions, sockets and streams with a credential. */
  readonly opened: readonly ({ renewCallers(renew: RenewCaller): void } | undefined)[]
  readonly clock: Clock
}

/** Starts to check the credentials of open sessions. Returns undefined without `auth`. */
export const renewalOf = (
  server: ResourceServer | undefined,
  context: RenewalContext,
): CallerRenewal | undefined => server && new CallerRenewal(server, context)

/**
 * Ends sessions whose credential was removed from the configuration, revoked, evicted, or refused by its
 * issuer. Their owners handle expiry themselves.
 */
class CallerRenewal {
  readonly #server: ResourceServer
  readonly #context: RenewalContext
  readonly #sweep: Timer

  constructor(server: ResourceServer, context: RenewalContext) {
    this.#server = server
    this.#context = context
    this.#sweep = context.clock.every(RENEW_MS, () => this.#run())
  }

  /** Applies the active configuration. */
  reload(): void {
    this.#server.reload()
    this.#run()
  }

  close(): void {
    this.#sweep.cancel()
  }

  #run(): void {
    const unsure = new Map<string | undefined, Caller>()
    this.#renew(caller => {
      if (this.#server.mayBeElsewhere(caller)) {
        unsure.set(caller.proof?.sha256, caller)
        return caller
      }
      return this.#server.renew(caller)
    })
    if (unsure.size > 0) void this.#seek([...unsure.values()])
  }

  /** Asks the other replicas once. The next run repeats a failed request. */
  async #seek(callers: readonly Caller[]): Promise<void> {
    try {
      await Promise.all(callers.map(caller => this.#server.seek(caller)))
    } catch {
      return
    }
    this.#renew(caller => this.#server.renew(caller))
  }

  #renew(renew: RenewCaller): void {
    const renewing = this.#context.views.renewing(caller => (hasEnded(caller) ? caller : renew(caller)))
    for (const each of this.#context.opened) each?.renewCallers(renewing)
  }
}

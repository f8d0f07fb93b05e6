import type { Clock, Timer } from '../../kernel/async/clock.js'
import { type Caller, hasEnded, type RenewCaller } from '../../kernel/caller.js'
import type { ResourceServer } from '../auth/resource-server.js'
import type { ViewCallers } from './views.js'

/** How often the credentials of open sessions, sockets and streams are checked again. */
const RENEW_MS = 2000

interface RenewalContext {
  readonly views: ViewCallers
  /** Sessions, sockets and streams that were opened with a credential. */
  readonly opened: readonly ({ renewCallers(renew: RenewCaller): void } | undefined)[]
  readonly clock: Clock
}

/** Starts to check what callers have opened; undefined without `auth`. */
export const renewalOf = (
  server: ResourceServer | undefined,
  context: RenewalContext,
): CallerRenewal | undefined => server && new CallerRenewal(server, context)

/**
 * Ends what was opened with a credential that is no longer known: removed from the configuration, revoked,
 * evicted, or refused by its issuer. The owners of what is open end it themselves once a credential expires.
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

  /** Applies the configuration in force. */
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

  /** Asks the other replicas once; where they cannot be asked, the next run asks again. */
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

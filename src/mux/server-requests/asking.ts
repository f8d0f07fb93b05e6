import type { Catalog } from '../../catalog/catalog.js'
import type { Owners } from '../../catalog/owners.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import type { CallTable } from '../calls/call-table.js'
import { ResultPresenter } from '../calls/result-presenter.js'
import { PARK_LIMITS, ParkedCalls } from '../input-required/parked/parked-calls.js'
import { InputRetries } from '../input-required/retry/input-retries.js'
import { RequestStates } from '../input-required/retry/request-states.js'
import type { Sealer } from '../input-required/retry/sealed-state.js'
import { UrlElicitations } from '../input-required/url/url-elicitations.js'
import type { LogLevels } from '../notifications/log-levels.js'
import { capabilityFor, hasCapability, incapable } from './client-capabilities.js'
import { DeferredRoots } from './deferred-roots.js'
import { type OnAsked, ServerRequests } from './server-requests.js'

/** What asking people is made of. */
export interface AskingOptions {
  readonly calls: CallTable
  readonly catalog: Catalog
  readonly owners: Owners
  readonly levels: LogLevels
  readonly sealer: Sealer
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly onAsked?: OnAsked | undefined
  /** Whether servers stand side by side. */
  readonly isShared: () => boolean
}

/** All that takes part in bringing questions of servers to people and their answers back, put together. */
export class Asking {
  readonly asks: ServerRequests
  readonly parks: ParkedCalls
  readonly heldRoots: DeferredRoots
  readonly visits: UrlElicitations
  readonly retries: InputRetries
  readonly presenter: ResultPresenter

  constructor(options: AskingOptions) {
    const { bounds, clock, catalog, levels } = options
    const states = new RequestStates(options.sealer)
    this.visits = new UrlElicitations(clock)
    this.heldRoots = new DeferredRoots(clock, states)
    this.parks = new ParkedCalls({
      clock,
      limits: PARK_LIMITS,
      bounds,
      mintState(id, park, round) {
        const facts = { kind: 'park', parkId: id, replica: states.replica, ...round } as const
        return states.seal(park, park.from.alias, facts, PARK_LIMITS.totalMs)
      },
      refusal: ({ capabilities }, ask) =>
        hasCapability(capabilities, capabilityFor(ask)) ? undefined : failed(incapable(ask)),
      wantsNotice: (call, method, params) =>
        method !== 'notifications/message' || levels.isWanted(call, params),
    })
    const parts = { ...options, states, visits: this.visits, heldRoots: this.heldRoots, parks: this.parks }
    this.asks = new ServerRequests(parts)
    this.retries = new InputRetries(parts)
    this.presenter = new ResultPresenter({ ...parts, catalog, asks: this.asks })
  }

  /** A client is gone. */
  forget(client: Client): void {
    this.visits.forget(client)
  }

  /** Ends what waits for people: servers hear of the end of calls before the answers to their questions. */
  close(): void {
    this.parks.close()
    this.heldRoots.close()
  }
}

import { Catalog } from '../catalog/catalog.js'
import type { Exposure } from '../catalog/exposure.js'
import type { ServerCache } from '../catalog/lists/profile-cache.js'
import { Owners } from '../catalog/owners.js'
import type { Clock } from '../kernel/async/clock.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { ConnectionListener } from '../peers/connection.js'
import type { Dial, ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { ServerPool } from '../peers/server-pool.js'
import { CallTable } from './calls/call-table.js'
import { Forwarder } from './calls/forward.js'
import { ResultPresenter } from './calls/result-presenter.js'
import { ClientRegistry } from './clients/client-registry.js'
import { ServerStarter } from './clients/server-starter.js'
import { ParkedCalls } from './input-required/parked/parked-calls.js'
import { InputRetries } from './input-required/retry/input-retries.js'
import { RequestStates } from './input-required/retry/request-states.js'
import type { Sealer } from './input-required/retry/sealed-state.js'
import { UrlElicitations } from './input-required/url-elicitations.js'
import { ListChanged } from './notifications/list-changed.js'
import { LogLevels } from './notifications/log-levels.js'
import { ResourceSubscriptions } from './notifications/resource-subscriptions.js'
import { SubscriptionStreams } from './notifications/subscription-streams.js'
import { DeferredRoots } from './server-requests/deferred-roots.js'
import { type OnAsked, ServerRequests } from './server-requests/server-requests.js'

export interface RouterOptions {
  readonly servers: readonly ServerOptions[]
  readonly exposureOf: (server: Server) => Exposure
  /** Whether the only server is served as it is, with nothing renamed. */
  readonly isAlone: boolean
  readonly dial: Dial
  readonly clock: Clock
  readonly log: Logger
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly sealer: Sealer
  readonly pageSize: number
  /** How long `initialize` waits for servers. */
  readonly startupWaitMs: number
  /** How long a list waits for servers that are still starting. */
  readonly listWaitMs: number
  readonly cache?: ServerCache | undefined
  readonly onAsked?: OnAsked | undefined
}

/** Builds the parts of a router and connects them; `listener` hears what connections to servers report. */
export const compose = (options: RouterOptions, listener: ConnectionListener) => {
  const { clock, log, isAlone, sealer, bounds = new LimitCounters() } = options
  const base = { clock, log, bounds }

  const calls = new CallTable(clock)
  const pool = new ServerPool(options.servers, { ...base, dial: options.dial, listener })
  const listChanged = new ListChanged(clock, () => [...clients.sessions, ...streams.all])
  const catalog = new Catalog(pool.servers, {
    ...options,
    onChanged: (list, isFirst) => listChanged.changed(list, isFirst),
  })
  const owners = new Owners(catalog, { isAlone, nowMs: () => clock.nowMs() })

  const clients = new ClientRegistry(catalog)
  const starter = new ServerStarter({ ...options, catalog })
  const logLevels = new LogLevels(calls, { clock, log, isAlone })
  const subscriptions = new ResourceSubscriptions({ ...base, catalog, owners })
  const streams = new SubscriptionStreams({ ...base, catalog, subscriptions, clients, starter })

  const states = new RequestStates(sealer)
  const urlElicitations = new UrlElicitations(clock)
  const deferredRoots = new DeferredRoots(clock, states)
  const parkedCalls = new ParkedCalls({ catalog, clock, bounds, states, logLevels })
  const asked = { calls, states, urlElicitations, deferredRoots, isShared: () => pool.servers.length > 1 }
  const serverRequests = new ServerRequests({ ...options, ...asked })
  const retries = new InputRetries({ states, parkedCalls, deferredRoots, urlElicitations })
  const presenter = new ResultPresenter({ catalog, owners, serverRequests, states, urlElicitations })
  const forwarder = new Forwarder({
    clock,
    catalog,
    owners,
    calls,
    logLevels,
    serverRequests,
    deferredRoots,
    parkedCalls,
    retries,
    presenter,
  })

  return {
    pool,
    catalog,
    owners,
    calls,
    clients,
    starter,
    listChanged,
    logLevels,
    subscriptions,
    streams,
    urlElicitations,
    deferredRoots,
    parkedCalls,
    serverRequests,
    forwarder,
  }
}

export type RouterParts = ReturnType<typeof compose>

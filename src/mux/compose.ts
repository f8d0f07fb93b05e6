import { Catalog } from '../catalog/catalog.js'
import type { Exposure } from '../catalog/exposure.js'
import type { ServerCache } from '../catalog/lists/profile-cache.js'
import { Owners } from '../catalog/owners.js'
import type { ToolExposure } from '../catalog/views/tool-exposure.js'
import type { Views } from '../catalog/views/views.js'
import type { Clock } from '../kernel/async/clock.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../kernel/meter.js'
import type { Viewer } from '../model/links.js'
import type { Tracer } from '../model/tracer.js'
import type { ConnectionListener } from '../peers/connection.js'
import type { Dial, ServerOptions } from '../peers/dial.js'
import type { FailureMemory, Server } from '../peers/server.js'
import { ServerPool } from '../peers/server-pool.js'
import { Admission } from './calls/admission.js'
import type { OnSubscriptionDenied } from './calls/audit.js'
import type { ClientObserver, Interceptor } from './calls/call-record.js'
import { CallTable } from './calls/call-table.js'
import { ClientTurns } from './calls/client-turns.js'
import { CallMeter } from './calls/counting/call-meter.js'
import { FaultLog } from './calls/fault-log.js'
import { Forwarder } from './calls/forward.js'
import { LogLevels } from './calls/log-levels.js'
import { ResultPresenter } from './calls/result-presenter.js'
import { ClientRegistry } from './clients/client-registry.js'
import { ListChanged } from './clients/list-changed.js'
import { ServerStarter } from './clients/server-starter.js'
import { Workspaces, type WorkspacesContext } from './clients/workspaces.js'
import { DeferredRoots } from './input-required/deferred-roots.js'
import { InputRetries } from './input-required/input-retries.js'
import { ParkedCalls } from './input-required/parked/parked-calls.js'
import { RequestStates } from './input-required/retry/request-states.js'
import type { Sealer } from './input-required/retry/sealed-state.js'
import { UrlElicitations } from './input-required/url-elicitations.js'
import { ResourceSubscriptions } from './notifications/resource-subscriptions.js'
import { SubscriptionStreams } from './notifications/subscription-streams.js'
import { TaskListens } from './notifications/task-listens.js'
import { type RuleGate, subscribable } from './rules/gate.js'
import { LongResults } from './search/long-results.js'
import { SearchCalls, type SearchCallsContext } from './search/search-calls.js'
import { PassedNotifications } from './server-requests/passed-notifications.js'
import { type OnAsked, ServerRequests } from './server-requests/server-requests.js'
import { type SignInPages, SignIns } from './sign-in/sign-ins.js'
import { SessionTasks } from './tasks/session-tasks.js'
import { TaskCalls } from './tasks/task-calls.js'
import { TaskIds } from './tasks/task-ids.js'
import { TaskOutcomes } from './tasks/task-outcomes.js'

export interface RouterOptions {
  readonly servers: readonly ServerOptions[]
  readonly exposureOf: (server: Server) => Exposure
  /** True if the only server is served unchanged, without renaming. */
  readonly isAlone: boolean
  readonly dial: Dial
  readonly clock: Clock
  readonly log: Logger
  /** Defaults to the standard limits. */
  readonly bounds?: LimitCounters | undefined
  readonly sealer: Sealer
  /** The name of this process in sealed states that other replicas may receive. */
  readonly replica?: string | undefined
  readonly pageSize: number
  /** Maximum time that `initialize` waits for servers. */
  readonly startupWaitMs: number
  /** Maximum time that a list request waits for servers that are still starting. */
  readonly listWaitMs: number
  readonly cache?: ServerCache | undefined
  readonly failures?: FailureMemory | undefined
  readonly clientViews?: Views | undefined
  /** Returns the rules over calls; undefined without any. */
  readonly rules?: (() => RuleGate | undefined) | undefined
  /** Decides which clients use the tool search; undefined if no client does. */
  readonly toolExposure?: ToolExposure | undefined
  /** Maximum length of a result that a client in search mode gets at once, in characters. */
  readonly resultsMax?: (() => number) | undefined
  readonly onAsked?: OnAsked | undefined
  readonly onSubscriptionDenied?: OnSubscriptionDenied | undefined
  /** The pages for principals' personal logins; undefined without such logins. */
  readonly signInPages?: SignInPages | undefined
  /** Called when a principal's own server is discarded. */
  readonly onForgotten?: ((server: ServerOptions) => void) | undefined
  /** Undefined without metering. */
  readonly meter?: Meter | undefined
  readonly hasToolHistograms?: boolean | undefined
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined
  /** Returns the features on the path of calls; called again after each reload. */
  readonly features: (parts: RouterParts) => Features
  /** See `WorkspacesContext.findWorkspace`. */
  readonly findWorkspace?: WorkspacesContext['findWorkspace']
}

/** The features on the path of calls: outermost first, in the order in which they see a call. */
export interface Features {
  readonly interceptors: readonly Interceptor[]
  readonly observers: readonly ClientObserver[]
}

/** Builds the parts of a router and connects them; `listener` receives the events of server connections. */
export const compose = (options: RouterOptions, listener: ConnectionListener) => {
  const { clock, log, isAlone, bounds = new LimitCounters() } = options
  const base = { clock, log, bounds }

  const calls = new CallTable(clock, connection => sessionTasks.lost(connection))
  const onForgotten = (server: ServerOptions): void => {
    catalog.ownerChanged(false)
    options.onForgotten?.(server)
  }
  const pool = new ServerPool(options.servers, {
    ...{ ...base, dial: options.dial, listener, onForgotten, isAlone },
    ...{ meter: options.meter, tracer: options.tracer, failures: options.failures },
  })
  const listChanged = new ListChanged(clock, () => [...clients.sessions, ...streams.all])
  const catalog = new Catalog(pool.servers, {
    ...options,
    ownedBy: (server, principal) => pool.ownedBy(server, principal),
    isSignedIn: server => options.signInPages?.isSignedIn(server) ?? false,
    hidingFor: viewer => options.rules?.()?.filterFor(viewer),
    onChanged: (list, isFirst) => listChanged.changed(list, isFirst),
  })
  const owners = new Owners(catalog, { isAlone, nowMs: () => clock.nowMs() })

  const clients = new ClientRegistry(catalog, isAlone)
  const starter = new ServerStarter({ ...options, catalog, clients })
  const logLevels = new LogLevels(calls, { catalog, clock, log, isAlone })
  const subscriptions = new ResourceSubscriptions({
    ...{ ...base, catalog },
    owners: options.rules === undefined ? owners : subscribable(owners, options.rules),
  })

  const callMeter = createCallMeter(options, catalog)
  const faults = new FaultLog({ log, nowMs: () => clock.nowMs(), stateOf: stateIn(pool) })

  const [taskIds, sessionTasks] = [new TaskIds(options.sealer), new SessionTasks(catalog, isAlone)]
  const passing = { catalog, calls, pool, clients, sessionTasks, log }
  const passedNotifications = new PassedNotifications(passing)
  const questions = composeQuestions(options, { pool, catalog, calls, logLevels, callMeter, sessionTasks })
  const { states, urlElicitations, deferredRoots, serverRequests, retries } = questions
  const workspaces = new Workspaces({ ...options, pool, catalog, starter, retries, states })
  const signIns = new SignIns({ catalog, clock, states, pages: options.signInPages })
  const shown = { catalog, owners, serverRequests, states, urlElicitations }
  const tasks = new TaskOutcomes(taskIds, sessionTasks)
  const presenter = new ResultPresenter({ ...shown, tasks, meter: options.meter })
  const sending = { clock, catalog, owners, calls, logLevels, serverRequests, deferredRoots }
  const forwarder = new Forwarder({ ...sending, presenter, meter: callMeter })
  const taskCalls = new TaskCalls({ ids: taskIds, catalog, clients, forwarder })
  const listens = new TaskListens({ ...base, ids: taskIds, servers: taskCalls, presenter })
  const { onSubscriptionDenied } = options
  const streams = new SubscriptionStreams({
    ...{ ...base, catalog, subscriptions, clients, starter, listens, onSubscriptionDenied },
  })
  const admission = new Admission(clock, bounds, callMeter)
  const searchCalls = createSearch(options, { catalog, owners, starter })

  return {
    ...{ clock, pool, catalog, owners, calls, faults, callMeter, admission, turns: new ClientTurns(clock) },
    ...{ clients, starter, workspaces, searchCalls, signIns, forwarder, ...questions },
    ...{ listChanged, logLevels, subscriptions, streams, passedNotifications, taskCalls, sessionTasks },
  }
}

/** Builds the parts for questions of servers, and for the requests that clients repeat with answers. */
const composeQuestions = (
  options: RouterOptions,
  parts: {
    readonly pool: ServerPool
    readonly catalog: Catalog
    readonly calls: CallTable
    readonly logLevels: LogLevels
    readonly callMeter: CallMeter | undefined
    readonly sessionTasks: SessionTasks
  },
) => {
  const { clock, sealer, bounds = new LimitCounters() } = options
  const { pool, catalog, calls, logLevels, callMeter, sessionTasks } = parts
  const states = new RequestStates(sealer, options.replica)
  const urlElicitations = new UrlElicitations(clock)
  const deferredRoots = new DeferredRoots(clock, states)
  const onParked = callMeter && ((ms: number) => callMeter.waited('parked', ms))
  const parkedCalls = new ParkedCalls({ catalog, clock, bounds, states, logLevels, onParked })
  const asked = { calls, states, urlElicitations, deferredRoots, isShared: () => pool.servers.length > 1 }
  const onAsked = bothAsked(options.onAsked, callMeter?.asked)
  const serverRequests = new ServerRequests({ ...options, ...asked, catalog, onAsked, sessionTasks })
  const retries = new InputRetries({ states, parkedCalls, deferredRoots, urlElicitations })
  return { states, urlElicitations, deferredRoots, parkedCalls, serverRequests, retries }
}

/** Undefined without tool search. */
const createSearch = (
  { toolExposure, resultsMax = () => Number.POSITIVE_INFINITY, clock }: RouterOptions,
  parts: Pick<SearchCallsContext, 'catalog' | 'owners' | 'starter'>,
): SearchCalls | undefined => {
  if (toolExposure === undefined) return undefined
  const viewOf = ({ client }: Viewer): string => parts.catalog.viewNameOf(client)
  return new SearchCalls({ ...parts, longResults: new LongResults({ clock, maxChars: resultsMax, viewOf }) })
}

const stateIn =
  (pool: Pick<ServerPool, 'servers'>) =>
  (name: string): string | undefined =>
    [...(pool.servers.find(one => one.name === name)?.connections ?? [])][0]?.state.at

const createCallMeter = (options: RouterOptions, catalog: Catalog): CallMeter | undefined => {
  const { meter, clock, hasToolHistograms = false } = options
  if (meter === undefined) return undefined
  return new CallMeter({
    ...{ meter, clock, hasToolHistograms },
    isListed: (viewer, exposed, server, own) => {
      const item = catalog.find(viewer, 'tools', exposed)
      return item?.own === own && item.server.name === server
    },
  })
}

const bothAsked = (one: OnAsked | undefined, other: OnAsked | undefined): OnAsked | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  return question => {
    const hear = [one(question), other(question)]
    return answer => {
      for (const each of hear) each(answer)
    }
  }
}

export type RouterParts = ReturnType<typeof compose>

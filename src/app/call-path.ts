import type { Tracer } from '../model/tracer.js'
import { type CallLog, logCalls } from '../mux/calls/call-facts.js'
import type { ClientObserver, Interceptor } from '../mux/calls/call-record.js'
import {
  accessScopes,
  CONNECTION,
  clientTurns,
  knownCompletions,
  knownSkills,
  ownRequestsFirst,
  requestLogLevels,
  taskSupport,
} from '../mux/calls/core-interceptors.js'
import { ANSWER } from '../mux/calls/interceptor-chains.js'
import type { Features, RouterParts } from '../mux/compose.js'
import { traceCalls } from '../telemetry/tracing/trace-calls.js'

/** The settings that decide which features are on the path of calls. */
export interface CallPathSettings {
  /** Undefined without an audit log. */
  readonly audit?: (ClientObserver & { readonly interceptors: readonly Interceptor[] }) | undefined
  readonly tracer?: Tracer | undefined
  readonly callLog?: CallLog | undefined
  /** True if callers may lack scopes. */
  readonly hasScopes: boolean
}

/**
 * Lists the features on the path of calls. A feature that is not configured is not in the list.
 *
 * The first one is the outermost: it sees a call first, and its outcome last. The order matters:
 *
 * - Observers come before admission and the answer: they see rejected calls, and the id of an error that the
 *   client received.
 * - Workspaces come before everything that needs a server, because the folder decides which one.
 * - Search tools come after the check of methods, and before retries, which are bound to the called tool.
 * - A retry is read before sign-in, which waits for the login that the retry names.
 * - Sign-in tools, scopes and completions come before the connection: a call that they end needs none.
 * - Deferred roots come before parking, which hands a call over to a parked call.
 * - Turns come before all other waits at a server; own requests before log levels, which are set by one.
 */
export const callPath = (parts: RouterParts, settings: CallPathSettings): Features => {
  const { pool, callMeter, searchCalls, retries, catalog } = parts
  const { audit, tracer, callLog, hasScopes } = settings
  const servers = pool.servers.map(({ options }) => options)
  const interceptors = [
    ...(audit?.interceptors ?? []),
    ...traceCalls(tracer),
    ...parts.faults.interceptors,
    ...(callLog === undefined ? [] : logCalls(callLog)),
    ...(callMeter?.interceptors ?? []),
    ...parts.admission.interceptors,
    ANSWER,
    ...(pool.needsWorkspace ? parts.workspaces.interceptors : []),
    parts.clients.interceptor,
    ...(searchCalls?.interceptors ?? []),
    retries.received,
    // Programs need no login.
    ...(servers.every(({ isProcess }) => isProcess) ? [] : parts.signIns.interceptors),
    ...(hasScopes ? [accessScopes(catalog)] : []),
    knownCompletions(catalog),
    CONNECTION,
    parts.deferredRoots.interceptor,
    retries.parking,
    retries.visits,
    ...(servers.some(({ serialize }) => serialize) ? [clientTurns(parts.turns)] : []),
    ownRequestsFirst(parts.clock),
    requestLogLevels(parts.logLevels.servers),
    taskSupport(catalog),
    knownSkills(parts.clients),
    parts.taskCalls.interceptor,
  ]
  return { interceptors, observers: [audit, callMeter, parts.sessionTasks].filter(one => one !== undefined) }
}

import type { Logins } from '../../auth/store/logins.js'
import { aliasOf } from '../../catalog/names/names.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import type { ProxyConfig, ServerConfig, WaitingServer } from '../../config/types.js'
import { numberOf, type ProblemId } from '../../diagnostics/causes.js'
import { type Cause, cause, causeLine } from '../../diagnostics/explain.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { Hits, LimitCounters, Pressure } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { ListName } from '../../model/listing.js'
import { type LoginReason, loginReasonOf } from '../../model/login.js'
import type { Admission } from '../../mux/calls/admission.js'
import type { Router } from '../../mux/router.js'
import type { Connection } from '../../peers/connection.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { Server, Unreached } from '../../peers/server.js'
import { failuresOf, type ServerState } from '../../peers/server-state.js'
import { lacksWorkspace } from '../../peers/sharing.js'
import type { Loss } from '../../peers/supervisor.js'
import type { Children } from '../../state/processes/children.js'
import { type AbsenceCode, causeOfFault, waitingCause } from './absence.js'
import { type CallInFlight, callsInFlight } from './calls-in-flight.js'
import type { ConfigStatus } from './config-status.js'
import { type Exposed, exposed } from './exposed.js'
import { residentBytes } from './memory-pressure.js'
import { remarkOnList, remarksOn, type ServerRemark } from './server-remarks.js'
import { tokensOf } from './tool-tokens.js'

/** The state of one server, for people and programs. Holds no secrets. */
export interface ServerStatus {
  readonly name: string
  readonly alias: string
  /** Its own address for clients. Undefined without HTTP, or with `listen.servers` off. */
  readonly url?: string | undefined
  /** The state of its best connection. */
  readonly state: ServerState['at'] | LoginReason | 'waiting'
  /** Time in this state. */
  readonly stateMs: number
  readonly transport: ServerConfig['transport']['kind']
  /** Its MCP revision. Undefined before the first connection. */
  readonly revision: string | undefined
  /** The process ids of a local server. */
  readonly pids: readonly number[]
  readonly connections: number
  readonly clients: number
  /** For a server with a login per principal: the principals served, and the number that have signed in. */
  readonly principals?: { readonly served: number; readonly signedIn: number }
  /** The number of visible items on its best connection. Undefined before the first connection. */
  readonly items: Readonly<Record<ListName, number>> | undefined
  /** Approximate size of its tool list in model tokens. Undefined until the list is known. */
  readonly tokens: number | undefined
  /** The lists that were truncated at a limit. */
  readonly truncated: readonly ListName[]
  /** Consecutive failures. */
  readonly failures: number
  readonly why: string | undefined
  /** The number of the problem that keeps it unreachable (docs/doctor.md). */
  readonly doctor?: ProblemId | undefined
  /** The problem that keeps it unavailable, also during a restart. Undefined if there is none. */
  readonly cause?: Cause<AbsenceCode> | undefined
  /** Milliseconds until the next attempt, while it is unreachable. */
  readonly retryMs: number | undefined
  /** Its last stderr lines before it was lost, oldest first. */
  readonly stderr: readonly string[] | undefined
  /** The last connection error, its age and its problem number. The server may work again by now. */
  readonly lastError:
    | { readonly message: string; readonly agoMs: number; readonly doctor?: ProblemId | undefined }
    | undefined
  /** The last error about it that a client received; `mcp-proxy why ID` explains it. */
  readonly lastFault: { readonly id: string; readonly message: string; readonly at: string } | undefined
  /** Warnings about it, even if it works. */
  readonly remarks: readonly ServerRemark[]
}

export interface StatusContext {
  /** Returns the address at which a server is served alone; undefined without one. */
  readonly serverUrl?: (server: string) => string | undefined
  readonly router: Router
  readonly admission: Admission
  readonly children: Children
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly logins: Pick<Logins, 'troubleOf' | 'signedInAt' | 'problemOf'>
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly startedMs: number
  readonly configStatus?: (() => ConfigStatus | undefined) | undefined
  /** Undefined without a cluster, and before joining it. */
  readonly cluster?: (() => ClusterStatus | undefined) | undefined
  readonly config: () => Pick<ProxyConfig, 'auth' | 'waiting' | 'slowMs'>
  /** Returns the number of refused credentials. */
  readonly refused: () => number
}

const ORDER: readonly ServerState['at'][] = [
  'ready',
  'starting',
  'backoff',
  'failed',
  'needs-auth',
  'draining',
  'idle',
]

const rankOf = ({ state }: Connection): number => ORDER.indexOf(state.at)

const ownUrl = (name: string, { serverUrl }: StatusContext): Pick<ServerStatus, 'url'> => {
  const url = serverUrl?.(name)
  return url === undefined ? {} : { url }
}

const serverStatus = (server: Server, config: ServerConfig, context: StatusContext): ServerStatus => {
  const nowMs = context.clock.nowMs()
  const connections = [...context.router.pool.connectionsOf(server)].sort(
    (one, other) => rankOf(one) - rankOf(other),
  )
  const [best] = connections
  const { facts, items, listed, truncated, unread } = context.router.catalog.summary(server, connections)
  // An idle server keeps its last connection error.
  const rest = best === undefined ? server.unreached : undefined
  const loss = lastLossOf(connections) ?? rest
  const trouble = context.logins.troubleOf(server.options)
  return {
    name: server.name,
    alias: server.options.alias,
    ...ownUrl(server.name, context),
    ...stateOf(best ?? rest, nowMs, trouble && loginReasonOf(trouble)),
    transport: config.transport.kind,
    revision: facts?.revision,
    pids: context.children.of(server.options),
    connections: connections.length,
    clients: connections.reduce((sum, { clients }) => sum + clients.size, 0),
    ...(server.options.isPerPrincipal
      ? { ...UNTOLD, principals: principalsOf(server, context) }
      : { items: facts && items, tokens: tokensOf(listed('tools')) }),
    truncated,
    ...absence(best ?? rest, { config, loss, nowMs }),
    ...(trouble && { why: trouble.message, ...ofCause(causeOfFault(config, trouble)) }),
    ...(isNowhere(server, best, context) && waitingFor(cause('D033.server', {}, server.name))),
    stderr: loss?.why.stderrTail,
    lastError: lastErrorOf(loss, config, nowMs),
    lastFault: lastFaultOf(server, context),
    remarks: [
      ...unread.map(found => remarkOnList(server, found, nowMs)),
      ...remarksOn(server, best, { ...context, nowMs, slowMs: context.config().slowMs }),
    ],
  }
}

/** The items differ between principals. */
const UNTOLD = { items: undefined, tokens: undefined } as const

const principalsOf = (server: Server, { router, logins }: StatusContext) => ({
  served: router.pool.ownedOf(server).length,
  signedIn: logins.signedInAt(server.options),
})

/** Returns true if a server waits for a client with a folder. */
const isNowhere = (server: Server, best: Connection | undefined, { router }: StatusContext): boolean =>
  best === undefined && !router.hasWorkspace && lacksWorkspace(server.options, {})

/** Returns the status of a server that waits for its variables. */
const waitingStatus = (server: WaitingServer): ServerStatus => ({
  ...NEVER_MET,
  name: server.name,
  alias: aliasOf(server.name, undefined),
  transport: server.transport,
  ...waitingFor(waitingCause(server)),
})

const ofCause = (found: Cause<AbsenceCode>) => ({ cause: found, doctor: numberOf(found.code) })

const waitingFor = (found: Cause<AbsenceCode>) => ({
  state: 'waiting' as const,
  why: causeLine(found),
  ...ofCause(found),
})

const NEVER_MET = {
  stateMs: 0,
  revision: undefined,
  pids: [],
  connections: 0,
  clients: 0,
  items: undefined,
  tokens: undefined,
  truncated: [],
  failures: 0,
  retryMs: undefined,
  stderr: undefined,
  lastError: undefined,
  lastFault: undefined,
  remarks: [],
} as const

const stateOf = (
  best: Connection | Unreached | undefined,
  nowMs: number,
  login: LoginReason | undefined,
): Pick<ServerStatus, 'state' | 'stateMs' | 'failures'> => {
  if (best === undefined) return { state: login ?? 'idle', stateMs: 0, failures: 0 }
  if ('atMs' in best) {
    const { why, atMs, failures } = best
    return { state: login ?? loginReasonOf(why) ?? 'failed', stateMs: Math.round(nowMs - atMs), failures }
  }
  const { state, sinceMs } = best
  return { state: login ?? state.at, stateMs: Math.round(nowMs - sinceMs), failures: failuresOf(state) }
}

interface AbsenceFacts {
  readonly config: ServerConfig
  readonly loss: Loss | Unreached | undefined
  readonly nowMs: number
}

const absence = (best: Connection | Unreached | undefined, { config, loss, nowMs }: AbsenceFacts) => {
  if (best !== undefined && 'atMs' in best)
    return { why: best.why.message, ...ofCause(causeOfFault(config, best.why)), retryMs: undefined }
  const state = best?.state
  if (state !== undefined && 'why' in state) {
    const { why, untilMs } = state
    const retryMs = Math.max(0, Math.round(untilMs - nowMs))
    return { why: why.message, ...ofCause(causeOfFault(config, why)), retryMs }
  }
  const isRestarting = state?.at === 'starting' && failuresOf(state) > 0 && loss !== undefined
  return {
    why: undefined,
    retryMs: undefined,
    cause: isRestarting ? causeOfFault(config, loss.why) : undefined,
  }
}

const lastFaultOf = ({ name }: Server, { router }: StatusContext): ServerStatus['lastFault'] => {
  const found = router.faults.lastOf(name)
  return found && { id: found.id, message: found.message, at: found.at }
}

const lastLossOf = (connections: readonly Connection[]) =>
  connections
    .flatMap(({ lastLoss: loss }) => loss ?? [])
    .sort((one, other) => other.atMs - one.atMs)
    .at(0)

const lastErrorOf = (
  loss: Loss | Unreached | undefined,
  config: ServerConfig,
  nowMs: number,
): ServerStatus['lastError'] =>
  loss && {
    message: loss.why.message,
    agoMs: Math.round(nowMs - loss.atMs),
    doctor: numberOf(causeOfFault(config, loss.why).code),
  }

/** Authorization over HTTP. Holds no secrets. */
interface AuthStatus {
  /** The number of people and programs with tokens of this proxy. */
  readonly people: number
  /** The other accepted token issuers. */
  readonly issuers: readonly string[]
  /** True if the proxy issues tokens itself. */
  readonly embedded: boolean
  /** Refused credentials since the start. */
  readonly refused: number
}

const authStatus = (context: StatusContext): AuthStatus | undefined => {
  const auth = context.config().auth
  if (auth === undefined) return undefined
  return {
    people: auth.people.filter(({ tokens }) => tokens.length > 0).length,
    issuers: auth.issuers.map(({ issuer }) => issuer),
    embedded: auth.embedded !== undefined,
    refused: context.refused(),
  }
}

/** The state of a proxy in `/status`. Holds no secrets. */
export interface ProxyStatus {
  readonly name: string
  readonly version: string
  readonly pid: number
  readonly state: 'ready' | 'draining' | 'stopped'
  readonly upMs: number
  readonly sessions: number
  /** The number of requests in flight. */
  readonly calls: number
  /** The age of the oldest of them. Undefined if there is none. */
  readonly oldestCallMs: number | undefined
  /** The oldest of them, oldest first. */
  readonly inFlight: readonly CallInFlight[]
  readonly rssBytes: number
  /** Memory pressure, from 0 to 4. */
  readonly pressure: Pressure
  /** The limits that were reached, by configuration key. */
  readonly limits: Readonly<Partial<Record<LimitName, Hits>>>
  readonly servers: readonly ServerStatus[]
  /** Removed or replaced servers with calls in flight. */
  readonly leaving: readonly ServerStatus[]
  /** The tool exposure of clients: direct or by search. */
  readonly exposed: readonly Exposed[]
  /** Undefined without authorization. */
  readonly auth: AuthStatus | undefined
  /** Undefined if the configuration is not from a file. */
  readonly config: ConfigStatus | undefined
  readonly cluster?: ClusterStatus | undefined
}

const configuredStatus = (server: Server, context: StatusContext): ServerStatus | undefined => {
  const config = context.configOf(server.options)
  return config && serverStatus(server, config, context)
}

/** Returns the status of one server, or undefined for an unknown name. */
export const statusOfServer = (context: StatusContext, wanted: string): ServerStatus | undefined => {
  const server = context.router.pool.servers.find(({ name }) => name === wanted)
  const waiting = context.config().waiting.find(({ name }) => name === wanted)
  return (server && configuredStatus(server, context)) ?? (waiting && waitingStatus(waiting))
}

/** Maximum calls in flight that are listed. */
const IN_FLIGHT_MAX = 20

export const proxyStatus = (context: StatusContext): ProxyStatus => {
  const { bounds, clock, admission, router, startedMs } = context
  const inFlight = callsInFlight(context, IN_FLIGHT_MAX)
  const statusOf = (server: Server) => configuredStatus(server, context) ?? []
  return {
    name: IDENTITY.name,
    version: IDENTITY.version,
    pid: process.pid,
    state: admission.isShut ? 'draining' : 'ready',
    upMs: Math.round(clock.nowMs() - startedMs),
    sessions: router.load.clients,
    calls: admission.inside,
    oldestCallMs: inFlight[0]?.ageMs,
    inFlight,
    rssBytes: residentBytes() ?? 0,
    pressure: bounds.pressure,
    limits: bounds.hits,
    servers: [...router.pool.servers.flatMap(statusOf), ...context.config().waiting.map(waitingStatus)],
    leaving: [...router.pool.leaving].flatMap(statusOf),
    exposed: exposed(router),
    auth: authStatus(context),
    config: context.configStatus?.(),
    cluster: context.cluster?.(),
  }
}

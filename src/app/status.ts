import type { ServerConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import type { Hits, LimitCounters, Pressure } from '../kernel/limit-counters.js'
import type { LimitName } from '../kernel/limits.js'
import type { ListName } from '../model/listing.js'
import type { Admission } from '../mux/calls/admission.js'
import type { Router } from '../mux/router.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { failuresOf, type ServerState } from '../peers/server-state.js'
import { IDENTITY } from './identity.js'
import { residentBytes } from './memory-pressure.js'
import type { Children } from './processes/children.js'
import type { ConfigStatus } from './reload.js'

/** The state of one server, for people and programs. Holds no secrets. */
export interface ServerStatus {
  readonly name: string
  readonly alias: string
  /** The state of its best connection. */
  readonly state: ServerState['at']
  /** How long it has been in this state. */
  readonly stateMs: number
  readonly transport: ServerConfig['transport']['kind']
  /** The revision of MCP that it speaks; undefined until it was reached once. */
  readonly revision: string | undefined
  /** Process ids, if we start the server. */
  readonly pids: readonly number[]
  readonly connections: number
  readonly clients: number
  /** How many items clients see on its best connection; undefined until it was reached once. */
  readonly items: Readonly<Record<ListName, number>> | undefined
  /** The lists that were cut at a limit. */
  readonly truncated: readonly ListName[]
  /** Consecutive failures up to now. */
  readonly failures: number
  readonly why: string | undefined
  /** Milliseconds until the next attempt, while it is not reachable. */
  readonly retryMs: number | undefined
  /** What it last wrote to stderr before it was lost, oldest line first. */
  readonly stderr: readonly string[] | undefined
  /** Why it was last lost or not reached, and how long ago; it may work again by now. */
  readonly lastError: { readonly message: string; readonly agoMs: number } | undefined
}

export interface StatusContext {
  readonly router: Router
  readonly admission: Admission
  readonly children: Children
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly startedMs: number
  readonly configStatus?: (() => ConfigStatus | undefined) | undefined
}

const ORDER: readonly ServerState['at'][] = ['ready', 'starting', 'backoff', 'failed', 'draining', 'idle']

const rankOf = ({ state }: Connection): number => ORDER.indexOf(state.at)

const serverStatus = (server: Server, config: ServerConfig, context: StatusContext): ServerStatus => {
  const nowMs = context.clock.nowMs()
  const connections = [...server.connections].sort((one, other) => rankOf(one) - rankOf(other))
  const [best] = connections
  const { facts, items, truncated } = context.router.catalog.summary(server, connections)
  const loss = lastLossOf(connections)
  return {
    name: server.name,
    alias: server.options.alias,
    ...stateOf(best, nowMs),
    transport: config.transport.kind,
    revision: facts?.revision,
    pids: context.children.of(server.options),
    connections: connections.length,
    clients: connections.reduce((sum, { clients }) => sum + clients.size, 0),
    items: facts && items,
    truncated,
    ...absence(best, nowMs),
    stderr: loss?.why.lastWords,
    lastError: loss && { message: loss.why.message, agoMs: Math.round(nowMs - loss.atMs) },
  }
}

const stateOf = (best: Connection | undefined, nowMs: number) => {
  if (best === undefined) return { state: 'idle', stateMs: 0, failures: 0 } as const
  const { state, sinceMs } = best
  return { state: state.at, stateMs: Math.round(nowMs - sinceMs), failures: failuresOf(state) }
}

const absence = (best: Connection | undefined, nowMs: number) => {
  const state = best?.state
  if (state?.at !== 'backoff' && state?.at !== 'failed') return { why: undefined, retryMs: undefined }
  return { why: state.why.message, retryMs: Math.max(0, Math.round(state.untilMs - nowMs)) }
}

const lastLossOf = (connections: readonly Connection[]) =>
  connections
    .flatMap(({ lastLoss: loss }) => loss ?? [])
    .sort((one, other) => other.atMs - one.atMs)
    .at(0)

/** The state of a proxy, as `/status` shows it. Holds no secrets. */
export interface ProxyStatus {
  readonly name: string
  readonly version: string
  readonly pid: number
  readonly state: 'ready' | 'draining'
  readonly upMs: number
  readonly sessions: number
  /** Requests in flight. */
  readonly calls: number
  readonly rssBytes: number
  /** How short memory is, from 0 to 4. */
  readonly pressure: Pressure
  /** The limits that were reached, by their keys in the configuration. */
  readonly limits: Readonly<Partial<Record<LimitName, Hits>>>
  readonly servers: readonly ServerStatus[]
  /** Servers that were removed from the configuration, or replaced, and still have calls in flight. */
  readonly leaving: readonly ServerStatus[]
  /** Undefined if the configuration is not from a file. */
  readonly config: ConfigStatus | undefined
}

export const proxyStatus = (context: StatusContext): ProxyStatus => {
  const { bounds, clock, configOf, admission, router, startedMs } = context
  const statusOf = (server: Server): ServerStatus[] => {
    const config = configOf(server.options)
    return config === undefined ? [] : [serverStatus(server, config, context)]
  }
  return {
    name: IDENTITY.name,
    version: IDENTITY.version,
    pid: process.pid,
    state: admission.isShut ? 'draining' : 'ready',
    upMs: Math.round(clock.nowMs() - startedMs),
    sessions: router.load.clients,
    calls: admission.inside,
    rssBytes: residentBytes() ?? 0,
    pressure: bounds.pressure,
    limits: bounds.hits,
    servers: router.pool.servers.flatMap(statusOf),
    leaving: [...router.pool.leaving].flatMap(statusOf),
    config: context.configStatus?.(),
  }
}

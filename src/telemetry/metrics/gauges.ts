import { readdirSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import type { Listed } from '../../catalog/listed.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import { LIMIT_NAMES } from '../../kernel/limits.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { LIST_NAMES } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import type { ServerState } from '../../peers/server-state.js'
import { processBytes } from '../../state/processes/process-bytes.js'
import { proxyStatus, type ServerStatus, type StatusContext } from '../status/status.js'
import type { GaugeName, ReadCounterName } from './families.js'
import { labelValue, type Sample } from './registry.js'

export interface GaugeContext extends StatusContext {
  /** Returns the delay of the last memory check. */
  readonly lagMs: () => number
}

type Read = GaugeName | ReadCounterName | 'mcp_proxy_build'

/** The samples of some families at the time of a scrape. */
type Gauges = Partial<Record<Read, readonly Sample[]>>

const STATES = ['idle', 'starting', 'ready', 'draining', 'backoff', 'failed', 'needs-auth'] as const
const LIST_REASONS = ['filter', 'broken', 'twice'] as const

const one = (value: number): readonly Sample[] => [{ labels: [], value }]

const flag = (is: boolean): number => (is ? 1 : 0)

/** Reads the gauges from the same sources as `/status`, in steps, so that other work can run in between. */
export function* readGauges(context: GaugeContext): Iterable<Gauges> {
  const status = proxyStatus(context)
  yield {
    mcp_proxy_requests_in_flight: one(status.calls),
    mcp_proxy_clients: clients(context),
    mcp_proxy_approvals_waiting: approvals(context),
    mcp_proxy_queue_bytes: queues(context),
    ...(status.cluster && replicas(status.cluster)),
    mcp_proxy_limit_hits: LIMIT_NAMES.map(limit => ({
      labels: [limit],
      value: status.limits[limit]?.hits ?? 0,
    })),
    mcp_proxy_ready: one(flag(status.state === 'ready' && status.pressure < 4)),
    mcp_proxy_memory_pressure: one(status.pressure),
    ...configuration(status.config),
    mcp_proxy_build: [{ labels: [IDENTITY.version, process.version], value: 1 }],
  }
  yield* servers(context, status.servers)
  yield ofProcess(context.lagMs())
}

/** Returns the dropped lines and malformed messages of each server. Dropping them counts as a repair. */
export const noiseOf = ({ bounds, router }: GaugeContext): readonly Sample[] =>
  router.pool.servers.flatMap(({ name }) => {
    const found = bounds.remarksOn(name).filter(({ kind }) => kind === 'noise' || kind === 'malformed')
    const value = found.reduce((sum, { count }) => sum + count, 0)
    return value === 0 ? [] : [{ labels: [labelValue(name), 'noise'], value }]
  })

/** Empty without rules. */
const approvals = ({ router }: GaugeContext): readonly Sample[] =>
  router.rules?.approvals === undefined ? [] : one(router.rules.approvals.records.waiting.length)

const clients = ({ router }: GaugeContext): readonly Sample[] => {
  const counts = new Map<string, { readonly labels: readonly string[]; value: number }>()
  for (const { via = 'none', revision } of router.clients) {
    const labels = [via, revision]
    const key = labels.join(' ')
    const known = counts.get(key) ?? { labels, value: 0 }
    known.value += 1
    counts.set(key, known)
  }
  return [...counts.values()]
}

const queues = ({ bounds }: GaugeContext): readonly Sample[] => [
  { labels: ['clients'], value: bounds.unread.bytes },
  { labels: ['servers'], value: bounds.queues.servers },
  { labels: ['unread'], value: bounds.inbound.bytes },
  { labels: ['replay'], value: bounds.queues.replay },
]

function* servers(context: GaugeContext, statuses: readonly ServerStatus[]): Iterable<Gauges> {
  const { router } = context
  const all = router.pool.servers.flatMap(server => {
    const status = statuses.find(({ name }) => name === server.name)
    return status === undefined ? [] : [{ server, status, label: labelValue(server.name) }]
  })
  const each = (read: (one: (typeof all)[number]) => number): readonly Sample[] =>
    all.map(found => ({ labels: [found.label], value: read(found) }))
  yield {
    mcp_proxy_server_requests_in_flight: each(({ server }) =>
      sum([...server.connections].map(({ inFlight }) => inFlight)),
    ),
    mcp_proxy_server_requests_parked: each(({ server }) =>
      sum([...server.connections].map(connection => router.parkedOn(connection))),
    ),
    mcp_proxy_server_state: all.flatMap(({ label, status }) =>
      STATES.map(state => ({ labels: [label, state], value: flag(stateOf(status) === state) })),
    ),
    mcp_proxy_server_connections: each(({ status }) => status.connections),
    mcp_proxy_server_processes: each(({ status }) => status.pids.length),
    mcp_proxy_lock_differences: all.flatMap(({ server, label }) => {
      const { lock } = router.catalog.viewOf(server.options).exposure
      return lock === undefined ? [] : [{ labels: [label], value: lock.count }]
    }),
  }
  yield lists(context, all)
  if (process.platform !== 'linux') return
  // Each one reads a file of the system.
  const resident: Sample[] = []
  for (const { label, status } of all) {
    resident.push({ labels: [label], value: sum(status.pids.map(processBytes)) })
    yield { mcp_proxy_server_resident_bytes: resident }
  }
}

/** Computed once for each list. */
const sizes = new WeakMap<Listed, number>()

const bytesOf = (listed: Listed | undefined): number => {
  if (listed === undefined) return 0
  const bytes = sizes.get(listed) ?? sum(listed.items.map(({ text }) => text.length))
  sizes.set(listed, bytes)
  return bytes
}

const MEMBER_STATES = ['ready', 'draining', 'keys'] as const

const replicas = (cluster: ClusterStatus): Gauges => {
  const { members, leaseAgeMs, forwarded, lost, unknown, refused } = cluster
  const results = { answered: forwarded - lost - unknown - refused, lost, unknown, refused }
  const by = (values: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(values).map(([label, value]) => ({ labels: [label], value: Math.max(0, value) }))
  const inState = (state: string): number => members.filter(each => each.state === state).length
  return {
    mcp_proxy_cluster_members: by(Object.fromEntries(MEMBER_STATES.map(each => [each, inState(each)]))),
    mcp_proxy_cluster_engine_up: one(flag(cluster.engine === 'up')),
    ...(leaseAgeMs !== undefined && { mcp_proxy_cluster_lease_age_seconds: one(leaseAgeMs / 1000) }),
    mcp_proxy_cluster_held: one(cluster.held),
    mcp_proxy_cluster_forwards: by(results),
    mcp_proxy_cluster_unavailable: by(cluster.late),
    mcp_proxy_cluster_adoptions: by(cluster.adoptions),
    mcp_proxy_cluster_handovers: by(cluster.handovers),
    mcp_proxy_cluster_fenced: one(cluster.fenced),
    mcp_proxy_cluster_calls_lost: one(lost),
  }
}

const lists = (
  { router }: GaugeContext,
  all: readonly { readonly server: Server; readonly status: ServerStatus; readonly label: string }[],
): Gauges => {
  const found = all.flatMap(({ server, status, label }) => {
    const { listed } = router.catalog.summary(server, [...server.connections])
    return LIST_NAMES.map(list => ({ label, list, status, listed: listed(list) }))
  })
  return {
    mcp_proxy_items: found.map(({ label, list, status }) => ({
      labels: [label, list],
      value: status.items?.[list] ?? 0,
    })),
    mcp_proxy_list_bytes: found.map(({ label, list, listed }) => ({
      labels: [label, list],
      value: bytesOf(listed),
    })),
    mcp_proxy_items_left_out: found.flatMap(({ label, list, listed, status }) => [
      ...LIST_REASONS.map(reason => ({
        labels: [label, list, reason],
        value: listed?.leftOut[reason] ?? 0,
      })),
      { labels: [label, list, 'truncated'], value: flag(status.truncated.includes(list)) },
    ]),
  }
}

/** All login reasons count as one state. */
const stateOf = ({ state }: ServerStatus): ServerState['at'] =>
  STATES.find(known => known === state) ?? 'needs-auth'

const configuration = (config: ReturnType<typeof proxyStatus>['config']): Gauges => ({
  mcp_proxy_config_last_reload_success: one(flag(config?.lastReload?.result !== 'refused')),
  mcp_proxy_config_last_reload_timestamp_seconds: one(
    (config === undefined ? performance.timeOrigin : Date.parse(config.loadedAt)) / 1000,
  ),
  mcp_proxy_config_problems: [
    { labels: ['error'], value: config?.problems.errors ?? 0 },
    { labels: ['warning'], value: config?.problems.warnings ?? 0 },
  ],
})

let before: ReturnType<typeof performance.eventLoopUtilization> | undefined

const ofProcess = (lagMs: number): Gauges => {
  const { user, system } = process.cpuUsage()
  const memory = trying(() => process.memoryUsage())
  const now = performance.eventLoopUtilization()
  const { utilization } = before === undefined ? now : performance.eventLoopUtilization(now, before)
  before = now
  return {
    process_cpu_seconds: one((user + system) / 1e6),
    process_start_time_seconds: one(performance.timeOrigin / 1000),
    nodejs_eventloop_lag_seconds: one(lagMs / 1000),
    nodejs_eventloop_utilization_ratio: one(utilization),
    ...(memory !== undefined && {
      process_resident_memory_bytes: one(memory.rss),
      nodejs_heap_size_used_bytes: one(memory.heapUsed),
      nodejs_external_memory_bytes: one(memory.external),
    }),
    ...(process.platform === 'linux' && descriptors()),
  }
}

const descriptors = (): Gauges => {
  const open = trying(() => readdirSync('/proc/self/fd').length - 1)
  const limits = trying(() => readFileSync('/proc/self/limits', 'latin1')) ?? ''
  const most = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return {
    ...(open !== undefined && { process_open_fds: one(open) }),
    ...(most !== undefined && { process_max_fds: one(Number(most)) }),
  }
}

const trying = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

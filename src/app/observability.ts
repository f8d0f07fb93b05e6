import type { ProxyConfig } from '../config/types.js'
import type { Api } from '../control/api/api.js'
import type { ControlApiContext } from '../control/api/context.js'
import { PageSessions } from '../control/api/page-sessions.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import { lateModule } from '../kernel/late-module.js'
import type { Logger } from '../kernel/logger.js'
import { NEWEST_LEGACY, type Revision } from '../model/revision.js'
import type { Tracer } from '../model/tracer.js'
import type { Router } from '../mux/router.js'
import { keptKey } from '../state/state-key.js'
import { meterLines } from '../telemetry/logs/guarded-logger.js'
import type { GaugeContext } from '../telemetry/metrics/gauges.js'
import type { MetricsPages } from '../telemetry/metrics/pages.js'
import { Metrics } from '../telemetry/metrics/registry.js'
import type { ProxyStatus } from '../telemetry/status/status.js'
import { LateTracer } from '../telemetry/tracing/late-tracer.js'
import type { Spoken } from './proxy-contract.js'

// Observability of a running proxy: counters while it runs, and readers loaded on first use.

/** Returns undefined if metrics are disabled. */
export const createMetrics = (
  { metrics, servers }: ProxyConfig,
  clock: Clock,
  log: Logger,
): Metrics | undefined => {
  if (metrics === undefined) return undefined
  const meter = new Metrics({ series: metrics.series, clock })
  meter.serve(servers.map(({ name }) => name))
  meterLines(log, meter)
  return meter
}

/** The tracer of calls, and its lifecycle. */
export interface Tracing {
  readonly tracer: Tracer
  readonly isReady: Promise<void>
  close(): Promise<void>
}

/** Returns undefined if tracing is disabled. `given` replaces the configured tracer. */
export const createTracing = (
  config: ProxyConfig,
  given: Tracer | undefined,
  around: ConstructorParameters<typeof LateTracer>[1],
): Tracing | undefined => {
  if (given !== undefined)
    return { tracer: given, isReady: Promise.resolve(), close: () => Promise.resolve() }
  if (config.tracing === undefined) return undefined
  const tracer = new LateTracer(config, around)
  return { tracer, isReady: tracer.isReady, close: () => tracer.close() }
}

/** Creates a shared object from a module that is loaded on first use. */
const late = <M, T>(load: () => Promise<M>, create: (module: M) => T): (() => Promise<T>) => {
  const loaded = lateModule(load)
  let made: T | undefined
  return async () => {
    const module = await loaded()
    made ??= create(module)
    return made
  }
}

export const latePages = (
  metrics: Metrics | undefined,
  context: () => GaugeContext,
): (() => Promise<MetricsPages>) | undefined =>
  metrics &&
  late(
    () => import('../telemetry/metrics/pages.js'),
    ({ createMetricsPages }) => createMetricsPages(metrics, context()),
  )

export const latePageSessions = (state: string): (() => PageSessions) => {
  const sessions = new PageSessions(() => keptKey(state))
  return () => sessions
}

export const lateApi = (inside: () => ControlApiContext): (() => Promise<Api>) =>
  late(
    () => import('../control/api/api.js'),
    ({ createApi }) => createApi(inside()),
  )

/**
 * Starts the only server before a client needs it. Returns its revisions, or undefined if it cannot be
 * reached.
 */
export const startOnly = async ({ pool }: Router, status: () => ProxyStatus): Promise<Spoken | undefined> => {
  await Promise.allSettled(pool.servers.map(server => server.start()))
  const revision = status().servers[0]?.revision
  return revision === undefined ? undefined : { revision, offered: OFFERED }
}

/** Revisions offered to clients: the newest with sessions, and the newest without. */
const OFFERED: readonly Revision[] = [NEWEST_LEGACY, '2026-07-28']

/** Closes the connections of a server and starts it again. Rejects with a Fault. */
export const restartServer = async ({ pool }: Router, name: string): Promise<void> => {
  const server = pool.servers.find(one => one.name === name)
  if (server === undefined) throw new Fault('invalid-params', `Unknown server: ${name}`)
  server.bounds.remark('restarted')
  await Promise.all([...server.connections].map(connection => server.end(connection)))
  // A server in its client's folder starts with its next call.
  if (server.options.sharing !== 'workspace') await server.start()
}

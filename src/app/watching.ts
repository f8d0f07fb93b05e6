import type { ProxyConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { ClientHandler } from '../model/links.js'
import type { CallMeter } from '../mux/calls/call-meter.js'
import type { Router } from '../mux/router.js'
import type { Api } from './api/api.js'
import type { Inside } from './api/inside.js'
import { meterLines } from './guarded-logger.js'
import { lateModule } from './late-module.js'
import type { GaugeContext } from './metrics/gauges.js'
import type { MetricsPages } from './metrics/pages.js'
import { Metrics } from './metrics/registry.js'

// How one looks into a running proxy: what counts while it runs, and what is loaded once somebody asks.

/** Undefined where nothing is counted. */
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

export const metered = (handler: ClientHandler, meter: CallMeter | undefined): ClientHandler =>
  meter?.wrap(handler) ?? handler

/** Makes something with a module that is loaded by then; the same for everybody. */
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
    () => import('./metrics/pages.js'),
    ({ createMetricsPages }) => createMetricsPages(metrics, context()),
  )

export const lateApi = (inside: () => Inside): (() => Promise<Api>) =>
  late(
    () => import('./api/api.js'),
    ({ createApi }) => createApi(inside()),
  )

/** Ends the connections of a server and starts it again. Rejects with a Fault. */
export const restartServer = async ({ pool }: Router, name: string): Promise<void> => {
  const server = pool.servers.find(one => one.name === name)
  if (server === undefined) throw new Fault('invalid-params', `There is no server ${name}`)
  await Promise.all([...server.connections].map(connection => server.end(connection)))
  // One that runs in the folder of a client starts with its next call.
  if (server.options.sharing !== 'workspace') await server.start()
}

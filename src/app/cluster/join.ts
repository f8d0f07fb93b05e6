import { readFile } from 'node:fs/promises'
import type { AuthReplicas } from '../../auth/authorization-server/server.js'
import { Cluster, type RelayedEndpoint } from '../../cluster/cluster.js'
import { STARTING } from '../../cluster/link/forwarding.js'
import type { ClusterConfig } from '../../config/types.js'
import { type Clock, pause } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { Meter } from '../../kernel/meter.js'
import { bracketedHost } from '../../kernel/url-address.js'
import { createHttpClient } from '../../transport/http/client.js'
import type { GateOptions } from '../../transport/http/gate.js'
import { errorDenial } from '../../transport/http/responder.js'
import { type HttpPort, listenHttp } from '../../transport/http/server.js'
import { PageRelay } from './page-relay.js'
import { type SharedListsOptions, shareLists } from './shared-lists.js'

/** A replica on the same machine answers quickly or does not run. */
export const CONNECT_MS = 1500

/** Time that the port stays open after the other replicas know that this one left. */
const LAST_MS = 250

export interface JoinContext {
  /** This instance: 8 random bytes in hexadecimal. */
  readonly instance: string
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly meter: Meter | undefined
  /** The digest of the active configuration. */
  readonly digest: () => string
  /** Server lists, which replicas share. */
  readonly lists: Omit<SharedListsOptions, 'broadcasts' | 'log'>
  /** Returns the instance that holds the call of a sealed state, if any. */
  readonly waitsIn: (requestState: string) => string | undefined
}

/** This replica in the cluster, and its port. */
export interface JoinedCluster {
  readonly cluster: Cluster
  /** Forwards sign-in pages. */
  readonly pages: PageRelay
  /** Shares the grants of clients. */
  readonly replicas: AuthReplicas
  /** Sets the handlers of forwarded requests, by path. */
  serves(endpoint: (path: string) => RelayedEndpoint | undefined): void
  close(): Promise<void>
}

/** Opens the port for other replicas and joins them. Rejects with a Fault `unavailable`. */
export const joinCluster = async (config: ClusterConfig, context: JoinContext): Promise<JoinedCluster> => {
  const { bounds, clock, log, meter, digest, instance, waitsIn } = context
  const { listen, advertise } = config.peer
  const tls = config.peer.tls && (await readTls(config.peer.tls))
  // Refuse requests until the replica has joined.
  const here: { cluster?: Cluster } = {}
  let endpointAt: (path: string) => RelayedEndpoint | undefined = () => undefined
  const authorize: GateOptions['authorize'] = request => {
    const { method = 'GET', url = '/', headers } = request
    const target = { method, target: url, headers: headers as Record<string, string | undefined> }
    const admitted = here.cluster?.admit(target) ?? STARTING
    return typeof admitted === 'number' ? errorDenial(admitted, 'This port accepts only replicas') : admitted
  }
  const listener = await listenHttp({
    ...listen,
    allowedHosts: advertise === undefined ? [] : [advertise.host, hostPort(advertise)],
    allowedOrigins: [],
    authorize,
    isLeaving: () => here.cluster?.isLeaving === true,
    endpoints: { get: () => here.cluster?.serve(path => endpointAt(path)) },
    other: () => Promise.reject(new Fault('unavailable', 'The replica is starting')),
    ...{ tls, bounds, clock, log },
  })
  const cluster = new Cluster({
    id: instance,
    engine: { url: config.url, prefix: config.prefix },
    ...{ keys: config.keys, leaseMs: config.leaseMs, version: IDENTITY.version },
    address: addressOf(config, listener),
    http: createHttpClient({ connectTimeoutMs: CONNECT_MS, tls }),
    scheme: tls === undefined ? 'http' : 'https',
    ...{ bounds, clock, log, meter, digest, waitsIn },
  })
  here.cluster = cluster
  shareLists({ ...context.lists, broadcasts: cluster.broadcasts, log })
  await cluster.join()
  const pages = new PageRelay(cluster, clock)
  const isEldest = (): boolean => cluster.eldest === undefined
  return {
    ...{ cluster, pages, replicas: { broadcasts: cluster.broadcasts, keys: config.keys, isEldest } },
    serves(endpoint) {
      endpointAt = path => pages.endpointAt(path) ?? endpoint(path)
    },
    async close() {
      await cluster.close()
      // Refuse requests that were sent before the others learned of it.
      if (cluster.others.length > 0) await pause(clock, LAST_MS)
      await listener.close()
    },
  }
}

const hostPort = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${bracketedHost(host)}:${port}`

/** With port 0, the other replicas need the assigned port. */
const addressOf = ({ peer: { listen, advertise } }: ClusterConfig, { port }: HttpPort): string => {
  const { host } = advertise ?? listen
  return hostPort({ host, port: advertise === undefined || advertise.port === 0 ? port : advertise.port })
}

/** Reads the TLS files. Rejects with a Fault `unavailable`. */
export const readTls = async (files: NonNullable<ClusterConfig['peer']['tls']>) => {
  const read = (path: string): Promise<string> =>
    readFile(path, 'utf8').catch((cause: unknown) => {
      throw new Fault('unavailable', `cluster.peer.tls: the file ${path} cannot be read`, { cause })
    })
  const { cert, key, ca } = files
  return { cert: await read(cert), key: await read(key), ca: await read(ca) }
}

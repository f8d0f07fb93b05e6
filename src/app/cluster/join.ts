import { readFile } from 'node:fs/promises'
import type { AuthReplicas } from '../../auth/authorization-server/server.js'
import { Cluster, type RelayedFace } from '../../cluster/cluster.js'
import { STARTING } from '../../cluster/link/forwarding.js'
import type { ClusterConfig } from '../../config/types.js'
import { type Clock, pause } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../machine/identity.js'
import type { Meter } from '../../metering/meter.js'
import { createHttpClient } from '../../transport/http/client.js'
import type { GateOptions } from '../../transport/http/gate.js'
import { errorDenial } from '../../transport/http/responder.js'
import { type HttpListener, listenHttp } from '../../transport/http/server.js'
import { PageRelay } from './page-relay.js'
import { type SharedListsOptions, shareLists } from './shared-lists.js'

/** The replica that listens next to us answers quickly, or is not there. */
export const CONNECT_MS = 1500

/** How long the port stays open when the others know that we have left. */
const LAST_MS = 250

export interface JoinContext {
  /** Of this instance: 8 random bytes in hexadecimal. */
  readonly instance: string
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly meter: Meter | undefined
  /** Of the configuration in force. */
  readonly digest: () => string
  /** What is known of servers, which all replicas should know. */
  readonly lists: Omit<SharedListsOptions, 'notes' | 'log'>
  /** The instance in which the call of a sealed state waits; undefined if it waits nowhere. */
  readonly waitsIn: (requestState: string) => string | undefined
}

/** This replica among the others, and the port that they reach it at. */
export interface Joined {
  readonly cluster: Cluster
  /** For pages on which people log in. */
  readonly pages: PageRelay
  /** For what clients are granted. */
  readonly replicas: AuthReplicas
  /** Says who serves what they pass on, by path. */
  serves(face: (path: string) => RelayedFace | undefined): void
  close(): Promise<void>
}

/** Opens the port for the other replicas, and joins them. Rejects with a Fault `unavailable`. */
export const joinCluster = async (config: ClusterConfig, context: JoinContext): Promise<Joined> => {
  const { bounds, clock, log, meter, digest, instance, waitsIn } = context
  const { listen, advertise } = config.peer
  const tls = config.peer.tls && (await readTls(config.peer.tls))
  // Whoever comes before we are there is turned away.
  const here: { cluster?: Cluster } = {}
  let faceAt: (path: string) => RelayedFace | undefined = () => undefined
  const authorize: GateOptions['authorize'] = request => {
    const { method = 'GET', url = '/', headers } = request
    const target = { method, target: url, headers: headers as Record<string, string | undefined> }
    const admitted = here.cluster?.admit(target) ?? STARTING
    return typeof admitted === 'number' ? errorDenial(admitted, 'Only replicas come in here') : admitted
  }
  const listener = await listenHttp({
    ...listen,
    allowedHosts: advertise === undefined ? [] : [advertise.host, hostPort(advertise)],
    allowedOrigins: [],
    authorize,
    isLeaving: () => here.cluster?.isLeaving === true,
    endpoints: { get: () => here.cluster?.serve(path => faceAt(path)) },
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
  shareLists({ ...context.lists, notes: cluster.notes, log })
  await cluster.join()
  const pages = new PageRelay(cluster, clock)
  return {
    ...{ cluster, pages, replicas: { notes: cluster.notes, keys: config.keys } },
    serves(face) {
      faceAt = path => pages.faceAt(path) ?? face(path)
    },
    async close() {
      await cluster.close()
      // What others sent just before they heard of that is told so.
      if (cluster.others.length > 0) await pause(clock, LAST_MS)
      await listener.close()
    },
  }
}

const hostPort = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** With port 0 others learn the port that was free. */
const addressOf = ({ peer: { listen, advertise } }: ClusterConfig, { port }: HttpListener): string => {
  const { host } = advertise ?? listen
  return hostPort({ host, port: advertise === undefined || advertise.port === 0 ? port : advertise.port })
}

/** What the files hold. Rejects with a Fault `unavailable`. */
export const readTls = async (files: NonNullable<ClusterConfig['peer']['tls']>) => {
  const read = (path: string): Promise<string> =>
    readFile(path, 'utf8').catch((cause: unknown) => {
      throw new Fault('unavailable', `cluster.peer.tls: the file ${path} cannot be read`, { cause })
    })
  const { cert, key, ca } = files
  return { cert: await read(cert), key: await read(key), ca: await read(ca) }
}

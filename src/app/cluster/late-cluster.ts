import { randomBytes } from 'node:crypto'
import type { Logins } from '../../auth/store/logins.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import { configDigest } from '../../config/digest.js'
import type { ClusterConfig, ProxyConfig } from '../../config/types.js'
import { pause } from '../../kernel/async/clock.js'
import { lateModule } from '../../kernel/late-module.js'
import type { Router } from '../../mux/router.js'
import type { SharedRates } from '../../mux/rules/rates.js'
import type { ServerCacheFiles } from '../../state/server-cache.js'
import type { JoinContext, JoinedCluster } from './join.js'

const INSTANCE_BYTES = 8
const LET_GO_MS = 100

const loaded = lateModule(() => import('./join.js'))

interface LateContext extends Omit<JoinContext, 'instance' | 'digest'> {
  /** The active configuration. */
  readonly config: () => ProxyConfig
  readonly logins: Pick<Logins, 'share'>
}

/** The cluster membership of this process. Loads the cluster code when it joins. */
export class LateCluster {
  /** Identifies this process to other replicas and in clients' states. */
  readonly instance = randomBytes(INSTANCE_BYTES).toString('hex')
  readonly #config: ClusterConfig
  readonly #context: LateContext
  #joined: JoinedCluster | undefined
  #digested: { readonly config: ProxyConfig; readonly digest: string } | undefined

  constructor(config: ClusterConfig, context: LateContext) {
    this.#config = config
    this.#context = context
  }

  /** Rejects with a Fault `unavailable`. */
  async join(): Promise<JoinedCluster> {
    const { joinCluster } = await loaded()
    this.#joined = await joinCluster(this.#config, {
      ...this.#context,
      ...{ instance: this.instance, digest: () => this.#digest() },
    })
    await this.#context.logins.share(this.#joined.cluster.broadcasts)
    return this.#joined
  }

  /**
   * Announces the end of this replica, serves until the load balancer has noticed, then releases sessions as
   * they become idle, for at most `limitMs`. Returns the remaining time.
   */
  async leave(limitMs: number): Promise<number> {
    if (this.#joined === undefined) return limitMs
    const { cluster } = this.#joined
    const { clock } = this.#context
    await cluster.drain()
    await pause(clock, this.#config.lingerMs)
    const endMs = clock.nowMs() + limitMs
    while ((await cluster.letGo()) > 0 && clock.nowMs() < endMs) await pause(clock, LET_GO_MS)
    return Math.max(0, endMs - clock.nowMs())
  }

  /** Cached per configuration, because every heartbeat needs it. */
  #digest(): string {
    const config = this.#context.config()
    if (this.#digested?.config !== config) this.#digested = { config, digest: configDigest(config) }
    return this.#digested.digest
  }

  /** Returns the rates that all replicas share; undefined until it has joined. */
  rates(): SharedRates | undefined {
    const cluster = this.#joined?.cluster
    return cluster && { replicas: cluster.replicas, take: buckets => cluster.charge(buckets) }
  }

  /** Returns undefined until it has joined. */
  status(): ClusterStatus | undefined {
    return this.#joined?.cluster.status()
  }
}

interface Around extends Omit<LateContext, 'waitsIn' | 'lists'> {
  readonly router: () => Pick<Router, 'waitsIn' | 'pool' | 'catalog'>
  /** Defined in a cluster. */
  readonly cache: ServerCacheFiles | undefined
}

/** Returns undefined without a cluster. Calls `router` only for requests. */
export const lateCluster = (
  { cluster }: ProxyConfig,
  { router, cache, ...context }: Around,
): LateCluster | undefined =>
  cluster &&
  cache &&
  new LateCluster(cluster, {
    ...context,
    waitsIn: state => router().waitsIn(state),
    lists: {
      cache,
      servers: () => router().pool.servers.map(({ options }) => options),
      learned: (server, known) => router().catalog.learned(server, known),
    },
  })

/** Returns the parts of the cluster that endpoints need. */
export const clusterContext = (cluster: LateCluster | undefined) => ({
  join: cluster && (() => cluster.join()),
  cluster: () => cluster?.status(),
})

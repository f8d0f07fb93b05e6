import { randomBytes } from 'node:crypto'
import type { Logins } from '../../auth/store/logins.js'
import type { ClusterStatus } from '../../cluster/cluster.js'
import { configDigest } from '../../config/digest.js'
import type { ClusterConfig, ProxyConfig } from '../../config/types.js'
import { pause } from '../../kernel/async/clock.js'
import { lateModule } from '../../kernel/late-module.js'
import type { Router } from '../../mux/router.js'
import type { ServerCacheFiles } from '../../state/server-cache.js'
import type { JoinContext, Joined } from './join.js'

const INSTANCE_BYTES = 8
const LET_GO_MS = 100

const loaded = lateModule(() => import('./join.js'))

interface LateContext extends Omit<JoinContext, 'instance' | 'digest'> {
  /** The configuration in force. */
  readonly config: () => ProxyConfig
  readonly logins: Pick<Logins, 'share'>
}

/** This replica among the others, once it serves; nothing of that is loaded before. */
export class LateCluster {
  /** By which the others, and states that clients carry, name this process. */
  readonly instance = randomBytes(INSTANCE_BYTES).toString('hex')
  readonly #config: ClusterConfig
  readonly #context: LateContext
  #joined: Joined | undefined
  #digested: { readonly config: ProxyConfig; readonly digest: string } | undefined

  constructor(config: ClusterConfig, context: LateContext) {
    this.#config = config
    this.#context = context
  }

  /** Rejects with a Fault `unavailable`. */
  async join(): Promise<Joined> {
    const { joinCluster } = await loaded()
    this.#joined = await joinCluster(this.#config, {
      ...this.#context,
      ...{ instance: this.instance, digest: () => this.#digest() },
    })
    await this.#context.logins.share(this.#joined.cluster.notes)
    return this.#joined
  }

  /**
   * Says that this replica ends, serves until the load balancer has noticed, and gives up its sessions as
   * soon as they have nothing under way, for `limitMs` at most. Returns how much of that is left.
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

  /** Once for each configuration, as it is asked for with every beat. */
  #digest(): string {
    const config = this.#context.config()
    if (this.#digested?.config !== config) this.#digested = { config, digest: configDigest(config) }
    return this.#digested.digest
  }

  /** Undefined until it serves. */
  status(): ClusterStatus | undefined {
    return this.#joined?.cluster.status()
  }
}

interface Around extends Omit<LateContext, 'waitsIn' | 'lists'> {
  readonly router: () => Pick<Router, 'waitsIn' | 'pool' | 'catalog'>
  /** There where there is a cluster. */
  readonly cache: ServerCacheFiles | undefined
}

/** Undefined where there are no other replicas. `router` is asked once there are requests. */
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

/** What endpoints need of it. */
export const clusterContext = (cluster: LateCluster | undefined) => ({
  join: cluster && (() => cluster.join()),
  cluster: () => cluster?.status(),
})

import { randomBytes } from 'node:crypto'
import type { ClusterStatus } from '../../cluster/cluster.js'
import type { ClusterConfig } from '../../config/types.js'
import type { Sealer } from '../../mux/input-required/retry/sealed-state.js'
import { lateModule } from '../late-module.js'
import type { JoinContext, Joined } from './join.js'

const INSTANCE_BYTES = 8

const loaded = lateModule(() => import('./join.js'))

/** This replica among the others, once it serves; nothing of that is loaded before. */
export class LateCluster {
  /** By which the others, and states that clients carry, name this process. */
  readonly instance = randomBytes(INSTANCE_BYTES).toString('hex')
  readonly #config: ClusterConfig
  readonly #context: Omit<JoinContext, 'instance' | 'waitsIn'>
  readonly #sealer: Sealer
  #joined: Joined | undefined

  constructor(config: ClusterConfig, sealer: Sealer, context: Omit<JoinContext, 'instance' | 'waitsIn'>) {
    this.#config = config
    this.#sealer = sealer
    this.#context = context
  }

  /** Rejects with a Fault `unavailable`. */
  async join(): Promise<Joined> {
    const { joinCluster } = await loaded()
    this.#joined = await joinCluster(this.#config, {
      ...this.#context,
      instance: this.instance,
      waitsIn: requestState => {
        const state = this.#sealer.open(requestState)
        return state !== undefined && 'replica' in state ? state.replica : undefined
      },
    })
    return this.#joined
  }

  /** Undefined until it serves. */
  status(): ClusterStatus | undefined {
    return this.#joined?.cluster.status()
  }
}

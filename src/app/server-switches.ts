import type { ConfigDiff } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'

/** Switches servers off and on while the proxy runs, until its configuration changes. */
export class ServerSwitches {
  readonly #apply: (config: ProxyConfig) => ConfigDiff
  /** As it was read: what is in force lacks the servers that are off. */
  #read: ProxyConfig
  readonly #off = new Set<string>()

  /** `apply` puts another configuration in force, or throws a Fault. */
  constructor(config: ProxyConfig, apply: (config: ProxyConfig) => ConfigDiff) {
    this.#read = config
    this.#apply = apply
  }

  get off(): ReadonlySet<string> {
    return this.#off
  }

  /** Takes another configuration, with all its servers on. Throws what `apply` throws. */
  reload(next: ProxyConfig): ConfigDiff {
    const diff = this.#apply(next)
    this.#read = next
    this.#off.clear()
    return diff
  }

  /** Throws a Fault `invalid-params` for a server that is not configured. */
  set(name: string, isOn: boolean): void {
    const { servers } = this.#read
    if (!servers.some(server => server.name === name))
      throw new Fault('invalid-params', `There is no server ${name}`)
    if (isOn) this.#off.delete(name)
    else this.#off.add(name)
    this.#apply({ ...this.#read, servers: servers.filter(server => !this.#off.has(server.name)) })
  }
}

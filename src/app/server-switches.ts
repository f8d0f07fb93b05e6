import { type ConfigDiff, changedServers } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'

/** Switches servers off and on while the proxy runs, each until its own entry in the configuration changes. */
export class ServerSwitches {
  readonly #apply: (config: ProxyConfig) => ConfigDiff
  /** The configuration as it was read, with the servers that are off. */
  #read: ProxyConfig
  #off: ReadonlySet<string> = new Set()

  /** `apply` puts another configuration in force, or throws a Fault. */
  constructor(config: ProxyConfig, apply: (config: ProxyConfig) => ConfigDiff) {
    this.#read = config
    this.#apply = apply
  }

  get off(): ReadonlySet<string> {
    return this.#off
  }

  /** Applies another configuration; servers whose entries changed are on again. Throws what `apply` throws. */
  reload(next: ProxyConfig): ConfigDiff {
    const changed = changedServers(this.#read, next)
    return this.#put(next, new Set([...this.#off].filter(name => !changed.has(name))))
  }

  /** Throws a Fault `invalid-params` for a server that is not configured, and what `apply` throws. */
  set(name: string, isOn: boolean): void {
    if (!this.#read.servers.some(server => server.name === name))
      throw new Fault('invalid-params', `There is no server ${name}`)
    const off = new Set(this.#off)
    if (isOn) off.delete(name)
    else off.add(name)
    this.#put(this.#read, off)
  }

  #put(read: ProxyConfig, off: ReadonlySet<string>): ConfigDiff {
    const diff = this.#apply({ ...read, servers: read.servers.filter(({ name }) => !off.has(name)) })
    this.#read = read
    this.#off = off
    return diff
  }
}

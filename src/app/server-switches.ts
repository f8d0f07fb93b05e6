import { type ConfigDiff, changedServers } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'

/** Disables and enables servers at run time, each until its own configuration entry changes. */
export class ServerSwitches {
  readonly #apply: (config: ProxyConfig) => ConfigDiff
  /** The configuration as read, including disabled servers. */
  #read: ProxyConfig
  #off: ReadonlySet<string> = new Set()

  /** `apply` activates a configuration, or throws a Fault. */
  constructor(config: ProxyConfig, apply: (config: ProxyConfig) => ConfigDiff) {
    this.#read = config
    this.#apply = apply
  }

  get off(): ReadonlySet<string> {
    return this.#off
  }

  /** Applies a new configuration and enables servers whose entries changed. Throws like `apply`. */
  reload(next: ProxyConfig): ConfigDiff {
    const changed = changedServers(this.#read, next)
    return this.#put(next, new Set([...this.#off].filter(name => !changed.has(name))))
  }

  /** Throws a Fault `invalid-params` for a server that is not configured, and what `apply` throws. */
  set(name: string, isOn: boolean): void {
    if (!this.#read.servers.some(server => server.name === name))
      throw new Fault('invalid-params', `Unknown server: ${name}`)
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

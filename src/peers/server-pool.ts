import type { Timer } from '../kernel/clock.js'
import type { Client } from '../model/links.js'
import type { ConnectionContext } from './connection.js'
import type { ServerOptions } from './options.js'
import { Server } from './server.js'

const SWEEP_MS = 10_000

/** All configured servers, in the order of the configuration. */
export class ServerPool {
  readonly servers: readonly Server[]
  readonly #byAlias: ReadonlyMap<string, Server>
  readonly #byName: ReadonlyMap<string, Server>
  readonly #sweep: Timer

  constructor(options: readonly ServerOptions[], context: ConnectionContext) {
    this.servers = options.map((one, index) => new Server(one, index, context))
    this.#byAlias = new Map(this.servers.map(server => [server.options.alias, server]))
    this.#byName = new Map(this.servers.map(server => [server.name, server]))
    this.#sweep = context.clock.every(SWEEP_MS, () => {
      for (const server of this.servers) server.sweep(context.clock.nowMs())
    })
  }

  byAlias(alias: string): Server | undefined {
    return this.#byAlias.get(alias)
  }

  byName(name: string): Server | undefined {
    return this.#byName.get(name)
  }

  /** Takes a client off all servers. */
  release(client: Client): void {
    for (const server of this.servers) server.release(client)
  }

  /** Stops all servers at the same time. Never rejects. */
  async close(): Promise<void> {
    this.#sweep.cancel()
    await Promise.all(this.servers.map(server => server.close()))
  }
}

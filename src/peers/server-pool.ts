import type { Timer } from '../kernel/async/clock.js'
import type { Client } from '../model/links.js'
import type { Connection, ConnectionContext } from './connection.js'
import type { ServerOptions } from './dial.js'
import { Server } from './server.js'

const SWEEP_MS = 10_000

export interface Turnover {
  readonly joined: readonly Server[]
  /** They take no more calls; those under way may finish until the servers are dismissed. */
  readonly left: readonly Server[]
}

/** All configured servers in their order, and those that are being dismissed. */
export class ServerPool {
  #servers: readonly Server[] = []
  /** Both kinds, by identity: a new server may have the name of one that leaves. */
  readonly #byOptions = new Map<ServerOptions, Server>()
  readonly #leaving = new Set<Server>()
  readonly #context: ConnectionContext
  readonly #sweep: Timer

  constructor(options: readonly ServerOptions[], context: ConnectionContext) {
    this.#context = context
    this.reload(options)
    this.#sweep = context.clock.every(SWEEP_MS, () => {
      for (const server of this.#servers) server.sweep(context.clock.nowMs())
    })
  }

  get servers(): readonly Server[] {
    return this.#servers
  }

  get leaving(): Iterable<Server> {
    return this.#leaving
  }

  of({ server }: Connection): Server | undefined {
    return this.#byOptions.get(server)
  }

  /** Takes another configuration; a server given by the same options object stays as it is. */
  reload(options: readonly ServerOptions[]): Turnover {
    const joined: Server[] = []
    let place = 0
    const servers = options.map(one => {
      const known = this.#byOptions.get(one)
      const server = known ?? new Server(one, place, this.#context)
      if (known === undefined) joined.push(server)
      // Cursors that clients hold name places: a server that stays keeps its own as long as the order allows.
      else server.stay(Math.max(place, server.index))
      place = server.index + 1
      return server
    })
    const staying = new Set(servers)
    const left = this.#servers.filter(server => !staying.has(server))
    this.#servers = servers
    for (const server of joined) this.#byOptions.set(server.options, server)
    for (const server of left) this.#leaving.add(server)
    return { joined, left }
  }

  /** Closes a server that left when its calls are over, or after `limitMs`. Never rejects. */
  async dismiss(server: Server, limitMs: number): Promise<void> {
    await server.drain(limitMs)
    this.#leaving.delete(server)
    this.#byOptions.delete(server.options)
  }

  /** Ends the process that has been quiet for longest; false if there is none. Never rejects. */
  async makeRoom(): Promise<boolean> {
    const idle = this.#servers.flatMap(server => {
      const connection = server.options.isProcess ? server.idlest() : undefined
      return connection?.link === undefined ? [] : [{ server, connection }]
    })
    const sinceMs = ({ connection }: (typeof idle)[number]): number => connection.quietSinceMs ?? 0
    const [idlest] = idle.sort((one, other) => sinceMs(one) - sinceMs(other))
    if (idlest === undefined) return false
    await idlest.server.end(idlest.connection)
    return true
  }

  release(client: Client): void {
    for (const server of this.#everyone()) server.release(client)
  }

  /** All connections, also of servers that are being dismissed. */
  *connections(): Iterable<Connection> {
    for (const server of this.#everyone()) yield* server.connections
  }

  async close(): Promise<void> {
    this.#sweep.cancel()
    await Promise.all([...this.#everyone()].map(server => server.close()))
  }

  *#everyone(): Iterable<Server> {
    yield* this.#servers
    yield* this.#leaving
  }
}

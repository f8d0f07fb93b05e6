import type { Timer } from '../kernel/async/clock.js'
import type { Principal } from '../kernel/caller.js'
import type { Client } from '../model/links.js'
import type { Connection } from './connection.js'
import { ownedBy, type ServerOptions } from './dial.js'
import { Server, type ServerContext } from './server.js'

const SWEEP_MS = 10_000
const ANONYMOUS = 'anonymous '

export interface PoolContext extends ServerContext {
  /** Called when a principal's own server is given up, with all that was known of it in this process. */
  readonly onForgotten?: ((server: ServerOptions) => void) | undefined
}

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
  /** Those of principals, by the configured ones; the one that was wanted last is the last. */
  readonly #owned = new Map<Server, Map<Principal, Server>>()
  /** Servers that were given up and are not closed yet. */
  readonly #ending = new Set<Promise<void>>()
  readonly #context: PoolContext
  readonly #sweep: Timer
  #needsWorkspace = false

  constructor(options: readonly ServerOptions[], context: PoolContext) {
    this.#context = context
    this.reload(options)
    this.#sweep = context.clock.every(SWEEP_MS, () => {
      for (const server of this.#served()) server.sweep(context.clock.nowMs())
    })
  }

  get servers(): readonly Server[] {
    return this.#servers
  }

  /** Whether any server runs in the folder of its clients. */
  get needsWorkspace(): boolean {
    return this.#needsWorkspace
  }

  get leaving(): Iterable<Server> {
    return this.#leaving
  }

  of({ server }: Connection): Server | undefined {
    return this.#byOptions.get(server)
  }

  /**
   * The server that a principal has to itself in place of a configured one. Undefined for those who prove
   * nothing, who cannot sign in anywhere, and for one principal too many (`limits.principalsPerServer`).
   */
  ownedBy(server: Server, principal: Principal): Server | undefined {
    const owned = this.#owned.get(server) ?? new Map<Principal, Server>()
    this.#owned.set(server, owned)
    const known = owned.get(principal)
    if (known === undefined && (principal.startsWith(ANONYMOUS) || !this.#hasRoom(server, owned)))
      return undefined
    const found = known ?? this.#own(server, principal)
    owned.delete(principal)
    owned.set(principal, found)
    return found
  }

  /** The servers that principals have in place of this one. */
  ownedOf(server: Server): readonly Server[] {
    return [...(this.#owned.get(server)?.values() ?? [])]
  }

  /** The connections to a server, those of principals included. */
  connectionsOf(server: Server): readonly Connection[] {
    return [server, ...this.ownedOf(server)].flatMap(({ connections }) => [...connections])
  }

  #own(server: Server, principal: Principal): Server {
    const own = new Server(ownedBy(server.options, principal), server.index, this.#context)
    this.#byOptions.set(own.options, own)
    return own
  }

  /** Whether there is room for one more, perhaps in place of the one that was not in use for longest. */
  #hasRoom({ bounds, name }: Server, owned: Map<Principal, Server>): boolean {
    if (owned.size < bounds.max.principalsPerServer) return true
    for (const [principal, one] of owned) {
      if (one.isInUse) continue
      owned.delete(principal)
      this.#forget(one)
      return true
    }
    bounds.hit('principalsPerServer', { server: name })
    return false
  }

  #forget(server: Server): void {
    const ending = server.close().then(() => void this.#ending.delete(ending))
    this.#ending.add(ending)
    this.#byOptions.delete(server.options)
    this.#context.onForgotten?.(server.options)
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
      else {
        server.stay(Math.max(place, server.index))
        for (const own of this.ownedOf(server)) own.stay(server.index)
      }
      place = server.index + 1
      return server
    })
    const staying = new Set(servers)
    const gone = this.#servers.filter(server => !staying.has(server))
    const left = gone.flatMap(server => [server, ...this.ownedOf(server)])
    for (const server of gone) this.#owned.delete(server)
    this.#servers = servers
    this.#needsWorkspace = options.some(({ needsWorkspace }) => needsWorkspace === true)
    for (const server of joined) this.#byOptions.set(server.options, server)
    for (const server of left) this.#leaving.add(server)
    return { joined, left }
  }

  /** Closes a server that left when its calls are over, or after `limitMs`. Never rejects. */
  async dismiss(server: Server, limitMs: number): Promise<void> {
    await server.drain(limitMs)
    this.#leaving.delete(server)
    this.#forget(server)
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

  /** A client turned out to work in another folder than `from`. */
  moved(client: Client, from: string | undefined): void {
    for (const server of this.#everyone())
      if (server.options.needsWorkspace === true) server.moved(client, from)
  }

  /** Ends the connections that are a client's alone. */
  rests(client: Client): void {
    for (const server of this.#served()) if (server.options.sharing === 'session') server.release(client)
  }

  /** All connections, also of servers that are being dismissed. */
  *connections(): Iterable<Connection> {
    for (const server of this.#everyone()) yield* server.connections
  }

  async close(): Promise<void> {
    this.#sweep.cancel()
    await Promise.all([...this.#ending, ...[...this.#everyone()].map(server => server.close())])
  }

  *#served(): Iterable<Server> {
    yield* this.#servers
    for (const owned of this.#owned.values()) yield* owned.values()
  }

  *#everyone(): Iterable<Server> {
    yield* this.#served()
    yield* this.#leaving
  }
}

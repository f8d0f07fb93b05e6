import type { Timer } from '../kernel/async/clock.js'
import type { Principal } from '../kernel/caller.js'
import type { Client } from '../model/links.js'
import type { Connection } from './connection.js'
import { ownedBy, type ServerOptions } from './dial.js'
import { Server, type ServerContext } from './server.js'

const SWEEP_MS = 10_000
const ANONYMOUS = 'anonymous '

export interface PoolContext extends ServerContext {
  /** Called when a principal's own server is discarded with its state. */
  readonly onForgotten?: ((server: ServerOptions) => void) | undefined
}

export interface Turnover {
  readonly joined: readonly Server[]
  /** Removed servers. They accept no calls; calls in flight may finish until `dismiss`. */
  readonly left: readonly Server[]
}

/** Holds the configured servers in order, and the removed ones until they are closed. */
export class ServerPool {
  #servers: readonly Server[] = []
  /** By identity, since a new server may have the name of a removed one. */
  readonly #byOptions = new Map<ServerOptions, Server>()
  readonly #leaving = new Set<Server>()
  /** The principals' own servers by template, least recently used first. */
  readonly #owned = new Map<Server, Map<Principal, Server>>()
  /** Discarded servers that are still closing. */
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

  /** True if any server runs in its clients' folder. */
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
   * Returns a principal's own instance of a server. Undefined for unauthenticated clients, which cannot sign
   * in, and above `limits.principalsPerServer`.
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

  /** Returns all principals' own instances of a server. */
  ownedOf(server: Server): readonly Server[] {
    return [...(this.#owned.get(server)?.values() ?? [])]
  }

  /** Returns the connections to a server and to its principals' own instances. */
  connectionsOf(server: Server): readonly Connection[] {
    return [server, ...this.ownedOf(server)].flatMap(({ connections }) => [...connections])
  }

  #own(server: Server, principal: Principal): Server {
    const own = new Server(ownedBy(server.options, principal), server.index, this.#context)
    this.#byOptions.set(own.options, own)
    return own
  }

  /** Returns whether one more instance fits, after discarding the least recently used one if needed. */
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

  /** Applies another configuration. A server with the same options object stays. */
  reload(options: readonly ServerOptions[]): Turnover {
    const joined: Server[] = []
    let place = 0
    const servers = options.map(one => {
      const known = this.#byOptions.get(one)
      const server = known ?? new Server(one, place, this.#context)
      if (known === undefined) joined.push(server)
      // Clients' cursors refer to server positions, so a remaining server keeps its own where possible.
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

  /** Closes a removed server after its calls, or after `limitMs`. Never rejects. */
  async dismiss(server: Server, limitMs: number): Promise<void> {
    await server.drain(limitMs)
    this.#leaving.delete(server)
    this.#forget(server)
  }

  /** Ends the process that has been idle for longest; false if there is none. Never rejects. */
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

  /** Updates a client whose folder turned out not to be `from`. */
  moved(client: Client, from: string | undefined): void {
    for (const server of this.#everyone())
      if (server.options.needsWorkspace === true) server.moved(client, from)
  }

  /** Ends the connections that only this client uses. */
  rests(client: Client): void {
    for (const server of this.#served()) if (server.options.sharing === 'session') server.release(client)
  }

  /** Returns all connections, including those of removed servers. */
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

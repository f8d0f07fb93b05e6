import { Fault } from '../kernel/faults.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Client, Downlink, ServerRequestMode } from '../model/links.js'
import { Connection, type ConnectionContext } from './connection.js'
import type { ServerOptions } from './dial.js'
import { failuresOf } from './server-state.js'
import { lacksWorkspace, nobodysShare, profileOf, type Share, shareOf } from './sharing.js'
import type { Loss } from './supervisor.js'

export interface ServerContext extends ConnectionContext {
  /** Undefined where failures are not kept. */
  readonly failures?: FailureMemory | undefined
}

/** One configured server with all connections to it. */
export class Server {
  readonly options: ServerOptions
  #index: number
  readonly bounds: LimitCounters
  readonly #context: ServerContext
  readonly #connections = new Map<string, Connection>()
  /** The connections that clients have joined: a call finds its own without computing a key. */
  readonly #byClient = new Map<Client, Connection>()
  /** The connection on which the server keeps no sessions, so that all clients of its mode share it. */
  #common: Connection | undefined
  /** The connection that was made for nobody. */
  #nobodys: Connection | undefined
  /** The only mode of server requests that the server has, if it is known to have no other. */
  #only: ServerRequestMode | undefined
  /** Connections that are being closed: a remote server is told, which takes a moment. */
  readonly #ending = new Set<Promise<void>>()
  #unreached: Unreached | undefined
  #isClosed = false

  constructor(options: ServerOptions, index: number, context: ServerContext) {
    this.options = options
    this.#index = index
    this.bounds = (context.bounds ?? new LimitCounters()).narrowed(options.limits, { server: options.name })
    this.#context = { ...context, bounds: this.bounds, onMode: connection => this.#met(connection) }
    this.#unreached = context.failures?.lastOf(options)
  }

  get name(): string {
    return this.options.name
  }

  /** Its place among the configured servers, for the order of merged lists; there may be gaps. */
  get index(): number {
    return this.#index
  }

  /** Whether a client uses it, or may come back for something. */
  get isInUse(): boolean {
    return this.#connections.size > 0
  }

  /** Why its last connection ended without being reached; undefined once one was reached. */
  get unreached(): Unreached | undefined {
    return this.#unreached
  }

  stay(index: number): void {
    this.#index = index
    this.bounds.setOwn(this.options.limits)
  }

  /** Whether it is a process that does not run for this client: it has nothing to say to it. */
  isResting(client: Client, connection = this.connectionOf(client)): boolean {
    return this.options.isProcess && (connection?.state.at ?? 'idle') === 'idle'
  }

  /**
   * For how long the server has been starting for a client. While nobody reaches it the oldest attempt
   * counts, so that later clients need not wait as long again.
   */
  unansweredMs(client: Client): number {
    const all = [...this.#connections.values()]
    const own = all.some(({ link }) => link !== undefined) ? [this.connectionOf(client)] : all
    const startsMs = own.flatMap(connection =>
      connection?.state.at === 'starting' ? [connection.state.sinceMs] : [],
    )
    const nowMs = this.#context.clock.nowMs()
    return Math.max(0, nowMs - Math.min(nowMs, ...startsMs))
  }

  get connections(): Iterable<Connection> {
    return this.#connections.values()
  }

  connectionOf(client: Client): Connection | undefined {
    const known = this.#byClient.get(client)
    // A client keeps a connection that works, unless it only stood in for one of the client's own mode.
    if (known?.link !== undefined && known.clients.has(client) && this.#suits(known, client)) return known
    const mode = this.#only ?? client.serverRequests
    const shared = mode === 'returned' ? this.#shared : undefined
    if (shared !== undefined || this.#connections.size === 0) return shared
    const { keys } = shareOf(this.options.sharing, client)
    return this.#connections.get(keys[mode]) ?? this.#standIn(keys[otherMode(mode)])
  }

  /**
   * A connection of the other mode that will do: one for all in a folder, or one that starts for nobody, and
   * whose mode is not known yet. Another program would only be started to learn the same.
   */
  #standIn(key: string): Connection | undefined {
    const other = this.#connections.get(key)
    const startsForNobody = other !== undefined && other === this.#nobodys && other.state.at === 'starting'
    return this.#isOnePerFolder || (startsForNobody && other.facts === undefined) ? other : undefined
  }

  /** The connection that `client` uses from now on, open or not. Throws once the server is closed. */
  connectionFor(client: Client): Connection {
    this.#checkServed()
    const known = this.#byClient.get(client)
    const connection = this.#placeFor(client)
    if (known === connection && connection.clients.has(client)) return connection
    known?.leave(client)
    this.#byClient.set(client, connection)
    connection.join(client)
    return connection
  }

  /** Opens the connection that `client` would use, to receive notifications. Rejects with a Fault. */
  async open(client: Client): Promise<Downlink> {
    this.#checkServed()
    return this.#placeFor(client).open()
  }

  #placeFor(client: Client): Connection {
    if (lacksWorkspace(this.options, client)) {
      throw new Fault('unavailable', `Server ${this.name} waits for a client with a workspace (D033)`)
    }
    const known = this.connectionOf(client)
    return (
      known ?? this.#connection(shareOf(this.options.sharing, client), this.#only ?? client.serverRequests)
    )
  }

  /** The profile of `client` (`profileOf`), and the one it has where the server lacks the client's mode. */
  profilesOf(client: Client): readonly [own: string, other: string] {
    const declared = shareOf(this.options.sharing, client).capabilities
    const mode = this.#only ?? client.serverRequests
    return [profileOf(declared, mode), profileOf(declared, otherMode(mode))]
  }

  #met(connection: Connection): void {
    const { link, serverRequests } = connection
    if (link !== undefined) {
      this.#note(undefined)
      this.#only = link.hasOtherMode ? undefined : serverRequests
      if (serverRequests === 'returned' && this.#shared === undefined) this.#common = connection
    }
    this.#place(connection)
  }

  /** Files a connection under the mode in which its server turned out to make requests. */
  #place(connection: Connection): void {
    const key = connection.share.keys[connection.serverRequests]
    if (this.#connections.has(key)) return
    for (const [former, one] of this.#connections) {
      if (one !== connection) continue
      this.#connections.delete(former)
      this.#connections.set(key, connection)
      return
    }
  }

  /** Whether a connection has the client's mode, or the server is known not to have that. */
  #suits({ serverRequests }: Connection, client: Client): boolean {
    return (
      serverRequests === client.serverRequests ||
      this.#isOnePerFolder ||
      (this.#only !== undefined && this.#only !== client.serverRequests)
    )
  }

  /** Whether all clients in a folder meet in one process, whatever they speak and can be asked. */
  get #isOnePerFolder(): boolean {
    return this.options.sharing === 'workspace'
  }

  get #shared(): Connection | undefined {
    // Without sessions, but in a folder all the same.
    if (this.options.needsWorkspace === true) return undefined
    return this.#common?.serverRequests === 'returned' ? this.#common : undefined
  }

  /** Opens a connection that belongs to no client, unless there is one. Rejects with a Fault. */
  start(): Promise<Downlink> {
    this.#checkServed()
    if (this.options.needsWorkspace === true)
      return Promise.reject(new Fault('unavailable', 'it starts in the folder of a client'))
    const [first] = this.#connections.values()
    if (first !== undefined) return first.open()
    this.#nobodys = this.#connection(nobodysShare(this.options.sharing), 'returned')
    return this.#nobodys.open()
  }

  release(client: Client): void {
    this.#byClient.delete(client)
    for (const [key, connection] of this.#connections) {
      connection.leave(client)
      if (this.#isAbandoned(connection)) void this.#end(key)
    }
  }

  /** Takes a client from where it was thought to work; what was started there for nothing but lists ends. */
  moved(client: Client, from: string | undefined): void {
    this.#byClient.delete(client)
    for (const [key, connection] of this.#connections) {
      if (connection.share.workspace !== from) continue
      connection.leave(client)
      if (connection.clients.size === 0 && !connection.hasCarried) void this.#end(key)
    }
  }

  /**
   * The connection, not kept, that has been quiet for longest: a client that left without a word cannot be
   * told from a silent one.
   */
  idlest(): Connection | undefined {
    let idlest: Connection | undefined
    for (const connection of this.#connections.values()) {
      const { quietSinceMs } = connection
      if (quietSinceMs === undefined || connection === this.#shared || this.#isKept(connection)) continue
      if (quietSinceMs < (idlest?.quietSinceMs ?? Number.POSITIVE_INFINITY)) idlest = connection
    }
    return idlest
  }

  /** Its clients get another with their next call. Never rejects. */
  async end(connection: Connection): Promise<void> {
    for (const [key, one] of this.#connections) if (one === connection) await this.#end(key)
  }

  sweep(nowMs: number): void {
    for (const [key, connection] of this.#connections) {
      if (connection.idleSinceMs === undefined || this.#isKept(connection)) continue
      const isLong = nowMs - connection.idleSinceMs > this.options.idleStopMs
      if (isLong || this.#isSpare(connection) || this.#isAbandoned(connection)) void this.#end(key)
    }
  }

  /** Takes no more clients, and closes when calls are over or after `limitMs`. Never rejects. */
  async drain(limitMs: number): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#connections.values()].map(connection => connection.drain(limitMs)))
    await this.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const connections = [...this.#connections.values()]
    // One that was reached may have been ended by the signal that ends us.
    for (const connection of connections)
      if (connection.facts === undefined) this.#note(unreachedOn(connection) ?? this.#unreached)
    this.#connections.clear()
    this.#byClient.clear()
    this.#common = undefined
    this.#nobodys = undefined
    await Promise.all([...this.#ending, ...connections.map(connection => connection.close())])
  }

  /** An eager server keeps one connection whoever comes and goes. */
  #isKept(connection: Connection): boolean {
    if (this.#context.listener.isKept(connection)) return true
    if (this.#isAbandoned(connection)) return false
    return this.options.start === 'eager' && this.#connections.size === 1 && connection.state.at !== 'idle'
  }

  /** Whether it was one client's alone, which is gone and will not come back for an answer. */
  #isAbandoned(connection: Connection): boolean {
    if (this.options.sharing !== 'session' || connection === this.#shared) return false
    const isAlone = connection.wasUsed && connection.clients.size === 0
    return isAlone && !this.#context.listener.isKept(connection)
  }

  /** Whether nobody ever used it and there is another. */
  #isSpare(connection: Connection): boolean {
    if (connection.wasUsed) return false
    return [...this.#connections.values()].some(other => other !== connection && other.link !== undefined)
  }

  #connection(share: Share, mode: ServerRequestMode): Connection {
    const key = share.keys[mode]
    const known = this.#connections.get(key)
    if (known !== undefined) return known
    if (this.options.isPerPrincipal) throw new Fault('internal', `Server ${this.name} is nobody's own`)
    this.#makeRoom()
    const connection = new Connection(this.options, share, mode, this.#context)
    this.#connections.set(key, connection)
    return connection
  }

  /** Ends the idlest connection if there are as many as there may be. Throws a Fault if none is idle. */
  #makeRoom(): void {
    const { bounds, name } = this
    const limit = this.options.isProcess ? 'childrenPerServer' : 'connectionsPerServer'
    const max = bounds.max[limit]
    if (this.#connections.size < max) return
    const full = bounds.overloaded(limit, `Server ${name} has ${max} connections already`, { server: name })
    const idlest = this.idlest()
    if (idlest === undefined) throw full
    void this.end(idlest)
  }

  #note(unreached: Unreached | undefined): void {
    if (unreached === this.#unreached) return
    this.#unreached = unreached
    this.#context.failures?.keep(this.options, unreached)
  }

  #checkServed(): void {
    if (this.#isClosed) throw new Fault('unavailable', `Server ${this.name} is not served any more`)
  }

  async #end(key: string): Promise<void> {
    const connection = this.#connections.get(key)
    this.#connections.delete(key)
    if (connection === this.#common) this.#common = undefined
    if (connection === this.#nobodys) this.#nobodys = undefined
    if (connection === undefined) return
    this.#note(unreachedOn(connection) ?? this.#unreached)
    const ending = connection.close()
    this.#ending.add(ending)
    await ending
    this.#ending.delete(ending)
  }
}

/** Why a server could not be reached, and how many times in a row. */
export interface Unreached extends Loss {
  readonly failures: number
}

/** PORT. Keeps between runs why servers could not be reached (`state/server-failures.ts`). Never throws. */
export interface FailureMemory {
  /** Undefined if no failure is known of the server as it is configured and installed now. */
  lastOf(server: ServerOptions): Unreached | undefined
  /** Replaces a server's failure; undefined forgets it. */
  keep(server: ServerOptions, unreached: Unreached | undefined): void
}

const unreachedOn = ({ state, lastLoss }: Connection): Unreached | undefined => {
  const failures = failuresOf(state)
  if (lastLoss === undefined || (failures === 0 && state.at !== 'needs-auth')) return undefined
  return { ...lastLoss, failures }
}

const otherMode = (mode: ServerRequestMode): ServerRequestMode => (mode === 'pushed' ? 'returned' : 'pushed')

import { Fault } from '../kernel/faults.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Client, Downlink, ServerRequestMode } from '../model/links.js'
import { Connection, type ConnectionContext } from './connection.js'
import type { ServerOptions } from './dial.js'
import { failuresOf } from './server-state.js'
import { ClientShares, lacksWorkspace, profileOf, type Share, unownedShare } from './sharing.js'
import type { Loss } from './supervisor.js'

export interface ServerContext extends ConnectionContext {
  /** Undefined without a memory of failures. */
  readonly failures?: FailureMemory | undefined
  /** True if the server is the only one, and exposed unchanged. */
  readonly isAlone?: boolean | undefined
}

/** One configured server with all its connections. */
export class Server {
  readonly options: ServerOptions
  readonly name: string
  #index: number
  readonly bounds: LimitCounters
  readonly #context: ServerContext
  /** The clients' shares, and what they declare to the server. */
  readonly shares: ClientShares
  readonly #connections = new Map<string, Connection>()
  /** Connections by client, so that calls need not compute a key. */
  readonly #byClient = new Map<Client, Connection>()
  /** The connection without sessions, shared by all clients of its mode. */
  #common: Connection | undefined
  /** The connection that was opened before any client. */
  #unowned: Connection | undefined
  /** The only mode of server requests that the server supports, once known. */
  #only: ServerRequestMode | undefined
  /** Connections that are still closing; closing a remote session takes a request. */
  readonly #ending = new Set<Promise<void>>()
  #unreached: Unreached | undefined
  #isClosed = false

  constructor(options: ServerOptions, index: number, context: ServerContext) {
    this.options = options
    this.name = options.name
    this.#index = index
    this.bounds = (context.bounds ?? new LimitCounters()).narrowed(options.limits, { server: options.name })
    this.shares = new ClientShares(options, context.isAlone)
    this.#context = {
      ...context,
      bounds: this.bounds,
      onMode: connection => this.#met(connection),
      shares: this.shares,
    }
    this.#unreached = context.failures?.lastOf(options)
  }

  /** Position among the configured servers, for the order of merged lists; may have gaps. */
  get index(): number {
    return this.#index
  }

  /** True if a client uses the server, or may return for an answer. */
  get isInUse(): boolean {
    return this.#connections.size > 0
  }

  /** The reason why the last connection attempt failed; undefined once one succeeded. */
  get unreached(): Unreached | undefined {
    return this.#unreached
  }

  stay(index: number): void {
    this.#index = index
    this.bounds.setOwn(this.options.limits)
  }

  /** Returns whether the server is a process that is not running for this client. */
  isResting(client: Client, connection = this.connectionOf(client)): boolean {
    return this.options.isProcess && (connection?.state.at ?? 'idle') === 'idle'
  }

  /**
   * Returns for how long the server has been starting for a client. While no attempt succeeds the oldest one
   * counts, so that later clients do not wait the full time again.
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
    if (known !== undefined && this.#keeps(known, client)) return known
    const mode = this.#only ?? client.serverRequests
    const shared = mode === 'returned' ? this.#shared : undefined
    if (shared !== undefined || this.#connections.size === 0) return shared
    const { keys } = this.shares.of(client)
    return this.#connections.get(keys[mode]) ?? this.#standIn(keys[otherMode(mode)])
  }

  /**
   * Returns a connection of the other mode that can serve instead: one per folder, or one that started
   * without clients and whose mode is still unknown. This avoids starting another process.
   */
  #standIn(key: string): Connection | undefined {
    const other = this.#connections.get(key)
    const isStartingUnowned = other !== undefined && other === this.#unowned && other.state.at === 'starting'
    return this.#isOnePerFolder || (isStartingUnowned && other.facts === undefined) ? other : undefined
  }

  /** Assigns a connection to `client`, open or not. Throws once the server is closed. */
  connectionFor(client: Client): Connection {
    if (this.#isClosed) throw this.#notServed()
    const known = this.#byClient.get(client)
    if (known !== undefined && this.#keeps(known, client)) return known
    const connection = this.#placeFor(client)
    if (known === connection && connection.clients.has(client)) return connection
    known?.leave(client)
    this.#byClient.set(client, connection)
    connection.join(client)
    return connection
  }

  /** Opens the connection of `client`, to receive notifications. Rejects with a Fault. */
  async open(client: Client): Promise<Downlink> {
    if (this.#isClosed) throw this.#notServed()
    return this.#placeFor(client).open()
  }

  #placeFor(client: Client): Connection {
    if (lacksWorkspace(this.options, client)) {
      throw new Fault('unavailable', `Server ${this.name} waits for a client with a workspace (D033)`)
    }
    const known = this.connectionOf(client)
    return known ?? this.#connection(this.shares.of(client), this.#only ?? client.serverRequests)
  }

  /** Returns the profile of `client` (`profileOf`), and its profile in the other mode. */
  profilesOf(client: Client): readonly [own: string, other: string] {
    const { capabilities: declared, headersKey } = this.shares.of(client)
    const set = this.shares.declaredBy(client)
    const mode = this.#only ?? client.serverRequests
    return [profileOf(declared, mode, set, headersKey), profileOf(declared, otherMode(mode), set, headersKey)]
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

  /** Files a connection under the mode that its server turned out to use. */
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

  /** Returns whether a client keeps a connection: it works, and is not a substitute for one of its mode. */
  #keeps({ link, clients, serverRequests }: Connection, client: Client): boolean {
    if (link === undefined || !clients.has(client)) return false
    return (
      serverRequests === client.serverRequests ||
      this.#isOnePerFolder ||
      (this.#only !== undefined && this.#only !== client.serverRequests)
    )
  }

  /** True if all clients in a folder share one process, regardless of mode and capabilities. */
  get #isOnePerFolder(): boolean {
    return this.options.sharing === 'workspace'
  }

  get #shared(): Connection | undefined {
    // Without sessions, but still one connection per folder or set of headers.
    if (this.options.needsWorkspace === true || this.options.passing !== undefined) return undefined
    return this.#common?.serverRequests === 'returned' ? this.#common : undefined
  }

  /** Opens a connection without clients, unless there is one. Rejects with a Fault. */
  start(): Promise<Downlink> {
    if (this.#isClosed) throw this.#notServed()
    if (this.options.needsWorkspace === true)
      return Promise.reject(new Fault('unavailable', 'it starts in the folder of a client'))
    const [first] = this.#connections.values()
    if (first !== undefined) return first.open()
    this.#unowned = this.#connection(unownedShare(this.options.sharing), 'returned')
    return this.#unowned.open()
  }

  release(client: Client): void {
    this.#byClient.delete(client)
    this.shares.release(client)
    for (const [key, connection] of this.#connections) {
      connection.leave(client)
      if (this.#isAbandoned(connection)) void this.#end(key)
    }
  }

  /** Moves a client out of folder `from`, and ends connections opened there only for lists. */
  moved(client: Client, from: string | undefined): void {
    this.#byClient.delete(client)
    for (const [key, connection] of this.#connections) {
      if (connection.share.workspace !== from) continue
      connection.leave(client)
      if (connection.clients.size === 0 && !connection.hasCarried) void this.#end(key)
    }
  }

  /**
   * Returns the idlest connection that is not kept. A client that vanished silently looks like an idle one.
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

  /** Ends a connection; its clients get another one with their next call. Never rejects. */
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

  /** Accepts no more clients, and closes after the last call or `limitMs`. Never rejects. */
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
    this.#unowned = undefined
    await Promise.all([...this.#ending, ...connections.map(connection => connection.close())])
  }

  /** Returns whether a connection stays open without clients, as one of an eager server does. */
  #isKept(connection: Connection): boolean {
    if (this.#context.listener.isKept(connection)) return true
    if (this.#isAbandoned(connection)) return false
    return this.options.start === 'eager' && this.#connections.size === 1 && connection.state.at !== 'idle'
  }

  /** Returns whether the only client of a connection is gone for good. */
  #isAbandoned(connection: Connection): boolean {
    if (this.options.sharing !== 'session' || connection === this.#shared) return false
    const isAlone = connection.wasUsed && connection.clients.size === 0
    return isAlone && !this.#context.listener.isKept(connection)
  }

  /** Returns whether a connection was never used and is redundant. */
  #isSpare(connection: Connection): boolean {
    if (connection.wasUsed) return false
    return [...this.#connections.values()].some(other => other !== connection && other.link !== undefined)
  }

  #connection(share: Share, mode: ServerRequestMode): Connection {
    const key = share.keys[mode]
    const known = this.#connections.get(key)
    if (known !== undefined) return known
    if (this.options.isPerPrincipal) throw new Fault('internal', `Server ${this.name} has no owner`)
    this.#makeRoom()
    const connection = new Connection(this.options, share, mode, this.#context)
    this.#connections.set(key, connection)
    return connection
  }

  /** Ends the idlest connection at the limit. Throws a Fault if none is idle. */
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

  #notServed(): Fault {
    return new Fault('unavailable', `Server ${this.name} is no longer served`)
  }

  async #end(key: string): Promise<void> {
    const connection = this.#connections.get(key)
    this.#connections.delete(key)
    if (connection === this.#common) this.#common = undefined
    if (connection === this.#unowned) this.#unowned = undefined
    if (connection === undefined) return
    this.#note(unreachedOn(connection) ?? this.#unreached)
    const ending = connection.close()
    this.#ending.add(ending)
    await ending
    this.#ending.delete(ending)
  }
}

/** The last failure to reach a server, and the number of consecutive failures. */
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

import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../metering/meter.js'
import type {
  Client,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  ServerRequest,
  ServerRequestMode,
} from '../model/links.js'
import { failed } from '../model/outcome.js'
import type { ServerFacts } from '../model/peer.js'
import type { Tracer } from '../model/tracer.js'
import { ConnectionMeter } from './connection-meter.js'
import type { Dial, Greeting, ServerOptions } from './dial.js'
import { OwnRequests } from './own-requests.js'
import { PastClients } from './past-clients.js'
import type { ServerState } from './server-state.js'
import { type Share, shareOf } from './sharing.js'
import { type Loss, Supervisor } from './supervisor.js'

export interface ConnectionListener {
  /** Called when the server can be asked, for the first time or after a loss. */
  ready(connection: Connection): void
  /** Called when the server is gone, after its calls have ended with a fault, or could not be reached. */
  lost(connection: Connection, why: Fault): void
  joined(connection: Connection, client: Client): void
  parted(connection: Connection, client: Client): void
  /** Called when the proxy has closed the connection for good. */
  ended(connection: Connection): void
  /** Whether it must stay without clients: for an answer that is still to come, or a subscription. */
  isKept(connection: Connection): boolean
  serverRequested(connection: Connection, request: ServerRequest): void
  serverNotified(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
  ): void
}

export interface ConnectionContext {
  readonly dial: Dial
  readonly listener: ConnectionListener
  readonly clock: Clock
  readonly log: Logger
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  /** Undefined where nothing is counted. */
  readonly meter?: Meter | undefined
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** Called before the listener when the mode of a server's requests may have become known. */
  readonly onMode?: (connection: Connection) => void
}

interface Attempt {
  readonly abort: AbortController
  /** Set if the server was gone before it could be used. */
  died: Fault | undefined
}

/** A connection to a server, shared by the clients of its key; reopened when lost. */
export class Connection {
  readonly server: ServerOptions
  readonly share: Share
  readonly clients = new Set<Client>()
  readonly bounds: LimitCounters
  readonly meter: ConnectionMeter
  readonly ownRequests = new OwnRequests()
  readonly #context: ConnectionContext
  readonly #supervisor: Supervisor
  #link: Downlink | undefined
  #serverRequests: ServerRequestMode
  #facts: ServerFacts | undefined
  #opening: Promise<Downlink> | undefined
  /** The current one; what comes from an earlier one is ignored. */
  #attempt: Attempt | undefined
  #isClosed = false
  #isRetired = false
  #underWay = 0
  #quiet: Deferred<void> | undefined
  /** Resolved when the next attempt begins, or when there will be none. */
  #due: Deferred<void> | undefined
  readonly #past = new PastClients()
  #idleSinceMs: number
  #hasCarried = false

  constructor(
    server: ServerOptions,
    share: Share,
    serverRequests: ServerRequestMode,
    context: ConnectionContext,
  ) {
    this.server = server
    this.share = share
    this.#serverRequests = serverRequests
    this.#context = context
    this.bounds = context.bounds ?? new LimitCounters()
    this.#idleSinceMs = context.clock.nowMs()
    this.meter = new ConnectionMeter(server, context)
    this.#supervisor = new Supervisor(server, {
      clock: context.clock,
      isNeeded: () => this.#isNeeded(),
      // Whoever waits for it, and the log, hear how that ends.
      start: () => void this.#start().catch(() => undefined),
    })
  }

  get state(): ServerState {
    return this.#supervisor.state
  }

  get sinceMs(): number {
    return this.#supervisor.sinceMs
  }

  /** Why it was last lost or could not be opened; kept when it works again. */
  get lastLoss(): Loss | undefined {
    return this.#supervisor.lastLoss
  }

  /** The mode in which the server last made its requests, or is wanted to; it decides what may be shared. */
  get serverRequests(): ServerRequestMode {
    return this.#serverRequests
  }

  get facts(): ServerFacts | undefined {
    return this.#facts
  }

  get link(): Downlink | undefined {
    return this.state.at === 'ready' ? this.#link : undefined
  }

  /**
   * The only client that ever used this connection, if it is certain to be one person: everything that the
   * server sends is for it.
   */
  get onlyClient(): Client | undefined {
    return this.#past.only
  }

  get wasUsed(): boolean {
    return !this.#past.isNone
  }

  get idleSinceMs(): number | undefined {
    return this.clients.size === 0 && this.#underWay === 0 ? this.#idleSinceMs : undefined
  }

  get quietSinceMs(): number | undefined {
    return this.#underWay === 0 && this.state.at !== 'starting' ? this.#idleSinceMs : undefined
  }

  join(client: Client): void {
    if (this.clients.has(client)) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.clients.add(client)
    this.#past.joined(client)
    this.#context.listener.joined(this, client)
  }

  leave(client: Client): void {
    if (!this.clients.delete(client)) return
    this.#past.left(client)
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#context.listener.parted(this, client)
  }

  /**
   * Opens the link if need be; all callers share one attempt. Rejects with a Fault `unavailable` that says
   * when to try again: at once while the next attempt is not due, or while one is made in a crash loop.
   */
  open(): Promise<Downlink> {
    if (this.#isClosed || this.#isRetired) return Promise.reject(this.#supervisor.unavailable(stopped()))
    if (this.link !== undefined) return Promise.resolve(this.link)
    const notDue = this.#supervisor.notDue()
    if (notDue !== undefined) return Promise.reject(notDue)
    return this.#opening ?? this.#start()
  }

  /** The same for a call that was here when the link was lost: it waits until the next attempt is due. */
  async reopen(): Promise<Downlink> {
    if (this.state.at === 'backoff' && !this.#isRetired) {
      this.#due ??= new Deferred()
      await this.#due.promise
    }
    return this.open()
  }

  /** Tries again at once where a login was missing, if anybody needs it. */
  retryLogin(): void {
    if (this.state.at !== 'needs-auth') return
    this.#supervisor.step({ is: 'stop' })
    if (this.#isNeeded()) void this.#start().catch(() => undefined)
  }

  /** Whether this is the current link, though it may take no more calls. */
  isOpen(link: Downlink): boolean {
    return this.#link === link
  }

  /** Whether a call of a client was ever sent over the current link, or the last one. */
  get hasCarried(): boolean {
    return this.#hasCarried
  }

  /** Notes that a call of a client is about to be sent over the link; true for the first one. */
  carry(): boolean {
    const isFirst = !this.#hasCarried
    this.#hasCarried = true
    return isFirst
  }

  /** How many calls of clients are under way, those that wait for the link included. */
  get underWay(): number {
    return this.#underWay
  }

  callBegan(): void {
    this.#underWay += 1
  }

  /** Notes that the server has answered a call of a client: it works. */
  served(): void {
    this.#supervisor.served()
  }

  /** In how many milliseconds the server could be asked again if it were lost now; undefined if never. */
  get retryAfterLossMs(): number | undefined {
    return this.#supervisor.retryAfterLossMs
  }

  callEnded(): void {
    this.#underWay -= 1
    if (this.#underWay > 0) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#quiet?.resolve()
  }

  /** Takes no more calls, and closes when those under way are over or after `limitMs`. Never rejects. */
  async drain(limitMs: number): Promise<void> {
    this.#isRetired = true
    this.#attemptDue()
    this.#supervisor.step({ is: 'retire' })
    if (this.#underWay > 0) {
      this.#quiet = new Deferred()
      await within(this.#quiet.promise, { clock: this.#context.clock, ms: limitMs })
    }
    await this.close()
  }

  /** Stops the server for good; calls under way end with a fault. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#context.listener.ended(this)
    this.#supervisor.step({ is: 'stop' })
    this.#attempt?.abort.abort()
    this.#attempt = undefined
    this.#attemptDue()
    const link = this.#link
    this.#link = undefined
    this.meter.closed()
    await this.#opening?.catch(() => undefined)
    await link?.close()
  }

  #start(): Promise<Downlink> {
    this.#supervisor.step({ is: 'start' })
    const attempt: Attempt = { abort: new AbortController(), died: undefined }
    this.#attempt = attempt
    this.#hasCarried = false
    this.meter.starting()
    this.#opening = this.#dial(attempt)
    this.#attemptDue()
    return this.#opening
  }

  async #dial(attempt: Attempt): Promise<Downlink> {
    const { dial, log, listener, onMode } = this.#context
    let link: Downlink | undefined
    try {
      link = await dial(this.server, this.#greeting(), this.#listenerOf(attempt), attempt.abort.signal)
      if (attempt !== this.#attempt) throw stopped()
      if (attempt.died !== undefined) throw attempt.died
      this.#serverRequests = link.serverRequests
      this.#facts = link.facts
      if (this.#releaseStrangers())
        throw new Fault('unavailable', 'it has become one that cannot be shared; try again')
    } catch (thrown) {
      const why = Fault.from(thrown)
      await link?.close()
      this.#opening = undefined
      if (attempt === this.#attempt) this.#lost(why, 'could not reach a server')
      throw this.#supervisor.unavailable(why)
    }
    this.#opening = undefined
    this.#link = link
    this.#supervisor.step({ is: 'ready' })
    this.meter.ready(link)
    if (this.#isRetired) {
      this.#supervisor.step({ is: 'retire' })
      return link
    }
    log.info({ server: this.server.name, revision: link.facts.revision }, 'server is ready')
    onMode?.(this)
    listener.ready(this)
    return link
  }

  /**
   * Releases clients that must not share this connection: the server was shared beyond the key as one without
   * sessions, and has turned out to have them. Returns whether there were any.
   */
  #releaseStrangers(): boolean {
    if (this.#serverRequests === 'returned') return false
    const { server, share } = this
    const strangers = [...this.clients].filter(client => shareOf(server.sharing, client).key !== share.key)
    for (const client of strangers) this.leave(client)
    return strangers.length > 0
  }

  #greeting(): Greeting {
    const { clients, server, share } = this
    const isOnes = server.sharing === 'session'
    return {
      // Legacy first if any client is: the server is tried in the modern way all the same.
      serverRequests: [...clients].some(({ serverRequests }) => serverRequests === 'pushed')
        ? 'pushed'
        : this.#serverRequests,
      capabilities: share.capabilities,
      workspace: share.workspace,
      clientInfo: isOnes ? this.#past.first?.info : undefined,
      session: isOnes ? this.#past.first?.sessionAt?.(server.name) : undefined,
    }
  }

  #listenerOf(attempt: Attempt): DownlinkListener {
    const { listener } = this.#context
    return {
      requested: request => {
        if (attempt === this.#attempt) listener.serverRequested(this, request)
        else request.answer(failed(new Fault('disconnected', 'The connection is closed')))
      },
      notified: (method, params, about) => {
        if (attempt === this.#attempt) listener.serverNotified(this, method, params, about)
      },
      closed: why => this.#closed(attempt, why),
    }
  }

  #closed(attempt: Attempt, why: Fault): void {
    attempt.died = why
    if (attempt !== this.#attempt || (this.state.at !== 'ready' && this.state.at !== 'draining')) return
    this.#link = undefined
    this.#lost(why, 'lost a server')
  }

  #lost(why: Fault, words: string): void {
    const { log, listener, onMode } = this.#context
    if (this.state.at === 'ready') this.bounds.remark('lost')
    this.#supervisor.lost(why)
    this.meter.lost(why)
    log.warn({ server: this.server.name, why: why.message, state: this.state.at }, words)
    onMode?.(this)
    listener.lost(this, why)
  }

  #attemptDue(): void {
    this.#due?.resolve()
    this.#due = undefined
  }

  #isNeeded(): boolean {
    if (this.#isRetired) return false
    return this.clients.size > 0 || this.server.start === 'eager' || this.#context.listener.isKept(this)
  }
}

const stopped = (): Fault => new Fault('unavailable', 'it was stopped')

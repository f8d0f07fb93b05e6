import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../kernel/meter.js'
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
import { ClientShares, type Share } from './sharing.js'
import { type Loss, Supervisor } from './supervisor.js'

export interface ConnectionListener {
  /** Called when the server is ready, for the first time or after a loss. */
  ready(connection: Connection): void
  /** Called when the server is lost, after its calls ended with a fault, or when it could not be reached. */
  lost(connection: Connection, why: Fault): void
  joined(connection: Connection, client: Client): void
  parted(connection: Connection, client: Client): void
  /** Called when the proxy has closed the connection for good. */
  ended(connection: Connection): void
  /** Returns whether the connection must stay without clients: for a pending answer or a subscription. */
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
  /** Defaults to the standard limits. */
  readonly bounds?: LimitCounters | undefined
  /** Undefined without metering. */
  readonly meter?: Meter | undefined
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined
  /** The clients' shares and declarations; set by the server. */
  readonly shares?: ClientShares
  /** Called before the listener when the mode of a server's requests may have become known. */
  readonly onMode?: (connection: Connection) => void
}

interface Attempt {
  readonly abort: AbortController
  /** Set if the server was lost before it was usable. */
  died: Fault | undefined
}

/** A connection to a server, shared by the clients of its key; reopened when lost. */
export class Connection {
  readonly server: ServerOptions
  readonly share: Share
  readonly shares: ClientShares
  readonly clients = new Set<Client>()
  readonly bounds: LimitCounters
  readonly meter: ConnectionMeter
  readonly ownRequests = new OwnRequests()
  readonly #context: ConnectionContext
  readonly #supervisor: Supervisor
  /** The open link; undefined unless calls may be sent. */
  link: Downlink | undefined
  /** The mode of the server's last requests, or the requested one; it decides about sharing. */
  serverRequests: ServerRequestMode
  /** The facts of the current or last link. */
  facts: ServerFacts | undefined
  /** True if the current or last link ever carried a client's call; set by the call. */
  hasCarried = false
  /** The number of client calls in flight, including calls that wait for the link; see `CallTable`. */
  inFlight = 0
  /**
   * The only client that ever used this connection, if it is certainly one person: it receives every message
   * of the server.
   */
  onlyClient: Client | undefined
  /** The current link, which may be draining. */
  #link: Downlink | undefined
  #opening: Promise<Downlink> | undefined
  /** The current attempt; events of earlier ones are ignored. */
  #attempt: Attempt | undefined
  #isClosed = false
  #isRetired = false
  /** True if the current link ever served a client. */
  #hasServed = false
  #quiet: Deferred<void> | undefined
  /** Resolves when the next attempt begins, or when there will be none. */
  #due: Deferred<void> | undefined
  readonly #past = new PastClients()
  #idleSinceMs: number

  constructor(
    server: ServerOptions,
    share: Share,
    serverRequests: ServerRequestMode,
    context: ConnectionContext,
  ) {
    this.server = server
    this.share = share
    this.serverRequests = serverRequests
    this.#context = context
    this.shares = context.shares ?? new ClientShares(server)
    this.bounds = context.bounds ?? new LimitCounters()
    this.#idleSinceMs = context.clock.nowMs()
    this.meter = new ConnectionMeter(server, context)
    this.#supervisor = new Supervisor(server, {
      clock: context.clock,
      isNeeded: () => this.#isNeeded(),
      // The failure reaches the callers that wait for the start, and the log.
      start: () => void this.#start().catch(() => undefined),
    })
  }

  get state(): ServerState {
    return this.#supervisor.state
  }

  get sinceMs(): number {
    return this.#supervisor.sinceMs
  }

  /** The last loss or failed attempt; kept after a successful restart. */
  get lastLoss(): Loss | undefined {
    return this.#supervisor.lastLoss
  }

  get wasUsed(): boolean {
    return !this.#past.isNone
  }

  get idleSinceMs(): number | undefined {
    return this.clients.size === 0 && this.inFlight === 0 ? this.#idleSinceMs : undefined
  }

  get quietSinceMs(): number | undefined {
    return this.inFlight === 0 && this.state.at !== 'starting' ? this.#idleSinceMs : undefined
  }

  join(client: Client): void {
    if (this.clients.has(client)) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.clients.add(client)
    this.#past.joined(client)
    this.onlyClient = this.#past.only
    this.#context.listener.joined(this, client)
  }

  leave(client: Client): void {
    if (!this.clients.delete(client)) return
    this.#past.left(client)
    this.onlyClient = this.#past.only
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#context.listener.parted(this, client)
  }

  /**
   * Opens the link if needed; all callers share one attempt. Rejects with a Fault `unavailable` with the time
   * of the next attempt: immediately while no attempt is due, or while one is in progress in a crash loop.
   */
  open(): Promise<Downlink> {
    if (this.#isClosed || this.#isRetired) return Promise.reject(this.#supervisor.unavailable(stopped()))
    if (this.link !== undefined) return Promise.resolve(this.link)
    const notDue = this.#supervisor.notDue()
    if (notDue !== undefined)
      return this.#supervisor.pause()?.then(() => this.open()) ?? Promise.reject(notDue)
    return this.#opening ?? this.#start()
  }

  /** Like `open`, for a call that was waiting when the link was lost: waits until the next attempt is due. */
  async reopen(): Promise<Downlink> {
    if (this.state.at === 'backoff' && !this.#isRetired) {
      this.#due ??= new Deferred()
      await this.#due.promise
    }
    return this.open()
  }

  /** Retries immediately after a missing login, if the connection is needed. */
  retryLogin(): void {
    if (this.state.at !== 'needs-auth') return
    this.#supervisor.step({ is: 'stop' })
    if (this.#isNeeded()) void this.#start().catch(() => undefined)
  }

  /** Returns whether this is the current link. It may no longer accept calls. */
  isOpen(link: Downlink): boolean {
    return this.#link === link
  }

  /** Records that the server answered a client's call, and therefore works. */
  served(): void {
    if (this.#hasServed || this.state.at !== 'ready') return
    this.#hasServed = true
    this.#supervisor.step({ is: 'served' })
  }

  /** Milliseconds until the server could be asked again after a loss now; undefined if never. */
  get retryAfterLossMs(): number | undefined {
    return this.#supervisor.retryAfterLossMs
  }

  callEnded(): void {
    this.inFlight -= 1
    if (this.inFlight > 0) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#quiet?.resolve()
  }

  /** Accepts no more calls, and closes after the last one or `limitMs`. Never rejects. */
  async drain(limitMs: number): Promise<void> {
    this.#isRetired = true
    this.#attemptDue()
    this.link = undefined
    this.#supervisor.step({ is: 'retire' })
    if (this.inFlight > 0) {
      this.#quiet = new Deferred()
      await within(this.#quiet.promise, { clock: this.#context.clock, ms: limitMs })
    }
    await this.close()
  }

  /** Stops the server for good; calls in flight end with a fault. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#context.listener.ended(this)
    this.#supervisor.step({ is: 'stop' })
    this.#attempt?.abort.abort()
    this.#attempt = undefined
    this.#attemptDue()
    const link = this.#link
    this.#link = undefined
    this.link = undefined
    this.meter.closed()
    await this.#opening?.catch(() => undefined)
    await link?.close()
  }

  #start(): Promise<Downlink> {
    this.#supervisor.step({ is: 'start' })
    const attempt: Attempt = { abort: new AbortController(), died: undefined }
    this.#attempt = attempt
    this.hasCarried = false
    this.#hasServed = false
    this.meter.starting(this.lastLoss !== undefined)
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
      this.serverRequests = link.serverRequests
      this.facts = link.facts
      if (this.#releaseStrangers()) throw new Fault('unavailable', 'it can no longer be shared; try again')
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
    this.link = link
    log.info({ server: this.server.name, revision: link.facts.revision }, 'server is ready')
    onMode?.(this)
    listener.ready(this)
    return link
  }

  /**
   * Releases clients that must not share this connection: it was shared as sessionless, but the server has
   * sessions. Returns whether there were any.
   */
  #releaseStrangers(): boolean {
    if (this.serverRequests === 'returned') return false
    const strangers = [...this.clients].filter(one => this.shares.of(one).key !== this.share.key)
    for (const client of strangers) this.leave(client)
    return strangers.length > 0
  }

  #greeting(): Greeting {
    const { clients, server, share } = this
    const only = server.sharing === 'session' ? this.#past.first : undefined
    return {
      // Prefers legacy mode if any client uses it; the modern protocol is tried anyway.
      serverRequests: [...clients].some(({ serverRequests }) => serverRequests === 'pushed')
        ? 'pushed'
        : this.serverRequests,
      ...{ capabilities: share.capabilities, declares: () => this.shares.together },
      ...{ isAlone: this.shares.isAlone, workspace: share.workspace, lastLoss: this.lastLoss?.why.message },
      ...{ headers: share.headers, clientInfo: only?.info, session: only?.sessionAt?.(server.name) },
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
    this.link = undefined
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

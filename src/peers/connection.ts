import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
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
import type { Dial, Greeting } from './dial.js'
import type { ServerOptions } from './options.js'
import type { ServerState } from './server-state.js'
import { type Share, shareOf } from './sharing.js'
import { type Loss, Supervisor } from './supervisor.js'

/** Receives what happens on the connections of all servers. Implemented by the mux. */
export interface ConnectionListener {
  /** The server can be asked: for the first time or again after a loss. */
  ready(connection: Connection): void
  /** The server is gone, and calls under way have ended with a fault; or it could not be reached. */
  lost(connection: Connection, why: Fault): void
  /** A client will use this connection from now on. */
  joined(connection: Connection, client: Client): void
  /** A client that used it is gone, or uses another one from now on. */
  parted(connection: Connection, client: Client): void
  /** It was closed by us for good. */
  ended(connection: Connection): void
  /** Whether it must stay although no client uses it: one that left will come back for an answer, or somebody listens. */
  isKept(connection: Connection): boolean
  serverRequested(connection: Connection, request: ServerRequest): void
  serverNotified(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
  ): void
}

/** What a connection needs to live. */
export interface ConnectionContext {
  readonly dial: Dial
  readonly listener: ConnectionListener
  readonly clock: Clock
  readonly log: Logger
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/** One try to reach the server, and the link that came of it. */
interface Attempt {
  readonly abort: AbortController
  /** Set if the server was gone before we could use it. */
  died: Fault | undefined
}

/** One connection to one server, shared by the clients of its key; it is opened on demand and reopened when lost. */
export class Connection {
  readonly server: ServerOptions
  readonly share: Share
  readonly clients = new Set<Client>()
  readonly bounds: LimitCounters
  readonly #context: ConnectionContext
  readonly #supervisor: Supervisor
  #link: Downlink | undefined
  #serverRequests: ServerRequestMode
  #facts: ServerFacts | undefined
  #opening: Promise<Downlink> | undefined
  /** The current one: what an earlier one still has to say is not heard. */
  #attempt: Attempt | undefined
  #isClosed = false
  #isRetired = false
  #underWay = 0
  #quiet: Deferred<void> | undefined
  /** Resolved when the next attempt begins, or when there will be none. */
  #due: Deferred<void> | undefined
  #everClients = 0
  #firstClient: Client | undefined
  #idleSinceMs: number
  #hasCarried = false

  /** `serverRequests` is the mode of its clients: a server that has it is spoken to in the same mode. */
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
    this.#supervisor = new Supervisor(server, {
      clock: context.clock,
      isNeeded: () => this.#isNeeded(),
      start: () => this.#restart(),
    })
  }

  get state(): ServerState {
    return this.#supervisor.state
  }

  /** Since when it is in that state, on the clock of the proxy. */
  get sinceMs(): number {
    return this.#supervisor.sinceMs
  }

  /** Why it was last lost, or could not be opened; still known when it works again. */
  get lastLoss(): Loss | undefined {
    return this.#supervisor.lastLoss
  }

  /** The mode in which the server last made its requests, or is wanted to; it decides what may be shared. */
  get serverRequests(): ServerRequestMode {
    return this.#serverRequests
  }

  /** What the server said about itself when it was last there. */
  get facts(): ServerFacts | undefined {
    return this.#facts
  }

  /** The open link; undefined while the server cannot be asked. */
  get link(): Downlink | undefined {
    return this.state.at === 'ready' ? this.#link : undefined
  }

  /** The only client that ever used this connection, so that whatever the server says on its own account is for it. */
  get onlyClient(): Client | undefined {
    const first = this.#firstClient
    return this.#everClients === 1 && first !== undefined && this.clients.has(first) ? first : undefined
  }

  /** Whether any client ever used it. */
  get wasUsed(): boolean {
    return this.#everClients > 0
  }

  /** Since when no client uses it, nor waits for an answer over it; undefined while one does. */
  get idleSinceMs(): number | undefined {
    return this.clients.size === 0 && this.#underWay === 0 ? this.#idleSinceMs : undefined
  }

  /** Since when nothing is under way on it, whoever may use it; undefined while anything is. */
  get quietSinceMs(): number | undefined {
    return this.#underWay === 0 && this.state.at !== 'starting' ? this.#idleSinceMs : undefined
  }

  join(client: Client): void {
    if (this.clients.has(client)) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.clients.add(client)
    this.#everClients += 1
    if (this.#everClients === 1) this.#firstClient = client
    this.#context.listener.joined(this, client)
  }

  leave(client: Client): void {
    if (!this.clients.delete(client)) return
    if (this.#firstClient === client) this.#firstClient = undefined
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#context.listener.parted(this, client)
  }

  /**
   * The link to a server that can be asked, opening it if need be; all callers share one attempt. Rejects with a Fault
   * `unavailable` that names the server and says when to come again: at once while the next attempt is not due, or while one
   * is made of which little is to be hoped.
   */
  open(): Promise<Downlink> {
    if (this.#isClosed || this.#isRetired) return Promise.reject(this.#supervisor.unavailable(stopped()))
    if (this.link !== undefined) return Promise.resolve(this.link)
    const notDue = this.#supervisor.notDue()
    if (notDue !== undefined) return Promise.reject(notDue)
    return this.#opening ?? this.#start()
  }

  /** The same for a call that was here when the link was lost: while the next attempt is not due, it waits for that. */
  async reopen(): Promise<Downlink> {
    if (this.state.at === 'backoff' && !this.#isRetired) {
      this.#due ??= new Deferred()
      await this.#due.promise
    }
    return this.open()
  }

  /** Whether this is the link that there is, though it may take no more calls. */
  isOpen(link: Downlink): boolean {
    return this.#link === link
  }

  /** Whether a call of a client was ever sent over the link that there is, or was. */
  get hasCarried(): boolean {
    return this.#hasCarried
  }

  /** A call of a client is about to be sent over the link; true for its first one. */
  carry(): boolean {
    const isFirst = !this.#hasCarried
    this.#hasCarried = true
    return isFirst
  }

  /** How many calls of clients are to be answered over this connection. */
  get underWay(): number {
    return this.#underWay
  }

  /** Counts a call of a client that is to be answered over this connection. */
  callBegan(): void {
    this.#underWay += 1
  }

  /** The server has answered a call of a client: that it works is beyond doubt. */
  served(): void {
    this.#supervisor.served()
  }

  /** In how many milliseconds the server could be asked again if it were lost now; undefined if never. */
  get retryAfterLossMs(): number | undefined {
    return this.#supervisor.retryAfterLossMs
  }

  /** Such a call is over. */
  callEnded(): void {
    this.#underWay -= 1
    if (this.#underWay > 0) return
    this.#idleSinceMs = this.#context.clock.nowMs()
    this.#quiet?.resolve()
  }

  /**
   * Takes no more calls, lets those under way finish for up to `limitMs` altogether, then closes; calls that wait for its start
   * are under way. Never rejects.
   */
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

  /** Stops the server for good; what is under way ends with a fault. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#context.listener.ended(this)
    this.#supervisor.step({ is: 'stop' })
    this.#attempt?.abort.abort()
    this.#attempt = undefined
    this.#attemptDue()
    const link = this.#link
    this.#link = undefined
    await this.#opening?.catch(() => undefined)
    await link?.close()
  }

  #start(): Promise<Downlink> {
    this.#supervisor.step({ is: 'start' })
    const attempt: Attempt = { abort: new AbortController(), died: undefined }
    this.#attempt = attempt
    this.#hasCarried = false
    this.#opening = this.#dial(attempt)
    this.#attemptDue()
    return this.#opening
  }

  async #dial(attempt: Attempt): Promise<Downlink> {
    const { dial, log, listener } = this.#context
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
      if (attempt === this.#attempt) this.#failed(why)
      throw this.#supervisor.unavailable(why)
    }
    this.#opening = undefined
    this.#link = link
    this.#supervisor.step({ is: 'ready' })
    // Retired while it started: only for those who waited for it.
    if (this.#isRetired) {
      this.#supervisor.step({ is: 'retire' })
      return link
    }
    log.info({ server: this.server.name, revision: link.facts.revision }, 'server is ready')
    listener.ready(this)
    return link
  }

  /**
   * Releases clients that must not share this connection. Only a server without sessions is shared beyond the key: if it turns
   * out to have them, clients of other keys must not reach it here, nor must their pending calls. Returns whether there were any.
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
      // The older way first: the server may have learnt it, and the newer one is tried all the same.
      serverRequests: [...clients].some(({ serverRequests }) => serverRequests === 'pushed')
        ? 'pushed'
        : this.#serverRequests,
      capabilities: share.capabilities,
      clientInfo: isOnes ? this.#firstClient?.info : undefined,
    }
  }

  /** The listener of one attempt's link; it ignores what an earlier attempt still has to say. */
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

  /** Records that an attempt failed. */
  #failed(why: Fault): void {
    this.#supervisor.lost(why)
    this.#context.log.warn(this.#lossFacts(why), 'could not reach a server')
    this.#context.listener.lost(this, why)
  }

  #closed(attempt: Attempt, why: Fault): void {
    attempt.died = why
    if (attempt !== this.#attempt || (this.state.at !== 'ready' && this.state.at !== 'draining')) return
    this.#link = undefined
    this.#supervisor.lost(why)
    this.#context.log.warn(this.#lossFacts(why), 'lost a server')
    this.#context.listener.lost(this, why)
  }

  #lossFacts(why: Fault) {
    return { server: this.server.name, why: why.message, state: this.state.at }
  }

  #attemptDue(): void {
    this.#due?.resolve()
    this.#due = undefined
  }

  #isNeeded(): boolean {
    if (this.#isRetired) return false
    return this.clients.size > 0 || this.server.start === 'eager' || this.#context.listener.isKept(this)
  }

  /** Starts again; the outcome reaches those who wait for it, and the log. */
  #restart(): void {
    this.#start().catch(() => undefined)
  }
}

const stopped = (): Fault => new Fault('unavailable', 'it was stopped')

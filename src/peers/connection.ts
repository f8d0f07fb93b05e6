import { backoffMs } from '../kernel/backoff.js'
import type { Clock, Timer } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Ask, Client, DownCall, Downlink, DownlinkListener } from '../model/links.js'
import type { Dial } from './dial.js'
import type { ServerOptions } from './options.js'
import { IDLE, nextState, type ServerEvent, type ServerState } from './server-state.js'
import type { Share } from './sharing.js'

const RESTART = { firstMs: 500, maxMs: 30_000 }
/** The first loss of a connection that had worked is mended at once. */
const FREE_FAILURES = 1

/** What happens on the connections of all servers; the mux listens. */
export interface ConnectionListener {
  /** The server can be asked: for the first time or again after a loss. */
  ready(connection: Connection): void
  /** The server is gone; calls under way have ended with a fault. */
  lost(connection: Connection, why: Fault): void
  /** A client will use this connection from now on. */
  joined(connection: Connection, client: Client): void
  asked(connection: Connection, ask: Ask): void
  noticed(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    about: DownCall | undefined,
  ): void
}

/** What a connection needs to live. */
export interface ConnectionContext {
  readonly dial: Dial
  readonly listener: ConnectionListener
  readonly clock: Clock
  readonly log: Logger
}

/** One connection to one server, shared by the clients of its key; it is opened on demand and reopened when lost. */
export class Connection implements DownlinkListener {
  readonly server: ServerOptions
  readonly share: Share
  readonly clients = new Set<Client>()
  readonly #context: ConnectionContext
  #state: ServerState = IDLE
  #link: Downlink | undefined
  #opening: Promise<Downlink> | undefined
  #abort = new AbortController()
  #restart: Timer | undefined
  #everClients = 0
  #firstClient: Client | undefined
  #idleSinceMs: number

  constructor(server: ServerOptions, share: Share, context: ConnectionContext) {
    this.server = server
    this.share = share
    this.#context = context
    this.#idleSinceMs = context.clock.nowMs()
  }

  get state(): ServerState {
    return this.#state
  }

  /** The link while the server can be asked. */
  get link(): Downlink | undefined {
    return this.#state.at === 'ready' ? this.#link : undefined
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

  /** Since when no client uses it; undefined while one does. */
  get idleSinceMs(): number | undefined {
    return this.clients.size === 0 ? this.#idleSinceMs : undefined
  }

  join(client: Client): void {
    if (this.clients.has(client)) return
    this.clients.add(client)
    this.#everClients += 1
    if (this.#everClients === 1) this.#firstClient = client
    this.#context.listener.joined(this, client)
  }

  leave(client: Client): void {
    if (!this.clients.delete(client)) return
    if (this.#firstClient === client) this.#firstClient = undefined
    this.#idleSinceMs = this.#context.clock.nowMs()
  }

  /**
   * The link to a server that can be asked, opening it if need be; all callers share one attempt. Rejects with a Fault
   * `unavailable` that names the server, at once while the next attempt is not due.
   */
  open(): Promise<Downlink> {
    if (this.link !== undefined) return Promise.resolve(this.link)
    if (this.#opening !== undefined) return this.#opening
    if (this.#state.at === 'backoff' && this.#context.clock.nowMs() < this.#state.untilMs) {
      return Promise.reject(this.#unreachable(this.#state.why))
    }
    return this.#start()
  }

  /** Stops the server and stays closed until somebody opens it again. Never rejects. */
  async close(): Promise<void> {
    this.#step({ is: 'stop' })
    this.#restart?.cancel()
    this.#abort.abort()
    const link = this.#link
    const opening = this.#opening
    this.#link = undefined
    await opening?.catch(() => undefined)
    await link?.close()
  }

  // ── what the link tells ──

  asked(ask: Ask): void {
    this.#context.listener.asked(this, ask)
  }

  noticed(method: string, params: JsonText | undefined, about: DownCall | undefined): void {
    this.#context.listener.noticed(this, method, params, about)
  }

  closed(why: Fault): void {
    if (this.#state.at !== 'ready') return
    this.#link = undefined
    this.#lost(why)
    this.#context.log.warn({ server: this.server.name, why: why.message }, 'lost a server')
    this.#context.listener.lost(this, why)
  }

  #start(): Promise<Downlink> {
    this.#restart?.cancel()
    this.#step({ is: 'start' })
    this.#abort = new AbortController()
    const { dial } = this.#context
    const greeting = {
      capabilities: this.share.capabilities,
      clientInfo: this.server.sharing === 'session' ? this.#firstClient?.info : undefined,
    }
    const opening = dial(this.server.name, greeting, this, this.#abort.signal).then(
      link => this.#opened(link),
      (thrown: unknown) => {
        this.#opening = undefined
        const why = Fault.from(thrown)
        this.#lost(why)
        throw this.#unreachable(why)
      },
    )
    this.#opening = opening
    return opening
  }

  async #opened(link: Downlink): Promise<Downlink> {
    this.#opening = undefined
    if (this.#state.at !== 'starting') {
      await link.close()
      throw this.#unreachable(new Fault('unavailable', 'it was stopped while it started'))
    }
    this.#link = link
    this.#step({ is: 'ready' })
    this.#context.log.info({ server: this.server.name, revision: link.facts.revision }, 'server is ready')
    this.#context.listener.ready(this)
    return link
  }

  #lost(why: Fault): void {
    const failures = this.#state.at === 'starting' || this.#state.at === 'ready' ? this.#state.failures : 0
    const wasReady = this.#state.at === 'ready'
    const waitMs = wasReady && failures < FREE_FAILURES ? 0 : backoffMs(failures, RESTART)
    this.#step({ is: 'lost', why, waitMs })
    if (this.#state.at !== 'backoff') return
    if (this.clients.size === 0 && this.server.start !== 'eager') return
    this.#restart = this.#context.clock.after(waitMs, () => {
      this.open().catch((thrown: unknown) =>
        this.#context.log.warn(
          { server: this.server.name, why: Fault.from(thrown).message },
          'server did not come back',
        ),
      )
    })
  }

  #step(event: ServerEvent): void {
    this.#state = nextState(this.#state, event, this.#context.clock.nowMs())
  }

  #unreachable(why: Fault): Fault {
    return new Fault(
      why.code === 'timeout' || why.code === 'unauthorized' ? why.code : 'unavailable',
      `Server ${this.server.name} is not reachable: ${why.message}`,
      { data: { ...why.data, server: this.server.name }, cause: why },
    )
  }
}

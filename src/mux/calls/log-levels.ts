import type { Catalog } from '../../catalog/catalog.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { EMPTY, type JsonText, memberOf, stringOf, textOf, withMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { shortName } from '../../kernel/secrets/mask.js'
import type { Call, Client, DownstreamCall } from '../../model/links.js'
import { DEFAULT_RANK, isLogLevel, LOG_LEVELS, type McpLogLevel, rankOf } from '../../model/log-level.js'
import { failed, succeeded } from '../../model/outcome.js'
import { askServer } from '../../peers/ask-server.js'
import type { Connection } from '../../peers/connection.js'
import type { OwnPeerRequest } from '../../peers/own-requests.js'
import { type Origin, originOf } from '../server-requests/origin.js'
import type { CallTable } from './call-table.js'
import type { InFlightCall } from './in-flight-call.js'
import { WantedLevels } from './wanted-levels.js'

interface Recipient {
  readonly who: Pick<Call, 'notify' | 'caller'>
  readonly client: Client
  readonly threshold: number
}

export interface LogLevelsOptions {
  readonly catalog: Pick<Catalog, 'sees'>
  readonly clock: Clock
  readonly log: Logger
  /** True if loggers keep their own names because there is only one server. */
  readonly isAlone: boolean
}

/** Keeps the log level of each client, and routes log messages of servers to clients. */
export class LogLevels {
  readonly #calls: CallTable
  readonly #isAlone: boolean
  readonly #catalog: Pick<Catalog, 'sees'>
  readonly #wanted = new WantedLevels()
  readonly servers: ServerLevels

  constructor(calls: CallTable, options: LogLevelsOptions) {
    this.#calls = calls
    this.#catalog = options.catalog
    this.#isAlone = options.isAlone
    this.servers = new ServerLevels(calls, this.#wanted, options)
  }

  /** Serves `logging/setLevel`: keeps the level, and sends it to the client's servers. */
  set(call: Call, connections: Iterable<Connection>): void {
    const level = call.params && stringOf(memberOf(call.params, 'level'))
    if (level === undefined || !isLogLevel(level)) {
      const words =
        level === undefined ? 'Log level must be text' : `Invalid log level: ${shortName(level, 64)}`
      call.end(failed(new Fault('invalid-params', words)))
      return
    }
    const { client } = call
    const used = [...connections].filter(({ clients }) => clients.has(client))
    this.#wanted.set(client, rankOf(level), used)
    for (const connection of used) this.servers.sync(connection, [client])
    call.end(succeeded(EMPTY))
  }

  /** Relays a log message to its one recipient; drops it if that is unknown. */
  relay(connection: Connection, params: JsonText | undefined, about: DownstreamCall | undefined): void {
    if (params === undefined) return
    if (!hasLevel(params)) {
      connection.bounds.remark('noise')
      return
    }
    const recipient = this.#recipientOf(connection, originOf(this.#calls.evidence(connection, about)))
    if (recipient === undefined || severityOf(params) < recipient.threshold) return
    if (this.#catalog.sees({ client: recipient.client, caller: recipient.who.caller }, connection.server))
      recipient.who.notify('notifications/message', this.#named(connection, params))
  }

  /** Returns the level that a client set for its session, if any. */
  wantedBy(client: Client): McpLogLevel | undefined {
    const rank = this.#wanted.of(client)
    return rank === undefined ? undefined : LOG_LEVELS[rank]
  }

  /** Returns whether a request with a log level wants this message. */
  isWanted({ logLevel }: Call, params: JsonText | undefined): boolean {
    return logLevel !== undefined && params !== undefined && severityOf(params) >= rankOf(logLevel)
  }

  /** Forgets a client without connections. */
  forget(client: Client): void {
    this.#wanted.forget(client)
  }

  /**
   * Sessions receive messages of calls and of servers that may log outside calls; other clients set a level
   * per call.
   */
  #recipientOf({ link }: Connection, origin: Origin<Client, InFlightCall>): Recipient | undefined {
    if (origin.is === 'client') {
      return link?.serverRequests === 'returned'
        ? undefined
        : this.#sessionRecipient(origin.client, origin.client)
    }
    if (origin.is !== 'call') return undefined
    const { call } = origin.call
    if (call.client.serverRequests === 'pushed') return this.#sessionRecipient(call, call.client)
    if (call.logLevel === undefined) return undefined
    return { who: call, client: call.client, threshold: rankOf(call.logLevel) }
  }

  #sessionRecipient(who: Recipient['who'], client: Client): Recipient {
    return { who, client, threshold: this.#wanted.of(client) ?? DEFAULT_RANK }
  }

  #named(connection: Connection, params: JsonText): JsonText {
    if (this.#isAlone) return params
    const { alias } = connection.server
    const logger = stringOf(memberOf(params, 'logger'))
    return withMember(params, 'logger', textOf(logger === undefined ? alias : `${alias}/${logger}`))
  }
}

/**
 * Returns whether a message has a level of the specification (server/utilities/logging); SDK clients drop
 * others.
 */
const hasLevel = (params: JsonText): boolean => isLogLevel(stringOf(memberOf(params, 'level')) ?? '')

const severityOf = (params: JsonText): number => {
  const level = stringOf(memberOf(params, 'level')) ?? ''
  return isLogLevel(level) ? rankOf(level) : DEFAULT_RANK
}

/** Maximum time to wait for a server to accept a level. */
const ANSWER_MS = 10_000
/** First and last delay before a refused level is sent again. */
const RETRY_MS = 1000
const RETRY_MOST_MS = 60_000
/** Time for which a server stays at a request's level, for the next such request. */
const LINGER_MS = 60_000

interface SentLevel {
  readonly rank: number
  /** Until the server has answered: calls that need the level wait for it, and so does the next level. */
  answered: Promise<unknown> | undefined
}

interface Raised {
  readonly rank: number
  readonly timer: Timer
}

/**
 * Sends servers the most verbose level that a session or a call of the connection wants. Servers that receive
 * a level per request do not need this (2026-07-28, server/utilities/logging).
 */
export class ServerLevels {
  readonly #calls: CallTable
  readonly #wanted: WantedLevels
  readonly #clock: Clock
  readonly #log: Logger
  readonly #sent = new WeakMap<Connection, SentLevel>()
  readonly #raised = new Map<Connection, Raised>()

  constructor(
    calls: CallTable,
    wanted: WantedLevels,
    options: { readonly clock: Clock; readonly log: Logger },
  ) {
    this.#calls = calls
    this.#wanted = wanted
    this.#clock = options.clock
    this.#log = options.log
  }

  restore(connection: Connection): void {
    this.#sent.delete(connection)
    this.sync(connection)
  }

  joined(connection: Connection, client: Client): void {
    this.#wanted.joined(connection, client)
    this.sync(connection, [client])
  }

  parted(connection: Connection, client: Client): void {
    this.#wanted.parted(connection, client)
    this.sync(connection)
  }

  /** Sends a server its wanted level, on behalf of these clients, if it has changed. */
  sync(connection: Connection, clients: Iterable<Client> = connection.clients): void {
    if (!takesLevel(connection)) return
    const rank = this.#wantedOn(connection)
    if (rank !== undefined) this.#request(connection, rank, clients)
  }

  /** Raises a server to the level of a call. Resolves with its answer; undefined: nothing to wait for. */
  prepare(connection: Connection, { logLevel, client }: Call): Promise<unknown> | undefined {
    if (logLevel === undefined || !takesLevel(connection)) return undefined
    const rank = rankOf(logLevel)
    const before = this.#raised.get(connection)
    this.#raise(connection, Math.min(before?.rank ?? rank, rank))
    this.sync(connection, [client])
    return this.#sent.get(connection)?.answered
  }

  close(): void {
    for (const { timer } of this.#raised.values()) timer.cancel()
    this.#raised.clear()
  }

  #raise(connection: Connection, rank: number): void {
    this.#raised.get(connection)?.timer.cancel()
    const timer = this.#clock.after(LINGER_MS, () => this.#lower(connection))
    this.#raised.set(connection, { rank, timer })
  }

  /** Requests in flight keep their level; after the last one the level returns to that of the sessions. */
  #lower(connection: Connection): void {
    this.#raised.delete(connection)
    const ranks = [...this.#calls.on(connection)].flatMap(({ call: { logLevel } }) =>
      logLevel === undefined ? [] : [rankOf(logLevel)],
    )
    if (ranks.length > 0) this.#raise(connection, Math.min(...ranks))
    this.#request(connection, this.#wantedOn(connection) ?? DEFAULT_RANK, connection.clients)
  }

  #wantedOn(connection: Connection): number | undefined {
    const raised = this.#raised.get(connection)?.rank
    const wanted = this.#wanted.lowestOn(connection)
    if (raised === undefined) return wanted
    // A session without a level counts only next to a request with one: it must not lose messages.
    const unset = this.#wanted.hasUnset(connection) ? DEFAULT_RANK : raised
    return Math.min(raised, wanted ?? raised, unset)
  }

  /** Sends a level. After a refusal, retries after `waitMs`, then with doubled delays. */
  #request(connection: Connection, rank: number, clients: Iterable<Client>, waitMs = RETRY_MS): void {
    const { link } = connection
    const before = this.#sent.get(connection)
    if (!takesLevel(connection) || before?.rank === rank) return
    const own = connection.ownRequests.on(clients)
    const send = (): Promise<boolean> => this.#send(connection, rank, own)
    const sent = before?.answered?.then(send) ?? send()
    const sentLevel: SentLevel = { rank, answered: sent }
    this.#sent.set(connection, sentLevel)
    void sent.then(isTaken => {
      sentLevel.answered = undefined
      if (isTaken || waitMs > RETRY_MOST_MS) return
      this.#clock.after(waitMs, () => {
        if (connection.link !== link || this.#sent.get(connection) !== sentLevel) return
        this.#sent.delete(connection)
        this.#request(connection, rank, connection.clients, 2 * waitMs)
      })
    })
  }

  /**
   * Resolves with false if the server refuses. A silent server is not asked again, since calls would wait for
   * it.
   */
  async #send({ link, server }: Connection, rank: number, own: OwnPeerRequest): Promise<boolean> {
    if (link === undefined) return true
    const options = { clock: this.#clock, timeoutMs: Math.min(server.timeouts.callMs, ANSWER_MS), own }
    const outcome = await askServer(link, 'logging/setLevel', textOf({ level: LOG_LEVELS[rank] }), options)
    if (outcome.kind !== 'result')
      this.#log.warn({ server: server.name }, 'the server rejected the log level')
    return outcome.kind !== 'error'
  }
}

const takesLevel = ({ link }: Connection): boolean =>
  link?.serverRequests === 'pushed' && link.facts.capabilities.logging

import type { Clock } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Call, Client, DownCall } from '../model/links.js'
import { DEFAULT_RANK, isLogLevel, LOG_LEVELS, type LogLevel, rankOf } from '../model/log-level.js'
import { failed, resulted } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'
import type { CallTable } from './call-table.js'
import type { LiveCall } from './live-call.js'
import { ServerLevels } from './server-levels.js'

const EMPTY = rawText('{}')

/** Who is to hear a message, if it is severe enough. */
interface Hearer {
  readonly who: Pick<Call, 'tell'>
  readonly threshold: number
}

/** Log messages of servers: each client's level, the level that each server is told, and whose a message is. */
export class LogLevels {
  readonly #calls: CallTable
  /** Whether loggers keep their own names because there is only one server. */
  readonly #isAlone: boolean
  readonly #wanted = new Map<Client, number>()
  readonly #servers: ServerLevels

  constructor(
    calls: CallTable,
    around: { readonly clock: Clock; readonly log: Logger; readonly isAlone: boolean },
  ) {
    this.#calls = calls
    this.#isAlone = around.isAlone
    this.#servers = new ServerLevels(calls, client => this.#wanted.get(client), around)
  }

  /** Serves `logging/setLevel`: kept for the session, and passed on to the servers that the client uses. */
  set(call: Call, connections: Iterable<Connection>): void {
    const level = call.params && stringOf(memberOf(call.params, 'level'))
    if (level === undefined || !isLogLevel(level)) {
      const words =
        level === undefined ? 'Log level must be text' : `Invalid log level: ${level.slice(0, 64)}`
      call.end(failed(new Fault('invalid-params', words)))
      return
    }
    this.#wanted.set(call.client, rankOf(level))
    for (const connection of connections) if (connection.clients.has(call.client)) this.sync(connection)
    call.end(resulted(EMPTY))
  }

  /** A connection is new: what its server was told before is void. */
  restore(connection: Connection): void {
    this.#servers.restore(connection)
  }

  /** Tells a server the most verbose level that any of its clients asked for, if that changed. */
  sync(connection: Connection): void {
    this.#servers.sync(connection)
  }

  /** Before a call is sent: makes its server as verbose as the call wants it; undefined if there is nothing to wait for. */
  prepare(connection: Connection, call: Call): Promise<void> | undefined {
    return call.logLevel === undefined ? undefined : this.#servers.prepare(connection, call)
  }

  /** Passes a log message on to the one client that it is for; without evidence of whose it is, to nobody. */
  relay(connection: Connection, params: JsonText | undefined, about: DownCall | undefined): void {
    if (params === undefined) return
    const evidence = this.#calls.about(connection, about) ?? this.#likely(connection)
    const live = evidence === 'another' ? undefined : evidence
    const hearer = live === undefined ? this.#onlySession(connection) : this.#hearerOf(live.call)
    if (hearer !== undefined && severityOf(params) >= hearer.threshold)
      hearer.who.tell('notifications/message', this.#named(connection, params))
  }

  /** The level that a client set for its session; undefined if it never did. */
  wantedBy(client: Client): LogLevel | undefined {
    const rank = this.#wanted.get(client)
    return rank === undefined ? undefined : LOG_LEVELS[rank]
  }

  /** Whether a request that says how severe log messages must be wants this one. */
  isWanted({ logLevel }: Call, params: JsonText | undefined): boolean {
    return logLevel !== undefined && params !== undefined && severityOf(params) >= rankOf(logLevel)
  }

  forget(client: Client): void {
    this.#wanted.delete(client)
  }

  close(): void {
    this.#servers.close()
  }

  /**
   * The call that a message must be about if its transport cannot tell: the latest if all are one session's, else the only
   * one that asked for messages, as long as whatever it hears is of its own principal.
   */
  #likely(connection: Connection): LiveCall | undefined {
    const calls = [...this.#calls.on(connection)]
    const latest = calls.at(-1)
    if (latest === undefined) return undefined
    const { client } = latest.call
    if (client.asking === 'pushed' && calls.every(({ call }) => call.client === client)) return latest
    const asking = calls.filter(({ call }) => this.#asksFor(connection, call))
    const isOnesOwn = calls.every(({ call }) => call.client.principal === client.principal)
    return asking.length === 1 && isOnesOwn ? asking[0] : undefined
  }

  /** Whether a server has a reason to log for a call: a session that never set a level leaves it to servers that have sessions too. */
  #asksFor(connection: Connection, { client, logLevel }: Call): boolean {
    if (client.asking === 'returned') return logLevel !== undefined
    return this.#wanted.has(client) || connection.link?.asking === 'pushed'
  }

  /** A session hears of a call what it hears at all; of others each call says what it wants, or that it wants nothing. */
  #hearerOf(call: Call): Hearer | undefined {
    const { client, logLevel } = call
    if (client.asking === 'pushed') return { who: call, threshold: this.#wanted.get(client) ?? DEFAULT_RANK }
    return logLevel === undefined ? undefined : { who: call, threshold: rankOf(logLevel) }
  }

  /** The only client of a connection to a server that may log outside requests, if it is one that hears such things. */
  #onlySession({ clients, link }: Connection): Hearer | undefined {
    const [who] = clients
    if (who === undefined || clients.size > 1 || who.asking === 'returned' || link?.asking === 'returned') {
      return undefined
    }
    return { who, threshold: this.#wanted.get(who) ?? DEFAULT_RANK }
  }

  #named(connection: Connection, params: JsonText): JsonText {
    if (this.#isAlone) return params
    const { alias } = connection.server
    const logger = stringOf(memberOf(params, 'logger'))
    return withMember(params, 'logger', textOf(logger === undefined ? alias : `${alias}/${logger}`))
  }
}

const severityOf = (params: JsonText): number => {
  const level = stringOf(memberOf(params, 'level')) ?? ''
  return isLogLevel(level) ? rankOf(level) : DEFAULT_RANK
}

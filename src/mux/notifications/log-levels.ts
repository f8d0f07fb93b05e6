import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client, DownstreamCall } from '../../model/links.js'
import { DEFAULT_RANK, isLogLevel, LOG_LEVELS, type LogLevel, rankOf } from '../../model/log-level.js'
import { failed, resulted } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { CallTable } from '../calls/call-table.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import { type Origin, originOf } from '../server-requests/origin.js'
import { ServerLevels } from './server-levels.js'

const EMPTY = rawText('{}')

/** Who is to hear a message, if it is severe enough. */
interface Hearer {
  readonly who: Pick<Call, 'notify'>
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
  relay(connection: Connection, params: JsonText | undefined, about: DownstreamCall | undefined): void {
    if (params === undefined) return
    const hearer = this.#hearerOf(connection, originOf(this.#calls.evidence(connection, about)))
    if (hearer !== undefined && severityOf(params) >= hearer.threshold)
      hearer.who.notify('notifications/message', this.#named(connection, params))
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
   * A session hears at its level, outside calls only of servers that may log there; of other clients each call says what it wants, or
   * that it wants nothing.
   */
  #hearerOf({ link }: Connection, origin: Origin<Client, InFlightCall>): Hearer | undefined {
    if (origin.is === 'client') {
      return link?.serverRequests === 'returned'
        ? undefined
        : this.#sessionHearer(origin.client, origin.client)
    }
    if (origin.is !== 'call') return undefined
    const { call } = origin.call
    if (call.client.serverRequests === 'pushed') return this.#sessionHearer(call, call.client)
    return call.logLevel === undefined ? undefined : { who: call, threshold: rankOf(call.logLevel) }
  }

  #sessionHearer(who: Hearer['who'], client: Client): Hearer {
    return { who, threshold: this.#wanted.get(client) ?? DEFAULT_RANK }
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

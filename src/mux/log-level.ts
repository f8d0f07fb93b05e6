import type { Clock } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Call, Client, DownCall } from '../model/links.js'
import { LOG_LEVELS, type LogLevel } from '../model/log-level.js'
import { failed, resulted } from '../model/outcome.js'
import { askServer } from '../peers/ask-server.js'
import type { Connection } from '../peers/connection.js'
import type { CallTable } from './call-table.js'

const RANKS: ReadonlyMap<string, number> = new Map(LOG_LEVELS.map((level, rank) => [level, rank]))
/** What a client that never set a level is sent. */
const DEFAULT_RANK = LOG_LEVELS.indexOf('info')
const EMPTY = rawText('{}')

/** Log messages of servers: each client's level, the level that each server is told, and whose a message is. */
export class LogLevels {
  readonly #calls: CallTable
  readonly #clock: Clock
  readonly #log: Logger
  /** Whether loggers keep their own names because there is only one server. */
  readonly #isAlone: boolean
  readonly #wanted = new Map<Client, number>()
  readonly #told = new WeakMap<Connection, number>()

  constructor(
    calls: CallTable,
    around: { readonly clock: Clock; readonly log: Logger; readonly isAlone: boolean },
  ) {
    this.#calls = calls
    this.#clock = around.clock
    this.#log = around.log
    this.#isAlone = around.isAlone
  }

  /** Serves `logging/setLevel`: kept for the session, and passed on to the servers that the client uses. */
  set(call: Call, connections: Iterable<Connection>): void {
    const level = call.params && stringOf(memberOf(call.params, 'level'))
    const rank = level === undefined ? undefined : RANKS.get(level)
    if (rank === undefined) {
      const words =
        level === undefined ? 'Log level must be text' : `Invalid log level: ${level.slice(0, 64)}`
      call.end(failed(new Fault('invalid-params', words)))
      return
    }
    this.#wanted.set(call.client, rank)
    for (const connection of connections) if (connection.clients.has(call.client)) this.sync(connection)
    call.end(resulted(EMPTY))
  }

  /** A connection is new: what its server was told before is void. */
  restore(connection: Connection): void {
    this.#told.delete(connection)
    this.sync(connection)
  }

  /** Tells a server the most verbose level that any of its clients asked for, if that changed. */
  sync(connection: Connection): void {
    const { link } = connection
    if (link?.facts.capabilities.logging !== true) return
    let rank: number | undefined
    for (const client of connection.clients) {
      const wanted = this.#wanted.get(client)
      if (wanted !== undefined) rank = Math.min(rank ?? wanted, wanted)
    }
    if (rank === undefined || this.#told.get(connection) === rank) return
    this.#told.set(connection, rank)
    const limit = { clock: this.#clock, timeoutMs: connection.server.timeouts.callMs }
    void askServer(link, 'logging/setLevel', textOf({ level: LOG_LEVELS[rank] }), limit).then(outcome => {
      if (outcome.kind !== 'result')
        this.#log.warn({ server: connection.server.name }, 'the server did not take the log level')
    })
  }

  /** Passes a log message on to the one client that it is for; without evidence of whose it is, to nobody. */
  relay(connection: Connection, params: JsonText | undefined, about: DownCall | undefined): void {
    if (params === undefined) return
    const evidence = this.#calls.about(connection, about) ?? this.#onlyCall(connection)
    const call = evidence === 'another' ? undefined : evidence
    const client = call?.call.client ?? onlyMember(connection)
    if (client === undefined || this.#rankOf(params) < (this.#wanted.get(client) ?? DEFAULT_RANK)) return
    const named = this.#named(connection, params)
    if (call !== undefined) call.call.tell('notifications/message', named)
    else client.tell('notifications/message', named)
  }

  /** The level that a client set for its session; undefined if it never did. */
  wantedBy(client: Client): LogLevel | undefined {
    const rank = this.#wanted.get(client)
    return rank === undefined ? undefined : LOG_LEVELS[rank]
  }

  /** Whether a request that says how severe log messages must be wants this one. */
  isWanted({ logLevel }: Call, params: JsonText | undefined): boolean {
    if (logLevel === undefined || params === undefined) return false
    return this.#rankOf(params) >= LOG_LEVELS.indexOf(logLevel)
  }

  forget(client: Client): void {
    this.#wanted.delete(client)
  }

  /** The latest call if all calls under way are one client's. */
  #onlyCall(connection: Connection) {
    const calls = [...this.#calls.on(connection)]
    const latest = calls.at(-1)
    return calls.every(({ call }) => call.client === latest?.call.client) ? latest : undefined
  }

  #rankOf(params: JsonText): number {
    return RANKS.get(stringOf(memberOf(params, 'level')) ?? '') ?? DEFAULT_RANK
  }

  #named(connection: Connection, params: JsonText): JsonText {
    if (this.#isAlone) return params
    const { alias } = connection.server
    const logger = stringOf(memberOf(params, 'logger'))
    return withMember(params, 'logger', textOf(logger === undefined ? alias : `${alias}/${logger}`))
  }
}

const onlyMember = (connection: Connection): Client | undefined => {
  const [first] = connection.clients
  return connection.clients.size === 1 ? first : undefined
}

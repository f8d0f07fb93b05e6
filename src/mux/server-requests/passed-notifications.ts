import type { Catalog } from '../../catalog/catalog.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { type Client, type DownstreamCall, LISTEN, viewerOf } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { ServerPool } from '../../peers/server-pool.js'
import { messageOrigin, type TaskOrigins } from './task-requests.js'

/** Maximum number of notifications of a client that wait until its server is connected. */
const WAITING_MAX = 100

interface PassedNotificationsContext extends TaskOrigins {
  readonly catalog: Pick<Catalog, 'sees' | 'visibleTo'>
  readonly pool: Pick<ServerPool, 'of'>
  readonly clients: { readonly all: Iterable<Client> }
  readonly log: Logger
}

/** Passes notifications that the proxy does not know between a single server and its clients. */
export class PassedNotifications {
  readonly #context: PassedNotificationsContext
  readonly #waiting = new WeakMap<Client, number>()

  constructor(context: PassedNotificationsContext) {
    this.#context = context
  }

  /** Passes any notification on the stream of a listening request that the server answers itself. */
  toListener(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    down: DownstreamCall | undefined,
  ): boolean {
    const about = down && this.#context.calls.evidence(connection, down).about
    if (about === undefined || about === 'another') return false
    const { isPassed, method: asked } = about.record
    if (!isPassed || asked !== LISTEN) return false
    about.passNotification(method, params)
    return true
  }

  /** Passes a client's notification to the only server that it sees. */
  toServer(client: Client, method: string, params: JsonText | undefined): void {
    const [server] = this.#context.catalog.visibleTo(viewerOf(client)).keys()
    const waiting = this.#waiting.get(client) ?? 0
    if (server === undefined || waiting >= WAITING_MAX) return
    const requester = { capabilities: server.shares.capabilitiesFor(client), logLevel: undefined }
    const connection = server.connectionFor(client)
    if (connection.link !== undefined) {
      connection.link.notify(method, params, requester)
      return
    }
    this.#waiting.set(client, waiting + 1)
    void connection
      .open()
      .then(link => link.notify(method, params, requester))
      .catch(() => this.#context.log.debug({ method }, 'dropped a notification of a client: no connection'))
      .finally(() => this.#waiting.set(client, (this.#waiting.get(client) ?? 1) - 1))
  }

  /**
   * Passes a server's notification to the request that it is about, or to the sessions of one principal.
   * Servers without sessions have no notifications outside of requests.
   */
  toClients(
    connection: Connection,
    method: string,
    params: JsonText | undefined,
    about: DownstreamCall | undefined,
  ): void {
    const origin = messageOrigin(this.#context, connection, { about, params })
    if (origin.is === 'call') {
      origin.call.passNotification(method, params)
      return
    }
    const isMeant = (session: Client): boolean => origin.is !== 'client' || origin.client === session
    const sessions =
      connection.serverRequests === 'pushed' ? this.#sessionsOn(connection).filter(isMeant) : []
    const principals = new Set(sessions.map(({ principal }) => principal))
    if (principals.size !== 1) this.drop(connection, method)
    else for (const session of sessions) session.notify(method, params)
  }

  #sessionsOn(connection: Connection): readonly Client[] {
    const { catalog, clients, pool } = this.#context
    const server = pool.of(connection)
    return [...clients.all].filter(
      client =>
        client.serverRequests === 'pushed' &&
        server?.connectionOf(client) === connection &&
        catalog.sees(viewerOf(client), connection.server),
    )
  }

  /** Drops a server's notification that has no recipient, and counts it. */
  drop({ server, meter }: Connection, method: string): void {
    this.#context.log.debug({ server: server.name, method }, 'dropped a notification without a recipient')
    meter.droppedNotification()
  }
}

import type { Owners } from '../catalog/owners.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Call, Client } from '../model/links.js'
import { failed, type Outcome, resulted } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'

const EMPTY = rawText('{}')
const SUBSCRIPTIONS_MAX = 1000

/** One URI of a server, subscribed once however many clients want it. */
interface Feed {
  /** Each client with the URI as it wrote it: it is told in the same words. */
  readonly subscribers: Map<Client, string>
  /** The server's answer to the subscription; all who come later wait for the same one. */
  accepted: Promise<Outcome>
}

/** What the feeds need of the router. */
export interface FeedsContext {
  readonly owners: Owners
  readonly log: Logger
}

/**
 * Resource subscriptions (server/resources, "Subscriptions"): per connection and URI the first subscriber subscribes, the
 * last one unsubscribes, and an update goes to exactly those who asked.
 */
export class Feeds {
  readonly #context: FeedsContext
  readonly #feeds = new Map<Connection, Map<string, Feed>>()
  readonly #counts = new Map<Client, number>()

  constructor(context: FeedsContext) {
    this.#context = context
  }

  /** Serves `resources/subscribe`. */
  async subscribe(call: Call): Promise<void> {
    const target = this.#target(call)
    if (target === undefined) return
    const { connection, own, exposed } = target
    const link = await connection.open()
    if (link.facts.capabilities.resources?.subscribe !== true) {
      const { name } = connection.server
      throw new Fault('unknown-method', `Server ${name} does not support resource subscriptions`)
    }
    const count = this.#counts.get(call.client) ?? 0
    if (count >= SUBSCRIPTIONS_MAX)
      throw new Fault('overloaded', `More than ${SUBSCRIPTIONS_MAX} subscriptions`)
    const feed = this.#feed(connection, own)
    if (!feed.subscribers.has(call.client)) this.#counts.set(call.client, count + 1)
    feed.subscribers.set(call.client, exposed)
    const outcome = await feed.accepted
    if (outcome.kind !== 'result') this.#remove(connection, own, call.client, false)
    call.end(outcome.kind === 'result' ? resulted(EMPTY) : outcome)
  }

  /** Serves `resources/unsubscribe`; unsubscribing what was not subscribed is fine. */
  unsubscribe(call: Call): void {
    const target = this.#target(call)
    if (target === undefined) return
    this.#remove(target.connection, target.own, call.client, true)
    call.end(resulted(EMPTY))
  }

  /** Tells those who subscribed; a URI below a subscribed one counts (server/resources: it may be a sub-resource). */
  updated(connection: Connection, params: JsonText | undefined): void {
    const uri = params && stringOf(memberOf(params, 'uri'))
    const feeds = this.#feeds.get(connection)
    if (params === undefined || uri === undefined || feeds === undefined) return
    const exact = feeds.get(uri)
    if (exact !== undefined) {
      for (const [client, exposed] of exact.subscribers) tellUpdated(client, params, exposed)
      return
    }
    const above = longestAbove(uri, feeds.keys())
    const feed = above === undefined ? undefined : feeds.get(above)
    if (above === undefined || feed === undefined) return
    for (const [client, exposed] of feed.subscribers) {
      tellUpdated(client, params, exposed + uri.slice(above.length))
    }
  }

  /** The server was lost and is back: subscriptions are renewed, and what may have been missed is reported. */
  renew(connection: Connection): void {
    for (const [own, feed] of this.#feeds.get(connection) ?? []) {
      feed.accepted = request(connection, 'resources/subscribe', own)
      void feed.accepted.then(outcome => {
        if (outcome.kind !== 'result') {
          this.#context.log.warn({ server: connection.server.name }, 'could not renew a subscription')
          return
        }
        for (const [client, exposed] of feed.subscribers) tellUpdated(client, EMPTY, exposed)
      })
    }
  }

  /** The client is gone: its subscriptions end. */
  forget(client: Client): void {
    if (!this.#counts.has(client)) return
    for (const [connection, feeds] of this.#feeds) {
      for (const own of [...feeds.keys()]) this.#remove(connection, own, client, true)
    }
    this.#counts.delete(client)
  }

  #target(call: Call): { connection: Connection; own: string; exposed: string } | undefined {
    const exposed = call.params && stringOf(memberOf(call.params, 'uri'))
    if (exposed === undefined) {
      call.end(failed(new Fault('invalid-params', `${call.method}: uri must be text`)))
      return undefined
    }
    const { server, own } = this.#context.owners.uri(exposed)
    return { connection: server.connectionFor(call.client), own, exposed }
  }

  #feed(connection: Connection, own: string): Feed {
    let feeds = this.#feeds.get(connection)
    if (feeds === undefined) {
      feeds = new Map()
      this.#feeds.set(connection, feeds)
    }
    let feed = feeds.get(own)
    if (feed === undefined) {
      feed = { subscribers: new Map(), accepted: request(connection, 'resources/subscribe', own) }
      feeds.set(own, feed)
    }
    return feed
  }

  #remove(connection: Connection, own: string, client: Client, tellServer: boolean): void {
    const feeds = this.#feeds.get(connection)
    const feed = feeds?.get(own)
    if (feeds === undefined || feed?.subscribers.delete(client) !== true) return
    const left = (this.#counts.get(client) ?? 1) - 1
    if (left === 0) this.#counts.delete(client)
    else this.#counts.set(client, left)
    if (feed.subscribers.size > 0) return
    feeds.delete(own)
    if (feeds.size === 0) this.#feeds.delete(connection)
    if (tellServer) void request(connection, 'resources/unsubscribe', own)
  }
}

/** One request about a URI; a connection that is down answers with its fault. Never rejects. */
const request = (connection: Connection, method: string, uri: string): Promise<Outcome> =>
  new Promise(resolve => {
    const { link } = connection
    if (link === undefined) {
      resolve(failed(new Fault('unavailable', `Server ${connection.server.name} is not reachable`)))
      return
    }
    link.call(
      { method, params: textOf({ uri }), wantsProgress: false },
      { progress: () => undefined, ended: resolve },
    )
  })

const tellUpdated = (client: Client, params: JsonText, uri: string): void =>
  client.tell('notifications/resources/updated', withMember(params, 'uri', textOf(uri)))

/** The longest subscribed URI that `uri` lies below. */
const longestAbove = (uri: string, subscribed: Iterable<string>): string | undefined => {
  let longest: string | undefined
  for (const candidate of subscribed) {
    if (!uri.startsWith(candidate) || candidate.length <= (longest?.length ?? -1)) continue
    if (/[/#?]$/.test(candidate) || /^[/#?]/.test(uri.slice(candidate.length))) longest = candidate
  }
  return longest
}

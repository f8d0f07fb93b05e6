import type { Catalog } from '../catalog/catalog.js'
import type { Owners } from '../catalog/owners.js'
import type { Clock } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Call, Client } from '../model/links.js'
import { failed, type Outcome, resulted } from '../model/outcome.js'
import { askServer } from '../peers/ask-server.js'
import type { Connection } from '../peers/connection.js'
import { stillWanted } from './still-wanted.js'

const EMPTY = rawText('{}')
const SUBSCRIPTIONS_MAX = 1000

/** One URI of a server, subscribed once however many clients want it. */
interface Feed {
  readonly connection: Connection
  readonly own: string
  readonly subscribers: Set<Subscription>
  /** The server's answer to the subscription; all who come later wait for the same one. */
  accepted: Promise<Outcome>
  isRefused: boolean
}

/** One client's wish, under the URI as the client wrote it: it is told in the same words. */
interface Subscription {
  readonly client: Client
  readonly exposed: string
  readonly feed: Feed
}

/** What the feeds need of the router. */
export interface FeedsContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Resource subscriptions (server/resources, "Subscriptions"): per connection and URI the first subscriber subscribes, the
 * last one unsubscribes, and an update goes to those who asked.
 */
export class Feeds {
  readonly #context: FeedsContext
  readonly #feeds = new Map<Connection, Map<string, Feed>>()
  readonly #byClient = new Map<Client, Map<string, Subscription>>()
  /** The last request about each URI that is not answered yet. */
  readonly #unanswered = new WeakMap<Connection, Map<string, Promise<Outcome>>>()

  constructor(context: FeedsContext) {
    this.#context = context
  }

  /** How many URIs are subscribed at servers. */
  get size(): number {
    return [...this.#feeds.values()].reduce((sum, feeds) => sum + feeds.size, 0)
  }

  /** Serves `resources/subscribe`. Rejects with a Fault, with which the call is to be ended. */
  async subscribe(call: Call): Promise<void> {
    const exposed = uriOf(call)
    const isWanted = stillWanted(call)
    const { server, own } = await this.#context.owners.uri(exposed)
    if (!isWanted()) return
    const connection = server.connectionFor(call.client)
    const link = await connection.open()
    if (!isWanted()) return
    if (link.facts.capabilities.resources?.subscribe !== true) {
      throw new Fault('unknown-method', `Server ${server.name} does not support resource subscriptions`)
    }
    const known = this.#byClient.get(call.client)?.get(exposed)
    const subscription = known ?? this.#join(connection, own, call.client, exposed)
    // A client that gives up before it is subscribed does not want to be.
    if (known === undefined) call.onCancel = () => this.#leave(subscription)
    const outcome = await subscription.feed.accepted
    if (outcome.kind !== 'result') this.#leave(subscription)
    call.end(outcome.kind === 'result' ? resulted(EMPTY) : outcome)
  }

  /** Serves `resources/unsubscribe`; unsubscribing what was not subscribed is fine. Throws a Fault without a URI. */
  unsubscribe(call: Call): void {
    const exposed = uriOf(call)
    const subscription = this.#byClient.get(call.client)?.get(exposed)
    if (subscription !== undefined) this.#leave(subscription)
    call.end(resulted(EMPTY))
  }

  /**
   * Tells those who subscribed to the URI; else those who subscribed to one above it (server/resources: it may be a
   * sub-resource). A server that writes its URIs in another way than it was subscribed to is told of as it says, to all.
   */
  updated(connection: Connection, params: JsonText | undefined): void {
    const uri = params && stringOf(memberOf(params, 'uri'))
    const feeds = this.#feeds.get(connection)
    if (params === undefined || uri === undefined || feeds === undefined) return
    const feed = feeds.get(uri) ?? feeds.get(longestAbove(uri, feeds.keys()) ?? uri)
    if (feed !== undefined) {
      for (const { client, exposed } of feed.subscribers)
        tellUpdated(client, params, exposed + uri.slice(feed.own.length))
      return
    }
    // Connections that principals share are kept out: the URI of one is none of the other's business.
    if (connection.server.sharing === 'all') return
    const exposed = this.#context.catalog.viewOf(connection.server).exposeUri(uri)
    const clients = new Set(
      [...feeds.values()].flatMap(({ subscribers }) => [...subscribers]).map(s => s.client),
    )
    for (const client of clients) tellUpdated(client, params, exposed)
  }

  /** The server was lost and is back: subscriptions are renewed, and what may have been missed is reported. */
  renew(connection: Connection): void {
    for (const feed of this.#feeds.get(connection)?.values() ?? []) {
      this.#subscribe(feed)
      void feed.accepted.then(outcome => {
        if (outcome.kind === 'result') {
          for (const { client, exposed } of feed.subscribers) tellUpdated(client, EMPTY, exposed)
        } else this.#context.log.warn({ server: connection.server.name }, 'could not renew a subscription')
      })
    }
  }

  /** Whether a client is subscribed to anything. */
  has(client: Client): boolean {
    return (this.#byClient.get(client)?.size ?? 0) > 0
  }

  /** The client is gone: its subscriptions end. */
  forget(client: Client): void {
    for (const subscription of this.#byClient.get(client)?.values() ?? []) this.#leave(subscription)
  }

  #join(connection: Connection, own: string, client: Client, exposed: string): Subscription {
    const subscriptions = this.#byClient.get(client) ?? new Map<string, Subscription>()
    if (subscriptions.size >= SUBSCRIPTIONS_MAX)
      throw new Fault('overloaded', `More than ${SUBSCRIPTIONS_MAX} subscriptions`)
    const subscription = { client, exposed, feed: this.#feed(connection, own) }
    subscription.feed.subscribers.add(subscription)
    this.#byClient.set(client, subscriptions.set(exposed, subscription))
    return subscription
  }

  #feed(connection: Connection, own: string): Feed {
    const feeds = this.#feeds.get(connection) ?? new Map<string, Feed>()
    this.#feeds.set(connection, feeds)
    let feed = feeds.get(own)
    if (feed === undefined) {
      const accepted = Promise.resolve(resulted(EMPTY))
      feed = { connection, own, subscribers: new Set(), accepted, isRefused: true }
      feeds.set(own, feed)
    }
    if (feed.isRefused) this.#subscribe(feed)
    return feed
  }

  #subscribe(feed: Feed): void {
    feed.isRefused = false
    feed.accepted = this.#request(feed, 'resources/subscribe').then(outcome => {
      feed.isRefused = outcome.kind !== 'result'
      return outcome
    })
  }

  #leave({ client, exposed, feed }: Subscription): void {
    const subscriptions = this.#byClient.get(client)
    const subscription = subscriptions?.get(exposed)
    if (subscription?.feed !== feed || !feed.subscribers.delete(subscription)) return
    subscriptions?.delete(exposed)
    if (subscriptions?.size === 0) this.#byClient.delete(client)
    if (feed.subscribers.size > 0) return
    const feeds = this.#feeds.get(feed.connection)
    feeds?.delete(feed.own)
    if (feeds?.size === 0) this.#feeds.delete(feed.connection)
    if (!feed.isRefused) void this.#request(feed, 'resources/unsubscribe')
  }

  /** Requests about one URI wait for each other: over HTTP, two at the same time may arrive in either order. */
  #request({ connection, own }: Feed, method: string): Promise<Outcome> {
    const unanswered = this.#unanswered.get(connection) ?? new Map<string, Promise<Outcome>>()
    this.#unanswered.set(connection, unanswered)
    const send = (): Promise<Outcome> => request(connection, method, own, this.#context.clock)
    const outcome = unanswered.get(own)?.then(send) ?? send()
    unanswered.set(own, outcome)
    return outcome.finally(() => {
      if (unanswered.get(own) === outcome) unanswered.delete(own)
    })
  }
}

const uriOf = (call: Call): string => {
  const uri = call.params && stringOf(memberOf(call.params, 'uri'))
  if (uri === undefined) throw new Fault('invalid-params', `${call.method}: uri must be text`)
  return uri
}

/** One request about a URI; a connection that is down answers with its fault. Never rejects. */
const request = async (
  { link, server }: Connection,
  method: string,
  uri: string,
  clock: Clock,
): Promise<Outcome> => {
  const outcome: Outcome =
    link === undefined
      ? failed(new Fault('unavailable', 'it is not connected'))
      : await askServer(link, method, textOf({ uri }), { clock, timeoutMs: server.timeouts.callMs })
  if (outcome.kind !== 'fault' || outcome.fault.data?.['server'] !== undefined) return outcome
  const { fault } = outcome
  const data = { ...fault.data, server: server.name }
  return failed(new Fault(fault.code, `Server ${server.name}: ${fault.message}`, { data, cause: fault }))
}

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

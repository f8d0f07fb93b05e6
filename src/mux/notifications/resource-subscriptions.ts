import type { Catalog } from '../../catalog/catalog.js'
import type { Owners } from '../../catalog/owners.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, rawText, stringOf, textOf, withMember } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client } from '../../model/links.js'
import { failed, type Outcome, resulted } from '../../model/outcome.js'
import { askServer } from '../../peers/ask-server.js'
import type { Connection } from '../../peers/connection.js'
import { stillWanted } from '../calls/cancellation.js'

const EMPTY = rawText('{}')
/** A URI is kept for as long as it is subscribed; a longer one cannot be. */
const URI_CHARS = 8192

/** One URI of a server, subscribed once however many clients want it. */
interface Feed {
  readonly connection: Connection
  readonly own: string
  /** The same in the one spelling that all of its spellings come to. */
  readonly normal: string
  readonly subscribers: Set<Subscription>
  /** The server's answer to the subscription; all who come later wait for the same one. */
  accepted: Promise<Outcome>
  isRefused: boolean
}

/** Whom updates are told: a session, or a request that listens. */
export interface Subscriber {
  notify(method: string, params: JsonText): void
}

/** One subscriber's wish, under the URI as it wrote it: it is told in the same words. */
interface Subscription {
  readonly subscriber: Subscriber
  /** Over whose connection. */
  readonly client: Client
  readonly exposed: string
  readonly feed: Feed
}

/** A URI that is to be subscribed. */
export interface SubscriptionRequest {
  readonly subscriber: Subscriber
  /** Over whose connection. */
  readonly client: Client
  readonly exposed: string
  /** Whether it still is, when the server has been found and reached. */
  readonly isWanted: () => boolean
}

/** A subscription that was sent to its server. */
export interface Joined {
  /** False if the subscriber had it already. */
  readonly isNew: boolean
  /** The server's answer; with any but a result the subscription is gone again. */
  readonly accepted: Promise<Outcome>
}

/** What the feeds need of the router. */
export interface ResourceSubscriptionsContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
}

/**
 * Resource subscriptions (server/resources, "Subscriptions"): per connection and URI the first subscriber subscribes, the
 * last one unsubscribes, and an update goes to those who asked.
 */
export class ResourceSubscriptions {
  readonly #context: ResourceSubscriptionsContext
  readonly #feeds = new Map<Connection, Map<string, Feed>>()
  readonly #bySubscriber = new Map<Subscriber, Map<string, Subscription>>()
  /** Subscriptions whose connection was replaced, on the way to the new one. */
  readonly #homeless = new Set<Subscription>()
  /** Requests that are not answered yet: how many, and the last one about each URI. */
  readonly #unanswered = new WeakMap<
    Connection,
    { count: number; readonly last: Map<string, Promise<Outcome>> }
  >()

  constructor(context: ResourceSubscriptionsContext) {
    this.#context = context
  }

  /** How many URIs are subscribed at servers. */
  get size(): number {
    return [...this.#feeds.values()].reduce((sum, feeds) => sum + feeds.size, 0)
  }

  /** Serves `resources/subscribe` of a session. Rejects with a Fault, with which the call is to be ended. */
  async subscribe(call: Call): Promise<void> {
    const { client } = call
    const exposed = uriOf(call)
    const joined = await this.join({ subscriber: client, client, exposed, isWanted: stillWanted(call) })
    if (joined === undefined) return
    // A client that gives up before it is subscribed does not want to be.
    if (joined.isNew) call.onCancel = () => this.leave(client, exposed)
    const outcome = await joined.accepted
    call.end(outcome.kind === 'result' ? resulted(EMPTY) : outcome)
  }

  /** Serves `resources/unsubscribe`; unsubscribing what was not subscribed is fine. Throws a Fault without a URI. */
  unsubscribe(call: Call): void {
    this.leave(call.client, uriOf(call))
    call.end(resulted(EMPTY))
  }

  /**
   * Finds the owner of a URI and subscribes there; resolves when that was sent, or with undefined if it is not wanted any
   * more. Rejects with a Fault: no owner, no connection, no subscriptions there, or too many.
   */
  async join({ subscriber, client, exposed, isWanted }: SubscriptionRequest): Promise<Joined | undefined> {
    if (exposed.length > URI_CHARS)
      throw new Fault('invalid-params', `A URI of more than ${URI_CHARS} characters cannot be subscribed`)
    const { server, own } = await this.#context.owners.uri(client, exposed)
    if (!isWanted()) return undefined
    const connection = server.connectionFor(client)
    const link = await connection.open()
    if (!isWanted()) return undefined
    // Its server may have left meanwhile, with whatever was subscribed there.
    if (connection.link !== link) throw new Fault('unavailable', `Server ${server.name} is not connected`)
    if (link.facts.capabilities.resources?.subscribe !== true) {
      throw new Fault('unknown-method', `Server ${server.name} does not support resource subscriptions`)
    }
    const known = this.#bySubscriber.get(subscriber)?.get(exposed)
    const wish = { subscriber, client, exposed }
    const subscription = known ?? this.#add(wish, () => this.#feed(connection, own))
    const accepted = subscription.feed.accepted.then(outcome => {
      if (outcome.kind !== 'result') this.#remove(subscription)
      return outcome
    })
    return { isNew: known === undefined, accepted }
  }

  /** Ends a subscription; one that is not there has ended already. */
  leave(subscriber: Subscriber, exposed: string): void {
    this.#abandon(one => one.subscriber === subscriber && one.exposed === exposed)
    const subscription = this.#bySubscriber.get(subscriber)?.get(exposed)
    if (subscription !== undefined) this.#remove(subscription)
  }

  /** The subscriber is gone: its subscriptions end. */
  forget(subscriber: Subscriber): void {
    this.#abandon(one => one.subscriber === subscriber)
    for (const subscription of [...(this.#bySubscriber.get(subscriber)?.values() ?? [])])
      this.#remove(subscription)
  }

  /**
   * Tells those who subscribed to the URI; else those who subscribed to one above it (server/resources: it may be a
   * sub-resource). Whoever subscribed to something else hears of none, unless all that this server tells is for one session.
   */
  updated(connection: Connection, params: JsonText | undefined): void {
    const uri = params && stringOf(memberOf(params, 'uri'))
    const feeds = this.#feeds.get(connection)
    if (params === undefined || uri === undefined || feeds === undefined) return
    const feed = feedOf(uri, feeds)
    const { onlyClient } = connection
    if (feed !== undefined) {
      const below = uri.startsWith(feed.own) ? uri.slice(feed.own.length) : ''
      for (const { subscriber, exposed } of feed.subscribers) tellUpdated(subscriber, params, exposed + below)
    } else if (onlyClient?.serverRequests === 'pushed') {
      const exposed = this.#context.catalog.viewOf(connection.server).exposeUri(uri)
      tellUpdated(onlyClient, params, exposed)
    }
  }

  /** The server was lost and is back: subscriptions are renewed, and what may have been missed is reported. */
  renew(connection: Connection): void {
    for (const feed of this.#feeds.get(connection)?.values() ?? []) {
      this.#subscribe(feed)
      void feed.accepted.then(outcome => {
        if (outcome.kind === 'result') {
          for (const { subscriber, exposed } of feed.subscribers) tellUpdated(subscriber, EMPTY, exposed)
        } else this.#context.log.warn({ server: connection.server.name }, 'could not renew a subscription')
      })
    }
  }

  /** A client uses another connection from now on: what it subscribed to is subscribed there. */
  parted(connection: Connection, client: Client): void {
    const feeds = [...(this.#feeds.get(connection)?.values() ?? [])]
    const orphans = feeds.flatMap(({ subscribers }) => [...subscribers].filter(one => one.client === client))
    for (const orphan of orphans) this.#remove(orphan)
    for (const orphan of orphans) void this.#rehome(orphan)
  }

  /** A server left: its subscriptions end, or are made anew at the one that took its place. */
  serverLeft(connections: Iterable<Connection>, isReplaced: boolean): void {
    const orphans = [...connections].flatMap(connection =>
      [...(this.#feeds.get(connection)?.values() ?? [])].flatMap(feed => {
        // Nothing is unsubscribed at a server that ends.
        feed.isRefused = true
        return [...feed.subscribers]
      }),
    )
    for (const orphan of orphans) this.#remove(orphan)
    if (isReplaced) for (const orphan of orphans) void this.#rehome(orphan)
  }

  /** Subscribes on the connection that took the place of the former one, and says that something may have been missed. */
  async #rehome(orphan: Subscription): Promise<void> {
    const { subscriber, exposed } = orphan
    this.#homeless.add(orphan)
    try {
      const joined = await this.join({ ...orphan, isWanted: () => this.#homeless.has(orphan) })
      const outcome = await joined?.accepted
      if (outcome?.kind === 'result' && this.#homeless.has(orphan)) tellUpdated(subscriber, EMPTY, exposed)
    } catch (thrown) {
      this.#context.log.warn({ why: Fault.from(thrown).message }, 'could not move a subscription')
    }
    this.#homeless.delete(orphan)
  }

  /** Whether anything is subscribed over a connection. */
  areOn(connection: Connection): boolean {
    return this.#feeds.has(connection)
  }

  /** Whether a subscriber has any subscription. */
  has(subscriber: Subscriber): boolean {
    return this.#bySubscriber.has(subscriber)
  }

  #abandon(isMeant: (one: Subscription) => boolean): void {
    for (const one of this.#homeless) if (isMeant(one)) this.#homeless.delete(one)
  }

  #add(wish: Omit<Subscription, 'feed'>, feed: () => Feed): Subscription {
    const { subscriber, exposed } = wish
    const subscriptions = this.#bySubscriber.get(subscriber) ?? new Map<string, Subscription>()
    const { bounds } = this.#context
    if (subscriptions.size >= bounds.max.subscriptions)
      throw bounds.overloaded('subscriptions', `You have ${subscriptions.size} subscriptions`)
    const subscription = { ...wish, feed: feed() }
    subscription.feed.subscribers.add(subscription)
    this.#bySubscriber.set(subscriber, subscriptions.set(exposed, subscription))
    return subscription
  }

  #feed(connection: Connection, own: string): Feed {
    const feeds = this.#feeds.get(connection) ?? new Map<string, Feed>()
    const feed = feeds.get(own) ?? this.#newFeed(connection, own)
    this.#feeds.set(connection, feeds.set(own, feed))
    if (feed.isRefused) this.#subscribe(feed)
    return feed
  }

  /** Throws a Fault while too much is not answered: of a subscription that was ended, its requests are still under way. */
  #newFeed(connection: Connection, own: string): Feed {
    const { bounds, server } = connection
    const { count = 0 } = this.#unanswered.get(connection) ?? {}
    if (count >= bounds.max.callsPerServer) {
      const words = `Server ${server.name} has ${count} requests about subscriptions under way`
      throw bounds.overloaded('callsPerServer', words, { server: server.name })
    }
    const accepted = Promise.resolve(resulted(EMPTY))
    return { connection, own, normal: normalUri(own), subscribers: new Set(), accepted, isRefused: true }
  }

  #subscribe(feed: Feed): void {
    feed.isRefused = false
    feed.accepted = this.#request(feed, 'resources/subscribe').then(outcome => {
      feed.isRefused = outcome.kind !== 'result'
      return outcome
    })
  }

  #remove(subscription: Subscription): void {
    const { subscriber, exposed, feed } = subscription
    if (!feed.subscribers.delete(subscription)) return
    const subscriptions = this.#bySubscriber.get(subscriber)
    subscriptions?.delete(exposed)
    if (subscriptions?.size === 0) this.#bySubscriber.delete(subscriber)
    if (feed.subscribers.size > 0) return
    const feeds = this.#feeds.get(feed.connection)
    feeds?.delete(feed.own)
    if (feeds?.size === 0) this.#feeds.delete(feed.connection)
    if (!feed.isRefused) void this.#request(feed, 'resources/unsubscribe')
  }

  /** Requests about one URI wait for each other: over HTTP, two at the same time may arrive in either order. */
  #request({ connection, own }: Feed, method: string): Promise<Outcome> {
    const unanswered = this.#unanswered.get(connection) ?? {
      count: 0,
      last: new Map<string, Promise<Outcome>>(),
    }
    this.#unanswered.set(connection, unanswered)
    const { last } = unanswered
    const send = (): Promise<Outcome> => request(connection, method, own, this.#context.clock)
    const outcome = last.get(own)?.then(send) ?? send()
    last.set(own, outcome)
    unanswered.count += 1
    return outcome.finally(() => {
      unanswered.count -= 1
      if (last.get(own) === outcome) last.delete(own)
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
  return outcome.kind === 'fault' ? failed(outcome.fault.about(server.name)) : outcome
}

const tellUpdated = (subscriber: Subscriber, params: JsonText, uri: string): void =>
  subscriber.notify('notifications/resources/updated', withMember(params, 'uri', textOf(uri)))

/** What was subscribed of a URI: itself, in another spelling if need be (RFC 3986 §6.2.2), or one above it. */
const feedOf = (uri: string, feeds: ReadonlyMap<string, Feed>): Feed | undefined => {
  const same = feeds.get(uri)
  if (same !== undefined) return same
  const normal = normalUri(uri)
  for (const feed of feeds.values()) if (feed.normal === normal) return feed
  const above = longestAbove(uri, feeds.keys())
  return above === undefined ? undefined : feeds.get(above)
}

const normalUri = (uri: string): string => (URL.canParse(uri) ? new URL(uri).href : uri)

/** The longest subscribed URI that `uri` lies below. */
const longestAbove = (uri: string, subscribed: Iterable<string>): string | undefined => {
  let longest: string | undefined
  for (const candidate of subscribed) {
    if (!uri.startsWith(candidate) || candidate.length <= (longest?.length ?? -1)) continue
    if (/[/#?]$/.test(candidate) || /^[/#?]/.test(uri.slice(candidate.length))) longest = candidate
  }
  return longest
}

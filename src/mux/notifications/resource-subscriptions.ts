import type { Catalog } from '../../catalog/catalog.js'
import { normalUri } from '../../catalog/names/uris.js'
import type { Owners } from '../../catalog/owners.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { EMPTY, type JsonText, memberOf, stringOf, textOf, withMember } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client } from '../../model/links.js'
import { failed, type Outcome, succeeded } from '../../model/outcome.js'
import { askServer } from '../../peers/ask-server.js'
import type { Connection } from '../../peers/connection.js'
import type { OwnPeerRequest } from '../../peers/own-requests.js'
import type { CallRecord } from '../calls/call-record.js'
import { UriIndex } from './uri-index.js'

/** Maximum length of a subscribed URI; longer ones are rejected. */
const URI_CHARS = 8192
/** Maximum time for a server to answer a subscription, which clients share. */
const ANSWER_MS = 60_000
/** First and last delay before a refused renewal is tried again. */
const RENEW_MS = 1000
const RENEW_MOST_MS = 60_000

interface ServerSubscription {
  readonly connection: Connection
  readonly own: string
  /** `own` in normal form (RFC 3986 §6.2.2). */
  readonly normal: string
  readonly subscribers: Set<Subscription>
  request: OwnPeerRequest
  /** The server's answer, which later subscribers share. */
  accepted: Promise<Outcome>
  isRefused: boolean
}

export interface Subscriber {
  /** The credential that it currently uses. */
  readonly caller: Caller
  notify(method: string, params: JsonText): void
}

/** One subscriber's subscription, under the URI as it wrote it. */
interface Subscription {
  readonly subscriber: Subscriber
  readonly client: Client
  readonly exposed: string
  readonly upstream: ServerSubscription
}

type Listening = Pick<Subscription, 'subscriber' | 'client'>

export interface SubscriptionRequest {
  readonly subscriber: Subscriber
  /** The client whose connection it uses. */
  readonly client: Client
  readonly exposed: string
  /** Returns whether the subscription is still wanted; called once the server is connected. */
  readonly isWanted: () => boolean
}

export interface JoinedSubscription {
  readonly connection: Connection
  readonly isNew: boolean
  /** Any outcome but a result ends the subscription. */
  readonly accepted: Promise<Outcome>
}

/** An update under the subscriber's URI. */
interface Update {
  readonly params: JsonText
  readonly uri: string
}

/** Unanswered requests: their number, and the last one per URI. */
interface Unanswered {
  count: number
  readonly last: Map<string, Promise<Outcome>>
}

export interface ResourceSubscriptionsContext {
  readonly catalog: Catalog
  readonly owners: Pick<Owners, 'uri'>
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
}

class Upstreams extends UriIndex<ServerSubscription> {}

/**
 * Shares subscriptions per connection and URI (server/resources, "Subscriptions"): the first subscriber
 * subscribes at the server, the last one unsubscribes, and an update goes to all of them.
 */
export class ResourceSubscriptions {
  readonly #context: ResourceSubscriptionsContext
  readonly #upstreams = new Map<Connection, Upstreams>()
  readonly #bySubscriber = new Map<Subscriber, Map<string, Subscription>>()
  /** Subscriptions that still have to move to a new connection. */
  readonly #moving = new Set<Subscription>()
  readonly #unanswered = new WeakMap<Connection, Unanswered>()

  constructor(context: ResourceSubscriptionsContext) {
    this.#context = context
  }

  get size(): number {
    return [...this.#upstreams.values()].reduce((sum, upstreams) => sum + upstreams.size, 0)
  }

  /** Serves `resources/subscribe` of a session. Never rejects. */
  async subscribe(call: CallRecord): Promise<void> {
    try {
      const { client } = call
      const exposed = uriOf(call)
      const joined = await this.join({ subscriber: client, client, exposed, isWanted: () => !call.isOver })
      if (joined === undefined) return
      if (joined.isNew) call.onCancelled(() => this.leave(client, exposed))
      const outcome = await joined.accepted
      call.end(outcome.kind === 'result' ? succeeded(EMPTY) : outcome)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  unsubscribe(call: Call): void {
    try {
      this.leave(call.client, uriOf(call))
      call.end(succeeded(EMPTY))
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  /**
   * Subscribes at the owner of a URI. Resolves when the request was sent, with undefined if it is no longer
   * wanted. Rejects with a Fault.
   */
  async join({
    subscriber,
    client,
    exposed,
    isWanted,
  }: SubscriptionRequest): Promise<JoinedSubscription | undefined> {
    if (exposed.length > URI_CHARS)
      throw new Fault('invalid-params', `A URI of more than ${URI_CHARS} characters cannot be subscribed`)
    const { server, own } = await this.#context.owners.uri({ client, caller: subscriber.caller }, exposed)
    if (!isWanted()) return undefined
    const connection = server.connectionFor(client)
    const link = await connection.open()
    if (!isWanted()) return undefined
    // The server may have been removed meanwhile, with all of its subscriptions.
    if (connection.link !== link) throw new Fault('unavailable', `Server ${server.name} is not connected`)
    if (link.facts.capabilities.resources?.subscribe !== true) {
      throw new Fault('unknown-method', `Server ${server.name} does not support resource subscriptions`)
    }
    const known = this.#bySubscriber.get(subscriber)?.get(exposed)
    const subscription = known ?? this.#add({ subscriber, client, exposed }, connection, own)
    // A renewal was refused earlier; the server may accept it now.
    if (subscription.upstream.isRefused) this.#subscribe(subscription.upstream, [client])
    const accepted = subscription.upstream.accepted.then(outcome => {
      if (outcome.kind !== 'result') this.#remove(subscription)
      return outcome
    })
    return { connection, isNew: known === undefined, accepted }
  }

  leave(subscriber: Subscriber, exposed: string): void {
    this.#abandon(one => one.subscriber === subscriber && one.exposed === exposed)
    const subscription = this.#bySubscriber.get(subscriber)?.get(exposed)
    if (subscription !== undefined) this.#remove(subscription)
  }

  forget(subscriber: Subscriber): void {
    this.#abandon(one => one.subscriber === subscriber)
    for (const subscription of [...(this.#bySubscriber.get(subscriber)?.values() ?? [])])
      this.#remove(subscription)
  }

  /**
   * Relays an update to the subscribers of its URI; else to those of a parent (server/resources: it may be a
   * sub-resource), else to the only session on this connection.
   */
  updated(connection: Connection, params: JsonText | undefined): void {
    const uri = params && stringOf(memberOf(params, 'uri'))
    const upstreams = this.#upstreams.get(connection)
    if (params === undefined || uri === undefined || upstreams === undefined || uri.length > URI_CHARS) return
    const upstream = upstreams.of(uri)
    const { onlyClient } = connection
    if (upstream !== undefined) {
      const below = uri.startsWith(upstream.own) ? uri.slice(upstream.own.length) : ''
      for (const each of upstream.subscribers)
        this.#tell(connection, each, { params, uri: each.exposed + below })
    } else if (onlyClient?.serverRequests === 'pushed') {
      const exposed = this.#context.catalog.exposedUri(onlyClient, connection.server, uri)
      this.#tell(connection, { subscriber: onlyClient, client: onlyClient }, { params, uri: exposed })
    }
  }

  /** Notifies a subscriber of an update, if it may still see the server's resources. */
  #tell({ server }: Connection, { subscriber, client }: Listening, { params, uri }: Update): void {
    if (this.#context.catalog.sees({ client, caller: subscriber.caller }, server, 'resources'))
      subscriber.notify('notifications/resources/updated', withMember(params, 'uri', textOf(uri)))
  }

  /**
   * Renews the subscriptions of a reconnected server, and reports updates, since some may have been missed.
   */
  renew(connection: Connection): void {
    for (const upstream of this.#upstreams.get(connection)?.values() ?? []) this.#renew(upstream, RENEW_MS)
  }

  /** Renews one subscription. After a refusal, retries after `waitMs`, then with doubled delays. */
  #renew(upstream: ServerSubscription, waitMs: number): void {
    const { connection } = upstream
    const { link } = connection
    this.#subscribe(upstream, new Set([...upstream.subscribers].map(({ client }) => client)))
    void upstream.accepted.then(outcome => {
      if (outcome.kind === 'result') {
        for (const each of upstream.subscribers)
          this.#tell(connection, each, { params: EMPTY, uri: each.exposed })
        return
      }
      this.#context.log.warn({ server: connection.server.name }, 'could not renew a subscription')
      if (waitMs > RENEW_MOST_MS) return
      this.#context.clock.after(waitMs, () => {
        const isDue = upstream.isRefused && upstream.subscribers.size > 0 && connection.link === link
        if (isDue) this.#renew(upstream, 2 * waitMs)
      })
    })
  }

  /** Moves the subscriptions of a client to its new connection. */
  parted(connection: Connection, client: Client): void {
    const upstreams = [...(this.#upstreams.get(connection)?.values() ?? [])]
    const moving = upstreams.flatMap(({ subscribers }) =>
      [...subscribers].filter(subscription => subscription.client === client),
    )
    for (const one of moving) this.#remove(one)
    for (const one of moving) void this.#move(one)
  }

  /** Ends the subscriptions of a removed server, or moves them to its replacement. */
  serverLeft(connections: Iterable<Connection>, isReplaced: boolean): void {
    const moving = [...connections].flatMap(connection =>
      [...(this.#upstreams.get(connection)?.values() ?? [])].flatMap(upstream => {
        // A server that stops needs no unsubscribing.
        upstream.isRefused = true
        return [...upstream.subscribers]
      }),
    )
    for (const one of moving) this.#remove(one)
    if (isReplaced) for (const one of moving) void this.#move(one)
  }

  /** Moves a subscription to its new connection; retries refusals like `#renew`. */
  async #move(one: Subscription, waitMs = RENEW_MS): Promise<void> {
    this.#moving.add(one)
    const why = await this.#rejoin(one)
    if (why !== undefined) this.#context.log.warn({ why: why.message }, 'could not move a subscription')
    if (why === undefined || waitMs > RENEW_MOST_MS) this.#moving.delete(one)
    else
      this.#context.clock.after(waitMs, () => {
        if (this.#moving.has(one)) void this.#move(one, 2 * waitMs)
      })
  }

  /**
   * Subscribes on the new connection, and reports an update, since some may have been missed. Resolves with
   * the Fault if the server refuses.
   */
  async #rejoin(one: Subscription): Promise<Fault | undefined> {
    try {
      const joined = await this.join({ ...one, isWanted: () => this.#moving.has(one) })
      const outcome = await joined?.accepted
      if (joined === undefined || outcome === undefined || !this.#moving.has(one)) return undefined
      if (outcome.kind !== 'result') return new Fault('internal', 'the server refused it')
      this.#tell(joined.connection, one, { params: EMPTY, uri: one.exposed })
      return undefined
    } catch (thrown) {
      return Fault.from(thrown)
    }
  }

  areOn(connection: Connection): boolean {
    return this.#upstreams.has(connection)
  }

  has(subscriber: Subscriber): boolean {
    return this.#bySubscriber.has(subscriber)
  }

  #abandon(isMeant: (one: Subscription) => boolean): void {
    for (const one of this.#moving) if (isMeant(one)) this.#moving.delete(one)
  }

  #add(subscribed: Omit<Subscription, 'upstream'>, connection: Connection, own: string): Subscription {
    const { subscriber, exposed } = subscribed
    const subscriptions = this.#bySubscriber.get(subscriber) ?? new Map<string, Subscription>()
    const { bounds } = this.#context
    if (subscriptions.size >= bounds.max.subscriptions)
      throw bounds.overloaded('subscriptions', `You have ${subscriptions.size} subscriptions`)
    const subscription = { ...subscribed, upstream: this.#upstream(connection, own, subscribed.client) }
    subscription.upstream.subscribers.add(subscription)
    this.#bySubscriber.set(subscriber, subscriptions.set(exposed, subscription))
    return subscription
  }

  #upstream(connection: Connection, own: string, client: Client): ServerSubscription {
    const upstreams = this.#upstreams.get(connection) ?? new Upstreams()
    const upstream = upstreams.get(own) ?? this.#newUpstream(connection, own)
    upstreams.add(upstream)
    this.#upstreams.set(connection, upstreams)
    if (upstream.isRefused) this.#subscribe(upstream, [client])
    else upstream.request.join(client)
    return upstream
  }

  /** Throws a Fault above the maximum of unanswered requests, including those of ended subscriptions. */
  #newUpstream(connection: Connection, own: string): ServerSubscription {
    const { bounds, server } = connection
    const { count = 0 } = this.#unanswered.get(connection) ?? {}
    if (count >= bounds.max.callsPerServer) {
      const words = `Server ${server.name} has ${count} subscription requests in flight`
      throw bounds.overloaded('callsPerServer', words, { server: server.name })
    }
    const accepted = Promise.resolve(succeeded(EMPTY))
    const request = connection.ownRequests.on([])
    const normal = normalUri(own)
    return { connection, own, normal, subscribers: new Set(), request, accepted, isRefused: true }
  }

  #subscribe(upstream: ServerSubscription, clients: Iterable<Client>): void {
    upstream.isRefused = false
    upstream.request = upstream.connection.ownRequests.on(clients)
    upstream.accepted = this.#request(upstream, 'resources/subscribe').then(outcome => {
      upstream.isRefused = outcome.kind !== 'result'
      return outcome
    })
  }

  #remove(subscription: Subscription): void {
    const { subscriber, exposed, upstream } = subscription
    if (!upstream.subscribers.delete(subscription)) return
    const subscriptions = this.#bySubscriber.get(subscriber)
    subscriptions?.delete(exposed)
    if (subscriptions?.size === 0) this.#bySubscriber.delete(subscriber)
    if (upstream.subscribers.size > 0) return
    const upstreams = this.#upstreams.get(upstream.connection)
    upstreams?.remove(upstream)
    if (upstreams?.size === 0) this.#upstreams.delete(upstream.connection)
    if (upstream.isRefused) return
    upstream.request = upstream.connection.ownRequests.on([subscription.client])
    void this.#request(upstream, 'resources/unsubscribe')
  }

  /** Sends requests about one URI in sequence: over HTTP, concurrent ones may arrive in either order. */
  #request(upstream: ServerSubscription, method: string): Promise<Outcome> {
    const { connection, own } = upstream
    const unanswered: Unanswered = this.#unanswered.get(connection) ?? { count: 0, last: new Map() }
    this.#unanswered.set(connection, unanswered)
    const { last } = unanswered
    const ask = { method, uri: own, own: upstream.request }
    const send = (): Promise<Outcome> => request(connection, ask, this.#context.clock)
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

/** Sends a request and resolves with its outcome. Never rejects. */
const request = async (
  { link, server }: Connection,
  { method, uri, own }: { readonly method: string; readonly uri: string; readonly own: OwnPeerRequest },
  clock: Clock,
): Promise<Outcome> => {
  if (link === undefined) return failed(new Fault('unavailable', 'it is not connected').about(server.name))
  const limit = { clock, timeoutMs: Math.min(server.timeouts.callMs, ANSWER_MS), own }
  const outcome = await askServer(link, method, textOf({ uri }), limit)
  return outcome.kind === 'fault' ? failed(outcome.fault.about(server.name)) : outcome
}

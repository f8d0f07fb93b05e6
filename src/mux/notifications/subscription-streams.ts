import type { Offer } from '../../catalog/capabilities.js'
import { offers } from '../../catalog/lists/remembered.js'
import type { Clock } from '../../kernel/async/clock.js'
import { withLimit } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, rawText } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import { failed, resulted } from '../../model/outcome.js'
import type { Principal } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import type { ClientRegistry } from '../clients/client-registry.js'
import type { Audience, Change } from './list-changed.js'
import type { ResourceSubscriptions, Subscriber } from './resource-subscriptions.js'
import {
  acknowledgement,
  flagsFor,
  listsOf,
  readFilter,
  type SubscriptionFilter,
} from './subscription-filter.js'

/** How long the servers of resources have to accept; whoever is later is left out of the acknowledgement. */
const ACK_WAIT_MS = 5000
const EMPTY = rawText('{}')

/** What listening requests need of the router. */
export interface SubscriptionStreamsContext {
  readonly feeds: ResourceSubscriptions
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly guests: ClientRegistry
  /** Has a client's connections opened on which changes of these lists are told. */
  readonly hear: (client: Client, lists: ReadonlySet<ListName>) => void
  /** What a client can be told at the moment that all servers can do. */
  readonly offerTo: (client: Client) => Offer
  /** The same for lists that look the same. */
  readonly versionOf: (client: Client, list: ListName) => string
}

/**
 * Requests that listen for changes (2026-07-28, basic/patterns/subscriptions): each says what it wants to hear of, is told
 * what it will, and hears that until its client ends it or we close.
 *
 *   opening ─servers accepted, or had their time▶ open ─client cancels, we close▶ over;  cancelled while opening ▶ over
 */
export class SubscriptionStreams {
  readonly #context: SubscriptionStreamsContext
  readonly #byPrincipal = new Map<Principal, Set<Listen>>()
  #isClosed = false

  constructor(context: SubscriptionStreamsContext) {
    this.#context = context
  }

  /** How many requests listen. */
  get size(): number {
    return [...this.#byPrincipal.values()].reduce((sum, listens) => sum + listens.size, 0)
  }

  /** Those who are told of changed lists. */
  get audience(): readonly Listen[] {
    return [...this.#byPrincipal.values()].flatMap(listens => [...listens])
  }

  /** Whether anybody was promised to hear of changes that are told on a connection; `connectionOf` finds that of each. */
  isHeard(connection: Connection, connectionOf: (client: Client) => Connection | undefined): boolean {
    const { facts } = connection
    if (facts === undefined) return false
    return this.audience.some(
      ({ call, lists }) =>
        lists.some(list => offers(facts, list)) && connectionOf(call.client) === connection,
    )
  }

  /** Serves `subscriptions/listen`; whatever is wrong with it ends it. */
  take(call: Call): void {
    try {
      const filter = readFilter(call.params)
      const listen = this.#admit(call)
      call.onCancel = () => this.#over(listen)
      void this.#open(listen, filter)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  /** Ends all of them as the specification wants it ("Ending a Subscription"), and lets no more in. */
  close(): void {
    this.#isClosed = true
    for (const listens of [...this.#byPrincipal.values()]) {
      for (const listen of [...listens]) {
        this.#over(listen)
        listen.call.end(resulted(EMPTY))
      }
    }
  }

  #admit(call: Call): Listen {
    if (this.#isClosed) throw new Fault('unavailable', 'The proxy is shutting down')
    const { principal } = call.client
    const listens = this.#byPrincipal.get(principal) ?? new Set()
    const { bounds } = this.#context
    // Each holds a stream, and perhaps a socket, for as long as its client likes.
    if (listens.size >= bounds.max.listens)
      throw bounds.overloaded('listens', `${listens.size} requests listen already`, { principal })
    const listen = new Listen(call, this.#context)
    this.#byPrincipal.set(principal, listens.add(listen))
    return listen
  }

  async #open(listen: Listen, { flags, uris }: SubscriptionFilter): Promise<void> {
    const { feeds, clock, offerTo } = this.#context
    const accepted = new Set<string>()
    const answers = uris.map(async uri => {
      if (await this.#subscribe(listen, uri)) accepted.add(uri)
    })
    if (answers.length > 0) await withLimit(Promise.all(answers), ACK_WAIT_MS, clock)
    if (listen.at === 'over') return
    for (const uri of uris) if (!accepted.has(uri)) feeds.leave(listen, uri)
    const { capabilities, isComplete } = offerTo(listen.call.client)
    const isOffered = (list: ListName): boolean =>
      Boolean(capabilities[list === 'templates' ? 'resources' : list])
    const honoured = flagsFor({ flags, uris }, isOffered)
    this.#context.hear(listen.call.client, listsOf({ flags: honoured, uris }))
    listen.open({ flags: honoured, uris: uris.filter(uri => accepted.has(uri)) }, isComplete)
  }

  /** Whether a URI's owner accepted; never rejects. */
  async #subscribe(listen: Listen, exposed: string): Promise<boolean> {
    const { feeds, log } = this.#context
    const { client } = listen.call
    const isWanted = (): boolean => listen.at === 'opening'
    try {
      const joined = await feeds.join({ subscriber: listen, client, exposed, isWanted })
      return joined !== undefined && (await joined.accepted).kind === 'result'
    } catch (thrown) {
      log.debug({ client: client.id, why: Fault.from(thrown).message }, 'a resource cannot be listened to')
      return false
    }
  }

  #over(listen: Listen): void {
    if (listen.at === 'over') return
    listen.at = 'over'
    const { principal } = listen.call.client
    const listens = this.#byPrincipal.get(principal)
    listens?.delete(listen)
    if (listens?.size === 0) this.#byPrincipal.delete(principal)
    this.#context.feeds.forget(listen)
  }
}

/** One request that listens. */
class Listen implements Subscriber, Audience {
  readonly call: Call
  at: 'opening' | 'open' | 'over' = 'opening'
  readonly #context: SubscriptionStreamsContext
  /** The lists that it hears of, in the version that they had when that was promised, or that it heard of last. */
  readonly #since = new Map<ListName, string>()
  /** Whether some servers had not answered then. */
  #wasEarly = false

  constructor(call: Call, context: SubscriptionStreamsContext) {
    this.call = call
    this.#context = context
  }

  /** Says what will be heard: the first thing that is said at all. `isComplete` tells whether all servers are known. */
  open(honoured: SubscriptionFilter, isComplete: boolean): void {
    this.#wasEarly = !isComplete
    for (const list of listsOf(honoured)) this.#since.set(list, this.#version(list))
    this.at = 'open'
    this.call.notify('notifications/subscriptions/acknowledged', acknowledgement(honoured))
  }

  /** The lists that it hears of. */
  get lists(): readonly ListName[] {
    return [...this.#since.keys()]
  }

  /**
   * Every change since the acknowledgement. The first list of a server is one for those who were given the merged list without
   * it, not necessarily by this client, for it may be another one of the same program; if nobody was, for those who were there
   * before the server.
   */
  isNews({ list, isFirst }: Change): boolean {
    const since = this.#since.get(list)
    if (this.at !== 'open' || since === undefined) return false
    const { guests } = this.#context
    const { client } = this.call
    const version = this.#version(list)
    if (since === version && (guests.givenTo(client, list) ?? version) === version) return false
    if (!isFirst) return true
    const seen = guests.seenBy(client.principal, list)
    return seen.length === 0 ? this.#wasEarly : seen.some(other => other !== version)
  }

  knows(list: ListName): void {
    if (this.#since.has(list)) this.#since.set(list, this.#version(list))
  }

  #version(list: ListName): string {
    return this.#context.versionOf(this.call.client, list)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.at === 'open') this.call.notify(method, params)
  }
}

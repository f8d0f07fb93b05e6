import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/remembered.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, rawText } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import { failed, resulted } from '../../model/outcome.js'
import type { Principal } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import { whenCancelled } from '../calls/call-events.js'
import type { ClientRegistry } from '../clients/client-registry.js'
import type { ServerStarter } from '../clients/server-starter.js'
import type { Audience, Change } from './list-changed.js'
import type { ResourceSubscriptions, Subscriber } from './resource-subscriptions.js'
import {
  acknowledgement,
  flagsFor,
  listsOf,
  readFilter,
  type SubscriptionFilter,
} from './subscription-filter.js'

/** How long servers have to accept resource subscriptions; a later one is left out of the acknowledgement. */
const ACK_WAIT_MS = 5000
const EMPTY = rawText('{}')

/** What subscription streams depend on. */
export interface SubscriptionStreamsContext {
  readonly catalog: Catalog
  readonly subscriptions: ResourceSubscriptions
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly clients: ClientRegistry
  readonly starter: ServerStarter
}

/**
 * Serves `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions): each request names the notifications it wants, gets an
 * acknowledgement of those it will receive, and receives them until its client cancels or the proxy closes.
 *
 *   opening ─ servers accepted, or timed out ▶ open ─ client cancels, or proxy closes ▶ over;  opening ─ cancelled ▶ over
 */
export class SubscriptionStreams {
  readonly #context: SubscriptionStreamsContext
  readonly #byPrincipal = new Map<Principal, Set<Stream>>()
  #isClosed = false

  constructor(context: SubscriptionStreamsContext) {
    this.#context = context
  }

  /** How many streams are open or opening. */
  get size(): number {
    return [...this.#byPrincipal.values()].reduce((sum, streams) => sum + streams.size, 0)
  }

  /** All streams. */
  get all(): readonly Stream[] {
    return [...this.#byPrincipal.values()].flatMap(streams => [...streams])
  }

  /** Whether a stream was promised changes that arrive on this connection; `connectionOf` finds the connection of each client. */
  isHeard(connection: Connection, connectionOf: (client: Client) => Connection | undefined): boolean {
    const { facts } = connection
    if (facts === undefined) return false
    return this.all.some(
      ({ call, lists }) =>
        lists.some(list => offers(facts, list)) && connectionOf(call.client) === connection,
    )
  }

  /** Serves `subscriptions/listen`; whatever goes wrong ends the call. */
  listen(call: Call): void {
    try {
      const filter = readFilter(call.params)
      const stream = this.#admit(call)
      whenCancelled(call, () => this.#over(stream))
      void this.#open(stream, filter)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  /** Ends all streams as the specification wants it ("Ending a Subscription") and refuses new ones. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.all) {
      this.#over(stream)
      stream.call.end(resulted(EMPTY))
    }
  }

  #admit(call: Call): Stream {
    if (this.#isClosed) throw new Fault('unavailable', 'The proxy is shutting down')
    const { principal } = call.client
    const streams = this.#byPrincipal.get(principal) ?? new Set()
    const { bounds } = this.#context
    // Each holds a stream, and perhaps a socket, for as long as its client wants.
    if (streams.size >= bounds.max.listens)
      throw bounds.overloaded('listens', `${streams.size} requests listen already`, { principal })
    const stream = new Stream(call, this.#context)
    this.#byPrincipal.set(principal, streams.add(stream))
    return stream
  }

  async #open(stream: Stream, { flags, uris }: SubscriptionFilter): Promise<void> {
    const { subscriptions, clock, catalog, starter } = this.#context
    const accepted = new Set<string>()
    const answers = uris.map(async uri => {
      if (await this.#subscribe(stream, uri)) accepted.add(uri)
    })
    if (answers.length > 0) await within(Promise.all(answers), { clock, ms: ACK_WAIT_MS })
    if (stream.at === 'over') return
    for (const uri of uris) if (!accepted.has(uri)) subscriptions.leave(stream, uri)
    const { capabilities, isComplete } = catalog.offer(stream.call.client)
    const isOffered = (list: ListName): boolean =>
      Boolean(capabilities[list === 'templates' ? 'resources' : list])
    const honoured = flagsFor({ flags, uris }, isOffered)
    starter.openFor(stream.call.client, listsOf({ flags: honoured, uris }))
    stream.open({ flags: honoured, uris: uris.filter(uri => accepted.has(uri)) }, isComplete)
  }

  /** Subscribes to a URI; resolves with whether its owner accepted. Never rejects. */
  async #subscribe(stream: Stream, exposed: string): Promise<boolean> {
    const { subscriptions, log } = this.#context
    const { client } = stream.call
    const isWanted = (): boolean => stream.at === 'opening'
    try {
      const joined = await subscriptions.join({ subscriber: stream, client, exposed, isWanted })
      return joined !== undefined && (await joined.accepted).kind === 'result'
    } catch (thrown) {
      log.debug({ client: client.id, why: Fault.from(thrown).message }, 'could not subscribe to a resource')
      return false
    }
  }

  #over(stream: Stream): void {
    if (stream.at === 'over') return
    stream.at = 'over'
    const { principal } = stream.call.client
    const streams = this.#byPrincipal.get(principal)
    streams?.delete(stream)
    if (streams?.size === 0) this.#byPrincipal.delete(principal)
    this.#context.subscriptions.forget(stream)
  }
}

/** One `subscriptions/listen` request. */
class Stream implements Subscriber, Audience {
  readonly call: Call
  at: 'opening' | 'open' | 'over' = 'opening'
  readonly #context: SubscriptionStreamsContext
  /** The lists it hears of, each in the version it had at the acknowledgement or at the last notification. */
  readonly #since = new Map<ListName, string>()
  /** Whether some servers had not answered at the acknowledgement. */
  #wasEarly = false

  constructor(call: Call, context: SubscriptionStreamsContext) {
    this.call = call
    this.#context = context
  }

  /** Acknowledges the stream, before anything else is sent on it. `isComplete`: whether all servers have answered. */
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
   * Every change since the acknowledgement is news. The first list of a server is news if a client of the same principal read the
   * merged list without it (it may be another client of the same program), or, if none read it, if the stream was acknowledged
   * before the server had answered.
   */
  isNews({ list, isFirst }: Change): boolean {
    const since = this.#since.get(list)
    if (this.at !== 'open' || since === undefined) return false
    const { clients } = this.#context
    const { client } = this.call
    const version = this.#version(list)
    if (since === version && (clients.givenTo(client, list) ?? version) === version) return false
    if (!isFirst) return true
    const seen = clients.seenBy(client.principal, list)
    return seen.length === 0 ? this.#wasEarly : seen.some(other => other !== version)
  }

  knows(list: ListName): void {
    if (this.#since.has(list)) this.#since.set(list, this.#version(list))
  }

  #version(list: ListName): string {
    return this.#context.catalog.version(this.call.client, list)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.at === 'open') this.call.notify(method, params)
  }
}

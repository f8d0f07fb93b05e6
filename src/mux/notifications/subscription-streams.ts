import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/profile-cache.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import type { Caller, Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import {
  EMPTY,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  stringOf,
  textOf,
} from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Call, Client } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import { failed, succeeded } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { OnSubscriptionDenied } from '../calls/audit.js'
import type { ClientRegistry } from '../clients/client-registry.js'
import type { Audience, Change } from '../clients/list-changed.js'
import type { ServerStarter } from '../clients/server-starter.js'
import { extensionMissing, mayFollowTasks } from '../tasks/task-calls.js'
import type { ResourceSubscriptions, Subscriber } from './resource-subscriptions.js'
import type { TaskListening, TaskListens } from './task-listens.js'

/**
 * Maximum time for servers to accept resource subscriptions; later ones are missing from the acknowledgement.
 */
const ACK_WAIT_MS = 5000
/** The same for tasks: a little shorter, so that those of fast servers are acknowledged. */
const TASKS_WAIT_MS = 4900

export interface SubscriptionStreamsContext {
  readonly catalog: Catalog
  readonly subscriptions: ResourceSubscriptions
  readonly clock: Clock
  readonly log: Logger
  readonly bounds: LimitCounters
  readonly clients: ClientRegistry
  readonly starter: ServerStarter
  readonly listens: TaskListens
  readonly onSubscriptionDenied?: OnSubscriptionDenied | undefined
}

/**
 * Serves `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions): acknowledges the supported
 * notifications, and sends them until the client cancels or the proxy closes.
 */
export class SubscriptionStreams {
  readonly #context: SubscriptionStreamsContext
  readonly #byPrincipal = new Map<Principal, Set<Stream>>()
  #isClosed = false

  constructor(context: SubscriptionStreamsContext) {
    this.#context = context
  }

  get size(): number {
    return [...this.#byPrincipal.values()].reduce((sum, streams) => sum + streams.size, 0)
  }

  get all(): readonly Stream[] {
    return [...this.#byPrincipal.values()].flatMap(streams => [...streams])
  }

  /** Returns whether a stream expects list changes from this connection. */
  isHeard(connection: Connection, connectionOf: (client: Client) => Connection | undefined): boolean {
    const { facts } = connection
    if (facts === undefined) return false
    return this.all.some(
      ({ call, lists, tasks }) =>
        tasks?.isOn(connection) === true ||
        (lists.some(list => offers(facts, list)) && connectionOf(call.client) === connection),
    )
  }

  /** Serves `subscriptions/listen`; any failure ends the call. */
  listen(call: Call): void {
    try {
      const filter = readFilter(call.params)
      if (filter.tasks !== undefined && !mayFollowTasks(call.client)) {
        call.end(extensionMissing())
        return
      }
      const stream = this.#admit(call)
      call.onCancelled(() => this.#over(stream))
      void this.#open(stream, filter)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  /** Ends all streams as specified ("Ending a Subscription") and rejects new ones. */
  close(): void {
    this.#isClosed = true
    for (const stream of this.all) {
      this.#over(stream)
      stream.call.end(succeeded(EMPTY))
    }
  }

  #admit(call: Call): Stream {
    if (this.#isClosed) throw new Fault('unavailable', 'The proxy is shutting down')
    const { principal } = call.client
    const streams = this.#byPrincipal.get(principal) ?? new Set()
    const { bounds } = this.#context
    // Each holds a stream, and perhaps a socket, for as long as its client wants.
    if (streams.size >= bounds.max.listens)
      throw bounds.overloaded('listens', `${streams.size} listening requests are already open`, { principal })
    const stream = new Stream(call, this.#context)
    this.#byPrincipal.set(principal, streams.add(stream))
    return stream
  }

  async #open(stream: Stream, { flags, uris, tasks }: SubscriptionFilter): Promise<void> {
    const { subscriptions, clock, catalog, starter } = this.#context
    const accepted = new Set<string>()
    const answers = uris.map(async uri => {
      if (await this.#subscribe(stream, uri)) accepted.add(uri)
    })
    if (tasks !== undefined) answers.push(this.#listen(stream, tasks))
    if (answers.length > 0) await within(Promise.all(answers), { clock, ms: ACK_WAIT_MS })
    if (stream.at === 'over') return
    for (const uri of uris) if (!accepted.has(uri)) subscriptions.leave(stream, uri)
    const { capabilities, isComplete } = catalog.offer(stream.call)
    const offered = LIST_NAMES.filter(list => capabilities[LISTS[list].changesOf])
    const honoured = {
      flags: flags.filter(flag => offered.some(list => LISTS[list].flag === flag)),
      uris: uris.filter(uri => accepted.has(uri)),
      tasks: stream.tasks?.accepted,
    }
    starter.openFor(stream.call, listsOf(honoured))
    stream.open(honoured, isComplete)
  }

  /** Subscribes to a resource; resolves with false on failure. Never rejects. */
  async #subscribe(stream: Stream, exposed: string): Promise<boolean> {
    const { subscriptions, log, onSubscriptionDenied } = this.#context
    const { client } = stream.call
    const isWanted = (): boolean => stream.at === 'opening'
    try {
      const joined = await subscriptions.join({ subscriber: stream, client, exposed, isWanted })
      return joined !== undefined && (await joined.accepted).kind === 'result'
    } catch (thrown) {
      const fault = Fault.from(thrown)
      log.debug({ client: client.id, why: fault.message }, 'could not subscribe to a resource')
      if (fault.code === 'refused') onSubscriptionDenied?.(stream.call, exposed, fault)
      return false
    }
  }

  async #listen(stream: Stream, ids: readonly string[]): Promise<void> {
    stream.tasks = await this.#context.listens.open(stream.call, ids, TASKS_WAIT_MS)
    if (stream.at === 'over') stream.tasks.close()
  }

  #over(stream: Stream): void {
    if (stream.at === 'over') return
    stream.at = 'over'
    const { principal } = stream.call.client
    const streams = this.#byPrincipal.get(principal)
    streams?.delete(stream)
    if (streams?.size === 0) this.#byPrincipal.delete(principal)
    stream.tasks?.close()
    this.#context.subscriptions.forget(stream)
  }
}

class Stream implements Subscriber, Audience {
  readonly call: Call
  at: 'opening' | 'open' | 'over' = 'opening'
  /** The requests at servers that report the client's tasks. */
  tasks: TaskListening | undefined
  readonly #context: SubscriptionStreamsContext
  /** The reported lists, with their versions at the acknowledgement or the last notification. */
  readonly #since = new Map<ListName, string>()
  /** True if some servers had not answered at the acknowledgement. */
  #wasEarly = false

  constructor(call: Call, context: SubscriptionStreamsContext) {
    this.call = call
    this.#context = context
  }

  /** Acknowledges the stream before anything else. `isComplete`: all servers have answered. */
  open(honoured: SubscriptionFilter, isComplete: boolean): void {
    this.#wasEarly = !isComplete
    for (const list of listsOf(honoured)) this.#since.set(list, this.#version(list))
    this.at = 'open'
    this.call.notify('notifications/subscriptions/acknowledged', acknowledgement(honoured))
  }

  get caller(): Caller {
    return this.call.caller
  }

  get lists(): readonly ListName[] {
    return [...this.#since.keys()]
  }

  /**
   * Returns whether a change is news. Every change after the acknowledgement is. A server's first list is
   * news if a client of the same principal read the merged list without it or, without such a client, if the
   * server had not answered at the acknowledgement.
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
    return this.#context.catalog.version(this.call, list)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.at === 'open') this.call.notify(method, params)
  }
}

type Flag = (typeof LISTS)[ListName]['flag']

const FLAG_NAMES = [...new Set(LIST_NAMES.map(list => LISTS[list].flag))]

const URIS_MAX = 1000
const TASKS_MAX = 1000

/** The notifications that a client requests, or that are acknowledged (2026-07-28, `SubscriptionFilter`). */
interface SubscriptionFilter {
  readonly flags: readonly Flag[]
  readonly uris: readonly string[]
  /** The ids of tasks (SEP-2663); undefined if the client asks for none. */
  readonly tasks: readonly string[] | undefined
}

/** Reads the filter of `subscriptions/listen`. Throws a Fault `invalid-params`. */
const readFilter = (params: JsonText | undefined): SubscriptionFilter => {
  const filter = params && memberOf(params, 'notifications')
  if (filter === undefined || kindOf(filter) !== 'object') throw malformed('notifications must be an object')
  return {
    flags: FLAG_NAMES.filter(name => isSet(filter, name)),
    uris: textsIn(filter, 'resourceSubscriptions', URIS_MAX) ?? [],
    tasks: textsIn(filter, 'taskIds', TASKS_MAX),
  }
}

const isSet = (filter: JsonText, name: Flag): boolean => {
  const flag = memberOf(filter, name)
  if (flag === undefined) return false
  if (kindOf(flag) !== 'boolean') throw malformed(`notifications.${name} must be a boolean`)
  return flag.toString('latin1') === 'true'
}

/** Returns the different texts in a list of the filter, up to a maximum; undefined if it is absent. */
const textsIn = (filter: JsonText, name: string, max: number): readonly string[] | undefined => {
  const list = memberOf(filter, name)
  if (list === undefined) return undefined
  if (kindOf(list) !== 'array') throw malformed(`notifications.${name} must be a list`)
  const texts = new Set<string>()
  for (const element of elementsOf(list)) {
    const text = stringOf(element)
    if (text === undefined) throw malformed(`notifications.${name} must hold text`)
    if (texts.size < max) texts.add(text)
  }
  return [...texts]
}

const malformed = (words: string): Fault => new Fault('invalid-params', `subscriptions/listen: ${words}`)

const listsOf = ({ flags }: SubscriptionFilter): ReadonlySet<ListName> =>
  new Set(LIST_NAMES.filter(list => flags.includes(LISTS[list].flag)))

const acknowledgement = ({ flags, uris, tasks = [] }: SubscriptionFilter): JsonText =>
  textOf({
    notifications: {
      ...Object.fromEntries(flags.map(flag => [flag, true])),
      ...(uris.length > 0 && { resourceSubscriptions: uris }),
      ...(tasks.length > 0 && { taskIds: tasks }),
    },
  })

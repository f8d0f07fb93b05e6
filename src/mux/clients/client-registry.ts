import type { Offer } from '../../catalog/capabilities.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { meetsNeed } from '../../model/extensions.js'
import { type Client, type Viewer, viewerOf, type Welcome } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import { failed } from '../../model/outcome.js'
import { hasOwnTasks, hasSessions } from '../../model/peer.js'
import { type CallRecord, type Interceptor, NEXT } from '../calls/call-record.js'
import { noMethod } from '../calls/unknown-method.js'
import { askedName, type Conditions, hasUnknownFilter, type Need, ROUTES, type Route } from '../routes.js'
import type { Audience, Change } from './list-changed.js'

class ClientRecord implements Audience {
  readonly client: Client
  readonly #catalog: ListVersions
  /**
   * The capabilities announced to a session. They never change: no revision with sessions can take them back.
   */
  announced: Welcome['capabilities'] | undefined
  /** True if some servers had not answered then; their lists are news to any client. */
  wasEarly = false
  /** The version of each merged list whose first page the client received last. */
  readonly given: Versions = {}
  /** The version of each list when the session began, received the list or was notified of a change. */
  readonly #known: Versions = {}

  constructor(client: Client, catalog: ListVersions) {
    this.client = client
    this.#catalog = catalog
  }

  /**
   * Returns whether a change is news to this session. The first list of a server is not news to a client that
   * never read the merged list, since it has nothing to reread.
   */
  isNews({ list, isFirst }: Change): boolean {
    if (!this.announced?.[LISTS[list].changesOf]) return false
    if (isFirst && !this.wasEarly && this.given[list] === undefined) return false
    return this.#known[list] !== this.#catalog.version(viewerOf(this.client), list)
  }

  /**
   * Also called for sessions that are not initialized yet: the versions can be computed while servers start.
   */
  knows(list: ListName): void {
    if (this.client.serverRequests === 'pushed')
      this.#known[list] = this.#catalog.version(viewerOf(this.client), list)
  }

  listed(list: ListName, version: string): void {
    this.given[list] = version
    this.#known[list] = version
  }

  notify(method: string, params: undefined): void {
    this.client.notify(method, params)
  }
}

type Versions = Partial<Record<ListName, string>>

type ListVersions = Pick<Catalog, 'offer' | 'own' | 'version' | 'viewFor'>

/**
 * Tracks the connected clients and their announced capabilities. Any client may use current capabilities
 * (2026-07-28, basic, "Statelessness"); a session may also use every announced one.
 */
export class ClientRegistry {
  readonly #catalog: ListVersions
  readonly #isAlone: boolean
  readonly #byClient = new Map<Client, ClientRecord>()

  /** `isAlone` if unknown methods pass to the only server. */
  constructor(catalog: ListVersions, isAlone = false) {
    this.#catalog = catalog
    this.#isAlone = isAlone
  }

  get size(): number {
    return this.#byClient.size
  }

  has(client: Client): boolean {
    return this.#byClient.has(client)
  }

  add(client: Client): void {
    if (!this.#byClient.has(client)) this.#byClient.set(client, new ClientRecord(client, this.#catalog))
  }

  welcomed(client: Client, { capabilities, isComplete }: Offer): void {
    const record = this.#byClient.get(client)
    if (record === undefined || client.serverRequests !== 'pushed') return
    record.announced = capabilities
    record.wasEarly = !isComplete
    for (const list of LIST_NAMES) record.knows(list)
  }

  /** Returns whether a client has a method; registers a sessionless client with its first request. */
  hasMethod(client: Client, { serverRequests, isOfTasks }: Conditions): boolean {
    if (serverRequests !== undefined && serverRequests !== client.serverRequests) return false
    if (isOfTasks === true && hasSessions(client) && !hasOwnTasks(client)) return false
    if (client.serverRequests === 'returned') this.add(client)
    return client.serverRequests === 'returned' || this.#byClient.get(client)?.announced !== undefined
  }

  /** Returns whether the capability for a method was announced to a client, exists now, or may exist. */
  mayUse(viewer: Viewer, { needs }: Conditions): boolean {
    const { client } = viewer
    if (needs === undefined) return true
    const announced = this.#byClient.get(client)?.announced
    if (typeof needs === 'string' ? announced?.[needs] : meetsNeed(announced?.extensions, needs)) return true
    // An unconnected server may have it, so a sessionless client may ask; sessions got a final list.
    const isOpen = client.serverRequests === 'returned' && !this.#catalog.offer(viewer).isComplete
    return isOpen || this.isOffered(viewer, needs)
  }

  /** Returns whether a capability was announced to a client, or exists now. */
  isOffered(viewer: Viewer, needs: Need): boolean {
    const { announced } = this.#byClient.get(viewer.client) ?? {}
    const { capabilities } = this.#catalog.offer(viewer)
    if (typeof needs === 'string') return Boolean(announced?.[needs] || capabilities[needs])
    return meetsNeed(announced?.extensions, needs) || meetsNeed(capabilities.extensions, needs)
  }

  /** Ends calls of methods that their client does not have. */
  get interceptor(): Interceptor {
    const run: Interceptor['run'] = record => {
      const route = ROUTES.get(record.method)
      if (this.#isAlone && this.#passes(record, route)) {
        record.isPassed = true
        return NEXT
      }
      if (route === undefined || !this.hasMethod(record.client, route)) return failed(noMethod(record))
      if (this.mayUse(record, route)) return NEXT
      // Items outside the view count as unknown, even if the view has no item of that kind.
      const hasNames = route.extension === undefined && this.#catalog.viewFor(record.client) !== undefined
      const asked = hasNames ? askedName(record) : undefined
      return failed(asked === undefined ? noMethod(record) : unknown(asked))
    }
    return { name: 'methods', stage: 'request', run }
  }

  /** Returns whether a single server decides about a method: it is unknown, or lacks its capability. */
  #passes(record: CallRecord, route: Route | undefined): boolean {
    const isUnknown = route === undefined || route.extension !== undefined
    if (!this.hasMethod(record.client, isUnknown ? {} : route)) return false
    if (isUnknown) return true
    const facts = this.#catalog.own(record)
    const isSessionless = facts !== undefined && !hasSessions(facts)
    if (route.way === 'listen') return isSessionless && hasUnknownFilter(record.params)
    const needs = route.way === 'catalog' ? LISTS[route.list].changesOf : route.needs
    if (this.mayUse(record, { needs })) return false
    // Servers of 2026-07-28 do not have methods of sessions.
    return route.serverRequests === undefined || (facts !== undefined && !isSessionless)
  }

  listed(client: Client, list: ListName, version: string): void {
    this.#byClient.get(client)?.listed(list, version)
  }

  givenTo(client: Client, list: ListName): string | undefined {
    return this.#byClient.get(client)?.given[list]
  }

  /** Returns the list versions that clients of this principal received last. */
  seenBy(principal: Principal, list: ListName): readonly string[] {
    return [...this.#byClient.values()]
      .filter(({ client }) => client.principal === principal)
      .flatMap(({ given }) => given[list] ?? [])
  }

  get all(): Iterable<Client> {
    return this.#byClient.keys()
  }

  remove(client: Client): void {
    this.#byClient.delete(client)
  }

  /** The clients that receive list changes without a request. */
  get sessions(): Iterable<Audience> {
    return this.#byClient.values()
  }
}

const unknown = (asked: string): Fault => new Fault('invalid-params', `Unknown: ${shortName(asked, 128)}`)

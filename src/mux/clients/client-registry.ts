import type { Offer } from '../../catalog/capabilities.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { Principal } from '../../kernel/caller.js'
import { type Client, type Viewer, viewerOf, type Welcome } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import type { Audience, Change } from '../notifications/list-changed.js'
import type { Route } from '../routes.js'

class ClientRecord implements Audience {
  readonly client: Client
  readonly #catalog: ListVersions
  /** What a session was told of, which never changes: no revision with sessions can take it back. */
  announced: Welcome['capabilities'] | undefined
  /** Whether some servers had not answered then: what they bring is news to any client. */
  wasEarly = false
  /** The versions of the merged lists whose first page it was given last. */
  readonly given: Versions = {}
  /** The versions that were current when a session came, was given a list or was told of a change. */
  readonly #known: Versions = {}

  constructor(client: Client, catalog: ListVersions) {
    this.client = client
    this.#catalog = catalog
  }

  /**
   * Whether it was told of this list and does not know its version. The first list of a server is no news to
   * a client that never read the merged list: it has nothing to read again.
   */
  isNews({ list, isFirst }: Change): boolean {
    if (!this.announced?.[LISTS[list].capability]) return false
    if (isFirst && !this.wasEarly && this.given[list] === undefined) return false
    return this.#known[list] !== this.#catalog.version(viewerOf(this.client), list)
  }

  /** Also of a session that is still to be welcomed: while other servers start, there is time to look. */
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

type ListVersions = Pick<Catalog, 'offer' | 'version'>

/**
 * The connected clients, and what each was told. Any client may use what is available now (2026-07-28, basic,
 * "Statelessness"); a session also every capability it was told of.
 */
export class ClientRegistry {
  readonly #catalog: ListVersions
  readonly #byClient = new Map<Client, ClientRecord>()

  constructor(catalog: ListVersions) {
    this.#catalog = catalog
  }

  get size(): number {
    return this.#byClient.size
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

  /** Whether there is such a method for a client; registers a sessionless client with its first request. */
  hasMethod(client: Client, { serverRequests }: Route): boolean {
    if (serverRequests !== undefined && serverRequests !== client.serverRequests) return false
    if (client.serverRequests === 'returned') this.add(client)
    return client.serverRequests === 'returned' || this.#byClient.get(client)?.announced !== undefined
  }

  /** Whether what a method of a client needs was announced to it, or is there now. */
  mayUse(viewer: Viewer, { needs }: Route): boolean {
    const { client } = viewer
    if (needs === undefined || this.#byClient.get(client)?.announced?.[needs]) return true
    const { capabilities, isComplete } = this.#catalog.offer(viewer)
    // A server that has not been reached yet may have it, so it is asked; sessions were told when they came.
    return (!isComplete && client.serverRequests === 'returned') || Boolean(capabilities[needs])
  }

  listed(client: Client, list: ListName, version: string): void {
    this.#byClient.get(client)?.listed(list, version)
  }

  givenTo(client: Client, list: ListName): string | undefined {
    return this.#byClient.get(client)?.given[list]
  }

  /** The versions of a list that clients of this principal were given last. */
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

  /** The clients that may hear of list changes without having asked. */
  get sessions(): Iterable<Audience> {
    return this.#byClient.values()
  }
}

import type { Offer } from '../../catalog/capabilities.js'
import { LIST_NAMES, LISTS } from '../../catalog/lists/list-reader.js'
import type { Client, Welcome } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { Principal } from '../../model/peer.js'
import type { Audience, Change } from '../notifications/list-changed.js'
import type { Route } from '../routes.js'

/** What we remember of a client. */
class Guest implements Audience {
  readonly client: Client
  readonly #context: ClientRegistryContext
  /** What a session was told that we can do. Never changed then: no revision with sessions can take it back. */
  announced: Welcome['capabilities'] | undefined
  /** Whether some servers had not answered when it was told: what they bring then is news, though it may have seen nothing. */
  wasEarly = false
  /** The version of each merged list of which it was last given the first page. */
  readonly given: Versions = {}
  /** The version of each that there was when a session came, was given it or heard of it last. */
  readonly #known: Versions = {}

  constructor(client: Client, context: ClientRegistryContext) {
    this.client = client
    this.#context = context
  }

  /**
   * A list that it was told of and does not know. The first list of a server that was there before the client is no news to one
   * that was never given the merged one: there is nothing that it would have to read again.
   */
  isNews({ list, isFirst }: Change): boolean {
    if (!this.announced?.[LISTS[list].capability]) return false
    if (isFirst && !this.wasEarly && this.given[list] === undefined) return false
    return this.#known[list] !== this.#context.versionOf(this.client, list)
  }

  knows(list: ListName): void {
    if (this.announced !== undefined) this.#known[list] = this.#context.versionOf(this.client, list)
  }

  saw(list: ListName, version: string): void {
    this.given[list] = version
    this.#known[list] = version
  }

  notify(method: string, params: undefined): void {
    this.client.notify(method, params)
  }
}

type Versions = Partial<Record<ListName, string>>

/** What there is to know about clients. */
export interface ClientRegistryContext {
  /** What a client can be told at the moment that all servers can do. */
  readonly offerTo: (client: Client) => Offer
  /** The same for lists that look the same. */
  readonly versionOf: (client: Client, list: ListName) => string
}

/**
 * The clients that are there. All may use what there is at the moment, whatever they asked before (2026-07-28, basic,
 * "Statelessness"), and a session for ever what it was told when it came.
 */
export class ClientRegistry {
  readonly #context: ClientRegistryContext
  readonly #byClient = new Map<Client, Guest>()

  constructor(context: ClientRegistryContext) {
    this.#context = context
  }

  get size(): number {
    return this.#byClient.size
  }

  /** A client is there from now on, until it leaves. */
  came(client: Client): void {
    if (!this.#byClient.has(client)) this.#byClient.set(client, new Guest(client, this.#context))
  }

  /** A client was told what we can do, unless it has left meanwhile. */
  welcomed(client: Client, { capabilities, isComplete }: Offer): void {
    const guest = this.#byClient.get(client)
    if (guest === undefined || client.serverRequests !== 'pushed') return
    guest.announced = capabilities
    guest.wasEarly = !isComplete
    for (const list of LIST_NAMES) guest.knows(list)
  }

  /** Whether a client has this method. One whose requests stand for themselves is a guest from its first one on. */
  mayUse(client: Client, { needs, serverRequests }: Route): boolean {
    if (serverRequests !== undefined && serverRequests !== client.serverRequests) return false
    if (client.serverRequests === 'returned') this.came(client)
    const announced = this.#byClient.get(client)?.announced
    if (client.serverRequests === 'pushed' && announced === undefined) return false
    if (needs === undefined || announced?.[needs]) return true
    const { capabilities, isComplete } = this.#context.offerTo(client)
    // A server that was not reached yet may be the one that has it, and is asked; sessions were told so when they came.
    return (!isComplete && client.serverRequests === 'returned') || Boolean(capabilities[needs])
  }

  /** A client was given the first page of this version of a list. */
  saw(client: Client, list: ListName, version: string): void {
    this.#byClient.get(client)?.saw(list, version)
  }

  /** The version of a list that a client was given last. */
  givenTo(client: Client, list: ListName): string | undefined {
    return this.#byClient.get(client)?.given[list]
  }

  /** The versions of a list that clients of this principal were given last. */
  seenBy(principal: Principal, list: ListName): readonly string[] {
    return [...this.#byClient.values()]
      .filter(({ client }) => client.principal === principal)
      .flatMap(({ given }) => given[list] ?? [])
  }

  /** Somebody who is there. */
  get anyone(): Client | undefined {
    const [first] = this.#byClient.keys()
    return first
  }

  left(client: Client): void {
    this.#byClient.delete(client)
  }

  /** Those who are told of changes because they are there. */
  get sessions(): Iterable<Audience> {
    return this.#byClient.values()
  }
}

import { Interned } from '../../kernel/interned.js'
import type { Logger } from '../../kernel/logger.js'
import type { Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { Server } from '../../peers/server.js'
import { joinCapabilities, type Offer } from '../capabilities.js'
import { digestOf, type Listed } from './listed.js'
import { type Merged, mergeParts, type Part } from './merge.js'
import type { Readings } from './readings.js'
import type { Memory, Remembered } from './remembered.js'
import type { ServerView } from './server-view.js'

/** What sights are made of. */
export interface SightsContext {
  readonly views: () => ReadonlyMap<Server, ServerView>
  readonly readings: Readings
  readonly remembered: Remembered
  readonly log: Logger
}

/** A list over all servers, for all clients who see the same of each. */
class Lineup {
  /** The same for lists that look the same. */
  readonly version: string
  readonly #merge: () => Merged
  #merged: Merged | undefined

  constructor(version: string, merge: () => Merged) {
    this.version = version
    this.#merge = merge
  }

  /** Merged when somebody first looks at it. */
  get merged(): Merged {
    this.#merged ??= this.#merge()
    return this.#merged
  }
}

/** What one client sees. */
interface Sight {
  offer: Offer | undefined
  readonly lineups: Map<ListName, Lineup>
}

/**
 * What each client sees of the servers: what its own connections have, and what is remembered where it has none that was read. Clients
 * who see the same share it.
 */
export class Sights {
  readonly #context: SightsContext
  #byClient = new WeakMap<Client, Sight>()
  #lineups = new Interned<Lineup>()

  constructor(context: SightsContext) {
    this.#context = context
  }

  /** Some clients may see something else now. */
  reset(): void {
    this.#byClient = new WeakMap()
  }

  /** All is put together, and cut into pages, anew. */
  reload(): void {
    this.#lineups = new Interned()
    this.reset()
  }

  /** A client has other connections than before. */
  forget(client: Client): void {
    this.#byClient.delete(client)
  }

  /** What is remembered of a server for a client; undefined if nothing is. */
  memory(server: Server, client: Client): Memory | undefined {
    const view = this.#context.views().get(server)
    return view && this.#context.remembered.of(view, client)
  }

  /** What a server says of itself to a client; undefined if it is not known. */
  facts(server: Server, client: Client): ServerFacts | undefined {
    return server.connectionOf(client)?.facts ?? this.memory(server, client)?.facts
  }

  /** What a client can be told that all servers can do together. */
  offer(client: Client): Offer {
    const sight = this.#of(client)
    sight.offer ??= joinCapabilities(
      [...this.#context.views().keys()].map(server => this.facts(server, client)),
    )
    return sight.offer
  }

  /** What a client sees of a list of one server; undefined if nothing is known of it. */
  listed(server: Server, client: Client, list: ListName): Listed | undefined {
    const connection = server.connectionOf(client)
    const known = connection && this.#context.readings.of(connection, list)?.known
    return known?.listed ?? this.memory(server, client)?.lists[list]
  }

  /** A list as a client sees it. */
  lineup(client: Client, list: ListName): Lineup {
    const { lineups } = this.#of(client)
    let lineup = lineups.get(list)
    if (lineup === undefined) {
      lineup = this.#lineup(client, list)
      lineups.set(list, lineup)
    }
    return lineup
  }

  #lineup(client: Client, list: ListName): Lineup {
    const { views, log } = this.#context
    const parts: Part[] = []
    const looks: string[] = []
    let key: string = list
    for (const [server, view] of views()) {
      const listed = this.listed(server, client, list)
      parts.push({ index: server.index, alias: server.options.alias, items: listed?.items ?? [] })
      key += ` ${view.id} ${server.index} ${listed?.looks}`
      // Names that are not prefixed are free only where no server has them for a prefix.
      if (!view.showing.prefix) looks.push(...[...views().keys()].map(({ options }) => options.alias))
      if (listed !== undefined && listed.items.length > 0) looks.push(listed.looks)
    }
    return this.#lineups.get(key, () => new Lineup(digestOf(looks), () => mergeParts(list, parts, log)))
  }

  #of(client: Client): Sight {
    let sight = this.#byClient.get(client)
    if (sight === undefined) {
      sight = { offer: undefined, lineups: new Map() }
      this.#byClient.set(client, sight)
    }
    return sight
  }
}

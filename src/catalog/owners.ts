import { Fault } from '../kernel/faults.js'
import type { Server } from '../peers/server.js'
import type { Catalog } from './catalog.js'
import { matchTemplate } from './template-match.js'
import { type AliasFinder, schemeAliases, splitUri } from './uris.js'

/** Who owns what a client named, and how that server calls it. */
export interface Owned {
  readonly server: Server
  readonly own: string
}

/** URIs seen in answers of servers that keep theirs, so that they can be read back although they are not listed. */
const SEEN_MAX = 10_000
/** A name that is not known makes its server's list be read again, but not more often than this. */
const REREAD_MS = 1000

/** Finds the server behind an exposed name or URI: by table, never by taking a name apart. */
export class Owners {
  readonly #catalog: Catalog
  readonly #servers: readonly Server[]
  readonly #nowMs: () => number
  readonly #isAlone: boolean
  readonly #findAlias: AliasFinder
  readonly #seen = new Map<string, Server>()
  readonly #rereadMs = new Map<string, number>()

  constructor(catalog: Catalog, around: { readonly isAlone: boolean; readonly nowMs: () => number }) {
    this.#catalog = catalog
    this.#servers = [...catalog.views.keys()]
    this.#nowMs = around.nowMs
    this.#isAlone = around.isAlone
    const prefixed = [...catalog.views.values()].filter(view => view.showing.uris === 'prefix')
    this.#findAlias = schemeAliases(prefixed.map(view => view.server.options.alias))
  }

  /** The owner of a tool or prompt that is known at once; most calls need no more. */
  known(list: 'tools' | 'prompts', exposed: string): Owned | undefined {
    if (this.#isAlone) return this.#alone(exposed)
    return this.#catalog.find(list, exposed)
  }

  /** As `known`, after asking the servers that could have it. Rejects with a Fault `invalid-params`. */
  async named(list: 'tools' | 'prompts', exposed: string): Promise<Owned> {
    const known = this.known(list, exposed)
    if (known !== undefined) return known
    await Promise.all(this.#couldName(exposed).map(server => this.#reread(server, list)))
    const found = this.known(list, exposed)
    if (found !== undefined) return found
    throw new Fault(
      'invalid-params',
      `Unknown ${list === 'tools' ? 'tool' : 'prompt'}: ${exposed.slice(0, 128)}`,
    )
  }

  /**
   * The owner of a URI: by its prefix, else the only server that lists it, else the longest template, else the server
   * that showed it last, else the only one with resources. Throws a Fault that names the candidates if several could be.
   */
  uri(exposed: string): Owned {
    const alone = this.#isAlone ? this.#alone(exposed) : undefined
    if (alone !== undefined) return alone
    const split = splitUri(exposed, this.#findAlias)
    const prefixed = split && this.#servers.find(server => server.options.alias === split.alias)
    if (split !== undefined && prefixed !== undefined) return { server: prefixed, own: split.uri }
    return { server: this.#unprefixed(exposed), own: exposed }
  }

  /** The owner of a template, as clients name it in a completion. */
  template(exposed: string): Owned {
    return this.#catalog.find('templates', exposed) ?? this.uri(exposed)
  }

  /** Remembers that a server that keeps its URIs showed this one. */
  saw(server: Server, uri: string): void {
    this.#seen.delete(uri)
    if (this.#seen.size >= SEEN_MAX) {
      const [oldest] = this.#seen.keys()
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    this.#seen.set(uri, server)
  }

  #alone(own: string): Owned | undefined {
    const [server] = this.#servers
    return server && { server, own }
  }

  #couldName(exposed: string): Server[] {
    return this.#servers.filter(server => {
      const view = this.#catalog.views.get(server)
      return view?.showing.prefix === false || exposed.startsWith(`${server.options.alias}__`)
    })
  }

  async #reread(server: Server, list: 'tools' | 'prompts'): Promise<void> {
    const key = `${server.index} ${list}`
    const lastMs = this.#rereadMs.get(key)
    if (lastMs !== undefined && this.#nowMs() - lastMs < REREAD_MS) return
    this.#rereadMs.set(key, this.#nowMs())
    await this.#catalog.read(server, list)
  }

  #unprefixed(uri: string): Server {
    const listing = this.#servers.filter(server => this.#ownUris(server).has(uri))
    const owners = listing.length > 0 ? listing : this.#byTemplate(uri)
    const [first] = owners
    if (first !== undefined && owners.length === 1) return first
    const seen = this.#seen.get(uri)
    if (seen !== undefined && (owners.length === 0 || owners.includes(seen))) return seen
    const candidates =
      owners.length > 0 ? owners : this.#servers.filter(server => server.facts?.capabilities.resources)
    const [only] = candidates
    if (only !== undefined && candidates.length === 1) return only
    if (only === undefined) throw new Fault('unknown-resource', 'Resource not found', { data: { uri } })
    throw new Fault(
      'invalid-params',
      `Several servers could own this URI; name one of: ${this.#spellings(uri, candidates)}`,
      {
        data: { uri },
      },
    )
  }

  #spellings(uri: string, servers: readonly Server[]): string {
    const shown = servers.map(server => {
      const exposed = this.#catalog.views.get(server)?.exposeUri(uri) ?? uri
      return exposed === uri ? `${server.name} (its URIs are not prefixed)` : exposed
    })
    return shown.join(', ').slice(0, 512)
  }

  #ownUris(server: Server): ReadonlySet<string> {
    const part = this.#catalog.merged('resources').parts.find(({ index }) => index === server.index)
    let uris = part && this.#uriSets.get(part)
    if (part !== undefined && uris === undefined) {
      uris = new Set(part.items.map(item => item.own))
      this.#uriSets.set(part, uris)
    }
    return uris ?? new Set()
  }

  readonly #uriSets = new WeakMap<object, ReadonlySet<string>>()

  #byTemplate(uri: string): Server[] {
    let longest = -1
    let owners: Server[] = []
    for (const { items } of this.#catalog.merged('templates').parts) {
      for (const { own, server } of items) {
        const literal = matchTemplate(own, uri)
        if (literal === undefined || literal < longest) continue
        if (literal > longest) owners = []
        longest = literal
        if (!owners.includes(server)) owners.push(server)
      }
    }
    return owners
  }
}

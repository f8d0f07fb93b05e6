import { Fault } from '../kernel/faults.js'
import type { Client } from '../model/links.js'
import type { Connection } from '../peers/connection.js'
import type { Server } from '../peers/server.js'
import type { Catalog } from './catalog.js'
import type { ServerView } from './lists/server-view.js'
import { type AliasFinder, matchTemplate, schemeAliases, splitUri } from './names/uris.js'

/** The owner of what a client named, and that server's own name for it. */
export interface Owned {
  readonly server: Server
  readonly own: string
}

/** How many unprefixed URIs of results are remembered, so that clients can read them. */
const SEEN_MAX = 10_000
/** Longer ones are not remembered. */
const SEEN_CHARS = 2048
/** Removed servers that are remembered, to tell clients why they are gone. */
const REMOVED_MAX = 100
/** How often unknown names may cause a list to be read again. */
const REREAD_MS = 1000

/** Finds the server behind an exposed name or URI: in the lists of the client, never by parsing a name. */
export class Owners {
  readonly #catalog: Catalog
  readonly #nowMs: () => number
  readonly #isAlone: boolean
  readonly #seen = new Map<string, Server>()
  readonly #rereadMs = new WeakMap<Connection, Map<string, number>>()
  /** The names of removed servers, by alias. */
  readonly #removed = new Map<string, string>()
  #table: ServerTable
  readonly #uriSets = new WeakMap<object, ReadonlySet<string>>()

  constructor(catalog: Catalog, options: { readonly isAlone: boolean; readonly nowMs: () => number }) {
    this.#catalog = catalog
    this.#nowMs = options.nowMs
    this.#isAlone = options.isAlone
    this.#table = tableOf(catalog.views)
  }

  /** Called after the servers of the catalogue have changed. */
  reload(): void {
    const before = this.#table
    this.#table = tableOf(this.#catalog.views)
    this.#noteRemoved(before, this.#table)
    const present = new Set(this.#servers)
    for (const [uri, server] of this.#seen) if (!present.has(server)) this.#seen.delete(uri)
  }

  get #servers(): readonly Server[] {
    return this.#table.servers
  }

  #noteRemoved(before: ServerTable, { byAlias, servers }: ServerTable): void {
    const names = new Set(servers.map(({ name }) => name))
    for (const [alias, { name }] of before.byAlias) if (!names.has(name)) this.#removed.set(alias, name)
    for (const alias of byAlias.keys()) this.#removed.delete(alias)
    for (const alias of this.#removed.keys()) {
      if (this.#removed.size <= REMOVED_MAX) break
      this.#removed.delete(alias)
    }
  }

  /** The owner of a tool or prompt, at once or after reading lists. Rejects with a Fault if there is none. */
  named(client: Client, list: 'tools' | 'prompts', exposed: string): Owned | Promise<Owned> {
    return this.#known(client, list, exposed) ?? this.#named(client, list, exposed)
  }

  /**
   * The owner of a URI: by its prefix, else the only server that lists it, else the one with the longest
   * matching template, else the one whose result held it last, else the only one with resources. Rejects with
   * a Fault that names the candidates if there are several.
   */
  uri(client: Client, exposed: string): Owned | Promise<Owned> {
    return this.#alone(exposed) ?? this.#prefixed(exposed) ?? this.#unprefixed(client, exposed)
  }

  /** The owner of a template, which a completion names. Rejects as `uri` does. */
  template(client: Client, exposed: string): Owned | Promise<Owned> {
    return this.#alone(exposed) ?? this.#prefixed(exposed) ?? this.#unprefixedTemplate(client, exposed)
  }

  noteUri(server: Server, uri: string): void {
    if (uri.length > SEEN_CHARS) return
    this.#seen.delete(uri)
    if (this.#seen.size >= SEEN_MAX) {
      const [oldest] = this.#seen.keys()
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    this.#seen.set(uri, server)
  }

  #alone(own: string): Owned | undefined {
    const [server] = this.#isAlone ? this.#servers : []
    return server && { server, own }
  }

  #known(client: Client, list: 'tools' | 'prompts', exposed: string): Owned | undefined {
    return this.#alone(exposed) ?? this.#catalog.find(client, list, exposed)
  }

  async #named(client: Client, list: 'tools' | 'prompts', exposed: string): Promise<Owned> {
    const reads = this.#couldName(exposed).map(server => this.#reread(server, client, list))
    const failures = (await Promise.allSettled(reads)).flatMap(read =>
      read.status === 'rejected' ? [Fault.from(read.reason)] : [],
    )
    const found = this.#known(client, list, exposed)
    if (found !== undefined) return found
    if (failures[0] !== undefined) throw failures[0]
    const words = `Unknown ${list === 'tools' ? 'tool' : 'prompt'}: ${exposed.slice(0, 128)}`
    const gone = [...this.#removed].find(([alias]) => exposed.startsWith(`${alias}__`))?.[1]
    throw gone === undefined
      ? new Fault('invalid-params', words)
      : new Fault('invalid-params', `${words} (${removal(gone)})`, { data: { server: gone } })
  }

  #couldName(exposed: string): Server[] {
    return this.#servers.filter(server => {
      const view = this.#catalog.views.get(server)
      return view?.exposure.prefix === false || exposed.startsWith(`${server.options.alias}__`)
    })
  }

  async #reread(server: Server, client: Client, list: 'tools' | 'prompts'): Promise<void> {
    const connection = server.connectionFor(client)
    const rereadMs = this.#rereadMs.get(connection) ?? new Map<string, number>()
    this.#rereadMs.set(connection, rereadMs)
    const lastMs = rereadMs.get(list)
    if (lastMs !== undefined && this.#nowMs() - lastMs < REREAD_MS) return
    await this.#catalog.read(server, client, list)
    rereadMs.set(list, this.#nowMs())
  }

  #prefixed(exposed: string): Owned | undefined {
    const split = splitUri(exposed, this.#table.findAlias)
    const server = split && this.#table.byAlias.get(split.alias)
    return split && server && { server, own: split.uri }
  }

  async #unprefixed(client: Client, uri: string): Promise<Owned> {
    await this.#readAll(client)
    return { server: this.#ownerOf(client, uri), own: uri }
  }

  async #unprefixedTemplate(client: Client, template: string): Promise<Owned> {
    await this.#readAll(client)
    const owners = this.#servers.filter(server => this.#owns(client, 'templates', server).has(template))
    if (owners.length > 1) throw this.#ambiguous(template, owners)
    return { server: owners[0] ?? this.#ownerOf(client, template), own: template }
  }

  /** Reads all lists in which a URI can be found, at the same time. */
  async #readAll(client: Client): Promise<void> {
    await Promise.all((['resources', 'templates'] as const).map(list => this.#catalog.readOnce(client, list)))
  }

  #ownerOf(client: Client, uri: string): Server {
    const listing = this.#servers.filter(server => this.#owns(client, 'resources', server).has(uri))
    const owners = listing.length > 0 ? listing : this.#byTemplate(client, uri)
    const [first] = owners
    if (first !== undefined && owners.length === 1) return first
    const seen = this.#seen.get(uri)
    if (seen !== undefined && (owners.length === 0 || owners.includes(seen))) return seen
    if (owners.length === 0) this.#checkRemoved(uri)
    const hasResources = (server: Server): boolean =>
      this.#catalog.facts(server, client)?.capabilities.resources !== undefined
    const candidates = owners.length > 0 ? owners : this.#servers.filter(hasResources)
    const [only] = candidates
    if (only === undefined) throw new Fault('unknown-resource', 'Resource not found', { data: { uri } })
    if (candidates.length > 1) throw this.#ambiguous(uri, candidates)
    return only
  }

  /** Throws a Fault if the prefix is that of a removed server. */
  #checkRemoved(uri: string): void {
    const alias = splitUri(uri, schemeAliases(this.#removed.keys()))?.alias
    const server = alias === undefined ? undefined : this.#removed.get(alias)
    if (server === undefined) return
    throw new Fault('unknown-resource', `Resource not found (${removal(server)})`, { data: { uri, server } })
  }

  #ambiguous(uri: string, candidates: readonly Server[]): Fault {
    const words = `Several servers could own this URI; name one of: ${this.#spellings(uri, candidates)}`
    return new Fault('invalid-params', words, { data: { uri } })
  }

  #spellings(uri: string, servers: readonly Server[]): string {
    const shown = servers.map(server => {
      const exposed = this.#catalog.views.get(server)?.exposeUri(uri) ?? uri
      return exposed === uri ? `${server.name} (its URIs are not prefixed)` : exposed
    })
    return shown.join(', ').slice(0, 512)
  }

  /** The server's own URIs of its resources or templates; collected once per reading. */
  #owns(client: Client, list: 'resources' | 'templates', server: Server): ReadonlySet<string> {
    const part = this.#catalog.merged(client, list).parts.find(({ index }) => index === server.index)
    if (part === undefined) return new Set()
    let uris = this.#uriSets.get(part.items)
    if (uris === undefined) {
      uris = new Set(part.items.map(item => item.own))
      this.#uriSets.set(part.items, uris)
    }
    return uris
  }

  #byTemplate(client: Client, uri: string): Server[] {
    let longest = -1
    let owners: Server[] = []
    for (const { items } of this.#catalog.merged(client, 'templates').parts) {
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

interface ServerTable {
  readonly servers: readonly Server[]
  readonly byAlias: ReadonlyMap<string, Server>
  readonly findAlias: AliasFinder
}

const tableOf = (views: ReadonlyMap<Server, ServerView>): ServerTable => {
  const servers = [...views.keys()]
  const prefixed = [...views.values()].filter(view => view.exposure.uris === 'prefix')
  return {
    servers,
    byAlias: new Map(servers.map(server => [server.options.alias, server])),
    findAlias: schemeAliases(prefixed.map(view => view.server.options.alias)),
  }
}

const removal = (server: string): string => `server ${server} was removed from the configuration`

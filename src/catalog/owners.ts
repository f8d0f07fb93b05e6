import type { Caller, Principal } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'
import { first, type JsonText } from '../kernel/json/text.js'
import { memoize } from '../kernel/memoize.js'
import { shortName } from '../kernel/secrets/mask.js'
import type { Access } from '../model/access.js'
import { type Client, isOnePerson, type Viewer } from '../model/links.js'
import type { Connection } from '../peers/connection.js'
import type { Server } from '../peers/server.js'
import type { AppFacts } from './app-facts.js'
import type { Catalog } from './catalog.js'
import type { ItemLock } from './exposure.js'
import type { Item } from './listed.js'
import type { ServerView } from './lists/server-view.js'
import { hasSignInTool, signInToolName } from './lists/sign-in-tool.js'
import { skillFiles } from './names/rewrite.js'
import { type AliasFinder, isSkillUri, matchTemplate, schemeAliases, splitUri } from './names/uris.js'

/** The server that owns a requested item, and the server's own name for it. */
export interface Owned {
  readonly server: Server
  readonly own: string
  /** The exposed name, where the client may have used another one. */
  readonly exposed?: string | undefined
  /** Its definition, as shown, if it is listed. */
  readonly text?: JsonText | undefined
  readonly app?: AppFacts | undefined
  /** As `Item.lock`. */
  readonly lock?: ItemLock | undefined
  /** True for the proxy's sign-in tool of that server. */
  readonly isOurs?: boolean | undefined
}

type Named = Pick<Owned, 'server'> & { readonly own: string | undefined }

/** A removed server; only clients that could see it learn about it. */
interface Removed {
  readonly name: string
  readonly access: Access | undefined
}

/** Maximum number of unprefixed URIs from results that are remembered, so that clients can read them. */
const SEEN_MAX = 10_000
/** Maximum length of a remembered URI. */
const SEEN_CHARS = 2048
/** Maximum number of removed servers that are remembered for error messages. */
const REMOVED_MAX = 100
/** Maximum number of tools that an error names. */
const CANDIDATES_MAX = 20
/** Minimum time between readings of a list that unknown names cause. */
const REREAD_MS = 1000

/** Finds the server behind an exposed name or URI in the client's lists. Names are never parsed. */
export class Owners {
  readonly #catalog: Catalog
  readonly #nowMs: () => number
  readonly #isAlone: boolean
  readonly #seen = new Map<string, Server>()
  /** The servers whose interfaces a session or the client of a channel has opened. */
  readonly #opened = new WeakMap<Client, WeakSet<Server>>()
  readonly #rereadMs = new WeakMap<Connection, Map<string, number>>()
  /** Removed servers, by alias. */
  readonly #removed = new Map<string, Removed>()
  #table: ServerTable

  constructor(catalog: Catalog, options: { readonly isAlone: boolean; readonly nowMs: () => number }) {
    this.#catalog = catalog
    this.#nowMs = options.nowMs
    this.#isAlone = options.isAlone
    this.#table = tableOf(catalog.views)
  }

  /** Called after the catalog's servers have changed. */
  reload(): void {
    const before = this.#table
    this.#table = tableOf(this.#catalog.views)
    this.#noteRemoved(before, this.#table)
    for (const [key, server] of this.#seen)
      if (!this.#catalog.isServed(server.options)) this.#seen.delete(key)
  }

  #noteRemoved(before: ServerTable, { byAlias, servers }: ServerTable): void {
    const names = new Set(servers.map(({ name }) => name))
    for (const [alias, { server, exposure }] of before.byAlias) {
      const { name } = server
      if (!names.has(name)) this.#removed.set(alias, { name, access: exposure.access })
    }
    for (const alias of byAlias.keys()) this.#removed.delete(alias)
    for (const alias of this.#removed.keys()) {
      if (this.#removed.size <= REMOVED_MAX) break
      this.#removed.delete(alias)
    }
  }

  /**
   * Returns the owner of a tool or prompt, immediately or after reading lists. Rejects with a Fault if there
   * is none.
   */
  named(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Owned | Promise<Owned> {
    return this.#known(viewer, list, exposed) ?? this.#named(viewer, list, exposed)
  }

  /**
   * Returns the owner of a URI: by its prefix, else the only server that lists it, also as a skill or its
   * file, else the longest matching template, else the only server with a tool of this interface, else the
   * server whose result contained it last, else the only server with resources. Rejects with a Fault that
   * names the candidates if there are several.
   */
  uri(viewer: Viewer, exposed: string): Owned | Promise<Owned> {
    return this.#only(viewer, exposed) ?? this.#prefixed(viewer, exposed) ?? this.#unprefixed(viewer, exposed)
  }

  /**
   * Returns the server of a tool or prompt without reading lists: by its item, else by the alias at the start
   * of its name. The own name is undefined if no known list has the item.
   */
  serverOf(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Named | undefined {
    const listed = this.#catalog.find(viewer, list, exposed)
    if (listed !== undefined) return listed
    const isOnly = this.#hasOneServer(viewer)
    const server = [...this.#catalog.visibleTo(viewer).keys()].find(
      ({ options }) => isOnly || exposed.startsWith(`${options.alias}__`),
    )
    return server && { server, own: undefined }
  }

  /** Returns whether a client uses one server only, so that names and URIs need no alias. */
  #hasOneServer({ client }: Viewer): boolean {
    return this.#isAlone || this.#catalog.viewFor(client)?.server !== undefined
  }

  /** Notes that a client shows an interface of a server, whose app may call tools by their own names. */
  opens({ client }: Viewer, server: Server): void {
    if (!isOnePerson(client)) return
    const opened = this.#opened.get(client) ?? new WeakSet<Server>()
    this.#opened.set(client, opened.add(server))
  }

  /** Returns the owner of a template in a completion request. Rejects like `uri`. */
  template(viewer: Viewer, exposed: string): Owned | Promise<Owned> {
    return (
      this.#only(viewer, exposed) ??
      this.#prefixed(viewer, exposed) ??
      this.#unprefixedTemplate(viewer, exposed)
    )
  }

  noteUri(server: Server, uri: string): void {
    if (uri.length > SEEN_CHARS) return
    const key = seenKey(uri, server.options.owned?.owner)
    this.#seen.delete(key)
    if (this.#seen.size >= SEEN_MAX) {
      const [oldest] = this.#seen.keys()
      if (oldest !== undefined) this.#seen.delete(oldest)
    }
    this.#seen.set(key, server)
  }

  /** Returns the server whose result last held an unprefixed URI. */
  seen(uri: string): Server | undefined {
    return this.#seen.get(uri)
  }

  /** Returns the name of the removed server that a name or URI refers to. */
  removed(asked: string): string | undefined {
    const alias = splitUri(asked, schemeAliases(this.#removed.keys()))?.alias
    for (const [key, { name }] of this.#removed)
      if (name === asked || key === alias || asked.startsWith(`${key}__`)) return name
    return undefined
  }

  #alone(viewer: Viewer, own: string): Owned | undefined {
    const [server] = this.#servers(viewer)
    return server && { server, own }
  }

  /** Returns the only server of a client, whose URIs need no prefix. */
  #only(viewer: Viewer, own: string): Owned | undefined {
    return this.#hasOneServer(viewer) ? this.#alone(viewer, own) : undefined
  }

  #servers(viewer: Viewer): readonly Server[] {
    return [...this.#catalog.offering(viewer, 'resources').keys()]
  }

  #known(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Owned | undefined {
    const only = this.#isAlone ? this.#alone(viewer, exposed) : undefined
    const found = only ?? this.#catalog.find(viewer, list, exposed)
    return found ?? (list === 'tools' ? this.#bare(viewer, exposed) : undefined)
  }

  /**
   * Apps know only the own names of tools (ext-apps, SEP-1865). Throws a Fault if several servers have the
   * tool.
   */
  #bare(viewer: Viewer, own: string): Owned | undefined {
    const found = this.#catalog.ofApps(viewer, own)
    const opened = this.#opened.get(viewer.client)
    const shown = found.filter(({ server }) => opened?.has(server) === true)
    if (found.length < 2 || shown.length === 1) return shown[0] ?? found[0]
    const names = first(CANDIDATES_MAX, found).map(({ exposed }) => exposed)
    const words = `Several servers have the tool ${shortName(own, 128)}; name one of: ${names.join(', ')}`
    throw new Fault('invalid-params', words, { data: { tool: shortName(own, 128) } })
  }

  async #named(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Promise<Owned> {
    const reads = this.#couldName(viewer, list, exposed).map(server =>
      this.#reread(server, viewer.client, list),
    )
    // Any server may have a tool of this own name.
    if (list === 'tools') reads.push(this.#catalog.readOnce(viewer, list))
    const failures = (await Promise.allSettled(reads)).flatMap(read =>
      read.status === 'rejected' ? [Fault.from(read.reason)] : [],
    )
    const found = this.#known(viewer, list, exposed) ?? this.#signInTool(viewer, exposed)
    if (found !== undefined) return found
    if (failures[0] !== undefined) throw failures[0]
    const words = `Unknown ${list === 'tools' ? 'tool' : 'prompt'}: ${shortName(exposed, 128)}`
    const gone = this.#removedName(viewer.caller, alias => exposed.startsWith(`${alias}__`))
    throw gone === undefined
      ? new Fault('invalid-params', words)
      : new Fault('invalid-params', `${words} (${removal(gone)})`, { data: { server: gone } })
  }

  /** A sign-in tool works even when it is no longer listed, for a client that still waits for the login. */
  #signInTool(viewer: Viewer, exposed: string): Owned | undefined {
    if (this.#catalog.viewFor(viewer.client)?.namesTool(exposed) === false) return undefined
    const visible = [...this.#catalog.visibleTo(viewer).keys()]
    const server = visible.find(one => hasSignInTool(one) && exposed === signInToolName(one))
    return server && { server, own: exposed, isOurs: true }
  }

  #couldName(viewer: Viewer, list: 'tools' | 'prompts', exposed: string): Server[] {
    const isOwn = this.#hasOneServer(viewer)
    return [...this.#catalog.offering(viewer, list)].flatMap(([server, { exposure }]) =>
      isOwn || !exposure.prefix || exposed.startsWith(`${server.options.alias}__`) ? [server] : [],
    )
  }

  #removedName(caller: Caller, isNamed: (alias: string) => boolean): string | undefined {
    for (const [alias, { name, access }] of this.#removed)
      if (isNamed(alias)) return access?.sees(caller) === false ? undefined : name
    return undefined
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

  #prefixed(viewer: Viewer, exposed: string): Owned | undefined {
    const split = splitUri(exposed, this.#table.findAlias)
    const configured = split && this.#table.byAlias.get(split.alias)
    if (configured === undefined) return undefined
    if (!this.#catalog.sees(viewer, configured.server.options, 'resources')) return undefined
    const view = this.#catalog.ownedBy(configured, viewer.caller.principal)
    if (split === undefined || view === undefined) return undefined
    const { server } = view
    // A server may have skills below a segment that is its own alias, and name them so in its texts.
    const isOwn =
      isSkillUri(exposed) && this.#lists(viewer, server, exposed) && !this.#lists(viewer, server, split.uri)
    return { server, own: isOwn ? exposed : split.uri }
  }

  async #unprefixed(viewer: Viewer, uri: string): Promise<Owned> {
    await this.#readAll(viewer)
    return { server: this.#ownerOf(viewer, uri), own: uri }
  }

  async #unprefixedTemplate(viewer: Viewer, template: string): Promise<Owned> {
    await this.#readAll(viewer)
    const owners = this.#servers(viewer).filter(server =>
      this.#owns(viewer, 'templates', server).has(template),
    )
    if (owners.length > 1) throw this.#ambiguous(template, owners)
    return { server: owners[0] ?? this.#ownerOf(viewer, template), own: template }
  }

  /** Reads all lists that may contain a URI, in parallel. */
  async #readAll(viewer: Viewer): Promise<void> {
    const lists = ['resources', 'templates', 'skills'] as const
    await Promise.all(lists.map(list => this.#catalog.readOnce(viewer, list)))
  }

  #ownerOf(viewer: Viewer, uri: string): Server {
    const servers = this.#servers(viewer)
    const owners = this.#owning(viewer, uri, servers)
    const [first] = owners
    if (first !== undefined && owners.length === 1) return first
    const seen = this.#seen.get(seenKey(uri, viewer.caller.principal)) ?? this.#seen.get(uri)
    if (seen !== undefined && (owners.length === 0 ? servers : owners).includes(seen)) return seen
    if (owners.length === 0) this.#checkRemoved(viewer.caller, uri)
    const hasResources = (server: Server): boolean => {
      const { resources, skills } = this.#catalog.facts(server, viewer.client)?.capabilities ?? {}
      return (resources ?? skills) !== undefined
    }
    const candidates = owners.length > 0 ? owners : servers.filter(hasResources)
    const [only] = candidates
    if (only === undefined) throw new Fault('unknown-resource', 'Resource not found', { data: { uri } })
    if (candidates.length > 1) throw this.#ambiguous(uri, candidates)
    return only
  }

  /** Returns the servers that list a URI or a template for it, or that have a tool with this interface. */
  #owning(viewer: Viewer, uri: string, servers: readonly Server[]): readonly Server[] {
    const listing = servers.filter(server => this.#lists(viewer, server, uri))
    if (listing.length > 0) return listing
    const matching = this.#byTemplate(viewer, uri)
    if (matching.length > 0) return matching
    // A server need not list the resources of its interfaces (ext-apps, SEP-1865).
    const tools = this.#catalog.merged(viewer, 'tools').parts.flatMap(({ items }) => items)
    const showing = new Set(
      tools.flatMap(({ app, server }) => (app?.interfaces.includes(uri) === true ? server : [])),
    )
    return servers.filter(server => showing.has(server))
  }

  /** Throws a Fault if a URI's prefix belongs to a removed server. */
  #checkRemoved(caller: Caller, uri: string): void {
    const named = splitUri(uri, schemeAliases(this.#removed.keys()))?.alias
    const server = this.#removedName(caller, alias => alias === named)
    if (server === undefined) return
    throw new Fault('unknown-resource', `Resource not found (${removal(server)})`, { data: { uri, server } })
  }

  #ambiguous(uri: string, candidates: readonly Server[]): Fault {
    const words = `Several servers could own this URI; name one of: ${this.#spellings(uri, candidates)}`
    return new Fault('invalid-params', words, { data: { uri } })
  }

  #spellings(uri: string, servers: readonly Server[]): string {
    const shown = servers.map(server => {
      const exposed = this.#catalog.viewOf(server.options).exposeUri(uri)
      return exposed === uri ? `${server.name} (its URIs are not prefixed)` : exposed
    })
    return shortName(shown.join(', '), 512)
  }

  /** Returns whether one of a server's own URIs is that of a resource, a skill or a file of a skill. */
  #lists(viewer: Viewer, server: Server, own: string): boolean {
    if (this.#owns(viewer, 'resources', server).has(own)) return true
    const exposed = this.#catalog.viewOf(server.options).exposeUri(own)
    return skillUris(this.#catalog.itemsOf(viewer, 'skills', server)).has(exposed)
  }

  /** Returns the server's own URIs of its resources or templates; collected once per reading. */
  #owns(viewer: Viewer, list: 'resources' | 'templates', server: Server): ReadonlySet<string> {
    return ownNames(this.#catalog.itemsOf(viewer, list, server))
  }

  #byTemplate(viewer: Viewer, uri: string): Server[] {
    let longest = -1
    let owners: Server[] = []
    for (const { items } of this.#catalog.merged(viewer, 'templates').parts) {
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

const ownNames = memoize(
  (items: readonly Item[]): ReadonlySet<string> => new Set(items.map(({ own }) => own)),
)

/** The exposed URIs of skills and of their files; collected once per reading. */
const skillUris = memoize(
  (items: readonly Item[]): ReadonlySet<string> =>
    new Set(items.flatMap(({ exposed, text }) => [exposed, ...skillFiles(text)])),
)

/** Includes the owner: one principal's server reveals nothing to another's. */
const seenKey = (uri: string, owner: Principal | undefined): string =>
  owner === undefined ? uri : `${owner}\0${uri}`

interface ServerTable {
  readonly servers: readonly Server[]
  readonly byAlias: ReadonlyMap<string, ServerView>
  readonly findAlias: AliasFinder
}

const tableOf = (views: ReadonlyMap<Server, ServerView>): ServerTable => {
  const servers = [...views.keys()]
  const prefixed = [...views.values()].filter(view => view.exposure.uris === 'prefix')
  return {
    servers,
    byAlias: new Map([...views].map(([{ options }, view]) => [options.alias, view])),
    findAlias: schemeAliases(prefixed.map(view => view.server.options.alias)),
  }
}

const removal = (server: string): string => `server ${server} was removed from the configuration`

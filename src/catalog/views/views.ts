import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { serverOfView } from '../../kernel/server-view.js'
import type { Client } from '../../model/links.js'
import { EVERYTHING, View, type ViewRules } from './view.js'

/** Assigns a default view to clients by their `clientInfo.name`. */
export interface ClientRule {
  /** A glob of `clientInfo.name`. */
  readonly name: string
  readonly view: string | undefined
}

export interface ViewsOptions {
  readonly views: readonly ViewRules[]
  /** The first match wins. */
  readonly clients: readonly ClientRule[]
  /** The names of the servers with a view of their own. */
  readonly served?: readonly string[]
}

/** The view of clients without an assigned one: everything, unless it is configured. */
const DEFAULT_VIEW = 'default'

const serverOf = ({ view }: Client): string | undefined =>
  view === undefined ? undefined : serverOfView(view)

/** Returns the error message for an unknown view, for users on this machine. */
export const unknownView = (name: string, names: readonly string[]): string =>
  `there is no view ${shortName(name, 64)}; there are: ${[...new Set([DEFAULT_VIEW, ...names])].join(', ')}`

/** Holds the configured views and assigns one to each client. A client keeps the name of its view. */
export class Views {
  #byName = new Map<string, View>()
  /** Removed views that clients still use. */
  readonly #retired = new Map<string, View>()
  #rules: readonly (ClientRule & { readonly matches: (name: string) => boolean })[] = []
  readonly #chosen = new WeakMap<Client, string>()
  #served: ReadonlySet<string> = new Set()
  /** The views of single servers, by server and the view whose rules they also apply. */
  #ofServers = new Map<string, View>()

  constructor(options: ViewsOptions) {
    this.reload(options)
  }

  /** The names of the views that clients can request, in order. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter(name => name !== '')
  }

  has(name: string): boolean {
    const server = serverOfView(name)
    if (server !== undefined) return this.#served.has(server)
    return name === DEFAULT_VIEW || (name !== '' && this.#byName.has(name))
  }

  /** Returns whether a view of this name exists or existed. */
  wasThere(name: string): boolean {
    return this.has(name) || this.#retired.has(name)
  }

  named(name: string): View | undefined {
    return this.#byName.get(name)
  }

  /** Returns the name of a client's configured view, chosen once. */
  nameFor(client: Client): string {
    let name = this.#chosen.get(client)
    if (name === undefined) {
      const asked = serverOf(client) === undefined ? client.view : undefined
      name = asked ?? this.#ruleFor(client)?.view ?? DEFAULT_VIEW
      this.#chosen.set(client, name)
    }
    return name
  }

  /** Returns a client's view; undefined if it sees everything. */
  of(client: Client): View | undefined {
    const name = this.nameFor(client)
    const view = this.#byName.get(name) ?? this.#retired.get(name)
    const server = serverOf(client)
    return server === undefined ? view : this.#ofServer(server, view)
  }

  /** Returns the view of one server, within the rules of the client's view. */
  #ofServer(server: string, view: View | undefined): View {
    const key = `${view?.id ?? ''} ${server}`
    const known = this.#ofServers.get(key) ?? new View(view?.rules ?? EVERYTHING, server)
    this.#ofServers.set(key, known)
    return known
  }

  /** Replaces the views. A view with unchanged rules keeps its identity. */
  reload({ views, clients, served = [] }: ViewsOptions): void {
    this.#served = new Set(served)
    const before = this.#byName
    this.#byName = new Map(
      views.map(rules => {
        const known = before.get(rules.name) ?? this.#retired.get(rules.name)
        const isSame = known !== undefined && JSON.stringify(known.rules) === JSON.stringify(rules)
        return [rules.name, isSame ? known : new View(rules)]
      }),
    )
    // A client with a removed view must not see more than before.
    for (const [name, view] of before)
      if (!this.#byName.has(name) && name !== DEFAULT_VIEW) this.#retired.set(name, view)
    for (const name of this.#byName.keys()) this.#retired.delete(name)
    const ids = new Set([...this.#byName.values(), ...this.#retired.values()].map(({ id }) => String(id)))
    for (const key of this.#ofServers.keys()) {
      const [id = '', server = ''] = key.split(/ (.*)/s)
      if (!this.#served.has(server) || (id !== '' && !ids.has(id))) this.#ofServers.delete(key)
    }
    this.#rules = clients.map(rule => ({ ...rule, matches: matcherOf([rule.name]) }))
  }

  #ruleFor({ info }: Client): ClientRule | undefined {
    if (this.#rules.length === 0) return undefined
    const name = textMember(info, 'name') ?? ''
    return this.#rules.find(({ matches, view }) => view !== undefined && matches(name))
  }
}

import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import type { Client } from '../../model/links.js'
import { View, type ViewRules } from './view.js'

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
}

/** The view of clients without an assigned one: everything, unless it is configured. */
const DEFAULT_VIEW = 'default'

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

  constructor(options: ViewsOptions) {
    this.reload(options)
  }

  /** The names of the views that clients can request, in order. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter(name => name !== '')
  }

  has(name: string): boolean {
    return name === DEFAULT_VIEW || (name !== '' && this.#byName.has(name))
  }

  /** Returns whether a view of this name exists or existed. */
  wasThere(name: string): boolean {
    return this.has(name) || this.#retired.has(name)
  }

  named(name: string): View | undefined {
    return this.#byName.get(name)
  }

  /** Returns the name of a client's view, chosen once. */
  nameFor(client: Client): string {
    let name = this.#chosen.get(client)
    if (name === undefined) {
      name = client.view ?? this.#ruleFor(client)?.view ?? DEFAULT_VIEW
      this.#chosen.set(client, name)
    }
    return name
  }

  /** Returns a client's view; undefined if it sees everything. */
  of(client: Client): View | undefined {
    const name = this.nameFor(client)
    return this.#byName.get(name) ?? this.#retired.get(name)
  }

  /** Replaces the views. A view with unchanged rules keeps its identity. */
  reload({ views, clients }: ViewsOptions): void {
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
    this.#rules = clients.map(rule => ({ ...rule, matches: matcherOf([rule.name]) }))
  }

  #ruleFor({ info }: Client): ClientRule | undefined {
    if (this.#rules.length === 0) return undefined
    const name = textMember(info, 'name') ?? ''
    return this.#rules.find(({ matches, view }) => view !== undefined && matches(name))
  }
}

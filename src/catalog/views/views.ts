import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'
import { shortName } from '../../secrets/mask.js'
import { View, type ViewRules } from './view.js'

/** Clients, by what they call themselves, and the view that they get if they ask for none. */
export interface ClientRule {
  /** A glob of `clientInfo.name`. */
  readonly name: string
  readonly view: string | undefined
}

export interface ViewsOptions {
  readonly views: readonly ViewRules[]
  /** The first that fits counts. */
  readonly clients: readonly ClientRule[]
}

/** The view of clients for whom nothing else is said: all there is, unless it is configured. */
const DEFAULT_VIEW = 'default'

/** What to say to whoever asks for a view that is not there, on this machine. */
export const unknownView = (name: string, names: readonly string[]): string =>
  `there is no view ${shortName(name, 64)}; there are: ${[...new Set([DEFAULT_VIEW, ...names])].join(', ')}`

/** The configured views, and which client has which; a client keeps the name of its view. */
export class Views {
  #byName = new Map<string, View>()
  /** Views that are gone, for the clients that have them still. */
  readonly #retired = new Map<string, View>()
  #rules: readonly (ClientRule & { readonly matches: (name: string) => boolean })[] = []
  readonly #chosen = new WeakMap<Client, string>()

  constructor(options: ViewsOptions) {
    this.reload(options)
  }

  /** Those that a client can ask for by name, in order. */
  get names(): readonly string[] {
    return [...this.#byName.keys()].filter(name => name !== '')
  }

  has(name: string): boolean {
    return name === DEFAULT_VIEW || (name !== '' && this.#byName.has(name))
  }

  /** Whether a client may have it still, or again. */
  wasThere(name: string): boolean {
    return this.has(name) || this.#retired.has(name)
  }

  named(name: string): View | undefined {
    return this.#byName.get(name)
  }

  /** The name of a client's view; chosen once. */
  nameFor(client: Client): string {
    let name = this.#chosen.get(client)
    if (name === undefined) {
      name = client.view ?? this.#ruleFor(client)?.view ?? DEFAULT_VIEW
      this.#chosen.set(client, name)
    }
    return name
  }

  /** Undefined for a client that sees all there is. */
  of(client: Client): View | undefined {
    const name = this.nameFor(client)
    return this.#byName.get(name) ?? this.#retired.get(name)
  }

  /** Replaces the views; one with the same rules stays the same. */
  reload({ views, clients }: ViewsOptions): void {
    const before = this.#byName
    this.#byName = new Map(
      views.map(rules => {
        const known = before.get(rules.name) ?? this.#retired.get(rules.name)
        const isSame = known !== undefined && JSON.stringify(known.rules) === JSON.stringify(rules)
        return [rules.name, isSame ? known : new View(rules)]
      }),
    )
    // Whoever has a view that is gone must not see more than before.
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

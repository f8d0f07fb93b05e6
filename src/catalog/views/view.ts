import type { Caller } from '../../kernel/caller.js'
import { matcherOf } from '../../kernel/globs.js'
import { canonicalJson } from '../../kernel/json/canonical.js'
import { textOf } from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import type { ListName } from '../../model/listing.js'
import { annotationOf } from '../annotations.js'
import type { Item, Merged, MergePart } from '../listed.js'

/** Limits the servers and tools of a view. Tool names are the exposed ones. */
export interface ViewRules {
  readonly name: string
  /** Globs of server names, and tags; one match is enough. Undefined means all servers. */
  readonly servers: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  readonly tools: {
    /** Globs; undefined allows all tools. */
    readonly allow: readonly string[] | undefined
    /** Globs; wins over `allow`. */
    readonly deny: readonly string[]
  }
  /** Annotations that a tool must have with exactly these values. */
  readonly annotations: Readonly<Record<string, unknown>>
  readonly resources: boolean
  readonly prompts: boolean
  /** Scopes that a caller needs; without all of them the view is empty. */
  readonly scopes: readonly string[]
}

/** The properties of a server that views select by. */
interface Tagged {
  readonly name: string
  readonly tags: readonly string[]
}

let views = 0

/** Applies the compiled rules of a view. Its clients cannot see or call anything outside it. */
export class View {
  /** Unique in this process; changes with the rules. */
  readonly id: number
  readonly rules: ViewRules
  /** The only server, which is shown under its own names; undefined for a configured view. */
  readonly server: string | undefined
  readonly #isNamed: (server: string) => boolean
  readonly #isAllowed: (tool: string) => boolean
  readonly #isDenied: (tool: string) => boolean
  readonly #annotations: readonly (readonly [key: string, value: string])[]
  /** Memoized by input, so that equal lists keep the same reference. */
  readonly #shown = memoize((items: readonly Item[]): readonly Item[] => {
    const kept = items.filter(item => this.hasTool(item))
    return kept.length === items.length ? items : kept
  })

  constructor(rules: ViewRules, server?: string) {
    views += 1
    this.id = views
    this.rules = rules
    this.server = server
    const { allow, deny } = rules.tools
    this.#isNamed = matcherOf(rules.servers ?? [])
    this.#isAllowed = allow === undefined ? () => true : matcherOf(allow)
    this.#isDenied = matcherOf(deny)
    this.#annotations = Object.entries(rules.annotations).map(
      ([key, value]) => [key, canonicalJson(textOf(value))] as const,
    )
  }

  /** Returns whether a caller has the scopes that the view requires. */
  isOpenTo({ scopes }: Caller): boolean {
    return scopes === undefined || this.rules.scopes.every(scope => scopes.has(scope))
  }

  /** True if the view includes every tool of its servers. */
  get hasAllTools(): boolean {
    const { allow, deny } = this.rules.tools
    return allow === undefined && deny.length === 0 && this.#annotations.length === 0
  }

  hasServer({ name, tags }: Tagged): boolean {
    const { servers, tags: wanted } = this.rules
    if (this.server !== undefined && this.server !== name) return false
    if (servers === undefined && wanted === undefined) return true
    return this.#isNamed(name) || tags.some(tag => wanted?.includes(tag) === true)
  }

  /** Returns whether the view allows this tool name, ignoring annotations. */
  namesTool(exposed: string): boolean {
    return this.#isAllowed(exposed) && !this.#isDenied(exposed)
  }

  hasList(list: ListName): boolean {
    if (list === 'tools') return true
    return list === 'prompts' ? this.rules.prompts : this.rules.resources
  }

  /** Returns the part of a merged list that the view includes. */
  filter(list: ListName, merged: Merged): Merged {
    if (!this.hasList(list)) return { parts: [], byExposed: new Map(), pages: new Map() }
    if (list !== 'tools' || this.hasAllTools) return merged
    const parts = merged.parts.map(part => this.#part(part))
    const byExposed = new Map(parts.flatMap(({ items }) => items.map(item => [item.exposed, item] as const)))
    return { parts, byExposed, pages: new Map() }
  }

  #part(part: MergePart): MergePart {
    const items = this.#shown(part.items)
    return items === part.items ? part : { ...part, items }
  }

  /** Returns whether the view includes a tool of one of its servers. */
  hasTool({ exposed, text }: Pick<Item, 'exposed' | 'text'>): boolean {
    if (!this.namesTool(exposed)) return false
    return this.#annotations.every(([key, value]) => {
      const found = annotationOf(text, key)
      return found !== undefined && canonicalJson(found) === value
    })
  }
}

/** The rules of a view that shows everything. */
export const EVERYTHING: ViewRules = {
  ...{ name: '', servers: undefined, tags: undefined, annotations: {}, scopes: [] },
  ...{ resources: true, prompts: true, tools: { allow: undefined, deny: [] } },
}

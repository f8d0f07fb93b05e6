import type { Caller } from '../../kernel/caller.js'
import { matcherOf } from '../../kernel/globs.js'
import { canonicalJson } from '../../kernel/json/canonical.js'
import { textOf } from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import type { ListName } from '../../model/listing.js'
import { annotationOf } from '../annotations.js'
import type { Item } from '../lists/listed.js'
import type { Merged, Part } from '../lists/merge.js'

/** What clients of a view see; names of tools are those that clients see. */
export interface ViewRules {
  readonly name: string
  /** Globs of names, and tags, of servers; one of them is enough. All servers if neither is given. */
  readonly servers: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  readonly tools: {
    /** Globs; undefined shows all. */
    readonly allow: readonly string[] | undefined
    /** Globs; wins over `allow`. */
    readonly deny: readonly string[]
  }
  /** What the annotations of a tool must say; one that does not say it is left out. */
  readonly annotations: Readonly<Record<string, unknown>>
  readonly resources: boolean
  readonly prompts: boolean
  /** Without all of these the view is empty. */
  readonly scopes: readonly string[]
}

/** What of a server decides whether a view has it. */
interface Tagged {
  readonly name: string
  readonly tags: readonly string[]
}

let views = 0

/** The rules of a view, compiled. What it leaves out does not exist for its clients. */
export class View {
  /** Unique in this process; another one if its rules changed. */
  readonly id: number
  readonly rules: ViewRules
  readonly #isNamed: (server: string) => boolean
  readonly #isAllowed: (tool: string) => boolean
  readonly #isDenied: (tool: string) => boolean
  readonly #annotations: readonly (readonly [key: string, value: string])[]
  /** By what was filtered, so that equal lists stay the same reference. */
  readonly #shown = memoize((items: readonly Item[]): readonly Item[] => {
    const kept = items.filter(item => this.hasTool(item))
    return kept.length === items.length ? items : kept
  })

  constructor(rules: ViewRules) {
    views += 1
    this.id = views
    this.rules = rules
    const { allow, deny } = rules.tools
    this.#isNamed = matcherOf(rules.servers ?? [])
    this.#isAllowed = allow === undefined ? () => true : matcherOf(allow)
    this.#isDenied = matcherOf(deny)
    this.#annotations = Object.entries(rules.annotations).map(
      ([key, value]) => [key, canonicalJson(textOf(value))] as const,
    )
  }

  /** Whether a caller may use it at all. */
  isOpenTo({ scopes }: Caller): boolean {
    return scopes === undefined || this.rules.scopes.every(scope => scopes.has(scope))
  }

  /** Whether it has every tool of its servers. */
  get hasAllTools(): boolean {
    const { allow, deny } = this.rules.tools
    return allow === undefined && deny.length === 0 && this.#annotations.length === 0
  }

  hasServer({ name, tags }: Tagged): boolean {
    const { servers, tags: wanted } = this.rules
    if (servers === undefined && wanted === undefined) return true
    return this.#isNamed(name) || tags.some(tag => wanted?.includes(tag) === true)
  }

  /** Whether a tool of this name may be in it, whatever its annotations say. */
  namesTool(exposed: string): boolean {
    return this.#isAllowed(exposed) && !this.#isDenied(exposed)
  }

  hasList(list: ListName): boolean {
    if (list === 'tools') return true
    return list === 'prompts' ? this.rules.prompts : this.rules.resources
  }

  /** The part of a merged list of its servers that its clients see. */
  filter(list: ListName, merged: Merged): Merged {
    if (!this.hasList(list)) return { parts: [], byExposed: new Map(), pages: new Map() }
    if (list !== 'tools' || this.hasAllTools) return merged
    const parts = merged.parts.map(part => this.#part(part))
    const byExposed = new Map(parts.flatMap(({ items }) => items.map(item => [item.exposed, item] as const)))
    return { parts, byExposed, pages: new Map() }
  }

  #part(part: Part): Part {
    const items = this.#shown(part.items)
    return items === part.items ? part : { ...part, items }
  }

  /** Whether a tool of one of its servers is in it. */
  hasTool({ exposed, text }: Pick<Item, 'exposed' | 'text'>): boolean {
    if (!this.namesTool(exposed)) return false
    return this.#annotations.every(([key, value]) => {
      const found = annotationOf(text, key)
      return found !== undefined && canonicalJson(found) === value
    })
  }
}

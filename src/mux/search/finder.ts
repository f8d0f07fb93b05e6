import type { Item, Merged, MergePart } from '../../catalog/listed.js'
import { exposedName } from '../../catalog/names/names.js'
import { memberOf, textMember, valueOf } from '../../kernel/json/text.js'
import { type Question, ToolRanking } from '../../search/rank.js'
import { type SearchedTool, ToolIndex } from '../../search/tool-index.js'

/** Number of tools that are indexed before other work may run. */
const AT_ONCE = 250

/**
 * Finds tools in merged lists. A server's tools are indexed on the first search and again when its list
 * changes. Clients with equal lists share the index.
 */
export class ToolFinder {
  readonly #tagsOf: (item: Item) => readonly string[]
  readonly #indexes = new WeakMap<readonly Item[], Promise<readonly ToolIndex[]>>()
  readonly #rankings = new WeakMap<Merged, Promise<ToolRanking>>()

  /** `tagsOf` returns the tags of a tool's server. */
  constructor(tagsOf: (item: Item) => readonly string[]) {
    this.#tagsOf = tagsOf
  }

  /** Returns the tools that match a question best, best first; only those of `server` if it is given. */
  async find(merged: Merged, question: Question, server?: string): Promise<readonly Item[]> {
    const parts = merged.parts.filter(part => server === undefined || part.items[0]?.server.name === server)
    let ranking = server === undefined ? this.#rankings.get(merged) : undefined
    if (ranking === undefined) {
      ranking = this.#rankingOf(parts)
      if (server === undefined) this.#rankings.set(merged, ranking)
    }
    const items = parts.flatMap(part => part.items)
    return (await ranking).find(question).flatMap(at => items[at] ?? [])
  }

  async #rankingOf(parts: readonly MergePart[]): Promise<ToolRanking> {
    const indexes: ToolIndex[] = []
    for (const part of parts) indexes.push(...(await this.#indexOf(part)))
    const names = parts.flatMap(({ items }) => items.map(({ exposed }) => exposed))
    return new ToolRanking(indexes, at => names[at] ?? '')
  }

  #indexOf({ items }: MergePart): Promise<readonly ToolIndex[]> {
    let index = this.#indexes.get(items)
    if (index === undefined) {
      index = this.#read(items)
      this.#indexes.set(items, index)
    }
    return index
  }

  async #read(items: readonly Item[]): Promise<readonly ToolIndex[]> {
    const [first] = items
    const about = first === undefined ? [] : [first.server.name, ...this.#tagsOf(first)]
    const indexes: ToolIndex[] = []
    for (let at = 0; at < items.length; at += AT_ONCE) {
      if (at > 0) await new Promise(setImmediate)
      indexes.push(new ToolIndex(items.slice(at, at + AT_ONCE).map(searched), about.join(' ')))
    }
    return indexes
  }
}

const searched = (item: Item): SearchedTool => {
  const { text } = item
  const schema = memberOf(text, 'inputSchema')
  return {
    name: nameOf(item),
    title: textMember(text, 'title'),
    description: textMember(text, 'description'),
    schema: schema && valueOf(schema),
  }
}

const nameOf = ({ exposed, own, server }: Item): string => {
  const { alias } = server.options
  // A name that was too long to be shown whole is also found by its full form.
  if (exposed === own || exposed === exposedName(alias, own)) return own
  const prefix = `${alias}__`
  const renamed = exposed.startsWith(prefix) ? exposed.slice(prefix.length) : exposed
  return `${renamed} ${own}`
}

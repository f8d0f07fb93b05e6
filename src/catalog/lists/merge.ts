import type { Logger } from '../../kernel/logger.js'
import type { ListName } from '../../model/listing.js'
import { exposedName } from '../names/names.js'
import { rewriteItem } from '../names/rewrite.js'
import type { Item } from './listed.js'
import type { Paged } from './page.js'

/** One server's part of a merged list; `index` is the place of the server. */
export interface Part {
  readonly index: number
  readonly alias: string
  readonly items: readonly Item[]
}

export interface Merged extends Paged {
  readonly parts: readonly Part[]
  readonly byExposed: ReadonlyMap<string, Item>
}

/** A list over all servers, shared by all clients who see the same of each. */
export class MergedList {
  /** Equal for lists that look the same. */
  readonly version: string
  readonly #merge: () => Merged
  readonly #size: number | undefined
  #merged: Merged | undefined

  /** `size`: how many items there are, if that is known without merging. */
  constructor(version: string, merge: () => Merged, size: number | undefined) {
    this.version = version
    this.#merge = merge
    this.#size = size
  }

  get size(): number {
    return this.#size ?? this.merged.byExposed.size
  }

  get merged(): Merged {
    this.#merged ??= this.#merge()
    return this.#merged
  }

  get paged(): Merged {
    return this.merged
  }
}

/**
 * Merges parts. A name that is taken or reserved, or begins with the alias of another server, gets its own
 * prefix.
 */
export const mergeParts = (
  list: ListName,
  parts: readonly Part[],
  log: Logger,
  isReserved: (name: string) => boolean = () => false,
): Merged => {
  const byExposed = new Map<string, Item>()
  const aliases = new Set(parts.map(({ alias }) => alias))
  const merged = parts.map(part => {
    const items = part.items.flatMap(item => {
      const { exposed } = item
      const isTaken =
        byExposed.has(exposed) || isReserved(exposed) || isUnderOtherAlias(item, part.alias, aliases)
      const unique = isTaken ? withPrefix(list, item) : item
      if (unique === undefined || byExposed.has(unique.exposed)) {
        // A URI that several servers list unprefixed: each is shown, and the owner is found on use.
        if (list === 'resources' || list === 'templates') return [item]
        log.warn(
          { server: item.server.name, item: item.exposed },
          'left out, because its name is taken: give the server a prefix',
        )
        return []
      }
      if (unique !== item)
        log.warn(
          { server: item.server.name, item: item.exposed, as: unique.exposed },
          'shown with its prefix, because its name is taken',
        )
      byExposed.set(unique.exposed, unique)
      return [unique]
    })
    return items.every((item, at) => item === part.items[at]) ? part : { ...part, items }
  })
  return { parts: merged, byExposed, pages: new Map() }
}

const withPrefix = (list: ListName, item: Item): Item | undefined => {
  if (list !== 'tools' && list !== 'prompts') return undefined
  const exposed = exposedName(item.server.options.alias, item.exposed)
  return { ...item, exposed, text: rewriteItem(list, item.text, { name: exposed }) }
}

/** Whether a name begins with the alias of another server; no alias holds `__`, so the first one ends it. */
const isUnderOtherAlias = ({ exposed }: Item, alias: string, aliases: ReadonlySet<string>): boolean => {
  const prefix = exposed.slice(0, Math.max(0, exposed.indexOf('__')))
  return prefix !== alias && aliases.has(prefix)
}

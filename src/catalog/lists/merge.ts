import type { JsonText } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { ListName } from '../../model/listing.js'
import { exposedName } from '../names/names.js'
import { rewriteItem } from '../names/rewrite.js'
import type { Item } from './listed.js'

/** One server's part of a merged list; its place says in which order. */
export interface Part {
  readonly index: number
  readonly alias: string
  readonly items: readonly Item[]
}

/** A list over all servers, in the order of the configuration and then of each server. */
export interface Merged {
  readonly parts: readonly Part[]
  readonly byExposed: ReadonlyMap<string, Item>
  /** Pages that were cut before, by the number of their first item; dropped with the list. */
  readonly pages: Map<number, JsonText>
}

/**
 * Puts parts together. Two servers can only meet in one name where an operator took the prefixes away: the later one is
 * then shown under its prefixed name, and the operator is told. Names under the prefix of another server are that server's,
 * whether it has them or not: whose a name is does not depend on what others list.
 */
export const mergeParts = (list: ListName, parts: readonly Part[], log: Logger): Merged => {
  const byExposed = new Map<string, Item>()
  const aliases = new Set(parts.map(({ alias }) => alias))
  const merged = parts.map(part => {
    const items = part.items.flatMap(item => {
      const isTaken = byExposed.has(item.exposed) || isOfAnother(item, part.alias, aliases)
      const unique = isTaken ? movedAside(list, item) : item
      if (unique === undefined || byExposed.has(unique.exposed)) {
        // The same URI on several servers that keep theirs: each is listed, and the owner is found on use.
        if (list === 'resources' || list === 'templates') return [item]
        log.warn(
          { server: item.server.name, item: item.exposed },
          'left out: its name is taken; give the server a prefix',
        )
        return []
      }
      if (unique !== item)
        log.warn(
          { server: item.server.name, item: item.exposed, as: unique.exposed },
          'name is taken: shown with its prefix',
        )
      byExposed.set(unique.exposed, unique)
      return [unique]
    })
    return items.every((item, at) => item === part.items[at]) ? part : { ...part, items }
  })
  return { parts: merged, byExposed, pages: new Map() }
}

const movedAside = (list: ListName, item: Item): Item | undefined => {
  if (list !== 'tools' && list !== 'prompts') return undefined
  const exposed = exposedName(item.server.options.alias, item.exposed)
  return { ...item, exposed, text: rewriteItem(list, item.text, { name: exposed }) }
}

/** No alias holds `__`, so that the first one ends it. */
const isOfAnother = ({ exposed }: Item, alias: string, aliases: ReadonlySet<string>): boolean => {
  const prefix = exposed.slice(0, Math.max(0, exposed.indexOf('__')))
  return prefix !== alias && aliases.has(prefix)
}

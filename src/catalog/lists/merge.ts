import type { Logger } from '../../kernel/logger.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import { exposedName } from '../names/names.js'
import { rewriteItem } from '../names/rewrite.js'
import { digestOf, type Item, type Listed } from './listed.js'
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

/** A list of more items is too long for any client, whatever is left of it. */
const EXACT_MAX = 500

/** What a merged list is made of, once somebody looks at it. */
interface MergedParts {
  readonly version: () => string
  readonly merge: () => Merged
  /** The most items there are; undefined if only merging tells. */
  readonly most: () => number | undefined
}

/** A list over all servers, shared by all clients who see the same of each. */
export class MergedList {
  /** Equal for lists that are made of the same. */
  readonly key: string
  readonly #parts: MergedParts
  #version: string | undefined
  #merged: Merged | undefined

  /** None of its parts is looked at before somebody asks for more than its key. */
  constructor(key: string, parts: MergedParts) {
    this.key = key
    this.#parts = parts
  }

  /** Equal for lists that look the same. */
  get version(): string {
    this.#version ??= this.#parts.version()
    return this.#version
  }

  /** How many items there are; if there are very many, at most so many. */
  get size(): number {
    const most = this.#parts.most()
    return most !== undefined && most > EXACT_MAX ? most : this.merged.byExposed.size
  }

  get merged(): Merged {
    this.#merged ??= this.#parts.merge()
    return this.#merged
  }

  get paged(): Merged {
    return this.merged
  }
}

/** What a merged list is made of: the list of one server, as far as it is known. */
interface Source {
  readonly server: Server
  /** How clients see it (`ServerView`). */
  readonly view: { readonly id: number; readonly exposure: { readonly prefix: boolean } }
  readonly listed: Listed | undefined
}

/** A view (`View`), as far as lists are concerned. */
interface ViewFilter {
  readonly id: number
  readonly hasAllTools: boolean
  filter(list: ListName, merged: Merged): Merged
}

/** What becomes of them, beside being merged. */
interface Merging {
  readonly view: ViewFilter | undefined
  readonly log: Logger
  readonly isReserved: ((name: string) => boolean) | undefined
}

/** The key of a list that is merged of these, for clients of a view. */
export const mergeKey = (list: ListName, sources: readonly Source[], view: ViewFilter | undefined): string =>
  [
    `${list} ${view?.id}`,
    ...sources.map(({ server, view, listed }) => `${view.id} ${server.index} ${listed?.key}`),
  ].join(', ')

export const partsOf = (
  list: ListName,
  sources: readonly Source[],
  { view, log, isReserved }: Merging,
): MergedParts => ({
  version() {
    const aliases = sources.map(({ server: { options } }) => options.alias)
    const digests = sources.flatMap(({ view: { exposure }, listed }) => [
      // A name without prefix is free only where it does not begin with the alias of a server.
      ...(exposure.prefix ? [] : aliases),
      ...(listed === undefined || listed.items.length === 0 ? [] : [listed.digest]),
    ])
    return digestOf([...(view === undefined ? [] : [`view ${view.id}`]), ...digests])
  },
  merge() {
    const parts = sources.map(({ server: { index, options }, listed }): Part => {
      return { index, alias: options.alias, items: listed?.items ?? [] }
    })
    const merged = mergeParts(list, parts, log, isReserved)
    return view === undefined ? merged : view.filter(list, merged)
  },
  most: () =>
    view?.hasAllTools === false
      ? undefined
      : sources.reduce((sum, { listed }) => sum + (listed?.most ?? 0), 0),
})

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

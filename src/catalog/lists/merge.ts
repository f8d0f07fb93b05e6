import { arrayText } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import {
  digestOf,
  type Item,
  itemsForModels,
  type Listed,
  type Merged,
  type MergePart,
  mergedForModels,
} from '../listed.js'
import { exposedName } from '../names/names.js'
import { rewriteItem } from '../names/rewrite.js'
import type { ServerView } from './server-view.js'

/** A longer list exceeds every client's limit, even after filtering. */
const EXACT_MAX = 500

/** The contents of a merged list, computed on first use. */
interface MergedParts {
  readonly version: (isForModels: boolean) => string
  readonly merge: () => Merged
  /** Returns an upper bound for the number of items; undefined if only merging can determine it. */
  readonly most: () => number | undefined
}

/** A list over all servers, shared by all clients with the same parts. */
export class MergedList {
  /** Equal for lists with the same parts. */
  readonly key: string
  readonly #parts: MergedParts
  #version: string | undefined
  #modelVersion: string | undefined
  #merged: Merged | undefined

  /** Computes the parts on the first use of anything but the key. */
  constructor(key: string, parts: MergedParts) {
    this.key = key
    this.#parts = parts
  }

  /** Returns a version that is equal for lists with equal content. */
  get version(): string {
    this.#version ??= this.#parts.version(false)
    return this.#version
  }

  /** The same for lists with equal items for models. */
  get modelVersion(): string {
    this.#modelVersion ??= this.#parts.version(true)
    return this.#modelVersion
  }

  /** The number of items for models, or an upper bound for very long lists. */
  get size(): number {
    const most = this.#parts.most()
    return most !== undefined && most > EXACT_MAX ? most : mergedForModels(this.merged).byExposed.size
  }

  get merged(): Merged {
    this.#merged ??= this.#parts.merge()
    return this.#merged
  }

  get paged(): Merged {
    return this.merged
  }
}

/** One server's list, as far as it is known, before merging. */
interface Source {
  readonly server: Server
  /** The exposed form of the server (`ServerView`). */
  readonly view: Pick<ServerView, 'id' | 'unprefixed'> & { readonly exposure: { readonly prefix: boolean } }
  readonly listed: Listed | undefined
  /** The own names of listed items that the client does not see. */
  readonly hidden: ReadonlySet<string>
}

/** PORT. Leaves items out of the lists that a client receives; calls still find them. */
export interface HidingFilter {
  /** Returns the own names of hidden items; the same reference for the same items. */
  hidden(list: ListName, items: readonly Item[]): ReadonlySet<string>
}

/** The properties of a `View` that lists need. */
interface ViewFilter {
  readonly id: number
  readonly server: string | undefined
  readonly hasAllTools: boolean
  filter(list: ListName, merged: Merged): Merged
}

/** Options for merging. */
interface Merging {
  readonly view: ViewFilter | undefined
  readonly log: Logger
  readonly isReserved: ((name: string) => boolean) | undefined
}

/** Returns the cache key of the list merged from these sources for a view. */
export const mergeKey = (list: ListName, sources: readonly Source[], view: ViewFilter | undefined): string =>
  [
    `${list} ${view?.id}`,
    ...sources.map(
      ({ server, view, listed, hidden }) =>
        `${view.id} ${server.index} ${listed?.key}${hidden.size === 0 ? '' : ` ${digestOf(hidden)}`}`,
    ),
  ].join(', ')

export const partsOf = (
  list: ListName,
  sources: readonly Source[],
  { view, log, isReserved }: Merging,
): MergedParts => ({
  version(isForModels) {
    const aliases = sources.map(({ server: { options } }) => options.alias)
    const digests = sources.flatMap(({ view: { exposure }, listed, hidden }) => [
      // A name without prefix is free only if it does not begin with the alias of a server.
      ...(exposure.prefix ? [] : aliases),
      ...(listed === undefined ? [] : digestsOf(listed, hidden, isForModels)),
    ])
    return digestOf([...(view === undefined ? [] : [`view ${view.id}`]), ...digests])
  },
  merge() {
    const parts = sources.map(({ server: { index, options }, listed }): MergePart => {
      return { index, alias: options.alias, items: listed?.items ?? [] }
    })
    const merged = mergeParts(list, parts, log, isReserved)
    const kept = view === undefined ? merged : view.filter(list, merged)
    const named = view?.server === undefined ? kept : unprefixed(list, kept, sources)
    return sources.every(({ hidden }) => hidden.size === 0) ? named : withoutHidden(named, sources)
  },
  most: () =>
    view?.hasAllTools === false || sources.some(({ hidden }) => hidden.size > 0)
      ? undefined
      : sources.reduce((sum, { listed }) => sum + (listed?.most ?? 0), 0),
})

/** Returns the digest of the items that are not hidden, if there are any. */
const digestsOf = (listed: Listed, hidden: Source['hidden'], isForModels: boolean): readonly string[] => {
  const items = isForModels ? itemsForModels(listed.items) : listed.items
  const shown = hidden.size === 0 ? items : items.filter(({ own }) => !hidden.has(own))
  if (shown.length === 0) return []
  if (hidden.size > 0) return [digestOf([arrayText(shown.map(({ text }) => text))])]
  return [isForModels ? listed.modelDigest : listed.digest]
}

const withoutHidden = ({ parts }: Merged, sources: readonly Source[]): Merged => {
  const shown = parts.map(part => {
    const { hidden } = sources.find(({ server }) => server.index === part.index) ?? {}
    return { ...part, items: part.items.filter(({ own }) => hidden?.has(own) !== true) }
  })
  return { parts: shown, byExposed: byExposedIn(shown), pages: new Map() }
}

const byExposedIn = (parts: Merged['parts']): Merged['byExposed'] =>
  new Map(parts.flatMap(({ items }) => items.map(item => [item.exposed, item] as const)))

/** Returns a list under the servers' own names. */
const unprefixed = (list: ListName, { parts }: Merged, sources: readonly Source[]): Merged => {
  const own = parts.map(part => {
    const source = sources.find(({ server }) => server.index === part.index)
    return { ...part, items: part.items.map(item => source?.view.unprefixed(list, item) ?? item) }
  })
  return { parts: own, byExposed: byExposedIn(own), pages: new Map() }
}

/**
 * Merges parts. A name that is taken, reserved, or begins with another server's alias gets its own prefix.
 */
export const mergeParts = (
  list: ListName,
  parts: readonly MergePart[],
  log: Logger,
  isReserved: (name: string) => boolean = () => false,
): Merged => {
  const byExposed = new Map<string, Item>()
  const aliases = new Set(parts.map(({ alias }) => alias))
  const merged = parts.map(part => {
    const items = part.items.flatMap(item => {
      const { exposed } = item
      const isTaken =
        byExposed.has(exposed) || isReserved(exposed) || isUnderOtherAlias(exposed, part.alias, aliases)
      const unique = isTaken ? withPrefix(list, item) : item
      if (unique === undefined || byExposed.has(unique.exposed)) {
        // An unprefixed URI that several servers list: each is shown, and the owner is found on use. Clients
        // reject a list in which a skill occurs twice.
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

/**
 * Returns whether a name begins with another server's alias. Aliases never contain `__`, so the first one
 * ends it.
 */
export const isUnderOtherAlias = (name: string, alias: string, aliases: ReadonlySet<string>): boolean => {
  const prefix = name.slice(0, Math.max(0, name.indexOf('__')))
  return prefix !== alias && aliases.has(prefix)
}

import { createHash } from 'node:crypto'
import { cut, trust } from '../kernel/json/cursor.js'
import { arrayText, type JsonText } from '../kernel/json/text.js'
import { memoize } from '../kernel/memoize.js'
import type { Server } from '../peers/server.js'
import { type AppFacts, mayHaveAppFacts } from './app-facts.js'
import type { ItemLock, ReadLock } from './exposure.js'

export interface Item {
  readonly server: Server
  readonly own: string
  /** The exposed name, URI or template; unique in its merged list. */
  readonly exposed: string
  readonly text: JsonText
  readonly hasOutputSchema: boolean
  /** Undefined for anything but the tools of apps. */
  readonly app?: AppFacts
  /** True for the proxy's own tools, which the server does not know. */
  readonly isOurs?: boolean
  /** Undefined if the item equals its locked definition, or no lock file covers it. */
  readonly lock?: ItemLock | undefined
}

/** An item before its text is placed in shared memory; the text is latin1, one character per byte. */
export type Unplaced = Omit<Item, 'text' | 'isOurs'> & { readonly latin1: string }

/** Copies the texts of items next to each other in memory, so that a page is one copy. */
export const packItems = (items: readonly Unplaced[]): Item[] => {
  const all = trust(Buffer.from(items.map(({ latin1 }) => latin1).join(), 'latin1'))
  let end = -1
  return items.map(({ server, own, exposed, latin1, hasOutputSchema, app, lock }) => {
    const start = end + 1
    end = start + latin1.length
    const item = { server, own, exposed, text: cut(all, start, end), hasOutputSchema }
    return app === undefined && lock === undefined
      ? item
      : { ...item, ...(app && { app }), ...(lock && { lock }) }
  })
}

/** One list of one server, as sent and as shown; connections with equal lists share it. */
export interface Listed {
  /** Equal for lists that a server sent with equal content. */
  readonly key: string
  /**
   * Maximum number of items for models. It is known without converting the items if there is no filter, and
   * no tool of an app.
   */
  readonly most: number
  /** False if the list certainly holds no tools of apps. */
  readonly mayHaveApps: boolean
  readonly raw: readonly JsonText[]
  readonly items: readonly Item[]
  /** The number of hidden items, by reason. */
  readonly leftOut: Readonly<Record<'filter' | 'broken' | 'twice', number>>
  readonly digest: string
  /** The digest of the items for models. */
  readonly modelDigest: string
  readonly bytes: number
  /** The comparison with the lock file; undefined without one. */
  readonly locked?: ReadLock | undefined
}

/** One server's part of a merged list; `index` is the server's position. */
export interface MergePart {
  readonly index: number
  readonly alias: string
  readonly items: readonly Item[]
}

/** A list merged from all servers. */
export interface Merged {
  readonly parts: readonly MergePart[]
  readonly byExposed: ReadonlyMap<string, Item>
  /** Cached pages, by the index of their first item. */
  readonly pages: Map<number, JsonText>
}

/** Returns whether only apps may call a tool. */
export const isOnlyForApps = ({ app }: Pick<Item, 'app'>): boolean => app?.isForModels === false

/** Returns the items without tools for apps only; the same array if there are none. Memoized. */
export const itemsForModels = memoize((items: readonly Item[]): readonly Item[] =>
  items.some(isOnlyForApps) ? items.filter(item => !isOnlyForApps(item)) : items,
)

/** Returns a merged list without tools for apps only; the same one if there are none. Memoized. */
export const mergedForModels = memoize((merged: Merged): Merged => {
  const parts = merged.parts.map(part => {
    const items = itemsForModels(part.items)
    return items === part.items ? part : { ...part, items }
  })
  if (parts.every((part, at) => part === merged.parts[at])) return merged
  const byExposed = new Map([...merged.byExposed].filter(([, item]) => !isOnlyForApps(item)))
  return { parts, byExposed, pages: new Map() }
})

/** Returns a digest of texts in their order, separated by a byte that JSON never holds. */
export const digestOf = (texts: Iterable<JsonText | string>): string => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('base64url')
}

export const listBytesOf = (texts: readonly JsonText[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0)

export const isSameList = (before: readonly JsonText[], after: readonly JsonText[]): boolean =>
  before.length === after.length && before.every((item, index) => after[index]?.equals(item) === true)

/**
 * Creates a list that calls `show` on first use. Opening a connection and listing the search tools do not
 * need it.
 */
export const listedOf = (
  { key, raw, locked, isFiltered }: Pick<Listed, 'key' | 'raw' | 'locked'> & { readonly isFiltered: boolean },
  show: () => Pick<Listed, 'items' | 'leftOut'>,
): Listed => {
  let shown: ReturnType<typeof show> | undefined
  let digest: string | undefined
  let modelDigest: string | undefined
  let mayHaveApps: boolean | undefined
  const made = () => {
    shown ??= show()
    return shown
  }
  const hasMarks = (): boolean => {
    mayHaveApps ??= raw.some(mayHaveAppFacts)
    return mayHaveApps
  }
  const digestFor = (items: readonly Item[]): string => digestOf([arrayText(items.map(({ text }) => text))])
  return {
    key,
    raw,
    locked,
    get most() {
      return isFiltered || hasMarks() ? itemsForModels(made().items).length : raw.length
    },
    get mayHaveApps() {
      return hasMarks()
    },
    get items() {
      return made().items
    },
    get leftOut() {
      return made().leftOut
    },
    get digest() {
      digest ??= digestFor(made().items)
      return digest
    },
    get modelDigest() {
      const items = itemsForModels(made().items)
      if (items === made().items) return this.digest
      modelDigest ??= digestFor(items)
      return modelDigest
    },
    // Shown items are about as long as the sent ones.
    bytes: 2 * listBytesOf(raw),
  }
}

const EMPTY_DIGEST = digestOf([arrayText([])])

/** Returns whether two lists have equal content; undefined counts as empty. */
export const hasSameContent = (one: Listed | undefined, other: Listed | undefined): boolean => {
  if (one === other) return true
  // The first known list differs from none without converting it.
  if (one === undefined && other !== undefined && other.raw.length > 0) return false
  return (one?.digest ?? EMPTY_DIGEST) === (other?.digest ?? EMPTY_DIGEST)
}

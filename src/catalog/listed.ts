import { createHash } from 'node:crypto'
import { cut, trust } from '../kernel/json/cursor.js'
import { arrayText, type JsonText } from '../kernel/json/text.js'
import type { Server } from '../peers/server.js'
import type { ItemLock, ReadLock } from './exposure.js'

export interface Item {
  readonly server: Server
  readonly own: string
  /** The exposed name, URI or template; unique in its merged list. */
  readonly exposed: string
  readonly text: JsonText
  readonly hasOutputSchema: boolean
  /** True for a tool with an interface, which a host may show as an app (ext-apps, SEP-1865). */
  readonly hasInterface?: boolean
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
  return items.map(({ server, own, exposed, latin1, hasOutputSchema, hasInterface, lock }) => {
    const start = end + 1
    end = start + latin1.length
    const item = { server, own, exposed, text: cut(all, start, end), hasOutputSchema }
    if (hasInterface !== true && lock === undefined) return item
    return { ...item, ...(hasInterface === true && { hasInterface }), ...(lock && { lock }) }
  })
}

/** One list of one server, as sent and as shown; connections with equal lists share it. */
export interface Listed {
  /** Equal for lists that a server sent with equal content. */
  readonly key: string
  /** Maximum number of shown items; without a filter it is known without converting them. */
  readonly most: number
  readonly raw: readonly JsonText[]
  readonly items: readonly Item[]
  /** The number of hidden items, by reason. */
  readonly leftOut: Readonly<Record<'filter' | 'broken' | 'twice', number>>
  readonly digest: string
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
  const made = () => {
    shown ??= show()
    return shown
  }
  return {
    key,
    raw,
    locked,
    get most() {
      return isFiltered ? made().items.length : raw.length
    },
    get items() {
      return made().items
    },
    get leftOut() {
      return made().leftOut
    },
    get digest() {
      digest ??= digestOf([arrayText(made().items.map(({ text }) => text))])
      return digest
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

import { createHash } from 'node:crypto'
import { cut, trust } from '../../kernel/json/cursor.js'
import { arrayText, type JsonText } from '../../kernel/json/text.js'
import type { Server } from '../../peers/server.js'

export interface Item {
  readonly server: Server
  readonly own: string
  /** The name, URI or template that clients see; unique in its merged list. */
  readonly exposed: string
  readonly text: JsonText
  readonly hasOutputSchema: boolean
  /** Whether it is a tool of this proxy, of which the server knows nothing. */
  readonly isOurs?: boolean
}

/** An item before it has its place in memory; its text is in latin1, whose characters are bytes. */
export type Unplaced = Omit<Item, 'text' | 'isOurs'> & { readonly latin1: string }

/** Puts the texts of items side by side in memory, as a page has them: all of them are copied at once. */
export const sideBySide = (items: readonly Unplaced[]): Item[] => {
  const all = trust(Buffer.from(items.map(({ latin1 }) => latin1).join(), 'latin1'))
  let end = -1
  return items.map(({ server, own, exposed, latin1, hasOutputSchema }) => {
    const start = end + 1
    end = start + latin1.length
    return { server, own, exposed, text: cut(all, start, end), hasOutputSchema }
  })
}

/** One list of one server, as sent and as shown; connections on which it is the same share it. */
export interface Listed {
  /** Equal for lists of one server that were sent the same. */
  readonly key: string
  /** The most items that are shown; told without looking at them where nothing is filtered. */
  readonly most: number
  readonly raw: readonly JsonText[]
  readonly items: readonly Item[]
  /** How many items of the server clients do not see, and why. */
  readonly leftOut: Readonly<Record<'filter' | 'broken' | 'twice', number>>
  readonly digest: string
  readonly bytes: number
}

/** A digest of texts in their order, separated by a byte that JSON never holds. */
export const digestOf = (texts: Iterable<JsonText | string>): string => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('base64url')
}

export const bytesOf = (texts: readonly JsonText[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0)

export const isSame = (before: readonly JsonText[], after: readonly JsonText[]): boolean =>
  before.length === after.length && before.every((item, index) => after[index]?.equals(item) === true)

/**
 * A list that is shown by `show` once somebody looks at it: servers are met, and clients who search tools
 * are given their list, without that.
 */
export const listedOf = (
  { key, raw, isFiltered }: Pick<Listed, 'key' | 'raw'> & { readonly isFiltered: boolean },
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
    // Shown items are about as long as those that were sent.
    bytes: 2 * bytesOf(raw),
  }
}

const EMPTY_DIGEST = digestOf([arrayText([])])

/** Whether clients see the same of two lists; undefined is none. */
export const looksSame = (one: Listed | undefined, other: Listed | undefined): boolean => {
  if (one === other) return true
  // Of the first list that is known nothing need be shown to tell.
  if (one === undefined && other !== undefined && other.raw.length > 0) return false
  return (one?.digest ?? EMPTY_DIGEST) === (other?.digest ?? EMPTY_DIGEST)
}

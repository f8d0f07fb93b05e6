import { Fault } from '../../kernel/faults.js'
import { type JsonText, objectText, textOf } from '../../kernel/json/text.js'
import { LISTS, type ListName } from '../../model/listing.js'
import type { Item } from '../listed.js'
import { cursorKey, decodeCursor, encodeCursor, type Position } from './cursor.js'

type PagedItem = Pick<Item, 'own' | 'text'>

/** A part of a `Paged` list; no two parts have the same alias. */
export interface PagedPart {
  readonly index: number
  readonly alias: string
  readonly items: readonly PagedItem[]
}

/** A list that clients read page by page. */
export interface Paged {
  readonly parts: readonly PagedPart[]
  /** Cached pages, by the index of their first item. */
  readonly pages: Map<number, JsonText>
}

/** A list as clients receive it. */
export interface ShownList {
  /** Equal for lists with equal content. */
  readonly version: string
  readonly paged: Paged
}

/**
 * Cuts one page of a merged list and returns it as the list result. The cursor names the item before the
 * page, so that paging survives restarts of the proxy and changes of servers. Throws a Fault `invalid-params`
 * for an invalid cursor (server/utilities/pagination, "Error Handling").
 */
export const cutPage = (
  list: ListName,
  merged: Paged,
  cursor: string | undefined,
  pageSize: number,
): JsonText => {
  const place = cursor === undefined ? { part: 0, item: 0 } : placeAfter(merged, decode(cursor, list))
  const first = numberOf(merged, place)
  const kept = merged.pages.get(first)
  if (kept !== undefined) return kept
  const shown: PagedItem[] = []
  let last: Entry | undefined
  let start = place.item
  for (const part of merged.parts.slice(place.part)) {
    const items = part.items.slice(start, start + pageSize - shown.length)
    const item = items.at(-1)
    if (item !== undefined) last = { part, index: start + items.length - 1, item }
    shown.push(...items)
    start = 0
  }
  const hasMore = first + shown.length < numberOf(merged, { part: merged.parts.length, item: 0 })
  const result = objectText([
    [LISTS[list].member, shown.map(({ text }) => text)],
    ...(hasMore && last !== undefined ? [['nextCursor', textOf(cursorAfter(list, last))] as const] : []),
  ])
  // Only pages of a read from the start are cached, since a cursor can name any item.
  if (first % pageSize === 0) merged.pages.set(first, result)
  return result
}

interface Entry {
  readonly part: PagedPart
  readonly index: number
  readonly item: PagedItem
}

const cursorAfter = (list: ListName, { part, index, item }: Entry): string =>
  encodeCursor({ list, alias: part.alias, aliasIndex: part.index, key: item.own, index })

interface Place {
  readonly part: number
  readonly item: number
}

/** Returns the number of items in the whole list before a place. */
const numberOf = ({ parts }: Paged, { part, item }: Place): number =>
  parts.slice(0, part).reduce((sum, { items }) => sum + items.length, item)

const decode = (cursor: string, list: ListName): Position => {
  const position = decodeCursor(cursor, list)
  if (position === undefined) throw new Fault('invalid-params', 'Invalid cursor')
  return position
}

/**
 * Returns the start of the page after `position`. If that item is gone, its former place or the next server.
 */
const placeAfter = (merged: Paged, position: Position): Place => {
  const part = merged.parts.findIndex(({ alias }) => alias === position.alias)
  if (part === -1) {
    const next = merged.parts.findIndex(({ index }) => index >= position.aliasIndex)
    return { part: next === -1 ? merged.parts.length : next, item: 0 }
  }
  const items = merged.parts[part]?.items ?? []
  if (isAt(items[position.index], position)) return { part, item: position.index + 1 }
  const found = items.findIndex(item => isAt(item, position))
  return { part, item: found === -1 ? Math.min(position.index, items.length) : found + 1 }
}

const isAt = (item: PagedItem | undefined, position: Position): boolean =>
  item !== undefined && cursorKey(item.own) === position.key

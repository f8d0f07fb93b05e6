import { Fault } from '../../kernel/faults.js'
import { arrayText, type JsonText, objectText, textOf } from '../../kernel/json/text.js'
import { LISTS, type ListName } from '../../model/listing.js'
import { cursorKey, decodeCursor, encodeCursor, type Position } from './cursor.js'
import type { Item } from './listed.js'
import type { Merged } from './merge.js'

/**
 * One page of a merged list as the result of its list request. The cursor names the item before the page, so pages stay
 * right when the proxy restarts or a server comes or goes in between. Throws a Fault `invalid-params` for a cursor that
 * is not ours (server/utilities/pagination, "Error Handling").
 */
export const cutPage = (
  list: ListName,
  merged: Merged,
  cursor: string | undefined,
  pageSize: number,
): JsonText => {
  const place = cursor === undefined ? { part: 0, item: 0 } : placeAfter(merged, decode(cursor, list))
  const first = numberOf(merged, place)
  const kept = merged.pages.get(first)
  if (kept !== undefined) return kept
  const items: Item[] = []
  let last: Position | undefined
  let hasMore = false
  for (let part = place.part; part < merged.parts.length && !hasMore; part += 1) {
    const of = merged.parts[part]
    if (of === undefined) break
    for (let index = part === place.part ? place.item : 0; index < of.items.length; index += 1) {
      const item = of.items[index]
      if (item === undefined) break
      if (items.length === pageSize) {
        hasMore = true
        break
      }
      items.push(item)
      last = { list, alias: of.alias, aliasIndex: of.index, key: item.own, index }
    }
  }
  const page = objectText([
    [LISTS[list].member, arrayText(items.map(item => item.text))],
    ...(hasMore && last !== undefined ? [['nextCursor', textOf(encodeCursor(last))] as const] : []),
  ])
  // Whoever reads from the beginning comes by these alone, and together they are as long as the list. A cursor can name any item.
  if (first % pageSize === 0) merged.pages.set(first, page)
  return page
}

interface Place {
  readonly part: number
  readonly item: number
}

/** How many items of the whole list come before a place. */
const numberOf = ({ parts }: Merged, { part, item }: Place): number =>
  parts.slice(0, part).reduce((sum, { items }) => sum + items.length, item)

const decode = (cursor: string, list: ListName): Position => {
  const position = decodeCursor(cursor, list)
  if (position === undefined) throw new Fault('invalid-params', 'Invalid cursor')
  return position
}

/** Where the page after `position` starts now; the first place after it if its item or its server is gone. */
const placeAfter = (merged: Merged, position: Position): Place => {
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

const isAt = (item: Item | undefined, position: Position): boolean =>
  item !== undefined && cursorKey(item.own) === position.key

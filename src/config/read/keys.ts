import type { TreeItem } from '../file/tree.js'
import { itemAt } from '../file/tree.js'
import type { ReadContext } from './entry.js'
import { expandedWhole } from './variables.js'

const KEY_BYTES = 32
const KEY_FIX =
  'Write 32 random bytes in base64, such as `openssl rand -base64 32` prints; until then this key is not used.'

/** Returns the valid `keys` of an object, in base64; reports the others, without their values. */
export const readConfigKeys = (
  item: TreeItem,
  keys: readonly string[],
  context: ReadContext,
): readonly string[] => {
  const seen = new Set<string>()
  return keys.flatMap((_, index) => {
    const place = itemAt(item, ['keys', String(index)])
    const errors = context.report.errors
    const text = expandedWhole(String(place.node.value), place, context).trim()
    if (context.report.errors > errors) return []
    const bytes = Buffer.from(text, 'base64')
    const key = bytes.toString('base64')
    const isKey = bytes.length === KEY_BYTES && (text === key || text === key.replace(/=+$/, ''))
    if (!isKey) context.report.error(place, { message: 'this is not a key of 32 bytes', fix: KEY_FIX })
    else if (seen.has(key))
      context.report.warning(place, { message: 'this key is repeated', fix: 'Keep one of them.' })
    else {
      seen.add(key)
      return [key]
    }
    return []
  })
}

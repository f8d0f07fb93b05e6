import { type Item, itemAt } from '../file/tree.js'
import type { SettingsValues } from '../schema/validate.js'
import type { Around } from './entry.js'
import { expandedWhole } from './expand-variables.js'

const KEY_BYTES = 32
const MEND =
  'Write 32 random bytes in base64, such as `openssl rand -base64 32` prints; until then this key is not used.'

/** The keys of `requestState` that are keys, each 32 bytes in base64; what is none is reported, without its value. */
export const readStateKeys = (
  item: Item | undefined,
  values: SettingsValues['requestState'],
  around: Around,
): readonly string[] => {
  const keys = values?.keys ?? []
  if (item === undefined) return []
  const seen = new Set<string>()
  return keys.flatMap((_, index) => {
    const place = itemAt(item, ['keys', String(index)])
    const errors = around.report.errors
    const text = expandedWhole(String(place.node.value), place, around).trim()
    if (around.report.errors > errors) return []
    const bytes = Buffer.from(text, 'base64')
    const key = bytes.toString('base64')
    const isKey = bytes.length === KEY_BYTES && (text === key || text === key.replace(/=+$/, ''))
    if (!isKey) around.report.error(place, { message: 'this is not a key of 32 bytes', mend: MEND })
    else if (seen.has(key))
      around.report.warning(place, { message: 'this key stands here twice', mend: 'Keep one of them.' })
    else {
      seen.add(key)
      return [key]
    }
    return []
  })
}

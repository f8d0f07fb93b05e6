import type { JsonCursor } from './cursor.js'
import { isEmpty, type JsonText, memberOf, withMember, withoutMember, withoutMembers } from './text.js'

/** The start of a `\u` escape of an ASCII letter or `_`; rare in keys, but legal. */
const ESCAPED_LETTER = /\\u00[4-7]/

/** In longer texts a walk is faster, because the ends of long values are cached. */
const SEARCHED_BYTES = 64 * 1024

/**
 * Returns whether one of these words, of letters and `_`, may occur in a text; false is certain. A native
 * search that avoids a walk. Pass `"key"` with its quotes to look for a key.
 */
export const mayContain = (text: JsonText, ...words: readonly string[]): boolean => {
  if (text.length > SEARCHED_BYTES) return true
  const latin1 = text.toString('latin1')
  return words.some(word => latin1.includes(word)) || ESCAPED_LETTER.test(latin1)
}

/** Returns the same reference to keep a value, undefined to remove its member. */
export type Edit = (value: JsonText) => JsonText | undefined

/** Edits one member of an object; returns the same reference if nothing changed. */
export const editMember = (object: JsonText, key: string, edit: Edit): JsonText => {
  const value = memberOf(object, key)
  if (value === undefined) return object
  const edited = edit(value)
  if (edited === value) return object
  return edited === undefined ? withoutMember(object, key) : withMember(object, key, edited)
}

/** Removes the matching members from member `key`, and `key` itself if it is then empty. */
export const withoutInner = (object: JsonText, key: string, test: (at: JsonCursor) => boolean): JsonText =>
  editMember(object, key, inner => {
    const kept = withoutMembers(inner, test)
    return kept !== inner && isEmpty(kept) ? undefined : kept
  })

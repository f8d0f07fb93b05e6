import type { JsonCursor } from './cursor.js'
import { isEmpty, type JsonText, memberOf, withMember, withoutMember, withoutMembers } from './text.js'

/** How `\u` escapes of ASCII letters and `_` begin; keys are hardly ever written so, but may be. */
const ESCAPED_LETTER = /\\u00[4-7]/

/** In longer texts a walk is faster, because the ends of their long values are remembered. */
const SEARCHED_BYTES = 64 * 1024

/**
 * Whether one of these words, of letters and `_`, may occur in a text; false is certain. A native search that
 * saves a walk. Pass `"key"` with its quotes to look for a key.
 */
export const mayContain = (text: JsonText, ...words: readonly string[]): boolean => {
  if (text.length > SEARCHED_BYTES) return true
  const latin1 = text.toString('latin1')
  return words.some(word => latin1.includes(word)) || ESCAPED_LETTER.test(latin1)
}

/** What an edit returns: the same reference to keep a value, undefined to remove its member. */
export type Edit = (value: JsonText) => JsonText | undefined

/** Edits one member of an object; returns the same reference if nothing changed. */
export const editMember = (object: JsonText, key: string, edit: Edit): JsonText => {
  const value = memberOf(object, key)
  if (value === undefined) return object
  const edited = edit(value)
  if (edited === value) return object
  return edited === undefined ? withoutMember(object, key) : withMember(object, key, edited)
}

/** Removes from member `key` the members that pass a test, and the member itself if nothing else is left. */
export const withoutInner = (object: JsonText, key: string, test: (at: JsonCursor) => boolean): JsonText =>
  editMember(object, key, inner => {
    const kept = withoutMembers(inner, test)
    return kept !== inner && isEmpty(kept) ? undefined : kept
  })

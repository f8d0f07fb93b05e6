import type { JsonCursor } from './cursor.js'
import { isEmpty, type JsonText, memberOf, withMember, withoutMember, withoutMembers } from './text.js'

/**
 * How `\u` escapes of letters and of `_` begin. Keys are hardly ever written like that, but a peer may.
 */
const ESCAPED = Buffer.from('\\u00')
const ESCAPED_LETTERS = ['4', '5', '6', '7'].map(digit => Buffer.concat([ESCAPED, Buffer.from(digit)]))

/**
 * In longer texts a search may take long; to walk over them does not, because of what is remembered of their
 * values.
 */
const SEARCHED_BYTES = 64 * 1024

/**
 * Whether one of these words, of letters and `_`, may stand in a text; false is certain. A native search, so
 * that a text without them need not be walked. Pass `"key"` with its quotes to look for a key.
 */
export const mayHold = (text: JsonText, ...words: readonly string[]): boolean =>
  text.length > SEARCHED_BYTES ||
  words.some(word => text.includes(word)) ||
  (text.includes(ESCAPED) && ESCAPED_LETTERS.some(start => text.includes(start)))

/** What an edit answers: the same reference to leave a value alone, undefined to remove its member. */
export type Edit = (value: JsonText) => JsonText | undefined

/** An object with one member edited, if it has it; the same reference if nothing changed. */
export const editMember = (object: JsonText, key: string, edit: Edit): JsonText => {
  const value = memberOf(object, key)
  if (value === undefined) return object
  const edited = edit(value)
  if (edited === value) return object
  return edited === undefined ? withoutMember(object, key) : withMember(object, key, edited)
}

/** An object whose member `key` lost the members that pass a test; if it held nothing else, it goes too. */
export const withoutInner = (object: JsonText, key: string, test: (at: JsonCursor) => boolean): JsonText =>
  editMember(object, key, inner => {
    const kept = withoutMembers(inner, test)
    return kept !== inner && isEmpty(kept) ? undefined : kept
  })

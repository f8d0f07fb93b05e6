import { type JsonText, memberOf, membersOf, withMember, withoutMember } from './json-text.js'

/**
 * How `\u` escapes of letters and of `_` begin. Keys are hardly ever written like that, but a peer may.
 */
const ESCAPED = Buffer.from('\\u00')
const ESCAPED_LETTERS = ['4', '5', '6', '7'].map(digit => Buffer.concat([ESCAPED, Buffer.from(digit)]))

/**
 * Whether one of these words, of letters and `_`, may stand in a text; false is certain. A native search, so
 * that a large text without them need not be walked. Pass `"key"` with its quotes to look for a key.
 */
export const mayHold = (text: JsonText, ...words: readonly string[]): boolean =>
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

/** An object with the values of any of its members replaced; the same reference if nothing changed. */
export const editValues = (object: JsonText, edit: (key: string, value: JsonText) => JsonText): JsonText => {
  const changed = membersOf(object).flatMap(({ key, value }) => {
    const put = edit(key, value)
    return put === value ? [] : [{ value, put }]
  })
  // One copy for all changes: one `withMember` each would be quadratic, and a schema may have many properties.
  return changed.length === 0 ? object : spliced(object, changed)
}

/** Values are slices of the object's own memory, in order: their place is where they are. */
const spliced = (object: JsonText, changed: readonly { value: JsonText; put: JsonText }[]): JsonText => {
  const parts: Buffer[] = []
  let from = 0
  for (const { value, put } of changed) {
    const start = value.byteOffset - object.byteOffset
    parts.push(object.subarray(from, start), put)
    from = start + value.length
  }
  parts.push(object.subarray(from))
  return Buffer.concat(parts) as JsonText
}

/** An object without the members whose keys pass a test; the same reference if none does. */
export const withoutKeys = (object: JsonText, test: (key: string, value: JsonText) => boolean): JsonText => {
  const keys = membersOf(object).flatMap(({ key, value }) => (test(key, value) ? [key] : []))
  return keys.length === 0 ? object : withoutMember(object, ...keys)
}

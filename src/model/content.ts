import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  textOf,
  withMember,
} from '../kernel/json-text.js'

/** Longer texts are cut when something that is not text has to be shown as text. */
const SHOWN_BYTES = 64 * 1024
const ELLIPSIS = '…'

/** A content block that every revision knows. */
export const textBlock = (text: string): JsonText => textOf({ type: 'text', text })

/** The JSON of a value as readable text, cut at 64 KiB between two characters. */
export const shownJson = (value: JsonText): string => {
  if (value.length <= SHOWN_BYTES) return value.toString('utf8')
  let end = SHOWN_BYTES - Buffer.byteLength(ELLIPSIS)
  while (((value[end] ?? 0) & 0xc0) === 0x80) end--
  return value.toString('utf8', 0, end) + ELLIPSIS
}

/**
 * A tool result whose `structuredContent` is also readable as text: `content` becomes a list if it is none, and
 * if that is empty it gets the structure's own JSON (tools, "Structured Content": a SHOULD since 2025-06-18).
 */
export const withReadableContent = (result: JsonText): JsonText => {
  const structure = memberOf(result, 'structuredContent')
  const content = memberOf(result, 'content')
  const isList = content !== undefined && kindOf(content) === 'array'
  if (isList && (structure === undefined || elementsOf(content).length > 0)) return result
  const blocks = structure === undefined ? [] : [textBlock(structure.toString('utf8'))]
  return withMember(result, 'content', arrayText(blocks))
}

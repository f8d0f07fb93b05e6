import { JsonCursor, trust } from '../kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../kernel/json/scan.js'
import {
  arrayText,
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  textOf,
  withMember,
} from '../kernel/json/text.js'

/** Longer texts are cut when something that is not text has to be shown as text. */
const SHOWN_BYTES = 64 * 1024
const ELLIPSIS = '…'

/**
 * Such texts as most programs write them. A result is JSON already, so nothing but an escape can begin with a
 * backslash.
 */
const TEXT = String.raw`\{"type":"text","text":"[^"\\]*(?:\\.[^"\\]*)*"\}`
const USUAL = new RegExp(String.raw`^\{"content":\[${TEXT}(?:,${TEXT})*\](?:,"isError":(?:false|true))?\}$`)
/** Longer ones are walked over. */
const USUAL_BYTES = 1024

/**
 * Whether the result of a tool is nothing but texts, as most are: no revision reads another thing in it, no
 * URI stands in it, and there is nothing to repair, to rename or to adapt. One short walk in place of several
 * that look for all that could be.
 */
export const isPlain = (result: JsonText): boolean =>
  (result.length <= USUAL_BYTES && USUAL.test(result.toString('latin1'))) || holdsOnlyTexts(result)

const holdsOnlyTexts = (result: JsonText): boolean => {
  const at = new JsonCursor(result, OPEN_OBJECT)
  let hasContent = false
  while (at.next()) {
    if (at.keyIs('content')) {
      if (hasContent || !holdsTexts(result, at.valueStart)) return false
      hasContent = true
    } else if (!at.keyIs('isError') || !(at.valueIs('false') || at.valueIs('true'))) return false
  }
  return hasContent
}

/** Whether an array of text blocks, without anything but their texts, begins at `from`. */
const holdsTexts = (result: JsonText, from: number): boolean => {
  if (result[from] !== OPEN_ARRAY) return false
  const at = new JsonCursor(result, OPEN_ARRAY, from)
  while (at.next()) if (!isText(result, at.valueStart)) return false
  return true
}

const isText = (result: JsonText, from: number): boolean => {
  const at = new JsonCursor(result, OPEN_OBJECT, from)
  let hasType = false
  let hasText = false
  while (at.next()) {
    if (!hasType && at.keyIs('type') && at.valueIs('"text"')) hasType = true
    else if (!hasText && at.keyIs('text') && result[at.valueStart] === QUOTE) hasText = true
    else return false
  }
  return hasType && hasText
}

/** A content block that every revision knows. */
export const textBlock = (text: string): JsonText => textOf({ type: 'text', text })

/** The same of the JSON of a value, whose bytes need not be made characters for that. */
const blockOf = (value: JsonText): JsonText => {
  const text = JSON.stringify(value.toString('latin1'))
  return trust(Buffer.from(`{"type":"text","text":${text}}`, 'latin1'))
}

/** The JSON of a value as readable text, cut at 64 KiB between two characters. */
export const shownJson = (value: JsonText): string => {
  if (value.length <= SHOWN_BYTES) return value.toString('utf8')
  let end = SHOWN_BYTES - Buffer.byteLength(ELLIPSIS)
  while (((value[end] ?? 0) & 0xc0) === 0x80) end--
  return value.toString('utf8', 0, end) + ELLIPSIS
}

/**
 * A tool result whose `structuredContent` is also readable as text: `content` becomes a list if it is none,
 * and if that is empty it gets the structure's own JSON (tools, "Structured Content": a SHOULD since
 * 2025-06-18).
 */
export const withReadableContent = (result: JsonText): JsonText => {
  const structure = memberOf(result, 'structuredContent')
  const content = memberOf(result, 'content')
  const isList = content !== undefined && kindOf(content) === 'array'
  if (isList && (structure === undefined || !isEmpty(content))) return result
  const blocks = structure === undefined ? [] : [blockOf(structure)]
  return withMember(result, 'content', arrayText(blocks))
}

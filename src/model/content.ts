import { JsonCursor, trust } from '../kernel/json/cursor.js'
import { outlineOf } from '../kernel/json/outline.js'
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

/** Longer JSON is cut when it is shown as text. */
const SHOWN_BYTES = 64 * 1024
const ELLIPSIS = '…'

/** Text blocks as most programs write them; in valid JSON a backslash always begins an escape. */
const TEXT = String.raw`\{"type":"text","text":"[^"\\]*(?:\\.[^"\\]*)*"\}`
/** The members of a result that is nothing but texts, as most programs write them. */
export const TEXTS = String.raw`"content":\[${TEXT}(?:,${TEXT})*\](?:,"isError":(?:false|true))?`
const USUAL = new RegExp(String.raw`^\{${TEXTS}\}$`)

/**
 * Whether a tool result is nothing but texts, as most are: nothing in it differs between revisions, holds a
 * URI or needs repair; and if so, whether it says that the tool failed. One short walk in place of several.
 */
export const plainKind = (result: JsonText): 'ok' | 'error' | undefined => {
  const text = outlineOf(result)
  if (text === undefined || !USUAL.test(text)) return textsKind(result)
  return text.endsWith('"isError":true}') ? 'error' : 'ok'
}

const textsKind = (result: JsonText): 'ok' | 'error' | undefined => {
  const at = new JsonCursor(result, OPEN_OBJECT)
  let hasContent = false
  let isError = false
  while (at.next()) {
    if (at.keyIs('content')) {
      if (hasContent || !holdsTexts(result, at.valueStart)) return undefined
      hasContent = true
    } else {
      if (!at.keyIs('isError')) return undefined
      isError = at.valueIs('true')
      if (!isError && !at.valueIs('false')) return undefined
    }
  }
  if (!hasContent) return undefined
  return isError ? 'error' : 'ok'
}

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

export const textBlock = (text: string): JsonText => textOf({ type: 'text', text })

/** The JSON of a value as a text block, without decoding its bytes. */
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
 * Makes `content` a list, and fills an empty one with the JSON of `structuredContent` (tools, "Structured
 * Content": a SHOULD since 2025-06-18).
 */
export const withReadableContent = (result: JsonText): JsonText => {
  const structure = memberOf(result, 'structuredContent')
  const content = memberOf(result, 'content')
  const isList = content !== undefined && kindOf(content) === 'array'
  if (isList && (structure === undefined || !isEmpty(content))) return result
  const blocks = structure === undefined ? [] : [blockOf(structure)]
  return withMember(result, 'content', arrayText(blocks))
}

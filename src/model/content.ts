import { JsonCursor, trust } from '../kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../kernel/json/scan.js'
import {
  arrayText,
  isEmpty,
  isJson,
  type JsonText,
  kindOf,
  memberOf,
  textOf,
  withMember,
} from '../kernel/json/text.js'

/** Up to this size, a regular expression is faster than a walk. */
const SHORT_BYTES = 1024
/** Longer JSON is truncated when shown as text. */
const SHOWN_BYTES = 64 * 1024
const ELLIPSIS = '…'

/** Matches text blocks in the usual spelling; in valid JSON a backslash always starts an escape. */
const TEXT = String.raw`\{"type":"text","text":"[^"\\]*(?:\\.[^"\\]*)*"\}`
const CONTENT = String.raw`"content":\[${TEXT}(?:,${TEXT})*\]`
const FAILURE = '(?:,"isError":(?:false|true))?'
/** Matches the members of a result that consists of texts only, in the usual spelling. */
export const TEXTS = CONTENT + FAILURE
/** Matches the same, or with structured output: an object, and any text between its ends. */
const USUAL = new RegExp(String.raw`^\{${CONTENT}(?:,"structuredContent":(\{.*\}))?${FAILURE}\}$`, 's')

/** Properties of a plain tool result, which no later step has to inspect. */
interface Plain {
  /** True if the tool reports a failure. */
  readonly isError: boolean
  /** True if it has structured output, which revisions before 2025-06-18 lack. */
  readonly isStructured: boolean
}

/**
 * Recognizes tool results that consist of texts only, and optionally structured output, as most do: they are
 * the same in all revisions, contain no URI and need no repair. One short walk instead of several.
 */
export const plainOf = (result: JsonText): Plain | undefined => {
  if (result.length > SHORT_BYTES) return walked(result)
  const text = result.toString('latin1')
  const found = USUAL.exec(text)
  if (found === null) return walked(result)
  const [, structure] = found
  if (structure !== undefined && !isJson(structure)) return undefined
  return { isError: text.endsWith('"isError":true}'), isStructured: structure !== undefined }
}

interface Seen {
  /** The number of texts, once `content` was seen. */
  texts: number | undefined
  isError: boolean
  isStructured: boolean
}

const walked = (result: JsonText): Plain | undefined => {
  const seen: Seen = { texts: undefined, isError: false, isStructured: false }
  const at = new JsonCursor(result, OPEN_OBJECT)
  while (at.next()) if (!take(at, result, seen)) return undefined
  const { texts, isError, isStructured } = seen
  // Structured output without a text is also rendered as text.
  return texts === undefined || (texts === 0 && isStructured) ? undefined : { isError, isStructured }
}

/** Inspects a member of a result; false if the result is not plain. */
const take = (at: JsonCursor, result: JsonText, seen: Seen): boolean => {
  if (at.keyIs('content')) {
    if (seen.texts !== undefined) return false
    seen.texts = textsAt(result, at.valueStart)
    return seen.texts !== undefined
  }
  if (at.keyIs('isError')) {
    seen.isError = at.valueIs('true')
    return seen.isError || at.valueIs('false')
  }
  if (seen.isStructured || !at.keyIs('structuredContent')) return false
  seen.isStructured = true
  return at.kind === 'object'
}

/** Counts the texts in an array; undefined if it contains anything else or is not an array. */
const textsAt = (result: JsonText, from: number): number | undefined => {
  if (result[from] !== OPEN_ARRAY) return undefined
  const at = new JsonCursor(result, OPEN_ARRAY, from)
  let texts = 0
  while (at.next()) {
    if (!isText(result, at.valueStart)) return undefined
    texts += 1
  }
  return texts
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

/** Wraps the JSON of a value in a text block, without decoding its bytes. */
const blockOf = (value: JsonText): JsonText => {
  const text = JSON.stringify(value.toString('latin1'))
  return trust(Buffer.from(`{"type":"text","text":${text}}`, 'latin1'))
}

/** Renders the JSON of a value as text, truncated at 64 KiB between two characters. */
export const shownJson = (value: JsonText): string => {
  if (value.length <= SHOWN_BYTES) return value.toString('utf8')
  let end = SHOWN_BYTES - Buffer.byteLength(ELLIPSIS)
  while (((value[end] ?? 0) & 0xc0) === 0x80) end--
  return value.toString('utf8', 0, end) + ELLIPSIS
}

/**
 * Makes `content` an array, and fills an empty one with the JSON of `structuredContent` (tools, "Structured
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

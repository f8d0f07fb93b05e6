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

/** Up to this size a regular expression is faster than a walk. */
const SHORT_BYTES = 1024
/** Longer JSON is cut when it is shown as text. */
const SHOWN_BYTES = 64 * 1024
const ELLIPSIS = '…'

/** Text blocks as most programs write them; in valid JSON a backslash always begins an escape. */
const TEXT = String.raw`\{"type":"text","text":"[^"\\]*(?:\\.[^"\\]*)*"\}`
const CONTENT = String.raw`"content":\[${TEXT}(?:,${TEXT})*\]`
const FAILURE = '(?:,"isError":(?:false|true))?'
/** The members of a result that is nothing but texts, as most programs write them. */
export const TEXTS = CONTENT + FAILURE
/** The same, or with structured output: an object, and whatever may stand between its ends. */
const USUAL = new RegExp(String.raw`^\{${CONTENT}(?:,"structuredContent":(\{.*\}))?${FAILURE}\}$`, 's')

/** What is known of a tool result that no step needs to look at again. */
interface Plain {
  /** Whether the tool says that it failed. */
  readonly isError: boolean
  /** Whether it has structured output, which revisions before 2025-06-18 lack. */
  readonly isStructured: boolean
}

/**
 * Looks whether a tool result is nothing but texts, and perhaps structured output, as most are: nothing else
 * in it differs between revisions, holds a URI or needs repair. One short walk in place of several.
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
  /** How many there are, once the content has been seen. */
  texts: number | undefined
  isError: boolean
  isStructured: boolean
}

const walked = (result: JsonText): Plain | undefined => {
  const seen: Seen = { texts: undefined, isError: false, isStructured: false }
  const at = new JsonCursor(result, OPEN_OBJECT)
  while (at.next()) if (!take(at, result, seen)) return undefined
  const { texts, isError, isStructured } = seen
  // Structured output without a text is put into words.
  return texts === undefined || (texts === 0 && isStructured) ? undefined : { isError, isStructured }
}

/** Takes a member of a result; false if somebody has to look at it. */
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

/** How many texts a list holds; undefined if it holds anything else, or is none. */
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

import { BACKSLASH, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './json-scan.js'
import { LONG_BYTES, rememberedEnd, rememberString } from './long-strings.js'

declare const brand: unique symbol

/**
 * Text of one complete JSON value: validated, without surrounding white space. A slice of the message that it
 * came in, which stays in memory as long as the slice does.
 */
export type JsonText = Buffer & { readonly [brand]: 'JsonText' }

/** Declares bytes to be JSON text; only for what was validated, or built from validated parts. */
export const trust = (bytes: Buffer): JsonText => bytes as JsonText

/** The slice of a text between two offsets that enclose a value. */
export const cut = (text: JsonText, start: number, end: number): JsonText => trust(text.subarray(start, end))

/**
 * Walks over the members of an object or the elements of an array without decoding them. Trusts the text; over
 * bytes that are no JSON it finds nonsense, but ends, and stays inside; decoding such a key is a SyntaxError.
 */
export class JsonCursor {
  readonly #text: JsonText
  readonly #open: number
  #isFirst = true
  /** The comma before the current item; meaningless for the first. */
  comma = 0
  /** The first byte of the current item: of its key in an object, of its value in an array. */
  start = 0
  /** Behind the closing quote of the current key. */
  keyEnd = 0
  /** The first byte of the current value. */
  valueStart = 0
  /** Behind the last byte of the current value. */
  end = 0
  /** What follows the current item and white space: a comma or the closing bracket. */
  stop = 0

  /** Finds items only if the text has the bracket `open` at `from`, where a value begins. */
  constructor(text: JsonText, open: typeof OPEN_OBJECT | typeof OPEN_ARRAY, from = 0) {
    this.#text = text
    this.#open = open
    this.stop = text[from] === open ? from : text.length
  }

  /** Steps to the next item, if there is one. */
  next(): boolean {
    const text = this.#text
    const before = this.stop
    const open = this.#open
    if (!this.#isFirst && text[before] !== COMMA) return false
    const start = skipSpace(text, before + 1)
    // Nothing follows a bracket that opens but the one that closes, two later in ASCII: an empty container.
    if (this.#isFirst && text[start] === open + 2) return false
    if (start >= text.length) return false
    this.#isFirst = false
    this.comma = before
    this.start = start
    if (open === OPEN_OBJECT) {
      this.keyEnd = skipString(text, start)
      this.valueStart = skipSpace(text, skipSpace(text, this.keyEnd) + 1)
    } else {
      this.keyEnd = start
      this.valueStart = start
    }
    this.end = skipValue(text, this.valueStart)
    this.stop = skipSpace(text, this.end)
    return true
  }

  /** The current value. */
  get value(): JsonText {
    return cut(this.#text, this.valueStart, this.end)
  }

  /** Whether the current value is written like this, in ASCII; another spelling of the same value is not. */
  valueIs(text: string): boolean {
    return isWritten(this.#text, this.valueStart, this.end, text)
  }

  /** The current key, decoded. */
  get key(): string {
    return keyAt(this.#text, this.start, this.keyEnd)
  }

  /** Whether the decoded key is this one; decodes only when the bytes leave it open. */
  keyIs(key: string): boolean {
    return keyIs(this.#text, this.start, this.keyEnd, key)
  }
}

/** Whether bytes from `start` to `end` are this text, in ASCII. */
export function isWritten(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

/** The decoded key that stands between its quotes from `start` to `end`. */
function keyAt(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    if (bytes[i] === BACKSLASH) return decodeString(bytes.subarray(start, end))
  }
  return bytes.toString('utf8', start + 1, end - 1)
}

/** Whether that key is this one; decodes only when the bytes leave it open. */
export function keyIs(bytes: Buffer, start: number, end: number, key: string): boolean {
  const first = start + 1
  const length = end - 1 - first
  for (let i = 0; i < length; i++) {
    const byte = bytes[first + i] ?? 0
    // Up to here both are the same plain ASCII; from here on bytes and UTF-16 units are different things.
    if (byte === BACKSLASH || byte >= 0x80) return keyAt(bytes, start, end) === key
    if (byte !== key.charCodeAt(i)) return false
  }
  return length === key.length
}

/** The meaning of a JSON string with escapes in it. */
export const decodeString = (text: Buffer): string => String(JSON.parse(text.toString()))

/** Strings up to this length are looked through byte by byte. */
const SHORT_BYTES = 32

/** Behind the closing quote of the string that starts at `i`. */
function skipString(text: Buffer, i: number): number {
  // Most keys and names end soon: a loop of ours finds that before a native search has begun.
  const start = i
  for (const end = Math.min(i + SHORT_BYTES, text.length); ++i < end; ) {
    const byte = text[i]
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) break
  }
  if (text.length - start < LONG_BYTES) return searchString(text, start)
  const known = rememberedEnd(text, start)
  if (known !== undefined) return known
  const end = searchString(text, start)
  if (end - start >= LONG_BYTES) rememberString(text, start, end)
  return end
}

/** The same by a native search: a hundred times faster for long strings. */
function searchString(text: Buffer, i: number): number {
  for (;;) {
    const quote = text.indexOf(QUOTE, i + 1)
    if (quote < 0) return text.length
    if (text[quote - 1] !== BACKSLASH) return quote + 1
    let run = quote - 1
    while (text[run - 1] === BACKSLASH) run--
    if ((quote - run) % 2 === 0) return quote + 1
    i = quote
  }
}

/** Behind the last byte of the value that starts at `i`. */
function skipValue(text: Buffer, i: number): number {
  const first = text[i]
  if (first === QUOTE) return skipString(text, i)
  return first === OPEN_OBJECT || first === OPEN_ARRAY ? skipContainer(text, i) : skipScalar(text, i)
}

function skipContainer(text: Buffer, i: number): number {
  let depth = 0
  while (i < text.length) {
    const byte = text[i] ?? 0
    if (byte === QUOTE) {
      i = skipString(text, i)
      continue
    }
    i++
    // Bit 5 is the difference between [ and {, and between ] and }.
    const bracket = byte | 0x20
    if (bracket === OPEN_OBJECT) depth++
    else if (bracket === OPEN_OBJECT + 2 && --depth === 0) break
  }
  return i
}

/** Numbers, true, false and null end where anything else begins. */
function skipScalar(text: Buffer, i: number): number {
  while (i < text.length) {
    const byte = text[i] ?? 0
    if (byte === COMMA || byte <= 0x20 || (byte | 0x20) === OPEN_OBJECT + 2) break
    i++
  }
  return i
}

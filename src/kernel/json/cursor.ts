import { BACKSLASH, COMMA, findSpecial, LETTER_U, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from './scan.js'

declare const brand: unique symbol

/**
 * The text of one complete JSON value: validated, without surrounding white space. A slice of its message,
 * which stays in memory as long as the slice does.
 */
export type JsonText = Buffer & { readonly [brand]: 'JsonText' }

/** Marks bytes as JSON text; only for validated bytes, or bytes built from validated parts. */
export const trust = (bytes: Buffer): JsonText => bytes as JsonText

export const cut = (text: JsonText, start: number, end: number): JsonText => trust(text.subarray(start, end))

/**
 * Iterates over members or elements without decoding them. Trusts the text: for invalid JSON the items are
 * meaningless, but iteration ends and stays inside the text. Decoding such a key throws a SyntaxError.
 */
export class JsonCursor {
  readonly #text: JsonText
  readonly #open: number
  #isFirst = true
  /** The comma before the current item; meaningless for the first. */
  comma = 0
  /** The first byte of the current item: of the key in an object, of the value in an array. */
  start = 0
  keyEnd = 0
  valueStart = 0
  end = 0
  /** The comma or closing bracket after the current item. */
  stop = 0

  /** Finds items only if a value with the opening bracket `open` starts at `from`. */
  constructor(text: JsonText, open: typeof OPEN_OBJECT | typeof OPEN_ARRAY, from = 0) {
    this.#text = text
    this.#open = open
    this.stop = text[from] === open ? from : text.length
  }

  next(): boolean {
    const text = this.#text
    const before = this.stop
    const open = this.#open
    if (!this.#isFirst && text[before] !== COMMA) return false
    const start = skipGap(text, before + 1)
    // An empty container: closing brackets are two after their opening ones in ASCII.
    if (this.#isFirst && text[start] === open + 2) return false
    if (start >= text.length) return false
    this.#isFirst = false
    this.comma = before
    this.start = start
    if (open === OPEN_OBJECT) {
      this.keyEnd = skipString(text, start)
      this.valueStart = skipGap(text, skipGap(text, this.keyEnd) + 1)
    } else {
      this.keyEnd = start
      this.valueStart = start
    }
    this.end = skipValue(text, this.valueStart)
    this.stop = skipGap(text, this.end)
    return true
  }

  get value(): JsonText {
    return cut(this.#text, this.valueStart, this.end)
  }

  get kind(): JsonKind {
    return kindAt(this.#text, this.valueStart)
  }

  /** Returns whether the current value is spelled exactly like this ASCII text. */
  valueIs(text: string): boolean {
    return isWritten(this.#text, this.valueStart, this.end, text)
  }

  get key(): string {
    return keyAt(this.#text, this.start, this.keyEnd)
  }

  keyIs(key: string): boolean {
    return keyIs(this.#text, this.start, this.keyEnd, key)
  }

  /** Returns whether the decoded key starts with this ASCII text. */
  keyStarts(text: string): boolean {
    return asciiEnd(this.#text, this.start + 1, this.keyEnd - 1, text) !== undefined
  }
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'

export function kindAt(text: JsonText, i: number): JsonKind {
  switch (text[i] ?? 0) {
    case OPEN_OBJECT:
      return 'object'
    case OPEN_ARRAY:
      return 'array'
    case QUOTE:
      return 'string'
    case 0x74:
    case 0x66:
      return 'boolean'
    case 0x6e:
      return 'null'
    default:
      return 'number'
  }
}

export function isWritten(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[start + i] !== text.charCodeAt(i)) return false
  return true
}

function keyAt(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    if (bytes[i] === BACKSLASH) return decodeString(bytes.subarray(start, end))
  }
  return bytes.toString('utf8', start + 1, end - 1)
}

export function keyIs(bytes: Buffer, start: number, end: number, key: string): boolean {
  const first = start + 1
  const length = end - 1 - first
  for (let i = 0; i < length; i++) {
    const byte = bytes[first + i] ?? 0
    // From here on, bytes and UTF-16 units may differ.
    if (byte === BACKSLASH || byte >= 0x80) return isSpelt(bytes, start, end, key)
    if (byte !== key.charCodeAt(i)) return false
  }
  return length === key.length
}

/** Compares any spelling; allocates nothing for ASCII keys. */
const isSpelt = (bytes: Buffer, start: number, end: number, key: string): boolean =>
  ASCII.test(key) ? asciiEnd(bytes, start + 1, end - 1, key) === end - 1 : keyAt(bytes, start, end) === key

const ASCII = /^[\0-\x7f]*$/

/** Returns the end of an ASCII text at `i`, in any spelling; undefined if it differs or exceeds `end`. */
function asciiEnd(bytes: Buffer, i: number, end: number, ascii: string): number | undefined {
  for (let at = 0; at < ascii.length; at++) {
    const byte = bytes[i] ?? 0
    const unit = byte === BACKSLASH ? escapedUnit(bytes, i) : byte
    if (i >= end || unit !== ascii.charCodeAt(at)) return undefined
    i += byte !== BACKSLASH ? 1 : bytes[i + 1] === LETTER_U ? 6 : 2
  }
  return i
}

/** The short escapes (RFC 8259, section 7); all other letters represent themselves. */
const SHORT_ESCAPES: Readonly<Record<number, number>> = { 98: 8, 102: 12, 110: 10, 114: 13, 116: 9 }

function escapedUnit(bytes: Buffer, i: number): number {
  const letter = bytes[i + 1] ?? 0
  if (letter !== LETTER_U) return SHORT_ESCAPES[letter] ?? letter
  let unit = 0
  for (let digit = i + 2; digit < i + 6; digit++) {
    const byte = bytes[digit] ?? 0
    // Digits are 0x30 to 0x39; the low bits of a letter in either case are its value minus 9.
    unit = unit * 16 + (byte & 0xf) + (byte > 0x39 ? 9 : 0)
  }
  return unit
}

export const decodeString = (text: Buffer): string => String(JSON.parse(text.toString()))

const SPACE = 0x20
/** Up to this many bytes, a loop is faster than a native search. */
const SHORT_BYTES = 32

const skipGap = (text: Buffer, start: number): number =>
  (text[start] ?? 0) > SPACE ? start : skipSpace(text, start)

function skipString(text: Buffer, start: number): number {
  // Most keys and names are short: this loop finishes before a native search has started.
  for (let i = start, stop = Math.min(i + SHORT_BYTES, text.length); ++i < stop; ) {
    const byte = text[i]
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) break
  }
  return searchString(text, start)
}

/** Searches natively for a quote and, after an escaped one, for the next byte that may end the string. */
function searchString(text: Buffer, start: number): number {
  for (let i = start + 1; i < text.length; i += 2) {
    const quote = text.indexOf(QUOTE, i)
    if (quote < 0) break
    let run = quote
    while (run > i && text[run - 1] === BACKSLASH) run--
    if ((quote - run) % 2 === 0) return quote + 1
    i = findSpecial(text, quote + 1)
    if (text[i] === QUOTE) return i + 1
  }
  return text.length
}

function skipValue(text: Buffer, i: number): number {
  const first = text[i]
  if (first === QUOTE) return skipString(text, i)
  return first === OPEN_OBJECT || first === OPEN_ARRAY ? skipContainer(text, i) : skipScalar(text, i)
}

function skipContainer(text: Buffer, start: number): number {
  let depth = 0
  let i = start
  while (i < text.length) {
    const byte = text[i] ?? 0
    if (byte === QUOTE) {
      i = skipString(text, i)
      continue
    }
    i++
    // Bit 5 distinguishes [ from {, and ] from }.
    const bracket = byte | 0x20
    if (bracket === OPEN_OBJECT) depth++
    else if (bracket === OPEN_OBJECT + 2 && --depth === 0) break
  }
  return i
}

/** Skips a number, true, false or null. */
function skipScalar(text: Buffer, start: number): number {
  let i = start
  while (i < text.length) {
    const byte = text[i] ?? COMMA
    if (byte === COMMA || byte <= SPACE || (byte | 0x20) === OPEN_OBJECT + 2) break
    i++
  }
  return i
}

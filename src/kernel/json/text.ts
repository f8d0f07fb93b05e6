import { isUtf8 } from 'node:buffer'
import { cut, decodeString, JsonCursor, type JsonKind, type JsonText, kindAt, trust } from './cursor.js'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  invalidUtf8At,
  JsonBudget,
  type JsonLimits,
  JsonTextError,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  scanValue,
  skipSpace,
} from './scan.js'

// JSON is kept as the bytes in which it arrived. JSON.parse rounds 12345678901234567890, turns 1e400 into
// Infinity and 1.0 into 1, so a parsed value cannot be passed on unchanged. `readJson` validates a text once;
// everything else trusts it, slices it and splices new bytes into it.

export type { JsonKind, JsonText } from './cursor.js'
export { JsonBudget, JsonLimitError, JsonTextError } from './scan.js'
export * from './splice.js'

/** The maximum nesting, which keeps recursive parsers safe. */
const MAX_DEPTH = 512
const OWN: JsonLimits = { depth: MAX_DEPTH, members: Number.POSITIVE_INFINITY }

/**
 * Validates a message and returns its value, without byte order mark and surrounding white space. Throws
 * JsonTextError for anything but RFC 8259 in UTF-8, and beyond the limits. Numbers of any size and lone
 * surrogates in `\u` notation are legal.
 */
export function readJson(bytes: Buffer, limits = OWN): JsonText {
  const start = startOf(bytes)
  const end = scanValue(bytes, start, new JsonBudget(limits))
  checkEnd(bytes, end)
  return start === 0 && end === bytes.length ? trust(bytes) : cut(trust(bytes), start, end)
}

/** Returns the start of the value of a message. Throws JsonTextError for invalid UTF-8. */
export function startOf(bytes: Buffer): number {
  if (!isUtf8(bytes)) throw new JsonTextError('expected UTF-8', invalidUtf8At(bytes))
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return skipSpace(bytes, hasMark ? 3 : 0)
}

/** Throws JsonTextError if anything but white space follows the value that ends at `end`. */
export function checkEnd(bytes: Buffer, end: number): void {
  const rest = skipSpace(bytes, end)
  if (rest < bytes.length) throw new JsonTextError('expected nothing after the value', rest)
}

/** Writes one of our own values. Throws TypeError for values that JSON lacks, such as undefined. */
export function textOf(value: unknown): JsonText {
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined) throw new TypeError(`JSON cannot represent a value of type ${typeof value}`)
  return trust(Buffer.from(text))
}

/** Reports whether a text in UTF-8 or latin1 is one JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Converts a constant of ours to JSON text, without validation. */
export const rawText = (trusted: string): JsonText => trust(Buffer.from(trusted))

export const EMPTY = rawText('{}')
export const EMPTY_ARRAY = rawText('[]')

/** Copies a text, so that keeping it does not keep the whole message in memory. */
export function ownText(text: JsonText): JsonText {
  // Not from Node's pool: a long-lived slice would keep the rest of the pool.
  const own = Buffer.allocUnsafeSlow(text.length)
  own.set(text)
  return trust(own)
}

export const kindOf = (text: JsonText): JsonKind => kindAt(text, 0)

/** Parses a text, with the losses of JSON.parse; only for rules that need the value. */
export const valueOf = (text: JsonText): unknown => JSON.parse(text.toString())

/** Decodes a JSON string; undefined for any other kind of value. */
export function stringOf(text: JsonText | undefined): string | undefined {
  if (text?.[0] !== QUOTE) return undefined
  return text.includes(BACKSLASH) ? decodeString(text) : text.toString('utf8', 1, text.length - 1)
}

export interface Member {
  readonly key: string
  readonly value: JsonText
}

/**
 * Iterates over the members of an object in order, including repeated ones; empty for any other value. There
 * may be a million.
 */
export function* membersOf(object: JsonText): Generator<Member, void> {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) yield { key: at.key, value: at.value }
}

/** Iterates over the elements of an array; empty for any other value. */
export function* elementsOf(array: JsonText): Generator<JsonText, void> {
  const at = new JsonCursor(array, OPEN_ARRAY)
  while (at.next()) yield at.value
}

export function first<T>(max: number, items: Iterable<T>): T[] {
  const found: T[] = []
  for (const item of items) {
    if (found.length >= max) break
    found.push(item)
  }
  return found
}

export function some<T>(items: Iterable<T>, test: (item: T) => boolean): boolean {
  for (const item of items) if (test(item)) return true
  return false
}

export function isEmpty(value: JsonText): boolean {
  if (value[0] !== OPEN_OBJECT && value[0] !== OPEN_ARRAY) return true
  const last = value[skipSpace(value, 1)]
  return last === CLOSE_OBJECT || last === CLOSE_ARRAY
}

/** Returns the first member with this decoded key; undefined if it is missing or this is not an object. */
export function memberOf(object: JsonText, key: string): JsonText | undefined {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) if (at.keyIs(key)) return at.value
  return undefined
}

export const textMember = (object: JsonText, name: string): string | undefined =>
  stringOf(memberOf(object, name))

/** Returns a numeric member of an object, with the losses of JSON.parse; undefined if it is not a number. */
export function numberMember(object: JsonText, name: string): number | undefined {
  const value = memberOf(object, name)
  return value && numberAt(value, 0, value.length)
}

/** Returns the number from `start` to `end` in a text, likewise. */
export function numberAt(text: JsonText, start: number, end: number): number | undefined {
  const integer = smallInteger(text, start, end)
  if (integer !== undefined) return integer
  const value = cut(text, start, end)
  return kindOf(value) === 'number' ? Number(value.toString('latin1')) : undefined
}

/** Decodes an integer without sign and leading zero, the usual spelling; undefined for any other text. */
export function smallInteger(text: JsonText, start = 0, end = text.length): number | undefined {
  const length = end - start
  if (length === 0 || length > 15 || (text[start] === 0x30 && length > 1)) return undefined
  let value = 0
  for (let i = start; i < end; i++) {
    const digit = (text[i] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}

/** Returns the value at a path of keys; undefined where the path leaves the objects. */
export function at(text: JsonText, ...path: string[]): JsonText | undefined {
  let found: JsonText | undefined = text
  for (const key of path) found = found && memberOf(found, key)
  return found
}

/** Returns the first of `keys` that an object has twice; `"\u0069d"` is `id`. */
export function repeatedKey(object: JsonText, keys: ReadonlySet<string>): string | undefined {
  const seen: string[] = []
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) {
    for (const key of keys) {
      if (!at.keyIs(key)) continue
      if (seen.includes(key)) return key
      seen.push(key)
      break
    }
  }
  return undefined
}

/**
 * Replaces CR and LF, which only occur between tokens, by spaces; returns the same reference if there are
 * none.
 */
export function oneLine(text: JsonText): JsonText {
  if (!text.includes(0x0a) && !text.includes(0x0d)) return text
  const line = Buffer.allocUnsafe(text.length)
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] ?? 0
    line[i] = byte === 0x0a || byte === 0x0d ? 0x20 : byte
  }
  return trust(line)
}

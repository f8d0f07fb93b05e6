import { createFindSpecial, type FindSpecial } from './long-strings.js'

/** Invalid JSON. The message names the problem and its position, and never quotes the input. */
export class JsonTextError extends Error {
  /** The byte offset of the problem; the length of the text if it ends too early. */
  readonly at: number

  constructor(what: string, at: number) {
    super(`${what} at byte ${at}`)
    this.name = 'JsonTextError'
    this.at = at
  }
}

/** Bounds on nesting, and on the total of members and elements. */
export interface JsonLimits {
  readonly depth: number
  readonly members: number
}

export class JsonLimitError extends JsonTextError {
  readonly limit: keyof JsonLimits

  constructor(limit: keyof JsonLimits, what: string, at: number) {
    super(what, at)
    this.limit = limit
  }
}

/** The remaining budget, shared by all readers of one text. */
export class JsonBudget {
  readonly limits: JsonLimits
  membersLeft: number

  constructor(limits: JsonLimits) {
    this.limits = limits
    this.membersLeft = limits.members
  }
}

/** The structural bytes of JSON (RFC 8259 section 2). */
export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const OPEN_OBJECT = 0x7b
export const OPEN_ARRAY = 0x5b
export const COLON = 0x3a
export const CLOSE_OBJECT = 0x7d
export const CLOSE_ARRAY = 0x5d
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const LETTER_E = 0x65
export const LETTER_U = 0x75

/** Byte classes as bits, so that one lookup answers each question of the scanner. */
const PLAIN = 1
const SPACE = 2
const DIGIT = 4
const HEX = 8
const ESCAPE = 16

const CLASS = new Uint8Array(256)
const mark = (bytes: string, bit: number): void => {
  for (const byte of Buffer.from(bytes)) CLASS[byte] = (CLASS[byte] ?? 0) | bit
}
for (let byte = 0x20; byte < 256; byte++) if (byte !== QUOTE && byte !== BACKSLASH) CLASS[byte] = PLAIN
mark(' \t\r\n', SPACE)
mark('0123456789', DIGIT)
mark('0123456789abcdefABCDEF', HEX)
mark('"\\/bfnrt', ESCAPE)

/** Returns the class bits of a byte inside the text. */
const classOf = (bytes: Buffer, i: number): number => CLASS[bytes[i] ?? 0] ?? 0

/** Returns the class bits at `i`; 0 past the end, so that no loop leaves the text. */
const classAt = (bytes: Buffer, i: number): number => (i < bytes.length ? classOf(bytes, i) : 0)

export function refuseJson(bytes: Buffer, i: number, expected: string): never {
  if (i >= bytes.length) throw new JsonTextError('JSON text ends too early', bytes.length)
  throw new JsonTextError(`expected ${expected}`, i)
}

/** Returns the index of the first byte from `i` that is not white space (RFC 8259 section 2). */
export function skipSpace(bytes: Buffer, i: number): number {
  while ((classAt(bytes, i) & SPACE) !== 0) i++
  return i
}

/** Throws if a container that opens at `i` inside `depth` others is too deep. */
export function checkDepth(depth: number, { limits }: JsonBudget, i: number): void {
  if (depth >= limits.depth) {
    throw new JsonLimitError('depth', `nested deeper than ${limits.depth} levels`, i)
  }
}

export const refuseMember = ({ limits }: JsonBudget, i: number): never => {
  throw new JsonLimitError('members', `more than ${limits.members} members and elements`, i)
}

/**
 * Returns the end of the value that starts at `i`, inside `depth` containers. Checks the whole grammar but
 * not UTF-8. Throws JsonTextError for invalid JSON and when the budget is exhausted.
 */
// One loop with its state in locals, because it sees every byte of the input.
// eslint-disable-next-line complexity
export function scanValue(bytes: Buffer, i: number, budget: JsonBudget, depth = 0): number {
  // For each open container: whether it is inside an object.
  const opened: boolean[] = []
  const maxDepth = budget.limits.depth - depth
  let closer = 0 // of the innermost container; 0 outside
  let { membersLeft } = budget
  for (;;) {
    const first = bytes[i]
    if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
      if (opened.length >= maxDepth) checkDepth(depth + opened.length, budget, i)
      opened.push(closer === CLOSE_OBJECT)
      closer = first + 2 // closing brackets are two after their opening ones in ASCII
      i = skipSpace(bytes, i + 1)
      if (bytes[i] !== closer) {
        // eslint-disable-next-line max-depth
        if (membersLeft-- === 0) refuseMember(budget, i)
        i = toValue(bytes, i, closer)
        continue
      }
    } else {
      i = first === QUOTE ? scanString(bytes, i) : scanScalar(bytes, i)
    }
    while (closer !== 0) {
      i = skipSpace(bytes, i)
      if (bytes[i] !== closer) break
      const isInObject = opened.pop() === true
      i++
      closer = opened.length === 0 ? 0 : isInObject ? CLOSE_OBJECT : CLOSE_ARRAY
    }
    if (closer === 0) {
      budget.membersLeft = membersLeft
      return i
    }
    if (bytes[i] !== COMMA) refuseJson(bytes, i, closer === CLOSE_OBJECT ? 'a comma or }' : 'a comma or ]')
    i = skipSpace(bytes, i + 1)
    if (membersLeft-- === 0) refuseMember(budget, i)
    i = toValue(bytes, i, closer)
  }
}

/** Skips the key, in an object, and returns the index of the value. */
function toValue(bytes: Buffer, i: number, closer: number): number {
  if (closer !== CLOSE_OBJECT) return i
  if (bytes[i] !== QUOTE) refuseJson(bytes, i, 'a member name in quotes')
  i = skipSpace(bytes, scanString(bytes, i))
  if (bytes[i] !== COLON) refuseJson(bytes, i, 'a colon')
  return skipSpace(bytes, i + 1)
}

/** After this many plain bytes, the rest is searched natively if it is long enough. */
const SHORT_BYTES = 128

let findLong: FindSpecial | undefined

/** See `FindSpecial`; without WebAssembly it stops at every byte. */
export const findSpecial: FindSpecial = (bytes, i) => {
  findLong ??= createFindSpecial() ?? ((_, from) => from)
  return findLong(bytes, i)
}

/** Scans from the opening quote to after the closing one. */
export function scanString(bytes: Buffer, i: number): number {
  const most = bytes.length - 4
  let last = Math.min(most, i + SHORT_BYTES)
  i++
  for (;;) {
    // Four lookups per branch: nearly twice as fast, and no slower for short strings.
    while (i <= last && isPlainFour(bytes, i)) i += 4
    if (i > last && bytes.length - i > SHORT_BYTES) i = findSpecial(bytes, i)
    while ((classAt(bytes, i) & PLAIN) !== 0) i++
    if (bytes[i] === QUOTE) return i + 1
    if (bytes[i] !== BACKSLASH) refuseJson(bytes, i, 'no control character in a string')
    // Runs of such escapes are not worth a search each.
    if (i > last) last = Math.min(most, i + SHORT_BYTES)
    i = scanEscape(bytes, i)
  }
}

const isPlainFour = (bytes: Buffer, i: number): boolean =>
  (classOf(bytes, i) & classOf(bytes, i + 1) & classOf(bytes, i + 2) & classOf(bytes, i + 3) & PLAIN) !== 0

/** Skips an escape sequence; lone surrogates are legal (RFC 8259 section 8.2). */
function scanEscape(bytes: Buffer, i: number): number {
  if ((classAt(bytes, i + 1) & ESCAPE) !== 0) return i + 2
  if (bytes[i + 1] !== LETTER_U) refuseJson(bytes, i + 1, 'one of "\\/bfnrtu after a backslash')
  for (let digit = i + 2; digit < i + 6; digit++) {
    if ((classAt(bytes, digit) & HEX) === 0) refuseJson(bytes, digit, 'four hexadecimal digits')
  }
  return i + 6
}

function scanScalar(bytes: Buffer, i: number): number {
  switch (bytes[i] ?? 0) {
    case 0x74:
      return scanWord(bytes, i, 'true')
    case 0x66:
      return scanWord(bytes, i, 'false')
    case 0x6e:
      return scanWord(bytes, i, 'null')
    default:
      return scanNumber(bytes, i)
  }
}

function scanWord(bytes: Buffer, i: number, word: string): number {
  for (let j = 1; j < word.length; j++) {
    if (bytes[i + j] !== word.charCodeAt(j)) refuseJson(bytes, i + j, 'true, false or null')
  }
  return i + word.length
}

/** Scans a number (RFC 8259 section 6): no leading zeros, no bare point; any size and precision. */
function scanNumber(bytes: Buffer, i: number): number {
  if (bytes[i] === MINUS) i++
  else if ((classAt(bytes, i) & DIGIT) === 0) refuseJson(bytes, i, 'a value')
  i = bytes[i] === ZERO ? i + 1 : scanDigits(bytes, i)
  if (i >= bytes.length) return i
  if (bytes[i] === POINT) i = scanDigits(bytes, i + 1)
  if (((bytes[i] ?? 0) | 0x20) !== LETTER_E) return i
  i++
  return scanDigits(bytes, bytes[i] === PLUS || bytes[i] === MINUS ? i + 1 : i)
}

function scanDigits(bytes: Buffer, i: number): number {
  if ((classAt(bytes, i) & DIGIT) === 0) refuseJson(bytes, i, 'a digit')
  while ((classAt(bytes, i) & DIGIT) !== 0) i++
  return i
}

/**
 * Returns the index of the first invalid UTF-8 sequence (Unicode 15, table 3-7); the length if there is none.
 */
export function invalidUtf8At(bytes: Buffer): number {
  let i = 0
  while (i < bytes.length) {
    const first = bytes[i] ?? 0
    const length = sequenceLength(first, bytes[i + 1] ?? 0)
    for (let next = i + 1; next < i + length; next++) {
      if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return i
    }
    if (length === 0) return i
    i += length
  }
  return i
}

/** The narrower ranges of the second byte after some first bytes. */
const SECOND: Readonly<Record<number, readonly [min: number, max: number]>> = {
  0xe0: [0xa0, 0xbf],
  0xed: [0x80, 0x9f],
  0xf0: [0x90, 0xbf],
  0xf4: [0x80, 0x8f],
}

/** Returns the length of the sequence that starts with these two bytes; 0 if it is invalid. */
function sequenceLength(first: number, second: number): number {
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  const [min, max] = SECOND[first] ?? [0x80, 0xbf]
  if (second < min || second > max) return 0
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}

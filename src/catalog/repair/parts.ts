import { type JsonCursor, trust } from '../../kernel/json/cursor.js'
import { editMember } from '../../kernel/json/edit.js'
import {
  arrayText,
  editMembers,
  elementsOf,
  isEmpty,
  type JsonKind,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  some,
  stringOf,
} from '../../kernel/json/text.js'

/** Receives a description of each repair, for the log. */
export type Note = (words: string) => void

/** Repairs a value of the right kind; undefined removes it. */
export type Repair = (value: JsonText, note: Note) => JsonText | undefined

/** Required JSON kind of optional members by key, with an optional repair. */
export type Kinds = ReadonlyMap<string, { readonly kind: JsonKind; readonly repair?: Repair }>

/** Combines members that only need a kind check with members that have a repair. */
export const kindsOf = (
  kinds: Readonly<Record<string, JsonKind>>,
  fixed: Readonly<Record<string, readonly [JsonKind, Repair]>> = {},
): Kinds =>
  new Map([
    ...Object.entries(kinds).map(([key, kind]) => [key, { kind }] as const),
    ...Object.entries(fixed).map(([key, [kind, repair]]) => [key, { kind, repair }] as const),
  ])

/**
 * Removes an optional member of the wrong kind (often `null`), which would make clients reject everything.
 * Repairs others.
 */
export const keepKind = (at: JsonCursor, kinds: Kinds, note: Note): JsonText | boolean => {
  const { key } = at
  const rule = kinds.get(key)
  if (rule === undefined) return true
  if (rule.kind !== at.kind) {
    note(`removed ${key}: it was ${at.kind}`)
    return false
  }
  return rule.repair === undefined || (rule.repair(at.value, note) ?? false)
}

/** Applies `keepKind` to all members in one walk. */
export const keepKinds = (object: JsonText, kinds: Kinds, note: Note): JsonText =>
  editMembers(object, at => keepKind(at, kinds, note))

/** Removes an optional member whose value fails a test. */
const keepIf = (object: JsonText, key: string, note: Note, test: (value: JsonText) => boolean): JsonText =>
  editMember(object, key, value => {
    if (test(value)) return value
    note(`removed ${key}: its value is not allowed`)
    return undefined
  })

const ICON_KINDS = kindsOf({ mimeType: 'string', sizes: 'array', theme: 'string' })
/** Other schemes are a security risk (2025-11-25 basic, "Icons"). */
const ICON_SOURCE = /^(?:https?|data):/i

/** Removes icons that must not be shown; undefined if none is left. */
export const repairIcons = (icons: JsonText, note: Note): JsonText | undefined => {
  const kept = mapElements(icons, icon => repairIcon(icon, note))
  return kept === icons || !isEmpty(kept) ? kept : undefined
}

const repairIcon = (icon: JsonText, note: Note): JsonText | undefined => {
  const source = stringOf(memberOf(icon, 'src'))
  if (source === undefined || !ICON_SOURCE.test(source)) {
    note('removed an icon: its src is missing or neither https, http nor data')
    return undefined
  }
  const sized = editMember(icon, 'sizes', sizes => iconSizes(sizes, note))
  const kinds = keepKinds(sized, ICON_KINDS, note)
  return keepIf(kinds, 'theme', note, theme => ['light', 'dark'].includes(stringOf(theme) ?? ''))
}

/** TypeScript SDKs before 1.19 had a string where the published schema has a list. */
const iconSizes = (sizes: JsonText, note: Note): JsonText => {
  if (kindOf(sizes) !== 'string') {
    return mapElements(sizes, size => (kindOf(size) === 'string' ? size : undefined))
  }
  note('converted the sizes of an icon to a list')
  return arrayText([sizes])
}

/** Returns whether a string is a date and time with a zone, as `Annotations.lastModified` requires. */
const isMoment = (text: JsonText): boolean => {
  const value = stringOf(text)
  if (value === undefined) return false
  const parts = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/.exec(value)
  if (parts === null || Number.isNaN(Date.parse(value))) return false
  // Date.parse accepts 30 February as 2 March.
  return Number(parts[3]) <= new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate()
}

const isAudience = (value: JsonText): boolean =>
  kindOf(value) === 'array' &&
  !some(elementsOf(value), role => !['user', 'assistant'].includes(stringOf(role) ?? ''))

const isPriority = (value: JsonText): boolean => {
  const priority = kindOf(value) === 'number' ? Number(value.toString('latin1')) : Number.NaN
  return priority >= 0 && priority <= 1
}

/** Removes annotations with invalid values. */
export const repairAnnotations = (annotations: JsonText, note: Note): JsonText => {
  const audience = keepIf(annotations, 'audience', note, isAudience)
  const priority = keepIf(audience, 'priority', note, isPriority)
  return keepIf(priority, 'lastModified', note, isMoment)
}

const QUOTE = 0x22
const SLASH = 0x2f
const ZERO = 0x30
const PAD = 0x3d
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const ESCAPED_SPACES = Buffer.from('tnfr')
/** Bytes that are not digits: skipped white space, and bytes that make the text invalid. */
const [SPACE, INVALID] = [0, 1]

/** The standard digit or padding that each byte represents, in either alphabet of RFC 4648 (§4, §5). */
const DIGITS: Uint8Array = (() => {
  const digits = new Uint8Array(256).fill(INVALID)
  const standard = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/='
  for (const digit of Buffer.from(standard)) digits[digit] = digit
  digits['-'.charCodeAt(0)] = '+'.charCodeAt(0)
  digits['_'.charCodeAt(0)] = SLASH
  for (const space of Buffer.from(' \t\n\v\f\r')) digits[space] = SPACE
  return digits
})()

/** Decodes a JSON escape (RFC 8259 §7) to its base64 digit. The backslash is before `at`. */
const escapedDigit = (text: JsonText, at: number): number => {
  const letter = text[at] ?? 0
  if (letter === SLASH) return SLASH
  if (letter !== LETTER_U) return ESCAPED_SPACES.includes(letter) ? SPACE : INVALID
  const isByte = text[at + 1] === ZERO && text[at + 2] === ZERO
  return (isByte ? DIGITS[16 * hexDigit(text[at + 3]) + hexDigit(text[at + 4])] : undefined) ?? INVALID
}

const hexDigit = (byte = 0): number => (byte & 0xf) + (byte > 0x39 ? 9 : 0)

/**
 * Repairs base64 (RFC 4648 §4). Returns the same reference if it is valid, undefined if it cannot be decoded.
 * Accepts the URL alphabet (§5), white space and missing padding. Reads bytes in one pass, since string
 * operations on megabytes of peer text take seconds and hundreds of MiB.
 */
export const repairBase64 = (text: JsonText | undefined): JsonText | undefined => {
  if (text?.[0] !== QUOTE) return undefined
  return isStandard(text) ? text : standardBase64(text)
}

const isStandard = (text: JsonText): boolean => {
  const end = text.length - 1
  let at = 1
  let digits = 0
  for (; at < end; at += 1, digits += 1) {
    const byte = text[at] ?? 0
    // PHP escapes slashes.
    if (byte === BACKSLASH && text[at + 1] === SLASH) at += 1
    else if (byte === PAD || DIGITS[byte] !== byte) break
  }
  const pads = end - at
  return pads <= 2 && (digits + pads) % 4 === 0 && text.subarray(at, end).every(byte => byte === PAD)
}

/** Converts a JSON string of base64 to the standard alphabet; undefined if it has other characters. */
const standardBase64 = (text: JsonText): JsonText | undefined => {
  const json = Buffer.allocUnsafe(text.length + 3)
  let length = 1
  let pads = 0
  for (let at = 1; at < text.length - 1; at += 1) {
    let digit = DIGITS[text[at] ?? 0] ?? INVALID
    if (digit === INVALID && text[at] === BACKSLASH) {
      digit = escapedDigit(text, at + 1)
      at += text[at + 1] === LETTER_U ? 5 : 1
    }
    if (digit === SPACE) continue
    if (digit === PAD) pads += 1
    else if (digit === INVALID || pads > 0) return undefined
    else {
      json[length] = digit
      length += 1
    }
  }
  return padded(json, length, pads)
}

/** Closes a JSON string whose digits end before `length`, with up to `pads` padding characters. */
const padded = (json: Buffer, length: number, pads: number): JsonText | undefined => {
  const digits = length - 1
  if (pads > 2 || digits % 4 === 1) return undefined
  const end = 1 + Math.ceil(digits / 4) * 4
  json.fill(PAD, length, end)
  json[0] = QUOTE
  json[end] = QUOTE
  return trust(json.subarray(0, end + 1))
}

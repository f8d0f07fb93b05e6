import type { JsonCursor } from '../../kernel/json/cursor.js'
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
  textOf,
} from '../../kernel/json/text.js'

/** Takes what was repaired, for the log. */
export type Note = (words: string) => void

/** Mends a value of the right kind; undefined removes it. */
export type Repair = (value: JsonText, note: Note) => JsonText | undefined

/** What kinds optional members have to be of, by key, and what mends them. */
export type Kinds = ReadonlyMap<string, { readonly kind: JsonKind; readonly repair?: Repair }>

/** Kinds of members that are not looked into, and of those that are. */
export const kindsOf = (
  kinds: Readonly<Record<string, JsonKind>>,
  mended: Readonly<Record<string, readonly [JsonKind, Repair]>> = {},
): Kinds =>
  new Map([
    ...Object.entries(kinds).map(([key, kind]) => [key, { kind }] as const),
    ...Object.entries(mended).map(([key, [kind, repair]]) => [key, { kind, repair }] as const),
  ])

/** Removes an optional member of the wrong kind, often `null`, for which clients refuse all; mends others. */
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

/** The same of all members, in one walk. */
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
  note('made a list of the sizes of an icon')
  return arrayText([sizes])
}

/** Whether a string is a date and time with a zone, as `Annotations.lastModified` has to be. */
const isMoment = (text: JsonText): boolean => {
  const value = stringOf(text)
  if (value === undefined) return false
  const parts = /^(\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/.exec(value)
  if (parts === null || Number.isNaN(Date.parse(value))) return false
  // Date.parse takes 30 February for 2 March.
  return Number(parts[3]) <= new Date(Date.UTC(Number(parts[1]), Number(parts[2]), 0)).getUTCDate()
}

const isAudience = (value: JsonText): boolean =>
  kindOf(value) === 'array' &&
  !some(elementsOf(value), role => !['user', 'assistant'].includes(stringOf(role) ?? ''))

const isPriority = (value: JsonText): boolean => {
  const priority = kindOf(value) === 'number' ? Number(value.toString('latin1')) : Number.NaN
  return priority >= 0 && priority <= 1
}

/** Removes annotations whose values are not allowed. */
export const repairAnnotations = (annotations: JsonText, note: Note): JsonText => {
  const audience = keepIf(annotations, 'audience', note, isAudience)
  const priority = keepIf(audience, 'priority', note, isPriority)
  return keepIf(priority, 'lastModified', note, isMoment)
}

/** Repairs base64 (RFC 4648 §4), with the same reference if it is right; undefined if it cannot be read. */
export const repairBase64 = (text: JsonText | undefined): JsonText | undefined => {
  const written = stringOf(text)
  if (written === undefined) return undefined
  // Native, and so much faster for megabytes than looking at each character.
  if (Buffer.from(written, 'base64').toString('base64') === written) return text
  const plain = written.replace(/\s/g, '').replaceAll('-', '+').replaceAll('_', '/')
  const digits = plain.endsWith('=') ? plain.slice(0, plain.indexOf('=')) : plain
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined
  if (plain.length - digits.length > 2) return undefined
  const padded = digits.padEnd(Math.ceil(digits.length / 4) * 4, '=')
  return padded === written ? text : textOf(padded)
}

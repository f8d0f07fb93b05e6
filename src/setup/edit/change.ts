import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../kernel/object.js'
import type { FoldedText } from './fold.js'

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A member to write to or remove from a map; list items are identified by their `name`. */
export interface FileChange {
  /** Path from the root to the map. */
  readonly at: readonly string[]
  readonly name: string
  /** Undefined removes the member. */
  readonly value: Json | undefined
  /** Creates a missing container as a list. */
  readonly isList?: boolean
}

/** Replaces the text from `start` to `end`. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Reports a file that cannot be edited. The message contains neither the file name nor any value. */
export class EditError extends Error {
  /** Counts from 1; 0 means the whole file. */
  readonly line: number

  constructor(message: string, line = 0) {
    super(message)
    this.name = 'EditError'
    this.line = line
  }
}

/** Reports a text that would take too long to parse. */
export class TooLongError extends EditError {}

/** A parsed text: its plain value, and the splices for a change. */
interface Parsed {
  readonly value: unknown
  /** Throws an EditError if splices cannot make the change. */
  splices(change: FileChange): readonly Splice[]
  /** Returns a shortened text to edit instead of a long one; `paths` lead to the changes. */
  fold?(paths: readonly (readonly string[])[]): FoldedText | undefined
}

/** Parses a text without a byte order mark. Throws an EditError for syntax errors or repeated keys. */
export type ParseText = (text: string) => Parsed

const BOM = '\uFEFF'

const bodyOf = (text: string): string => (text.startsWith(BOM) ? text.slice(1) : text)

const markOf = (text: string): string => (text.startsWith(BOM) ? BOM : '')

/** A parsed text to edit. */
export interface Editable {
  readonly value: unknown
  /**
   * Applies changes and keeps all other bytes. The result is parsed again: if any other value would differ,
   * the edit fails. Throws an EditError.
   */
  readonly edited: (changes: readonly FileChange[]) => string
  /** Checks changes at once and builds a long result on demand. Throws an EditError. */
  readonly edits: (changes: readonly FileChange[]) => () => string
}

/** Parses a text for editing. Throws an EditError. */
export const editable = (parse: ParseText, text: string): Editable => {
  const body = bodyOf(text)
  const parsed = parse(body)
  const edits = (changes: readonly FileChange[]): (() => string) => {
    const folded = parsed.fold?.(changes.map(({ at, name }) => [...at, name]))
    const unfolded = folded && editFolded(parse, folded, changes)
    if (typeof unfolded === 'function') return () => markOf(text) + unfolded()
    const edited = editWhole(parse, { body, parsed }, changes, unfolded)
    return () => markOf(text) + edited
  }
  return { value: parsed.value, edits, edited: changes => edits(changes)() }
}

/** Returns the plain value of a text. Throws an EditError. */
export const valueIn = (parse: ParseText, text: string): unknown => editable(parse, text).value

/** Returns a text with changes applied. Throws an EditError. */
export const edit = (parse: ParseText, text: string, changes: readonly FileChange[]): string =>
  editable(parse, text).edited(changes)

/** Edits a folded text; returns the reason if that fails. */
const editFolded = (
  parse: ParseText,
  { text, unfold }: FoldedText,
  changes: readonly FileChange[],
): (() => string) | EditError | undefined => {
  try {
    return unfold(editBody(parse, { body: text, parsed: parse(text) }, changes))
  } catch (thrown) {
    if (thrown instanceof EditError) return thrown
    throw thrown
  }
}

/** Edits the whole text, which has the right lines for errors; `reason` is the error if it is too long. */
const editWhole = (
  parse: ParseText,
  before: ParsedBody,
  changes: readonly FileChange[],
  reason: EditError | undefined,
): string => {
  try {
    return editBody(parse, before, changes)
  } catch (thrown) {
    if (reason === undefined || !(thrown instanceof TooLongError)) throw thrown
    throw new EditError(reason.message)
  }
}

interface ParsedBody {
  readonly body: string
  readonly parsed: Parsed
}

const editBody = (parse: ParseText, before: ParsedBody, changes: readonly FileChange[]): string => {
  let { body, parsed } = before
  let expected: unknown = parsed.value ?? {}
  for (const change of changes) {
    const old = expected
    expected = changed(old, change)
    if (isDeepStrictEqual(old, expected)) continue
    body = spliced(body, parsed.splices(change))
    parsed = reparsed(parse, body)
  }
  const actual = parsed.value ?? {}
  const isExpected =
    isDeepStrictEqual(actual, expected) ||
    // TOML cannot represent an empty map.
    isDeepStrictEqual(
      actual,
      changes.reduce((value, { at }) => withoutEmpty(value, at), expected),
    )
  if (!isExpected) throw new EditError(CANNOT)
  return body
}

const CANNOT = 'this cannot be edited without touching other values: make the change by hand'

const reparsed = (parse: ParseText, body: string): Parsed => {
  try {
    return parse(body)
  } catch {
    throw new EditError(CANNOT)
  }
}

const spliced = (text: string, splices: readonly Splice[]): string => {
  // From the end; at equal offsets, the later splice first.
  const ordered = splices.toReversed().toSorted((one, other) => other.start - one.start)
  return ordered.reduce((all, { start, end, text: own }) => all.slice(0, start) + own + all.slice(end), text)
}

const withoutEmpty = (value: unknown, [step, ...rest]: readonly string[]): unknown => {
  if (step === undefined || !isObject(value) || !Object.hasOwn(value, step)) return value
  const inner = withoutEmpty(value[step], rest)
  const isEmpty = isObject(inner) && Object.keys(inner).length === 0
  return inMap(value, step, isEmpty ? undefined : inner)
}

/** Returns the value with a change applied. */
const changed = (root: unknown, { at, name, value, isList = false }: FileChange): unknown => {
  const [step, ...rest] = at
  if (step === undefined) {
    const isItem = Array.isArray(root) || (root === undefined && isList)
    return isItem ? inList(root, name, value) : inMap(root, name, value)
  }
  const child = (isObject(root) && Object.hasOwn(root, step) ? root[step] : undefined) ?? undefined
  if (value === undefined && child === undefined) return root
  return inMap(root, step, changed(child, { at: rest, name, value, isList }))
}

const inMap = (map: unknown, name: string, value: unknown): unknown => {
  // For any other value, the splices report the line.
  const others = Object.entries(isObject(map) ? map : {}).filter(
    ([key]) => key !== name || value !== undefined,
  )
  const isNew = value !== undefined && !others.some(([key]) => key === name)
  const entries = others.map(([key, old]): [string, unknown] => [key, key === name ? value : old])
  // Assignment would treat `__proto__` specially.
  return Object.fromEntries(isNew ? [...entries, [name, value]] : entries)
}

const inList = (list: unknown = [], name: string, value: unknown): unknown => {
  const items = Array.isArray(list) ? (list as unknown[]) : []
  const isIt = (item: unknown): boolean => isObject(item) && item['name'] === name
  if (value === undefined) return items.filter(item => !isIt(item))
  return items.some(isIt) ? items.map(item => (isIt(item) ? value : item)) : [...items, value]
}

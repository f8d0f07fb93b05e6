import { NO_BYTES } from '../nothing.js'
import { isWritten, JsonCursor, type JsonText, trust } from './cursor.js'
import { CLOSE_OBJECT, COMMA, OPEN_ARRAY, OPEN_OBJECT } from './scan.js'

interface Edit {
  readonly start: number
  end: number
  readonly put: Buffer
}

const COMMA_TEXT = Buffer.from(',')
const SPACE = 0x20
/** Up to this size a loop copies faster than a native call, which needs a view of the range (measured). */
const SMALL_COPY_BYTES = 48

class Output {
  readonly bytes: Buffer
  #at = 0

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafe(length)
  }

  add(from: Buffer, start: number, end: number): void {
    const { bytes } = this
    const at = this.#at
    if (end - start > SMALL_COPY_BYTES) from.copy(bytes, at, start, end)
    else for (let i = start; i < end; i++) bytes[at + i - start] = from[i] ?? 0
    this.#at = at + end - start
  }

  addString(text: string): void {
    const { bytes } = this
    const at = this.#at
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit >= 0x80) {
        this.#at += bytes.write(text, at)
        return
      }
      bytes[at + i] = unit
    }
    this.#at = at + text.length
  }
}

/** Applies edits, which are ordered and do not overlap. */
function applyEdits(text: JsonText, edits: readonly Edit[]): JsonText {
  let length = text.length
  for (const { start, end, put } of edits) length += put.length - (end - start)
  const out = new Output(length)
  let from = 0
  for (const { start, end, put } of edits) {
    out.add(text, from, start)
    out.add(put, 0, put.length)
    from = end
  }
  out.add(text, from, text.length)
  return trust(out.bytes)
}

/** Collects removals during iteration; each removed item takes exactly one comma with it. */
class Removals {
  readonly #text: JsonText
  readonly #edits: Edit[]
  #keptAny = false
  #last: Edit | undefined

  constructor(text: JsonText, edits: Edit[]) {
    this.#text = text
    this.#edits = edits
  }

  kept(): void {
    this.#keptAny = true
    this.#last = undefined
  }

  remove(at: JsonCursor): void {
    const hasComma = this.#text[at.stop] === COMMA
    const end = !this.#keptAny && hasComma ? at.stop + 1 : at.end
    if (this.#last === undefined) {
      this.#last = { start: this.#keptAny ? at.comma : at.start, end, put: NO_BYTES }
      this.#edits.push(this.#last)
    } else this.#last.end = end
  }
}

function concat(parts: readonly (Buffer | string)[]): JsonText {
  let length = 0
  for (const part of parts) length += typeof part === 'string' ? Buffer.byteLength(part) : part.length
  const out = new Output(length)
  for (const part of parts) {
    if (typeof part === 'string') out.addString(part)
    else out.add(part, 0, part.length)
  }
  return trust(out.bytes)
}

/** Most keys need no escapes. */
const keyText = (before: string, key: string): string =>
  /^[\w$./:-]*$/.test(key) ? `${before}"${key}":` : `${before}${JSON.stringify(key)}:`

/** Sets a member of the object at `offset` of a text; no edit if it has that value already. */
function assignment(object: JsonText, offset: number, key: string, value: JsonText): Edit | undefined {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) {
    if (!at.keyIs(key)) continue
    if (at.value.equals(value)) return undefined
    return { start: offset + at.valueStart, end: offset + at.end, put: value }
  }
  const isEmpty = at.end === 0
  const start = offset + (isEmpty ? 1 : at.end)
  return { start, end: start, put: concat([keyText(isEmpty ? '' : ',', key), value]) }
}

function innerObject(object: JsonText, key: string): JsonText | undefined {
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) if (at.keyIs(key)) return object[at.valueStart] === OPEN_OBJECT ? at.value : undefined
  return undefined
}

/**
 * Sets a member: replaces the value of the first one with that name, or appends one. All other bytes stay;
 * returns the same reference if nothing changes. Throws TypeError if `object` is not an object.
 */
export const withMember = (object: JsonText, key: string, value: JsonText): JsonText =>
  withAt(object, [key], value)

/** Sets the value at the end of `path`, creating missing objects and replacing other values on the way. */
export function withAt(object: JsonText, path: readonly string[], value: JsonText): JsonText {
  const below = [...path]
  let key = below.shift()
  if (key === undefined) return value
  if (object[0] !== OPEN_OBJECT) throw new TypeError('JSON text is not an object: it cannot have members')
  let holder = object
  while (below.length > 0) {
    const inner = innerObject(holder, key)
    if (inner === undefined) break
    holder = inner
    key = below.shift() ?? ''
  }
  const put = below.reduceRight((inside, name) => objectText([[name, inside]]), value)
  // Slices share the memory of their text, so the difference of their offsets is the position in it.
  const edit = assignment(holder, holder.byteOffset - object.byteOffset, key, put)
  return edit === undefined ? object : applyEdits(object, [edit])
}

type Members = readonly (readonly [key: string, value: JsonText])[]

/** Sets several members, like repeated `withMember`, in one pass. */
export function withMembers(object: JsonText, members: Members): JsonText {
  if (object[0] !== OPEN_OBJECT) throw new TypeError('JSON text is not an object: it cannot have members')
  const missing = new Map(members)
  const edits = replacements(object, missing)
  if (missing.size > 0) edits.push(addition(object, [...missing]))
  return edits.length === 0 ? object : applyEdits(object, edits)
}

/**
 * Returns the edits that change values, and removes them from `wanted`. The first member of each name counts.
 */
function replacements(object: JsonText, wanted: Map<string, JsonText>): Edit[] {
  const edits: Edit[] = []
  const at = new JsonCursor(object, OPEN_OBJECT)
  while (at.next()) {
    const key = [...wanted.keys()].find(one => at.keyIs(one))
    const value = key === undefined ? undefined : wanted.get(key)
    if (key === undefined || value === undefined) continue
    wanted.delete(key)
    if (!at.value.equals(value)) edits.push({ start: at.valueStart, end: at.end, put: value })
  }
  return edits
}

function addition(object: JsonText, members: Members): Edit {
  let start = object.length - 1
  // Outside of strings, the only control characters in JSON are white space.
  while ((object[start - 1] ?? 0) <= SPACE) start -= 1
  const isEmpty = start === 1
  const parts = members.flatMap(([key, value], index) => [
    keyText(isEmpty && index === 0 ? '' : ',', key),
    value,
  ])
  return { start, end: start, put: concat(parts) }
}

/**
 * Changes the members of an object in one walk. `change` returns a replacement for a value, the value itself
 * or true to keep it, or false to remove the member. Returns the same reference if nothing changed.
 */
export function editMembers(object: JsonText, change: (at: JsonCursor) => JsonText | boolean): JsonText {
  const at = new JsonCursor(object, OPEN_OBJECT)
  const edits: Edit[] = []
  const removals = new Removals(object, edits)
  while (at.next()) {
    const put = change(at)
    if (put === false) {
      removals.remove(at)
      continue
    }
    removals.kept()
    if (put !== true && !isCurrent(put, at, object)) edits.push({ start: at.valueStart, end: at.end, put })
  }
  return edits.length === 0 ? object : applyEdits(object, edits)
}

/** Returns whether a text is the value at the cursor itself, as a slice of the object. */
const isCurrent = (text: JsonText, at: JsonCursor, object: JsonText): boolean =>
  text.byteOffset === object.byteOffset + at.valueStart &&
  text.length === at.end - at.valueStart &&
  text.buffer === object.buffer

/** Removes the matching members, each with one comma; returns the same reference if none match. */
export const withoutMembers = (object: JsonText, test: (at: JsonCursor) => boolean): JsonText =>
  editMembers(object, at => !test(at))

export const withoutMember = (object: JsonText, ...keys: string[]): JsonText =>
  withoutMembers(object, at => keys.some(key => at.keyIs(key)))

/**
 * Removes the member whose value is the slice `value`, if it is first or last and written without white
 * space, as usual; otherwise returns undefined. Saves the walk of `withoutMember`.
 */
export function withoutOuter(object: JsonText, key: string, value: JsonText): JsonText | undefined {
  const from = value.byteOffset - object.byteOffset
  const end = from + value.length
  const start = from - key.length - '{"":'.length
  if (value.buffer !== object.buffer || start < 0 || end >= object.length) return undefined
  if (!isWritten(object, start + 1, from, `"${key}":`)) return undefined
  const isLast = end === object.length - 1 && object[start] === COMMA
  if (!isLast && (start > 0 || object[end] !== COMMA)) return undefined
  const rest = isLast ? object.subarray(0, start + 1) : object.subarray(end)
  const bytes = Buffer.from(rest)
  bytes[isLast ? start : 0] = isLast ? CLOSE_OBJECT : OPEN_OBJECT
  return trust(bytes)
}

/** Changes the values of members; `change` returns the same reference to keep one. */
export const mapMembers = (object: JsonText, change: (key: string, value: JsonText) => JsonText): JsonText =>
  editMembers(object, at => change(at.key, at.value))

/**
 * Changes elements; `change` returns the same reference to keep one, undefined to remove it. Returns the same
 * reference if nothing changed or `array` is not an array.
 */
export function mapElements(
  array: JsonText,
  change: (element: JsonText, index: number) => JsonText | undefined,
): JsonText {
  const at = new JsonCursor(array, OPEN_ARRAY)
  const edits: Edit[] = []
  const removals = new Removals(array, edits)
  for (let index = 0; at.next(); index++) {
    const before = at.value
    const after = change(before, index)
    if (after === undefined) removals.remove(at)
    else removals.kept()
    if (after !== undefined && after !== before) edits.push({ start: at.start, end: at.end, put: after })
  }
  return edits.length === 0 ? array : applyEdits(array, edits)
}

/**
 * Changes a member of each element that has it, in one walk; `change` returns the same reference to keep it.
 * Returns the same reference if nothing changed or `array` is not an array.
 */
export function mapInElements(array: JsonText, key: string, change: (value: JsonText) => JsonText): JsonText {
  const element = new JsonCursor(array, OPEN_ARRAY)
  const edits: Edit[] = []
  while (element.next()) {
    const at = new JsonCursor(array, OPEN_OBJECT, element.valueStart)
    while (at.next()) {
      if (!at.keyIs(key)) continue
      const before = at.value
      const put = change(before)
      if (put !== before) edits.push({ start: at.valueStart, end: at.end, put })
    }
  }
  return edits.length === 0 ? array : applyEdits(array, edits)
}

export function arrayText(elements: readonly JsonText[]): JsonText {
  const parts: (Buffer | string)[] = []
  addArray(parts, elements)
  return concat(parts)
}

function addArray(parts: (Buffer | string)[], elements: readonly JsonText[]): void {
  let before: Buffer | string = '['
  for (const run of runsOf(elements)) {
    parts.push(before, run)
    before = COMMA_TEXT
  }
  parts.push(elements.length === 0 ? '[]' : ']')
}

/** Joins elements that are adjacent in memory, such as a list passed on unchanged, into one copy. */
function runsOf(elements: readonly JsonText[]): Buffer[] {
  const runs: Buffer[] = []
  let memory: Uint8Array = NO_BYTES
  let start = 0
  let end = -1
  for (const { buffer, byteOffset, length } of elements) {
    if (byteOffset !== end + 1 || memory[end] !== COMMA || buffer !== memory.buffer) {
      if (end >= 0) runs.push(Buffer.from(memory.buffer, start, end - start))
      if (buffer !== memory.buffer) memory = new Uint8Array(buffer)
      start = byteOffset
    }
    end = byteOffset + length
  }
  if (end >= 0) runs.push(Buffer.from(memory.buffer, start, end - start))
  return runs
}

/** Builds an object; an array of texts becomes a JSON array as in `arrayText`. */
export function objectText(
  members: readonly (readonly [key: string, value: JsonText | readonly JsonText[]])[],
): JsonText {
  const parts: (Buffer | string)[] = []
  for (const [key, value] of members) {
    parts.push(keyText(parts.length === 0 ? '{' : ',', key))
    if (Buffer.isBuffer(value)) parts.push(value)
    else addArray(parts, value)
  }
  parts.push(members.length === 0 ? '{}' : '}')
  return concat(parts)
}

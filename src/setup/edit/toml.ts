import { parse, TomlError } from 'smol-toml'
import { isObject } from '../../kernel/object.js'
import { EditError, type FileChange, type Json, type ParseText, type Splice } from './change.js'
import { LARGE } from './fold.js'
import { lineBreakOf, lineEnd, lineNumber, lineStart, nextLine } from './layout.js'
import { checkLength, foldSections, partialValue, type Section } from './sections.js'

/**
 * Parses TOML, in which a map-valued member consists of the tables named after it. A large text is parsed in
 * part.
 */
export const parseToml: ParseText = text => {
  if (text.length < LARGE) return parseAll(text)
  const sections = sectionsIn(text)
  return {
    value: partialValue(parseAll, text, sections),
    splices: change => splicesIn(text, change),
    // Keys above the first table stay above it.
    fold: paths =>
      foldSections(text, sections, (name, { isKey }) => (isKey ? `"${name}" = 0` : `[${name}]`), paths),
  }
}

const parseAll: ParseText = text => {
  checkLength(text)
  try {
    const value: unknown = parse(text, { integersAsBigInt: 'asNeeded' })
    return { value: plain(value), splices: change => splicesIn(text, change) }
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown
    // The parser's message quotes the file.
    throw new EditError('this is not TOML, or names something twice', thrown.line)
  }
}

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** A table: from the comments above its header to the comments above the next one. */
interface Block {
  readonly path: readonly string[]
  readonly start: number
  readonly header: number
  /** Start of the line after its last value; only comments follow up to `next`. */
  readonly end: number
  readonly next: number
}

const TOKEN =
  /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|#[^\r\n]*|[[\]{}]/g

interface TomlSection extends Section {
  /** True for a key above the first table. */
  readonly isKey: boolean
}

const sectionsIn = (text: string): readonly TomlSection[] => {
  const marks = marksIn(text)
  const tables = blocksIn(text, marks).map(({ path: [name = ''], start, end, next }) => ({
    ...{ name, start, close: trimmedEnd(text, end), end: next },
    isKey: false,
  }))
  return [...rootKeysIn(text.slice(0, tables[0]?.start), marks.values), ...tables]
}

/** Returns the end of the text before an offset, without white space. */
const trimmedEnd = (text: string, offset: number): number => {
  let end = offset
  while (end > 0 && /\s/.test(text.charAt(end - 1))) end -= 1
  return end
}

interface Range {
  readonly start: number
  readonly end: number
}

interface Marks {
  /** Strings and brackets above the first table, in order. */
  readonly values: readonly Range[]
  /** Start offsets of headers. */
  readonly headers: readonly number[]
  /** Start offsets of comment lines. A line of a multi-line string may look like one. */
  readonly comments: ReadonlySet<number>
}

const DEPTHS: Readonly<Record<string, number>> = { '[': 1, '{': 1, ']': -1, '}': -1 }

const marksIn = (text: string): Marks => {
  const values: Range[] = []
  const headers: number[] = []
  const comments = new Set<number>()
  let depth = 0
  let start = 0
  let headerEnd = 0
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const isFirst = (): boolean => text.slice(lineStart(text, index), index).trim() === ''
    if (token.startsWith('#')) {
      if (isFirst()) comments.add(lineStart(text, index))
      continue
    }
    if (index < headerEnd) continue
    if (token === '[' && depth === 0 && isFirst()) {
      headers.push(index)
      headerEnd = lineEnd(text, index)
      continue
    }
    if (depth === 0) start = index
    depth += DEPTHS[token] ?? 0
    if (depth === 0 && headers.length === 0) values.push({ start, end: index + token.length })
  }
  return { values, headers, comments }
}

const blocksIn = (text: string, { headers, comments } = marksIn(text)): readonly Block[] => {
  const starts = headers.map(header => aboveComments(text, lineStart(text, header), comments))
  return headers.map((header, index) => {
    const next = starts[index + 1] ?? text.length
    return {
      path: pathOf(text.slice(header, lineEnd(text, header))),
      start: starts[index] ?? header,
      header: lineStart(text, header),
      end: endBefore(text, next, comments),
      next,
    }
  })
}

/** Returns the end of the last line before an offset that is neither blank nor a comment. */
const endBefore = (text: string, offset: number, comments: ReadonlySet<number>): number => {
  let end = offset
  for (;;) {
    const line = lineStart(text, end - 1)
    if (!comments.has(line) && text.slice(line, end).trim() !== '') return end
    end = line
  }
}

const aboveComments = (text: string, offset: number, comments: ReadonlySet<number>): number => {
  let start = offset
  while (start > 0 && comments.has(lineStart(text, start - 1))) start = lineStart(text, start - 1)
  return start
}

const STEP = /[ \t]*(?:([\w-]+)|"([^"\\]*)"|'([^']*)')[ \t]*(?:\.|(\]))/y

const pathOf = (header: string): readonly string[] => {
  const path: string[] = []
  STEP.lastIndex = header.startsWith('[[') ? 2 : 1
  for (let step = STEP.exec(header); step !== null; step = STEP.exec(header)) {
    path.push(step[1] ?? step[2] ?? step[3] ?? '')
    if (step[4] !== undefined) return path
  }
  return parsedPath(header)
}

/** Returns the path of a header with escapes; empty for an invalid one, which parsing reports. */
const parsedPath = (header: string): readonly string[] => {
  const path: string[] = []
  for (let value = parsedHeader(header); isObject(value); ) {
    const [entry] = Object.entries(value)
    if (entry === undefined) break
    path.push(entry[0])
    value = entry[1]
  }
  return path
}

const parsedHeader = (header: string): unknown => {
  try {
    return parse(header)
  } catch {
    return undefined
  }
}

const isWithin = (path: readonly string[], outer: readonly string[]): boolean =>
  outer.every((step, index) => path[index] === step)

const splicesIn = (text: string, { at, name, value }: FileChange): readonly Splice[] => {
  const path = [...at, name]
  const blocks = blocksIn(text)
  const own = blocks.filter(block => isWithin(block.path, path))
  const line = inlineLine(text, path, blocks)
  if (line !== undefined) {
    throw new EditError(
      `only tables can be edited: write [${path.slice(0, -1).map(keyOf).join('.')}.…] here`,
      line,
    )
  }
  if (value === undefined) return own.map(block => gone(text, block))
  const lineBreak = lineBreakOf(text)
  const table = `${tableOf(path, value).join(lineBreak)}${lineBreak}`
  const [first, ...others] = own
  if (first !== undefined) {
    return [{ start: first.header, end: first.end, text: table }, ...others.map(block => gone(text, block))]
  }
  const neighbour = blocks.findLast(block => isWithin(block.path, at))
  return [neighbour === undefined ? atEnd(text, table) : below(text, neighbour, table)]
}

const atEnd = (text: string, table: string): Splice => {
  const end = text.length
  const open = text === '' || text.endsWith('\n') ? '' : lineBreakOf(text)
  return { start: end, end, text: open + (text.trim() === '' ? '' : lineBreakOf(text)) + table }
}

/** Inserts below a blank line, unless the neighbour has none above: an adjacent comment would become ours. */
const below = (text: string, neighbour: Block, table: string): Splice => {
  const start = bodyEnd(text, neighbour)
  const isTight = start === neighbour.end && !/\n[ \t]*\r?\n$/.test(text.slice(0, neighbour.start))
  const open = text[start - 1] === '\n' ? '' : lineBreakOf(text)
  return { start, end: start, text: open + (isTight ? '' : lineBreakOf(text)) + table }
}

const KEY = /^[ \t]*(?:([\w-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*[.=]/gm

/** Returns the keys above the first table. Their sections reach up to the next key. */
const rootKeysIn = (head: string, values: readonly Range[]): readonly TomlSection[] => {
  const keys: { readonly name: string; readonly start: number }[] = []
  let passed = 0
  for (const { 1: bare, 2: basic, 3: literal, index } of head.matchAll(KEY)) {
    while ((values[passed]?.end ?? head.length) <= index) passed += 1
    const isInside = (values[passed]?.start ?? head.length) < index
    if (!isInside) keys.push({ name: bare ?? literal ?? plainKey(basic ?? ''), start: index })
  }
  return keys.map(({ name, start }, n) => {
    const end = keys[n + 1]?.start ?? head.length
    return { name, start, close: trimmedEnd(head, end), end, isKey: true }
  })
}

/** Blanks multi-line strings, whose lines may look like keys. */
const withoutLongTexts = (text: string): string =>
  text.replace(TOKEN, token => (/^(?:"""|''')/.test(token) ? token.replace(/[^\n]/g, ' ') : token))

/** Returns the line on which a key on a path gets an inline value rather than a table. */
const inlineLine = (text: string, path: readonly string[], blocks: readonly Block[]): number | undefined => {
  let passed = 0
  for (const { 1: bare, 2: basic, 3: literal, index } of withoutLongTexts(text).matchAll(KEY)) {
    while ((blocks[passed]?.header ?? text.length) <= index) passed += 1
    const table = blocks[passed - 1]?.path ?? []
    const key = bare ?? literal ?? plainKey(basic ?? '')
    if (isWithin(path, [...table, key])) return lineNumber(text, index)
  }
  return undefined
}

/** Decodes a TOML key in double quotes. */
const plainKey = (quotedKey: string): string => pathOf(`["${quotedKey}"]`)[0] ?? ''

/** Returns the end of a table's last non-blank line, comments included. */
const bodyEnd = (text: string, { header, next }: Block): number =>
  nextLine(text, header + text.slice(header, next).trimEnd().length)

/** Removes a table with its comments, except the comments below it, which may belong to other text. */
const gone = (text: string, { start, end, next }: Block): Splice => {
  const isBlank = text.slice(end, next).trim() === ''
  return { start, end: isBlank ? next : end, text: '' }
}

const BARE = /^[A-Za-z0-9_-]+$/

const keyOf = (name: string): string => (BARE.test(name) ? name : quoted(name))

/** Formats a basic string; DEL is the only character that TOML escapes and JSON does not. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\x7f', '\\u007f')

/** Formats a table and its subtables as lines. */
const tableOf = (path: readonly string[], value: Json): readonly string[] => {
  const members = isObject(value) ? Object.entries(value as Readonly<Record<string, Json>>) : []
  const plainOnes = members.filter(([, member]) => !isObject(member) && member !== null)
  const tables = members.filter(([, member]) => isObject(member))
  return [
    `[${path.map(keyOf).join('.')}]`,
    ...plainOnes.map(([name, member]) => `${keyOf(name)} = ${inline(member)}`),
    ...tables.flatMap(([name, member]) => tableOf([...path, name], member)),
  ]
}

const inline = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (!isObject(value)) return typeof value === 'string' ? quoted(value) : JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${keyOf(name)} = ${inline(member)}`)
  return `{ ${members.join(', ')} }`
}

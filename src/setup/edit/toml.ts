import { parse, TomlError } from 'smol-toml'
import { isObject } from '../../kernel/object.js'
import { type Change, EditError, type Json, type Parse, type Splice } from './change.js'
import { lineBreakOf, lineEnd, lineNumber, lineStart, nextLine } from './layout.js'

/** TOML, in which a member that is a map is the tables that are named after it. */
export const parseToml: Parse = text => {
  try {
    const value: unknown = parse(text, { integersAsBigInt: 'asNeeded' })
    return { value: plain(value), splices: change => splicesIn(text, change) }
  } catch (thrown) {
    if (!(thrown instanceof TomlError)) throw thrown
    // Its message quotes the file.
    throw new EditError('this is not TOML, or names something twice', thrown.line)
  }
}

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** A table: from the comments above its header to those above the next one. */
interface Block {
  readonly path: readonly string[]
  readonly start: number
  readonly header: number
  readonly end: number
}

const TOKEN =
  /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|#[^\r\n]*|[[\]{}]/g

const headersIn = (text: string): readonly number[] => {
  const found: number[] = []
  let depth = 0
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (index < (found.at(-1) === undefined ? 0 : lineEnd(text, found.at(-1) ?? 0))) continue
    const isFirst = text.slice(lineStart(text, index), index).trim() === ''
    if (token === '[' && depth === 0 && isFirst) found.push(index)
    else if (token === '[' || token === '{') depth += 1
    else if (token === ']' || token === '}') depth -= 1
  }
  return found
}

/** Where the lines of comments begin: a line of a text may look like one, and have one at its end. */
const commentLines = (text: string): ReadonlySet<number> =>
  new Set(
    [...text.matchAll(TOKEN)].flatMap(({ 0: token, index }) => {
      const start = lineStart(text, index)
      return token.startsWith('#') && text.slice(start, index).trim() === '' ? [start] : []
    }),
  )

const blocksIn = (text: string): readonly Block[] => {
  const headers = headersIn(text)
  const comments = commentLines(text)
  const starts = headers.map(header => aboveComments(text, lineStart(text, header), comments))
  return headers.map((header, index) => ({
    path: pathOf(text.slice(header, lineEnd(text, header))),
    start: starts[index] ?? header,
    header: lineStart(text, header),
    end: starts[index + 1] ?? text.length,
  }))
}

const aboveComments = (text: string, start: number, comments: ReadonlySet<number>): number => {
  if (start === 0) return 0
  const above = lineStart(text, start - 1)
  return comments.has(above) ? aboveComments(text, above, comments) : start
}

const pathOf = (header: string): readonly string[] => {
  const path: string[] = []
  for (let value: unknown = parse(header); isObject(value); ) {
    const [entry] = Object.entries(value)
    if (entry === undefined) break
    path.push(entry[0])
    value = entry[1]
  }
  return path
}

const isWithin = (path: readonly string[], outer: readonly string[]): boolean =>
  outer.every((step, index) => path[index] === step)

const splicesIn = (text: string, { at, name, value }: Change): readonly Splice[] => {
  const path = [...at, name]
  const blocks = blocksIn(text)
  const own = blocks.filter(block => isWithin(block.path, path))
  const isInline = value === undefined && own.length === 0
  const line = inlineLine(text, isInline ? name : at[0])
  if (line !== undefined) {
    throw new EditError(
      `only tables can be edited: write [${path.slice(0, -1).map(keyOf).join('.')}.…] here`,
      line,
    )
  }
  if (value === undefined) return own.map(({ start, end }) => ({ start, end, text: '' }))
  const lineBreak = lineBreakOf(text)
  const table = `${tableOf(path, value).join(lineBreak)}${lineBreak}`
  const [first, ...others] = own
  if (first !== undefined) {
    const gone = others.map(({ start, end }) => ({ start, end, text: '' }))
    return [{ start: first.header, end: bodyEnd(text, first), text: table }, ...gone]
  }
  const neighbour = blocks.findLast(block => isWithin(block.path, at))
  const isTight = neighbour !== undefined && !/\n[ \t]*\r?\n$/.test(text.slice(0, neighbour.start))
  const start = neighbour === undefined ? text.length : bodyEnd(text, neighbour)
  const before = text.slice(0, start)
  const open = before === '' || before.endsWith('\n') ? '' : lineBreak
  const gap = isTight || before.trim() === '' ? '' : lineBreak
  return [{ start, end: start, text: open + gap + table }]
}

/** The line on which a key of this name is given a value, rather than a table. */
const inlineLine = (text: string, name = ''): number | undefined => {
  const key = name.replace(/[^\w-]/g, '\\$&')
  const found = new RegExp(`^[ \\t]*["']?${key}["']?[ \\t]*[.=]`, 'm').exec(text)
  return found === null ? undefined : lineNumber(text, found.index)
}

/** The end of the last line of a table that is not empty. */
const bodyEnd = (text: string, { header, end }: Block): number =>
  nextLine(text, header + text.slice(header, end).trimEnd().length)

const BARE = /^[A-Za-z0-9_-]+$/

const keyOf = (name: string): string => (BARE.test(name) ? name : quoted(name))

/** A basic string; DEL is the only sign that JSON leaves and TOML does not. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\x7f', '\\u007f')

/** The lines of a table and of the tables in it. */
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

import { createScanner, type Node } from 'jsonc-parser'
import { MAX_DEPTH } from '../../config/defaults.js'
import { createReport } from '../../config/file/problem.js'
import { readTree, syntaxValueOf } from '../../config/file/syntax.js'
import { createLocator, repeated, rootItem } from '../../config/file/tree.js'
import { isObject } from '../../kernel/object.js'
import { EditError, type FileChange, type Json, type ParseText, type Splice } from './change.js'
import { endOfString, foldJson, LARGE, withoutComments } from './fold.js'
import { indentAt, indented, lineBreakOf, lineEnd, lineNumber, lineStart, nextLine } from './layout.js'

/** Parses JSON with comments and trailing commas; an empty text is an empty object. */
export const parseJsonc: ParseText = text => {
  const large = text.length > LARGE ? parseLarge(text) : undefined
  return large ?? parseTree(text)
}

/** Parses large JSON and builds a tree only for the path of a change; undefined for other texts. */
const parseLarge: (text: string) => ReturnType<ParseText> | undefined = text => {
  const json = parsedJson(text) ?? parsedJson(withoutComments(text))
  if (json === undefined) return undefined
  let tree: ReturnType<ParseText> | undefined
  const splices = (change: FileChange): readonly Splice[] => {
    tree ??= parseTree(text)
    return tree.splices(change)
  }
  return { value: json.value, splices, fold: paths => foldJson(text, json.text, paths) }
}

const parsedJson = (text: string): { readonly text: string; readonly value: unknown } | undefined => {
  if (isDeep(text)) return undefined
  try {
    return { text, value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

/** Returns whether JSON is nested too deeply. */
const isDeep = (text: string): boolean => {
  const signs = /["[\]{}]/g
  for (let depth = 0; depth <= MAX_DEPTH; ) {
    if (!signs.test(text)) return false
    const at = signs.lastIndex - 1
    const code = text.charCodeAt(at)
    if (code === 34) signs.lastIndex = endOfString(text, at)
    else depth += code === 123 || code === 91 ? 1 : -1
  }
  return true
}

const parseTree: ParseText = text => {
  if (text.trim() === '') return { value: {}, splices: change => [whole(text, change)] }
  const report = createReport('', createLocator(text))
  const root = readTree(text, report)
  const [problem] = report.problems
  if (root === undefined || problem !== undefined) {
    throw new EditError(problem?.message ?? 'this is not JSON', problem?.line)
  }
  for (const item of repeated(root)) {
    throw new EditError(`the key "${item.key}" stands here a second time`, lineNumber(text, item.nameOffset))
  }
  return { value: plain(syntaxValueOf(root)), splices: change => splicesIn(text, root.node, change) }
}

/** Copies objects of jsonc-parser, which have no prototype and therefore compare as different. */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
}

/** Wraps a change's value in the missing maps. */
const wrapped = (path: readonly string[], value: Json): readonly [string, Json] => {
  const [first = '', ...rest] = path
  return [first, rest.reduceRight<Json>((inner, key) => ({ [key]: inner }), value)]
}

const whole = (text: string, { at, name, value }: FileChange): Splice => {
  const [key, all] = wrapped([...at, name], value ?? {})
  const lineBreak = lineBreakOf(text)
  const lines = indented(JSON.stringify({ [key]: all }, null, 2), '', lineBreak)
  return { start: 0, end: text.length, text: lines + lineBreak }
}

const memberOf = (map: Node, name: string): Node | undefined =>
  map.children?.find(property => property.children?.[0]?.value === name)

/** Returns the deepest existing value on a path, and its depth. */
const deepest = (root: Node, at: readonly string[]): { readonly map: Node; readonly depth: number } => {
  let map = root
  for (const [depth, step] of at.entries()) {
    const next = memberOf(map, step)?.children?.[1]
    if (next === undefined) return { map, depth }
    map = next
  }
  return { map, depth: at.length }
}

const splicesIn = (text: string, root: Node, { at, name, value }: FileChange): readonly Splice[] => {
  const { map, depth } = deepest(root, at)
  if (map.type !== 'object') throw new EditError('expected an object', lineNumber(text, map.offset))
  const member = memberOf(map, at[depth] ?? name)
  if (value === undefined) return member === undefined ? [] : taken(text, map, member)
  const [key, wrap] = wrapped([...at, name].slice(depth), value)
  const old = member?.children?.[1]
  if (member === undefined || old === undefined) return added(text, map, key, wrap)
  const inList = old.type === 'array' && Array.isArray(wrap) ? splicesInList(text, old, wrap) : undefined
  if (inList !== undefined) return inList
  const style = { ...styleOf(text, map), indent: indentAt(text, member.offset) }
  const start = old.offset
  return [{ start, end: start + old.length, text: rendered(wrap, style) }]
}

/** Adds one element at the end of a list, or removes one, and keeps comments; undefined for other changes. */
const splicesInList = (text: string, list: Node, value: readonly Json[]): readonly Splice[] | undefined => {
  const old = (list.children ?? []).map(node => JSON.stringify(plain(syntaxValueOf(rootItem(node)))))
  const wanted = value.map(each => JSON.stringify(each))
  const at = old.findIndex((each, index) => each !== wanted[index])
  const gone = at < 0 ? undefined : list.children?.[at]
  if (gone !== undefined && old.toSpliced(at, 1).join() === wanted.join()) return taken(text, list, gone)
  const [last] = wanted.slice(-1)
  const isAdded = last !== undefined && [...old, last].join() === wanted.join()
  return isAdded ? inserted(text, list, last, { ...styleOf(text, list), isWide: true }) : undefined
}

interface Style {
  /** Indent of the member's first line. */
  readonly indent: string
  /** One indent level; undefined writes on one line. */
  readonly unit: string | undefined
  readonly lineBreak: string
  /** True if white space follows punctuation. */
  readonly isWide: boolean
}

const isOneLine = (text: string, node: Node): boolean =>
  !text.slice(node.offset, node.offset + node.length).includes('\n')

/** Derives the style of new members from the last member, or from the text if the map is empty. */
const styleOf = (text: string, map: Node): Style => {
  const last = map.children?.at(-1)
  const lineBreak = lineBreakOf(text)
  const outer = indentAt(text, map.offset)
  if (last === undefined) {
    const hasLines = text.includes('\n')
    const unit = usualUnit(text)
    return { indent: outer + unit, unit: hasLines ? unit : undefined, lineBreak, isWide: hasLines }
  }
  const indent = indentAt(text, last.offset)
  const step = indent.startsWith(outer) ? indent.slice(outer.length) : ''
  const isFlat = isOneLine(text, map) || isObjectOnOneLine(text, last.children?.[1])
  return {
    indent,
    unit: isFlat ? undefined : step || usualUnit(text),
    lineBreak,
    isWide: /^"(?:[^"\\]|\\.)*"\s*:\s/.test(text.slice(last.offset)),
  }
}

const isObjectOnOneLine = (text: string, value: Node | undefined): boolean =>
  value?.children?.[0]?.type === 'property' && isOneLine(text, value)

const usualUnit = (text: string): string => /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '

const rendered = (value: Json, { indent, unit, lineBreak, isWide }: Style): string => {
  if (unit !== undefined) return indented(JSON.stringify(value, null, unit), indent, lineBreak)
  return isWide ? flat(value) : JSON.stringify(value)
}

const flat = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(flat).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${flat(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** Returns whether the next character outside white space and comments is a comma, and its end offset. */
const signAfter = (text: string, offset: number): { readonly isComma: boolean; readonly end: number } => {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  const start = scanner.getTokenOffset()
  return { isComma: text[start] === ',', end: start + scanner.getTokenLength() }
}

/** Adds a member after the last one and the comment on its line. */
const added = (text: string, map: Node, name: string, value: Json): readonly Splice[] => {
  const style = styleOf(text, map)
  const member = `${JSON.stringify(name)}:${style.isWide ? ' ' : ''}${rendered(value, style)}`
  return inserted(text, map, member, style)
}

const inserted = (text: string, map: Node, member: string, style: Style): readonly Splice[] => {
  const close = map.offset + map.length - 1
  const last = map.children?.at(-1)
  if (last === undefined) return [intoEmpty(text, map, member, style)]
  const end = last.offset + last.length
  const comma = signAfter(text, end)
  if (lineStart(text, last.offset) <= map.offset) {
    const start = comma.isComma ? comma.end : end
    return [
      { start, end: start, text: comma.isComma ? ` ${member},` : `,${style.isWide ? ' ' : ''}${member}` },
    ]
  }
  const place = endOfComments(text, comma.isComma ? comma.end : end, close)
  const line = `${style.lineBreak}${style.indent}${member}${comma.isComma ? ',' : ''}`
  const isOwnLine = map.type === 'object' && lineEnd(text, place) >= close
  const tail = isOwnLine ? style.lineBreak : ''
  const own = { start: place, end: place, text: line + tail }
  return comma.isComma ? [own] : [{ start: end, end, text: ',' }, own]
}

/** Returns the end of the comments and white space that follow an offset on the same line. */
const endOfComments = (text: string, offset: number, close: number): number => {
  const rest = /^(?:[ \t]|\/\*(?:(?!\*\/)[^\n])*\*\/)*(?:\/\/[^\r\n]*)?/.exec(
    text.slice(offset, Math.min(close, lineEnd(text, offset))),
  )
  return offset + (rest?.[0].trimEnd().length ?? 0)
}

const intoEmpty = (text: string, map: Node, member: string, style: Style): Splice => {
  const close = map.offset + map.length - 1
  const before = text.slice(map.offset + 1, close)
  const kept = before.trimEnd()
  const start = map.offset + 1 + kept.length
  const isFlat = map.type === 'array' ? isOneLine(text, map) : !text.includes('\n')
  if (isFlat) return { start, end: close, text: `${kept === '' ? '' : ' '}${member}` }
  const outer = indentAt(text, map.offset)
  return { start, end: close, text: `${style.lineBreak}${style.indent}${member}${style.lineBreak}${outer}` }
}

/** Removes a member with one comma; adjacent comments stay. */
const taken = (text: string, map: Node, member: Node): readonly Splice[] => {
  const after = signAfter(text, member.offset + member.length)
  const isNext = after.isComma && text.slice(member.offset + member.length, after.end).trim() === ','
  const end = isNext ? after.end : member.offset + member.length
  const before = endOfComma(text, map, member)
  if (before !== undefined) {
    const gap = text.slice(before, member.offset)
    const isClosed = /^[ \t]*$/.test(text.slice(end, map.offset + map.length - 1))
    const isBeside = isClosed ? gap.trim() === '' : !after.isComma && /^[ \t]*$/.test(gap)
    if (isBeside) return [{ start: isNext ? before : before - 1, end, text: '' }]
  }
  const lone = after.isComma ? after.end : before
  const comma = isNext || lone === undefined ? [] : [{ start: lone - 1, end: lone, text: '' }]
  return [...comma, withoutLine(text, member.offset, end)]
}

/** Returns the end of the comma before a member; undefined for the first one. */
const endOfComma = (text: string, map: Node, member: Node): number | undefined => {
  const previous = map.children?.[map.children.indexOf(member) - 1]
  return previous && signAfter(text, previous.offset + previous.length).end
}

/** Also removes the surrounding white space, and the line if it becomes empty. */
const withoutLine = (text: string, start: number, end: number): Splice => {
  const first = lineStart(text, start)
  const isFirst = text.slice(first, start).trim() === ''
  const last = lineEnd(text, end)
  const isLast = text.slice(end, last).trim() === ''
  if (isFirst && isLast) return { start: first, end: nextLine(text, end), text: '' }
  if (isLast) return { start: first + text.slice(first, start).trimEnd().length, end, text: '' }
  const spaces = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0
  return { start, end: end + spaces, text: '' }
}

import {
  Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { EditError, type FileChange, type Json, type ParseText, type Splice } from './change.js'
import { LARGE } from './fold.js'
import { indented, lineBreakOf, lineEnd, lineNumber, lineStart, nextLine } from './layout.js'
import { checkLength, foldSections, partialValue, type Section } from './sections.js'

/**
 * Parses YAML with one document. Collections on the path of a change must be in block style. A large text is
 * parsed in part.
 */
export const parseYaml: ParseText = text => {
  const sections = text.length > LARGE ? sectionsIn(text) : undefined
  if (sections === undefined) return parseAll(text)
  let all: ReturnType<ParseText> | undefined
  const whole = (): ReturnType<ParseText> => (all ??= parseAll(text))
  return {
    value: partialValue(parseAll, text, sections),
    splices: change => whole().splices(change),
    fold: paths => foldSections(text, sections, name => `${name}: 0`, paths),
  }
}

const parseAll: ParseText = text => {
  checkLength(text)
  // The parser's own check for repeated keys is quadratic.
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error', uniqueKeys: false })
  const [error] = document.errors
  // The parser's message may quote the file.
  if (error !== undefined)
    throw new EditError(WORDS[error.code] ?? 'this is not YAML', lineNumber(text, error.pos[0]))
  visit(document, { Map: (_, map) => checkKeys(text, map as YAMLMap<Node>) })
  return { value: valueOf(document), splices: change => splicesIn(text, document.contents, change) }
}

const valueOf = (document: Document): unknown => {
  try {
    return document.toJS() as unknown
  } catch (thrown) {
    if (!(thrown instanceof ReferenceError)) throw thrown
    throw new EditError('an alias refers to no anchor, or there are too many aliases')
  }
}

const TOP_KEY = /(?:([A-Za-z_][\w.-]*)|"([^"\\\n]*)"|'([^'\n]*)'):(?=\s|$)/y

/**
 * Returns the sections of a map in block style, whose keys are the only text at the start of lines; undefined
 * for other texts.
 */
const sectionsIn = (text: string): readonly Section[] | undefined => {
  const keys = new Map<string, number>()
  for (const { index } of text.matchAll(/^(?![ \t\r\n#]|- |$)/gm)) {
    if (keys.size === 0 && text.startsWith('---', index)) continue
    TOP_KEY.lastIndex = index
    const key = TOP_KEY.exec(text)
    const name = key?.[1] ?? key?.[2] ?? key?.[3]
    if (name === undefined || keys.has(name)) return undefined
    keys.set(name, index)
  }
  const starts = [...keys.values()]
  return [...keys].map(([name, start], n) => {
    const end = starts[n + 1] ?? text.length
    return { name, start, close: closeOf(text, end), end }
  })
}

/** Returns the end of the last line before an offset that is neither blank nor a comment. */
const closeOf = (text: string, offset: number): number => {
  let end = offset
  for (;;) {
    const start = lineStart(text, end)
    const line = text.slice(start, end)
    if (!line.startsWith('#') && line.trim() !== '') return start + line.trimEnd().length
    end = start - 1
  }
}

const WORDS: Readonly<Partial<Record<string, string>>> = { MULTIPLE_DOCS: 'a second document begins here' }

const checkKeys = (text: string, { items }: YAMLMap<Node>): void => {
  const seen = new Set<unknown>()
  for (const { key } of items) {
    const name = isScalar(key) ? key.value : key
    if (seen.has(name)) {
      throw new EditError('a key stands here a second time', lineNumber(text, key.range?.[0] ?? 0))
    }
    seen.add(name)
  }
}

type Collection = YAMLMap<Node, Node | null> | YAMLSeq<Node>

/** Location of a collection: the root, or the value of a pair. */
interface Place {
  readonly node: Node | null
  readonly pair: Pair<Node, Node | null> | undefined
}

const splicesIn = (text: string, root: Node | null, change: FileChange): readonly Splice[] => {
  const { at, name, value } = change
  let place: Place = { node: root, pair: undefined }
  let depth = 0
  for (const step of at) {
    const pair = pairOf(place.node, step)
    if (pair === undefined) break
    place = { node: pair.value, pair }
    depth += 1
  }
  const missing = at.slice(depth)
  const collection = blockOf(text, place)
  if (value === undefined) {
    return collection === undefined || missing.length > 0 ? [] : taken(text, place, collection, name)
  }
  const isItem = missing.length === 0 && collection !== undefined ? isSeq(collection) : change.isList === true
  const lines = linesOf(
    missing.reduceRight<Json>((all, key) => ({ [key]: all }), isItem ? [value] : { [name]: value }),
  )
  if (collection === undefined) return opened(text, place, lines)
  return put(text, collection, lines, missing.length === 0 ? itemOf(collection, name) : undefined)
}

/** Writes an item after the last one, or over an old one. */
const put = (text: string, collection: Collection, lines: string, old: Item): readonly Splice[] => {
  const column = ' '.repeat(columnOf(text, startOf(text, collection.items[0])))
  const own = `${column}${indented(lines, column, lineBreakOf(text))}${lineBreakOf(text)}`
  if (old === undefined) {
    const end = endOf(text, collection.items.at(-1))
    const open = end > 0 && text[end - 1] !== '\n' ? lineBreakOf(text) : ''
    return [{ start: end, end, text: open + own }]
  }
  return [{ start: lineStart(text, startOf(text, old)), end: endOf(text, old), text: own }]
}

const pairOf = (node: Node | null, name: string): Pair<Node, Node | null> | undefined =>
  isMap<Node, Node | null>(node)
    ? node.items.find(({ key }) => isScalar(key) && String(key.value) === name)
    : undefined

/** Returns the collection at a place; undefined for an empty one. */
const blockOf = (text: string, { node, pair }: Place): Collection | undefined => {
  if (node === null || (isScalar(node) && node.value === null)) return undefined
  const line = lineNumber(text, (pair?.key ?? node).range?.[0] ?? 0)
  if (!isCollection(node)) throw new EditError('a map or a list was expected here', line)
  const collection = node as Collection
  if (collection.items.length === 0) return undefined
  if (collection.flow === true) {
    throw new EditError(
      'a map or list in braces or brackets cannot be edited: write a line for each of its items',
      line,
    )
  }
  return collection
}

type Item = Node | Pair<Node, Node | null> | undefined

const itemOf = (collection: Collection, name: string): Item =>
  isMap(collection)
    ? pairOf(collection, name)
    : collection.items.find(item => scalarOf(item, 'name') === name)

const scalarOf = (item: Node, name: string): unknown => {
  const value = pairOf(item, name)?.value
  return isScalar(value) ? value.value : undefined
}

const firstNode = (item: Item): Node | undefined => (item !== undefined && 'key' in item ? item.key : item)

/** Returns the offset of a pair's key, or of a list item's dash. */
const startOf = (text: string, item: Item): number => {
  const start = firstNode(item)?.range?.[0] ?? 0
  return item !== undefined && 'key' in item ? start : text.lastIndexOf('-', start - 1)
}

const columnOf = (text: string, offset: number): number => offset - lineStart(text, offset)

/** Returns the offset of the line after an item. */
const endOf = (text: string, item: Item): number => {
  const last = item !== undefined && 'key' in item ? (item.value ?? item.key) : item
  const end = last?.range?.[1] ?? 0
  // After a comment on separate lines, a value includes the white space before the next token.
  const start = lineStart(text, end)
  return end > 0 && text.slice(start, end).trim() === '' ? start : nextLine(text, end)
}

/**
 * Removes an item with its lines. An emptied collection is written explicitly, because it would otherwise
 * become null.
 */
const taken = (text: string, { pair }: Place, collection: Collection, name: string): readonly Splice[] => {
  const item = itemOf(collection, name)
  if (item === undefined) return []
  const start = lineStart(text, startOf(text, item))
  const key = pair?.key.range?.[1]
  if (collection.items.length > 1 || key === undefined) return [{ start, end: endOf(text, item), text: '' }]
  const colon = text.indexOf(':', key) + 1
  const empty = isMap(collection) ? ' {}' : ' []'
  return [
    { start: colon, end: colon, text: empty },
    { start, end: endOf(text, item), text: '' },
  ]
}

/** Writes the first items of an empty or missing collection. */
const opened = (text: string, { node, pair }: Place, lines: string): readonly Splice[] => {
  const lineBreak = lineBreakOf(text)
  const [start = 0, end = 0] = node?.range ?? []
  const before = text.slice(0, start).trimEnd().length
  const mark = start < end ? [{ start: before, end, text: '' }] : []
  if (pair === undefined) {
    const open = text === '' || text.endsWith('\n') ? '' : lineBreak
    const own = open + indented(lines, '', lineBreak) + lineBreak
    return [...mark, { start: text.length, end: text.length, text: own }]
  }
  const [keyStart = 0] = pair.key.range ?? []
  const indent = ' '.repeat(columnOf(text, keyStart) + 2)
  const place = lineEnd(text, Math.max(end, keyStart))
  const own = lineBreak + indent + indented(lines, indent, lineBreak)
  return [...mark, { start: place, end: place, text: own }]
}

/** Formats a value in block style as unindented lines; lists stay on one line. */
const linesOf = (value: Json): string => {
  const document = new Document(value)
  visit(document, {
    Seq: (key, node) => {
      if (key !== null) node.flow = !node.items.some(isMap)
    },
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd()
}

import type { Node } from 'jsonc-parser'

export interface TreeItem {
  readonly node: Node
  readonly key: string
  /** Offset of the name, or of the value if it is unnamed. */
  readonly nameOffset: number
}

export interface Spot {
  readonly line: number
  readonly column: number
}

const joined = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

export const rootItem = (node: Node): TreeItem => ({ node, key: '', nameOffset: node.offset })

/** The members of an object in the order of the file, repeated ones too; none for other values. */
function* eachMember(item: TreeItem): Generator<readonly [string, TreeItem]> {
  if (item.node.type !== 'object') return
  for (const property of item.node.children ?? []) {
    const [name, node] = property.children ?? []
    if (name === undefined || node === undefined) continue
    const text = String(name.value)
    yield [text, { node, key: joined(item.key, text), nameOffset: name.offset }]
  }
}

const knownMembers = new WeakMap<TreeItem, ReadonlyMap<string, TreeItem>>()

const NONE: ReadonlyMap<string, TreeItem> = new Map()

/**
 * Returns the members of an object by name; the last one of repeated members. A Map, so that `__proto__` is
 * only a name.
 */
export const members = (item: TreeItem | undefined): ReadonlyMap<string, TreeItem> => {
  if (item === undefined) return NONE
  const known = knownMembers.get(item) ?? new Map(eachMember(item))
  knownMembers.set(item, known)
  return known
}

/** An object without prototype: peers choose the names that are looked up in it, such as `constructor`. */
export const bareRecord = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> =>
  Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries))

export const elements = (item: TreeItem): readonly TreeItem[] =>
  item.node.type === 'array' ? (item.node.children ?? []).map((_, index) => elementAt(item, index)) : []

const elementAt = ({ node, key }: TreeItem, index: number): TreeItem => {
  const child = node.children?.[index] ?? node
  return { node: child, key: joined(key, String(index)), nameOffset: child.offset }
}

/** The item at the end of a path, or the last one on the way that exists. */
export function itemAt(item: TreeItem, path: readonly string[]): TreeItem {
  const [step, ...rest] = path
  if (step === undefined) return item
  const isElement = item.node.type === 'array' && item.node.children?.[Number(step)] !== undefined
  const next = isElement ? elementAt(item, Number(step)) : members(item).get(step)
  return next === undefined ? item : itemAt(next, rest)
}

/** The kind of an item's value, with its article. */
export const nodeKindOf = (item: TreeItem): string =>
  ({
    object: 'an object',
    array: 'a list',
    string: 'a string',
    number: 'a number',
    boolean: `${item.node.value === true}`,
    null: 'null',
    property: 'a name',
  })[item.node.type]

/** The members whose name occurs earlier in the same object. */
export function* repeated(item: TreeItem): Generator<TreeItem> {
  const seen = new Set<string>()
  for (const [name, member] of eachMember(item)) {
    if (seen.has(name)) yield member
    seen.add(name)
    yield* repeated(member)
  }
  for (const element of elements(item)) yield* repeated(element)
}

/** Creates a function that turns offsets of a text into lines and columns. */
export function createLocator(text: string): (offset: number) => Spot {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\n|\r/g), m => m.index + m[0].length)]
  return offset => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}

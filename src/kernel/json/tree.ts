import { canonicalJson } from './canonical.js'
import { elementsOf, type JsonText, kindOf, membersOf } from './text.js'

/** A JSON value in canonical form: the text of a scalar, elements, or members sorted by their keys. */
export type JsonTree =
  | string
  | { readonly elements: readonly JsonTree[] }
  | { readonly members: readonly JsonMember[] }

type JsonMember = readonly [key: string, value: JsonTree]

/** Reads a value. Repeated members stay, in their order. */
export const treeOf = (text: JsonText): JsonTree => {
  switch (kindOf(text)) {
    case 'object':
      return objectTree([...membersOf(text)].map(({ key, value }) => [key, treeOf(value)]))
    case 'array':
      return { elements: [...elementsOf(text)].map(treeOf) }
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return canonicalJson(text)
  }
}

/** Creates an object, and sorts its members by the UTF-16 units of their keys. */
export const objectTree = (members: readonly JsonMember[]): JsonTree => ({
  members: [...members].sort(([one], [other]) => (one === other ? 0 : one < other ? -1 : 1)),
})

/** Returns the members of an object; none for any other value. */
export const treeMembers = (tree: JsonTree): readonly JsonMember[] =>
  typeof tree !== 'string' && 'members' in tree ? tree.members : []

/** Returns the text of a value; with `indent`, on several lines that are each indented by two more spaces. */
export const treeText = (tree: JsonTree, indent?: string): string => {
  if (typeof tree === 'string') return tree
  const inner = indent === undefined ? undefined : `${indent}  `
  const isObject = 'members' in tree
  const parts = isObject
    ? tree.members.map(([key, value]) => {
        const space = indent === undefined ? '' : ' '
        return `${JSON.stringify(key)}:${space}${treeText(value, inner)}`
      })
    : tree.elements.map(value => treeText(value, inner))
  const [open, close] = isObject ? ['{', '}'] : ['[', ']']
  if (inner === undefined || parts.length === 0) return `${open}${parts.join(',')}${close}`
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent ?? ''}${close}`
}

/** Returns a value without the parts at these paths, in which `*` represents any key or index. */
export const withoutPaths = (tree: JsonTree, paths: readonly (readonly string[])[]): JsonTree => {
  if (paths.length === 0 || typeof tree === 'string') return tree
  const keep = (key: string, value: JsonTree): readonly JsonTree[] => {
    const below = paths.filter(([step]) => step === key || step === '*').map(([, ...rest]) => rest)
    return below.some(({ length }) => length === 0) ? [] : [withoutPaths(value, below)]
  }
  return 'members' in tree
    ? { members: tree.members.flatMap(([key, value]) => keep(key, value).map(kept => [key, kept] as const)) }
    : { elements: tree.elements.flatMap((value, at) => keep(String(at), value)) }
}

/** A part in which two values differ. An absent part is undefined. */
export interface TreeDifference {
  readonly path: readonly string[]
  readonly was: JsonTree | undefined
  readonly is: JsonTree | undefined
}

/** Returns the smallest parts in which two values differ. */
export const differencesOf = (
  was: JsonTree | undefined,
  is: JsonTree | undefined,
  path: readonly string[] = [],
): readonly TreeDifference[] => {
  if (was !== undefined && is !== undefined) {
    if (treeText(was) === treeText(is)) return []
    const [before, after] = [partsOf(was), partsOf(is)]
    const inside = [...new Set([...before.keys(), ...after.keys()])].flatMap(key =>
      before.size === 0 || after.size === 0
        ? []
        : differencesOf(before.get(key), after.get(key), [...path, key]),
    )
    if (inside.length > 0) return inside
  }
  return [{ path, was, is }]
}

/** Returns the members of an object, repeated ones as one list; none for other values. */
const partsOf = (tree: JsonTree): ReadonlyMap<string, JsonTree> => {
  const parts = new Map<string, JsonTree>()
  for (const [key, value] of treeMembers(tree)) {
    const known = parts.get(key)
    parts.set(key, known === undefined ? value : { elements: [known, value] })
  }
  return parts
}

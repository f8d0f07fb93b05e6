import { escapeForeign } from './hidden-text.js'
import { type JsonText, kindOf, textOf } from './json/text.js'
import {
  differencesOf,
  type JsonTree,
  objectTree,
  type TreeDifference,
  treeMembers,
  treeOf,
  treeText,
  withoutPaths,
} from './json/tree.js'
import { LOCKED_LISTS, type LockedList, type LockedServer } from './lock-file.js'

/** The items of a server, as it sent them, by its own names or URI templates. */
export interface SentServer extends Readonly<Record<LockedList, ReadonlyMap<string, JsonText>>> {
  readonly instructions: string | undefined
}

export const NOTHING_SENT: SentServer = {
  ...{ instructions: undefined, tools: new Map(), prompts: new Map(), templates: new Map() },
}

/** A part of a server's definitions that differs from the lock file. Texts of servers are not escaped. */
export interface Difference {
  readonly server: string
  readonly kind: 'tool' | 'prompt' | 'template' | 'instructions'
  /** The server's own name; empty for its instructions. */
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly fields: readonly TreeDifference[]
}

const KINDS = { tools: 'tool', prompts: 'prompt', templates: 'template' } as const

/** The annotations of tools, with the defaults of the specification (`ToolAnnotations`). */
const HINT_DEFAULTS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
}

/** Interfaces of tools, the only members of `_meta` that clients show. */
const isShownMeta = (key: string): boolean =>
  key === 'ui' || key.startsWith('ui/') || key.startsWith('openai/')

/** Returns the definition in an item: the item without the members of `_meta` that clients do not show. */
const definitionOf = (item: JsonText): JsonTree =>
  objectTree(
    treeMembers(treeOf(item)).flatMap(([key, value]) => {
      if (key !== '_meta') return [[key, value] as const]
      const shown = treeMembers(value).filter(([name]) => isShownMeta(name))
      return shown.length === 0 ? [] : [[key, { members: shown }] as const]
    }),
  )

/** Returns a text that is equal for items with equal definitions. */
export const definitionText = (item: JsonText): string => treeText(definitionOf(item))

/** Adds the defaults of annotations. A tool that only reads destroys nothing, unless it says so. */
const withHints = (list: LockedList, definition: JsonTree): JsonTree => {
  if (list !== 'tools') return definition
  const members = treeMembers(definition)
  const found = members.filter(([key]) => key === 'annotations').map(([, value]) => value)
  const [annotations = { members: [] }] = found
  if (found.length > 1 || typeof annotations === 'string' || 'elements' in annotations) return definition
  const given = new Map(annotations.members)
  const defaults = { ...HINT_DEFAULTS, destructiveHint: given.get('readOnlyHint') !== 'true' }
  const added = Object.entries(defaults)
    .filter(([hint]) => !given.has(hint))
    .map(([hint, value]) => [hint, String(value)] as const)
  return objectTree([
    ...members.filter(([key]) => key !== 'annotations'),
    ['annotations', objectTree([...annotations.members, ...added])],
  ])
}

/** A pointer of `lock.ignore`, as the keys on its path. */
export type IgnoredPath = readonly string[]

/** Returns the ignored paths below a place in the lock file. */
const ignoredBelow = (ignore: readonly IgnoredPath[], place: readonly string[]): readonly IgnoredPath[] =>
  ignore.flatMap(path =>
    place.every((key, at) => at >= path.length || path[at] === '*' || path[at] === key)
      ? [path.slice(place.length)]
      : [],
  )

/** Returns the paths to ignore in an item; undefined if all of it is ignored. */
const ignoredIn = (
  ignore: readonly IgnoredPath[],
  place: readonly string[],
): readonly IgnoredPath[] | undefined => {
  const paths = ignoredBelow(ignore, place)
  return paths.some(({ length }) => length === 0) ? undefined : paths
}

/** Compares an item with its locked variants. Undefined if it equals one of them, or is ignored. */
export const compareItem = (
  item: JsonText,
  variants: readonly JsonTree[] | undefined,
  at: { readonly server: string; readonly list: LockedList; readonly own: string },
  ignore: readonly IgnoredPath[],
): Difference | undefined => {
  const { server, list, own } = at
  const ignored = ignoredIn(ignore, ['servers', server, list, own])
  if (ignored === undefined || kindOf(item) !== 'object') return undefined
  const found = { server, kind: KINDS[list], name: own }
  if (variants === undefined) return { ...found, change: 'added', fields: [] }
  const comparable = (definition: JsonTree): JsonTree => withoutPaths(withHints(list, definition), ignored)
  const is = comparable(definitionOf(item))
  const fields = variants.map(variant => differencesOf(comparable(variant), is))
  const nearest = fields.reduce((one, other) => (other.length < one.length ? other : one))
  return nearest.length === 0 ? undefined : { ...found, change: 'changed', fields: nearest }
}

/** Compares a server's instructions with the locked ones. Undefined if they are equal or ignored. */
export const compareInstructions = (
  server: string,
  was: string | undefined,
  is: string | undefined,
  ignore: readonly IgnoredPath[],
): Difference | undefined => {
  if (was === is || ignoredIn(ignore, ['servers', server, 'instructions']) === undefined) return undefined
  const tree = (text: string | undefined): JsonTree | undefined =>
    text === undefined ? undefined : treeText(treeOf(textOf(text)))
  const change = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed'
  return {
    ...{ server, kind: 'instructions', name: '', change },
    fields: change === 'changed' ? [{ path: [], was: tree(was), is: tree(is) }] : [],
  }
}

/** Returns the locked items of a list that the server no longer sends. */
export const removedItems = (
  server: string,
  locked: LockedServer,
  {
    list,
    sent,
    ignore,
  }: {
    readonly list: LockedList
    readonly sent: { has(own: string): boolean }
    readonly ignore: readonly IgnoredPath[]
  },
): readonly Difference[] =>
  [...locked[list].keys()]
    .filter(own => !sent.has(own) && ignoredIn(ignore, ['servers', server, list, own]) !== undefined)
    .map(name => ({ server, kind: KINDS[list], name, change: 'removed', fields: [] }))

/** Compares everything that a server sent with its part of the lock file. */
export const compareServer = (
  server: string,
  locked: LockedServer,
  sent: SentServer,
  ignore: readonly IgnoredPath[],
): readonly Difference[] => [
  ...[compareInstructions(server, locked.instructions, sent.instructions, ignore)].filter(
    found => found !== undefined,
  ),
  ...LOCKED_LISTS.flatMap(list =>
    [
      ...[...sent[list]].flatMap(
        ([own, item]) => compareItem(item, locked[list].get(own), { server, list, own }, ignore) ?? [],
      ),
      ...removedItems(server, locked, { list, sent: sent[list], ignore }),
    ].sort((one, other) => (one.name < other.name ? -1 : 1)),
  ),
]

/** Returns what the lock file keeps of a server: everything but the ignored parts. */
export const lockedFrom = (
  server: string,
  sent: SentServer,
  ignore: readonly IgnoredPath[],
  before: LockedServer | undefined,
): LockedServer => {
  const items = (list: LockedList) =>
    new Map(
      [...sent[list]].flatMap(([own, item]) => {
        const ignored = ignoredIn(ignore, ['servers', server, list, own])
        if (ignored === undefined) return []
        const variants = before?.[list].get(own)
        const isKept =
          variants !== undefined &&
          variants.length > 1 &&
          compareItem(item, variants, { server, list, own }, ignore) === undefined
        return [[own, isKept ? variants : [withoutPaths(definitionOf(item), ignored)]] as const]
      }),
    )
  const hasInstructions = ignoredIn(ignore, ['servers', server, 'instructions']) !== undefined
  return {
    instructions: hasInstructions ? sent.instructions : undefined,
    ...{ tools: items('tools'), prompts: items('prompts'), templates: items('templates') },
  }
}

/** Returns the names of the members that differ. */
export const changedMembers = ({ fields }: Difference): readonly string[] => [
  ...new Set(fields.flatMap(({ path: [name] }) => name ?? [])),
]

const SHOWN_CHARS = 1000

/** Returns a difference for people and programs: pointers, and texts escaped and cut. */
export const shownDifference = ({ fields, name, ...rest }: Difference) => ({
  ...rest,
  name: shownText(name),
  fields: fields.slice(0, FIELDS_MAX).map(({ path, was, is }) => ({
    path: shownText(path.map(key => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')),
    was: was === undefined ? undefined : shownTree(was),
    is: is === undefined ? undefined : shownTree(is),
  })),
})

const FIELDS_MAX = 100

const shownText = (text: string): string => {
  const escaped = escapeForeign(text)
  return escaped.length > SHOWN_CHARS ? `${escaped.slice(0, SHOWN_CHARS - 1)}…` : escaped
}

const shownTree = (tree: JsonTree): string => {
  const text = treeText(tree)
  return shownText(text.startsWith('"') ? String(JSON.parse(text)) : text)
}

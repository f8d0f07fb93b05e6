import { escapeForeign } from './hidden-text.js'
import { pointerStep } from './json/pointer.js'
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
import { LOCKED_LISTS, type LockedList, type LockedServer, NOTHING_LOCKED } from './lock-file.js'
import { HINT_DEFAULTS } from './rule.js'

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
  readonly kind: DefinitionKind
  /** The server's own name; empty for its instructions. */
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  readonly fields: readonly TreeDifference[]
}

/** The kinds of definitions, by their members in the lock file. */
export const DEFINITION_KINDS = {
  tools: 'tool',
  prompts: 'prompt',
  templates: 'template',
  instructions: 'instructions',
} as const

/** The kind of a definition. */
export type DefinitionKind = (typeof DEFINITION_KINDS)[keyof typeof DEFINITION_KINDS]

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

/** The name that accepts the instructions of a server. */
export const INSTRUCTIONS = 'instructions'

/** The part of the lock file for one server, and the ignored pointers. */
export class LockedPart {
  readonly server: string
  readonly locked: LockedServer
  readonly #ignore: readonly IgnoredPath[]

  constructor(server: string, locked: LockedServer = NOTHING_LOCKED, ignore: readonly IgnoredPath[] = []) {
    this.server = server
    this.locked = locked
    this.#ignore = ignore
  }

  /** Compares an item with its locked variants. Undefined if it equals one of them, or is ignored. */
  item(list: LockedList, own: string, item: JsonText): Difference | undefined {
    const ignored = this.#ignoredIn([list, own])
    if (ignored === undefined || kindOf(item) !== 'object') return undefined
    const variants = this.locked[list].get(own)
    if (variants === undefined) return this.#difference(list, own, 'added')
    const comparable = (definition: JsonTree): JsonTree => withoutPaths(withHints(list, definition), ignored)
    const is = comparable(definitionOf(item))
    const fields = variants.map(variant => differencesOf(comparable(variant), is))
    const nearest = fields.reduce((one, other) => (other.length < one.length ? other : one))
    return nearest.length === 0 ? undefined : this.#difference(list, own, 'changed', nearest)
  }

  /** Compares the instructions. Undefined if they are equal or ignored. */
  instructions(is: string | undefined): Difference | undefined {
    const was = this.locked.instructions
    if (was === is || this.#ignoredIn([INSTRUCTIONS]) === undefined) return undefined
    if (was === undefined) return this.#difference(INSTRUCTIONS, '', 'added')
    if (is === undefined) return this.#difference(INSTRUCTIONS, '', 'removed')
    const tree = (text: string): JsonTree => treeText(treeOf(textOf(text)))
    return this.#difference(INSTRUCTIONS, '', 'changed', [{ path: [], was: tree(was), is: tree(is) }])
  }

  /** Returns the locked items of a list that the server no longer sends. */
  removed(list: LockedList, sent: { has(own: string): boolean }): readonly Difference[] {
    return [...this.locked[list].keys()]
      .filter(own => !sent.has(own) && this.#ignoredIn([list, own]) !== undefined)
      .map(own => this.#difference(list, own, 'removed'))
  }

  /** Compares everything that the server sent. */
  all(sent: SentServer): readonly Difference[] {
    const items = (list: LockedList) =>
      [...sent[list]].flatMap(([own, item]) => this.item(list, own, item) ?? [])
    return [
      ...[this.instructions(sent.instructions)].filter(found => found !== undefined),
      ...LOCKED_LISTS.flatMap(list =>
        [...items(list), ...this.removed(list, sent[list])].sort((one, other) =>
          one.name < other.name ? -1 : 1,
        ),
      ),
    ]
  }

  /**
   * Returns the next part of the lock file: what the server sent without the ignored parts, or only the
   * `accepted` items of it, and the locked ones otherwise.
   */
  next(sent: SentServer, accepted?: ReadonlySet<string>): LockedServer {
    const items = (list: LockedList) => {
      const all = new Map(accepted && this.locked[list])
      for (const own of accepted ?? sent[list].keys()) {
        const item = sent[list].get(own)
        const variants = item && this.#nextOf(list, own, item)
        if (variants === undefined) all.delete(own)
        else all.set(own, variants)
      }
      return all
    }
    const isKept = accepted?.has(INSTRUCTIONS) === false
    const isIgnored = this.#ignoredIn([INSTRUCTIONS]) === undefined
    return {
      instructions: isKept ? this.locked.instructions : isIgnored ? undefined : sent.instructions,
      ...{ tools: items('tools'), prompts: items('prompts'), templates: items('templates') },
    }
  }

  #nextOf(list: LockedList, own: string, item: JsonText): readonly JsonTree[] | undefined {
    const ignored = this.#ignoredIn([list, own])
    const variants = this.locked[list].get(own) ?? []
    // People wrote several variants; one equal variant is enough.
    if (variants.length > 1 && this.item(list, own, item) === undefined) return ignored && variants
    return ignored && [withoutPaths(definitionOf(item), ignored)]
  }

  #difference(
    list: keyof typeof DEFINITION_KINDS,
    name: string,
    change: Difference['change'],
    fields: Difference['fields'] = [],
  ): Difference {
    return { server: this.server, kind: DEFINITION_KINDS[list], name, change, fields }
  }

  /** Returns the paths to ignore in a part of the server; undefined if all of it is ignored. */
  #ignoredIn(part: readonly string[]): readonly IgnoredPath[] | undefined {
    const place = ['servers', this.server, ...part]
    const paths = this.#ignore
      .filter(path => place.every((key, at) => at >= path.length || path[at] === '*' || path[at] === key))
      .map(path => path.slice(place.length))
    return paths.some(({ length }) => length === 0) ? undefined : paths
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
    path: shownText(path.map(pointerStep).join('')),
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

import { DEFINITION_KINDS, type DefinitionKind, type SentServer } from './definitions.js'
import { elementsOf, type JsonText, kindOf, memberOf, membersOf, stringOf } from './json/text.js'
import { LOCKED_LISTS, type LockedList } from './lock-file.js'

/** A text of a server that models read. */
export interface ModelText {
  /** The server's own name of the tool, prompt or template; empty for instructions. */
  readonly item: string
  readonly kind: DefinitionKind
  /** The member, such as `description`, or its place, such as `inputSchema/properties/a/title`. */
  readonly member: string
  readonly text: string
}

const MEMBERS = ['name', 'title', 'description', 'annotations', 'arguments', 'inputSchema', 'outputSchema']
const SHOWN: ReadonlySet<string> = new Set(['name', 'title', 'description'])
/** Maximum depth at which descriptions are read in a schema. */
const DEPTH_MAX = 32

/** Returns the names, titles, descriptions, also of arguments, and instructions of a server. */
export const modelTexts = (sent: SentServer): readonly ModelText[] => [
  ...(sent.instructions === undefined
    ? []
    : [{ item: '', kind: 'instructions', member: 'instructions', text: sent.instructions } as const]),
  ...LOCKED_LISTS.flatMap(list => [...sent[list]].flatMap(([own, item]) => textsOfItem(list, own, item))),
]

const textsOfItem = (list: LockedList, own: string, item: JsonText): readonly ModelText[] =>
  MEMBERS.flatMap(member => {
    const value = memberOf(item, member)
    const found = value === undefined ? [] : textsIn(value, member, SHOWN.has(member), 0)
    return found.map(each => ({ ...each, item: own, kind: DEFINITION_KINDS[list] }))
  })

/** Returns the titles and descriptions in a value, or the value itself if it is shown. */
const textsIn = (
  value: JsonText,
  member: string,
  isShown: boolean,
  depth: number,
): readonly Pick<ModelText, 'member' | 'text'>[] => {
  const kind = kindOf(value)
  if (kind === 'string') return isShown ? [{ member, text: stringOf(value) ?? '' }] : []
  if (depth > DEPTH_MAX) return []
  if (kind === 'array')
    return [...elementsOf(value)].flatMap((each, at) => textsIn(each, `${member}/${at}`, false, depth + 1))
  if (kind !== 'object') return []
  return [...membersOf(value)].flatMap(({ key, value: each }) =>
    textsIn(each, `${member}/${key}`, SHOWN.has(key), depth + 1),
  )
}

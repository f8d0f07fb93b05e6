import type { SentServer } from './definitions.js'
import { elementsOf, type JsonText, kindOf, memberOf, membersOf, stringOf } from './json/text.js'

/** A text of a server that models read. */
export interface ModelText {
  /** The server's own name of the tool, prompt or template; empty for instructions. */
  readonly item: string
  readonly kind: 'tool' | 'prompt' | 'template' | 'instructions'
  /** The member, such as `description`, or its place, such as `inputSchema/properties/a/title`. */
  readonly member: string
  readonly text: string
}

const KINDS = { tools: 'tool', prompts: 'prompt', templates: 'template' } as const
const SHOWN: ReadonlySet<string> = new Set(['name', 'title', 'description'])
/** Maximum depth at which descriptions are read in a schema. */
const DEPTH_MAX = 32

/** Returns the names, titles, descriptions, also of arguments, and instructions of a server. */
export const modelTexts = (sent: SentServer): readonly ModelText[] => [
  ...(sent.instructions === undefined
    ? []
    : [{ item: '', kind: 'instructions', member: 'instructions', text: sent.instructions } as const]),
  ...(['tools', 'prompts', 'templates'] as const).flatMap(list =>
    [...sent[list]].flatMap(([item, text]) =>
      ['name', 'title', 'description', 'annotations', 'arguments', 'inputSchema', 'outputSchema'].flatMap(
        member => {
          const value = memberOf(text, member)
          return value === undefined
            ? []
            : textsIn(value, member, SHOWN.has(member), 0).map(found => ({
                ...found,
                ...{ item, kind: KINDS[list] },
              }))
        },
      ),
    ),
  ),
]

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

import { editMember } from '../../kernel/json/edit.js'
import {
  editMembers,
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  rawText,
  some,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import { LISTS, type ListName } from '../../model/listing.js'
import {
  type Kinds,
  keepKind,
  keepKinds,
  kindsOf,
  type Note,
  type Repair,
  repairAnnotations,
  repairIcons,
} from './parts.js'
import { skillProblem } from './skills.js'

/** A repaired item with its identity and its repairs, or the reason to hide it. */
export type Repaired =
  | {
      readonly item: JsonText
      readonly own: string
      readonly notes: readonly string[]
    }
  | { readonly dropped: string }

/** The members that must not occur twice. */
const UNIQUE: Readonly<Record<ListName, ReadonlySet<string>>> = {
  tools: new Set(['name', 'inputSchema']),
  prompts: new Set(['name']),
  resources: new Set(['uri']),
  templates: new Set(['uriTemplate']),
  skills: new Set(['uri', 'frontmatter', 'resources']),
}

const OBJECT = textOf('object')
const ANY_OBJECT = rawText('{"type":"object"}')
const TASK_SUPPORT: ReadonlySet<string | undefined> = new Set(['forbidden', 'optional', 'required'])

/** Repairs an item of a list, or drops it, since clients reject a whole list for one bad item. */
export const repairItem = (list: ListName, item: JsonText): Repaired => {
  if (kindOf(item) !== 'object') return { dropped: `it is not an object but ${kindOf(item)}` }
  const notes: string[] = []
  const note: Note = words => {
    if (!notes.includes(words)) notes.push(words)
  }
  const unique = new Map<string, JsonText>()
  let twice: string | undefined
  const kept = editMembers(item, at => {
    const { key } = at
    if (!UNIQUE[list].has(key)) return keepKind(at, OPTIONAL[list], note)
    if (unique.has(key)) twice ??= key
    else unique.set(key, at.value)
    return true
  })
  const { identity } = LISTS[list]
  const own = stringOf(unique.get(identity))
  if (own === undefined) return { dropped: `its ${identity} is not a string` }
  if (twice !== undefined) return { dropped: `it has two members ${twice}` }
  const repaired = COMPLETED[list](kept, note, unique)
  return typeof repaired === 'string' ? { dropped: repaired } : { item: repaired, own, notes }
}

/**
 * Adds members that clients require, or returns the reason to hide the item. `unique` holds the members that
 * must not occur twice.
 */
type Complete = (item: JsonText, note: Note, unique: ReadonlyMap<string, JsonText>) => JsonText | string

/** Ensures that a tool has an input schema. */
const completeTool: Complete = (tool, note, unique) => {
  const schema = unique.get('inputSchema')
  const input = repairInput(schema, note)
  if (input === undefined) return 'its inputSchema does not describe an object'
  return input === schema ? tool : withMember(tool, 'inputSchema', input)
}

/** Repairs the schema of a tool's arguments; undefined if it does not describe an object. */
const repairInput = (schema: JsonText | undefined, note: Note): JsonText | undefined => {
  if (schema === undefined || kindOf(schema) !== 'object') {
    note('added an inputSchema: it was missing or not an object')
    return ANY_OBJECT
  }
  const type = memberOf(schema, 'type')
  if (stringOf(type) === 'object') return keepKinds(schema, SCHEMA, note)
  if (type !== undefined && kindOf(type) !== 'null' && !allowsObject(type)) return undefined
  note('set the type of inputSchema to object')
  return keepKinds(withMember(schema, 'type', OBJECT), SCHEMA, note)
}

/** `"type": ["object", "null"]`: clients want the one word, and arguments are never null. */
const allowsObject = (type: JsonText): boolean => some(elementsOf(type), name => stringOf(name) === 'object')

/** Clients require a name, so a resource or template without one is named by its URI. */
const completeResource =
  (identity: 'uri' | 'uriTemplate'): Complete =>
  (resource, note, unique) => {
    const uri = unique.get(identity)
    if (uri === undefined || stringOf(memberOf(resource, 'name')) !== undefined) return resource
    note(`named it by its ${identity}`)
    return withMember(resource, 'name', uri)
  }

const COMPLETED: Readonly<Record<ListName, Complete>> = {
  tools: completeTool,
  prompts: prompt => prompt,
  resources: completeResource('uri'),
  templates: completeResource('uriTemplate'),
  skills: (skill, _, members) => skillProblem(members) ?? skill,
}

const repairRequired: Repair = (names, note) =>
  mapElements(names, name => {
    if (kindOf(name) === 'string') return name
    note(`removed an entry of required that is not a string but ${kindOf(name)}`)
    return undefined
  })

const repairExecution: Repair = (execution, note) =>
  editMember(execution, 'taskSupport', support => {
    if (TASK_SUPPORT.has(stringOf(support))) return support
    note('removed taskSupport: its value is not allowed')
    return undefined
  })

const repairArguments: Repair = (list, note) =>
  mapElements(list, argument => {
    if (stringOf(memberOf(argument, 'name')) !== undefined) return keepKinds(argument, ARGUMENT, note)
    note('removed an argument: it has no name')
    return undefined
  })

/** Members of a schema's root. Go servers write empty maps and slices as `null`. */
const SCHEMA = kindsOf({ properties: 'object', $schema: 'string' }, { required: ['array', repairRequired] })

const HINTS = kindsOf({
  title: 'string',
  readOnlyHint: 'boolean',
  destructiveHint: 'boolean',
  idempotentHint: 'boolean',
  openWorldHint: 'boolean',
})

const ARGUMENT = kindsOf({ title: 'string', description: 'string', required: 'boolean' })

const SHOWN = { title: 'string', description: 'string', _meta: 'object' } as const
const ICONS = { icons: ['array', repairIcons] } as const
const RESOURCE = { ...ICONS, annotations: ['object', repairAnnotations] } as const

const OPTIONAL: Readonly<Record<ListName, Kinds>> = {
  tools: kindsOf(SHOWN, {
    ...ICONS,
    annotations: ['object', (hints, note) => keepKinds(hints, HINTS, note)],
    outputSchema: ['object', (schema, note) => keepKinds(schema, SCHEMA, note)],
    execution: ['object', repairExecution],
  }),
  prompts: kindsOf(SHOWN, { ...ICONS, arguments: ['array', repairArguments] }),
  resources: kindsOf({ ...SHOWN, mimeType: 'string', size: 'number' }, RESOURCE),
  templates: kindsOf({ ...SHOWN, mimeType: 'string' }, RESOURCE),
  skills: kindsOf({ _meta: 'object' }),
}

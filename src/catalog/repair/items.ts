import { editMember } from '../../kernel/json/edit.js'
import {
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  rawText,
  repeatedKey,
  some,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import type { ListName } from '../../model/listing.js'
import { type Kinds, keepKinds, type Note, repairIcons, repairShown } from './parts.js'

/** A repaired item and what was done to it, or why it cannot be shown. */
export type Repaired =
  | { readonly item: JsonText; readonly notes: readonly string[] }
  | { readonly dropped: string }

const SHOWN: Kinds = { title: 'string', description: 'string', icons: 'array', _meta: 'object' }
const RESOURCE: Kinds = { ...SHOWN, mimeType: 'string', annotations: 'object' }

const OPTIONAL: Readonly<Record<ListName, Kinds>> = {
  tools: { ...SHOWN, annotations: 'object', outputSchema: 'object', execution: 'object' },
  prompts: { ...SHOWN, arguments: 'array' },
  resources: { ...RESOURCE, size: 'number' },
  templates: RESOURCE,
}

const ARGUMENT: Kinds = { title: 'string', description: 'string', required: 'boolean' }

const HINTS: Kinds = {
  title: 'string',
  readOnlyHint: 'boolean',
  destructiveHint: 'boolean',
  idempotentHint: 'boolean',
  openWorldHint: 'boolean',
}

/** The members that identify an item: strings that must not be repeated. */
const IDENTITY = { tools: 'name', prompts: 'name', resources: 'uri', templates: 'uriTemplate' } as const

const OBJECT = textOf('object')
const ANY_OBJECT = rawText('{"type":"object"}')
const TASK_SUPPORT: ReadonlySet<string | undefined> = new Set(['forbidden', 'optional', 'required'])

/** Repairs an item of a list, or drops it, since clients refuse a whole list for one bad item. */
export const repairItem = (list: ListName, item: JsonText): Repaired => {
  const identity = IDENTITY[list]
  if (kindOf(item) !== 'object') return { dropped: `it is no object but ${kindOf(item)}` }
  if (stringOf(memberOf(item, identity)) === undefined)
    return { dropped: `it has no text as its ${identity}` }
  const twice = repeatedKey(item, new Set([identity, 'inputSchema']))
  if (twice !== undefined) return { dropped: `it has two members ${twice}` }
  const notes = new Set<string>()
  const note: Note = words => notes.add(words)
  const kept = keepKinds(item, OPTIONAL[list], note)
  const repaired = REPAIRS[list](kept, note)
  return repaired === undefined
    ? { dropped: 'its inputSchema does not describe an object' }
    : { item: repaired, notes: [...notes] }
}

const repairTool = (tool: JsonText, note: Note): JsonText | undefined => {
  const input = repairInput(memberOf(tool, 'inputSchema'), note)
  if (input === undefined) return undefined
  const icons = editMember(withMember(tool, 'inputSchema', input), 'icons', list => repairIcons(list, note))
  const output = editMember(icons, 'outputSchema', schema => repairRoot(schema, note))
  const hints = editMember(output, 'annotations', annotations => keepKinds(annotations, HINTS, note))
  return editMember(hints, 'execution', execution =>
    editMember(execution, 'taskSupport', support => {
      if (TASK_SUPPORT.has(stringOf(support))) return support
      note('removed taskSupport: its value is not allowed')
      return undefined
    }),
  )
}

/** Repairs the schema of a tool's arguments; undefined if it does not describe an object. */
const repairInput = (schema: JsonText | undefined, note: Note): JsonText | undefined => {
  if (schema === undefined || kindOf(schema) !== 'object') {
    note('made an inputSchema: there was no object')
    return ANY_OBJECT
  }
  const type = memberOf(schema, 'type')
  if (stringOf(type) === 'object') return repairRoot(schema, note)
  if (type !== undefined && kindOf(type) !== 'null' && !allowsObject(type)) return undefined
  note('set the type of inputSchema to object')
  return repairRoot(withMember(schema, 'type', OBJECT), note)
}

/** `"type": ["object", "null"]`: clients want the one word, and arguments are never null. */
const allowsObject = (type: JsonText): boolean => some(elementsOf(type), name => stringOf(name) === 'object')

/** Removes members of the wrong kind: Go servers write empty maps and slices as `null`. */
const repairRoot = (schema: JsonText, note: Note): JsonText => {
  const kept = keepKinds(schema, { properties: 'object', required: 'array', $schema: 'string' }, note)
  return editMember(kept, 'required', names =>
    mapElements(names, name => {
      if (kindOf(name) === 'string') return name
      note(`removed what is no name from required: it was ${kindOf(name)}`)
      return undefined
    }),
  )
}

const repairPrompt = (prompt: JsonText, note: Note): JsonText =>
  editMember(repairShown(prompt, note), 'arguments', list =>
    mapElements(list, argument => {
      if (stringOf(memberOf(argument, 'name')) !== undefined) return keepKinds(argument, ARGUMENT, note)
      note('removed an argument: it has no name')
      return undefined
    }),
  )

/** A resource or template; clients require a name, so one without is named by its URI. */
const repairResource =
  (identity: 'uri' | 'uriTemplate') =>
  (resource: JsonText, note: Note): JsonText => {
    const uri = memberOf(resource, identity)
    const shown = repairShown(resource, note)
    if (uri === undefined || stringOf(memberOf(resource, 'name')) !== undefined) return shown
    note(`named it by its ${identity}`)
    return withMember(shown, 'name', uri)
  }

const REPAIRS: Readonly<Record<ListName, (item: JsonText, note: Note) => JsonText | undefined>> = {
  tools: repairTool,
  prompts: repairPrompt,
  resources: repairResource('uri'),
  templates: repairResource('uriTemplate'),
}

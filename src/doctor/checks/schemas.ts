import { type Cause, cause } from '../../diagnostics/explain.js'
import { isObject } from '../../kernel/object.js'
import type { CheckCode } from '../finding.js'

type Defect = Cause<Extract<CheckCode, `D061${string}`>>

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const
const NAME_CHARS = 64
/** Limits recursion into schemas of servers. */
const DEPTH_MAX = 12

/** Returns the parts of an input schema that model APIs reject, worst first. */
export const schemaDefects = (tool: string, schema: unknown, server = ''): readonly Defect[] => {
  if (!isObject(schema)) return []
  const union = UNIONS.find(key => Array.isArray(schema[key]))
  const top = union === undefined ? [] : [cause('D061.union', { tool, union, clients: 'Claude' }, server)]
  const found = new Set<SchemaDefect>()
  walk(schema, 0, found)
  return [
    ...top,
    ...[...found].map(({ code, clients }) => cause(code, { tool, clients, characters: NAME_CHARS }, server)),
  ]
}

type Schema = Readonly<Record<string, unknown>>

const walk = (schema: unknown, depth: number, found: Set<SchemaDefect>): void => {
  if (!isObject(schema) || depth > DEPTH_MAX) return
  for (const defect of DEFECTS) if (defect.isIn(schema)) found.add(defect)
  for (const each of innerOf(schema)) walk(each, depth + 1, found)
}

const membersOf = (value: unknown): Schema => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])
const namesIn = ({ properties }: Schema): readonly string[] => Object.keys(membersOf(properties))

/** A defect of a part of a schema, and the clients it affects. */
interface SchemaDefect {
  readonly code: 'D061.items' | 'D061.several' | 'D061.required' | 'D061.long'
  readonly clients: string
  readonly isIn: (schema: Schema) => boolean
}

const DEFECTS: readonly SchemaDefect[] = [
  {
    code: 'D061.items',
    clients: 'OpenAI and Gemini',
    isIn: ({ type, items, prefixItems }) =>
      [type, ...listOf(type)].includes('array') && items === undefined && prefixItems === undefined,
  },
  {
    code: 'D061.several',
    clients: 'Gemini',
    isIn: ({ items }) => Array.isArray(membersOf(items)['type']) || Array.isArray(membersOf(items)['anyOf']),
  },
  {
    code: 'D061.required',
    clients: 'Gemini',
    isIn: schema =>
      listOf(schema['required']).some(name => typeof name === 'string' && !namesIn(schema).includes(name)),
  },
  {
    code: 'D061.long',
    clients: 'OpenAI and Claude',
    isIn: schema => namesIn(schema).some(name => name.length > NAME_CHARS),
  },
]

const innerOf = (schema: Schema): readonly unknown[] => [
  ...Object.values(membersOf(schema['properties'])),
  ...UNIONS.flatMap(key => listOf(schema[key])),
  ...Object.values(membersOf(schema['$defs'])),
  schema['items'],
]

import { isObject } from '../../kernel/object.js'

/** A defect of a schema, and the clients it affects. */
export interface SchemaDefect {
  readonly clients: string
  readonly why: string
}

const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const
const NAME_CHARS = 64
/** Limits recursion into schemas of servers. */
const DEPTH_MAX = 12

/** Returns the parts of an input schema that model APIs reject, worst first. */
export const schemaDefects = (schema: unknown): readonly SchemaDefect[] => {
  if (!isObject(schema)) return []
  const union = UNIONS.find(key => Array.isArray(schema[key]))
  const top =
    union === undefined
      ? []
      : [{ clients: 'Claude', why: `it has ${union} at the top, for which the whole request is refused` }]
  const found = new Map<string, SchemaDefect>()
  walk(schema, 0, defect => found.set(defect.why, defect))
  return [...top, ...found.values()]
}

type Schema = Readonly<Record<string, unknown>>

const walk = (schema: unknown, depth: number, tell: (defect: SchemaDefect) => void): void => {
  if (!isObject(schema) || depth > DEPTH_MAX) return
  for (const [clients, why, isIt] of DEFECTS) if (isIt(schema)) tell({ clients, why })
  for (const each of innerOf(schema)) walk(each, depth + 1, tell)
}

const membersOf = (value: unknown): Schema => (isObject(value) ? value : {})
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])
const namesIn = ({ properties }: Schema): readonly string[] => Object.keys(membersOf(properties))

const DEFECTS: readonly (readonly [clients: string, why: string, isIt: (schema: Schema) => boolean])[] = [
  [
    'OpenAI and Gemini',
    'it has an array without items',
    ({ type, items, prefixItems }) =>
      [type, ...listOf(type)].includes('array') && items === undefined && prefixItems === undefined,
  ],
  [
    'Gemini',
    'items of an array have several types',
    ({ items }) => Array.isArray(membersOf(items)['type']) || Array.isArray(membersOf(items)['anyOf']),
  ],
  [
    'Gemini',
    'it requires a property that it does not have',
    schema =>
      listOf(schema['required']).some(name => typeof name === 'string' && !namesIn(schema).includes(name)),
  ],
  [
    'OpenAI and Claude',
    `the name of a property is longer than ${NAME_CHARS} characters`,
    schema => namesIn(schema).some(name => name.length > NAME_CHARS),
  ],
]

const innerOf = (schema: Schema): readonly unknown[] => [
  ...Object.values(membersOf(schema['properties'])),
  ...UNIONS.flatMap(key => listOf(schema[key])),
  ...Object.values(membersOf(schema['$defs'])),
  schema['items'],
]

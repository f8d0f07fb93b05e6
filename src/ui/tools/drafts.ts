// Converts between a JSON schema, the form made from it, and the resulting value.

/** The supported part of a JSON schema. Servers send it, so that any member may be invalid. */
export interface Schema {
  readonly type?: unknown
  readonly title?: unknown
  readonly description?: unknown
  readonly enum?: unknown
  readonly default?: unknown
  readonly properties?: unknown
  readonly required?: unknown
  readonly items?: unknown
}

export type Draft = string | readonly Draft[] | { readonly [key: string]: Draft }

export type Kind = 'string' | 'number' | 'boolean' | 'choice' | 'array' | 'object' | 'json'

/** Deeper or larger values are typed as JSON. */
const DEEPEST = 4
const MEMBERS = 100

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const asSchema = (value: unknown): Schema => (isRecord(value) ? value : {})

export const propertiesOf = ({ properties }: Schema): readonly (readonly [name: string, schema: Schema])[] =>
  isRecord(properties) ? Object.entries(properties).map(([name, schema]) => [name, asSchema(schema)]) : []

export const isRequired = ({ required }: Schema, name: string): boolean =>
  Array.isArray(required) && required.includes(name)

const SIMPLE: ReadonlyMap<unknown, Kind> = new Map([
  ['string', 'string'],
  ['boolean', 'boolean'],
  ['number', 'number'],
  ['integer', 'number'],
])

/** Returns the form control of a schema. */
export const fieldKindOf = (schema: Schema, depth = 0): Kind => {
  if (Array.isArray(schema.enum) && schema.enum.every(one => typeof one === 'string')) return 'choice'
  const simple = SIMPLE.get(schema.type)
  if (simple !== undefined) return simple
  if (depth >= DEEPEST) return 'json'
  if (schema.type === 'array') return isRecord(schema.items) ? 'array' : 'json'
  const { length } = propertiesOf(schema)
  return schema.type === 'object' && length > 0 && length <= MEMBERS ? 'object' : 'json'
}

/** Returns the initial contents of a form. */
export const emptyDraft = (schema: Schema, depth = 0): Draft => {
  const kind = fieldKindOf(schema, depth)
  if (kind === 'array') return []
  if (kind === 'object')
    return Object.fromEntries(propertiesOf(schema).map(([name, one]) => [name, emptyDraft(one, depth + 1)]))
  const { default: given } = schema
  if (given === undefined) return ''
  return typeof given === 'string' && kind !== 'json' ? given : JSON.stringify(given)
}

export const draftMemberOf = (draft: Draft, name: string): Draft =>
  isRecord(draft) && Object.hasOwn(draft, name) ? (draft[name] as Draft) : ''

/** The typed value, undefined if empty; or the problem and its place. */
export type Read = { readonly value: unknown } | { readonly problem: string }

const NONE: Read = { value: undefined }

export const readDraft = (schema: Schema, draft: Draft, at = '', depth = 0): Read => {
  const kind = fieldKindOf(schema, depth)
  if (kind === 'object') return readMembers(schema, draft, at, depth)
  if (kind === 'array') {
    const all = (Array.isArray(draft) ? (draft as readonly Draft[]) : []).map((one, n) =>
      readDraft(asSchema(schema.items), one, `${at}[${n}]`, depth + 1),
    )
    const wrong = all.find(one => 'problem' in one)
    if (wrong !== undefined) return wrong
    const values = all.flatMap(one => ('value' in one && one.value !== undefined ? [one.value] : []))
    return values.length === 0 ? NONE : { value: values }
  }
  return readText(kind, typeof draft === 'string' ? draft : '', at)
}

const readText = (kind: Kind, text: string, at: string): Read => {
  if (text === '') return NONE
  if (kind === 'string' || kind === 'choice') return { value: text }
  if (kind === 'boolean') return { value: text === 'true' }
  if (kind === 'number') {
    const value = Number(text)
    return Number.isFinite(value) ? { value } : { problem: `${at || 'it'} must be a number` }
  }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: `${at || 'it'} must be JSON` }
  }
}

const readMembers = (schema: Schema, draft: Draft, at: string, depth: number): Read => {
  const members: [string, unknown][] = []
  for (const [name, one] of propertiesOf(schema)) {
    const path = at === '' ? name : `${at}.${name}`
    const read = readDraft(one, draftMemberOf(draft, name), path, depth + 1)
    if ('problem' in read) return read
    if (read.value !== undefined) members.push([name, read.value])
    else if (isRequired(schema, name)) {
      if (fieldKindOf(one, depth + 1) !== 'array') return { problem: `${path} is required` }
      members.push([name, []])
    }
  }
  return members.length === 0 && depth > 0 ? NONE : { value: Object.fromEntries(members) }
}

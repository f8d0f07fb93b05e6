import { durationMs, type Quantity } from './duration.js'
import type { JsonSchema } from './json-schema.js'

/**
 * The text of settings.generated.ts, made from the documented schema: types, defaults and reload classes
 * of plain keys (values.ts), and the reload classes of all others.
 */
export const settingsCode = (schema: JsonSchema): string => {
  const groups = Object.entries(groupsOf(schema)).map(([name, group]) => [name, plainKeys(group)] as const)
  const reload = {
    server: reloadOf(serverOf(schema), ['reshown', 'retuned', 'replaced']),
    proxy: reloadOf(schema, ['live', 'restart']),
  }
  return [
    '// Written by `npm run build` (bin/build.mjs) from the schema of the configuration.\n',
    '/** The values of plain keys in the resolved configuration, by group. */',
    'export interface PlainSettings {',
    ...groups.map(([name, keys]) => `  readonly ${name}: {\n${keys.map(memberType).join('\n')}\n  }`),
    '}\n',
    '/** For each value its key, its default, and for a duration the shortest that is valid. */',
    'export const PLAIN_SETTINGS = {',
    ...groups.map(([name, keys]) => `  ${name}: {\n${keys.map(memberRow).join('\n')}\n  },`),
    '} as const\n',
    '/** The reload class of each value, by its name in the resolved configuration. */',
    'export const RELOAD = {',
    ...Object.entries(reload).map(([name, rows]) => `  ${name}: {\n${rows.map(reloadRow).join('\n')}\n  },`),
    '} as const\n',
  ].join('\n')
}

const part = (schema: JsonSchema | undefined): JsonSchema => {
  if (schema === undefined) throw new TypeError('the schema lacks a part')
  return schema
}

/** A member, in its object form. */
const member = (schema: JsonSchema, name: string): JsonSchema => {
  const found = part(schema.properties?.[name])
  return found.properties === undefined
    ? part(found.anyOf?.find(({ properties }) => properties !== undefined))
    : found
}

const serverOf = (schema: JsonSchema): JsonSchema =>
  part(schema.properties?.['mcpServers']?.additionalProperties)

const groupsOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> => {
  const server = serverOf(schema)
  const auth = member(schema, 'auth')
  return {
    proxy: schema,
    ...Object.fromEntries(PROXY_GROUPS.map(name => [name, member(schema, name)])),
    auth,
    embedded: member(auth, 'embedded'),
    server,
    restart: member(server, 'restart'),
  }
}

const PROXY_GROUPS = [
  'listen',
  'log',
  'metrics',
  'tracing',
  'daemon',
  'results',
  'cluster',
  'expose',
  'timeouts',
] as const

interface PlainKey {
  readonly key: string
  readonly name: string
  readonly type: string
  readonly schema: JsonSchema
  readonly isDuration: boolean
}

const plainKeys = (schema: JsonSchema): readonly PlainKey[] =>
  Object.entries(schema.properties ?? {}).flatMap(([key, each]) => {
    if (each['isPlain'] !== true) return []
    const isDuration = isDurationSchema(each)
    const type = isDuration ? 'number' : typeText(each)
    return [{ key, name: nameOf(key, each), type, schema: each, isDuration }]
  })

const nameOf = (key: string, schema: JsonSchema): string =>
  typeof schema['as'] === 'string' ? schema['as'] : key + (isDurationSchema(schema) ? 'Ms' : '')

const isDurationSchema = ({ anyOf = [] }: JsonSchema): boolean =>
  anyOf.some(({ pattern }) => /\(ms\|s\|m\|h\)/.test(String(pattern)))

const memberType = ({ name, type, schema }: PlainKey): string => {
  const text = String(schema['description']).replaceAll('*/', '*\\/')
  return `    /** ${text} */\n    readonly ${name}: ${type}${schema['default'] === undefined ? ' | undefined' : ''}`
}

const memberRow = ({ key, name, schema, isDuration }: PlainKey): string => {
  const { default: written, leastMs = 1 } = schema
  const fallback = isDuration ? numberText(durationMs(written as Quantity)) : JSON.stringify(written)
  const least = isDuration ? `, leastMs: ${String(leastMs)}` : ''
  return `    ${name}: { key: '${key}', fallback: ${fallback}${least} },`
}

const numberText = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? 'Number.POSITIVE_INFINITY' : String(value)

const typeText = (schema: JsonSchema): string => {
  const { anyOf, type, items } = schema
  const choices = Array.isArray(schema['enum']) ? (schema['enum'] as unknown[]) : undefined
  if (choices !== undefined) return choices.map(choice => JSON.stringify(choice)).join(' | ')
  // "off" becomes `Infinity`.
  if (anyOf !== undefined)
    return anyOf
      .filter(form => form['const'] !== 'off')
      .map(typeText)
      .join(' | ')
  if ('const' in schema) return JSON.stringify(schema['const'])
  if (type === 'array') return arrayText(typeText(items as JsonSchema))
  return type === 'integer' ? 'number' : String(type)
}

const arrayText = (element: string): string =>
  `readonly ${element.includes('|') ? `(${element})` : element}[]`

interface ReloadRow {
  readonly name: string
  readonly key: string
  readonly reload: string
}

const reloadRow = ({ name, key, reload }: ReloadRow): string =>
  `    ${name}: { key: '${key}', reload: '${reload}' },`

/** The reload classes of the keys of an object and of its groups, if they are among `classes`. */
const reloadOf = (schema: JsonSchema, classes: readonly string[]): readonly ReloadRow[] => {
  const rows = new Map<string, ReloadRow>()
  const add = (key: string, each: JsonSchema, name: string): void => {
    const { reload } = each
    // Several keys of a file may make one value.
    if (typeof reload !== 'string' || !classes.includes(reload) || rows.has(name)) return
    rows.set(name, { name, key, reload })
  }
  for (const [key, each] of Object.entries(schema.properties ?? {})) {
    add(key, each, nameOf(key, each))
    for (const [inner, one] of Object.entries(each.properties ?? {}))
      if (one['as'] !== undefined) add(`${key}.${inner}`, one, nameOf(inner, one))
  }
  return [...rows.values()]
}

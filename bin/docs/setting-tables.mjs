// The reference tables of settings, made from the annotated JSON Schema (src/config/schema/json-schema.ts).
import { linked, table } from './markdown.mjs'

/** Words for the reload classes of keys; see docs/configuration.md#changes-while-the-proxy-runs. */
const CHANGES = { live: 'live', reshown: 'live', retuned: 'live', replaced: 'reconnect', restart: 'restart' }

const HEADS = ['Key', 'Type', 'Default', 'Change', 'Description']

/** The table of the members of `schema`, without its last-but-one column if no key has a reload class. */
export const settingTable = (schema, { page, flatten = [], omit = [], only, lead = '' } = {}) => {
  const rows = rowsOf(schema, { flatten, lead, reload: undefined }).filter(
    ({ key }) => !omit.includes(key) && (only === undefined || only.includes(key)),
  )
  const hasReload = rows.some(({ reload }) => reload !== undefined)
  const kept = cells => (hasReload ? cells : cells.toSpliced(3, 1))
  return table(
    kept(HEADS),
    rows.map(row =>
      kept([
        `\`${row.key}\``,
        typeOf(row.schema),
        defaultOf(row),
        CHANGES[row.reload] ?? '',
        linked(row.schema.description ?? '', page),
      ]),
    ),
  )
}

/** The rows of limits: the key, its default, whether a server may have its own, its purpose and effect. */
export const limitTable = (limits, serverLimits) =>
  table(
    ['Key', 'Default', 'Server', 'Bounds', 'When reached'],
    Object.entries(limits.properties).map(([name, { description, reached, default: fallback }]) => [
      `\`${name}\``,
      `\`${fallback}\``,
      name in serverLimits.properties ? '✓' : '',
      description,
      reached,
    ]),
  )

const rowsOf = (schema, { flatten, lead, reload }) =>
  Object.entries(schema.properties).flatMap(([name, member]) => {
    const key = lead + name
    const ownReload = member.reload ?? reload
    const own = {
      key,
      schema: member,
      reload: ownReload,
      isRequired: (schema.required ?? []).includes(name),
    }
    const members = flatten.includes(key) ? objectIn(member) : undefined
    if (members === undefined) return [own]
    const inside = rowsOf(members, { flatten, lead: `${key}.`, reload: ownReload })
    return member.anyOf === undefined ? inside : [own, ...inside]
  })

/** The object form of a schema. */
export const objectIn = schema =>
  schema.properties ? schema : (schema.anyOf ?? []).find(form => form.properties)

const defaultOf = ({ schema, isRequired }) => {
  if (isRequired) return 'required'
  return schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``
}

const typeOf = schema => [...new Set(formsOf(schema))].join(', ')

const DURATION = /\(ms\|s\|m\|h\)/

const formsOf = schema => {
  if (schema.anyOf !== undefined) {
    const text = schema.anyOf.find(({ pattern }) => pattern !== undefined)?.pattern ?? ''
    if (DURATION.test(text)) return text.includes('off') ? ['duration', '`"off"`'] : ['duration']
    return schema.anyOf.flatMap(formsOf)
  }
  if (schema.enum !== undefined) return schema.enum.map(value => `\`${JSON.stringify(value)}\``)
  if (schema.const !== undefined) return [`\`${JSON.stringify(schema.const)}\``]
  if (schema.type === 'array') return ['list']
  if (schema.type !== 'object') return [schema.type]
  return [schema.properties === undefined ? 'map' : 'object']
}

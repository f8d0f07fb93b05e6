import { suggest } from '../../config/schema/suggest.js'
import {
  at,
  EMPTY,
  elementsOf,
  type JsonKind,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  readJson,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import { CliError, EXIT } from '../shared/verb.js'

/**
 * Builds a tool's arguments: the object of `--args` plus each `key=value`, typed by the input schema. Numbers
 * stay as written. Throws a CliError that names the invalid argument.
 */
export const toolArguments = (
  pairs: readonly string[],
  args: string | undefined,
  schema: JsonText | undefined,
): JsonText => {
  let text = args === undefined ? EMPTY : readObject(args)
  const seen = new Set<string>()
  for (const pair of pairs) {
    const cut = pair.indexOf('=')
    if (cut < 1) throw usage(`"${pair}" is not key=value`)
    const key = pair.slice(0, cut)
    if (seen.has(key)) throw usage(`${key} is given twice; write an array as JSON: ${key}='["a","b"]'`)
    seen.add(key)
    text = withMember(text, key, readValue(key, pair.slice(cut + 1), schema))
  }
  return text
}

const usage = (message: string): CliError => new CliError(EXIT.usage, message)

const parsed = (text: string): JsonText | undefined => {
  try {
    return readJson(Buffer.from(text))
  } catch {
    return undefined
  }
}

const readObject = (args: string): JsonText => {
  const text = parsed(args)
  if (text === undefined) throw usage('--args is not valid JSON')
  if (kindOf(text) !== 'object') throw usage(`--args must be a JSON object, not ${phrase(kindOf(text))}`)
  return text
}

const readValue = (key: string, value: string, schema: JsonText | undefined): JsonText => {
  const properties = schema && memberOf(schema, 'properties')
  const property = properties && memberOf(properties, key)
  if (property === undefined) checkKnown(key, schema)
  const kinds = property === undefined ? [] : kindsOf(property)
  const json = parsed(value)
  if (kinds.length === 0) return json ?? textOf(value)
  if (json !== undefined && kindOf(json) !== 'string' && kinds.includes(kindOf(json))) return json
  if (kinds.includes('string')) return textOf(value)
  const wanted = kinds.map(phrase).join(' or ')
  throw usage(`${key} must be ${wanted}${kinds.some(isNested) ? ' in JSON' : ''}, not "${value}"`)
}

/** Reports a typo before the call if the schema forbids additional members. */
const checkKnown = (key: string, schema: JsonText | undefined): void => {
  if (schema === undefined || memberOf(schema, 'additionalProperties')?.toString('latin1') !== 'false') return
  if (memberOf(schema, 'patternProperties') !== undefined) return
  const properties = at(schema, 'properties')
  const known = properties === undefined ? [] : [...membersOf(properties)].map(member => member.key)
  const meant = suggest(key, known)
  const others = known.length > 0 ? `; it has ${known.join(', ')}` : ''
  const hint = meant === undefined ? others : `; did you mean ${meant}?`
  throw usage(`the tool has no argument "${key}"${hint}`)
}

const KINDS: Readonly<Record<string, JsonKind>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
  null: 'null',
}

/** Returns the kinds of value that a schema allows; empty if it does not declare them without references. */
const kindsOf = (schema: JsonText): JsonKind[] => {
  const type = memberOf(schema, 'type')
  if (type !== undefined) {
    const names = kindOf(type) === 'array' ? [...elementsOf(type)] : [type]
    return names.flatMap(name => KINDS[stringOf(name) ?? ''] ?? [])
  }
  const choices = memberOf(schema, 'enum')
  if (choices !== undefined) return [...elementsOf(choices)].map(kindOf)
  const options = memberOf(schema, 'anyOf') ?? memberOf(schema, 'oneOf')
  if (options === undefined) return []
  const found = [...elementsOf(options)].map(kindsOf)
  // A branch without a type may allow anything.
  return found.some(kinds => kinds.length === 0) ? [] : [...new Set(found.flat())]
}

const isNested = (kind: JsonKind): boolean => kind === 'array' || kind === 'object'

const phrase = (kind: JsonKind): string => {
  if (kind === 'null') return 'null'
  return `${/^[ao]/.test(kind) ? 'an' : 'a'} ${kind}`
}

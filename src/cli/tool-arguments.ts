import { suggest } from '../config/schema/suggest.js'
import {
  at,
  elementsOf,
  type JsonKind,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  rawText,
  readJson,
  stringOf,
  textOf,
  withMember,
} from '../kernel/json/text.js'
import { CliError, EXIT } from './verb.js'

const EMPTY = rawText('{}')

/**
 * The arguments of a tool: the object of `--args` with each `key=value` put into it, by the tool's input schema. Numbers
 * stay as they are written. Throws a CliError that says which argument is wrong.
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
    if (cut < 1) throw usage(`"${pair}" is no key=value`)
    const key = pair.slice(0, cut)
    if (seen.has(key)) throw usage(`${key} is given twice; write a list as JSON: ${key}='["a","b"]'`)
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

/** A schema that says so takes no members beside those that it names; a typo is told before the server is asked. */
const checkKnown = (key: string, schema: JsonText | undefined): void => {
  if (schema === undefined || memberOf(schema, 'additionalProperties')?.toString('latin1') !== 'false') return
  if (memberOf(schema, 'patternProperties') !== undefined) return
  const properties = at(schema, 'properties')
  const known = properties === undefined ? [] : [...membersOf(properties)].map(member => member.key)
  const meant = suggest(key, known)
  throw usage(
    `the tool has no argument "${key}"` +
      (meant !== undefined
        ? `; did you mean ${meant}?`
        : known.length > 0
          ? `; it has ${known.join(', ')}`
          : ''),
  )
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

/** The kinds of value that a schema takes, as far as it says so without being resolved; none if it does not. */
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
  // One branch that says nothing may take anything.
  return found.some(kinds => kinds.length === 0) ? [] : [...new Set(found.flat())]
}

const isNested = (kind: JsonKind): boolean => kind === 'array' || kind === 'object'

const phrase = (kind: JsonKind): string => {
  if (kind === 'null') return 'null'
  return `${/^[ao]/.test(kind) ? 'an' : 'a'} ${kind}`
}

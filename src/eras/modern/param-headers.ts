import { mayContain } from '../../kernel/json/edit.js'
import {
  EMPTY,
  type JsonText,
  kindOf,
  mapElements,
  mapMembers,
  memberOf,
  stringOf,
  withoutMember,
} from '../../kernel/json/text.js'
import { memoize } from '../../kernel/memoize.js'
import { shortName } from '../../kernel/secrets/mask.js'

// Servers mark tool arguments that clients repeat in headers, for routing (server/tools, "x-mcp-header";
// basic/transports/streamable-http, "Custom Headers from Tool Parameters").

const ANNOTATION = 'x-mcp-header'

/** The header annotations of a tool's `inputSchema`. */
export interface ParamHeaders {
  /** The path of the argument by header name, without `Mcp-Param-`. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  /** The problems of invalid annotations, for the log. */
  readonly invalid: readonly string[]
  /** The schema without invalid annotations; the same reference if there are none. */
  readonly schema: JsonText
}

/** A header name (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Excludes `number`, whose many spellings could not be compared. */
const TYPES: ReadonlySet<string | undefined> = new Set(['string', 'integer', 'boolean'])

/** Keywords whose value is one schema or a list of them. */
const SCHEMAS: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'contentSchema',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
])

/** Keywords whose value maps names to schemas. */
const MAPS: ReadonlySet<string> = new Set([
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])

/** Bounds the headers of one tool, each of which costs a lookup per call. */
const HEADERS_MAX = 100
/** Bounds the reported invalid annotations, and the length of each name. */
const REPORTED_MAX = 20
const SHOWN_LENGTH = 64

interface Found {
  readonly headers: Map<string, readonly string[]>
  /** At most `REPORTED_MAX`. */
  readonly invalid: string[]
  /** Names in lower case. */
  readonly taken: Set<string>
}

/** The position of a schema: its path, if it consists of `properties` only, and its description. */
interface Place {
  readonly path: readonly string[] | undefined
  readonly label: string
}

/**
 * Reads the annotations of a tool's `inputSchema`. Invalid ones are removed, because HTTP clients reject the
 * tool for them. Of two that differ only in case, the first counts.
 */
export const paramHeadersOf = (inputSchema: JsonText): ParamHeaders => {
  const found: Found = { headers: new Map(), invalid: [], taken: new Set() }
  // A quick check; any word of letters works.
  const isThere = mayContain(inputSchema, 'header')
  const schema = isThere ? withoutInvalid(inputSchema, { path: [], label: 'the root' }, found) : inputSchema
  return { headers: found.headers, invalid: found.invalid, schema }
}

/** Returns the headers of a listed tool; cached. */
export const headersOfTool = memoize(
  (tool: JsonText): ParamHeaders['headers'] => paramHeadersOf(memberOf(tool, 'inputSchema') ?? EMPTY).headers,
)

/** Removes invalid annotations from a schema and all of its subschemas. */
const withoutInvalid = (schema: JsonText, place: Place, found: Found): JsonText => {
  if (kindOf(schema) !== 'object') return schema
  const annotation = memberOf(schema, ANNOTATION)
  const kept = annotation === undefined || isValid(annotation, schema, place, found) ? schema : bare(schema)
  return mapMembers(kept, (key, value) => {
    if (key === 'properties') {
      return mapMembers(value, (name, property) => withoutInvalid(property, below(place, name), found))
    }
    const aside: Place = { path: undefined, label: `${place.label}, ${key}` }
    if (MAPS.has(key)) return mapMembers(value, (_, named) => withoutInvalid(named, aside, found))
    if (!SCHEMAS.has(key)) return value
    return kindOf(value) === 'array'
      ? mapElements(value, element => withoutInvalid(element, aside, found))
      : withoutInvalid(value, aside, found)
  })
}

const bare = (schema: JsonText): JsonText => withoutMember(schema, ANNOTATION)

const below = ({ path, label }: Place, name: string): Place => {
  const shown = shortName(name, SHOWN_LENGTH)
  if (path === undefined) return { path, label: `${label}, ${shown}` }
  return { path: [...path, name], label: path.length === 0 ? shown : `${label}.${shown}` }
}

/** Returns whether an annotation is valid; records the path of its argument, or the problem. */
const isValid = (annotation: JsonText, schema: JsonText, place: Place, found: Found): boolean => {
  const name = stringOf(annotation)
  const fault = problemOf(name, schema, place, found)
  if (name !== undefined && place.path !== undefined && fault === undefined) {
    found.taken.add(name.toLowerCase())
    found.headers.set(name, place.path)
    return true
  }
  if (found.invalid.length < REPORTED_MAX)
    found.invalid.push(`${ANNOTATION} at ${place.label} ${fault ?? 'is not allowed'}`)
  return false
}

const problemOf = (
  name: string | undefined,
  schema: JsonText,
  { path }: Place,
  { headers, taken }: Found,
): string | undefined => {
  if (path === undefined || path.length === 0) return 'is not on a property that is always there'
  if (name === undefined) return 'is not text'
  if (name === '') return 'is empty'
  if (!TOKEN.test(name)) return 'is not a valid header name'
  const type = stringOf(memberOf(schema, 'type'))
  if (!TYPES.has(type)) return `is on a value of type ${type ?? 'unknown'}, not string, integer or boolean`
  if (taken.has(name.toLowerCase())) return `repeats ${name}`
  return headers.size >= HEADERS_MAX ? `exceeds the maximum of ${HEADERS_MAX} annotations` : undefined
}

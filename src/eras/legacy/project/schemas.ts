import type { JsonCursor } from '../../../kernel/json/cursor.js'
import { editMember } from '../../../kernel/json/edit.js'
import { OPEN_OBJECT } from '../../../kernel/json/scan.js'
import {
  editMembers,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
  withoutMember,
} from '../../../kernel/json/text.js'

/** More deeply nested schemas stay unchanged. */
const MAX_LEVELS = 64

/** Keywords whose value is data rather than schemas. */
const DATA: ReadonlySet<string> = new Set([
  'const',
  'enum',
  'default',
  'examples',
  'example',
  'required',
  'type',
])

/** Keywords whose value maps names to schemas. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

interface SchemaEdits {
  /** Edits one schema, without its subschemas; undefined keeps the whole schema unchanged. */
  readonly schema?: (schema: JsonText) => JsonText | undefined
  /** Returns a replacement for a property that is not an object; true keeps it. */
  readonly property?: (at: JsonCursor) => JsonText | true
}

/** Edits a schema and all of its subschemas; returns the same reference if nothing changed. */
const editSchemas = (schema: JsonText, edits: SchemaEdits, level = 0): JsonText => {
  if (level > MAX_LEVELS || kindOf(schema) !== 'object') return schema
  const edited = edits.schema === undefined ? schema : edits.schema(schema)
  if (edited === undefined) return schema
  // Most schemas describe a string or a number and have no subschemas.
  if (!edited.includes(OPEN_OBJECT, 1)) return edited
  const inner = (value: JsonText): JsonText => editSchemas(value, edits, level + 1)
  return editMembers(edited, at => {
    if (at.kind !== 'object' && at.kind !== 'array') return true
    const { key, value } = at
    if (DATA.has(key)) return true
    if (MAPS.has(key)) {
      const other = key === 'properties' ? edits.property : undefined
      return editMembers(value, named =>
        named.kind === 'object' ? inner(named.value) : (other?.(named) ?? true),
      )
    }
    return at.kind === 'array' ? mapElements(value, inner) : inner(value)
  })
}

const ANYTHING = rawText('{}')
const NOTHING = rawText('{"not":{}}')

/**
 * Replaces properties that are not objects: SDK clients since 1.22 reject a whole list for `{"properties":
 * {"a": true}}`, which JSON Schema allows. `null` and other values are meaningless, but are rejected
 * likewise.
 */
export const withObjectProperties = (schema: JsonText): JsonText =>
  editSchemas(schema, { property: at => (at.valueIs('false') ? NOTHING : ANYTHING) })

const WRAPPED_ROOT = '#/properties/result'
const REFERENCES = ['$ref', '$dynamicRef']

/** Adjusts a reference to the root, or into it, to the new root. Anchors need no change. */
const moved = (reference: JsonText): JsonText => {
  const to = stringOf(reference)
  return to === '#' || to?.startsWith('#/') === true ? textOf(WRAPPED_ROOT + to.slice(1)) : reference
}

/**
 * Returns whether a schema is a document of its own because of its `$id` (JSON Schema core, 8.2.1), so that
 * `#` refers to it.
 */
const isDocument = (schema: JsonText): boolean => {
  const id = stringOf(memberOf(schema, '$id'))
  return id !== undefined && id !== '' && !id.startsWith('#')
}

/** Makes the schema of `{"result": <value>}`. */
const wrapSchema = (schema: JsonText): JsonText => {
  const dialect = memberOf(schema, '$schema')
  const inner = editSchemas(withoutMember(schema, '$schema'), {
    schema: one =>
      isDocument(one) ? undefined : REFERENCES.reduce((text, key) => editMember(text, key, moved), one),
  })
  return objectText([
    ...(dialect === undefined ? [] : [['$schema', dialect] as const]),
    ['type', rawText('"object"')],
    ['properties', objectText([['result', inner]])],
    ['required', rawText('["result"]')],
  ])
}

/**
 * Projects an `outputSchema` for clients before 2026-07-28, which require an object at the root: others are
 * wrapped, like results. Dropped if its root has no type, because the output could then have either form.
 */
export const projectOutputSchema = (schema: JsonText): JsonText | undefined => {
  const type = kindOf(schema) === 'object' ? stringOf(memberOf(schema, 'type')) : undefined
  if (type === undefined) return undefined
  return withObjectProperties(type === 'object' ? schema : wrapSchema(schema))
}

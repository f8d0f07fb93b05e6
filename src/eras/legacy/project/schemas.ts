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

/** Schemas nested deeper stay as they are. */
const MAX_LEVELS = 64

/** Keywords whose value is data, not schemas, however much it looks like one. */
const DATA: ReadonlySet<string> = new Set([
  'const',
  'enum',
  'default',
  'examples',
  'example',
  'required',
  'type',
])

/** Keywords whose value maps names of the schema's author to schemas. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

interface SchemaEdits {
  /** Edits one schema, without those inside; undefined leaves all of it alone. */
  readonly schema?: (schema: JsonText) => JsonText | undefined
  /** What to put in place of a property that is no object; true keeps it. */
  readonly property?: (at: JsonCursor) => JsonText | true
}

/** Edits a schema and every schema inside; the same reference if nothing changed. */
const editSchemas = (schema: JsonText, edits: SchemaEdits, level = 0): JsonText => {
  if (level > MAX_LEVELS || kindOf(schema) !== 'object') return schema
  const edited = edits.schema === undefined ? schema : edits.schema(schema)
  if (edited === undefined) return schema
  // Most describe a string or a number, with nothing inside.
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
 * Describes properties by objects only: SDK clients since 1.22 reject a whole list for `{"properties": {"a":
 * true}}`, which JSON Schema allows. `null` and the like mean nothing, and clients reject the list for them.
 */
export const withObjectProperties = (schema: JsonText): JsonText =>
  editSchemas(schema, { property: at => (at.valueIs('false') ? NOTHING : ANYTHING) })

const WRAPPED_ROOT = '#/properties/result'
const REFERENCES = ['$ref', '$dynamicRef']

/** Adjusts a reference to the root, or into it, to the new root. Anchors work anywhere. */
const moved = (reference: JsonText): JsonText => {
  const to = stringOf(reference)
  return to === '#' || to?.startsWith('#/') === true ? textOf(WRAPPED_ROOT + to.slice(1)) : reference
}

/** A schema with an `$id` is a document of its own (JSON Schema core, 8.2.1): `#` stays what it was. */
const isDocument = (schema: JsonText): boolean => {
  const id = stringOf(memberOf(schema, '$id'))
  return id !== undefined && id !== '' && !id.startsWith('#')
}

/** The schema of `{"result": <what the schema describes>}`. */
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
 * An `outputSchema` for clients before 2026-07-28, which need an object at the root: others are wrapped, as
 * results are. Dropped if its root has no type, as the output may then be in either form.
 */
export const projectOutputSchema = (schema: JsonText): JsonText | undefined => {
  const type = kindOf(schema) === 'object' ? stringOf(memberOf(schema, 'type')) : undefined
  if (type === undefined) return undefined
  return withObjectProperties(type === 'object' ? schema : wrapSchema(schema))
}

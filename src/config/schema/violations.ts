import { pointerStep } from '../../kernel/json/pointer.js'
import { isObject } from '../../kernel/object.js'

/** A schema of a configuration: the keywords of JSON Schema (draft 7) in use, and `fix`. */
export interface CheckedSchema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly CheckedSchema[]
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: CheckedSchema
  readonly required?: readonly string[]
  readonly propertyNames?: CheckedSchema
  readonly properties?: Readonly<Record<string, CheckedSchema>>
  readonly additionalProperties?: CheckedSchema | false
  /** Tells the user what to write instead of a value that violates the schema. */
  readonly fix?: string
}

/** A keyword that a value violates. */
export interface Violation {
  readonly keyword: keyof CheckedSchema
  /** The schema with the keyword. */
  readonly schema: CheckedSchema
  /** The value, or the name that violates `required`, `propertyNames` or `additionalProperties`. */
  readonly value: unknown
  /** The JSON Pointer (RFC 6901) of the value, or of the member with that name. */
  readonly place: string
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isNumber = (value: unknown): value is number => Number.isFinite(value)

/** Returns the length in code points, which JSON Schema counts. */
const lengthOf = (text: string): number => Array.from(text).length

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: isText,
  number: isNumber,
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
  array: Array.isArray,
  object: isObject,
}

type Tests = {
  readonly [Keyword in keyof CheckedSchema]?: (
    wanted: NonNullable<CheckedSchema[Keyword]>,
    value: unknown,
  ) => boolean
}

/** Keywords that test the value itself, not its members. Values of other types pass: `type` rejects them. */
const TESTS: Tests = {
  type: (types, value) => [types].flat().some(type => TYPES[type]?.(value)),
  const: (only, value) => value === only,
  enum: (choices, value) => choices.includes(value),
  anyOf: (forms, value) => forms.some(form => violationsOf(form, value).length === 0),
  minimum: (least, value) => !isNumber(value) || value >= least,
  exclusiveMinimum: (least, value) => !isNumber(value) || value > least,
  maximum: (most, value) => !isNumber(value) || value <= most,
  minLength: (least, value) => !isText(value) || lengthOf(value) >= least,
  maxLength: (most, value) => !isText(value) || lengthOf(value) <= most,
  pattern: (pattern, value) => !isText(value) || new RegExp(pattern).test(value),
  minItems: (least, value) => !Array.isArray(value) || value.length >= least,
  maxItems: (most, value) => !Array.isArray(value) || value.length <= most,
}

const TESTED = Object.keys(TESTS) as (keyof Tests)[]

/**
 * All keywords that a schema may have.
 *
 * @internal
 */
export const CHECKED_KEYWORDS: readonly (keyof CheckedSchema)[] = [
  ...TESTED,
  ...(['items', 'required', 'propertyNames', 'properties', 'additionalProperties', 'fix'] as const),
]

/**
 * Checks a value against a schema. Returns all violations: first those of the value, then those of its
 * members. If the value matches no form of a union, the violations of each form come before the union's.
 */
export function violationsOf(schema: CheckedSchema, value: unknown, place = ''): readonly Violation[] {
  const own = TESTED.filter(keyword => {
    const wanted = schema[keyword]
    return wanted !== undefined && TESTS[keyword]?.(wanted as never, value) === false
  })
  return [
    ...(own.includes('anyOf') ? (schema.anyOf ?? []).flatMap(form => violationsOf(form, value, place)) : []),
    ...own.map(keyword => ({ keyword, schema, value, place })),
    ...(Array.isArray(value) ? violationsOfItems(schema, value, place) : []),
    ...(isObject(value) ? violationsOfMembers(schema, value, place) : []),
  ]
}

const violationsOfItems = ({ items }: CheckedSchema, list: readonly unknown[], place: string) =>
  items === undefined ? [] : list.flatMap((item, index) => violationsOf(items, item, `${place}/${index}`))

const violationsOfMembers = (
  schema: CheckedSchema,
  value: Readonly<Record<string, unknown>>,
  place: string,
): readonly Violation[] => {
  const { required = [], propertyNames, properties = {}, additionalProperties } = schema
  const ofName = (keyword: keyof CheckedSchema, name: string): Violation => ({
    ...{ keyword, schema, value: name },
    place: place + pointerStep(name),
  })
  const names = Object.keys(value)
  const others = names.filter(name => !Object.hasOwn(properties, name))
  return [
    ...required.filter(name => value[name] === undefined).map(name => ofName('required', name)),
    ...names
      .filter(name => propertyNames !== undefined && violationsOf(propertyNames, name).length > 0)
      .map(name => ofName('propertyNames', name)),
    ...others.flatMap(name => {
      if (additionalProperties === undefined) return []
      return additionalProperties === false
        ? [ofName('additionalProperties', name)]
        : violationsOf(additionalProperties, value[name], place + pointerStep(name))
    }),
    ...Object.entries(properties).flatMap(([name, member]) =>
      value[name] === undefined ? [] : violationsOf(member, value[name], place + pointerStep(name)),
    ),
  ]
}

import assert from 'node:assert/strict'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import type { z } from 'zod'
import { createCheckedSchemas } from '../../../src/config/schema/json-schema.js'
import { settings } from '../../../src/config/schema/schema.js'
import { server } from '../../../src/config/schema/server.js'
import { validateServer, validateSettings } from '../../../src/config/schema/validate.js'
import { CHECKED_KEYWORDS, type CheckedSchema } from '../../../src/config/schema/violations.js'

// Not `__proto__`, which Zod passes over as the name of a member.
const TEXTS = [
  ...['', 'x', 'off', '5s', '1.5h', '5', '16MiB', '16 MiB', '16XiB', 'a__b', 'a_', 'A=b', 'a b', '*', 'é'],
  ...['unix:///x', 'http://x', '2026-07-28', '2025-11-25', 'legacy', 'eager', 'session', 'preserve', 'info'],
  ...[
    'stdio',
    'http',
    'ws',
    'constructor',
    'x'.repeat(64),
    'x'.repeat(201),
    '\u{1f600}'.repeat(150),
    'a/b~c',
    '\0',
    '\n5s',
    '5s\n',
    '${X}',
  ],
]
const NUMBERS = [
  0,
  -1,
  1,
  1.5,
  100,
  101,
  10_000,
  65_535,
  65_536,
  2 ** 53,
  1e300,
  Number.POSITIVE_INFINITY,
  -0,
]
const text = fc.constantFrom(...TEXTS)
const number = fc.constantFrom(...NUMBERS)
const odd = fc.oneof(text, number, fc.constantFrom(null, true, false, [], {}, ['x'], { x: 1 }))

/** Values as they come out of a file: their objects have no prototype. */
const objectOf = (entries: readonly (readonly [string, unknown])[]): object =>
  Object.assign(Object.create(null) as object, Object.fromEntries(entries))

/** What is looked at to make values. */
interface Part {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Part[]
  readonly items?: Part
  readonly properties?: Readonly<Record<string, Part>>
  readonly additionalProperties?: Part
}

/** Values of which many fit, and others nearly do. */
const near = (schema: Part): Arbitrary<unknown> =>
  fc.oneof({ weight: 30, arbitrary: fitting(schema) }, { weight: 1, arbitrary: odd })

const fitting = (schema: Part): Arbitrary<unknown> => {
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(near))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const { type } = schema
  if (typeof type === 'object') return fc.oneof(...type.map(one => near({ type: one })))
  switch (type) {
    case undefined:
      return odd
    case 'object':
      return fittingObject(schema)
    case 'array':
      return fc.array(near(schema.items ?? {}), { maxLength: 3 })
    case 'string':
      return text
    case 'number':
    case 'integer':
      return number
    case 'boolean':
      return fc.boolean()
    default:
      return fc.constant(null)
  }
}

const fittingObject = ({ properties, additionalProperties = {} }: Part): Arbitrary<object> => {
  if (properties === undefined) {
    return fc.array(fc.tuple(text, near(additionalProperties)), { maxLength: 3 }).map(objectOf)
  }
  const member = fc.constantFrom(...Object.entries(properties)).chain(([name, one]) => {
    return fc.tuple(fc.constant(name), near(one))
  })
  const unknown = fc.tuple(fc.constantFrom('unknown', 'toString', '__proto__'), odd)
  const some = fc.oneof({ weight: 20, arbitrary: member }, { weight: 1, arbitrary: unknown })
  return fc.array(some, { maxLength: 4 }).map(objectOf)
}

/** An unknown key is told at the key itself, and what is wrong within one form of a union there. */
const placesOf = (issue: z.core.$ZodIssue): readonly string[] => {
  const within =
    issue.code === 'invalid_union'
      ? issue.errors.flat().filter(({ code, path }) => code === 'unrecognized_keys' || path.length > 0)
      : []
  if (within.length > 0) {
    return within.flatMap(one => placesOf({ ...one, path: [...issue.path, ...one.path] }))
  }
  return (issue.code === 'unrecognized_keys' ? issue.keys : [undefined]).map(key =>
    [...issue.path, ...(key === undefined ? [] : [key])].join('/'),
  )
}

const SCHEMAS = createCheckedSchemas()

t.test('every keyword of the schemas is checked', async t => {
  const known: readonly string[] = CHECKED_KEYWORDS
  const keywordsOf = (schema: CheckedSchema): readonly string[] => {
    const { items, propertyNames, additionalProperties, anyOf = [], properties = {} } = schema
    const inner = [items, propertyNames, additionalProperties, ...anyOf, ...Object.values(properties)]
    return [
      ...Object.keys(schema),
      ...inner.flatMap(each => (typeof each === 'object' ? keywordsOf(each) : [])),
    ]
  }
  const used = new Set(Object.values(SCHEMAS).flatMap(schema => keywordsOf(schema as CheckedSchema)))
  t.ok(used.size > 10, `${used.size} keywords`)
  t.same(
    [...used].filter(keyword => !known.includes(keyword)),
    [],
  )
})

for (const [about, schema, source, validate] of [
  ['entry of a server', SCHEMAS.server, server, validateServer],
  ['file beside its servers', SCHEMAS.settings, settings, validateSettings],
] as const) {
  t.test(`problems of the ${about} are found where the schema defines them, and nowhere else`, async t => {
    const counts = { fine: 0, misfits: 0 }
    const same = fc.property(fittingObject(schema), value => {
      const found = validate(value)
      const { error } = source.safeParse(value)
      counts[found.is === 'fine' ? 'fine' : 'misfits'] += 1
      const places = found.is === 'fine' ? [] : found.misfits.map(({ path }) => path.join('/'))
      assert.deepEqual(places.sort(), [...new Set(error?.issues.flatMap(placesOf))].sort())
      for (const misfit of found.is === 'fine' ? [] : found.misfits) assert.match(misfit.fix, /\.$/)
    })
    t.doesNotThrow(() => fc.assert(same, { numRuns: 1000 }))
    t.ok(counts.fine > 100 && counts.misfits > 25, JSON.stringify(counts))
  })
}

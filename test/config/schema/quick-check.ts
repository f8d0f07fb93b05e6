import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { CHECKER } from '../../../src/config/schema/check.js'
import { createJsonSchema } from '../../../src/config/schema/json-schema.js'
import { createQuickChecker, type JsonSchema } from '../../../src/config/schema/quick-check.js'

const SCHEMA: JsonSchema = createJsonSchema()

/** What says nothing about which values fit. */
const WORDS = ['$schema', '$id', 'title', 'description', 'default']
const RULES = [
  ...['type', 'anyOf', 'const', 'enum', 'properties', 'required', 'additionalProperties', 'propertyNames'],
  ...['items', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum'],
]

/** Every schema within a schema. */
function* within(schema: JsonSchema): Generator<JsonSchema> {
  yield schema
  const { additionalProperties, propertyNames, items } = schema
  for (const one of [additionalProperties, propertyNames, items]) if (one !== undefined) yield* within(one)
  for (const one of [...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})]) yield* within(one)
}

t.test('the schema of a configuration says nothing that the quick check does not know', async t => {
  for (const schema of within(SCHEMA)) {
    t.same(
      Object.keys(schema).filter(key => !RULES.includes(key) && !WORDS.includes(key)),
      [],
    )
    t.notOk(schema.properties && schema.additionalProperties, 'its members are known, or all alike')
  }
})

t.test('it knows the same keys as Zod, in their order', async t => {
  t.strictSame(createQuickChecker(SCHEMA).keys, CHECKER.keys)
})

const TEXTS = [
  ...['', 'x', 'off', '5s', '1.5h', '5', '16MiB', '16 MiB', '16XiB', 'a__b', 'a_', 'A=b', 'a b', '*', 'é'],
  ...['unix:///x', 'http://x', '2026-07-28', '2025-11-25', 'legacy', 'eager', 'session', 'preserve', 'info'],
  ...[
    'stdio',
    'http',
    'ws',
    'constructor',
    '__proto__',
    'x'.repeat(64),
    'x'.repeat(201),
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

/** Values of which many fit, and others nearly do. */
const near = (schema: JsonSchema): Arbitrary<unknown> =>
  fc.oneof({ weight: 30, arbitrary: fitting(schema) }, { weight: 1, arbitrary: odd })

const fitting = (schema: JsonSchema): Arbitrary<unknown> => {
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

const fittingObject = ({ properties, additionalProperties = {} }: JsonSchema): Arbitrary<object> => {
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

const SERVER: JsonSchema = SCHEMA.properties?.['mcpServers']?.additionalProperties ?? {}

t.test(
  'what it says yes to, Zod says yes to, and makes the same of; and nearly the other way round',
  async t => {
    for (const [about, schema] of [
      ['server', SERVER],
      ['settings', SCHEMA],
    ] as const) {
      const counts = { fine: 0, missed: 0, misfits: 0 }
      const same = fc.property(fittingObject(schema), value => {
        const quick = createQuickChecker(SCHEMA)
        const found = quick[about](value)
        const known = CHECKER[about](value)
        if (found.is === 'fine') {
          counts.fine += 1
          if (known.is !== 'fine') return false
          // The order of members is that of JSON; what they are, to the sign of zero, that of strict equality.
          const isSame = JSON.stringify(found.value) === JSON.stringify(known.value)
          return isSame && isDeepStrictEqual(found.value, known.value) && quick.isSure
        }
        counts.misfits += 1
        if (known.is === 'fine') counts.missed += 1
        return !quick.isSure
      })
      t.doesNotThrow(() => fc.assert(same, { numRuns: 4000 }))
      t.ok(counts.fine > 500 && counts.misfits > 100, JSON.stringify(counts))
      t.ok(
        counts.missed < counts.fine / 10,
        `hardly anything is left to Zod for nothing: ${JSON.stringify(counts)}`,
      )
    }
  },
)

t.test('a schema that is none is told', async t => {
  t.throws(() => createQuickChecker({}), TypeError)
  const own = new URL('../../../config/mcp-proxy.schema.json', import.meta.url)
  t.doesNotThrow(() => createQuickChecker(JSON.parse(readFileSync(own, 'utf8'))))
})

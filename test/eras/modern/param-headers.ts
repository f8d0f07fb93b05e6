import t from 'tap'
import { paramHeadersOf } from '../../../src/eras/modern/param-headers.js'
import { type JsonText, readJson } from '../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const properties = (inner: string): string => `{"type":"object","properties":{${inner}}}`

t.test('arguments at any depth of properties have their headers', async t => {
  const schema = json(
    properties(
      '"region":{"type":"string","x-mcp-header":"Region"},"o":{"type":"object","properties":{"r":{"x-mcp-header":"Deep-R","type":"integer"}}},"b":{"type":"boolean","x-mcp-header":"b"},"q":{"type":"string"},"x-mcp-header":{"type":"string","x-mcp-header":"Method"},"n":{"type":"number"}',
    ),
  )
  const found = paramHeadersOf(schema)
  t.same(
    [...found.headers],
    [
      ['Region', ['region']],
      ['Deep-R', ['o', 'r']],
      ['b', ['b']],
      ['Method', ['x-mcp-header']],
    ],
  )
  t.same(found.invalid, [])
  t.equal(found.schema, schema)
})

/** [what, schema, reason, schema without the annotation] */
const INVALID: [string, string, string, string][] = [
  [
    'empty',
    properties('"a":{"type":"string","x-mcp-header":""}'),
    'a is empty',
    properties('"a":{"type":"string"}'),
  ],
  [
    'no text',
    properties('"a":{"type":"string","x-mcp-header":1.0}'),
    'a is not text',
    properties('"a":{"type":"string"}'),
  ],
  ...['My Region', 'a:b', 'Größe', 'a\\nb', 'a\\u0000'].map((name): [string, string, string, string] => [
    name,
    properties(`"a":{"type":"string","x-mcp-header":"${name}"}`),
    'a is not a valid header name',
    properties('"a":{"type":"string"}'),
  ]),
  ...['number', 'object', 'array', 'null'].map((type): [string, string, string, string] => [
    type,
    properties(`"a":{"type":"${type}","x-mcp-header":"A"}`),
    `a is on a value of type ${type}, not string, integer or boolean`,
    properties(`"a":{"type":"${type}"}`),
  ]),
  ...['', '"type":["string","null"],', '"$ref":"#/$defs/s",'].map(
    (type): [string, string, string, string] => [
      `type ${type}`,
      properties(`"a":{${type}"x-mcp-header":"A"}`),
      'a is on a value of type unknown, not string, integer or boolean',
      properties(`"a":{${type.slice(0, -1)}}`),
    ],
  ),
  [
    'root',
    '{"type":"object","x-mcp-header":"A"}',
    'the root is not on a property that is always there',
    '{"type":"object"}',
  ],
  ...['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains'].map(
    (keyword): [string, string, string, string] => [
      keyword,
      properties(`"a":{"${keyword}":{"type":"string","x-mcp-header":"A"}}`),
      `a, ${keyword} is not on a property that is always there`,
      properties(`"a":{"${keyword}":{"type":"string"}}`),
    ],
  ),
  ...['oneOf', 'anyOf', 'allOf', 'prefixItems'].map((keyword): [string, string, string, string] => [
    keyword,
    `{"${keyword}":[{},{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
    `the root, ${keyword}, a is not on a property that is always there`,
    `{"${keyword}":[{},{"properties":{"a":{"type":"string"}}}]}`,
  ]),
  ...['$defs', 'definitions', 'patternProperties', 'dependentSchemas'].map(
    (keyword): [string, string, string, string] => [
      keyword,
      `{"${keyword}":{"s":{"type":"string","x-mcp-header":"A"}}}`,
      `the root, ${keyword} is not on a property that is always there`,
      `{"${keyword}":{"s":{"type":"string"}}}`,
    ],
  ),
]

t.test('an annotation that no client could follow does not count, and is told with its place', async t => {
  for (const [what, before, reason, after] of INVALID) {
    const found = paramHeadersOf(json(before))
    t.same([...found.headers], [], what)
    t.same(found.invalid, [`x-mcp-header at ${reason}`], what)
    t.equal(found.schema.toString(), after, what)
  }
})

t.test('of headers that differ in case only, the first counts', async t => {
  for (const second of ['Region', 'REGION', 'region']) {
    const found = paramHeadersOf(
      json(
        properties(
          `"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"${second}"}`,
        ),
      ),
    )
    t.same([...found.headers], [['Region', ['a']]])
    t.same(found.invalid, [`x-mcp-header at b repeats ${second}`])
    t.equal(
      found.schema.toString(),
      properties('"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string"}'),
    )
  }
})

t.test('every mistake of a tool is reported, and valid annotations still count', async t => {
  const found = paramHeadersOf(
    json(
      properties(
        '"a":{"type":"string","x-mcp-header":""},"b":{"type":"number","x-mcp-header":"B"},"c":{"items":{"x-mcp-header":"C"}},"d":{"type":"string","x-mcp-header":"D"}',
      ),
    ),
  )
  t.equal(found.invalid.length, 3)
  t.same([...found.headers], [['D', ['d']]])
})

t.test('the report of invalid annotations stays short, for any number and length of names', async t => {
  const name = 'k'.repeat(10_000)
  const mistakes = Array.from({ length: 1000 }, (_, n) => `"p${n}":{"x-mcp-header":1}`).join()
  const { invalid } = paramHeadersOf(json(properties(`"${name}":${properties(mistakes)}`)))
  t.equal(invalid.length, 20)
  t.equal(invalid[0], `x-mcp-header at ${'k'.repeat(64)}.p0 is not text`)
})

t.test('a tool may have 100 arguments repeated in headers', async t => {
  const annotated = (count: number): JsonText =>
    json(
      properties(
        Array.from({ length: count }, (_, n) => `"p${n}":{"type":"string","x-mcp-header":"H${n}"}`).join(),
      ),
    )
  t.equal(paramHeadersOf(annotated(100)).headers.size, 100)
  t.same(paramHeadersOf(annotated(100)).invalid, [])
  const { headers, invalid } = paramHeadersOf(annotated(101))
  t.equal(headers.size, 100)
  t.same(invalid, ['x-mcp-header at p100 exceeds the maximum of 100 annotations'])
})

t.test('what only looks like an annotation is left alone', async t => {
  for (const text of [
    '{"description":"x-mcp-header header"}',
    properties(
      '"a":{"const":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"default":{"x-mcp-header":"A"}}',
    ),
    properties('"a":true,"x-mcp-header":{"type":"string"}'),
    '{"properties":["x-mcp-header"],"items":true,"anyOf":7}',
    '{"x-vendor":{"x-mcp-header":"A"},"maximum":1e400}',
    'true',
    '[{"x-mcp-header":"A"}]',
  ]) {
    const schema = json(text)
    const found = paramHeadersOf(schema)
    t.same([found.headers.size, found.invalid], [0, []], text)
    t.equal(found.schema, schema, text)
  }
})

t.test('an annotation whose name is written with escapes is one', async t => {
  const found = paramHeadersOf(
    json(properties(String.raw`"a":{"type":"string","x\u002dmcp-\u0068eader":"\u0041"}`)),
  )
  t.same([...found.headers], [['A', ['a']]])
})

t.test('when a schema loses an annotation, nothing else of it changes', async t => {
  const found = paramHeadersOf(
    json(
      '{ "properties" : {"n":{"type":"number" , "x-mcp-header":"N","maximum":1e400,"minimum":-0.0}, "z":{}} ,"x":12345678901234567890}',
    ),
  )
  t.equal(
    found.schema.toString(),
    '{ "properties" : {"n":{"type":"number" ,"maximum":1e400,"minimum":-0.0}, "z":{}} ,"x":12345678901234567890}',
  )
})

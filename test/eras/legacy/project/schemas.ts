import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { projectItem, projectLegacyResult } from '../../../../src/eras/legacy/project/messages.js'
import { projectOutputSchema, withObjectProperties } from '../../../../src/eras/legacy/project/schemas.js'
import { type JsonText, memberOf, readJson, valueOf } from '../../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const outputSchema = (text: string): string | undefined => projectOutputSchema(json(text))?.toString()

t.test('a property that is described by true or false is described by an object', async t => {
  const cases: [string, string][] = [
    ['{"properties":{"a":true,"b":false}}', '{"properties":{"a":{},"b":{"not":{}}}}'],
    ['{"properties":{"a":null,"b":"x","c":[1]}}', '{"properties":{"a":{},"b":{},"c":{}}}'],
    [
      '{ "properties" : {"a":{"properties":{"b":true},"maximum":9223372036854775807}}}',
      '{ "properties" : {"a":{"properties":{"b":{}},"maximum":9223372036854775807}}}',
    ],
    ['{"items":{"properties":{"b":true}}}', '{"items":{"properties":{"b":{}}}}'],
    ['{"anyOf":[{"properties":{"b":false}},true]}', '{"anyOf":[{"properties":{"b":{"not":{}}}},true]}'],
    ['{"$defs":{"default":{"properties":{"b":true}}}}', '{"$defs":{"default":{"properties":{"b":{}}}}}'],
    [
      '{"properties":{"properties":{"properties":{"b":true}}}}',
      '{"properties":{"properties":{"properties":{"b":{}}}}}',
    ],
  ]
  for (const [before, after] of cases) t.equal(withObjectProperties(json(before)).toString(), after)
})

t.test('booleans that are not property schemas stay', async t => {
  for (const text of [
    '{"additionalProperties":false,"items":true,"uniqueItems":true,"not":false,"allOf":[true]}',
    '{"default":{"properties":{"a":true}},"const":{"properties":{"a":true}},"enum":[{"properties":{"a":true}}],"examples":[{"properties":{"a":true}}]}',
    '{"properties":{"a":{"default":true,"const":false}},"maximum":1e400}',
    '{"properties":true}',
    '{"patternProperties":{"^a":true},"$defs":{"a":false}}',
    'true',
    '[{"properties":{"a":true}}]',
  ]) {
    const schema = json(text)
    t.equal(withObjectProperties(schema), schema, text)
  }
})

t.test('a wrapped schema points to where its parts are now', async t => {
  const cases: [string, string][] = [
    ['', ''],
    ['"items":{"$ref":"#"}', '"items":{"$ref":"#/properties/result"}'],
    ['"$ref":"#/$defs/a","$defs":{"a":{}}', '"$ref":"#/properties/result/$defs/a","$defs":{"a":{}}'],
    ['"anyOf":[{"$dynamicRef":"#/$defs/a"}]', '"anyOf":[{"$dynamicRef":"#/properties/result/$defs/a"}]'],
    ['"$ref":"#anchor"', '"$ref":"#anchor"'],
    ['"$ref":"https://evil/x#/a"', '"$ref":"https://evil/x#/a"'],
    ['"properties":{"$ref":{"type":"string"}}', '"properties":{"$ref":{"type":"string"}}'],
    ['"properties":{"default":{"$ref":"#/x"}}', '"properties":{"default":{"$ref":"#/properties/result/x"}}'],
    ['"const":{"$ref":"#/x"},"enum":[{"$ref":"#"}]', '"const":{"$ref":"#/x"},"enum":[{"$ref":"#"}]'],
    [
      '"items":{"$id":"https://e/s","$ref":"#/a"},"not":{"$ref":"#/b"}',
      '"items":{"$id":"https://e/s","$ref":"#/a"},"not":{"$ref":"#/properties/result/b"}',
    ],
    ['"$id":"https://e/root","$ref":"#/a"', '"$id":"https://e/root","$ref":"#/a"'],
    ['"$id":"#old-anchor","$ref":"#/a"', '"$id":"#old-anchor","$ref":"#/properties/result/a"'],
    ['"maximum":9223372036854775807,"x-vendor":1.0', '"maximum":9223372036854775807,"x-vendor":1.0'],
  ]
  for (const [before, after] of cases) {
    const [schema, inner] = [before, after].map(rest => `{"type":"array"${rest && `,${rest}`}}`)
    t.equal(
      outputSchema(schema ?? ''),
      `{"type":"object","properties":{"result":${inner}},"required":["result"]}`,
    )
  }
})

t.test('the dialect of a wrapped schema stands at its root', async t => {
  const wrapped = outputSchema('{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array"}')
  t.same(JSON.parse(wrapped ?? ''), {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { result: { type: 'array' } },
    required: ['result'],
  })
})

t.test('a schema as deep as a message may be is neither walked to its end nor fatal', async t => {
  const deep = `${'{"not":'.repeat(500)}{"properties":{"a":true},"$ref":"#"}${'}'.repeat(500)}`
  const schema = json(deep)
  t.equal(withObjectProperties(schema), schema)
  t.match(outputSchema(`{"type":"array","not":${deep}}`), deep)
})

t.test('what a tool returns is what its list promises, or nothing is promised', async t => {
  const cases: [schema: string, promised: boolean, ...values: string[]][] = [
    ['{"type":"object","required":["a"]}', true, '{"a":1}'],
    ['{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"required":["a"]}}}', true, '{"a":1}'],
    ['{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"number"}}}', true, '[1]', '[]'],
    ['{"type":"string"}', true, '"x"'],
    ['{"type":"null"}', true, 'null'],
    ['{"$ref":"#/$defs/a","$defs":{"a":{"type":"object"}}}', false, '{"a":1}'],
    ['{"oneOf":[{"type":"object"},{"type":"string"}]}', false, '{"a":1}', '"x"'],
    ['{"properties":{"a":{"type":"number"}}}', false, '{"a":1}', '7'],
    ['{"type":["object","null"]}', false, '{"a":1}', 'null'],
    ['{}', false, '{"a":1}', '[]'],
    ['true', false, '{"a":1}'],
  ]
  for (const [schema, isPromised, ...values] of cases) {
    const tool = projectItem(
      '2025-11-25',
      'tools',
      json(`{"name":"x","inputSchema":{},"outputSchema":${schema}}`),
    )
    const promised = memberOf(tool, 'outputSchema')
    t.equal(promised !== undefined, isPromised, schema)
    for (const value of values) {
      const result = projectLegacyResult(
        '2025-11-25',
        'tools/call',
        json(`{"content":[1],"structuredContent":${value}}`),
      )
      const { structuredContent } = valueOf(result) as { structuredContent: object }
      t.type(structuredContent, 'object', `${schema}: clients refuse anything else`)
      if (promised === undefined) continue
      const validate = new Ajv2020({ strict: false }).compile(valueOf(promised) as object)
      t.ok(validate(structuredContent), `${schema}: ${value}`)
    }
  }
})

import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { rewriteItem, rewriteParams, rewriteUris } from '../../src/catalog/names/rewrite.js'
import { repairItem } from '../../src/catalog/repair/items.js'
import { repairResult } from '../../src/catalog/repair/results.js'
import { projectLegacyRequest, projectLegacyResult } from '../../src/eras/legacy/project/messages.js'
import { encodeOutcome } from '../../src/eras/modern/client-side/encode-outcome.js'
import { paramHeadersOf } from '../../src/eras/modern/param-headers.js'
import { projectModernResult as projectModern } from '../../src/eras/modern/project/messages.js'
import { readResultType } from '../../src/eras/modern/result-type.js'
import { type JsonText, kindOf, rawText, readJson } from '../../src/kernel/json/text.js'
import { succeeded } from '../../src/model/outcome.js'
import { LEGACY_REVISIONS } from '../../src/model/revision.js'
import { decodeClientCapabilities } from '../../src/rpc/capabilities.js'
import { whole as joined } from '../../src/wire/message-parts.js'
import { values } from '../support/arbitraries.js'
import { holds, soon } from '../support/property.js'

/** An object of these members, each with a value that it may have or any other. */
const objectOf = (members: Readonly<Record<string, fc.Arbitrary<string>>>): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        ...Object.entries(members).map(([key, value]) => value.map(text => `${JSON.stringify(key)}:${text}`)),
        values.map(value => `"x-odd":${value}`),
      ),
      { maxLength: 6 },
    )
    .map(all => `{${all.join(',')}}`)

const either = (...texts: string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: values })
const listOf = (item: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.array(item, { maxLength: 3 }).map(all => `[${all.join(',')}]`) },
    { weight: 1, arbitrary: values },
  )

const schemas = fc.letrec<{ schema: string }>(tie => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    either('{}', 'true', '{"type":"object"}', '{"$ref":"#"}'),
    objectOf({
      type: either('"object"', '"string"', '["string","null"]'),
      properties: fc.tuple(tie('schema'), tie('schema')).map(([a, b]) => `{"a":${a},"__proto__":${b}}`),
      items: tie('schema'),
      anyOf: listOf(tie('schema')),
      required: either('["a"]'),
      'x-mcp-header': either('"Region"', '""', '"A\\nB"'),
      $schema: either('"https://json-schema.org/draft/2020-12/schema"'),
    }),
  ),
})).schema

const annotations = either('{}', '{"audience":["user"],"priority":1}', '{"priority":"high","lastModified":5}')
const blocks = objectOf({
  type: either('"text"', '"image"', '"audio"', '"resource"', '"resource_link"', '"tool_use"', '"__proto__"'),
  text: either('"hi"'),
  data: either('"AAAA"', '"*"'),
  mimeType: either('"image/png"'),
  uri: either('"file:///a"', '"ui://w"'),
  name: either('"n"'),
  resource: objectOf({ uri: either('"file:///a"'), text: either('"t"'), blob: either('"AAAA"') }),
  annotations,
  _meta: either('{}', '{"ui":{"resourceUri":"ui://x"}}', '{"io.modelcontextprotocol/x":1}'),
})
const items = objectOf({
  name: either('"n"', '""', '"__proto__"', '"a\\u0000b"'),
  title: either('"t"'),
  uri: either('"file:///a"', '""'),
  uriTemplate: either('"file:///{a}"', '"{"'),
  inputSchema: schemas,
  outputSchema: schemas,
  annotations,
  icons: listOf(
    objectOf({ src: either('"https://x/"', '"javascript:x"'), sizes: either('["1x1"]', '"any"') }),
  ),
  arguments: listOf(objectOf({ name: either('"a"'), required: either('true') })),
  size: either('1', '12345678901234567890'),
})
const results = objectOf({
  content: listOf(blocks),
  contents: listOf(blocks),
  structuredContent: either('{}', '[1]', '5'),
  isError: either('true', 'false'),
  messages: listOf(objectOf({ role: either('"user"'), content: blocks })),
  completion: objectOf({ values: listOf(either('"v"')), total: either('1'), hasMore: either('true') }),
  tools: listOf(items),
  prompts: listOf(items),
  resources: listOf(items),
  resourceTemplates: listOf(items),
  nextCursor: either('"c"'),
  resultType: either('"complete"', '"input_required"', '"task"', '5'),
  inputRequests: either('{}', '{"a":{"method":"elicitation/create"}}'),
  requestState: either('"s"'),
  ttlMs: either('1', '-1'),
  cacheScope: either('"public"'),
  task: either('{}'),
  _meta: either('{}'),
})

const METHODS = [
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'completion/complete',
  'sampling/createMessage',
  'elicitation/create',
  'x',
]
const methods = fc.constantFrom(...METHODS)
const odd = fc.oneof({ weight: 5, arbitrary: results }, { weight: 1, arbitrary: values })
const read = (text: string): JsonText => readJson(Buffer.from(text))

/** What was made of a text must be JSON; throws if it is not. */
const whole = (text: JsonText | undefined): void => {
  if (text !== undefined) readJson(Buffer.from(text))
}

void holds(
  t,
  'an answer of any shape becomes one that can be passed on, to clients of every revision',
  fc.property(methods, odd, (method, text) => {
    const result = read(text)
    for (const nullIsValue of [undefined, false, true]) {
      const repaired = soon(() => repairResult(method, result, nullIsValue))
      whole(repaired)
      const mapped = rewriteUris(method, repaired, uri => `a+${uri}`)
      whole(mapped)
      for (const revision of LEGACY_REVISIONS)
        whole(soon(() => projectLegacyResult(revision, method, mapped)))
      if (kindOf(result) === 'object') whole(projectModern(method, mapped))
    }
    readResultType(result)
    decodeClientCapabilities(result, '2026-07-28')
  }),
)

void holds(
  t,
  'an answer of any shape can be written for a client of 2026-07-28',
  fc.property(methods, results, (method, text) => {
    const asked = { id: rawText('1'), method, params: undefined, declared: rawText('{}') }
    const { frame } = encodeOutcome(succeeded(read(text)), asked, rawText('{"name":"p","version":"1"}'))
    readJson(joined(frame))
  }),
)

void holds(
  t,
  'an item of any shape is shown in a form that all clients take, or is left out',
  fc.property(
    fc.constantFrom('tools', 'prompts', 'resources', 'templates'),
    fc.oneof(items, values),
    (list, text) => {
      const repaired = soon(() => repairItem(list, read(text)))
      if (!('item' in repaired)) return
      const item = repaired.item
      whole(item)
      const shown = rewriteItem(list, item, { name: 'a__n', uri: uri => `a+${uri}` })
      whole(shown)
      const method = {
        tools: 'tools/list',
        prompts: 'prompts/list',
        resources: 'resources/list',
        templates: 'resources/templates/list',
      }[list]
      const member = {
        tools: 'tools',
        prompts: 'prompts',
        resources: 'resources',
        templates: 'resourceTemplates',
      }[list]
      for (const revision of LEGACY_REVISIONS) {
        whole(soon(() => projectLegacyResult(revision, method, read(`{"${member}":[${shown.toString()}]}`))))
      }
    },
  ),
)

void holds(
  t,
  'params and schemas of any shape are read without a word of complaint',
  fc.property(methods, odd, schemas, (method, text, schema) => {
    const params = read(text)
    for (const revision of LEGACY_REVISIONS) whole(soon(() => projectLegacyRequest(revision, method, params)))
    whole(rewriteParams(method, params, uri => uri.slice(1)))
    soon(() => paramHeadersOf(read(schema)))
    assert.ok(true)
  }),
)

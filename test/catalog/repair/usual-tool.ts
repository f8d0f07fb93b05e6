import fc from 'fast-check'
import t from 'tap'
import { repairItem } from '../../../src/catalog/repair/items.js'
import { renamedUsualTool, usualTool } from '../../../src/catalog/repair/usual-tool.js'
import { projectItem } from '../../../src/eras/legacy/project/messages.js'
import { type JsonText, readJson } from '../../../src/kernel/json/text.js'
import { LEGACY_REVISIONS } from '../../../src/model/revision.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))
const toolWith = (inputSchema: string): string =>
  `{"name":"x","description":"d","inputSchema":${inputSchema}}`

const PLAIN: readonly string[] = [
  '{"name":"x","inputSchema":{"type":"object"}}',
  '{"name":"a tool","description":"Says \\"é\\"\\nand more","inputSchema":{"type":"object","properties":{}}}',
  toolWith(
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}},"required":["a"]}',
  ),
  toolWith(
    '{"properties":{"a":{"title":"A","type":"array","items":{"type":"integer"}}},"title":"x","type":"object"}',
  ),
  toolWith(
    '{"type":"object","properties":{"o":{"type":"object","properties":{"i":{"enum":[1,2.5e3,null]}}}}}',
  ),
  toolWith(
    '{"type":"object","properties":{"type":{},"a\\"b":{"anyOf":[{"type":"string"},{"type":"null"}]}}}',
  ),
  toolWith(
    '{"$schema":"http://json-schema.org/draft-07/schema#","additionalProperties":false,"type":"object"}',
  ),
]

/** With members that some legacy revision lacks. */
const USUAL: readonly string[] = [
  '{"name":"x","title":"X","inputSchema":{"type":"object"}}',
  '{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}',
  '{"name":"x","title":"X","description":"","inputSchema":{"type":"object"},"annotations":{"title":"Y","readOnlyHint":true}}',
  '{"name":"x","inputSchema":{"type":"object"},"annotations":{},"execution":{"taskSupport":"optional"}}',
]

const OTHERS: readonly string[] = [
  '{"name":"x"}',
  '{"description":"d","name":"x","inputSchema":{"type":"object"}}',
  '{"name":"x","name":"y","inputSchema":{"type":"object"}}',
  '{"name":"é","inputSchema":{"type":"object"}}',
  '{"name":"x","description":null,"inputSchema":{"type":"object"}}',
  '{"name":"x","title":null,"inputSchema":{"type":"object"}}',
  '{"name":"x","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"}}',
  '{"name":"x","inputSchema":{"type":"object"},"annotations":null}',
  '{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}',
  '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}',
  '{"name":"x","inputSchema":{"type":"object"},"_meta":{}}',
  toolWith('{}'),
  toolWith('{"type":"string"}'),
  toolWith('{"properties":{"a":{"type":"object"}}}'),
  toolWith('{"properties":{"a":{"properties":{"type":"object"}}}}'),
  toolWith('{"type":"object","type":"string"}'),
  toolWith('{"type":"object","properties":null}'),
  toolWith('{"type":"object","properties":{"a":true}}'),
  toolWith('{"type":"object","propert\\u0069es":{"a":true}}'),
  toolWith('{"type":"object","properties":{"o":{"properties":{"i":null}}}}'),
  toolWith('{"type":"object","properties":{"l":{"items":{"properties":{"i":1}}}}}'),
  toolWith('{"type":"object","required":["a",1]}'),
  toolWith('{"type":"object","required":"a"}'),
  toolWith('{"type":"object","$schema":null}'),
  toolWith('{ "type":"object"}'),
  toolWith(`{"type":"object","title":"${'long '.repeat(1000)}"}`),
]

t.test('what many programs write is a usual tool, and nothing else is', async t => {
  for (const text of PLAIN) t.equal(usualTool(json(text))?.isPlain, true, text)
  for (const text of USUAL) t.equal(usualTool(json(text))?.isPlain, false, text)
  for (const text of OTHERS) t.equal(usualTool(json(text)), undefined, text.slice(0, 200))
})

t.test('under another name a usual tool is the same otherwise', async t => {
  for (const text of [...PLAIN, ...USUAL])
    for (const name of ['x', 'alias__x', 'a "quoted" é', '']) {
      const usual = usualTool(json(text))
      const renamed = usual === undefined ? '{}' : renamedUsualTool(usual, name)
      t.same(JSON.parse(Buffer.from(renamed, 'latin1').toString()), { ...JSON.parse(text), name })
    }
})

const scalar = fc.constantFrom('1', '-2.5e3', 'true', 'null', '"object"', '"a\\"b"', '"{"', '""')
const keyed = (value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'type',
          'properties',
          'required',
          '$schema',
          'items',
          'default',
          'title',
          'a',
          '\\u0061',
        ),
        value,
      ),
      { maxLength: 3 },
    )
    .map(members => `{${members.map(([key, text]) => `"${key}":${text}`).join()}}`)
const valueOf = (depth: number): fc.Arbitrary<string> =>
  depth === 0
    ? scalar
    : fc.oneof(
        scalar,
        { weight: 3, arbitrary: keyed(valueOf(depth - 1)) },
        fc.array(valueOf(depth - 1), { maxLength: 2 }).map(values => `[${values.join()}]`),
      )
const schemas = keyed(valueOf(3)).map(text =>
  text === '{}' ? '{"type":"object"}' : `{"type":"object",${text.slice(1)}`,
)

const behind = fc.constantFrom(
  '',
  ',"annotations":{"title":"t","openWorldHint":false}',
  ',"annotations":{"title":null}',
  ',"execution":{"taskSupport":"required"}',
  ',"execution":{}',
)

t.test(
  'a closer look at a usual tool finds nothing to repair, nor what a revision lacks if it is plain',
  async t => {
    let plain = 0
    const look = (text: string): void => {
      const tool = json(text)
      const usual = usualTool(tool)
      if (usual === undefined) return
      // With a space in it, it is looked at closely.
      const spaced = json(`{ ${text.slice(1)}`)
      t.strictSame(repairItem('tools', spaced), { item: spaced, own: usual.name, notes: [] }, text)
      if (!usual.isPlain) return
      plain += 1
      for (const revision of LEGACY_REVISIONS)
        t.equal(projectItem(revision, 'tools', tool), tool, `${revision} ${text}`)
    }
    for (const text of [...PLAIN, ...USUAL]) look(text)
    const property = fc.property(schemas, behind, (schema, more) =>
      look(`${toolWith(schema).slice(0, -1)}${more}}`),
    )
    fc.assert(property, { numRuns: 3000 })
    t.ok(plain > 100, `${plain} were plain`)
  },
)

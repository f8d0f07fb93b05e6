import fc from 'fast-check'
import t from 'tap'
import { repairItem } from '../../../src/catalog/repair/items.js'
import { renamedUsualTool, usualTool } from '../../../src/catalog/repair/usual-tool.js'
import { knowsTools, projectItem } from '../../../src/eras/legacy/project/messages.js'
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

/** With members that not all revisions know. */
const NEWER: readonly (readonly [text: string, ...holds: string[]])[] = [
  ['{"name":"x","title":"X","inputSchema":{"type":"object"}}', 'title'],
  ['{"name":"x","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}', 'annotations'],
  [
    '{"name":"x","inputSchema":{"type":"object"},"annotations":{"title":"Y"},"execution":{"taskSupport":"forbidden"}}',
    'annotations',
  ],
  [
    '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"$schema":"s","type":"object"}}',
    'outputSchema',
  ],
  [
    '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"properties":{"a":{}},"type":"object"}}',
    'outputSchema',
  ],
  ['{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}', 'execution'],
  [
    '{"name":"x","title":"X","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}',
    'title',
    'execution',
  ],
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
  '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}',
  '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":true}}}',
  '{"name":"x","inputSchema":{"type":"object"},"outputSchema":null}',
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

t.test('what most programs write is a usual tool, and nothing else is', async t => {
  for (const text of PLAIN) t.same(usualTool(json(text))?.holds, [], text)
  for (const [text, ...holds] of NEWER) t.same(usualTool(json(text))?.holds, holds, text)
  for (const text of OTHERS) t.equal(usualTool(json(text)), undefined, text.slice(0, 200))
})

t.test('a tool that forbids tasks is shown without a word about them, which means the same', async t => {
  const text = '{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}'
  t.strictSame(usualTool(json(text)), usualTool(json('{"name":"x","inputSchema":{"type":"object"}}')))
})

t.test('under another name a usual tool is the same otherwise', async t => {
  for (const text of [...PLAIN, ...NEWER.map(([text]) => text)])
    for (const name of ['x', 'alias__x', 'a "quoted" é', '']) {
      const usual = usualTool(json(text))
      const renamed = usual === undefined ? '{}' : renamedUsualTool(usual, name)
      const same = JSON.parse(text.replace(',"execution":{"taskSupport":"forbidden"}', ''))
      t.same(JSON.parse(Buffer.from(renamed, 'latin1').toString()), { ...same, name })
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
  ',"execution":{"taskSupport":"forbidden"}',
  ',"execution":{}',
)
const output = fc.option(schemas, { nil: undefined })
const title = fc.constantFrom('', ',"title":"A \\"title\\""')

t.test(
  'a closer look at a usual tool finds nothing to repair, nor what a revision lacks that knows it',
  async t => {
    let count = 0
    const look = (text: string): void => {
      const usual = usualTool(json(text))
      if (usual === undefined) return
      count += 1
      const tool = json(Buffer.from(usual.latin1, 'latin1').toString())
      // With a space in it, it is looked at closely.
      const spaced = json(`{ ${text.slice(1)}`)
      t.strictSame(repairItem('tools', spaced), { item: spaced, own: usual.name, notes: [] }, text)
      for (const revision of LEGACY_REVISIONS) {
        if (!knowsTools(revision, new Set(usual.holds))) continue
        t.equal(projectItem(revision, 'tools', tool), tool, `${revision} ${text}`)
        t.same(projectItem(revision, 'tools', spaced).toString('latin1').replace(' ', ''), usual.latin1, text)
      }
    }
    for (const text of [...PLAIN, ...NEWER.map(([text]) => text)]) look(text)
    const property = fc.property(title, schemas, output, behind, (title, input, output, behind) => {
      const answer = output === undefined ? '' : `,"outputSchema":${output}`
      look(`{"name":"x"${title},"inputSchema":${input}${answer}${behind}}`)
    })
    fc.assert(property, { numRuns: 4000 })
    t.ok(count > 300, `${count} were usual`)
  },
)

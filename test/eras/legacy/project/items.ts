import t from 'tap'
import { projectItem } from '../../../../src/eras/legacy/project/items.js'
import { type JsonText, membersOf, readJson, valueOf } from '../../../../src/kernel/json/text.js'
import type { ListName } from '../../../../src/model/listing.js'
import { LEGACY_REVISIONS, type LegacyRevision } from '../../../../src/model/revision.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const [R1, R2, R3, R4] = LEGACY_REVISIONS

const FULL: Readonly<Record<ListName, string>> = {
  tools:
    '{"name":"x","title":"X","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[],"execution":{"taskSupport":"required"},"_meta":{"k":1},"vendor":1.0}',
  prompts:
    '{"name":"p","title":"P","description":"d","arguments":[{"name":"a","title":"A","required":true}],"icons":[],"_meta":{"k":1},"vendor":1.0}',
  resources:
    '{"uri":"a:b","name":"n","title":"N","description":"d","mimeType":"a/b","size":12345678901234567890,"annotations":{"audience":["user"],"priority":1.0,"lastModified":"2025-01-01T00:00:00Z"},"icons":[],"_meta":{"k":1},"vendor":1.0}',
  templates:
    '{"uriTemplate":"a:{b}","name":"n","title":"N","annotations":{"lastModified":"2025-01-01T00:00:00Z","priority":0},"icons":[],"_meta":{"k":1},"vendor":1.0}',
}

/** What goes from a full item, by the revision of the client. */
const GONE: Readonly<Record<ListName, Readonly<Record<LegacyRevision, string[]>>>> = {
  tools: {
    [R1]: ['title', 'outputSchema', 'annotations', 'icons', 'execution', '_meta'],
    [R2]: ['title', 'outputSchema', 'icons', 'execution', '_meta'],
    [R3]: ['icons', 'execution'],
    [R4]: ['execution'],
  },
  prompts: {
    [R1]: ['title', 'icons', '_meta'],
    [R2]: ['title', 'icons', '_meta'],
    [R3]: ['icons'],
    [R4]: [],
  },
  resources: {
    [R1]: ['title', 'icons', '_meta'],
    [R2]: ['title', 'icons', '_meta'],
    [R3]: ['icons'],
    [R4]: [],
  },
  templates: {
    [R1]: ['title', 'icons', '_meta'],
    [R2]: ['title', 'icons', '_meta'],
    [R3]: ['icons'],
    [R4]: [],
  },
}

const keys = (item: JsonText): string[] => [...membersOf(item)].map(({ key }) => key)

t.test('a client gets the members that its revision has, and those that nobody knows', async t => {
  for (const list of ['tools', 'prompts', 'resources', 'templates'] as const) {
    for (const revision of LEGACY_REVISIONS) {
      const item = json(FULL[list])
      const projected = projectItem(revision, list, item)
      const gone = GONE[list][revision]
      t.same(
        keys(projected),
        keys(item).filter(key => !gone.includes(key)),
        `${list} ${revision}`,
      )
      t.equal(projected === item, gone.length === 0)
      t.match(projected.toString(), '"vendor":1.0')
      t.equal(projectItem(revision, list, projected), projected, 'and once is enough')
    }
  }
})

t.test('size, audience and priority are as old as the protocol, lastModified is not', async t => {
  for (const revision of LEGACY_REVISIONS) {
    const text = projectItem(revision, 'resources', json(FULL.resources)).toString()
    t.match(text, '"size":12345678901234567890')
    t.match(text, '"audience":["user"],"priority":1.0')
    t.equal(text.includes('lastModified'), revision >= R3)
    t.equal(projectItem(revision, 'templates', json(FULL.templates)).includes('lastModified'), revision >= R3)
  }
})

t.test('the title of a prompt’s argument goes with that of the prompt', async t => {
  for (const revision of LEGACY_REVISIONS) {
    t.equal(projectItem(revision, 'prompts', json(FULL.prompts)).includes('"title":"A"'), revision >= R3)
  }
})

t.test('2025-03-26 reads a tool’s title among its annotations', async t => {
  const titled = (annotations: string): unknown =>
    valueOf(
      projectItem(
        R2,
        'tools',
        json(`{"name":"x","title":"T"${annotations},"inputSchema":{"type":"object"}}`),
      ),
    )
  const inputSchema = { type: 'object' }
  t.same(titled(''), { name: 'x', annotations: { title: 'T' }, inputSchema })
  t.same(titled(',"annotations":{"readOnlyHint":true}'), {
    name: 'x',
    annotations: { readOnlyHint: true, title: 'T' },
    inputSchema,
  })
  t.same(titled(',"annotations":{"title":"Own"}'), { name: 'x', annotations: { title: 'Own' }, inputSchema })
})

t.test('a tool that returns no object is listed with a wrapped schema where output is known', async t => {
  const tool = json('{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}}')
  for (const revision of LEGACY_REVISIONS) {
    const { outputSchema } = valueOf(projectItem(revision, 'tools', tool)) as { outputSchema?: unknown }
    const wrapped = { type: 'object', properties: { result: { type: 'string' } }, required: ['result'] }
    t.same(outputSchema, revision >= R3 ? wrapped : undefined)
  }
})

t.test('an output schema that is none is not listed', async t => {
  for (const schema of ['null', '"x"', '[]', '7']) {
    const tool = json(`{"name":"x","inputSchema":{"type":"object"},"outputSchema":${schema}}`)
    t.same(valueOf(projectItem(R4, 'tools', tool)), { name: 'x', inputSchema: { type: 'object' } })
  }
})

t.test('what is no item stays what it is', async t => {
  for (const list of ['tools', 'prompts', 'resources', 'templates'] as const) {
    for (const text of ['null', '[]', '"x"', '7']) {
      const item = json(text)
      for (const revision of LEGACY_REVISIONS) t.equal(projectItem(revision, list, item), item)
    }
    for (const revision of LEGACY_REVISIONS) {
      t.doesNotThrow(() =>
        projectItem(
          revision,
          list,
          json('{"title":1,"annotations":7,"arguments":[1],"_meta":[],"inputSchema":1}'),
        ),
      )
    }
  }
})

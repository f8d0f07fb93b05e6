import {
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { repairItem } from '../../../src/catalog/repair/items.js'
import { type JsonText, readJson, textOf, valueOf } from '../../../src/kernel/json/text.js'
import type { ListName } from '../../../src/model/listing.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

/** Whether an SDK client takes a list with this item in it. */
const accepts = (list: Exclude<ListName, 'skills'>, item: unknown): boolean =>
  ({
    tools: ListToolsResultSchema.safeParse({ tools: [item] }).success,
    prompts: ListPromptsResultSchema.safeParse({ prompts: [item] }).success,
    resources: ListResourcesResultSchema.safeParse({ resources: [item] }).success,
    templates: ListResourceTemplatesResultSchema.safeParse({ resourceTemplates: [item] }).success,
  })[list]

/** [list, what a server lists, what is left of it] */
const REPAIRED: [Exclude<ListName, 'skills'>, string, string][] = [
  ['tools', '{"name":"x"}', '{"name":"x","inputSchema":{"type":"object"}}'],
  ['tools', '{"name":"x","inputSchema":null}', '{"name":"x","inputSchema":{"type":"object"}}'],
  ['tools', '{"name":"x","inputSchema":true}', '{"name":"x","inputSchema":{"type":"object"}}'],
  ['tools', '{"name":"x","inputSchema":{}}', '{"name":"x","inputSchema":{"type":"object"}}'],
  ['tools', '{"name":"x","inputSchema":{"type":null}}', '{"name":"x","inputSchema":{"type":"object"}}'],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":["object","null"],"x":null}}',
    '{"name":"x","inputSchema":{"type":"object","x":null}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"properties":{"a":{"default":null}}}}',
    '{"name":"x","inputSchema":{"properties":{"a":{"default":null}},"type":"object"}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object","properties":null,"required":null}}',
    '{"name":"x","inputSchema":{"type":"object"}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object","required":["a",1]}}',
    '{"name":"x","inputSchema":{"type":"object","required":["a"]}}',
  ],
  [
    'tools',
    '{"name":"x","title":null,"description":null,"annotations":null,"icons":null,"outputSchema":null,"execution":null,"_meta":null,"inputSchema":{"type":"object"},"vendor":null}',
    '{"name":"x","inputSchema":{"type":"object"},"vendor":null}',
  ],
  [
    'tools',
    '{"name":"x","description":5,"outputSchema":true,"_meta":[],"inputSchema":{"type":"object"}}',
    '{"name":"x","inputSchema":{"type":"object"}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object"},"annotations":{"title":null,"readOnlyHint":"yes","openWorldHint":true,"audience":7}}',
    '{"name":"x","inputSchema":{"type":"object"},"annotations":{"openWorldHint":true,"audience":7}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}',
    '{"name":"x","inputSchema":{"type":"object"},"execution":{}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":null}}',
    '{"name":"x","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"https://e/i","sizes":"48x48","theme":"pink","mimeType":null},{"src":"file:///x"},{"mimeType":"a/b"},null,{"src":"data:,","sizes":["1x1",2],"theme":"dark"}]}',
    '{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"https://e/i","sizes":["48x48"]},{"src":"data:,","sizes":["1x1"],"theme":"dark"}]}',
  ],
  [
    'tools',
    '{"name":"x","inputSchema":{"type":"object"},"icons":[{"src":"javascript:1"}]}',
    '{"name":"x","inputSchema":{"type":"object"}}',
  ],
  ['prompts', '{"name":"p","arguments":null}', '{"name":"p"}'],
  [
    'prompts',
    '{"name":"p","arguments":[null,{"name":"a","description":null,"required":"yes","x":null},{"description":"d"},"s"]}',
    '{"name":"p","arguments":[{"name":"a","x":null}]}',
  ],
  ['resources', '{"uri":"a:b"}', '{"uri":"a:b","name":"a:b"}'],
  ['resources', '{"name":null,"uri":"a:b"}', '{"name":"a:b","uri":"a:b"}'],
  [
    'resources',
    '{"uri":"a:b","name":"n","mimeType":null,"size":"9","annotations":{"audience":["system"],"priority":7,"lastModified":"yesterday","x":1.0}}',
    '{"uri":"a:b","name":"n","annotations":{"x":1.0}}',
  ],
  [
    'resources',
    '{"uri":"a:b","name":"n","annotations":{"audience":null,"priority":null,"lastModified":"2025-02-30T00:00:00Z"}}',
    '{"uri":"a:b","name":"n","annotations":{}}',
  ],
  ['templates', '{"uriTemplate":"a:{b}"}', '{"uriTemplate":"a:{b}","name":"a:{b}"}'],
]

t.test('what makes clients refuse a list is repaired in the item, and nothing else is touched', async t => {
  for (const [list, before, after] of REPAIRED) {
    const repaired = repairItem(list, json(before))
    if ('dropped' in repaired) {
      t.fail(`${before}: ${repaired.dropped}`)
      continue
    }
    const { item, notes } = repaired
    t.same(valueOf(item), JSON.parse(after), before)
    t.ok(notes.length > 0, 'and the log hears of it')
    // The scheme of an icon is a danger to people, not to parsers.
    if (!before.includes('javascript:')) {
      t.notOk(accepts(list, JSON.parse(before)), 'an SDK client refuses what came')
    }
    t.ok(accepts(list, valueOf(item)), 'an SDK client takes what is left')
    const again = repairItem(list, item)
    t.ok('item' in again && again.item === item, 'what was repaired stays as it is')
  }
})

t.test('a time of modification is a moment that exists, or goes', async t => {
  const moments: [string, boolean][] = [
    ['2025-01-12T15:00:58Z', true],
    ['2024-02-29T23:59:00.5+02:00', true],
    ['2025-02-29T00:00:00Z', false],
    ['2025-13-01T00:00:00Z', false],
    ['2025-01-01T25:00:00Z', false],
    ['2025-01-01T00:00:00', false],
    ['2025-01-01', false],
    ['1700000000', false],
  ]
  for (const [lastModified, stays] of moments) {
    const resource = { uri: 'a:b', name: 'n', annotations: { lastModified } }
    const repaired = repairItem('resources', textOf(resource))
    t.same('item' in repaired && valueOf(repaired.item), stays ? resource : { ...resource, annotations: {} })
    t.equal(accepts('resources', resource), stays, `an SDK client agrees about ${lastModified}`)
  }
})

const skill = (more: object): string =>
  JSON.stringify({
    uri: 'skill://x/SKILL.md',
    frontmatter: { name: 'x', description: 'd' },
    resources: [{ uri: 'skill://x/SKILL.md', digest: 'sha256:aa', size: 9 }],
    ...more,
  })

t.test('a skill loses only what no client reads', async t => {
  const repaired = repairItem('skills', json(skill({ _meta: null, vendor: null })))
  t.same('item' in repaired && valueOf(repaired.item), JSON.parse(skill({ vendor: null })))
})

t.test('an item that cannot be repaired is dropped, with the reason', async t => {
  const cases: [ListName, string, RegExp][] = [
    ['tools', '{"inputSchema":{"type":"object"}}', /name/],
    ['tools', '{"name":5,"inputSchema":{"type":"object"}}', /name/],
    ['tools', '{"name":"x","inputSchema":{"type":"string"}}', /inputSchema/],
    ['tools', '{"name":"x","inputSchema":{"type":["string","null"]}}', /inputSchema/],
    ['tools', '{"name":"x","inputSchema":{"type":7}}', /inputSchema/],
    ['tools', '{"name":"x","n\\u0061me":"y"}', /two members name/],
    ['tools', 'null', /null/],
    ['tools', '[]', /array/],
    ['prompts', '{"name":null}', /name/],
    ['prompts', '"p"', /string/],
    ['resources', '{"uri":5,"name":"bad"}', /uri/],
    ['resources', '{"name":"n"}', /uri/],
    ['templates', '{"uri":"a:b","name":"n"}', /uriTemplate/],
    ['skills', skill({ uri: 7 }), /its uri is not a string/],
    ['skills', skill({ uri: '/x/SKILL.md' }), /its uri is not a URI/],
    ['skills', skill({ uri: 'skill://x/README.md' }), /does not end in/],
    ['skills', skill({ uri: 'skill://y/SKILL.md' }), /does not end in/],
    ['skills', skill({ uri: 'skill:x/SKILL.md' }), /does not end in/],
    ['skills', skill({ frontmatter: null }), /frontmatter/],
    ['skills', skill({ frontmatter: { description: 'd' } }), /name/],
    ['skills', skill({ frontmatter: { name: '', description: 'd' } }), /does not end in/],
    ['skills', skill({ frontmatter: { name: 'a/x', description: 'd' } }), /does not end in/],
    ['skills', skill({ frontmatter: { name: 'x', description: null } }), /description/],
    ['skills', skill({ resources: undefined }), /it has no resources/],
    ['skills', skill({ resources: 'static' }), /neither a list nor "dynamic"/],
    ['skills', skill({ resources: {} }), /neither a list nor "dynamic"/],
    ...[
      null,
      'skill://x/SKILL.md',
      { digest: 'd', size: 1 },
      { uri: 'a:b', size: 1 },
      { uri: 'a:b', digest: 'd' },
      ...['1', 1.5, -1, 1e300, null].map(size => ({ uri: 'a:b', digest: 'd', size })),
    ].map((file): [ListName, string, RegExp] => [
      'skills',
      skill({ resources: [file] }),
      /one of its resources/,
    ]),
    ['skills', `${skill({}).slice(0, -1)},"resources":"dynamic"}`, /two members resources/],
  ]
  for (const [list, text, why] of cases) {
    const repaired = repairItem(list, json(text))
    t.match('dropped' in repaired ? repaired.dropped : '', why, text)
  }
})

t.test('a clean item is the same item, down to the last byte', async t => {
  const items: [ListName, string][] = [
    [
      'tools',
      '{ "inputSchema" : {"properties":{"n":{"maximum":9223372036854775807,"minimum":-1.0,"default":null},"b":true},"type":"object","required":["n"],"additionalProperties":false},"x-new":null,\n"name":"x","title":"X","annotations":{"readOnlyHint":false,"v":null},"icons":[{"src":"HTTPS://e/i","theme":"light","sizes":["any"]}],"outputSchema":{"anyOf":[{}]},"execution":{"taskSupport":"optional"},"_meta":{"a":null}}',
    ],
    ['prompts', '{"name":"p","arguments":[{"name":"a","required":true,"x":1e400}],"description":""}'],
    [
      'resources',
      '{"uri":"","name":"","size":12345678901234567890,"annotations":{"audience":["user","assistant"],"priority":1.0,"lastModified":"2024-02-29T23:59:00.5+02:00"}}',
    ],
    ['templates', '{"uriTemplate":"a:{b}","name":"n","mimeType":"a/b","icons":[]}'],
    [
      'skills',
      '{ "uri":"skill://acme/x/SKILL.md","frontmatter":{"description":"","name":"x","n":1.0,"name2":null},"resources":[{"uri":"skill://acme/x/SKILL.md","digest":"sha256:aa","size":9.0,"v":null}],"title":null,"_meta":{}}',
    ],
    ['skills', skill({ resources: 'dynamic' })],
    ['skills', skill({ resources: [] })],
  ]
  for (const [list, text] of items) {
    const item = json(text)
    const repaired = repairItem(list, item)
    t.ok('item' in repaired && repaired.item === item, text)
    t.same('item' in repaired && repaired.notes, [])
  }
})

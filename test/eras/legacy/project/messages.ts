import {
  CallToolResultSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { rewriteItem } from '../../../../src/catalog/names/rewrite.js'
import { repairItem } from '../../../../src/catalog/repair/items.js'
import { repairResult } from '../../../../src/catalog/repair/results.js'
import {
  projectItem,
  projectLegacyRequest,
  projectLegacyResult,
} from '../../../../src/eras/legacy/project/messages.js'
import {
  elementsOf,
  type JsonText,
  memberOf,
  membersOf,
  readJson,
  valueOf,
} from '../../../../src/kernel/json/text.js'
import { LIST_NAMES, type ListName } from '../../../../src/model/listing.js'
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
  skills:
    '{"uri":"skill://x/SKILL.md","frontmatter":{"name":"x","description":"d"},"resources":"dynamic","title":"X","icons":[],"_meta":{"k":1},"vendor":1.0}',
}

/** The members removed from a full item, by the client's revision. */
const GONE: Readonly<Record<ListName, Readonly<Record<LegacyRevision, string[]>>>> = {
  tools: {
    [R1]: ['title', 'outputSchema', 'annotations', 'icons', 'execution', '_meta'],
    [R2]: ['title', 'outputSchema', 'icons', 'execution', '_meta'],
    [R3]: ['icons', 'execution'],
    [R4]: [],
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
  skills: { [R1]: [], [R2]: [], [R3]: [], [R4]: [] },
}

const keys = (item: JsonText): string[] => [...membersOf(item)].map(({ key }) => key)

t.test('a client gets the members of its revision, and unknown ones', async t => {
  for (const list of LIST_NAMES) {
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

t.test('the title of a prompt’s argument follows the title of the prompt', async t => {
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

t.test('an invalid output schema is not listed', async t => {
  for (const schema of ['null', '"x"', '[]', '7']) {
    const tool = json(`{"name":"x","inputSchema":{"type":"object"},"outputSchema":${schema}}`)
    t.same(valueOf(projectItem(R4, 'tools', tool)), { name: 'x', inputSchema: { type: 'object' } })
  }
})

t.test('an invalid item stays unchanged', async t => {
  for (const list of LIST_NAMES) {
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

/** [rule, client's revision, method, what a server answers, what the client reads] */
const RESULTS: [string, LegacyRevision, string, string, string][] = [
  [
    'CT-1',
    R1,
    'tools/call',
    '{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}]}',
    '{"content":[{"type":"resource","resource":{"uri":"mcp-proxy://content/a40ff3d5900fb7698b8c865041347cb49eccedc8f93945f89629ad104aaecce4","mimeType":"audio/wav","blob":"UklGRg=="}}]}',
  ],
  [
    'CT-2',
    R2,
    'tools/call',
    '{"content":[{"type":"resource_link","uri":"file:///m.rs","name":"m.rs","description":"entry"}]}',
    '{"content":[{"type":"text","text":"m.rs: file:///m.rs\\nentry"}]}',
  ],
  [
    'CT-3',
    R4,
    'tools/call',
    '{"resultType":"complete","content":[{"type":"video","uri":"v:1"}]}',
    '{"content":[{"type":"text","text":"{\\"type\\":\\"video\\",\\"uri\\":\\"v:1\\"}"}]}',
  ],
  [
    'CT-5',
    R2,
    'tools/call',
    '{"content":[],"structuredContent":{"t":22}}',
    '{"content":[{"type":"text","text":"{\\"t\\":22}"}]}',
  ],
  [
    'CT-6',
    R4,
    'tools/call',
    '{"resultType":"complete","content":[],"structuredContent":[1,2]}',
    '{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":{"result":[1,2]}}',
  ],
  [
    'CT-9',
    R4,
    'tools/call',
    '{"structuredContent":{"a":1}}',
    '{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\\"a\\":1}"}]}',
  ],
  [
    'CT-15',
    R3,
    'tools/call',
    '{"content":[{"type":"text","text":"a","_meta":{"v.x/k":1}}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"b","version":"1"},"v.x/r":2}}',
    '{"content":[{"type":"text","text":"a","_meta":{"v.x/k":1}}],"_meta":{"v.x/r":2}}',
  ],
  ['CT-22', R4, 'resources/subscribe', '{"resultType":"complete"}', '{}'],
  [
    'TK-5',
    R3,
    'tools/call',
    '{"content":[{"type":"text","text":"done"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}}',
    '{"content":[{"type":"text","text":"done"}]}',
  ],
  [
    'INV-2',
    R4,
    'tools/call',
    '{"content":[{"type":"text","text":"a","x-new":1}],"vendorField":{"k":[1]}}',
    '{"content":[{"type":"text","text":"a","x-new":1}],"vendorField":{"k":[1]}}',
  ],
  [
    'LC-5',
    R3,
    'tools/list',
    '{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}],"ttlMs":300000,"cacheScope":"public"}',
    '{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}',
  ],
  [
    'CT-8',
    R3,
    'tools/list',
    '{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"l","inputSchema":{"type":"object"},"outputSchema":{"type":"array","items":{"$ref":"#/$defs/u"},"$defs":{"u":{"type":"string"}}}}]}',
    '{"tools":[{"name":"l","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/properties/result/$defs/u"},"$defs":{"u":{"type":"string"}}}},"required":["result"]}}]}',
  ],
  [
    'CT-11',
    R2,
    'tools/list',
    '{"tools":[{"name":"x","title":"Ex","icons":[{"src":"https://e/i.png"}],"execution":{"taskSupport":"optional"},"inputSchema":{"type":"object","properties":{}}}]}',
    '{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{}},"annotations":{"title":"Ex"}}]}',
  ],
]

t.test('a client reads what its revision can say', async t => {
  for (const [rule, revision, method, server, client] of RESULTS) {
    t.equal(projectLegacyResult(revision, method, json(server)).toString(), client, rule)
  }
})

t.test('what a client of any revision may read changes no more', async t => {
  for (const [rule, revision, method, server] of RESULTS) {
    const once = projectLegacyResult(revision, method, json(server))
    t.equal(projectLegacyResult(revision, method, once), once, rule)
  }
})

t.test('a sloppy server’s list is repaired, renamed and projected to what a strict client takes', async t => {
  const list = json(
    '{"tools":[{"name":"x","description":null,"annotations":null,"inputSchema":{"properties":{"a":true}}},{"description":"no name","inputSchema":{"type":"object"}}],"nextCursor":null}',
  )
  const items = [...elementsOf(memberOf(list, 'tools') ?? list)].flatMap(tool => {
    const repaired = repairItem('tools', tool)
    return 'dropped' in repaired ? [] : [rewriteItem('tools', repaired.item, { name: 'a__x' })]
  })
  const page = projectLegacyResult(R4, 'tools/list', json(`{"tools":[${items.join(',')}]}`))
  t.same(valueOf(page), { tools: [{ name: 'a__x', inputSchema: { properties: { a: {} }, type: 'object' } }] })
  t.ok(ListToolsResultSchema.safeParse(valueOf(page)).success)
})

t.test('clean data reaches a client of the newest legacy revision as it is', async t => {
  for (const [method, text] of [
    [
      'tools/call',
      '{ "content":[{"type":"text","text":"t","_meta":{"a":1.0}},{"type":"audio","data":"QQ==","mimeType":"a/b"},{"type":"resource_link","uri":"a:b","name":"n","icons":[]}] ,"structuredContent":{"n":9223372036854775807},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}',
    ],
    [
      'tools/call',
      '{"content":[{"type":"text","text":"\\"resultType\\" io.modelcontextprotocol/serverInfo"}],"isError":true}',
    ],
    [
      'prompts/get',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"","_meta":{}}}}]}',
    ],
    ['resources/read', '{"contents":[{"uri":"a:b","text":"t","_meta":{"k":1}}]}'],
    ['completion/complete', '{"completion":{"values":["a"],"total":1.0}}'],
    [
      'tools/list',
      '{"tools":[{"name":"x","title":"t","icons":[],"_meta":{"a":1},"annotations":{},"inputSchema":{"type":"object","properties":{"n":{"maximum":1e400,"default":true}},"additionalProperties":false},"outputSchema":{"type":"object"}}],"nextCursor":"c"}',
    ],
    ['prompts/list', '{"prompts":[{"name":"p","title":"t","arguments":[{"name":"a","title":"t"}]}]}'],
    [
      'resources/list',
      '{"resources":[{"uri":"a:b","name":"n","size":1.0,"annotations":{"lastModified":"x"}}]}',
    ],
    ['resources/templates/list', '{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n","icons":[]}]}'],
    ['logging/setLevel', '{"_meta":{"a":1}}'],
    ['ping', '{}'],
    ['vendor/method', '{"a":1}'],
  ] as const) {
    const result = json(text)
    t.equal(projectLegacyResult(R4, method, result), result, text)
  }
})

t.test('structured output is sent to clients that support it, in the form of their list', async t => {
  const text = '{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12345678901234567890}}'
  for (const revision of [R1, R2] as const) {
    t.equal(
      projectLegacyResult(revision, 'tools/call', json(text)).toString(),
      '{"content":[{"type":"text","text":"x"}]}',
    )
  }
  for (const revision of [R3, R4] as const) {
    const result = json(text)
    t.equal(projectLegacyResult(revision, 'tools/call', result), result)
    for (const value of ['null', '"s"', '1.0', 'false', '[]']) {
      const other = projectLegacyResult(
        revision,
        'tools/call',
        json(`{"content":[1],"structuredContent":${value}}`),
      )
      t.match(other.toString(), `"structuredContent":{"result":${value}}`)
    }
  }
})

t.test('an empty result holds nothing but _meta', async t => {
  for (const method of ['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']) {
    for (const revision of LEGACY_REVISIONS) {
      t.equal(projectLegacyResult(revision, method, json('{"resultType":"complete","x":1}')).toString(), '{}')
      const modern =
        '{"x":1,"_meta":{"a":1.0,"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}'
      const result = projectLegacyResult(revision, method, json(modern))
      t.equal(result.toString(), '{"_meta":{"a":1.0}}')
      t.ok(EmptyResultSchema.safeParse(valueOf(result)).success)
    }
  }
})

t.test('no word of 2026-07-28 reaches an older client', async t => {
  const meta =
    '"_meta":{"io.modelcontextprotocol\\/serverInfo":{},"\\u0069o.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","k":1}'
  const frame = `"resultType":"complete","\\u0074tlMs":1,"cacheScope":"public",${meta}`
  for (const revision of LEGACY_REVISIONS) {
    for (const [method, body] of [
      [
        'tools/call',
        `"content":[{"type":"text","text":"t",${meta}},{"type":"resource","resource":{"uri":"a:b","text":"t",${meta}}}]`,
      ],
      ['prompts/get', `"messages":[{"role":"user","content":{"type":"text","text":"t",${meta}}}]`],
      ['resources/read', `"contents":[{"uri":"a:b","text":"t",${meta}}]`],
      ['tools/list', `"tools":[{"name":"x","inputSchema":{"type":"object"},${meta}}]`],
      ['resources/list', `"resources":[{"uri":"a:b","name":"n",${meta}}]`],
    ] as const) {
      const read = JSON.stringify(valueOf(projectLegacyResult(revision, method, json(`{${frame},${body}}`))))
      t.notMatch(read, /resultType|ttlMs|cacheScope|io\.modelcontextprotocol/, `${revision} ${method}`)
      t.equal(read.includes('"t"') || method.endsWith('list'), true)
      t.equal(read.split('"k":1').length - 1 > 1, revision >= R3, 'inner _meta exists since 2025-06-18')
    }
  }
})

t.test('prompts and resources are projected like tool results', async t => {
  const prompt =
    '{"messages":[{"role":"user","content":{"type":"audio","data":"QQ==","mimeType":"a/b"}},{"role":"user","content":[{"type":"resource_link","uri":"a:b","name":"n"}]}]}'
  const read = valueOf(projectLegacyResult(R1, 'prompts/get', json(prompt))) as {
    messages: { content: unknown }[]
  }
  t.match(read.messages[0], { content: { type: 'resource', resource: { blob: 'QQ==' } } })
  t.same(read.messages[1]?.content, [{ type: 'text', text: 'n: a:b' }])
  t.equal(
    projectLegacyResult(
      R2,
      'resources/read',
      json('{"contents":[{"uri":"a:b","text":"t","_meta":{"a":1}},7]}'),
    ).toString(),
    '{"contents":[{"uri":"a:b","text":"t"},7]}',
  )
})

t.test('an SDK client accepts every server answer after repair and projection', async t => {
  const blocks = [
    '{"type":"audio","data":"QQ","mimeType":"a/b"}',
    '{"type":"resource_link","uri":"a:b"}',
    '{"type":"x"}',
    'null',
    '{"type":"text","text":null}',
    '{"type":"resource","resource":{"uri":"a:b","blob":"?"}}',
  ]
  for (const revision of LEGACY_REVISIONS) {
    const call = repairResult('tools/call', json(`{"content":[${blocks.join(',')}],"structuredContent":[1]}`))
    t.ok(CallToolResultSchema.safeParse(valueOf(projectLegacyResult(revision, 'tools/call', call))).success)
    const messages = blocks.map(block => `{"role":"user","content":${block}}`)
    const prompt = repairResult('prompts/get', json(`{"messages":[${messages.join(',')}]}`))
    t.ok(
      GetPromptResultSchema.safeParse(valueOf(projectLegacyResult(revision, 'prompts/get', prompt))).success,
    )
  }
})

/** [rule, server's revision, method, what a client asks, what the server is asked] */
const REQUESTS: [string, LegacyRevision, string, string, string][] = [
  [
    'CT-20',
    R2,
    'completion/complete',
    '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"y"},"context":{"arguments":{"l":"py"}}}',
    '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"y"}}',
  ],
  ['CT-20', R1, 'completion/complete', '{"context":{}}', '{}'],
  ['CT-20', R3, 'completion/complete', '{"context":{}}', '{"context":{}}'],
  ['CT-21', R3, 'tools/call', '{"name":"x","task":{"ttl":1}}', '{"name":"x"}'],
  [
    'CT-21',
    R1,
    'tools/call',
    '{"\\u0074ask":{},"name":"x","arguments":{"task":1.0,"context":2}}',
    '{"name":"x","arguments":{"task":1.0,"context":2}}',
  ],
  ['CT-21', R4, 'tools/call', '{"name":"x","task":{"ttl":1}}', '{"name":"x"}'],
  [
    'CT-27',
    R3,
    'tools/call',
    '{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","v.x/k":1}}',
    '{"name":"x","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","v.x/k":1}}',
  ],
  [
    'CT-27',
    R4,
    'tools/call',
    '{"_meta":{"progressToken":1.0,"io.modelcontextprotocol/related-task":{"taskId":"t"},"io.modelcontextprotocol/logLevel":"info"}}',
    '{"_meta":{"progressToken":1.0,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}',
  ],
  [
    'CT-27',
    R3,
    'tools/call',
    '{"_meta":{"io.modelcontextprotocol/related-task":{}},"arguments":{"_meta":{"io.modelcontextprotocol/x":1}}}',
    '{"arguments":{"_meta":{"io.modelcontextprotocol/x":1}}}',
  ],
]

t.test('a server is asked what its revision can understand', async t => {
  for (const [rule, revision, method, client, server] of REQUESTS) {
    t.equal(projectLegacyRequest(revision, method, json(client))?.toString(), server, `${rule} ${revision}`)
  }
})

t.test('a request that every revision understands is passed on as it is', async t => {
  for (const revision of LEGACY_REVISIONS) {
    t.equal(projectLegacyRequest(revision, 'tools/list', undefined), undefined)
    for (const text of [
      '{}',
      '{ "name":"x" ,"arguments":{"n":9223372036854775807},"_meta":{"progressToken":0}}',
      '{"context":1}',
      '[]',
    ]) {
      const params = json(text)
      t.equal(projectLegacyRequest(revision, 'tools/call', params), params)
    }
  }
})

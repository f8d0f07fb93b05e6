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
  projectListResult,
  projectRequest,
  projectResult,
} from '../../../../src/eras/legacy/project/messages.js'
import { elementsOf, type JsonText, memberOf, readJson, valueOf } from '../../../../src/kernel/json/text.js'
import { LEGACY_REVISIONS, type LegacyRevision } from '../../../../src/model/revision.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const [R1, R2, R3, R4] = LEGACY_REVISIONS

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
    t.equal(projectResult(revision, method, json(server)).toString(), client, rule)
  }
})

t.test('what a client of any revision may read changes no more', async t => {
  for (const [rule, revision, method, server] of RESULTS) {
    const once = projectResult(revision, method, json(server))
    t.equal(projectResult(revision, method, once), once, rule)
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
  const page = projectListResult(R4, 'tools/list', json(`{"tools":[${items.join(',')}]}`))
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
    t.equal(projectResult(R4, method, result), result, text)
  }
})

t.test('structured output is given to those who know it, in the form that their list promises', async t => {
  const text = '{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":12345678901234567890}}'
  for (const revision of [R1, R2] as const) {
    t.equal(
      projectResult(revision, 'tools/call', json(text)).toString(),
      '{"content":[{"type":"text","text":"x"}]}',
    )
  }
  for (const revision of [R3, R4] as const) {
    const result = json(text)
    t.equal(projectResult(revision, 'tools/call', result), result)
    for (const value of ['null', '"s"', '1.0', 'false', '[]']) {
      const other = projectResult(
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
      t.equal(projectResult(revision, method, json('{"resultType":"complete","x":1}')).toString(), '{}')
      const modern =
        '{"x":1,"_meta":{"a":1.0,"io.modelcontextprotocol/serverInfo":{}},"resultType":"complete"}'
      const result = projectResult(revision, method, json(modern))
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
      const read = JSON.stringify(valueOf(projectResult(revision, method, json(`{${frame},${body}}`))))
      t.notMatch(read, /resultType|ttlMs|cacheScope|io\.modelcontextprotocol/, `${revision} ${method}`)
      t.equal(read.includes('"t"') || method.endsWith('list'), true)
      t.equal(read.split('"k":1').length - 1 > 1, revision >= R3, 'inner _meta exists since 2025-06-18')
    }
  }
})

t.test('prompts and resources are projected like tool results', async t => {
  const prompt =
    '{"messages":[{"role":"user","content":{"type":"audio","data":"QQ==","mimeType":"a/b"}},{"role":"user","content":[{"type":"resource_link","uri":"a:b","name":"n"}]}]}'
  const read = valueOf(projectResult(R1, 'prompts/get', json(prompt))) as { messages: { content: unknown }[] }
  t.match(read.messages[0], { content: { type: 'resource', resource: { blob: 'QQ==' } } })
  t.same(read.messages[1]?.content, [{ type: 'text', text: 'n: a:b' }])
  t.equal(
    projectResult(
      R2,
      'resources/read',
      json('{"contents":[{"uri":"a:b","text":"t","_meta":{"a":1}},7]}'),
    ).toString(),
    '{"contents":[{"uri":"a:b","text":"t"},7]}',
  )
})

t.test('whatever a server answers, an SDK client takes it repaired and projected', async t => {
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
    t.ok(CallToolResultSchema.safeParse(valueOf(projectResult(revision, 'tools/call', call))).success)
    const messages = blocks.map(block => `{"role":"user","content":${block}}`)
    const prompt = repairResult('prompts/get', json(`{"messages":[${messages.join(',')}]}`))
    t.ok(GetPromptResultSchema.safeParse(valueOf(projectResult(revision, 'prompts/get', prompt))).success)
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
    t.equal(projectRequest(revision, method, json(client))?.toString(), server, `${rule} ${revision}`)
  }
})

t.test('a request that every revision understands is passed on as it is', async t => {
  for (const revision of LEGACY_REVISIONS) {
    t.equal(projectRequest(revision, 'tools/list', undefined), undefined)
    for (const text of [
      '{}',
      '{ "name":"x" ,"arguments":{"n":9223372036854775807},"_meta":{"progressToken":0}}',
      '{"context":1}',
      '[]',
    ]) {
      const params = json(text)
      t.equal(projectRequest(revision, 'tools/call', params), params)
    }
  }
})

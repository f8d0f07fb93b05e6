import t from 'tap'
import {
  projectModernOnce,
  projectModernRequest,
  projectModernResult,
} from '../../../../src/eras/modern/project/messages.js'
import { type JsonText, readJson, textOf, valueOf } from '../../../../src/kernel/json/text.js'
import { sdkOnPipe } from '../../../support/client/sdk-client.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const TASK = '"io.modelcontextprotocol/related-task":{"taskId":"t"}'

/** [rule, method, what a server answers, what the client reads] */
const RESULTS: [string, string, string, string][] = [
  [
    'CT-3',
    'tools/call',
    '{"resultType":"complete","content":[{"type":"video","uri":"v:1"}]}',
    '{"resultType":"complete","content":[{"type":"text","text":"{\\"type\\":\\"video\\",\\"uri\\":\\"v:1\\"}"}]}',
  ],
  [
    'CT-3 in a prompt',
    'prompts/get',
    '{"messages":[{"role":"user","content":{"type":"video","n":1.0}}]}',
    '{"messages":[{"role":"user","content":{"type":"text","text":"{\\"type\\":\\"video\\",\\"n\\":1.0}"}}]}',
  ],
  [
    'CT-3 in a list of a prompt',
    'prompts/get',
    '{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":7}]}]}',
    '{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"{\\"type\\":7}"}]}]}',
  ],
  [
    'CT-4 outside sampling',
    'tools/call',
    '{"content":[{"type":"tool_use","id":"1"}]}',
    '{"content":[{"type":"text","text":"{\\"type\\":\\"tool_use\\",\\"id\\":\\"1\\"}"}]}',
  ],
  [
    'CT-9',
    'tools/call',
    '{"structuredContent":{"a":1}}',
    '{"structuredContent":{"a":1},"content":[{"type":"text","text":"{\\"a\\":1}"}]}',
  ],
  [
    'CT-6 null is a value',
    'tools/call',
    '{"content":[],"structuredContent":null}',
    '{"content":[{"type":"text","text":"null"}],"structuredContent":null}',
  ],
  [
    'CT-14',
    'tools/list',
    '{"tools":[{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}]}',
    '{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}',
  ],
  [
    'INV-3 result',
    'tools/call',
    `{"content":[{"type":"text","text":"done","_meta":{${TASK},"k":1}}],"_meta":{${TASK}}}`,
    '{"content":[{"type":"text","text":"done","_meta":{"k":1}}]}',
  ],
  [
    'INV-3 contents',
    'resources/read',
    `{"contents":[{"uri":"a:b","text":"","_meta":{${TASK}}}]}`,
    '{"contents":[{"uri":"a:b","text":""}]}',
  ],
  [
    'INV-3 list',
    'resources/list',
    `{"resources":[{"uri":"a:b","name":"n","_meta":{${TASK}}}]}`,
    '{"resources":[{"uri":"a:b","name":"n"}]}',
  ],
  [
    'INV-3 other',
    'completion/complete',
    `{"completion":{"values":[]},"_meta":{${TASK}}}`,
    '{"completion":{"values":[]}}',
  ],
]

t.test('a modern client reads what its revision can say', async t => {
  for (const [rule, method, server, client] of RESULTS) {
    const once = projectModernResult(method, json(server))
    t.equal(once.toString(), client, rule)
    t.equal(projectModernResult(method, once), once, `${rule}, again`)
  }
})

t.test('what this revision can say reaches its clients as it is', async t => {
  const CASES: [string, string][] = [
    [
      'tools/call',
      '{ "content":[{"type":"text","text":"t","_meta":{"a":1.0}},{"type":"audio","data":"QQ==","mimeType":"a/b"},{"type":"resource_link","uri":"a:b","name":"n","icons":[],"size":12345678901234567890},{"type":"resource","resource":{"uri":"a:b","blob":"QQ=="}},{"type":"image","data":"QQ==","mimeType":"i/p"}] ,"structuredContent":[1.0,1e400],"isError":false,"x":{"b":1,"a":2}}',
    ],
    [
      'tools/call',
      '{"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"b","version":"1"}}}',
    ],
    ['tools/call', '{"resultType":"input_required","requestState":"S","inputRequests":{}}'],
    ['tools/call', '{"resultType":"task","taskId":"t"}'],
    ['tools/call', '{"resultType":"later","content":[{"type":"video"}]}'],
    [
      'tools/list',
      '{"tools":[{"name":"x","title":"X","inputSchema":{"type":"object","properties":{"a":true,"r":{"type":"string","x-mcp-header":"R"}}},"outputSchema":{"type":"array","items":false},"annotations":{"readOnlyHint":true},"icons":[],"_meta":{"k":1}}],"nextCursor":""}',
    ],
    ['prompts/list', '{"prompts":[{"name":"p","execution":1,"arguments":[{"name":"a","title":"A"}]},7]}'],
    [
      'resources/templates/list',
      '{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}],"tools":[{"execution":1}]}',
    ],
    [
      'resources/read',
      '{"contents":[{"uri":"a:b","text":"io.modelcontextprotocol/related-task"}],"ttlMs":5}',
    ],
    ['completion/complete', '{"completion":{"values":["a"],"total":1.0}}'],
    ['server/discover', '{"supportedVersions":[]}'],
  ]
  for (const [method, text] of CASES) {
    const result = json(text)
    t.equal(projectModernResult(method, result), result, `${method} ${text.slice(0, 60)}`)
  }
})

t.test('an annotation that no client could follow is not shown, and its tool is', async t => {
  const tool = (name: string, properties: string): string =>
    `{"name":"${name}","inputSchema":{"type":"object","properties":${properties}}}`
  const shown = [
    ['{"a":{"type":"string","x-mcp-header":"A"}}', '{"a":{"type":"string","x-mcp-header":"A"}}'],
    ['{"a":{"type":"string","x-mcp-header":""}}', '{"a":{"type":"string"}}'],
    [
      '{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}',
      '{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string"}}',
    ],
    [
      '{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}',
      '{"a":{"type":"array","items":{"type":"string"}}}',
    ],
    ['{"a":{"type":"number","x-mcp-header":"A"}}', '{"a":{"type":"number"}}'],
  ] as const
  const page = json(`{"tools":[${shown.map(([is], index) => tool(`t${index}`, is)).join(',')}]}`)
  const expected = `{"tools":[${shown.map(([, as], index) => tool(`t${index}`, as)).join(',')}]}`
  t.equal(projectModernResult('tools/list', page).toString(), expected)
})

t.test('only lists are projected as lists', async t => {
  const result = json('{"tools":[{"name":"x","execution":{}}]}')
  t.equal(projectModernResult('tools/list', result).toString(), '{"tools":[{"name":"x"}]}')
})

t.test('a request to a modern server asks for no task', async t => {
  t.equal(
    projectModernRequest(json('{"name":"x", "task":{"ttl":1} ,"arguments":{"task":1.0}}'))?.toString(),
    '{"name":"x" ,"arguments":{"task":1.0}}',
  )
  for (const text of ['{"arguments":{"task":1}}', '{"context":{},"name":"task"}', '{}']) {
    const params = json(text)
    t.equal(projectModernRequest(params), params, text)
  }
  t.equal(projectModernRequest(undefined), undefined)
})

t.test('the official client takes what a legacy server answered, once it is projected', async t => {
  const complete = (method: string, text: string, more = ''): string =>
    `${projectModernResult(method, json(text)).toString().slice(0, -1)},"resultType":"complete"${more}}`
  const listed = (method: string, text: string): string =>
    complete(method, text, ',"ttlMs":0,"cacheScope":"private"')
  const ANSWERS: Record<string, string> = {
    'server/discover':
      '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}',
    'tools/list': listed(
      'tools/list',
      '{"tools":[{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}',
    ),
    'tools/call': complete(
      'tools/call',
      `{"content":[{"type":"video"},{"type":"text","text":"t"}],"_meta":{${TASK}}}`,
    ),
    'prompts/get': complete('prompts/get', '{"messages":[{"role":"user","content":{"type":"video"}}]}'),
    'resources/read': listed('resources/read', '{"contents":[{"uri":"a:b","text":"t"}]}'),
  }
  const { client } = await sdkOnPipe(({ method }) => ANSWERS[method] ?? '{}')
  const { tools } = await client.listTools()
  t.same(tools, [{ name: 'x', inputSchema: { type: 'object' } }])
  t.match(await client.callTool({ name: 'x', arguments: {} }), {
    content: [
      { type: 'text', text: '{"type":"video"}' },
      { type: 'text', text: 't' },
    ],
  })
  t.match(await client.getPrompt({ name: 'p' }), { messages: [{ content: { type: 'text' } }] })
  t.match(await client.readResource({ uri: 'a:b' }), { contents: [{ text: 't' }] })
  await client.close()
})

t.test('a page of a list is projected once for all clients', t => {
  const page = textOf({ tools: [{ name: 'x', inputSchema: { type: 'object' }, execution: {} }] })
  const projected = projectModernOnce('tools/list', page)
  t.same(valueOf(projected), { tools: [{ name: 'x', inputSchema: { type: 'object' } }] })
  t.equal(projectModernOnce('tools/list', page), projected)
  const plain = textOf({ tools: [] })
  t.equal(projectModernOnce('tools/list', plain), plain)
  t.end()
})

t.test('results other than lists are projected each time', t => {
  const result = textOf({ content: [{ type: 'strange' }] })
  const projected = projectModernOnce('tools/call', result)
  t.match(valueOf(projected), { content: [{ type: 'text' }] })
  t.not(projectModernOnce('tools/call', result), projected)
  t.end()
})

import {
  CallToolResultSchema,
  CompleteResultSchema,
  GetPromptResultSchema,
  ReadResourceResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { rewriteItem, rewriteUris } from '../../../src/catalog/names/rewrite.js'
import { repairItem } from '../../../src/catalog/repair/items.js'
import { repairResult } from '../../../src/catalog/repair/results.js'
import { type JsonText, readJson, textOf, valueOf } from '../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const accepts = (method: string, result: unknown): boolean => {
  switch (method) {
    case 'tools/call':
      return CallToolResultSchema.safeParse(result).success
    case 'prompts/get':
      return GetPromptResultSchema.safeParse(result).success
    case 'resources/read':
      return ReadResourceResultSchema.safeParse(result).success
    default:
      return CompleteResultSchema.safeParse(result).success
  }
}

const content = (...blocks: string[]): string => `{"content":[${blocks.join(',')}]}`

/** [method, what a server answers, what is passed on]: all of these are refused by some published client. */
const REPAIRED: [string, string, string][] = [
  [
    'tools/call',
    '{"structuredContent":{"a":1}}',
    '{"content":[{"type":"text","text":"{\\"a\\":1}"}],"structuredContent":{"a":1}}',
  ],
  [
    'tools/call',
    '{"content":[],"structuredContent":{"t":22}}',
    '{"content":[{"type":"text","text":"{\\"t\\":22}"}],"structuredContent":{"t":22}}',
  ],
  ['tools/call', '{}', '{"content":[]}'],
  [
    'tools/call',
    '{"content":null,"isError":null,"_meta":null,"structuredContent":null,"x":null}',
    '{"content":[],"x":null}',
  ],
  [
    'tools/call',
    content('{"type":"video","uri":"v:1"}'),
    content('{"type":"text","text":"{\\"type\\":\\"video\\",\\"uri\\":\\"v:1\\"}"}'),
  ],
  [
    'tools/call',
    content('{"text":"t"}', 'null', '"hello"', '7'),
    content(
      '{"type":"text","text":"{\\"text\\":\\"t\\"}"}',
      '{"type":"text","text":"hello"}',
      '{"type":"text","text":"7"}',
    ),
  ],
  [
    'tools/call',
    content('{"type":"image","data":"_-8A\\n","mimeType":"image/png"}'),
    content('{"type":"image","data":"/+8A","mimeType":"image/png"}'),
  ],
  [
    'tools/call',
    content(
      '{"type":"audio","data":"QQ","mimeType":"a/b"}',
      '{"type":"audio","data":" QUE=","mimeType":"a/b"}',
    ),
    content(
      '{"type":"audio","data":"QQ==","mimeType":"a/b"}',
      '{"type":"audio","data":"QUE=","mimeType":"a/b"}',
    ),
  ],
  [
    'tools/call',
    content('{"type":"image","data":"!","mimeType":"a/b"}'),
    content('{"type":"text","text":"{\\"type\\":\\"image\\",\\"data\\":\\"!\\",\\"mimeType\\":\\"a/b\\"}"}'),
  ],
  [
    'tools/call',
    content('{"type":"image","data":"QQ=="}'),
    content('{"type":"text","text":"{\\"type\\":\\"image\\",\\"data\\":\\"QQ==\\"}"}'),
  ],
  [
    'tools/call',
    content('{"type":"text","text":42.0,"annotations":null,"_meta":null}', '{"type":"text"}'),
    content('{"type":"text","text":"42.0"}', '{"type":"text","text":""}'),
  ],
  [
    'tools/call',
    content('{"type":"text","text":"t","annotations":{"priority":2,"audience":["user"]}}'),
    content('{"type":"text","text":"t","annotations":{"audience":["user"]}}'),
  ],
  [
    'tools/call',
    content(
      '{"type":"resource_link","uri":"a:b","description":null,"size":null,"icons":[{}]}',
      '{"type":"resource_link","name":"n"}',
    ),
    content(
      '{"type":"resource_link","uri":"a:b","name":"a:b"}',
      '{"type":"text","text":"{\\"type\\":\\"resource_link\\",\\"name\\":\\"n\\"}"}',
    ),
  ],
  [
    'tools/call',
    content(
      '{"type":"resource","resource":{"uri":"a:b","mimeType":null,"text":null,"blob":"_w"}}',
      '{"type":"resource","resource":{"uri":"a:b","text":{"a":1.0},"blob":null}}',
    ),
    content(
      '{"type":"resource","resource":{"uri":"a:b","blob":"/w=="}}',
      '{"type":"resource","resource":{"uri":"a:b","text":"{\\"a\\":1.0}"}}',
    ),
  ],
  [
    'tools/call',
    content('{"type":"resource","resource":{"uri":"a:b","blob":"???"}}', '{"type":"resource"}'),
    content(
      '{"type":"text","text":"{\\"type\\":\\"resource\\",\\"resource\\":{\\"uri\\":\\"a:b\\",\\"blob\\":\\"???\\"}}"}',
      '{"type":"text","text":"{\\"type\\":\\"resource\\"}"}',
    ),
  ],
  [
    'prompts/get',
    '{"description":null,"messages":[{"role":"user","content":"hi"},{"role":"user","content":null}]}',
    '{"messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"user","content":{"type":"text","text":""}}]}',
  ],
  [
    'prompts/get',
    '{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"x"}]},{"role":"assistant","content":{"type":"text","text":"b"}},{"role":"user","content":[]}]}',
    '{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"{\\"type\\":\\"x\\"}"}},{"role":"assistant","content":{"type":"text","text":"b"}}]}',
  ],
  [
    'resources/read',
    '{"_meta":null,"contents":[{"uri":"a:b","text":"t","mimeType":null},{"uri":"a:b","blob":"_w"},{"uri":"a:b","text":null}]}',
    '{"contents":[{"uri":"a:b","text":"t"},{"uri":"a:b","blob":"/w=="},{"uri":"a:b","text":""}]}',
  ],
  [
    'resources/read',
    '{"contents":[{"uri":"a:b","blob":"?","mimeType":"image/png"}]}',
    '{"contents":[{"uri":"a:b","mimeType":"text/plain","text":"{\\"uri\\":\\"a:b\\",\\"blob\\":\\"?\\",\\"mimeType\\":\\"image/png\\"}"}]}',
  ],
  [
    'completion/complete',
    '{"completion":{"values":["a",1],"total":1.5,"hasMore":null}}',
    '{"completion":{"values":["a"]}}',
  ],
  [
    'completion/complete',
    '{"completion":{"values":null,"total":9223372036854775807}}',
    '{"completion":{"values":[]}}',
  ],
  ['completion/complete', '{"completion":{"total":null}}', '{"completion":{"values":[]}}'],
]

t.test('what makes clients refuse a result is repaired', async t => {
  for (const [method, before, after] of REPAIRED) {
    const repaired = repairResult(method, json(before))
    t.same(valueOf(repaired), JSON.parse(after), before)
    t.ok(accepts(method, valueOf(repaired)), 'an SDK client takes it')
    t.equal(repairResult(method, repaired), repaired, 'what was repaired stays as it is')
  }
})

t.test('most of what is repaired would have been refused', async t => {
  const refused = REPAIRED.filter(([method, before]) => !accepts(method, JSON.parse(before)))
  t.ok(refused.length >= 17, `${refused.length} of ${REPAIRED.length}`)
})

t.test('isError that is not a boolean becomes one, or is removed', async t => {
  for (const [value, expected] of [
    ['"yes"', true],
    ['"True"', true],
    ['1', true],
    ['"no"', undefined],
    ['0', undefined],
    ['{}', undefined],
  ] as const) {
    const repaired = valueOf(repairResult('tools/call', json(`{"content":[],"isError":${value}}`)))
    t.same(repaired, { content: [], ...(expected !== undefined && { isError: expected }) }, value)
  }
})

t.test('base64 of either alphabet, with white space or without padding, becomes standard base64', async t => {
  for (const [data, expected] of [
    ['_-8A', '/+8A'],
    ['AA', 'AA=='],
    ['AAA', 'AAA='],
    ['AA=', 'AA=='],
    ['AAAA\r\nAA\t= =\n', 'AAAAAA=='],
    ['QR==', 'QR=='],
    ['', ''],
  ]) {
    const image = { type: 'image', data, mimeType: 'a/b' }
    const repaired = valueOf(repairResult('tools/call', textOf({ content: [image] })))
    t.same(repaired, { content: [{ ...image, data: expected }] }, JSON.stringify(data))
  }
  const escaped = '{"content":[{"type":"image","data":"\\u005f\\u002D8A\\/\\n\\u003D","mimeType":"a/b"}]}'
  t.match(valueOf(repairResult('tools/call', json(escaped))), { content: [{ data: undefined }] })
  const whole = escaped.replace('8A', '8AAA')
  t.match(valueOf(repairResult('tools/call', json(whole))), { content: [{ data: '/+8AAA/=' }] })
})

t.test('unreadable base64 is shown as text, for every kind of damage', async t => {
  for (const data of ['!', 'QQQQQ', 'Q', 'QQ=Q', 'QQ====', 'QUE=QUE=', 'é', 'QQ\0']) {
    const image = { type: 'image', data, mimeType: 'a/b' }
    const repaired = valueOf(repairResult('tools/call', textOf({ content: [image] })))
    t.same(repaired, { content: [{ type: 'text', text: JSON.stringify(image) }] }, data)
  }
})

t.test('of many completions the first hundred are passed on', async t => {
  const values = Array.from({ length: 150 }, (_, i) => `v${i}`)
  const repaired = repairResult(
    'completion/complete',
    textOf({ completion: { values, total: 150, hasMore: false } }),
  )
  t.same(valueOf(repaired), { completion: { values: values.slice(0, 100), total: 150, hasMore: true } })
})

t.test('null is structured output of a 2026-07-28 server only', async t => {
  const modern = '{"resultType":"complete","content":[],"structuredContent":null}'
  t.same(valueOf(repairResult('tools/call', json(modern))), {
    resultType: 'complete',
    content: [{ type: 'text', text: 'null' }],
    structuredContent: null,
  })
  const bare = json('{"content":[],"structuredContent":null}')
  t.same(valueOf(repairResult('tools/call', bare, false)), { content: [] })
  t.same(valueOf(repairResult('tools/call', bare, true)), {
    content: [{ type: 'text', text: 'null' }],
    structuredContent: null,
  })
})

t.test('an intermediate result is not converted to a final one', async t => {
  for (const text of [
    '{"resultType":"input_required","inputRequests":{},"requestState":"s"}',
    '{"resultType":"task","taskId":"t","status":"working"}',
  ]) {
    const result = json(text)
    t.equal(repairResult('tools/call', result), result)
  }
})

t.test('a clean result is the same result, down to the last byte', async t => {
  for (const [method, text] of [
    ['tools/call', '{ "vendorField":{"k":[1.0,null]}, "content":[{"type":"text","text":"a","x-new":null}] }'],
    [
      'tools/call',
      '{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":12345678901234567890,"z":null},"isError":true,"_meta":{"a":null}}',
    ],
    [
      'tools/call',
      '{"content":[{"type":"image","data":"\\/+8A","mimeType":"a\\/b"},{"type":"audio","data":"","mimeType":"a/b"}]}',
    ],
    ['tools/call', '{"content":[{"type":"image","data":"QR==","mimeType":"a/b"}]}'],
    ['prompts/get', '{"messages":[{"role":"user","content":{"type":"text","text":"null"}}]}'],
    ['resources/read', '{"contents":[]}'],
    ['resources/read', '{"contents":[{"uri":"a:b","text":"","_meta":{"n":null}}]}'],
    ['completion/complete', '{"completion":{"values":["null"],"total":1e2,"hasMore":false,"x":null}}'],
    ['ping', '{"x":null}'],
  ] as const) {
    const result = json(text)
    t.equal(repairResult(method, result), result, text)
  }
})

t.test('garbage instead of a list or an object does not throw', async t => {
  for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete']) {
    for (const value of [
      'null',
      '7',
      '"s"',
      '[]',
      '[null]',
      '[[]]',
      '{}',
      '{"type":[]}',
      '[{"type":"resource","resource":[]}]',
    ]) {
      for (const key of ['content', 'messages', 'contents', 'completion', '_meta', 'structuredContent']) {
        t.doesNotThrow(() => repairResult(method, json(`{"${key}":${value}}`)))
      }
      t.doesNotThrow(() => repairResult(method, json(value)))
    }
  }
})

t.test('unknown numbers and members survive repair and renaming of a sloppy tool', async t => {
  const schema =
    '{"properties":{"n":{"maximum":9223372036854775807,"multipleOf":1.0}},"x":1e400,"type":"object"}'
  const repaired = repairItem(
    'tools',
    json(`{"name":"x","zz":[0.10],"description":null,"inputSchema":${schema}}`),
  )
  if ('dropped' in repaired) throw new Error(repaired.dropped)
  t.equal(
    rewriteItem('tools', repaired.item, { name: 'a__x', uri: uri => uri }).toString(),
    `{"name":"a__x","zz":[0.10],"inputSchema":${schema}}`,
  )
  const result = '"structuredContent":{"n":9223372036854775807,"f":1.0},"q":-0'
  t.equal(
    rewriteUris(
      'tools/call',
      repairResult(
        'tools/call',
        json(`{"content":[{"type":"resource_link","uri":"u:1","size":1.0}],${result},"isError":null}`),
      ),
      uri => `a+${uri}`,
    ).toString(),
    `{"content":[{"type":"resource_link","uri":"a+u:1","size":1.0,"name":"u:1"}],${result}}`,
  )
})

import t from 'tap'
import { rewriteItem, rewriteParams, rewriteUris } from '../../../src/catalog/names/rewrite.js'
import { exposedUri, schemeAliases, splitUri } from '../../../src/catalog/names/uris.js'
import { type JsonText, readJson } from '../../../src/kernel/json/text.js'
import { LIST_NAMES } from '../../../src/model/listing.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))
const expose = (uri: string): string => exposedUri('fs', uri)
const find = schemeAliases(['fs'])
const own = (uri: string): string => splitUri(uri, find)?.uri ?? uri

/** [request method, what the server says, what the client reads] */
const RESULTS: [string, string, string][] = [
  [
    'tools/call',
    '{"content":[{"type":"resource_link", "uri" : "file:///a","name":"a","size":1.0},{"type":"text","text":"\\"uri\\": file:///a"}],"n":9223372036854775807}',
    '{"content":[{"type":"resource_link", "uri" : "fs+file:///a","name":"a","size":1.0},{"type":"text","text":"\\"uri\\": file:///a"}],"n":9223372036854775807}',
  ],
  [
    'tools/call',
    '{"content":[{"type":"resource","resource":{"uri":"ui://w","text":"t"}}],"structuredContent":{"uri":"file:///a"}}',
    '{"content":[{"type":"resource","resource":{"uri":"ui://fs+w","text":"t"}}],"structuredContent":{"uri":"file:///a"}}',
  ],
  [
    'tools/call',
    '{"content":[],"_meta":{"ui":{"resourceUri":"ui://w/a"},"ui/resourceUri":"ui://w/a","uri":"x:y"}}',
    '{"content":[],"_meta":{"ui":{"resourceUri":"ui://fs+w/a"},"ui/resourceUri":"ui://fs+w/a","uri":"x:y"}}',
  ],
  [
    'tools/call',
    '{"content":[],"_meta":{"openai\\/outputTemplate":"ui://w/a.html","openai/widgetAccessible":true}}',
    '{"content":[],"_meta":{"openai\\/outputTemplate":"ui://fs+w/a.html","openai/widgetAccessible":true}}',
  ],
  [
    'prompts/get',
    '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":""}}},{"role":"user","content":[{"type":"resource_link","uri":"a:c","name":"c"}]}]}',
    '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"fs+a:b","text":""}}},{"role":"user","content":[{"type":"resource_link","uri":"fs+a:c","name":"c"}]}]}',
  ],
  [
    'resources/read',
    '{"contents":[{"uri":"a:b","text":"t"},{"uri":"a:c","blob":"AA=="}]}',
    '{"contents":[{"uri":"fs+a:b","text":"t"},{"uri":"fs+a:c","blob":"AA=="}]}',
  ],
]

t.test('the URIs of a result are written for the client, and back', async t => {
  for (const [method, server, client] of RESULTS) {
    t.equal(rewriteUris(method, json(server), expose).toString(), client)
    t.equal(rewriteUris(method, json(client), own).toString(), server)
  }
})

t.test('a key that is written with escapes is the same key', async t => {
  const result = json('{"content":[{"\\u0074ype":"resource_link","\\u0075ri":"a:b","name":"n"}]}')
  t.equal(
    rewriteUris('tools/call', result, expose).toString(),
    '{"content":[{"\\u0074ype":"resource_link","\\u0075ri":"fs+a:b","name":"n"}]}',
  )
  const read = json('{"contents":[{"u\\u0072i":"a:b"}]}')
  t.equal(rewriteUris('resources/read', read, expose).toString(), '{"contents":[{"u\\u0072i":"fs+a:b"}]}')
})

t.test('a result without URIs comes back as it is', async t => {
  const map = (): string => t.fail('nothing to map') as never
  for (const [method, text] of [
    ['tools/call', '{"content":[{"type":"text","text":"\\"uri\\" \\u001b[0m"}]}'],
    ['tools/call', '{"content":[{"type":"text","text":"t","uri":"a:b"}]}'],
    ['tools/call', '{"content":[{"type":"resource_link","uri":5}],"_meta":{"ui":null}}'],
    ['tools/call', '{"content":{"uri":"a:b"},"_meta":["resourceUri"]}'],
    ['tools/call', '{"content":[null,"uri",[{"uri":"a:b"}]]}'],
    ['prompts/get', '{"messages":[{"role":"user","content":"\\"uri\\""}],"uri":"a:b"}'],
    ['completion/complete', '{"completion":{"values":[]},"uri":"a:b"}'],
    ['unknown/method', '{"uri":"a:b"}'],
  ] as const) {
    const result = json(text)
    t.equal(rewriteUris(method, result, map), result, text)
  }
  for (const [method, text] of RESULTS.map(([method, server]) => [method, json(server)] as const)) {
    t.equal(
      rewriteUris(method, text, uri => uri),
      text,
      'a map that changes nothing',
    )
  }
})

t.test('the URIs of requests and notifications are written for the other side', async t => {
  for (const method of [
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
    'notifications/resources/updated',
  ]) {
    t.equal(
      rewriteParams(method, json('{"uri":"a:b","n":1.0}'), expose).toString(),
      '{"uri":"fs+a:b","n":1.0}',
    )
    t.equal(rewriteParams(method, json('{"uri":"fs+a:b","n":1.0}'), own).toString(), '{"uri":"a:b","n":1.0}')
  }
  t.equal(
    rewriteParams(
      'completion/complete',
      json('{"ref":{"type":"ref/resource","uri":"fs+a:{x}"}}'),
      own,
    ).toString(),
    '{"ref":{"type":"ref/resource","uri":"a:{x}"}}',
  )
  const call = json('{"name":"x","arguments":{"uri":"fs+a:b"}}')
  t.equal(rewriteParams('tools/call', call, own), call, 'arguments are nobody else’s business')
})

t.test('an item is listed under its exposed name and URI', async t => {
  const tool = json('{ "name":"x", "_meta":{"ui":{"resourceUri":"ui://w"}},"inputSchema":{"maximum":1e400}}')
  t.equal(
    rewriteItem('tools', tool, { name: 'fs__x', uri: expose }).toString(),
    '{ "name":"fs__x", "_meta":{"ui":{"resourceUri":"ui://fs+w"}},"inputSchema":{"maximum":1e400}}',
  )
  const app = json('{"name":"x","_meta":{"openai/outputTemplate":"ui://w"}}')
  t.equal(
    rewriteItem('tools', app, { uri: expose }).toString(),
    '{"name":"x","_meta":{"openai/outputTemplate":"ui://fs+w"}}',
  )
  t.equal(rewriteItem('prompts', json('{"name":"p"}'), { name: 'fs__p' }).toString(), '{"name":"fs__p"}')
  t.equal(
    rewriteItem('resources', json('{"uri":"a:b","name":"n"}'), { name: 'no', uri: expose }).toString(),
    '{"uri":"fs+a:b","name":"n"}',
    'a resource keeps its name',
  )
  t.equal(
    rewriteItem('templates', json('{"uriTemplate":"a:{+x}","name":"n"}'), { uri: expose }).toString(),
    '{"uriTemplate":"fs+a:{+x}","name":"n"}',
  )
})

t.test('a skill keeps every byte but its URIs and those of its files', async t => {
  const skill = (prefix: string) =>
    json(
      `{ "uri":"skill://${prefix}x/SKILL.md", "frontmatter":{"name":"x","n":1.0,"uri":"skill://x"},"resources":[{"size":9,"uri":"skill://${prefix}x/SKILL.md","digest":"sha256:aa"},{"uri":7}, null],"_meta":{"uri":"skill://x"}}`,
    )
  t.equal(rewriteItem('skills', skill(''), { uri: expose }).toString(), skill('fs/').toString())
  t.equal(
    rewriteUris('skills/get', json(`{"skill":${skill('')},"uri":"skill://x"}`), expose).toString(),
    `{"skill":${skill('fs/')},"uri":"skill://x"}`,
  )
  const dynamic = json('{"uri":"skill://x/SKILL.md","resources":"dynamic"}')
  t.equal(
    rewriteItem('skills', dynamic, { uri: expose }).toString(),
    '{"uri":"skill://fs/x/SKILL.md","resources":"dynamic"}',
  )
  t.equal(
    rewriteUris(
      'resources/directory/read',
      json('{"resources":[{"uri":"skill://x/a"},{"uri":"file:///b"}],"nextCursor":"skill://x"}'),
      expose,
    ).toString(),
    '{"resources":[{"uri":"skill://fs/x/a"},{"uri":"fs+file:///b"}],"nextCursor":"skill://x"}',
  )
})

t.test('an item that is exposed under its own name is the same item', async t => {
  const items = {
    tools: '{"n\\u0061me":"x","inputSchema":{}}',
    prompts: '{"name":"x"}',
    resources: '{"uri":"a:b"}',
    templates: '{"uriTemplate":"a:b"}',
    skills: '{"uri":"skill://x/SKILL.md","resources":[{"uri":"skill://x/SKILL.md"}]}',
  } as const
  for (const list of LIST_NAMES) {
    const item = json(items[list])
    t.equal(rewriteItem(list, item, {}), item)
    t.equal(rewriteItem(list, item, { name: 'x', uri: uri => uri }), item)
  }
})

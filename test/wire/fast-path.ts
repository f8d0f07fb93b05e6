import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { Progress } from '../../src/model/progress.js'
import { classify } from '../../src/wire/classify.js'
import { fastPathMessage, isSdkRequest } from '../../src/wire/fast-path.js'
import type { Message } from '../../src/wire/jsonrpc.js'
import { values } from '../support/arbitraries.js'
import { holds } from '../support/property.js'

const DEPTH = 512

/** The texts of a message, by its members; what was found in it on the way is compared with its params. */
const shown = (message: Message | undefined) => {
  if (message === undefined) return undefined
  const { progress, ...rest } = { progress: undefined, ...message }
  if (progress !== undefined) assert.deepEqual(progress, lookedFor(message))
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, Buffer.isBuffer(value) ? value.toString() : value]),
  )
}

/** The parts found by a search in the params of progress. */
const lookedFor = (message: Message) => {
  assert.ok(message.kind === 'notification' && message.params !== undefined)
  const { value, tokenStart, tokenEnd } = new Progress(message.params)
  const text = message.params.toString('latin1')
  const prefix = text.slice(0, tokenStart)
  return { prefix, token: text.slice(tokenStart, tokenEnd), suffix: text.slice(tokenEnd), value }
}
const usual = (text: string) => shown(fastPathMessage(Buffer.from(text), DEPTH))

/** The result of the slow path for the same message: the fast path rejects a leading space. */
const looked = (text: string) => {
  const classified = classify(Buffer.from(` ${text}`))
  return classified.is === 'message' ? shown(classified.message) : undefined
}

/** A notification of progress in both orders. */
const inBothOrders = (params: string): string[] => [
  `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`,
  `{"method":"notifications/progress","params":${params},"jsonrpc":"2.0"}`,
]

const call = { kind: 'request', id: '7', method: 'tools/call', named: 'a', meta: undefined }

t.test('short messages are recognized in both orders, and taken apart like all others', async t => {
  const rows: [text: string, message: object][] = [
    [
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"name":[{}],"name":"ü"}}}',
      { ...call, params: '{"name":"a","arguments":{"name":[{}],"name":"ü"}}' },
    ],
    [
      '{"method":"tools/call","params":{"name":"a","arguments":{"\\u0061": "\\n\\"}"}},"jsonrpc":"2.0","id":7}',
      { ...call, params: '{"name":"a","arguments":{"\\u0061": "\\n\\"}"}}' },
    ],
    [
      '{"method":"prompts/get","params":{"name":""},"jsonrpc":"2.0","id":"x-1"}',
      { ...call, id: '"x-1"', method: 'prompts/get', params: '{"name":""}', named: '' },
    ],
    ...[
      ['{"_meta":{"progressToken":1},"name":"a"}', '{"progressToken":1}'],
      ['{"name":"a","arguments":{},"_meta":{}}', '{}'],
      ['{"name":"a","arguments":{"x":[{"y":{}}]},"_meta":{"a":{"b":{"c":"é"}}}}', '{"a":{"b":{"c":"é"}}}'],
      ['{"_meta":{"a":{},"name":"b"},"name":"a","arguments":{"_meta":{}}}', '{"a":{},"name":"b"}'],
    ].flatMap(([params, meta]): [string, object][] => [
      [`{"jsonrpc":"2.0","id":7,"method":"m","params":${params}}`, { ...call, method: 'm', params, meta }],
      [`{"method":"m","params":${params},"jsonrpc":"2.0","id":7}`, { ...call, method: 'm', params, meta }],
    ]),
    ['{"jsonrpc":"2.0","id":0,"result":{}}', { kind: 'result', id: '0', result: '{}' }],
    ...[
      '{"content":[{"type":"text","text":"a\\\\\\"\\u00e9]}"}],"isError":false}',
      '{"content":[{},{"a":-1.50e+3,"b":null}],"x":true}',
      '{"content":[{"a":[{"b":{}}]}],"x":{"y":1e400}}',
      '{"content":[],"a":"é"}',
      '{"resultType":"complete","content":[{"type":"text","text":"a"}],"_meta":{"a/b":{"name":"x"}}}',
    ].map((result): [string, object] => [
      `{"result":${result},"jsonrpc":"2.0","id":7}`,
      { kind: 'result', id: '7', result },
    ]),
    [
      '{"result":{"a":"},\\"jsonrpc\\":\\"2.0\\",\\"id\\":8}"},"jsonrpc":"2.0","id":7}',
      { kind: 'result', id: '7', result: '{"a":"},\\"jsonrpc\\":\\"2.0\\",\\"id\\":8}"}' },
    ],
  ]
  for (const [text, message] of rows) {
    t.strictSame(usual(text), message, text)
    t.strictSame(looked(text), message, text)
  }
})

t.test('progress is recognized in both orders of its members', async t => {
  const rows = [
    '{"progressToken":7,"progress":1}',
    '{"progress":0.5,"total":1e3,"message":"é \\" \\\\","progressToken":"x-1"}',
    '{"progress":-1.5E-7,"progressToken":0}',
    '{"total":3,"progress":1,"message":"\\"progress\\":9","progressToken":0,"progress":2,"total":4}',
    '{"progressToken":1}',
  ]
  for (const params of rows) {
    const message = { kind: 'notification', method: 'notifications/progress', params }
    for (const text of inBothOrders(params)) {
      t.match(fastPathMessage(Buffer.from(text), DEPTH), { progress: {} }, text)
      t.strictSame(usual(text), message, text)
      t.strictSame(looked(text), message, text)
    }
  }
})

t.test('unusual and invalid messages take the general path', async t => {
  const requests = [
    '{"_meta":{},"name":"a","_meta":{}}',
    '{"_meta":{"progressToken":1,"progressToken":1},"name":"a"}',
    '{"name":"a","_meta":{"progressToken":1,"progress\\u0054oken":2}}',
    '{"_meta":{"x":{},"y":{"z":1},},"name":"a"}',
    '{"_meta":{"a":"},\\"name\\":\\"b\\"}"},"uri":"a"}',
    '{"name":"a","_meta":[]}',
    '{"name":"a","arguments":{},"name":"b"}',
    '{"name":"a","n\\u0061me":"b"}',
    '{"name":"a","arguments":{},"arguments":{}}',
    '{"name":"a","arguments":{"x":1},"task":{}}',
    '{"name":"a","arguments":{"x":}}',
    ...[
      '01',
      '1.',
      '.5',
      '+1',
      '1e',
      '-',
      'True',
      'nul',
      '"\\x"',
      '"\\u00"',
      '"\u0001"',
      "'a'",
      '1,',
      '1 2',
      '"a":1',
    ].map(value => `{"name":"a","arguments":{"x":${value}}}`),
    '{"name":"a","arguments":{x:1}}',
    '{"name":"a","arguments":{,}}',
    '{"name":"a","arguments":[]}',
    '{"name":"a\\u0062"}',
    '{"name":"é"}',
    '{"name":1}',
    '{"name":"a"} ',
    '{"uri":"a"}',
    '{}',
    '[]',
  ].flatMap(params => [
    `{"jsonrpc":"2.0","id":7,"method":"m","params":${params}}`,
    `{"method":"m","params":${params},"jsonrpc":"2.0","id":7}`,
  ])
  const others = [
    '',
    '{}',
    '[{"jsonrpc":"2.0","id":7,"result":{}}]',
    '\ufeff{"jsonrpc":"2.0","id":7,"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{}}\n',
    '{"jsonrpc":"2.0","id":7,"result":{},"result":{}}',
    '{"jsonrpc":"2.0","id":7,"result":{},"error":{}}',
    '{"result":{},"error":{},"jsonrpc":"2.0","id":7}',
    '{"result":{},"jsonrpc":"2.0","id":7,"jsonrpc":"2.0","id":7}',
    '{"jsonrpc":"2.0","id":7,"result":1}',
    '{"jsonrpc":"2.0","id":07,"result":{}}',
    '{"jsonrpc":"2.0","id":7.0,"result":{}}',
    '{"jsonrpc":"2.0","id":1234567890123456,"result":{}}',
    '{"jsonrpc":"2.0","id":null,"result":{}}',
    '{"jsonrpc":"2.0","id":"é","result":{}}',
    '{"jsonrpc":"1.0","id":7,"result":{}}',
    '{"jsonrpc":"2.0","id":7,"method":"m"}',
    '{"jsonrpc":"2.0","method":"m","params":{"name":"a"}}',
    '{"jsonrpc":"2.0","method":"notifications/message","params":{"progressToken":1}}',
    '{"jsonrpc":"2.0","method":"notifications/progress"}',
  ]
  const progress = [
    '{"progressToken":1,"progressToken":1}',
    '{"progressToken":1,"progress\\u0054oken":1}',
    '{"progress":1,"progress":2,"progressToken":1}',
    '{"progressToken":1,"progress":1,"progress":2}',
    '{"progressToken":01,"progress":1}',
    '{"progressToken":1,"progress":1.}',
    '{"progressToken":null,"progress":1}',
    '{"progressToken":1,"progress":1,"_meta":{}}',
    '{"progressToken":1, "progress":1}',
    '{"progressToken":1,"message":"\\x"}',
    '{"progressToken":1,"message":"\u0001"}',
    '{"progressToken":1,}',
    '{}',
  ].flatMap(inBothOrders)
  for (const text of [...requests, ...progress, ...others]) t.equal(usual(text), undefined, text)
})

t.test('nothing is usual that may be too long, nested too deep, or no UTF-8', async t => {
  const answer = (result: string) => `{"jsonrpc":"2.0","id":7,"result":{"a":${result}}}`
  t.ok(usual(answer(`"${'x'.repeat(900)}"`)))
  t.equal(usual(answer(`"${'x'.repeat(1000)}"`)), undefined)
  const nested = Buffer.from(answer('[]'))
  t.ok(fastPathMessage(nested, nested.length / 2))
  t.equal(fastPathMessage(nested, nested.length / 2 - 1), undefined)
  const bytes = Buffer.from(answer('"?"'))
  bytes[bytes.indexOf('?')] = 0xff
  t.equal(fastPathMessage(bytes, DEPTH), undefined)
})

const texts = fc.oneof(
  fc.constantFrom('a', '', 'é', '\\u0061', '\\"', '"', '\\', 'a","arguments":{},"name":"b'),
)
const ids = fc.oneof(fc.constantFrom('7', '"a"', '007', '"\\u0061"', '-1', 'null', '1,"id":2'))
const params = fc
  .tuple(
    texts,
    values,
    fc.constantFrom('', '', '', ' ', ',"task":{}', ',"name":"b"', ',"_meta":{"progressToken":1}'),
    fc.oneof(
      fc.constantFrom('', '', '"_meta":{"progressToken":1},'),
      values.map(meta => `"_meta":{"x":${meta}},`),
    ),
  )
  .map(([name, value, more, meta]) => `{${meta}"name":"${name}","arguments":{"x":${value}}${more}}`)
const said = fc.oneof(
  params.map(text => `"method":"tools/call","params":${text}`),
  values.map(value => `"result":${value}`),
  values.map(value => `"result":{"x":${value}}`),
)
const told = fc
  .array(
    fc.oneof(
      ids.map(id => `"progressToken":${id}`),
      fc.constantFrom('1', '0.5', '1e3', '01', '"1"').map(value => `"progress":${value}`),
      texts.map(text => `"message":"${text}"`),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map(members => `"method":"notifications/progress","params":{${members.join()}}`)
const notices = fc
  .tuple(told, fc.boolean())
  .map(([text, isFirst]) => (isFirst ? `{"jsonrpc":"2.0",${text}}` : `{${text},"jsonrpc":"2.0"}`))
const asked = fc
  .tuple(said, ids, fc.boolean())
  .map(([text, id, isFirst]) =>
    isFirst ? `{"jsonrpc":"2.0","id":${id},${text}}` : `{${text},"jsonrpc":"2.0","id":${id}}`,
  )

const written = fc.oneof(asked, notices)

/** Puts so much behind some of the quotes that what is between them and the next is a long string, if any. */
const runsIn = fc
  .array(fc.tuple(fc.nat(), fc.constantFrom('x'.repeat(900), 'é\\"'.repeat(225), '\\u0061'.repeat(150))), {
    maxLength: 3,
  })
  .map(runs => (text: string) => {
    const parts = text.split('"')
    for (const [n, run] of runs) parts[n % parts.length] = run + parts[n % parts.length]
    return parts.join('"')
  })

void holds(
  t,
  'a closer look at a usual message finds the same, also where it is not quite usual',
  fc.property(
    written,
    fc.nat(),
    fc.string({ maxLength: 2 }),
    fc.boolean(),
    runsIn,
    (text, at, more, isWhole, long) => {
      const from = at % text.length
      const cut = long(isWhole ? text : text.slice(0, from) + more + text.slice(from + 1))
      const found = usual(cut)
      if (found === undefined) return
      assert.deepEqual(looked(cut), found)
      if (found['named'] === undefined) return
      const given = JSON.parse(String(found['params']))
      assert.deepEqual(
        Object.keys(given).filter(key => key !== 'arguments' && key !== '_meta'),
        ['name'],
      )
      assert.equal(given.name, found['named'])
    },
  ),
)

interface Connectable {
  connect(transport: object): Promise<void>
}

/** The first message of a client without a connection to any server. */
const firstOf = async (client: Connectable): Promise<Buffer> => {
  let first: object = {}
  const transport = {
    start: async () => undefined,
    send: async (message: object) => {
      first = message
      throw new Error('nobody is there')
    },
    close: async () => undefined,
  }
  await client.connect(transport).catch(() => undefined)
  return Buffer.from(JSON.stringify(first))
}

t.test('clients of every SDK are known by what they write', async t => {
  const packages = [
    import('sdk-1.0.4/client/index.js'),
    import('sdk-1.7.0/client/index.js'),
    import('sdk-1.11.4/client/index.js'),
    import('sdk-1.13.3/client/index.js'),
    import('sdk-1.20.2/client/index.js'),
    import('sdk-1.25.3/client/index.js'),
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/client'),
  ]
  for (const { Client } of await Promise.all(packages)) {
    const Any = Client as unknown as new (info: object, options: object) => Connectable
    const first = await firstOf(new Any({ name: 'test', version: '1' }, { capabilities: {} }))
    t.match(JSON.parse(first.toString()), { jsonrpc: '2.0', method: String })
    t.ok(isSdkRequest(first), first.toString())
  }
})

t.test('messages of other writers are not mistaken for it', async t => {
  const rows = [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"method"',
    '{"methods":1}',
    '[{"method":"ping"}]',
    '',
  ]
  for (const text of rows) t.notOk(isSdkRequest(Buffer.from(text)), text)
})

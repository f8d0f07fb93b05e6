import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Classified, classify } from '../../src/wire/classify.js'
import {
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  type Message,
} from '../../src/wire/jsonrpc.js'
import { runs } from '../support/property.js'

/** A classification with its texts as strings, to compare with a literal. */
function plain(classified: Classified): unknown {
  return JSON.parse(
    JSON.stringify(classified, (_, value) => {
      if (value?.type === 'Buffer') return Buffer.from(value.data).toString()
      return value
    }),
  )
}

const classifyText = (text: string) => plain(classify(Buffer.from(text)))

t.test('well-formed messages are taken apart', async t => {
  const rows: [string, object][] = [
    ['{"jsonrpc":"2.0","id":1,"method":"ping"}', { kind: 'request', id: '1', method: 'ping' }],
    [
      '{"params":{"name":"x"},"method":"tools/call","id":"1","jsonrpc":"2.0"}',
      { kind: 'request', id: '"1"', method: 'tools/call', params: '{"name":"x"}', named: 'x' },
    ],
    [
      '{"method":"m","id":1,"jsonrpc":"2.0","params":{"arguments":{"_meta":1}, "n\\u0061me":"\\u0078"}}',
      {
        kind: 'request',
        id: '1',
        method: 'm',
        params: '{"arguments":{"_meta":1}, "n\\u0061me":"\\u0078"}',
        named: 'x',
      },
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"a": 1},"name":"x"}}',
      {
        kind: 'request',
        id: '1',
        method: 'm',
        params: '{"_meta":{"a": 1},"name":"x"}',
        named: 'x',
        meta: '{"a": 1}',
      },
    ],
    ...['{"x":1}', '{"ref":{"name":"x"}}', '{"name":"x","y":1}', '{"name":1}'].map(
      (params): [string, object] => [
        `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`,
        { kind: 'request', id: '1', method: 'm', params },
      ],
    ),
    [
      '{"method":"tools/call","params":{"name":"x"},"jsonrpc":"2.0","id":1}',
      { kind: 'request', id: '1', method: 'tools/call', params: '{"name":"x"}', named: 'x' },
    ],
    ['{"jsonrpc":"2.0","id":0,"method":"m"}', { kind: 'request', id: '0', method: 'm' }],
    ['{"jsonrpc":"2.0","id":"","method":""}', { kind: 'request', id: '""', method: '' }],
    ['{"jsonrpc":"2.0","id":-7,"method":"m"}', { kind: 'request', id: '-7', method: 'm' }],
    ['{"jsonrpc":"2.0","id":1.0,"method":"m"}', { kind: 'request', id: '1.0', method: 'm' }],
    [
      '{"jsonrpc":"2.0","id":9007199254740991,"method":"m"}',
      { kind: 'request', id: '9007199254740991', method: 'm' },
    ],
    [
      '{"jsonrpc":"2.0","id":12345678901234567890,"method":"m"}',
      { kind: 'request', id: '12345678901234567890', method: 'm' },
    ],
    ['{"jsonrpc":"2.0","method":"notifications/x"}', { kind: 'notification', method: 'notifications/x' }],
    [
      '{"\\u006asonrpc":"2.0","method":"a\\u0062","params":{ }}',
      { kind: 'notification', method: 'ab', params: '{ }' },
    ],
    ['{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'result', id: '1', result: '{}' }],
    ['{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'result', id: '1', result: 'null' }],
    ['{"jsonrpc":"2.0","id":"1","result":[1]}', { kind: 'result', id: '"1"', result: '[1]' }],
    ['{"jsonrpc":"2.0","id":1,"error":{}}', { kind: 'error', id: '1', error: '{}' }],
    ['{"jsonrpc":"2.0","id":null,"error":{"code":1}}', { kind: 'error', error: '{"code":1}' }],
    ['{"jsonrpc":"2.0","error":{"code":1}}', { kind: 'error', error: '{"code":1}' }],
    ['\ufeff \t\r\n{"jsonrpc":"2.0","method":"m"}\r\n', { kind: 'notification', method: 'm' }],
    ['{"jsonrpc":"2.0","id":1,"method":"m","extra":1,"extra":2}', { kind: 'request', id: '1', method: 'm' }],
    ['{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', { kind: 'request', id: '1', method: 'm' }],
    [
      '{"jsonrpc":"2.0","id":1,"method":"m","__proto__":{"params":[]},"constructor":1}',
      { kind: 'request', id: '1', method: 'm' },
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"name":1,"name":2},"x":1,"x":2}}',
      { kind: 'request', id: '1', method: 'm', params: '{"arguments":{"name":1,"name":2},"x":1,"x":2}' },
    ],
    [
      '{"jsonrpc":"2.0","id":77,"method":"tools/list","params":null}',
      { kind: 'request', id: '77', method: 'tools/list' },
    ],
    ['{"params": null ,"method":"m","jsonrpc":"2.0"}', { kind: 'notification', method: 'm' }],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":null}', { kind: 'result', id: '1', result: '{}' }],
    ['{"error":null,"result":{},"id":1,"jsonrpc":"2.0"}', { kind: 'result', id: '1', result: '{}' }],
    [
      '{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1}}',
      { kind: 'error', id: '1', error: '{"code":1}' },
    ],
    ['{"jsonrpc":"2.0","id":1,"result":null,"error":null}', { kind: 'result', id: '1', result: 'null' }],
    [
      '{"jsonrpc":"2.0","method":"m","params":{"_meta":null}}',
      { kind: 'notification', method: 'm', params: '{"_meta":null}' },
    ],
  ]
  for (const [text, message] of rows) t.strictSame(classifyText(text), { is: 'message', message }, text)
})

t.test('an invalid message reports its error, its sender, and whether it may be answered', async t => {
  const request = (params: string) => `{"jsonrpc":"2.0","id":7,"method":"m","params":${params}}`
  const answer = (rest: string) => `{"jsonrpc":"2.0",${rest}}`
  const rows: [text: string, code: number, id: string | undefined, isResponse: boolean][] = [
    // Not JSON.
    ['', -32700, undefined, false],
    ['   ', -32700, undefined, false],
    ['hello', -32700, undefined, false],
    ['{', -32700, undefined, false],
    ['{"jsonrpc":"2.0","id":1,"method":"m"', -32700, undefined, false],
    ['{"jsonrpc":"2.0","id":1,"method":"m"}}', -32700, undefined, false],
    ['{"jsonrpc":"2.0","id":1,"method":"m",}', -32700, undefined, false],
    ['{"jsonrpc":"2.0","id":01,"method":"m"}', -32700, undefined, false],
    ["{'jsonrpc':'2.0','method':'m'}", -32700, undefined, false],
    // No object.
    ['null', -32600, undefined, false],
    ['1', -32600, undefined, false],
    ['"{}"', -32600, undefined, false],
    ['[]', -32600, undefined, false],
    ['[ \n ]', -32600, undefined, false],
    // Another version.
    ['{"id":7,"method":"m"}', -32600, '7', false],
    ['{"jsonrpc":"1.0","id":7,"method":"m"}', -32600, '7', false],
    ['{"jsonrpc":2.0,"id":7,"method":"m"}', -32600, '7', false],
    ['{"jsonrpc":null,"id":"7","method":"m"}', -32600, '"7"', false],
    ['{"jsonrpc":"1.0","method":"m"}', -32600, undefined, false],
    ['{"id":7,"result":{}}', -32600, '7', true],
    // Requests and notices.
    [answer('"id":7,"method":1'), -32600, '7', false],
    [answer('"id":7,"method":null'), -32600, '7', false],
    [answer('"id":null,"method":"m"'), -32600, undefined, false],
    [answer('"id":1.5,"method":"m"'), -32600, undefined, false],
    [answer('"id":1e-1,"method":"m"'), -32600, undefined, false],
    [answer('"id":true,"method":"m"'), -32600, undefined, false],
    [answer('"id":{},"method":"m"'), -32600, undefined, false],
    [answer('"id":[1],"method":"m"'), -32600, undefined, false],
    [request('1'), -32600, '7', false],
    [request('"x"'), -32600, '7', false],
    [request('[]'), -32600, '7', false],
    [request('[{"name":"x"}]'), -32600, '7', false],
    [answer('"method":"m","params":[]'), -32600, undefined, false],
    // Members that come twice.
    ['{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"m"}', -32600, '7', false],
    [answer('"id":7,"id":7,"method":"m"'), -32600, undefined, false],
    [answer('"id":7,"i\\u0064":8,"method":"m"'), -32600, undefined, false],
    [answer('"id":7,"method":"m","method":"n"'), -32600, '7', false],
    [answer('"id":7,"method":"m","params":{},"params":{}'), -32600, '7', false],
    [answer('"id":7,"result":{},"result":{}'), -32600, '7', true],
    [answer('"id":7,"id":8,"error":{}'), -32600, undefined, true],
    ...['name', 'uri', 'cursor', '_meta', 'progressToken', 'requestId'].map(
      (key): [string, number, string, boolean] => [
        request(`{"${key}":{},"other":1,"${key}":{}}`),
        -32600,
        '7',
        false,
      ],
    ),
    [request('{"name":"a","n\\u0061me":"b"}'), -32600, '7', false],
    [request('{"_meta":{"progressToken":1,"x":2,"progressToken":1}}'), -32600, '7', false],
    [answer('"method":"m","params":{"requestId":1,"requestId":2}'), -32600, undefined, false],
    // Answers.
    [answer('"id":7,"result":{},"error":{}'), -32600, '7', true],
    [answer('"id":7'), -32600, '7', false],
    [answer('"id":7,"params":{}'), -32600, '7', false],
    ['{"jsonrpc":"2.0"}', -32600, undefined, false],
    ['{}', -32600, undefined, false],
    [answer('"id":null,"result":{}'), -32600, undefined, true],
    [answer('"result":{}'), -32600, undefined, true],
    [answer('"id":7.5,"result":{}'), -32600, undefined, true],
    [answer('"id":7.5,"error":{}'), -32600, undefined, true],
    [answer('"id":true,"error":{}'), -32600, undefined, true],
    [answer('"id":"7","error":null'), -32600, '"7"', true],
    [answer('"id":7,"error":"no"'), -32600, '7', true],
    [answer('"id":7,"error":[]'), -32600, '7', true],
  ]
  for (const [text, code, id, isResponse] of rows) {
    const { why, ...rest } = classifyText(text) as { why: string }
    const hasMethod = code === -32600 && text.includes('"method"')
    t.strictSame(
      rest,
      { is: 'malformed', code, ...(id === undefined ? {} : { id }), hasMethod, isResponse },
      text,
    )
    t.match(why, /^[A-Z]/, text)
  }
})

t.test(
  'an array of more messages than a batch may hold is refused before anything is kept of it',
  async t => {
    const many = `[${'1,'.repeat(50)}1]`
    t.match(classify(Buffer.from(many)), {
      is: 'malformed',
      code: -32600,
      why: 'A batch may hold 50 messages',
    })
  },
)

t.test('a reason never repeats what the peer sent', async t => {
  const texts = [
    '{"sekret',
    '{"jsonrpc":"sekret","id":1,"method":"m"}',
    '{"jsonrpc":"2.0","id":{"sekret":1},"method":"m"}',
  ]
  for (const text of texts) {
    const classified = classify(Buffer.from(text))
    t.notMatch(classified.is === 'malformed' ? classified.why : 'sekret', 'sekret')
  }
})

t.test('bytes that are not UTF-8 are unreadable', async t => {
  for (const hex of ['ff', 'c328', 'eda080', 'f0288cbc', 'e2']) {
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","method":"'),
      Buffer.from(hex, 'hex'),
      Buffer.from('"}'),
    ])
    t.match(classify(bytes), { is: 'malformed', code: -32700, isResponse: false }, hex)
  }
})

t.test('the members of a batch stand for themselves', async t => {
  const batch = classifyText(
    '[{"jsonrpc":"2.0","id":1,"method":"a"}, 1, [{"jsonrpc":"2.0","method":"b"}], [], {"jsonrpc":"2.0","method":"b"},' +
      '{"jsonrpc":"2.0","id":2}]',
  )
  t.match(batch, {
    is: 'batch',
    items: [
      { is: 'message', message: { kind: 'request', id: '1', method: 'a' } },
      { is: 'malformed', code: -32600, isResponse: false },
      { is: 'malformed', code: -32600, isResponse: false },
      { is: 'malformed', code: -32600, isResponse: false },
      { is: 'message', message: { kind: 'notification', method: 'b' } },
      { is: 'malformed', code: -32600, hasMethod: false, isResponse: false, id: '2' },
    ],
  })
  t.equal((batch as { items: unknown[] }).items.length, 6)
})

t.test('a message beyond its limits is refused by its id, which is read at its ends', async t => {
  const limits = { depth: 10, members: 20, batch: 2 }
  const wide = `[${'0,'.repeat(20)}0]`
  const deep = `${'['.repeat(20)}${']'.repeat(20)}`
  for (const [limit, value] of [
    ['members', wide],
    ['depth', deep],
  ] as const) {
    const rows: [string, object][] = [
      [`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":${value}}}`, { id: '7', hasMethod: true }],
      [`{"method":"m","params":{"a":${value}},"jsonrpc":"2.0","id":"a"}`, { id: '"a"', hasMethod: true }],
      [`{"jsonrpc":"2.0","id":7,"result":{"a":${value}}}`, { id: '7', isResponse: true }],
      [`{"result":{"a":${value}},"jsonrpc":"2.0","id":7}`, { id: '7', isResponse: true }],
      [`{"jsonrpc":"2.0","method":"m","params":{"a":${value}}}`, { hasMethod: true }],
      [value, {}],
    ]
    for (const [text, told] of rows) {
      const { why, ...rest } = plain(classify(Buffer.from(text), limits)) as { why: string }
      t.same(
        rest,
        { is: 'malformed', code: -32700, hasMethod: false, isResponse: false, limit, ...told },
        text,
      )
      t.match(why, new RegExp(`\\(limits\\.${limit}\\)$`))
    }
  }
})

t.test('params and _meta have some members, but not thousands and thousands', async t => {
  const many = (count: number): string => Array.from({ length: count }, (_, n) => `"k${n}":0`).join()
  const rows: [params: string, why: RegExp | undefined][] = [
    [`{${many(10_000)}}`, undefined],
    [`{${many(10_001)}}`, /too many members in params$/],
    [`{"_meta":{${many(10_000)}}}`, undefined],
    [`{"_meta":{${many(10_001)}}}`, /too many members in _meta$/],
    [`{"ref":{${many(10_001)}}}`, /too many members in ref$/],
    [`{"arguments":{${many(20_000)}}}`, undefined],
  ]
  for (const [params, why] of rows) {
    const told = classify(Buffer.from(`{"jsonrpc":"2.0","method":"m","params":${params},"id":7}`))
    if (why === undefined) t.equal(told.is, 'message')
    else t.match(plain(told), { is: 'malformed', code: -32600, why, id: '7', hasMethod: true })
  }
  const answer = plain(classify(Buffer.from(`{"jsonrpc":"2.0","result":{${many(10_001)}},"id":7}`)))
  t.match(answer, { is: 'malformed', why: /too many members in result$/, id: '7', isResponse: true })
})

t.test('a document of any depth is refused, not recursed into', async t => {
  const depth = 100_000
  const texts = [
    '['.repeat(depth) + ']'.repeat(depth),
    '['.repeat(depth),
    `{"jsonrpc":"2.0","id":1,"method":"m","params":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
  ]
  for (const text of texts) t.match(classify(Buffer.from(text)), { is: 'malformed', code: -32700 })
})

/** Writes a message again, under its own id, as the proxy does. */
function encode(message: Message): Buffer {
  switch (message.kind) {
    case 'request':
      return encodeRequest(1, message.method, message.params)
    case 'notification':
      return encodeNotification(message.method, message.params)
    case 'result':
      return encodeResult(message.id, message.result)
    case 'error':
      return encodeError(message.id, message.error)
  }
}

t.test('what is passed on is passed on byte for byte', async t => {
  const carried =
    '{"n":12345678901234567890,"one":1.0,"e":1E400,"z":-0.0,"a":1,"a":2,"s":"\\u0061\\/é", "x" : [ ]}'
  const frames = [
    `{"jsonrpc":"2.0","id":1,"method":"m","params":${carried}}`,
    `{"jsonrpc":"2.0","method":"m","params":${carried}}`,
    `{"jsonrpc":"2.0","id":98765432109876543210,"result":${carried}}`,
    `{"jsonrpc":"2.0","id":"\\u0061","error":${carried}}`,
    `{"jsonrpc":"2.0","error":${carried}}`,
  ]
  for (const frame of frames) {
    const classified = classify(Buffer.from(frame))
    t.equal(classified.is === 'message' && encode(classified.message).toString(), frame)
  }
})

/** Valid messages of all kinds over arbitrary values. */
const value = fc.jsonValue().map(json => JSON.stringify(json))
const params = fc.dictionary(fc.string(), fc.jsonValue()).map(json => JSON.stringify(json))
const id = fc.oneof(fc.maxSafeInteger(), fc.string()).map(json => JSON.stringify(json))
const valid = fc.oneof(
  fc.tuple(id, params).map(([i, p]) => `{"jsonrpc":"2.0","id":${i},"method":"m","params":${p}}`),
  params.map(p => `{"jsonrpc":"2.0","method":"m","params":${p}}`),
  fc.tuple(id, value).map(([i, v]) => `{"jsonrpc":"2.0","id":${i},"result":${v}}`),
  fc.tuple(id, params).map(([i, p]) => `{"jsonrpc":"2.0","id":${i},"error":${p}}`),
)

t.test('every valid message is one, and says the same when written again', async () => {
  fc.assert(
    fc.property(valid, text => {
      const classified = classify(Buffer.from(text))
      assert.ok(classified.is === 'message')
      const again = classify(encode(classified.message))
      assert.ok(again.is === 'message')
      const same =
        classified.message.kind === 'request' ? { ...classified.message, id: '1' } : classified.message
      assert.deepEqual(plain(again), plain({ is: 'message', message: same } as Classified))
    }),
  )
})

t.test('no bytes make it throw', async () => {
  const mutated = fc
    .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(3), fc.nat(255)), { minLength: 1, maxLength: 5 }))
    .map(([text, edits]) => {
      let bytes = Buffer.from(text)
      for (const [position, removed, byte] of edits) {
        const at = position % (bytes.length + 1)
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + removed)])
      }
      return bytes
    })
  const arbitrary = fc.uint8Array({ maxLength: 200 }).map(array => Buffer.from(array))
  const soup = fc
    .array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        '"',
        '\\',
        ':',
        ',',
        '1',
        '-',
        'e',
        'null',
        '"id"',
        '"method"',
        ' ',
      ),
    )
    .map(parts => Buffer.from(parts.join('')))
  const isJson = (bytes: Buffer) => {
    try {
      JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
      return true
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(fc.oneof(mutated, arbitrary, soup), bytes => {
      const classified = classify(bytes)
      const isUnreadable = classified.is === 'malformed' && classified.code === -32700
      assert.equal(isUnreadable, !isJson(bytes))
    }),
    runs(2000),
  )
})

t.test('bytes outside the message are not retained', async t => {
  const junk = `"junk":"${'x'.repeat(100_000)}"`
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},${junk}}`
  const messages = [
    call,
    `{"jsonrpc":"2.0","id":1,"result":{},${junk}}`,
    `{"jsonrpc":"2.0","id":1,"error":{"code":1},${junk}}`,
    `{"jsonrpc":"2.0","method":"n","params":{},${junk}}`,
    `{"jsonrpc":"2.0","method":"n"}${' '.repeat(100_000)}`,
  ]
  const parts = (classified: Classified): Buffer[] => {
    if (classified.is === 'batch') return classified.items.flatMap(parts)
    return classified.is === 'message'
      ? Object.values<unknown>(classified.message).filter(part => Buffer.isBuffer(part))
      : []
  }
  for (const message of [...messages, `[${call}]`]) {
    const found = parts(classify(Buffer.from(message)))
    t.ok(
      found.every(part => part.buffer.byteLength === part.length),
      message.slice(0, 60),
    )
  }
  const bytes = Buffer.from(call.replace('"a"', `"${'a'.repeat(200_000)}"`))
  const shared = parts(classify(bytes)).filter(part => part.buffer === bytes.buffer)
  t.equal(shared.length, 2, 'nothing that is large is copied')
})

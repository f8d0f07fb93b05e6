import t from 'tap'
import { type JsonText, readJson, textOf } from '../../src/kernel/json/text.js'
import {
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  frameRequest,
  frameResult,
  idKey,
  isId,
  writtenResult,
} from '../../src/wire/jsonrpc.js'
import { lengthOf, whole } from '../../src/wire/message-parts.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

t.test('frames have these members in this order and no other', async t => {
  const params = json('{"name":"x"}')
  const error = json('{"code":-32600,"message":"no"}')
  const rows: [Buffer, string][] = [
    [
      encodeRequest(1, 'tools/call', params),
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}',
    ],
    [encodeRequest(0, 'ping', undefined), '{"jsonrpc":"2.0","id":0,"method":"ping"}'],
    [encodeRequest('a"\n', 'ping', undefined), '{"jsonrpc":"2.0","id":"a\\"\\n","method":"ping"}'],
    [
      encodeNotification('notifications/x', params),
      '{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"x"}}',
    ],
    [
      encodeNotification('notifications/"é\n', undefined),
      '{"jsonrpc":"2.0","method":"notifications/\\"é\\n"}',
    ],
    [encodeResult(json('"1"'), json('{}')), '{"jsonrpc":"2.0","id":"1","result":{}}'],
    [encodeError(json('1'), error), '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}'],
    [encodeError(undefined, error), '{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}'],
  ]
  for (const [frame, text] of rows) t.equal(frame.toString(), text)
})

t.test('a frame is one line however its parts were laid out', async t => {
  const pretty = json('{\r\n  "a": "b\\nc\u2028",\n  "n": 1.0\n}')
  const frames = [
    encodeRequest(1, 'm', pretty),
    encodeNotification('m', pretty),
    encodeResult(json('1'), pretty),
    encodeError(json('1'), pretty),
    encodeError(undefined, pretty),
  ]
  for (const frame of frames) {
    t.notMatch(frame.toString(), /[\r\n]/)
    t.match(frame.toString(), '"a": "b\\nc\u2028",   "n": 1.0')
    t.ok(readJson(frame))
  }
})

t.test('an id is echoed and numbers are carried byte for byte', async t => {
  const id = '12345678901234567890'
  const result = '{"big":98765432109876543210,"one":1.0,"huge":1e400,"s":"\\u0061\\/"}'
  t.equal(encodeResult(json(id), json(result)).toString(), `{"jsonrpc":"2.0","id":${id},"result":${result}}`)
})

t.test('ids are equal by value and type, not by spelling', async t => {
  const groups = [
    ['"a"', '"\\u0061"'],
    ['"1"', '"\\u0031"'],
    ['1', '1.0', '1e0', '10e-1', '0.1e1', '0.01E+2'],
    ['100', '1e2', '100.00'],
    ['-1', '-1.0', '-10e-1'],
    ['0', '-0', '0.0', '-0.0e5', '0e-7', '0e99999999999999999999'],
    ['""'],
    ['"0"'],
    ['"-0"'],
    ['"1.0"'],
    ['"\\"1"'],
    ['9007199254740991', '9007199254740991.0'],
    ['9007199254740992', '9007199254740992e0'],
    ['9007199254740993', '9.007199254740993e15'],
    ['12345678901234567890', '1234567890123456789e1'],
    ['12345678901234567891'],
    ['999999999999999', '999999999999999.0'],
    ['1000000000000000', '1e15'],
    ['-1000000000000000', '-1e15'],
    ['1e400', '10e399'],
    ['1e401'],
    ['1e99999999999999999998'],
    ['1e99999999999999999999'],
    ['"1e400"'],
    ['"😀"', '"\\ud83d\\ude00"'],
    ['"\\ud83d"'],
  ]
  const keys = groups.map(group => [...new Set(group.map(id => idKey(json(id))))])
  for (const [i, ofGroup] of keys.entries()) t.equal(ofGroup.length, 1, `${groups[i]} have one key`)
  t.equal(new Set(keys.flat()).size, groups.length, 'and no two groups share it')
  for (const id of groups.flat()) t.ok(isId(json(id)), `${id} is an id`)
})

t.test('an id is a string or an integer, and nothing else', async t => {
  for (const text of ['null', 'true', '1.5', '1e-1', '-0.5', '0.1', '1e-99999999999999999999', '{}', '[1]']) {
    t.notOk(isId(json(text)), text)
  }
})

t.test('an id of millions of digits gets its key in linear time', async t => {
  const zeros = '0'.repeat(1_000_000)
  const [one, other] = [`1${zeros}1`, `1${zeros}2`]
  t.not(idKey(json(one)), idKey(json(other)))
  t.equal(idKey(json(`1${zeros}`)), idKey(json('1e1000000')))
})

t.test('a large answer is the same message in pieces, and its result is not copied', t => {
  const id = textOf('ü"1')
  for (const length of [10, 100_000]) {
    const result = readJson(Buffer.from(`{"text":"${'x'.repeat(length)}",\n"more": 1.0}`))
    const frame = frameResult(id, result)
    t.equal(whole(frame).toString(), encodeResult(id, result).toString())
    t.equal(lengthOf(frame), encodeResult(id, result).length)
  }
  const flat = readJson(Buffer.from(`{"text":"${'x'.repeat(100_000)}"}`))
  const frame = frameResult(id, flat)
  t.ok(!Buffer.isBuffer(frame) && frame.body === flat)
  t.end()
})

t.test('a large request is the same message in pieces, and its params are not copied', async t => {
  const large = readJson(Buffer.from(`{"text":"${'x'.repeat(100_000)}"}`))
  const odd = readJson(Buffer.from(`{"text":"${'ü'.repeat(100_000)}",\r"more": 1.0}`))
  for (const id of [7, 'ü"1']) {
    for (const method of ['tools/call', 'ü"/漢']) {
      for (const params of [undefined, textOf({}), large, odd]) {
        const frame = frameRequest(id, method, params)
        t.equal(whole(frame).toString(), encodeRequest(id, method, params).toString())
      }
    }
  }
  const frame = frameRequest(7, 'tools/call', large)
  t.ok(!Buffer.isBuffer(frame) && frame.body === large)
})

t.test('an id is short enough to be kept, and to be said again', async t => {
  t.ok(isId(textOf('x'.repeat(4000))))
  t.notOk(isId(textOf('x'.repeat(5000))))
  t.notOk(isId(json('1'.repeat(5000))))
})

t.test('a result of our own is told from all else by how it begins, and is not read', async t => {
  for (const id of ['0', '-7', '123456789012345', '""', '"a b"', '"ü"']) {
    const written = encodeResult(json(id), json('{"tools":[]}'))
    t.same(writtenResult(written), { kind: 'result', id: json(id), result: json('{"tools":[]}') })
  }
  const torn = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"')
  t.match(writtenResult(torn), { kind: 'result', id: json('1') }, 'whoever trusts it has to know why')
  const others = [
    encodeResult(json('1.0'), json('{}')),
    encodeResult(json(String.raw`"a\"b"`), json('{}')),
    encodeResult(json(`"${'x'.repeat(100)}"`), json('{}')),
    encodeError(json('1'), json('{}')),
    encodeRequest(1, 'ping', undefined),
    encodeNotification('a', textOf({})),
    Buffer.from('[{"jsonrpc":"2.0","id":1,"result":{}}]'),
    Buffer.from('{"result":{},"id":1,"jsonrpc":"2.0"}'),
    Buffer.alloc(0),
  ]
  for (const line of others) t.equal(writtenResult(line), undefined, line.toString('utf8', 0, 60))
})

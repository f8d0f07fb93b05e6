import fc from 'fast-check'
import t from 'tap'
import { type JsonText, rawText, readJson, withMember } from '../../src/kernel/json/text.js'
import { Progress } from '../../src/model/progress.js'
import { encodeProgress, tokenAlone, tokenIn, withProgressToken } from '../../src/rpc/progress-token.js'
import { encodeNotification, withMeta } from '../../src/wire/jsonrpc.js'
import { whole } from '../../src/wire/message-parts.js'
import { objects, written } from '../support/arbitraries.js'

const text = (object: JsonText | undefined): string | undefined => object?.toString()

t.test('progress is written under the token of its receiver, and otherwise unchanged', async t => {
  const rows = [
    ['{"progressToken":1,"progress":57}', '{"progressToken":"mine","progress":57}'],
    [
      '{"progress":1.0,"progressToken":"a\\"b" , "x":[1e400]}',
      '{"progress":1.0,"progressToken":"mine" , "x":[1e400]}',
    ],
    ['{"\\u0070rogressToken":[{}],"progress":1}', '{"\\u0070rogressToken":"mine","progress":1}'],
    ['{\n"progressToken":1,\r\n"message":"é"}', '{ "progressToken":"mine",  "message":"é"}'],
    ['{"progress":1}', '{"progress":1,"progressToken":"mine"}'],
    ['{ }', '{"progressToken":"mine" }'],
  ] as const
  for (const [params, expected] of rows) {
    const frame = encodeProgress(new Progress(rawText(params)), '"mine"')
    t.equal(
      whole(frame).toString(),
      `{"jsonrpc":"2.0","method":"notifications/progress","params":${expected}}`,
    )
  }
})

t.test('written at once it is what it would be if it was changed first', async t => {
  const token = '"é 12345678901234567890"'
  const property = fc.property(objects, fc.boolean(), (object, hasToken) => {
    const source = written(object, ['{', '}'])
    const params = readJson(Buffer.from(source))
    const own = hasToken ? withMember(params, 'progressToken', rawText('{"a":1}')) : params
    const changed = withMember(own, 'progressToken', rawText(token))
    const inLatin1 = Buffer.from(token).toString('latin1')
    const { tokenStart, tokenEnd, value } = new Progress(own)
    const text = own.toString('latin1')
    const found = {
      prefix: text.slice(0, tokenStart),
      token: text.slice(tokenStart, tokenEnd),
      suffix: text.slice(tokenEnd),
      value,
    }
    // The fast path only matches text without line breaks.
    const isFound = hasToken && !/[\r\n]/.test(text)
    const both = [new Progress(own), ...(isFound ? [new Progress(own, found)] : [])]
    return both.every(progress =>
      whole(encodeProgress(progress, inLatin1)).equals(encodeNotification('notifications/progress', changed)),
    )
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('how far something is counts if it is a number, and the first that is said', async t => {
  const rows = [
    ['{"progressToken":1,"progress":57}', 57],
    ['{"progress":-0.5e1,"progress":2}', -5],
    ['{"progress":"1","progress":2}', undefined],
    ['{"\\u0070rogress":1.0}', 1],
    ['{"_meta":{"progress":1},"message":"progress"}', undefined],
    ['{}', undefined],
  ] as const
  for (const [params, value] of rows) t.equal(new Progress(rawText(params)).value, value, params)
})

t.test('a request takes the token of its next hop along, and no other', async t => {
  const token = rawText('7')
  t.equal(text(withProgressToken(undefined, token)), '{"_meta":{"progressToken":7}}')
  t.equal(
    text(withProgressToken(rawText('{"_meta":{"a":1,"progressToken":"x"}}'), token)),
    '{"_meta":{"a":1,"progressToken":7}}',
  )
  t.equal(text(withProgressToken(rawText('{"_meta":{"progressToken":"x"}}'), undefined)), '{"_meta":{}}')
  const plain = rawText('{"_meta":{"a":1}}')
  t.equal(withProgressToken(plain, undefined), plain)
  t.equal(withProgressToken(undefined, undefined), undefined)
})

t.test('it is added to params without _meta as it would be to any', async t => {
  for (const params of ['{"name":"a"}', '{"name":"é","arguments":{"_meta":{}}}'])
    t.equal(
      text(withMeta(rawText(params), rawText('{"progressToken":7}'))),
      text(withProgressToken(rawText(params), rawText('7'))),
    )
})

t.test('a token is alone where nothing else stands in its _meta', async t => {
  t.equal(text(tokenAlone(rawText('{"progressToken":12}'))), '12')
  for (const meta of ['{}', '{"progressToken":1,"x":2}', '{"progressToken":01}', '{"progressToken":}'])
    t.equal(tokenAlone(rawText(meta)), undefined, meta)
})

t.test('only text and integers are tokens', async t => {
  for (const token of ['1', '"a"', '1.0', '12345678901234567890'])
    t.equal(text(tokenIn(rawText(`{"progressToken":${token}}`))), token)
  for (const token of ['1.5', 'null', 'true', '{}', '[]'])
    t.equal(tokenIn(rawText(`{"progressToken":${token}}`)), undefined)
  t.equal(tokenIn(undefined), undefined)
})

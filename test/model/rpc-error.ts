import t from 'tap'
import { type JsonText, rawText, readJson } from '../../src/kernel/json/text.js'
import { asInternalError, errorCode, withErrorCode, withErrorData } from '../../src/model/rpc-error.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

t.test('the code of an error is an integer, or none', async t => {
  t.equal(errorCode(json('{"code":-32603,"message":"m"}')), -32603)
  t.equal(errorCode(json('{"code":-3.2603e4}')), -32603)
  for (const text of ['{}', '{"code":"-32603"}', '{"code":1.5}', '{"code":null}', '{"code":1e400}'])
    t.equal(errorCode(json(text)), undefined, text)
})

t.test('an error is edited where it must be, and nowhere else', async t => {
  const error = json('{ "code":1,"message":"m","data":{"n":12345678901234567890}, "x":1.0 }')
  t.equal(
    withErrorCode(error, 2).toString(),
    '{ "code":2,"message":"m","data":{"n":12345678901234567890}, "x":1.0 }',
  )
  const CASES: [string, string][] = [
    ['{"code":1}', '{"code":1,"data":{"uri":"a:b"}}'],
    ['{"code":1,"data":null}', '{"code":1,"data":{"uri":"a:b"}}'],
    ['{"code":1,"data":{"k":1.0}}', '{"code":1,"data":{"k":1.0,"uri":"a:b"}}'],
    ['{"code":1,"data":[1.0]}', '{"code":1,"data":{"uri":"a:b","data":[1.0]}}'],
  ]
  for (const [before, after] of CASES)
    t.equal(withErrorData(json(before), 'uri', rawText('"a:b"')).toString(), after)
})

t.test('a code that must not be passed on is still to be found', async t => {
  t.equal(
    asInternalError(json('{"code":-32050,"message":"m"}'), -32050).toString(),
    '{"code":-32603,"message":"m","data":{"code":-32050}}',
  )
})

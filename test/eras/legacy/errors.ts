import t from 'tap'
import { encodeLegacyFault, projectLegacyError } from '../../../src/eras/legacy/errors.js'
import { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, readJson, valueOf } from '../../../src/kernel/json/text.js'
import { unmarked } from '../../support/values.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

/** [rule, a modern server's error, the URI that was read, what a legacy client gets] */
const TO_LEGACY: [string, string, string | undefined, string][] = [
  [
    'ER-4',
    '{"code":-32602,"message":"Resource not found","data":{"uri":"x:1"}}',
    'x:1',
    '{"code":-32002,"message":"Resource not found","data":{"uri":"x:1"}}',
  ],
  [
    'ER-4 another URI',
    '{"code":-32602,"message":"m","data":{"uri":"x:2"}}',
    'x:1',
    '{"code":-32602,"message":"m","data":{"uri":"x:2"}}',
  ],
  [
    'ER-4 another method',
    '{"code":-32602,"message":"m","data":{"uri":"x:1"}}',
    undefined,
    '{"code":-32602,"message":"m","data":{"uri":"x:1"}}',
  ],
  ['ER-4 no URI', '{"code":-32602,"message":"m"}', undefined, '{"code":-32602,"message":"m"}'],
  [
    'ER-8',
    '{"code":-32021,"message":"m","data":{"requiredCapabilities":{"elicitation":{}}}}',
    undefined,
    '{"code":-32603,"message":"Server b requires client capability elicitation","data":{"requiredCapabilities":{"elicitation":{}}}}',
  ],
  [
    'ER-8 several',
    '{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{},"elicitation":{"url":{},"form":{}},"extensions":{"a.b/c":{}}}}}',
    undefined,
    '{"code":-32603,"message":"Server b requires client capability sampling, elicitation.url, elicitation.form, extensions.a.b/c","data":{"requiredCapabilities":{"sampling":{},"elicitation":{"url":{},"form":{}},"extensions":{"a.b/c":{}}}}}',
  ],
  [
    'ER-8 nothing said',
    '{"code":-32021,"message":"m"}',
    undefined,
    '{"code":-32603,"message":"Server b requires a client capability"}',
  ],
  [
    'ER-7',
    '{"code":-32020,"message":"m"}',
    undefined,
    '{"code":-32603,"message":"m","data":{"code":-32020}}',
  ],
  [
    'ER-9',
    '{"code":-32022,"message":"m"}',
    undefined,
    '{"code":-32603,"message":"m","data":{"code":-32022}}',
  ],
  ['ER-5', '{"code":-32005,"message":"m"}', undefined, '{"code":-32005,"message":"m"}'],
  ['ER-10', '{"code":-32050,"message":"m"}', undefined, '{"code":-32050,"message":"m"}'],
]

t.test('a legacy client reads a modern server’s error in the codes of its time', async t => {
  for (const [rule, before, uri, after] of TO_LEGACY) {
    t.equal(projectLegacyError(json(before), { server: 'b', uri }).toString(), after, rule)
  }
})

t.test('a server whose name is not known is spoken of all the same', async t => {
  const error = json('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}')
  t.match(valueOf(projectLegacyError(error, { server: undefined, uri: undefined })), {
    code: -32603,
    message: 'The server requires client capability roots',
  })
})

t.test('an error that may pass is the very same', async t => {
  for (const text of [
    '{"code":-32602,"message":"m"}',
    '{"message":"no code"}',
    '{"code":"x","message":"m"}',
  ]) {
    const error = json(text)
    t.equal(projectLegacyError(error, { server: 'b', uri: 'x:1' }), error, text)
  }
})

t.test('a resource that is not there has a code of its own', async t => {
  const gone = new Fault('unknown-resource', 'Resource not found', { data: { uri: 'x:1' } })
  t.same(unmarked(valueOf(encodeLegacyFault(gone))), {
    code: -32002,
    message: 'Resource not found',
    data: { uri: 'x:1' },
  })
  t.match(valueOf(encodeLegacyFault(new Fault('unknown-method', 'm'))), { code: -32601 })
})

import t from 'tap'
import {
  type ErrorStage,
  encodeModernFault,
  headerMismatch,
  httpStatusOf,
  lacksCapability,
  projectModernError,
} from '../../../src/eras/modern/errors.js'
import { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, readJson, valueOf } from '../../../src/kernel/json/text.js'
import { repairError } from '../../../src/model/rpc-error.js'
import { unmarked } from '../../support/values.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const URL_ERROR =
  '{"code":-32042,"message":"Authorization required","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://s.example/connect","message":"Connect"}]}}'

/** [rule, a server's error, what the client declared, what it gets] */
const TO_MODERN: [string, string, string, string][] = [
  [
    'ER-2',
    '{ "code":1234,"message":"app","data":{"k":12345678901234567890} }',
    '{}',
    '{ "code":1234,"message":"app","data":{"k":12345678901234567890} }',
  ],
  ['ER-2 unknown method', '{"code":-32601,"message":"m"}', '{}', '{"code":-32601,"message":"m"}'],
  [
    'ER-2 params',
    '{"code":-32602,"message":"m","data":1.0}',
    '{}',
    '{"code":-32602,"message":"m","data":1.0}',
  ],
  [
    'ER-3',
    '{"code":-32002,"message":"Resource not found","data":{"uri":"file:///no"}}',
    '{}',
    '{"code":-32602,"message":"Resource not found","data":{"uri":"file:///no"}}',
  ],
  [
    'ER-3 without data',
    '{"code":-32002,"message":"gone"}',
    '{}',
    '{"code":-32602,"message":"gone","data":{"uri":"file:///asked"}}',
  ],
  [
    'ER-3 with other data',
    '{"code":-32002,"message":"gone","data":{"n":1.0,"uri":7}}',
    '{}',
    '{"code":-32602,"message":"gone","data":{"n":1.0,"uri":"file:///asked"}}',
  ],
  [
    'ER-3 with data of text',
    '{"code":-32002,"message":"gone","data":"why"}',
    '{}',
    '{"code":-32602,"message":"gone","data":{"uri":"file:///asked","data":"why"}}',
  ],
  ['ER-5', '{"code":-32005,"message":"legacy"}', '{}', '{"code":-32005,"message":"legacy"}'],
  ['ER-5 edge', '{"code":-32019,"message":"legacy"}', '{}', '{"code":-32019,"message":"legacy"}'],
  [
    'ER-6 without url elicitation',
    URL_ERROR,
    '{"elicitation":{}}',
    '{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}',
  ],
  [
    'ER-7',
    '{"code":-32020,"message":"Header mismatch"}',
    '{}',
    '{"code":-32603,"message":"Header mismatch","data":{"code":-32020}}',
  ],
  [
    'ER-8 really missing',
    '{"code":-32021,"message":"m","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}',
    '{"elicitation":{"form":{}}}',
    '{"code":-32021,"message":"m","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}',
  ],
  [
    'ER-8 narrowed',
    '{"code":-32021,"message":"m","data":{"requiredCapabilities":{"elicitation":{}}}}',
    '{"elicitation":{}}',
    '{"code":-32603,"message":"m","data":{"requiredCapabilities":{"elicitation":{}},"code":-32021}}',
  ],
  [
    'ER-8 says nothing',
    '{"code":-32021,"message":"m"}',
    '{}',
    '{"code":-32603,"message":"m","data":{"code":-32021}}',
  ],
  [
    'ER-9',
    '{"code":-32022,"message":"m","data":{"supported":["2025-11-25"],"requested":"2026-07-28"}}',
    '{}',
    '{"code":-32603,"message":"m","data":{"supported":["2025-11-25"],"requested":"2026-07-28","code":-32022}}',
  ],
  [
    'ER-10',
    '{"code":-32050,"message":"odd"}',
    '{}',
    '{"code":-32603,"message":"odd","data":{"code":-32050}}',
  ],
  [
    'ER-10 with data',
    '{"code":-32099,"message":"odd","data":[1.0]}',
    '{}',
    '{"code":-32603,"message":"odd","data":{"code":-32099,"data":[1.0]}}',
  ],
  ['beyond ER-10', '{"code":-32100,"message":"odd"}', '{}', '{"code":-32100,"message":"odd"}'],
]

t.test('a modern client reads only error codes that its revision has', async t => {
  for (const [rule, before, declared, after] of TO_MODERN) {
    const error = projectModernError(json(before), { uri: 'file:///asked', declared: json(declared) })
    t.equal(error.toString(), after, rule)
  }
})

t.test('an error that may pass is the very same', async t => {
  for (const text of [
    '{"code":-32602,"message":"m"}',
    '{"message":"no code"}',
    '{"code":"x","message":"m"}',
  ]) {
    const error = json(text)
    t.equal(projectModernError(error, { uri: undefined, declared: json('{}') }), error, text)
  }
})

t.test('without a URI in the request none is made up', async t => {
  const error = projectModernError(json('{"code":-32002,"message":"m"}'), {
    uri: undefined,
    declared: json('{}'),
  })
  t.equal(error.toString(), '{"code":-32602,"message":"m"}')
})

t.test(
  'a 2025-11-25 server’s wish for a URL is not sent on to a client that should have been asked',
  async t => {
    const error = projectModernError(json(URL_ERROR), {
      uri: undefined,
      declared: json('{"elicitation":{"url":{}}}'),
    })
    t.match(valueOf(error), { code: -32603, data: { code: -32042 } })
  },
)

t.test('what a modern server says about our own message does not blame the client', async t => {
  const CASES: [string, string][] = [
    ['{"code":-32600,"message":"bad"}', '{"code":-32603,"message":"bad","data":{"server":"b"}}'],
    ['{"code":-32700,"message":"bad","data":1.0}', '{"code":-32603,"message":"bad","data":1.0}'],
    ['{"code":"x","message":"bad"}', '{"code":-32603,"message":"bad"}'],
    ['{"code":1.5,"message":7}', '{"code":-32603,"message":""}'],
    ['{}', '{"message":"","code":-32603}'],
    ['{"code":7}', '{"code":7,"message":""}'],
  ]
  for (const [before, after] of CASES) t.equal(repairError(json(before), 'b').toString(), after)
  const fine = json('{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}')
  t.equal(repairError(fine, 'b'), fine)
})

t.test('our own errors have the codes, words and data of the specification', async t => {
  t.same(unmarked(valueOf(headerMismatch('Header mismatch: Mcp-Name missing'))), {
    code: -32020,
    message: 'Header mismatch: Mcp-Name missing',
  })
  const gone = new Fault('unknown-resource', 'Resource not found', { data: { uri: 'x:1' } })
  t.same(unmarked(valueOf(encodeModernFault(gone))), {
    code: -32602,
    message: 'Resource not found',
    data: { uri: 'x:1' },
  })
  t.same(unmarked(valueOf(encodeModernFault(new Fault('timeout', 'late', { data: { server: 'a' } })))), {
    code: -32603,
    message: 'late',
    data: { server: 'a', reason: 'timeout' },
  })
})

t.test('an error has the HTTP status that goes with where it came from', async t => {
  const CASES: [number, ErrorStage, number][] = [
    [-32700, 'entry', 400],
    [-32600, 'entry', 400],
    [-32601, 'entry', 404],
    [-32602, 'entry', 400],
    [-32020, 'entry', 400],
    [-32021, 'entry', 400],
    [-32022, 'entry', 400],
    [-32603, 'entry', 200],
    [-32601, 'dispatched', 200],
    [-32602, 'dispatched', 200],
    [-32603, 'dispatched', 200],
    [-32005, 'dispatched', 200],
    [1234, 'dispatched', 200],
    [-32021, 'dispatched', 400],
  ]
  for (const [code, stage, status] of CASES)
    t.equal(httpStatusOf(json(`{"code":${code},"message":"m"}`), stage), status, `${code} ${stage}`)
})

t.test('a client lacks what it did not declare, at any depth', async t => {
  const CASES: [string, string, boolean][] = [
    ['{}', '{}', false],
    ['{}', '{"sampling":{}}', true],
    ['{"sampling":{}}', '{"sampling":{}}', false],
    ['{"sampling":{}}', '{"sampling":{"tools":{}}}', true],
    ['{"sampling":{"tools":{}}}', '{"sampling":{"tools":{}}}', false],
    ['{"elicitation":{}}', '{"elicitation":{"form":{}}}', false],
    ['{"elicitation":{}}', '{"elicitation":{}}', false],
    ['{"elicitation":{}}', '{"elicitation":{"url":{}}}', true],
    ['{"elicitation":{"url":{}}}', '{"elicitation":{}}', true],
    ['{"elicitation":{"form":{},"url":{}}}', '{"elicitation":{"url":{}}}', false],
    ['{"extensions":{"a.b/c":{}}}', '{"extensions":{"a.b/c":{}}}', false],
    ['{"extensions":{"a.b/c":{}}}', '{"extensions":{"a.b/d":{}}}', true],
    ['{"roots":{}}', '{"roots":{},"sampling":{}}', true],
    ['{}', '"sampling"', false],
  ]
  for (const [declared, required, lacks] of CASES) {
    t.equal(lacksCapability(json(declared), json(required)), lacks, `${declared} for ${required}`)
  }
})

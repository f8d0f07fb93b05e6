import fc from 'fast-check'
import t from 'tap'
import {
  checkHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  mirrorHeaders,
} from '../../../src/eras/modern/mirror-headers.js'
import { paramHeadersOf } from '../../../src/eras/modern/param-headers.js'
import { type JsonText, readJson } from '../../../src/kernel/json/text.js'
import { classify } from '../../../src/wire/classify.js'
import type { HttpHeaders } from '../../../src/wire/http.js'
import { encodeRequest } from '../../../src/wire/jsonrpc.js'
import { sdkOnHttp } from '../../support/client/sdk-client.js'

/** Returns the contradiction between a request's headers and its body. */
const check = (
  headers: HttpHeaders,
  method: string,
  params: JsonText | undefined,
  schema?: JsonText,
): string | undefined => {
  const classified = classify(encodeRequest(1, method, params))
  if (classified.is !== 'message' || classified.message.kind !== 'request') throw new Error('no request')
  return checkHeaders(headers, classified.message, schema && paramHeadersOf(schema).headers)
}

/** [value, header]: the examples of "Value Encoding", and the edges of its rules. */
const ENCODED: [string, string][] = [
  ['us-west1', 'us-west1'],
  ['us west 1', 'us west 1'],
  ['a\tb', 'a\tb'],
  ['~!', '~!'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  [' us-west1', '=?base64?IHVzLXdlc3Qx?='],
  ['us-west1 ', '=?base64?dXMtd2VzdDEg?='],
  ['\tindented', '=?base64?CWluZGVudGVk?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['line1\r\nline2', '=?base64?bGluZTENCmxpbmUy?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['=?base64?=', '=?base64?PT9iYXNlNjQ/PQ==?='],
  ['=?base64?open', '=?base64?open'],
  ['closed?=', 'closed?='],
  ['\u007f', '=?base64?fw==?='],
  ['', '=?base64??='],
  ['é', '=?base64?w6k=?='],
]

t.test('a value goes into a header as the specification prints it, and comes out again', async t => {
  for (const [value, header] of ENCODED) {
    t.equal(encodeHeaderValue(value), header, JSON.stringify(value))
    t.equal(decodeHeaderValue(header), value, header)
  }
})

t.test('a value marked as encoded that is not is refused', async t => {
  for (const header of [
    '=?base64?SGVsbG8?=',
    '=?base64?SGVs!!!bG8=?=',
    '=?base64?SGVsbG8==?=',
    '=?base64?SGVsbG9=?=',
    '=?base64?SGVs bG8=?=',
    '=?base64?_-8=?=',
    '=?base64?/w==?=',
    '=?base64?7aCA?=',
    '=?base64?Zm9v?=, =?base64?Zm9v?=',
    '=?base64?=?=',
    'é',
    'a\u0000b',
    '\u00a0x',
    'a\u007f',
  ]) {
    t.equal(decodeHeaderValue(header), undefined, JSON.stringify(header))
  }
})

t.test('a value without the exact marks is taken literally', async t => {
  for (const header of ['=?BASE64?SGVsbG8=?=', '=?base64?SGVsbG8=', 'SGVsbG8=?=', '=?base64?=', '?=', '']) {
    t.equal(decodeHeaderValue(header), header)
  }
  t.equal(decodeHeaderValue('=?base64?Zm9v?='), 'foo')
})

t.test('spaces and tabs around a header are not part of it', async t => {
  t.equal(decodeHeaderValue(' \t x y \t'), 'x y')
  t.equal(decodeHeaderValue('  =?base64?Zm9v?= '), 'foo')
  t.equal(decodeHeaderValue(' \t '), '')
})

t.test('any text survives the header, which contains only printable ASCII and tabs', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary-ascii' }),
    fc.string().map(inner => `=?base64?${inner}?=`),
  )
  fc.assert(
    fc.property(text, value => {
      const header = encodeHeaderValue(value)
      return /^[\t -~]+$/.test(header) && !/^[\t ]|[\t ]$/.test(header) && decodeHeaderValue(header) === value
    }),
  )
})

t.test('every header is decoded or refused, never thrown over', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), inner => {
      const said = decodeHeaderValue(`=?base64?${inner}?=`)
      return said === undefined || Buffer.from(said).toString('base64') === inner
    }),
  )
  fc.assert(
    fc.property(fc.base64String(), inner => {
      const said = decodeHeaderValue(`=?base64?${inner}?=`)
      return said === undefined || Buffer.from(said).toString('base64') === inner
    }),
  )
})

const json = (text: string): JsonText => readJson(Buffer.from(text))

const ENVELOPE =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
const params = (inner = ''): JsonText => json(`{${inner}${inner === '' ? '' : ','}${ENVELOPE}}`)
const lower = (headers: Record<string, string>): HttpHeaders =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The full text of a problem. */
const worded = (problem: string): string =>
  problem.startsWith('Missing') ? problem : `Header mismatch: ${problem}`

const VERSION = { 'mcp-protocol-version': '2026-07-28' }
const CALL = { ...VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'a__bar' }
const BAR = '"name":"a__bar"'

t.test('headers that match the body are accepted', async t => {
  const CASES: [string, HttpHeaders, string, JsonText][] = [
    ['a list', { ...VERSION, 'mcp-method': 'tools/list' }, 'tools/list', params()],
    ['a tool', CALL, 'tools/call', params(BAR)],
    [
      'a prompt',
      { ...VERSION, 'mcp-method': 'prompts/get', 'mcp-name': 'p' },
      'prompts/get',
      params('"name":"p"'),
    ],
    [
      'a resource with a comma',
      { ...VERSION, 'mcp-method': 'resources/read', 'mcp-name': 'data:,a, b' },
      'resources/read',
      params('"uri":"data:,a, b"'),
    ],
    [
      'a task',
      { ...VERSION, 'mcp-method': 'tasks/get', 'mcp-name': 't1' },
      'tasks/get',
      params('"taskId":"t1"'),
    ],
    ['encoded', { ...CALL, 'mcp-name': '=?base64?YV9fYmFy?=' }, 'tools/call', params(BAR)],
    ['padded', { ...CALL, 'mcp-name': '  a__bar\t', 'mcp-method': ' tools/call' }, 'tools/call', params(BAR)],
    ['escaped in the body', CALL, 'tools/call', params(String.raw`"name":"\u0061__bar"`)],
    ['a name where none belongs', { ...CALL, 'mcp-method': 'tools/list' }, 'tools/list', params()],
    ['no name in the body', { ...VERSION, 'mcp-method': 'tools/call' }, 'tools/call', params('"name":7')],
    [
      'headers of other parameters',
      { ...CALL, 'mcp-param-other': '=?base64?!?=' },
      'tools/call',
      params(BAR),
    ],
  ]
  for (const [what, headers, method, body] of CASES) t.equal(check(headers, method, body), undefined, what)
})

t.test('the first header that differs from the body is named', async t => {
  const { 'mcp-protocol-version': _, ...noVersion } = CALL
  const { 'mcp-method': __, ...noMethod } = CALL
  const { 'mcp-name': ___, ...noName } = CALL
  const CASES: [string, HttpHeaders, string][] = [
    ['HD-1', { ...CALL, 'mcp-name': 'a__foo' }, "Mcp-Name 'a__foo' does not match body 'a__bar'"],
    ['nothing', {}, 'Missing required header MCP-Protocol-Version'],
    ['no version', { ...noVersion, 'mcp-method': 'x' }, 'Missing required header MCP-Protocol-Version'],
    [
      'version',
      { ...CALL, 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'x' },
      "MCP-Protocol-Version '2025-11-25' does not match body '2026-07-28'",
    ],
    ['no method', { ...noMethod, 'mcp-name': 'x' }, 'Missing required header Mcp-Method'],
    [
      'case',
      { ...CALL, 'mcp-method': 'TOOLS/CALL' },
      "Mcp-Method 'TOOLS/CALL' does not match body 'tools/call'",
    ],
    [
      'encoded method',
      { ...CALL, 'mcp-method': '=?base64?dG9vbHMvY2FsbA==?=' },
      "Mcp-Method '=?base64?dG9vbHMvY2FsbA==?=' does not match body 'tools/call'",
    ],
    ['no name', noName, 'Missing required header Mcp-Name'],
    [
      'bad padding',
      { ...CALL, 'mcp-name': '=?base64?YV9fYmFyIQ?=' },
      'Mcp-Name is neither plain ASCII nor canonical base64 of UTF-8',
    ],
    [
      'version twice',
      { ...CALL, 'mcp-protocol-version': '2026-07-28, 2026-07-28' },
      "MCP-Protocol-Version '2026-07-28, 2026-07-28' does not match body '2026-07-28'",
    ],
    [
      'method twice',
      { ...CALL, 'mcp-method': 'tools/call, tools/call' },
      "Mcp-Method 'tools/call, tools/call' does not match body 'tools/call'",
    ],
    [
      'name twice',
      { ...CALL, 'mcp-name': 'a__bar, a__bar' },
      "Mcp-Name 'a__bar, a__bar' does not match body 'a__bar'",
    ],
    [
      'name twice and encoded',
      { ...CALL, 'mcp-name': '=?base64?YV9fYmFy?=, =?base64?YV9fYmFy?=' },
      'Mcp-Name is neither plain ASCII nor canonical base64 of UTF-8',
    ],
    [
      'raw UTF-8',
      { ...CALL, 'mcp-name': 'Ã©' },
      'Mcp-Name is neither plain ASCII nor canonical base64 of UTF-8',
    ],
  ]
  for (const [what, headers, message] of CASES) {
    t.equal(check(headers, 'tools/call', params(BAR)), worded(message), what)
  }
})

t.test('a name that is not ASCII has to be encoded, even if its bytes happen to match', async t => {
  t.equal(
    check({ ...CALL, 'mcp-name': 'é' }, 'tools/call', params('"name":"é"')),
    'Header mismatch: Mcp-Name is neither plain ASCII nor canonical base64 of UTF-8',
  )
  t.equal(check({ ...CALL, 'mcp-name': '=?base64?w6k=?=' }, 'tools/call', params('"name":"é"')), undefined)
})

t.test('a body that claims no version is not what the header says', async t => {
  t.equal(
    check(CALL, 'tools/call', json('{"name":"a__bar"}')),
    "Header mismatch: MCP-Protocol-Version '2026-07-28' does not match body ''",
  )
  t.equal(check({}, 'tools/list', undefined), 'Missing required header MCP-Protocol-Version')
})

t.test('an error repeats only the beginning of a long header', async t => {
  const message = check({ ...CALL, 'mcp-name': 'x'.repeat(10_000) }, 'tools/call', params(BAR))
  t.ok((message?.length ?? 1000) < 300)
})

const SCHEMA = json(
  '{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"},"o":{"properties":{"r":{"type":"string","x-mcp-header":"R"}}},"bad":{"type":"number","x-mcp-header":"Bad"}}}',
)

t.test('headers of parameters are required and compared where the body has a value', async t => {
  /** [arguments, headers, what is wrong] */
  const CASES: [string, Record<string, string>, string | undefined][] = [
    ['{"region":"us"}', { region: 'us' }, undefined],
    ['{"region":"us"}', {}, 'Missing required header Mcp-Param-Region'],
    ['{"region":"us"}', { region: 'eu' }, "Mcp-Param-Region 'eu' does not match body 'us'"],
    ['{"region":"us"}', { region: '=?base64?dXM=?=' }, undefined],
    [
      '{"region":"us"}',
      { region: '=?base64?dXM?=' },
      'Mcp-Param-Region is neither plain ASCII nor canonical base64 of UTF-8',
    ],
    ['{"region":""}', { region: '=?base64??=' }, undefined],
    ['{"region":""}', { region: '' }, undefined],
    ['{"region":null}', { region: 'eu' }, undefined],
    ['{}', { region: 'eu' }, undefined],
    ['{"count":42}', { count: '42' }, undefined],
    ['{"count":42}', { count: '42.0' }, undefined],
    ['{"count":42.0}', { count: '42' }, undefined],
    ['{"count":4.2e1}', { count: '42' }, undefined],
    ['{"count":42}', { count: '43' }, "Mcp-Param-Count '43' does not match body '42'"],
    ['{"count":42}', { count: '0x2a' }, "Mcp-Param-Count '0x2a' does not match body '42'"],
    ['{"count":0}', { count: '' }, "Mcp-Param-Count '' does not match body '0'"],
    ['{"count":42}', { count: '42, 42' }, "Mcp-Param-Count '42, 42' does not match body '42'"],
    ['{"count":"42"}', { count: '42' }, undefined],
    ['{"count":"42"}', { count: '42.0' }, "Mcp-Param-Count '42.0' does not match body '42'"],
    ['{"count":12345678901234567890}', {}, undefined],
    ['{"count":[42]}', {}, undefined],
    ['{"dry":false}', { dry: 'false' }, undefined],
    ['{"dry":false}', { dry: 'False' }, "Mcp-Param-Dry 'False' does not match body 'false'"],
    ['{"o":{"r":"x"}}', {}, 'Missing required header Mcp-Param-R'],
    ['{"o":{"r":"x"}}', { r: 'x' }, undefined],
    ['{"bad":1.5}', {}, undefined],
  ]
  for (const [args, given, problem] of CASES) {
    const headers: Record<string, string> = { ...CALL }
    for (const [name, value] of Object.entries(given)) headers[`mcp-param-${name}`] = value
    const body = params(`${BAR},"arguments":${args}`)
    const message = problem && worded(problem)
    t.equal(check(headers, 'tools/call', body, SCHEMA), message, `${args} ${JSON.stringify(given)}`)
  }
  t.equal(check(CALL, 'tools/call', params(BAR), SCHEMA), undefined, 'no arguments')
})

t.test('a request to a modern server repeats its name and marked arguments in headers', async t => {
  const HD4 = json(
    '{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"note":{"type":"string","x-mcp-header":"Note"},"opt":{"type":"string","x-mcp-header":"Opt"},"q":{"type":"string"}}}',
  )
  const CASES: [string, string, string | undefined, JsonText | undefined, Record<string, string>][] = [
    [
      'HD-4',
      'tools/call',
      '{"name":"sql","arguments":{"region":"us-west1","note":"Hello, 世界","q":"1","opt":null}}',
      HD4,
      {
        'Mcp-Method': 'tools/call',
        'Mcp-Name': 'sql',
        'Mcp-Param-Region': 'us-west1',
        'Mcp-Param-Note': '=?base64?SGVsbG8sIOS4lueVjA==?=',
      },
    ],
    [
      'HD-7',
      'tools/call',
      '{"name":"sql","arguments":{"zone":"a"}}',
      json('{"properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}'),
      { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'sql', 'Mcp-Param-Zone': 'a' },
    ],
    [
      'kinds',
      'tools/call',
      '{"name":"x","arguments":{"region":{"a":1},"count":4.20e1,"dry":true,"o":{"r":""}}}',
      SCHEMA,
      {
        'Mcp-Method': 'tools/call',
        'Mcp-Name': 'x',
        'Mcp-Param-Count': '42',
        'Mcp-Param-Dry': 'true',
        'Mcp-Param-R': '=?base64??=',
      },
    ],
    [
      'beyond a double',
      'tools/call',
      '{"name":"x","arguments":{"count":12345678901234567890,"o":7}}',
      SCHEMA,
      { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'x' },
    ],
    [
      'no schema',
      'tools/call',
      '{"name":"naïve"}',
      undefined,
      { 'Mcp-Method': 'tools/call', 'Mcp-Name': '=?base64?bmHDr3Zl?=' },
    ],
    ['no arguments', 'tools/call', '{"name":"x"}', SCHEMA, { 'Mcp-Method': 'tools/call', 'Mcp-Name': 'x' }],
    [
      'a resource',
      'resources/read',
      '{"uri":"file:///a b"}',
      undefined,
      { 'Mcp-Method': 'resources/read', 'Mcp-Name': 'file:///a b' },
    ],
    ['a list', 'tools/list', undefined, undefined, { 'Mcp-Method': 'tools/list' }],
    ['completion', 'completion/complete', '{"name":"x"}', undefined, { 'Mcp-Method': 'completion/complete' }],
  ]
  for (const [what, method, body, schema, headers] of CASES) {
    t.same(mirrorHeaders(method, body === undefined ? undefined : json(body), schema), headers, what)
  }
})

t.test('no header can be smuggled in with a name or an argument', async t => {
  const headers = mirrorHeaders(
    'tools/call',
    json(String.raw`{"name":"x\r\nHost: evil","arguments":{"region":"a\nb: c"}}`),
    SCHEMA,
  )
  t.equal(headers['Mcp-Name'], '=?base64?eA0KSG9zdDogZXZpbA==?=')
  t.equal(headers['Mcp-Param-Region'], '=?base64?YQpiOiBj?=')
})

const TRICKY =
  '{"region":" padded ","count":42,"dry":false,"o":{"r":"=?base64?literal?="},"bad":3.25,"other":"x"}'

t.test('what we send we would believe', async t => {
  const body = params(`${BAR},"arguments":${TRICKY}`)
  const headers = { ...VERSION, ...lower(mirrorHeaders('tools/call', body, SCHEMA)) }
  t.equal(check(headers, 'tools/call', body, SCHEMA), undefined)
})

t.test('the official client sends the headers that we would send, and we believe them', async t => {
  const schema =
    '{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"},"o":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}},"e":{"type":"string","x-mcp-header":"E"}}}'
  const { client, sent } = await sdkOnHttp(({ method }) => {
    if (method === 'server/discover') {
      return '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}},"ttlMs":0,"cacheScope":"private"}'
    }
    if (method === 'tools/call') return '{"resultType":"complete","content":[]}'
    if (method === 'resources/read') {
      return '{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}'
    }
    return `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[{"name":"naïve tool","inputSchema":${schema}}]}`
  })
  await client.listTools()
  await client.callTool({ name: 'naïve tool', arguments: { ...JSON.parse(TRICKY), e: '' } })
  await client.readResource({ uri: 'file:///grün' })
  await client.close()
  t.same(
    sent.map(({ method }) => method),
    ['server/discover', 'tools/list', 'tools/call', 'resources/read'],
  )
  for (const { method, params: body, headers } of sent) {
    t.equal(check(headers, method, body, json(schema)), undefined, method)
    const theirs = Object.entries(headers).filter(([name]) => /^mcp-(?:method|name|param-.*)$/.test(name))
    t.same(lower(mirrorHeaders(method, body, json(schema))), Object.fromEntries(theirs), method)
  }
})

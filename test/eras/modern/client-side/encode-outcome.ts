import t from 'tap'
import {
  encodeEntryError,
  encodeOutcome,
  type RequestFacts,
  withSubscriptionId,
  writeDiscover,
} from '../../../../src/eras/modern/client-side/encode-outcome.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { Welcome } from '../../../../src/model/links.js'
import { failed, type Outcome, succeeded } from '../../../../src/model/outcome.js'
import { whole } from '../../../../src/wire/message-parts.js'
import { withoutErrorIds } from '../../../support/values.js'

const IDENTITY = rawText('{"name":"proxy","version":"1"}')
const STAMP = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy","version":"1"}}'

const asked = (
  method: string,
  more: { id?: string; params?: object; declared?: object } = {},
): RequestFacts => ({
  id: rawText(more.id ?? '1'),
  method,
  params: textOf(more.params ?? {}),
  declared: textOf(more.declared ?? {}),
})

const encoded = (outcome: Outcome, request: RequestFacts): string => {
  const { frame, status } = encodeOutcome(outcome, request, IDENTITY)
  return `${status} ${withoutErrorIds(whole(frame).toString()).replace('{"jsonrpc":"2.0",', '{')}`
}

const result = (text: string): Outcome => succeeded(rawText(text))

t.test('every result says that it is complete and who answered, and all else stays as it came', async t => {
  const CASES: [string, string, string][] = [
    [
      'tools/call',
      '{ "content":[ ],"n":12345678901234567890 }',
      `{ "content":[ ],"n":12345678901234567890,"resultType":"complete",${STAMP} }`,
    ],
    [
      'completion/complete',
      '{"completion":{"values":[]}}',
      `{"completion":{"values":[]},"resultType":"complete",${STAMP}}`,
    ],
    [
      'prompts/get',
      '{"resultType":"complete","messages":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs","version":"7"},"a.b/c":1.0}}',
      '{"resultType":"complete","messages":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy","version":"1"},"a.b/c":1.0}}',
    ],
  ]
  for (const [method, before, after] of CASES)
    t.equal(encoded(result(before), asked(method)), `200 {"id":1,"result":${after}}`)
})

t.test('a result that is known to be texts alone says the same', async t => {
  const texts = '{"content":[{"type":"text","text":"é"}],\n"isError":true }'
  const written = encoded({ kind: 'result', result: rawText(texts), isPlain: true }, asked('tools/call'))
  t.equal(
    written,
    `200 {"id":1,"result":${texts.replace('\n', ' ').slice(0, -1)},"resultType":"complete",${STAMP}}}`,
  )
})

t.test('what no modern client knows is taken away or said otherwise', async t => {
  const before =
    '{"content":[{"type":"odd"}],"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}'
  const after = `{"content":[{"type":"text","text":"{\\"type\\":\\"odd\\"}"}],"resultType":"complete",${STAMP}}`
  t.equal(encoded(result(before), asked('tools/call')), `200 {"id":1,"result":${after}}`)
  const list =
    '{"tools":[{"name":"x","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}'
  t.notMatch(encoded(result(list), asked('tools/list')), 'execution')
})

t.test(
  'results that may be kept say for how long: as we were told, as their server said, or not at all',
  async t => {
    const hints = { ttlMs: 5000, cacheScope: 'public' } as const
    const CASES: [string, string, Outcome, string][] = [
      [
        'our list',
        'tools/list',
        { kind: 'result', result: rawText('{"tools":[]}'), hints },
        '"ttlMs":5000,"cacheScope":"public"',
      ],
      ['a list without hints', 'tools/list', result('{"tools":[]}'), '"ttlMs":0,"cacheScope":"private"'],
      [
        'the text of a modern server',
        'resources/read',
        result('{"contents":[],"resultType":"complete","ttlMs":300000,"cacheScope":"public"}'),
        '"ttlMs":300000,"cacheScope":"public"',
      ],
      [
        'nonsense of a modern server',
        'resources/read',
        result('{"contents":[],"resultType":"complete","ttlMs":-1,"cacheScope":"shared"}'),
        '"ttlMs":0,"cacheScope":"private"',
      ],
      [
        'the text of a legacy server that happens to say the same words',
        'resources/read',
        result('{"contents":[],"ttlMs":300000,"cacheScope":"public"}'),
        '"ttlMs":0,"cacheScope":"private"',
      ],
    ]
    for (const [what, method, outcome, said] of CASES) t.match(encoded(outcome, asked(method)), said, what)
    for (const method of ['tools/call', 'prompts/get', 'completion/complete', 'subscriptions/listen'])
      t.notMatch(encoded(result('{"content":[]}'), asked(method)), 'ttlMs', method)
  },
)

t.test('a page is encoded again only when its hints change', async t => {
  const page = rawText('{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}')
  const of = (ttlMs: number) =>
    encoded({ kind: 'result', result: page, hints: { ttlMs, cacheScope: 'private' } }, asked('tools/list'))
  t.equal(of(1), of(1))
  t.match(of(2), '"ttlMs":2')
  t.match(of(1), '"ttlMs":1')
})

t.test('a result of an unrequested kind is an error, never an empty success', async t => {
  for (const type of ['"task"', '"input_required"', '"later"', '7'])
    t.match(
      encoded(result(`{"resultType":${type},"taskId":"t"}`), asked('tools/call')),
      /^200 \{"id":1,"error":\{"code":-32603/,
      type,
    )
})

t.test('a wish for input passes as it is, signed by us, where the method may have one', async t => {
  const wish =
    '{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}},"requestState":"s"}'
  const input: Outcome = { kind: 'input', result: rawText(wish) }
  for (const method of ['tools/call', 'prompts/get', 'resources/read']) {
    t.equal(encoded(input, asked(method)), `200 {"id":1,"result":${wish.slice(0, -1)},${STAMP}}}`, method)
  }
  t.match(encoded(input, asked('completion/complete')), '"error":{"code":-32603')
  const untyped = rawText('{"inputRequests":{}}')
  t.match(encoded({ kind: 'input', result: untyped }, asked('tools/call')), '"resultType":"input_required"')
})

t.test('the end of a request that listened names it, in its own type', async t => {
  for (const id of ['7', '"7"'])
    t.match(
      encoded(result('{}'), asked('subscriptions/listen', { id })),
      `"io.modelcontextprotocol/subscriptionId":${id}`,
    )
})

t.test('a notification to a listening request names it, next to its own members', async t => {
  t.equal(
    withSubscriptionId(undefined, rawText('"L"')).toString(),
    '{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}',
  )
  t.equal(
    withSubscriptionId(rawText('{"uri":"a:b","_meta":{"x.y/z":1}}'), rawText('7')).toString(),
    '{"uri":"a:b","_meta":{"x.y/z":1,"io.modelcontextprotocol/subscriptionId":7}}',
  )
})

t.test('errors of servers and faults of ours have the codes and the status of this revision', async t => {
  const error = (text: string): Outcome => ({ kind: 'error', error: rawText(text) })
  const fault = (code: ConstructorParameters<typeof Fault>[0]): Outcome => failed(new Fault(code, 'm'))
  const read = asked('resources/read', { params: { uri: 'x:1' } })
  const CASES: [string, Outcome, RequestFacts, string][] = [
    [
      'not found in the older way',
      error('{"code":-32002,"message":"m"}'),
      read,
      '200 {"id":1,"error":{"code":-32602,"message":"m","data":{"uri":"x:1"}}}',
    ],
    [
      'the uri of a request that reads nothing',
      error('{"code":-32002,"message":"m"}'),
      asked('tools/call', { params: { uri: 'x:1' } }),
      '200 {"id":1,"error":{"code":-32602,"message":"m"}}',
    ],
    [
      'what the client really lacks',
      error('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}'),
      asked('tools/call'),
      '400 {"id":1,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}}',
    ],
    [
      'what the client has',
      error('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}'),
      asked('tools/call', { declared: { roots: {} } }),
      '200 {"id":1,"error":{"code":-32603,"message":"m","data":{"requiredCapabilities":{"roots":{}},"code":-32021}}}',
    ],
    [
      'a server that lacks a method that we have',
      error('{"code":-32601,"message":"m"}'),
      asked('tools/call'),
      '200 {"id":1,"error":{"code":-32601,"message":"m"}}',
    ],
    [
      'a reserved code',
      error('{"code":-32050,"message":"m"}'),
      asked('tools/call'),
      '200 {"id":1,"error":{"code":-32603,"message":"m","data":{"code":-32050}}}',
    ],
    [
      'a method that nobody offers',
      fault('unknown-method'),
      asked('tools/call'),
      '404 {"id":1,"error":{"code":-32601,"message":"m"}}',
    ],
    [
      'an unknown tool',
      fault('invalid-params'),
      asked('tools/call'),
      '200 {"id":1,"error":{"code":-32602,"message":"m"}}',
    ],
    [
      'a server that is late',
      fault('timeout'),
      asked('tools/call'),
      '200 {"id":1,"error":{"code":-32603,"message":"m","data":{"reason":"timeout"}}}',
    ],
  ]
  for (const [what, outcome, request, said] of CASES) t.equal(encoded(outcome, request), said, what)
})

t.test('a request refused before dispatch gets a matching status', async t => {
  const refusal = (text: string) => encodeEntryError(rawText('1'), rawText(text))
  t.equal(refusal('{"code":-32602,"message":"m"}').status, 400)
  t.equal(refusal('{"code":-32601,"message":"m"}').status, 404)
  t.equal(
    whole(refusal('{"code":-32602,"message":"m"}').frame).toString(),
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}',
  )
})

t.test('no word of an older revision is written, for any server answer', async t => {
  const task = '"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}'
  const CASES: [string, Outcome][] = [
    ['tools/call', result(`{"content":[],${task}}`)],
    ['tools/call', result(`{"content":[{"type":"text","text":"a",${task}}]}`)],
    ['prompts/get', result(`{"messages":[{"role":"user","content":{"type":"text","text":"a",${task}}}]}`)],
    ['resources/read', result(`{"contents":[{"uri":"a:b","text":"t",${task}}]}`)],
    ['tools/list', result(`{"tools":[{"name":"x","inputSchema":{},"execution":{},${task}}]}`)],
    ...[-32002, -32042].map((code): [string, Outcome] => [
      'tools/call',
      { kind: 'error', error: rawText(`{"code":${code},"message":"m"}`) },
    ]),
  ]
  for (const [method, outcome] of CASES)
    t.notMatch(encoded(outcome, asked(method)), /related-task|execution|-32002|-32042/)
})

const FULL: Welcome = {
  capabilities: {
    tools: true,
    prompts: true,
    resources: { subscribe: true },
    completions: true,
    logging: true,
  },
  instructions: undefined,
  isComplete: true,
}

const EMPTY: Welcome = {
  capabilities: { tools: false, prompts: false, resources: undefined, completions: false, logging: false },
  instructions: undefined,
  isComplete: true,
}

t.test('the proxy introduces itself with what its servers can do, and no older version', async t => {
  t.equal(
    writeDiscover(FULL).toString(),
    '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}}',
  )
})

t.test('what no server can do is not announced, and instructions are there if anybody has some', async t => {
  t.equal(
    writeDiscover({ ...EMPTY, instructions: 'a "b"' }).toString(),
    '{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"a \\"b\\""}',
  )
  const half = { ...EMPTY.capabilities, resources: { subscribe: false } }
  t.match(
    writeDiscover({ ...EMPTY, capabilities: half }).toString(),
    '"capabilities":{"resources":{"listChanged":true}}',
  )
})

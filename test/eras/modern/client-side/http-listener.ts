import t from 'tap'
import { createHttpListener } from '../../../../src/eras/listen/http-listener.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import { succeeded } from '../../../../src/model/outcome.js'
import { mirrored, modern } from '../../../support/era/codec.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { FakeHandler } from '../../../support/proxy/listeners.js'
import { IDENTITY, progressOf } from '../../../support/values.js'
import { recordedLog } from '../../../support/wire/channel-pair.js'
import { FakeResponder, httpRequest } from '../../../support/wire/fake-http.js'

const BOTH = 'application/json, text/event-stream'
const EMPTY = succeeded(rawText('{}'))
const LEVEL = 'io.modelcontextprotocol/logLevel'
const ERROR = {
  kind: 'error',
  error: rawText('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}'),
} as const

type Headers = Record<string, string>

const start = () => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log, lines } = recordedLog()
  const host = createHttpListener({
    handler,
    clock,
    identity: IDENTITY,
    log,
  })
  const post = (body: string | object, headers: Headers = {}, from = '127.0.0.1') => {
    const responder = new FakeResponder()
    const all = { accept: BOTH, 'content-type': 'application/json', ...headers }
    host.handle(httpRequest('POST', all, body, from), responder)
    return responder
  }
  /** A request with the headers that belong to it. */
  const ask = (message: ReturnType<typeof modern>, headers: Headers = {}, from?: string) =>
    post(message, { ...mirrored(message), ...headers }, from)
  return { handler, clock, lines, host, post, ask }
}

const call = (id: unknown, meta: object = {}) => modern(id, 'tools/call', { name: 'x' }, meta)

t.test('a request is answered under its own id as JSON, without a session', async t => {
  const { handler, ask, host } = start()
  for (const id of [0, 'a', '1', 1]) {
    const answer = ask(call(id))
    handler.last.end(succeeded(rawText('{"content":[]}')))
    t.same([answer.status, answer.headers], [200, { 'content-type': 'application/json' }])
    t.match(answer.json, { id, result: { content: [], resultType: 'complete' } })
  }
  t.equal(host.sessions, 0)
})

t.test('a session id and the id of an event mean nothing, and none is given out', async t => {
  const { handler, ask } = start()
  const answer = ask(call(1, { progressToken: 1 }), { 'mcp-session-id': 'gone', 'last-event-id': '1.1' })
  handler.last.progress(progressOf({ progress: 1 }))
  handler.last.end(EMPTY)
  t.equal(answer.status, 200)
  t.notOk(Object.keys(answer.headers).some(name => name.toLowerCase() === 'mcp-session-id'))
  t.notMatch(answer.body, /^id:/m)
  t.notMatch(answer.body, /^retry:/m)
})

t.test('a request whose headers say something else is refused, before anybody is asked', async t => {
  const { handler, post, ask } = start()
  const CASES: [string, FakeResponder, RegExp][] = [
    ['no headers', post(call(1)), /^Missing required header MCP-Protocol-Version$/],
    ['another method', ask(call(1), { 'mcp-method': 'tools/list' }), /Mcp-Method 'tools\/list'/],
    ['another tool', ask(call(1), { 'mcp-name': 'y' }), /Mcp-Name 'y' does not match body 'x'/],
    ['another revision', ask(call(1), { 'mcp-protocol-version': '2025-11-25' }), /MCP-Protocol-Version/],
    ['twice the same', ask(call(1), { 'mcp-method': 'tools/call, tools/call' }), /Mcp-Method/],
  ]
  for (const [what, answer, words] of CASES) {
    t.same([answer.status, answer.json.id, answer.json.error?.code], [400, 1, -32020], what)
    t.match(answer.json.error?.message, words, what)
  }
  t.same(handler.calls, [])
})

t.test('an unknown method has a status of its own', async t => {
  const { handler, post, ask } = start()
  const modernHeader = { 'mcp-protocol-version': '2026-07-28' }
  const CASES: [string, FakeResponder, [number, unknown, number]][] = [
    ['no such method', ask(modern(1, 'ping')), [404, 1, -32601]],
    ['initialize in an envelope', ask(modern(1, 'initialize')), [404, 1, -32601]],
    [
      'no capabilities',
      ask(modern('a', 'tools/list', {}, { 'io.modelcontextprotocol/clientCapabilities': undefined })),
      [400, 'a', -32602],
    ],
    ['no envelope under the header', post({ id: 1, method: 'tools/list' }, modernHeader), [400, 1, -32602]],
    [
      'another version',
      post(modern(1, 'tools/list', {}, { 'io.modelcontextprotocol/protocolVersion': '1900-01-01' }), {
        'mcp-protocol-version': '1900-01-01',
      }),
      [400, 1, -32022],
    ],
    ['an array', post([{ jsonrpc: '2.0', ...call(1) }]), [400, undefined, -32600]],
    ['no JSON', post('{', modernHeader), [400, undefined, -32700]],
  ]
  for (const [what, answer, [status, id, code]] of CASES)
    t.same([answer.status, answer.json.id, answer.json.error?.code], [status, id, code], what)
  t.equal(post(call(1), { 'content-type': 'text/plain' }).status, 415)
  t.equal(post(call(1), { accept: 'text/html' }).status, 406)
  t.same(handler.calls, [])
})

t.test('a method that the proxy does not offer at the moment is 404, a server’s own refusal 200', async t => {
  const { handler, ask } = start()
  const absent = ask(modern(1, 'prompts/list'), {})
  handler.last.end({ kind: 'error', error: rawText('{"code":-32601,"message":"m"}') })
  t.same([absent.status, absent.json.error?.code], [200, -32601])
  const lacking = ask(call(2, { progressToken: 1 }))
  handler.last.end(ERROR)
  t.same([lacking.status, lacking.json.error?.code], [400, -32021])
})

t.test('a method that this revision lacks is 404 if the server of a bridge refuses it', async t => {
  const { handler, ask } = start()
  Object.assign(handler, { passesUnknown: true })
  const refused = ask(modern(1, 'vendor/do'))
  handler.last.end({ kind: 'error', error: rawText('{"code":-32601,"message":"m"}') })
  t.same([refused.status, refused.json.error?.code], [404, -32601])
  const failing = ask(modern(2, 'vendor/do'))
  handler.last.end({ kind: 'error', error: rawText('{"code":-32602,"message":"m"}') })
  t.same([failing.status, failing.json.error?.code], [200, -32602])
})

t.test('notifications get 202 regardless of their headers, and change nothing', async t => {
  const { handler, post, ask } = start()
  const running = ask(call(1))
  const { params } = modern(undefined, '', { requestId: 1 })
  for (const answer of [
    post({ method: 'notifications/cancelled', params }, { 'mcp-protocol-version': '2026-07-28' }),
    post({ method: 'notifications/cancelled', params }, { 'mcp-method': 'other' }),
    post(
      { method: 'notifications/cancelled', params: { requestId: 1 } },
      { 'mcp-protocol-version': '2026-07-28' },
    ),
    post({ method: 'notifications/roots/list_changed', params }),
  ])
    t.same([answer.status, answer.body], [202, ''])
  t.same(handler.cancels, [])
  t.same(handler.notices, [])
  handler.last.end(EMPTY)
  t.equal(running.status, 200)
})

t.test('who wants progress, log messages or changes gets a stream, others JSON', async t => {
  const { handler, ask } = start()
  const CASES: [ReturnType<typeof modern>, string][] = [
    [call(1), 'application/json'],
    [call(1, { progressToken: 0 }), 'text/event-stream'],
    [call(1, { [LEVEL]: 'info' }), 'text/event-stream'],
    [modern(1, 'tools/list'), 'application/json'],
    [modern(1, 'subscriptions/listen', { notifications: {} }), 'text/event-stream'],
  ]
  for (const [message, type] of CASES) {
    const answer = ask(message)
    handler.last.end(EMPTY)
    t.equal(answer.headers['content-type'], type, message.method)
  }
})

t.test('notifications come before the answer, on the request’s own stream', async t => {
  const { handler, ask } = start()
  const [one, two] = [
    ask(call(1, { progressToken: 'a' })),
    ask(call(1, { progressToken: 7, [LEVEL]: 'info' })),
  ]
  const [first, second] = handler.calls
  second?.progress(progressOf({ progressToken: 9, progress: 1 }))
  first?.progress(progressOf({ progressToken: 8, progress: 2 }))
  first?.end(EMPTY)
  second?.notify('notifications/message', textOf({ level: 'info', data: 1 }))
  second?.end(EMPTY)
  second?.progress(progressOf({ progressToken: 9, progress: 3 }))
  const heard = (answer: FakeResponder) =>
    answer.messages.map(({ method, params, id }) => [
      method ?? id,
      params?.['progressToken'],
      params?.['progress'],
    ])
  t.same(heard(one), [
    ['notifications/progress', 'a', 2],
    [1, undefined, undefined],
  ])
  t.same(heard(two), [
    ['notifications/progress', 7, 1],
    ['notifications/message', undefined, undefined],
    [1, undefined, undefined],
  ])
})

t.test('a client that takes one form only gets that one', async t => {
  const { handler, ask } = start()
  const events = ask(modern(1, 'tools/list'), { accept: 'text/event-stream' })
  handler.last.end(EMPTY)
  t.equal(events.headers['content-type'], 'text/event-stream')
  const json = ask(call(1, { progressToken: 1 }), { accept: 'application/json' })
  handler.last.progress(progressOf({ progress: 1 }))
  handler.last.end(EMPTY)
  t.equal(json.headers['content-type'], 'application/json')
  const deaf = ask(modern('L', 'subscriptions/listen'), { accept: 'application/json' })
  t.same([deaf.status, deaf.json.id], [406, 'L'])
  t.equal(handler.calls.length, 2)
})

t.test('a client that closes the stream, or gives up waiting for JSON, cancels its request', async t => {
  const { handler, ask } = start()
  const [waiting, streaming, listening] = [
    ask(call(1)),
    ask(call(1, { progressToken: 1 })),
    ask(modern('L', 'subscriptions/listen')),
  ]
  handler.calls[1]?.progress(progressOf({ progress: 1 }))
  for (const answer of [waiting, streaming, listening]) answer.goAway()
  t.same(handler.cancels, [
    'tools/call the client closed the stream',
    'tools/call the client closed the stream',
    'subscriptions/listen the client closed the stream',
  ])
  for (const one of handler.calls) one.end(EMPTY)
  t.equal(waiting.answers, 0)
  t.equal(streaming.messages.length, 1)
})

t.test('who does not read is cut off, which cancels the request', async t => {
  const { handler, ask, lines } = start()
  const answer = ask(call(1, { progressToken: 1 }))
  answer.queuedBytes = 4 * 1024 * 1024 + 1
  handler.last.progress(progressOf({ progress: 1 }))
  t.ok(answer.isDestroyed)
  t.same(handler.cancels, ['tools/call the client closed the stream'])
  t.equal(lines.filter(([level]) => level === 'warn').length, 1)
})

t.test('streams are kept alive, and answers that take long become streams', async t => {
  const { handler, ask, clock } = start()
  const [slow, listening] = [ask(modern(1, 'tools/list')), ask(modern('L', 'subscriptions/listen'))]
  handler.last.notify('notifications/subscriptions/acknowledged', textOf({ notifications: {} }))
  const before = listening.body
  clock.advance(15_000)
  t.equal(listening.body, `${before}:\n\n`)
  t.equal(slow.answers, 0)
  clock.advance(15_000)
  t.match(slow, { status: 200, isStream: true, body: ':\n\n' })
  clock.advance(24 * 3_600_000)
  t.notOk(listening.isEnded, 'a request that listens has all the time')
})

t.test('what a request that listens is told bears its id', async t => {
  const { handler, ask } = start()
  const [text, number] = [ask(modern('7', 'subscriptions/listen')), ask(modern(7, 'subscriptions/listen'))]
  for (const one of handler.calls) one.notify('notifications/tools/list_changed', undefined)
  const subscription = ({ messages: [notice] }: FakeResponder): unknown =>
    (notice?.params?.['_meta'] as Record<string, unknown> | undefined)?.[
      'io.modelcontextprotocol/subscriptionId'
    ]
  t.equal(subscription(text), '7')
  t.equal(subscription(number), 7)
})

t.test('when the proxy ends, subscriptions get a result, and new requests are refused', async t => {
  const { handler, ask, host, clock } = start()
  const [listening, waiting] = [ask(modern('L', 'subscriptions/listen')), ask(call(1))]
  host.close()
  t.match(listening.messages, [{ id: 'L', result: { resultType: 'complete' } }])
  t.equal(listening.messages.length, 1, 'over HTTP the end of the stream says the rest')
  t.ok(listening.isEnded)
  t.match(waiting.json, { id: 1, error: { code: -32603 } })
  t.equal(ask(call(2)).status, 503)
  t.equal(handler.gone.length, 1)
  t.equal(clock.pending, 0)
})

t.test('a client is forgotten a quarter of an hour after its last answer', async t => {
  const { handler, ask, clock } = start()
  ask(modern(1, 'server/discover'))
  ask(call(2))
  clock.advance(3_600_000)
  t.same(handler.gone, [])
  handler.last.end(EMPTY)
  await settled()
  clock.advance(15 * 60_000)
  t.same(handler.gone, [])
  clock.advance(2000)
  t.same(handler.gone, [handler.last.client])
})

t.test('what two principals ask the same way is not of the same client', async t => {
  const { handler, ask } = start()
  ask(call(1))
  ask(call(1), {}, '10.0.0.1')
  t.same(
    handler.calls.map(({ client }) => client.principal),
    ['local', 'anonymous 10.0.0.1'],
  )
})

import t from 'tap'
import { LegacyUplink } from '../../../../src/eras/legacy/client-side/uplink.js'
import { Deferred } from '../../../../src/kernel/async/deferred.js'
import { LOCAL } from '../../../../src/kernel/caller.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { LimitCounters } from '../../../../src/kernel/limit-counters.js'
import { silentLogger } from '../../../../src/kernel/logger.js'
import { failed, succeeded } from '../../../../src/model/outcome.js'
import { Progress } from '../../../../src/model/progress.js'
import type { Revision } from '../../../../src/model/revision.js'
import { classify } from '../../../../src/wire/classify.js'
import { whole } from '../../../../src/wire/message-parts.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { FakeHandler } from '../../../support/proxy/listeners.js'
import { FakeServerRequest } from '../../../support/server/fake-server.js'
import { boundsOf, IDENTITY, progressOf, shown, withoutErrorIds } from '../../../support/values.js'
import { type Heard, rpc } from '../../../support/wire/channel-pair.js'

const INFO = { name: 'c', version: '1' }
const hello = (protocolVersion = '2025-11-25', capabilities: object = {}) => ({
  id: 'hello',
  method: 'initialize',
  params: { protocolVersion, capabilities, clientInfo: INFO },
})
const READY = { method: 'notifications/initialized' }

/** A client that writes every frame of its one stream into `heard`, related ones with a mark. */
const start = (bounds?: LimitCounters) => {
  const handler = new FakeHandler()
  const heard: string[] = []
  let asked = 0
  const undeliverable: (() => void)[] = []
  const clock = new FakeClock()
  const uplink = new LegacyUplink(
    LOCAL,
    {
      queuedBytes: 0,
      notify: frame => heard.push(`ambient ${frame.toString()}`),
      request: (frame, then) => {
        heard.push(`ambient ${frame.toString()}`)
        undeliverable.push(then)
      },
      nextRequestId: () => {
        asked += 1
        return asked
      },
    },
    { handler, identity: IDENTITY, log: silentLogger, clock, bounds },
  )
  const say = (message: object | string, canAsk = true) => {
    const classified = classify(Buffer.from(typeof message === 'string' ? message : rpc(message)))
    if (classified.is !== 'message') throw new Error('the test sent no message')
    let ends = 0
    uplink.receive(classified.message, {
      canAsk,
      send: frame => heard.push(`related ${frame.toString()}`),
      end: frame => {
        ends += 1
        if (ends > 1) heard.push('ENDED TWICE')
        heard.push(frame === undefined ? 'nothing' : whole(frame).toString())
      },
    })
  }
  const take = () =>
    heard
      .splice(0)
      .filter(line => line !== 'nothing')
      .map(withoutErrorIds)
  const open = async (version?: string, capabilities?: object) => {
    say(hello(version, capabilities))
    await settled()
    say(READY)
    heard.length = 0
  }
  return { uplink, handler, heard, undeliverable, say, take, open, clock }
}

const parsed = (line: string | undefined): Heard => JSON.parse(line ?? '{}') as Heard

t.test('of a long introduction no more stays in memory than what the client is called', async t => {
  const { say, uplink } = start()
  const { params, ...rest } = hello()
  say({ ...rest, params: { ...params, padding: 'x'.repeat(100_000) } })
  await settled()
  t.same(JSON.parse(uplink.info.toString()), INFO)
  t.equal(uplink.info.buffer.byteLength, JSON.stringify(INFO).length)
})

t.test('each revision is agreed to, everything else gets the newest as counter-offer', async t => {
  const rows = [
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['2024-10-07', '2025-11-25'],
    ['2025-06-19', '2025-11-25'],
    ['DRAFT-2025-v2', '2025-11-25'],
    ['9999-99-99', '2025-11-25'],
    ['', '2025-11-25'],
  ] as const
  for (const [asked, agreed] of rows) {
    const { say, take, uplink } = start()
    say(hello(asked))
    await settled()
    const { id, result } = parsed(take()[0])
    t.equal(id, 'hello')
    t.equal(result?.['protocolVersion'], agreed, asked)
    t.equal(uplink.revision, agreed)
    const completions = agreed === '2024-11-05' ? {} : { completions: {} }
    t.same(result?.['capabilities'], {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      ...completions,
    })
    const title = agreed < '2025-06-18' ? {} : { title: 'The proxy' }
    t.same(result?.['serverInfo'], { name: 'proxy', version: '1', ...title })
    t.equal(result?.['instructions'], 'be nice')
  }
})

t.test(
  'initialize without one of its members, or with a mistyped one, is refused and may be tried again',
  async t => {
    const good = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: INFO }
    const rows: (object | undefined)[] = [
      undefined,
      {},
      { ...good, protocolVersion: undefined },
      { ...good, protocolVersion: 20250618 },
      { ...good, protocolVersion: null },
      { ...good, capabilities: undefined },
      { ...good, capabilities: [] },
      { ...good, capabilities: 'all' },
      { ...good, clientInfo: undefined },
      { ...good, clientInfo: 'me' },
      { ...good, clientInfo: { name: 'c' } },
      { ...good, clientInfo: { version: '1' } },
      { ...good, clientInfo: { name: 1, version: '1' } },
      { ...good, clientInfo: { name: 'c', version: 1 } },
    ]
    for (const params of rows) {
      const { say, take, uplink, handler } = start()
      say({ id: 1, method: 'initialize', params })
      const { error } = parsed(take()[0])
      t.equal(error?.code, -32602, JSON.stringify(params))
      t.equal(handler.clients.length, 0)
      t.notOk(uplink.isKnown)
      say({ id: 1, method: 'initialize', params: { ...good, extra: 1 } })
      await settled()
      t.ok(parsed(take()[0]).result)
    }
  },
)

t.test('a protocolVersion that is not a string is refused with the supported versions', async t => {
  const { say, take } = start()
  say({ id: 1, method: 'initialize', params: { protocolVersion: 1, capabilities: {}, clientInfo: INFO } })
  t.same(parsed(take()[0]).error?.data, {
    supported: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
  })
})

t.test('capabilities count from the revision on that defines them', async t => {
  const all = {
    roots: { listChanged: true },
    sampling: { tools: {}, context: {} },
    elicitation: { url: {} },
    experimental: { x: {} },
  }
  const of = async (version: string, capabilities: object) => {
    const { open, uplink } = start()
    await open(version, capabilities)
    const { declared, ...decoded } = uplink.capabilities
    t.equal(declared?.experimental?.toString(), 'experimental' in capabilities ? '{"x":{}}' : undefined)
    return decoded
  }
  const roots = { listChanged: true }
  t.same(await of('2025-11-25', all), {
    roots,
    sampling: { tools: true, context: true },
    elicitation: { form: false, url: true },
  })
  const sampling = { tools: false, context: true }
  t.same(await of('2025-06-18', all), { roots, sampling, elicitation: { form: true, url: false } })
  t.same(await of('2025-03-26', all), { roots, sampling, elicitation: undefined })
  t.same(await of('2025-11-25', { elicitation: {} }), {
    roots: undefined,
    sampling: undefined,
    elicitation: { form: true, url: false },
  })
  t.same(await of('2025-11-25', { roots: true, sampling: false, elicitation: 1 }), {
    roots: { listChanged: false },
    sampling: undefined,
    elicitation: undefined,
  })
})

t.test('before initialize: ping is answered, requests are refused, the rest is silence', async t => {
  const { say, take, handler } = start()
  say({ id: '', method: 'ping', params: { _meta: {} } })
  say({ id: 0, method: 'tools/list' })
  say(READY)
  say({ method: 'notifications/cancelled', params: { requestId: 0 } })
  say({ method: 'notifications/roots/list_changed' })
  say({ id: 1, result: {} })
  say({ error: { code: 1, message: 'm' } })
  t.same(take(), [
    '{"jsonrpc":"2.0","id":"","result":{}}',
    '{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Not initialized"}}',
  ])
  t.same(handler.notices, [])
  t.same(handler.calls, [])
})

t.test(
  'a client that writes initialize, initialized and tools/list at once gets both answers in order',
  async t => {
    const { say, take, handler } = start()
    handler.onCall = call => call.end(succeeded(rawText('{"tools":[]}')))
    say(hello())
    say(READY)
    say({ id: 2, method: 'ping' })
    say({ id: 3, method: 'tools/list' })
    t.same(take(), [])
    await settled()
    t.same(
      take().map(line => parsed(line).id),
      ['hello', 2, 3],
    )
  },
)

t.test('no more than a thousand messages wait for the answer to initialize', async t => {
  const { say, take, handler } = start()
  handler.gate = new Deferred()
  say(hello())
  for (let id = 1; id <= 1001; id += 1) say({ id, method: 'ping' })
  const refused = take().map(parsed)
  t.ok(refused.length >= 1 && refused.length <= 2)
  t.equal(refused[0]?.error?.code, -32603)
  t.equal(refused[0]?.error?.data?.['reason'], 'overloaded')
  handler.gate.resolve()
  await settled()
  t.equal(take().length + refused.length, 1002)
})

t.test('a second initialize is refused and changes nothing', async t => {
  const { say, take, open, uplink, handler } = start()
  await open('2025-03-26')
  say(hello('2025-11-25'))
  t.equal(parsed(take()[0]).error?.code, -32600)
  t.equal(uplink.revision, '2025-03-26')
  t.equal(handler.clients.length, 1)
})

t.test('requests are served before notifications/initialized, and forwarded as they came', async t => {
  const { say, take, handler } = start()
  say(hello())
  await settled()
  take()
  say('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x", "n":12345678901234567890}}')
  t.equal(handler.last.params?.toString(), '{"name":"x", "n":12345678901234567890}')
  handler.last.end(succeeded(rawText('{"content":[],"big":1e400}')))
  handler.last.end(failed(new Fault('internal', 'again')))
  t.same(take(), ['{"jsonrpc":"2.0","id":1,"result":{"content":[],"big":1e400}}'])
})

t.test(
  'errors of modern servers are translated for the session, errors of older ones pass unchanged',
  async t => {
    const { say, take, open, handler } = start()
    await open()
    const lacking = rawText('{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}')
    const gone = rawText('{"code":-32602,"message":"m","data":{"uri":"x:1"}}')
    const codeOf = (method: string, error: typeof gone, revision?: Revision) => {
      say({ id: 1, method, params: { uri: 'x:1' } })
      handler.last.end({ kind: 'error', error, revision, server: 'b' })
      return parsed(take()[0]).error
    }
    t.equal(codeOf('resources/read', gone, '2026-07-28')?.code, -32002)
    t.equal(codeOf('tools/call', gone, '2026-07-28')?.code, -32602)
    for (const revision of ['2025-11-25', undefined] as const)
      t.equal(codeOf('resources/read', gone, revision)?.code, -32602)
    t.match(codeOf('tools/call', lacking, '2026-07-28'), {
      code: -32603,
      message: 'Server b requires client capability roots',
    })
  },
)

t.test('an id comes back as it was written, and is taken again only after its answer', async t => {
  const { say, take, open, handler } = start()
  await open()
  for (const id of ['0', '""', '"1"', '1', '-7', '12345678901234567890', '1.0e1']) {
    say(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)
    say(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`)
    const duplicate = take()
    t.match(duplicate, [`{"jsonrpc":"2.0","id":${id},"error":{"code":-32600`])
    handler.last.end(succeeded(rawText('{}')))
    t.same(take(), [`{"jsonrpc":"2.0","id":${id},"result":{}}`])
  }
  say('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
  t.same(take(), [], 'the id of an answered request may be used again')
  say('{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}')
  t.match(take(), [/"id":1.0,"error"/], 'another spelling of the same id is the same id')
})

t.test('a proxy fault is an error that shows whether a retry may help', async t => {
  const { say, take, open, handler } = start()
  await open()
  const rows = [
    ['timeout', -32603, { server: 's', reason: 'timeout' }],
    ['session-lost', -32603, { server: 's', reason: 'disconnected' }],
    ['unknown-resource', -32002, { server: 's' }],
    ['unknown-method', -32601, { server: 's' }],
    ['invalid-params', -32602, { server: 's' }],
  ] as const
  for (const [code, number, data] of rows) {
    say({ id: 1, method: 'resources/read' })
    handler.last.end(failed(new Fault(code, 'words', { data: { server: 's' }, cause: new Error('secret') })))
    const [line] = take()
    t.same(parsed(line).error, { code: number, message: 'words', data })
  }
})

t.test('a cancelled request gets no answer, and the mux is told once with the reason', async t => {
  const { say, take, heard, open, handler } = start()
  await open()
  const cancel = (params: object | undefined) => say({ method: 'notifications/cancelled', params })
  say({ id: 'k', method: 'tools/call', params: { name: 'x', _meta: { progressToken: 1 } } })
  for (const params of [undefined, {}, { requestId: null }, { requestId: {} }, { requestId: 'other' }])
    cancel(params)
  t.same(handler.cancels, [])
  cancel({ requestId: 'k', reason: 'user' })
  cancel({ requestId: 'k', reason: 'user' })
  t.same(handler.cancels, ['tools/call user'])
  t.equal(heard.filter(line => line === 'nothing').length, 8, 'seven notifications and the request')
  const call = handler.last
  call.progress(progressOf({ progress: 1 }))
  call.notify('notifications/message', textOf({}))
  call.end(succeeded(rawText('{}')))
  t.same(take(), [])
  say({ id: 'k', method: 'tools/call' })
  t.equal(handler.calls.length, 2, 'its id may be used again')
  handler.last.end(succeeded(rawText('{}')))
  cancel({ requestId: 'k' })
  t.equal(handler.cancels.length, 1, 'too late')
})

t.test('progress carries the token of the client with its type, and ends with the answer', async t => {
  for (const token of ['0', '""', '"1"', '1', '12345678901234567890', '-3']) {
    const { say, take, open, handler } = start()
    await open()
    say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":${token}}}}`)
    const call = handler.last
    t.ok(call.wantsProgress)
    call.progress(new Progress(rawText('{"progressToken":77,"progress":0.30000000000000004,"message":"m"}')))
    call.end(succeeded(rawText('{}')))
    call.progress(new Progress(rawText('{"progressToken":77,"progress":2}')))
    t.same(take(), [
      `related {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":0.30000000000000004,"message":"m"}}`,
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ])
  }
})

t.test('a token that is alone in its _meta goes no further, and leaves nothing behind', async t => {
  const { say, open, handler } = start()
  await open()
  const call = (params: string) => {
    say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
    const { named, params: left, wantsProgress } = handler.last
    handler.last.end(succeeded(rawText('{}')))
    return [named, left?.toString(), wantsProgress]
  }
  const named = '"name":"a","arguments":{"_meta":{"progressToken":7}}'
  t.same(call(`{${named},"_meta":{"progressToken":7}}`), ['a', `{${named}}`, true])
  t.same(call(`{"_meta":{"progressToken":0},${named}}`), ['a', `{${named}}`, true])
  for (const meta of [
    '{"progressToken":7,"x":1}',
    '{"x":1,"progressToken":7}',
    '{"progressToken":"7"}',
    '{"progressToken":7 }',
    '{"progressToken":-7}',
  ]) {
    const params = `{${named},"_meta":${meta}}`
    t.same(call(params), [undefined, params, true], 'said in any other way, it goes as it came')
  }
  const other = `{"uri":"a","_meta":{"progressToken":7}}`
  t.same(call(other), [undefined, other, true], 'where more than a name may stand, too')
})

t.test('a token of another kind, or none, asks for no progress', async t => {
  const { say, take, open, handler } = start()
  await open()
  for (const params of ['{}', '{"_meta":{}}', ...['1.5', 'null', '{}', 'true'].map(tokenParams)]) {
    say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
    t.notOk(handler.last.wantsProgress, params)
    handler.last.progress(progressOf({ progress: 1 }))
    handler.last.end(succeeded(rawText('{}')))
    t.equal(take().length, 1)
  }
})

const tokenParams = (token: string): string => `{"_meta":{"progressToken":${token}}}`

t.test('questions wait until the client has said that it is ready', async t => {
  const { say, take, uplink } = start()
  say(hello())
  await settled()
  take()
  const [first, second] = [
    new FakeServerRequest('roots/list'),
    new FakeServerRequest('elicitation/create', { message: '?' }),
  ]
  const withdrawn = new FakeServerRequest('sampling/createMessage')
  for (const ask of [first, withdrawn, second]) uplink.ask(ask, undefined)
  withdrawn.onWithdrawn?.('changed its mind')
  t.same(take(), [])
  say(READY)
  t.same(take(), [
    'ambient {"jsonrpc":"2.0","id":1,"method":"roots/list"}',
    'ambient {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"?"}}',
  ])
  say({ id: 1, result: { roots: [] } })
  say({ id: 2, error: { code: -1, message: 'no', data: { n: 1 } } })
  say({ id: 2, result: {} })
  t.same(first.outcomes.map(shown), ['result {"roots":[]}'])
  t.same(second.outcomes.map(shown), ['error {"code":-1,"message":"no","data":{"n":1}}'])
  t.same(withdrawn.outcomes, [])
})

t.test('a client that never reports to be ready is asked once it makes a request, or in 10 s', async t => {
  for (const makesRequest of [true, false]) {
    const { say, take, uplink, clock } = start()
    say(hello())
    await settled()
    uplink.ask(new FakeServerRequest('roots/list'), undefined)
    take()
    clock.advance(9000)
    say({ id: 2, method: 'ping' })
    t.match(take(), [/"id":2/])
    if (makesRequest) say({ id: 3, method: 'tools/list' })
    else clock.advance(1000)
    t.same(take(), ['ambient {"jsonrpc":"2.0","id":1,"method":"roots/list"}'])
  }
})

t.test('an answer counts only under the very id of an open question, and must be an object', async t => {
  const { say, uplink, open } = start()
  await open()
  const ask = new FakeServerRequest()
  uplink.ask(ask, undefined)
  for (const id of ['"1"', '2', '1.5', '0']) {
    try {
      say(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
    } catch {
      // 1.5 is not a valid id.
    }
  }
  say('{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}')
  t.same(ask.outcomes, [])
  say({ id: 1, result: [] })
  t.same(ask.outcomes.map(shown), ['internal: The client answered with something other than an object'])
})

t.test('a question of a call travels on the stream of the call, and is withdrawn there', async t => {
  const { say, take, uplink, open, handler } = start()
  await open()
  say({ id: 1, method: 'tools/call' })
  const ask = new FakeServerRequest(
    'sampling/createMessage',
    { _meta: { progressToken: 'theirs', x: 1 } },
    { wantsProgress: true },
  )
  uplink.ask(ask, handler.last)
  t.same(take(), [
    'related {"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":1,"x":1}}}',
  ])
  say({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  say({ method: 'notifications/progress', params: { progressToken: '1', progress: 2 } })
  say({ method: 'notifications/progress' })
  t.same(ask.progresses, [{ progressToken: 1, progress: 1 }])
  ask.onWithdrawn?.('over')
  ask.onWithdrawn?.('over')
  t.same(take(), [
    'related {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"over"}}',
  ])
  say({ id: 1, result: {} })
  t.same(ask.outcomes, [], 'a late answer is nobody’s')
})

t.test('a question whose call is over, or whose stream takes none, goes the ambient way', async t => {
  const { say, take, uplink, open, handler, undeliverable } = start()
  await open()
  say({ id: 1, method: 'tools/call' })
  const over = handler.last
  over.end(succeeded(rawText('{}')))
  say({ id: 2, method: 'tools/call' }, false)
  take()
  const [late, narrow] = [new FakeServerRequest(), new FakeServerRequest()]
  uplink.ask(late, over)
  uplink.ask(narrow, handler.last)
  t.match(take(), [/^ambient .*"id":1/, /^ambient .*"id":2/])
  for (const then of undeliverable) then()
  for (const then of undeliverable) then()
  const words = 'unavailable: The client has no open stream for server requests'
  t.same([...late.outcomes, ...narrow.outcomes].map(shown), [words, words])
})

t.test('a client owes at most 64 answers; the next question fails at once', async t => {
  const { uplink, open } = start()
  await open()
  const asks = Array.from({ length: 65 }, () => new FakeServerRequest())
  for (const ask of asks) uplink.ask(ask, undefined)
  t.equal(asks.filter(ask => ask.outcomes.length > 0).length, 1)
  t.match(shown(asks[64]?.outcomes[0]), /^overloaded/)
})

t.test('the end of a session answers questions, cancels calls and is told, each exactly once', async t => {
  const { say, take, uplink, open, handler } = start()
  await open()
  say({ id: 1, method: 'tools/call' })
  say({ id: 2, method: 'prompts/get' })
  const [asked, held] = [new FakeServerRequest(), new FakeServerRequest()]
  uplink.ask(asked, handler.last)
  take()
  uplink.close('hung up')
  uplink.close('hung up')
  uplink.ask(held, undefined)
  t.same(handler.cancels, ['tools/call hung up', 'prompts/get hung up'])
  t.same([...asked.outcomes, ...held.outcomes].map(shown), [
    'disconnected: The client is gone',
    'disconnected: The client is gone',
  ])
  t.same(handler.gone, [uplink])
  t.same(
    take().map(line => [parsed(line).id, parsed(line).error?.code, parsed(line).error?.message]),
    [
      [1, -32603, 'The session is over: hung up'],
      [2, -32603, 'The session is over: hung up'],
    ],
    'whoever still listens is not left waiting',
  )
  for (const call of handler.calls) call.end(succeeded(rawText('{}')))
  uplink.notify('notifications/x', undefined)
  t.same(take(), [])
})

t.test('a session that ends before it was greeted answers initialize and what waits behind it', async t => {
  const { say, take, uplink, handler } = start()
  handler.gate = new Deferred()
  say(hello())
  say(READY)
  say({ id: 2, method: 'tools/list' })
  uplink.close('shutting down')
  t.same(
    take().map(line => [parsed(line).id, parsed(line).error?.code]),
    [
      ['hello', -32603],
      [2, -32603],
    ],
  )
  handler.gate.resolve()
  await settled()
  t.same(take(), [])
  t.same(handler.gone, [uplink])
})

t.test('a client that never introduced itself leaves without a word to the mux', async t => {
  const { uplink, handler } = start()
  uplink.close('hung up')
  t.same(handler.gone, [])
})

t.test('notices of the client reach the mux, ours reach the client, from the greeting on', async t => {
  const { say, take, uplink, handler } = start()
  uplink.notify('notifications/tools/list_changed', undefined)
  say(hello())
  await settled()
  t.equal(take().length, 1)
  uplink.notify('notifications/tools/list_changed', undefined)
  t.same(take(), ['ambient {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'])
  say({ method: 'notifications/roots/list_changed' })
  say({ method: 'notifications/anything' })
  t.same(handler.notices, ['notifications/roots/list_changed', 'notifications/anything'])
  t.same(take(), [], 'notifications are never answered')
  say({ id: 5, method: 'notifications/initialized' })
  t.equal(handler.last.method, 'notifications/initialized', 'with an id it is a request like any other')
})

t.test('a client has at most the allowed number of requests in flight', async t => {
  const { open, say, take, handler, uplink } = start()
  await open()
  take()
  for (let id = 0; id < 1024; id += 1) say({ id, method: 'tools/call' })
  t.equal(handler.calls.length, 1024)
  say({ id: 'one more', method: 'tools/call' })
  const refused = take().map(line => JSON.parse(line))
  t.match(refused, [{ id: 'one more', error: { code: -32603, data: { reason: 'overloaded' } } }])
  handler.calls[0]?.end(succeeded(rawText('{}')))
  say({ id: 'one more', method: 'tools/call' })
  t.equal(handler.calls.length, 1025)
  uplink.close('done')
})

t.test(
  'the listeners of a cancelled call hear of it once, the latest first, unless they were released',
  async t => {
    const { uplink, handler, say, open } = start()
    await open()
    const heard: unknown[] = []
    for (const id of [1, 2, 3]) {
      say({ id, method: 'tools/call', params: { name: 'x' } })
      const call = handler.calls.at(-1)
      call?.onCancelled(reason => heard.push([id, 'first', reason]))
      const release = call?.onCancelled(() => heard.push([id, 'released']))
      call?.onCancelled(reason => heard.push([id, 'last', reason]))
      release?.()
    }
    handler.calls[0]?.end(succeeded(textOf({})))
    say({ method: 'notifications/cancelled', params: { requestId: 2, reason: 'user' } })
    handler.calls[1]?.end(succeeded(textOf({})))
    uplink.close('it is over')
    t.same(heard, [
      [2, 'last', 'user'],
      [2, 'first', 'user'],
      [3, 'last', 'it is over'],
      [3, 'first', 'it is over'],
    ])
  },
)

t.test('messages kept before the answer to initialize are counted', async t => {
  const bounds = boundsOf({ inbound: 100_000 })
  const { uplink, handler, say, take } = start(bounds)
  handler.gate = new Deferred()
  say(hello())
  const long = (id: number) => ({ id, method: 'tools/call', params: { text: 'x'.repeat(30_000) } })
  say(long(1))
  t.ok(bounds.inbound.bytes > 30_000)
  say(long(2))
  t.match(take().map(parsed), [{ id: 2, error: { message: /^Too much before the answer to initialize/ } }])
  handler.gate.resolve()
  await settled()
  t.equal(handler.calls.length, 1)
  t.equal(bounds.inbound.bytes, 0)
  uplink.close('over')
})

t.test('questions that wait for an answer are counted by what they say', async t => {
  const bounds = boundsOf({ unread: 100_000 })
  const { uplink, say, open, undeliverable } = start(bounds)
  await open('2025-11-25', { elicitation: {} })
  const question = () => {
    const ask = new FakeServerRequest('elicitation/create', { message: 'x'.repeat(30_000) })
    uplink.ask(ask, undefined)
    return ask
  }
  const first = question()
  t.ok(bounds.unread.bytes > 30_000)
  t.match(shown(question().outcomes[0]), /^overloaded/)
  say({ id: 1, result: { action: 'accept' } })
  t.equal(bounds.unread.bytes, 0)
  t.equal(first.outcomes.length, 1)
  question().onWithdrawn?.(undefined)
  t.equal(bounds.unread.bytes, 0)
  question()
  undeliverable.at(-1)?.()
  t.equal(bounds.unread.bytes, 0)
  question()
  uplink.close('over')
  t.equal(bounds.unread.bytes, 0)
})

t.test('a client with oversized information about itself is refused', async t => {
  const { say, take } = start()
  const clientInfo = { name: 'c', version: '1', icons: [{ src: `data:,${'x'.repeat(70_000)}` }] }
  say({ ...hello(), params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } })
  t.match(take().map(parsed), [
    { error: { code: -32602, message: /clientInfo must not be longer than 65536 bytes/ } },
  ])
})

import t from 'tap'
import { openLegacyPipe } from '../../../../src/eras/legacy/server-side/open.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { DownstreamCall, ServerRequest } from '../../../../src/model/links.js'
import { failed, type Outcome, succeeded } from '../../../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import type { Progress } from '../../../../src/model/progress.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { shown } from '../../../support/values.js'
import { FarEnd, type Heard, recordedLog } from '../../../support/wire/channel-pair.js'

const start = () => {
  const server = new FarEnd()
  const clock = new FakeClock()
  const stop = new AbortController()
  const asks: ServerRequest[] = []
  const heard: string[] = []
  const { log, lines } = recordedLog()
  const open = (capabilities = NO_CAPABILITIES) =>
    openLegacyPipe(server.channel, {
      server: 'files',
      capabilities,
      clientInfo: rawText('{"name":"proxy","version":"1"}'),
      offer: '2025-11-25',
      listener: {
        requested: ask => asks.push(ask),
        notified: (method, params, about) =>
          heard.push(`noticed ${method} ${params?.toString()}${about === undefined ? '' : ' about'}`),
        closed: fault => heard.push(`closed ${fault.code}`),
      },
      timeoutMs: 60_000,
      pingMs: Number.POSITIVE_INFINITY,
      signal: stop.signal,
      clock,
      log,
    })
  return { server, clock, stop, asks, heard, lines, open }
}

const agreed = (protocolVersion: string, more: object = {}) => ({
  protocolVersion,
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 's', version: '1' },
  ...more,
})

/** A connection to a server of `version`, past its handshake. */
const connected = async (version = '2025-06-18') => {
  const all = start()
  all.server.onMessage = ({ id, method }) => {
    if (method === 'initialize') all.server.say({ id, result: agreed(version) })
  }
  const link = await all.open()
  all.server.onMessage = undefined
  all.server.take()
  const call = (method: string, params?: object | string, wantsProgress = false) => {
    const ends: string[] = []
    const text = typeof params === 'string' ? rawText(params) : params && textOf(params)
    const down: DownstreamCall = link.call(
      { method, params: text, wantsProgress },
      {
        progress: progress => ends.push(progress.params.toString()),
        ended: outcome => ends.push(shown(outcome)),
      },
    )
    return { down, ends }
  }
  return { ...all, link, call }
}

const fault = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt
    return 'no fault'
  } catch (thrown) {
    return thrown instanceof Fault ? `${thrown.code}: ${thrown.message}` : String(thrown)
  }
}

// ── a server that is another one than it was ──

t.test(
  'a server that speaks only newer revisions now ends the connection; what it refused was not run',
  async t => {
    const { server, call, heard } = await connected()
    const [refused, other] = [call('tools/call', { name: 'x' }), call('tools/call', { name: 'y' })]
    const error = {
      code: -32022,
      message: 'no',
      data: { supported: ['2026-07-28'], requested: '2025-06-18' },
    }
    server.say({ id: 2, error })
    await settled()
    t.ok(server.isClosed)
    t.same(heard, ['closed disconnected'])
    t.match([refused?.ends, other?.ends], [[/^session-lost/], [/^disconnected/]])
    for (const data of [undefined, { supported: ['2025-11-25'] }, { supported: 'x' }]) {
      const older = await connected()
      const { ends } = older.call('tools/call', { name: 'x' })
      older.server.say({ id: 2, error: { ...error, data } })
      await settled()
      t.match(ends, [/^error \{"code":-32022/], 'a code that an older server may use for anything')
      t.notOk(older.server.isClosed)
    }
  },
)

// ── handshake ──

t.test(
  'the newest revision is offered, any published one is taken, and initialized comes before all else',
  async t => {
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const) {
      const { server, open } = start()
      const opening = open({
        roots: { listChanged: true },
        sampling: { tools: true, context: false },
        elicitation: { form: true, url: false },
      })
      t.same(server.take(), [
        {
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-11-25',
            capabilities: {
              roots: { listChanged: true },
              sampling: { tools: {} },
              elicitation: { form: {} },
            },
            clientInfo: { name: 'proxy', version: '1' },
          },
        },
      ])
      server.say({ id: 1, result: agreed(version, { instructions: 'read me' }) })
      const link = await opening
      t.equal(link.facts.revision, version)
      t.equal(link.facts.instructions, 'read me')
      t.same(link.facts.capabilities.tools, { listChanged: true })
      link.notify('notifications/roots/list_changed', undefined)
      t.same(server.lines, [
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
      ])
    }
  },
)

t.test(
  'a server that refuses and lists its revisions is asked once more with the newest that we know',
  async t => {
    const { server, open } = start()
    const refusal = {
      code: -32602,
      message: 'Unsupported',
      data: { supported: ['1999-01-01', '2024-11-05', '2025-03-26'] },
    }
    server.onMessage = ({ id, method, params }) => {
      if (method !== 'initialize') return
      if (params?.['protocolVersion'] === '2025-11-25') server.say({ id, error: refusal })
      else server.say({ id, result: agreed('2025-03-26') })
    }
    t.equal((await open()).facts.revision, '2025-03-26')
    t.same(
      server.take().map(({ params }) => params?.['protocolVersion']),
      ['2025-11-25', '2025-03-26', undefined],
    )
  },
)

t.test('a server with which nothing can be agreed is refused, and its channel is closed', async t => {
  const supported = { code: -32602, message: 'Unsupported', data: { supported: ['2024-11-05'] } }
  const rows: [object, RegExp][] = [
    [{ result: agreed('2023-01-01') }, /^unavailable: .*2023-01-01/],
    [{ result: agreed('2026-07-28') }, /^unavailable: .*2026-07-28/],
    [{ result: agreed('2025-06-18', { protocolVersion: undefined }) }, /^unavailable: .*no protocol version/],
    [{ result: null }, /^unavailable: .*no protocol version/],
    [{ error: { code: -32603, message: 'database is down' } }, /^unavailable: .*database is down/],
    [{ error: { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } } }, /^unavailable/],
    [{ error: supported }, /^unavailable/],
    [{ error: {} }, /^unavailable: .*no reason given/],
  ]
  for (const [answer, words] of rows) {
    const { server, open } = start()
    server.onMessage = ({ id, method }) => method === 'initialize' && server.say({ id, ...answer })
    t.match(await fault(open()), words)
    t.ok(server.isClosed)
    t.ok(server.take().length <= 2, 'one more try at most')
  }
})

t.test('missing capabilities and identity are accepted', async t => {
  const { server, open } = start()
  server.onMessage = ({ id }) => id === 1 && server.say({ id, result: { protocolVersion: '2024-11-05' } })
  const { facts } = await open()
  t.equal(facts.info.toString(), '{}')
  t.equal(facts.capabilities.tools, undefined)
})

t.test('a server that does not answer initialize times out, without a cancellation', async t => {
  const { server, clock, open } = start()
  const opening = fault(open())
  clock.advance(59_999)
  await settled()
  t.notOk(server.isClosed)
  clock.advance(1)
  t.equal(await opening, 'timeout: No answer to initialize within 60 s')
  t.ok(server.isClosed)
  t.equal(server.take().length, 1)
  t.equal(clock.pending, 0)
})

t.test('an attempt that is called off ends at once, also when that was before it began', async t => {
  const during = start()
  const opening = fault(during.open())
  during.stop.abort()
  t.match(await opening, /^cancelled/)
  t.ok(during.server.isClosed)
  const before = start()
  before.stop.abort()
  t.match(await fault(before.open()), /^cancelled/)
  t.same(before.server.take(), [])
  t.equal(before.clock.pending, 0)
})

t.test('a server that dies in the handshake fails it with its own fault', async t => {
  const { server, open } = start()
  const opening = fault(open())
  server.channel.break(new Fault('disconnected', 'it exited with code 1'))
  t.equal(await opening, 'disconnected: it exited with code 1')
})

t.test('a server that dies right after its answer is not handed on as connected', async t => {
  const { server, open } = start()
  const opening = fault(open())
  server.say({ id: 1, result: agreed('2025-06-18') })
  server.hangUp()
  t.match(await opening, /^disconnected/)
})

t.test('a server may ping and ask before it answers initialize', async t => {
  const { server, asks, open } = start()
  const opening = open()
  server.say({ id: 'p', method: 'ping' })
  server.say({ id: 'r', method: 'roots/list' })
  t.same(server.take().slice(1), [{ jsonrpc: '2.0', id: 'p', result: {} }])
  t.equal(asks.length, 1)
  server.say({ id: 1, result: agreed('2025-06-18') })
  t.ok(await opening)
})

// ── calls ──

t.test('a call carries our id and our token, and everything else as it came', async t => {
  const { server, call } = await connected()
  call(
    'tools/call',
    '{"name":"x","arguments":{"n":12345678901234567890},"_meta":{"progressToken":"theirs","k":1.0}}',
    true,
  )
  call('tools/call', '{"name":"y","_meta":{"progressToken":"theirs"}}')
  call('tools/list', undefined, true)
  t.same(server.lines, [
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":{"n":12345678901234567890},"_meta":{"progressToken":2,"k":1.0}}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"y","_meta":{}}}',
    '{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"progressToken":4}}}',
  ])
})

t.test('params that hold a name alone get our token, or stay as they are', async t => {
  const { server, link } = await connected()
  const sink = { progress: () => undefined, ended: () => undefined }
  const params = rawText('{"name":"x","arguments":{}}')
  link.call({ method: 'tools/call', params, isBare: true, wantsProgress: true }, sink)
  link.call({ method: 'tools/call', params, isBare: true, wantsProgress: false }, sink)
  link.call({ method: 'tools/call', params, isBare: true, wantsProgress: true, taskTtlMs: 5 }, sink)
  t.same(
    server.take().map(({ params: sent }) => sent),
    [
      { name: 'x', arguments: {}, _meta: { progressToken: 2 } },
      { name: 'x', arguments: {} },
      { name: 'x', arguments: {}, task: { ttl: 5 }, _meta: { progressToken: 4 } },
    ],
  )
})

t.test('what an older server does not know is not sent to it', async t => {
  const { server, call } = await connected('2025-03-26')
  call('completion/complete', { ref: {}, argument: {}, context: {} })
  t.same(server.take()[0]?.params, { ref: {}, argument: {} })
})

t.test('a task is asked for where one is wanted, and told from a result whether it was or not', async t => {
  const { link, server } = await connected('2025-11-25')
  const outcomes: Outcome[] = []
  const sink = { progress: () => undefined, ended: (outcome: Outcome) => outcomes.push(outcome) }
  const params = textOf({ name: 'x', task: { ttl: 1 } })
  link.call({ method: 'tools/call', params, wantsProgress: false }, sink)
  link.call({ method: 'tools/call', params, wantsProgress: false, taskTtlMs: 600_000 }, sink)
  const [plain, task] = server.take()
  t.same(plain?.params, { name: 'x' }, 'nobody was told that tasks can be had')
  t.same(task?.params, { name: 'x', task: { ttl: 600_000 } })
  const created = { task: { taskId: 't1', status: 'working' } }
  for (const request of [plain, task]) server.say({ id: request?.id, result: created })
  link.call({ method: 'tools/call', params, wantsProgress: false }, sink)
  const result = { content: [], task: 'a member of that name' }
  server.say({ id: server.take()[0]?.id, result })
  link.call({ method: 'prompts/get', params, wantsProgress: false }, sink)
  server.say({ id: server.take()[0]?.id, result: created })
  await settled()
  t.same(
    outcomes.map(({ kind }) => kind),
    ['task', 'task', 'result', 'result'],
  )
})

t.test('a task that the client requests is requested as it wrote it, and its progress names it', async t => {
  const { link, server, heard } = await connected('2025-11-25')
  const sink = { progress: () => heard.push('progress'), ended: ({ kind }: Outcome) => heard.push(kind) }
  const params = textOf({ name: 'x', task: { ttl: 9 } })
  link.call({ method: 'tools/call', params, wantsProgress: true, task: rawText('{ "ttl":1.0 }') }, sink)
  t.match(server.lines.at(-1), '"task":{ "ttl":1.0 }')
  const [request] = server.take()
  server.say({ id: request?.id, result: { task: { taskId: 't1', status: 'working' } } })
  const said = { progressToken: request?.id, progress: 1 }
  const named = { ...said, _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } } }
  for (const progress of [said, named]) server.say({ method: 'notifications/progress', params: progress })
  await settled()
  t.same(heard, ['task', `noticed notifications/progress ${JSON.stringify(named)}`])
})

t.test('progress of a task arrives under the token of its call, until no client listens', async t => {
  const { link, server } = await connected('2025-11-25')
  const said: string[] = []
  const sink = {
    progress: ({ params }: Progress) => said.push(params.toString()),
    ended: (outcome: Outcome) => said.push(outcome.kind),
  }
  const call = link.call({ method: 'tools/call', params: undefined, wantsProgress: true }, sink)
  const [request] = server.take()
  const progress = (value: number): void =>
    server.say({ method: 'notifications/progress', params: { progressToken: request?.id, progress: value } })
  server.say({ id: request?.id, result: { task: { taskId: 't1', status: 'working' } } })
  progress(1)
  server.say({ id: request?.id, result: { content: [] } })
  progress(2)
  call.cancel('over')
  progress(3)
  await settled()
  t.match(said, ['task', /"progress":1/])
  t.equal(said.length, 2, 'a second answer to the call ends that too')
  t.same(server.take(), [], 'and the server hears of nothing')
  const other = link.call({ method: 'tools/call', params: undefined, wantsProgress: true }, sink)
  const [second] = server.take()
  server.say({ id: second?.id, result: { task: { taskId: 't2', status: 'working' } } })
  other.cancel('over')
  server.say({ method: 'notifications/progress', params: { progressToken: second?.id, progress: 1 } })
  await settled()
  t.same(said.slice(2), ['task'])
})

t.test('progress and the answer reach the call, and nothing after', async t => {
  const { server, call } = await connected()
  const { ends } = call('tools/call', {}, true)
  const progress = { method: 'notifications/progress', params: { progressToken: 2, progress: 1 } }
  server.say(progress)
  server.say({ id: 2, result: { content: [] } })
  server.say(progress)
  server.say({ id: 2, result: { content: [1] } })
  t.same(ends, ['{"progressToken":2,"progress":1}', 'result {"content":[]}'])
})

t.test('an answer under the decimal string of our id counts, a looser one does not', async t => {
  const { server, call } = await connected()
  const [string, loose] = [call('tools/list'), call('tools/list')]
  server.say({ id: '2', result: {} })
  for (const id of ['"03"', '3.5', 'null', '"3 "']) server.say(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
  t.same(string.ends, ['result {}'])
  t.same(loose.ends, [])
})

t.test('an empty result may be written in any way; another one must be an object', async t => {
  for (const result of ['null', '[]', 'true', '""', '0', '{}']) {
    const { server, call } = await connected()
    const calls = [
      'ping',
      'logging/setLevel',
      'resources/subscribe',
      'resources/unsubscribe',
      'tools/call',
    ].map(method => call(method))
    for (const { id } of server.take()) server.say(`{"jsonrpc":"2.0","id":${String(id)},"result":${result}}`)
    t.same(
      calls.slice(0, 4).map(({ ends }) => ends[0]),
      Array(4).fill('result {}'),
      result,
    )
    const words = 'internal: Server files answered tools/call with something other than an object'
    t.same(calls[4]?.ends, [result === '{}' ? 'result {}' : words])
  }
})

t.test('an error of the server is repaired where clients would choke on it, and else passed on', async t => {
  const rows = [
    ['{"code":-32602,"message":"m","data":{"n":1e400}}', '{"code":-32602,"message":"m","data":{"n":1e400}}'],
    ['{"code":-32002,"message":"m"}', '{"code":-32002,"message":"m"}'],
    ['{"code":1,"message":"m","x":[]}', '{"code":1,"message":"m","x":[]}'],
    ['{"code":"x","message":"m"}', '{"code":-32603,"message":"m"}'],
    ['{"code":1.5,"message":"m"}', '{"code":-32603,"message":"m"}'],
    ['{"code":1e400,"message":"m"}', '{"code":-32603,"message":"m"}'],
    ['{"message":"m","data":1}', '{"message":"m","data":1,"code":-32603}'],
    ['{"code":-32601}', '{"code":-32601,"message":""}'],
    ['{"code":-32601,"message":null}', '{"code":-32601,"message":""}'],
    ['{}', '{"message":"","code":-32603}'],
    ['{"code":-32700,"message":"m"}', '{"code":-32603,"message":"m","data":{"server":"files"}}'],
    ['{"code":-32600,"message":"m","data":7}', '{"code":-32603,"message":"m","data":7}'],
  ]
  for (const [sent, read] of rows) {
    const { server, call } = await connected()
    const { ends } = call('tools/call')
    server.say(`{"jsonrpc":"2.0","id":2,"error":${sent}}`)
    t.same(ends, [`error ${read}`])
  }
})

t.test('an answer with both result and error fails its call', async t => {
  const { server, call } = await connected()
  const { ends } = call('tools/call')
  server.say('{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"m"}}')
  t.match(ends, [/^internal: .*malformed/])
})

t.test('the members of an array of a 2025-03-26 server are taken one by one', async t => {
  const { server, call, heard } = await connected('2025-03-26')
  const [one, two] = [call('tools/list'), call('tools/list')]
  server.say([
    { jsonrpc: '2.0', id: 3, result: {} },
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
    { jsonrpc: '2.0', id: 2, result: {} },
  ])
  t.same([one.ends, two.ends], [['result {}'], ['result {}']])
  t.same(heard, ['noticed notifications/tools/list_changed undefined'])
})

t.test('a cancelled call tells the server once, under our id, and hears nothing more', async t => {
  const { server, call } = await connected()
  const [given, silent, done] = [call('tools/call'), call('tools/call'), call('tools/call')]
  server.say({ id: 4, result: {} })
  server.take()
  given.down.cancel('user')
  given.down.cancel('user')
  silent.down.cancel(undefined)
  done.down.cancel('too late')
  t.same(server.take(), [
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2, reason: 'user' } },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } },
  ])
  server.say({ id: 2, result: {} })
  server.say({ method: 'notifications/progress', params: { progressToken: 2, progress: 1 } })
  t.same(given.ends, [])
})

// ── what the server says by itself ──

t.test(
  'ping is answered on the spot, unknown requests are refused, unknown notices are passed on',
  async t => {
    const { server, heard, asks } = await connected()
    server.say({ id: 0, method: 'ping', params: { _meta: {} } })
    server.say({ id: '', method: 'sampling/unknown' })
    server.say({ id: 3, method: 'tools/list' })
    server.say({ method: 'notifications/message', params: { level: 'info' } })
    t.same(server.lines, [
      '{"jsonrpc":"2.0","id":0,"result":{}}',
      '{"jsonrpc":"2.0","id":"","error":{"code":-32601,"message":"Method not found: sampling/unknown"}}',
      '{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found: tools/list"}}',
    ])
    t.same(heard, ['noticed notifications/message {"level":"info"}'])
    t.same(asks, [])
  },
)

t.test('a question is answered once, under the id that the server gave it', async t => {
  const { server, asks } = await connected()
  for (const id of ['0', '"1"', '1']) {
    server.say(`{"jsonrpc":"2.0","id":${id},"method":"roots/list"}`)
    const ask = asks.at(-1)
    t.equal(ask?.about, undefined, 'a pipe cannot tell')
    ask?.answer(succeeded(rawText('{"roots":[]}')))
    ask?.answer(failed(new Fault('internal', 'again')))
    t.same(server.lines.splice(0), [`{"jsonrpc":"2.0","id":${id},"result":{"roots":[]}}`])
  }
  server.say({ id: 5, method: 'elicitation/create' })
  asks.at(-1)?.answer({ kind: 'error', error: rawText('{"code":-1,"message":"User rejected"}') })
  server.say({ id: 6, method: 'elicitation/create' })
  asks.at(-1)?.answer(failed(new Fault('unknown-method', 'Elicitation not supported')))
  t.same(
    server.take().map(({ error }: Heard) => error?.code),
    [-1, -32601],
  )
})

t.test('an id that is still open is refused to a second question', async t => {
  const { server, asks } = await connected()
  server.say({ id: 7, method: 'roots/list' })
  server.say({ id: 7, method: 'roots/list' })
  t.equal(asks.length, 1)
  t.match(server.take(), [{ id: 7, error: { code: -32600 } }])
  asks[0]?.answer(succeeded(rawText('{}')))
  server.say({ id: 7, method: 'roots/list' })
  t.equal(asks.length, 2)
})

t.test(
  'the progress of a client on a question goes back under the server’s token, until the answer',
  async t => {
    const { server, asks } = await connected()
    server.say({ id: 1, method: 'sampling/createMessage', params: { _meta: { progressToken: '' } } })
    const [ask] = asks
    t.ok(ask?.wantsProgress)
    ask?.progress(rawText('{"progressToken":9,"progress":0.1}'))
    ask?.answer(succeeded(rawText('{}')))
    ask?.progress(rawText('{"progressToken":9,"progress":0.2}'))
    t.same(server.lines, [
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"","progress":0.1}}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ])
  },
)

t.test('a server that withdraws its question is not answered any more', async t => {
  const { server, asks, heard, lines } = await connected()
  server.say({ id: 1, method: 'roots/list' })
  const withdrawn: unknown[] = []
  if (asks[0] !== undefined) asks[0].onWithdrawn = reason => withdrawn.push(reason)
  const cancels = [undefined, {}, { requestId: '1' }, { requestId: 2 }, { requestId: null }]
  for (const params of cancels) server.say({ method: 'notifications/cancelled', params })
  t.same(withdrawn, [])
  server.say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'x' } })
  server.say({ method: 'notifications/cancelled', params: { requestId: 1, reason: 'x' } })
  t.same(withdrawn, ['x'], 'once, in the words of the server')
  const logged = lines.filter(([, , words]) => words === 'the server cancelled a request')
  t.match(logged, [['debug', { method: 'roots/list', reason: 'x' }]])
  asks[0]?.answer(succeeded(rawText('{}')))
  t.same(server.lines, [])
  t.same(heard, [])
  for (const reason of [undefined, 7]) {
    server.say({ id: 1, method: 'roots/list' })
    const again = asks.at(-1)
    if (again !== undefined) again.onWithdrawn = why => withdrawn.push(why)
    server.say({ method: 'notifications/cancelled', params: { requestId: 1, reason } })
  }
  t.same(withdrawn, ['x', undefined, undefined], 'a server that gives no reason is given none')
})

t.test(
  'a lost connection ends every call with one fault, withdraws questions, and is told once and last',
  async t => {
    const { server, asks, heard, call, link } = await connected()
    const calls = [call('tools/call'), call('tools/call')]
    server.say({ id: 1, method: 'roots/list' })
    if (asks[0] !== undefined) asks[0].onWithdrawn = () => heard.push('withdrawn')
    server.channel.break(new Fault('disconnected', 'it crashed'))
    t.same(
      calls.map(({ ends }) => ends),
      [['disconnected: it crashed'], ['disconnected: it crashed']],
    )
    t.same(heard, ['withdrawn', 'closed disconnected'])
    asks[0]?.answer(succeeded(rawText('{}')))
    const { ends, down } = call('tools/list')
    t.match(ends, [/^disconnected/], 'a later call fails at once')
    down.cancel('x')
    await link.close()
    t.equal(heard.length, 2)
  },
)

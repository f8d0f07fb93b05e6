import t from 'tap'
import { rawText } from '../../../../src/kernel/json/text.js'
import type { Outcome } from '../../../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import { envelope, key, MODERN } from '../../../support/era/codec.js'
import { settled } from '../../../support/fake-clock.js'
import { modernOnHttp, modernOnPipe } from '../../../support/proxy/links.js'

// ── what a server gets ──

t.test(
  'each request says who calls and what may be asked, and nothing else of the client’s envelope',
  async t => {
    const { server, call } = modernOnPipe()
    const requester = {
      capabilities: { ...NO_CAPABILITIES, elicitation: { form: true, url: false } },
      logLevel: 'warning',
    } as const
    call(
      'tools/call',
      {
        name: 'x',
        arguments: {},
        _meta: {
          [key('protocolVersion')]: '1900-01-01',
          [key('clientInfo')]: { name: 'the client', version: '9' },
          [key('clientCapabilities')]: { sampling: {}, roots: {} },
          [key('related-task')]: { taskId: 't' },
          traceparent: '00-a-b-01',
        },
        task: { ttl: 1 },
        requestState: 's',
      },
      { requester },
    )
    call('prompts/list')
    t.same(server.take(), [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'x',
          arguments: {},
          _meta: envelope(
            { elicitation: { form: {} } },
            { [key('logLevel')]: 'warning', traceparent: '00-a-b-01' },
          ),
          requestState: 's',
        },
      },
      { jsonrpc: '2.0', id: 2, method: 'prompts/list', params: { _meta: envelope() } },
    ])
  },
)

t.test('arguments arrive byte for byte', async t => {
  const { server, call } = modernOnPipe()
  const params = '{"name":"x","arguments":{ "n":12345678901234567890,"f":1.0,"e":1e400,"t":"\\u0041" }}'
  call('tools/call', params)
  t.ok(server.lines[0]?.includes('"arguments":{ "n":12345678901234567890,"f":1.0,"e":1e400,"t":"\\u0041" }'))
})

t.test('progress runs under a token of this hop, and only if it is wanted', async t => {
  const { server, call } = modernOnPipe()
  const wanted = call(
    'tools/call',
    { name: 'x', _meta: { progressToken: 'theirs' } },
    { wantsProgress: true },
  )
  const unwanted = call('tools/call', { name: 'x', _meta: { progressToken: 'theirs' } })
  t.same(
    server
      .take()
      .map(({ params }) => (params?.['_meta'] as Record<string, unknown> | undefined)?.['progressToken']),
    [1, undefined],
  )
  server.say({ method: 'notifications/progress', params: { progressToken: 1, progress: 0.5 } })
  server.say({ method: 'notifications/progress', params: { progressToken: 2, progress: 0.5 } })
  server.say({ id: 1, result: { resultType: 'complete', content: [] } })
  server.say({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  t.same(wanted.ends, ['{"progressToken":1,"progress":0.5}', 'result {"content":[]}'])
  t.same(unwanted.ends, ['{"progressToken":2,"progress":0.5}'])
})

t.test('a call that is called off is cancelled under our id, and its late answer is nothing', async t => {
  const { server, call } = modernOnPipe()
  const { down, ends } = call('tools/call', { name: 'x' })
  server.take()
  down.cancel('user')
  down.cancel('again')
  server.say({ id: 1, result: { resultType: 'complete', content: [] } })
  t.same(server.take(), [
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'user' } },
  ])
  t.same(ends, [])
})

t.test('over HTTP the response is closed at once, and nothing is sent', async t => {
  const { http, call } = modernOnHttp()
  const { down, ends } = call('tools/call', { name: 'x' })
  const exchange = http.next()
  exchange.sse()
  await settled()
  down.cancel('user')
  t.ok(exchange.isAborted)
  await settled()
  t.equal(http.waiting, 0)
  t.same(ends, [])
})

t.test('requests that this revision lacks are answered locally', async t => {
  const { server, call, link } = modernOnPipe()
  const level = call('logging/setLevel', { level: 'debug' })
  const gone = call('resources/unsubscribe', { uri: 'db://t' })
  t.same(level.ends, [], 'after it was asked, not while')
  link.notify('notifications/roots/list_changed', undefined)
  await settled()
  t.same([level.ends, gone.ends], [['result {}'], ['result {}']])
  const cancelled = call('logging/setLevel', { level: 'debug' })
  cancelled.down.cancel(undefined)
  await settled()
  t.same(cancelled.ends, [])
  t.same(server.take(), [])
})

// ── what a server says ──

const TEXTS = '"content":[{"type":"text","text":"é \\"}\\""},{"type":"text","text":""}],"isError":true'

t.test('a result is told by its kind', async t => {
  const rows: [method: string, result: string, outcome: string | RegExp][] = [
    [
      'tools/call',
      '{"resultType":"complete","content":[],"n":1e400}',
      'result {"resultType":"complete","content":[],"n":1e400}',
    ],
    ['tools/call', '{"content":[]}', 'result {"content":[]}'],
    // Members set by each hop are not passed on with texts.
    [
      'tools/call',
      `{"resultType":"complete","_meta":{"${key('serverInfo')}":{}},"content":[{"type":"text","text":"a"}]}`,
      'result {"content":[{"type":"text","text":"a"}]}',
    ],
    [
      'tools/call',
      '{"isError":true,"content":[],"resultType":"complete"}',
      'result {"isError":true,"content":[]}',
    ],
    ...[
      `"resultType":"complete",${TEXTS}`,
      `${TEXTS},"resultType":"complete","_meta":{"${key('serverInfo')}":{"name":"é"}}`,
      `${TEXTS},"_meta":{"${key('serverInfo')}":{"name":"}"}}`,
      `${TEXTS},"_meta":{"${key('serverInfo')}":{"icons":[{}]}},"resultType":"complete"`,
    ].map((members): [string, string, string] => ['tools/call', `{${members}}`, `result {${TEXTS}}`]),
    ...['"a/b":{}', `"${key('serverInfo')}":{},"a":{}`, `"${key('serverInfo').replace('.', '-')}":{}`].map(
      (meta): [string, string, string] => [
        'tools/call',
        `{${TEXTS},"resultType":"complete","_meta":{${meta}}}`,
        `result {${TEXTS},"resultType":"complete","_meta":{${meta}}}`,
      ],
    ),
    [
      'tools/call',
      `{"resultType":"complete",${TEXTS},"resultType":"complete"}`,
      /^internal: Unsupported result type/,
    ],
    ...['{"a":1}', '{}', `{"${key('serverInfo')}":{},"a":1}`, '7'].map((meta): [string, string, string] => [
      'tools/call',
      `{"content":[],"resultType":"complete","_meta":${meta}}`,
      `result {"content":[],"resultType":"complete","_meta":${meta}}`,
    ]),
    [
      'tools/call',
      '{"resultType":"input_required","requestState":"s"}',
      'input {"resultType":"input_required","requestState":"s"}',
    ],
    ['prompts/get', '{"resultType":"input_required"}', /^input/],
    ['resources/read', '{"resultType":"input_required"}', /^input/],
    [
      'tools/list',
      '{"resultType":"input_required"}',
      /^internal: Unsupported result type 'input_required' from server b$/,
    ],
    [
      'tools/call',
      '{"resultType":"weird","content":[]}',
      /^internal: Unsupported result type 'weird' from server b$/,
    ],
    [
      'tools/call',
      '{"resultType":"task","taskId":"t"}',
      /^internal: Unsupported result type 'task' from server b$/,
    ],
    ['tools/call', '{"resultType":7}', /^internal: Unsupported result type '7' from server b$/],
    [
      'tools/call',
      '{"resultType":"complete","resultType":"input_required"}',
      /^internal: Unsupported result type/,
    ],
    ['tools/call', 'null', /^internal: Server b answered tools\/call with something other than an object$/],
    ['completion/complete', '[]', /^internal: Server b answered/],
  ]
  for (const [method, result, outcome] of rows) {
    const { server, call } = modernOnPipe()
    const { ends, faults } = call(method)
    server.say(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    t.match(ends, [outcome], result)
    if (faults.length > 0) t.same(faults[0]?.data, { server: 'b' })
  }
})

t.test('tasks are declared for callers that follow them, and are errors for all others', async t => {
  const { server, link } = modernOnPipe()
  const outcomes: Outcome[] = []
  const sink = { progress: () => undefined, ended: (outcome: Outcome) => outcomes.push(outcome) }
  const params = rawText('{"name":"x"}')
  link.call({ method: 'tools/call', params, wantsProgress: false, followsTasks: true }, sink)
  const declared = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  t.match(server.take().at(-1), {
    params: { _meta: { 'io.modelcontextprotocol/clientCapabilities': declared } },
  })
  const result = '{"resultType":"task","taskId":"t","status":"working"}'
  server.say(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
  t.match(outcomes, [{ kind: 'task' }])
})

t.test('an error is repaired, and has the revision of its codes', async t => {
  const rows: [error: string, outcome: string | RegExp][] = [
    [
      '{"code":-32602,"message":"no","data":{"uri":"x"}}',
      'error {"code":-32602,"message":"no","data":{"uri":"x"}}',
    ],
    ['{"code":-32021,"message":"no"}', 'error {"code":-32021,"message":"no"}'],
    ['{"code":-32600,"message":"no"}', /^error \{"code":-32603/],
    ['{"code":1.5}', /^error \{"code":-32603/],
  ]
  for (const [error, outcome] of rows) {
    const { server, link, call } = modernOnPipe()
    const { ends } = call('tools/call', { name: 'x' })
    server.say(`{"jsonrpc":"2.0","id":1,"error":${error}}`)
    t.match(ends, [outcome], error)
    let revision: string | undefined
    link.call(
      { method: 'tools/call', params: undefined, wantsProgress: false },
      {
        progress: () => undefined,
        ended: told => {
          revision = told.kind === 'error' ? told.revision : undefined
        },
      },
    )
    server.say(`{"jsonrpc":"2.0","id":2,"error":${error}}`)
    t.equal(revision, MODERN)
  }
})

t.test('a server that asks although it must not is not answered, but named in the log', async t => {
  const { server, heard, lines } = modernOnPipe()
  for (let id = 1; id <= 20; id += 1) server.say({ id, method: 'sampling/createMessage', params: {} })
  server.say({ id: 'p', method: 'ping' })
  t.same(server.take(), [])
  t.same(heard, [])
  t.equal(
    lines.filter(([, , words]) => words === 'ignoring a request of the server: this revision has none')
      .length,
    21,
  )
})

t.test('log messages are reported with the request on whose stream they came', async t => {
  const { http, heard, abouts, call } = modernOnHttp()
  const { down } = call('tools/call', { name: 'x' })
  const exchange = http.next()
  exchange.sse()
  exchange.event({ method: 'notifications/message', params: { level: 'error', data: 1 } })
  await settled()
  t.same(heard, ['notifications/message {"level":"error","data":1}'])
  t.equal(abouts[0], down)
  const pipe = modernOnPipe()
  pipe.server.say({ method: 'notifications/message', params: { level: 'error', data: 1 } })
  t.same(pipe.heard, heard)
  t.same(pipe.abouts, [undefined])
})

t.test('what belongs to no stream of ours is dropped', async t => {
  const { server, heard } = modernOnPipe({ tools: { listChanged: true } })
  await settled()
  server.say({ method: 'notifications/tools/list_changed' })
  server.say({
    method: 'notifications/tools/list_changed',
    params: { _meta: { [key('subscriptionId')]: 99 } },
  })
  server.say({ method: 'notifications/resources/updated', params: { uri: 'x' } })
  server.say({ method: 'notifications/elicitation/complete', params: { elicitationId: 'x' } })
  server.say({ method: 'notifications/cancelled', params: { requestId: 99 } })
  server.say({ method: 'whatever' })
  t.same(heard, [])
})

t.test('facts come from the server’s own description', async t => {
  const { link } = modernOnPipe({ tools: { listChanged: true }, logging: {}, resources: { subscribe: true } })
  t.match(link.facts, {
    revision: MODERN,
    capabilities: {
      tools: { listChanged: true },
      prompts: undefined,
      resources: { listChanged: false, subscribe: true },
      logging: true,
      completions: false,
    },
    instructions: undefined,
  })
  t.equal(link.facts.info.toString(), '{"name":"new","version":"2"}')
  t.equal(link.serverRequests, 'returned')
  t.notOk(link.receivesUnsolicited)
})

t.test('a lost connection ends every request, then is reported', async t => {
  const { server, heard, call, link } = modernOnPipe()
  const one = call('tools/call', { name: 'x' })
  const subscribing = call('resources/subscribe', { uri: 'db://t' })
  await settled()
  server.hangUp()
  t.match(one.ends, [/^disconnected/])
  t.match(subscribing.ends, [/^disconnected/])
  t.same(heard, ['closed disconnected'])
  const late = call('resources/subscribe', { uri: 'db://t' })
  await settled()
  t.match(late.ends, [/^disconnected/])
  await link.close()
  t.same(heard, ['closed disconnected'])
})

// ── a server that is another one than it was ──

const NO = { code: -32022, message: 'no', data: { supported: ['2025-11-25'] } }
const JSON_TYPE = { 'content-type': 'application/json' }

t.test(
  'a server that no longer speaks this revision ends the connection; what it refused was not run',
  async t => {
    const pipe = modernOnPipe()
    const refused = [pipe.call('tools/call', { name: 'x' }), pipe.call('prompts/get', { name: 'y' })]
    const other = pipe.call('tools/call', { name: 'z' })
    pipe.server.take()
    pipe.server.say({ id: 1, error: NO })
    pipe.server.say({ id: 2, error: NO })
    const asked = pipe.server.take()
    t.match(asked, [{ id: 4, method: 'server/discover', params: { _meta: envelope() } }])
    t.equal(asked.length, 1, 'it is asked once')
    t.notOk(pipe.server.isClosed)
    pipe.server.say({ id: 4, error: { code: -32601, message: 'Method not found' } })
    await settled()
    t.ok(pipe.server.isClosed)
    t.same(pipe.heard, ['closed disconnected'])
    t.match(other.ends, [/^disconnected/])
    for (const { ends } of refused) t.same(ends, [`session-lost: Server b no longer speaks ${MODERN}`])
  },
)

/** It may be sent again: nothing was done, or what was done can be done again. */
const NOT_RUN = /^session-lost: Server b no longer speaks/
const IF_REPLACED = /^maybe-replaced: .* no longer speaks .*status 4\d\d, and whether it ran it is not known$/
const MAY_HAVE_RUN = /^disconnected: .* no longer speaks .*status 4\d\d, and whether it ran it is not known$/

t.test('over HTTP it may be replaced by one that does not know what to do with requests', async t => {
  const older = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}'
  const rows: [status: number, body: string, end: RegExp, method?: string][] = [
    [400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}', NOT_RUN],
    [200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}', NOT_RUN],
    [400, older, IF_REPLACED],
    [400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Server not initialized"}}', IF_REPLACED],
    [
      400,
      '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}',
      IF_REPLACED,
    ],
    [400, '{"error":"bad gateway"}', MAY_HAVE_RUN],
    [422, 'no', MAY_HAVE_RUN],
    [404, '{}', IF_REPLACED],
    [405, '', IF_REPLACED],
    [400, older, NOT_RUN, 'prompts/get'],
    [404, '', NOT_RUN, 'resources/read'],
  ]
  for (const [status, body, end, method = 'tools/call'] of rows) {
    const { http, call, heard } = modernOnHttp()
    const { ends } = call(method, { name: 'x' })
    http.next().reply(status, JSON_TYPE, body)
    await settled()
    const asked = http.next()
    t.match(asked.message, { id: 2, method: 'server/discover' }, `${status} ${body}`)
    t.same(ends, [])
    asked.reply(400, JSON_TYPE, older)
    await settled()
    t.same(heard, ['closed disconnected'])
    t.match(ends, [end], `${status} ${body}`)
  }
})

t.test('a server that speaks it all the same has another reason, which its client is told', async t => {
  const { http, call, heard } = modernOnHttp()
  const [gone, bad] = [call('tools/call', { name: 'x' }), call('tools/call', { name: 'y' })]
  const other = call('tools/call', { name: 'z' })
  http.next().json({ error: NO }, {}, 400)
  http.next().reply(404)
  const running = http.next()
  await settled()
  http.next().json({ result: { resultType: 'complete', supportedVersions: [MODERN], capabilities: {} } })
  await settled()
  t.match([gone?.ends, bad?.ends], [[/^error \{"code":-32022/], [/^unavailable: .* 404 /]])
  running.json({ result: { content: [] } })
  await settled()
  t.same(other.ends, ['result {"content":[]}'], 'nothing was cut off')
  t.same(heard, [])
})

t.test('a server that cannot be asked again is not taken for another one', async t => {
  const answers: ((http: ReturnType<typeof modernOnHttp>['http']) => void)[] = [
    http => http.next().reply(503),
    http => http.next().reply(401),
    http => http.next().break(),
    http => void http.next(),
  ]
  for (const answer of answers) {
    const { http, call, heard, pass } = modernOnHttp()
    const { ends } = call('tools/call', { name: 'x' })
    http.next().reply(404)
    await settled()
    answer(http)
    await settled()
    await pass(10_000)
    t.match(ends, [/^unavailable: .* 404 /])
    t.same(heard, [])
  }
})

t.test('a client that gives up while the server is asked again hears nothing more', async t => {
  const { server, call, heard } = modernOnPipe()
  const { ends, down } = call('tools/call', { name: 'x' })
  server.say({ id: 1, error: NO })
  down.cancel('user')
  server.say({ id: 2, error: NO })
  await settled()
  t.same([ends, heard], [[], ['closed disconnected']])
})

t.test('the same codes in another place are a server’s own', async t => {
  const rows: [status: number, body: string, end: RegExp][] = [
    [200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"mine"}}', /^error \{"code":-32000/],
    [400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', /^error \{"code":-32601/],
    [404, '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', /^error \{"code":-32601/],
  ]
  for (const [status, body, end] of rows) {
    const { http, call, heard } = modernOnHttp()
    const { ends } = call('tools/call', { name: 'x' })
    http.next().reply(status, JSON_TYPE, body)
    await settled()
    t.match(ends, [end])
    t.same([heard, http.waiting], [[], 0], body)
  }
})

// ── a response that is lost ──

t.test(
  'a request that changes nothing is made again once when its response is lost; a call never',
  async t => {
    const repeatable = [
      'tools/list',
      'prompts/list',
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'prompts/get',
      'completion/complete',
    ]
    for (const method of repeatable) {
      const { http, call } = modernOnHttp()
      const { ends } = call(method, { name: 'x' })
      const first = http.next()
      first.sse()
      first.end()
      await settled()
      const second = http.next()
      t.equal(second.message.method, method)
      t.equal(second.message.id, 2, 'under a new id')
      second.sse()
      second.end()
      await settled()
      t.equal(http.waiting, 0)
      t.match(ends, [/^disconnected: .*without an answer$/], method)
    }
    const { http, call } = modernOnHttp()
    const { ends } = call('tools/call', { name: 'x' })
    const exchange = http.next()
    exchange.sse()
    exchange.end()
    await settled()
    t.equal(http.waiting, 0)
    t.match(ends, [/^disconnected/])
  },
)

t.test('the second attempt may succeed, and progress of the first is dropped', async t => {
  const { http, call } = modernOnHttp()
  const { ends, down } = call('prompts/get', { name: 'x' }, { wantsProgress: true })
  const first = http.next()
  first.sse()
  first.end()
  await settled()
  const second = http.next()
  t.equal((second.message.params?.['_meta'] as Record<string, unknown> | undefined)?.['progressToken'], 2)
  second.sse()
  second.event({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
  second.event({ method: 'notifications/progress', params: { progressToken: 2, progress: 2 } })
  second.event({ id: 2, result: { messages: [] } })
  await settled()
  t.same(ends, ['{"progressToken":2,"progress":2}', 'result {"messages":[]}'])
  down.cancel('late')
  t.equal(http.waiting, 0)
})

t.test('what was refused or never arrived is not made again', async t => {
  for (const answer of ['500', 'refused'] as const) {
    const { http, call } = modernOnHttp()
    const { ends } = call('tools/list')
    if (answer === '500') http.next().reply(500)
    else http.next().break()
    await settled()
    t.equal(http.waiting, 0)
    t.match(ends, [/^unavailable/])
  }
})

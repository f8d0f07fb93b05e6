import t from 'tap'
import type { LegacyDownlink } from '../../../../src/eras/legacy/server-side/downlink.js'
import { resumeLegacyUrl, tryLegacyUrl } from '../../../../src/eras/legacy/server-side/open.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { type JsonText, rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { ServerRequest, ServerSession } from '../../../../src/model/links.js'
import { succeeded } from '../../../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { shown } from '../../../support/values.js'
import { recordedLog } from '../../../support/wire/channel-pair.js'
import { type FakeExchange, FakeHttp } from '../../../support/wire/fake-http.js'

const PATIENT_MS = 60_000
const agreed = (protocolVersion: string) => ({
  result: { protocolVersion, capabilities: {}, serverInfo: { name: 's', version: '1' } },
})

/** The session as saved for other replicas. */
class FakeServerSession implements ServerSession {
  last: JsonText | undefined
  isElsewhere = false

  saved(): JsonText | undefined {
    return this.last
  }

  save(session: JsonText | undefined): void {
    this.last = session
  }

  isTakenOver(): boolean {
    return this.isElsewhere
  }
}

const start = () => {
  const http = new FakeHttp()
  const clock = new FakeClock()
  const asks: ServerRequest[] = []
  const heard: string[] = []
  const { log, lines } = recordedLog()
  const saved = new FakeServerSession()
  const to = { url: 'https://s.example/mcp', headers: { authorization: 'Bearer x' } }
  const options = {
    server: 's',
    session: saved,
    capabilities: NO_CAPABILITIES,
    clientInfo: rawText('{"name":"proxy","version":"1"}'),
    offer: '2025-11-25',
    listener: {
      requested: (ask: ServerRequest) => asks.push(ask),
      notified: (method: string, _params: unknown, about: unknown) =>
        heard.push(about === undefined ? method : `${method} about`),
      closed: (fault: Fault) => heard.push(`closed ${fault.code}`),
    },
    timeoutMs: PATIENT_MS,
    pingMs: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    clock,
    log,
  } as const
  const open = async () => {
    const remote = await tryLegacyUrl(http, to, options, { hasSse: false, elsewhere: () => false })
    if (remote === undefined) throw new Error('the handshake led elsewhere')
    return remote.link
  }
  const resume = (from: JsonText | undefined, url = to.url) => {
    saved.last = from
    return resumeLegacyUrl(http, { ...to, url }, options)
  }
  return { http, clock, asks, heard, lines, saved, open, resume }
}

/** A session past its handshake; `get` answers the standalone GET. */
const connected = async (
  options: { version?: string; session?: string; get?: (exchange: FakeExchange) => void } = {},
) => {
  const { version = '2025-06-18', session = 'sid-1', get = exchange => exchange.reply(405) } = options
  const all = start()
  const { http } = all
  const handshake: FakeExchange[] = []
  http.onRequest = exchange => {
    handshake.push(exchange)
    if (exchange.method === 'GET') get(exchange)
    else if (exchange.message.method === 'initialize') {
      exchange.json(agreed(version), session === '' ? {} : { 'mcp-session-id': session })
    } else exchange.reply(202)
    return true
  }
  const link = await all.open()
  await settled()
  http.onRequest = undefined
  const call = (method = 'tools/call', wantsProgress = false) => {
    const ends: string[] = []
    const faults: Fault[] = []
    const down = link.call(
      { method, params: undefined, wantsProgress },
      {
        progress: ({ params }) => ends.push(params.toString()),
        ended: outcome => {
          ends.push(shown(outcome))
          if (outcome.kind === 'fault') faults.push(outcome.fault)
        },
      },
    )
    return { down, ends, faults, exchange: http.next() }
  }
  return { ...all, link, call, handshake }
}

/** Lets time pass, and what waited for it go on. */
const pass = async (clock: FakeClock, ms: number): Promise<void> => {
  clock.advance(ms)
  await settled()
}

const fault = async (attempt: Promise<unknown>): Promise<string> => {
  try {
    await attempt
    return 'no fault'
  } catch (thrown) {
    return shown({ kind: 'fault', fault: Fault.from(thrown) })
  }
}

// ── handshake and headers ──

t.test('the session id and the revision are repeated on every later request that supports them', async t => {
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const { handshake, call, link, http, asks } = await connected({ version })
    const [hello, ready, get] = handshake
    t.same(hello?.headers, {
      authorization: 'Bearer x',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    })
    t.equal(ready?.message.method, 'notifications/initialized')
    const { exchange } = call()
    exchange.sse()
    exchange.event({ id: 'q', method: 'roots/list' })
    await settled()
    asks[0]?.answer(succeeded(rawText('{}')))
    const answer = http.next()
    void link.close()
    const end = http.next()
    t.equal(end.method, 'DELETE')
    for (const { headers } of [ready, get, exchange, answer, end].filter(e => e !== undefined)) {
      t.equal(headers['mcp-session-id'], 'sid-1')
      t.equal(headers['mcp-protocol-version'], version >= '2025-06-18' ? version : undefined, version)
      t.equal(headers['authorization'], 'Bearer x')
    }
    t.equal(get?.method, 'GET')
    t.equal(get?.headers['accept'], 'text/event-stream')
  }
})

t.test('a server without sessions gets no session id and no DELETE', async t => {
  const { call, link, http, handshake } = await connected({ session: '' })
  t.equal(call().exchange.headers['mcp-session-id'], undefined)
  t.equal(handshake[1]?.headers['mcp-session-id'], undefined)
  await link.close()
  t.equal(http.waiting, 0)
})

t.test('a session id that cannot stand in a header is refused', async t => {
  for (const id of ['a b', 'ä', '', 'a\x7f']) {
    const { http, open } = start()
    const opening = fault(open())
    const hello = http.next()
    hello.json(agreed('2025-06-18'), { 'mcp-session-id': id })
    t.match(await opening, /^unavailable: .*visible ASCII/)
    t.ok(hello.isDiscarded)
    t.equal(http.waiting, 0)
  }
})

t.test('an attempt that fails after the session was issued ends the session', async t => {
  const { http, open } = start()
  const opening = fault(open())
  http.next().json(agreed('1999-01-01'), { 'mcp-session-id': 'x' })
  t.match(await opening, /^unavailable/)
  t.same(
    [http.next()].map(({ method, headers }) => [method, headers['mcp-session-id']]),
    [['DELETE', 'x']],
  )
})

t.test('a server that does not take notifications/initialized fails in time', async t => {
  const { http, clock, open } = start()
  const opening = fault(open())
  http.next().json(agreed('2025-06-18'))
  await settled()
  t.equal(http.next().message.method, 'notifications/initialized')
  await pass(clock, PATIENT_MS)
  t.match(await opening, /^timeout/)
})

t.test('a server that never answers the GET is ready all the same', async t => {
  const { link, call } = await connected({ get: () => undefined })
  t.notOk(link.receivesUnsolicited)
  const { exchange, ends } = call()
  exchange.json({ result: {} })
  await settled()
  t.same(ends, ['result {}'])
})

t.test('a server that loses the session before it is ready is not handed on as connected', async t => {
  const { http, open } = start()
  const opening = fault(open())
  http.next().json(agreed('2025-06-18'), { 'mcp-session-id': 'x' })
  await settled()
  http.next().reply(404)
  t.match(await opening, /^disconnected/)
})

// ── answers ──

t.test('an answer may be JSON or an event stream, with parameters and in any case', async t => {
  const types = ['application/json', 'application/json; charset=utf-8', 'Application/JSON']
  for (const type of types) {
    const { call } = await connected()
    const { exchange, ends } = call()
    exchange.reply(200, { 'content-type': type }, '{"jsonrpc":"2.0","id":2,"result":{"n":1e400}}')
    await settled()
    t.same(ends, ['result {"n":1e400}'], type)
  }
  for (const type of ['text/event-stream; charset=utf-8', 'TEXT/event-stream']) {
    const { call, heard } = await connected()
    const { exchange, ends } = call('tools/call', true)
    exchange.sse({ 'content-type': type })
    exchange.event({ method: 'notifications/progress', params: { progressToken: 2, progress: 1 } })
    exchange.event({ method: 'notifications/message', params: {} })
    exchange.event({ id: 2, result: {} })
    await settled()
    t.same(ends, ['{"progressToken":2,"progress":1}', 'result {}'], type)
    t.same(heard, ['notifications/message about'])
  }
})

t.test('arrays are taken apart, in JSON and in events', async t => {
  const { call } = await connected({ version: '2025-03-26' })
  const [one, two] = [call(), call()]
  const both = '[{"jsonrpc":"2.0","id":3,"result":{"b":1}},{"jsonrpc":"2.0","id":2,"result":{"a":1}}]'
  one.exchange.reply(200, { 'content-type': 'application/json' }, both)
  await settled()
  t.same([one.ends, two.ends], [['result {"a":1}'], ['result {"b":1}']])
})

t.test('a question on the stream of a call says whose it is; its answer is posted', async t => {
  const { call, asks, http } = await connected()
  const { exchange, down } = call()
  exchange.sse()
  exchange.event({ id: 'q', method: 'elicitation/create' })
  await settled()
  t.equal(asks[0]?.about, down)
  asks[0]?.answer(succeeded(rawText('{"action":"accept"}')))
  const answer = http.next()
  t.equal(answer.request.body?.toString(), '{"jsonrpc":"2.0","id":"q","result":{"action":"accept"}}')
})

const KEY = 'sk-abcdefghijklmnop0123456789'

t.test("a reply without an answer fails the request with its status and the server's reason", async t => {
  const page = `<html><title>Error</title><pre>Cannot POST /mcp with ${KEY}</pre></html>`
  const json = 'application/json'
  const rows: [number, string, string, string][] = [
    [502, 'text/html', '<html><title>502 Bad Gateway</title></html>', '502: 502 Bad Gateway'],
    [500, '', page, '500: Cannot POST /mcp with ***'],
    [
      404,
      'text/html',
      page,
      '404 (not found): check the path of "url"; it answered: Cannot POST /mcp with ***',
    ],
    [400, json, '{"oops":"no member that holds a reason"}', '400'],
    [
      400,
      json,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no\\nregion"}}',
      '400: no region',
    ],
    [
      422,
      'application/json-rpc',
      '{"error":{"code":-32603,"message":"bad","data":"no key"}}',
      '422: bad: no key',
    ],
    [422, json, '{"detail":[{"loc":["body"],"msg":"Field required"}]}', '422: Field required'],
    [400, json, '{"error":"invalid_request","error_description":"no id"}', '400: invalid_request: no id'],
    [400, json, `{"message":"${'x'.repeat(5000)}"}`, '400: xxx'],
    [
      500,
      'text/event-stream',
      'event: message\ndata: {"error":{"message":"out of seats"}}\n\n',
      '500: out of seats',
    ],
    [503, 'text/plain', '\n no\t seats \n', '503: no seats'],
    [502, 'text/plain', 'no luck', '502: no luck (a gateway answered instead of the server)'],
    [503, 'text/plain', 'no healthy upstream', '503: no healthy upstream (a gateway answered instead'],
    [
      404,
      'text/html',
      '<title>404 Not Found</title><center>nginx</center>',
      '404 (not found): check the path of',
    ],
    [502, json, '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"no GPU"}}', '502: no GPU'],
  ]
  for (const [status, type, body, message] of rows) {
    const { call, heard } = await connected({ session: '' })
    const { exchange, faults } = call()
    exchange.reply(status, type === '' ? {} : { 'content-type': type }, body)
    await settled()
    t.equal(faults[0]?.code, 'unavailable', `${status} ${type}`)
    t.same(faults[0]?.data, { httpStatus: status })
    t.equal(faults[0]?.message.indexOf(`The server answered with HTTP status ${message}`), 0, message)
    t.ok(Buffer.byteLength(faults[0]?.message ?? '') <= 1024)
    t.same(heard, [], 'the session stays')
  }
  const logins: [number, string, string][] = [
    [401, '', 'The server needs authorization'],
    [401, '{"error":{"code":1,"message":"no account ann"}}', 'The server needs authorization'],
    [
      403,
      `{"message":"quota of Bearer ${KEY}"}`,
      'The server refused the request (HTTP status 403): quota of Bearer ***',
    ],
  ]
  for (const [status, body, message] of logins) {
    const { call, heard } = await connected()
    const { exchange, faults } = call()
    exchange.reply(status, { 'content-type': json, 'www-authenticate': 'Bearer' }, body)
    await settled()
    t.match(faults[0], { code: 'unauthorized', message, data: { httpStatus: status } })
    t.same(heard, [], 'the session stays')
  }
})

t.test('a reply that is neither JSON nor an event stream fails the request', async t => {
  for (const [status, type] of [
    [202, ''],
    [200, 'text/html'],
  ] as const) {
    const { call } = await connected()
    const { exchange, ends } = call()
    exchange.reply(status, type === '' ? {} : { 'content-type': type }, 'secret')
    await settled()
    t.match(ends, [/^unavailable: .*neither JSON nor an event stream$/])
  }
})

t.test('an error body that never ends gives its reason after five seconds, or a few KiB', async t => {
  const { call, clock } = await connected()
  const [slow, long, json] = [call(), call(), call()]
  slow.exchange.head(500)
  slow.exchange.raw('out of')
  long.exchange.head(500)
  long.exchange.raw('no '.repeat(3000))
  json.exchange.head(500, { 'content-type': 'application/json' })
  json.exchange.raw('{"message":')
  await settled()
  t.match(long.ends, [/^unavailable: .*status 500: no no no/])
  t.same([slow.ends, json.ends], [[], []])
  await pass(clock, 5000)
  t.match([slow.ends, json.ends], [[/status 500: out of$/], [/status 500$/]])
  for (const { exchange } of [slow, long, json]) t.ok(exchange.isDiscarded)
  t.equal(clock.pending, 0)
})

t.test('an error status with a JSON-RPC answer to our id is that answer', async t => {
  for (const status of [400, 422, 500]) {
    const { call } = await connected()
    const { exchange, ends } = call()
    exchange.json({ error: { code: -32602, message: 'no' } }, {}, status)
    await settled()
    t.same(ends, ['error {"code":-32602,"message":"no"}'])
  }
})

t.test('a JSON body without our answer, or one that breaks off, fails the request', async t => {
  const { call } = await connected()
  const [other, broken, unreachable] = [call(), call(), call()]
  other.exchange.reply(200, { 'content-type': 'application/json' }, '{"jsonrpc":"2.0","id":99,"result":{}}')
  broken.exchange.sse({ 'content-type': 'application/json' })
  broken.exchange.raw('{"jsonrpc":')
  broken.exchange.break()
  unreachable.exchange.break(new Fault('unavailable', 'connection refused'))
  await settled()
  t.same(other.ends, ['internal: The server sent no answer to the request'])
  t.same(broken.ends, ['unavailable: connection reset'])
  t.same(unreachable.ends, ['unavailable: connection refused'])
})

t.test('a stream without event ids that ends without the answer fails the request', async t => {
  const { call, http, clock } = await connected()
  const { exchange, ends } = call()
  exchange.sse()
  exchange.event({ method: 'notifications/message', params: {} })
  exchange.end()
  await settled()
  t.same(ends, ['disconnected: The server ended the stream without an answer'])
  await pass(clock, 100_000)
  t.equal(http.waiting, 0)
})

t.test('an accepted request may be answered on the standalone stream', async t => {
  let stream: FakeExchange | undefined
  const { call, http, clock } = await connected({
    get: exchange => {
      stream = exchange
      exchange.sse()
    },
  })
  const accept = (status: number, headers = {}, body = '') => {
    const one = call()
    one.exchange.reply(status, headers, body)
    return one
  }
  const all = [
    accept(202),
    accept(202, { 'content-type': 'text/plain' }, 'Accepted'),
    accept(202, { 'content-type': 'application/json' }, '{}'),
    accept(200),
    accept(204),
  ]
  await settled()
  for (const { ends, exchange } of all) {
    t.same(ends, [])
    stream?.event({ id: exchange.message.id, result: { content: [] } })
    await settled()
    t.same(ends, ['result {"content":[]}'])
  }
  const lost = accept(202)
  await settled()
  stream?.end()
  await settled()
  t.same(lost.ends, ['disconnected: The server ended the stream without an answer'])
  const late = accept(202)
  await pass(clock, 5000)
  http.next().reply(405)
  await settled()
  t.same(late.ends, ['disconnected: The server ended the stream without an answer'], 'no stream any more')
  t.match((await acceptedAfter(accept)).ends, [/^unavailable: .*neither JSON nor an event stream/])
})

const acceptedAfter = async <T>(accept: (status: number) => T): Promise<T> => {
  const one = accept(202)
  await settled()
  return one
}

// ── resuming ──

t.test('a broken stream is taken up after its last event, when the server wants it', async t => {
  const { call, http, clock } = await connected()
  const { exchange, ends } = call('tools/call', true)
  exchange.sse()
  exchange.raw('id: e0\nretry: 3000\ndata: \n\n')
  exchange.event({ method: 'notifications/progress', params: { progressToken: 2, progress: 1 } }, 'e1')
  exchange.break()
  await settled()
  await pass(clock, 2999)
  await settled()
  t.equal(http.waiting, 0)
  await pass(clock, 1)
  const again = http.next()
  t.equal(again.method, 'GET')
  t.equal(again.headers['last-event-id'], 'e1')
  t.equal(again.headers['mcp-session-id'], 'sid-1')
  again.sse()
  again.raw(':\n\n')
  await settled()
  again.end()
  await settled()
  await pass(clock, 20_000)
  const third = http.next()
  t.equal(third.headers['last-event-id'], 'e1', 'a connection that taught nothing does not lose the place')
  third.sse()
  third.event({ id: 2, result: {} }, 'e2')
  await settled()
  t.same(ends, ['{"progressToken":2,"progress":1}', 'result {}'])
})

t.test('after five tries in vain the request fails', async t => {
  const { call, http, clock } = await connected()
  const { exchange, ends } = call()
  exchange.sse()
  exchange.raw('id: e1\ndata: \n\n')
  exchange.end()
  for (let tries = 1; tries <= 5; tries += 1) {
    await settled()
    t.same(ends, [])
    await pass(clock, 20_000)
    const again = http.next()
    again.reply(503)
  }
  await settled()
  t.same(ends, ['disconnected: The server ended the stream without an answer'])
  await pass(clock, 100_000)
  t.equal(http.waiting, 0)
})

t.test('a request whose server is gone fails as soon as that is known', async t => {
  const { call, http, clock } = await connected()
  const { exchange, ends } = call()
  exchange.sse()
  exchange.raw('id: e1\ndata: \n\n')
  exchange.end()
  await settled()
  await pass(clock, 400)
  http.next().break()
  await settled()
  t.match(ends, [/^disconnected: it is gone/])
})

t.test('a server that refuses to resume is not asked again', async t => {
  for (const status of [400, 405]) {
    const { call, http, clock } = await connected()
    const { exchange, ends } = call()
    exchange.sse()
    exchange.raw('id: e1\ndata: \n\n')
    exchange.end()
    await settled()
    await pass(clock, 20_000)
    http.next().reply(status)
    await settled()
    t.same(ends, ['disconnected: The server ended the stream without an answer'], String(status))
  }
})

t.test('a server cannot make us spin or sleep by its retry time', async t => {
  for (const [retry, ms] of [
    [0, 100],
    [1e15, 60_000],
  ] as const) {
    const { call, http, clock } = await connected()
    const { exchange } = call()
    exchange.sse()
    exchange.raw(`id: e1\nretry: ${retry}\ndata: \n\n`)
    exchange.end()
    await settled()
    await pass(clock, ms - 1)
    t.equal(http.waiting, 0)
    await pass(clock, 1)
    t.equal(http.waiting, 1)
  }
})

t.test('a cancelled request is not taken up again', async t => {
  const { call, http, clock } = await connected()
  const { exchange, down, ends } = call()
  exchange.sse()
  exchange.raw('id: e1\ndata: \n\n')
  exchange.end()
  await settled()
  down.cancel('user')
  t.equal(http.next().message.method, 'notifications/cancelled')
  await pass(clock, 100_000)
  await settled()
  t.equal(http.waiting, 0)
  t.same(ends, [])
})

t.test(
  'a server that keeps an exchange open after its answer or its cancellation is let go after 5 s',
  async t => {
    const { call, clock, http } = await connected()
    const [answered, cancelled, silent] = [call(), call(), call()]
    for (const { exchange } of [answered, cancelled]) exchange.sse()
    answered.exchange.event({ id: 2, result: {} })
    await settled()
    cancelled.down.cancel(undefined)
    silent.down.cancel(undefined)
    t.same(
      [http.next(), http.next()].map(({ message }) => message.params),
      [{ requestId: 3 }, { requestId: 4 }],
    )
    await pass(clock, 4999)
    for (const { exchange } of [answered, cancelled, silent]) t.notOk(exchange.isAborted)
    await pass(clock, 1)
    for (const { exchange } of [answered, cancelled, silent]) t.ok(exchange.isAborted)
    await settled()
    t.same([answered.ends, cancelled.ends, silent.ends], [['result {}'], [], []])
    t.ok(cancelled.exchange.isDiscarded)
  },
)

t.test('an answer that is over leaves no timer behind', async t => {
  const { call, clock } = await connected()
  const { exchange } = call()
  exchange.sse()
  exchange.event({ id: 2, result: {} })
  exchange.end()
  await settled()
  t.equal(clock.pending, 0)
})

t.test(
  'of notifications that make earlier ones pointless, the last one is posted when one was taken',
  async t => {
    const { link, http } = await connected()
    const CHANGED = 'notifications/roots/list_changed'
    for (let n = 0; n < 1000; n += 1) {
      link.notify(CHANGED, undefined)
      for (const token of ['a', 'b']) {
        link.notify('notifications/progress', textOf({ progressToken: token, progress: n }))
      }
    }
    await settled()
    t.equal(http.waiting, 3, 'one connection for each')
    const first = [http.next(), http.next(), http.next()]
    for (const exchange of first) exchange.reply(202)
    await settled()
    const second = [http.next(), http.next(), http.next()]
    t.same(second.map(({ message }) => message.params ?? message.method).sort(), [
      { progressToken: 'a', progress: 999 },
      { progressToken: 'b', progress: 999 },
      CHANGED,
    ])
    for (const exchange of second) exchange.reply(202)
    await settled()
    t.equal(http.waiting, 0)
    link.notify(CHANGED, undefined)
    t.equal(http.waiting, 1, 'and the next one is posted at once')
  },
)

t.test(
  'what must be told is posted a few at a time, and a server that takes nothing is given up',
  async t => {
    const { call, http, heard, clock } = await connected()
    const { exchange } = call()
    exchange.sse()
    for (let id = 0; id < 100; id += 1) exchange.event({ id: `p${id}`, method: 'ping' })
    await settled()
    t.equal(http.waiting, 64)
    http.next().reply(202)
    await settled()
    t.equal(http.waiting, 64, 'who was taken makes room')
    // Some servers answer a POST only when they have dealt with it.
    await pass(clock, 10_000)
    t.equal(http.waiting, 99)
    for (let id = 100; id < 2100; id += 1) exchange.event({ id: `p${id}`, method: 'ping' })
    await settled()
    t.ok(http.waiting < 300)
    t.same(heard, ['closed disconnected'])
  },
)

t.test('requests that are called off at once keep no connection each', async t => {
  const { call, http } = await connected()
  for (let n = 0; n < 200; n += 1) call().down.cancel('user')
  await settled()
  const calls = http.all.filter(({ message }) => message.method === 'tools/call')
  t.equal(calls.length, 200)
  t.equal(calls.filter(({ isAborted }) => !isAborted).length, 64)
})

// ── the session ──

const LOST = '{"jsonrpc":"2.0","id":null,"error":{}}'
const JSON_TYPE = { 'content-type': 'application/json' }

t.test('404 loses the session: requests in flight wait for replies of their own', async t => {
  const { call, heard, http, link, clock } = await connected()
  const [hit, second, answered, streaming, waiting] = [call(), call(), call(), call(), call()]
  streaming.exchange.sse()
  await settled()
  hit.exchange.reply(404, JSON_TYPE, LOST)
  await settled()
  t.match(hit.ends, [/^session-lost/])
  t.same(heard, ['closed disconnected'], 'a new session can begin at once')
  second.exchange.reply(404, JSON_TYPE, LOST)
  const { id } = answered.exchange.message
  answered.exchange.reply(200, JSON_TYPE, JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }))
  await settled()
  t.match(second.ends, [/^session-lost/], 'this request was not run either')
  t.match(answered.ends, [/content/], 'this request was run')
  t.same([streaming.ends, waiting.ends], [[], []])
  await pass(clock, 5000)
  t.match([streaming.ends, waiting.ends], [[/^disconnected/], [/^disconnected/]])
  t.ok(waiting.exchange.isAborted)
  t.same(heard, ['closed disconnected'])
  link.notify('notifications/x', undefined)
  t.equal(http.waiting, 0)
  const late: string[] = []
  link.call(
    { method: 'tools/list', params: undefined, wantsProgress: false },
    { progress: () => undefined, ended: outcome => late.push(shown(outcome)) },
  )
  t.match(late, [/^session-lost/], 'a request that was not sent may be sent in the next session')
  await link.close()
  t.equal(http.waiting, 0, 'a lost session is not ended again')
  t.equal(clock.pending, 0)
})

t.test('a question that comes after the session was lost reaches no client', async t => {
  const { call, asks } = await connected()
  const [hit, streaming] = [call(), call()]
  streaming.exchange.sse()
  hit.exchange.reply(404, JSON_TYPE, LOST)
  await settled()
  streaming.exchange.raw('data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}\n\n')
  await settled()
  t.same(asks, [])
})

t.test('at most 64 streams of answered requests are kept open', async t => {
  const { call, clock } = await connected()
  const calls = Array.from({ length: 70 }, () => call())
  for (const { exchange } of calls) {
    exchange.sse()
    exchange.raw(`data: {"jsonrpc":"2.0","id":${exchange.message.id},"result":{}}\n\n`)
  }
  await settled()
  t.ok(calls.every(({ ends }) => ends.length === 1))
  const open = () => calls.filter(({ exchange }) => !exchange.isAborted).length
  t.equal(open(), 64)
  await pass(clock, 5000)
  t.equal(open(), 0)
})

t.test('404 with an answer to the request is that answer, and the session stays', async t => {
  const json = { 'content-type': 'application/json' }
  const error = (id: unknown, code: number) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } })
  const { call, heard } = await connected()
  const [unknown, done] = [call(), call()]
  unknown.exchange.reply(404, json, error(unknown.exchange.message.id, -32602))
  done.exchange.reply(404, json, `{"jsonrpc":"2.0","id":${done.exchange.message.id},"result":{"content":[]}}`)
  await settled()
  t.match(unknown.ends, [/-32602/])
  t.match(done.ends, [/content/])
  t.same(heard, [])
  const lost = call()
  lost.exchange.reply(404, json, error(lost.exchange.message.id, -32001))
  await settled()
  t.match(lost.ends, [/^session-lost/], 'SDK servers say so of a session')
  t.same(heard, ['closed disconnected'])
})

t.test('404 to a notification or a resumption loses the session for every request', async t => {
  const { call, heard, http, link, clock } = await connected()
  const { exchange, ends } = call()
  exchange.sse()
  exchange.raw('id: e1\ndata: \n\n')
  exchange.end()
  await settled()
  await pass(clock, 20_000)
  http.next().reply(404)
  await settled()
  t.same(heard, [], 'the route of GET may be missing')
  const ping = http.next()
  t.equal(ping.message.method, 'ping')
  ping.reply(404)
  await settled()
  t.same(heard, ['closed disconnected'])
  await pass(clock, 5000)
  t.match(ends, [/^disconnected/])
  const other = await connected()
  const open = other.call()
  other.link.notify('notifications/x', undefined)
  other.http.next().reply(404)
  await settled()
  await pass(other.clock, 5000)
  t.match(open.ends, [/^disconnected/])
  t.notOk(link.receivesUnsolicited)
})

t.test('404 without a session is a status like any other', async t => {
  const { call, heard } = await connected({ session: '' })
  const { exchange, faults } = call()
  exchange.reply(404)
  await settled()
  t.equal(faults[0]?.code, 'unavailable')
  t.same(heard, [])
})

t.test('notifications are taken with any 2xx; another status is logged and nothing breaks', async t => {
  const { link, http, lines, heard } = await connected()
  for (const status of [202, 200, 204, 400, 500]) {
    link.notify('notifications/x', textOf({ status }))
    const exchange = http.next()
    exchange.reply(status)
    await settled()
    t.equal(exchange.isDiscarded, status < 400, 'an error is read to its end')
  }
  link.notify('notifications/x', undefined)
  http.next().break()
  await settled()
  t.equal(lines.filter(([level]) => level === 'warn').length, 2)
  t.same(heard, [])
})

t.test('closing ends what is open, then the session, and gives up on that after a second', async t => {
  const { call, heard, http, link, clock } = await connected()
  const { ends } = call()
  const closing = link.close()
  t.match(ends, [/^disconnected/])
  t.same(heard, ['closed disconnected'])
  const end = http.next()
  t.same([end.method, end.headers['mcp-session-id']], ['DELETE', 'sid-1'])
  await pass(clock, 1000)
  await closing
  await link.close()
  t.equal(http.waiting, 0)
  t.equal(clock.pending, 0)
  for (const status of [200, 405, 404, 500]) {
    const other = await connected()
    const done = other.link.close()
    other.http.next().reply(status)
    await done
  }
})

t.test('every message of the server counts as a sign of life', async t => {
  const { call, link } = await connected()
  const signs = () => (link as LegacyDownlink).conversation.receivedCount
  const before = signs()
  const { exchange } = call()
  exchange.json({ result: {} })
  await settled()
  t.ok(signs() > before, 'a JSON answer')
  const stream = call().exchange
  stream.sse()
  await settled()
  const streaming = signs()
  stream.raw(':\n\n')
  await settled()
  t.equal(signs(), streaming + 1, 'a comment on a stream')
})

// ── the standalone stream ──

t.test('what belongs to no request is heard on the standalone stream', async t => {
  let stream: FakeExchange | undefined
  const { link, heard, asks } = await connected({
    get: exchange => {
      stream = exchange
      exchange.sse()
    },
  })
  t.ok(link.receivesUnsolicited)
  stream?.event({ method: 'notifications/tools/list_changed' })
  stream?.event({ id: 1, method: 'roots/list' })
  await settled()
  t.same(heard, ['notifications/tools/list_changed'])
  t.equal(asks[0]?.about, undefined)
})

t.test('a server without such a stream is left in peace', async t => {
  for (const status of [405, 400, 200]) {
    const { link, http, clock, lines, heard } = await connected({ get: exchange => exchange.reply(status) })
    t.notOk(link.receivesUnsolicited)
    await pass(clock, 10 * 60_000)
    await settled()
    t.equal(http.waiting, 0, String(status))
    t.equal(clock.pending, 0)
    t.same(
      lines.filter(([level]) => level !== 'debug'),
      [],
    )
    t.same(heard, [])
  }
})

t.test('a standalone stream that ends is opened again at its place, ever more slowly', async t => {
  let stream: FakeExchange | undefined
  const { link, http, clock, heard } = await connected({
    get: exchange => {
      stream = exchange
      exchange.sse()
    },
  })
  stream?.event({ method: 'notifications/x' }, 'g7')
  stream?.end()
  await settled()
  t.notOk(link.receivesUnsolicited)
  await pass(clock, 1200)
  await settled()
  const second = http.next()
  t.same([second.method, second.headers['last-event-id']], ['GET', 'g7'])
  second.sse()
  await settled()
  t.ok(link.receivesUnsolicited)
  second.break()
  let opened = 0
  for (let seconds = 0; seconds < 600; seconds += 1) {
    await settled()
    while (http.waiting > 0) {
      opened += 1
      http.next().reply(503)
    }
    await pass(clock, 1000)
  }
  t.ok(opened >= 10 && opened <= 25, `${opened} tries in ten minutes`)
  t.same(heard, ['notifications/x'])
})

t.test('an unknown event id is dropped, and the stream restarts', async t => {
  let stream: FakeExchange | undefined
  const { link, http, clock } = await connected({
    get: exchange => {
      stream = exchange
      exchange.sse()
    },
  })
  stream?.event({ method: 'notifications/x' }, 'g7')
  stream?.end()
  await settled()
  await pass(clock, 2000)
  http.next().reply(400)
  await settled()
  await pass(clock, 5000)
  const anew = http.next()
  t.equal(anew.headers['last-event-id'], undefined)
  anew.sse()
  await settled()
  t.ok(link.receivesUnsolicited)
  const closing = link.close()
  t.notOk(link.receivesUnsolicited)
  http.next().reply(200)
  await closing
  await settled()
  await pass(clock, 100_000)
  t.equal(http.waiting, 0, 'not after the end')
})

// ── sessions that go on at another replica ──

t.test('another replica resumes a session without a handshake', async t => {
  const first = await connected({ version: '2025-06-18' })
  const last = first.call().down.id
  const saved = first.saved.last
  first.saved.isElsewhere = true
  await first.link.close()
  t.equal(first.http.waiting, 0, 'whoever gives it up does not end it')
  t.equal(first.saved.last, saved)

  const { http, saved: again, resume, heard } = start()
  const resuming = resume(saved)
  const ping = http.next()
  t.match(
    [ping.message.method, ping.headers],
    ['ping', { 'mcp-session-id': 'sid-1', 'mcp-protocol-version': '2025-06-18' }],
  )
  t.ok(Number(ping.message.id) > Number(last) + 1000, 'no id is used twice')
  ping.json({ result: {} })
  const link = await resuming
  await settled()
  const get = http.next()
  t.match([get.method, get.headers], ['GET', { 'mcp-session-id': 'sid-1' }])
  get.reply(405)
  t.match([link?.facts.revision, link?.facts.info.toString()], ['2025-06-18', '{"name":"s","version":"1"}'])
  t.not(again.last?.toString(), saved?.toString(), 'the next one is told of other ids')
  void link?.close()
  t.equal(http.next().method, 'DELETE', 'it is ended where nobody else has it')
  t.same([again.last, heard], [undefined, ['closed disconnected']])
})

t.test('a session goes on only at its own address, and if its server knows it', async t => {
  const saved = (await connected()).saved.last
  for (const [from, url] of [
    [undefined, undefined],
    [saved, 'https://other.example/mcp'],
    [rawText(saved?.toString().replace('2025-06-18', '2031-01-01') ?? ''), undefined],
  ] as const) {
    const { http, resume } = start()
    t.same([await resume(from, url), http.waiting], [undefined, 0])
  }
  const { http, saved: again, resume, heard } = start()
  const resuming = resume(saved)
  http.next().reply(404)
  t.equal(await resuming, undefined)
  t.same([again.last, heard, http.waiting], [undefined, [], 0])
})

t.test('a server that does not know ping knows its session', async t => {
  const saved = (await connected()).saved.last
  const { http, resume } = start()
  const resuming = resume(saved)
  http.next().json({ error: { code: -32601, message: 'unknown' } })
  t.ok(await resuming)
})

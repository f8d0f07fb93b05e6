import t from 'tap'
import { HttpSession } from '../../../../src/eras/legacy/client-side/http-session.js'
import { HttpSessions } from '../../../../src/eras/legacy/client-side/http-sessions.js'
import { createHttpListener } from '../../../../src/eras/listen/http-listener.js'
import { Deferred } from '../../../../src/kernel/async/deferred.js'
import { type Caller, LOCAL } from '../../../../src/kernel/caller.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { Limits } from '../../../../src/kernel/limits.js'
import { silentLogger } from '../../../../src/kernel/logger.js'
import { succeeded } from '../../../../src/model/outcome.js'
import { classify } from '../../../../src/wire/classify.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { FakeHandler } from '../../../support/proxy/listeners.js'
import { FakeServerRequest } from '../../../support/server/fake-server.js'
import { boundsOf, IDENTITY, progressOf, shown } from '../../../support/values.js'
import { recordedLog, rpc } from '../../../support/wire/channel-pair.js'
import { FakeResponder, httpRequest } from '../../../support/wire/fake-http.js'

/** A session that takes a request with its id. */
const found = ({ byId }: HttpSessions, id: string, caller: Caller) =>
  byId.get(id)?.takesFrom(caller) === true ? byId.get(id) : undefined

const BOTH = 'application/json, text/event-stream'
const EMPTY = succeeded(rawText('{}'))
const hello = (protocolVersion: string, capabilities: object = {}) => ({
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities, clientInfo: { name: 'c', version: '1' } },
})
const call = (id: number, token?: unknown, name = 'x') => ({
  id,
  method: 'tools/call',
  params: { name, ...(token !== undefined && { _meta: { progressToken: token } }) },
})

type Headers = Record<string, string>

/** The time within which a client learns that its answer is a stream, if nothing precedes it. */
const SOON_MS = 10

const start = (limits: Partial<Limits> = {}) => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log, lines } = recordedLog()
  const bounds = boundsOf(limits, clock)
  const host = createHttpListener({
    handler,
    clock,
    identity: IDENTITY,
    log,
    bounds,
  })
  const send = (method: string, headers: Headers, body?: string | object, from = '127.0.0.1') => {
    const responder = new FakeResponder()
    host.handle(httpRequest(method, headers, body, from), responder)
    return responder
  }
  const post = (body: string | object, headers: Headers = {}) =>
    send('POST', { accept: BOTH, 'content-type': 'application/json', ...headers }, body)
  /** A session of its own, with the requests that its client can make. */
  const open = async (version = '2025-11-25', capabilities: object = {}) => {
    const greeting = post(hello(version, capabilities))
    await settled()
    const id = greeting.headers['mcp-session-id'] ?? ''
    const session = { 'mcp-session-id': id }
    post({ method: 'notifications/initialized' }, session)
    return {
      id,
      client: handler.client,
      post: (body: string | object, headers: Headers = {}) => post(body, { ...session, ...headers }),
      get: (headers: Headers = {}) => send('GET', { accept: 'text/event-stream', ...session, ...headers }),
      end: () => send('DELETE', session),
    }
  }
  return { handler, clock, lines, host, send, post, open, bounds }
}

// ── the door ──

t.test('initialize is answered as JSON with an unguessable session id', async t => {
  const { post } = start()
  const ids = new Set<string>()
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    const answer = post(hello(version))
    t.equal(answer.answers, 0, 'not before it is ready')
    await settled()
    t.equal(answer.status, 200)
    t.equal(answer.headers['content-type'], 'application/json')
    t.equal(answer.json.result?.['protocolVersion'], version)
    const id = answer.headers['mcp-session-id'] ?? ''
    t.match(id, /^[!-~]{22,}$/, '128 bits in base64url')
    ids.add(id)
  }
  t.equal(ids.size, 4)
})

t.test('a client that accepts event streams only is greeted on one', async t => {
  const { post } = start()
  const answer = post(hello('2025-06-18'), { accept: 'text/event-stream' })
  await settled()
  t.equal(answer.headers['content-type'], 'text/event-stream')
  t.ok(answer.headers['mcp-session-id'])
  t.equal(answer.messages[0]?.result?.['protocolVersion'], '2025-06-18')
  t.ok(answer.isEnded)
})

t.test('a refused initialize leaves no session and issues no id', async t => {
  const { post, host } = start()
  const answer = post({ id: 1, method: 'initialize', params: {} })
  t.equal(answer.status, 200)
  t.equal(answer.json.error?.code, -32602)
  t.equal(answer.headers['mcp-session-id'], undefined)
  t.equal(host.sessions, 0)
})

t.test('invalid requests to this endpoint get their HTTP status', async t => {
  const { send, post, open } = start()
  const { id } = await open()
  const session = { 'mcp-session-id': id }
  const json = { accept: BOTH, 'content-type': 'application/json' }
  const rows: [string, FakeResponder, number, number][] = [
    ['another method', send('PUT', session), 405, -32600],
    ['no content type', send('POST', { accept: BOTH, ...session }, {}), 415, -32600],
    ['text', send('POST', { accept: BOTH, 'content-type': 'text/plain' }, {}), 415, -32600],
    ['accepts HTML', post({ id: 1, method: 'ping' }, { ...session, accept: 'text/html' }), 406, -32600],
    ['unreadable', post('{"jsonrpc":', session), 400, -32700],
    ['unreadable, no session', post('\xff'), 400, -32700],
    ['an empty batch', post('[]', session), 400, -32600],
    ['null id', post('{"jsonrpc":"2.0","id":null,"method":"ping"}', session), 400, -32600],
    ['a bad answer', post('{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', session), 400, -32600],
    ['no session', post({ id: 1, method: 'tools/list' }), 400, -32600],
    ['a notification without session', post({ method: 'notifications/x' }), 400, -32600],
    ['unknown session', post({ id: 1, method: 'ping' }, { 'mcp-session-id': 'gone' }), 404, -32600],
    ['long session', post({ id: 1, method: 'ping' }, { 'mcp-session-id': 'x'.repeat(9999) }), 404, -32600],
    [
      'another principal',
      send('POST', { ...json, ...session }, { id: 1, method: 'ping' }, '::2'),
      404,
      -32600,
    ],
    ['GET of another principal', send('GET', { accept: '*/*', ...session }, '', '::2'), 404, -32600],
    ['DELETE of another principal', send('DELETE', session, '', '::2'), 404, -32600],
    ['DELETE without session', send('DELETE', {}), 400, -32600],
    ['GET without session', send('GET', { accept: 'text/event-stream' }), 400, -32600],
    ['GET without Accept', send('GET', session), 406, -32600],
    ['GET that accepts JSON', send('GET', { accept: 'application/json', ...session }), 406, -32600],
    [
      'unknown version',
      post({ id: 1, method: 'ping' }, { ...session, 'mcp-protocol-version': '1.0' }),
      400,
      -32600,
    ],
    ['initialize in a batch', post([{ jsonrpc: '2.0', ...hello('2025-03-26') }], session), 400, -32600],
  ]
  for (const [what, answer, status, code] of rows) {
    t.equal(answer.status, status, what)
    t.equal(answer.json.error?.code, code, what)
    t.notOk(Object.hasOwn(answer.json, 'id'), what)
  }
  t.equal(rows[0]?.[1].headers['allow'], 'GET, POST, DELETE')
})

t.test('a refusal names the request when its id can be read', async t => {
  const { post } = start()
  const answer = post('{"jsonrpc":"1.0","id":"a","method":"ping"}')
  t.equal(answer.status, 400)
  t.match(answer.json, { id: 'a', error: { code: -32600 } })
})

t.test('another supported MCP-Protocol-Version than the agreed one is let pass', async t => {
  const { open } = start()
  const { post } = await open('2025-06-18')
  t.equal(post({ id: 1, method: 'ping' }, { 'mcp-protocol-version': '2025-03-26' }).status, 200)
})

t.test('notifications and answers are taken with 202 and no body', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const rows = [
    { method: 'notifications/roots/list_changed' },
    { id: 'x', result: {} },
    { method: 'notifications/?' },
  ]
  for (const message of rows) {
    const answer = post(message)
    t.same([answer.status, answer.body], [202, ''])
  }
  t.equal(handler.notices.length, 2)
})

t.test('an error of a call is HTTP 200, so that clients see it', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const answer = post({ id: 'p', method: 'prompts/get' })
  handler.last.end({ kind: 'error', error: rawText('{"code":-32602,"message":"Unknown prompt"}') })
  t.equal(answer.status, 200)
  t.equal(answer.body, '{"jsonrpc":"2.0","id":"p","error":{"code":-32602,"message":"Unknown prompt"}}')
})

t.test('a second initialize in a session is refused; an unknown session may start again', async t => {
  const { open, post, host } = start()
  const session = await open('2025-03-26')
  const again = session.post(hello('2025-11-25'))
  t.equal(again.json.error?.code, -32600)
  t.equal(host.sessions, 1)
  const anew = post(hello('2025-11-25'), { 'mcp-session-id': 'stale' })
  await settled()
  t.ok(anew.headers['mcp-session-id'])
  t.equal(host.sessions, 2)
})

// ── sessions ──

t.test(
  'DELETE ends the session: calls are cancelled and answered, streams end, the id is unknown',
  async t => {
    const { open, handler, host, clock } = start()
    const { post, get, end } = await open()
    const standalone = get()
    const waiting = post({ id: 1, method: 'tools/list' })
    const streaming = post(call(2, 'token'))
    clock.advance(SOON_MS)
    t.equal(end().status, 200)
    t.same(handler.cancels, [
      'tools/list the client ended the session',
      'tools/call the client ended the session',
    ])
    t.match(waiting.json, { id: 1, error: { code: -32603 } })
    t.match(streaming.messages.at(-1), { id: 2, error: { code: -32603 } })
    t.ok(standalone.isEnded && streaming.isEnded)
    t.equal(handler.gone.length, 1)
    t.equal(host.sessions, 0)
    t.equal(post({ id: 3, method: 'ping' }).status, 404)
    t.equal(get().status, 404)
    t.equal(end().status, 404)
  },
)

t.test('a client that comes with everything at once in parallel is served in order', async t => {
  const { post, handler } = start()
  handler.gate = new Deferred()
  handler.onCall = list => list.end(EMPTY)
  const greeting = post(hello('2025-03-26'))
  t.equal(greeting.answers, 0)
  handler.gate.resolve()
  await settled()
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const answers = Array.from({ length: 100 }, (_, id) => post({ id, method: 'tools/list' }, session))
  t.same(
    answers.map(answer => answer.json.id),
    answers.map((_, id) => id),
  )
})

const sessions = (clock: FakeClock, limits: Partial<Limits> = {}) => {
  const handler = new FakeHandler()
  const bounds = boundsOf(limits, clock)
  const table = new HttpSessions(clock, bounds)
  const add = async () => {
    clock.advance(10)
    if (table.makeRoom('local', 0) !== undefined) return undefined
    const options = { clock, handler, identity: IDENTITY, log: silentLogger, bounds }
    const session = new HttpSession(LOCAL, table.kept, options)
    say(session, hello('2025-06-18'))
    table.add(session)
    await settled()
    return session
  }
  const say = (session: HttpSession | undefined, message: object) => {
    const classified = classify(Buffer.from(rpc(message)))
    const responder = new FakeResponder()
    if (classified.is === 'message')
      session?.uplink.receive(classified.message, session.post(responder, 'json'))
    return responder
  }
  return { table, add, say, handler, bounds }
}

t.test('at the cap only sessions of clients that seem to be gone give way', async t => {
  const clock = new FakeClock()
  const { table, add, say, bounds } = sessions(clock, { sessions: 3, sessionIdle: 1e9 })
  const [used, unused, listening] = [await add(), await add(), await add()]
  say(used, { id: 1, method: 'ping' })
  listening?.listen(new FakeResponder())
  t.equal(await add(), undefined, 'all have only just come')
  t.equal(bounds.hits.sessions?.hits, 1)
  clock.advance(10_000)
  t.ok(await add())
  t.equal(found(table, unused?.id ?? '', LOCAL), undefined, 'it has not asked for anything for 10 s')
  clock.advance(9_000)
  t.equal(await add(), undefined)
  clock.advance(300_000)
  t.equal(found(table, used?.id ?? '', LOCAL), used)
  t.ok(await add(), 'the one that came last has been away')
  t.equal(found(table, used?.id ?? '', LOCAL), used)
  t.equal(found(table, listening?.id ?? '', LOCAL), listening, 'whoever listens is there')
  t.equal(table.byId.size, 3)
})

t.test('a session that asked for something gives way when it was away for five minutes', async t => {
  const clock = new FakeClock()
  const { table, add, say } = sessions(clock, { sessions: 1, sessionIdle: 1e9 })
  const used = await add()
  say(used, { id: 1, method: 'ping' })
  clock.advance(299_000)
  t.equal(await add(), undefined)
  clock.advance(1_000)
  t.ok(await add())
  t.equal(found(table, used?.id ?? '', LOCAL), undefined)
})

t.test('an idle session ends, one with an open stream or a call does not', async t => {
  const clock = new FakeClock()
  const { table, add, say, handler } = sessions(clock, { sessionIdle: 1000 })
  const [idle, listening, busy] = [await add(), await add(), await add()]
  const stream = new FakeResponder()
  listening?.listen(stream)
  say(busy, { id: 1, method: 'tools/call' })
  clock.advance(2000)
  table.sweep()
  t.equal(found(table, idle?.id ?? '', LOCAL), undefined)
  t.equal(table.byId.size, 2)
  t.equal(handler.gone.length, 1)
  stream.goAway()
  table.sweep()
  t.equal(table.byId.size, 2, 'the time begins when the stream is gone')
  clock.advance(1001)
  table.sweep()
  t.equal(table.byId.size, 1, 'the call still runs')
})

t.test('a session whose client is silent lives for a day', async t => {
  const clock = new FakeClock()
  const { table, add, say } = sessions(clock)
  const session = await add()
  say(session, { id: 1, method: 'ping' })
  for (let hour = 0; hour < 23; hour += 1) {
    clock.advance(3_600_000)
    table.sweep()
  }
  t.equal(found(table, session?.id ?? '', LOCAL), session, 'and from its next request on another day')
  clock.advance(24 * 3_600_000 + 1)
  table.sweep()
  t.equal(table.byId.size, 0)
})

t.test('while memory is short sessions that seem to be abandoned end, the idlest first', async t => {
  const clock = new FakeClock()
  const { table, add, say, bounds } = sessions(clock)
  const all = await Promise.all(Array.from({ length: 150 }, add))
  for (const session of all) say(session, { id: 1, method: 'ping' })
  for (const session of all.slice(0, 20)) session?.listen(new FakeResponder())
  clock.advance(300_001)
  const fresh = await add()
  say(fresh, { id: 1, method: 'ping' })
  const isThere = (at: number) => found(table, all[at]?.id ?? '', LOCAL) !== undefined
  bounds.pressure = 2
  t.equal(await add(), undefined)
  table.shed()
  t.equal(table.byId.size, 51)
  t.same([isThere(0), isThere(20), isThere(119), isThere(120)], [true, false, false, true])
  table.shed()
  table.shed()
  t.equal(table.byId.size, 22, 'those who listen, who came just now, and who has just asked for something')
})

t.test('a client without an open stream that asks for nothing is taken to be away, once', async t => {
  const clock = new FakeClock()
  const { table, add, handler } = sessions(clock, { sessionIdle: 3_600_000 })
  const [session, listening] = [await add(), await add()]
  listening?.listen(new FakeResponder())
  for (let minute = 0; minute < 10; minute += 1) {
    clock.advance(60_000)
    table.sweep()
  }
  t.same(handler.rested, [session?.uplink])
  found(table, session?.id ?? '', LOCAL)
  clock.advance(301_000)
  table.sweep()
  t.equal(handler.rested.length, 2, 'it came back and went away again')
})

t.test(
  'when there are too many sessions, a newcomer hears 503, which limit it was, and when to come back',
  async t => {
    const { open, post, host, bounds } = start({ sessions: 3 })
    for (let i = 0; i < 3; i += 1) (await open()).get()
    const answer = post(hello('2025-11-25'))
    t.equal(answer.status, 503)
    t.equal(answer.headers['retry-after'], '5')
    t.match(answer.json, {
      id: 0,
      error: {
        code: -32603,
        message: /^There are too many sessions \(limits\.sessions is 3\)/,
        data: { reason: 'overloaded', limit: 'sessions', max: 3 },
      },
    })
    t.equal(host.sessions, 3)
    t.equal(bounds.hits.sessions?.hits, 1)
  },
)

t.test('one principal cannot take the sessions of all', async t => {
  const { open, post, send, host } = start({ sessionsPerPrincipal: 1 })
  await open()
  t.match(post(hello('2025-11-25')).json.error?.data, { limit: 'sessionsPerPrincipal' })
  const headers = { accept: BOTH, 'content-type': 'application/json' }
  send('POST', headers, hello('2025-11-25'), '10.0.0.1')
  await settled()
  t.equal(host.sessions, 2)
})

t.test(
  'a request too many of one client is refused with 429; its answers and cancellations still count',
  async t => {
    const { open, handler, bounds } = start({ callsPerClient: 2 })
    const one = await open()
    const other = await open()
    const calls = [1, 2].map(id => one.post(call(id)))
    const refused = one.post(call(3, 'token'))
    t.equal(refused.status, 429)
    t.equal(refused.headers['retry-after'], '1')
    t.match(refused.json, {
      id: 3,
      error: { code: -32603, data: { reason: 'overloaded', limit: 'callsPerClient', max: 2 } },
    })
    t.equal(bounds.hits.callsPerClient?.hits, 1)
    t.equal(one.post({ id: 4, method: 'ping' }).status, 200, 'a ping costs nothing')
    const served = other.post(call(1))
    handler.last.end(EMPTY)
    t.equal(served.status, 200, 'others are served')
    t.equal(one.post({ method: 'notifications/cancelled', params: { requestId: 1 } }).status, 202)
    t.ok(calls[0]?.isEnded)
    one.post(call(5))
    t.equal(handler.calls.length, 4, 'there is room again')
  },
)

t.test('a session has so many event streams open and no more', async t => {
  const { open, handler, bounds } = start({ streamsPerSession: 2 })
  const { get, post } = await open()
  get()
  post(call(1, 'token'))
  const refused = post(call(2))
  t.equal(refused.status, 429)
  t.match(refused.json, { id: 2, error: { data: { limit: 'streamsPerSession', max: 2 } } })
  t.equal(bounds.hits.streamsPerSession?.hits, 1)
  handler.last.end(EMPTY)
  post(call(3))
  t.equal(handler.calls.length, 2)
})

t.test('a client that is far behind in reading is cut off, and that is counted', async t => {
  const { open, handler, bounds } = start({ softQueue: 20_000, streamQueue: 70_000 })
  const { get } = await open()
  const stream = get()
  const begun = stream.body.length
  stream.queuedBytes = 20_001
  handler.client.notify('notifications/message', undefined)
  t.equal(stream.body.length, begun, 'log messages are left out first')
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.ok(stream.body.length > begun)
  stream.queuedBytes = 70_001
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.ok(stream.isDestroyed)
  t.same([bounds.hits.softQueue?.hits, bounds.hits.streamQueue?.hits], [1, 1])
})

t.test('closing the face ends every session once and stops its timers', async t => {
  const { open, host, handler, clock } = start()
  const { post } = await open()
  await open()
  const waiting = post({ id: 1, method: 'tools/list' })
  host.close()
  host.close()
  t.equal(waiting.json.error?.code, -32603)
  t.equal(handler.gone.length, 2)
  t.equal(handler.cancels.length, 1)
  t.equal(clock.pending, 0)
  t.equal(post(hello('2025-11-25')).status, 503, 'nobody is let in any more')
  t.equal(handler.clients.length, 2)
})

// ── JSON or a stream ──

t.test('lists are JSON; a call that asks for progress is a stream from the start', async t => {
  const { open, handler, clock } = start()
  const { post } = await open()
  const list = post({ id: 1, method: 'tools/list', params: { _meta: { progressToken: 1 } } })
  handler.last.end(EMPTY)
  t.equal(list.headers['content-type'], 'application/json')
  const quiet = post(call(2))
  handler.last.end(EMPTY)
  t.equal(quiet.headers['content-type'], 'application/json')
  const streamed = post(call(3, 0))
  clock.advance(SOON_MS)
  t.equal(streamed.headers['content-type'], 'text/event-stream')
  t.equal(streamed.headers['x-accel-buffering'], 'no')
  t.match(streamed.headers['cache-control'], /no-cache/)
  handler.last.progress(progressOf({ progressToken: 9, progress: 1 }))
  handler.last.end(EMPTY)
  handler.last.progress(progressOf({ progressToken: 9, progress: 2 }))
  t.same(streamed.messages, [
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 0, progress: 1 } },
    { jsonrpc: '2.0', id: 3, result: {} },
  ])
  t.ok(streamed.isEnded)
})

t.test('a client that can be asked gets its calls as streams, so that there is a way to ask', async t => {
  const { open, clock } = start()
  const { post } = await open('2025-06-18', { sampling: {} })
  const [asked, listed] = [post(call(1)), post({ id: 2, method: 'tools/list' })]
  clock.advance(SOON_MS)
  t.ok(asked.isStream)
  t.notOk(listed.isStream)
})

t.test('an early and only answer is not sent as a stream', async t => {
  const { open, handler, clock } = start()
  const { post } = await open()
  const [quick, told, ended] = [post(call(1, 1)), post(call(2, 2)), post(call(3, 3))]
  t.same([quick.answers, told.answers, ended.answers], [0, 0, 0])
  const [first, second] = handler.calls
  first?.end(EMPTY)
  t.notOk(quick.isStream)
  t.match(quick.json, { id: 1, result: {} })
  second?.progress(progressOf({ progressToken: 9, progress: 1 }))
  t.match(told.messages, [{ method: 'notifications/progress' }])
  post({ method: 'notifications/cancelled', params: { requestId: 3 } })
  t.same([ended.isStream, ended.isEnded, ended.messages], [true, true, []])
  const before = [quick.body, told.body, ended.body]
  clock.advance(SOON_MS)
  t.same([quick.body, told.body, ended.body], before, 'and once')
})

t.test('an answer becomes a stream when something is said first', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const answer = post(call(1))
  t.equal(answer.answers, 0)
  handler.last.notify('notifications/message', textOf({ level: 'info', data: 1 }))
  t.equal(answer.headers['content-type'], 'text/event-stream')
  handler.last.end(EMPTY)
  t.same(
    answer.messages.map(({ method, id }) => method ?? id),
    ['notifications/message', 1],
  )
})

t.test('an answer that takes long becomes a stream, and streams are kept alive', async t => {
  const { open, handler, clock } = start()
  const { post, get } = await open('2025-06-18')
  const [slow, standalone] = [post({ id: 1, method: 'tools/list' }), get()]
  clock.advance(15_000)
  t.equal(slow.headers['content-type'], 'text/event-stream')
  t.match(slow.body, /^:\n\n$/)
  t.match(standalone.body, /^:\n\n$/)
  handler.last.end(EMPTY)
  t.match(slow.messages, [{ id: 1 }])
  const before = slow.body
  clock.advance(15_000)
  t.equal(slow.body, before, 'not after its end')
})

t.test(
  'streams begin with an event to resume from and a retry time, only for clients that know it',
  async t => {
    const { open, clock } = start()
    const primed = await open('2025-11-25')
    const streams = [primed.post(call(1, 1)), primed.get()]
    clock.advance(SOON_MS)
    for (const answer of streams) {
      t.match(answer.body, /^id: \d+\.0\nretry: \d+\ndata: \n\n$/)
    }
    for (const version of ['2025-03-26', '2025-06-18']) {
      const { post, get } = await start().open(version)
      for (const answer of [post(call(1, 1)), get()]) t.equal(answer.body, '', version)
    }
  },
)

t.test('a client that takes JSON only never gets a stream', async t => {
  const { open, handler, clock } = start()
  const { post, get } = await open('2025-11-25', { sampling: {} })
  const answer = post(call(1, 'token'), { accept: 'application/json' })
  const standalone = get()
  handler.last.notify('notifications/message', textOf({ data: 1 }))
  clock.advance(60_000)
  t.equal(answer.answers, 0)
  handler.last.end(EMPTY)
  t.match(answer.json, { id: 1 })
  t.match(standalone.messages, [{ method: 'notifications/message' }], 'the rest is on the standalone stream')
  const cancelled = post(call(2), { accept: 'application/json' })
  post({ method: 'notifications/cancelled', params: { requestId: 2 } })
  t.same([cancelled.status, cancelled.body, cancelled.isStream], [202, '', false])
})

t.test(
  'progress and log lines of a call that no stream can carry are dropped, and no update with them',
  async t => {
    const { open, handler } = start()
    const { post, client, get } = await open()
    client.notify('notifications/resources/updated', textOf({ uri: 'x://1' }))
    post(call(1, 'token'), { accept: 'application/json' })
    for (let n = 1; n <= 150; n += 1) {
      handler.last.progress(progressOf({ progressToken: 'token', progress: n }))
      handler.last.notify('notifications/message', textOf({ data: n }))
    }
    handler.last.end(EMPTY)
    t.match(get().messages, [{ method: 'notifications/resources/updated' }])
    t.equal(get().messages.length, 0)
  },
)

t.test(
  'a question on the stream of a client that is gone fails after 10 s, unless it comes back',
  async t => {
    const { open, handler, clock } = start()
    const { post, client, get } = await open('2025-11-25', { roots: {} })
    const streams = [post(call(1, 'token')), post(call(2, 'token'))]
    for (const one of handler.calls.slice(-2)) one.notify('notifications/message', textOf({ data: 1 }))
    for (const stream of streams) stream.goAway()
    const [lost, found] = [new FakeServerRequest(), new FakeServerRequest()]
    client.ask(lost, handler.calls.at(-2))
    client.ask(found, handler.calls.at(-1))
    const resumed = get({ 'last-event-id': streams[1]?.events.at(-1)?.id ?? '' })
    t.match(resumed.messages.at(-1), { method: 'roots/list' })
    clock.advance(9000)
    t.same(lost.outcomes, [])
    clock.advance(5000)
    t.match(lost.outcomes.map(shown), [/^unavailable/])
    t.same(found.outcomes, [])
  },
)

t.test(
  'a question to a client that takes JSON only goes to the standalone stream, or nowhere in 10 s',
  async t => {
    const { open, handler, clock } = start()
    const { post, client, get } = await open('2025-11-25', { roots: {} })
    post(call(1), { accept: 'application/json' })
    const [lost, found] = [new FakeServerRequest(), new FakeServerRequest()]
    client.ask(lost, handler.last)
    clock.advance(10_000)
    t.match(shown(lost.outcomes[0]), /^unavailable/)
    client.ask(found, handler.last)
    const [question] = get().messages
    post({ id: question?.id, result: { roots: [] } })
    t.same(found.outcomes.map(shown), ['result {"roots":[]}'])
  },
)

// ── batches ──

t.test('a batch of a 2025-03-26 client is answered by one event per answer', async t => {
  const { open, handler } = start()
  const { post } = await open('2025-03-26')
  const ask = (id: unknown, method = 'tools/list') => ({ jsonrpc: '2.0', id, method })
  const answer = post([ask(1), ask('p', 'ping'), { jsonrpc: '2.0', method: 'notifications/x' }, ask(2)])
  t.match(answer.messages, [{ id: 'p' }])
  for (const one of [...handler.calls].reverse()) one.end(EMPTY)
  t.same(
    answer.messages.map(({ id }) => id),
    ['p', 2, 1],
  )
  t.ok(answer.isEnded)
})

t.test('a batch of a client that takes JSON only is answered by one array', async t => {
  const { open, handler } = start()
  const { post } = await open('2025-03-26')
  const json = { accept: 'application/json' }
  const answer = post(
    [1, 2].map(id => ({ jsonrpc: '2.0', id, method: 'tools/list' })),
    json,
  )
  for (const one of handler.calls) one.end(EMPTY)
  t.equal(answer.body, '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]')
})

t.test('a question of a call in such a batch goes to the standalone stream, or nowhere in 10 s', async t => {
  const { open, handler, clock } = start()
  const { post, client } = await open('2025-03-26', { roots: {} })
  post([{ jsonrpc: '2.0', id: 1, method: 'tools/call' }], { accept: 'application/json' })
  const ask = new FakeServerRequest()
  client.ask(ask, handler.last)
  clock.advance(10_000)
  t.match(shown(ask.outcomes[0]), /^unavailable/)
})

t.test('a long batch is kept alive, a silent one is 202', async t => {
  const { open, clock } = start()
  const { post } = await open('2025-03-26')
  const answer = post([{ jsonrpc: '2.0', id: 1, method: 'tools/call' }])
  clock.advance(15_000)
  t.match(answer.body, /:\n\n$/)
  const silent = post([{ jsonrpc: '2.0', method: 'notifications/x' }])
  t.same([silent.status, silent.body], [202, ''])
})

t.test('no other revision takes batches', async t => {
  for (const version of ['2024-11-05', '2025-06-18', '2025-11-25']) {
    const { post } = await start().open(version)
    const answer = post([{ jsonrpc: '2.0', id: 1, method: 'ping' }])
    t.same([answer.status, answer.json.error?.code], [400, -32600], version)
  }
})

// ── who hears what ──

t.test(
  'what belongs to a call is heard on its stream only, what belongs to none on the standalone one',
  async t => {
    const { open, handler } = start()
    const session = await open('2025-06-18')
    const [one, two, standalone] = [session.post(call(1, 1)), session.post(call(2, 2)), session.get()]
    const other = await open('2025-06-18')
    const elsewhere = other.get()
    const [first, second] = handler.calls
    first?.progress(progressOf({ progress: 1 }))
    second?.notify('notifications/message', textOf({ data: 2 }))
    session.client.notify('notifications/tools/list_changed', undefined)
    t.same(
      [one, two, standalone, elsewhere].map(stream => stream.messages.map(({ method }) => method)),
      [['notifications/progress'], ['notifications/message'], ['notifications/tools/list_changed'], []],
    )
  },
)

t.test('notifications wait for a stream: a hundred of them, changed lists once each', async t => {
  const { open } = start()
  const { client, get } = await open('2025-06-18')
  for (let n = 0; n < 120; n += 1) client.notify('notifications/resources/updated', textOf({ n }))
  for (let n = 0; n < 5; n += 1) {
    client.notify('notifications/tools/list_changed', undefined)
    client.notify('notifications/prompts/list_changed', undefined)
  }
  const { messages } = get()
  t.equal(messages.length, 100)
  t.same(messages[0]?.params, { n: 22 })
  t.same(
    messages.slice(-2).map(({ method }) => method),
    ['notifications/tools/list_changed', 'notifications/prompts/list_changed'],
  )
  t.same(get().messages, [], 'told once')
})

t.test('a question waits 10 s for a stream, then the server hears an error', async t => {
  const { open, clock } = start()
  const { client, get, post } = await open('2025-06-18', { roots: {} })
  const [late, timely] = [new FakeServerRequest(), new FakeServerRequest()]
  client.ask(late, undefined)
  clock.advance(9000)
  client.ask(timely, undefined)
  t.same(late.outcomes, [])
  clock.advance(1000)
  t.same(late.outcomes.map(shown), ['unavailable: The client has no open stream for server requests'])
  const { messages } = get()
  t.equal(messages.length, 1)
  const { id } = messages[0] ?? {}
  t.match(id, /^[\w-]{22}$/, 'unguessable')
  clock.advance(60_000)
  t.same(timely.outcomes, [], 'once asked, the time is the mux’s business')
  post({ id, result: { roots: [] } })
  t.same(timely.outcomes.map(shown), ['result {"roots":[]}'])
})

t.test('a question whose client left with it waits 10 s for the client to resume', async t => {
  const { open, handler, clock } = start()
  const { client, post, get } = await open('2025-06-18', { sampling: {} })
  const words = ['unavailable: The client has no open stream for server requests']
  const [left, resumed] = [post(call(1)), post(call(2))]
  const [late, answered] = [new FakeServerRequest(), new FakeServerRequest()]
  client.ask(late, handler.calls[0])
  client.ask(answered, handler.calls[1])
  const id = left.messages[0]?.id
  t.equal(left.messages.length, 1, 'delivered')
  clock.advance(60_000)
  t.same(late.outcomes, [], 'a connected client has time')
  left.goAway()
  resumed.goAway()
  clock.advance(5000)
  get({ 'last-event-id': resumed.allEvents[0]?.id ?? '' })
  clock.advance(15_000)
  t.same(late.outcomes.map(shown), words)
  t.same(answered.outcomes, [])
  post({ id, result: { late: true } })
  t.same(late.outcomes.map(shown), words, 'a late answer goes nowhere')
})

t.test('a question that is withdrawn before a stream carried it leaves nothing to read', async t => {
  const { open } = start()
  const { client, get } = await open('2025-11-25', { roots: {} })
  const [withdrawn, wanted] = [new FakeServerRequest(), new FakeServerRequest()]
  client.ask(withdrawn, undefined)
  client.ask(wanted, undefined)
  withdrawn.onWithdrawn?.('changed its mind')
  const { messages } = get()
  t.match(messages, [{ method: 'roots/list' }])
  t.equal(messages.length, 1)
})

t.test('a forged answer from another session is ignored', async t => {
  const { open } = start()
  const session = await open('2025-06-18', { roots: {} })
  const other = await open('2025-06-18')
  const ask = new FakeServerRequest()
  session.client.ask(ask, undefined)
  const { id } = session.get().messages[0] ?? {}
  t.match(id, /^[!-~]{22,}$/, '128 bits in base64url')
  for (const answer of [
    other.post({ id, result: { roots: [] } }),
    session.post({ id: 1, result: { roots: [] } }),
  ])
    t.equal(answer.status, 202)
  t.same(ask.outcomes, [])
  session.post({ id, result: { roots: [] } })
  t.equal(ask.outcomes.length, 1, 'while a true one does')
})

t.test('the newest standalone stream hears what comes, and nothing is heard twice', async t => {
  const { open } = start()
  const { client, get } = await open('2025-11-25')
  const old = get()
  const tell = (n: number) => client.notify('notifications/resources/updated', textOf({ n }))
  tell(1)
  const current = get()
  t.ok(old.isEnded)
  tell(2)
  old.goAway()
  tell(3)
  const seen = (stream: FakeResponder) => stream.messages.map(({ params }) => params?.['n'])
  t.same([seen(old), seen(current)], [[1], [2, 3]])
  const [priming] = current.allEvents
  current.goAway()
  tell(4)
  t.same(seen(get({ 'last-event-id': priming?.id ?? '' })), [2, 3, 4], 'its first id stands where it began')
})

// ── broken streams ──

t.test(
  'a broken stream is taken up after the event that was seen last, without a gap or a stranger',
  async t => {
    const { open, handler } = start()
    const { post, get, client } = await open()
    const [one] = [post(call(1, 'a')), post(call(2, 'b')), get()]
    const [first, second] = handler.calls
    for (let n = 1; n <= 10; n += 1) {
      first?.progress(progressOf({ progress: n }))
      second?.progress(progressOf({ progress: n }))
      client.notify('notifications/resources/updated', textOf({ n }))
      if (n === 3) one.goAway()
    }
    t.equal(one.events.length, 3)
    const resumed = get({ 'last-event-id': one.events[2]?.id ?? '' })
    t.equal(resumed.headers['content-type'], 'text/event-stream')
    t.same(
      resumed.messages.map(({ params }) => [params?.['progressToken'], params?.['progress']]),
      [4, 5, 6, 7, 8, 9, 10].map(n => ['a', n]),
    )
    first?.progress(progressOf({ progress: 11 }))
    first?.end(EMPTY)
    t.same(resumed.messages.at(-1)?.id, 1)
    t.ok(resumed.isEnded)
    const ids = [...one.events, ...resumed.events].map(({ id }) => id)
    t.equal(new Set(ids).size, 12)
  },
)

t.test('a dropped connection cancels nothing: the answer waits for the resuming client', async t => {
  const { open, handler, clock } = start()
  const { post, get } = await open()
  const stream = post(call(1, 'a'))
  clock.advance(SOON_MS)
  stream.goAway()
  t.same(handler.cancels, [])
  handler.last.end(succeeded(rawText('{"content":[]}')))
  const resumed = get({ 'last-event-id': stream.allEvents[0]?.id ?? '' })
  t.same(resumed.messages, [{ jsonrpc: '2.0', id: 1, result: { content: [] } }])
  t.ok(resumed.isEnded)
  const again = get({ 'last-event-id': stream.allEvents[0]?.id ?? '' })
  t.equal(again.messages.length, 1, 'also when the second connection broke')
})

t.test('a stream that is over, and was seen to its end, is not begun again', async t => {
  const { open, handler } = start()
  const { post, get } = await open()
  const stream = post(call(1, 'a'))
  handler.last.progress(progressOf({ progress: 1 }))
  post({ method: 'notifications/cancelled', params: { requestId: 1 } })
  t.ok(stream.isEnded)
  const missed = get({ 'last-event-id': stream.allEvents[0]?.id ?? '' })
  t.equal(missed.messages.length, 1, 'what was missed comes')
  const rest = get({ 'last-event-id': stream.events.at(-1)?.id ?? '' })
  t.same([rest.status, rest.isStream], [204, false], 'that nothing more will come is said')
})

t.test('an answer that comes after the connection of a JSON client broke is written nowhere', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const answer = post({ id: 1, method: 'tools/list' })
  answer.goAway()
  t.same(handler.cancels, [])
  handler.last.end(EMPTY)
  t.equal(answer.answers, 0)
})

t.test('an event id that is unknown, of another session or no longer kept is 400', async t => {
  const { open, handler, clock } = start()
  const { post, get } = await open()
  const other = await open()
  const stream = post(call(1, 'a'))
  clock.advance(SOON_MS)
  stream.goAway()
  const id = stream.allEvents[0]?.id ?? ''
  t.equal(id, '1.0')
  for (const bad of ['1.7', '9.0', 'x', '', '1'.repeat(300)]) {
    t.equal(get({ 'last-event-id': bad }).status, 400, bad)
  }
  t.equal(other.get({ 'last-event-id': id }).status, 400, 'another session')
  handler.last.end(EMPTY)
  clock.advance(5 * 60_000 + 2000)
  t.equal(get({ 'last-event-id': id }).status, 400, 'five minutes later')
})

t.test('an early event that had to make room is 400, a later one is served', async t => {
  const { open, handler } = start()
  const { post, get } = await open()
  const stream = post(call(1, 'a'))
  stream.goAway()
  for (let n = 1; n <= 600; n += 1) handler.last.progress(progressOf({ progress: n }))
  t.equal(get({ 'last-event-id': '1.99' }).status, 400)
  t.equal(get({ 'last-event-id': '1.100' }).messages.length, 500)
})

t.test('a client that is behind misses progress and log messages, and nothing else', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const stream = post(call(1, 'a'))
  const say = (progress: number) => {
    handler.last.progress(progressOf({ progress }))
    handler.last.notify('notifications/message', textOf({ level: 'info', data: progress }))
  }
  stream.queuedBytes = 1024 * 1024
  say(1)
  stream.queuedBytes += 1
  say(2)
  handler.last.notify('notifications/x', textOf({}))
  stream.queuedBytes = 0
  say(3)
  handler.last.end(EMPTY)
  t.same(
    stream.messages.map(({ method, params }) => [method, params?.['progress'] ?? params?.['data']]),
    [
      ['notifications/progress', 1],
      ['notifications/message', 1],
      ['notifications/x', undefined],
      ['notifications/progress', 3],
      ['notifications/message', 3],
      [undefined, undefined],
    ],
  )
})

t.test('a client that does not read is cut off at the bound, and can resume', async t => {
  const { open, handler, lines } = start()
  const { post, get } = await open()
  const stream = post(call(1, 'a'))
  stream.queuedBytes = 4 * 1024 * 1024
  handler.last.notify('notifications/x', textOf({ n: 1 }))
  t.notOk(stream.isDestroyed)
  stream.queuedBytes += 1
  handler.last.notify('notifications/x', textOf({ n: 2 }))
  t.ok(stream.isDestroyed)
  t.equal(stream.messages.length, 1)
  t.same(
    lines.filter(([level]) => level === 'warn').map(([, , words]) => words),
    ['cut off a client that does not read its event stream'],
  )
  t.same(handler.cancels, [])
  handler.last.end(EMPTY)
  t.equal(get({ 'last-event-id': stream.events[0]?.id ?? '' }).messages.length, 2)
})

t.test('a cancelled call ends its stream without an answer', async t => {
  const { open, handler } = start()
  const { post } = await open()
  const [streaming, waiting] = [post(call(1, 'a')), post(call(2))]
  for (const requestId of [1, 2, 1, 'unknown']) {
    t.equal(post({ method: 'notifications/cancelled', params: { requestId } }).status, 202)
  }
  t.equal(handler.cancels.length, 2)
  for (const one of handler.calls) one.end(EMPTY)
  for (const answer of [streaming, waiting]) {
    t.equal(answer.headers['content-type'], 'text/event-stream')
    t.same(answer.events, [])
    t.ok(answer.isEnded)
  }
})

t.test(
  'what waits for a client without a stream is counted, and let go of when it is the most of too much',
  async t => {
    const { open, clock, bounds } = start({ unread: 100_000 })
    const { client, end } = await open('2025-11-25', { elicitation: {} })
    const other = await open()
    const long = textOf({ data: 'x'.repeat(30_000) })
    other.client.notify('notifications/message', long)
    const ask = new FakeServerRequest()
    client.ask(ask, undefined)
    client.notify('notifications/message', long)
    t.ok(bounds.unread.bytes > 60_000)
    client.notify('notifications/message', long)
    client.notify('notifications/message', long)
    t.match(shown(ask.outcomes[0]), /^unavailable/)
    t.equal(bounds.hits.unread?.hits, 1)
    t.same(other.get().messages.length, 1)
    t.equal(bounds.unread.bytes, 0, 'what was sent no longer waits')
    client.notify('notifications/message', long)
    t.ok(bounds.unread.bytes > 0)
    end()
    t.equal(bounds.unread.bytes, 0)
    clock.advance(1)
  },
)

t.test('an answer that cannot wait for the rest of its batch is an error in its place', async t => {
  const { open, handler, bounds } = start({ unread: 100_000 })
  const { post } = await open('2025-03-26')
  const ask = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' })
  const answer = post([1, 2].map(ask), { accept: 'application/json' })
  const [first, second] = handler.calls
  first?.end(succeeded(textOf({ text: 'x'.repeat(30_000) })))
  t.ok(bounds.unread.bytes > 30_000)
  second?.end(succeeded(textOf({ text: 'x'.repeat(30_000) })))
  t.match(JSON.parse(answer.body), [
    { id: 1, result: {} },
    { id: 2, error: { code: -32603 } },
  ])
  t.equal(bounds.unread.bytes, 0)
})

t.test('a call ends ten minutes after its client lost the connection and did not resume', async t => {
  const { open, clock, handler, host } = start()
  const { post } = await open('2025-11-25')
  const streamed = post(call(1, 'p'))
  handler.last.progress(progressOf({ progress: 1 }))
  const json = post(call(2), { accept: 'application/json' })
  const kept = post(call(3))
  for (const responder of [streamed, json]) responder.goAway()
  clock.advance(10 * 60_000 - 2000)
  t.same(handler.cancels, [])
  clock.advance(3000)
  t.same(handler.cancels, ['tools/call its client disconnected', 'tools/call its client disconnected'])
  clock.advance(50 * 60_000)
  t.equal(handler.cancels.length, 2, 'a client that waits has no limit')
  handler.last.end(EMPTY)
  t.match(kept.messages.at(-1), { id: 3, result: {} })
  t.equal(host.sessions, 1)
})

t.test('a call continues while its client resumes in time', async t => {
  const { open, clock, handler } = start()
  const { post, get } = await open('2025-11-25')
  let stream = post(call(1, 'p'))
  handler.last.progress(progressOf({ progress: 1 }))
  for (let n = 0; n < 4; n += 1) {
    const last = stream.allEvents.at(-1)?.id ?? ''
    stream.goAway()
    // Events are kept for five minutes.
    clock.advance(4 * 60_000)
    stream = get({ 'last-event-id': last })
    t.equal(stream.status, 200)
    handler.last.progress(progressOf({ progress: n + 2 }))
  }
  clock.advance(30 * 60_000)
  t.same(handler.cancels, [])
  handler.last.end(EMPTY)
  t.match(stream.messages.at(-1), { id: 1, result: {} })
})

t.test('the calls of a batch end ten minutes after its client is gone', async t => {
  const { open, clock, handler } = start()
  const { post } = await open('2025-03-26')
  post([call(1), call(2)].map(item => ({ jsonrpc: '2.0', ...item }))).goAway()
  clock.advance(10 * 60_000 + 2000)
  t.equal(handler.cancels.length, 2)
})

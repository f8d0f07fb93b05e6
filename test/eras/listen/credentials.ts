import t, { type Test } from 'tap'
import { createHttpListener } from '../../../src/eras/listen/http-listener.js'
import { servePipe } from '../../../src/eras/listen/pipe-listener.js'
import { createSseListener } from '../../../src/eras/listen/sse-listener.js'
import { Deferred } from '../../../src/kernel/async/deferred.js'
import type { Caller } from '../../../src/kernel/caller.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import { insufficientScope } from '../../../src/model/access.js'
import type { Call } from '../../../src/model/links.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import { callerWith } from '../../support/client/fake-client.js'
import { hello, mirrored, modern } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { IDENTITY } from '../../support/values.js'
import { FarEnd, recordedLog } from '../../support/wire/channel-pair.js'
import { FakeResponder, httpRequest } from '../../support/wire/fake-http.js'

const BOTH = 'application/json, text/event-stream'
const EMPTY = succeeded(rawText('{}'))
const LATER_MS = Date.now() + 1e9
const ABLE = { elicitation: {} }

/** A caller with an expiry chosen by the test. */
const ending = (principal = 'person alice', scopes: readonly string[] = ['mcp']) => ({
  ...callerWith(principal, scopes),
  endsMs: LATER_MS,
})

const ALICE = callerWith('person alice', ['mcp'])
const BOB = callerWith('person bob', ['mcp'])
const NEVER: Caller = { ...ALICE }

const listen = (id: number) =>
  modern(id, 'subscriptions/listen', { notifications: { toolsListChanged: true } })

const callOf = (id: number, name = 'x', token?: string) => ({
  id,
  method: 'tools/call',
  params: { name, ...(token !== undefined && { _meta: { progressToken: token } }) },
})

const REFUSAL = (scopes: readonly string[]) => ({
  status: 403,
  headers: { 'www-authenticate': `Bearer scope="${scopes.join(' ')}"`, 'content-type': 'application/json' },
  body: '{"error":"insufficient_scope"}',
})

const start = (t: Test) => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log } = recordedLog()
  const host = createHttpListener({
    handler,
    clock,
    identity: IDENTITY,
    log,
    challenge: REFUSAL,
    isPrivate: true,
  })
  t.teardown(() => host.close())
  const send = (
    caller: Caller,
    method: string,
    headers: Record<string, string>,
    body: string | object = '',
  ) => {
    const responder = new FakeResponder()
    host.handle({ ...httpRequest(method, headers, body), caller }, responder)
    return responder
  }
  const post = (caller: Caller, body: object, headers: Record<string, string> = {}) =>
    send(caller, 'POST', { accept: BOTH, 'content-type': 'application/json', ...headers }, body)
  const open = async (caller: Caller, version = '2025-11-25', capabilities: object = {}) => {
    const greeting = post(caller, { id: 0, method: 'initialize', params: hello(version, capabilities) })
    await settled()
    const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
    post(caller, { method: 'notifications/initialized' }, session)
    return {
      post: (body: object, as = caller) => post(as, body, session),
      get: (as = caller, more: Record<string, string> = {}) =>
        send(as, 'GET', { accept: 'text/event-stream', ...session, ...more }),
      end: (as = caller) => send(as, 'DELETE', session),
    }
  }
  const ask = (caller: Caller, message: ReturnType<typeof modern>) => post(caller, message, mirrored(message))
  return { handler, clock, host, post, open, ask }
}

// ── principals ──

t.test('the session of another principal is as unknown as none, and lives on', async t => {
  const { handler, open } = start(t)
  const session = await open(ALICE)
  const stream = session.get()
  handler.client.notify('notifications/x', undefined)
  const [{ id: lastId = '' } = {}] = stream.allEvents
  const none = { status: 404, isStream: false }
  t.match(session.post(callOf(1), BOB), none)
  t.match(session.post({ method: 'notifications/cancelled', params: { requestId: 1 } }, BOB), none)
  t.match(session.post({ id: 'any', result: {} }, BOB), none)
  t.match(session.get(BOB), none)
  t.match(session.get(BOB, { 'last-event-id': lastId }), none)
  t.match(session.end(BOB), none)
  t.same([handler.calls, handler.gone, handler.changed], [[], [], []])
  t.equal(stream.isEnded, false)
  t.match(session.post({ id: 2, method: 'ping' }), { status: 200 })
})

t.test('an event id of another session cannot be resumed', async t => {
  const { handler, open } = start(t)
  const session = await open(ALICE)
  const stream = session.get()
  handler.client.notify('notifications/x', undefined)
  const [{ id: lastId = '' } = {}] = stream.allEvents
  const other = await open(ALICE)
  t.match(other.get(ALICE, { 'last-event-id': lastId }), { isStream: false, status: 400 })
})

t.test('a session continues with a refreshed token of its principal', async t => {
  const { handler, open } = start(t)
  const session = await open(ALICE)
  const refreshed = { ...callerWith('person alice', ['mcp']), endsMs: LATER_MS }
  t.match(session.post({ id: 1, method: 'ping' }, refreshed), { status: 200 })
  t.equal(handler.client.caller, refreshed)
  t.same(handler.changed, [], 'which may do the same')
  const more = callerWith('person alice', ['mcp', 'github'])
  session.post(callOf(2), more)
  t.equal(handler.calls[0]?.caller, more)
  t.same(handler.changed, [handler.client])
  session.post(callOf(3))
  t.equal(handler.calls[0]?.caller, more, 'a call keeps the caller that sent it')
})

t.test('messages that wait for the answer to initialize keep their callers', async t => {
  const { handler, post } = start(t)
  const gate = new Deferred<void>()
  handler.gate = gate
  const stream = { accept: 'text/event-stream' }
  const greeting = post(ALICE, { id: 0, method: 'initialize', params: hello('2025-11-25') }, stream)
  const session = { 'mcp-session-id': greeting.headers['mcp-session-id'] ?? '' }
  const more = callerWith('person alice', ['mcp', 'github'])
  post(more, callOf(1), session)
  post(ALICE, callOf(2), session)
  gate.resolve()
  await settled()
  t.same(
    handler.calls.map(({ caller }) => caller),
    [more, ALICE],
  )
})

t.test('requests without a session are of one client only where they may do the same', async t => {
  const { handler, ask } = start(t)
  const callers = [ALICE, { ...ALICE }, callerWith('person alice', ['github', 'mcp']), BOB]
  for (const [id, caller] of callers.entries()) ask(caller, modern(id, 'tools/list'))
  const [one, same, more, bob] = handler.calls.map(({ client }) => client.id)
  t.equal(one, same)
  t.equal(new Set([one, more, bob]).size, 3)
  t.same(
    handler.calls.map(({ caller }) => caller),
    callers,
  )
})

// ── scopes ──

const refuse = (call: Call): void => call.end(failed(insufficientScope(['a', 'b'])))

t.test('a call that lacks scopes is refused with 403 and a challenge', async t => {
  for (const isLate of [false, true]) {
    const { handler, open, ask } = start(t)
    handler.onCall = call => {
      if (isLate) setImmediate(() => refuse(call))
      else refuse(call)
    }
    const plain = await open(ALICE)
    const able = await open(ALICE, '2025-11-25', ABLE)
    const answers = [
      plain.post(callOf(1)),
      plain.post(callOf(2, 'x', 'token')),
      able.post(callOf(3)),
      ask(ALICE, modern(4, 'tools/call', { name: 'x', arguments: {} })),
      ask(ALICE, modern(5, 'tools/call', { name: 'x', arguments: {} }, { progressToken: 1 })),
    ]
    await settled()
    for (const answer of answers)
      t.match(answer, {
        status: 403,
        headers: { 'www-authenticate': 'Bearer scope="a b"' },
        body: '{"error":"insufficient_scope"}',
        isStream: false,
      })
  }
})

t.test('an accepted call gets its stream without extra delay', async t => {
  const { handler, open, clock } = start(t)
  handler.onCall = call => {
    call.routed?.()
  }
  const session = await open(ALICE, '2025-11-25', ABLE)
  const answer = session.post(callOf(1))
  clock.advance(10)
  t.equal(answer.isStream, true)
})

t.test('after a stream has begun, or outside HTTP, a missing scope is a JSON-RPC error', async t => {
  const { handler, open } = start(t)
  const session = await open(ALICE)
  const answer = session.post(callOf(1, 'x', 'token'))
  handler.last.notify('notifications/message', textOf({ level: 'error', data: 1 }))
  refuse(handler.last)
  const error = { code: -32603, data: { reason: 'insufficient-scope', scope: 'a b' } }
  t.match(answer.messages.at(-1), { id: 1, error })
  const client = new FarEnd()
  const { log } = recordedLog()
  const pipe = { handler, clock: new FakeClock(), identity: IDENTITY, log, challenge: REFUSAL }
  servePipe(client.channel, ALICE, pipe)
  client.say({ id: 0, method: 'initialize', params: hello('2025-11-25') })
  await settled()
  client.say(callOf(1))
  await settled()
  refuse(handler.last)
  await settled()
  t.match(client.take().at(-1), { id: 1, error })
})

t.test('a batch is refused as a whole if one of its calls lacks a scope', async t => {
  const { handler, open } = start(t)
  handler.needed.set('delete', ['a']).set('drop', ['b', 'a'])
  handler.onCall = call => call.end(EMPTY)
  const session = await open(ALICE, '2025-03-26')
  const refused = session.post([
    { jsonrpc: '2.0', ...callOf(1) },
    { jsonrpc: '2.0', ...callOf(2, 'delete') },
    { jsonrpc: '2.0', ...callOf(3, 'drop', 'with a token') },
  ])
  await settled()
  t.match(refused, { status: 403, body: '{"error":"insufficient_scope"}' })
  t.match(String(refused.headers['www-authenticate']), /"a b a"|"a b"/)
  t.same(handler.calls, [], 'none of them ran')
  const fine = session.post([
    { jsonrpc: '2.0', ...callOf(4) },
    { jsonrpc: '2.0', id: 5, method: 'ping' },
  ])
  await settled()
  t.match(fine, { status: 200 })
  t.equal(handler.calls.length, 1)
})

t.test('a result that depends on the caller is private, regardless of the server’s hint', async t => {
  const { handler, ask } = start(t)
  handler.onCall = call =>
    call.end({
      kind: 'result',
      result: textOf({ resultType: 'complete', tools: [], contents: [], ttlMs: 5, cacheScope: 'public' }),
      ...(call.method === 'tools/list' && { hints: { ttlMs: 5, cacheScope: 'public' } }),
    })
  for (const message of [modern(1, 'tools/list'), modern(2, 'resources/read', { uri: 'a:b' })])
    t.match(ask(ALICE, message).json.result, { ttlMs: 5, cacheScope: 'private' })
})

// ── the end of a credential ──

t.test('the standalone stream ends with its token; session and calls continue', async t => {
  const { handler, clock, open } = start(t)
  const caller = ending()
  const session = await open(caller)
  const stream = session.get()
  const call = session.post(callOf(1, 'x', 'token'))
  handler.last.notify('notifications/message', textOf({ level: 'info', data: 1 }))
  clock.advance(60_000)
  t.same([stream.isEnded, call.isEnded], [false, false])
  caller.endsMs = Date.now() - 1
  clock.advance(60_000)
  t.same([stream.isEnded, call.isEnded], [true, false])
  handler.last.end(EMPTY)
  t.match(call.messages.at(-1), { id: 1, result: {} })
  const renewed = ending()
  const next = session.get(renewed)
  handler.client.notify('notifications/x', undefined)
  t.match(next.messages, [{ method: 'notifications/x' }])
  clock.advance(60_000)
  t.equal(next.isEnded, false)
})

t.test('a request that listens gets its result when its token ends', async t => {
  const { clock, ask } = start(t)
  const caller = ending()
  const [stream, other] = [ask(caller, listen(1)), ask({ ...caller }, listen(2))]
  const call = ask(caller, modern(3, 'tools/call', { name: 'x', arguments: {} }))
  caller.endsMs = Date.now() - 1
  clock.advance(60_000)
  t.match(stream.messages.at(-1), { id: 1, result: { resultType: 'complete' } })
  t.same([stream.isEnded, other.isEnded, call.isEnded], [true, false, false])
})

t.test('a connection ends with its token once its calls have ended, and takes no more', async t => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log } = recordedLog()
  const client = new FarEnd()
  const caller = ending()
  servePipe(client.channel, caller, { handler, clock, identity: IDENTITY, log })
  client.say({ id: 0, method: 'initialize', params: hello('2025-11-25') })
  client.say({ method: 'notifications/initialized' })
  client.say(callOf(1))
  await settled()
  clock.advance(60_000)
  t.equal(client.isClosed, false)
  client.take()
  caller.endsMs = Date.now() - 1
  client.say(callOf(2))
  client.say(`[${JSON.stringify({ jsonrpc: '2.0', ...callOf(3) })}]`)
  client.say({ method: 'notifications/cancelled', params: { requestId: 9 } })
  clock.advance(5000)
  await settled()
  t.match(client.take(), [
    { id: 2, error: { code: -32603, data: { reason: 'unauthorized' } } },
    { error: {} },
  ])
  t.equal(client.isClosed, false)
  handler.calls[0]?.end(EMPTY)
  clock.advance(5000)
  await settled()
  t.match(client.take(), [{ id: 1, result: {} }])
  t.equal(client.isClosed, true)
  t.equal(clock.pending, 0)
})

t.test('a call that does not end keeps its connection for a minute at most', async t => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log } = recordedLog()
  const client = new FarEnd()
  const caller = ending()
  servePipe(client.channel, caller, { handler, clock, identity: IDENTITY, log })
  client.say({ id: 0, method: 'initialize', params: hello('2025-11-25') })
  client.say(callOf(1))
  await settled()
  caller.endsMs = Date.now() - 60_000
  clock.advance(5000)
  await settled()
  t.equal(client.isClosed, true)
  t.same(handler.cancels, ['tools/call its credential has ended'])
})

t.test('a credential that does not end costs a connection no timer', async t => {
  const clock = new FakeClock()
  const { log } = recordedLog()
  servePipe(new FarEnd().channel, NEVER, { handler: new FakeHandler(), clock, identity: IDENTITY, log })
  t.equal(clock.pending, 0)
})

t.test('an HTTP+SSE session is its principal’s, and ends with the token of its stream', async t => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log } = recordedLog()
  const host = createSseListener({ handler, clock, identity: IDENTITY, log })
  t.teardown(() => host.close())
  const caller = ending()
  const stream = new FakeResponder()
  host.stream({ ...httpRequest('GET', { accept: 'text/event-stream' }), caller }, stream)
  const [endpoint] = stream.events
  const query = new URLSearchParams(endpoint?.text.split('?')[1])
  const post = (as: Caller, body: object) => {
    const responder = new FakeResponder()
    const request = httpRequest('POST', { 'content-type': 'application/json' }, body)
    host.messages({ ...request, query, caller: as }, responder)
    return responder
  }
  const greeting = { id: 0, method: 'initialize', params: hello('2024-11-05') }
  t.equal(post(BOB, greeting).status, 404)
  t.equal(post(ALICE, greeting).status, 202)
  await settled()
  const refreshed = { ...ending(), scopes: new Set(['mcp', 'more']) }
  post(refreshed, callOf(1))
  t.equal(handler.last.caller, refreshed, 'a message is judged by its own credential')
  caller.endsMs = Date.now() - 1
  clock.advance(5000)
  t.equal(stream.isEnded, false)
  handler.last.end(EMPTY)
  clock.advance(5000)
  await settled()
  t.equal(stream.isEnded, true)
  t.equal(host.sessions, 0)
})

t.test('what was opened with a credential that was taken back ends at once', async t => {
  const { handler, host, open, ask } = start(t)
  const [gone, kept] = [callerWith('person alice', ['mcp']), callerWith('person alice', ['mcp'])]
  const [first, second] = [await open(gone), await open(kept)]
  const streams = [first.get(), second.get(), second.get(gone)]
  second.post({ id: 9, method: 'ping' })
  const [call, other] = [first.post(callOf(1, 'x', 'token')), second.post(callOf(2, 'x', 'token'))]
  const [listening, same] = [ask(gone, listen(3)), ask(kept, listen(4))]
  const under = ask(gone, modern(5, 'tools/call', { name: 'x', arguments: {} }))
  const renewed: Caller = { ...kept }
  host.renewCallers(caller => (caller === kept ? renewed : undefined))
  t.same(
    streams.map(({ isEnded }) => isEnded),
    [true, true, true],
  )
  t.equal(first.post({ id: 6, method: 'ping' }).status, 404)
  t.equal(second.post({ id: 6, method: 'ping' }).status, 200)
  t.match([call.isEnded, listening.isEnded, under.isEnded], [true, true, true])
  t.match(listening.messages.at(-1), { id: 3, result: {} })
  t.match(under.json.error?.message, /its credential is no longer good/)
  t.match([other.isEnded, same.isEnded], [false, false])
  t.match(handler.changed, [])
})

t.test(
  'a credential that allows something else from now on shows that to sessions and listeners',
  async t => {
    const { handler, host, open, ask } = start(t)
    await open(ALICE)
    const stream = ask(ALICE, listen(1))
    const call = ask(ALICE, modern(2, 'tools/call', { name: 'x', arguments: {} }))
    host.renewCallers(({ principal }) => callerWith(principal, ['mcp', 'more']))
    t.equal(handler.changed.length, 1)
    t.same([...(handler.clients[0]?.caller.scopes ?? [])], ['mcp', 'more'])
    t.equal(stream.isEnded, true, 'its client listens again, and sees more')
    t.equal(call.isEnded, false)
  },
)

t.test('a connection ends with its credential, or with the credential of its last message', async t => {
  for (const isGone of [true, false]) {
    const handler = new FakeHandler()
    const { log } = recordedLog()
    const client = new FarEnd()
    const pipe = servePipe(client.channel, ALICE, {
      handler,
      clock: new FakeClock(),
      identity: IDENTITY,
      log,
    })
    client.say({ id: 0, method: 'initialize', params: hello('2025-11-25') })
    await settled()
    const less = callerWith(ALICE.principal, [])
    pipe.renewCallers(() => (isGone ? undefined : less))
    await settled()
    t.equal(client.isClosed, isGone)
    client.say(callOf(1))
    await settled()
    t.equal(handler.calls[0]?.caller, isGone ? undefined : less)
  }
})

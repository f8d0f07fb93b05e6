import t from 'tap'
import type { ServedEras } from '../../../src/eras/detect/inbound.js'
import { servePipe } from '../../../src/eras/listen/pipe-listener.js'
import { Deferred } from '../../../src/kernel/async/deferred.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { succeeded } from '../../../src/model/outcome.js'
import { ENVELOPE, modern } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { FakeServerRequest } from '../../support/server/fake-server.js'
import { IDENTITY, shown } from '../../support/values.js'
import { FarEnd, recordedLog } from '../../support/wire/channel-pair.js'

const EMPTY = succeeded(rawText('{}'))

const start = (speaks?: ServedEras) => {
  const client = new FarEnd()
  const handler = new FakeHandler()
  const { log, lines } = recordedLog()
  const clock = new FakeClock()
  const host = servePipe(client.channel, LOCAL, {
    handler,
    identity: IDENTITY,
    log,
    clock,
    drainMs: () => 10_000,
    ...(speaks && { speaks }),
  })
  const initialize = async (protocolVersion = '2025-06-18') => {
    const clientInfo = { name: 'c', version: '1' }
    client.say({
      id: 'hello',
      method: 'initialize',
      params: { protocolVersion, capabilities: { roots: {} }, clientInfo },
    })
    await settled()
    client.say({ method: 'notifications/initialized' })
    return client.take()
  }
  return { client, handler, lines, host, clock, initialize }
}

t.test('a client that looked around may introduce itself, and ask in both ways at the same time', async t => {
  const { client, handler, initialize } = start()
  client.say(modern(1, 'server/discover'))
  await settled()
  t.match(client.take(), [{ id: 1, result: { resultType: 'complete', supportedVersions: ['2026-07-28'] } }])
  t.match(await initialize(), [{ id: 'hello', result: { protocolVersion: '2025-06-18' } }])
  client.say({ id: 2, method: 'tools/list' })
  client.say(modern(3, 'tools/list'))
  client.say({ id: 4, method: 'tools/list' })
  for (const call of handler.calls) call.end(succeeded(rawText('{"tools":[]}')))
  t.same(
    client.take().map(({ id, result }) => [id, Object.keys(result ?? {})]),
    [
      [2, ['tools']],
      [3, ['tools', 'resultType', 'ttlMs', 'cacheScope', '_meta']],
      [4, ['tools']],
    ],
  )
  t.same(
    handler.calls.map(({ client: { serverRequests } }) => serverRequests),
    ['pushed', 'returned', 'pushed'],
  )
})

t.test('only a session is asked and told by itself', async t => {
  const { client, handler, initialize } = start()
  await initialize()
  client.say(modern(1, 'tools/call'))
  const [session] = handler.clients
  handler.last.client.notify('notifications/tools/list_changed', undefined)
  handler.last.client.ask(new FakeServerRequest(), handler.last)
  t.same(client.take(), [])
  session?.notify('notifications/tools/list_changed', undefined)
  session?.ask(new FakeServerRequest(), undefined)
  t.match(client.take(), [{ method: 'notifications/tools/list_changed' }, { method: 'roots/list' }])
})

t.test('requests that stand for themselves need no introduction, all others do', async t => {
  const { client, handler } = start()
  client.say({ id: 1, method: 'tools/list' })
  client.say({ id: 2, method: 'server/discover' })
  client.say(modern(3, 'tools/list'))
  client.say({ id: 4, method: 'ping' })
  t.match(client.take(), [
    { id: 1, error: { code: -32600, message: 'Not initialized' } },
    { id: 2, error: { code: -32600, message: 'Not initialized' } },
    { id: 4, result: {} },
  ])
  t.equal(handler.calls.length, 1)
})

t.test('a version without session support is refused with the supported versions', async t => {
  const { client } = start()
  client.say(modern(1, 'tools/list', {}, { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' }))
  client.say({
    method: 'notifications/cancelled',
    params: { requestId: 1, _meta: { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': 'x' } },
  })
  t.match(client.take(), [
    {
      id: 1,
      error: {
        code: -32022,
        data: {
          supported: ['2026-07-28'],
          requested: '2025-11-25',
        },
      },
    },
  ])
  t.same(client.lines, [], 'a notification is not answered')
})

t.test('a cancellation without a claim is for the request that it names', async t => {
  const { client, handler, initialize } = start()
  await initialize()
  client.say({ id: 1, method: 'tools/call' })
  client.say(modern(2, 'prompts/get'))
  client.say({ method: 'notifications/cancelled', params: { requestId: 2 } })
  t.same(handler.cancels, ['prompts/get undefined'])
  client.say({ method: 'notifications/cancelled', params: { requestId: 1 } })
  t.same(handler.cancels, ['prompts/get undefined', 'tools/call undefined'])
})

t.test('a batch with a modern message is not run, even after initialize', async t => {
  const { client, handler, initialize } = start()
  await initialize('2025-03-26')
  client.say([
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', ...modern(2, 'tools/list') },
  ])
  t.same(handler.calls, [])
  t.match(client.take(), [
    { id: 1, error: { code: -32600 } },
    { id: 2, error: { code: -32600 } },
  ])
})

t.test('unreadable messages get an error without an id, for revisions that have such errors', async t => {
  const { client, handler, initialize } = start()
  client.say('{')
  t.same(client.take(), [], 'not while nobody has said who it is')
  client.say(modern(1, 'tools/list'))
  client.say('{')
  t.match(client.take(), [{ error: { code: -32700 } }])
  await initialize('2025-06-18')
  client.say('{')
  t.same(client.take(), [], 'nor once an older client has')
  handler.last.end(EMPTY)
})

t.test('a client that does not read is not read from', async t => {
  const { client, lines } = start()
  client.say(modern(1, 'tools/list'))
  client.channel.skipped(1e9)
  t.match(lines, [['warn', { bytes: 1e9 }, /longer than the limit/]])
  client.channel.isBehind = true
  client.say({ id: 2, method: 'ping' })
  t.ok(client.channel.isPaused)
  client.channel.drained()
  t.notOk(client.channel.isPaused)
})

t.test('a request that is too long is refused with the name of the limit', async t => {
  const { client } = start()
  const long = (text: string, bytes = 1e9) => client.channel.skipped(bytes, Buffer.from(text))
  long('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"')
  long('{"method":"tools/call","params":{"name":"t","arguments":{"text":""}},"jsonrpc":"2.0","id":"é"}')
  const data = { reason: 'too-large', limit: 'body', max: 16 * 1024 * 1024 }
  t.match(client.take(), [
    { id: 7, error: { code: -32603, message: /limits\.body is 16MiB/, data } },
    { id: 'é', error: { data } },
  ])
  long('{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"t"', 1000)
  t.match(client.take(), [{ id: 8, error: { data: { reason: 'overloaded', limit: 'inbound' } } }])
  long('{"jsonrpc":"2.0","method":"notifications/progress","params":{"name":"t"')
  long('{"jsonrpc":"2.0","id":1,"result":{"content":[]')
  long('[{"jsonrpc":"2.0","id":7,"method":"tools/call"')
  t.same(
    client.take(),
    [],
    'unlike a notification, an answer, or what is sent by nobody who has said who it is',
  )
  client.say(modern(9, 'tools/list'))
  client.take()
  long('[{"jsonrpc":"2.0","id":7,"method":"tools/call"')
  t.match(client.take(), [{ error: { data } }])
})

t.test('a malformed answer is not answered, a malformed request is', async t => {
  const { client } = start()
  client.say('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}')
  client.say('{"jsonrpc":"1.0","id":2,"method":"ping"}')
  t.match(client.take(), [{ id: 2, error: { code: -32600 } }])
})

t.test('an endpoint of the older revisions names them to a modern client', async t => {
  const { client, handler } = start('legacy')
  client.say(modern(1, 'server/discover'))
  t.match(client.take(), [{ id: 1, error: { code: -32022, data: { requested: '2026-07-28' } } }])
  t.same(handler.clients, [])
})

t.test('both ways end with the channel', async t => {
  const { client, handler, host, initialize } = start()
  await initialize()
  client.say({ id: 1, method: 'tools/call' })
  client.say(modern(2, 'tools/list'))
  client.hangUp()
  await host.gone
  t.equal(handler.cancels.length, 2)
  t.equal(new Set(handler.gone).size, 2)
})

t.test('a message whose handling fails closes its client’s connection, and affects no other', async t => {
  const { client, host, lines, handler } = start()
  handler.onCall = () => {
    throw new Error('oops')
  }
  client.say(modern(1, 'tools/list'))
  await host.gone
  t.match(lines, [['error', { err: { message: 'oops' } }]])
})

t.test('a client that has said all gets its answers, and then the end', async t => {
  const { client, host, handler, clock, initialize } = start()
  await initialize()
  client.say({ id: 1, method: 'tools/call' })
  client.say(modern(2, 'tools/call'))
  client.say(modern(3, 'subscriptions/listen', { notifications: {} }))
  const ask = new FakeServerRequest()
  handler.clients[0]?.ask(ask, undefined)
  client.take()
  client.ends()
  t.ok(host.isLeaving)
  t.match(shown(ask.outcomes[0]), /^disconnected/, 'nobody will answer')
  const late = new FakeServerRequest()
  handler.clients[0]?.ask(late, undefined)
  t.match(shown(late.outcomes[0]), /^disconnected/)
  for (const call of handler.calls.slice(0, 2)) {
    clock.advance(1000)
    await settled()
    t.notOk(client.isClosed)
    call.end(EMPTY)
  }
  clock.advance(20)
  await host.gone
  t.match(
    client.take().filter(({ result }) => result !== undefined),
    [{ id: 1 }, { id: 2 }],
  )
  t.ok(client.isClosed)
  t.equal(clock.pending, 0)
})

t.test('calls that take too long for a client that has said all end with an error', async t => {
  const { client, host, handler, clock, initialize } = start()
  await initialize()
  client.say({ id: 1, method: 'tools/call' })
  client.ends()
  clock.advance(9_999)
  await settled()
  t.same(client.take(), [])
  clock.advance(20)
  await host.gone
  t.match(client.take(), [{ id: 1, error: { message: /closed its input/ } }])
  t.match(handler.cancels, [/closed its input/])
})

t.test('a client that is still being welcomed when it has said all gets all its answers', async t => {
  const { client, host, handler, clock } = start()
  handler.gate = new Deferred()
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  client.say({ id: 0, method: 'initialize', params })
  client.say({ id: 1, method: 'tools/call' })
  client.ends()
  handler.onCall = call => call.end(EMPTY)
  clock.advance(1000)
  handler.gate.resolve()
  await settled()
  clock.advance(20)
  await host.gone
  t.match(client.take(), [{ id: 0 }, { id: 1 }])
})

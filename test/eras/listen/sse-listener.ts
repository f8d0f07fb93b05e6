import { Client as SdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { createSseListener } from '../../../src/eras/listen/sse-listener.js'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import type { Limits } from '../../../src/kernel/limits.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { succeeded } from '../../../src/model/outcome.js'
import { listenHttp } from '../../../src/transport/http/server.js'
import { modern } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { FakeHandler } from '../../support/proxy/listeners.js'
import { FakeServerRequest } from '../../support/server/fake-server.js'
import { boundsOf, IDENTITY, progressOf, withoutErrorIds } from '../../support/values.js'
import { type Heard, recordedLog } from '../../support/wire/channel-pair.js'
import { FakeResponder, httpRequest, textOfChunk } from '../../support/wire/fake-http.js'

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }
const INITIALIZE = {
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2024-11-05',
    capabilities: { roots: {} },
    clientInfo: { name: 'c', version: '1' },
  },
}

/** The messages after the endpoint. */
const said = (stream: FakeResponder): Heard[] =>
  stream.events.slice(1).map(({ text }) => JSON.parse(withoutErrorIds(text)) as Heard)

/** A host whose principals are the addresses of its clients. */
function start(limits: Partial<Limits> = {}) {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const { log, lines } = recordedLog()
  const bounds = boundsOf(limits, clock)
  const host = createSseListener({
    handler,
    identity: IDENTITY,
    log,
    clock,
    bounds,
  })
  const get = (from = '127.0.0.1', headers: Record<string, string> = { accept: 'text/event-stream' }) => {
    const responder = new FakeResponder()
    host.stream(httpRequest('GET', headers, '', from), responder)
    return responder
  }
  const post = (
    stream: FakeResponder,
    body: string | object,
    { from = '127.0.0.1', headers = JSON_TYPE }: { from?: string; headers?: Record<string, string> } = {},
  ) => {
    const responder = new FakeResponder()
    const query = new URL(stream.events[0]?.text ?? '', 'http://x').searchParams
    host.messages({ ...httpRequest('POST', headers, body, from), query }, responder)
    return responder
  }
  /** A session after its handshake. */
  const session = async () => {
    const stream = get()
    post(stream, INITIALIZE)
    await settled()
    post(stream, { method: 'notifications/initialized' })
    return stream
  }
  const call = (stream: FakeResponder, id: number) =>
    post(stream, { id, method: 'tools/call', params: { id } })
  return { bounds, handler, clock, lines, host, get, post, session, call }
}

const warnings = (lines: readonly (readonly [string, object, string])[]) =>
  lines.filter(([level]) => level === 'warn').map(([, , words]) => words)

t.test('the stream begins with the endpoint: a relative URI with an unguessable id', t => {
  const { host, get } = start()
  const one = get()
  const other = get()
  t.equal(one.status, 200)
  t.match(one.headers, { 'content-type': 'text/event-stream', 'cache-control': /no-transform/ })
  t.match(one.body, /^event: endpoint\ndata: messages\?sessionId=[\w-]{22}\n\n$/)
  t.not(one.body, other.body)
  t.equal(host.sessions, 2)
  t.end()
})

t.test(
  'a request of a newer revision is told the supported revisions, before and after initialize',
  async t => {
    const { handler, get, post, session } = start()
    for (const stream of [get(), await session()]) {
      for (const method of ['server/discover', 'tools/list', 'initialize']) {
        post(stream, modern('d', method))
        t.same(said(stream).at(-1), {
          jsonrpc: '2.0',
          id: 'd',
          error: {
            code: -32022,
            message: 'Unsupported protocol version',
            data: {
              supported: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
              requested: '2026-07-28',
            },
          },
        })
      }
    }
    t.same(handler.calls, [])
    t.equal(handler.clients.length, 1)
  },
)

t.test('the endpoint is a reference that is also valid below the path of a reverse proxy', t => {
  const { host } = start()
  const table: [path: string, view: string | undefined, reference: string][] = [
    ['/sse', undefined, 'messages'],
    ['/sse/', undefined, '../messages'],
    ['/sse/web', 'web', '../messages/web'],
    ['/sse/web/', 'web', '../../messages/web'],
  ]
  for (const [path, view, reference] of table) {
    const stream = new FakeResponder()
    host.stream({ ...httpRequest('GET', {}), path, caller: { ...LOCAL, view } }, stream)
    const [, told = ''] = /data: ([^?]*)\?/.exec(stream.body) ?? []
    t.equal(told, reference, path)
    for (const base of ['http://h', 'http://h/tools'])
      t.equal(new URL(told, base + path).href, `${base}/messages${view === undefined ? '' : `/${view}`}`)
  }
  t.end()
})

t.test('a POST is taken with 202 and answered on the stream, one line of data per message', async t => {
  const { handler, get, post } = start()
  const stream = get()
  const begun = stream.body.length
  const taken = post(stream, INITIALIZE)
  t.same([taken.status, taken.body], [202, 'Accepted'])
  await settled()
  const initialized = stream.body.slice(begun)
  t.match(initialized, /^event: message\ndata: \{[^\n]*\}\n\n$/)
  t.match(stream.events[1]?.text, /"protocolVersion":"2024-11-05"/)
  post(
    stream,
    '{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"n":12345678901234567890, "x":1.0}}',
  )
  t.equal(handler.last.params?.toString(), '{"n":12345678901234567890, "x":1.0}')
  handler.last.end(succeeded(rawText('{"pretty":\n 1e400}')))
  t.equal(
    stream.body.split('\n\n').at(-2),
    'event: message\ndata: {"jsonrpc":"2.0","id":"7","result":{"pretty":  1e400}}',
  )
})

t.test('an invalid HTTP request is refused with the matching status', t => {
  const { host, get, post } = start()
  const stream = get()
  const asked = (handler: 'stream' | 'messages', method: string, headers: Record<string, string>) => {
    const responder = new FakeResponder()
    host[handler](httpRequest(method, headers, '{}'), responder)
    return [responder.status, responder.headers['allow'], typeof responder.json.error?.message]
  }
  t.same(asked('stream', 'POST', JSON_TYPE), [405, 'GET', 'string'])
  t.same(asked('stream', 'GET', { accept: 'application/json' }), [406, undefined, 'string'])
  t.same(asked('stream', 'GET', { accept: 'text/event-stream;q=0' }), [406, undefined, 'string'])
  t.same(asked('messages', 'GET', {}), [405, 'POST', 'string'])
  t.same(asked('messages', 'POST', { 'content-type': 'text/plain' }), [415, undefined, 'string'])
  t.same(asked('messages', 'POST', JSON_TYPE), [404, undefined, 'string'])
  t.equal(post(stream, '{"a":').status, 400)
  t.equal(post(stream, '').status, 400)
  t.equal(
    post(stream, 'null', { headers: { 'content-type': 'application/json; charset=utf-8' } }).status,
    202,
  )
  t.equal(get('127.0.0.1', { accept: '*/*' }).status, 200)
  t.equal(host.sessions, 2)
  t.end()
})

t.test('JSON that is not a message is accepted, and refused on the stream', async t => {
  const { session, post } = start()
  const stream = await session()
  const before = said(stream).length
  t.equal(post(stream, '{"jsonrpc":"2.0","id":5,"method":7}').status, 202)
  t.match(said(stream).slice(before), [{ id: 5, error: { code: -32600 } }])
})

t.test('a session of another principal is unknown', t => {
  const { handler, get, post } = start()
  const stream = get('10.0.0.1')
  t.equal(post(stream, INITIALIZE, { from: '10.0.0.2' }).status, 404)
  t.same(handler.clients, [])
  t.equal(post(stream, INITIALIZE, { from: '10.0.0.1' }).status, 202)
  t.end()
})

t.test(
  'the session ends with the stream: its calls are cancelled and it is unknown from then on',
  async t => {
    const { host, handler, session, call, post } = start()
    const stream = await session()
    call(stream, 1)
    stream.goAway()
    await settled()
    t.equal(handler.cancels.length, 1)
    t.equal(handler.gone.length, 1)
    t.equal(host.sessions, 0)
    t.equal(post(stream, { id: 2, method: 'ping' }).status, 404)
  },
)

t.test('a comment every 15 s keeps a silent stream alive', t => {
  const { clock, get } = start()
  const stream = get()
  const begun = stream.body.length
  clock.advance(14_999)
  t.equal(stream.body.slice(begun), '')
  clock.advance(1)
  t.equal(stream.body.slice(begun), ':\n\n')
  clock.advance(30_000)
  t.equal(stream.body.slice(begun), ':\n\n:\n\n:\n\n')
  t.end()
})

t.test('when there are too many sessions newcomers are sent away until one is over', async t => {
  const { host, get, bounds } = start({ sessions: 3 })
  const streams = Array.from({ length: 3 }, () => get())
  const refused = get()
  t.same([refused.status, refused.isStream, refused.headers['retry-after']], [503, false, '5'])
  t.match(refused.json.error?.data, { limit: 'sessions', max: 3 })
  t.equal(bounds.hits.sessions?.hits, 1)
  t.equal(host.sessions, 3)
  streams[0]?.goAway()
  await settled()
  t.equal(get().status, 200)
})

t.test('a client with more than 32 MiB in front of it is cut off unless it reads', async t => {
  const { host, handler, lines, session, clock } = start()
  const stream = await session()
  const before = said(stream).length
  stream.queuedBytes = 32 * MIB
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.notOk(stream.isDestroyed)
  t.equal(said(stream).length, before + 1)
  stream.queuedBytes = 200 * MIB
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.notOk(stream.isDestroyed, 'it may just not have had the time')
  clock.advance(29_000)
  stream.queuedBytes -= 1
  handler.client.notify('notifications/tools/list_changed', undefined)
  clock.advance(29_000)
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.notOk(stream.isDestroyed, 'it reads, slowly')
  clock.advance(1000)
  handler.client.notify('notifications/tools/list_changed', undefined)
  t.ok(stream.isDestroyed)
  t.equal(said(stream).length, before + 4)
  t.same(warnings(lines), ['cut off a client that does not read its event stream'])
  await settled()
  t.same([host.sessions, handler.gone.length], [0, 1])
})

t.test('a client that takes nothing for 30 s is cut off, one that takes a little is not', async t => {
  const { host, clock, lines, get } = start()
  const stuck = get()
  const slow = get()
  const silent = get()
  stuck.queuedBytes = 5000
  slow.queuedBytes = 5000
  clock.advance(20_000)
  slow.queuedBytes -= 1
  clock.advance(9000)
  t.same([stuck.isDestroyed, slow.isDestroyed], [false, false])
  clock.advance(3000)
  t.same([stuck.isDestroyed, slow.isDestroyed], [true, false])
  clock.advance(20_000)
  t.same([slow.isDestroyed, silent.isDestroyed], [true, false])
  clock.advance(3_600_000)
  t.notOk(silent.isDestroyed)
  t.equal(warnings(lines).length, 2)
  await settled()
  t.equal(host.sessions, 1)
})

t.test('what we write ourselves does not count as reading', async t => {
  const { clock, handler, session } = start()
  const stream = await session()
  stream.queuedBytes = 5000
  for (let second = 0; second < 31; second += 1) {
    clock.advance(1000)
    handler.client.notify('notifications/tools/list_changed', undefined)
    stream.queuedBytes += 100
  }
  clock.advance(1000)
  t.ok(stream.isDestroyed)
})

t.test('a client that reads slower than we write counts as reading', async t => {
  const { clock, handler, session } = start()
  const stream = await session()
  const write = stream.write.bind(stream)
  stream.write = chunk => {
    stream.queuedBytes += textOfChunk(chunk).length
    return write(chunk)
  }
  stream.queuedBytes = 5000
  for (let second = 0; second < 60; second += 1) {
    handler.client.notify('notifications/tools/list_changed', undefined)
    stream.queuedBytes -= 10
    clock.advance(1000)
  }
  t.notOk(stream.isDestroyed)
  t.ok(stream.queuedBytes > 5000)
})

t.test('a long message on a slow line gets time by its length', t => {
  const { clock, get } = start()
  const stream = get()
  stream.queuedBytes = 16 * MIB
  clock.advance(60_000)
  t.notOk(stream.isDestroyed)
  clock.advance(10_000)
  t.ok(stream.isDestroyed)
  t.end()
})

t.test(
  'while a client is behind 100 of its messages wait, more are refused; then they run in order',
  async t => {
    const { handler, session, call } = start()
    const stream = await session()
    stream.queuedBytes = MIB + 1
    handler.client.notify('notifications/tools/list_changed', undefined)
    const statuses = Array.from({ length: 101 }, (_, id) => call(stream, id).status)
    t.same(
      statuses.slice(0, 100),
      Array.from({ length: 100 }, () => 202),
    )
    t.equal(statuses[100], 429)
    t.equal(handler.calls.length, 0)
    stream.read(MIB + 1)
    t.equal(handler.calls.length, 0)
    stream.read(MIB)
    t.same(
      handler.calls.map(({ params }) => params?.toString()),
      Array.from({ length: 100 }, (_, id) => `{"id":${id}}`),
    )
    t.equal(call(stream, 100).status, 202)
    t.equal(handler.calls.length, 101)
  },
)

t.test('messages that wait are bounded in bytes too', async t => {
  const { handler, session, post } = start()
  const stream = await session()
  stream.queuedBytes = 2 * MIB
  handler.client.notify('notifications/tools/list_changed', undefined)
  const large = { id: 1, method: 'tools/call', params: { text: 'x'.repeat(9 * MIB) } }
  t.equal(post(stream, large).status, 202)
  t.equal(post(stream, large).status, 429)
  t.equal(post(stream, { id: 2, method: 'ping' }).status, 202)
})

t.test('when too much data waits for all clients, the client with the most is cut off', async t => {
  const { handler, session, post } = start({ inbound: 2 * MIB })
  const streams = [await session(), await session()]
  const large = (bytes: number) => ({ id: 1, method: 'tools/call', params: { text: 'x'.repeat(bytes) } })
  for (const stream of streams) stream.queuedBytes = 2 * MIB
  for (const client of handler.clients) client.notify('notifications/tools/list_changed', undefined)
  t.same(
    streams.map((stream, index) => post(stream, large(index === 0 ? 1.5 * MIB : MIB)).status),
    [202, 202],
  )
  t.same(
    streams.map(({ isDestroyed }) => isDestroyed),
    [true, false],
  )
})

t.test('a client that falls behind again while its messages run is waited for again', async t => {
  const { handler, session, call } = start()
  const stream = await session()
  handler.onCall = one => {
    stream.queuedBytes += 600 * 1024
    one.end(succeeded(rawText('{}')))
  }
  stream.queuedBytes = 2 * MIB
  handler.client.notify('notifications/tools/list_changed', undefined)
  for (let id = 1; id <= 4; id += 1) call(stream, id)
  stream.read(0)
  t.equal(handler.calls.length, 2)
  stream.read(0)
  t.equal(handler.calls.length, 4)
})

t.test('a client that left while it was behind is told nothing, and its messages are not run', async t => {
  const { handler, session, call } = start()
  const stream = await session()
  stream.queuedBytes = 2 * MIB
  handler.client.notify('notifications/tools/list_changed', undefined)
  call(stream, 1)
  stream.goAway()
  stream.read(0)
  await settled()
  t.same([handler.calls.length, handler.gone.length], [0, 1])
})

t.test('closing ends every stream after the answers that are still due, and leaves no timer', async t => {
  const { host, clock, session, call } = start()
  const stream = await session()
  call(stream, 9)
  host.close()
  await settled()
  t.match(said(stream).at(-1), { id: 9, error: { message: /shutting down/ } })
  t.ok(stream.isEnded)
  t.same([host.sessions, clock.pending], [0, 0])
})

/** The face over real sockets, and clients of the TypeScript SDK. */
async function overSockets(t: Test) {
  const handler = new FakeHandler()
  const around = { log: silentLogger, clock: systemClock }
  const host = createSseListener({
    ...around,
    handler,
    identity: IDENTITY,
  })
  const listener = await listenHttp({
    ...around,
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: [],
    authorize: () => LOCAL,
    endpoints: new Map([
      ['/sse', host.stream],
      ['/messages', host.messages],
    ]),
    other: () => Promise.resolve((_request, response) => void response.writeHead(404).end()),
    bounds: boundsOf({ body: MIB }),
    drainMs: 50,
  })
  t.teardown(async () => {
    host.close()
    await listener.close()
  })
  const url = new URL(`http://127.0.0.1:${listener.port}/sse`)
  const connect = async () => {
    const client = new SdkClient({ name: 'sdk', version: '1' }, { capabilities: { roots: {} } })
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here' }] }))
    await client.connect(new SSEClientTransport(url))
    t.teardown(() => client.close())
    return client
  }
  return { handler, host, connect }
}

t.test('clients of SDK v1 connect, call many tools at once, hear progress and are asked', async t => {
  const { handler, connect } = await overSockets(t)
  handler.onCall = call => {
    if (call.wantsProgress) call.progress(progressOf({ progressToken: 'x', progress: 0.5 }))
    const name = JSON.parse(call.params?.toString() ?? '').name as string
    call.end(succeeded(textOf({ content: [{ type: 'text', text: `did ${name} ${'é'.repeat(100_000)}` }] })))
  }
  const client = await connect()
  t.match(client.getServerVersion(), { name: 'proxy' })
  const steps: number[] = []
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      client.callTool({ name: `tool${i}` }, undefined, {
        onprogress: ({ progress }) => steps.push(progress),
      }),
    ),
  )
  t.ok(results.every(({ content }, i) => JSON.stringify(content).includes(`did tool${i} éé`)))
  t.equal(steps.length, 20)
  const ask = new FakeServerRequest()
  handler.client.ask(ask, undefined)
  await until(() => ask.outcomes.length > 0, 'the roots of the client')
  t.match(JSON.stringify(ask.outcomes[0]), /result/)
  await client.ping()
})

t.test('a client that reads survives a notice on the heels of a large answer', async t => {
  const { handler, connect } = await overSockets(t)
  const text = 'x'.repeat(5 * MIB)
  handler.onCall = call => {
    call.end(succeeded(textOf({ content: [{ type: 'text', text }] })))
    handler.client.notify('notifications/tools/list_changed', undefined)
    handler.client.notify('notifications/prompts/list_changed', undefined)
  }
  const client = await connect()
  t.strictSame(await client.callTool({ name: 'large' }), { content: [{ type: 'text', text }] })
  await client.ping()
})

t.test('the session of an SDK client ends when it leaves; others continue', async t => {
  const { handler, host, connect } = await overSockets(t)
  const one = await connect()
  const other = await connect()
  t.equal(host.sessions, 2)
  await one.close()
  await until(() => host.sessions === 1, 'the end of the session')
  t.equal(handler.gone.length, 1)
  await other.ping()
})

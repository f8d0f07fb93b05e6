import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server as SdkServer } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { openLegacySse } from '../../../../src/eras/legacy/server-side/open.js'
import { openSseChannel } from '../../../../src/eras/legacy/server-side/sse-channel.js'
import { systemClock } from '../../../../src/kernel/async/clock.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { silentLogger } from '../../../../src/kernel/logger.js'
import type { Outcome } from '../../../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import { createHttpClient } from '../../../../src/transport/http/client.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { until } from '../../../support/processes.js'
import { cutInto } from '../../../support/property.js'
import { Recorder, recordedLog, rpc } from '../../../support/wire/channel-pair.js'
import { type FakeExchange, FakeHttp } from '../../../support/wire/fake-http.js'

const URL_ = 'https://mcp.example/v1/sse?key=1'
const TO = { url: URL_, headers: { authorization: 'Bearer secret' } }
const INITIALIZE = rpc({ id: 1, method: 'initialize' })
const INITIALIZED = rpc({ method: 'notifications/initialized' })

function start() {
  const http = new FakeHttp()
  const clock = new FakeClock()
  const stop = new AbortController()
  const { log, lines } = recordedLog()
  const opening = openSseChannel(http, TO, { clock, log, timeoutMs: 10_000, signal: stop.signal })
  opening.catch(() => undefined)
  return { http, clock, stop, lines, opening, get: http.next() }
}

/** A channel whose stream is open, and who listens to it. */
async function opened() {
  const begun = start()
  begun.get.sse()
  begun.get.raw('event: endpoint\ndata: /messages?sessionId=s\n\n')
  const channel = await begun.opening
  const heard = new Recorder()
  channel.listen(heard)
  const send = (text: string) => channel.send(Buffer.from(text))
  return { ...begun, channel, heard, send }
}

/** As `opened`, after the handshake. */
async function initialized() {
  const all = await opened()
  for (const text of [INITIALIZE, INITIALIZED]) {
    all.send(text)
    await settled()
    all.http.next().reply(202)
    await settled()
  }
  return all
}

const shownFault = (thrown: unknown): string =>
  thrown instanceof Fault ? `${thrown.code}: ${thrown.message}` : `no fault: ${String(thrown)}`

const failure = (promise: Promise<unknown>): Promise<string> => promise.then(() => 'opened', shownFault)

t.test(
  'the stream is asked for with the headers of the configuration, and its endpoint gets the messages',
  async t => {
    const { get, http, send } = await opened()
    t.match(get.request, {
      method: 'GET',
      url: URL_,
      headers: { accept: 'text/event-stream', authorization: 'Bearer secret' },
    })
    t.ok(send(INITIALIZE))
    await settled()
    const post = http.next()
    t.match(post.request, {
      method: 'POST',
      url: 'https://mcp.example/messages?sessionId=s',
      headers: { 'content-type': 'application/json', authorization: 'Bearer secret' },
    })
    t.equal(post.request.body?.toString(), INITIALIZE)
  },
)

t.test('the endpoint is resolved against the URL of the stream', async t => {
  const table = [
    ['/messages?sessionId=1', 'https://mcp.example/messages?sessionId=1'],
    ['messages/1', 'https://mcp.example/v1/messages/1'],
    ['?sessionId=1', 'https://mcp.example/v1/sse?sessionId=1'],
    ['https://mcp.example/m', 'https://mcp.example/m'],
    ['https://mcp.example:443/m', 'https://mcp.example/m'],
    ['//mcp.example/m', 'https://mcp.example/m'],
  ] as const
  for (const [said, url] of table) {
    const { get, http, opening } = start()
    get.sse()
    get.raw(`event: endpoint\ndata: ${said}\n\n`)
    const channel = await opening
    channel.send(Buffer.from(INITIALIZE))
    await settled()
    t.equal(http.next().request.url, url, said)
  }
})

t.test('an endpoint at another origin is refused, and the stream is ended', async t => {
  for (const said of [
    'https://evil.example/m',
    'http://mcp.example/m',
    'https://mcp.example:8443/m',
    '//evil.example/m',
    'data:x',
  ]) {
    const { get, opening, clock } = start()
    get.sse()
    get.raw(`event: endpoint\ndata: ${said}\n\n`)
    t.match(await failure(opening), /^unavailable: .*another origin/, said)
    t.ok(get.isAborted)
    t.equal(clock.pending, 0)
  }
  const { get, opening } = start()
  get.sse()
  get.raw('event: endpoint\ndata: http://[\n\n')
  t.match(await failure(opening), /^unavailable: .*not a URL/)
})

t.test('a response other than an event stream is a fault that describes it', async t => {
  const table = [
    [(get: FakeExchange) => get.reply(401), 'unauthorized: The server needs authorization'],
    [(get: FakeExchange) => get.reply(403), 'unauthorized: The server needs authorization'],
    [
      (get: FakeExchange) => get.reply(404),
      'unavailable: The server answered with HTTP status 404 (not found): check the path of "url"',
    ],
    [(get: FakeExchange) => get.reply(503), 'unavailable: The server answered with HTTP status 503'],
    [
      (get: FakeExchange) => get.reply(200, { 'content-type': 'text/html' }, 'event: endpoint\ndata: /m\n\n'),
      'unavailable: The server answered with something other than an event stream',
    ],
    [(get: FakeExchange) => get.break(), 'unavailable: connection reset'],
    [
      (get: FakeExchange) => {
        get.sse()
        get.raw('event: endpoint\ndata: /m\n')
        get.end()
      },
      'unavailable: The server ended the event stream at once',
    ],
  ] as const
  for (const [answer, fault] of table) {
    const { get, opening, clock } = start()
    answer(get)
    t.equal(await failure(opening), fault)
    t.equal(clock.pending, 0)
  }
})

t.test('a server that names no endpoint within 10 s is given up, however much else it says', async t => {
  for (const isOpen of [true, false]) {
    const { get, opening, clock } = start()
    if (isOpen) {
      get.sse()
      get.event({ method: 'notifications/message' })
    }
    await settled()
    clock.advance(9999)
    await settled()
    t.notOk(get.isAborted)
    clock.advance(1)
    t.equal(await failure(opening), 'timeout: The server named no endpoint for messages within 10 s')
    t.ok(get.isAborted)
  }
})

t.test('an attempt that is called off ends at once; an open channel no longer minds', async t => {
  const { get, opening, stop } = start()
  get.sse()
  await settled()
  stop.abort()
  t.equal(await failure(opening), 'cancelled: It was cancelled before it was done')
  t.ok(get.isAborted)
  const open = await opened()
  open.stop.abort()
  await settled()
  t.same(open.heard.ends, [])
  t.notOk(open.get.isAborted)
})

const SCRIPT = [
  'event: endpoint\ndata: /m\n\n',
  'event: message\ndata: {"n":12345678901234567890}\n\n',
  ': a comment\n\n',
  'data: {"without":"a name"}\n\n',
  'event: other\ndata: {"not":"for us"}\n\n',
  'event: endpoint\ndata: /elsewhere\n\n',
  'event: message\nid: 7\ndata: {"multi":\ndata: "lïne"}\n\n',
  'event: message\ndata:\n\n',
  'retry: 5\n\n',
  'event: message\ndata: "last"\n\n',
].join('')

/** A server whose stream is cut into these chunks and stays open; it takes every POST. */
function scripted(chunks: readonly Buffer[]) {
  const posts: string[] = []
  const http = new FakeHttp()
  http.onRequest = exchange => {
    exchange.sse()
    if (exchange.method === 'POST') posts.push(exchange.request.url)
    else for (const chunk of chunks) exchange.bytes(chunk)
    return true
  }
  return { http, posts }
}

t.test('CRLF, CR, a byte order mark, several data lines and any chunks mean the same', async t => {
  for (const eol of ['\n', '\r\n', '\r']) {
    for (const size of [1, 2, 3, 7, 1000]) {
      const bytes = Buffer.from(`\ufeff${SCRIPT.replaceAll('\n', eol)}`)
      const cuts = Array.from({ length: Math.floor(bytes.length / size) }, (_, i) => i * size)
      const { http, posts } = scripted(cutInto(bytes, cuts))
      const around = { clock: new FakeClock(), log: silentLogger, timeoutMs: 10_000 }
      const channel = await openSseChannel(http, TO, { ...around, signal: new AbortController().signal })
      const heard = new Recorder()
      channel.listen(heard)
      t.same(heard.messages, [], 'nothing is told while the listener is still being made')
      await heard.hasMessages(4)
      await settled()
      t.same(heard.messages, [
        '{"n":12345678901234567890}',
        '{"without":"a name"}',
        '{"multi":\n"lïne"}',
        '"last"',
      ])
      channel.send(Buffer.from(INITIALIZE))
      await settled()
      t.same(posts, ['https://mcp.example/m'])
      await channel.close()
    }
  }
})

t.test('messages before the endpoint event are dropped', async t => {
  const { get, opening } = start()
  get.sse()
  get.event({ id: 1, result: {} })
  get.raw('event: endpoint\ndata: /m\n\n')
  const channel = await opening
  const heard = new Recorder()
  channel.listen(heard)
  get.event('"after"')
  await heard.hasMessages(1)
  t.same(heard.messages, ['"after"'])
})

t.test('POSTs wait for each other until the handshake is over, and then for nothing', async t => {
  const { http, send } = await opened()
  send(INITIALIZE)
  send(INITIALIZED)
  send('{"first":1}')
  send('{"second":2}')
  await settled()
  t.equal(http.waiting, 1)
  const one = http.next()
  t.equal(one.request.body?.toString(), INITIALIZE)
  one.reply(200, {}, 'ok')
  await settled()
  t.equal(http.waiting, 1)
  const two = http.next()
  t.equal(two.request.body?.toString(), INITIALIZED)
  two.reply(204)
  await settled()
  t.same(
    [http.next(), http.next()].map(({ request }) => request.body?.toString()),
    ['{"first":1}', '{"second":2}'],
  )
  send('{"third":3}')
  await settled()
  t.equal(http.next().request.body?.toString(), '{"third":3}')
})

t.test('a second initialize and an answer during the handshake keep their order too', async t => {
  const { http, send } = await opened()
  const texts = [
    INITIALIZE,
    rpc({ id: 'ping', result: {} }),
    rpc({ id: 2, method: 'initialize' }),
    INITIALIZED,
  ]
  for (const text of texts) send(text)
  for (const text of texts) {
    await settled()
    t.equal(http.waiting, 1)
    const post = http.next()
    t.equal(post.request.body?.toString(), text)
    post.reply(202)
  }
})

t.test('a server that answers POSTs late holds the handshake up for 10 s at most', async t => {
  const { http, clock, send } = await opened()
  send(INITIALIZE)
  await settled()
  http.next()
  send(INITIALIZED)
  clock.advance(9999)
  await settled()
  t.equal(http.waiting, 0)
  clock.advance(1)
  await settled()
  t.equal(http.next().request.body?.toString(), INITIALIZED)
})

t.test('any status below 300 accepts a message, with any body', async t => {
  const { http, send, heard } = await initialized()
  for (const status of [200, 201, 202, 204]) {
    send('{}')
    await settled()
    const post = http.next()
    post.reply(
      status,
      { 'content-type': 'application/json' },
      status === 204 ? '' : '{"jsonrpc":"2.0","id":1}',
    )
    await settled()
    t.ok(post.isDiscarded)
  }
  t.same([heard.messages, heard.ends], [[], []])
})

t.test('a rejected message ends the session with a fault that names the status', async t => {
  const table = [
    [400, 'disconnected: The server did not take a message (HTTP status 400)'],
    [404, 'disconnected: The server no longer knows the session (HTTP status 404)'],
    [500, 'disconnected: The server did not take a message (HTTP status 500)'],
    [302, 'disconnected: The server did not take a message (HTTP status 302)'],
    [401, 'unauthorized: The server needs authorization'],
    [403, 'unauthorized: The server needs authorization'],
  ] as const
  for (const [status, words] of table) {
    const { get, http, send, heard, lines } = await initialized()
    send('{"a":1}')
    send('{"b":2}')
    await settled()
    http.next().reply(status)
    const fault = await heard.isClosed()
    t.equal(shownFault(fault), words)
    t.same(fault?.data, { httpStatus: status })
    t.match(lines, [['warn', { status }, String]])
    await settled()
    t.ok(get.isAborted && http.next().isAborted)
    t.equal(heard.ends.length, 1)
    t.notOk(send('{}'))
    await settled()
    t.equal(http.waiting, 0)
  }
})

t.test('a POST that reaches no server ends the session', async t => {
  const { http, send, heard } = await initialized()
  send('{}')
  await settled()
  http.next().break()
  t.equal(shownFault(await heard.isClosed()), 'disconnected: A message could not be sent to the server')
})

t.test(
  'a message that only reads is posted once more, on a new connection, if its connection closes',
  async t => {
    const { http, send, heard } = await initialized()
    send(rpc({ id: 2, method: 'resources/read' }))
    await settled()
    http.next().break(new Fault('disconnected', 'other side closed'))
    await settled()
    const again = http.next()
    t.equal(again.request.onNewConnection, true)
    again.reply(202)
    await settled()
    t.same(heard.ends, [])
    send(rpc({ id: 3, method: 'tools/call' }))
    await settled()
    http.next().break(new Fault('disconnected', 'other side closed'))
    t.match(shownFault(await heard.isClosed()), /^disconnected/)
    t.equal(http.waiting, 0, 'a call may have run')
  },
)

t.test('a lost session refuses its message, and leaves others time for their answers', async t => {
  const { http, clock, channel } = await initialized()
  const refused: string[] = []
  const heard = Object.assign(new Recorder(), {
    refused: (message: Buffer, why: Fault) => refused.push(`${message.toString()} ${why.message}`),
  })
  channel.listen(heard)
  await settled()
  for (const text of ['"one"', '"two"', '"three"']) channel.send(Buffer.from(text))
  await settled()
  http.next().reply(404, {}, 'Session not found')
  await settled()
  t.notOk(channel.send(Buffer.from('"late"')))
  http.next().reply(202)
  http.next().reply(404)
  await settled()
  t.same(refused, [
    '"one" The server no longer knows the session (HTTP status 404: Session not found)',
    '"three" The server no longer knows the session (HTTP status 404)',
  ])
  t.same(heard.ends, [])
  clock.advance(5000)
  t.match(shownFault(await heard.isClosed()), /^disconnected: The server no longer knows the session/)
  t.equal(clock.pending, 0)
})

t.test('the end or a break of the stream is the end of the session', async t => {
  const ended = await initialized()
  ended.get.event('"last"')
  ended.get.end()
  t.equal(shownFault(await ended.heard.isClosed()), 'disconnected: The server ended the event stream')
  t.same(ended.heard.messages, ['"last"'])
  const broken = await initialized()
  broken.send('{}')
  await settled()
  broken.get.break()
  t.equal(shownFault(await broken.heard.isClosed()), 'disconnected: The event stream of the server broke')
  await settled()
  t.ok(broken.http.next().isAborted)
})

t.test('closing aborts the stream and pending POSTs, and reports nothing after', async t => {
  const { get, http, channel, heard, send } = await initialized()
  send('{}')
  await settled()
  await channel.close()
  await channel.close()
  get.event('"late"')
  await settled()
  t.ok(get.isAborted && http.next().isAborted)
  t.same([heard.messages, heard.ends], [[], [undefined]])
  const early = start()
  early.get.sse()
  early.get.raw('event: endpoint\ndata: /m\n\ndata: "unheard"\n\n')
  const unheard = await early.opening
  await unheard.close()
  const late = new Recorder()
  unheard.listen(late)
  await settled()
  t.same([late.messages, late.ends], [[], [undefined]])
})

t.test('a paused channel does not read on, and goes on where it was', async t => {
  const { get, channel, heard } = await initialized()
  channel.pause()
  get.event('1')
  await settled()
  get.event('2')
  get.event('3')
  await settled()
  t.ok(heard.messages.length <= 1, 'at most what was being read already')
  channel.resume()
  await heard.hasMessages(3)
  t.same(heard.messages, ['1', '2', '3'])
  channel.pause()
  await channel.close()
  t.same(heard.ends, [undefined])
})

t.test(
  'a server that leaves POSTs unanswered is behind, is told to have caught up, and is given up in the end',
  async t => {
    const { http, channel, heard, send } = await initialized()
    t.equal(channel.queuedBytes, 0)
    t.equal(send('x'.repeat(1024 * 1024 - 8 * 1024)), true)
    t.equal(send('{}'), true)
    t.equal(send('{}'), false)
    await settled()
    http.next().reply(202)
    await settled()
    t.equal(heard.drains, 1)
    t.equal(channel.queuedBytes, 2 * 8 * 1024)
    for (let i = 0; i < 2046; i += 1) send('{}')
    t.same(heard.ends, [])
    send('{}')
    t.equal(shownFault(await heard.isClosed()), 'disconnected: The server leaves our messages unanswered')
  },
)

// ── over sockets ──

async function serving(t: Test, onRequest: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(onRequest)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function link(t: Test, url: string) {
  const http = createHttpClient()
  t.teardown(() => http.close())
  const lost: string[] = []
  const opening = openLegacySse(
    http,
    { url, headers: { 'x-key': 'k' } },
    {
      server: 'old',
      listener: {
        requested: ask => ask.answer({ kind: 'result', result: textOf({}) }),
        notified: () => undefined,
        closed: why => lost.push(shownFault(why)),
      },
      capabilities: NO_CAPABILITIES,
      clientInfo: textOf({ name: 'proxy', version: '1' }),
      offer: '2025-11-25',
      timeoutMs: 5000,
      pingMs: Number.POSITIVE_INFINITY,
      signal: new AbortController().signal,
      clock: systemClock,
      log: silentLogger,
    },
  )
  const down = await opening
  t.teardown(() => down.close())
  const call = (params: object) =>
    new Promise<Outcome>(ended =>
      down.call(
        { method: 'tools/call', params: textOf(params), wantsProgress: false },
        { progress: () => undefined, ended },
      ),
    )
  return { down, call, lost }
}

t.test('servers of SDK v1 are initialized, called many times at once, and left', async t => {
  const transports = new Map<string, SSEServerTransport>()
  const keys = new Set<unknown>()
  const base = await serving(t, (request, response) => {
    keys.add(request.headers['x-key'])
    const url = new URL(request.url ?? '', 'http://x')
    if (request.method === 'POST') {
      void transports.get(url.searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response)
      return
    }
    const transport = new SSEServerTransport('/messages', response)
    transports.set(transport.sessionId, transport)
    response.once('close', () => transports.delete(transport.sessionId))
    const server = new SdkServer({ name: 'sdk', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      await server.ping()
      return { content: [{ type: 'text', text: `did ${params.name} ${'é'.repeat(100_000)}` }] }
    })
    void server.connect(transport)
  })
  const { down, call, lost } = await link(t, `${base}/sse`)
  t.match(down.facts.info.toString(), /"name":"sdk"/)
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, i) => call({ name: `tool${i}` })))
  for (const [i, outcome] of outcomes.entries())
    t.ok(outcome.kind === 'result' && outcome.result.toString().includes(`did tool${i} éé`))
  t.same([...keys], ['k'])
  await down.close()
  t.match(lost, [/^disconnected/])
  await until(() => transports.size === 0, 'the end of the stream at the server')
})

t.test(
  'an odd server: CRLF, single bytes, an absolute endpoint, 200 ok; its end fails calls in flight',
  async t => {
    let stream: ServerResponse | undefined
    const write = async (text: string) => {
      for (const byte of Buffer.from(text)) {
        stream?.write(Buffer.of(byte))
        await new Promise(resolve => setImmediate(resolve))
      }
    }
    const base: string = await serving(t, (request, response) => {
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
        void write(`\ufeffretry: 1\r\nevent: endpoint\r\ndata: ${base}/in\r\n\r\n`)
        return
      }
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        response.end('ok')
        const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string }
        if (method === 'tools/call') stream?.end()
        if (method !== 'initialize') return
        const head = `{"jsonrpc":"2.0","id":${id},"result":`
        void write(
          `data: ${head}\r\ndata: {"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"ö","version":"1"}}}\r\n\r\n`,
        )
      })
    })
    const { down, call, lost } = await link(t, `${base}/sse`)
    t.equal(down.facts.revision, '2024-11-05')
    const outcome = await call({ name: 'x' })
    t.equal(
      outcome.kind === 'fault' ? shownFault(outcome.fault) : outcome.kind,
      'disconnected: The server ended the event stream',
    )
    t.same(lost, ['disconnected: The server ended the event stream'])
  },
)

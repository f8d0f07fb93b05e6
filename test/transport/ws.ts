import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import t, { type Test } from 'tap'
import { type ClientOptions, WebSocket, WebSocketServer } from 'ws'
import { systemClock } from '../../src/kernel/async/clock.js'
import { LOCAL } from '../../src/kernel/caller.js'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { statedIn } from '../../src/rpc/http/refusal.js'
import { listenHttp } from '../../src/transport/http/server.js'
import { connectWs, type WsClientOptions } from '../../src/transport/ws/client.js'
import { createWsServer, type WsServerOptions } from '../../src/transport/ws/server.js'
import type { Channel } from '../../src/wire/channel.js'
import { FakeClock } from '../support/fake-clock.js'
import { until } from '../support/processes.js'
import { boundsOf } from '../support/values.js'
import { Recorder, recordedLog } from '../support/wire/channel-pair.js'

async function listening(t: Test, more: Partial<WsServerOptions> = {}) {
  const channels: Channel[] = []
  const { log, lines } = recordedLog()
  const server = createWsServer({
    serves: path => path === '/ws',
    onChannel: channel => channels.push(channel),
    log,
    // Nothing times out unless the test says so.
    clock: new FakeClock(),
    ...more,
  })
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: ['https://app.example'],
    authorize: () => LOCAL,
    endpoints: new Map(),
    other: () => Promise.resolve((_request, response) => void response.writeHead(404).end()),
    upgrade: server.upgrade,
    bounds: boundsOf({ body: 1000 }),
    log,
    clock: systemClock,
    drainMs: 50,
  })
  t.teardown(async () => {
    await server.close()
    await listener.close()
  })
  const accepted = async (count: number): Promise<Channel> => {
    await until(() => channels.length >= count, `${count} connections`)
    const channel = channels[count - 1]
    if (channel === undefined) throw new Error('no channel')
    return channel
  }
  return { port: listener.port, url: `ws://127.0.0.1:${listener.port}/ws`, server, lines, accepted }
}

/** A peer that speaks plain WebSocket, and what it was told. */
async function peer(t: Test, url: string, protocols: string | string[] = 'mcp', options: ClientOptions = {}) {
  const ws = new WebSocket(url, protocols, options)
  const seen: { messages: string[]; pings: number; closed: readonly [number, string] | undefined } = {
    messages: [],
    pings: 0,
    closed: undefined,
  }
  ws.on('message', data => seen.messages.push(String(data)))
  ws.on('ping', () => {
    seen.pings += 1
  })
  ws.on('close', (code, reason) => {
    seen.closed = [code, reason.toString()]
  })
  ws.on('error', () => undefined)
  t.teardown(() => ws.terminate())
  await new Promise((resolve, reject) => ws.once('open', resolve).once('error', reject))
  const closed = async (): Promise<readonly [number, string] | undefined> => {
    await until(() => seen.closed !== undefined, 'the end of the WebSocket')
    return seen.closed
  }
  return { ws, seen, closed }
}

/** The status with which a request to upgrade is refused; 101 when it is not. */
const statusOf = (port: number, path: string, headers: Record<string, string>): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = httpRequest({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      headers: {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        ...headers,
      },
    })
    sent.on('response', response => resolve(response.resume().statusCode ?? 0))
    sent.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })

const dial = (url: string, more: Partial<WsClientOptions> = {}) =>
  connectWs({
    url,
    headers: {},
    connectTimeoutMs: 60_000,
    signal: new AbortController().signal,
    log: silentLogger,
    clock: systemClock,
    ...more,
  })

/** A server that is no proxy, closed at the end of the test. */
async function portOf(t: Test, server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>(resolve => void server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

/** A server that is not ours, closed at the end of the test. */
async function stranger(
  t: Test,
  onConnection: (ws: WebSocket, request: IncomingMessage) => void,
  autoPong = true,
) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong })
  server.on('connection', onConnection)
  await new Promise(resolve => server.once('listening', resolve))
  t.teardown(() => {
    for (const ws of server.clients) ws.terminate()
    server.close()
  })
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('messages cross a WebSocket as text frames, both ways', async t => {
  const { url, accepted } = await listening(t)
  const client = await dial(`${url}?token=1`)
  const server = await accepted(1)
  const [atClient, atServer] = [new Recorder(), new Recorder()]
  t.equal(client.send(Buffer.from('{"a":"ä€😀"}')), true, 'also before the other side listens')
  client.listen(atClient)
  server.listen(atServer)
  await atServer.hasMessages(1)
  const reply = Buffer.from('{"b":\n2}')
  server.send(reply)
  server.send(Buffer.from('{"c":3}'))
  await atClient.hasMessages(2)
  t.same(atServer.messages, ['{"a":"ä€😀"}'])
  t.same(atClient.messages, ['{"b":\n2}', '{"c":3}'])
  await client.close()
  t.equal(await atServer.isClosed(), undefined, 'a client may leave')
  t.same(atClient.ends, [undefined])
  t.equal(client.send(Buffer.from('{}')), false)
  t.equal(server.send(Buffer.from('{}')), false)
})

t.test('masking leaves the bytes of the sender alone', async t => {
  const { url, accepted } = await listening(t)
  const client = await dial(url)
  const message = Buffer.from('{"same":true}')
  client.send(message)
  const atServer = new Recorder()
  ;(await accepted(1)).listen(atServer)
  await atServer.hasMessages(1)
  t.equal(message.toString(), '{"same":true}')
  await client.close()
})

t.test('nothing is read before there is a listener, nor while paused', async t => {
  const { url, accepted } = await listening(t)
  const { ws } = await peer(t, url)
  const channel = await accepted(1)
  ws.send('{"early":1}')
  const atServer = new Recorder()
  channel.pause()
  channel.listen(atServer)
  await new Promise<void>(resolve => ws.send('{"early":2}', () => resolve()))
  for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
  t.same(atServer.messages, [])
  channel.resume()
  await atServer.hasMessages(2)
  t.same(atServer.messages, ['{"early":1}', '{"early":2}'])
})

t.test('the subprotocol is mcp, or none when none is offered', async t => {
  const { url, port } = await listening(t)
  t.equal((await peer(t, url, 'mcp')).ws.protocol, 'mcp')
  t.equal((await peer(t, url, ['graphql-ws', 'mcp'])).ws.protocol, 'mcp')
  t.equal((await peer(t, url, [])).ws.protocol, '')
  const rows: readonly (readonly [string, number])[] = [
    ['mcp', 101],
    ['a,mcp', 101],
    ['graphql-ws', 400],
    ['MCP', 400],
    ['mcp2, xmcp', 400],
    ['', 400],
    ['mcp,,', 400],
  ]
  for (const [offered, status] of rows) {
    t.equal(await statusOf(port, '/ws', { 'Sec-WebSocket-Protocol': offered }), status, offered)
  }
})

t.test('strangers are refused before anything is opened', async t => {
  const { port, accepted } = await listening(t)
  const rows: readonly (readonly [string, Record<string, string>, number])[] = [
    ['/ws', {}, 101],
    ['/ws?x=1', {}, 101],
    ['/ws', { Origin: 'https://app.example' }, 101],
    ['/ws', { Origin: 'http://localhost:1234' }, 101],
    ['/ws', { Origin: 'https://evil.example' }, 403],
    ['/ws', { Origin: 'null' }, 403],
    ['/ws', { Host: 'evil.example' }, 403],
    ['/other', {}, 404],
    ['/ws/', {}, 404],
    ['/ws', { 'Sec-WebSocket-Key': 'short' }, 400],
    ['/ws', { 'Sec-WebSocket-Version': '7' }, 400],
    ['/ws', { Upgrade: 'h2c' }, 404],
  ]
  for (const [path, headers, status] of rows) {
    t.equal(await statusOf(port, path, headers), status, `${path} ${JSON.stringify(headers)}`)
  }
  await accepted(4)
})

t.test('an invalid frame closes the connection with its code', async t => {
  const rows: readonly (readonly [string, (ws: WebSocket) => void, number, RegExp])[] = [
    ['binary', ws => ws.send(Buffer.from('{}')), 1003, /sent a binary frame/],
    ['too large', ws => ws.send('x'.repeat(1001)), 1009, /more than 1000 bytes/],
    [
      'too large in pieces',
      ws => {
        ws.send('x'.repeat(600), { fin: false })
        ws.send('x'.repeat(600))
      },
      1009,
      /more than 1000 bytes/,
    ],
    [
      'too many pieces',
      ws => {
        for (let count = 0; count < 1025; count += 1) ws.send('', { fin: false })
      },
      1008,
      /broke the WebSocket protocol/,
    ],
    ['no UTF-8', ws => ws.send(Buffer.from([0xff]), { binary: false }), 1007, /broke the WebSocket protocol/],
  ]
  for (const [name, act, code, words] of rows) {
    const { url, accepted, lines } = await listening(t, { bounds: boundsOf({ body: 1000 }) })
    const { ws, closed } = await peer(t, url)
    const channel = await accepted(1)
    const atServer = new Recorder()
    channel.listen(atServer)
    ws.send('x'.repeat(1000))
    await atServer.hasMessages(1)
    act(ws)
    ws.send('{"late":1}')
    t.equal((await closed())?.[0], code, name)
    t.match(await atServer.isClosed(), { code: 'disconnected', message: words })
    t.equal(atServer.messages.length, 1)
    t.match(lines, [['warn', {}, 'disconnected a WebSocket peer']])
    await channel.close()
    t.equal(atServer.ends.length, 1)
  }
})

t.test('an empty frame is ignored', async t => {
  const { url, accepted } = await listening(t)
  const { ws } = await peer(t, url)
  const atServer = new Recorder()
  ;(await accepted(1)).listen(atServer)
  ws.send('')
  ws.send('{}')
  await atServer.hasMessages(1)
  t.same(atServer.messages, ['{}'])
})

t.test('a peer that answers pings stays, one that is silent for two of them is cut off', async t => {
  const clock = new FakeClock()
  const { url, accepted } = await listening(t, { clock })
  const alive = await peer(t, url)
  const atAlive = new Recorder()
  ;(await accepted(1)).listen(atAlive)
  const dead = await peer(t, url, 'mcp', { autoPong: false })
  const atDead = new Recorder()
  ;(await accepted(2)).listen(atDead)
  for (let pings = 1; pings <= 2; pings += 1) {
    clock.advance(29_999)
    t.equal(alive.seen.pings, pings - 1)
    clock.advance(1)
    await until(() => alive.seen.pings === pings && dead.seen.pings === pings, 'the ping')
    // What it sends after the pong arrives after it.
    alive.ws.send('{}')
    await atAlive.hasMessages(pings)
  }
  t.same(atDead.ends, [])
  clock.advance(30_000)
  t.match(atDead.ends, [{ code: 'disconnected', message: 'did not answer 2 pings' }])
  t.equal((await dead.closed())?.[0], 1006)
  t.same(atAlive.ends, [])
  t.equal(dead.seen.pings, 2)
})

t.test('a peer that we do not read from is not called silent', async t => {
  const clock = new FakeClock()
  const { url, accepted } = await listening(t, { clock })
  const { ws } = await peer(t, url)
  const channel = await accepted(1)
  const atServer = new Recorder()
  channel.listen(atServer)
  channel.pause()
  clock.advance(300_000)
  t.same(atServer.ends, [])
  channel.resume()
  ws.send('{}')
  await atServer.hasMessages(1)
})

t.test('a slow reader is reported to its sender, cut off in the end, and affects no other', async t => {
  const clock = new FakeClock()
  const { url, accepted, lines } = await listening(t, { clock })
  const slow = await peer(t, url)
  const toSlow = await accepted(1)
  const atSlow = new Recorder()
  toSlow.listen(atSlow)
  const other = await peer(t, url)
  const toOther = await accepted(2)
  toOther.listen(new Recorder())
  const message = Buffer.alloc(256 * 1024, 0x20)

  slow.ws.pause()
  const fill = async () => {
    while (toSlow.send(message)) await new Promise(resolve => setImmediate(resolve))
  }
  await fill()
  t.ok(toSlow.queuedBytes > 1024 * 1024)
  t.equal(atSlow.drains, 0)
  slow.ws.resume()
  await until(() => atSlow.drains === 1, 'drained')
  t.equal(toSlow.send(Buffer.from('{}')), true)
  clock.advance(29_000)
  t.same(atSlow.ends, [])

  slow.ws.pause()
  await fill()
  while (toSlow.queuedBytes <= 40 * 1024 * 1024) t.equal(toSlow.send(message), false)
  await new Promise(resolve => setImmediate(resolve))
  t.same(atSlow.ends, [], 'a reader may be far behind for a moment')
  clock.advance(30_000)
  const queued = toSlow.queuedBytes
  t.equal(toSlow.send(message), false)
  t.equal(toSlow.queuedBytes, queued, 'nothing more is queued')
  t.same(atSlow.ends, [], 'the end does not come in the middle of send')
  const fault = await atSlow.isClosed()
  t.match(fault, { code: 'disconnected', message: 'does not read its messages' })
  t.match(lines, [['warn', { code: 1013 }, 'disconnected a WebSocket peer']])
  toOther.send(Buffer.from('{"still":"here"}'))
  await until(() => other.seen.messages.length === 1, 'the message to the other')
  slow.ws.resume()
  t.same(await slow.closed(), [1013, 'too far behind in reading'], 'one that wakes up in time learns why')
})

t.test('closing on a reader that is too far behind cuts it off, with a message', async t => {
  const { url, accepted, lines } = await listening(t, { clock: new FakeClock() })
  const slow = await peer(t, url)
  const toSlow = await accepted(1)
  const atSlow = new Recorder()
  toSlow.listen(atSlow)
  slow.ws.pause()
  while (toSlow.queuedBytes <= 32 * 1024 * 1024) toSlow.send(Buffer.alloc(1024 * 1024, 0x20))
  const closed = toSlow.close()
  t.equal(toSlow.close(), closed)
  t.match(lines, [['warn', { code: 1013 }, 'disconnected a WebSocket peer']])
  t.match(atSlow.ends, [{ code: 'disconnected' }])
  slow.ws.resume()
  t.same(await slow.closed(), [1013, 'too far behind in reading'])
  await closed
})

t.test('a reader that stands still for the time it has is cut off', async t => {
  const clock = new FakeClock()
  const { url, accepted } = await listening(t, { clock })
  const { ws, closed } = await peer(t, url)
  ws.pause()
  const channel = await accepted(1)
  const atServer = new Recorder()
  channel.listen(atServer)
  const message = Buffer.alloc(256 * 1024, 0x20)
  while (channel.send(message)) await new Promise(resolve => setImmediate(resolve))
  clock.advance(29_999)
  t.same(atServer.ends, [])
  clock.advance(1)
  t.match(atServer.ends, [{ code: 'disconnected', message: 'does not read its messages' }])
  const gone = channel.close()
  clock.advance(60_000)
  await gone
  ws.resume()
  await closed()
})

t.test('close notifies every client, cuts off silent ones, and accepts no new ones', async t => {
  const clock = new FakeClock()
  const { url, port, server, accepted } = await listening(t, { clock })
  const polite = await peer(t, url)
  const deaf = await peer(t, url)
  deaf.ws.pause()
  const [atPolite, atDeaf] = [new Recorder(), new Recorder()]
  ;(await accepted(1)).listen(atPolite)
  ;(await accepted(2)).listen(atDeaf)
  const unheard = await peer(t, url)
  const closed = server.close()
  t.equal(server.close(), closed)
  t.same(await polite.closed(), [1001, ''])
  t.equal((await unheard.closed())?.[0], 1001, 'also where nobody listened yet')
  t.equal(await atPolite.isClosed(), undefined)
  t.equal(await statusOf(port, '/ws', {}), 503)
  t.same(atDeaf.ends, [])
  clock.advance(2000)
  await closed
  t.same(atDeaf.ends, [undefined])
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('how a client leaves decides whether that is a fault', async t => {
  const rows: readonly (readonly [(ws: WebSocket) => void, string | undefined])[] = [
    [ws => ws.close(1000), undefined],
    [ws => ws.close(1001, 'tab closed'), undefined],
    [ws => ws.close(), undefined],
    [ws => ws.close(4000), 'closed the connection (code 4000)'],
    [ws => ws.terminate(), 'lost the connection (code 1006)'],
  ]
  for (const [leave, message] of rows) {
    const { url, accepted } = await listening(t)
    const { ws } = await peer(t, url)
    const atServer = new Recorder()
    ;(await accepted(1)).listen(atServer)
    leave(ws)
    t.equal((await atServer.isClosed())?.message, message)
  }
})

t.test('a server that goes away is a fault that names the close code', async t => {
  for (const code of [1000, 1001, 1011, 1012]) {
    const channel = await dial(await stranger(t, ws => ws.close(code, 'secret reason')))
    const atClient = new Recorder()
    channel.listen(atClient)
    t.match(await atClient.isClosed(), {
      code: 'disconnected',
      message: `closed the connection (code ${code})`,
    })
    t.equal(atClient.ends.length, 1)
    const late = new Recorder()
    channel.listen(late)
    t.equal((await late.isClosed())?.code, 'disconnected', 'also told to who listens later')
  }
})

t.test('the client offers mcp and sends its headers, nothing more', async t => {
  let seen: IncomingMessage['headers'] = {}
  const url = await stranger(t, (ws, request) => {
    seen = request.headers
    ws.send('{"first":1}')
  })
  const channel = await dial(url, { headers: { Authorization: 'Bearer x' } })
  const atClient = new Recorder()
  channel.listen(atClient)
  await atClient.hasMessages(1)
  t.match(seen, { authorization: 'Bearer x', 'sec-websocket-protocol': 'mcp' })
  t.notOk('sec-websocket-extensions' in seen)
  t.notOk('origin' in seen)
  await channel.close()
})

t.test('a failed handshake reports the cause, without a secret', async t => {
  const answering = (status: number, headers: Record<string, string> = {}) =>
    createServer().on('upgrade', (_request, socket) => {
      const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.end(`HTTP/1.1 ${status} Words\r\n${more.join('')}Content-Length: 0\r\n\r\n`)
      socket.on('error', () => undefined)
    })
  const talking = (text: string) =>
    createTcpServer(socket => {
      socket.on('error', () => undefined)
      socket.once('data', () => void (text === '' ? socket.destroy() : socket.end(text)))
    })
  const withoutProtocol = createServer()
  const bare = new WebSocketServer({ server: withoutProtocol, handleProtocols: () => false })
  t.teardown(() => bare.close())
  const closedPort = () =>
    new Promise<number>(resolve => {
      const server = createTcpServer().listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo
        server.close(() => resolve(port))
      })
    })
  const rows: readonly (readonly [string, number, string, RegExp])[] = [
    ['ws', await portOf(t, answering(401)), 'unauthorized', /refused access \(HTTP 401\)/],
    ['ws', await portOf(t, answering(403)), 'unauthorized', /refused access \(HTTP 403\)/],
    ['ws', await portOf(t, answering(404)), 'unavailable', /did not open a WebSocket \(HTTP 404\)/],
    ['ws', await portOf(t, answering(200)), 'unavailable', /did not open a WebSocket \(HTTP 200\)/],
    [
      'ws',
      await portOf(t, answering(302, { Location: 'ws://elsewhere.example/' })),
      'unavailable',
      /sent a redirect \(HTTP 302\), which the proxy does not follow/,
    ],
    ['ws', await portOf(t, withoutProtocol), 'unavailable', /does not speak the subprotocol "mcp"/],
    ['ws', await portOf(t, talking('SSH-2.0-x\r\n')), 'unavailable', /is not a WebSocket handshake/],
    ['ws', await portOf(t, talking('')), 'unavailable', /was lost/],
    ['wss', await portOf(t, answering(200)), 'unavailable', /no TLS on that port/],
    // Last, or one of the others would be given that port.
    ['ws', await closedPort(), 'unavailable', /connection refused/],
  ]
  for (const [scheme, port, code, words] of rows) {
    const url = `${scheme}://user:hunter2@127.0.0.1:${port}/p?token=hunter3`
    const fault: unknown = await dial(url, { headers: { 'X-Key': 'hunter4' } }).catch(
      (error: unknown) => error,
    )
    if (!(fault instanceof Fault)) throw new Error('no fault')
    t.equal(fault.code, code, String(words))
    t.match(fault.message, words)
    t.notMatch(fault.message, /hunter|user|elsewhere/)
    t.match(fault.message, `${scheme}://127.0.0.1:${port} `)
  }
})

t.test('a failed handshake reports the reason in the body of its answer', async t => {
  const answering = (status: number, headers: Readonly<Record<string, string>>, body: string) =>
    createServer().on('upgrade', (_request, socket) => {
      const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.on('error', () => undefined)
      socket.end(`HTTP/1.1 ${status} Words\r\nConnection: close\r\n${more.join('')}\r\n${body}`)
    })
  const json = { 'Content-Type': 'application/json' }
  const html = { 'Content-Type': 'text/html' }
  const long = 'x'.repeat(10_000)
  const rows: readonly (readonly [number, Readonly<Record<string, string>>, string, RegExp, string])[] = [
    [
      503,
      json,
      '{"error":"maintenance until noon"}',
      /check "url"; it answered: maintenance until noon$/,
      'reason',
    ],
    [403, {}, 'the plan has no sockets', /check "headers"; it answered: the plan has no sockets$/, 'reason'],
    [502, html, '<title>502 Bad Gateway</title>nginx', /it answered: 502 Bad Gateway \(a gateway/, 'gateway'],
    [500, {}, 'token=hunter2hunter2', /it answered: token=\*\*\*$/, 'reason'],
    [500, {}, long, /it answered: x{800}/, 'reason'],
  ]
  for (const [status, headers, body, words, remote] of rows) {
    const port = await portOf(t, answering(status, headers, body))
    await t.rejects(dial(`ws://127.0.0.1:${port}/`, { statedIn }), {
      message: words,
      remote,
      data: { httpStatus: status },
    })
  }
})

t.test('what cannot be a connection is refused before one is tried', async t => {
  for (const url of ['nonsense', 'http://127.0.0.1/', 'ws+unix:/x', 'ws://127.0.0.1/#x', 'ws://u:hunter2@']) {
    const fault: unknown = await dial(url).catch((error: unknown) => error)
    t.match(fault, { code: 'unavailable', message: /check "url"/ }, url)
    t.notMatch(fault, { message: /hunter/ })
    t.equal(fault instanceof Error && fault.cause, undefined)
  }
  const headers = { 'X-Key': 'a\nhunter2' }
  await t.rejects(dial('ws://127.0.0.1:1/', { headers }), { code: 'unavailable', message: /check "headers"/ })
  await t.rejects(dial('ws://127.0.0.1:1/', { signal: AbortSignal.abort() }), { code: 'cancelled' })
})

t.test('a tunnel is closed if the handshake cannot be sent', async t => {
  let closed: Promise<unknown> | undefined
  const port = await portOf(
    t,
    createTcpServer(socket => {
      closed = new Promise(resolve => socket.on('error', resolve).on('close', resolve))
      socket.once('data', () => void socket.write('HTTP/1.1 200 Connected\r\n\r\n')).resume()
    }),
  )
  const http = { url: `http://127.0.0.1:${port}`, from: '"proxy"' }
  const attempt = dial('ws://mcp.corp.invalid/', { proxy: { http }, headers: { 'X-Key': 'a\nb' } })
  await t.rejects(attempt, { code: 'unavailable', message: /check "headers"/ })
  await closed
})

t.test('a server that never answers is given up, by the clock or on request', async t => {
  const port = await portOf(
    t,
    createTcpServer(socket => void socket.on('error', () => undefined).resume()),
  )
  const clock = new FakeClock()
  const slow = dial(`ws://127.0.0.1:${port}/`, { clock, connectTimeoutMs: 700 })
  await new Promise(resolve => setImmediate(resolve))
  clock.advance(700)
  await t.rejects(slow, { code: 'unavailable', message: /no answer in time/ })
  const leaving = new AbortController()
  const attempt = dial(`ws://127.0.0.1:${port}/`, { signal: leaving.signal })
  await new Promise(resolve => setImmediate(resolve))
  leaving.abort()
  await t.rejects(attempt, { code: 'cancelled' })
})

t.test('the client does not let its server send more than is allowed, and notices a dead one', async t => {
  let last: WebSocket | undefined
  const onConnection = (ws: WebSocket) => {
    last = ws.on('error', () => undefined)
  }
  const url = await stranger(t, onConnection, false)
  const channel = await dial(url, { bounds: boundsOf({ message: 100 }) })
  const atClient = new Recorder()
  channel.listen(atClient)
  await until(() => last !== undefined, 'the connection')
  last?.send('x'.repeat(101))
  t.match(await atClient.isClosed(), { code: 'disconnected', message: /more than 100 bytes/ })
  const clock = new FakeClock()
  const silent = await dial(url, { clock })
  const atSilent = new Recorder()
  silent.listen(atSilent)
  clock.advance(90_000)
  t.match(atSilent.ends, [{ code: 'disconnected', message: 'did not answer 2 pings' }])
})

t.test('a server over WebSocket need not answer pings while it has a request in flight', async t => {
  const url = await stranger(t, ws => void ws.on('error', () => undefined), false)
  const clock = new FakeClock()
  const channel = await dial(url, { clock })
  const listener = Object.assign(new Recorder(), { isBusy: true })
  channel.listen(listener)
  clock.advance(30 * 60_000)
  t.same(listener.ends, [])
  listener.isBusy = false
  clock.advance(90_000)
  t.match(listener.ends, [{ code: 'disconnected', message: 'did not answer 2 pings' }])
})

t.test('a connection that breaks in any state does not crash', async t => {
  const { url, port, accepted } = await listening(t)
  const reset = connect(port, '127.0.0.1')
  reset.on('error', () => undefined)
  reset.write('GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
  reset.write('Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n')
  const channel = await accepted(1)
  const atServer = new Recorder()
  channel.listen(atServer)
  reset.resetAndDestroy()
  t.match(await atServer.isClosed(), { code: 'disconnected', message: /1006/ })
  t.equal(channel.send(Buffer.from('{}')), false)
  await channel.close()
  const { ws } = await peer(t, url)
  ws.close()
  await peer(t, url)
})

t.test("the official client's WebSocket transport speaks with us", async t => {
  const { url, accepted } = await listening(t)
  Object.assign(globalThis, { WebSocket })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'WebSocket'))
  const transport = new WebSocketClientTransport(new URL(url))
  const received: unknown[] = []
  let closed = false
  transport.onmessage = message => void received.push(message)
  transport.onclose = () => {
    closed = true
  }
  await transport.start()
  const channel = await accepted(1)
  const atServer = new Recorder()
  channel.listen(atServer)
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await atServer.hasMessages(1)
  t.same(atServer.messages, ['{"jsonrpc":"2.0","id":1,"method":"ping"}'])
  channel.send(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'))
  await until(() => received.length === 1, 'the answer')
  t.same(received, [{ jsonrpc: '2.0', id: 1, result: {} }])
  await transport.close()
  t.equal(await atServer.isClosed(), undefined)
  await until(() => closed, 'the end at the client')
})

t.test('the bytes of incomplete messages are counted, and the longest is cut off', async t => {
  const KIB = 1024
  const bounds = boundsOf({ inbound: 1500 * KIB })
  const { url, accepted, lines } = await listening(t, { bounds })
  const begun = async (count: number, kib: number) => {
    const { ws, closed } = await peer(t, url)
    const channel = await accepted(count)
    const heard = new Recorder()
    channel.listen(heard)
    for (let sent = 0; sent < kib; sent += 100) ws.send('x'.repeat(100 * KIB), { fin: false })
    return { ws, heard, closed }
  }
  const short = await begun(1, 600)
  await until(() => bounds.inbound.bytes >= 600 * KIB, 'the first one')
  const long = await begun(2, 1000)
  t.ok([1013, 1006].includes((await long.closed())?.[0] ?? 0))
  t.match(lines, [['warn', { code: 1013 }]])
  t.equal((await long.heard.isClosed())?.code, 'disconnected')
  t.equal(bounds.hits.inbound?.hits, 1)
  short.ws.send('y')
  await short.heard.hasMessages(1)
  t.equal(short.heard.messages[0]?.length, 600 * KIB + 1)
  await until(() => bounds.inbound.bytes === 0, 'nothing of it is kept any more')
  for (let time = 0; time < 10; time += 1) short.ws.ping('hello')
  await new Promise(resolve => short.ws.once('pong', resolve))
  t.equal(bounds.inbound.bytes, 0, 'pings are no part of a message')
  short.ws.send('x'.repeat(100 * KIB), { fin: false })
  await until(() => bounds.inbound.bytes > 100 * KIB, 'the next one')
  short.ws.terminate()
  await short.heard.isClosed()
  t.equal(bounds.inbound.bytes, 0)
})

import { type ClientRequest, type IncomingMessage, request, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { RefusedRequest, UpgradeHandler } from '../../../src/transport/http/gate.js'
import { NodeResponder } from '../../../src/transport/http/responder.js'
import { connectionsThatFit, type HttpServerOptions, listenHttp } from '../../../src/transport/http/server.js'
import { readShortBody } from '../../../src/transport/http/short-body.js'
import { SlowReaders } from '../../../src/transport/http/slow-readers.js'
import type { HttpHandler, HttpRequest, HttpResponder, HttpStream } from '../../../src/wire/http.js'
import { FakeClock } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { boundsOf } from '../../support/values.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const LIMIT = 1000

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

async function listening(t: Test, handler: HttpHandler, more: Partial<HttpServerOptions> = {}) {
  const { log, lines } = recordedLog()
  const listener = await listenHttp({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: ['https://app.example'],
    authorize: () => LOCAL,
    endpoints: new Map([['/mcp', handler]]),
    other: () => Promise.resolve((_request, response) => void response.writeHead(404).end('not here')),
    bounds: boundsOf({ body: LIMIT }),
    log,
    clock: systemClock,
    drainMs: 50,
    ...more,
  })
  t.teardown(() => listener.close())
  const open = (path: string, headers: Record<string, string>, method: string): ClientRequest =>
    request({ host: '127.0.0.1', port: listener.port, path, headers, method, agent: false })
  const ask = (path: string, headers: Record<string, string> = {}, body?: string, method = 'POST') =>
    new Promise<Answer>((resolve, reject) => {
      const sent = open(path, headers, method).on('error', reject)
      sent.on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
        response.on('error', reject)
      })
      sent.end(body)
    })
  return { listener, lines, ask, open }
}

/** A connection that speaks for itself; `text` is all that came back. */
function raw(t: Test, port: number, ...first: (string | Buffer)[]) {
  const socket: Socket = connect(port, '127.0.0.1')
  const seen = { text: '', closed: false }
  socket.on('data', chunk => {
    seen.text += String(chunk)
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    seen.closed = true
  })
  for (const piece of first) socket.write(piece)
  t.teardown(() => socket.destroy())
  return { socket, seen }
}

const echo: HttpHandler = (request, responder) =>
  responder.send(200, { 'Content-Type': 'text/plain' }, request.body)

t.test('an endpoint gets the whole request and answers it', async t => {
  let seen: HttpRequest | undefined
  let body = ''
  const { ask } = await listening(t, (request, responder) => {
    seen = request
    body = request.body.toString()
    responder.send(202, { 'X-Mine': 'yes' })
  })
  const answer = await ask('/mcp?a=1&a=%C3%A4?', { 'X-Odd': 'ö', 'Mcp-Session-Id': 's' }, '{"ä":1}')
  t.match(answer, { status: 202, text: '', headers: { 'x-mine': 'yes', 'content-length': '0' } })
  t.match(seen, {
    method: 'POST',
    path: '/mcp',
    remoteAddress: '127.0.0.1',
    headers: { 'mcp-session-id': 's' },
  })
  t.same(seen?.query.getAll('a'), ['1', 'ä?'])
  t.equal(body, '{"ä":1}')
})

t.test('a header that came several times is joined, also one of which Node keeps the first', async t => {
  const { listener } = await listening(t, (request, responder) =>
    responder.send(200, {}, JSON.stringify([request.headers['x-a'], request.headers.authorization])),
  )
  const { seen } = raw(
    t,
    listener.port,
    `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nX-A: 1\r\nX-A: 2\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n`,
  )
  await until(() => seen.text.includes('["1, 2","a, b"]'), 'the answer')
  t.pass()
})

t.test('other paths go to the other handler, which is loaded once and on demand', async t => {
  let loaded = 0
  const { ask } = await listening(t, echo, {
    other: () => {
      loaded += 1
      if (loaded === 1) return Promise.reject(new Error('cannot load'))
      return Promise.resolve(
        (_request: IncomingMessage, response: ServerResponse) => void response.end('other'),
      )
    },
  })
  await ask('/mcp', {}, 'x')
  t.equal(loaded, 0)
  t.equal((await ask('/health')).status, 500)
  t.equal((await ask('/health')).text, 'other')
  t.equal((await ask('/mcp/', {}, 'x')).text, 'other', 'only the exact path is the endpoint')
  t.equal(loaded, 2, 'a failure is tried again, a success is kept')
})

t.test('a rebound Host and a foreign Origin are refused everywhere, before anything else', async t => {
  let handled = 0
  const count = () => {
    handled += 1
  }
  const { ask, listener } = await listening(t, count, { other: () => Promise.resolve(count) })
  const long = 'x'.repeat(LIMIT * 2)
  const refused = [
    [{ Host: 'evil.example' }, 'Host not allowed: add it to "allowedHosts"'],
    [{ Host: `evil.example:${listener.port}` }, 'Host not allowed: add it to "allowedHosts"'],
    [{ Origin: 'http://evil.example' }, 'Origin not allowed: add it to "allowedOrigins"'],
    [{ Origin: 'null' }, 'Origin not allowed: add it to "allowedOrigins"'],
  ] as const
  for (const [headers, message] of refused) {
    for (const path of ['/mcp', '/other', '//evil.example/mcp']) {
      for (const method of ['POST', 'GET', 'OPTIONS']) {
        const answer = await ask(path, headers, method === 'POST' ? long : undefined, method)
        t.equal(answer.status, 403)
        t.match(JSON.parse(answer.text), {
          jsonrpc: '2.0',
          error: { code: -32600, message, data: { errorId: /^\w{4}-\w+$/ } },
        })
        t.equal(answer.headers['access-control-allow-origin'], undefined)
      }
    }
  }
  t.equal(handled, 0)
})

t.test('a request without Host, with two of them, or with a whole URL is refused', async t => {
  const { listener } = await listening(t, echo)
  const host = `Host: localhost:${listener.port}\r\n`
  const rows = [
    ['GET /mcp HTTP/1.0\r\n\r\n', 403],
    ['GET /mcp HTTP/1.1\r\n\r\n', 400],
    [`GET /mcp HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`, 403],
    [`GET http://evil.example/mcp HTTP/1.1\r\n${host}\r\n`, 400],
    [`OPTIONS * HTTP/1.1\r\n${host}\r\n`, 400],
    [`GET /mcp HTTP/1.1\r\n${host}${'X-A: 1\r\n'.repeat(101)}\r\n`, 431],
    [`GET /mcp HTTP/1.1\r\n${host}X-Long: ${'y'.repeat(17_000)}\r\n\r\n`, 431],
    ['\u0016\u0003\u0001 TLS, perhaps\r\n\r\n', 400],
    [`POST /mcp HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
  ] as const
  for (const [i, [text, status]] of rows.entries()) {
    const { seen } = raw(t, listener.port, text)
    await until(() => seen.text.includes('\r\n\r\n'), `the answer to row ${i}`)
    t.equal(Number(seen.text.split(' ')[1]), status, `row ${i}`)
  }
})

t.test('a web page of an allowed origin may read answers, and learns the allowed headers', async t => {
  const { ask } = await listening(t, echo)
  for (const origin of ['http://localhost:6274', 'https://app.example']) {
    const { headers } = await ask('/mcp', { Origin: origin }, 'x')
    t.equal(headers['access-control-allow-origin'], origin)
    t.equal(
      headers['access-control-expose-headers'],
      'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate',
    )
    t.equal(headers.vary, 'Origin')
    t.equal(headers['access-control-allow-credentials'], undefined)
    const preflight = await ask(
      '/mcp',
      {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type, Mcp-Param-Region,x-evil',
      },
      undefined,
      'OPTIONS',
    )
    t.equal(preflight.status, 204)
    t.equal(preflight.text, '')
    t.equal(preflight.headers['access-control-allow-origin'], origin)
    t.equal(preflight.headers['access-control-allow-methods'], 'GET, POST, DELETE')
    t.equal(
      preflight.headers['access-control-allow-headers'],
      'content-type, accept, authorization, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, mcp-param-region',
    )
  }
  t.equal((await ask('/mcp', {}, 'x')).headers['access-control-allow-origin'], undefined)
  t.equal((await ask('/mcp', {}, '', 'OPTIONS')).status, 200, 'without an origin it is a method like others')
})

t.test('a body does not stay in memory until its request is answered', async t => {
  const held: { request?: HttpRequest; responder?: HttpResponder; text?: string } = {}
  const { ask } = await listening(t, (request, responder) => {
    Object.assign(held, { request, responder, text: request.body.toString() })
  })
  const answer = ask('/mcp', {}, 'body')
  await until(() => held.responder !== undefined, 'the request')
  t.equal(held.text, 'body')
  t.equal(held.request?.body.length, 0)
  held.responder?.send(200, {}, 'late')
  t.match(await answer, { status: 200, text: 'late' })
})

t.test('a connection that is open and idle keeps nothing of its last request', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const last: WeakRef<object>[] = []
  const { listener } = await listening(t, (_request, responder) => {
    const mine = {}
    last.push(new WeakRef(mine))
    responder.onGone(() => t.fail(`gone: ${mine}`))
    responder.send(200, {}, 'ok')
  })
  const { seen } = raw(t, listener.port, 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
  await until(() => seen.text.endsWith('ok'), 'the answer')
  await until(() => {
    collectGarbage()
    return last[0]?.deref() === undefined
  }, 'the end of what it held')
  t.notOk(seen.closed)
})

t.test('a body arrives whole, and is refused if too large, also when its sender is known late', async t => {
  const admissions: (() => void)[] = []
  const { listener } = await listening(t, echo, {
    authorize: () =>
      new Promise(resolve => {
        admissions.push(() => resolve(LOCAL))
      }),
  })
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n`
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  const tooMuch = (LIMIT + 1).toString(16)
  const rows = [
    ['none', `${head}Content-Length: 0\r\n\r\n`, '', /^HTTP\/1\.1 200 .*\r\n\r\n$/s],
    ['all before', `${head}Content-Length: 7\r\n\r\n{"a":1}`, '', /\r\n\r\n\{"a":1\}$/],
    ['all after', `${head}Content-Length: 7\r\n\r\n`, '{"a":1}', /\r\n\r\n\{"a":1\}$/],
    ['some before', `${chunked}4\r\n{"a"\r\n`, '3\r\n:1}\r\n0\r\n\r\n', /\r\n\r\n\{"a":1\}$/],
    ['too much', `${chunked}1\r\nx\r\n`, `${tooMuch}\r\n${'x'.repeat(LIMIT + 1)}\r\n`, /^HTTP\/1\.1 413 /],
  ] as const
  for (const [title, first, rest, answer] of rows) {
    const { socket, seen } = raw(t, listener.port, first)
    await until(() => admissions.length > 0, `the request with ${title}`)
    admissions.pop()?.()
    socket.write(rest)
    await until(() => seen.text.includes('\r\n\r\n'), `the answer to ${title}`)
    t.match(seen.text, answer, title)
  }
})

t.test('a body of just the limit is taken', async t => {
  const { ask } = await listening(t, echo)
  t.equal((await ask('/mcp', {}, 'x'.repeat(LIMIT))).text.length, LIMIT)
  const chunked = await ask('/mcp', { 'Transfer-Encoding': 'chunked' }, 'x'.repeat(LIMIT))
  t.equal(chunked.text.length, LIMIT)
})

t.test('a body that is too large is refused at once, and its sender is cut off', async t => {
  let handled = 0
  const clock = new FakeClock()
  const count = () => {
    handled += 1
  }
  const { listener } = await listening(t, count, { clock })
  const megabyte = Buffer.alloc(1024 * 1024, 0x78)
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n`
  const rows = [
    ['announced', `${head}Content-Length: 1073741824\r\n\r\n`, ''],
    ['asked for first', `${head}Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n`, ''],
    ['counted', `${head}Transfer-Encoding: chunked\r\n\r\n`, `40000000\r\n${'x'.repeat(LIMIT + 1)}`],
  ] as const
  for (const [title, start, body] of rows) {
    const { socket, seen } = raw(t, listener.port, start, body)
    let more = title !== 'asked for first'
    const flood = () => {
      while (more && !seen.closed && socket.write(megabyte));
    }
    socket.on('drain', flood)
    flood()
    await until(() => seen.text.includes('\r\n\r\n'), `the answer when ${title}`)
    t.match(seen.text, /^HTTP\/1\.1 413 /, title)
    t.match(seen.text, /\r\nConnection: close\r\n/)
    t.match(seen.text, '"message":"Request body is larger than 1000 bytes"')
    t.equal(seen.closed, false, 'it has a moment to read that')
    clock.advance(1000)
    await until(() => seen.closed, `the end of the connection when ${title}`)
    more = false
    t.ok(socket.bytesWritten < 64 * 1024 * 1024, 'most of the body was never read')
  }
  t.equal(handled, 0)
  t.equal(listener.connections(), 0)
})

t.test('a client that asks before it sends is told to go on', async t => {
  const { listener } = await listening(t, echo)
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nContent-Length: 2\r\n`
  const { socket, seen } = raw(t, listener.port, `${head}Expect: 100-continue\r\n\r\n`)
  await until(() => seen.text.includes('100 Continue'), 'the go-ahead')
  socket.write('{}')
  await until(() => seen.text.endsWith('{}'), 'the answer')
  t.match(seen.text, 'HTTP/1.1 200 OK')
})

t.test('a client that leaves within its body reaches no handler', async t => {
  let handled = 0
  const { listener } = await listening(t, () => {
    handled += 1
  })
  const { socket } = raw(
    t,
    listener.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nContent-Length: 10\r\n\r\nhalf`,
  )
  await until(() => listener.connections() === 1, 'the connection')
  socket.end()
  await until(() => listener.connections() === 0, 'its end')
  t.equal(handled, 0)
})

t.test('slow heads and bodies are cut off, a slow stream is not', async t => {
  let stream: HttpStream | undefined
  const { listener } = await listening(
    t,
    (_request, responder) => {
      stream = responder.stream(200, { 'Content-Type': 'text/event-stream' })
    },
    // Node keeps these times itself. The stream must have been asked for within them.
    { bounds: boundsOf({ body: LIMIT, headersTime: 2000, requestTime: 2500, keepAliveTime: 200 }) },
  )
  const host = `Host: localhost:${listener.port}\r\n`
  const open = raw(t, listener.port, `GET /mcp HTTP/1.1\r\n${host}\r\n`)
  await until(() => open.seen.text.includes('text/event-stream'), 'the head, before any event')
  const slow = [
    raw(t, listener.port, 'GET /mcp HTTP/1.1\r\nX-Slow: '),
    raw(t, listener.port, `POST /mcp HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nx`),
  ]
  await until(() => slow.every(({ seen }) => seen.closed), 'the end of the slow ones')
  for (const { seen } of slow) t.match(seen.text, /^HTTP\/1\.1 408 /)
  t.equal(open.seen.closed, false)
  t.equal(stream?.write('data: late\n\n'), true)
  await until(() => open.seen.text.includes('data: late'), 'the late event')
  stream?.end()
  await until(() => open.seen.text.endsWith('0\r\n\r\n'), 'the end of the stream')
  await until(() => open.seen.closed, 'the end of the idle connection')
})

t.test('a header that is not valid is left out of an answer, whether it is whole or a stream', async t => {
  const { ask } = await listening(t, (request, responder) => {
    const headers = { 'x-bad': 'a\r\nb: c', 'x-good': 'fine' }
    if (request.headers['x-as'] === 'stream') responder.stream(200, headers).end()
    else responder.send(200, headers)
  })
  for (const form of ['stream', 'whole']) {
    const { status, headers } = await ask('/mcp', { 'x-as': form })
    t.match(
      { status, headers },
      { status: 200, headers: { 'x-good': 'fine', 'x-bad': undefined, b: undefined } },
    )
  }
})

t.test('a client that does not read its stream is seen, and can be cut off', async t => {
  let stream: HttpStream | undefined
  let gone = 0
  const { listener } = await listening(t, (_request, responder) => {
    stream = responder.stream(200, {})
    responder.onGone(() => {
      gone += 1
    })
  })
  const { socket } = raw(t, listener.port)
  socket.pause()
  socket.write(`GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  await until(() => stream !== undefined, 'the stream')
  const megabyte = Buffer.alloc(1024 * 1024)
  let accepted = true
  for (let i = 0; i < 32; i += 1) accepted = stream?.write(megabyte) ?? true
  t.equal(accepted, false)
  t.ok((stream?.queuedBytes ?? 0) > 8 * 1024 * 1024)
  stream?.destroy()
  await until(() => gone === 1, 'the news')
  t.equal(stream?.write('x'), false, 'writing afterwards does nothing')
  stream?.end()
  stream?.destroy()
  t.equal(gone, 1)
})

t.test('what is framed arrives whole and in order, however long it is', async t => {
  const short = Buffer.from('{"é":"漢"}')
  const long = Buffer.alloc(100_000, 'é')
  const { ask } = await listening(t, (_request, responder) => {
    const stream = responder.stream(200, {})
    for (const body of [short, long, short, short, long, long]) stream.write({ head: '<', body, tail: '>\n' })
    stream.write(':\n')
    stream.write({ head: '<', body: long, tail: '>' })
    stream.end()
  })
  const { text } = await ask('/mcp')
  const lines = [short, long, short, short, long, long].map(body => `<${body.toString()}>\n`)
  t.ok(text === `${lines.join('')}:\n<${long.toString()}>`)
})

t.test('the writer of a stream is notified when the client has read some of it', async t => {
  let stream: HttpStream | undefined
  let taken = 0
  const { listener } = await listening(t, (_request, responder) => {
    stream = responder.stream(200, {}, () => {
      taken += 1
    })
  })
  const { socket } = raw(t, listener.port)
  socket.pause()
  socket.write(`GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  await until(() => stream !== undefined, 'the stream')
  const body = Buffer.alloc(16 * 1024 * 1024)
  t.equal(stream?.write({ head: '', body, tail: '\n' }), false)
  t.ok((stream?.queuedBytes ?? 0) >= body.length)
  socket.resume()
  await until(() => stream?.queuedBytes === 0, 'all of it to be taken')
  await until(() => taken > 0, 'the news')
})

t.test('a client that leaves in the middle of something long ends its stream, and nothing else', async t => {
  let gone = 0
  let stream: HttpStream | undefined
  const { ask, listener } = await listening(t, (request, responder) => {
    if (request.method === 'POST') {
      responder.send(200, {}, 'fine')
      return
    }
    stream = responder.stream(200, {}, () => undefined)
    responder.onGone(() => {
      gone += 1
    })
  })
  const { socket } = raw(t, listener.port)
  socket.pause()
  socket.write(`GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  await until(() => stream !== undefined, 'the stream')
  const body = Buffer.alloc(16 * 1024 * 1024)
  stream?.write({ head: '', body, tail: '\n' })
  socket.destroy()
  await until(() => gone === 1, 'the news')
  t.equal(stream?.write({ head: '', body, tail: '\n' }), false)
  t.match(await ask('/mcp'), { status: 200, text: 'fine' })
})

t.test(
  'a client that is cut off with much in front of it costs one error, not one for each chunk',
  async t => {
    let stream: HttpStream | undefined
    let held: ServerResponse | undefined
    const { listener } = await listening(t, echo, {
      // Node's own response tells what becomes of each chunk, which a stream of ours does not.
      other: () =>
        Promise.resolve((_request: IncomingMessage, response: ServerResponse) => {
          held = response
          stream = new NodeResponder(response, {
            log: silentLogger,
            slowReaders: new SlowReaders(boundsOf(), systemClock, silentLogger),
            isHandling: false,
          }).stream(200, {})
        }),
    })
    const { socket, seen } = raw(t, listener.port, 'POST /other HTTP/1.1\r\nHost: localhost\r\n\r\n')
    socket.pause()
    await until(() => stream !== undefined, 'the stream')
    const chunks = 30_000
    const lost: unknown[] = []
    let written = 0
    for (let n = 0; n < chunks; n += 1) {
      held?.write(Buffer.alloc(1100), error => {
        if (error) lost.push(error)
        else written += 1
      })
    }
    stream?.destroy()
    await until(() => lost.length + written === chunks, 'the end of all chunks')
    t.ok(lost.length > chunks / 2, 'most of them were waiting')
    t.equal(new Set(lost).size, 1)
    socket.resume()
    await until(() => seen.closed, 'the end of the connection')
  },
)

t.test(
  'what is answered in the turn in which it came is written at the end of that, what is answered later at once',
  async t => {
    const seen: string[] = []
    const { writeHead } = ServerResponse.prototype
    t.teardown(() => Object.assign(ServerResponse.prototype, { writeHead }))
    Object.assign(ServerResponse.prototype, {
      writeHead(this: ServerResponse, ...head: Parameters<typeof writeHead>) {
        seen.push('written')
        return Reflect.apply(writeHead, this, head)
      },
    })
    const { ask } = await listening(t, ({ query }, responder) => {
      const answer = () => {
        responder.send(202, {})
        process.nextTick(() => seen.push('a tick later'))
      }
      if (query.has('later')) setTimeout(answer)
      else answer()
    })
    t.match(await ask('/mcp'), { status: 202 })
    t.match(await ask('/mcp?later'), { status: 202 })
    t.same(seen, ['a tick later', 'written', 'written', 'a tick later'])
  },
)

t.test('a handler learns that its client left, and not when the answer was complete', async t => {
  const gone: string[] = []
  const held: HttpResponder[] = []
  const { ask, listener } = await listening(t, (request, responder) => {
    responder.onGone(() => gone.push(request.path + request.query.toString()))
    if (request.query.has('hold')) held.push(responder)
    else responder.send(200, {}, 'done')
  })
  await ask('/mcp')
  const { socket } = raw(
    t,
    listener.port,
    `GET /mcp?hold=1 HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`,
  )
  await until(() => held.length === 1, 'the call')
  socket.destroy()
  await until(() => gone.length > 0, 'the news')
  t.same(gone, ['/mcphold=1'])
  held[0]?.onGone(() => gone.push('late'))
  await until(() => gone.includes('late'), 'the news for one who asks late')
  held[0]?.send(200, {}, 'too late')
  held[0]?.stream(200, {}).end()
})

t.test('a handler that throws, answers twice or sets a bad header harms its own request at most', async t => {
  const { ask, lines } = await listening(t, (request, responder) => {
    if (request.query.has('throw')) throw new Error('secret')
    if (request.query.has('late')) {
      responder.stream(200, {})
      throw new Error('secret')
    }
    responder.send(200, { 'X-Bad': 'a\r\nSet-Cookie: b', 'X-Good': 'c' }, 'first')
    responder.send(500, {}, 'second')
    responder.stream(500, {})
  })
  const failed = await ask('/mcp?throw')
  t.equal(failed.status, 500)
  t.match(failed.text, 'Internal error in the proxy')
  t.notMatch(failed.text, 'secret')
  await t.rejects(ask('/mcp?late'), 'cut off, so that half an answer is not taken for a whole one')
  const answer = await ask('/mcp')
  t.match(answer, { status: 200, text: 'first', headers: { 'x-good': 'c' } })
  t.equal(answer.headers['set-cookie'], undefined)
  t.ok(lines.filter(([level]) => level === 'error').length >= 4)
})

t.test('HEAD and statuses without a body carry none', async t => {
  const { listener } = await listening(t, (request, responder) =>
    responder.send(
      request.query.has('none') ? 204 : 200,
      {},
      request.query.has('bytes') ? Buffer.from('body') : 'body',
    ),
  )
  const host = `Host: localhost:${listener.port}\r\nConnection: close\r\n\r\n`
  for (const line of ['HEAD /mcp HTTP/1.1', 'HEAD /mcp?bytes HTTP/1.1', 'GET /mcp?none HTTP/1.1']) {
    const { seen } = raw(t, listener.port, `${line}\r\n${host}`)
    await until(() => seen.closed, 'the answer')
    t.ok(seen.text.endsWith('\r\n\r\n'), line)
  }
})

t.test('garbage in the middle of an answer cuts the connection and adds nothing to the answer', async t => {
  let stream: HttpStream | undefined
  const { listener } = await listening(t, (_request, responder) => {
    stream = responder.stream(200, {})
  })
  const { socket, seen } = raw(
    t,
    listener.port,
    `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`,
  )
  await until(() => seen.text.includes('\r\n\r\n'), 'the head')
  socket.write('garbage \u0000\r\n\r\n')
  await until(() => seen.closed, 'the end')
  t.notMatch(seen.text, '400')
  t.equal(stream?.write('x'), false)
})

t.test('garbage behind a second request does not get into the answer to the first', async t => {
  let stream: HttpStream | undefined
  const waiting: HttpResponder[] = []
  const { listener } = await listening(t, (_request, responder) => {
    if (stream === undefined) stream = responder.stream(200, {})
    else waiting.push(responder)
  })
  const request = `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`
  const { socket, seen } = raw(t, listener.port, request + request)
  await until(
    () => seen.text.includes('\r\n\r\n') && waiting.length === 1,
    'the head, and the second request',
  )
  socket.write('garbage \u0000\r\n\r\n')
  await until(() => seen.closed, 'the end')
  t.notMatch(seen.text, '400')
})

t.test('garbage behind a request that waits for its answer is not taken for that answer', async t => {
  const waiting: HttpResponder[] = []
  const { listener } = await listening(t, (_request, responder) => void waiting.push(responder))
  const { socket, seen } = raw(
    t,
    listener.port,
    `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`,
  )
  await until(() => waiting.length === 1, 'the request')
  socket.write('garbage \u0000\r\n\r\n')
  await until(() => seen.closed, 'the end')
  t.equal(seen.text, '')
})

t.test('each refusal is told with the address that it went to', async t => {
  const refused: RefusedRequest[] = []
  const { listener } = await listening(t, echo, {
    onRefused: one => void refused.push(one),
    upgrade: (_request, socket) => {
      socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
      return 404
    },
  })
  const { port } = listener
  const own = `Host: localhost:${port}\r\n`
  const requests = [
    `POST /mcp HTTP/1.1\r\n${own}Content-Length: 9999\r\n\r\n`,
    'POST /mcp HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n',
    offer(port, 'websocket', '/nowhere'),
    'garbage \u0000\r\n\r\n',
  ]
  for (const request of requests) {
    const { seen } = raw(t, port, request)
    await until(() => seen.closed, 'the end')
  }
  await until(() => refused.length === 4, 'all refusals')
  const remoteAddress = '127.0.0.1'
  t.match(refused, [
    { status: 413, remoteAddress, path: '/mcp' },
    { status: 403, remoteAddress, host: 'evil.example' },
    { status: 404, remoteAddress, path: '/nowhere' },
    { status: 400, remoteAddress },
  ])
})

t.test('requests and upgrades outside the base path are refused, and told', async t => {
  const refused: RefusedRequest[] = []
  const { listener } = await listening(t, echo, {
    base: { path: '/tools', isStrict: true },
    onRefused: one => void refused.push(one),
    upgrade: () => undefined,
  })
  const { port } = listener
  const get = `GET /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`
  for (const request of [get, offer(port, 'websocket', '/ws')]) {
    const { seen } = raw(t, port, request)
    await until(() => seen.closed, 'the end')
    t.match(seen.text, /^HTTP\/1.1 404 .*listen\.path/s)
  }
  await until(() => refused.length === 2, 'both refusals')
  t.match(refused, [
    { status: 404, path: '/mcp' },
    { status: 404, path: '/ws' },
  ])
})

t.test('upgrades pass the same guards, and need a handler', async t => {
  const upgrade: UpgradeHandler = (_request, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    return undefined
  }
  const ask = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const { listener } = await listening(t, echo, { upgrade })
  const own = `Host: localhost:${listener.port}\r\n`
  const rows = [
    [own, /^HTTP\/1\.1 101 /],
    [`${own}Origin: http://localhost:1\r\n`, /^HTTP\/1\.1 101 /],
    ['Host: evil.example\r\n', /^HTTP\/1\.1 403 /],
    [`${own}Origin: http://evil.example\r\n`, /^HTTP\/1\.1 403 /],
  ] as const
  for (const [headers, answer] of rows) {
    const { seen } = raw(t, listener.port, `GET /ws HTTP/1.1\r\n${headers}${ask}`)
    await until(() => seen.closed, 'the answer')
    t.match(seen.text, answer)
  }
  const plain = await listening(t, echo)
  const { seen } = raw(
    t,
    plain.listener.port,
    `GET /mcp HTTP/1.1\r\nHost: localhost:${plain.listener.port}\r\n${ask}`,
  )
  await until(() => seen.text.includes('\r\n\r\n'), 'a plain answer')
  t.match(seen.text, /^HTTP\/1\.1 200 /)
})

t.test('a request that offers HTTP/2 on the way is served as if it had not', async t => {
  const { listener } = await listening(t, echo, { upgrade: leave })
  const body = '{"a":1}'
  const { seen } = raw(
    t,
    listener.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n` +
      `HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => seen.text.includes(body), 'the answer')
  t.match(seen.text, /^HTTP\/1\.1 200 /)
})

/** Takes over a connection to close it. */
const leave: UpgradeHandler = (_request, socket) => {
  socket.destroy()
  return undefined
}

/** A request that offers another protocol. */
const offer = (port: number, to: string, path = '/mcp'): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n\r\n`

t.test('a connection on which an answer is due is not upgraded, and answers in order', async t => {
  const waiting: HttpResponder[] = []
  let granted = 0
  const { listener, lines } = await listening(t, (_request, responder) => void waiting.push(responder), {
    upgrade: (_request, socket) => {
      granted += 1
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
      return undefined
    },
  })
  const { port } = listener
  const first = `GET /mcp HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`
  for (const to of ['websocket', 'h2c', 'x']) {
    for (const before of [first, offer(port, 'h2c')]) {
      const { seen } = raw(t, port, before + offer(port, to))
      // What follows an offer in the same packet is lost to Node; what begins the packet is not.
      await until(() => waiting.length > 0, 'a request')
      if (before === first) await until(() => waiting.length === 2, `the request that offers ${to}`)
      const [one, other] = waiting.splice(0)
      other?.send(200, {}, 'second')
      one?.send(200, {}, 'first')
      await until(() => seen.text.endsWith(other === undefined ? 'first' : 'second'), 'the answers')
      t.match(seen.text, other === undefined ? /first$/ : /first.*second$/s)
      t.equal(seen.text.match(/HTTP\/1\.1 200/g)?.length, other === undefined ? 1 : 2)
    }
  }
  t.equal(granted, 0)
  t.same(lines, [])
  const { seen } = raw(t, port, offer(port, 'websocket'))
  await until(() => seen.closed, 'the end')
  t.match(seen.text, /^HTTP\/1\.1 101 /, 'one on which nothing is due still is')
})

t.test('who offers another protocol and wants no further request has the connection closed', async t => {
  const { listener } = await listening(t, echo, { upgrade: leave })
  const { seen } = raw(
    t,
    listener.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n`,
  )
  await until(() => seen.closed, 'the end of the connection')
  t.match(seen.text, /^HTTP\/1\.1 200 /)
})

t.test('an upgrade handler that throws loses its connection and nothing else', async t => {
  const { listener, ask } = await listening(t, echo, {
    upgrade: () => {
      throw new Error('broken')
    },
  })
  const { seen } = raw(
    t,
    listener.port,
    `GET /ws HTTP/1.1\r\nHost: localhost:${listener.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  await until(() => seen.closed, 'the end')
  t.equal((await ask('/mcp', {}, 'x')).text, 'x')
})

t.test('who comes while upgrades cannot be taken is told to come again, and is taken then', async t => {
  let isReady = false
  const { listener } = await listening(t, echo, {
    async upgrade(_request, socket) {
      await Promise.resolve()
      if (!isReady) throw new Fault('unavailable', 'no descriptors')
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n')
      return undefined
    },
  })
  const ask = async () => {
    const { seen } = raw(
      t,
      listener.port,
      `GET /ws HTTP/1.1\r\nHost: localhost:${listener.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    await until(() => seen.closed, 'the answer')
    return seen.text
  }
  t.match(await ask(), /^HTTP\/1\.1 503 Service Unavailable\r\n/)
  isReady = true
  t.match(await ask(), /^HTTP\/1\.1 101 /)
})

t.test('a port that is taken, forbidden or elsewhere is told in words for the operator', async t => {
  const { listener } = await listening(t, echo)
  const { port } = listener
  await t.rejects(listening(t, echo, { port }), {
    name: 'Fault',
    code: 'unavailable',
    message: `port ${port} is already in use: choose another with --port, or 0 for any free one`,
  })
  await t.rejects(listening(t, echo, { host: '192.0.2.1' }), {
    code: 'unavailable',
    message: '192.0.2.1 is not an address of this machine: choose another with --host',
  })
})

t.test('connections end with their next answer while clients should go elsewhere', async t => {
  let isLeaving = false
  const { listener } = await listening(t, echo, { isLeaving: () => isLeaving })
  const ping = `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`
  const { socket, seen } = raw(t, listener.port, ping)
  await until(() => seen.text.includes('\r\n\r\n'), 'an answer')
  t.match(seen, { text: /^Connection: keep-alive\r$/m, closed: false })
  isLeaving = true
  seen.text = ''
  socket.write(ping)
  await until(() => seen.closed, 'the end of the connection')
  t.match(seen.text, /^HTTP\/1.1 200 .*^Connection: close\r$/ms)
})

t.test('a port that leaves answers requests on open connections, and takes no new ones', async t => {
  const clock = new FakeClock()
  const { listener } = await listening(t, echo, { clock, isLeaving: () => true })
  const ping = `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`
  const [used, idle] = [raw(t, listener.port), raw(t, listener.port)]
  await until(() => listener.connections() === 2, 'two connections')
  const left = listener.leave()
  const late = raw(t, listener.port)
  await until(() => late.seen.closed, 'a refused connection')
  used.socket.write(ping)
  await until(() => used.seen.closed, 'an answer')
  t.match(used.seen.text, /^HTTP\/1.1 200 /)
  t.equal(idle.seen.closed, false)
  clock.advance(500)
  await left
  const closed = listener.close()
  clock.advance(2000)
  await closed
  await until(() => idle.seen.closed, 'the end of the idle connection')
})

t.test('close lets a short answer finish, cuts a stream off, and takes no new connection', async t => {
  const responders: HttpResponder[] = []
  const clock = new FakeClock()
  const { listener, ask } = await listening(t, (_request, responder) => void responders.push(responder), {
    clock,
    drainMs: 300,
  })
  const short = ask('/mcp', { Connection: 'keep-alive' })
  await until(() => responders.length === 1, 'the first call')
  const { seen } = raw(t, listener.port, `GET /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  await until(() => responders.length === 2, 'the second call')
  responders[1]?.stream(200, {})
  const idle = raw(t, listener.port)
  await until(() => listener.connections() === 3, 'three connections')
  const closed = listener.close()
  t.equal(listener.close(), closed)
  responders[0]?.send(200, {}, 'finished')
  t.equal((await short).text, 'finished')
  clock.advance(299)
  t.equal(seen.closed, false)
  clock.advance(1)
  await closed
  t.equal(listener.connections(), 0)
  await until(() => seen.closed && idle.seen.closed, 'the end of all connections')
  await t.rejects(ask('/mcp'), { code: 'ECONNREFUSED' })
})

t.test('bounds on heads and connections can be set, and each that is reached is counted', async t => {
  const bounds = boundsOf({ headers: 2000, headerLines: 20, connections: 2, body: 10 })
  const { listener } = await listening(t, echo, { bounds })
  const host = 'Host: localhost\r\n'
  const ask = async (text: string): Promise<string> => {
    const { socket, seen } = raw(t, listener.port, text)
    await until(() => seen.text.includes('\r\n\r\n') || seen.closed, 'an answer')
    socket.destroy()
    await until(() => listener.connections() === 0, 'the connection to be over')
    return seen.text.slice(0, 12)
  }
  t.equal(await ask(`GET /mcp HTTP/1.1\r\n${host}X: ${'y'.repeat(2000)}\r\n\r\n`), 'HTTP/1.1 431')
  t.equal(await ask(`GET /mcp HTTP/1.1\r\n${host}${'X: 1\r\n'.repeat(21)}\r\n`), 'HTTP/1.1 431')
  t.equal(await ask(`POST /mcp HTTP/1.1\r\n${host}Content-Length: 11\r\n\r\n`), 'HTTP/1.1 413')
  const open = [1, 2].map(() => raw(t, listener.port))
  await until(() => listener.connections() === 2, 'two connections')
  const { seen } = raw(t, listener.port)
  await until(() => seen.closed, 'the third to be closed')
  t.notOk(open.some(one => one.seen.closed))
  t.same(Object.fromEntries(Object.entries(bounds.hits).map(([name, { hits }]) => [name, hits])), {
    headers: 1,
    headerLines: 1,
    body: 1,
    connections: 1,
  })
})

t.test('a head that comes too slowly is refused, and that is counted', async t => {
  const bounds = boundsOf({ headersTime: 100, requestTime: 100 })
  const { listener } = await listening(t, echo, { bounds })
  const { seen } = raw(t, listener.port, 'POST /mcp HTTP/1.1\r\nHost: loc')
  await until(() => seen.closed, 'the connection to be closed')
  t.match(seen.text, /^HTTP\/1.1 408 /)
  t.equal(bounds.hits.requestTime?.hits, 1)
})

t.test('when all bodies on their way are too long together, the longest is refused', async t => {
  const KIB = 1024
  const bounds = boundsOf({ body: 1000 * KIB, inbound: 1500 * KIB })
  const { listener } = await listening(t, echo, { bounds })
  const half = (kib: number, announced = `Content-Length: ${1000 * KIB}`) =>
    raw(
      t,
      listener.port,
      `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\n${announced}\r\n\r\n`,
      Buffer.alloc(kib * KIB, 'x'),
    )
  const short = half(600)
  await until(() => bounds.inbound.bytes >= 600 * KIB, 'the first one')
  const long = half(950)
  await until(() => long.seen.closed, 'the refusal')
  t.match(long.seen.text, /^HTTP\/1\.1 503 .*limits\.inbound is 1500KiB\); try again later/s)
  t.match(long.seen.text, /Retry-After: 5\r\n/)
  t.equal(bounds.hits.inbound?.hits, 1)
  short.socket.write(Buffer.alloc(400 * KIB, 'y'))
  await until(() => short.seen.text.length > 1000 * KIB, 'the answer')
  t.match(short.seen.text, /^HTTP\/1\.1 200 .*xy+$/s)
  t.equal(bounds.inbound.bytes, 0)
  const gone = half(100)
  await until(() => bounds.inbound.bytes > 0, 'the beginning')
  gone.socket.destroy()
  await until(() => bounds.inbound.bytes === 0, 'the end of what was left')
})

t.test('a body that comes byte by byte costs little more than its bytes', async t => {
  const bounds = boundsOf({ body: 100_000 })
  const { listener } = await listening(t, echo, { bounds })
  const { socket, seen } = raw(
    t,
    listener.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost:${listener.port}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  socket.write('1\r\nx\r\n'.repeat(50_000))
  await until(() => bounds.inbound.bytes > 50_000, 'all of it')
  t.ok(bounds.inbound.bytes < 100_000)
  socket.write('0\r\n\r\n')
  await until(() => seen.text.includes('xxx'), 'the answer')
})

t.test('there are no more connections than the operating system has files for', async t => {
  t.equal(connectionsThatFit(1024), 512)
  t.equal(connectionsThatFit(100), 64, 'some must be possible')
  t.equal(connectionsThatFit(undefined) > 0, true)
  t.equal(connectionsThatFit(1_000_000), 999_488)
})

t.test('of pipelined requests 64 are handled at a time, in order, and all are answered', async t => {
  let [inFlight, most] = [0, 0]
  const other = (request: IncomingMessage, response: ServerResponse): void => {
    inFlight += 1
    most = Math.max(most, inFlight)
    setImmediate(() => {
      inFlight -= 1
      response.end(`${request.url};`)
    })
  }
  const { listener } = await listening(t, echo, { other: () => Promise.resolve(other) })
  const head = `HTTP/1.1\r\nHost: localhost:${listener.port}\r\n`
  const many = 3000
  const body = `${head}Content-Length: 5\r\n\r\nbody!`
  const requests = Array.from({ length: many }, (_, n) => `POST /status/${n} ${body}`)
  const { seen } = raw(t, listener.port, requests.join(''))
  await until(() => seen.text.includes(`/status/${many - 1};`), 'the last answer')
  t.equal(most, 64)
  const order = [...seen.text.matchAll(/\/status\/(\d+);/g)].map(([, n]) => Number(n))
  t.same(
    order,
    requests.map((_, n) => n),
  )
})

t.test('a connection with pipelined requests that wait is not read', async t => {
  // A connection that is not read keeps no process alive, nor does the timer that ends it.
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => clearInterval(alive))
  let started = 0
  const other = (): void => {
    started += 1
  }
  const { listener } = await listening(t, echo, { other: () => Promise.resolve(other) })
  const requests = `GET /status HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`.repeat(200_000)
  const { socket } = raw(t, listener.port, requests)
  await until(() => started === 64, 'as many as may be in flight')
  for (let turn = 0; turn < 200; turn++) await new Promise(resolve => setImmediate(resolve))
  t.equal(started, 64)
  t.ok(socket.writableLength > 0, 'the rest was not read')
})

t.test('a request that is refused by its head is not asked for its body', async t => {
  const refusal = { status: 401, headers: {}, body: 'who?' }
  const { listener } = await listening(t, echo, { authorize: async () => refusal })
  const more = 'Content-Length: 60000\r\nExpect: 100-continue\r\n\r\n'
  for (const [title, host, status] of [
    ['without a credential', `localhost:${listener.port}`, 401],
    ['for another host', 'evil.example', 403],
  ] as const) {
    const { seen } = raw(t, listener.port, `POST /mcp HTTP/1.1\r\nHost: ${host}\r\n${more}`)
    await until(() => seen.closed, `the end of the connection ${title}`)
    t.match(seen.text, new RegExp(`^HTTP/1\\.1 ${status} `), title)
  }
})

t.test('a page that reads a body asks for it, and one that does not read it does not', async t => {
  const other = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === '/refused') response.writeHead(403).end('no')
    else request.on('data', () => undefined).on('end', () => response.end('read'))
  }
  const { listener } = await listening(t, echo, { other: () => Promise.resolve(other) })
  const ask = (path: string) =>
    raw(
      t,
      listener.port,
      `POST ${path} HTTP/1.1\r\nHost: localhost:${listener.port}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    )
  const read = ask('/read')
  await until(() => read.seen.text !== '', 'the go-ahead')
  t.equal(read.seen.text, 'HTTP/1.1 100 Continue\r\n\r\n')
  read.socket.write('{}')
  await until(() => read.seen.text.endsWith('read'), 'the answer')
  const refused = ask('/refused')
  await until(() => refused.seen.closed, 'the end of the connection')
  t.match(refused.seen.text, /^HTTP\/1\.1 403 /)
})

t.test('100 Continue never lands within the response to an earlier request', async t => {
  const long = 'x'.repeat(20_000)
  const held: (() => void)[] = []
  const handler: HttpHandler = ({ path, body, query }, responder) => {
    const answer = query.has('long') ? Buffer.from(long) : Buffer.from(`${path} ${body};`)
    if (query.has('hold')) held.push(() => responder.send(200, {}, answer))
    else responder.send(200, {}, answer)
  }
  const { listener } = await listening(t, handler)
  const post = (query: string, more = '') =>
    `POST /mcp?${query} HTTP/1.1\r\nHost: localhost:${listener.port}\r\nContent-Length: 2\r\n${more}\r\n`
  const expects = 'Expect: 100-continue\r\n'
  const release = async (): Promise<void> => {
    await until(() => held.length === 1, 'the request that is held')
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
    for (const answer of held.splice(0)) answer()
  }
  const whole = raw(t, listener.port, `${post('hold')}{}${post('long', expects)}{}${post('')}{}`)
  await release()
  await until(() => whole.seen.text.split('HTTP/1.1 200').length === 4, 'three answers')
  await until(() => whole.seen.text.endsWith('{};'), 'the last one')
  t.notMatch(whole.seen.text, '100 Continue')
  t.ok(whole.seen.text.includes(`\r\n\r\n${long}HTTP/1.1 200 OK\r\n`), 'each one is whole')
  const waits = raw(t, listener.port, `${post('hold')}{}${post('long', expects)}`)
  await release()
  await until(() => waits.seen.text.includes('100 Continue'), 'the go-ahead')
  t.match(waits.seen.text, /\{\};HTTP\/1\.1 100 Continue\r\n\r\n$/, 'it follows the response before')
  waits.socket.write('{}')
  await until(() => waits.seen.text.endsWith(long), 'the answer')
})

t.test(
  'idle connections of a source make room for its own connections, and for connections of others',
  async t => {
    const clock = new FakeClock()
    const bounds = boundsOf({ connections: 16 })
    const { listener, ask } = await listening(t, (_request, responder) => responder.send(200, {}, 'here'), {
      ...{ bounds, host: '0.0.0.0', allowedHosts: ['127.0.0.1', '127.0.0.2'] },
      clock: Object.assign(clock, { after: systemClock.after, every: systemClock.every }),
    })
    const idle: Socket[] = []
    t.teardown(() => {
      for (const socket of idle) socket.destroy()
    })
    for (let n = 0; n < 40; n += 1) {
      const socket = connect({ host: '127.0.0.1', port: listener.port, localAddress: '127.0.0.2' })
      socket.on('error', () => undefined)
      await new Promise(resolve => socket.once('connect', resolve))
      await until(() => listener.connections() > Math.min(n, 13), 'it to be accepted')
      idle.push(socket)
      clock.advance(2000)
    }
    await until(() => listener.connections() <= 15, 'older ones to be closed')
    await until(() => idle[0]?.destroyed === true, 'the oldest to be closed')
    t.notOk(idle.at(-1)?.destroyed, 'the last one stays')
    t.equal((await ask('/mcp', {}, '{}')).status, 200, 'another source is served')
  },
)

t.test('a port that is full of fresh idle connections is served again at once', async t => {
  const bounds = boundsOf({ connections: 8 })
  const { listener, ask } = await listening(t, (_request, responder) => responder.send(200, {}, 'here'), {
    bounds,
    host: '0.0.0.0',
    allowedHosts: ['127.0.0.1'],
  })
  const idle = Array.from({ length: 20 }, () =>
    connect({ host: '127.0.0.1', port: listener.port, localAddress: '127.0.0.2' }).on(
      'error',
      () => undefined,
    ),
  )
  t.teardown(() => {
    for (const socket of idle) socket.destroy()
  })
  const isServed = async (): Promise<boolean> =>
    await ask('/mcp', {}, '{}').then(
      ({ status }) => status === 200,
      () => false,
    )
  let tries = 1
  while (!(await isServed()) && tries < 40) tries += 1
  t.ok(tries < 40, `${tries} tries`)
})

t.test('short bodies count while they arrive, and the largest is cut at the limit', async t => {
  const bounds = boundsOf({ inbound: 1024 * 1024 })
  const bodies: Promise<unknown>[] = []
  const { listener } = await listening(t, () => undefined, {
    bounds,
    other: () =>
      Promise.resolve((request, response) => {
        const body = readShortBody(request, 64 * 1024)
        bodies.push(body.catch(() => 'cut'))
        void body.then(
          bytes => response.writeHead(bytes === undefined ? 413 : 200).end(),
          () => undefined,
        )
      }),
  })
  const senders = Array.from({ length: 30 }, () => {
    const socket = connect({ host: '127.0.0.1', port: listener.port }).on('error', () => undefined)
    socket.write(
      `POST /form HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(56_000)}`,
    )
    return socket
  })
  await until(() => senders.filter(({ destroyed }) => destroyed).length >= 10, 'some to be cut')
  t.ok(bounds.inbound.bytes > 500_000, `${bounds.inbound.bytes} bytes are counted`)
  t.ok(bounds.inbound.bytes <= 1024 * 1024)
  for (const socket of senders) socket.destroy()
  await until(() => bounds.inbound.bytes === 0, 'nothing to be counted')
  await Promise.all(bodies)
})

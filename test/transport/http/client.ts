import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import t, { type Test } from 'tap'
import type { Fault } from '../../../src/kernel/faults.js'
import { fetchReply, type RemoteReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient, type HttpClientOptions } from '../../../src/transport/http/client.js'
import type { OutboundExchange, OutboundRequest, ReplyListener } from '../../../src/wire/http.js'
import { skipWithout, socketFile, until } from '../../support/processes.js'

const urlOf = (server: TcpServer) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

async function listening(t: Test, server: TcpServer): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  return urlOf(server)
}

async function remote(t: Test, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  const sockets = new Set<object>()
  server.on('connection', socket => sockets.add(socket))
  t.teardown(() => server.closeAllConnections())
  return { url: await listening(t, server), connections: () => sockets.size, server }
}

function client(t: Test, options?: HttpClientOptions) {
  const http = createHttpClient(options)
  t.teardown(() => http.close())
  const send = (url: string, { signal, ...more }: Partial<OutboundRequest> & { signal?: AbortSignal } = {}) =>
    fetchReply(http, { method: 'GET', url, headers: {}, ...more }, signal ?? new AbortController().signal)
  return { http, send }
}

const read = (reply: RemoteReply): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    reply.read({
      data: chunk => chunks.push(chunk),
      ended: fault => (fault === undefined ? resolve(Buffer.concat(chunks).toString()) : reject(fault)),
      drop: () => undefined,
    })
  })

/** Writes down what it is told of a request. */
class Told implements ReplyListener {
  readonly events: string[] = []
  bytes = 0
  fault: Fault | undefined
  /** What it does when it is told something. */
  react: (event: string) => void = () => undefined

  head(status: number): void {
    this.#note(`head ${status}`)
  }

  data(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#note('data')
  }

  ended(fault: Fault | undefined): void {
    this.fault = fault
    this.#note(fault === undefined ? 'complete' : fault.code)
  }

  #note(event: string): void {
    this.events.push(event)
    this.react(event)
  }
}

t.test('requests and answers arrive unchanged, with any status', async t => {
  const { url } = await remote(t, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.writeHead(
        418,
        [
          ['X-Seen', `${request.method} ${request.url} ${request.headers['x-mine']}`],
          ['X-Two', 'a'],
          ['X-Two', 'b'],
        ].flat(),
      )
      response.end(Buffer.concat(chunks))
    })
  })
  const { send } = client(t)
  const reply = await send(`${url}/mcp?a=1`, {
    method: 'POST',
    headers: { 'X-Mine': 'yes' },
    body: Buffer.from('{"ä":1}'),
  })
  t.equal(reply.status, 418)
  t.equal(reply.headers['x-seen'], 'POST /mcp?a=1 yes')
  t.equal(reply.headers['x-two'], 'a, b')
  t.equal(await read(reply), '{"ä":1}')
})

const MIB = 1024 * 1024

t.test('a request may have a connection of its own, although others are kept', async t => {
  const used = new WeakSet<object>()
  const { url } = await remote(t, ({ socket }, response) => {
    const isKept = used.has(socket)
    used.add(socket)
    if (isKept) socket.destroy()
    else response.end('first')
  })
  const { send } = client(t)
  await Promise.all([1, 2, 3].map(async () => read(await send(url))))
  const fault = (await send(url).catch((thrown: unknown) => thrown)) as Fault
  t.equal(fault.code, 'disconnected')
  for (let n = 0; n < 3; n++) t.equal(await read(await send(url, { onNewConnection: true })), 'first')
})

t.test('a stream is told piece by piece, and one that is held back holds its sender back', async t => {
  let sender: ServerResponse | undefined
  const { url } = await remote(t, (_request, response) => {
    sender = response
    response.write('data: 1\n\n')
  })
  const { http } = client(t)
  const told = new Told()
  const exchange = http.send({ method: 'GET', url, headers: {} }, told)
  await until(() => told.bytes === 9, 'the first piece')
  sender?.write('data: 2\n\n')
  await until(() => told.bytes === 18, 'the second piece')
  exchange.pause()
  for (let i = 0; i < 64; i += 1) sender?.write(Buffer.alloc(MIB))
  await new Promise(resolve => setTimeout(resolve, 100))
  t.ok(told.bytes < MIB, 'no more than what was on its way')
  t.ok((sender?.writableLength ?? 0) > 16 * MIB, 'the sender keeps what we do not take', {
    skip: skipWithout.sendBuffers,
  })
  exchange.resume()
  await until(() => told.bytes === 18 + 64 * MIB, 'the rest')
  t.same([told.events[0], told.events.at(-1)], ['head 200', 'data'], 'it is not over')
})

t.test('a reply that is held back from its head on comes whole when it is wanted', async t => {
  const body = Buffer.alloc(4 * MIB, 'x')
  const { url } = await remote(t, (_request, response) => response.end(body))
  const { http } = client(t)
  const told = new Told()
  told.react = event => {
    if (event === 'head 200') exchange.pause()
  }
  const exchange: OutboundExchange = http.send({ method: 'GET', url, headers: {} }, told)
  await until(() => told.events.length > 0, 'the head')
  await new Promise(resolve => setTimeout(resolve, 50))
  t.notOk(told.events.includes('complete'))
  exchange.resume()
  await until(() => told.events.includes('complete'), 'the end')
  t.equal(told.bytes, body.length)
})

t.test('nothing is told before the request is on its way, and nothing after it was given up', async t => {
  const { url } = await remote(t, (request, response) => {
    response.write('half')
    if (request.url === '/whole') response.end('other half')
  })
  const { http } = client(t)
  for (const bad of ['nonsense', url]) {
    const told = new Told()
    const headers: Record<string, string> = bad === url ? { 'x-bad': 'a\r\nb' } : {}
    http.send({ method: 'GET', url: bad, headers }, told)
    t.same(told.events, [])
    await until(() => told.events.length > 0, 'the fault')
    t.same(told.events, ['unavailable'])
  }
  for (const give of ['abort', 'discard'] as const) {
    const early = new Told()
    http.send({ method: 'GET', url, headers: {} }, early)[give]()
    for (const path of ['/', '/whole']) {
      for (const when of ['head 200', 'data']) {
        const told = new Told()
        told.react = event => {
          if (event === when) exchange[give]()
        }
        const exchange: OutboundExchange = http.send({ method: 'GET', url: url + path, headers: {} }, told)
        await until(() => told.events.includes(when), when)
        await read(await fetchReply(http, { method: 'GET', url: `${url}/whole`, headers: {} }, never()))
        t.same(
          told.events,
          when === 'data' ? ['head 200', 'data'] : ['head 200'],
          `${give} ${path} at ${when}`,
        )
      }
    }
    t.same(early.events, [])
  }
})

const never = (): AbortSignal => new AbortController().signal

t.test(
  'a request may follow from any part of a reply, also to another connection of the same server',
  async t => {
    const { url } = await remote(t, (_request, response) => response.end('body'))
    const { http } = client(t)
    for (const when of ['head 200', 'data', 'complete']) {
      const first = new Told()
      const second = new Told()
      first.react = event => {
        if (event === when) http.send({ method: 'GET', url, headers: {} }, second)
      }
      http.send({ method: 'GET', url, headers: {} }, first)
      await until(() => second.events.includes('complete'), `the answer to the second, sent at ${when}`)
      t.same([first.events, second.events], [first.events, ['head 200', 'data', 'complete']])
    }
  },
)

t.test('informational replies before the real one are not told', async t => {
  const server = createTcpServer(socket => {
    socket.on('error', () => undefined).resume()
    socket.write(
      'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    )
  })
  t.teardown(() => server.close())
  const url = await listening(t, server)
  const { http } = client(t)
  const told = new Told()
  http.send({ method: 'GET', url, headers: {} }, told)
  await until(() => told.events.includes('complete'), 'the reply')
  t.same(told.events, ['head 200', 'data', 'complete'])
  await http.close()
})

t.test('redirects are followed on the same origin only, three times at most', async t => {
  const seen: string[] = []
  const other = await remote(t, (_request, response) => response.end('other'))
  const { url } = await remote(t, (request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    const [, status = '', target = ''] = /^\/(\d+)(.*)/.exec(request.url ?? '') ?? []
    if (status === '') response.end(`here ${request.url}`)
    else
      response.writeHead(Number(status), { Location: target === '/away' ? other.url : target }).end('moved')
  })
  const { send } = client(t)
  const headers = { authorization: 'Bearer x' }
  const get = await send(`${url}/301/302/303/end`, { headers })
  t.equal(await read(get), 'here /end')
  t.equal(seen.at(-1), 'GET /end Bearer x')
  const post = await send(`${url}/307/308/end`, { method: 'POST', body: Buffer.from('{}'), headers })
  t.equal(await read(post), 'here /end')
  t.equal(seen.at(-1), 'POST /end Bearer x')
  const asItIs = [
    ['GET', '/307/away', 307],
    ['POST', '/302/end', 302],
    ['GET', '/301/301/301/301/end', 301],
    ['GET', '/302', 302],
    ['GET', '/304/end', 304],
  ] as const
  for (const [method, path, status] of asItIs) {
    const reply = await send(`${url}${path}`, { method })
    t.equal(reply.status, status, path)
    reply.discard()
  }
})

t.test('a server that cannot be reached is unavailable, in words that hold no secret', async t => {
  const { send } = client(t)
  const closed = createTcpServer()
  await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
  const url = urlOf(closed)
  await new Promise(resolve => closed.close(resolve))
  const secret = url.replace('//', '//user:secret@')
  await t.rejects(send(`${secret}/secret?token=secret`, { headers: { authorization: 'secret' } }), {
    code: 'unavailable',
    message: `cannot connect to ${url} (connection refused)`,
  })
  await t.rejects(send('http://nowhere.invalid/secret'), {
    code: 'unavailable',
    message:
      /^cannot connect to http:\/\/nowhere\.invalid \((no such host|the name could not be looked up)\)$/,
  })
  for (const bad of ['secret', 'ftp://secret.example/', 'http://']) {
    const fault = await send(bad).catch((error: unknown) => error)
    t.match(fault, { name: 'Fault', code: 'unavailable' }, bad)
    t.notMatch((fault as Error).message, 'secret')
  }
  await t.rejects(send(url, { headers: { 'x-bad': 'a\r\nb' } }), { code: 'unavailable' })
})

t.test('an untrusted certificate, and a port without TLS, are reported as such', async t => {
  const plain = await remote(t, (_request, response) => response.end())
  const { send } = client(t)
  await t.rejects(send(plain.url.replace('http:', 'https:')), {
    code: 'unavailable',
    message: /no TLS on that port/,
  })
})

t.test('a server that hangs up is disconnected, before its answer and within it', async t => {
  const { url } = await remote(t, (request, response) => {
    if (request.url === '/at-once') request.socket.destroy()
    else if (request.url === '/reset') request.socket.resetAndDestroy()
    else response.write('half', () => setImmediate(() => request.socket.destroy()))
  })
  const { send } = client(t)
  await t.rejects(send(`${url}/at-once`), { code: 'disconnected' })
  await t.rejects(send(`${url}/reset`), { code: 'disconnected' })
  const reply = await send(`${url}/half`)
  await t.rejects(read(reply), { name: 'Fault', code: 'disconnected' })
})

t.test('an answer that is not HTTP is reported as such', async t => {
  const server = createTcpServer(socket => {
    socket.on('error', () => undefined).resume()
    socket.end('SSH-2.0-OpenSSH_9.6\r\n')
  })
  const url = await listening(t, server)
  const { send } = client(t)
  await t.rejects(send(url), { code: 'disconnected', message: /not HTTP/ })
})

t.test('an abort is cancelled, before, while waiting, and within the answer', async t => {
  let requests = 0
  const { url } = await remote(t, (request, response) => {
    requests += 1
    if (request.url === '/stream') response.write('data')
  })
  const { send } = client(t)
  await t.rejects(send(url, { signal: AbortSignal.abort() }), { name: 'Fault', code: 'cancelled' })
  t.equal(requests, 0)
  const waiting = new AbortController()
  const sent = send(url, { signal: waiting.signal })
  await until(() => requests === 1, 'the request')
  waiting.abort(new Error('secret'))
  await t.rejects(sent, { code: 'cancelled' })
  const reading = new AbortController()
  const reply = await send(`${url}/stream`, { signal: reading.signal })
  const done = t.rejects(read(reply), { code: 'cancelled' })
  reading.abort()
  await done
  const unread = new AbortController()
  const left = await send(`${url}/stream`, { signal: unread.signal })
  unread.abort()
  await new Promise(resolve => setImmediate(resolve))
  left.discard()
  await t.rejects(read(left), { code: 'cancelled' }, 'nobody crashed meanwhile')
})

t.test('a server that never answers is a timeout when one is set', async t => {
  const { url } = await remote(t, () => undefined)
  const { send } = client(t, { headersTimeoutMs: 100 })
  await t.rejects(send(url), { code: 'timeout' })
})

t.test('discard frees the connection for the next request, and may come at any time', async t => {
  const { url, connections } = await remote(t, (_request, response) => response.end('short'))
  const { send } = client(t)
  // Nobody tells when a connection is free again: were it never, each request would open another one, without
  // an end.
  let requests = 0
  await until(async () => {
    requests += 1
    const reply = await send(url)
    reply.discard()
    reply.discard()
    return connections() < requests
  }, 'a request on the connection of an earlier one')
  const whole = await send(url)
  t.equal(await read(whole), 'short')
  whole.discard()
})

t.test('discarding a stream that stays silent ends it', async t => {
  let gone = false
  const { url } = await remote(t, (request, response) => {
    gone = false
    response.setHeader('Content-Type', request.url === '/sse' ? 'text/event-stream' : 'application/json')
    response.write(' ')
    response.on('close', () => {
      gone = true
    })
  })
  const { send } = client(t)
  for (const path of ['/sse', '/json']) {
    const reply = await send(`${url}${path}`)
    t.equal(gone, false, path)
    reply.discard()
    await until(() => gone, `the end of the connection to ${path}`)
  }
})

t.test('close ends what is open, also a stream, and can be called twice', async t => {
  const { url } = await remote(t, (_request, response) => {
    response.write('data')
  })
  const { http, send } = client(t)
  const reply = await send(url)
  const done = t.rejects(read(reply), { code: 'disconnected' })
  await http.close()
  await http.close()
  await done
  await t.rejects(send(url), { name: 'Fault' })
})

t.test('all requests of a client for a socket use it, and its failures do not name its path', async t => {
  const path = socketFile(t)
  const dead = { http: { url: 'http://127.0.0.1:9', from: 'HTTP_PROXY' } }
  const { send } = client(t, { socketPath: path, proxy: dead })
  const missing = await send('http://localhost/mcp').catch((fault: unknown) => fault)
  t.match(missing, { code: 'unavailable', message: /^cannot connect to the socket: / })
  t.notMatch(String(missing), path)
  const hosts: (string | undefined)[] = []
  const server = createServer(({ headers, url }, response) => {
    hosts.push(headers.host)
    if (url === '/away') response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()
    else response.end(url)
  })
  await new Promise<void>(resolve => server.listen(path, resolve))
  t.teardown(() => server.closeAllConnections())
  t.equal(await read(await send('http://localhost/a%20b?c=d')), '/a%20b?c=d')
  t.equal((await send('http://localhost/away')).status, 307, 'it stays on the socket')
  t.same(new Set(hosts), new Set(['localhost']))
  await t.rejects(send('https://localhost/'), { message: /not valid/ }, 'no TLS')
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  const lines = createTcpServer(socket => void socket.once('data', () => socket.end('{"jsonrpc":"2.0"}\n')))
  await new Promise<void>(resolve => lines.listen(path, resolve))
  t.teardown(() => lines.close())
  const { send: sendAgain } = client(t, { socketPath: path })
  await t.rejects(sendAgain('http://localhost/'), {
    message: /not HTTP: if it reads one message per line, remove "#"/,
  })
})

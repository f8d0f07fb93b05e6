import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import {
  type Attack,
  attacked,
  dial,
  HEADERS,
  head,
  INITIALIZE_BODY,
  JSON_LINES,
  lastHead,
  PING,
  post,
  refused,
  say,
  statusesOf,
  type Target,
  textOf,
} from '../support/client/attack.js'
import { codeOnSignal, socketFile, until } from '../support/processes.js'
import { configFile, rawServer, startBin } from '../support/proxy/start.js'

const LENGTH = `Content-Length: ${PING.length}`

/** These bytes on a connection of their own are answered with these statuses, and the connection is ended. */
const answered = async (t: Test, target: Target, statuses: readonly number[], ...parts: string[]) => {
  const heard = await say(target, ...parts)
  t.same(statusesOf(heard), statuses, heard.slice(0, 100))
  return heard
}

const HEADS: Readonly<Record<string, Attack>> = {
  'sends text/plain, as a page of somebody else can': refused(415, /application\/json/, PING, {
    'content-type': 'text/plain',
  }),
  'sends a form': refused(415, /application\/json/, PING, {
    'content-type': 'multipart/form-data; boundary=x',
  }),
  'names no type that there is': refused(415, /application\/json/, PING, {
    'content-type': 'application/json/x',
  }),
  'sends JSON in another alphabet': async (target, t) => {
    const response = await post(target, PING, { 'content-type': 'application/json; charset=utf-16' })
    t.ok([200, 415].includes(response.status))
    await response.text()
  },
  'accepts nothing that there is': refused(406, /Accept/, PING, { accept: 'text/html' }),
  'accepts things that are none': refused(406, /Accept/, PING, { accept: ';;;,,,q=1' }),
  'sends its body packed': refused(
    400,
    /-32700|Content-Encoding/i,
    Buffer.from('1f8b0800000000000003', 'hex'),
    {
      'content-encoding': 'gzip',
    },
  ),
  'comes from a page of somebody else': refused(403, /Origin/, PING, { origin: 'https://evil.example' }),
  'comes from a sandboxed page': refused(403, /Origin/, PING, { origin: 'null' }),
  'comes from a page that looks like ours': async (target, t) => {
    for (const origin of [
      'http://localhost.evil.example',
      'http://localhost@evil.example',
      'http://127.0.0.1.nip.io',
      'file://',
      'javascript:alert(1)',
      'http://[::1',
      '',
    ]) {
      const heard = await say(target, lastHead(target, [...JSON_LINES, LENGTH, `Origin: ${origin}`]), PING)
      t.same(statusesOf(heard), [403], origin)
    }
  },
  'asks beforehand whether a page may': async ({ daemon }, t) => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    const response = await fetch(daemon.url, { method: 'OPTIONS', headers })
    t.equal(response.status, 403)
    t.equal(response.headers.get('access-control-allow-origin'), null)
  },
  'names a host of somebody else': async (target, t) => {
    const { host, port } = target.daemon
    const names = [
      'evil.example',
      `evil.example:${port}`,
      `${host}:1`,
      `${host}:${port}@evil.example`,
      `${host}:${port}.evil.example`,
      `localhost.:${port}`,
      '',
      `${host}:${port} evil`,
      `0.0.0.0:${port}`,
      '127.1',
    ]
    for (const name of names) {
      const text = lastHead(target, [...JSON_LINES, LENGTH]).replace(/Host: .*/, `Host: ${name}`)
      const [status = 0] = statusesOf(await say(target, text, PING))
      t.ok(status === 403 || status === 400, `${name}: ${status}`)
    }
  },
  'names two hosts': async (target, t) => {
    const [status = 0] = statusesOf(
      await say(target, lastHead(target, ['Host: evil.example', ...JSON_LINES, LENGTH]), PING),
    )
    t.ok([400, 403].includes(status))
  },
  'is a probe that knows the address only': async (target, t) => {
    const status = async (path: string) => {
      const text = lastHead(target, [], { target: path, method: 'GET' })
      return statusesOf(await say(target, text.replace(/Host: .*/, 'Host: 10.1.2.3:8080')))[0]
    }
    t.equal(await status('/healthz'), 200)
    t.equal(await status('/readyz?verbose'), 200)
    for (const path of ['/status', '/mcp', '/sse', '/healthz/../status', '//healthz']) {
      t.equal(await status(path), 403, `${path} is not for everybody`)
    }
  },
  'names no host': async (target, t) => {
    const [status = 0] = statusesOf(await say(target, 'POST /mcp HTTP/1.1\r\nConnection: close\r\n\r\n'))
    t.ok([400, 403].includes(status))
  },
  'speaks HTTP/1.0': async (target, t) => {
    const text = lastHead(target, [...JSON_LINES, LENGTH, `Mcp-Session-Id: ${target.client.session}`])
    t.match(await say(target, text.replace('HTTP/1.1', 'HTTP/1.0'), PING), /"result":\{\}/)
    t.same(statusesOf(await say(target, 'GET /mcp HTTP/1.0\r\n\r\n')), [403], 'and names no host')
  },
  'speaks an HTTP that there is not': async (target, t) => {
    for (const version of ['HTTP/9.9', 'HTTP/1.', 'HTTP', '']) {
      const heard = await say(target, `GET /mcp ${version}\r\n\r\n`)
      t.ok(heard === '' || statusesOf(heard)[0] === 400, heard.slice(0, 40))
    }
  },
  'speaks HTTP/2 at once': async (target, t) => {
    const heard = await say(target, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', Buffer.alloc(9))
    t.ok(heard === '' || statusesOf(heard)[0] === 400)
  },
  'speaks no HTTP': async (target, t) => {
    await answered(t, target, [400], 'SSH-2.0-OpenSSH_9.6\r\n\r\n')
    t.same(statusesOf(await say(target, Buffer.from('1603010200010001fc0303', 'hex'), '\r\n\r\n')), [400])
  },
  'uses methods that are not for it': async (target, t) => {
    for (const method of ['TRACE', 'PUT', 'PATCH', 'HEAD', 'PROPFIND']) {
      await answered(t, target, [405], lastHead(target, [], { method }))
    }
    const heard = await say(target, lastHead(target, [], { method: 'CONNECT', target: 'evil.example:443' }))
    t.notMatch(heard, /^HTTP\/1\.1 2/, 'and is no way through')
    t.same(statusesOf(await say(target, lastHead(target, [], { method: 'BREW' }))), [400])
  },
  'asks for strange paths': async (target, t) => {
    const paths = [
      '/../../etc/passwd',
      '//',
      '/mcp//',
      '/mcp/../status/..',
      '/%00',
      '/mcp%2f..',
      '/%zz',
      '/__proto__',
      '/constructor',
      `/${'x'.repeat(8000)}`,
      '/mcp;x',
      '/MCP',
    ]
    for (const path of paths) {
      const [status = 0] = statusesOf(
        await say(target, lastHead(target, [], { target: path, method: 'GET' })),
      )
      t.ok(status === 404 || status === 400, `${path.slice(0, 20)}: ${status}`)
    }
    await answered(
      t,
      target,
      [400],
      lastHead(target, [], { target: 'http://evil.example/mcp', method: 'GET' }),
    )
    await answered(t, target, [400], lastHead(target, [], { target: '*', method: 'OPTIONS' }))
    t.equal(
      (
        await fetch(`${target.daemon.url}?${'a=b&'.repeat(1000)}`, {
          method: 'POST',
          headers: HEADERS,
          body: PING,
        })
      ).status,
      400,
    )
  },
  'sends headers without end': async (target, t) => {
    await answered(t, target, [431], head(target, [`X: ${'x'.repeat(20_000)}`]))
    await answered(
      t,
      target,
      [431],
      lastHead(
        target,
        Array.from({ length: 150 }, (_, n) => `X-${n}: 1`),
      ),
    )
    await answered(t, target, [431], lastHead(target, [], { target: `/${'x'.repeat(20_000)}` }))
  },
  'breaks a line within a header': async (target, t) => {
    await answered(t, target, [400], lastHead(target, ['X: a\nInjected: yes\rx']))
    await answered(t, target, [400], lastHead(target, ['X: a\0b']))
    await answered(t, target, [400], lastHead(target, ['X y: a']))
    await answered(t, target, [400], lastHead(target, [' folded: a']))
  },
  'would write headers of ours': async ({ client, daemon }, t) => {
    const evil = 'x\r\nSet-Cookie: a=b'
    for (const [name, value] of [
      ['mcp-session-id', evil],
      ['last-event-id', evil],
      ['origin', evil],
    ] as const) {
      t.throws(() => new Headers({ [name]: value }))
    }
    const { last } = await client.request(evil, { name: evil })
    t.match(last.message, { error: { code: -32601 } })
    const response = await fetch(`${daemon.sseUrl}?x=%0d%0aSet-Cookie:%20a=b`, {
      headers: { accept: 'text/event-stream' },
    })
    t.equal(response.headers.get('set-cookie'), null)
    await response.body?.cancel()
  },
}

const BODIES: Readonly<Record<string, Attack>> = {
  'announces a body of a terabyte': async (target, t) => {
    await answered(t, target, [413], head(target, [...JSON_LINES, 'Content-Length: 1000000000000']))
    await answered(t, target, [400], head(target, [...JSON_LINES, `Content-Length: ${'9'.repeat(30)}`]))
  },
  'asks beforehand whether it may send a terabyte': async (target, t) => {
    const lines = [...JSON_LINES, 'Content-Length: 1000000000000', 'Expect: 100-continue']
    await answered(t, target, [413], head(target, lines))
  },
  'asks beforehand, and may': async (target, t) => {
    const lines = [...JSON_LINES, LENGTH, 'Expect: 100-continue', `Mcp-Session-Id: ${target.client.session}`]
    await answered(t, target, [100, 200], lastHead(target, lines), PING)
    const [status = 0] = statusesOf(
      await say(target, lastHead(target, [...JSON_LINES, LENGTH, 'Expect: a-miracle']), PING),
    )
    t.ok([417, 400].includes(status), 'of expectations there is one')
  },
  'sends a body without end': async (target, t) => {
    const chunk = Buffer.from(`100000\r\n${'x'.repeat(0x100000)}\r\n`)
    const parts = Array.from({ length: 40 }, () => chunk)
    const heard = await say(target, head(target, [...JSON_LINES, 'Transfer-Encoding: chunked']), ...parts)
    // A client that goes on writing may find the connection gone before it read why.
    t.ok(heard === '' || statusesOf(heard)[0] === 413, heard.slice(0, 60))
  },
  'sends a body without end to nobody': async (target, t) => {
    const parts = Array.from({ length: 20 }, () => Buffer.alloc(1024 * 1024, 'x'))
    for (const path of ['/nowhere', '/status', '/messages']) {
      const lines = ['Content-Type: application/json', `Content-Length: ${1024 ** 4}`]
      const heard = await say(target, lastHead(target, lines, { target: path }), ...parts)
      t.ok(heard === '' || [404, 413].includes(statusesOf(heard)[0] ?? 0), heard.slice(0, 40))
    }
  },
  'sends chunks that are none': async (target, t) => {
    for (const chunk of ['zz\r\n', '-1\r\n\r\n', `${'f'.repeat(30)}\r\n`, '5;\n12345']) {
      await answered(t, target, [400], head(target, [...JSON_LINES, 'Transfer-Encoding: chunked']), chunk)
    }
  },
  'sends chunks of one byte, extensions and trailers': async (target, t) => {
    const chunks = [...PING].map(char => `1;ext=${'x'.repeat(20)}\r\n${char}\r\n`).join('')
    const lines = [...JSON_LINES, 'Transfer-Encoding: chunked', `Mcp-Session-Id: ${target.client.session}`]
    const heard = await say(
      target,
      lastHead(target, lines),
      chunks,
      '0\r\nHost: evil.example\r\nMcp-Session-Id: x\r\n\r\n',
    )
    t.match(heard, /"result":\{\}/)
  },
  'smuggles a request': async (target, t) => {
    const smuggled = '0\r\n\r\nGET / HTTP/1.1\r\n\r\n'
    const ways = [
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Content-Length: 4', 'Content-Length: 40'],
      ['Content-Length: 4, 40'],
      ['Content-Length: +4'],
      ['Content-Length: 4 '.replace(' 4', ' 0x4')],
      ['Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding: xchunked'],
      ['Transfer-Encoding : chunked'],
    ]
    for (const lines of ways) {
      const statuses = statusesOf(await say(target, lastHead(target, [...JSON_LINES, ...lines]), smuggled))
      t.ok(statuses.length === 1 && statuses[0] === 400, `${lines.join()}: ${statuses.join()}`)
    }
  },
  'sends many requests before it reads an answer': async (target, t) => {
    const one = head(target, [...JSON_LINES, LENGTH, `Mcp-Session-Id: ${target.client.session}`]) + PING
    const last = lastHead(target, [...JSON_LINES, LENGTH, `Mcp-Session-Id: ${target.client.session}`]) + PING
    const heard = await say(target, one.repeat(200) + last)
    t.same(
      statusesOf(heard),
      Array.from({ length: 201 }, () => 200),
    )
  },
  'sends one byte at a time': async (target, t) => {
    const text = lastHead(target, [...JSON_LINES, LENGTH, `Mcp-Session-Id: ${target.client.session}`]) + PING
    const socket = await dial(target)
    socket.setNoDelay(true)
    let heard = ''
    socket.on('data', chunk => {
      heard += String(chunk)
    })
    for (const byte of Buffer.from(text)) {
      socket.write(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await once(socket, 'close')
    t.match(heard, /"result":\{\}/)
  },
  'hangs up in the middle': async (target, t) => {
    const begun = head(target, [...JSON_LINES, 'Content-Length: 100'])
    for (const text of ['', 'POST', begun, `${begun}{"json`]) {
      const socket = await dial(target)
      if (text !== '') await new Promise(resolve => socket.write(text, resolve))
      socket.resetAndDestroy()
    }
    t.pass()
  },
  'closes its half and waits for the answer': async (target, t) => {
    const socket = await dial(target)
    let heard = ''
    socket.on('data', chunk => {
      heard += String(chunk)
    })
    socket.end(lastHead(target, [...JSON_LINES, LENGTH, `Mcp-Session-Id: ${target.client.session}`]) + PING)
    await once(socket, 'close')
    t.match(heard, /"result":\{\}/)
  },
  'opens connections and says nothing': async (target, t) => {
    const sockets = await Promise.all(Array.from({ length: 500 }, () => dial(target)))
    t.equal(textOf(await target.client.call('quiet', 'good__echo', '{"a":1}')), '{"a":1}')
    for (const socket of sockets) socket.destroy()
  },
}

/** A WebSocket below its protocol. */
const handshake = async (target: Target, lines: readonly string[] = []) => {
  const socket = await dial(target)
  const key = [
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version: 13',
  ]
  let heard = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    heard = Buffer.concat([heard, chunk]).subarray(-4096)
  })
  socket.write(head(target, [...key, ...lines], { target: '/ws', method: 'GET' }))
  while (!heard.includes('\r\n\r\n')) await once(socket, 'data')
  return { socket, text: () => heard.toString('latin1') }
}

const masked = (byte: number, payload: string | Buffer): Buffer => {
  const data = Buffer.from(payload)
  const length = data.length < 126 ? [0x80 | data.length] : [0x80 | 126, data.length >> 8, data.length & 255]
  return Buffer.concat([Buffer.from([byte, ...length, 0, 0, 0, 0]), data])
}

const FRAMES: Readonly<Record<string, Attack>> = {
  'breaks the protocol of WebSockets': async (target, t) => {
    const all: Readonly<Record<string, Buffer>> = {
      'without a mask': Buffer.concat([Buffer.from([0x81, PING.length]), Buffer.from(PING)]),
      'reserved bits': masked(0xf1, PING),
      'a kind that there is not': masked(0x83, PING),
      'a fragmented ping': masked(0x09, 'x'),
      'a long ping': masked(0x89, 'x'.repeat(200)),
      'a continuation of nothing': masked(0x80, 'x'),
      'a text in a text': Buffer.concat([masked(0x01, 'x'), masked(0x81, 'y')]),
      'no UTF-8': masked(0x81, Buffer.from([0xff, 0xfe])),
      'a length of 2^63': Buffer.from([
        0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0,
      ]),
      'a close code that there is not': masked(0x88, Buffer.from([0, 1])),
      binary: masked(0x82, Buffer.from([1, 2, 3])),
    }
    for (const [what, bytes] of Object.entries(all)) {
      const { socket } = await handshake(target)
      socket.write(bytes)
      if (!socket.destroyed) await once(socket, 'close')
      t.pass(`${what} ends the connection`)
    }
  },
  'sends a message in fragments of one byte, with pings between': async (target, t) => {
    const { socket, text } = await handshake(target)
    const frames = [...INITIALIZE_BODY].flatMap((char, n) => [
      masked((n === 0 ? 0x01 : 0x00) | (n === INITIALIZE_BODY.length - 1 ? 0x80 : 0), char),
      ...(n % 10 === 0 ? [masked(0x89, 'p')] : []),
    ])
    socket.write(Buffer.concat(frames))
    while (!text().includes('"protocolVersion"')) await once(socket, 'data')
    socket.destroy()
    t.pass()
  },
  'floods with pings, and never reads': async (target, t) => {
    const { socket } = await handshake(target)
    socket.pause()
    const pings = Buffer.concat(Array.from({ length: 1000 }, () => masked(0x89, 'x'.repeat(120))))
    for (let n = 0; n < 100; n += 1) socket.write(pings)
    t.equal(textOf(await target.client.call('beside', 'good__echo', '{"a":4}')), '{"a":4}')
    socket.destroy()
  },
  'sends frames that are too large': async (target, t) => {
    const ws = new WebSocket(target.daemon.wsUrl, 'mcp')
    ws.on('error', () => undefined)
    await once(ws, 'open')
    ws.send(Buffer.alloc(70 * 1024 * 1024))
    const [code] = (await once(ws, 'close')) as [number]
    t.ok([1003, 1006, 1009].includes(code), String(code))
  },
  'asks for an upgrade that it may not have': async (target, t) => {
    const upgrade = [
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
    ]
    const ask = async (lines: readonly string[], path = '/ws') =>
      statusesOf(
        await say(target, head(target, ['Connection: Upgrade', ...lines], { target: path, method: 'GET' })),
      )[0]
    t.equal(await ask([...upgrade, 'Origin: https://evil.example']), 403)
    t.equal(await ask(upgrade, '/elsewhere'), 404)
    t.equal(await ask([...upgrade, 'Sec-WebSocket-Protocol: graphql-ws']), 400)
    t.equal(await ask(upgrade.slice(0, 1)), 400)
    t.equal(await ask([...upgrade.slice(0, 2), 'Sec-WebSocket-Version: 99']), 400)
    const text = head(target, ['Connection: Upgrade', ...upgrade], { target: '/ws', method: 'GET' })
    t.same(statusesOf(await say(target, text.replace(/Host: .*/, 'Host: evil.example'))), [403])
  },
  'asks to be upgraded to anything': async (target, t) => {
    for (const to of ['h2c', 'TLS/1.0', 'x'.repeat(1000)]) {
      const lines = [...JSON_LINES, LENGTH, `Upgrade: ${to}`, 'Connection: Upgrade, close']
      const heard = await say(target, head(target, lines), PING)
      t.notMatch(heard, /^HTTP\/1\.1 (101|5)/, to.slice(0, 10))
    }
  },
  'offers other protocols behind requests that are not answered': async (target, t) => {
    const key = ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 13']
    const get = (path: string, lines: readonly string[] = []) =>
      head(target, lines, { target: path, method: 'GET' })
    const offers = ['h2c', 'websocket'].flatMap(to =>
      ['/readyz', '/ws', '/mcp'].map(path => get(path, ['Connection: Upgrade', `Upgrade: ${to}`, ...key])),
    )
    const parts = [get('/readyz'), get('/status'), head(target, [...JSON_LINES, LENGTH]) + PING, ...offers]
    const last = lastHead(target, [], { target: '/readyz', method: 'GET' })
    for (const text of parts.flatMap(one => parts.map(other => one + other))) {
      const socket = await dial(target)
      let heard = ''
      socket.on('data', chunk => {
        if (heard === '') socket.write(last)
        heard += String(chunk)
      })
      socket.write(text)
      // Windows resets a connection that is closed with something to read on it.
      await once(
        socket.on('error', () => undefined),
        'close',
      ).catch(() => undefined)
      t.notMatch(heard, /HTTP.*HTTP\/1\.1 101/s, 'nothing is granted behind an answer')
    }
  },
  'sends nonsense over HTTP+SSE': async ({ daemon }, t) => {
    const abort = new AbortController()
    const stream = await fetch(daemon.sseUrl, {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    const [, path = ''] = /data: (\S+)/.exec((await reader?.read())?.value ?? '') ?? []
    const send = async (body: string, to = path, headers: Record<string, string> = HEADERS) =>
      (await fetch(new URL(to, daemon.url), { method: 'POST', headers, body })).status
    t.equal(await send('{"jsonrpc":'), 400)
    t.equal(await send(PING, '/messages?sessionId=x'), 404)
    t.equal(await send(PING, '/messages'), 404)
    t.equal(await send(PING, '/messages?sessionId=__proto__'), 404)
    t.equal(await send(PING, path, { 'content-type': 'text/plain' }), 415)
    t.equal(await send(PING, path, { ...HEADERS, origin: 'https://evil.example' }), 403)
    t.equal(await send(PING), 202)
    abort.abort()
    await reader?.closed.catch(() => undefined)
  },
}

t.test('invalid request heads get an error, and affect no other client', t => attacked(t, HEADS))

t.test('bodies that are too long, too slow or malformed affect no other client', t => attacked(t, BODIES))

t.test('abused WebSockets and event streams affect no other client', t => attacked(t, FRAMES))

t.test('a client that sends too slowly is disconnected, and delays no other client', async t => {
  const limits = { headersTime: '1s', requestTime: '2s' }
  await attacked(
    t,
    {
      'never ends its headers, two hundred times': async (target, t) => {
        const sockets = await Promise.all(Array.from({ length: 200 }, () => dial(target)))
        const closed = sockets.map(socket => new Promise(resolve => socket.once('close', resolve).resume()))
        const drip = setInterval(() => {
          for (const socket of sockets) socket.write('X: 1\r\n')
        }, 200)
        for (const socket of sockets) socket.write('POST /mcp HTTP/1.1\r\n')
        t.equal(textOf(await target.client.call('quick', 'good__echo', '{"a":5}')), '{"a":5}')
        await Promise.all(closed)
        clearInterval(drip)
      },
      'never ends its body': async (target, t) => {
        const socket = await dial(target)
        socket.resume()
        socket.write(head(target, [...JSON_LINES, 'Content-Length: 1000']))
        const drip = setInterval(() => socket.write(' '), 200)
        await once(socket, 'close')
        clearInterval(drip)
        t.pass('it is hung up on')
      },
    },
    { limits },
  )
})

t.test('socket clients that send nonsense, or half of it, affect no other client', async t => {
  const path = socketFile(t)
  const running = startBin(t, [
    'serve',
    '--config',
    configFile(t, { good: rawServer() }),
    '--port',
    '0',
    '--socket',
    path,
  ])
  const url = (await running.line(/listening on http/)).split(' ').at(-1)
  const hello = `${INITIALIZE_BODY}\n`
  /** Says it on a connection of its own; what comes back, until it fits or the connection ends. */
  const heardOf = async (text: string | Buffer, enough?: RegExp): Promise<string> => {
    const socket = connect(path)
    socket.on('error', () => undefined)
    let heard = ''
    socket.on('data', chunk => {
      heard += String(chunk)
      if (enough?.test(heard) === true) socket.destroy()
    })
    if (enough === undefined) socket.end(text)
    else socket.write(text)
    await new Promise(resolve => socket.once('close', resolve))
    return heard
  }
  const welcome = /"protocolVersion"/
  t.match(await heardOf(`nonsense\n\0\n\xff\n${hello}`, welcome), welcome)
  t.match(await heardOf(`${'\n'.repeat(10_000)}${hello}`, welcome), welcome)
  t.match(await heardOf(`\ufeff${hello}`, welcome), welcome)
  const long = Buffer.concat([Buffer.alloc(80 * 1024 * 1024, 'x'), Buffer.from(`\n${hello}`)])
  t.match(await heardOf(long, welcome), welcome, 'a line that is too long is skipped')
  for (const text of ['', hello, hello.trimEnd(), '{"jsonrpc":"2.0","id":1,"method"']) {
    await heardOf(text)
    t.pass('who closes its half is gone')
  }
  const status = async () => (await fetch(new URL('/status', url))).json() as Promise<{ sessions: number }>
  await until(async () => (await status()).sessions === 0, 'the end of all sessions')
  running.child.kill('SIGTERM')
  t.equal(await running.exited, codeOnSignal('SIGTERM'))
})

import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { socketPathOf } from '../../src/kernel/machine/socket-path.js'
import { connectSocket } from '../../src/transport/socket/client.js'
import { checkSocketPath } from '../../src/transport/socket/path.js'
import { listenSocket, type SocketServerOptions } from '../../src/transport/socket/server.js'
import type { Channel } from '../../src/wire/channel.js'
import { FakeClock } from '../support/fake-clock.js'
import { skipWithout, until } from '../support/processes.js'
import { cutInto } from '../support/property.js'
import { boundsOf } from '../support/values.js'
import { HalfOpenRecorder, Recorder, recordedLog } from '../support/wire/channel-pair.js'

const skip = skipWithout.unixSockets

function place(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'sock-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'x.sock')
}

async function listening(t: Test, more: Partial<SocketServerOptions> = {}) {
  const channels: Channel[] = []
  const { log, lines } = recordedLog()
  const path = more.path ?? place(t)
  const listener = await listenSocket({
    path,
    onChannel: channel => void channels.push(channel),
    log,
    // Nothing times out unless the test says so.
    clock: new FakeClock(),
    ...more,
  })
  t.teardown(() => listener.close())
  const accepted = async (count: number): Promise<Channel> => {
    await until(() => channels.length >= count, `${count} connections`)
    const channel = channels[count - 1]
    if (channel === undefined) throw new Error('no channel')
    return channel
  }
  return { path, listener, lines, accepted }
}

const dial = (path: string) =>
  connectSocket({ path, connectTimeoutMs: 60_000, signal: new AbortController().signal, log: silentLogger })

/** A peer that is a plain socket, and all that it received. */
function raw(t: Test, path: string, options: { readonly allowHalfOpen?: boolean } = {}) {
  const socket: Socket = connect({ path, ...options })
  const seen = { text: '', ended: false, closed: false }
  socket.on('data', chunk => {
    seen.text += String(chunk)
  })
  socket.on('end', () => {
    seen.ended = true
  })
  socket.on('close', () => {
    seen.closed = true
  })
  socket.on('error', () => undefined)
  t.teardown(() => socket.destroy())
  return { socket, seen }
}

/** Leaves the file of a socket that nobody listens on any more. */
async function leaveStale(path: string): Promise<void> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen({ path: `${path}.made` }, resolve))
  linkSync(`${path}.made`, path)
  await new Promise(resolve => server.close(resolve))
}

t.test('messages cross a socket as lines, both ways', { skip }, async t => {
  const { path, accepted } = await listening(t)
  const client = await dial(path)
  const server = await accepted(1)
  const [atClient, atServer] = [new Recorder(), new Recorder()]
  t.equal(client.send(Buffer.from('{"a":1}')), true, 'also before the other side listens')
  client.listen(atClient)
  server.listen(atServer)
  await atServer.hasMessages(1)
  server.send(Buffer.from('{"b":"ä€😀"}'))
  server.send(Buffer.from('{"c":3}'))
  await atClient.hasMessages(2)
  t.same(atServer.messages, ['{"a":1}'])
  t.same(atClient.messages, ['{"b":"ä€😀"}', '{"c":3}'])
  await client.close()
  t.equal(await atServer.isClosed(), undefined, 'a client may leave')
  t.same(atClient.ends, [undefined])
  t.equal(client.send(Buffer.from('{}')), false)
  t.equal(server.send(Buffer.from('{}')), false)
})

t.test('a message arrives whole wherever the bytes were cut', { skip }, async t => {
  const { path, accepted } = await listening(t)
  const text = Buffer.from('{"ä":"€😀"}\r\n\n{"b":"\u2028ß"}\n')
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 8 }), async cuts => {
      const { socket } = raw(t, path)
      const atServer = new Recorder()
      count += 1
      const channel = await accepted(count)
      channel.listen(atServer)
      for (const piece of cutInto(text, cuts)) {
        socket.write(piece)
        await new Promise(resolve => setImmediate(resolve))
      }
      await atServer.hasMessages(2)
      socket.destroy()
      await channel.close()
      return atServer.messages.join('|') === '{"ä":"€😀"}|{"b":"\u2028ß"}'
    }),
    { numRuns: 30 },
  )
  t.pass()
})

t.test('a line that is too long is skipped and the next one arrives', { skip }, async t => {
  const { path, accepted } = await listening(t, { bounds: boundsOf({ body: 100 }) })
  const { socket } = raw(t, path)
  const atServer = new Recorder()
  ;(await accepted(1)).listen(atServer)
  socket.write(`${'x'.repeat(101)}\n{"a":1}\n`)
  await atServer.hasMessages(1)
  t.same(atServer.skips, [101])
  t.same(atServer.messages, ['{"a":1}'])
})

t.test('nothing is read before there is a listener, nor while paused', { skip }, async t => {
  const { path, accepted } = await listening(t)
  const { socket } = raw(t, path)
  const channel = await accepted(1)
  let sent = 0
  socket.on('drain', () => undefined)
  while (socket.write('{"early":true}\n') && sent < 1_000_000) sent += 1
  const atServer = new Recorder()
  channel.pause()
  channel.listen(atServer)
  for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
  t.same(atServer.messages, [])
  channel.resume()
  await atServer.hasMessages(sent)
})

t.test(
  'a peer that ends its input has left; its last line counts, and what we queued arrives',
  { skip },
  async t => {
    const { path, accepted } = await listening(t)
    const { socket, seen } = raw(t, path, { allowHalfOpen: true })
    const atServer = new Recorder()
    const channel = await accepted(1)
    channel.listen({
      message: bytes => {
        atServer.message(bytes)
        channel.send(Buffer.from('{"answer":1}'))
      },
      skipped: () => undefined,
      drained: () => undefined,
      closed: fault => atServer.closed(fault),
    })
    socket.end('{"last":1}')
    t.equal(await atServer.isClosed(), undefined)
    await until(() => seen.ended, 'our end')
    t.same(atServer.messages, ['{"last":1}'])
    t.equal(seen.text, '{"answer":1}\n')
  },
)

t.test('a server that goes away by itself is a fault', { skip }, async t => {
  const { path, accepted } = await listening(t)
  const client = await dial(path)
  const early = await dial(path)
  const atClient = new Recorder()
  client.listen(atClient)
  await Promise.all([(await accepted(1)).close(), (await accepted(2)).close()])
  const fault = await atClient.isClosed()
  t.match(fault, { code: 'disconnected', message: 'closed the connection' })
  t.equal(atClient.ends.length, 1)
  const late = new Recorder()
  early.listen(late)
  t.equal((await late.isClosed())?.code, 'disconnected', 'also told to who listens later')
})

t.test('close flushes, then gives up on a peer that neither reads nor leaves', { skip }, async t => {
  const clock = new FakeClock()
  const { path, accepted } = await listening(t, { clock })
  const { socket, seen } = raw(t, path, { allowHalfOpen: true })
  const channel = await accepted(1)
  const atServer = new Recorder()
  channel.listen(atServer)
  channel.send(Buffer.from('{"bye":1}'))
  const closed = channel.close()
  t.equal(channel.close(), closed)
  await until(() => seen.ended, 'our end')
  t.equal(seen.text, '{"bye":1}\n')
  socket.write('{"ignored":1}\n')
  t.equal(atServer.ends.length, 0, 'the peer has not left')
  clock.advance(2000)
  await closed
  t.same(atServer.ends, [undefined])
  t.same(atServer.messages, [])
})

t.test('closing on a reader that is too far behind cuts it off, with a message', { skip }, async t => {
  const bounds = boundsOf({ softQueue: 10_000, clientQueue: 40_000 })
  const { path, accepted, lines } = await listening(t, { bounds })
  const slow = raw(t, path)
  slow.socket.pause()
  const toSlow = await accepted(1)
  const atSlow = new Recorder()
  toSlow.listen(atSlow)
  while (toSlow.queuedBytes <= bounds.max.clientQueue) {
    toSlow.send(Buffer.alloc(9000, 0x20))
    await new Promise(resolve => setImmediate(resolve))
  }
  await toSlow.close()
  t.match(lines, [['warn', { reason: 'does not read its messages' }, 'disconnected a peer']])
  t.match(atSlow.ends, [{ code: 'disconnected' }])
})

t.test(
  'a slow reader is reported to its sender, cut off in the end, and affects no other',
  { skip },
  async t => {
    const bounds = boundsOf({ softQueue: 16_384, clientQueue: 400_000 })
    const clock = new FakeClock()
    const { path, accepted, lines } = await listening(t, { clock, bounds })
    const slow = raw(t, path)
    const atSlow = new Recorder()
    const toSlow = await accepted(1)
    toSlow.listen(atSlow)
    const other = await dial(path)
    const atOther = new Recorder()
    other.listen(atOther)
    const toOther = await accepted(2)
    const message = Buffer.alloc(9000, 0x20)

    slow.socket.pause()
    let _sent = 0
    const fill = async () => {
      while (toSlow.send(message)) {
        _sent += 1
        await new Promise(resolve => setImmediate(resolve))
      }
      _sent += 1
    }
    await fill()
    t.ok(toSlow.queuedBytes > bounds.max.softQueue)
    t.equal(atSlow.drains, 0)
    slow.socket.resume()
    await until(() => atSlow.drains === 1, 'drained')
    t.equal(toSlow.send(Buffer.from('{}')), true)
    clock.advance(60_000)
    t.same(atSlow.ends, [], 'a peer that reads again is forgiven')

    slow.socket.pause()
    await fill()
    while (toSlow.queuedBytes <= bounds.max.clientQueue) t.equal(toSlow.send(message), false)
    toSlow.send(message)
    toSlow.send(message)
    await new Promise(resolve => setImmediate(resolve))
    t.same(atSlow.ends, [], 'a reader may be far behind for a moment')
    clock.advance(bounds.max.stall - 1)
    slow.socket.resume()
    await until(() => atSlow.drains === 2, 'drained again')
    slow.socket.pause()
    await fill()
    while (toSlow.queuedBytes <= bounds.max.clientQueue) t.equal(toSlow.send(message), false)
    t.same(atSlow.ends, [])
    clock.advance(bounds.max.stall)
    const fault = await atSlow.isClosed()
    t.match(fault, { code: 'disconnected', message: 'does not read its messages' })
    t.match(lines, [['warn', {}, 'disconnected a peer']])
    toOther.send(Buffer.from('{"still":"here"}'))
    await atOther.hasMessages(1)
  },
)

t.test(
  'a reader that stands still for the time it has is cut off; a large message gets more',
  { skip },
  async t => {
    for (const [bytes, allowedMs] of [
      [3_000_000, 30_000],
      [12 * 1024 * 1024, 90_000],
    ] as const) {
      const clock = new FakeClock()
      const { path, accepted } = await listening(t, { clock })
      const { socket } = raw(t, path)
      socket.pause()
      const channel = await accepted(1)
      const atServer = new Recorder()
      channel.listen(atServer)
      t.equal(channel.send(Buffer.alloc(bytes, 0x20)), false)
      clock.advance(allowedMs - 10)
      t.same(atServer.ends, [])
      clock.advance(2000)
      t.match(atServer.ends, [{ code: 'disconnected' }])
    }
  },
)

t.test('only this user can connect', { skip }, async t => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const { path } = await listening(t)
  t.equal(lstatSync(path).mode & 0o777, 0o600)
  t.equal(process.umask(), 0, 'the umask of the process is as it was')
})

t.test(
  'a file that a dead process left is replaced; the socket of a living one is not',
  { skip },
  async t => {
    const path = place(t)
    await leaveStale(path)
    const { listener } = await listening(t, { path })
    await t.rejects(listening(t, { path }), {
      code: 'unavailable',
      message: `another process already listens on ${path}`,
    })
    const client = await dial(path)
    await client.close()
    await listener.close()
    t.equal(existsSync(path), false)
    t.equal(listener.close(), listener.close())
  },
)

t.test('a file that is not a socket is left alone', { skip }, async t => {
  const path = place(t)
  writeFileSync(path, 'precious')
  await t.rejects(listening(t, { path }), { code: 'unavailable', message: /the file there is not a socket/ })
  t.equal(lstatSync(path).size, 8)
  const { path: target } = await listening(t)
  const link = `${path}.link`
  symlinkSync(target, link)
  await t.rejects(listening(t, { path: link }), {
    code: 'unavailable',
    message: /the file there is not a socket/,
  })
  t.ok(lstatSync(link).isSymbolicLink())
  await t.rejects(listening(t, { path: join(path, 'x') }), { code: 'unavailable' })
  await t.rejects(listening(t, { path: `${path}.d/x` }), { message: /its directory does not exist/ })
  await t.rejects(listening(t, { path: `/tmp/${'ä'.repeat(50)}` }), {
    message: /too long: 105 bytes, where at most 100/,
  })
})

t.test('a foreign file at the path of ours stays', { skip }, async t => {
  const { path, listener } = await listening(t)
  rmSync(path)
  const other = await listening(t, { path })
  const { ino } = lstatSync(path)
  await listener.close()
  t.equal(lstatSync(path).ino, ino)
  const client = await dial(path)
  await client.close()
  await other.listener.close()
  t.equal(existsSync(path), false)
})

t.test('a handler that fails costs one connection', { skip }, async t => {
  let calls = 0
  const { path, lines } = await listening(t, {
    onChannel: () => {
      calls += 1
      throw new Error('no')
    },
  })
  const { seen } = raw(t, path)
  await until(() => seen.closed, 'the end of the connection')
  t.match(lines, [['error', {}, 'a connection could not be handled']])
  const again = raw(t, path)
  await until(() => again.seen.closed, 'the end of the next one')
  t.equal(calls, 2)
})

t.test('close lets every client go and no other in', { skip }, async t => {
  const { path, listener, accepted } = await listening(t)
  const client = await dial(path)
  const atClient = new Recorder()
  client.listen(atClient)
  const atServer = new Recorder()
  ;(await accepted(1)).listen(atServer)
  await listener.close()
  t.same(atServer.ends, [undefined])
  t.equal((await atClient.isClosed())?.code, 'disconnected')
  await t.rejects(dial(path), { code: 'unavailable' })
})

t.test('a failed connection reports the cause, and not the path', { skip }, async t => {
  const path = place(t)
  const rejection = async (at: string): Promise<Fault> => {
    const fault: unknown = await dial(at).catch((error: unknown) => error)
    if (fault instanceof Fault) return fault
    throw new Error('no fault')
  }
  t.match(await rejection(path), { code: 'unavailable', message: /there is no such socket \(ENOENT\)/ })
  await leaveStale(path)
  const refused = await rejection(path)
  t.match(refused, { code: 'unavailable', message: /nothing is listening on it \(ECONNREFUSED\)/ })
  t.notMatch(refused.message, path)
  const file = `${path}.txt`
  writeFileSync(file, '')
  t.match(await rejection(file), { code: 'unavailable', message: /cannot connect to the socket/ })
  t.match(await rejection(`/${'x'.repeat(100)}`), { message: /too long: 101 bytes/ })
  const gone = AbortSignal.abort()
  await t.rejects(connectSocket({ path, connectTimeoutMs: 1, signal: gone }), { code: 'cancelled' })
  const leaving = new AbortController()
  const attempt = connectSocket({ path, connectTimeoutMs: 1000, signal: leaving.signal })
  leaving.abort()
  await t.rejects(attempt, { code: 'cancelled' })
})

t.test(
  'a socket of another user is reported',
  { skip: skip || (process.getuid?.() === 0 && 'root may do everything') },
  async t => {
    const { path } = await listening(t)
    chmodSync(path, 0)
    await t.rejects(dial(path), { code: 'unavailable', message: /not open to this user/ })
  },
)

t.test('URLs of local sockets name a path', async t => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['unix:///run/mcp.sock', '/run/mcp.sock'],
    ['unix:/run/mcp.sock', '/run/mcp.sock'],
    ['UNIX:///run/my%20sock', '/run/my sock'],
    ['pipe:///mcp', '\\\\.\\pipe\\mcp'],
    ['pipe:///my%20pipe', '\\\\.\\pipe\\my pipe'],
    ['unix://host/run/mcp.sock', undefined],
    ['unix:run/mcp.sock', undefined],
    ['unix:', undefined],
    ['unix:////run', undefined],
    ['unix:///run/x?mode=1', undefined],
    ['unix:///run/%00', undefined],
    ['unix:///run/%zz', undefined],
    ['pipe:///', undefined],
    ['pipe:///a/b', undefined],
    ['pipe:///a%5cb', undefined],
    ['pipe://host/a', undefined],
    ['http://localhost', undefined],
    ['/run/mcp.sock', undefined],
    ['', undefined],
  ]
  for (const [url, path] of rows) t.equal(socketPathOf(url), path, url)
  t.doesNotThrow(() => checkSocketPath('\\\\.\\pipe\\mcp', 'win32'))
  t.throws(() => checkSocketPath('\\\\.\\pipe\\mcp', 'linux'), { message: /Windows only/ })
  t.throws(() => checkSocketPath('/run/x', 'win32'), { message: /named pipe/ })
  t.throws(() => checkSocketPath('', 'linux'), { code: 'unavailable' })
  t.throws(() => checkSocketPath('\0abstract', 'linux'), { code: 'unavailable' })
})

t.test(
  'data waiting for all slow readers is counted together, and the largest backlog goes first',
  { skip },
  async t => {
    const MIB = 1024 * 1024
    const bounds = boundsOf({ unread: 12 * MIB })
    const { path, accepted } = await listening(t, { bounds })
    const lazy = async (count: number, mib: number) => {
      const socket = connect(path)
      socket.pause()
      socket.on('error', () => undefined)
      t.teardown(() => socket.destroy())
      const channel = await accepted(count)
      const heard = new Recorder()
      channel.listen(heard)
      channel.send(Buffer.alloc(mib * MIB, 'x'))
      return { socket, heard }
    }
    const short = await lazy(1, 4)
    const long = await lazy(2, 10)
    t.match(await long.heard.isClosed(), { message: 'does not read its messages' })
    t.same(short.heard.ends, [])
    t.equal(bounds.hits.unread?.hits, 1)
    t.ok(bounds.unread.bytes <= 4 * MIB + 1)
    short.socket.destroy()
    await short.heard.isClosed()
    t.equal(bounds.unread.bytes, 0)
  },
)

t.test('a client that ends its half may still read, until we have said all', { skip }, async t => {
  const { path, accepted } = await listening(t)
  const { socket, seen } = raw(t, path, { allowHalfOpen: true })
  const atServer = new HalfOpenRecorder()
  const channel = await accepted(1)
  channel.listen(atServer)
  socket.end('{"last":1}')
  await until(() => atServer.halfEnds === 1, 'the end of what it says')
  await new Promise(resolve => setImmediate(resolve))
  t.same(atServer.ends, [])
  t.notOk(seen.ended)
  channel.send(Buffer.from('{"answer":1}'))
  await channel.close()
  await until(() => seen.ended, 'our end')
  t.equal(seen.text, '{"answer":1}\n')
  t.same(atServer.messages, ['{"last":1}'])
  t.same(atServer.ends, [undefined])
})

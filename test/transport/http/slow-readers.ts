import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { silentLogger } from '../../../src/kernel/logger.js'
import { SlowReaders } from '../../../src/transport/http/slow-readers.js'
import { FakeClock } from '../../support/fake-clock.js'
import { skipWithout, until } from '../../support/processes.js'
import { boundsOf } from '../../support/values.js'

const skip = skipWithout.sendBuffers
const MIB = 1024 * 1024

/** A server whose answers are written by the test, and clients that read when they are told to. */
const listening = async (t: Test, limits: Parameters<typeof boundsOf>[0] = {}) => {
  const clock = new FakeClock()
  const bounds = boundsOf(limits, clock)
  const slowReaders = new SlowReaders(bounds, clock, silentLogger)
  const responses: ServerResponse[] = []
  const server = createServer((_request, response) => {
    response.on('error', () => undefined)
    responses.push(response)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  /** A client that does not read, and its answer. */
  const open = async (): Promise<{ socket: Socket; response: ServerResponse }> => {
    const before = responses.length
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    t.teardown(() => socket.destroy())
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => responses.length > before, 'the request')
    const response = responses.at(-1)
    if (response === undefined) throw new Error('there is one')
    return { socket, response }
  }
  /** The same with an answer of so many bytes. */
  const lazy = async (bytes: number): ReturnType<typeof open> => {
    const opened = await open()
    opened.response.end(Buffer.alloc(bytes))
    slowReaders.wrote(opened.response, bytes)
    return opened
  }
  return { bounds, clock, lazy, open, slowReaders }
}

t.test('an answer that is not read for long is cut off, of any kind', { skip }, async t => {
  const { bounds, clock, lazy } = await listening(t)
  const { response } = await lazy(6 * MIB)
  const { bytes } = bounds.unread
  t.ok(bytes > MIB, 'what the operating system holds for us does not count')
  clock.advance(29_000)
  t.notOk(response.destroyed)
  clock.advance(2_000)
  t.ok(response.destroyed)
  t.equal(bounds.hits.stall?.hits, 1)
  await until(() => bounds.unread.bytes === 0, 'nothing of it to be kept')
  clock.advance(1_000)
  t.equal(clock.pending, 0, 'nobody is watched any more')
})

t.test('a client that reads, however slowly, keeps its connection', { skip }, async t => {
  const { bounds, clock, lazy } = await listening(t)
  const { socket, response } = await lazy(6 * MIB)
  let read = 0
  socket.on('data', chunk => {
    read += chunk.length
  })
  const readMore = async () => {
    const [had, left] = [read, response.writableLength]
    socket.resume()
    await until(() => read > had && response.writableLength < left, 'something to be read')
    socket.pause()
  }
  clock.advance(20_000)
  await readMore()
  clock.advance(20_000)
  t.notOk(response.errored)
  socket.resume()
  await until(() => read > 6 * MIB, 'all of it')
  clock.advance(60_000)
  t.notOk(response.errored)
  t.same(bounds.hits, {})
})

t.test('a stream that is behind now and then is watched once at a time', { skip }, async t => {
  const { clock, open, slowReaders } = await listening(t)
  const { socket, response } = await open()
  const listeners = response.listenerCount('close')
  let read = 0
  socket.on('data', chunk => {
    read += chunk.length
  })
  for (let round = 1; round <= 3; round++) {
    socket.pause()
    response.write(Buffer.alloc(6 * MIB))
    slowReaders.wrote(response, 6 * MIB)
    t.equal(response.listenerCount('close'), listeners + 1)
    socket.resume()
    await until(() => response.writableLength === 0 && read > round * 6 * MIB, 'all of it')
    clock.advance(1_000)
    t.equal(response.listenerCount('close'), listeners)
  }
})

t.test('when more waits altogether than may, the longest answer goes', { skip }, async t => {
  const { bounds, lazy } = await listening(t, { unread: 16 * MIB })
  const short = await lazy(6 * MIB)
  const long = await lazy(12 * MIB)
  const another = await lazy(8 * MIB)
  t.same(
    [short, long, another].map(({ response }) => response.destroyed),
    [false, true, false],
  )
  t.equal(bounds.hits.unread?.hits, 1)
  bounds.unread.shed(0)
  t.ok(short.response.destroyed && another.response.destroyed)
})

t.test('short answers are not watched', async t => {
  const { clock, lazy } = await listening(t)
  await lazy(1000)
  t.equal(clock.pending, 0)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { createStdioSelf, protectStdout } from '../../../src/transport/stdio/self.js'
import { FakeClock } from '../../support/fake-clock.js'
import { programOfSources, until } from '../../support/processes.js'
import { boundsOf } from '../../support/values.js'
import { HalfOpenRecorder, Recorder, recordedLog } from '../../support/wire/channel-pair.js'

/** A client's two ends of our pipes. */
function pair() {
  const input = new PassThrough()
  const output = new PassThrough()
  const channel = createStdioSelf({ input, output, bounds: boundsOf({ body: 100 }) })
  return { input, output, channel, listener: new Recorder() }
}

t.test('every line of stdin is a message, also invalid JSON', async t => {
  const { input, channel, listener } = pair()
  channel.listen(listener)
  input.write('\ufeff{"a":1}\r\ngarb')
  input.write(`age\n\n${'x'.repeat(101)}\n{"b":`)
  input.end('2}')
  t.equal(await listener.isClosed(), undefined)
  t.same(listener.messages, ['{"a":1}', 'garbage', '{"b":2}'])
  t.same(listener.skips, [101])
  t.equal(channel.send(Buffer.from('{}')), false)
  t.equal(listener.ends.length, 1)
})

t.test('messages of one tick reach the operating system in one call, each with its line end', async t => {
  const calls: string[] = []
  const output = new Writable({
    write: (chunk, _encoding, done) => done(void calls.push(String(chunk))),
    writev: (chunks, done) => done(void calls.push(chunks.map(({ chunk }) => String(chunk)).join(''))),
  })
  const channel = createStdioSelf({ input: new PassThrough(), output })
  channel.listen(new Recorder())
  t.equal(channel.send(Buffer.from('{"a":1}')), true)
  t.equal(channel.send(Buffer.from('{"b":2}')), true)
  await until(() => calls.length > 0, 'the call')
  t.same(calls, ['{"a":1}\n{"b":2}\n'])
  channel.send(Buffer.from('{"c":3}'))
  await until(() => calls.length > 1, 'the next call')
  t.same(calls.slice(1), ['{"c":3}\n'])
})

t.test('a client that does not read is felt, and again when it reads', async t => {
  const { output, channel, listener } = pair()
  channel.listen(listener)
  t.equal(channel.send(Buffer.alloc(2_000_000, 0x20)), false)
  t.ok(channel.queuedBytes > 0)
  output.resume()
  await until(() => listener.drains > 0, 'drained')
})

t.test('a client that reads may be far behind; one that takes nothing for 30 s is left', async t => {
  const clock = new FakeClock()
  const written: (() => void)[] = []
  const output = new Writable({ write: (_chunk, _encoding, done) => void written.push(done) })
  const { log, lines } = recordedLog()
  const bounds = boundsOf({ softQueue: 16_384, clientQueue: 65_536 })
  const channel = createStdioSelf({ input: new PassThrough(), output, clock, log, bounds })
  const listener = new Recorder()
  channel.listen(listener)
  const turn = () => new Promise(resolve => setImmediate(resolve))
  const send = async () => {
    channel.send(Buffer.alloc(70_000, 0x20))
    await turn()
  }
  for (let count = 0; count < 6; count += 1) await send()
  t.ok(channel.queuedBytes > 6 * 70_000, 'answers to calls that were made at once')
  clock.advance(29_000)
  await send()
  while (written.length > 0) {
    written.shift()?.()
    await turn()
  }
  t.equal(channel.queuedBytes, 0)
  t.equal(listener.drains, 1)
  await send()
  clock.advance(3_600_000)
  t.same(listener.ends, [], 'its computer may be asleep')
  const queued = channel.queuedBytes
  await send()
  t.equal(channel.queuedBytes, queued)
  t.match(listener.ends, [{ code: 'disconnected' }])
  t.match(lines, [['warn', {}, 'disconnected from a client that is too far behind']])
  t.equal(bounds.hits.clientQueue?.hits, 1)
})

t.test('pause holds the client back', async t => {
  const { input, channel, listener } = pair()
  channel.listen(listener)
  channel.pause()
  input.write('{}\n')
  await new Promise(resolve => setImmediate(resolve))
  t.same(listener.messages, [])
  channel.resume()
  await listener.hasMessages(1)
})

t.test('a client that closes our stdout has left; another failure is told', async t => {
  for (const [code, fault, syscall] of [
    ['EPIPE', undefined],
    // As Windows reports it.
    ['EOF', undefined],
    ['EAGAIN', undefined, 'write'],
    ['EAGAIN', 'disconnected', 'connect'],
    ['EIO', 'disconnected'],
  ]) {
    const { output, channel, listener } = pair()
    channel.listen(listener)
    output.destroy(Object.assign(new Error('write'), { code, syscall }))
    t.equal((await listener.isClosed())?.code, fault)
    output.emit('error', new Error('late'))
    t.equal(listener.ends.length, 1)
  }
})

t.test('close waits for what is queued and does not close our stdout', async t => {
  const written: string[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      setTimeout(() => {
        written.push(String(chunk))
        done()
      }, 20)
    },
  })
  const channel = createStdioSelf({ input: new PassThrough(), output })
  const listener = new Recorder()
  channel.listen(listener)
  channel.send(Buffer.from('{"a":1}'))
  t.equal(channel.close(), channel.close())
  await channel.close()
  t.equal(written.join(''), '{"a":1}\n')
  t.equal(output.writable, true)
  t.same(listener.ends, [undefined])
})

t.test('close gives up on a client that never reads', async t => {
  let waitedMs = 0
  const clock = {
    ...systemClock,
    after: (delayMs: number, work: () => void) => {
      waitedMs = delayMs
      return systemClock.after(10, work)
    },
  }
  const output = new Writable({ write: () => undefined })
  const { log, lines } = recordedLog()
  const channel = createStdioSelf({ input: new PassThrough(), output, clock, log })
  channel.send(Buffer.from('{}'))
  const held = setInterval(() => undefined, 1000)
  await channel.close()
  clearInterval(held)
  t.equal(waitedMs, 2000)
  t.match(lines, [['warn', { queuedBytes: 3 }, 'disconnected from a client that does not read']])
})

t.test('output of console goes to stderr, so that stdout carries only the protocol', async t => {
  const code = `
    const { log } = console
    import { protectStdout, createStdioSelf } from './transport/stdio/self.ts'
    protectStdout()
    for (const name of ['log', 'info', 'debug', 'dir', 'table', 'group', 'dirxml']) console[name]('noise-' + name)
    console.count('noise-count'); console.time('t'); console.timeEnd('t')
    const self = createStdioSelf()
    self.listen({ message: m => self.send(m), skipped() {}, drained() {}, closed() {} })
  `
  const child = spawn(process.execPath, programOfSources(code))
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', chunk => (stdout += String(chunk)))
  child.stderr.on('data', chunk => (stderr += String(chunk)))
  child.stdin.write('{"id":1}\n')
  await until(() => stdout.includes('\n'), 'the echo')
  child.stdin.end()
  const [exitCode] = (await once(child, 'close')) as [number]
  t.equal(exitCode, 0, 'the end of stdin lets the process end')
  t.equal(stdout, '{"id":1}\n')
  for (const name of ['log', 'info', 'debug', 'dir', 'table', 'group', 'dirxml', 'count']) {
    t.match(stderr, `noise-${name}`)
  }
})

t.test('protecting stdout leaves the console usable', async t => {
  const before = { ...globalThis.console }
  t.teardown(() => Object.assign(globalThis.console, before))
  protectStdout()
  t.equal(typeof console.log, 'function')
  t.not(console.log, before.log)
})

t.test('a client that closes our stdin may still read, until we have said all', async t => {
  const { input, output, channel } = pair()
  const listener = new HalfOpenRecorder()
  channel.listen(listener)
  input.end('{"last":1}')
  await until(() => listener.halfEnds === 1, 'the end of what it says')
  await new Promise(resolve => setImmediate(resolve))
  t.same(listener.messages, ['{"last":1}'])
  t.same(listener.ends, [])
  t.ok(channel.send(Buffer.from('{"answer":1}')))
  await channel.close()
  t.equal(String(output.read()), '{"answer":1}\n')
  t.same(listener.ends, [undefined])
})

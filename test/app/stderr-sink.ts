import { PassThrough, type Writable } from 'node:stream'
import t from 'tap'
import { createStderrSink } from '../../src/app/stderr-sink.js'

t.test('what nobody reads does not grow, and it is told later how much was lost', async t => {
  const pipe = new PassThrough({ highWaterMark: 1 })
  const sink = createStderrSink(pipe, true)
  const line = `${'x'.repeat(1023)}\n`
  for (let n = 0; n < 3000; n += 1) sink.write(line)
  t.ok(pipe.writableLength <= 1024 * 1024 + 2 * line.length)
  const read: string[] = []
  pipe.on('data', chunk => read.push(String(chunk)))
  while (pipe.writableLength > 0) await new Promise(resolve => setImmediate(resolve))
  sink.write('the next\n')
  while (!read.join('').endsWith('the next\n')) await new Promise(resolve => setImmediate(resolve))
  const lines = read.join('').trimEnd().split('\n')
  const { dropped, msg } = JSON.parse(lines.at(-2) ?? '')
  t.equal(lines.length - 2 + dropped, 3000, 'every line was written or counted')
  t.equal(msg, 'lines were dropped: nobody read stderr')
})

t.test('a pipe that breaks is no reason to crash', t => {
  const pipe: Writable = new PassThrough()
  const sink = createStderrSink(pipe, true)
  createStderrSink(pipe, true)
  t.equal(pipe.listenerCount('error'), 1)
  pipe.emit('error', new Error('EPIPE'))
  t.doesNotThrow(() => sink.write('more\n'))
  t.end()
})

import { writeSync } from 'node:fs'
import { PassThrough, type Writable } from 'node:stream'
import t, { type Test } from 'tap'
import { createStderrSink } from '../../../src/telemetry/logs/logger.js'

/** A logger, and the lines that it writes to stderr. */
const logger = async (t: Test, level: 'debug' | 'info' | 'warn' | 'error' | 'silent') => {
  const lines: string[] = []
  const fs = await import('node:fs')
  t.intercept(fs.default, 'writeSync', {
    value: (fd: number, text: string | Buffer, ...rest: never[]) => {
      if (fd !== 2) return writeSync(fd, text as string, ...rest)
      lines.push(String(text))
      return Buffer.byteLength(text)
    },
  })
  // A pipe is written to by Node, a file by pino.
  t.intercept(process.stderr, 'write', { value: (text: string) => lines.push(text) })
  const { createLogger } = await import('../../../src/telemetry/logs/logger.js')
  return { log: await createLogger({ level, isTerminal: false }), lines }
}

const words = (lines: readonly string[]): string[] =>
  lines.map(line => (JSON.parse(line) as { msg: string }).msg)

t.test('a changed level applies to existing loggers', async t => {
  const { log, lines } = await logger(t, 'warn')
  const child = log.child({ server: 'a' }).child({ token: 'secret' })
  const say = (): string[] => {
    lines.length = 0
    for (const each of [log, child]) {
      each.debug({}, 'debug')
      each.info({}, 'info')
      each.warn({}, 'warn')
      each.error({}, 'error')
    }
    return words(lines)
  }
  t.same(say(), ['warn', 'error', 'warn', 'error'])
  t.match(JSON.parse(lines[2] ?? ''), { server: 'a', token: '***' })
  log.level = 'debug'
  t.equal(log.level, 'debug')
  t.same(say(), ['debug', 'info', 'warn', 'error', 'debug', 'info', 'warn', 'error'])
  log.level = 'silent'
  t.same(say(), [])
  log.level = 'error'
  t.same(say(), ['error', 'error'])
})

t.test('unread output does not grow, and the loss is reported later', async t => {
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
  t.equal(msg, 'dropped log lines: stderr is not being read')
})

t.test('a broken pipe does not crash', t => {
  const pipe: Writable = new PassThrough()
  const sink = createStderrSink(pipe, true)
  createStderrSink(pipe, true)
  t.equal(pipe.listenerCount('error'), 1)
  pipe.emit('error', new Error('EPIPE'))
  t.doesNotThrow(() => sink.write('more\n'))
  t.end()
})

import { writeSync } from 'node:fs'
import t, { type Test } from 'tap'

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
  const { createLogger } = await import('../../src/app/logger.js')
  return { log: await createLogger({ level, isTerminal: false }), lines }
}

const words = (lines: readonly string[]): string[] =>
  lines.map(line => (JSON.parse(line) as { msg: string }).msg)

t.test('a level that is changed holds for those who have a logger already', async t => {
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

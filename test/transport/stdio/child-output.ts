import t from 'tap'
import type { Clock } from '../../../src/kernel/async/clock.js'
import { errorLine } from '../../../src/kernel/error-lines.js'
import { addSecrets } from '../../../src/kernel/secrets/mask.js'
import { lastLines, StderrLines } from '../../../src/transport/stdio/child-output.js'
import { boundsOf } from '../../support/values.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

/** Time that moves only when told to. */
function heldClock() {
  let nowMs = 0
  const due: { atMs: number; work: () => void }[] = []
  const clock: Clock = {
    nowMs: () => nowMs,
    after(delayMs, work) {
      const entry = { atMs: nowMs + delayMs, work }
      due.push(entry)
      const cancel = () => {
        if (due.includes(entry)) due.splice(due.indexOf(entry), 1)
      }
      return { cancel, [Symbol.dispose]: cancel }
    },
    every: () => {
      throw new Error('not used')
    },
  }
  const pass = (ms: number) => {
    nowMs += ms
    for (const entry of due.filter(({ atMs }) => atMs <= nowMs)) {
      due.splice(due.indexOf(entry), 1)
      entry.work()
    }
  }
  return { clock, pass, due }
}

function subject(bounds = boundsOf()) {
  const time = heldClock()
  const { log, lines } = recordedLog()
  const stderr = new StderrLines(log, time.clock, bounds)
  const texts = () =>
    lines.flatMap(([, facts]) =>
      'stderr' in facts && typeof facts.stderr === 'string' ? [facts.stderr] : [],
    )
  const drops = () =>
    lines.flatMap(([, facts]) =>
      'dropped' in facts && typeof facts.dropped === 'number' ? [facts.dropped] : [],
    )
  return { stderr, texts, drops, ...time }
}

t.test('each line is logged once it is complete, however the bytes came', async t => {
  const { stderr, texts } = subject()
  for (const byte of Buffer.from('erste Zeile: ä\r\n\n  \n\u001b[1mzweite\u001b[0m\ndritte')) {
    stderr.push(Buffer.of(byte))
  }
  t.same(texts(), ['erste Zeile: ä', 'zweite'])
  t.same(stderr.last(), ['erste Zeile: ä', 'zweite', 'dritte'], 'an unfinished line may be the last words')
  stderr.end()
  stderr.end()
  t.same(texts(), ['erste Zeile: ä', 'zweite', 'dritte'])
})

t.test('a long line is cut with a mark, and what follows it is whole', async t => {
  const { stderr, texts } = subject()
  for (let i = 0; i < 100; i += 1) stderr.push(Buffer.from('ä'.repeat(1000)))
  stderr.push(Buffer.from('\nnext\n'))
  const [long = '', next] = texts()
  t.equal(long, `${'ä'.repeat(4093)} [cut]`)
  t.equal(next, 'next')
  stderr.push(Buffer.from(`x${'ä'.repeat(5000)}\n`))
  t.equal(texts()[2], `x${'ä'.repeat(4092)} [cut]`, 'no half character at the cut')
  stderr.push(Buffer.from(`${'y'.repeat(8192)}\n`))
  t.equal(texts()[3], 'y'.repeat(8192), 'a line of just the limit is not cut')
})

t.test('secrets are neither logged nor kept, on one line or on several', async t => {
  const { stderr, texts } = subject()
  const release = addSecrets(['correct horse'])
  stderr.push(Buffer.from('it is correct'))
  stderr.push(Buffer.from(' horse\n-----BEGIN PRIVATE KEY-----\nMIIE\n'))
  stderr.push(Buffer.from('-----END PRIVATE KEY-----\nand on\n-----BEGIN PRIVATE KEY-----\nMII'))
  const shown = ['it is ***', '***', '***', '***', 'and on', '***', '***']
  t.same(stderr.last(), shown)
  stderr.end()
  t.same(texts(), shown)
  release()
})

t.test('above 100 lines in a second lines are counted, and one line tells how many', async t => {
  const { stderr, texts, drops, pass, due } = subject()
  stderr.push(Buffer.from('flood\n'.repeat(350)))
  t.equal(texts().length, 100)
  t.same(drops(), [])
  pass(1000)
  t.same(drops(), [250], 'also when the child is silent afterwards')
  stderr.push(Buffer.from('flood\n'.repeat(101)))
  t.equal(texts().length, 200, 'the next second has its own hundred')
  stderr.end()
  t.same(drops(), [250, 1])
  t.equal(due.length, 0, 'no timer is left')
})

t.test('the last lines are kept, bounded by number and by size', async t => {
  const { stderr } = subject()
  for (let i = 1; i <= 500; i += 1) stderr.push(Buffer.from(`line ${i}\n`))
  t.equal(stderr.last().length, 20)
  t.equal(stderr.last()[0], 'line 481', 'also lines that were not logged')
  for (let i = 0; i < 20; i += 1) stderr.push(Buffer.from(`${'z'.repeat(8000)}\n`))
  t.equal(stderr.last().length, 8)
  t.ok(stderr.last().join('').length <= 64 * 1024)
})

t.test('a line that names an error is kept, however long the stack after it', t => {
  const { stderr } = subject()
  const write = (text: string) => stderr.push(Buffer.from(`${text}\n`))
  const frames = (name: string) => {
    for (let n = 0; n < 60; n++) write(`\tat com.example.${name}.step(Step.java:${n})`)
  }
  for (const number of [1, 2, 3]) {
    write(`Exception in thread "main" java.lang.IllegalStateException: ${number} is missing`)
    frames(`A${number}`)
  }
  t.equal(stderr.last().length, 20)
  t.equal(
    errorLine(stderr.last()),
    'Exception in thread "main" java.lang.IllegalStateException: 3 is missing',
  )
  t.equal(errorLine(lastLines(stderr.last())), errorLine(stderr.last()), 'also in an error report')
  for (let n = 0; n < 9; n++) write(`Error: ${n} is missing`)
  frames('B')
  const errors = stderr.last().filter(line => line.startsWith('Error'))
  t.same(
    errors,
    [5, 6, 7, 8].map(n => `Error: ${n} is missing`),
  )
  t.equal(stderr.last().length, 20)
  const long = ['Error: no key', ...Array.from({ length: 9 }, (_, n) => `    at f (${'x'.repeat(900)}:${n})`)]
  t.equal(errorLine(lastLines(long)), 'Error: no key')
  t.end()
})

t.test('how many lines are logged in a second can be set', async t => {
  const bounds = boundsOf({ logLines: 3 })
  const { stderr, texts, drops, pass } = subject(bounds)
  stderr.push(Buffer.from('x\n'.repeat(10)))
  t.equal(texts().length, 3)
  pass(1000)
  t.same(drops(), [7])
  t.equal(bounds.hits.logLines?.hits, 1)
})

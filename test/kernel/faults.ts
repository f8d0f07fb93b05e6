import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { addSecrets } from '../../src/kernel/secrets/mask.js'

t.test('a fault is one line of plain text of at most 1 KiB without secrets, for any peer text', async t => {
  const release = addSecrets(['correct horse'])
  const fault = new Fault(
    'unavailable',
    `refused: \u001b[2Jcorrect\n horse, correct horse\u0000 ${'x'.repeat(8_000_000)}`,
  )
  release()
  t.match(fault.message, /^refused: correct {1,2}horse, \*\*\* x+ \[cut\]$/)
  t.ok(Buffer.byteLength(fault.message) <= 1024)
})

t.test('lines that follow the message are held to the same, one by one', async t => {
  const { message } = new Fault('unavailable', 'it wrote:', { lines: ['a\nb', 'x'.repeat(2000)] })
  t.match(message, /^it wrote:\na b\nx{1018} \[cut\]$/)
})

t.test('a fault names the server that it is about, once', async t => {
  const cause = new Fault('timeout', 'no answer', { data: { httpStatus: 504 } })
  const named = cause.about('a', { retryAfterMs: 1 })
  t.equal(named.message, 'Server a: no answer')
  t.match(named, { code: 'timeout', data: { httpStatus: 504, server: 'a', retryAfterMs: 1 }, cause })
  t.equal(named.about('b'), named)
})

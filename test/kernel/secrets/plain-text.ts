import t from 'tap'
import { drawnLine } from '../../../src/kernel/secrets/plain-text.js'

t.test('a line of a foreign program stands in the log without what steers a terminal', async t => {
  const rows = [
    ['plain ünïcödé 世界 👩‍🚀', 'plain ünïcödé 世界 👩‍🚀'],
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007text', 'text'],
    ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u001bP1$r\u001b\\after', 'after'],
    ['\u001b(Bascii \u001bcreset', 'ascii reset'],
    ['10%\r50%\r100%\r', '100%'],
    ['a\tb\u0000\u0008c\u009b', 'a bc'],
    ['ab\u202egnp.exe\u2066\u2028', 'abgnp.exe'],
    ['cut escape \u001b[3', 'cut escape 3'],
  ]
  // The title of an assertion is a line of TAP, which some of these characters would end.
  for (const [i, [line = '', shown]] of rows.entries()) t.equal(drawnLine(line), shown, `row ${i}`)
})

t.test('a line made of unfinished escapes costs no more than its length', async t => {
  // Of a size that only linear work comes to the end of: anything else meets the time limit of the test.
  const count = 1_000_000
  t.equal(drawnLine('\u001b]'.repeat(count)), '')
  const rest = '0;'.repeat(count)
  t.ok(drawnLine('\u001b['.repeat(count) + rest) === rest)
})

import t from 'tap'
import { answeredIn, looksAnswering } from '../../src/wire/wreck.js'

const REST = `"result":{"content":[{"text":"${'x'.repeat(1000)}`

t.test('which request an unreadable message answers is a table', async t => {
  const rows: readonly (readonly [text: string, id: string | undefined])[] = [
    [`{"jsonrpc":"2.0","id":7,${REST}`, '7'],
    [`{"jsonrpc":"2.0","id":"a-7",${REST}`, '"a-7"'],
    [`{"id":7,"jsonrpc":"2.0",${REST}`, '7'],
    [`{"jsonrpc":"2.0","id":7,"id":7,${REST}`, '7'],
    [`{"jsonrpc":"2.0","id":7,"id":8,${REST}`, undefined],
    [` {\t"jsonrpc" : "2.0" , "id" : 7 , "error" : {`, '7'],
    [`{${REST}"}]},"jsonrpc":"2.0","id":7}`, '7'],
    [`{${REST}"}]},"id":7,"jsonrpc":"2.0"}\r`, '7'],
    [`{"jsonrpc":"2.0",${REST}"}]},"id":7}`, '7'],
    [`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{`, undefined],
    [`{"method":"x","params":{"a":"${'x'.repeat(1000)}"},"jsonrpc":"2.0","id":7}`, undefined],
    [`{${REST}"}]}`, undefined],
    [`{"level":"info","id":7,"result":1`, undefined],
    [`[{"jsonrpc":"2.0","id":7,"result":{}`, undefined],
    [`{"jsonrpc":"2.0","id":1.5,"result":{}`, undefined],
    [`{"jsonrpc":"2.0","id":${'9'.repeat(40)},"result":{}`, undefined],
    ['Server listening', undefined],
    ['', undefined],
  ]
  for (const [text, id] of rows) t.equal(answeredIn(Buffer.from(text))?.toString(), id, text.slice(0, 60))
})

t.test('what looks like an answer is a table', async t => {
  const rows: readonly (readonly [text: string, is: boolean])[] = [
    [`{"jsonrpc":"2.0",${REST}`, true],
    [`[{"jsonrpc":"2.0","id":7,"error":{`, true],
    [`{"jsonrpc":"2.0","method":"x","params":{"result":1`, false],
    ['{"level":"info","text":"', false],
    [`"result":1`, false],
    ['', false],
  ]
  for (const [text, is] of rows) t.equal(looksAnswering(Buffer.from(text)), is, text.slice(0, 60))
})

t.test('no bytes take long', async t => {
  for (const text of ['{', '{"id":', '{"result":', ' ', '"id":1,', '{"jsonrpc":"']) {
    t.doesNotThrow(() => answeredIn(Buffer.from(text.repeat(100_000))))
  }
})

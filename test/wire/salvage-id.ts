import t from 'tap'
import { salvageId } from '../../src/wire/salvage-id.js'

const REST = `"result":{"content":[{"text":"${'x'.repeat(1000)}`
const PARAMS = `"params":{"name":"t","arguments":{"text":"${'x'.repeat(1000)}`

t.test('which request an unreadable message is, or answers, is a table', async t => {
  const rows: readonly (readonly [text: string, is: 'hasMethod' | 'isResponse' | undefined, id?: string])[] =
    [
      [`{"jsonrpc":"2.0","id":7,${REST}`, 'isResponse', '7'],
      [`{"jsonrpc":"2.0","id":"a-7",${REST}`, 'isResponse', '"a-7"'],
      [`{"id":7,"jsonrpc":"2.0",${REST}`, 'isResponse', '7'],
      [`{"jsonrpc":"2.0","id":7,"id":7,${REST}`, 'isResponse', '7'],
      [`{"jsonrpc":"2.0","id":7,"id":8,${REST}`, 'isResponse'],
      [` {\t"jsonrpc" : "2.0" , "id" : 7 , "error" : {`, 'isResponse', '7'],
      [`{${REST}"}]},"jsonrpc":"2.0","id":7}`, 'isResponse', '7'],
      [`{${REST}"}]},"id":7,"jsonrpc":"2.0"}\r`, 'isResponse', '7'],
      [`{"jsonrpc":"2.0",${REST}"}]},"id":7}`, 'isResponse', '7'],
      [`{"jsonrpc":"2.0","id":7,${REST}"}]},"id":8}`, 'isResponse'],
      [`{"jsonrpc":"2.0","id":7,"result":{"method":"x"`, 'isResponse', '7'],
      [`{${REST}"}]}`, 'isResponse'],
      [`{${REST}"}],"id":7}}`, 'isResponse'],
      [`{"level":"info","id":7,"result":1`, 'isResponse'],
      [`[{"jsonrpc":"2.0","id":7,"result":{}`, 'isResponse'],
      [`{"jsonrpc":"2.0","id":1.5,"result":{}`, 'isResponse'],
      [`{"jsonrpc":"2.0","id":${'9'.repeat(40)},"result":{}`, 'isResponse'],
      [`{"jsonrpc":"2.0","id":7,"method":"tools/call",${PARAMS}`, 'hasMethod', '7'],
      [`{"jsonrpc":"2.0","method":"tools/call","id":"a",${PARAMS}`, 'hasMethod', '"a"'],
      [`{"method":"tools/call",${PARAMS}"}},"jsonrpc":"2.0","id":7}`, 'hasMethod', '7'],
      [`{${PARAMS}"}},"method":"tools/call","id":7}`, 'hasMethod', '7'],
      [`{"method":"tools/call",${PARAMS}","id":7}}}`, 'hasMethod'],
      [`{"method":"tools/call",${PARAMS}"}},"jsonrpc":"2.0","id":-7}`, 'hasMethod', '-7'],
      [`{"id":"é \\" \\u00e9","method":"tools/call",${PARAMS}`, 'hasMethod', '"é \\" \\u00e9"'],
      [`{"id":"${'é'.repeat(200)}","method":"tools/call",${PARAMS}`, 'hasMethod', `"${'é'.repeat(200)}"`],
      [`{"id":"\\x","method":"tools/call",${PARAMS}`, 'hasMethod'],
      [`{"id":"\n","method":"tools/call",${PARAMS}`, 'hasMethod'],
      [`{"id":007,"method":"tools/call",${PARAMS}`, 'hasMethod'],
      [`{"jsonrpc":"2.0","method":"notifications/x",${PARAMS}"}}}`, 'hasMethod'],
      [`{"jsonrpc":"2.0","method":"x","params":{"result":1`, 'hasMethod'],
      [`{"level":"info","method":"x","result":1`, undefined],
      ['{"level":"info","text":"', undefined],
      [`"result":1`, undefined],
      ['Server listening', undefined],
      ['', undefined],
    ]
  for (const [text, is, id] of rows) {
    const wreck = salvageId(Buffer.from(text))
    const expected = { id, hasMethod: is === 'hasMethod', isResponse: is === 'isResponse' }
    t.same({ ...wreck, id: wreck.id?.toString() }, expected, text.slice(0, 60))
  }
})

t.test('no bytes take long', async t => {
  for (const text of ['{', '{"id":', '{"result":', ' ', '"id":1,', '{"jsonrpc":"', ',"id":1', '{"id":1,']) {
    t.doesNotThrow(() => salvageId(Buffer.from(text.repeat(100_000))))
  }
})

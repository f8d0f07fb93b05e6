import t from 'tap'
import { JsonBudget } from '../../src/kernel/json/text.js'
import { MessageIndex } from '../../src/wire/message-index.js'

const frameOf = (text: string) =>
  new MessageIndex(Buffer.from(text), 0, new JsonBudget({ depth: 512, members: 1000 }))
const textsOf = ({ rawId, id, method, params, result, error }: MessageIndex) =>
  [rawId, id, method, params, result, error].map(text => text?.toString())

t.test('the first of each member of a message is found, in any order', async t => {
  const text =
    '{"params":{"a":1},"x":[],"jsonrpc":"2\\u002e0","method":"m","id":7,"error":0,"result":{},"method":"n"}'
  const frame = frameOf(`${text} rest`)
  t.same(textsOf(frame), ['7', '7', 'm', '{"a":1}', '{}', '0'])
  t.same([frame.isVersion2, frame.repeated], [true, 'method'])
  t.equal(frame.end, text.length)
})

t.test('repeated members are reported, and a repeated id counts as missing', async t => {
  const rows: [text: string, repeated: string | undefined, param: string | undefined][] = [
    ['{"id":1,"id":1}', 'id', undefined],
    ['{"id":1,"id":1,"id":1,"method":"a","method":"b"}', 'id', undefined],
    ['{"jsonrpc":"2.0","jsonrpc":"1.0"}', 'jsonrpc', undefined],
    ['{"params":{},"params":{"name":1,"name":2}}', 'params', undefined],
    ['{"params":1,"params":{"name":1,"name":2}}', 'params', undefined],
    ['{"result":1,"result":{}}', 'result', undefined],
    ['{"error":1,"error":{}}', 'error', undefined],
    ['{"x":1,"x":1,"params":{"x":1,"x":1}}', undefined, undefined],
    ['{"params":{"uri":1,"ur\\u0069":2}}', undefined, 'uri'],
    [
      '{"params":{"_meta":{"progressToken":1,"progressToken":1},"name":1,"name":1}}',
      undefined,
      '_meta.progressToken',
    ],
    ['{"params":{"_meta":{"progressToken":1,"x":1,"progressToken":1}}}', undefined, '_meta.progressToken'],
    ['{"params":{"_meta":{},"_meta":{"progressToken":1,"progressToken":1}}}', undefined, '_meta'],
    ['{"params":{"_meta":1,"_meta":{"progressToken":1,"progressToken":1}}}', undefined, '_meta'],
    ['{"params":{"_meta":{"name":1,"name":1}}}', undefined, undefined],
    ['{"params":{"ref":{"type":"ref/prompt","name":"a","n\\u0061me":"b"}}}', undefined, 'ref.name'],
    ['{"params":{"ref":{"uri":"a","uri":"b"},"name":1}}', undefined, 'ref.uri'],
    ['{"params":{"ref":{"type":"a"},"r\\u0065f":{"type":"b"}}}', undefined, 'ref'],
    ['{"params":{"ref":{"ref":{"name":1,"name":1},"x":1,"x":1}}}', undefined, undefined],
  ]
  for (const [text, repeated, param] of rows) {
    const frame = frameOf(text)
    t.same([frame.repeated, frame.repeatedParam], [repeated, param], text)
    if (repeated === 'id') t.equal(frame.id, undefined, text)
  }
})

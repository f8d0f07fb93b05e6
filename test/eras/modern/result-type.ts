import t from 'tap'
import { readResultType, stamped } from '../../../src/eras/modern/result-type.js'
import { type JsonText, rawText, readJson } from '../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const INFO = '"io.modelcontextprotocol/serverInfo"'
const US = rawText('{"name":"proxy","version":"1"}')
const META = `"_meta":{${INFO}:${US}}`

t.test('a result says its kind and who answered, and all other bytes stay', async t => {
  const CASES: [string, string][] = [
    ['{}', `{"resultType":"complete",${META}}`],
    [
      '{ "content" : [] ,"n":12345678901234567890,"e":1e400 }',
      `{ "content" : [] ,"n":12345678901234567890,"e":1e400,"resultType":"complete",${META} }`,
    ],
    ['{"resultType":"weird","a":1.0}', `{"resultType":"complete","a":1.0,${META}}`],
  ]
  for (const [before, after] of CASES)
    t.equal(stamped(json(before), { type: 'complete', identity: US }).toString(), after)
  t.match(stamped(json('{}'), { type: 'input_required', identity: US }).toString(), '"input_required"')
  t.match(stamped(json('{}'), { type: 'task', identity: US }).toString(), '"task"')
  const right = json(`{"resultType":"complete",${META}}`)
  t.equal(stamped(right, { type: 'complete', identity: US }), right)
})

t.test('a result has its type and other members', async t => {
  const members = [['ttlMs', rawText('5')]] as const
  t.equal(
    stamped(json('{"ttlMs":7,"tools":[]}'), { type: 'complete', identity: US, members }).toString(),
    `{"ttlMs":5,"tools":[],"resultType":"complete",${META}}`,
  )
})

t.test('the kind of a result is read, and a strange one is never taken for another', async t => {
  const CASES: [string, string][] = [
    ['{"resultType":"complete"}', 'complete'],
    ['{"content":[],"resultType":"input_required"}', 'input_required'],
    ['{"resultType":"task","taskId":"t"}', 'task'],
    [String.raw`{"\u0072esultType":"t\u0061sk"}`, 'task'],
    ['{"resultType":"later"}', 'unknown'],
    ['{"resultType":"constructor"}', 'unknown'],
    ['{"resultType":null}', 'unknown'],
    ['{"resultType":1}', 'unknown'],
    ['{"resultType":"complete","resultType":"input_required"}', 'unknown'],
    ['{"resultType":"complete","resultType":"complete"}', 'unknown'],
    ['{}', 'absent'],
    ['{"structuredContent":{"resultType":"task"}}', 'absent'],
    ['{"content":[{"type":"text","text":"\\"resultType\\":\\"task\\""}]}', 'absent'],
    ['[]', 'absent'],
  ]
  for (const [result, type] of CASES) t.equal(readResultType(json(result)), type, result)
})

t.test('the proxy’s name stands where the server’s was', async t => {
  const CASES: [string, string][] = [
    ['{"a":1.0}', `{"a":1.0,"resultType":"complete",${META}}`],
    [
      `{"_meta":{"v.x/r":1e400,${INFO}:{"name":"b","version":"1"},"z":0},"a":1.0}`,
      `{"_meta":{"v.x/r":1e400,${INFO}:{"name":"proxy","version":"1"},"z":0},"a":1.0,"resultType":"complete"}`,
    ],
    ['{"_meta":{}}', `{${META},"resultType":"complete"}`],
    ['{"_meta":null}', `{${META},"resultType":"complete"}`],
  ]
  for (const [before, after] of CASES)
    t.equal(stamped(json(before), { type: 'complete', identity: US }).toString(), after)
})

import t from 'tap'
import {
  readResultType,
  withoutModernMembers,
  withResultType,
  withServerInfo,
} from '../../../src/eras/modern/result-type.js'
import { type JsonText, rawText, readJson } from '../../../src/kernel/json-text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const INFO = '"io.modelcontextprotocol/serverInfo"'

t.test('a result says its kind, and all other bytes stay', async t => {
  const CASES: [string, string][] = [
    ['{}', '{"resultType":"complete"}'],
    [
      '{ "content" : [] ,"n":12345678901234567890,"e":1e400 }',
      '{ "content" : [] ,"n":12345678901234567890,"e":1e400,"resultType":"complete" }',
    ],
    ['{"resultType":"weird","a":1.0}', '{"resultType":"complete","a":1.0}'],
  ]
  for (const [before, after] of CASES) t.equal(withResultType(json(before), 'complete').toString(), after)
  t.equal(withResultType(json('{}'), 'input_required').toString(), '{"resultType":"input_required"}')
  t.equal(withResultType(json('{}'), 'task').toString(), '{"resultType":"task"}')
  const right = json('{"resultType":"complete"}')
  t.equal(withResultType(right, 'complete'), right)
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
  const us = rawText('{"name":"proxy","version":"1"}')
  const CASES: [string, string][] = [
    ['{"a":1.0}', `{"a":1.0,"_meta":{${INFO}:{"name":"proxy","version":"1"}}}`],
    [
      `{"_meta":{"v.x/r":1e400,${INFO}:{"name":"b","version":"1"},"z":0},"a":1.0}`,
      `{"_meta":{"v.x/r":1e400,${INFO}:{"name":"proxy","version":"1"},"z":0},"a":1.0}`,
    ],
    ['{"_meta":{}}', `{"_meta":{${INFO}:{"name":"proxy","version":"1"}}}`],
    ['{"_meta":null}', `{"_meta":{${INFO}:{"name":"proxy","version":"1"}}}`],
  ]
  for (const [before, after] of CASES) t.equal(withServerInfo(json(before), us).toString(), after)
})

t.test('an older client sees nothing of this revision, and everything else as it was', async t => {
  const CASES: [string, string, string][] = [
    ['CT-22', '{"resultType":"complete"}', '{}'],
    [
      'CT-15',
      `{"resultType":"complete","content":[{"type":"text","text":"a","_meta":{"v.x/k":1}}],"_meta":{${INFO}:{"name":"b","version":"1"},"v.x/r":2}}`,
      '{"content":[{"type":"text","text":"a","_meta":{"v.x/k":1}}],"_meta":{"v.x/r":2}}',
    ],
    [
      'LC-5',
      '{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}],"ttlMs":300000,"cacheScope":"public"}',
      '{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}',
    ],
    [
      'subscription',
      '{"uri":"a:b","_meta":{"io.modelcontextprotocol/subscriptionId":"L1"}}',
      '{"uri":"a:b"}',
    ],
    [
      'bytes',
      `{ "n" : 12345678901234567890 , "ttlMs":1.0 ,"s":"ttlMs", "e":[1e400,-0.0]}`,
      `{ "n" : 12345678901234567890  ,"s":"ttlMs", "e":[1e400,-0.0]}`,
    ],
  ]
  for (const [what, before, after] of CASES) {
    t.equal(withoutModernMembers(json(before)).toString(), after, what)
  }
  for (const same of [
    '{"structuredContent":{"ttlMs":1,"resultType":"complete"},"_meta":{"k":1}}',
    '{"_meta":{}}',
    '{"content":[{"type":"text","text":"\\"ttlMs\\" io.modelcontextprotocol/serverInfo"}]}',
  ]) {
    const result = json(same)
    t.equal(withoutModernMembers(result), result, same)
  }
})

import t from 'tap'
import { lockFileText, parseLockFile } from '../../src/kernel/lock-file.js'

const fileOf = (servers: unknown, version: unknown = 1): string => JSON.stringify({ version, servers })

t.test('a lock file is written in one way, with hidden characters in sight', async t => {
  const item = { name: 'a', inputSchema: { type: 'object', 1: 2.5 }, description: 'x\u200b\ny\\u000a' }
  const locked = parseLockFile(
    fileOf({ b: { tools: { a: [item, { name: 'a' }] } }, a: { instructions: 'i' } }),
  )
  if ('why' in locked) throw new Error(locked.why)
  const text = lockFileText(locked)
  t.equal(text.indexOf('"a"') < text.indexOf('"b"'), true)
  t.match(text, /"description": "x\\u200b\\ny\\\\u000a"/)
  t.match(text, /"inputSchema": \{\n {14}"1": 2\.5,\n {14}"type": "object"\n {12}\}/)
  t.equal(text.endsWith('}\n'), true)
  const again = parseLockFile(text)
  t.equal('why' in again ? again.why : lockFileText(again), text, 'reading and writing it changes nothing')
})

t.test('a broken file says where', async t => {
  const tools = (item: unknown) => fileOf({ shop: { tools: { a: item } } })
  const rows: readonly (readonly [text: string, why: string])[] = [
    ['', 'it is not JSON'],
    ['<<<<<<< HEAD', 'it is not JSON'],
    ['[]', 'it is not an object'],
    [fileOf({}, 2), 'it has no "version": 1'],
    ['{"version":1}', 'it has no "servers"'],
    [fileOf([]), '/servers is not an object'],
    [fileOf({ shop: 1 }), '/servers/shop is not an object'],
    [fileOf({ shop: { instructions: 1 } }), '/servers/shop/instructions is not a text'],
    [fileOf({ shop: { prompts: [] } }), '/servers/shop/prompts is not an object'],
    [tools('x'), '/servers/shop/tools/a is not a definition'],
    [tools([]), '/servers/shop/tools/a is not a list of 1 to 8 definitions'],
    [tools(Array(9).fill({})), '/servers/shop/tools/a is not a list of 1 to 8 definitions'],
    [tools([1]), '/servers/shop/tools/a is not a list of 1 to 8 definitions'],
    [
      `{"version":1,"servers":[${'1,'.repeat(1_000_000)}1]}`,
      'it is nested too deeply, or has too many values',
    ],
    [`{"version":1,"servers":${'['.repeat(600)}`, 'it is nested too deeply, or has too many values'],
    ['{"version":1,"servers":{"a":{},"a":{}}}', '/servers has two members "a"'],
  ]
  for (const [text, why] of rows) t.same(parseLockFile(text), { why }, text.slice(0, 60))
})

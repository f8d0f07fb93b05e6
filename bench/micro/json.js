// Prints the cost of hot functions in kernel/json-text. Reports only; never fails.
// Usage: node bench/micro/json.js [another checkout of the same layout]
import { built, show } from './measure.js'

const json = await built('kernel/json/text')

const call = Buffer.from(
  JSON.stringify({
    jsonrpc: '2.0',
    id: 17,
    method: 'tools/call',
    params: {
      name: 'github__search_repositories',
      arguments: { query: 'language:typescript stars:>100', page: 1, perPage: 30 },
      _meta: { progressToken: 'abc-17' },
    },
  }),
)
const result = text =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } }))
const tool = i => ({
  name: `tool_${i}`,
  description: 'Does something useful with "things" that you name.\nSee the manual.',
  inputSchema: { type: 'object', properties: { thing: { type: 'string' }, n: { type: 'integer' } } },
})
const tools = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, i) => tool(i))))
const mebibytes8 = 8 * 1024 * 1024
const documents = {
  'call of 200 bytes': call,
  '100 tools': tools,
  '8 MiB of text': result('lorem ipsum dolor sit amet, '.repeat(mebibytes8 / 28)),
  '8 MiB of lines': result('lorem ipsum dolor "sit" amet\n'.repeat(mebibytes8 / 32)),
  '8 MiB of Chinese': result('道可道非常道名可名非常名'.repeat(mebibytes8 / 36)),
  '8 MiB of numbers': Buffer.from(JSON.stringify(Array.from({ length: mebibytes8 / 8 }, (_, i) => 1e6 + i))),
  '8 MiB of tools': Buffer.from(
    JSON.stringify(
      Array.from({ length: mebibytes8 / 170 }, (_, i) => tool(i)),
      null,
      1,
    ),
  ),
}

function run() {
  const { at, memberOf, membersOf, objectText, rawText, readJson, repeatedKey, stringOf, textOf } = json
  for (const [name, bytes] of Object.entries(documents)) {
    show(`readJson, ${name}`, bytes.length, () => readJson(bytes))
    show(`  JSON.parse, ${name}`, bytes.length, () => JSON.parse(bytes.toString()))
  }
  const text = readJson(call)
  const params = memberOf(text, 'params')
  const keys = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
  const id = rawText('4711')
  const version = rawText('"2.0"')
  show('membersOf, call', 0, () => membersOf(text))
  show('memberOf, first of call', 0, () => memberOf(text, 'jsonrpc'))
  show('memberOf, last of call', 0, () => memberOf(text, 'params'))
  show('memberOf, absent from call', 0, () => memberOf(text, 'result'))
  show('at, params._meta.progressToken', 0, () => at(text, 'params', '_meta', 'progressToken'))
  const method = memberOf(text, 'method')
  show('stringOf, method', 0, () => stringOf(method))
  show('repeatedKey, envelope', 0, () => repeatedKey(text, keys))
  show('textOf, number', 0, i => textOf(i))
  show('withMember, id', 0, () => json.withMember(text, 'id', id))
  show('withMember, appended', 0, () => json.withMember(text, 'x', id))
  show('withAt, params._meta.progressToken', 0, () => json.withAt(params, ['_meta', 'progressToken'], id))
  show('withoutMember, _meta', 0, () => json.withoutMember(params, '_meta'))
  show('objectText, envelope', 0, () =>
    objectText([
      ['jsonrpc', version],
      ['id', id],
      ['result', params],
    ]),
  )
  show('oneLine, nothing to do', 0, () => json.oneLine(text))
  const list = readJson(tools)
  const name = rawText('"other__name"')
  const rename = element => json.withMember(element, 'name', name)
  show('elementsOf, 100 tools', 0, () => json.elementsOf(list))
  show('mapElements, 100 tools renamed', 0, () => json.mapElements(list, rename))
  const big = readJson(documents['8 MiB of text'])
  show('memberOf, 8 MiB of text', 0, () => memberOf(big, 'result'))
  show('withMember id, 8 MiB of text', 0, () => json.withMember(big, 'id', id))
  const lines = readJson(documents['8 MiB of lines'])
  show('memberOf, 8 MiB of lines', 0, () => memberOf(lines, 'result'))
  show('oneLine, 8 MiB of pretty tools', 0, () => json.oneLine(documents['8 MiB of tools']))
}

run()

// A stdio server for benchmarks: answers every tools/call with text of the size that its arguments ask for.
import { createInterface } from 'node:readline'

const texts = new Map()
const textOf = size => {
  if (!texts.has(size)) texts.set(size, 'x'.repeat(size))
  return texts.get(size)
}
const TOOLS = '{"tools":[{"name":"make","inputSchema":{"type":"object"}}]}'

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  let result = '{}'
  if (method === 'initialize') {
    result = `{"protocolVersion":"${params.protocolVersion}","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`
  } else if (method === 'tools/list') result = TOOLS
  else if (method === 'tools/call') {
    const { tag, size } = params.arguments
    result = `{"content":[{"type":"text","text":"${tag} ${textOf(size)}"}]}`
  }
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`)
})

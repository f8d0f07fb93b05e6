// The floor in front of several servers. A tool's prefix names its server. Lists are fixed bytes, or one
// page with the tools of all servers.
// Usage: node many.js PAGES-FILE|- COUNT COMMAND ARG... (PAGES-FILE: {"": "first page", "cursor": "next
//   page"}), or node many.js - URL...
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { readBody, relay, sendJson } from './answer.js'
import { Pipe, placeOf, placeOfId } from './pipe.js'
import { Remote } from './remote.js'

const [file, ...rest] = process.argv.slice(2)
const written = file === '-' ? {} : JSON.parse(readFileSync(file, 'utf8'))
const pages = new Map(
  Object.entries(written).map(([cursor, page]) => [cursor, Buffer.from(`,"result":${page}}`)]),
)
const [count, ...command] = rest
const all = count.startsWith('http')
  ? rest.map(url => new Remote(url))
  : Array.from({ length: Number(count) }, () => new Pipe(command))
const pipes = new Map(all.map((pipe, i) => [`s${i}`, pipe]))

const START = Buffer.from('{"jsonrpc":"2.0","id":')

const ask = (pipe, method, params = {}) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  return new Promise(resolve => pipe.request(body, placeOfId(body), (_before, _id, after) => resolve(after)))
}

const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'floor', version: '1' },
}

/** Returns the tools of one server, prefixed with its name. */
const toolsOf = async ([name, pipe]) => {
  await ask(pipe, 'initialize', HELLO)
  const text = (await ask(pipe, 'tools/list')).toString('latin1')
  return text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).replaceAll('{"name":"', `$&${name}__`)
}

const gather = async (id, response) => {
  const tools = await Promise.all([...pipes].map(toolsOf))
  sendJson(response, START, id, Buffer.from(`,"result":{"tools":[${tools.join(',')}]}}`, 'latin1'))
}

const list = (body, response) => {
  const asked = placeOf(body, '"cursor":')
  const cursor = asked === undefined ? '' : body.toString('latin1', asked.from + 1, asked.to - 1)
  const place = placeOfId(body)
  const id = body.subarray(place.from, place.to)
  if (pages.size === 0) gather(id, response)
  else sendJson(response, START, id, pages.get(cursor))
}

const server = createServer((request, response) => {
  readBody(request, body => {
    if (body.includes('"tools/list"')) {
      list(body, response)
      return
    }
    const name = placeOf(body, '"name":')
    const split = name === undefined ? -1 : body.indexOf('__', name.from)
    const pipe = split === -1 ? undefined : pipes.get(body.toString('latin1', name.from + 1, split))
    if (pipe === undefined) relay(pipes.get('s0'), body, response)
    else relay(pipe, Buffer.concat([body.subarray(0, name.from + 1), body.subarray(split + 2)]), response)
  })
})
// A connection that closes during a request would lose a call.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))

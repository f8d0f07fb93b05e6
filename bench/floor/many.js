// The floor in front of several servers: the name of a tool says whose it is, and lists are bytes that are
// kept.
// Usage: node many.js PAGES-FILE|- COUNT COMMAND ARG...   (PAGES-FILE: {"": "first page", "cursor": "next
// page"})
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { readBody, relay, sendJson } from './answer.js'
import { Pipe, placeOf, placeOfId } from './pipe.js'

const [file, count, ...command] = process.argv.slice(2)
const written = file === '-' ? {} : JSON.parse(readFileSync(file, 'utf8'))
const pages = new Map(
  Object.entries(written).map(([cursor, page]) => [cursor, Buffer.from(`,"result":${page}}`)]),
)
const pipes = new Map(Array.from({ length: Number(count) }, (_, i) => [`s${i}`, new Pipe(command)]))

const START = Buffer.from('{"jsonrpc":"2.0","id":')

const list = (body, response) => {
  const place = placeOf(body, '"cursor":')
  const cursor = place === undefined ? '' : body.toString('latin1', place.from + 1, place.to - 1)
  const id = placeOfId(body)
  sendJson(response, START, body.subarray(id.from, id.to), pages.get(cursor))
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
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))

// The floor over HTTP+SSE (2024-11-05).
// Usage: node sse.js COMMAND ARG...
import { createServer } from 'node:http'
import { readBody } from './answer.js'
import { Pipe, placeOfId } from './pipe.js'

const pipe = new Pipe(process.argv.slice(2))
const sessions = new Map()
const DATA = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    const id = String(sessions.size + 1)
    sessions.set(id, response)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: endpoint\ndata: /messages?sessionId=${id}\n\n`)
    return
  }
  readBody(request, body => {
    response.writeHead(202).end('Accepted')
    const place = placeOfId(body)
    if (place === undefined) {
      pipe.notice(body)
      return
    }
    const stream = sessions.get(request.url.slice(request.url.indexOf('=') + 1))
    const event = (...pieces) => stream.write(Buffer.concat([DATA, ...pieces, END]))
    pipe.request(body, place, event, event)
  })
})
// A connection that closes during a request would lose a call.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/sse`))
process.on('SIGTERM', () => process.exit(0))

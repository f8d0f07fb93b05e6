// The floor over Streamable HTTP: node:http in front of a child's pipe.
// Usage: node http.js COMMAND ARG...
import { createServer } from 'node:http'
import { readBody, relay } from './answer.js'
import { Pipe } from './pipe.js'

const pipe = new Pipe(process.argv.slice(2))
const server = createServer((request, response) => {
  if (request.method === 'POST') readBody(request, body => relay(pipe, body, response))
  else response.writeHead(405).end()
})
// As in our proxy: idle sessions keep their connections open.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))

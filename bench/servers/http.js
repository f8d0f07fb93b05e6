// The benchmark server over Streamable HTTP, for proxies with remote servers. With the address of an
// authorization server as its argument, it requires a token but accepts any.
import { createServer } from 'node:http'
import { answer } from './server.js'

const DATA = Buffer.from('data: ')
const END = Buffer.from('\n\n')

const sendJson = (response, bytes) => {
  response
    .writeHead(200, {
      'content-type': 'application/json',
      'content-length': bytes.length,
      'mcp-session-id': 'bench',
    })
    .end(bytes)
}

const sendEvents = (response, messages) => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'bench' })
  response.end(Buffer.concat(messages.flatMap(pieces => [DATA, ...pieces, END])))
}

const [issuer] = process.argv.slice(2)

/** Challenges requests without a token. Returns whether it did. */
const refuses = ({ headers, url }, response) => {
  if (issuer === undefined || headers.authorization?.startsWith('Bearer ')) return false
  const resource = `http://${headers.host}/mcp`
  const challenge = `Bearer resource_metadata="http://${headers.host}/metadata"`
  const metadata = { resource, authorization_servers: [issuer] }
  if (url === '/metadata')
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
  else response.writeHead(401, { 'www-authenticate': challenge }).end()
  return true
}

const server = createServer((request, response) => {
  if (refuses(request, response)) {
    request.resume()
    return
  }
  if (request.method !== 'POST') {
    request.resume()
    response.writeHead(405).end()
    return
  }
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const messages = []
    answer(body, (...pieces) => messages.push(pieces))
    if (messages.length === 0) response.writeHead(202).end()
    else if (messages.length === 1) sendJson(response, Buffer.concat(messages[0]))
    else sendEvents(response, messages)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))

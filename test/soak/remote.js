import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const SCHEMA = { type: 'object' }
const TOOLS = ['echo', 'count'].map(name => ({ name, inputSchema: SCHEMA }))
const text = words => ({ content: [{ type: 'text', text: words }] })
const json = { 'content-type': 'application/json' }

const bodyOf = async request => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())
}

/**
 * A server over Streamable HTTP with sessions, which forgets them now and then and resets a few connections:
 * `chance()` decides. Resolves with its address and a function that ends it.
 */
export const startRemote = async chance => {
  const sessions = new Set()
  const answer = (response, { id, method, params }) => {
    const send = result => response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    if (method === 'tools/call' && params.name === 'count') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let progress = 1; progress <= 5; progress += 1) {
        const note = { progressToken: params._meta?.progressToken, progress }
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: note })}\n\n`,
        )
      }
      response.end(
        `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: text(JSON.stringify(params.arguments)) })}\n\n`,
      )
      return
    }
    const headers = { ...json }
    if (method === 'initialize') {
      headers['mcp-session-id'] = randomUUID()
      sessions.add(headers['mcp-session-id'])
    }
    response.writeHead(200, headers)
    if (method === 'initialize') {
      send({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'remote', version: '1' },
      })
    } else if (method === 'tools/list') send({ tools: TOOLS })
    else if (method === 'tools/call') send(text(JSON.stringify(params.arguments)))
    else if (method === 'ping') send({})
    else
      response.end(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }),
      )
  }
  const server = createServer(async (request, response) => {
    const message = await bodyOf(request).catch(() => ({}))
    const session = request.headers['mcp-session-id']
    if (chance(0.002)) sessions.clear()
    if (request.method === 'DELETE') sessions.delete(session)
    if (message.method !== 'initialize' && !sessions.has(session)) response.writeHead(404, json).end('{}')
    else if (request.method !== 'POST') response.writeHead(405).end()
    else if (chance(0.002)) request.socket.resetAndDestroy()
    else if (message.id === undefined) response.writeHead(202).end()
    else answer(response, message)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, stop }
}

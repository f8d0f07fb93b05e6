import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { type LoginServer, resultOf } from './login-server.js'

/** Returns the answer to a message; undefined for a notification. */
const answerTo = (server: LoginServer, text: string): string | undefined => {
  const { id, method = '', params } = JSON.parse(text)
  server.ran.push(method)
  return id === undefined
    ? undefined
    : JSON.stringify({ jsonrpc: '2.0', id, ...resultOf(method, params?.name) })
}

/** Serves WebSocket at `/ws` to clients with a token. Returns the address. */
export const serveWs = (server: LoginServer): string => {
  const ws = new WebSocketServer({ noServer: true })
  server.http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => undefined)
    if (!server.lets(request.headers)) {
      const challenge = server.challengeFor('/ws')
      socket.end(`HTTP/1.1 401 Unauthorized\r\nwww-authenticate: ${challenge}\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    ws.handleUpgrade(request, socket, head, channel => {
      channel.on('message', data => {
        const answer = answerTo(server, String(data))
        if (answer !== undefined) channel.send(answer)
      })
    })
  })
  return `${server.url.replace('http', 'ws')}/ws`
}

/** Serves HTTP+SSE at `/sse` and `/messages` to clients with a token. Returns the address. */
export const serveSse = (server: LoginServer): string => {
  let stream: ServerResponse | undefined
  const refuse = (response: ServerResponse): void => {
    response.writeHead(401, { 'www-authenticate': server.challengeFor('/sse') }).end()
  }
  server.places.set('/sse', ({ headers, method }, response) => {
    if (!server.lets(headers)) refuse(response)
    else if (method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
      stream.write('event: endpoint\ndata: /messages\n\n')
    } else response.writeHead(405).end()
  })
  server.places.set('/messages', ({ headers, json }, response) => {
    if (!server.lets(headers)) {
      refuse(response)
      return
    }
    response.writeHead(202).end()
    const answer = answerTo(server, JSON.stringify(json))
    if (answer !== undefined) stream?.write(`event: message\ndata: ${answer}\n\n`)
  })
  return `${server.url}/sse`
}

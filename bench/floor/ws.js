// The floor over WebSocket.
// Usage: node ws.js COMMAND ARG...
import { WebSocketServer } from 'ws'
import { Pipe, placeOfId } from './pipe.js'

const pipe = new Pipe(process.argv.slice(2))
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
server.on('listening', () => console.log(`ws://127.0.0.1:${server.address().port}/ws`))
server.on('connection', socket => {
  const send = (...pieces) => socket.send(Buffer.concat(pieces), { binary: false })
  socket.on('message', body => {
    const place = placeOfId(body)
    if (place === undefined) pipe.notice(body)
    else pipe.request(body, place, send, send)
  })
})
process.on('SIGTERM', () => process.exit(0))

import { once } from 'node:events'
import { createServer, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { currentOn, IncomingRequest, unblock } from '../../src/transport/node-internals.js'
import { INITIALIZE, startBin, TINY } from '../support/proxy/start.js'

/** As Node makes stdout and stderr of pipes on Windows (`lib/net.js`). */
const windowsPipe = (result: number) => {
  const asked: boolean[] = []
  const handle = {
    setBlocking: (isBlocking: boolean) => {
      asked.push(isBlocking)
      return result
    },
  }
  const waiting = () => t.fail('waited for the reader')
  const stream = Object.assign(new Socket(), { _handle: handle, _write: waiting })
  return { stream, asked, waiting }
}

t.test('what a reader does not take is kept, and not waited for', async t => {
  const { stream, asked, waiting } = windowsPipe(0)
  t.equal(unblock(stream), true)
  t.equal(unblock(stream), true)
  t.same(asked, [false, false])
  t.not(stream._write, waiting)
  t.equal(stream._write, Socket.prototype._write)
})

t.test('what Node cannot write to in this way is left as it is', async t => {
  const { stream, waiting } = windowsPipe(-4071)
  t.equal(unblock(stream), false)
  t.equal(stream._write, waiting)
  t.equal(unblock(new Socket()), false)
  t.equal(unblock(new PassThrough()), false)
})

/** A server of Node's that hands its requests to `handle`, and its port. */
const listening = async (t: Test, handle: (request: IncomingRequest, response: ServerResponse) => void) => {
  const server = createServer({ IncomingMessage: IncomingRequest }, handle)
  t.teardown(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

t.test('this Node still names the response that is due on a connection', async t => {
  const { port } = await listening(t, ({ socket }, response) => {
    t.equal(currentOn(socket), response)
    response.on('close', () => t.equal(currentOn(socket), undefined)).end('done')
  })
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'done')
})

t.test('this Node still hands the pieces of a body to the request, and then its end', async t => {
  const { port } = await listening(t, (incoming, response) => {
    const pieces: string[] = []
    incoming.takeBody(piece => {
      pieces.push(String(piece))
      if (piece === null) response.end(JSON.stringify(pieces))
      return true
    })
    t.not(incoming.taker, undefined, 'not as a stream')
  })
  const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: 'text' })
  t.same(await answer.json(), ['text', 'null'])
})

t.test('this Node still asks the request whether it is an upgrade', async t => {
  const { server, port } = await listening(t, (_request, response) => response.end('served'))
  server.on('upgrade', () => t.fail('upgraded to h2c'))
  const offer = request({ port, headers: { connection: 'Upgrade', upgrade: 'h2c' } }).end()
  const [answer] = await once(offer, 'response')
  t.match(answer, { statusCode: 200 })
  answer.resume()
})

t.test('this Node still keeps a connection open when it ignores 100 Continue', async t => {
  const { server, port } = await listening(t, () => undefined)
  server.on('checkContinue', (incoming: IncomingRequest, response) => {
    incoming.expecting = response
    setImmediate(() => response.end('x'))
  })
  const socket = connect(port, '127.0.0.1')
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n'
  socket.write(`${head}x`)
  const [answer] = await once(socket.setEncoding('latin1'), 'data')
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.notMatch(answer, /Connection: close/i)
  socket.destroy()
})

t.test('one variable switches all of this off, and the proxy still serves', async t => {
  const env = { MCP_PROXY_NODE_INTERNALS: 'off', NODE_V8_COVERAGE: '' }
  const proxy = startBin(t, ['bridge', '--port', '0', '--', process.execPath, TINY], { env })
  const [url = ''] = /http:\S+\/mcp/.exec(await proxy.line(/http:\S+\/mcp/)) ?? []
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE })
  const answer = await fetch(url, { method: 'POST', headers, body })
  t.equal(answer.status, 200)
  t.match(await answer.text(), /"protocolVersion"/)
  proxy.child.kill('SIGTERM')
  t.equal(await proxy.exited, 0, proxy.err)
})

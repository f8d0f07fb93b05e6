import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t from 'tap'
import { sendAnswer } from '../../../src/control/api/http.js'

t.test('a stream whose client left before it began is ended', async t => {
  let isStopped = false
  const stopped = new Promise<void>(resolve => {
    const server = createServer((request, response) => {
      response.once('close', () => {
        sendAnswer(response, {
          stream: () => () => {
            isStopped = true
          },
        })
        resolve()
      })
      request.socket.destroy()
    })
    server.listen(0, '127.0.0.1', () => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    })
    t.teardown(() => server.close())
  })
  await stopped
  t.ok(isStopped)
})

import { createServer, type IncomingMessage, request as send } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface ForwardProxyOptions {
  /** The port on loopback that every host name leads to. */
  readonly port: number
  /** Credentials that the proxy requires, as `user:password`. */
  readonly login?: string
  /** The status of its refusals. */
  readonly refuses?: number
}

/** Starts a forward proxy that notes its requests: `METHOD URL` as it got them. */
export const startForwardProxy = async (t: Test, { port, login, refuses }: ForwardProxyOptions) => {
  const seen: string[] = []
  const refusalOf = ({ headers }: IncomingMessage): number | undefined => {
    const expected = login && `Basic ${Buffer.from(login).toString('base64')}`
    return expected !== undefined && headers['proxy-authorization'] !== expected ? 407 : refuses
  }
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    const { headers, method, url = '' } = request
    seen.push(`${method} ${url}`)
    const refusal = refusalOf(request)
    if (refusal !== undefined) {
      response.writeHead(refusal).end()
      return
    }
    const { pathname: path } = new URL(url)
    const { 'proxy-authorization': _, ...rest } = headers
    const passed = send({ host: '127.0.0.1', port, path, method, headers: rest }, answer => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    seen.push(`CONNECT ${request.url}`)
    socket.on('error', () => socket.destroy())
    const refusal = refusalOf(request)
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\ncontent-length: 0\r\n\r\n`)
      return
    }
    const target = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      socket.pipe(target).pipe(socket)
    })
    target.on('error', () => socket.destroy())
    socket.on('close', () => target.destroy())
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { seen, host: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

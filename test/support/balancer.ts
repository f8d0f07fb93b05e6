import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A load balancer without stickiness: each request goes to the next address, past those that are gone. */
export interface Balancer {
  readonly url: string
  /** Where the next requests go, in turn; to be changed at any time. */
  targets: readonly URL[]
  /** How often each was chosen, by its host. */
  readonly chosen: Map<string, number>
}

/** Starts one; it ends with the test. */
export const startBalancer = async (t: Test, targets: readonly URL[]): Promise<Balancer> => {
  let turn = 0
  const balancer = { url: '', targets, chosen: new Map<string, number>() }
  const pass = (request: IncomingMessage, response: ServerResponse, body: Buffer, left: number): void => {
    turn += 1
    const to = balancer.targets[turn % balancer.targets.length]
    if (to === undefined || left === 0) {
      response.writeHead(502).end()
      return
    }
    balancer.chosen.set(to.host, (balancer.chosen.get(to.host) ?? 0) + 1)
    const { method, url = '/' } = request
    const headers = { ...request.headers, host: to.host }
    const up = send(new URL(url, to), { method: method ?? 'GET', headers, agent: false })
    up.on('response', reply => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      response.flushHeaders()
      reply.pipe(response)
      reply.on('error', () => response.destroy())
    })
    up.on('error', (error: NodeJS.ErrnoException) => {
      // Only what cannot have reached anybody may go to another.
      if (error.code === 'ECONNREFUSED') pass(request, response, body, left - 1)
      else if (!response.headersSent) response.writeHead(502).end()
    })
    response.on('close', () => up.destroy())
    up.end(body)
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => pass(request, response, Buffer.concat(chunks), balancer.targets.length))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  balancer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  return balancer
}

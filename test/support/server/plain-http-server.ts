import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { Loose } from '../client/raw-client.js'
import { codecOf, MODERN } from '../era/codec.js'
import { parseStrict } from '../strict-json.js'

/** Listens on loopback until the test ends; resolves to its address. */
export const listenFor = async (t: Test, server: Server): Promise<string> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The message and headers of a request. */
export interface SeenRequest {
  readonly message: Loose
  readonly headers: IncomingHttpHeaders
}

/** Starts an HTTP server in this process that answers with `answerTo`, or minimally. */
export const startPlainServer = async (
  t: Test,
  revision: string,
  answerTo: (message: Loose) => object | undefined = () => undefined,
): Promise<{ readonly entry: object; readonly seen: readonly SeenRequest[] }> => {
  const seen: SeenRequest[] = []
  const isModern = revision === MODERN
  const facts = { alias: 'plain', revision, capabilities: { tools: {} } }
  const complete = isModern ? { resultType: 'complete' } : {}
  const answer = (message: Loose): object => {
    const own = answerTo(message)
    if (own !== undefined) return own
    const known = codecOf(revision).answer(message.method, facts)
    if (typeof known === 'object') return known
    if (message.method === 'tools/list') {
      const hints = isModern ? { ttlMs: 60_000, cacheScope: 'public' } : {}
      return { result: { ...complete, ...hints, tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } }
    }
    return { result: { ...complete, content: [{ type: 'text', text: 'said' }] } }
  }
  const server = createServer((request: IncomingMessage, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    void text(request).then(body => {
      const message = parseStrict(body) as Loose
      seen.push({ message, headers: request.headers })
      if (message.id === undefined) response.writeHead(202).end()
      else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message) }))
      }
    })
  })
  return { entry: { type: 'http', url: `${await listenFor(t, server)}/mcp` }, seen }
}

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { askChallenge } from '../../../src/auth/store/challenge.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { startListing } from '../../support/server/listing-server.js'

type Transport = Parameters<typeof askChallenge>[0]

const at = (url: string, kind: Transport['kind'] = 'http') => ({ kind, url, headers: {} }) as Transport

const serve = async (t: Test, answer: RequestListener): Promise<string> => {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

const CHALLENGE = { 'www-authenticate': 'Bearer scope="a b", error="invalid_token"' }

t.test('a server that refuses no request wants no login', async t => {
  const { url } = await startListing(t, { tools: [] })
  t.same(await askChallenge(at(url)), { isRefused: false, challenge: undefined })
})

t.test('a server is asked until it refuses, in the session that it began', async t => {
  const heard: (string | undefined)[] = []
  const url = await serve(t, (request, response) => {
    request.resume()
    heard.push(request.headers['mcp-session-id'] as string | undefined)
    if (heard.length === 1) {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' })
      response.end(textOf({ jsonrpc: '2.0', id: 1, result: {} }))
    } else response.writeHead(401, CHALLENGE).end()
  })
  t.match(await askChallenge(at(url)), { isRefused: true, challenge: { scopes: ['a', 'b'] } })
  t.same(heard, [undefined, 's1'])
})

t.test('a server that takes passwords is told from one that takes tokens', async t => {
  for (const [header, expected] of [
    ['Basic realm="x"', { isRefused: true, challenge: undefined, takesPassword: true }],
    ['Basic realm="x", Bearer', { isRefused: true, challenge: {}, takesPassword: undefined }],
  ] as const) {
    const url = await serve(
      t,
      (_request, response) => void response.writeHead(401, { 'www-authenticate': header }).end(),
    )
    t.match(await askChallenge(at(url)), expected, header)
  }
})

t.test('a server over WebSocket refuses the upgrade, or is not there', async t => {
  const url = await serve(t, (_request, response) => void response.writeHead(401, CHALLENGE).end())
  const ws = url.replace('http', 'ws')
  t.match(await askChallenge(at(ws, 'ws')), { isRefused: true, challenge: { scopes: ['a', 'b'] } })
  await t.rejects(askChallenge(at('ws://127.0.0.1:1/mcp', 'ws')), { name: 'Fault' })
  await t.rejects(askChallenge(at('http://127.0.0.1:1/mcp')), { name: 'Fault' })
})

t.test('a server that hangs up is told from one that refuses', async t => {
  const url = await serve(t, request => request.socket.destroy())
  await t.rejects(askChallenge(at(url)), { name: 'Fault' })
})

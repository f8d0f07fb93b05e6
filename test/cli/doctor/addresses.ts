import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { askAddress, isListening } from '../../../src/cli/doctor/addresses.js'
import { explain } from '../../../src/diagnostics/explain.js'

const serve = async (t: Test, answer: RequestListener): Promise<string> => {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Answers requests of this method and path alone. */
const only =
  (method: string, path: string, status = 200): RequestListener =>
  (request, response) =>
    void response.writeHead(request.method === method && request.url === path ? status : 404).end()

t.test('an address is probed for a listener', async t => {
  const origin = await serve(t, only('GET', '/'))
  t.equal(await isListening(`${origin}/mcp`), true)
  const taken = createTcpServer()
  taken.listen(0, '::1')
  await once(taken, 'listening').catch(() => undefined)
  const { port } = (taken.address() ?? { port: undefined }) as Partial<AddressInfo>
  if (port !== undefined) {
    t.equal(await isListening(`ws://[::1]:${port}/`), true)
    taken.close()
    await once(taken, 'close')
    t.equal(await isListening(`ws://[::1]:${port}/`), false)
  }
})

/** What a request to an address finds out, in words. */
const askedAt = async (url: string) => {
  const { status, cause } = await askAddress('web', { url })
  const found = cause && explain(cause)
  return { status, why: found?.why, fix: found?.fix }
}

t.test('the answer of an address explains why its server is not reachable, with the fix', async t => {
  const rows: readonly (readonly [RequestListener, string, object])[] = [
    [only('POST', '/mcp'), '/mcp', { status: 200, why: undefined, fix: undefined }],
    [only('POST', '/mcp', 401), '/mcp', { status: 401, why: 'it answers 401' }],
    [only('POST', '/mcp', 503), '/mcp', { why: 'it answers 503', fix: 'contact its operator' }],
    [only('POST', '/mcp'), '/api', { status: 404, fix: /^write "url": "http:.*\/mcp"$/ }],
    [only('GET', '/sse'), '/mcp', { status: 404, fix: /^write "url": "http:.*\/sse"$/ }],
    [only('GET', '/other'), '/mcp', { status: 404, why: 'it answers 404' }],
  ]
  for (const [answer, path, expected] of rows)
    t.match(await askedAt(`${await serve(t, answer)}${path}`), expected, JSON.stringify(expected))
})

t.test('an address that cannot be asked is told with the reason', async t => {
  const hangsUp = createTcpServer(socket => socket.destroy())
  hangsUp.listen(0, '127.0.0.1')
  await once(hangsUp, 'listening')
  const { port } = hangsUp.address() as AddressInfo
  t.match(await askedAt(`http://127.0.0.1:${port}/mcp`), {
    status: undefined,
    why: /^it (?:hung up|fails with)/,
  })
  t.match(await askedAt(`https://127.0.0.1:${port}/mcp`), { status: undefined, why: /^it / })
  hangsUp.close()
  await once(hangsUp, 'close')
  t.match(await askedAt(`http://127.0.0.1:${port}/mcp`), {
    why: 'nothing listens there',
    fix: /^start the server/,
  })
  t.match(await askedAt('no address'), { status: undefined, why: /^it fails with / })
})

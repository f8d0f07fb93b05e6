import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import type { TlsOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { WebSocketServer } from 'ws'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { proxyRulesFor, proxyRulesOf } from '../../../src/kernel/machine/forward-proxy.js'
import { fetchReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient } from '../../../src/transport/http/client.js'
import { createGuardedFetch } from '../../../src/transport/http/guarded-fetch.js'
import type { RemoteNetwork } from '../../../src/transport/http/routes.js'
import { connectWs } from '../../../src/transport/ws/client.js'
import { createAuthority } from '../../support/certificates.js'
import { startForwardProxy } from '../../support/forward-proxy.js'

const portOf = (server: Server): number => (server.address() as AddressInfo).port

const echo = (request: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(200, { 'x-seen': `${request.headers.host} ${request.url}` }).end()
}

async function started<S extends Server>(t: Test, server: S): Promise<S> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return server
}

const tlsServer = (t: Test, options: TlsOptions) => started(t, createTlsServer(options, echo))

async function get(t: Test, url: string, network: RemoteNetwork) {
  const http = createHttpClient(network)
  t.teardown(() => http.close())
  const reply = await fetchReply(http, { method: 'GET', url, headers: {} }, new AbortController().signal)
  reply.discard()
  return { status: reply.status, seen: reply.headers['x-seen'] }
}

t.test('an http request goes through the proxy as it is, with the credentials of the proxy', async t => {
  const server = await started(t, createServer(echo))
  const login = 'us er:p@ss'
  const { seen, host } = await startForwardProxy(t, { port: portOf(server), login })
  for (const proxy of [
    proxyRulesFor(`http://us%20er:p%40ss@${host}`),
    proxyRulesOf({ HTTP_PROXY: `us%20er:p%40ss@${host}` }),
  ]) {
    seen.length = 0
    const reply = await get(t, 'http://mcp.corp.invalid/mcp?a=1', { proxy })
    t.same(reply, { status: 200, seen: 'mcp.corp.invalid /mcp' })
    t.same(seen, ['GET http://mcp.corp.invalid/mcp?a=1'])
  }
})

t.test('an exempt host, and any host without a proxy, is reached directly', async t => {
  const server = await started(t, createServer(echo))
  const { seen, host } = await startForwardProxy(t, { port: portOf(server) })
  const url = `http://127.0.0.1:${portOf(server)}/mcp`
  const env = { http_proxy: host }
  t.equal((await get(t, url, { proxy: proxyRulesOf({ ...env, no_proxy: '127.0.0.1' }) })).status, 200)
  t.equal((await get(t, url, {})).status, 200)
  t.same(seen, [])
  t.equal((await get(t, url, { proxy: proxyRulesOf(env) })).status, 200)
  t.equal(seen.length, 1, 'this machine is not exempt by itself')
})

t.test('an https request goes through a tunnel, with the TLS settings of the server', async t => {
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('mcp.corp.invalid')
  const client = authority.issue('client')
  const server = await tlsServer(t, {
    cert,
    key,
    ca: authority.ca,
    requestCert: true,
    rejectUnauthorized: true,
  })
  const { seen, host } = await startForwardProxy(t, { port: portOf(server), login: 'u:p' })
  const proxy = proxyRulesFor(`http://u:p@${host}`)
  const tls = { ca: authority.ca, cert: client.cert, key: client.key }
  const reply = await get(t, 'https://mcp.corp.invalid/mcp', { proxy, tls })
  t.same(reply, { status: 200, seen: 'mcp.corp.invalid /mcp' })
  t.same(seen, ['CONNECT mcp.corp.invalid:443'])
  const stranger = get(t, 'https://mcp.corp.invalid/mcp', { proxy })
  await t.rejects(stranger, { code: 'unavailable', message: /"tls": \{ "ca".*NODE_EXTRA_CA_CERTS/ })
})

t.test('TLS settings of a server apply without a proxy too', async t => {
  const authority = createAuthority(t)
  const client = authority.issue('client')
  const { cert, key } = authority.issue('inner.invalid')
  const server = await tlsServer(t, {
    cert,
    key,
    ca: authority.ca,
    requestCert: true,
    rejectUnauthorized: false,
  })
  const url = `https://127.0.0.1:${portOf(server)}/`
  const { ca } = authority
  await t.rejects(get(t, url, {}), { message: /certificate refused.*"ca"/ })
  await t.rejects(get(t, url, { tls: { ca } }), { message: /ALTNAME.*"servername"/ })
  t.equal((await get(t, url, { tls: { ca, servername: 'inner.invalid' } })).status, 200)
  t.equal((await get(t, url, { tls: { insecure: true } })).status, 200)
  const encrypted = { ca, servername: 'inner.invalid', cert: client.cert, key: client.key }
  t.equal((await get(t, url, { tls: encrypted })).status, 200)
})

t.test('errors of the proxy name it and its setting, without its password', async t => {
  const server = await started(t, createServer(echo))
  const [http, https] = ['http://mcp.corp.invalid/', 'https://mcp.corp.invalid/']
  const closed = await started(t, createServer())
  const gone = `127.0.0.1:${portOf(closed)}`
  await new Promise(resolve => closed.close(resolve))
  for (const [options, address, url, message] of [
    [{ login: 'u:p' }, '', http, /of "proxy" requires a user and password \(HTTP 407\)/],
    [{ login: 'u:p' }, '', https, /of "proxy" requires a user and password \(HTTP 407\)/],
    [{ login: 'u:p' }, 'u:secretpw@', https, /of "proxy" refused its user and password \(HTTP 407\)/],
    [{ refuses: 403 }, '', https, /does not allow mcp\.corp\.invalid:443 \(HTTP 403\).*NO_PROXY/],
    [{ refuses: 503 }, '', https, /cannot reach mcp\.corp\.invalid:443 \(HTTP 503\)/],
  ] as const) {
    const { host } = await startForwardProxy(t, { port: portOf(server), ...options })
    const failing = get(t, url, { proxy: proxyRulesFor(address + host) })
    await t.rejects(failing, { code: 'unavailable', message }, message.source)
    await failing.catch((error: Error) => t.notMatch(error.message, /secretpw/))
  }
  for (const url of [http, https]) {
    const proxy = proxyRulesOf({ http_proxy: gone, HTTPS_PROXY: gone })
    const name = url === http ? 'http_proxy' : 'HTTPS_PROXY'
    const message = new RegExp(
      `cannot connect to the proxy http://${gone} of ${name} \\(connection refused\\)`,
    )
    await t.rejects(get(t, url, { proxy }), { code: 'unavailable', message })
  }
  const wrong = { HTTPS_PROXY: 'socks5://127.0.0.1:1080' }
  await t.rejects(get(t, https, { proxy: proxyRulesOf(wrong) }), { message: /HTTPS_PROXY is not.*SOCKS/ })
})

t.test('a WebSocket goes through a tunnel, also with TLS', async t => {
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('mcp.corp.invalid')
  const servers = {
    'ws://mcp.corp.invalid/ws': await started(t, createServer()),
    'wss://mcp.corp.invalid/ws': await started(t, createTlsServer({ cert, key })),
  }
  for (const [url, server] of Object.entries(servers)) {
    const sockets = new WebSocketServer({ server, handleProtocols: ([first = '']) => first })
    t.teardown(() => sockets.close())
    const { seen, host } = await startForwardProxy(t, { port: portOf(server) })
    const channel = await connectWs({
      ...{ url, headers: {}, proxy: proxyRulesFor(host), tls: { ca: authority.ca } },
      connectTimeoutMs: 5000,
      signal: new AbortController().signal,
      ...{ log: silentLogger, clock: systemClock },
    })
    t.same(seen, [`CONNECT mcp.corp.invalid:${url.startsWith('wss') ? 443 : 80}`])
    await channel.close()
  }
})

t.test('metadata is fetched through the proxy, after the guard allowed its address', async t => {
  const server = await started(t, createServer(echo))
  const { seen, host } = await startForwardProxy(t, { port: portOf(server) })
  const lookup = (name: string, _options: object, done: (error: Error | null, found: never[]) => void) => {
    if (name === 'unknown.invalid') done(Object.assign(new Error('?'), { code: 'ENOTFOUND' }), [])
    else done(null, [{ address: '10.1.2.3', family: 4 }] as never[])
  }
  const fetch = createGuardedFetch({
    trusted: ['http://mcp.corp.invalid/'],
    ...{ allowHttp: true, lookup },
    proxy: () => proxyRulesFor(host),
  })
  t.equal((await fetch('http://mcp.corp.invalid/a')).status, 200)
  t.same(seen, ['GET http://mcp.corp.invalid/a'])
  const refused = { message: /is not visited/ }
  await t.rejects(fetch('https://inner.invalid/'), refused)
  await t.rejects(fetch('https://10.0.0.1/'), refused)
  await t.rejects(fetch('http://unknown.invalid/'), refused)
  t.equal(seen.length, 1, 'the proxy saw no other request')
  await t.rejects(fetch('https://unknown.invalid/'))
  t.equal(seen[1], 'CONNECT unknown.invalid:443', 'a name that only the proxy knows')
})

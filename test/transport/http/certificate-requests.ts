import { createServer } from 'node:https'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import t from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { fetchReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient } from '../../../src/transport/http/client.js'
import { connectWs } from '../../../src/transport/ws/client.js'
import { createAuthority } from '../../support/certificates.js'
import { portOf } from '../../support/ports.js'

const ALERT = /^\S+ (?:hung up; it requires|requires) a client certificate that it accepts.*"cert": "FILE"/
const HANDSHAKE = /^\S+ refused the TLS handshake; it may require a client certificate.*"key": "FILE"/
const HANGS_UP = /^\S+ hung up; it requires a client certificate that it accepts: name one in "tls"/

t.test('a server that requires a client certificate is recognized, however it refuses', async t => {
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('inner', 'IP:127.0.0.1')
  const base: TlsOptions = { cert, key, ca: authority.ca, requestCert: true }
  const rejecting = (maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
    createServer({ ...base, rejectUnauthorized: true, maxVersion }, (_request, response) => response.end())
  const closing = (maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
    createTlsServer({ ...base, rejectUnauthorized: false, maxVersion }, socket => {
      socket.on('error', () => undefined)
      socket.destroy()
    })
  const http = createHttpClient({ tls: { ca: authority.ca } })
  t.teardown(() => http.close())
  for (const [name, server, message] of [
    ['an alert in the handshake (TLS 1.2)', rejecting('TLSv1.2'), HANDSHAKE],
    ['an alert after the handshake (TLS 1.3)', rejecting('TLSv1.3'), ALERT],
    ['a closed connection (TLS 1.2)', closing('TLSv1.2'), HANGS_UP],
    ['a closed connection (TLS 1.3)', closing('TLSv1.3'), HANGS_UP],
  ] as const) {
    const address = `127.0.0.1:${await portOf(t, server)}/`
    const { signal } = new AbortController()
    const expected = { message, remote: 'certificate' }
    const get = fetchReply(http, { method: 'GET', url: `https://${address}`, headers: {} }, signal)
    await t.rejects(get, expected, `${name}, HTTP`)
    const options = {
      url: `wss://${address}`,
      headers: {},
      tls: { ca: authority.ca },
      connectTimeoutMs: 5000,
    }
    const ws = connectWs({ ...options, signal, log: silentLogger, clock: systemClock })
    await t.rejects(ws, expected, `${name}, WebSocket`)
  }
})

t.test('a server that asks for a certificate, but does not need one, may still fail', async t => {
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('inner', 'IP:127.0.0.1')
  const options = { cert, key, ca: authority.ca, requestCert: true, rejectUnauthorized: false }
  const server = createServer(options, ({ socket }, response) => {
    response.writeHead(200)
    response.write('begun')
    setImmediate(() => socket.destroy())
  })
  const url = `https://127.0.0.1:${await portOf(t, server)}/`
  const http = createHttpClient({ tls: { ca: authority.ca } })
  t.teardown(() => http.close())
  const reply = await fetchReply(http, { method: 'GET', url, headers: {} }, new AbortController().signal)
  const ended = new Promise(resolve =>
    reply.read({ data: () => undefined, ended: resolve, drop: () => undefined }),
  )
  t.match(await ended, { code: 'disconnected', message: /was lost/, remote: undefined })
})

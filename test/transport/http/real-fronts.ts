import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { proxyRulesFor } from '../../../src/kernel/machine/forward-proxy.js'
import { collect, fetchReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient, type HttpClientOptions } from '../../../src/transport/http/client.js'
import type { HttpClient } from '../../../src/wire/http.js'
import { createAuthority } from '../../support/certificates.js'
import { start, without } from '../../support/debian-programs.js'
import { accepts, freePort, portOf } from '../../support/ports.js'
import { until } from '../../support/processes.js'

const get = async (t: Test, url: string, options: HttpClientOptions, headers = {}) => {
  const http = createHttpClient(options)
  t.teardown(() => http.close())
  return await fetchReply(http, { method: 'GET', url, headers }, new AbortController().signal)
}

const login = 'ann:secret'

t.test(
  'tinyproxy passes http requests on whole, and https through a tunnel',
  {
    skip: without('tinyproxy'),
  },
  async t => {
    const port = await freePort()
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', 'MaxClients 20', 'BasicAuth ann secret']
    await start(t, 'tinyproxy', ['-d', '-c'], () => `${lines.join('\n')}\n`)
    await until(() => accepts(port), 'tinyproxy')
    const authority = createAuthority(t)
    const { cert, key } = authority.issue('inner', 'IP:127.0.0.1')
    const plain = await portOf(
      t,
      createServer((_request, response) => response.end('plain')),
    )
    const secret = await portOf(
      t,
      createTlsServer({ cert, key }, (_request, response) => response.end('secret')),
    )
    const options = { proxy: proxyRulesFor(`http://${login}@127.0.0.1:${port}`), tls: { ca: authority.ca } }
    for (const url of [`http://127.0.0.1:${plain}/`, `https://127.0.0.1:${secret}/`]) {
      const reply = await get(t, url, options)
      t.equal(reply.status, 200, url)
      reply.discard()
      const message = /requires a user and password \(HTTP 407\)/
      await t.rejects(get(t, url, { ...options, proxy: proxyRulesFor(`127.0.0.1:${port}`) }), { message })
    }
  },
)

t.test(
  'squid resolves names of its network, and its refusals are named',
  { skip: without('squid') },
  async t => {
    const port = await freePort()
    const plain = await portOf(
      t,
      createServer((_request, response) => response.end('plain')),
    )
    await start(t, 'squid', ['-N', '-f'], folder => {
      writeFileSync(join(folder, 'hosts'), '127.0.0.1 mcp.corp.invalid\n')
      return [
        `http_port 127.0.0.1:${port}`,
        `hosts_file ${folder}/hosts`,
        `pid_filename none`,
        ...['access_log none', 'cache_log /dev/null', 'cache deny all', 'shutdown_lifetime 0 seconds'],
        ...['acl CONNECT method CONNECT', 'http_access deny CONNECT', 'http_access allow all', ''],
      ].join('\n')
    })
    await until(() => accepts(port), 'squid')
    const options = { proxy: proxyRulesFor(`127.0.0.1:${port}`) }
    const reply = await get(t, `http://mcp.corp.invalid:${plain}/`, options)
    t.equal(reply.status, 200)
    reply.discard()
    const refused = { message: /the proxy http:\/\/127.* does not allow mcp\.corp\.invalid:443 \(HTTP 403\)/ }
    await t.rejects(get(t, 'https://mcp.corp.invalid/', options), refused)
    const unknown = { message: /the proxy .* cannot reach http:\/\/other\.corp\.invalid \(HTTP 50\d\)/ }
    await t.rejects(get(t, 'http://other.corp.invalid/', options), unknown)
  },
)

t.test('nginx compresses events, and each arrives when it is sent', { skip: without('nginx') }, async t => {
  const port = await freePort()
  let send: ((event: string) => void) | undefined
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    send = event => void response.write(event)
    response.flushHeaders()
  })
  t.teardown(() => server.closeAllConnections())
  const behind = await portOf(t, server)
  await start(t, 'nginx', ['-c'], folder => {
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${folder}/${name};`,
    )
    const front = `gzip on; gzip_proxied any; gzip_types *; gzip_min_length 0; proxy_buffering off;`
    return `daemon off; master_process off; pid ${folder}/pid; error_log /dev/null; events {}
http { access_log off; ${paths.join(' ')} ${front}
server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${behind}; proxy_http_version 1.1; } } }
`
  })
  await until(() => accepts(port), 'nginx')
  const reply = await get(t, `http://127.0.0.1:${port}/`, {}, { 'accept-encoding': 'gzip, deflate, br' })
  t.equal(reply.headers['content-encoding'], 'gzip')
  let got = ''
  reply.read({
    data: chunk => {
      got += chunk.toString()
    },
    ended: () => undefined,
    drop: () => undefined,
  })
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    send?.(event)
    await until(() => got.endsWith(event), event)
  }
  reply.abort()
})

t.test(
  'haproxy keeps each connection at the server that its cookie names',
  { skip: without('haproxy') },
  async t => {
    const port = await freePort()
    const behind = async (name: string): Promise<string> => {
      const server = createServer((_request, response) => response.end(name))
      return `server ${name} 127.0.0.1:${await portOf(t, server)} cookie ${name}`
    }
    const servers = [await behind('one'), await behind('two')]
    await start(t, 'haproxy', ['-db', '-f'], () =>
      [
        ...['defaults', 'mode http', 'timeout connect 5s', 'timeout client 60s', 'timeout server 60s'],
        ...[
          'listen mcp',
          `bind 127.0.0.1:${port}`,
          'balance roundrobin',
          'cookie LB insert indirect nocache',
        ],
        ...servers,
        '',
      ].join('\n'),
    )
    await until(() => accepts(port), 'haproxy')
    const http = createHttpClient()
    t.teardown(() => http.close())
    const reached = async (connection: HttpClient): Promise<string> => {
      const request = { method: 'GET', url: `http://127.0.0.1:${port}/`, headers: {} } as const
      const reply = await fetchReply(connection, request, new AbortController().signal)
      return (await collect(reply, new LimitCounters())).toString()
    }
    const ways = new Set<string>()
    for (const connection of [http.forConnection(), http.forConnection()]) {
      const first = await reached(connection)
      ways.add(first)
      for (let i = 0; i < 4; i += 1) t.equal(await reached(connection), first)
    }
    t.equal(ways.size, 2)
  },
)

const CERTIFICATE = { message: /a client certificate that it accepts.*"cert": "FILE"/, remote: 'certificate' }

t.test('haproxy refuses connections without a client certificate', { skip: without('haproxy') }, async t => {
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('inner', 'IP:127.0.0.1')
  const ports = [await freePort(), await freePort()]
  await start(t, 'haproxy', ['-db', '-f'], folder => {
    writeFileSync(join(folder, 'both.pem'), cert + key)
    const tls = `ssl crt ${folder}/both.pem ca-file ${authority.file} verify required`
    return [
      ...['defaults', 'mode http', 'timeout connect 5s', 'timeout client 60s', 'timeout server 60s'],
      ...[
        'frontend mcp',
        `bind 127.0.0.1:${ports[0]} ${tls}`,
        `bind 127.0.0.1:${ports[1]} ${tls} ssl-max-ver TLSv1.2`,
      ],
      ...['http-request return status 200', ''],
    ].join('\n')
  })
  for (const port of ports) {
    await until(() => accepts(port), 'haproxy')
    const url = `https://127.0.0.1:${port}/`
    await t.rejects(get(t, url, { tls: { ca: authority.ca } }), CERTIFICATE)
    const reply = await get(t, url, { tls: { ca: authority.ca, cert, key } })
    t.equal(reply.status, 200)
    reply.discard()
  }
})

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createPort } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { isRunning, until } from '../processes.js'

/** Serves the port of a proxy below a path, which it removes. Resolves with the address without the path. */
export type ReverseProxy = (t: Test, path: string, port: number) => Promise<string>

const portOf = (server: { address: Server['address'] }): number => (server.address() as AddressInfo).port

/** A reverse proxy of a few lines; also forwards WebSockets. */
export const strippingProxy: ReverseProxy = async (t, path, port) => {
  const target = (url = '/') => (url.startsWith(`${path}/`) ? url.slice(path.length) : undefined)
  const server = createServer((asked, answer) => {
    const below = target(asked.url)
    if (below === undefined) {
      answer.writeHead(404).end()
      return
    }
    const { method } = asked
    const headers = { ...asked.headers, host: `127.0.0.1:${port}` }
    const sent = request({ host: '127.0.0.1', port, path: below, method, headers }, got => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    answer.on('close', () => sent.destroy())
    sent.on('error', () => answer.destroy())
    asked.pipe(sent)
  })
  server.on('upgrade', (asked, socket) => {
    const to = connect(port, '127.0.0.1')
    const lines = Object.entries({ ...asked.headers, host: `127.0.0.1:${port}` }).map(
      ([name, value]) => `${name}: ${String(value)}`,
    )
    to.write([`GET ${target(asked.url) ?? '/'} HTTP/1.1`, ...lines, '', ''].join('\r\n'))
    socket.pipe(to).pipe(socket)
    for (const end of [socket, to]) end.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${portOf(server)}`
}

/** The reason to skip tests with nginx; false if it is installed. */
export const noNginx = spawnSync('nginx', ['-v']).status !== 0 && 'nginx is not installed'

/** nginx, as users configure it; its port is free until nginx opens it. */
export const nginx: ReverseProxy = async (t, path, port) => {
  const finder = createPort().listen(0, '127.0.0.1')
  await once(finder, 'listening')
  const own = portOf(finder)
  finder.close()
  const folder = join(t.testdirName, 'nginx')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    kind => `${kind}_temp_path ${folder}/${kind};`,
  )
  const server = `server {
    listen 127.0.0.1:${own};
    location ${path}/ {
      proxy_pass http://127.0.0.1:${port}/;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }`
  const map = 'map $http_upgrade $connection_upgrade { default upgrade; "" ""; }'
  writeFileSync(
    file,
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${temporary.join(' ')} ${map} ${server} }`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', file], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGTERM')
    await until(() => !isRunning(child.pid ?? 0), 'the end of nginx')
  })
  const url = `http://127.0.0.1:${own}`
  await until(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    'nginx',
  )
  return url
}

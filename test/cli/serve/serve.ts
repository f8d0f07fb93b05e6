import { once } from 'node:events'
import { cpSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import t from 'tap'
import { resolveListen } from '../../../src/cli/shared/listening.js'
import { DEFAULTS } from '../../../src/config/defaults.js'
import { parseConfig } from '../../../src/config/parse.js'
import { socketUrlOf } from '../../../src/kernel/machine/socket-path.js'
import {
  codeOnSignal,
  isRunning,
  isWindows,
  skipWithout,
  socketFile,
  until,
} from '../../support/processes.js'
import { BIN, configFile, INITIALIZE, runHere, startBin, TINY, tiny } from '../../support/proxy/start.js'

const post = (url: string, message: object, session?: string | null) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session == null ? {} : { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })

t.test('serve prints where it listens, serves, and ends its servers when it ends', async t => {
  const file = configFile(t, { one: tiny() }, { listen: { port: 1 } })
  const socket = socketFile(t)
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0', '--socket', socket])
  const line = await proxy.line(/./)
  t.match(line, /^mcp-proxy listening on http:\/\/127\.0\.0\.1:\d+\/mcp$/)
  const url = line.split(' ').at(-1) ?? ''
  t.equal((await fetch(new URL('/healthz', url))).status, 200)
  const session = (await post(url, INITIALIZE)).headers.get('mcp-session-id')
  const called = await post(
    url,
    { id: 2, method: 'tools/call', params: { name: 'one__facts', arguments: {} } },
    session,
  )
  const { pid } = JSON.parse(/\{\\"argv.*?\}/.exec(await called.text())?.[0].replaceAll('\\"', '"') ?? '{}')
  t.ok(isRunning(pid))
  proxy.child.kill('SIGTERM')
  t.equal(await proxy.exited, codeOnSignal('SIGTERM'))
  await until(() => !isRunning(pid), 'the end of the server')
  const at = url.replace(/^http:(.*)\/mcp$/, '$1')
  t.equal(
    proxy.out,
    [
      line,
      `mcp-proxy listening on http:${at}/sse (HTTP+SSE)`,
      `mcp-proxy listening on ws:${at}/ws (WebSocket)`,
      `mcp-proxy listening on ${socketUrlOf(socket)}`,
      '',
    ].join('\n'),
    'stdout holds nothing else',
  )
  t.match(proxy.err, `claude mcp add --transport http mcp-proxy ${url}`)
  t.match(proxy.err, `claude mcp add --transport sse mcp-proxy http:${at}/sse`)
  t.match(proxy.err, `"${socketUrlOf(socket)}"`)
  t.match(proxy.err, '"mcpServers": {')
  t.match(proxy.err, '"type": "http"')
  t.match(proxy.err, '"servers": {')
  t.match(proxy.err, JSON.stringify(process.execPath), 'the path of node is absolute')
  t.match(proxy.err, JSON.stringify(BIN), 'and that of the script')
  t.notMatch(proxy.err, 'npx')
})

t.test(
  'a proxy that was updated while running continues, and reports parts that it cannot load',
  { skip: skipWithout.links },
  async t => {
    const root = resolve(BIN, '../..')
    const installed = t.testdir()
    symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'), 'junction')
    for (const part of ['bin', 'config', 'dist', 'package.json']) {
      cpSync(join(root, part), join(installed, part), { recursive: true })
    }
    const bin = join(installed, 'bin/mcp-proxy.js')
    const proxy = startBin(t, ['bridge', '--port', '0', '--', process.execPath, TINY], { bin })
    const url = (await proxy.line(/\/mcp$/)).split(' ').at(-1) ?? ''
    const session = (await post(url, INITIALIZE)).headers.get('mcp-session-id')
    rmSync(join(installed, 'dist'), { recursive: true })
    const listed = await post(url, { id: 2, method: 'tools/list' }, session)
    t.match(await listed.text(), '"name":"facts"')
    const health = await fetch(new URL('/healthz', url))
    t.equal(health.status, 503)
    t.match(await health.text(), /was updated or removed since it was started, start it again/)
    // The build may name classes otherwise than their source does.
    await until(() => proxy.err.includes('"type":"Fault"'), 'the line in the log')
    proxy.child.kill('SIGTERM')
    t.equal(await proxy.exited, codeOnSignal('SIGTERM'))
  },
)

t.test('serve ends with 4 when the port is taken', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const ran = await runHere(t, 'serve', '--config', configFile(t, { one: tiny() }), '--port', String(port))
  t.match(ran, {
    code: 4,
    out: '',
    err: new RegExp(`port ${port} is already in use: choose another with --port`),
  })
})

t.test('a file may leave nothing to listen on, which is its own mistake', async t => {
  for (const listen of ['nonsense', { http: false }]) {
    const ran = await runHere(t, 'serve', '--config', configFile(t, { one: tiny() }, { listen }))
    t.match(ran, { code: 3, out: '', err: /leaves nothing to listen on.*--port NUMBER or --socket PATH/ })
  }
})

t.test('serve ends with 4 when the socket cannot be had, and no port stays open', async t => {
  const file = configFile(t, { one: tiny() }, { listen: { port: 0, sse: false, socket: '/nowhere/x.sock' } })
  t.match(await runHere(t, 'serve', '--config', file), {
    code: 4,
    out: '',
    err: isWindows ? /a local socket is a named pipe/ : /cannot listen on \/nowhere\/x\.sock/,
  })
})

t.test('an address in the file that others can reach needs --allow-remote, too', async t => {
  const file = configFile(t, { one: tiny() }, { listen: { host: '192.0.2.1' } })
  t.match(await runHere(t, 'serve', '--config', file), {
    code: 2,
    err: /192\.0\.2\.1 can be reached from other/,
  })
})

t.test('which addresses are refused is a table', async t => {
  const listen = (host: string, allowRemote = false) => resolveListen(DEFAULTS.listen, { host, allowRemote })
  for (const host of [
    '127.0.0.1',
    '127.1.2.3',
    'localhost',
    'LOCALHOST',
    '::1',
    '[::1]',
    '::ffff:127.0.0.1',
  ]) {
    t.equal(listen(host).host, host.replace(/[[\]]/g, ''))
  }
  for (const host of [
    '0.0.0.0',
    '::',
    '',
    '10.0.0.1',
    'example.com',
    '127.0.0.1.example.com',
    'localhost.example',
  ]) {
    t.throws(() => listen(host), { code: 2 }, host)
  }
  t.equal(listen('10.0.0.1', true).host, '10.0.0.1')
  const named = resolveListen({ ...DEFAULTS.listen, allowedHosts: ['a'] }, { allowedHost: ['b'], port: '0' })
  t.same(named, { ...DEFAULTS.listen, port: 0, allowedHosts: ['a', 'b'] })
})

t.test('with auth an address that others can reach needs no permission, but perhaps a name', async t => {
  const hash = `sha256:${'0'.repeat(64)}`
  const people = { alice: { tokens: [{ hash }] } }
  const resolved = (auth: object, host = '192.0.2.1') => {
    const { config } = parseConfig(JSON.stringify({ mcpServers: {}, auth }), 'test.json', {})
    return resolveListen(DEFAULTS.listen, { host }, config?.auth).host
  }
  const publicUrl = 'https://mcp.example.com'
  t.equal(resolved({ people }), '192.0.2.1')
  const issuers = [{ issuer: 'https://login.example.com' }]
  t.throws(() => resolved({ issuers }), { code: 3, message: /set auth\.publicUrl/ })
  t.throws(() => resolved({ embedded: true }), { code: 3, message: /set auth\.publicUrl/ })
  t.equal(resolved({ issuers, publicUrl }, '0.0.0.0'), '0.0.0.0')
  t.equal(resolved({ issuers }, '127.0.0.1'), '127.0.0.1')
})

t.test('a proxy with auth tells clients its public URL, and status finds it all the same', async t => {
  const publicUrl = 'https://mcp.example.com'
  const file = configFile(t, { one: tiny() }, { auth: { publicUrl, people: { alice: {} } } })
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  t.match(await proxy.line(/\/mcp$/), /listening on https:\/\/mcp\.example\.com\/mcp$/)
  await until(async () => {
    const { code, out } = await runHere(t, 'status', '--config', file)
    return code === 0 && /^auth: no tokens; 0 refused credentials$/m.test(out)
  }, 'the status')
})

t.test('flags add to what the file listens on', async t => {
  const onlySocket = { ...DEFAULTS.listen, host: '10.0.0.1', http: false, socket: '/a' }
  t.same(resolveListen(onlySocket, {}), onlySocket, 'an address that is not listened on needs no permission')
  t.match(resolveListen(onlySocket, { host: '::1' }), { http: true, host: '::1', socket: '/a' })
  t.throws(() => resolveListen(onlySocket, { port: '1' }), { code: 2 })
  t.match(resolveListen(onlySocket, { socket: 'unix:///b' }), { http: false, socket: '/b' })
  const rows: readonly (readonly [socket: string, path: string])[] = [
    ['/run/x.sock', resolve('/run/x.sock')],
    ['x.sock', resolve('x.sock')],
    ['unix:/run/my%20x', '/run/my x'],
    ['pipe:///mcp', '\\\\.\\pipe\\mcp'],
    ['\\\\.\\pipe\\mcp', '\\\\.\\pipe\\mcp'],
  ]
  for (const [socket, path] of rows) t.equal(resolveListen(DEFAULTS.listen, { socket }).socket, path)
  for (const socket of ['', 'unix:x', 'pipe:x', 'unix:']) {
    t.throws(() => resolveListen(DEFAULTS.listen, { socket }), { code: 2 }, socket)
  }
})

import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { spanText } from '../../../src/cli/shared/output/output.js'
import { parseStatus, shownStatus } from '../../../src/cli/status/status.js'
import { RawClient } from '../../support/client/raw-client.js'
import { isWindows, socketFile, until } from '../../support/processes.js'
import { configFile, type Running, runHere, setEnv, startBin, tiny } from '../../support/proxy/start.js'

const SECRET = 'hunter2hunter2'

const start = async (t: Test, servers: object, more: object = {}) => {
  const file = configFile(t, servers, more)
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await proxy.line(/listening/)).split(' ').at(-1) ?? ''
  return { proxy, file, url }
}

const end = async (proxy: Running): Promise<void> => {
  proxy.child.kill('SIGTERM')
  await proxy.exited
}

t.test('status shows how the running proxy is, and each of its servers, without secrets', async t => {
  t.match(await runHere(t, 'status'), { code: 4, out: '', err: /no proxy of this user runs here/ })
  const dies = `console.error('${SECRET}'); process.exit(3)`
  const { proxy, file, url } = await start(t, {
    one: tiny(),
    dies: { command: process.execPath, args: ['-e', dies], env: { API_TOKEN: SECRET } },
    never: tiny(),
  })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  // The record is written right after the port is open.
  await until(async () => (await runHere(t, 'status')).code === 0, 'the record')
  const { out } = await runHere(t, 'status')
  t.match(out, /^mcp-proxy \S+, pid \d+, ready, up \d+[smh], 1 session, 0 calls under way, \d+ MiB$/m)
  t.match(out, /^NAME +STATE +SINCE +TRANSPORT +REVISION +PID +TOOLS +CLIENTS +FAILURES +LAST ERROR$/m)
  t.match(out, /^one +ready +\d+[sm] +stdio +2025-11-25 +\d+ +6 +1 +0$/m)
  t.match(out, /^dies +(backoff|starting) .* \d+[sm] ago: D031: exited with code 3; it last wrote: \*\*\*$/m)
  const json = await runHere(t, 'status', '--json', '--config', file)
  const found = JSON.parse(json.out)
  t.match(found, { name: 'mcp-proxy', pid: proxy.child.pid, state: 'ready', sessions: 1, calls: 0 })
  t.match(found.servers[0], {
    name: 'one',
    state: 'ready',
    transport: 'stdio',
    items: { tools: 6, prompts: 1 },
  })
  t.match(found.servers[1].lastError, { message: 'exited with code 3' })
  for (const path of ['/mcp', '/sse/', '/servers/one/mcp'])
    t.same((await runHere(t, 'status', '--url', new URL(path, url).href)).code, 0, path)
  t.match(await runHere(t, 'status', '--tools'), { code: 0, out: '', err: /no tool has been called yet/ })
  await client.call(1, 'one__echo')
  await client.call(2, 'one__fail')
  await client.call(3, 'one__echo')
  const tools = await runHere(t, 'status', '--tools')
  t.match(tools.out, /^TOOL +SERVER +CALLS +FAILED +P50 +P99\none__echo +one +2 +0 +[\d.]+ ms +[\d.]+ ms\n/)
  t.match(JSON.parse((await runHere(t, 'status', '--tools', '--json')).out), {
    version: 1,
    tools: [
      { name: 'one__echo', calls: 2, errors: 0 },
      { name: 'one__fail', calls: 1, errors: 1 },
    ],
  })
  t.match(await runHere(t, 'status', '--tools', '--url', url), { code: 2, err: /without --url/ })
  t.match(await runHere(t, 'status', '--cluster'), {
    code: 4,
    out: '',
    err: /not part of a cluster.*no "cluster"/s,
  })
  t.notMatch(out + json.out, SECRET)
  await end(proxy)
  t.match(await runHere(t, 'status'), { code: 4, err: /no proxy of this user runs here/ })
})

t.test('of several proxies one must be chosen', async t => {
  const first = await start(t, { one: tiny() })
  const second = startBin(t, ['bridge', '--port', '0', '--', process.execPath, '-e', '0'])
  await second.line(/listening/)
  await until(async () => (await runHere(t, 'status')).code === 2, 'both records')
  t.match((await runHere(t, 'status')).err, new RegExp(`serve, pid ${first.proxy.child.pid}, ${first.url}`))
  t.equal((await runHere(t, 'status', '--config', first.file)).code, 0)
  t.equal((await runHere(t, 'status', '--config', '/nowhere.json')).code, 4)
  await Promise.all([end(first.proxy), end(second)])
})

t.test('any other proxy does not hide the daemon of the user’s own file', { skip: isWindows }, async t => {
  const home = t.testdir()
  setEnv(t, { HOME: home })
  const own = join(home, '.config', 'mcp-proxy', 'mcp.json')
  mkdirSync(dirname(own), { recursive: true })
  writeFileSync(own, JSON.stringify({ mcpServers: { one: tiny() } }))
  const { out } = await runHere(t, 'daemon', 'start', '--json')
  const { pid } = JSON.parse(out)
  t.teardown(() => runHere(t, 'daemon', 'stop'))
  const bridge = startBin(t, ['bridge', '--port', '0', '--', process.execPath, '-e', '0'])
  await bridge.line(/listening/)
  const of = (other: number) => ['--pid', String(other)]
  await until(async () => (await runHere(t, 'status', ...of(bridge.child.pid ?? 0))).code === 0, 'its record')
  t.match((await runHere(t, 'status')).out, new RegExp(`, pid ${pid}, `))
  t.match((await runHere(t, 'status', ...of(pid))).out, new RegExp(`, pid ${pid}, `))
  for (const words of [['status', '--env'], ['status', '--tools'], ['why', 'one'], ['logs']])
    t.notMatch((await runHere(t, ...words)).err, /several proxies/, words.join(' '))
  t.match(await runHere(t, 'status', ...of(1)), { code: 4, err: /no proxy of this user runs here/ })
  await end(bridge)
})

t.test('a proxy without a port is asked on its private socket', async t => {
  const proxy = startBin(t, [
    'bridge',
    '--to',
    'unix',
    '--socket',
    socketFile(t),
    '--',
    process.execPath,
    '-e',
    '0',
  ])
  await proxy.line(/listening/)
  await until(async () => (await runHere(t, 'status')).code === 0, 'the record')
  t.match((await runHere(t, 'status')).out, new RegExp(`^mcp-proxy \\S+, pid ${proxy.child.pid}, ready`))
  const { version, proxy: shown } = JSON.parse((await runHere(t, 'status', '--json')).out)
  t.same([version, shown.name], [1, 'mcp-proxy'], 'the version is that of the document')
  await end(proxy)
})

t.test('a server that is not mcp-proxy is reported', async t => {
  const server = createServer((_request, response) => response.end('<html>')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = async (url: string) => {
    const { code, err } = await runHere(t, 'status', '--url', url)
    return [code, err]
  }
  t.match(await ask(`http://127.0.0.1:${port}/mcp`), [4, `mcp-proxy: 127.0.0.1:${port} is not mcp-proxy\n`])
  t.match(await ask('http://127.0.0.1:1/mcp'), [4, /127\.0\.0\.1:1 cannot be reached: nothing answers/])
  t.match(await ask('nonsense'), [2, /--url must be a complete http address/])
  t.match(await ask('unix:///x'), [2, /--url must be a complete http address/])
})

t.test('a span of time is told in its largest unit', async t => {
  const rows = { 0: '0s', 59999: '59s', 60000: '1m', 3599000: '59m', 7200000: '2h', 200000000: '2d' }
  for (const [ms, text] of Object.entries(rows)) t.equal(spanText(Number(ms)), text)
})

t.test('status names the limits that were reached, and marks lists that are not shown whole', async t => {
  const { proxy, url } = await start(t, { one: tiny() }, { limits: { items: 4, body: '4KiB' } })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  t.equal((await client.call(1, 'one__echo', JSON.stringify({ s: 'x'.repeat(5000) }))).status, 413)
  const { out } = await runHere(t, 'status', '--url', url)
  t.match(out, /^one +ready .* 4\+ +1 +0/m)
  t.match(out, /^Limits that were reached \(D080\): .*body 1 time, last \d+s ago/m)
  t.match(out, /items \d+ times?, last/)
  const log = proxy.err
  t.match(log, /"limit":"body","max":4096,"hits":1/)
  await end(proxy)
})

t.test('status reports what needs its user: a refused file, a restart, a login, a limit', async t => {
  const last = { at: '2026-08-01T10:00:00Z' }
  const config = { file: '/c/mcp.json', generation: 2, loadedAt: '2026-08-01T09:00:00Z' }
  const text = (more: object) =>
    shownStatus(
      parseStatus(
        JSON.stringify({
          ...{ name: 'mcp-proxy', version: '1', pid: 7, state: 'serving', upMs: 1000, sessions: 1, calls: 2 },
          ...{ rssBytes: 2 ** 20, pressure: 0, servers: [], ...more },
        }),
        'here',
      ),
    )
  const refused = { ...config, lastReload: { ...last, result: 'refused', problems: ['mcp.json:1: bad'] } }
  t.match(
    text({ config: refused }),
    /NOT RELOADED at 2026\S+ \(D014\), the old one stays:\n {2}mcp\.json:1: bad$/m,
  )
  const waiting = { ...config, lastReload: { ...last, result: 'ok', needRestart: ['listen', 'auth'] } }
  t.match(text({ config: waiting }), /^only after a restart \(D015\): listen, auth$/m)
  t.match(text({ pressure: 2 }), /1 MiB, short of memory/)
  t.match(
    text({ auth: { people: 0, issuers: [], embedded: false, refused: 1 } }),
    /^auth: no tokens; 1 refused/m,
  )
  t.match(
    text({ auth: { people: 2, issuers: ['https://i.example'], embedded: true, refused: 0 } }),
    /^auth: tokens of 2 people, https:\/\/i\.example, its own authorization server; /m,
  )
  t.match(text({}), /, 2 calls under way, 1 MiB/)
  const call = { client: 3, method: 'tools/call', server: 'web', name: 'build', where: 'server' }
  const inFlight = [
    { ...call, clientName: 'claude-code', ageMs: 1_900_000 },
    { ...call, server: undefined, name: undefined, where: 'proxy', ageMs: 5 },
  ]
  const calls = text({ calls: 5, oldestCallMs: 1_900_000, inFlight })
  t.match(calls, /, 5 calls under way, the oldest for 31m, /)
  t.match(calls, /^31m +web +build +claude-code +at its server\n0s +- +tools\/call +client 3 +in the proxy$/m)
  t.match(calls, /^and 3 more calls$/m)
  const server = {
    ...{ name: 'web', state: 'waiting', why: 'its login', connections: 0, stateMs: 0, transport: 'http' },
    ...{ pids: [], clients: 0, failures: 0, principals: { served: 3, signedIn: 1 } },
  }
  const each = text({ servers: [server], limits: { calls: { hits: 2, agoMs: 5000 } } })
  t.match(each, /^web: one login for each user; 1 of 3 here are signed in$/m)
  t.match(each, /^Limits that were reached \(D080\): calls 2 times, last 5s ago$/m)
  t.throws(() => parseStatus('{}', 'here'), { message: 'here is not mcp-proxy' })
})

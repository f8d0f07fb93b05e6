import t from 'tap'
import { configFile, INITIALIZE, startBin, tiny } from '../support/cli.js'
import { tracedImports } from '../support/imports.js'
import { isRunning, until } from '../support/processes.js'

t.test('stdio serves one client, loads no web framework, and ends soon after stdin', async t => {
  const traced = tracedImports(t)
  const file = configFile(t, { one: tiny('--stubborn'), two: tiny() })
  const proxy = startBin(t, ['stdio', '--config', file], traced)
  proxy.send(INITIALIZE)
  t.match(JSON.parse(await proxy.line(/"id":1/)), { result: { serverInfo: { name: 'mcp-proxy' } } })
  proxy.send(
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'one__facts', arguments: {} } },
  )
  const { result } = JSON.parse(await proxy.line(/"id":2/))
  const { pid } = JSON.parse(result.content[0].text)
  t.ok(isRunning(pid))
  const endedMs = performance.now()
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  t.ok(performance.now() - endedMs < 5000, 'a host waits no longer before it kills')
  await until(() => !isRunning(pid), 'the end of a server that ignores the end of its stdin')
  for (const line of proxy.out.trim().split('\n')) t.ok(JSON.parse(line), 'stdout holds the protocol only')
  const loaded = traced.read()
  t.ok(loaded.includes('yargs'), 'the trace works')
  t.notOk(loaded.includes('express'))
})

t.test('check loads nothing of the proxy', async t => {
  const traced = tracedImports(t)
  const checked = startBin(t, ['check', '--config', configFile(t, { one: tiny() })], traced)
  t.equal(await checked.exited, 0)
  const loaded = traced.read()
  t.ok(loaded.includes('zod'), 'the trace works')
  t.same(
    loaded.filter(name => ['pino', 'undici', 'express', 'cross-spawn', 'ws'].includes(name)),
    [],
  )
})

t.test('a signal while stdio serves ends with 0, a second one at once with its own code', async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny('--stubborn') })])
  proxy.send(INITIALIZE)
  await proxy.line(/"id":1/)
  proxy.child.kill('SIGTERM')
  await until(() => proxy.err.includes('"closing"'), 'a word about closing')
  proxy.child.kill('SIGINT')
  t.equal(await proxy.exited, 130)
})

t.test('a client that stops reading is no reason to crash', async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny() })])
  proxy.send(INITIALIZE)
  await proxy.line(/"id":1/)
  proxy.child.stdout?.destroy()
  for (let id = 2; id < 20; id += 1) proxy.send({ id, method: 'ping' })
  t.equal(await proxy.exited, 0)
  t.notMatch(proxy.err, 'EPIPE')
})

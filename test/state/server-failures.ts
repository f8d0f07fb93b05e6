import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createProxy, type ProxyOptions } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { ServerFailures } from '../../src/state/server-failures.js'
import { FakeClock } from '../support/fake-clock.js'
import { rawServer } from '../support/proxy/start.js'
import { FakeServer } from '../support/server/fake-server.js'

const MISSING = { command: 'no-such-program-here' }

const proxyOf = (t: Test, server: object, options: ProxyOptions, more: object = {}) => {
  const text = JSON.stringify({ mcpServers: { a: server }, startupWait: '10s', ...more })
  const { config } = parseConfig(text, join(tmpdir(), 'mcp.json'), process.env)
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config, options)
  t.teardown(() => proxy.close())
  return { proxy, status: () => proxy.status().servers[0] }
}

/** Runs a proxy that tries to start the server, as `init` does. */
const tryOnce = async (t: Test, server: object, options: ProxyOptions, more: object = {}): Promise<void> => {
  const { proxy } = proxyOf(t, { ...server, start: 'eager' }, { ...options, isFirstStart: true }, more)
  await proxy.startOnly()
  await proxy.close()
}

t.test('a program that could not be started is known to the next proxy, until its entry changes', async t => {
  const options = { stateDir: t.testdir({}) }
  await tryOnce(t, MISSING, options)
  const { proxy, status } = proxyOf(t, MISSING, options)
  t.match(status(), { state: 'failed', doctor: 'D030', why: /command not found/, failures: 1 })
  t.match(status()?.lastError, { message: /command not found/, agoMs: Number })
  await proxy.close()
  t.match(proxyOf(t, MISSING, options).status(), { state: 'failed' }, 'also to the one after')
  t.match(proxyOf(t, { command: 'other-program' }, options).status(), { state: 'idle', why: undefined })
})

t.test('a server that is reached loses its recorded failure', async t => {
  const stateDir = t.testdir({})
  const server = { ...rawServer(), cwd: stateDir }
  const broken = { ...server, args: [join(stateDir, 'server.mjs')] }
  await tryOnce(t, broken, { stateDir })
  t.match(proxyOf(t, broken, { stateDir }).status(), { state: 'failed', doctor: 'D031' })
  writeFileSync(join(stateDir, 'server.mjs'), 'process.exit(0)')
  t.match(proxyOf(t, broken, { stateDir }).status(), { state: 'idle' }, 'its file has changed')
  const { proxy, status } = proxyOf(t, server, { stateDir })
  await proxy.startOnly()
  t.match(status(), { state: 'ready', lastError: undefined })
})

t.test('where nothing is to be kept, no failure is', async t => {
  const stateDir = t.testdir({})
  await tryOnce(t, MISSING, { stateDir }, { knownServers: false })
  t.match(proxyOf(t, MISSING, { stateDir }).status(), { state: 'idle' })
})

t.test('a missing login is forgotten after a login, and when the server is reached', async t => {
  const stateDir = t.testdir({})
  const { config } = parseConfig('{"mcpServers":{"a":{"url":"http://127.0.0.1:1/mcp"}}}', 'mcp.json', {})
  const { options } = new FakeServer('a', {})
  let loginMs = 0
  const failures = () =>
    new ServerFailures({
      ...{ stateDir, clock: new FakeClock(), log: silentLogger },
      configOf: () => config?.servers[0],
      lastLoginMs: () => loginMs,
    })
  const one = failures()
  const why = new Fault('unauthorized', 'it requires a login', { data: { reason: 'needs-auth', other: 1 } })
  one.keep(options, { why, atMs: 1_000_000, failures: 0 })
  await one.close()
  t.match(failures().lastOf(options), {
    why: { code: 'unauthorized', message: 'it requires a login', data: { reason: 'needs-auth' } },
    failures: 0,
  })
  loginMs = Date.now() + 1000
  t.equal(failures().lastOf(options), undefined)
  loginMs = 0
  const two = failures()
  t.not(two.lastOf(options), undefined)
  two.keep(options, undefined)
  await two.close()
  t.equal(failures().lastOf(options), undefined)
})

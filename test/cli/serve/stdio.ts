import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { isRunning, skipWithout, tracedImports, until } from '../../support/processes.js'
import { configFile, INITIALIZE, startBin, tiny } from '../../support/proxy/start.js'

t.test('stdio serves one client, loads nothing for others or for mistakes, and ends with stdin', async t => {
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
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  await until(() => !isRunning(pid), 'the end of a server that ignores the end of its stdin')
  for (const line of proxy.out.trim().split('\n')) t.ok(JSON.parse(line), 'stdout holds the protocol only')
  const loaded = traced.read()
  t.ok(loaded.includes('jsonc-parser'), 'the trace works')
  t.same(
    loaded.filter(name => ['express', 'ws', 'undici', 'yargs', 'zod'].includes(name)),
    [],
  )
})

t.test('check loads nothing of the proxy', async t => {
  const traced = tracedImports(t)
  const checked = startBin(t, ['check', '--config', configFile(t, { one: tiny() })], traced)
  t.equal(await checked.exited, 0)
  const loaded = traced.read()
  t.ok(loaded.includes('jsonc-parser'), 'the trace works')
  t.same(
    loaded.filter(name => ['undici', 'express', 'ws'].includes(name)),
    [],
  )
})

t.test(
  'a second signal while stdio serves ends at once, with its own code',
  { skip: skipWithout.signals },
  async t => {
    const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny('--stubborn') })])
    proxy.send(INITIALIZE)
    await proxy.line(/"id":1/)
    // One right after the other: the end must still be under way when the second comes. The system may swap
    // them.
    proxy.child.kill('SIGTERM')
    proxy.child.kill('SIGINT')
    const code = await proxy.exited
    t.ok(code === 130 || code === 143, `ended with ${code}, and not in order with 0`)
  },
)

t.test('a signal while stdio serves ends in order, with 0', { skip: skipWithout.signals }, async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny() })])
  proxy.send(INITIALIZE)
  await proxy.line(/"id":1/)
  proxy.child.kill('SIGTERM')
  t.equal(await proxy.exited, 0)
  t.match(proxy.err, '"closing"')
})

t.test('a client that stops reading does not crash stdio', async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny() })])
  proxy.send(INITIALIZE)
  await proxy.line(/"id":1/)
  proxy.child.stdout?.destroy()
  for (let id = 2; id < 20; id += 1) proxy.send({ id, method: 'ping' })
  t.equal(await proxy.exited, 0)
  t.notMatch(proxy.err, 'EPIPE')
})

t.test('a dialogue that is written at once gets its answers before the end', async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: tiny() })])
  proxy.send(
    INITIALIZE,
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'one__facts', arguments: {} } },
    { id: 3, method: 'tools/list' },
  )
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  const ids = proxy.out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { id: number; result?: object })
  t.same(
    ids
      .filter(({ result }) => result !== undefined)
      .map(({ id }) => id)
      .sort(),
    [1, 2, 3],
  )
})

/** Writes a program that only the login shell's PATH has, and a shell that notes when it is asked. */
const behindShell = (t: Test, command: string, args: readonly string[]) => {
  const folder = dirname(configFile(t, {}))
  const tools = join(folder, 'tools')
  mkdirSync(tools)
  const write = (file: string, ...lines: readonly string[]) =>
    writeFileSync(file, ['#!/bin/sh', ...lines].join('\n'), { mode: 0o755 })
  write(join(tools, 'server'), `exec ${[command, ...args].map(word => `'${word}'`).join(' ')}`)
  const [asked, shell] = [join(folder, 'asked'), join(folder, 'shell')]
  write(shell, `: > '${asked}'; PATH="${tools}:$PATH"; export PATH; eval "$2"`)
  return { env: { PATH: '/usr/bin:/bin', SHELL: shell }, wasAsked: () => existsSync(asked) }
}

const LOGIN = { skip: skipWithout.modes }

t.test('stdio finds a program on the PATH of the login shell', LOGIN, async t => {
  const { command, args } = tiny()
  const { env, wasAsked } = behindShell(t, command, args)
  const calls: [name: string, entry: object][] = [
    ['bare', { command: 'server' }],
    ['wrapped', { command: 'env', args: ['server'] }],
    ['shelled', { command: 'sh', args: ['-c', 'exec server'] }],
  ]
  const file = configFile(t, Object.fromEntries(calls))
  const proxy = startBin(t, ['stdio', '--config', file], { env })
  proxy.send(INITIALIZE, { method: 'notifications/initialized' })
  await proxy.line(/"id":1/)
  for (const [index, [name]] of calls.entries()) {
    const id = `call ${index}`
    proxy.send({ id, method: 'tools/call', params: { name: `${name}__echo`, arguments: {} } })
    t.ok(JSON.parse(await proxy.line(new RegExp(`"id":"${id}"`))).result, name)
  }
  t.ok(wasAsked())
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
})

t.test('stdio asks no login shell for programs that it finds, or with shellEnv off', LOGIN, async t => {
  const { command, args } = tiny()
  const { env, wasAsked } = behindShell(t, command, args)
  const call = { id: 2, method: 'tools/call', params: { name: 's__echo', arguments: {} } }
  const entries = [
    [{ command, args }, {}, /"result"/],
    [{ command: 'server' }, { daemon: { shellEnv: false } }, /command not found/],
    [{ command: 'server', env: { PATH: '/bin' } }, {}, /command not found/],
  ] as const
  for (const [entry, more, answer] of entries) {
    const proxy = startBin(t, ['stdio', '--config', configFile(t, { s: entry }, more)], { env })
    proxy.send(INITIALIZE, { method: 'notifications/initialized' }, call)
    t.match(await proxy.line(/"id":2/), answer)
    proxy.child.stdin?.end()
    await proxy.exited
  }
  t.notOk(wasAsked())
})

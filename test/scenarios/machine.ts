import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { ProxyStatus } from '../../src/telemetry/status/status.js'
import { RawClient } from '../support/client/raw-client.js'
import { codeOnSignal, endWith, isRunning, OWN_GROUP, skipWithout, until } from '../support/processes.js'
import { BIN, configFile, rawServer, tiny } from '../support/proxy/start.js'

interface Served {
  readonly child: ChildProcess
  readonly url: string
  readonly file: string
  readonly exited: Promise<unknown>
}

/**
 * Starts `serve`, with a stderr of the test's choice, and through a shell that may take something away from
 * it.
 */
const serve = async (
  t: Test,
  servers: object,
  {
    more = {},
    stderr = 'ignore',
    shell,
  }: { more?: object; stderr?: 'pipe' | 'ignore' | number; shell?: string } = {},
): Promise<Served> => {
  const file = configFile(t, servers, more)
  const argv = [process.execPath, BIN, 'serve', '--config', file, '--port', '0']
  const [program = '', ...args] =
    shell === undefined ? argv : ['/bin/sh', '-c', `${shell}; exec "$@"`, 'sh', ...argv]
  const child = spawn(program, args, { ...OWN_GROUP, stdio: ['ignore', 'pipe', stderr] })
  let out = ''
  child.stdout?.on('data', chunk => {
    out += String(chunk)
  })
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal)
  endWith(t, child)
  await until(() => /listening on (http\S+\/mcp)\n/.test(out) || child.exitCode !== null, 'the proxy')
  return { child, file, exited, url: /listening on (http\S+\/mcp)\n/.exec(out)?.[1] ?? '' }
}

const introduced = async (url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize()
  return client
}

/** What the server echoes, or the whole answer where it is something else. */
const echoed = async (client: RawClient, id: number): Promise<string> => {
  const { message, text } = (await client.call(id, 'a__echo', `{"n":${id}}`)).last
  return String(message.result?.content?.[0]?.text ?? text)
}

const status = async (url: string): Promise<ProxyStatus> =>
  (await (await fetch(new URL('/status', url))).json()) as ProxyStatus

/** Writes so many lines to stderr every 20 ms, and serves beside that. */
const noisy = (lines: number, length: number) => ({
  command: process.execPath,
  args: [
    '--input-type=module',
    '-e',
    `const line = 'x'.repeat(${length})
     setInterval(() => { for (let n = 0; n < ${lines}; n += 1) console.error(line) }, 20)
     await import(${JSON.stringify(pathToFileURL(rawServerFile()).href)})`,
  ],
  start: 'eager',
})

function rawServerFile(): string {
  return (rawServer() as { args: string[] }).args[0] ?? ''
}

t.test('an unread stderr blocks neither calls nor shutdown', async t => {
  const more = { log: { level: 'debug' }, audit: 'stderr', drain: '1s' }
  // Many hosts give us a pipe and never read it.
  const loud = noisy(20, 2000)
  const proxy = await serve(t, { a: rawServer(), n1: loud, n2: loud, n3: loud }, { more, stderr: 'pipe' })
  const client = await introduced(proxy.url)
  const pipe = proxy.child.stderr as Socket
  // The pipe is full when its reader has not been given anything new for a while.
  await until(() => pipe.readableLength > 0, 'something to read')
  for (let id = 1; id <= 200; id += 1) t.equal(await echoed(client, id), `{"n":${id}}`)
  proxy.child.kill('SIGTERM')
  t.equal(await proxy.exited, codeOnSignal('SIGTERM'))
})

t.test('a terminal stopped with Ctrl-S blocks nothing else', { skip: skipWithout.script }, async t => {
  const file = configFile(t, { a: rawServer(), n1: noisy(10, 200) }, { log: { level: 'debug' } })
  const command = [process.execPath, BIN, 'serve', '--config', file, '--port', '0']
  // Without `exec`, a shell that stays in front of it may die of the Ctrl-C in its place.
  const line = `exec ${command.map(word => `'${word}'`).join(' ')}`
  const terminal = spawn('script', ['-qfec', line, '/dev/null'], OWN_GROUP)
  endWith(t, terminal)
  let shown = ''
  terminal.stdout.on('data', chunk => {
    shown += String(chunk)
  })
  const address = /listening on (http\S+\/mcp)/
  await until(() => address.test(shown), 'the proxy')
  const client = await introduced(address.exec(shown)?.[1] ?? '')
  terminal.stdin.write('\x13')
  // What still arrives when it has stopped was on its way.
  let seen = -1
  await until(async () => {
    const isStill = seen === shown.length
    seen = shown.length
    await new Promise(resolve => setTimeout(resolve, 300))
    return isStill
  }, 'the stop')
  for (let id = 1; id <= 100; id += 1) t.equal(await echoed(client, id), `{"n":${id}}`)
  terminal.stdin.write('\x03')
  t.equal((await once(terminal, 'exit'))[0], 0)
})

t.test(
  'a stderr that is closed, or a disk that is full, costs lines and nothing else',
  { skip: skipWithout.fullDevice },
  async t => {
    const more = { log: { level: 'debug' }, audit: 'stderr' }
    const full = openSync('/dev/full', 'w')
    t.teardown(() => closeSync(full))
    for (const stderr of ['pipe', full] as const) {
      const proxy = await serve(t, { a: rawServer(), b: rawServer() }, { more, stderr })
      proxy.child.stderr?.destroy()
      const client = await introduced(proxy.url)
      for (let id = 1; id <= 5; id += 1) {
        await client.call(id, 'b__exit')
        t.equal(await echoed(client, 10 + id), `{"n":${10 + id}}`)
      }
      proxy.child.kill('SIGTERM')
      t.equal(await proxy.exited, 0)
    }
  },
)

t.test(
  'a proxy that may have few files open serves those it has, and recovers',
  { skip: skipWithout.ulimit },
  async t => {
    const proxy = await serve(
      t,
      { a: { ...rawServer(), start: 'eager' }, mine: { ...rawServer(), sharing: 'session' } },
      {
        shell: 'ulimit -n 64',
      },
    )
    t.ok(proxy.url, 'it starts')
    const client = await introduced(proxy.url)
    t.equal(await echoed(client, 1), '{"n":1}')
    const { hostname, port } = new URL(proxy.url)
    const sockets = Array.from({ length: 100 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    )
    await until(
      () => sockets.some(socket => socket.destroyed || socket.readyState === 'closed'),
      'the last descriptor',
    )
    t.equal(await echoed(client, 2), '{"n":2}', 'who is connected is served')
    const refused = await client.call(3, 'mine__echo').catch(() => undefined)
    const error = refused?.last.message.error
    if (error !== undefined) t.match(error, { data: { server: 'mine' } })
    for (const socket of sockets) socket.destroy()
    await until(async () => {
      const other = new RawClient(proxy.url)
      const come = await other.initialize().catch(() => undefined)
      if (come === undefined) return false
      const { text } = (await other.call(1, 'mine__echo', '{"n":4}')).last
      // Its session has a server of its own, which has descriptors.
      await other.end()
      return text.includes('result')
    }, 'its recovery')
    t.equal((await status(proxy.url)).state, 'ready', 'what was not loaded before is loaded now')
  },
)

t.test(
  'after a standstill, the proxy reads waiting messages before it gives up on a peer',
  { skip: skipWithout.signals },
  async t => {
    const late = {
      command: process.execPath,
      args: [
        '-e',
        `const send = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
       require('readline').createInterface({ input: process.stdin }).on('line', line => {
         const { id, method } = JSON.parse(line)
         if (method === 'initialize') send(id, { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'late', version: '1' } })
         else if (method === 'tools/list') send(id, { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] })
         else if (method === 'tools/call') setTimeout(() => send(id, { content: [{ type: 'text', text: 'late' }] }), 500)
         else if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
       })`,
      ],
      era: 'legacy',
      timeouts: { call: '2s', total: '2s' },
    }
    const proxy = await serve(t, { late })
    const client = await introduced(proxy.url)
    await client.call(1, 'late__tool')
    const call = client.call(2, 'late__tool')
    await until(async () => (await status(proxy.url)).calls > 0, 'the call')
    proxy.child.kill('SIGSTOP')
    await new Promise(resolve => setTimeout(resolve, 3000))
    proxy.child.kill('SIGCONT')
    t.match((await call).last.message, { result: { content: [{ text: 'late' }] } })
  },
)

t.test(
  'who is told to end while a server starts, or another leaves, leaves nothing behind',
  { skip: skipWithout.signals },
  async t => {
    const slow = { ...tiny('--stubborn', '--slow', '60000'), start: 'eager' }
    const proxy = await serve(t, { slow, a: rawServer() }, { more: { drain: '1s' } })
    const client = await introduced(proxy.url)
    const waiting = client.call(1, 'a__wait')
    await until(async () => (await status(proxy.url)).calls === 1, 'the call')
    writeFileSync(proxy.file, JSON.stringify({ mcpServers: { slow, other: slow }, drain: '1s' }))
    let pids: readonly number[] = []
    await until(async () => {
      const { servers, leaving } = await status(proxy.url)
      pids = [...servers, ...leaving].flatMap(server => server.pids)
      return leaving.length === 1 && servers.length === 2 && servers.every(server => server.pids.length > 0)
    }, 'the reload')
    proxy.child.kill('SIGTERM')
    t.match((await waiting).last.message, { error: { code: -32603 } })
    t.equal(await proxy.exited, 0)
    t.same(pids.filter(isRunning), [], 'all of them are gone before it is')
  },
)

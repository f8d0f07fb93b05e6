import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { socketUrlOf } from '../../src/kernel/machine/socket-path.js'
import { processTable } from '../../src/transport/process/process-table.js'
import { RawClient } from '../support/client/raw-client.js'
import { ShimClient } from '../support/client/shim-client.js'
import { isRunning, skipWithout, socketFile, until } from '../support/processes.js'
import { configured } from '../support/proxy/shared-daemon.js'
import { configFile, INITIALIZE, type Running, startBin, TINY, tiny } from '../support/proxy/start.js'

const skip = skipWithout.windows
const needsTable =
  skip || ((await processTable().rows()).length === 0 && 'PowerShell does not tell here what runs')
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a verb to its end. */
const run = async (t: Test, ...argv: string[]) => {
  const running = startBin(t, argv)
  running.child.stdin?.end()
  return { code: await running.exited, out: running.out, err: running.err }
}

/** A folder for programs; that of the test is made anew with its first configuration. */
const programs = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp programs '))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** What npm puts into a folder for a package: a batch file that starts Node (the package `cmd-shim`). */
const shim = (folder: string): string => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'tool.cmd')
  const lines = [
    '@ECHO off',
    'SETLOCAL',
    `SET "_prog=${process.execPath}"`,
    `endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "${process.execPath}"  "${TINY}" %*`,
    '',
  ]
  writeFileSync(file, lines.join('\r\n'))
  return file
}

/** What a server was started with, asked with `call`. */
const factsOf = async (t: Test, entry: object) => {
  const { code, out, err } = await run(t, 'call', '--config', configFile(t, { one: entry }), 'one__facts')
  if (code !== 0) throw new Error(err)
  return JSON.parse(out) as { argv: string[]; pid: number; cwd: string }
}

const serve = async (t: Test, servers: object, more: object = {}) => {
  const file = configFile(t, servers, more)
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await proxy.line(/listening on http/)).split(' ').at(-1) ?? ''
  return { proxy, file, url }
}

/**
 * A proxy on stdio whose only server has answered: the server outlives the end of its stdin, and stands
 * behind a shim.
 */
const withStubborn = async (t: Test): Promise<{ proxy: Running; pid: number }> => {
  const entry = { command: shim(programs(t)), args: ['--stubborn'] }
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { one: entry })])
  proxy.send(
    INITIALIZE,
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'one__facts', arguments: {} } },
  )
  const { result } = JSON.parse(await proxy.line(/"id":2/))
  const { pid } = JSON.parse(result.content[0].text)
  t.teardown(() => isRunning(pid) && process.kill(pid, 'SIGKILL'))
  return { proxy, pid }
}

const WORDS = [
  'a b',
  'x"y',
  '{"url":"https://h/?a=1&b=2"}',
  '%OS%',
  '100%',
  'a^b',
  'a|b>c<d',
  '(!OS!)',
  'C:\\a\\',
  'b c\\',
  '日本',
  '-y',
  '',
]

t.test('words reach a program as they are, also behind a shim, wherever that is', { skip }, async t => {
  const folder = programs(t)
  const ways = [
    [process.execPath, TINY],
    [shim(join(folder, 'tools'))],
    [shim(join(folder, 'other tools (x86)'))],
    [shim(join(folder, 'node_modules', '.bin'))],
  ] as const
  for (const [command, ...args] of ways) {
    t.same((await factsOf(t, { command, args: [...args, ...WORDS] })).argv, WORDS, command)
  }
})

t.test('nothing of an argument is run as a command', { skip }, async t => {
  const folder = programs(t)
  const command = shim(folder)
  const word = `x" & echo run>"${join(folder, 'run.txt')}" & "`
  t.same((await factsOf(t, { command, args: [word] })).argv, [word])
  t.notOk(existsSync(join(folder, 'run.txt')))
  const refused = await run(
    t,
    'call',
    '--config',
    configFile(t, { one: { command, args: ['a\nb'] } }),
    'one__facts',
  )
  t.match(refused, { code: 4, err: /"args" must not hold line breaks/ })
})

t.test('a command is found in any spelling, and one that is not there is told', { skip }, async t => {
  const folder = programs(t)
  shim(join(folder, 'bin'))
  const PATH = `${join(folder, 'bin')};${process.env['PATH']}`
  for (const entry of [
    { command: 'tool', env: { PATH } },
    { command: 'TOOL.cmd', env: { PATH } },
    { command: 'bin\\tool.cmd', cwd: folder },
    { command: 'bin/tool', cwd: folder },
    { command: '.\\tool', cwd: join(folder, 'bin') },
  ]) {
    t.same((await factsOf(t, { ...entry, args: ['x'] })).argv, ['x'], entry.command)
  }
  for (const command of ['no-such-tool', 'C:\\no\\such\\tool.cmd', 'C:\\no\\such\\tool.exe']) {
    const missing = await run(t, 'call', '--config', configFile(t, { one: { command } }), 'one__facts')
    t.match(missing, { code: 4, err: /command not found \(ENOENT\)/ }, command)
  }
})

t.test('a configuration is found in any spelling, with any line endings', { skip }, async t => {
  const folder = join(t.testdir(), 'Mina filer å 日本')
  mkdirSync(folder)
  const file = join(folder, 'mcp.json')
  const lines = JSON.stringify({ mcpServers: { one: tiny() } }, null, 1).replaceAll('\n', '\r\n')
  writeFileSync(file, `\ufeff${lines}\r\n`)
  const spellings = [file, file.replaceAll('\\', '/'), relative(process.cwd(), file), file.toLowerCase()]
  for (const spelling of spellings) {
    t.match(
      await run(t, 'call', '--config', spelling, 'one__echo', 's=å'),
      { code: 0, out: '{"s":"å"}\n' },
      spelling,
    )
  }
  writeFileSync(file, '{\r\n "mcpServers": { "one": { "command": "C:\\path" } }\r\n}\r\n')
  t.match(await run(t, 'check', '--config', file), { code: 1, out: /mcp\.json:2:\d+: error: .*backslash/ })
})

t.test('a server behind a shim ends with the input of its proxy', { skip }, async t => {
  const { proxy, pid } = await withStubborn(t)
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  await until(() => !isRunning(pid), 'its end')
})

t.test('a server behind a shim ends with a proxy that is killed', { skip: needsTable }, async t => {
  const { proxy, pid } = await withStubborn(t)
  proxy.child.kill('SIGKILL')
  await until(() => !isRunning(pid), 'its end')
})

t.test(
  'what a proxy leaves that is killed with its guard is ended by the next',
  { skip: needsTable },
  async t => {
    const { proxy, pid } = await withStubborn(t)
    let guards: readonly number[] = []
    // PowerShell may run beside it for a while.
    await until(async () => {
      const rows = await processTable().rows()
      const own = rows.filter(({ parent }) => parent === proxy.child.pid).map(row => row.pid)
      const shims = rows.filter(row => row.pid === pid).map(({ parent }) => parent)
      guards = own.filter(child => !shims.includes(child))
      return guards.length === 1
    }, 'the guard alone')
    for (const each of [...guards, proxy.child.pid ?? 0]) process.kill(each, 'SIGKILL')
    await proxy.exited
    t.ok(isRunning(pid))
    const next = await serve(t, { other: tiny() })
    await until(() => !isRunning(pid), 'its end')
    await until(() => /ended the servers of a killed proxy/.test(next.proxy.err), 'the line in the log')
  },
)

t.test('status finds a proxy by its configuration, in letters of either case', { skip }, async t => {
  const { file } = await serve(t, { one: tiny() })
  await until(async () => (await run(t, 'status', '--config', file)).code === 0, 'the record')
  t.match(await run(t, 'status', '--config', file.toLowerCase()), { code: 0, out: /^mcp-proxy / })
})

t.test('a file that is followed may be spelt in other letters', { skip }, async t => {
  const file = configFile(t, { one: tiny() })
  const spelling = join(dirname(file), basename(file).toUpperCase())
  const proxy = startBin(t, ['serve', '--config', spelling, '--port', '0'])
  await proxy.line(/listening/)
  writeFileSync(file, JSON.stringify({ mcpServers: { one: tiny(), two: tiny() } }))
  await until(() => proxy.err.includes('"added":["two"]'), 'the change')
})

t.test('an unread stderr is harmless', { skip }, async t => {
  const noisy = `setInterval(() => { for (let n = 0; n < 50; n += 1) console.error('x'.repeat(500)) }, 50)
    await import(${JSON.stringify(new URL('../fixtures/tiny-server.mjs', import.meta.url).href)})`
  const entry = { command: process.execPath, args: ['--input-type=module', '-e', noisy], start: 'eager' }
  const { proxy, url } = await serve(t, { a: entry, b: entry })
  proxy.child.stderr?.pause()
  const client = new RawClient(url)
  await client.initialize()
  for (let id = 1; id <= 50; id += 1) {
    const answer = await client.call(id, 'a__echo', `{"n":${id}}`)
    if (!t.equal(answer.last.message.result?.content?.[0]?.text, `{"n":${id}}`)) t.bailout('stuck')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
})

t.test('a named pipe is an address like any other', { skip }, async t => {
  const path = socketFile(t)
  const { proxy } = await serve(t, { one: tiny() }, { listen: { socket: path } })
  await proxy.line(/listening on pipe:/)
  const socket = connect(path)
  t.teardown(() => socket.destroy())
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE })}\n`)
  const [line] = await once(createInterface({ input: socket }), 'line')
  t.match(JSON.parse(line), { id: 1, result: { serverInfo: { name: 'mcp-proxy' } } })
  const through = configFile(t, { pipe: { url: socketUrlOf(path) } })
  t.match(await run(t, 'call', '--config', through, 'pipe__one__echo', 's=x'), {
    code: 0,
    out: '{"s":"x"}\n',
  })
})

t.test('clients of connect share one daemon, which stops on request', { skip }, async t => {
  const file = configured(t)
  const clients = [new ShimClient(t, file), new ShimClient(t, file)]
  await Promise.all(clients.map(client => client.initialize()))
  for (const [at, client] of clients.entries())
    t.match(await client.call('w__wait', { note: `of ${at}` }), { note: `of ${at}` })
  const { out } = await run(t, 'daemon', 'status', '--config', file, '--json')
  const { pid, clients: shown } = JSON.parse(out)
  t.equal(shown.length, 2)
  t.same(await Promise.all(clients.map(client => client.leave())), [0, 0])
  t.ok(isRunning(pid), 'the daemon outlives its clients')
  t.match(await run(t, 'daemon', 'stop', '--config', file), { code: 0 })
  await until(() => !isRunning(pid), 'the end of the daemon')
})

t.test('the servers of the example have a place to write to', { skip }, async t => {
  const { mcpServers } = JSON.parse(readFileSync(join(ROOT, 'mcp-proxy.example.json'), 'utf8'))
  const { memory } = mcpServers
  const entry = { ...memory, command: process.execPath, cwd: ROOT }
  const entities = [{ name: 'a', entityType: 'b', observations: ['c'] }]
  const args = JSON.stringify({ entities })
  const file = configFile(t, { memory: entry })
  t.match(await run(t, 'call', '--config', file, 'memory__create_entities', '--args', args), { code: 0 })
})

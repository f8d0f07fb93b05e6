import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { placeId, preparePlace, thisPlace } from '../../src/shim/place.js'
import { ShimClient } from '../support/client/shim-client.js'
import { isRunning, skipWithout, socketFile, until } from '../support/processes.js'
import {
  asked,
  configured,
  installed,
  pidAt,
  placeFor,
  reinstall,
  WAITING,
  waiting,
} from '../support/proxy/shared-daemon.js'
import { BIN, configFile, runHere, startBin } from '../support/proxy/start.js'
import { startServer } from '../support/server/started-server.js'

/** How often what is about races is repeated; a hundred or more show more. */
const ROUNDS = Number(process.env['MCP_TEST_ROUNDS'] ?? 1)
const CROWD = Number(process.env['MCP_TEST_CROWD'] ?? 12)

/** Starts many clients at once, checks that one daemon serves them all, and ends everything. */
const crowd = async (t: Test, file: string): Promise<void> => {
  const { socket, lock } = placeFor(file)
  const clients = Array.from({ length: CROWD }, () => new ShimClient(t, file))
  const answers = await Promise.all(clients.map(client => client.initialize()))
  t.ok(
    answers.every(({ result }) => result !== undefined),
    'everybody is answered',
  )
  const status = await asked(socket, '/v1/sessions')
  // On a machine that has much else to do, some wait for too long.
  const alone = clients.filter(({ running }) => /in time; serving in this process/.test(running.err))
  t.equal(status?.body.sessions.length, CROWD - alone.length, 'by one daemon')
  const run = resolve(lock, '..')
  const id = placeId(file, thisPlace())
  t.same(
    readdirSync(run)
      .filter(name => name.startsWith(id))
      .sort(),
    [`${id}.json`, `${id}.sock`],
    'nothing is left of the start',
  )
  t.same([...new Set(await Promise.all(clients.map(client => client.leave())))], [0])
  const pid = await pidAt(socket)
  if (pid === undefined) throw new Error('the daemon is gone')
  process.kill(pid, 'SIGKILL')
  await until(() => !isRunning(pid), 'the end of the daemon')
}

t.test('clients that come at once share one daemon, also where one was killed', async t => {
  const file = configured(t)
  for (let round = 0; round < ROUNDS + 1; round++) await crowd(t, file)
})

t.test('a stale lock does not block a start', async t => {
  const file = configured(t)
  const { lock } = placeFor(file)
  preparePlace(placeFor(file))
  for (const content of ['{"pid":4194303,"birth":"1","time":1}', '']) {
    writeFileSync(lock, content)
    await crowd(t, file)
  }
})

t.test('where nothing can be written a client is served in its own process', async t => {
  const file = configFile(t, waiting())
  const blocked = join(t.testdirName, 'blocked')
  writeFileSync(blocked, '')
  const env = { MCP_PROXY_RUN_DIR: join(blocked, 'run') }
  const client = new ShimClient(t, file, { env })
  t.match(await client.initialize(), { result: { serverInfo: { name: 'mcp-proxy' } } })
  t.match(await client.call('w__wait', { note: 'here' }), { note: 'here' })
  t.equal(await client.leave(), 0)
  t.match(
    client.running.err,
    /^mcp-proxy: D041: the daemon cannot be started: .*serving in this process.*\n$/,
  )
  const strict = new ShimClient(t, file, { env, args: ['--no-fallback'] })
  t.equal(await strict.running.exited, 4)
  t.match(strict.running.err, /^mcp-proxy: D041/)
  t.equal(strict.running.out, '')
})

t.test('a client that has closed our stderr is served all the same', async t => {
  const client = new ShimClient(t, configured(t), { args: ['--verbose'] })
  client.running.child.stderr?.destroy()
  t.match(await client.initialize(), { result: { serverInfo: { name: 'mcp-proxy' } } })
  t.equal(await client.leave(), 0)
})

t.test('with a full disk a client is served in its own process', async t => {
  const file = configFile(t, waiting())
  const run = join(t.testdirName, 'run')
  mkdirSync(run)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', run]).status !== 0) {
    t.comment('no file system can be mounted here')
    return
  }
  t.teardown(() => spawnSync('umount', ['-l', run]))
  t.throws(() => writeFileSync(join(run, 'fill'), Buffer.alloc(1024 * 1024)), { code: 'ENOSPC' })
  const client = new ShimClient(t, file, { env: { MCP_PROXY_RUN_DIR: run } })
  t.match(await client.initialize(), { result: { serverInfo: { name: 'mcp-proxy' } } })
  t.match(client.running.err, /^mcp-proxy: D041: .*ENOSPC.*; serving in this process/)
  t.equal(await client.leave(), 0)
  t.notOk(existsSync(join(run, `${placeId(file, thisPlace())}.lock`)))
})

t.test('a run folder that is a link is not trusted', { skip: skipWithout.links }, async t => {
  const file = configFile(t, waiting())
  // In a short path, where the socket is too.
  const [run, link] = [dirname(socketFile(t)), socketFile(t)]
  symlinkSync(run, link)
  const refused = async (): Promise<void> => {
    const client = new ShimClient(t, file, { env: { MCP_PROXY_RUN_DIR: link }, args: ['--no-fallback'] })
    t.equal(await client.running.exited, 4)
    t.match(client.running.err, /^mcp-proxy: D046: .* is a link/)
  }
  await refused()
  await startBin(t, ['serve', '--config', file, '--port', '0'], { env: { MCP_PROXY_RUN_DIR: run } }).line(
    /listen/,
  )
  await refused()
})

t.test('the command line of connect has the codes of all others', async t => {
  const ended = async (...args: string[]) => {
    const running = startBin(t, ['connect', ...args])
    return [await running.exited, running.err]
  }
  t.match(await ended('--config', '/nowhere/mcp.json'), [
    3,
    /D010: there is no configuration .*nowhere.*\n {2}why: .*\n {2}fix: mcp-proxy init\n$/,
  ])
  t.match(await ended('--nope'), [
    2,
    /unknown argument: --nope.*\n {2}why: .*\n {2}fix: mcp-proxy connect --help\n$/,
  ])
  t.match(await ended('--config'), [2, /--config needs a value/])
  const file = configured(t)
  t.match(await ended('--config', file, '--view', 'web'), [4, /there is no view web/])
  const client = new ShimClient(t, file)
  await client.initialize()
  client.running.child.kill('SIGTERM')
  t.equal(await client.running.exited, 143)
})

t.test('clients of a daemon that is killed go on, and each call ends once', async t => {
  const file = configured(t, waiting(), { daemon: { idle: 'off' } })
  const { socket } = placeFor(file)
  const beganMs = performance.now()
  const clients = Array.from({ length: Math.min(20, CROWD) }, () => new ShimClient(t, file))
  await Promise.all(clients.map(client => client.initialize()))
  await Promise.all(clients.map(client => client.call('w__wait', {})))
  // Where the machine has much else to do, it had as much at the start of them all.
  const soonMs = Math.max(3000, 2 * (performance.now() - beganMs))
  for (let round = 0; round < ROUNDS; round++) {
    const hung = clients.map(client =>
      client.ask('tools/call', { name: 'w__wait', arguments: { ms: 60_000 } }),
    )
    await until(
      async () => ((await asked(socket, '/v1/status'))?.body.calls ?? 0) >= clients.length,
      'all calls',
    )
    const pid = await pidAt(socket)
    process.kill(pid ?? 0, 'SIGKILL')
    const killedMs = performance.now()
    await Promise.all(
      clients.map(async (client, at) => {
        const [call = 0, list] = [hung[at], client.ask('tools/list')]
        t.match(await client.answer(list), { result: { tools: [{ name: 'w__wait' }] } })
        t.match(await client.answer(call), { error: { code: -32603, data: { reason: 'proxy_restarted' } } })
        const [endedMs = 0, listedMs = 0] = [client.atMs.get(call), client.atMs.get(list)]
        t.ok(endedMs < listedMs, 'at once, and not only when there is another daemon')
        t.match(await client.call('w__wait', { note: 'again' }), { note: 'again' })
        t.ok(performance.now() - killedMs < soonMs, 'and the next call is soon answered')
      }),
    )
    t.not(await pidAt(socket), pid, 'by another daemon')
  }
  for (const client of clients) {
    const answered = client.heard.filter(({ method }) => method === undefined).map(({ id }) => id)
    t.equal(new Set(answered).size, answered.length, 'no answer comes twice')
  }
  await Promise.all(clients.map(client => client.leave()))
})

t.test(
  'a newer version takes over from an older one, and no call is lost',
  { skip: skipWithout.links },
  async t => {
    const file = configured(t)
    const { socket } = placeFor(file)
    const [older, newer] = [installed(t, '0.1.0'), installed(t, '0.2.0')]
    const clients = Array.from({ length: 4 }, () => new ShimClient(t, file, { bin: older }))
    await Promise.all(clients.map(client => client.initialize()))
    t.equal((await asked(socket, '/v1/status'))?.body.version, '0.1.0')
    const before = await pidAt(socket)
    // Calls go on all the time, of which each fits into what a proxy that ends waits for.
    let isOver = false
    const calls = clients.map(async client => {
      let made = 0
      for (; !isOver || made < 3; made++)
        t.match(await client.call('w__wait', { ms: 30, note: made }), { note: made })
      return made
    })
    const first = new ShimClient(t, file, { bin: newer })
    t.match(await first.initialize(), { result: { serverInfo: { version: '0.2.0' } } })
    isOver = true
    await Promise.all(calls)
    t.equal((await asked(socket, '/v1/status'))?.body.version, '0.2.0')
    t.notOk(isRunning(before ?? 0), 'there is one daemon at any time')
    const older2 = new ShimClient(t, file, { bin: older })
    t.match(
      await older2.initialize(),
      { result: { serverInfo: { version: '0.2.0' } } },
      'an older client is served',
    )
    for (const client of [...clients, first, older2]) t.equal(await client.leave(), 0)
    t.match(
      clients.map(({ running }) => running.err),
      clients.map(() => ''),
      'and nobody notices',
    )
  },
)

t.test(
  'a daemon that misses a part after an update leaves its clients to the next',
  { skip: skipWithout.links },
  async t => {
    const file = configured(t)
    const { socket } = placeFor(file)
    const shim = installed(t, '0.1.0')
    const client = new ShimClient(t, file, { bin: shim })
    await client.initialize()
    t.match(await client.call('w__wait', { note: 1 }), { note: 1 })
    const before = (await pidAt(socket)) ?? 0
    reinstall(shim)
    const { entry } = await startServer(t, 'http', '2025-11-25')
    writeFileSync(file, JSON.stringify({ mcpServers: { ...waiting(), remote: entry } }))
    await until(async () => {
      t.match(await client.call('w__wait', { note: 2 }), { note: 2 }, 'no call is lost')
      const { result } = await client.answer(client.ask('tools/list'))
      return /"remote__/.test(JSON.stringify(result))
    }, 'tools of a server that needs that part')
    await until(() => !isRunning(before), 'the end of the other')
    t.equal(client.running.err, '')
    await client.leave()
  },
)

t.test('the private socket is a small HTTP API for its user', async t => {
  const file = configured(t)
  const client = new ShimClient(t, file, { args: ['--client', 'cursor'] })
  await client.initialize()
  await client.call('w__wait', {})
  const { socket } = placeFor(file)
  const { body } = (await asked(socket, '/v1/status')) ?? {}
  t.match(body, { name: 'mcp-proxy', state: 'ready', sessions: 1, servers: [{ name: 'w', state: 'ready' }] })
  t.match((await asked(socket, '/v1/sessions'))?.body, {
    version: 1,
    sessions: [{ id: 'k1', client: 'cursor', pid: client.running.child.pid, calls: 0 }],
  })
  t.match(await asked(socket, '/v1/reload', 'POST'), { status: 200 })
  t.match(await asked(socket, '/v1/nothing'), { status: 404, body: { error: /GET \/v1\/nothing/ } })
  t.match(await asked(socket, '/v1/connect'), { status: 404 })
  t.match(await asked(socket, '/v1/stop', 'POST'), { status: 200, body: { pid: body.pid } })
  await until(() => !isRunning(body.pid), 'the end')
  t.match(await client.call('w__wait', { note: 1 }), { note: 1 }, 'whoever is left starts it again')
  await client.leave()
})

const canBeOthers = process.getuid?.() !== 0 && 'only root can be another user'

t.test('the private socket is closed to other users', { skip: canBeOthers }, async t => {
  const file = configured(t)
  t.match(await runHere(t, 'daemon', 'start', '--config', file), { code: 0 })
  const { socket } = placeFor(file)
  t.equal(statSync(socket).mode & 0o777, 0o600)
  t.equal(statSync(dirname(socket)).mode & 0o777, 0o700)
  // What is left to try where somebody has opened the folders.
  const folders = [dirname(socket), dirname(dirname(socket))]
  for (const folder of folders) chmodSync(folder, 0o711)
  const code = `require('net').connect(process.argv[1]).on('connect', () => process.exit(0))
    .on('error', error => { console.log(error.code); process.exit(1) })`
  const as = (id: number) => spawnSync(process.execPath, ['-e', code, socket], { uid: id, gid: id })
  t.match(as(0).status, 0, 'its own user')
  const other = as(65_534)
  t.match([other.status, String(other.stdout)], [1, /EACCES/])
  for (const folder of folders) chmodSync(folder, 0o700)
  // Who listens there may be whoever the file belongs to.
  chownSync(socket, 65_534, 65_534)
  const client = new ShimClient(t, file, { args: ['--no-fallback'] })
  t.equal(await client.running.exited, 4)
  t.match(client.running.err, /^mcp-proxy: D046: .* does not belong to this user/)
  chownSync(socket, 0, 0)
  t.match(await runHere(t, 'daemon', 'stop', '--config', file), { code: 0 })
})

t.test('daemon starts, shows its status, restarts and stops', async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, 'daemon', ...words, '--config', file)
  t.match(await run('status'), { code: 1, out: /does not run/ })
  t.match(await run('stop'), { code: 1, err: /the daemon is not running/ })
  t.match(await run('stop', '--json'), { code: 1, out: '{"version":1,"stopped":false}\n' })
  const [, pid] = /^\{"version":1,"pid":(\d+)\}$/m.exec((await run('start', '--json')).out) ?? []
  t.match(await run('start'), { code: 0, out: new RegExp(`pid ${pid}\n`) }, 'once')
  const client = new ShimClient(t, file, { args: ['--client', 'zed'] })
  await client.initialize()
  await client.call('w__wait', {})
  t.match(await run('status'), { code: 0, out: new RegExp(`pid ${pid}, ready.*^zed `, 'ms') })
  const { clients, version } = JSON.parse((await run('status', '--json')).out)
  t.match([clients, version], [[{ client: 'zed' }], 1])
  t.match(await run('logs', '--server', 'w'), { code: 0, out: /"server":"w".*server is ready/ })
  t.match(await run('logs', '--since', 'x'), { code: 2, err: /--since must be a time such as 10m/ })
  t.match(await runHere(t, 'daemon', 'status', '--all'), { out: new RegExp(`^${pid} .*mcp\\.json`, 'm') })
  const { proxies } = JSON.parse((await runHere(t, 'daemon', 'status', '--all', '--json')).out)
  t.ok(proxies.some((one: { pid: number }) => one.pid === Number(pid)))
  t.match(await run('restart'), { code: 0, out: /pid \d+/ })
  const following = startBin(t, ['daemon', 'logs', '-f', '--server', 'w', '--config', file])
  await following.line(/server is ready/)
  t.notOk(isRunning(Number(pid)))
  t.match(await client.call('w__wait', { note: 2 }), { note: 2 }, 'clients notice nothing')
  await client.leave()
  t.match(await run('stop'), { code: 0, out: 'mcp-proxy has ended\n' })
  following.child.kill('SIGTERM')
  await following.exited
  t.match(await run('status', '--json'), { code: 1, out: /"state": "stopped"/ })
})

t.test('a configuration that becomes another link keeps its daemon', { skip: skipWithout.links }, async t => {
  const [real, other] = [configured(t), configFile(t, waiting())]
  const file = join(dirname(other), 'link.json')
  symlinkSync(real, file)
  t.teardown(() => runHere(t, 'daemon', 'stop', '--config', file))
  const first = new ShimClient(t, file)
  await first.initialize()
  rmSync(file)
  symlinkSync(other, file)
  const second = new ShimClient(t, file)
  await second.initialize()
  const sessions = await asked(placeFor(file).socket, '/v1/sessions')
  t.equal(sessions?.body.sessions.length, 2)
  t.match(await runHere(t, 'status', '--config', file), { code: 0 })
  await Promise.all([first.leave(), second.leave()])
})

const isRoot = process.getuid?.() === 0
const asRoot = process.platform === 'linux' && isRoot ? false : 'needs root on Linux'

t.test('a new host name does not start another daemon', { skip: asRoot }, async t => {
  const file = configured(t)
  const { out } = await runHere(t, 'daemon', 'start', '--config', file)
  const script = 'hostname other && exec "$0" "$@"'
  const words = [process.execPath, BIN, 'daemon', 'start', '--config', file]
  const done = spawnSync('unshare', ['-u', 'sh', '-c', script, ...words], { encoding: 'utf8' })
  if (done.status !== 0 && /unshare/.test(done.stderr)) t.comment('no namespaces can be made here')
  else t.equal(done.stdout, out)
})

t.test('a user missing from the user database has a daemon', { skip: asRoot }, async t => {
  const file = configured(t)
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of [folder, dirname(file)]) chownSync(path, 54_321, 54_321)
  const own = { MCP_PROXY_RUN_DIR: join(folder, 'run'), XDG_STATE_HOME: folder }
  const run = (home: string | undefined, ...words: string[]) => {
    const env: NodeJS.ProcessEnv = { ...process.env, ...own }
    if (home === undefined) delete env['HOME']
    else env['HOME'] = home
    return spawnSync(process.execPath, [BIN, ...words, '--config', file], {
      encoding: 'utf8',
      uid: 54_321,
      gid: 54_321,
      env,
    })
  }
  for (const home of [folder, '/root', undefined]) {
    t.match(run(home, 'daemon', 'start'), { status: 0, stdout: /pid \d+/ }, String(home))
    t.match(run(home, 'service', 'print', '--platform', 'linux'), { status: 0 }, String(home))
    if (home === folder) t.match(run(home, 'doctor', '--offline'), { stdout: /daemon +runs/ })
    t.match(run(home, 'daemon', 'stop'), { status: 0 }, String(home))
  }
})

t.test('a daemon whose configuration was deleted can be stopped', async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, 'daemon', ...words, '--config', file)
  await run('start', '--keep')
  rmSync(file)
  t.match(await run('status'), { code: 0, out: /ready/ })
  t.match(await run('logs'), { code: 0 })
  t.match(await run('restart'), { code: 3, err: /D010/ }, 'which is not ended before another can start')
  t.match(await run('stop'), { code: 0 })
  t.match(await runHere(t, 'daemon', 'stop', '--config', '/nowhere/mcp.json'), { code: 3, err: /D010/ })
})

t.test('stop names the clients that start the daemon again', async t => {
  const file = configured(t)
  const client = new ShimClient(t, file, { args: ['--client', 'zed'] })
  await client.initialize()
  const { pid } = client.running.child
  const { out } = await runHere(t, 'daemon', 'stop', '--json', '--config', file)
  t.match(JSON.parse(out), { stopped: true, clients: [{ client: 'zed', pid }] })
  await client.call('w__wait', {})
  t.match(await runHere(t, 'daemon', 'stop', '--config', file), {
    code: 0,
    err: new RegExp(`1 client still connected.*\n +zed, pid ${pid}\n`),
  })
  await client.leave()
})

t.test('a daemon that hangs is killed by restart and by stop', { skip: skipWithout.signals }, async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, 'daemon', ...words, '--config', file)
  const pidIn = (out: string): number => JSON.parse(out).pid
  const first = pidIn((await run('start', '--json')).out)
  await until(async () => (await runHere(t, 'status', '--pid', String(first))).code === 0, 'its record')
  process.kill(first, 'SIGSTOP')
  const second = pidIn((await run('restart', '--json')).out)
  t.notOk(isRunning(first))
  await until(async () => (await runHere(t, 'status', '--pid', String(second))).code === 0, 'its record')
  process.kill(second, 'SIGSTOP')
  t.match(await run('stop'), { code: 0, err: /did not answer \(D042\) and was killed/ })
  t.notOk(isRunning(second))
})

t.test('start and restart point at the mistake in a broken configuration', async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, 'daemon', ...words, '--config', file)
  const { pid } = JSON.parse((await run('start', '--json')).out)
  writeFileSync(file, '{\n  "mcpServers": nonsense\n}')
  t.match(await run('restart'), { code: 3, err: /mcp\.json:2:17: error: [\s\S]*D011/ })
  t.ok(isRunning(pid), 'the daemon that runs goes on')
  await run('stop')
  t.match(await run('start'), { code: 3, err: /mcp\.json:2:17: error: [\s\S]*D011/ })
})

t.test('an unused daemon ends, and one started with --keep does not', async t => {
  const file = configured(t, waiting(), { daemon: { idle: '300ms' } })
  const { socket } = placeFor(file)
  const client = new ShimClient(t, file)
  await client.initialize()
  const pid = (await pidAt(socket)) ?? 0
  t.equal(await client.leave(), 0)
  await until(() => !isRunning(pid), 'its end')
  await runHere(t, 'daemon', 'start', '--keep', '--config', file)
  const kept = async () => (await asked(socket, '/v1/status'))?.body.kept
  t.equal(await kept(), 'keep')
  const other = new ShimClient(t, file)
  await other.initialize()
  process.kill((await pidAt(socket)) ?? 0, 'SIGKILL')
  await other.answer(other.ask('tools/list'))
  t.equal(await kept(), 'keep', 'nor does the next, whoever starts it')
  await other.leave()
  await runHere(t, 'daemon', 'restart', '--config', file)
  t.equal(await kept(), 'keep')
  await runHere(t, 'daemon', 'stop', '--config', file)
  const last = new ShimClient(t, file)
  await last.initialize()
  t.equal(await kept(), undefined)
  await runHere(t, 'daemon', 'start', '--keep', '--config', file)
  t.equal(await kept(), 'keep', 'nor one that ran already')
  t.ok((await last.answer(last.ask('tools/list'))).result, 'and its clients notice nothing')
  await last.leave()
})

t.test('serve takes the place of a daemon, whose clients it serves', async t => {
  const file = configured(t)
  const { socket } = placeFor(file)
  const client = new ShimClient(t, file)
  await client.initialize()
  const pid = (await pidAt(socket)) ?? 0
  const serve = startBin(t, ['serve', '--config', file, '--port', '0'])
  await serve.line(/listening/)
  await until(() => !isRunning(pid), 'the end of the other')
  t.match(await client.call('w__wait', { note: 1 }), { note: 1 })
  t.equal(await pidAt(socket), serve.child.pid)
  await client.leave()
})

t.test('clients in different folders have each their own process, and those in one share it', async t => {
  const file = configured(t, {
    w: { command: process.execPath, args: [WAITING, '${workspaceFolder}', '${workspaceFolderBasename}'] },
    all: { command: process.execPath, args: [WAITING] },
  })
  const folders = ['one', 'two'].map(name => join(t.testdirName, name))
  for (const folder of folders) mkdirSync(folder)
  const [one = '', two = ''] = folders
  const clients = [
    new ShimClient(t, file, { args: ['--workspace', one], cwd: two }),
    new ShimClient(t, file, { cwd: two, args: ['--workspace', '${workspaceFolder}'] }),
    new ShimClient(t, file, { env: { CLAUDE_PROJECT_DIR: two } }),
    new ShimClient(t, file, { cwd: '/' }),
  ]
  await Promise.all(clients.map(client => client.initialize()))
  const served = clients.slice(0, 3)
  for (let round = 0; round < 5 * ROUNDS; round++) {
    const facts = await Promise.all(served.map((client, note) => client.call('w__wait', { ms: 5, note })))
    t.match(facts, [
      { note: 0, cwd: one, argv: [one, 'one'] },
      { note: 1, cwd: two, argv: [two, 'two'] },
      { note: 2, cwd: two, argv: [two, 'two'] },
    ])
    t.equal(new Set(facts.map(({ pid }) => pid)).size, 2, 'two processes for three clients')
  }
  const shared = await Promise.all(clients.map(client => client.call('all__wait')))
  t.equal(new Set(shared.map(({ pid }) => pid)).size, 1, 'a server that names no folder is one for all')
  const nowhere = clients[3]
  const { result } = (await nowhere?.answer(nowhere.ask('tools/list'))) ?? {}
  const names = (result?.['tools'] as { name: string }[] | undefined)?.map(({ name }) => name)
  t.same(names, ['all__wait'], 'who works nowhere does not see it')
  await t.rejects(async () => nowhere?.call('w__wait'))
  await Promise.all(clients.map(client => client.leave()))
})

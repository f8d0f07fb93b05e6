import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { findingText, reportLayout, summaryText } from '../../../src/cli/doctor/report.js'
import { asking } from '../../../src/control/daemon/daemon-lock.js'
import { finding } from '../../../src/doctor/finding.js'
import { askDaemon } from '../../../src/shim/ask.js'
import { placeId, placeOf, preparePlace, thisPlace } from '../../../src/shim/place.js'
import { runningProxies } from '../../../src/state/processes/orphans.js'
import { isRunning, skipWithout, until } from '../../support/processes.js'
import { configFile, runHere, STATE_HOME, setEnv, startBin, TINY, tiny } from '../../support/proxy/start.js'

const SECRET = 'planted1secret2value3'

interface Check {
  readonly id: string
  readonly level: string
  readonly subject: string
  readonly message: string
  readonly fix: string
  readonly fixable: boolean
}

/** A home of its own, so that no client of this machine is seen. */
const homeless = (t: Test): string => {
  const home = join(t.testdirName, 'home')
  mkdirSync(home, { recursive: true })
  setEnv(t, { HOME: home, USERPROFILE: home, APPDATA: home, XDG_CONFIG_HOME: '', MCP_PROXY_CONFIG: '' })
  return home
}

const diagnosed = async (t: Test, ...words: string[]) => {
  const ran = await runHere(t, 'doctor', '--json', ...words)
  t.match(ran, { err: '' })
  const { version, ok, counts, copies, checks } = JSON.parse(ran.out)
  t.equal(version, 1)
  const bad = (checks as Check[]).filter(({ level }) => level !== 'ok')
  return { ...ran, ok, counts, copies, bad, ids: bad.map(({ id }) => id) }
}

const placeFor = (file: string) => placeOf(placeId(file, thisPlace()), process.env)

t.test('a file that is well is well, offline and with its servers', async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const offline = await diagnosed(t, '--config', file, '--offline', '--strict')
  t.match(offline, { code: 0, ok: true, counts: { warn: 0, error: 0 }, bad: [] })
  const whole = await diagnosed(t, '--config', file, '--only', 'D03,D041,D06')
  t.match(whole, { code: 0, ok: true, ids: ['D061', 'D065'] }, 'the tiny server has its faults')
  const { out, code } = await runHere(t, 'doctor', '--config', file, '--offline')
  t.equal(code, 0)
  t.match(out, /^mcp-proxy +\d+\.\d+\.\d+, Node \d+/)
  t.match(out, new RegExp(`^configuration +${file.replaceAll('\\', '.')}, 1 server$`, 'm'))
  t.match(out, /^daemon +does not run\nclients +none found$/m)
  t.match(out, /^\S+ \d+ checks without findings$/m)
})

t.test('doctor prints each problem with its number and without secrets', async t => {
  const dies = { command: process.execPath, args: ['-e', `console.error('bad ${SECRET}'); process.exit(3)`] }
  const file = configFile(t, {
    dies: { ...dies, env: { API_KEY: SECRET } },
    gone: { command: 'no-such-program-anywhere' },
    same: { command: 'no-such-program-anywhere' },
    colour: { ...tiny(), color: 'red' },
  })
  chmodSync(file, 0o644)
  homeless(t)
  const found = await diagnosed(t, '--config', file, '--only', 'd01,D03')
  t.match(found, { code: 1, ok: false })
  const modes = skipWithout.modes === false ? ['D012'] : []
  t.same(found.ids, ['D011', ...modes, 'D013', 'D016', 'D030', 'D030', 'D031'])
  t.match(
    found.bad.find(({ id }) => id === 'D031'),
    { subject: 'dies', message: /exited with code 3; it last wrote: bad \*\*\*/ },
  )
  const { out, code } = await runHere(t, 'doctor', '--config', file, '--server', 'gone')
  t.equal(code, 1)
  t.match(
    out,
    /^\S+ D030 no-such-program-anywhere of gone is not found\n {4}why: {2}PATH is .*\n {4}fix: {2}/m,
  )
  t.notMatch(out, /dies|same/)
  t.notMatch(found.out + out, SECRET)
  t.equal((await runHere(t, 'doctor', '--config', file, '--offline', '--only', 'D016')).code, 0, 'a warning')
  t.equal((await runHere(t, 'doctor', '--config', file, '--offline', '--only', 'D016', '--strict')).code, 1)
})

t.test('the exit codes distinguish the command line, the file and failures of doctor', async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const rows: readonly (readonly [words: string[], code: number, err: RegExp])[] = [
    [['--only', 'D99'], 2, /no check has the number D99/],
    [['--timeout', 'soon'], 2, /--timeout must be a time such as 30s/],
    [['--server', 'two'], 2, /there is no server "two"/],
    [['--fix'], 2, /--fix needs --yes/],
  ]
  for (const [words, code, err] of rows)
    t.match(
      await runHere(t, 'doctor', '--offline', '--config', file, ...words),
      { code, err },
      words.join(' '),
    )
  const missing = await diagnosed(t, '--offline', '--config', join(dirname(file), 'none.json'))
  t.match(missing, { code: 3, ok: false, bad: [{ id: 'D010', fix: 'mcp-proxy init' }] })
  writeFileSync(file, '{ "mcpServers": ')
  t.match(await diagnosed(t, '--offline', '--config', file), { code: 3, ids: ['D011'] })
  t.match((await runHere(t, 'doctor', '--offline', '--config', file)).out, /cannot be used$/m)
})

t.test(
  '--fix shows what it changes, and moves secrets without touching comments',
  { skip: skipWithout.modes },
  async t => {
    const file = configFile(t, {})
    const home = homeless(t)
    const text = `{
  // mine
  "mcpServers": {
    "a": { "command": "node", "args": ["--key", "${SECRET}"], "env": { "API_KEY": "${SECRET}x", "LANG": "C" } } // end
  }
}
`
    writeFileSync(file, text)
    chmodSync(file, 0o644)
    mkdirSync(join(home, '.cursor'))
    const cursor = join(home, '.cursor', 'mcp.json')
    writeFileSync(cursor, '{ "mcpServers": { "p": { "command": "npx", "args": ["mcp-proxy"] } } }')
    const words = ['--config', file, '--offline', '--only', 'D012,D013,D053', '--fix', '--yes']
    const ran = await runHere(t, 'doctor', ...words)
    t.match(ran.err, /^D012: .*\n {2}chmod 600 /m)
    t.match(ran.err, /^ {2}a\.env\.API_KEY gets \$\{API_KEY\}$/m)
    t.match(ran.err, /secrets\.env: API_KEY='…'$/m)
    t.match(ran.err, new RegExp(`^ {2}${cursor}\\n {4}\\+ mcpServers\\.mcp-proxy `, 'm'))
    t.notMatch(ran.out + ran.err, SECRET)
    t.equal(readFileSync(file, 'utf8'), text.replace(`${SECRET}x`, '${API_KEY}').replace(SECRET, '${A_KEY}'))
    t.match(readFileSync(join(dirname(file), 'secrets.env'), 'utf8'), `API_KEY='${SECRET}x'`)
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.match(JSON.parse(readFileSync(cursor, 'utf8')).mcpServers['mcp-proxy'], { args: [/connect\.cjs$/] })
    t.match(await diagnosed(t, '--config', file, '--offline', '--only', 'D012,D013'), { code: 0, bad: [] })
    t.match(
      await diagnosed(t, ...words.filter(word => word !== '--json')),
      { ids: ['D053'] },
      'it stays for its user',
    )
    const undone = await runHere(t, 'install', 'cursor', '--undo', '--yes', '--config', file)
    t.equal(undone.code, 0)
  },
)

t.test(
  'a dead socket and an abandoned lock are told, and removed',
  { skip: skipWithout.unixSockets },
  async t => {
    const file = configFile(t, { one: tiny() })
    homeless(t)
    const place = placeFor(file)
    preparePlace(place)
    const left = spawn(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(place.socket)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ])
    await once(left, 'close')
    writeFileSync(place.lock, JSON.stringify({ pid: left.pid, time: Date.now(), key: 'k' }))
    const words = ['--config', file, '--only', 'D040']
    t.match((await diagnosed(t, ...words)).bad, [
      { id: 'D040', message: new RegExp(`^${place.socket} was left`), fixable: true },
      { id: 'D040', message: new RegExp(`^${place.lock} was left`) },
    ])
    t.match(await runHere(t, 'doctor', ...words, '--fix', '--yes'), {
      code: 0,
      err: /rm .*\.sock[\s\S]*rm .*\.lock/,
    })
    t.notOk(existsSync(place.socket) || existsSync(place.lock))
    t.match(await diagnosed(t, ...words), { ids: [] })
  },
)

t.test('a daemon that hangs is told, and ended only by --fix', { skip: skipWithout.signals }, async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const running = startBin(t, ['serve', '--config', file, '--port', '0'])
  await running.line(/listening/)
  const words = ['--config', file, '--only', 'D04']
  // The record is written right after the port is open.
  await until(async () => (await runningProxies()).some(({ socket }) => socket !== undefined), 'the record')
  const well = await diagnosed(t, ...words)
  t.match(well, { code: 0, bad: [] })
  t.match(
    (await runHere(t, 'doctor', ...words)).out,
    new RegExp(`^daemon +runs, pid ${running.child.pid}, `, 'm'),
  )
  running.child.kill('SIGSTOP')
  const hung = await diagnosed(t, ...words)
  t.match(hung, { code: 1, bad: [{ id: 'D042', fixable: true, fix: `kill ${running.child.pid}` }] })
  t.ok(isRunning(running.child.pid ?? 0))
  await runHere(t, 'doctor', ...words, '--fix', '--yes')
  t.notOk(isRunning(running.child.pid ?? 0))
})

t.test('a second proxy of a configuration is told, and ended', { skip: skipWithout.signals }, async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const start = async (env: Record<string, string>) => {
    const running = startBin(t, ['serve', '--config', file, '--port', '0'], { env })
    await running.line(/listening/)
    return running.child.pid ?? 0
  }
  const double = await start({ MCP_PROXY_RUN_DIR: join(dirname(file), 'elsewhere') })
  const daemon = await start({})
  const words = ['--config', file, '--only', 'D044']
  // The records are written right after the ports are open.
  await until(async () => (await diagnosed(t, ...words)).ids.length === 1, 'both records')
  t.match((await diagnosed(t, ...words)).bad, [{ id: 'D044', fix: `kill ${double}`, fixable: true }])
  t.equal((await runHere(t, 'doctor', ...words, '--fix', '--yes')).code, 0)
  t.same([isRunning(double), isRunning(daemon)], [false, true])
})

t.test(
  'a daemon with settings that wait for a restart is restarted',
  { skip: skipWithout.signals },
  async t => {
    const file = configFile(t, { one: tiny() })
    homeless(t)
    const pid = async () =>
      Number(/pid (\d+)/.exec((await runHere(t, 'doctor', '--config', file, '--only', 'D015')).out)?.[1])
    t.teardown(async () => void (await runHere(t, 'daemon', 'stop', '--config', file)))
    t.equal((await runHere(t, 'daemon', 'start', '--keep', '--config', file)).code, 0)
    const before = await pid()
    writeFileSync(file, JSON.stringify({ mcpServers: { one: tiny() }, knownServers: false }))
    const words = ['--config', file, '--only', 'D015']
    await until(async () => (await diagnosed(t, ...words)).ids.length === 1, 'the reload')
    t.match((await diagnosed(t, ...words)).bad, [
      { level: 'note', message: 'only after a restart: knownServers' },
    ])
    t.match(await runHere(t, 'doctor', ...words, '--fix', '--yes'), {
      code: 0,
      err: /mcp-proxy daemon restart/,
    })
    t.match(await diagnosed(t, ...words), { ids: [] })
    t.not(await pid(), before)
    t.notOk(isRunning(before))
  },
)

t.test('a service whose files are gone is told', { skip: skipWithout.proc }, async t => {
  const file = configFile(t, { one: tiny() })
  const home = homeless(t)
  const words = ['--config', file, '--offline', '--only', 'D045']
  t.match(await diagnosed(t, ...words), { ids: [] }, 'none is installed')
  const { out } = await runHere(t, 'service', 'print', '--platform', 'linux', '--config', file)
  const folder = join(home, '.config', 'systemd', 'user')
  mkdirSync(folder, { recursive: true })
  const unit = join(folder, 'mcp-proxy.service')
  writeFileSync(unit, out)
  const well = await diagnosed(t, ...words)
  t.ok(
    well.bad.every(({ level }) => level === 'note'),
    'it may end with the last session',
  )
  writeFileSync(unit, out.replace(/mcp-proxy\.js/, 'gone.js'))
  t.match((await diagnosed(t, ...words)).bad, [
    { level: 'warn', subject: unit, message: /gone\.js is gone$/, fixable: true },
  ])
  writeFileSync(unit, '[Service]\nExecStart=/bin/true\n')
  t.match(await diagnosed(t, ...words), { ids: [] }, 'that of somebody else')
})

t.test('what a killed proxy has left is told, and ended', { skip: skipWithout.proc }, async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const mark = 'z'.repeat(22)
  const env = { ...process.env, MCP_PROXY_CHILD_OF: mark }
  const left = spawn(process.execPath, ['-e', "setInterval(() => {}, 1e6); console.log('up')"], { env })
  t.teardown(() => left.kill('SIGKILL'))
  await once(left.stdout, 'data')
  const dead = spawn(process.execPath, ['-e', ''])
  await once(dead, 'close')
  const records = join(STATE_HOME, 'mcp-proxy', 'instances')
  mkdirSync(records, { recursive: true, mode: 0o700 })
  const at = new Date().toISOString()
  const record = {
    version: 1,
    mark,
    place: thisPlace(),
    pid: dead.pid,
    born: 'then',
    verb: 'serve',
    children: [],
  }
  const path = join(records, `${mark}.json`)
  writeFileSync(path, JSON.stringify({ ...record, startedAt: at, writtenAt: at }), { mode: 0o600 })
  t.teardown(() => rmSync(path, { force: true }))
  const words = ['--config', file, '--only', 'D082']
  t.match((await diagnosed(t, ...words)).bad, [
    { id: 'D082', message: new RegExp(`^process ${left.pid} was left behind by .*: node$`), fixable: true },
  ])
  t.equal((await runHere(t, 'doctor', ...words, '--fix', '--yes')).code, 0)
  t.notOk(isRunning(left.pid ?? 0))
})

t.test(
  'variables are resolved as in a daemon, and a silent login shell is reported',
  { skip: skipWithout.proc },
  async t => {
    const file = configFile(t, {
      one: { ...tiny(), env: { A: '${ONLY_IN_SHELL}' } },
      two: { ...tiny(), env: { B: '${NOWHERE_AT_ALL}', C: '${IN_FILE}' } },
    })
    homeless(t)
    const shell = join(dirname(file), 'shell')
    const say = (script: string): void => {
      writeFileSync(shell, `#!/bin/sh\n${script}\n`)
      chmodSync(shell, 0o755)
    }
    setEnv(t, { SHELL: shell })
    say('ONLY_IN_SHELL=x IN_FILE=y exec /bin/sh -c "$2"')
    writeFileSync(join(dirname(file), 'secrets.env'), `IN_FILE='${SECRET}'\n`, { mode: 0o600 })
    const found = await diagnosed(t, '--config', file, '--only', 'D02')
    t.match(found.bad, [
      { id: 'D020', subject: 'two', message: 'NOWHERE_AT_ALL is not set, and two waits for it' },
    ])
    say('exit 7')
    const { bad } = await diagnosed(t, '--config', file, '--only', 'D02')
    t.match(
      bad.filter(({ id }) => id === 'D022'),
      [{ message: /ended with 7/ }],
    )
    t.notMatch(found.out, SECRET)
  },
)

t.test('a socket path that is not a folder of the user is reported', { skip: skipWithout.links }, async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const folder = dirname(file)
  mkdirSync(join(folder, 'real'))
  symlinkSync(join(folder, 'real'), join(folder, 'run'))
  setEnv(t, { MCP_PROXY_RUN_DIR: join(folder, 'run') })
  t.match((await diagnosed(t, '--config', file, '--only', 'D046')).bad, [
    { message: /run cannot hold.*: it is a link$/ },
  ])
})

t.test('something else at our socket is told', { skip: skipWithout.unixSockets }, async t => {
  const file = configFile(t, { one: tiny() })
  homeless(t)
  const place = placeFor(file)
  preparePlace(place)
  const server = createHttpServer((_request, response) => response.end('{}')).listen(place.socket)
  t.teardown(() => server.close())
  await once(server, 'listening')
  t.match((await diagnosed(t, '--config', file, '--only', 'D046')).bad, [{ message: /is not mcp-proxy$/ }])
})

t.test('a port that another program has is told with its name, and a daemon that cannot start', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const file = configFile(t, { one: tiny() }, { listen: { port }, audit: '/nowhere/audit.log' })
  homeless(t)
  const { bad } = await diagnosed(t, '--config', file, '--only', 'D041,D070')
  t.match(bad, [
    { id: 'D041', message: /the daemon ended at once; its log ends with: / },
    { id: 'D070', message: `port ${port} is taken by ` },
  ])
})

t.test('of a remote server it is told where it answers, and that it wants a login', async t => {
  const server = createHttpServer(({ url }, response) => {
    response.writeHead(url === '/mcp' ? 401 : url === '/broken' ? 503 : 404).end()
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const at = (path: string) => ({ url: `http://127.0.0.1:${port}${path}`, type: 'http', oauth: false })
  const file = configFile(t, {
    lost: at('/other'),
    broken: at('/broken'),
    shut: { ...at('/mcp'), headers: { Authorization: 'Bearer ${PATH}' } },
    nobody: { url: 'http://127.0.0.1:9/mcp', type: 'http' },
  })
  homeless(t)
  const { bad } = await diagnosed(t, '--config', file, '--only', 'D035,D036', '--timeout', '5s')
  t.match(bad, [
    { id: 'D035', subject: 'lost', fix: `write "url": "http://127.0.0.1:${port}/mcp"` },
    { id: 'D035', subject: 'broken', message: /it answers 503/ },
    { id: 'D035', subject: 'nobody' },
    { id: 'D036', subject: 'shut', fix: /^PATH is wrong or has expired/ },
  ])
})

t.test('servers that the daemon serves are not started again', { skip: skipWithout.signals }, async t => {
  const folder = t.testdir()
  const starts = join(folder, 'starts')
  const counted = (name: string, script = '') => ({
    command: process.execPath,
    args: [
      '-e',
      `require('fs').appendFileSync(${JSON.stringify(starts)}, ${JSON.stringify(`${name} `)});
      ${script}; import(${JSON.stringify(TINY)})`,
    ],
  })
  const dies = { command: process.execPath, args: ['-e', "console.error('no licence'); process.exit(3)"] }
  const file = configFile(t, {
    busy: { ...counted('busy', "console.log('Server is up')"), tools: { rename: { echo: 'say' } } },
    off: counted('off'),
    resting: { ...counted('resting'), start: 'lazy' },
    dies,
  })
  homeless(t)
  const startsOf = (): string => (existsSync(starts) ? readFileSync(starts, 'utf8').trim() : '')
  const words = ['--config', file, '--only', 'D03,D06']
  const alone = await diagnosed(t, ...words)
  t.match(alone, { copies: ['busy', 'off', 'resting', 'dies'] })
  t.same(startsOf().split(' ').sort(), ['busy', 'off', 'resting'])
  const running = startBin(t, ['serve', '--config', file, '--port', '0'])
  await running.line(/listening/)
  const place = placeFor(file)
  const post = async (path: string) => await askDaemon(asking(place), `/v1/servers/${path}`, '')
  await until(async () => (await runHere(t, 'call', 'busy__say', '--config', file)).code === 0, 'the server')
  // Not before the file was read again after the start, which switches all servers on.
  t.equal((await post('off/disable')).status, 200)
  rmSync(starts)
  const served = await diagnosed(t, ...words)
  t.match(served, { copies: ['off'] })
  t.match(startsOf(), /^(?:off)?(?: ?resting)?(?: ?off)?$/)
  t.equal(startsOf().includes('busy'), false, 'it runs already')
  const shown = ({ bad }: typeof alone) =>
    bad
      .map(({ id, subject, message }) => [id, subject, message])
      .sort((a, b) => (String(a) < String(b) ? -1 : 1))
  const told = (all: ReturnType<typeof shown>) => all.filter(([id]) => id !== 'D039')
  t.same(told(shown(served)), told(shown(alone)), 'nothing has changed, and nothing is missing')
  t.match(served.bad, [{ id: 'D031', subject: 'dies', message: /exited with code 3.*no licence/ }])
  const { out } = await runHere(t, 'doctor', ...words)
  t.match(out, /^servers +started copies of off, which the daemon does not serve$/m)
  running.child.kill('SIGTERM')
  await once(running.child, 'exit')
  t.match(shown(await diagnosed(t, ...words)), shown(alone))
})

t.test('a problem is three lines, in colours and signs that its reader can see', async t => {
  const found = finding(
    'D030',
    { command: 'uvx', server: 'git', why: `Bearer ${SECRET}` },
    { autoFix: { is: 'refresh' } },
  )
  const plain = findingText(found, { hasColor: false, isUnicode: false })
  t.equal(
    plain,
    [
      'x D030 uvx of git is not found',
      '    why:  Bearer ***',
      '    fix:  install uvx, or write its whole path  (--fix)',
    ].join('\n'),
  )
  t.ok(findingText(found, { hasColor: true, isUnicode: true }).startsWith('\u001b[31m✗ D030'))
  t.match(
    summaryText({ ok: 1, note: 1, warn: 2, error: 1 }, { hasColor: false, isUnicode: true }),
    '1 error, 2 warnings, 1 note, ✓ 1 check',
  )
  t.equal(reportLayout({ isTTY: true }, { NO_COLOR: '1', FORCE_COLOR: '1' }).hasColor, false)
  t.equal(reportLayout({ isTTY: false }, { FORCE_COLOR: '1' }).hasColor, true)
  t.equal(reportLayout({ isTTY: false }, {}).hasColor, false)
  t.equal(reportLayout({ isTTY: true }, { LANG: 'de_DE.UTF-8' }).isUnicode, true)
})

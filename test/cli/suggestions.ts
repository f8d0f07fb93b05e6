import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { commandAt, isGroup } from '../../src/cli/all-verbs.js'
import { endWith, isWindows, OWN_GROUP, until } from '../support/processes.js'
import { BIN, tiny } from '../support/proxy/start.js'
import { BROWSER, LoginServer } from '../support/server/login-server.js'
import { suggestedByProblems, suggestedByPrograms } from '../support/suggestions.js'

const MANAGER = fileURLToPath(new URL('../fixtures/service-manager.mjs', import.meta.url))

interface Row {
  /** The words to type, if they differ because of placeholders or the rest of the sentence. */
  readonly as?: string
  /** The documented exit code, 0 unless given. */
  readonly code?: number
  /** Commands that create the state that the advice assumes. */
  readonly after?: readonly string[]
  /** True if it serves until it is stopped. */
  readonly isServing?: true
  /** Set if the configuration has a lock file, which `lock` writes. */
  readonly hasLock?: true
  readonly shows?: RegExp
  /** Set if it only reads from a started daemon: such rows share one. */
  readonly isReading?: true
}

const isReading = true
const STARTED = ['daemon start --keep']

/** The suggested commands, each with the state in which it is suggested. */
const ROWS: Readonly<Record<string, Row>> = {
  init: { shows: /1 entry/ },
  'init --yes': { shows: /1 entry/ },
  check: {},
  'check --config {file}': { as: 'check --config FILE' },
  list: { shows: /shop__echo/ },
  status: { shows: /shop/ },
  'status --env': { after: STARTED, isReading },
  'why {name} explains its state': { as: 'why shop__echo', after: [...STARTED, 'call shop__echo'] },
  'why {server}': { as: 'why shop', after: STARTED, isReading },
  'why {id}': { as: 'why shop__echo', after: [...STARTED, 'call shop__echo'] },
  'logs at that time': { as: 'logs', after: STARTED, isReading },
  'logs {server}': { as: 'logs shop', after: STARTED, isReading },
  'logs {server} shows what it wrote before': { as: 'logs shop', after: STARTED, isReading },
  tools: { shows: /echo/ },
  'tools disable': { as: 'tools disable shop__echo' },
  'call {near}': { as: 'call shop__echo' },
  ui: { shows: /http:\/\/127\.0\.0\.1:\d+\/ui\/#/ },
  doctor: { shows: /configuration/ },
  'doctor --server {server}': { as: 'doctor --server shop' },
  'doctor --server {server} finds the problem': { as: 'doctor --server shop' },
  'doctor --fix': {},
  'doctor --fix --only D013': {},
  'add NAME -- COMMAND': { as: 'add fresh -- NODE TINY', shows: /echo/ },
  'add {short} -- COMMAND': { as: 'add fresh -- NODE TINY', shows: /echo/ },
  'remove {server}': { as: 'remove spare' },
  'enable {server}': { as: 'enable spare', after: ['disable spare'] },
  'remove {other}': { as: 'remove spare' },
  install: { as: 'install cursor' },
  'install CLIENT': { as: 'install cursor' },
  'install {id}': { as: 'install cursor' },
  'install --all': {},
  'install --refresh': { after: ['install cursor'] },
  'install {id} --view NAME': { as: 'install cursor --view small' },
  'install {id} --take-over': { as: 'install cursor --take-over' },
  'install {id} --scope project': { as: 'install cursor --scope project' },
  'install {id} --via stdio': { as: 'install cursor --via stdio' },
  'install {id} --undo': { as: 'install cursor --undo', after: ['install cursor'] },
  uninstall: { after: ['install cursor', ...STARTED] },
  'daemon start': {},
  'daemon start --keep': {},
  'daemon restart': { after: STARTED },
  'daemon logs': { after: STARTED, isReading },
  'daemon logs --server {server}': { as: 'daemon logs --server shop', after: STARTED, isReading },
  'daemon status --all': { after: STARTED, isReading },
  'service install': {},
  'service install --port {port}': { as: 'service install --port 0' },
  'service status': { after: ['service install'] },
  'auth login NAME': { as: 'auth login guarded' },
  'auth token --help': { shows: /token/ },
  'auth login {server}': { as: 'auth login guarded' },
  'connect --workspace DIR': { as: 'connect --workspace HOME' },
  'serve --config FILE --service': { isServing: true },
  approvals: { after: STARTED, shows: /no calls wait/, isReading },
  lock: { hasLock: true },
  'lock --accept {item}': { as: 'lock --accept shop/echo', after: ['lock'], hasLock: true },
  'check --locked': { after: ['lock'], hasLock: true },
}

interface World {
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  readonly file: string
}

/** Creates a home with a client, servers, an invisible browser, and a service manager that starts nothing. */
const createWorld = (t: Test, guarded: string, hasLock = false): World => {
  const home = mkdtempSync(join(tmpdir(), 'mcp-w-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  const file = join(home, '.config', 'mcp-proxy', 'mcp.json')
  const put = (path: string, value: object): void => {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, JSON.stringify(value), { mode: 0o600 })
  }
  const servers = { shop: tiny(), spare: tiny('--more', '1'), guarded: { url: guarded } }
  const lock = hasLock ? { lock: { file: 'mcp.lock.json', servers: ['shop'] } } : {}
  put(file, { mcpServers: servers, views: { small: { servers: ['shop'] } }, listen: { port: 0 }, ...lock })
  put(join(home, '.cursor', 'mcp.json'), { mcpServers: { shop: tiny() } })
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const name of ['systemctl', 'launchctl', 'loginctl']) {
    const fake = join(bin, name)
    const lines = `process.argv[1] = ${JSON.stringify(fake)}\nimport(${JSON.stringify(MANAGER)})`
    writeFileSync(fake, `#!${process.execPath}\n${lines}\n`)
    chmodSync(fake, 0o755)
  }
  writeFileSync(join(home, 'commands'), '')
  const env = {
    ...{ HOME: home, USERPROFILE: home, PATH: [bin, process.env['PATH']].join(delimiter), LANG: 'C.UTF-8' },
    ...{ XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, 's'), MCP_PROXY_RUN_DIR: join(home, 'r') },
    ...{ BROWSER, FAKE_LOG: join(home, 'commands'), FAKE_FAILS: '', FAKE_START: '' },
  }
  return { home, env, file }
}

interface Ended {
  readonly code: number | null
  readonly text: string
}

/** Runs a command of the user, who answers each question with yes. */
const run = async (
  t: Test,
  { home, env, file }: World,
  command: string,
  isServing?: true,
): Promise<Ended> => {
  const { execPath } = process
  const [node, program] = [tiny().command, tiny().args[0] ?? '']
  const values: Readonly<Record<string, string>> = { FILE: file, HOME: home, NODE: node, TINY: program }
  const words = command.split(' ').map(word => values[word] ?? word)
  const verb = commandAt(words)
  const hasYes = verb !== undefined && !isGroup(verb) && 'yes' in verb.flags && !words.includes('--yes')
  const all = hasYes ? [words[0] ?? '', ...words.slice(1), '--yes'] : words
  const child: ChildProcess = spawn(execPath, [BIN, ...all], {
    ...{ cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] as const },
    ...OWN_GROUP,
  })
  endWith(t, child)
  let text = ''
  const ended = new Promise<Ended>(resolve => {
    const take = (chunk: Buffer): void => {
      text += chunk.toString()
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.once('close', code => resolve({ code, text }))
  })
  if (isServing === true) {
    await until(() => hasSocket(home), 'the proxy')
    child.kill('SIGTERM')
  }
  return await ended
}

const hasSocket = (home: string): boolean => {
  const folder = join(home, 'r')
  return existsSync(folder) && readdirSync(folder).some(name => name.endsWith('.sock'))
}

const stop = async (t: Test, world: World): Promise<void> => {
  if (hasSocket(world.home)) await run(t, world, 'daemon stop')
}

t.test('every suggested command works', { skip: isWindows, timeout: 600_000 }, async all => {
  const commands = [...suggestedByProblems(), ...suggestedByPrograms()]
  all.same(
    commands.filter(command => ROWS[command] === undefined),
    [],
    'each has a row',
  )
  all.same(
    Object.keys(ROWS).filter(command => !commands.includes(command)),
    [],
    'each row is for a suggested command',
  )
  const guarded = await LoginServer.start(all)
  const distinct = new Map(
    commands.map(command => [JSON.stringify({ as: command, ...ROWS[command] }), command]),
  )
  let started: World | undefined
  for (const command of distinct.values()) {
    const { as = command, code = 0, after = [], shows = /(?:)/, ...row } = ROWS[command] ?? {}
    await all.test(command, async t => {
      const owner = row.isReading === true ? all : t
      const known = row.isReading === true ? started : undefined
      const world = known ?? createWorld(owner, guarded.mcpUrl, row.hasLock)
      if (known === undefined)
        for (const each of after) t.match(await run(owner, world, each), { code: 0 }, each)
      t.match(await run(t, world, as, row.isServing), { code, text: shows })
      if (row.isReading === true) started = world
      else await stop(t, world)
    })
  }
  if (started !== undefined) await stop(all, started)
})

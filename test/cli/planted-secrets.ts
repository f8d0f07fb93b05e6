import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isWindows, skipWithout, until } from '../support/processes.js'
import { type Ran, runHere, STATE_HOME, setEnv } from '../support/proxy/start.js'

const WORD = 'pLanted0000Secret'
const PEM = `-----BEGIN PRIVATE KEY-----\n${WORD}\n-----END PRIVATE KEY-----`

/** The shapes of keys; each holds `n`, so that it is told from all others. */
const keyOf = (shape: string, n: number): string => `${shape}${WORD}${String(n).padStart(4, '0')}`

const program = (more: object): object => ({ command: 'no-such-program', ...more })
const remote = (more: object): object => ({ url: 'https://srv.example/mcp', ...more })
const variable =
  (name: string, shape = '') =>
  (n: number) =>
    program({ env: { [name]: keyOf(shape, n) } })
const header =
  (name: string, shape = '') =>
  (n: number) =>
    remote({ headers: { [name]: keyOf(shape, n) } })
const args =
  (make: (key: string) => readonly string[], shape = '') =>
  (n: number) =>
    program({ args: make(keyOf(shape, n)) })
const url =
  (make: (key: string) => string, shape = '') =>
  (n: number) =>
    remote({ url: make(keyOf(shape, n)) })

/** Entries of clients, each with a secret in a place and a shape of its own. */
const SHAPES: readonly ((n: number) => object)[] = [
  variable('GITHUB_TOKEN', 'ghp_'),
  variable('GH', 'github_pat_'),
  variable('GITLAB', 'glpat-'),
  variable('OPENAI', 'sk-'),
  variable('ANTHROPIC', 'sk-ant-api03-'),
  variable('SLACK', 'xoxb-'),
  variable('AWS_ID', 'AKIA'),
  variable('JWT', 'eyJ'),
  variable('API_KEY'),
  variable('client_secret'),
  variable('DB_PASSWORD'),
  variable('PGPASS'),
  variable('BASIC_AUTH'),
  variable('SESSION_COOKIE'),
  variable('AWS_CREDENTIALS'),
  variable('apiKey'),
  n => program({ env: { PRIVATE_KEY: PEM.replace(WORD, keyOf('', n)) } }),
  n => program({ env: { DATABASE_URL: `postgres://me:${keyOf('', n)}@db.example/x` } }),
  n => program({ env: { REDIS: `redis://:${keyOf('', n)}@db.example:6379/0` } }),
  n => program({ env: { HEADERS: `{"Authorization":"Bearer ${keyOf('', n)}"}` } }),
  header('Authorization', 'Bearer '),
  header('Authorization', 'Basic '),
  header('authorization', 'token '),
  header('X-Api-Key'),
  header('Cookie', 'session='),
  header('X-Auth-Token', 'glpat-'),
  args(key => ['--token', key]),
  args(key => [`--api-key=${key}`]),
  args(key => ['-y', 'mcp-remote', 'https://x.example/mcp', '--header', `Authorization: Bearer ${key}`]),
  args(key => ['run', '-i', '--rm', '-e', `GITHUB_TOKEN=${key}`, 'ghcr.io/x/y']),
  args(key => ['run', `--env=API_KEY=${key}`, 'image']),
  args(key => [`postgres://me:${key}@db.example/x`]),
  args(key => [`--connection=mysql://me:${key}@db.example/x`]),
  args(key => [key], 'sk-'),
  args(key => ['--config', `{"apiKey":"${key}"}`]),
  url(key => `https://srv.example/mcp?api_key=${key}`),
  url(key => `https://srv.example/mcp?token=${key}&x=1`),
  url(key => `https://me:${key}@srv.example/mcp`),
  url(key => `https://${key}@srv.example/mcp`),
  url(key => `https://srv.example/s/${key}/mcp`),
  url(key => `https://srv.example/mcp#access_token=${key}`),
  n => ({ serverUrl: `https://srv.example/mcp?key=${keyOf('', n)}` }),
  n => ({ httpUrl: 'https://srv.example/mcp', headers: { 'X-Goog-Api-Key': keyOf('AIza', n) } }),
]

const ENTRIES = Object.fromEntries(SHAPES.map((make, at) => [`server${at}`, make(at)]))

const homeOf = (t: Test): string => {
  const home = t.testdir({ '.cursor': { 'mcp.json': JSON.stringify({ mcpServers: ENTRIES }, null, 2) } })
  setEnv(t, {
    ...{ HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' },
    ...{ XDG_CONFIG_HOME: '', CLAUDE_CONFIG_DIR: '', XDG_STATE_HOME: join(home, 'state') },
  })
  return home
}

/** No planted secret is in what was shown, nor in a file that others can read or that clients share. */
const checkHidden = (t: Test, home: string, ran: Ran): void => {
  const shown = /server\d+[^\n]*pLanted|pLanted[^\n]*/.exec(ran.out + ran.err)
  t.equal(shown?.[0], undefined, 'nothing is shown')
  if (isWindows) return
  for (const entry of readdirSync(home, { withFileTypes: true, recursive: true })) {
    const file = join(entry.parentPath, entry.name)
    // That of the client is as it was.
    if (!entry.isFile() || file.endsWith(join('.cursor', 'mcp.json'))) continue
    const isOpen = (statSync(file).mode & 0o077) !== 0
    t.notOk(isOpen && readFileSync(file, 'utf8').includes(WORD), `${file} is for this user only`)
  }
}

const inConfiguration = (home: string): readonly string[] => {
  const text = readFileSync(join(home, '.config', 'mcp-proxy', 'mcp.json'), 'utf8')
  const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, object> }
  return Object.entries(mcpServers).flatMap(([name, entry]) =>
    JSON.stringify(entry).includes(WORD) ? [`${name} ${JSON.stringify(entry)}`] : [],
  )
}

t.test('import shows no secret, and leaves none in the configuration', async t => {
  t.ok(SHAPES.length >= 40)
  const home = homeOf(t)
  for (const more of [['--dry-run'], ['--dry-run', '--json'], ['--json'], []]) {
    checkHidden(t, home, await runHere(t, 'import', ...more))
  }
  t.same(inConfiguration(home), [])
  const secrets = readFileSync(join(home, '.config', 'mcp-proxy', 'secrets.env'), 'utf8')
  for (const at of SHAPES.keys())
    t.match(secrets, `${WORD}${String(at).padStart(4, '0')}`, `server${at} has its own`)
})

t.test('install --take-over and its undo show no secret', async t => {
  const home = homeOf(t)
  const before = readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8')
  for (const more of [['--take-over'], ['--take-over', '--yes', '--json'], ['--undo'], ['--undo', '--yes']]) {
    checkHidden(t, home, await runHere(t, 'install', 'cursor', ...more))
  }
  t.same(inConfiguration(home), [])
  t.equal(readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8'), before)
})

t.test('init shows no secret when servers print them and fail to start', async t => {
  const home = homeOf(t)
  for (const more of [['--dry-run'], ['--yes', '--json']]) {
    checkHidden(t, home, await runHere(t, 'init', ...more))
  }
  t.same(inConfiguration(home), [])
  const { mcpServers } = JSON.parse(readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8'))
  t.match(mcpServers, ENTRIES, 'a server that does not start stays in its client')
})

t.test('secrets that are kept in the configuration are for this user only', async t => {
  const home = homeOf(t)
  const folder = join(home, '.config', 'mcp-proxy')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'mcp.json'), '{ "mcpServers": {} }', { mode: 0o644 })
  checkHidden(t, home, await runHere(t, 'import', '--secrets', 'keep'))
  t.ok(inConfiguration(home).length > 40)
  checkHidden(t, home, await runHere(t, 'remove', 'server0'))
})

t.test('doctor, check, list and status show none of the secrets that a configuration keeps', async t => {
  const home = homeOf(t)
  checkHidden(t, home, await runHere(t, 'import', '--secrets', 'keep'))
  for (const words of [
    'doctor --offline',
    'check',
    'status',
    'why server3',
    'disable server3',
    'install zed',
  ]) {
    for (const more of [[], ['--json']]) checkHidden(t, home, await runHere(t, ...words.split(' '), ...more))
  }
  checkHidden(t, home, await runHere(t, 'doctor', '--offline', '--fix', '--yes'))
  t.same(inConfiguration(home), [], 'doctor --fix has moved them')
})

/** All shapes in two servers: a program that tells what it knows, and an address that nobody has. */
const talkers = (): object => {
  const all = SHAPES.map((make, n) => make(n) as Readonly<Record<string, object>>)
  const merged = (key: string): object => Object.assign({}, ...all.map(entry => entry[key]))
  const words = all.flatMap(({ args }) => (args ?? []) as readonly string[])
  const tell = 'console.error(...process.argv, ...Object.entries(process.env).flat()); process.exit(3)'
  const addresses = all.flatMap(({ url: each, serverUrl = each }) =>
    serverUrl === undefined ? [] : [serverUrl],
  )
  const remotes = addresses.map((each, n) => [
    `remote${n}`,
    {
      url: String(each).replace('https:', 'http:').replace('srv.example', '127.0.0.1:9'),
      headers: merged('headers'),
    },
  ])
  return {
    talker: {
      command: process.execPath,
      args: ['-e', tell, '--', ...words],
      env: merged('env'),
      start: 'eager',
    },
    ...Object.fromEntries(remotes),
  }
}

t.test(
  'the files of a daemon contain no secret that servers print',
  { skip: skipWithout.signals },
  async t => {
    const home = homeOf(t)
    const folder = join(home, '.config', 'mcp-proxy')
    mkdirSync(folder, { recursive: true })
    const file = join(folder, 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: talkers() }), { mode: 0o600 })
    t.teardown(async () => void (await runHere(t, 'daemon', 'stop', '--config', file)))
    t.equal((await runHere(t, 'daemon', 'start', '--keep', '--config', file)).code, 0)
    const said = async () => (await runHere(t, 'logs', 'talker')).out
    checkHidden(t, home, await runHere(t, 'list'))
    t.match((await runHere(t, 'call', 'talker__x')).code, 4)
    await until(async () => /exited with code 3/.test(await said()), 'the log')
    t.match(await said(), /SESSION_COOKIE \*\*\*/, 'it told all')
    for (const words of [
      'logs',
      'logs talker',
      'daemon logs',
      'daemon status',
      'status',
      'status --env',
      'why talker',
    ])
      for (const more of [[], ['--json']])
        checkHidden(t, home, await runHere(t, ...words.split(' '), ...more))
    checkHidden(t, STATE_HOME, { code: 0, out: '', err: '' })
  },
)

/** What follows `add NAME`. */
const ADDED: readonly ((key: string) => readonly string[])[] = [
  key => ['--env', `API_TOKEN=${key}`, '--', 'no-such-program'],
  key => ['--env', `URL=postgres://me:${key}@db.example/x`, '--', 'no-such-program'],
  key => ['--env', `OPTIONS={"password":"${key}"}`, '--', 'no-such-program'],
  key => ['--', 'no-such-program', '--token', key],
  key => ['--', 'no-such-program', `--api-key=${key}`],
  key => ['--', 'no-such-program', '--header', `Authorization: Bearer ${key}`],
  key => ['https://srv.example/mcp', '--header', `Authorization: Bearer ${key}`],
  key => ['https://srv.example/mcp', '--header', `X-Api-Key: ${key}`],
  key => [`https://srv.example/mcp?token=${key}`],
  key => [`https://me:${key}@srv.example/mcp`],
]

t.test('add shows no secret, and leaves none in the configuration', async t => {
  const home = homeOf(t)
  for (const [at, make] of ADDED.entries()) {
    const [first = '', ...rest] = make(keyOf('', at))
    const more = first.startsWith('https:') ? [first, ...rest] : ['--no-check', first, ...rest]
    const words = first.startsWith('https:') ? [...more, '--no-check'] : more
    const ran = await runHere(t, 'add', `added${at}`, ...words)
    t.equal(ran.code, 0, `added${at}: ${ran.err.replaceAll(WORD, '')}`)
    checkHidden(t, home, ran)
  }
  t.same(inConfiguration(home), [])
})

t.test('what a secret falls back to, and what an input is by default, are secrets too', async t => {
  const home = homeOf(t)
  const inputs = [{ type: 'promptString', id: 'k', password: true, default: keyOf('ghp_', 1) }]
  const servers = {
    a: program({ env: { API_TOKEN: `\${API_TOKEN:-${keyOf('sk-', 2)}}` } }),
    b: program({ env: { API_TOKEN: '${input:k}' } }),
  }
  const file = join(home, 'vscode.json')
  writeFileSync(file, JSON.stringify({ inputs, servers }), { mode: 0o600 })
  checkHidden(t, home, await runHere(t, 'import', file, '--dry-run'))
  checkHidden(t, home, await runHere(t, 'import', file, '--json'))
  // Moved, it would win over a variable of that name, as it must not: it stays, in a file for this user only.
  t.same(inConfiguration(home).length, 1)
})

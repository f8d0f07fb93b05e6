import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runHere, setEnv, tiny } from '../../support/proxy/start.js'

const SECRET = 'planted-secret-1'
const [COMMAND, ARGS] = [tiny().command, tiny().args].map(each => JSON.stringify(each))
const BEFORE = `{
  // mine
  "mcpServers": {
    "github": { "command": ${COMMAND}, "args": ${ARGS}, "env": { "GITHUB_TOKEN": "${SECRET}" } },
  },
}
`

const homeOf = (t: Test) => {
  const home = t.testdir({ '.cursor': { 'mcp.json': BEFORE } })
  setEnv(t, { HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' })
  const file = join(home, '.cursor', 'mcp.json')
  return {
    home,
    file,
    read: () => readFileSync(file, 'utf8'),
    config: join(home, '.config', 'mcp-proxy', 'mcp.json'),
  }
}

t.test('install shows what changes, moves servers behind the proxy, and can be undone', async t => {
  const { file, read, config } = homeOf(t)
  const refused = await runHere(t, 'install', 'cursor', '--take-over')
  t.match(refused, {
    code: 2,
    err: /nothing was written: stdin is not a terminal; pass --yes/,
    out: /^ {2}- mcpServers\.github /m,
  })
  t.equal(read(), BEFORE)
  t.notOk(existsSync(config))
  const done = await runHere(t, 'install', 'cursor', '--take-over', '--yes')
  t.match(done, { code: 0, err: /Cursor: restart Cursor/, out: /imported: github from Cursor/ })
  const entry = read()
  t.match(
    entry,
    /\/\/ mine\n {2}"mcpServers": \{\n {4}"mcp-proxy": \{ "command": ".*connect\.cjs", "--config", ".*mcp\.json"/,
  )
  t.notMatch(entry, 'github')
  t.match(JSON.parse(readFileSync(config, 'utf8')).mcpServers.github.env, { GITHUB_TOKEN: '${GITHUB_TOKEN}' })
  t.match(await runHere(t, 'install', 'cursor', '--yes'), { code: 0, err: 'nothing to do' })
  t.match(await runHere(t, 'install', '--refresh', '--yes'), { code: 0, err: 'nothing to do' })
  const undone = await runHere(t, 'install', 'cursor', '--undo', '--yes', '--json')
  t.equal(undone.code, 0)
  t.match(JSON.parse(undone.out), { version: 1, clients: [{ client: 'cursor', file }] })
  t.equal(read(), BEFORE)
  for (const { out, err } of [refused, done, undone]) t.notMatch(out + err, SECRET)
})

t.test('install prints an entry, and reports unsupported clients and options', async t => {
  const { home } = homeOf(t)
  const printed = await runHere(
    t,
    'install',
    'codex',
    '--print',
    '--via',
    'http',
    '--url',
    'https://team.example/mcp',
  )
  t.match(printed, { code: 0, out: '[mcp_servers.mcp-proxy]\nurl = "https://team.example/mcp"\n' })
  const below = join(home, 'below.json')
  writeFileSync(below, '{ "listen": { "path": "/tools", "port": 7001 }, "mcpServers": {} }')
  const entry = ['codex', '--print', '--via', 'http', '--config', below]
  t.match(await runHere(t, 'install', ...entry), { out: 'url = "http://127.0.0.1:7001/tools/mcp"\n' })
  for (const [host, inUrl] of [
    ['::1', '[::1]'],
    ['[::1]', '[::1]'],
    ['::', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
  ]) {
    const listen = { host, path: '/tools', port: 7001 }
    writeFileSync(below, JSON.stringify({ listen, mcpServers: {} }))
    t.match(await runHere(t, 'install', ...entry), { out: `url = "http://${inUrl}:7001/tools/mcp"\n` })
  }
  for (const [words, code, says] of [
    [[], 2, /which client\?/],
    [['curser'], 2, /did you mean cursor\?/],
    [['cursor', '--take-over', '--scope', 'project'], 2, /--take-over requires --scope user/],
    [['claude-desktop', '--via', 'http'], 2, /does not support addresses/],
    [['opencode'], 4, /OpenCode has not created its file yet/],
    [
      ['claude-desktop', '--scope', 'project'],
      4,
      /does not support project files\n.*\n {2}fix: leave out --scope project/,
    ],
    ...(process.platform === 'win32'
      ? []
      : ([[['visual-studio'], 4, /does not run on this system\n.*\n {2}fix: use --scope project/]] as const)),
    [['kiro', 'cursor', '--file', 'x'], 2, /--file is for one client/],
  ] as const) {
    t.match(await runHere(t, 'install', ...words), { code, err: says })
  }
  const inline = join(home, 'config.toml')
  writeFileSync(inline, 'mcp_servers = { db = { command = "x" } }\n')
  t.match(await runHere(t, 'install', 'codex', '--file', inline, '--yes'), {
    code: 4,
    err: /config\.toml:1: only tables/,
  })
  t.equal(readFileSync(inline, 'utf8'), 'mcp_servers = { db = { command = "x" } }\n')
})

t.test('what cannot be edited is told before the files of others are written', async t => {
  const { home, read } = homeOf(t)
  const codex = join(home, '.codex', 'config.toml')
  mkdirSync(join(home, '.codex'))
  writeFileSync(codex, 'mcp_servers = { db = { command = "x" } }\n')
  setEnv(t, { CODEX_HOME: '' })
  const words = ['cursor', 'codex', '--take-over', '--yes']
  t.match(await runHere(t, 'install', ...words), { code: 4, err: /config\.toml:1: only tables/ })
  t.equal(read(), BEFORE)
  t.notOk(existsSync(join(home, '.config', 'mcp-proxy')))
})

t.test('install without a configuration makes an empty one that can run', async t => {
  const { config, read } = homeOf(t)
  const done = await runHere(t, 'install', 'cursor', '--yes')
  t.match(done, {
    code: 0,
    err: /created \S+mcp\.json without servers; to add one: mcp-proxy add NAME -- COMMAND/,
  })
  t.same(JSON.parse(readFileSync(config, 'utf8')), { mcpServers: {} })
  t.match(await runHere(t, 'check'), { code: 0 })
  t.match(await runHere(t, 'install', 'cursor', '--undo', '--yes'), { code: 0 })
  t.equal(read(), BEFORE)
})

t.test('after an undo, VS Code is not to start mcp-proxy', async t => {
  homeOf(t)
  t.match(await runHere(t, 'install', 'vscode', '--yes'), { code: 0, err: /and start mcp-proxy/ })
  const undone = await runHere(t, 'install', 'vscode', '--undo', '--yes')
  t.match(undone, {
    code: 0,
    err: /VS Code: in VS Code, run "MCP: List Servers" and start the servers you use/,
  })
})

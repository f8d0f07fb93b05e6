import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runHere, setEnv, tiny } from '../../support/proxy/start.js'

const homeOf = (t: Test, files: Readonly<Record<string, string | object>>) => {
  const home = t.testdir({})
  for (const [name, value] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), typeof value === 'string' ? value : JSON.stringify(value, null, 2))
  }
  setEnv(t, {
    ...{ HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' },
    ...{ XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, 'state'), CLAUDE_CONFIG_DIR: '', CODEX_HOME: '' },
    ...{ LC_ALL: 'C.UTF-8', NO_COLOR: '1', PATH: dirname(process.execPath) },
  })
  return (name: string) => readFileSync(join(home, name), 'utf8')
}

const RULES = {
  permissions: { deny: ['mcp__db__echo'], ask: ['mcp__db'], allow: ['mcp__db__facts', 'Bash(ls)'] },
}

t.test('rules of Claude Code get the new names of tools next to the old ones', async t => {
  for (const verb of [
    ['init', '--yes'],
    ['install', 'claude-code', '--take-over', '--yes'],
  ]) {
    const read = homeOf(t, {
      '.claude.json': { mcpServers: { db: tiny() } },
      '.claude/settings.json': RULES,
    })
    const { code, err } = await runHere(t, ...verb)
    t.equal(code, 0)
    t.match(err, /settings\.json deny: mcp__db__echo → also mcp__mcp-proxy__db__echo/)
    const { deny, ask, allow } = JSON.parse(read('.claude/settings.json')).permissions
    t.same(deny, ['mcp__db__echo', 'mcp__mcp-proxy__db__echo'])
    t.match(ask.slice(0, 2), ['mcp__db', 'mcp__mcp-proxy__db__*'])
    t.ok(ask.includes('mcp__mcp-proxy__db__echo'), 'also each tool by its name')
    t.same(allow, ['mcp__db__facts', 'Bash(ls)', 'mcp__mcp-proxy__db__facts'])
    t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['mcp-proxy'])
  }
})

t.test('the settings of projects that Claude Code knows get the new names, too', async t => {
  const project = join(t.testdirName, 'shop')
  const read = homeOf(t, {
    '.claude.json': { mcpServers: { db: tiny() }, projects: { [project]: {} } },
    'shop/.claude/settings.local.json': { permissions: { deny: ['mcp__db__echo'] } },
  })
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  t.match(read('shop/.claude/settings.local.json'), 'mcp__mcp-proxy__db__echo')
})

t.test('a server whose rules cannot be kept stays in its client', async t => {
  const read = homeOf(t, {
    '.claude.json': { mcpServers: { db: tiny(), free: tiny('--more', '1') } },
    '.claude/settings.json': { hooks: { PreToolUse: [{ matcher: 'mcp__db__.*', hooks: [] }] } },
    '.cursor/mcp.json': { mcpServers: { web: tiny('--more', '2') } },
    '.cursor/cli-config.json': { permissions: { deny: ['Mcp(web:echo)'] } },
  })
  const { err } = await runHere(t, 'init', '--yes')
  t.match(err, /^! db stays in Claude Code: "mcp__db__\.\*" in \S+settings\.json would match nothing$/m)
  t.match(err, /^! web stays in Cursor: its rule "Mcp\(web:echo\)" in \S+ would match nothing$/m)
  t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['db', 'mcp-proxy'])
})

t.test('the strictest approval mode of Codex stays in force', async t => {
  const { command, args } = tiny()
  const entry = `command = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`
  for (const [text, expected] of [
    [`[mcp_servers.db]\n${entry}default_tools_approval_mode = "prompt"\n`, true],
    [`[mcp_servers.db]\n${entry}\n[mcp_servers.db.tools.echo]\napproval_mode = "prompt"\n`, true],
    [`[mcp_servers.db]\n${entry}default_tools_approval_mode = "approve"\n`, false],
  ] as const) {
    const read = homeOf(t, { '.codex/config.toml': text })
    t.equal((await runHere(t, 'install', 'codex', '--take-over', '--yes')).code, 0)
    const after = read('.codex/config.toml')
    t.notMatch(after, 'mcp_servers.db')
    t.equal(after.includes('default_tools_approval_mode = "prompt"'), expected, after)
    await runHere(t, 'install', '--refresh', '--yes')
    t.equal(read('.codex/config.toml').includes('approval_mode = "prompt"'), expected)
  }
})

t.test(
  'a client with rules for tools sees them directly, as its rules do not cover search tools',
  async t => {
    const config = '.config/mcp-proxy/mcp.json'
    for (const [list, rule] of [
      ['deny', 'mcp__db__echo'],
      ['ask', 'mcp__db'],
    ] as const) {
      const read = homeOf(t, {
        [config]: { mcpServers: {}, expose: 'search', clients: { 'cursor*': { expose: 'search' } } },
        '.claude.json': { mcpServers: { db: tiny() } },
        '.cursor/mcp.json': { mcpServers: { web: tiny('--more', '1') } },
        '.claude/settings.json': { permissions: { [list]: [rule] } },
      })
      t.equal((await runHere(t, 'init', '--yes')).code, 0)
      const { views } = JSON.parse(read(config))
      t.same(views, {
        'claude-code': { servers: ['!(web)'], expose: 'direct' },
        cursor: { servers: ['!(db)'] },
      })
      t.match(JSON.parse(read('.claude.json')).mcpServers['mcp-proxy'].args.join(' '), '--view claude-code')
      t.equal((await runHere(t, 'check')).code, 0)
      t.equal((await runHere(t, 'init', '--yes')).code, 0)
      t.same(JSON.parse(read(config)).views, views, 'again')
    }
  },
)

t.test('a client with rules and no other servers to leave out has a view, too', async t => {
  const read = homeOf(t, {
    '.claude.json': { mcpServers: { db: tiny() } },
    '.claude/settings.json': { permissions: { deny: ['mcp__db__echo'] } },
  })
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  t.same(JSON.parse(read('.config/mcp-proxy/mcp.json')).views, { 'claude-code': { expose: 'direct' } })
})

t.test('a server with rules stays where a client has search tools by its name', async t => {
  const read = homeOf(t, {
    '.config/mcp-proxy/mcp.json': { mcpServers: {}, clients: { 'claude*': { expose: 'search' } } },
    '.claude.json': { mcpServers: { db: tiny(), free: tiny('--more', '1') } },
    '.claude/settings.json': { permissions: { ask: ['mcp__db'] } },
  })
  const { code, err } = await runHere(t, 'init', '--yes')
  t.equal(code, 0)
  t.match(
    err.replaceAll(/\n\s*/g, ' '),
    /! db stays in Claude Code: its rule "mcp__db" does not cover search tools; set/,
  )
  t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['db', 'mcp-proxy'])
})

t.test('an undo removes the added rules, byte for byte where nothing else has changed', async t => {
  const text = '{ "permissions": {"deny": ["mcp__db__echo"],\n\t"allow": [ "Bash(ls)" ]} }'
  for (const [edit, expected] of [
    [(now: string) => now, text],
    [
      (now: string) => now.replace('"Bash(ls)"', '"Bash(pwd)"'),
      /^(?!.*mcp-proxy).*"mcp__db__echo".*Bash\(pwd\)/s,
    ],
  ] as const) {
    const read = homeOf(t, {
      '.claude.json': { mcpServers: { db: tiny() } },
      '.claude/settings.json': text,
    })
    const before = read('.claude.json')
    t.equal((await runHere(t, 'init', '--yes')).code, 0)
    t.match(read('.claude/settings.json'), 'mcp__mcp-proxy__db__echo')
    writeFileSync(
      join(process.env['HOME'] ?? '', '.claude/settings.json'),
      edit(read('.claude/settings.json')),
    )
    const { code, err } = await runHere(t, 'install', 'claude-code', '--undo', '--yes')
    t.equal(code, 0)
    t.match(err, /also removes the permission rules that were added to \S+settings\.json/)
    t.equal(read('.claude.json'), before)
    t.match(read('.claude/settings.json'), expected)
    t.match((await runHere(t, 'install', 'claude-code', '--undo', '--yes')).err, 'nothing to do')
  }
})

t.test('doctor finds a rule that was added for the old name of a tool', async t => {
  homeOf(t, {
    '.claude.json': { mcpServers: { db: tiny() } },
    '.cursor/mcp.json': { mcpServers: { web: tiny('--more', '1') } },
  })
  const home = process.env['HOME'] ?? ''
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  const doctor = async () => (await runHere(t, 'doctor', '--offline', '--only', 'D058', '--json')).out
  t.match(JSON.parse(await doctor()).checks, [{ level: 'ok' }])
  mkdirSync(join(home, '.claude'), { recursive: true })
  writeFileSync(join(home, '.claude/settings.json'), '{ "permissions": { "deny": ["mcp__db__echo"] } }')
  writeFileSync(join(home, '.cursor/cli-config.json'), '{ "permissions": { "deny": ["Mcp(web:echo)"] } }')
  t.match(JSON.parse(await doctor()).checks, [
    {
      id: 'D058',
      message: /^the rule mcp__db__echo of Claude Code matches/,
      fix: /^add mcp__mcp-proxy__db__echo to/,
    },
    { id: 'D058', message: /^the rule Mcp\(web:echo\) of Cursor matches/, fix: /install cursor --undo/ },
  ])
})

t.test('install --take-over shows tools with rules directly, with any mode for others', async t => {
  const config = '.config/mcp-proxy/mcp.json'
  const read = homeOf(t, {
    [config]: { mcpServers: {}, expose: 'search' },
    '.claude.json': { mcpServers: { db: tiny(), free: tiny('--more', '1') } },
    '.claude/settings.json': { permissions: { deny: ['mcp__db__echo'] } },
  })
  t.equal((await runHere(t, 'install', 'claude-code', '--take-over', '--yes')).code, 0)
  t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['mcp-proxy'])
  t.same(JSON.parse(read(config)).views, { 'claude-code': { expose: 'direct' } })
  t.match(JSON.parse(read('.claude.json')).mcpServers['mcp-proxy'].args.join(' '), '--view claude-code')
})

t.test('install --take-over leaves a server with rules where a named view has search tools', async t => {
  const read = homeOf(t, {
    '.config/mcp-proxy/mcp.json': { mcpServers: {}, views: { work: { expose: 'search' } } },
    '.claude.json': { mcpServers: { db: tiny(), free: tiny('--more', '1') } },
    '.claude/settings.json': { permissions: { deny: ['mcp__db__echo'] } },
  })
  const words = ['install', 'claude-code', '--take-over', '--view', 'work', '--yes']
  t.equal((await runHere(t, ...words)).code, 0)
  t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['db', 'mcp-proxy'])
  t.match(JSON.parse(read('.claude.json')).mcpServers['mcp-proxy'].args.join(' '), '--view work')
})

t.test('check warns of search tools that get round the rules of a client', async t => {
  const config = '.config/mcp-proxy/mcp.json'
  const read = homeOf(t, {
    '.claude.json': { mcpServers: { db: tiny() } },
    '.claude/settings.json': { permissions: { deny: ['mcp__db__echo'] } },
  })
  const file = join(process.env['HOME'] ?? '', config)
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  t.notMatch((await runHere(t, 'check')).out, 'D059')
  const before = JSON.parse(read(config))
  for (const [more, isFound] of [
    [{ expose: 'search' }, false],
    [{ clients: { 'claude-code': { expose: 'search' } } }, true],
    [{ clients: { 'claude*': { expose: 'direct' } } }, false],
    [{ views: {}, expose: 'search' }, true],
    [{ views: {}, clients: { 'claude-code': { maxTools: 20 } } }, true],
  ] as const) {
    writeFileSync(file, JSON.stringify({ ...before, ...more }))
    const { code, out } = await runHere(t, 'check')
    t.equal(code, 0)
    const warning =
      /warning {2}D059: Claude Code may get search tools, .* its permission rule mcp__mcp-proxy__db__echo; set/
    if (isFound) t.match(out, warning, JSON.stringify(more))
    else t.notMatch(out, 'D059', JSON.stringify(more))
  }
  writeFileSync(file, JSON.stringify({ ...before, clients: { 'claude-code': { expose: 'search' } } }))
  const rules = '{ "permissions": { "ask": ["mcp__mcp-proxy", "mcp__mcp-proxy__call_write_tool"] } }'
  writeFileSync(join(process.env['HOME'] ?? '', '.claude/settings.json'), rules)
  t.notMatch((await runHere(t, 'check')).out, 'D059', 'rules that cover search tools')
})

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { endWith, isWindows, OWN_GROUP, skipWithout, until } from '../../support/processes.js'
import { BIN, runHere, setEnv, tiny } from '../../support/proxy/start.js'

const SECRET = 'ghp_planted00000000000000000000000001'

const jsonOf = (key: string, servers: object): string =>
  `// mine\n${JSON.stringify({ [key]: servers }, null, 2)}\n`

/** A home in which two clients have one server in common, and one that cannot start. */
const homeOf = (t: Test) => {
  const same = { ...tiny(), env: { GITHUB_TOKEN: SECRET } }
  const text = (servers: object) => jsonOf('mcpServers', servers)
  const claude = text({ same, broken: { command: 'no-such-program-here' } })
  const cursor = text({ same, other: tiny('--more', '40') })
  const home = t.testdir({ '.claude.json': claude, '.cursor': { 'mcp.json': cursor } })
  const path = process.env['PATH'] ?? ''
  setEnv(t, {
    ...{
      HOME: home,
      USERPROFILE: home,
      APPDATA: join(home, '.config'),
      MCP_PROXY_CONFIG: '',
      LC_ALL: 'C.UTF-8',
    },
    ...{ NO_COLOR: '1', XDG_CONFIG_HOME: '', CLAUDE_CONFIG_DIR: '', XDG_STATE_HOME: join(home, 'state') },
    // No program of Claude Code, whatever this machine has.
    PATH: path
      .split(delimiter)
      .filter(folder => !existsSync(join(folder, 'claude')))
      .join(delimiter),
  })
  const read = (name: string) => readFileSync(join(home, name), 'utf8')
  return { home, claude, cursor, read, config: join(home, '.config', 'mcp-proxy', 'mcp.json') }
}

t.test('a client file with a long history is read and parsed once', async t => {
  const { home } = homeOf(t)
  const file = join(home, '.claude.json')
  const history = Array.from({ length: 400 }, (_, n) => ({ display: `prompt ${n} ${'x'.repeat(1000)}` }))
  const servers = { one: tiny(), two: tiny() }
  const projects = { '/nowhere/shop': { history, mcpServers: { db: tiny() } }, '/nowhere/other': {} }
  writeFileSync(file, JSON.stringify({ mcpServers: servers, projects }, null, 2))
  // A file that was written just now may change again without another time stamp.
  await until(() => Date.now() - statSync(file).ctimeMs > 200, 'the file to be older')
  const { parse } = JSON
  let long = 0
  t.teardown(() => {
    JSON.parse = parse
  })
  JSON.parse = (text: string, ...rest: []) => {
    if (text.length > 300_000) long += 1
    return parse(text, ...rest) as unknown
  }
  const dry = await runHere(t, 'init', '--dry-run')
  t.match(dry, { code: 0, err: /1 Claude Code project has its own servers \(1\)/, out: /- mcpServers\.one / })
  t.equal(long, 1)
  JSON.parse = parse
  t.equal((await runHere(t, 'init', '--yes', '--install', 'claude-code')).code, 0)
  const after = parse(readFileSync(file, 'utf8')) as Record<string, object>
  t.same(after['projects'], projects, 'its history stays')
  t.same(Object.keys(after['mcpServers'] ?? {}), ['mcp-proxy'])
})

t.test('init without a terminal shows what it would do, and needs --yes to do it', async t => {
  const { claude, cursor, read, config } = homeOf(t)
  const refused = await runHere(t, 'init')
  t.match(refused, {
    code: 2,
    out: '',
    err: /nothing was written.*\n {2}why: .*\n {2}fix: mcp-proxy init --yes\n$/,
  })
  const dry = await runHere(t, 'init', '--dry-run')
  t.match(dry, { code: 0, err: /Found {2}Claude Code 2 servers · Cursor 2 servers \(1 the same\)/ })
  t.match(
    dry.out,
    /mcp\.json {2}\+ same from Claude Code\n.*\+ broken[\s\S]*\.claude\.json {2}- mcpServers\.same /,
  )
  t.match(JSON.parse((await runHere(t, 'init', '--dry-run', '--json')).out), {
    version: 1,
    servers: [{ name: 'same' }, { name: 'broken' }, { name: 'other' }],
  })
  t.equal(read('.claude.json'), claude)
  t.equal(read('.cursor/mcp.json'), cursor)
  t.notOk(existsSync(config))
  t.notMatch(refused.err + dry.out + dry.err, SECRET)
})

t.test('init moves the servers of clients behind the proxy, starts them once, and can be undone', async t => {
  const { home, claude, cursor, read, config } = homeOf(t)
  const done = await runHere(t, 'init', '--yes', '--json')
  t.equal(done.code, 0)
  t.match(done.err, /^✓ same {2}6 tools, \d+\.\d s$/m)
  t.match(done.err, /^✗ broken {2}D030: no-such-program-here of broken is not found; fix: install no-such/m)
  t.match(done.err, /^✓ Claude Code: 1 server → 1 entry \(undo: mcp-proxy install claude-code --undo\)$/m)
  t.match(done.err, /^✓ Cursor: restart Cursor$/m)
  t.match(done.err, /^✓ Claude Code: type \/mcp in Claude Code$/m)
  t.match(done.err, /^! broken stays in Claude Code: D030: no-such-program-here of broken is not found$/m)
  t.match(
    done.err,
    /^Cursor accepts 40 tools and you have 52, so it sees search tools \(find_tools\) instead$/m,
  )
  t.match(
    done.err,
    /^Found 4 servers, moved 2 behind the proxy: same, other\n {2}left broken in Claude Code: /m,
  )
  t.notMatch(done.err, /Claude Code takes|D032/)
  const { version, started, clients } = JSON.parse(done.out)
  t.match([version, started.length, clients.length], [1, 3, 2])
  t.match(clients[0], { moved: [{ name: 'same', as: 'same' }], left: [{ name: 'broken', why: /D030/ }] })
  t.same(Object.keys(JSON.parse(readFileSync(config, 'utf8')).mcpServers), ['same', 'broken', 'other'])
  for (const name of ['.claude.json', '.cursor/mcp.json']) {
    t.match(read(name), /^\/\/ mine\n[\s\S]*"mcp-proxy"/)
    t.notMatch(read(name), /"same"|"other"/)
  }
  t.match(read('.claude.json'), '"broken"')
  const again = await runHere(t, 'init', '--yes')
  t.match(again, { code: 0, err: /nothing new to import: \S+ has 3 servers[\s\S]*no client was changed/ })
  await runHere(t, 'install', 'claude-code', 'cursor', '--undo', '--yes')
  t.equal(read('.claude.json'), claude)
  t.equal(read('.cursor/mcp.json'), cursor)
  t.notMatch(done.out + done.err + again.err, SECRET)
  t.equal(readdirSync(home).includes('state'), true)
})

t.test('init takes what it is told to, and begins with nothing where there is nothing', async t => {
  const { read, config, cursor } = homeOf(t)
  t.match(await runHere(t, 'init', '--from', 'curser'), { code: 2, err: /did you mean cursor\?/ })
  const one = await runHere(t, 'init', '--yes', '--from', 'claude-code', '--install', 'kiro')
  t.match(one, { code: 0, err: /✓ Kiro: has the proxy/ })
  t.match(read('.kiro/settings/mcp.json'), 'connect.cjs')
  t.equal(read('.cursor/mcp.json'), cursor)
  t.same(Object.keys(JSON.parse(readFileSync(config, 'utf8')).mcpServers), ['same', 'broken'])
  const empty = t.testdir()
  setEnv(t, { HOME: empty, USERPROFILE: empty, APPDATA: join(empty, '.config') })
  const none = await runHere(t, 'init', '--yes')
  t.match(none, {
    code: 0,
    err: /no servers in the files of clients[\s\S]*no servers yet; created/,
  })
  t.same(JSON.parse(readFileSync(join(empty, '.config', 'mcp-proxy', 'mcp.json'), 'utf8')), {
    mcpServers: {},
  })
})

t.test('init lists servers of clients that --from leaves out as not chosen', async t => {
  const { read } = homeOf(t)
  const { code, err } = await runHere(t, 'init', '--yes', '--from', 'claude-code', '--install', 'cursor')
  t.equal(code, 0)
  t.match(err, /^ {2}not chosen: other \(Cursor\)$/m)
  t.notMatch(err, /other (?:in|stays in) Cursor|run mcp-proxy init again/)
  t.match(read('.cursor/mcp.json'), '"other"')
})

t.test('a client whose file cannot be edited keeps no others from the proxy', async t => {
  const { home, read } = homeOf(t)
  setEnv(t, { CODEX_HOME: '' })
  for (const folder of ['.codex', '.gemini', '.kiro/settings/mcp.json']) {
    mkdirSync(join(home, folder), { recursive: true })
  }
  const inline = 'mcp_servers = { db = { command = "no-such-program-here" } }\n'
  writeFileSync(join(home, '.codex', 'config.toml'), inline)
  writeFileSync(join(home, '.gemini', 'settings.json'), '{}', { mode: 0o444 })
  const { code, err } = await runHere(t, 'init', '--yes')
  t.equal(code, 4)
  t.match(err, /✗ Codex: .*config\.toml:1: only tables.*; fix: correct line 1/)
  t.match(err, /✗ Kiro: .*this is not a file/)
  t.match(err, /✗ Gemini CLI: .*read-only; fix: make .* writable/)
  t.match(err, /✓ Claude Code: 1 server → 1 entry[\s\S]*✓ Cursor: 2 servers → 1 entry/)
  t.match(read('.cursor/mcp.json'), 'connect.cjs')
  t.same([read('.codex/config.toml'), read('.gemini/settings.json')], [inline, '{}'])
})

t.test('what needs a folder waits, and clients see at once what started before', async t => {
  const { home, config } = homeOf(t)
  const work = { ...tiny(), cwd: '${workspaceFolder}' }
  mkdirSync(join(config, '../verbs'), { recursive: true })
  writeFileSync(config, JSON.stringify({ mcpServers: { work, slow: tiny('--slow', '300') } }))
  const { err } = await runHere(t, 'init', '--yes', '--from', 'kiro', '--install', 'kiro')
  t.match(err, /^! work {2}D033: no client has a known working folder; open a folder in a client/m)
  t.match(err, /^✓ slow {2}6 tools/m)
  t.equal(readdirSync(join(home, 'state', 'mcp-proxy', 'known')).length, 1)
})

/** Types keys into the program on a terminal, all at once, and resolves with what it showed. */
const typed = async (t: Test, keys: string) => {
  const command = [process.execPath, BIN, 'init'].map(word => `'${word}'`).join(' ')
  // Without `exec`, the shell dies of Ctrl-C in its place.
  const terminal = spawn('script', ['-qfec', `exec ${command}`, '/dev/null'], OWN_GROUP)
  endWith(t, terminal)
  let shown = ''
  terminal.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString()
  })
  // What is typed before the program reads it would be echoed, and Ctrl-C taken for a signal.
  await until(() => shown.includes('[Y/n'), 'the first question')
  terminal.stdin.write(keys)
  const [code] = (await once(terminal, 'close')) as [number]
  return { code, shown }
}

t.test('on a terminal three times Enter is enough', { skip: skipWithout.script }, async t => {
  const { read } = homeOf(t)
  const { code, shown } = await typed(t, '\r\r\r')
  t.equal(code, 0)
  t.match(
    shown,
    /1 same {2}2 broken {2}3 other[\s\S]*Move GITHUB_TOKEN \(same, Claude Code\) to [\s\S]*1 Claude Code: same → mcp-proxy[\s\S]*2 Cursor: same, other → mcp-proxy/,
  )
  t.match(read('.cursor/mcp.json'), 'connect.cjs')
  t.notMatch(shown, SECRET)
})

t.test(
  'numbers select servers, and the others stay in their client',
  { skip: skipWithout.script },
  async t => {
    const { read, claude, config } = homeOf(t)
    const { code } = await typed(t, '9\r1, 3\rn\r2\r')
    t.equal(code, 0)
    const { same, ...others } = JSON.parse(readFileSync(config, 'utf8')).mcpServers
    t.same(Object.keys(others), ['other'])
    t.equal(same.env.GITHUB_TOKEN, SECRET, 'it was not to be moved')
    t.equal(read('.claude.json'), claude)
    t.notMatch(read('.cursor/mcp.json'), '"same"')
  },
)

t.test(
  'Ctrl-C and the end of input before anything is written change nothing',
  { skip: skipWithout.script },
  async t => {
    for (const keys of ['\x03', '\r\x03', '\x04', '\r\x04', '\r\r\x03', '\r\r\x04']) {
      const { home, read, claude, cursor, config } = homeOf(t)
      const lone = { ...tiny(), env: { LICENSE: 'AB12-CD34-EF56' } }
      mkdirSync(join(home, '.kiro', 'settings'), { recursive: true })
      writeFileSync(join(home, '.kiro', 'settings', 'mcp.json'), JSON.stringify({ mcpServers: { lone } }))
      const { code } = await typed(t, keys)
      t.equal(code, 130)
      t.equal(read('.claude.json'), claude)
      t.equal(read('.cursor/mcp.json'), cursor)
      t.notOk(existsSync(config))
    }
  },
)

const KILLER = fileURLToPath(new URL('../../fixtures/killed-writer.cjs', import.meta.url))
const RULES = '{ "permissions": {"deny": ["mcp__same__echo"]} }'

/** Further clients, with a server of their own or one of Cursor's, each file with its comment. */
const OTHERS: Readonly<Record<string, string>> = {
  '.kiro/settings/mcp.json': jsonOf('mcpServers', { kiro: tiny(), other: tiny('--more', '40') }),
  '.gemini/settings.json': jsonOf('mcpServers', { gemini: tiny() }),
  '.codex/config.toml': `# mine\n[mcp_servers.codex]\ncommand = ${JSON.stringify(tiny().command)}\nargs = ${JSON.stringify(tiny().args)}\n`,
}

t.test('init that is killed before any of its writes leaves what can be completed or undone', async t => {
  for (let at = 1; ; at += 1) {
    const { home, read, claude, cursor } = homeOf(t)
    const clients = { '.claude.json': claude, '.cursor/mcp.json': cursor, ...OTHERS }
    mkdirSync(join(home, '.claude'))
    writeFileSync(join(home, '.claude', 'settings.json'), RULES)
    for (const [name, text] of Object.entries(OTHERS)) {
      mkdirSync(dirname(join(home, name)), { recursive: true })
      writeFileSync(join(home, name), text)
    }
    const log = join(home, 'log')
    const env = { ...process.env, KILL_LOG: log, KILL_AT: String(at) }
    const { status, signal } = spawnSync(process.execPath, ['--require', KILLER, BIN, 'init', '--yes'], {
      env,
    })
    if (status === 0) {
      t.ok(at > 14, `${at - 1} writes`)
      break
    }
    t.equal(signal, 'SIGKILL')
    const [place = ''] = readFileSync(log, 'utf8').trim().split('\n').slice(-1)
    const title = `${at}: before ${place.slice(home.length)}`
    const moved = Object.keys(clients).filter(name => read(name).includes('connect.cjs'))
    for (const [name, before] of Object.entries(clients))
      if (!moved.includes(name)) t.equal(read(name), before, `${title}: ${name} is as before`)
    if (moved.length > 0) t.equal((await runHere(t, 'check')).code, 0, `${title}: ${moved.join(', ')} work`)
    if (at % 2 === 0) {
      t.match(await runHere(t, 'init', '--yes'), { code: 0 }, `${title}: the next init`)
      for (const name of Object.keys(clients)) t.match(read(name), 'connect.cjs', `${title}: ${name}`)
      t.match(JSON.parse(read('.claude/settings.json')).permissions.deny, { length: 2 }, title)
    }
    t.equal((await runHere(t, 'uninstall', '--yes')).code, 0, `${title}: uninstall`)
    for (const [name, before] of Object.entries(clients)) t.equal(read(name), before, `${title}: ${name}`)
    t.equal(read('.claude/settings.json'), RULES, title)
    const left = readdirSync(home, { recursive: true }).map(String)
    t.same(
      left.filter(name => /\.(?:tmp|lock)$/.test(name)),
      [],
      `${title}: nothing else is left`,
    )
  }
})

/** A program of Claude Code that writes as it does, or fails. */
const claudeIn = (t: Test, home: string, body: string): void => {
  const folder = join(home, 'bin')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  const file = join(folder, 'claude')
  writeFileSync(file, `#!${process.execPath}\n${body}`)
  chmodSync(file, 0o755)
  setEnv(t, { PATH: `${folder}${delimiter}${process.env['PATH']}` })
}

const ADD = `
const { readFileSync, writeFileSync } = require('node:fs')
const file = process.env.HOME + '/.claude.json'
const [, , ...words] = process.argv
writeFileSync(process.env.HOME + '/words.json', JSON.stringify(words))
const all = JSON.parse(readFileSync(file, 'utf8').replace('// mine', ''))
all.mcpServers[words.at(-2)] = JSON.parse(words.at(-1))
writeFileSync(file, JSON.stringify(all))
`

t.test('where Claude Code is installed it writes our entry itself', { skip: isWindows }, async t => {
  const { home, read, claude } = homeOf(t)
  claudeIn(t, home, ADD)
  t.equal((await runHere(t, 'install', 'claude-code', '--take-over', '--yes')).code, 0)
  t.match(JSON.parse(read('words.json')), [
    'mcp',
    'add-json',
    '-s',
    'user',
    'mcp-proxy',
    /^\{"type":"stdio",/,
  ])
  t.same(Object.keys(JSON.parse(read('.claude.json')).mcpServers), ['broken', 'mcp-proxy'])
  t.match(await runHere(t, 'install', 'claude-code', '--yes'), { code: 0, err: 'nothing to do' })
  await runHere(t, 'install', 'claude-code', '--undo', '--yes')
  t.equal(read('.claude.json'), claude, 'byte for byte')
})

t.test('a program of Claude Code that fails is done without', { skip: isWindows }, async t => {
  const { home, read, claude } = homeOf(t)
  claudeIn(t, home, 'process.exit(1)')
  t.equal((await runHere(t, 'install', 'claude-code', '--yes')).code, 0)
  t.match(read('.claude.json'), /^\/\/ mine\n[\s\S]*"mcp-proxy"/)
  await runHere(t, 'install', 'claude-code', '--undo', '--yes')
  t.equal(read('.claude.json'), claude)
})

/** This package in the cache of npx, and an npm that installs as told. */
const inCache = (t: Test, npm: string) => {
  const home = t.testdir({
    '.cursor': { 'mcp.json': '{ "mcpServers": {} }' },
    bin: { npm: `#!/bin/sh\n${npm}\n` },
  })
  chmodSync(join(home, 'bin', 'npm'), 0o755)
  const own = fileURLToPath(new URL('../../..', import.meta.url))
  const copy = join(home, '_npx', 'x', 'node_modules', 'mcp-proxy-daemon')
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(own, name), join(copy, name), { recursive: true })
  symlinkSync(join(own, 'node_modules'), join(copy, 'node_modules'))
  const env = { HOME: home, PATH: `${join(home, 'bin')}${delimiter}/usr/bin${delimiter}/bin` }
  const run = (...words: string[]) => {
    const script = join(copy, 'bin', 'mcp-proxy.js')
    const { status, stderr } = spawnSync(process.execPath, [script, ...words], {
      env,
      encoding: 'utf8',
      input: '',
    })
    return { status, stderr, file: readFileSync(join(home, '.cursor', 'mcp.json'), 'utf8') }
  }
  return { home, run }
}

t.test(
  'from the cache of npx the program is installed first, or nothing is written',
  { skip: isWindows },
  t => {
    const good = inCache(t, 'case "$1" in root) echo /usr/lib/node_modules ;; esac')
    const refused = good.run('install', 'cursor')
    t.match(refused, {
      status: 2,
      stderr:
        /nothing was written[\s\S]*\n {2}fix: npm i -g --ignore-scripts --install-links \S+mcp-proxy-daemon\n$/,
    })
    t.equal(refused.file, '{ "mcpServers": {} }')
    const done = good.run('init', '--yes')
    t.equal(done.status, 0, done.stderr)
    t.match(done.file, '"/usr/lib/node_modules/mcp-proxy-daemon/bin/connect.cjs"')
    const failed = inCache(t, 'echo "no network" >&2; exit 1').run('install', 'cursor', '--yes')
    t.match(failed, { status: 2, stderr: /no network/, file: '{ "mcpServers": {} }' })
    t.end()
  },
)

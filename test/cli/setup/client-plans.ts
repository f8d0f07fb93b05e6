import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runHere, setEnv, tiny } from '../../support/proxy/start.js'

/** A home with these servers in the files of clients. */
const homeOf = (t: Test, files: Readonly<Record<string, object>>) => {
  const home = t.testdir({})
  const put = (name: string, value: object): void => {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), JSON.stringify(value, null, 2))
  }
  for (const [name, value] of Object.entries(files)) put(name, value)
  setEnv(t, {
    ...{ HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' },
    ...{ XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, 'state'), CLAUDE_CONFIG_DIR: '', CODEX_HOME: '' },
    ...{ LC_ALL: 'C.UTF-8', NO_COLOR: '1', PATH: dirname(process.execPath) },
  })
  const read = (name: string) => JSON.parse(readFileSync(join(home, name), 'utf8'))
  const config = () => read('.config/mcp-proxy/mcp.json')
  return { home, put, read, config }
}

const VSCODE = '.config/Code/User/mcp.json'
const CURSOR = '.cursor/mcp.json'
const KIRO = '.kiro/settings/mcp.json'

/** The tools that a client sees by the arguments of its entry. */
const seenBy = async (t: Test, entry: { readonly args: readonly string[] }, config: string) => {
  const at = entry.args.indexOf('--view')
  const { views = {} } = JSON.parse(readFileSync(config, 'utf8'))
  const [glob] = at === -1 ? ['*'] : views[entry.args[at + 1] ?? ''].servers
  const { matcherOf } = await import('../../../src/kernel/globs.js')
  const { out } = await runHere(t, 'list', '--json', '--config', config)
  const names: string[] = JSON.parse(out).servers.map(({ name }: { name: string }) => name)
  return names.filter(matcherOf([glob]))
}

t.test('a server that does not work behind the proxy stays in its client, with the reason', async t => {
  const weather = { ...tiny(), env: { WEATHER_KEY: '${input:weather-key}' } }
  const { read } = homeOf(t, {
    [VSCODE]: { servers: { weather, time: tiny('--more', '1') } },
    [CURSOR]: {
      mcpServers: { gone: { command: '/nonexistent/x' }, off: { ...tiny('--more', '2'), disabled: true } },
    },
  })
  const { code, err } = await runHere(t, 'init', '--yes')
  t.equal(code, 0)
  t.match(err, /^! weather stays in VS Code: WEATHER_KEY is missing$/m)
  t.match(err, /^! gone stays in Cursor: D03\d: /m)
  t.match(err, /^! off stays in Cursor: it is disabled$/m)
  t.same(Object.keys(read(VSCODE).servers), ['weather', 'mcp-proxy'])
  t.same(
    Object.keys(read(CURSOR).mcpServers),
    ['gone', 'off'],
    'a client of which nothing moves is left alone',
  )
})

t.test('install --take-over starts servers before it removes them', async t => {
  const { read } = homeOf(t, {
    [CURSOR]: { mcpServers: { gone: { command: '/nonexistent/x' }, good: tiny() } },
  })
  const { code, err } = await runHere(t, 'install', 'cursor', '--take-over', '--yes')
  t.equal(code, 0)
  t.match(err, /^✓ good {2}6 tools[\s\S]*^! gone stays in Cursor: D03\d: /m)
  t.same(Object.keys(read(CURSOR).mcpServers), ['gone', 'mcp-proxy'])
})

t.test('each client keeps seeing the servers that it had, and those added later', async t => {
  const { home, put, read } = homeOf(t, {
    [CURSOR]: { mcpServers: { a: tiny(), 'b(c|d)': tiny('--more', '1') } },
    [KIRO]: { mcpServers: { a: tiny() } },
  })
  const file = join(home, '.config', 'mcp-proxy', 'mcp.json')
  const seen = async (name: string) => await seenBy(t, read(name).mcpServers['mcp-proxy'], file)
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  t.notMatch(read(CURSOR).mcpServers['mcp-proxy'].args, ['--view'])
  t.same(await seen(KIRO), ['a'])
  t.same(await seen(CURSOR), ['a', 'b(c|d)'])
  put(CURSOR, { mcpServers: { ...read(CURSOR).mcpServers, fresh: tiny('--more', '2') } })
  const again = await runHere(t, 'init', '--yes')
  t.match(again.err, /1 new server, written to[\s\S]*✓ Cursor: 1 server → 1 entry/)
  t.same(Object.keys(read(CURSOR).mcpServers), ['mcp-proxy'], 'it is there once')
  t.same(await seen(KIRO), ['a'])
  t.same(await seen(CURSOR), ['a', 'b(c|d)', 'fresh'])
  const { command, args } = tiny('--more', '3')
  t.equal((await runHere(t, 'add', 'later', '--', command, ...args)).code, 0)
  t.same(await seen(KIRO), ['a', 'later'])
  t.match(await runHere(t, 'init', '--yes'), {
    code: 0,
    err: /nothing new to import[\s\S]*no client was changed/,
  })
})

t.test('a client without servers of its own sees only what the user adds', async t => {
  const { home, read } = homeOf(t, { [CURSOR]: { mcpServers: { a: tiny() } }, [KIRO]: {} })
  await runHere(t, 'init', '--yes')
  const file = join(home, '.config', 'mcp-proxy', 'mcp.json')
  t.same(await seenBy(t, read(KIRO).mcpServers['mcp-proxy'], file), [])
})

t.test('after install --take-over, each client sees the servers that it had', async t => {
  const { home, read } = homeOf(t, {
    [CURSOR]: { mcpServers: { a: tiny(), gone: { command: '/nonexistent/x' } } },
    [KIRO]: { mcpServers: { b: tiny('--more', '1') } },
  })
  const file = join(home, '.config', 'mcp-proxy', 'mcp.json')
  const seen = async (name: string) => await seenBy(t, read(name).mcpServers['mcp-proxy'], file)
  t.equal((await runHere(t, 'init', '--yes', '--from', 'kiro', '--install', 'kiro')).code, 0)
  const { code, out } = await runHere(t, 'install', 'cursor', '--take-over', '--yes')
  t.equal(code, 0)
  t.match(out, /^imported: a from Cursor, gone from Cursor\nCursor /)
  t.same(await seen(CURSOR), ['a'], 'it has the other one itself')
  t.same(await seen(KIRO), ['b'])
  t.match(await runHere(t, 'install', 'cursor', '--yes'), { code: 0, err: 'nothing to do' }, 'and keeps it')
  const { command, args } = tiny('--more', '3')
  t.equal((await runHere(t, 'add', 'later', '--', command, ...args)).code, 0)
  t.same(await seen(CURSOR), ['a', 'later'])
  t.match(await runHere(t, 'init', '--yes'), { code: 0, err: /no client was changed/ })
  t.equal((await runHere(t, 'uninstall', '--yes')).code, 0)
  t.same(Object.keys(read(CURSOR).mcpServers), ['a', 'gone'])
})

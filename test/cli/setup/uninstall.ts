import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runHere, setEnv, tiny } from '../../support/proxy/start.js'

const homeOf = (t: Test) => {
  const home = t.testdir({})
  const text = (servers: object) => `// mine\n${JSON.stringify({ mcpServers: servers }, null, 2)}\n`
  const files = {
    '.claude.json': text({ db: tiny() }),
    '.claude/settings.json': '{ "permissions": { "deny": ["mcp__db__echo"] } }\n',
    '.cursor/mcp.json': text({ web: { ...tiny('--more', '1'), env: { API_KEY: 'planted-key-000001' } } }),
  }
  for (const [name, value] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), value)
  }
  setEnv(t, {
    ...{ HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' },
    ...{ XDG_CONFIG_HOME: '', XDG_STATE_HOME: join(home, 'state'), CLAUDE_CONFIG_DIR: '' },
    ...{ LC_ALL: 'C.UTF-8', NO_COLOR: '1', PATH: dirname(process.execPath) },
  })
  const read = (name: string) => readFileSync(join(home, name), 'utf8')
  const isRestored = () => {
    for (const [name, text] of Object.entries(files)) t.equal(read(name), text, name)
  }
  return { home, read, isRestored, folder: join(home, '.config', 'mcp-proxy') }
}

t.test('uninstall restores every client, and lists what it leaves', async t => {
  const { home, read, isRestored, folder } = homeOf(t)
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  t.match(read('.claude/settings.json'), 'mcp__mcp-proxy__db__echo')
  const refused = await runHere(t, 'uninstall')
  t.match(refused, { code: 2, err: /restore Cursor: [\s\S]*nothing was changed[\s\S]*uninstall --yes/ })
  t.match(read('.cursor/mcp.json'), 'connect.cjs')
  const { code, out, err } = await runHere(t, 'uninstall', '--yes', '--json')
  t.equal(code, 0)
  isRestored()
  const { version, clients, left, deleted } = JSON.parse(out)
  t.match([version, clients.length, deleted], [1, 2, []])
  t.same(left, [join(folder, 'mcp.json'), join(folder, 'secrets.env'), join(home, 'state', 'mcp-proxy')])
  t.match(err, /^left: [\s\S]*uninstall --purge\n(?:.*\n)*the package itself: npm rm -g /m)
  t.ok(existsSync(join(folder, 'secrets.env')))
})

t.test('uninstall --purge also deletes what is ours, and nothing else', async t => {
  const { home, isRestored, folder } = homeOf(t)
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  t.equal((await runHere(t, 'uninstall', '--purge', '--yes')).code, 0)
  isRestored()
  t.same(
    ['mcp.json', 'secrets.env', 'notes.txt'].map(name => existsSync(join(folder, name))),
    [false, false, true],
  )
  t.notOk(existsSync(join(home, 'state', 'mcp-proxy')))
  t.ok(existsSync(join(home, 'state')))
})

t.test('nothing is deleted while a client cannot be restored', async t => {
  const { home, folder } = homeOf(t)
  t.equal((await runHere(t, 'init', '--yes')).code, 0)
  writeFileSync(join(home, '.cursor', 'mcp.json'), '{ broken')
  const { code, err } = await runHere(t, 'uninstall', '--purge', '--yes')
  t.equal(code, 4)
  t.match(err, /✗ Cursor: [\s\S]*nothing is deleted/)
  t.ok(existsSync(join(folder, 'secrets.env')))
})

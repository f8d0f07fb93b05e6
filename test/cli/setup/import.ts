import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BIN, runHere, setEnv } from '../../support/proxy/start.js'

const SECRET = 'planted-secret-1'

/** A home folder with Cursor's servers in it, and no configuration of ours. */
const homeOf = (t: Test) => {
  const github = { command: 'npx', args: ['-y', 'gh'], env: { GITHUB_TOKEN: SECRET } }
  const home = t.testdir({
    '.cursor': {
      'mcp.json': JSON.stringify({ mcpServers: { github, notes: { url: 'https://notes.example/mcp' } } }),
    },
    '.gemini': { 'settings.json': '{ "mcpServers": { ' },
  })
  setEnv(t, { HOME: home, USERPROFILE: home, APPDATA: join(home, '.config'), MCP_PROXY_CONFIG: '' })
  const config = join(home, '.config', 'mcp-proxy', 'mcp.json')
  return { home, config, read: () => JSON.parse(readFileSync(config, 'utf8')).mcpServers }
}

t.test('what is pasted is imported', async t => {
  const { read } = homeOf(t)
  const input = '"gh": { "command": "npx", "args": ["-y", "gh"] }'
  const { status } = spawnSync(process.execPath, [BIN, 'import', '-'], { input, env: process.env })
  t.equal(status, 0)
  t.same(read(), { gh: { command: 'npx', args: ['-y', 'gh'] } })
})

t.test('import shows what it would write, then writes it where all verbs look for it', async t => {
  const { config, read } = homeOf(t)
  const none = await runHere(t, 'check')
  t.match(none, { code: 3, err: /D010[\s\S]*mcp-proxy init/ })
  const dry = await runHere(t, 'import', '--dry-run')
  t.match(dry, { code: 0, out: /^github +Cursor +new +GITHUB_TOKEN$/m, err: /2 new; nothing was written/ })
  t.match(dry.err, /\.gemini.settings\.json:1: expected "}"/, 'one bad file stops nothing')
  t.notOk(existsSync(config))
  const done = await runHere(t, 'import')
  t.match(done, { code: 0, err: /2 new, written to / })
  t.match(read(), { github: { env: { GITHUB_TOKEN: '${GITHUB_TOKEN}' } } })
  const again = await runHere(t, 'import', '--json')
  const { version, servers } = JSON.parse(again.out)
  t.equal(version, 1)
  t.same(
    servers.map(({ state }: { state: string }) => state),
    ['there', 'there'],
  )
  t.match(await runHere(t, 'check'), { code: 0, out: /^github +stdio/m })
  for (const { out, err } of [dry, done, again]) t.notMatch(out + err, SECRET)
})

t.test('a server is disabled, enabled and removed, and its entry is printed without secrets', async t => {
  const { home, config, read } = homeOf(t)
  await runHere(t, 'import', '--secrets', 'keep', '--from', 'cursor')
  t.equal(read().github.env.GITHUB_TOKEN, SECRET, 'they stay if that is wanted')
  t.match(await runHere(t, 'disable', 'github'), { code: 0, err: 'github is disabled' })
  t.equal(read().github.disabled, true)
  t.match(await runHere(t, 'disable', 'github'), { code: 0, err: 'github is already disabled' })
  const { out } = await runHere(t, 'disable', 'github', '--json')
  t.same(JSON.parse(out), { version: 1, name: 'github', disabled: true, changed: false })
  t.match(await runHere(t, 'enable', 'github'), { code: 0 })
  t.notOk('disabled' in read().github)
  t.match(await runHere(t, 'remove', 'gthub'), {
    code: 2,
    err: /there is no server "gthub"; did you mean github\?/,
  })
  const removed = await runHere(t, 'remove', 'github')
  t.same(JSON.parse(removed.out), {
    github: { command: 'npx', args: ['-y', 'gh'], env: { GITHUB_TOKEN: '***' } },
  })
  t.notMatch(removed.out + removed.err, SECRET)
  t.same(Object.keys(read()), ['notes'])
  writeFileSync(config, '{ "mcpServers": { "a": { "x-mcp-proxy": { "enabled": false }, "command": "x" } }, }')
  await runHere(t, 'enable', 'a', '--config', config)
  t.equal(readFileSync(config, 'utf8'), '{ "mcpServers": { "a": { "x-mcp-proxy": { }, "command": "x" } }, }')
  writeFileSync(config, '{ "mcpServers": { "a": { "command": "x", "isActive": false } } }')
  await runHere(t, 'enable', 'a', '--config', config)
  t.same(read().a, { command: 'x' }, 'also with the switch of another program')
  const file = join(home, 'twice.json')
  writeFileSync(file, '{ "mcpServers": { "a": { "command": "x" },\n "a": { "command": "y" } } }')
  t.match(await runHere(t, 'disable', 'a', '--config', file), {
    code: 4,
    err: /twice\.json:2: the key "mcpServers\.a" stands here a second/,
  })
})

t.test('import reports what it cannot read', async t => {
  const { home } = homeOf(t)
  t.match(await runHere(t, 'import', '--from', 'curser'), {
    code: 2,
    err: /"curser" is neither a client nor a file; did you mean cursor\?/,
  })
  t.match(await runHere(t, 'import', join(home, 'gone.json')), {
    code: 4,
    err: /gone\.json: there is no such file/,
  })
  t.match(await runHere(t, 'import', '--from', 'gemini'), { code: 4, err: /settings\.json:1: expected/ })
  t.match(await runHere(t, 'import', '--only', 'note*'), { code: 0, err: /1 new, written/ })
})

t.test('a name that is taken by another server is kept, and the new one gets another', async t => {
  const { home, read } = homeOf(t)
  await runHere(t, 'import', '--secrets', 'keep', '--from', 'cursor')
  const file = join(home, 'more.json')
  const entry = { command: 'npx', args: ['-y', 'gh'], env: { GITHUB_TOKEN: 'planted-secret-2' } }
  writeFileSync(file, JSON.stringify({ mcpServers: { github: entry } }))
  const words = ['import', '--secrets', 'keep', '--from', file]
  t.match(await runHere(t, ...words, '--on-conflict', 'skip'), {
    code: 0,
    out: /skipped/,
    err: /nothing new to import/,
  })
  t.match(await runHere(t, ...words), { code: 0, out: /new, renamed/ })
  t.equal(read().github.env.GITHUB_TOKEN, SECRET, 'nobody is there to be asked')
  t.match(await runHere(t, ...words, '--project', home, '--all'), { code: 0 })
  t.match(await runHere(t, ...words, '--project', join(home, 'no')), {
    code: 2,
    err: /--project needs a folder/,
  })
  t.match(await runHere(t, 'import', '--from', 'cusror'), {
    code: 2,
    err: /neither a client nor a file; did you mean cursor\?/,
  })
  t.match(await runHere(t, 'import', '--from', 'zzzzzz'), { code: 2, err: /clients are .*cursor/ })
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { skipWithout, until } from '../../support/processes.js'
import { runHere, setEnv, startBin, tiny } from '../../support/proxy/start.js'

/** A home in which Cursor has these servers. */
const cursorHome = (t: Test, mcpServers: object) => {
  const text = JSON.stringify({ mcpServers }, null, 2)
  const home = t.testdir({ '.cursor': { 'mcp.json': text } })
  const env = {
    HOME: home,
    USERPROFILE: home,
    APPDATA: join(home, '.config'),
    MCP_PROXY_CONFIG: '',
    XDG_CONFIG_HOME: '',
    XDG_STATE_HOME: join(home, 'state'),
    LC_ALL: 'C.UTF-8',
    NO_COLOR: '1',
  }
  const file = join(home, '.cursor', 'mcp.json')
  return { home, env, file, text, read: () => readFileSync(file, 'utf8') }
}

const SLEEP = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }

t.test(
  'a signal while servers start ends init, and no client file changes',
  { skip: skipWithout.signals },
  async t => {
    for (const [signal, expected] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const { env, text, read } = cursorHome(t, { slow: SLEEP })
      const running = startBin(t, ['init', '--yes'], { env })
      await until(() => running.err.includes('written to'), 'the start of its servers')
      running.child.kill(signal)
      t.equal(await running.exited, expected)
      t.equal(read(), text)
      t.match(running.err, /stopped/)
      t.notMatch(running.err, /no answer in time/)
    }
  },
)

t.test('a server that was started before is reported as started again', async t => {
  const { env } = cursorHome(t, { s: tiny(), slow: tiny('--slow', '300') })
  setEnv(t, env)
  t.match((await runHere(t, 'init', '--yes')).err, /^✓ s {2}6 tools, \d/m)
  const again = await runHere(t, 'init', '--yes', '--json')
  t.match(again.err, /^✓ s {2}6 tools, \d[\s\S]*^✓ slow {2}6 tools, \d/m)
  t.match(JSON.parse(again.out).started, [
    { name: 's', tools: 6 },
    { name: 'slow', tools: 6 },
  ])
})

t.test('a server can be added again after it was removed', async t => {
  const { env } = cursorHome(t, {})
  setEnv(t, env)
  const { command, args } = tiny()
  const add = async () => await runHere(t, 'add', 's', '--', command, ...args)
  t.match(await add(), { code: 0, err: /✓ s: 6 tools/ })
  t.match(await runHere(t, 'remove', 's'), { code: 0 })
  t.match(await add(), { code: 0, err: /✓ s: 6 tools/ })
})

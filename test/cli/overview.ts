import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { overview } from '../../src/cli/overview.js'
import { typeAs } from '../../src/kernel/machine/own-command.js'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { BIN, captured, configFile, runHere, setEnv, startBin, tiny } from '../support/proxy/start.js'

const DIES = { command: process.execPath, args: ['-e', 'process.exit(3)'], start: 'eager' }

const homeless = (t: Test, config: string): void => {
  const home = join(t.testdirName, 'home')
  mkdirSync(home, { recursive: true })
  setEnv(t, { HOME: home, USERPROFILE: home, APPDATA: home, XDG_CONFIG_HOME: '', MCP_PROXY_CONFIG: config })
}

t.test('on a machine without anything the first thing to do is named', async t => {
  homeless(t, join(t.testdir(), 'none.json'))
  const { code, out, err } = await captured(t, overview)
  t.equal(code, 0)
  t.match(out, /^mcp-proxy is not set up yet, and no client on this machine has servers\.$/m)
  t.match(err, /Next:\n {2}mcp-proxy init {3}writes a configuration.*\n {2}mcp-proxy add NAME -- COMMAND /)
})

t.test('commands with the path of a clone leave room for their texts', async t => {
  homeless(t, join(t.testdir(), 'none.json'))
  typeAs(BIN)
  t.teardown(() => typeAs(''))
  const { err } = await captured(t, overview)
  t.match(err, /Next:\n {2}.*mcp-proxy\.js init\n {6}writes a configuration/)
})

t.test('without a configuration, the servers of all clients are listed, and nothing is written', async t => {
  homeless(t, join(t.testdir(), 'none.json'))
  const home = join(t.testdirName, 'home')
  const mcpServers = { db: DIES }
  const projects = { '/work/shop': { mcpServers: { shopdb: DIES } } }
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ mcpServers, projects }))
  const { code, out, err } = await captured(t, overview)
  t.equal(code, 0)
  t.match(out, /^db +Claude Code +user +~.\.claude\.json$/m)
  t.match(out, /^shopdb +Claude Code +project .work.shop +~.\.claude\.json$/m)
  t.match(err, /Next:\n {2}mcp-proxy init /)
  t.same(readdirSync(home), ['.claude.json'])
})

t.test(
  'mcp-proxy without arguments shows the status, with and without a daemon, and the next step',
  async t => {
    const servers = { one: tiny(), dies: DIES, off: { ...tiny(), disabled: true }, bad: { comand: 'x' } }
    const file = configFile(t, servers)
    homeless(t, file)
    const without = await captured(t, overview)
    t.equal(without.code, 0)
    t.match(without.out, /^configuration +\S+mcp\.json, 1 error\ndaemon +does not run; clients start it\n/m)
    t.match(
      without.out,
      /^servers +2 servers, left out: off bad\ntools +known once it runs\nclients +no client starts it yet$/m,
    )
    t.match(without.err, /Next:\n {2}mcp-proxy check /)
    const running = startBin(t, ['serve', '--config', file, '--port', '0'])
    const url = (await running.line(/listening/)).split(' ').at(-1) ?? ''
    const client = new RawClient(url)
    await client.initialize()
    await client.call(1, 'one__echo')
    let out = ''
    await until(async () => {
      out = (await captured(t, overview)).out
      return /in trouble: dies/.test(out) && /1 ready/.test(out)
    }, 'both servers')
    t.match(
      out,
      new RegExp(`^daemon +runs, pid ${running.child.pid}, version \\d+\\.\\d+\\.\\d+, 1 session$`, 'm'),
    )
    t.match(out, /^servers +2 servers, 1 ready, in trouble: dies, left out: off bad\ntools +6$/m)
    const page = await runHere(t, 'ui', '--print', '--config', file)
    t.equal(page.code, 0)
    t.match(page.out, new RegExp(`^${new URL('/ui/#', url).href}\\S{8,}\n$`), 'the page is one word away')
    t.match(await runHere(t, 'why', 'one', '--for', '2031-01-01', '--config', file), {
      code: 4,
      err: /serve, pid \d+.* says: unknown revision: 2031-01-01/,
    })
  },
)

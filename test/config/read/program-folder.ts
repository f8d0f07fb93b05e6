import { mkdirSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'

const cwdIn = (file: string, env = {}) => {
  const { config } = parseConfig('{ "mcpServers": { "a": { "command": "x" } } }', file, env)
  const { transport } = config?.servers[0] ?? {}
  return transport?.kind === 'stdio' ? transport.cwd : undefined
}

t.test('a program without "cwd" never runs where our secrets and backups are', async t => {
  const elsewhere = t.testdir()
  const home = homedir()
  const env = { XDG_CONFIG_HOME: join(elsewhere, 'c'), XDG_STATE_HOME: join(elsewhere, 's') }
  for (const folder of [
    join(home, '.config', 'mcp-proxy'),
    join(home, '.local', 'state', 'mcp-proxy'),
    join(elsewhere, 'c', 'mcp-proxy'),
    join(elsewhere, 's', 'mcp-proxy'),
    join(elsewhere, 's', 'mcp-proxy', 'backups'),
  ]) {
    t.equal(cwdIn(join(folder, 'mcp.json'), env), home, folder)
  }
  mkdirSync(join(elsewhere, 'c', 'mcp-proxy'), { recursive: true })
  symlinkSync(join(elsewhere, 'c', 'mcp-proxy'), join(elsewhere, 'link'))
  t.equal(cwdIn(join(elsewhere, 'link', 'mcp.json'), env), home, 'through a link')
  t.equal(cwdIn(join(elsewhere, 'mcp.json'), env), elsewhere, 'a file of its own folder')
})

import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fingerprint } from '../../../src/app/state/fingerprint.js'
import { parseConfig } from '../../../src/config/parse.js'
import type { ServerConfig } from '../../../src/config/types.js'

const server = (entry: object): ServerConfig => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: entry } }), '/etc/proxy/mcp.json', {})
  const [one] = config?.servers ?? []
  if (one === undefined) throw new Error('bad test configuration')
  return one
}

const print = (entry: object): string => fingerprint(server(entry))

t.test('whatever decides which server it is makes another one of it', async t => {
  const plain = { command: 'x', args: ['1'], env: { A: 'a', B: 'b' } }
  const prints = [
    plain,
    { ...plain, command: 'y' },
    { ...plain, args: ['1', '2'] },
    { ...plain, args: [] },
    { ...plain, cwd: '/' },
    { ...plain, env: { A: 'a', B: 'c' } },
    { ...plain, env: { A: 'a' } },
    { ...plain, env: { A: 'a', B: null } },
    { ...plain, era: 'legacy' },
    { ...plain, protocolVersion: '2025-06-18' },
    { url: 'http://h/' },
    { url: 'http://h/', type: 'http' },
    { url: 'http://h/', headers: { Authorization: 'Bearer one' } },
    { url: 'http://h/', headers: { Authorization: 'Bearer two' } },
    { url: 'http://h/x' },
    { url: 'unix:///run/x.sock' },
    { url: 'unix:///run/y.sock' },
  ].map(print)
  t.equal(new Set(prints).size, prints.length)
  for (const one of prints)
    t.match(one, /^[A-Za-z0-9_-]{43}$/, 'fit for the name of a file, and tells nothing')
})

t.test('what only decides how it is shown, shared or waited for does not', async t => {
  const plain = { command: 'x', env: { A: 'a', B: 'b' } }
  t.equal(
    print({
      ...plain,
      env: { B: 'b', A: 'a' },
      prefix: 'p',
      tools: { deny: ['*'] },
      sharing: 'session',
      start: 'eager',
      timeouts: { call: '5m' },
      idleStop: 'off',
    }),
    print(plain),
  )
})

t.test('another version of a program is another server, whatever lies in a folder is not', async t => {
  const cwd = t.testdir({ 'server.mjs': 'one', data: {} })
  const file = join(cwd, 'server.mjs')
  const entry = { command: 'node', args: ['./server.mjs', 'data', 'x'.repeat(5000)], cwd }
  const at = new Date(1_700_000_000_000)
  utimesSync(file, at, at)
  const first = print(entry)
  t.equal(print(entry), first)
  writeFileSync(join(cwd, 'data', 'x'), '')
  mkdirSync(join(cwd, 'node'))
  t.equal(print(entry), first)
  writeFileSync(file, 'another')
  utimesSync(file, at, at)
  const longer = print(entry)
  t.not(longer, first)
  utimesSync(file, at, new Date(1_700_000_001_000))
  t.not(print(entry), longer)
})

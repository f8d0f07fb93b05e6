import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { COMMANDS, nameOf } from '../../../src/cli/all-verbs.js'
import { commandFor, pasteable, typeAs } from '../../../src/kernel/machine/own-command.js'
import { isWindows } from '../../support/processes.js'
import { BIN } from '../../support/proxy/start.js'

t.test(
  'a command is short where mcp-proxy on PATH is this program, and else has its path',
  { skip: isWindows },
  async t => {
    const folder = t.testdir({
      ours: { bin: { 'mcp-proxy.js': '' } },
      'with space': { bin: { 'mcp-proxy.js': '' } },
      theirs: { 'mcp-proxy': '' },
      on: {},
      cache: { _npx: { a: { node_modules: { '.bin': {} } } } },
    })
    const at = (...steps: string[]): string => join(folder, ...steps)
    const script = at('ours', 'bin', 'mcp-proxy.js')
    const cached = at('cache', '_npx', 'a', 'node_modules', '.bin')
    symlinkSync(script, at('on', 'mcp-proxy'))
    symlinkSync(script, join(cached, 'mcp-proxy'))
    const node = process.execPath
    t.equal(commandFor(script, { path: at('on'), node }), 'mcp-proxy')
    const long = `node ${script}`
    t.equal(commandFor(script, { path: dirname(node), node }), long, 'not on PATH')
    t.equal(
      commandFor(script, { path: `${at('theirs')}:${at('on')}:${dirname(node)}`, node }),
      long,
      'another program',
    )
    t.equal(
      commandFor(script, { path: `${cached}:${dirname(node)}`, node }),
      long,
      'only in the cache of npx',
    )
    t.equal(commandFor(script, { path: '', node }), `${node} ${script}`)
    const odd = at('with space', 'bin', 'mcp-proxy.js')
    t.equal(commandFor(odd, { path: dirname(node), node }), `node '${odd}'`)
    t.equal(commandFor(at('theirs', 'mcp-proxy')), 'mcp-proxy', 'another program that runs us')
  },
)

t.test('every verb in a text is typed as the user has to, and no other word', t => {
  const folder = t.testdir()
  const script = join(folder, 'bin', 'mcp-proxy.js')
  mkdirSync(dirname(script), { recursive: true })
  writeFileSync(script, '')
  typeAs(script)
  for (const command of COMMANDS) {
    const text = `fix: mcp-proxy ${nameOf(command)}`
    t.match(pasteable(text), /^fix: \S+ \S+mcp-proxy\.js \w+$/, text)
  }
  t.match(pasteable('undo: mcp-proxy install cursor --undo'), /js install cursor --undo$/)
  for (const text of [
    'mcp-proxy: it failed',
    'start mcp-proxy again',
    '/usr/bin/mcp-proxy init',
    'x@mcp-proxy add',
  ])
    t.equal(pasteable(text), text)
  t.end()
})

t.test('help shows commands that work where mcp-proxy is not on PATH', { skip: isWindows }, async t => {
  const env = { ...process.env, PATH: dirname(process.execPath), HOME: t.testdir(), MCP_PROXY_CONFIG: '' }
  const helpOf = (...words: string[]): string =>
    execFileSync(process.execPath, [BIN, ...words, '--help'], { env, encoding: 'utf8' })
  const own = /^ *node \S*\/bin\/mcp-proxy\.js/
  for (const [words, command] of [
    [[], '--version'],
    [['doctor'], 'doctor --fix'],
    [['auth', 'login'], 'auth login'],
  ] as const) {
    const lines = helpOf(...words).split('\n')
    t.ok(
      lines.some(line => own.test(line) && line.includes(` ${command}`)),
      words.join(' '),
    )
    t.same(
      lines.filter(line => /^ *mcp-proxy /.test(line)),
      [],
      'no other command',
    )
  }
  t.match(helpOf(), /^ {2}init +\w/m)
})

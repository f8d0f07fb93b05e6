import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import type { ServerTransport } from '../../../src/config/types.js'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { planImport } from '../../../src/setup/import/plan.js'
import { readGiven } from '../../../src/setup/import/sources.js'
import { openOwnFile, writeOwnFile } from '../../../src/setup/own-file.js'
import { runs } from '../../support/property.js'

let count = 0
const ENV = { X: 'x value', Y: 'y$1${Z}', HOME: '/home/ann' }

/** Imports a client's file by its path, and returns what the proxy would start or connect to. */
const imported = async (
  home: string,
  path: string,
  content: object,
): Promise<Record<string, ServerTransport | undefined>> => {
  const file = join(home, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(content))
  const files = { disk: systemDisk, backups: join(home, 'backups') }
  count += 1
  const config = join(home, `own-${count}`, 'mcp.json')
  const machine = { platform: 'linux', home, cwd: home, env: ENV } as const
  const own = await openOwnFile(files, config, machine)
  const { servers, secrets } = await planImport(own, [await readGiven(systemDisk, file, machine)], {
    keepsSecrets: false,
    only: undefined,
    name: undefined,
    scripts: [],
    onConflict: async () => 'rename',
    askSecret: async () => undefined,
  })
  const changes = servers.map(({ name, entry }) => ({ at: [], name, value: entry }))
  await writeOwnFile(files, own, changes, secrets)
  const { config: read, problems } = parseConfig(readFileSync(config, 'utf8'), config, ENV)
  t.same(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  return Object.fromEntries((read?.servers ?? []).map(({ name, transport }) => [name, transport]))
}

/** Files of clients, and how each client replaces variables. */
const CLIENTS: readonly (readonly [path: string, replace: (text: string) => string])[] = [
  ['claude_desktop_config.json', text => text],
  ['.zed/settings.json', text => text],
  ['.cursor/mcp.json', text => text.replace(/\$\{env:(X|Y)\}/g, (_all, name: 'X' | 'Y') => ENV[name])],
  ['.roo/mcp.json', text => text.replace(/\$\{env:(X|Y)\}/g, (_all, name: 'X' | 'Y') => ENV[name])],
  [
    '.mcp.json',
    text =>
      text.replace(/\$\{(X|Y)\}|\$\{NOPE:-([^}]*)\}/g, (_all, name?: 'X' | 'Y', fallback = '') =>
        name === undefined ? fallback : ENV[name],
      ),
  ],
  [
    '.gemini/settings.json',
    text =>
      text.replace(
        /\$(?:(X|Y)(?!\w)|\{(X|Y)\})/g,
        (_all, one?: 'X' | 'Y', other?: 'X' | 'Y') => ENV[one ?? other ?? 'X'],
      ),
  ],
]

const PARTS = [
  ...[
    '${X}',
    '${env:Y}',
    '$X ',
    '${NOPE:-d$5}',
    '$${X}',
    '$$',
    '$',
    '{',
    '}',
    '${',
    '${#f}',
    '${f%.md}',
    '${input:a}',
  ],
  ...[
    'Bearer ',
    'ghp_abcdefghij1234567890',
    'sk-ant-0123456789abcdef',
    '--token=',
    'Authorization:',
    'a b',
    '"',
    "'",
  ],
  ...['é', '\\', 'https://u:pass@h.example/?api_key=0123456789abcdef', 'ab12-CD34-EF56', '1.50', '$env:Q'],
]
const text = fc.array(fc.constantFrom(...PARTS), { maxLength: 5 }).map(parts => parts.join(''))
const names = fc.constantFrom('AUTH_HEADER', 'TOKEN', 'AUTHORIZATION', 'SECRET', 'Q', 'API_KEY', 'GH_TOKEN')
const entries = fc.record({
  args: fc.array(fc.oneof(text, fc.constantFrom('--header', '--token', '-k')), { maxLength: 5 }),
  env: fc.dictionary(names, text, { maxKeys: 4 }),
  headers: fc.dictionary(fc.constantFrom('Authorization', 'X-Api-Key', 'X-Team'), text, { maxKeys: 2 }),
})

t.test('programs and servers receive the text that their client passed on', async t => {
  const home = t.testdir()
  for (const [path, replace] of CLIENTS) {
    const replaced = (values: Readonly<Record<string, string>>): Record<string, string> =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, replace(value)]))
    await fc.assert(
      fc.asyncProperty(entries, async ({ args, env, headers }) => {
        const key = path.includes('zed') ? 'context_servers' : 'mcpServers'
        const content = {
          [key]: {
            p: { command: '/bin/x', args, env },
            u: { type: 'http', url: 'https://h.example/', headers },
          },
        }
        const { p, u } = await imported(home, path, content)
        const seen = [p?.kind === 'stdio' && [p.args, { ...p.env }], u && 'headers' in u && { ...u.headers }]
        t.strictSame(seen, [[args.map(replace), replaced(env)], replaced(headers)])
      }),
      runs(100),
    )
  }
})

const INPUTS = [
  { id: 'region', type: 'promptString', default: 'eu${X}' },
  { id: 'mode', type: 'pickString', options: ['a', 'b'], default: 'b' },
  { id: 'key', type: 'promptString', password: true },
  { id: 'empty', type: 'promptString', password: true, default: '' },
  { id: 'run', type: 'command', command: 'x' },
]

t.test('inputs of VS Code get their defaults, and others disable their server', async t => {
  const program = (name: string, arg: string) => ({ [name]: { command: '/bin/x', args: [name, arg] } })
  const servers = {
    ...program('all', '${input:region}-${input:mode}'),
    ...program('key', '${input:key}'),
    ...program('empty', '${input:empty}'),
    ...program('run', '${input:run}'),
    ...program('command', '${command:extension.id}'),
    ...program('open', '$${input:mode}'),
    web: { type: 'http', url: 'https://h.example/${input:mode}' },
  }
  const read = await imported(t.testdir(), '.vscode/mcp.json', { inputs: INPUTS, servers })
  t.match(read, {
    all: { args: ['all', 'eu${X}-b'] },
    open: { args: ['open', '$b'] },
    web: { kind: 'auto', url: 'https://h.example/b' },
  })
  t.same(Object.keys(read), ['all', 'open', 'web'])
  const ofVisualStudio = await imported(t.testdir(), '.mcp.json', { inputs: INPUTS, servers })
  t.match(ofVisualStudio, { all: { args: ['all', 'eu${X}-b'] } })
})

t.test('an entry whose own variables are named like secrets keeps its values', async t => {
  const args = ['--header', 'Authorization:${AUTH_HEADER}', '--token', 'planted-0123456789']
  const env = { AUTH_HEADER: 'Bearer planted-1', TOKEN: 'another-9876543210', X: 'mine' }
  const { p } = await imported(t.testdir(), 'claude_desktop_config.json', {
    mcpServers: { p: { command: 'npx', args, env } },
  })
  t.match(p, { args, env })
  const code = await imported(t.testdir(), '.mcp.json', {
    mcpServers: { p: { command: 'npx', args: ['${X}', '${env:X}'], env: { X: 'mine' } } },
  })
  t.match(code.p, { args: ['x value', '${env:X}'], env: { X: 'mine' } }, 'the variable of the client')
})

t.test('a variable that its client leaves unset reaches the program or the shell as text', async t => {
  const env = { UNSET_HERE: 'Bearer planted-1' }
  const script = 'T=1; exec "$UNSET_HERE" "${T}"'
  for (const file of ['.mcp.json', '.gemini/settings.json']) {
    const { p, q } = await imported(t.testdir(), file, {
      mcpServers: {
        p: { command: 'npx', args: ['Authorization:${UNSET_HERE}'], env },
        q: { command: 'bash', args: ['-c', script], env },
      },
    })
    t.match(p, { args: ['Authorization:${UNSET_HERE}'], env }, file)
    t.match(q, { args: ['-c', script], env }, `a script of ${file}`)
  }
})

t.test('variables of an envFile are not the variables of the client', async t => {
  const home = t.testdir({ 'x.env': 'X=of the file\n' })
  const servers = {
    p: { command: '/bin/x', args: ['${env:X}'], envFile: join(home, 'x.env') },
    gone: { command: '/bin/y', envFile: join(home, 'gone.env'), disabled: true },
  }
  const { p } = await imported(home, '.vscode/mcp.json', { servers })
  t.match(p, { args: ['x value'], env: { X: 'of the file' } })
})

t.test('a project file given by path names the folder of its project', async t => {
  const home = t.testdir({ shop: { '.env': 'MODE=fast\n' } })
  const shop = join(home, 'shop')
  const folder = '${workspaceFolder}'
  const entry = { command: '/bin/x', args: [`--root=${folder}`], envFile: `${folder}/.env` }
  const servers = { p: entry, q: { command: '/bin/y' } }
  const { p, q } = await imported(home, 'shop/.vscode/mcp.json', { servers })
  t.match(p, { args: [`--root=${shop}`], env: { MODE: 'fast' }, cwd: shop })
  t.match(q, { args: [] })
  const users = { p: { command: '/bin/x', args: [`--root=${folder}`] } }
  const own = await imported(home, '.cursor/mcp.json', { mcpServers: users })
  t.match(own.p, { args: [`--root=${folder}`] }, 'the file of the user')
})

t.test('programs of a file given by path run where its client starts them', async t => {
  const home = t.testdir()
  const servers = { p: { command: 'node', args: ['./server.mjs'] } }
  const rows = [
    ['shop/.roo/mcp.json', 'shop'],
    ['shop/.vscode/mcp.json', 'shop'],
    ['kept/claude_desktop_config.json', '.'],
    ['kept/any.json', 'kept'],
  ] as const
  for (const [path, folder] of rows) {
    const key = path.includes('vscode') ? 'servers' : 'mcpServers'
    const { p } = await imported(home, path, { [key]: servers })
    t.match(p, { cwd: join(home, folder) }, path)
  }
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readClientFiles } from '../../../src/doctor/look/clients.js'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { Journals } from '../../../src/setup/install/journal.js'

t.test('the entry of this proxy is found in the files of each client', async t => {
  const home = t.testdir({ project: {}, 'connect.cjs': '', 'mcp.json': '', state: {} })
  const at = (...parts: string[]): string => join(home, ...parts)
  const script = at('connect.cjs')
  const config = at('mcp.json')
  const ours = (more: object = {}) => ({
    command: process.execPath,
    args: [script, '--config', config],
    ...more,
  })
  const write = (file: string, value: unknown): void => {
    mkdirSync(dirname(at(file)), { recursive: true })
    writeFileSync(at(file), typeof value === 'string' ? value : JSON.stringify(value))
  }
  write('.cursor/mcp.json', {
    mcpServers: {
      'mcp-proxy': ours(),
      git: { command: 'npx', args: ['-y', 'git-mcp@1'] },
      off: { command: 'x', disabled: true },
    },
  })
  write('project/.cursor/mcp.json', { mcpServers: { 'mcp-proxy': { command: 'other' } } })
  write('.claude.json', { mcpServers: { p: { ...ours(), args: [script, '--config', at('another.json')] } } })
  write('.gemini/settings.json', '{ "mcpServers": ')
  write('.config/Code/User/mcp.json', { mcpServers: { 'mcp-proxy': ours() } })
  write('.codeium/windsurf/mcp_config.json', { mcpServers: { a: { serverUrl: 'http://127.0.0.1:9/mcp' } } })
  write('.lmstudio/mcp.json', {
    mcpServers: {
      a: { command: at('.nvm/versions/v20/bin/node'), args: [script] },
      b: ours({ command: '/gone/node' }),
    },
  })
  const journals = new Journals(systemDisk, at('state'))
  await journals.write('cursor', 'user', at('.cursor', 'mcp.json'), {
    via: 'stdio',
    url: '',
    view: undefined,
    project: undefined,
    path: at('.cursor', 'mcp.json'),
    before: 'none',
    after: 'x',
    backup: undefined,
    key: 'mcp-proxy',
    removed: [],
  })
  const env = { ANTHROPIC_BASE_URL: 'https://llm.example.com/v1' }
  const found = await readClientFiles({
    machine: { platform: 'linux', home, cwd: at('project'), env },
    disk: systemDisk,
    journals,
    own: { scripts: [script], urls: ['http://127.0.0.1:9/mcp'] },
    config,
    isAlive: () => Promise.resolve(false),
  })
  const of = (id: string) => found.find(client => client.id === id)
  t.same(found.map(({ id }) => id).sort(), [
    'claude-code',
    'cursor',
    'gemini',
    'lmstudio',
    'vscode',
    'windsurf',
  ])
  t.match(of('cursor')?.files, [
    {
      project: undefined,
      isInstalled: true,
      broken: undefined,
      entries: [
        { name: 'mcp-proxy', isOurs: true, frail: [] },
        { name: 'git', isOurs: false, identity: '["npm","git-mcp"]', isOff: false },
        { name: 'off', isOff: true },
      ],
    },
    { project: at('project'), entries: [{ name: 'mcp-proxy', isOurs: false }] },
  ])
  t.match(of('claude-code'), { apiHost: 'llm.example.com', files: [{ entries: [{ isOurs: false }] }] })
  t.match(of('gemini')?.files, [{ broken: /settings\.json:1: /, isInstalled: false }])
  t.match(of('vscode')?.files, [{ misplaced: /"servers", where the client looks/ }])
  t.match(of('windsurf')?.files, [{ entries: [{ isOurs: true, deadUrl: 'http://127.0.0.1:9/mcp' }] }])
  const [file] = of('lmstudio')?.files ?? []
  t.match(file?.entries[0]?.frail, [{ why: 'it is gone' }])
  t.match(file?.entries[1]?.frail, [{ path: '/gone/node', why: 'it is gone' }])
})

t.test('Claude Code takes its API address from its settings, nearest first', async t => {
  const settings = (url: string) => JSON.stringify({ env: { ANTHROPIC_BASE_URL: url } })
  const home = t.testdir({
    '.claude.json': '{"mcpServers":{}}',
    '.claude': { 'settings.json': settings('https://user.example.com') },
    project: {
      '.claude': { 'settings.json': '{', 'settings.local.json': settings('https://near.example.com') },
    },
    other: {},
    mcp: { '.claude.json': '{"mcpServers":{}}' },
  })
  const hostAt = async (cwd: string, more: Record<string, string> = {}) => {
    const found = await readClientFiles({
      machine: {
        platform: 'linux',
        home,
        cwd: join(home, cwd),
        env: { ANTHROPIC_BASE_URL: 'https://env.example.com', ...more },
      },
      disk: systemDisk,
      journals: new Journals(systemDisk, join(home, 'state')),
      own: { scripts: [], urls: [] },
      config: join(home, 'mcp.json'),
      isAlive: () => Promise.resolve(false),
    })
    return found.find(({ id }) => id === 'claude-code')?.apiHost
  }
  t.equal(await hostAt('project'), 'near.example.com')
  t.equal(await hostAt('other'), 'user.example.com')
  t.equal(await hostAt('other', { CLAUDE_CONFIG_DIR: join(home, 'mcp') }), 'env.example.com')
})

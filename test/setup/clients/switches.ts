import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { readClients, readGiven, type Source } from '../../../src/setup/import/sources.js'

const npx = (name: string, more: object = {}) => ({ command: 'npx', args: ['-y', name], ...more })
const SERVERS = { a: npx('a'), b: npx('b', { gallery: true }), c: npx('c') }

const REJECTED = { matches: { command: '*' }, action: 'reject' }

/** Writes files into a home folder and returns the machine. */
const machineWith = (t: Test, files: Record<string, object>) => {
  const home = t.testdir()
  for (const [path, content] of Object.entries(files)) {
    const file = join(home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(content).replaceAll('HOME', home))
  }
  return { platform: 'linux', home, cwd: home, env: {} } as const
}

const offIn = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap(({ found }) =>
    found.flatMap(({ name, entry }) => (entry['disabled'] === true ? [name] : [])),
  )

/** The servers that are off after the files of all clients, or of a project, were read. */
const offAfter = async (
  t: Test,
  files: Record<string, object>,
  project?: string,
): Promise<readonly string[]> => {
  const machine = machineWith(t, files)
  const folder = project === undefined ? undefined : join(machine.home, project)
  const { sources } = await readClients({ machine, disk: systemDisk, clients: undefined, project: folder })
  for (const { found } of sources)
    for (const { entry, note } of found)
      if (entry['disabled'] === true) t.match(note, /^disabled, as .* says in its client$/)
  return offIn(sources)
}

t.test('servers stay off that a client switches off in another place', async t => {
  const code = { '.config/Code/User/mcp.json': { servers: SERVERS } }
  const settings = (value: object) => ({ ...code, '.config/Code/User/settings.json': value })
  const gemini = (more: object) => ({ '.gemini/settings.json': { mcpServers: SERVERS, ...more } })
  const amp = (rules: readonly object[]) => ({
    '.config/amp/settings.json': { 'amp.mcpServers': SERVERS, 'amp.mcpPermissions': rules },
  })
  const claude = (more: object) => ({ '.claude.json': { mcpServers: SERVERS, ...more } })
  const rows: readonly (readonly [what: string, files: Record<string, object>, off: readonly string[]])[] = [
    ['nothing', { ...code, ...gemini({}), ...claude({}) }, []],
    ['no access', settings({ 'chat.mcp.access': 'none' }), ['a', 'b', 'c']],
    ['only the registry', settings({ 'chat.mcp.access': 'registry' }), ['a', 'c']],
    ['an old switch', settings({ 'chat.mcp.enabled': false }), ['a', 'b', 'c']],
    ['no AI', settings({ 'chat.disableAIFeatures': true }), ['a', 'b', 'c']],
    ['all', settings({ 'chat.mcp.access': 'all' }), []],
    ['Amp, no rules', amp([]), []],
    [
      'Amp, a rule for arguments',
      amp([{ matches: { command: 'npx', args: '* b' }, action: 'reject' }]),
      ['b'],
    ],
    ['Amp, all but one', amp([{ matches: { args: '*c' }, action: 'allow' }, REJECTED]), ['a', 'b']],
    ['Amp, another address', amp([{ matches: { url: '*' }, action: 'allow' }, REJECTED]), ['a', 'b', 'c']],
    ['Gemini, excluded', gemini({ mcp: { excluded: ['b'] } }), ['b']],
    ['Gemini, allowed', gemini({ mcp: { allowed: ['b'] } }), ['a', 'c']],
    ['Gemini, old excluded', gemini({ excludeMCPServers: ['b'] }), ['b']],
    ['Gemini, old allowed', gemini({ allowMCPServers: ['b'] }), ['a', 'c']],
    [
      'Gemini, disabled',
      {
        ...gemini({}),
        '.gemini/mcp-server-enablement.json': { a: { enabled: false }, b: { enabled: true } },
      },
      ['a'],
    ],
    ['a list', { '.cursor/mcp.json': { mcpServers: SERVERS, disabled_mcp_servers: ['b'] } }, ['b']],
    [
      'Copilot CLI',
      {
        '.copilot/mcp-config.json': { mcpServers: SERVERS },
        '.copilot/config.json': { disabledMcpServers: ['c'] },
      },
      ['c'],
    ],
    ['Zed', { '.config/zed/settings.json': { context_servers: SERVERS, disable_ai: true } }, ['a', 'b', 'c']],
    [
      'Claude Code, answers for another project',
      {
        ...claude({ projects: { HOME: {} } }),
        'x/.claude/settings.json': { deniedMcpServers: [{ serverName: 'a' }] },
      },
      [],
    ],
    ['Claude Code, a project', claude({ projects: { '/p': { disabledMcpServers: ['c'] } } }), ['c']],
    [
      'Claude Code, denied',
      { ...claude({}), '.claude/settings.json': { deniedMcpServers: [{ serverName: 'a' }] } },
      ['a'],
    ],
    [
      'Claude Code, allowed',
      { ...claude({}), '.claude/settings.json': { allowedMcpServers: [{ serverName: 'a' }] } },
      ['b', 'c'],
    ],
  ]
  for (const [what, files, off] of rows) await t.test(what, async t => t.same(await offAfter(t, files), off))
})

t.test('servers of projects follow the settings of their user', async t => {
  const project = (path: string, more: object = {}) => ({
    [`shop/${path}`]: { mcpServers: SERVERS, ...more },
  })
  const gemini = (lists: object, more?: object) => ({
    ...project('.gemini/settings.json', more),
    '.gemini/settings.json': lists,
  })
  const rows: readonly (readonly [what: string, files: Record<string, object>, off: readonly string[]])[] = [
    ['Gemini, excluded', gemini({ mcp: { excluded: ['b'] } }), ['b']],
    ['Gemini, allowed', gemini({ mcp: { allowed: ['b'] } }), ['a', 'c']],
    ['Gemini, allowed again', gemini({ mcp: { allowed: ['b'] } }, { mcp: { allowed: ['c'] } }), ['a', 'b']],
    [
      'Copilot CLI',
      { ...project('.github/mcp.json'), '.copilot/config.json': { disabledMcpServers: ['c'] } },
      ['c'],
    ],
    [
      'Zed',
      {
        'shop/.zed/settings.json': { context_servers: SERVERS },
        '.config/zed/settings.json': { disable_ai: true },
      },
      ['a', 'b', 'c'],
    ],
    ...['settings.json', 'settings.jsonc'].map(
      name =>
        [
          `Amp, ${name}`,
          {
            'shop/.amp/settings.json': { 'amp.mcpServers': SERVERS },
            [`.config/amp/${name}`]: {
              'amp.mcpPermissions': [{ matches: { args: '*b' }, action: 'reject' }],
            },
          },
          ['b'],
        ] as const,
    ),
  ]
  for (const [what, files, off] of rows)
    await t.test(what, async t => t.same(await offAfter(t, files, 'shop'), off))
})

t.test('servers of .mcp.json follow the answers of their user', async t => {
  const shared = { 'shop/.mcp.json': { mcpServers: SERVERS } }
  const rows: readonly (readonly [what: string, files: Record<string, object>, off: readonly string[]])[] = [
    ['no answers', shared, []],
    ['refused', { ...shared, 'shop/.claude/settings.local.json': { disabledMcpjsonServers: ['a'] } }, ['a']],
    [
      'accepted',
      { ...shared, 'shop/.claude/settings.local.json': { enabledMcpjsonServers: ['a'] } },
      ['b', 'c'],
    ],
    [
      'accepted before',
      { ...shared, '.claude.json': { projects: { 'HOME/shop': { enabledMcpjsonServers: ['a'] } } } },
      ['b', 'c'],
    ],
    [
      'all accepted',
      {
        ...shared,
        '.claude/settings.json': { enableAllProjectMcpServers: true, enabledMcpjsonServers: ['a'] },
      },
      [],
    ],
    [
      'off in the project',
      { ...shared, '.claude.json': { projects: { 'HOME/shop': { disabledMcpServers: ['b'] } } } },
      ['b'],
    ],
  ]
  for (const [what, files, off] of rows)
    await t.test(what, async t => {
      t.same(await offAfter(t, files, 'shop'), off)
      const machine = machineWith(t, files)
      t.same(
        offIn([await readGiven(systemDisk, join(machine.home, 'shop/.mcp.json'), machine)]),
        off,
        'by path',
      )
    })
})

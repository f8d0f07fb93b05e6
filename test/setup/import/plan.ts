import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { CLIENTS, type ClientProgram } from '../../../src/setup/clients/clients.js'
import type { ClientMachine } from '../../../src/setup/clients/machine.js'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { identityOf, isOwn, settingsOf } from '../../../src/setup/import/identity.js'
import type { ImportedEntry } from '../../../src/setup/import/normalise.js'
import { type PlanOptions, planImport } from '../../../src/setup/import/plan.js'
import {
  projectsText,
  readClientFile,
  readClients,
  readGiven,
  readPasted,
  type Source,
} from '../../../src/setup/import/sources.js'
import { openOwnFile, writeOwnFile } from '../../../src/setup/own-file.js'

const OPTIONS: PlanOptions = {
  keepsSecrets: false,
  only: undefined,
  name: undefined,
  scripts: ['/us/bin/connect.cjs'],
  onConflict: async () => 'rename',
  askSecret: async () => undefined,
}

const machineIn = (home: string): ClientMachine => ({
  platform: 'linux',
  home,
  cwd: join(home, 'work'),
  env: {},
})

const write = (home: string, files: Record<string, string | object>): void => {
  for (const [path, content] of Object.entries(files)) {
    const file = join(home, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  }
}

/** Imports once, as the command line does; returns what became of each server, and the files. */
const run = async (home: string, sources: readonly Source[], options: Partial<PlanOptions> = {}) => {
  const files = { disk: systemDisk, backups: join(home, 'backups') }
  const own = await openOwnFile(files, join(home, 'proxy', 'mcp.json'), machineIn(home))
  const plan = await planImport(own, sources, { ...OPTIONS, ...options })
  const changes = plan.servers.flatMap(({ name, as = name, entry }) =>
    entry ? [{ at: [], name: as, value: entry }] : [],
  )
  await writeOwnFile(files, own, changes, plan.secrets)
  const read = (name: string) => readFileSync(join(home, 'proxy', name), 'utf8')
  const states = plan.servers.map(
    ({ name, from, state, as }) => `${name} of ${from}: ${state}${as ? ` ${as}` : ''}`,
  )
  return { plan, states, config: changes.length === 0 ? {} : JSON.parse(read('mcp.json')).mcpServers, read }
}

const clientsIn = async (home: string, project?: string) =>
  (await readClients({ machine: machineIn(home), disk: systemDisk, clients: undefined, project })).sources

const npx = (name: string, env?: object) => ({ command: 'npx', args: ['-y', name], ...(env && { env }) })

t.test('servers of several clients become one of each, and a second run finds nothing new', async t => {
  const home = t.testdir()
  write(home, {
    '.claude.json': {
      mcpServers: { github: { type: 'stdio', ...npx('gh', { TOKEN: 'planted-1' }) } },
      projects: {
        [join(home, 'work')]: { mcpServers: { local: npx('local') } },
        '/other': { mcpServers: { no: npx('no') } },
      },
    },
    '.cursor/mcp.json': {
      mcpServers: {
        gh: { command: 'cmd', args: ['/c', 'npx', 'gh@latest'], env: { TOKEN: 'planted-1' } },
        github: npx('gh@1.2.3', { TOKEN: 'planted-2' }),
        web: { url: 'https://EXAMPLE.com/mcp/' },
        us: { command: 'node', args: ['/us/bin/connect.cjs'] },
        alsoUs: { url: 'http://127.0.0.1:8808/mcp' },
        number: { command: 'x', env: { OTHER_TOKEN: 9876543210, COUNT: 1 } },
      },
    },
    '.config/Code/User/mcp.json':
      '{ "servers": { "web": { "type": "http", "url": "https://other.example" }, }, "inputs": [] }',
    '.codex/config.toml': '[mcp_servers.web2]\nurl = "https://example.com/mcp"\n',
    'librechat.yaml': 'mcpServers: { no: { command: no } }',
    'work/librechat.yaml': 'mcpServers: { no: { command: no } }',
    'work/.mcp.json': { mcpServers: { no: npx('project-server') } },
  })
  const { states, config, read } = await run(home, await clientsIn(home))
  t.same(states, [
    'github of Claude Code: new github',
    'gh of Cursor: same github',
    'github of Cursor: renamed github-cursor',
    'web of Cursor: new web',
    'us of Cursor: own',
    'alsoUs of Cursor: own',
    'number of Cursor: new number',
    'web of VS Code: renamed web-vscode',
    'web2 of Codex: same web',
  ])
  t.match(config, {
    github: { env: { TOKEN: '${GITHUB_TOKEN}' } },
    'github-cursor': { env: { TOKEN: '${GITHUB_CURSOR_TOKEN}' } },
  })
  t.notMatch(read('mcp.json'), /planted/)
  t.equal(
    read('secrets.env'),
    "GITHUB_TOKEN='planted-1'\nGITHUB_CURSOR_TOKEN='planted-2'\nOTHER_TOKEN='9876543210'\n",
  )
  t.equal(statSync(join(home, 'proxy', 'secrets.env')).mode & 0o777, 0o600)
  const before = read('mcp.json')
  const again = await run(home, await clientsIn(home))
  t.same(
    again.plan.servers.filter(({ entry }) => entry),
    [],
    '0 new',
  )
  t.equal(read('mcp.json'), before)
  const { config: loaded, problems } = parseConfig(before, join(home, 'proxy', 'mcp.json'), {})
  t.same(problems, [])
  t.same(
    loaded?.servers.map(({ transport }) => 'env' in transport && transport.env['TOKEN']).filter(Boolean),
    ['planted-1', 'planted-2'],
  )
  const project = await clientsIn(home, join(home, 'work'))
  t.match(
    project[0],
    { id: 'claude-code', found: [{ name: 'no' }], folder: join(home, 'work') },
    'only when asked for',
  )
})

t.test(
  'a server that is there with other variables is skipped, replaced or renamed, as is chosen',
  async t => {
    for (const [choice, names, token] of [
      ['skip', ['a'], 'one'],
      ['replace', ['a'], 'two'],
      ['rename', ['a', 'a-pasted'], 'one'],
    ] as const) {
      const home = t.testdir()
      const paste = (value: string) =>
        readPasted(JSON.stringify({ mcpServers: { a: npx('x', { MODE: value }) } }))
      await run(home, [await paste('one')])
      await run(home, [await paste('two')], { onConflict: async () => choice })
      const found = JSON.parse(readFileSync(join(home, 'proxy', 'mcp.json'), 'utf8')).mcpServers
      t.same(Object.keys(found), names)
      t.equal(found.a.env.MODE, token)
    }
  },
)

t.test('values that a client asks for are asked for, or the server is disabled', async t => {
  const home = t.testdir()
  const text = JSON.stringify({ servers: { a: { command: 'x', env: { K: '${input:my-key}' } } } })
  const { config, plan } = await run(home, [await readPasted(text)])
  t.same(config.a, { command: 'x', env: { K: '${MY_KEY}' }, disabled: true })
  t.match(plan.servers[0]?.notes, ['disabled until MY_KEY has a value in secrets.env'])
  const other = join(home, 'other')
  const answered = await run(other, [await readPasted(text)], { askSecret: async () => "it's" })
  t.same(answered.config.a, { command: 'x', env: { K: '${MY_KEY}' } })
  t.equal(answered.read('secrets.env'), "MY_KEY='it'\\''s'\n")
})

t.test('servers of projects stay there, and are imported into their folder when it is named', async t => {
  const home = t.testdir()
  const shop = join(home, 'work')
  write(home, {
    '.claude.json': {
      mcpServers: { db: npx('db') },
      projects: {
        [shop]: {
          mcpServers: {
            db: { command: 'node', args: ['./tools/db.mjs'] },
            web: { url: 'https://a.example' },
          },
        },
        '/b': { mcpServers: { one: npx('one') } },
        '/c': {},
      },
    },
  })
  const read = (project?: string) =>
    readClients({ machine: machineIn(home), disk: systemDisk, clients: undefined, project })
  const { sources, projects } = await read()
  t.same(
    sources.flatMap(({ found }) => found.map(({ name }) => name)),
    ['db'],
  )
  t.same(projects.map(projectsText), ['2 Claude Code projects have their own servers (3); they stay there'])
  const named = await read(shop)
  t.same(named.projects.map(projectsText), ['1 Claude Code project has its own servers (1); they stay there'])
  const { config } = await run(home, named.sources)
  t.match(config.db, { args: ['./tools/db.mjs'], cwd: shop })
  t.match(config['db-claude-code'], { args: ['-y', 'db'] })
})

t.test('a server that needs its client has an obstacle, and others have none', async t => {
  const off = { command: 'node', args: ['off'] }
  const home = t.testdir({
    proxy: { 'mcp.json': JSON.stringify({ mcpServers: { off: { ...off, disabled: true } } }) },
  })
  const servers = {
    input: { command: 'x', env: { K: '${input:weather-key}' } },
    helper: { url: 'https://a.example', headersHelper: './h.sh' },
    login: { url: 'https://b.example', oauth: { clientId: 'c' } },
    cmd: { command: 'y', env: { K: '${cmd:pass show a}' } },
    off,
    plain: { command: 'z' },
  }
  const source = await readPasted(JSON.stringify({ mcpServers: servers }))
  const { plan } = await run(home, [source])
  t.match(Object.fromEntries(plan.servers.map(({ name, obstacles }) => [name, obstacles])), {
    input: ['WEATHER_KEY is missing'],
    helper: [/headersHelper/],
    login: [/signed in/],
    cmd: [/only in the client/],
    off: [/^it is disabled in .*mcp\.json$/],
    plain: [],
  })
  t.equal(plan.servers.filter(({ obstacles }) => obstacles.length === 0).length, 1)
  const answered = await run(t.testdir(), [source], { askSecret: async () => 'k' })
  t.same(answered.plan.servers[0]?.obstacles, [])
})

t.test('servers that Gemini leaves out are imported as disabled, which is reported', async t => {
  const home = t.testdir()
  write(home, {
    '.gemini/settings.json': {
      mcp: { excluded: ['off'], allowed: ['on', 'off'] },
      mcpServers: { on: npx('on'), off: npx('off'), left: npx('left') },
    },
  })
  const gemini = CLIENTS.find(({ id }) => id === 'gemini') as ClientProgram
  const file = await readClientFile(
    { machine: machineIn(home), disk: systemDisk },
    gemini,
    join(home, '.gemini', 'settings.json'),
  )
  for (const sources of [await clientsIn(home), [file]]) {
    const { plan, config } = await run(t.testdir(), sources)
    t.same(
      Object.entries<ImportedEntry>(config).map(([name, { disabled }]) => [name, disabled]),
      [
        ['on', undefined],
        ['off', true],
        ['left', true],
      ],
    )
    t.match(plan.servers[1]?.notes, [/disabled, as "mcp\.excluded"/])
    t.match(plan.servers[2]?.notes, [/disabled, as "mcp\.allowed"/])
  }
})

t.test('programs run in the folder in which their client would start them', async t => {
  const home = t.testdir()
  const node = (...args: string[]) => ({ command: 'node', args })
  write(home, {
    '.claude.json': {
      mcpServers: {
        files: npx('server-filesystem', undefined),
        here: { command: 'npx', args: ['-y', 'server-filesystem', '.'] },
        script: node('./server.js'),
        sub: { ...node('/a/x.js'), cwd: 'tools' },
        absolute: node('/a/y.js'),
        serena: { command: 'uvx', args: ['--from', 'git+https://github.com/oraios/serena', 'serena'] },
        variable: { command: 'x', args: ['--root=${PWD}'] },
      },
    },
    '.cursor/mcp.json': {
      mcpServers: { mine: node('server.mjs'), deep: { ...node('/a/x.js'), cwd: './tools' } },
    },
    '.codex/config.toml': '[mcp_servers.codex]\ncommand = "uv"\nargs = ["run", "tool"]\n',
    '.gemini/settings.json': { mcpServers: { gemini: { command: 'python', args: ['-m', 'tool'] } } },
    '.copilot/mcp-config.json': { mcpServers: { copilot: { command: './run.sh' } } },
    '.config/crush/crush.json': { mcp: { crush: node('dist/index') } },
    '.config/opencode/opencode.json': { mcp: { opencode: { type: 'local', command: ['node', 'o.js'] } } },
    '.config/goose/config.yaml': 'extensions:\n  goose: { type: stdio, cmd: node, args: [g.js] }\n',
  })
  const { config } = await run(home, await clientsIn(home))
  const cwds = Object.fromEntries(Object.entries<ImportedEntry>(config).map(([name, { cwd }]) => [name, cwd]))
  const workspace = '${workspaceFolder}'
  t.same(cwds, {
    files: home,
    here: workspace,
    script: workspace,
    sub: `${workspace}/tools`,
    absolute: home,
    serena: workspace,
    variable: workspace,
    mine: home,
    deep: join(home, 'tools'),
    codex: workspace,
    gemini: workspace,
    copilot: workspace,
    crush: workspace,
    opencode: workspace,
    goose: workspace,
  })
})

t.test('different servers stay apart, and the same one is imported once', async t => {
  const claim = async (one: object, other: object) => {
    const source = async (entry: object) => await readPasted(JSON.stringify({ mcpServers: { s: entry } }))
    return await run(t.testdir(), [await source(one), await source(other)])
  }
  const line = (text: string): object => {
    const [command = '', ...args] = text.split(' ')
    return { command, args }
  }
  const url = 'https://a.example/mcp'
  for (const [one, other] of [
    [
      { ...line('node server.mjs'), cwd: '/one' },
      { ...line('node server.mjs'), cwd: '/two' },
    ],
    [line('npx pkg@1'), line('npx pkg@2')],
    [line('npx pkg@1'), line('npx pkg')],
    [line('uvx --directory /a tool'), line('uvx --directory /b tool')],
    [line('docker run -i img'), line('docker run -i --network none img')],
    [line('docker run -i img'), line('docker run -i --read-only img')],
    [line('docker run -i -w /a img'), line('docker run -i -w /b img')],
    [
      { type: 'sse', url },
      { type: 'http', url },
    ],
    [
      { command: 'x', timeout: 5000 },
      { command: 'x', timeout: 90_000 },
    ],
  ] as const) {
    const { states } = await claim(one, other)
    t.match(states[1], /: renamed s-pasted$/, JSON.stringify([one, other]))
  }
  for (const [one, other] of [
    [line('npx -y pkg@latest'), line('/usr/bin/npx pkg')],
    [line('docker run -i --rm img'), line('docker run -it --name x img:latest')],
    [
      { command: 'x', cwd: '/a/' },
      { command: 'x', cwd: '/a' },
    ],
    [{ type: 'http', url }, { url }],
  ] as const) {
    const { states } = await claim(one, other)
    t.match(states[1], /: same s$/, JSON.stringify([one, other]))
  }
})

t.test('no client gains a tool or loses a server when a server is merged', async t => {
  const source = async (entry: object) =>
    await readPasted(JSON.stringify({ mcpServers: { s: { command: 'x', ...entry } } }))
  const both = async (one: object, other: object) =>
    await run(t.testdir(), [await source(one), await source(other)])
  for (const rule of ['disabledTools', 'excludeTools', 'disabled_tools']) {
    const { config } = await both({}, { [rule]: ['read'] })
    t.same(config.s.tools, { deny: ['read'] }, rule)
  }
  t.same((await both({ includeTools: ['a', 'b'] }, { includeTools: ['b', 'c'] })).config.s.tools, {
    allow: ['b'],
  })
  t.same((await both({ includeTools: ['a'] }, {})).config.s.tools, { allow: ['a'] })
  t.same((await both({}, { enabled_tools: ['a'], disabled_tools: ['b'] })).config.s.tools, {
    allow: ['a'],
    deny: ['b'],
  })
  t.same((await both({ enabled_tools: [] }, {})).config.s.tools, { allow: [] })
  t.match((await both({ includeTools: ['a'] }, { includeTools: ['b'] })).plan.servers[1]?.obstacles, [
    /none of its tools/,
  ])
  t.notOk('disabled' in (await both({ disabled: true }, {})).config.s, 'one client enables it')
  t.notOk('disabled' in (await both({}, { disabled: true })).config.s, 'one client enables it')
  t.equal((await both({ disabled: true }, { disabled: true })).config.s.disabled, true)
})

t.test('a server of our file gets the rules of a client that has it, and keeps all else', async t => {
  const home = t.testdir({
    proxy: {
      'mcp.json':
        '{ "mcpServers": { "mine": { "command": "x", "timeouts": { "call": "5s" }, "start": "eager" } } }',
    },
  })
  const source = await readPasted('{ "mcpServers": { "s": { "command": "x", "disabledTools": ["read"] } } }')
  const { states, config } = await run(home, [source])
  t.same(states, ['s of the pasted text: restricted mine'])
  t.same(config, {
    mine: { command: 'x', timeouts: { call: '5s' }, start: 'eager', tools: { deny: ['read'] } },
  })
  t.same((await run(home, [source])).states, ['s of the pasted text: there mine'])
})

/** What entries of other clients become. */
const ENTRIES: readonly (readonly [text: string, entry: object])[] = [
  ['"github": { "command": "x" },', { command: 'x' }],
  ['{ "mcpServers": [{ "name": "a", "command": "x" }] }', { command: 'x' }],
  ['{ "a": { "command": "npx -y \'a b\'" } }', { command: 'npx', args: ['-y', 'a b'] }],
  [
    '{ "mcp": { "a": { "type": "local", "command": ["npx", "x"], "environment": { "A": 1 }, "enabled": false } } }',
    { command: 'npx', args: ['x'], env: { A: 1 }, disabled: true },
  ],
  ['{ "mcp": { "a": { "type": "remote", "url": "https://x" } } }', { url: 'https://x' }],
  [
    '{ "context_servers": { "a": { "command": { "path": "x", "args": ["y"], "env": { "A": null } } } } }',
    { command: 'x', args: ['y'], env: { A: null } },
  ],
  [
    '{ "mcpServers": { "a": { "httpUrl": "https://x", "timeout": 90000, "includeTools": ["t"], "trust": true } }, "mcp": { "excluded": ["b"] } }',
    { type: 'http', url: 'https://x', timeouts: { call: '90s' }, tools: { allow: ['t'] } },
  ],
  [
    '{ "mcpServers": { "a": { "serverUrl": "https://x", "transport": { "type": "sse" }, "disabledTools": ["t"] } } }',
    { type: 'sse', url: 'https://x', tools: { deny: ['t'] } },
  ],
  [
    'mcpServers:\n- name: a\n  type: streamable-http\n  url: https://x\n  requestOptions: { headers: { X-A: "${{ secrets.S }}" } }',
    { type: 'http', url: 'https://x', headers: { 'X-A': '${S}' } },
  ],
  [
    'extensions:\n  a: { type: stdio, cmd: npx, args: [x], envs: { B: "1" }, env_keys: [K] }',
    { command: 'npx', args: ['x'], env: { K: '${K}', B: '1' } },
  ],
  [
    '[mcp_servers.a]\nurl = "https://x"\nbearer_token_env_var = "TOK"\nenabled_tools = ["t"]\n[mcp_servers.a.env_http_headers]\nX-B = "B"',
    { url: 'https://x', headers: { Authorization: 'Bearer ${TOK}', 'X-B': '${B}' }, tools: { allow: ['t'] } },
  ],
  [
    '{ "mcpServers": { "a": { "command": "${env:BIN}", "args": ["${userHome}${/}x", "$env:Y", "${Z:-d}", "$${q}"] } } }',
    { command: '${BIN}', args: ['${userHome}/x', '${Y}', '${Z:-d}', '$${q}'] },
  ],
]

t.test('every pasted text is read', async t => {
  for (const [text, entry] of ENTRIES) {
    const { plan } = await run(t.testdir(), [await readPasted(text)])
    t.same(plan.servers[0]?.entry, entry, text)
    t.equal(plan.servers.length, 1)
  }
  await t.rejects(readPasted('hello'), /no servers found/)
  await t.rejects(readPasted('{ "mcpServers": { "a": {'), /pasted text:1: expected "}"/)
})

t.test('a file is read by what it holds, and one server needs a name', async t => {
  const home = t.testdir({ 'a.txt': '{ "command": "x" }', 'b.toml': '[mcp_servers.b]\ncommand = "y"' })
  const source = await readGiven(systemDisk, join(home, 'a.txt'))
  t.match((await run(home, [source])).plan.servers, [{ state: 'unnamed', entry: undefined }])
  t.same((await run(home, [source], { name: 'mine' })).config, { mine: { command: 'x' } })
  const { config } = await run(home, [await readGiven(systemDisk, join(home, 'b.toml'))])
  t.same(Object.keys(config), ['mine', 'b'])
  await t.rejects(readGiven(systemDisk, join(home, 'gone')), /there is no such file/)
})

t.test('the keys of other clients in a .mcp.json show that its time limits are seconds', async t => {
  const rows: readonly (readonly [more: object, timeouts: object])[] = [
    [
      { timeout: 1800, alwaysAllow: ['x'], disabled: false },
      { call: '1800s', total: '1800s' },
    ],
    [{ timeout: 90, autoApprove: [] }, { call: '90s' }],
    [{ timeout: 90_000, autoApprove: [] }, { call: '90s' }],
    [{ timeout: 1500 }, { call: '1500ms' }],
  ]
  for (const [at, [more, timeouts]] of rows.entries()) {
    const content = JSON.stringify({ mcpServers: { a: { command: 'x', ...more } } })
    const home = join(t.testdir({ [at]: { '.mcp.json': content } }), String(at))
    const { config } = await run(home, [await readGiven(systemDisk, join(home, '.mcp.json'))])
    t.match(config, { a: { timeouts } }, content)
  }
})

const runs = (line: string): ImportedEntry => {
  const [command = '', ...args] = line.split(' ')
  return { command, args }
}

t.test('a runner is looked through, but what it is given is not', async t => {
  for (const [one, other, isSame] of [
    ['npx -y p@latest a', '/usr/bin/npx p a', true],
    ['cmd /c npx -y -- @s/p@1.2', 'npx.cmd @s/p', true],
    ['npx -p @s/one bin', 'npx --package=@s/one@2 bin', true],
    ['npx -p @s/one bin', 'npx -p @s/other bin', false],
    ['uvx --python 3.12 p==1 a', 'uv tool run p a', true],
    ['uvx --from git+https://h/one serve', 'uvx --from git+https://h/other serve', false],
    [
      'docker run -it --pull always -m 1g -e A r:5000/img:1 x',
      'podman container run -i --rm r:5000/img x',
      true,
    ],
    ['docker run -i img a', 'docker run -i img b', false],
  ] as const) {
    t.equal(identityOf(runs(one)) === identityOf(runs(other)), isSame, `${one} and ${other}`)
  }
  for (const [one, other, isSame] of [
    ['docker run -i -e TOKEN=a img', 'docker run -i -e TOKEN=b img', false],
    ['docker run -i -v /a:/d img', 'docker run -i -v /b:/d img', false],
    ['docker run -i --env TOKEN img', 'docker run --rm img', true],
  ] as const) {
    t.equal(settingsOf(runs(one)) === settingsOf(runs(other)), isSame, `settings of ${one} and ${other}`)
  }
})

t.test('our own entries are recognized, and entries with similar names are not', async t => {
  const own = { scripts: ['/us/connect.cjs'], urls: ['http://127.0.0.1:8808/mcp'] }
  for (const [entry, isOurs] of [
    [{ url: 'http://127.0.0.1:8808/mcp/web' }, true],
    [{ url: 'http://127.0.0.1:8808/servers/github/mcp' }, true],
    [{ url: 'http://127.0.0.1:8808/mcp2' }, false],
    [{ url: 'http://127.0.0.1:8808/servers2/github/mcp' }, false],
    [runs('/usr/bin/mcp-proxy connect --config x'), true],
    [runs('mcp-proxy http://127.0.0.1:9/sse'), false],
    [runs('npx -y mcp-proxy-daemon@0.1 connect'), true],
    [runs('npx -y mcp-proxy --port 9'), false],
  ] as const) {
    t.equal(isOwn(entry, own), isOurs, JSON.stringify(entry))
  }
})

t.test('secrets that would not be read again are not written', async t => {
  const home = t.testdir()
  const servers = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [
      `s${at}`,
      { command: 'x', env: { API_KEY: `${at}${'k'.repeat(2048)}` } },
    ]),
  )
  const source = await readPasted(JSON.stringify({ mcpServers: servers }))
  await t.rejects(run(home, [source]), /secrets\.env: it would have \d+ KiB/)
  t.notOk(existsSync(join(home, 'proxy', 'mcp.json')))
})

t.test('keys are found behind -k, in ?k= and in env, and settings stay', async t => {
  const env = {
    API: '0123456789abcdef0123456789abcdef',
    PIN: '1234',
    KEYBOARD: 'us-intl',
    MAX_TOKENS: '200000',
  }
  const servers = { a: { command: 'x', args: ['-k', 'S3CRET'], env }, b: { url: 'https://h/mcp?k=S3CRET' } }
  const { config } = await run(t.testdir(), [await readPasted(JSON.stringify({ mcpServers: servers }))])
  t.same(config, {
    a: {
      command: 'x',
      args: ['-k', '${K}'],
      env: { API: '${API}', PIN: '${PIN}', KEYBOARD: 'us-intl', MAX_TOKENS: '200000' },
    },
    b: { url: 'https://h/mcp?k=${K}' },
  })
})

t.test('an envFile is kept, and programs get its variables as from the client', async t => {
  const home = t.testdir({
    'keys.env': "# mine\nWEATHER_KEY='planted-1'\nMODE=fast\nREGION=eu\nPASSWORD='a${b}c'\n",
    work: { '.env': 'DB_PASSWORD=planted-2\n' },
  })
  const file = (envFile: unknown, more: object = {}) => ({ command: 'x', envFile, ...more })
  write(home, {
    '.config/Code/User/mcp.json': {
      servers: {
        weather: file(join(home, 'keys.env'), { env: { MODE: 'slow' }, cwd: '${workspaceFolder}' }),
        home: file('${userHome}/keys.env', { args: ['2'] }),
        gone: file(join(home, 'gone.env')),
        folder: file('${workspaceFolder}/.env', { args: ['3'] }),
        list: file([1], { args: ['4'] }),
      },
    },
    'work/.vscode/mcp.json': { servers: { db: file('${workspaceFolder}/.env', { args: ['5'] }) } },
  })
  const { plan, config, read } = await run(home, await clientsIn(home, join(home, 'work')))
  t.same(config.weather, {
    ...{ command: 'x', cwd: '${workspaceFolder}', envFile: join(home, 'keys.env') },
    env: { MODE: 'slow', PASSWORD: '${WEATHER_PASSWORD}' },
  })
  t.same(config.home.env, { PASSWORD: '${HOME_PASSWORD}' }, 'the proxy would expand this value')
  t.match(config.db, { envFile: join(home, 'work', '.env'), cwd: join(home, 'work') })
  t.notOk('env' in config.db)
  t.match(read('secrets.env'), /^WEATHER_PASSWORD='a\$\{b\}c'$/m)
  t.notMatch(read('secrets.env'), 'planted')
  t.notMatch(read('mcp.json'), 'planted')
  t.match(Object.fromEntries(plan.servers.map(({ name, obstacles }) => [name, obstacles])), {
    weather: [],
    home: [],
    db: [],
    gone: [/^its envFile \S+gone\.env is not there$/],
    folder: [/^its envFile \$\{workspaceFolder\}\/\.env depends on the open folder/],
    list: ['its envFile is not a path'],
  })
  const again = await run(home, await clientsIn(home, join(home, 'work')))
  t.same(
    again.plan.servers.filter(({ entry }) => entry),
    [],
    'a second import finds nothing new',
  )
})

t.test('values that may be secrets are moved, unless the user says that they are none', async t => {
  const text = JSON.stringify({ mcpServers: { a: { command: 'x', env: { LICENSE: 'AB12-CD34-EF56' } } } })
  const { plan, config } = await run(t.testdir(), [await readPasted(text)])
  t.equal(config.a.env.LICENSE, '${LICENSE}')
  t.match(plan.servers[0]?.doubtful, [{ name: 'LICENSE', value: 'AB12-CD34-EF56' }])
  const kept = await run(t.testdir(), [await readPasted(text)], { isSecret: () => false })
  t.equal(kept.config.a.env.LICENSE, 'AB12-CD34-EF56')
  t.equal(kept.plan.secrets.size, 0)
})

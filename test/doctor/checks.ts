import t from 'tap'
import { parseConfig } from '../../src/config/parse.js'
import { PROBLEM_IDS, type ProblemId } from '../../src/diagnostics/causes.js'
import { cause } from '../../src/diagnostics/explain.js'
import { lookAtRepeated } from '../../src/doctor/checks/clients.js'
import { lookAtTwins } from '../../src/doctor/checks/configuration.js'
import { lookAtCallRules } from '../../src/doctor/checks/rules.js'
import { lookAtPrograms } from '../../src/doctor/checks/servers.js'
import { documentOf, examine, type FactSources, gatherOnce, worstFirst } from '../../src/doctor/examine.js'
import type {
  ClientEntry,
  ClientFile,
  ConfigFacts,
  Facts,
  Probe,
  ProbedTool,
} from '../../src/doctor/facts.js'
import type { ModelText } from '../../src/kernel/model-texts.js'
import type { ImportedEntry } from '../../src/setup/import/normalise.js'

/** A configuration as the file has it; `more` are settings. */
const config = (servers: Record<string, ImportedEntry>, more: object = {}): ConfigFacts => ({
  file: '/c/mcp.json',
  loaded: parseConfig(JSON.stringify({ mcpServers: servers, ...more }), '/c/mcp.json', { TOKEN: 'env' }),
  waiting: [],
  entries: new Map(Object.entries(servers)),
  mode: 0o644,
  envFile: { path: '/c/secrets.env', mode: 0o600, values: {} },
})

const ruled = (...rules: readonly object[]): ConfigFacts => config({ git: GIT }, { rules })

const tool = (name: string, more: Partial<ProbedTool> = {}): ProbedTool => ({
  name,
  long: name,
  descriptionBytes: 10,
  bytes: 400,
  schema: { type: 'object' },
  hasHints: true,
  views: [],
  ...more,
})

const probe = (more: Partial<Probe> = {}): Probe => ({
  server: 'git',
  transport: 'stdio',
  ms: 300,
  state: 'ready',
  why: undefined,
  stderrTail: [],
  noise: undefined,
  repairs: [],
  instructionBytes: 0,
  tools: [tool('git__log')],
  address: undefined,
  ...more,
})

const GIT = { command: 'git-mcp', args: ['x'] }
const own = (more: Partial<ClientEntry> = {}): ClientEntry => ({
  name: 'mcp-proxy',
  entry: { command: '/usr/bin/node' },
  identity: '["/usr/bin/node"]',
  isOurs: true,
  isOff: false,
  frail: [],
  deadUrl: undefined,
  ...more,
})
const other = (name: string, identity: readonly string[], more: Partial<ClientEntry> = {}): ClientEntry =>
  own({ name, identity: JSON.stringify(identity), isOurs: false, ...more })
const clientFile = (entries: readonly ClientEntry[], more: Partial<ClientFile> = {}): ClientFile => ({
  path: '/h/.cursor/mcp.json',
  project: undefined,
  broken: undefined,
  isInstalled: true,
  misplaced: undefined,
  entries,
  ...more,
})
const client = (files: readonly ClientFile[], id = 'cursor', apiHost?: string) => ({
  id,
  label: id === 'cursor' ? 'Cursor' : 'Claude Code',
  files,
  apiHost,
})

const program = (command: string, path: string | undefined, args: readonly string[] = []) => ({
  server: 'git',
  command,
  args,
  path,
  searched: 'PATH is /bin',
})

const status = { pid: 7, version: '1.2.3', servers: [] }

/** Facts of a machine on which all is well. */
const WELL: Facts = {
  installation: {
    node: 'v20.19.0',
    platform: 'linux',
    version: '1.2.3',
    folder: '/lib/mcp-proxy-daemon',
    damaged: [],
    onPath: [
      { path: '/bin/mcp-proxy', folder: '/lib/mcp-proxy-daemon', package: 'mcp-proxy-daemon' },
      { path: '/opt/bin/mcp-proxy', folder: '/opt/other', package: 'mcp-proxy' },
    ],
    state: { path: '/s', mode: 0o700, isOurs: true, isWritable: true, freeBytes: 2e9 },
  },
  file: { file: '/c/mcp.json', why: undefined },
  config: config({ git: GIT, two: { command: 'git-mcp', args: ['y'] } }),
  shell: { shell: '/bin/zsh', why: undefined, values: {} },
  programs: [program('uvx', '/bin/uvx'), program('docker', '/bin/docker', ['run', '--rm', '-i', 'image'])],
  docker: { why: undefined },
  daemon: {
    file: '/c/mcp.json',
    version: '1.2.3',
    socket: '/r/a.sock',
    lock: '/r/a.lock',
    log: '/l/a.log',
    unusable: undefined,
    state: 'serves',
    isLockDead: false,
    pid: 7,
    born: 'b',
    status: {
      ...status,
      limits: {},
      servers: [{ name: 'git', state: 'ready', failures: 0 }],
      config: { file: '/c/mcp.json', lastReload: { result: 'applied', problems: [], needRestart: [] } },
    },
    sessions: [{ version: '1.2.3', pid: 8, workspace: '/p' }],
  },
  processes: { doubles: [], left: [] },
  service: { file: '/u/mcp-proxy.service', wrong: [], isLingering: true, hasPort: false },
  port: { host: '127.0.0.1', port: 8808, isGiven: true, takenBy: undefined },
  trial: { why: undefined },
  clients: [
    client([clientFile([own(), other('files', ['npm', 'files'])])]),
    client([clientFile([own()])], 'claude-code', 'api.anthropic.com'),
  ],
  probes: [probe()],
}

const sourcesFor = (facts: { readonly [Name in keyof Facts]?: Facts[Name] | undefined }): FactSources => {
  const all = { ...WELL, ...facts }
  const names = Object.keys(WELL) as (keyof Facts)[]
  return Object.fromEntries(names.map(name => [name, () => Promise.resolve(all[name])])) as FactSources
}

const findingsOf = async (id: ProblemId, facts: Partial<Facts>) => {
  const done = await examine(gatherOnce(sourcesFor(facts)), {
    only: [id],
    server: undefined,
    isOffline: false,
  })
  return worstFirst(done)
}

const many = (count: number): readonly ProbedTool[] =>
  Array.from({ length: count }, (_, index) => tool(`git__t${index}`))
const installed = (more: Partial<Facts['installation']>): Partial<Facts> => ({
  installation: { ...WELL.installation, ...more },
})
const state = (more: Partial<Facts['installation']['state']>) =>
  installed({ state: { ...WELL.installation.state, ...more } })
const daemon = (more: Partial<Facts['daemon']>): Partial<Facts> => ({ daemon: { ...WELL.daemon, ...more } })
const running = (more: object): Partial<Facts> => daemon({ status: { ...status, ...more } })
const cursor = (...files: readonly ClientFile[]): Partial<Facts> => ({ clients: [client(files)] })
const probed = (...probes: readonly Partial<Probe>[]): Partial<Facts> => ({ probes: probes.map(probe) })
const tools = (...all: readonly ProbedTool[]): Partial<Facts> => probed({ tools: all })

/** Facts that provoke each problem, and what is said then. */
/** A text for models, the name of a tool unless given. */
const text = (item: string, more: Partial<ModelText> = {}): ModelText => ({
  ...{ item, kind: 'tool', member: 'name', text: item },
  ...more,
})

const PROVOKED: Readonly<Record<ProblemId, readonly (readonly [facts: Partial<Facts>, found: object])[]>> = {
  D001: [
    [installed({ node: 'v20.18.1' }), { message: 'Node 20.18.1 is too old' }],
    [installed({ node: 'v22.11.0' }), { level: 'error' }],
    [installed({ node: 'v21.7.0' }), { fix: /nodejs\.org/ }],
  ],
  D002: [[installed({ damaged: ['bin/connect.cjs is missing'] }), { why: 'bin/connect.cjs is missing' }]],
  D004: [
    [
      installed({
        onPath: [
          ...WELL.installation.onPath,
          { path: '/old/mcp-proxy', folder: '/old', package: 'mcp-proxy-daemon' },
        ],
      }),
      { message: '/bin/mcp-proxy and /old/mcp-proxy are different installations' },
    ],
  ],
  D005: [
    [
      installed({ onPath: [{ path: '/opt/bin/mcp-proxy', folder: '/opt/o', package: 'mcp-proxy' }] }),
      { why: /package mcp-proxy$/, fix: /mcp-proxy-daemon\/bin\/mcp-proxy\.js$/ },
    ],
    [
      installed({ onPath: [{ path: '/py/mcp-proxy', folder: undefined, package: undefined }] }),
      { message: '/py/mcp-proxy is another program of that name', why: undefined },
    ],
  ],
  D006: [
    [state({ isOurs: false }), { why: /another user/, autoFix: undefined }],
    [state({ isWritable: false }), { level: 'error', why: /not be written/ }],
    [state({ freeBytes: 5e6 }), { why: 'only 4 MB are free there' }],
    [state({ mode: 0o755 }), { level: 'warn', autoFix: { is: 'rights', path: '/s', mode: 0o700 } }],
  ],
  D010: [
    [
      { file: { file: '/c/mcp.json', why: 'there is no such file', isMissing: true } },
      { level: 'error', fix: 'mcp-proxy init' },
    ],
    [{ file: { file: '/c/mcp.json', why: 'the file may not be read' } }, { fix: /correct the file/ }],
  ],
  D011: [
    [
      { config: config({ git: { ...GIT, cwd: 7 } }) },
      { level: 'error', message: /mcp\.json:1:\d+: mcpServers\.git\.cwd: / },
    ],
    [{ config: config({ git: { ...GIT, colour: 'red' } }) }, { level: 'warn', message: /colour/ }],
  ],
  D012: [
    [
      { config: config({ git: { ...GIT, env: { API_KEY: 'abcd1234efgh' } } }) },
      { message: /in \/c\/mcp\.json$/, autoFix: { is: 'rights', mode: 0o600 } },
    ],
    [
      { config: { ...WELL.config, envFile: { path: '/c/secrets.env', mode: 0o640, values: { A: 'b' } } } },
      { fix: 'chmod 600 /c/secrets.env' },
    ],
  ],
  D013: [
    [
      { config: config({ git: { ...GIT, env: { API_KEY: 'abcd1234efgh', LANG: 'C' } } }) },
      { message: 'git.env.API_KEY holds a secret', autoFix: { is: 'move-secrets' } },
    ],
    [
      { config: config({ git: { command: 'x', args: ['--token', 'abcd1234'] } }) },
      { message: 'git.args holds a secret' },
    ],
    [
      { config: config({ web: { url: 'https://a.example/mcp?key=abcd1234' } }) },
      { message: 'web.url holds a secret' },
    ],
  ],
  D014: [
    [
      running({
        config: { file: '/c/mcp.json', lastReload: { result: 'refused', problems: ['bad comma'] } },
      }),
      { why: 'bad comma' },
    ],
  ],
  D015: [
    [
      running({ config: { file: '/c', lastReload: { result: 'applied', needRestart: ['listen'] } } }),
      { message: 'only after a restart: listen', autoFix: { is: 'restart' } },
    ],
  ],
  D016: [
    [
      { config: config({ git: GIT, same: GIT }) },
      { message: 'git and same are the same server', level: 'warn' },
    ],
    [
      { config: config({ git: GIT, same: { ...GIT, env: { TOKEN: '${TOKEN}' } } }) },
      { level: 'note', why: 'their variables differ' },
    ],
    [
      { config: config({ git: GIT, same: { ...GIT, envFile: '.env' } }) },
      { level: 'note', why: 'their variables differ' },
    ],
  ],
  D017: [
    [
      {
        config: {
          ...config({ git: { command: 'x', cwd: '/c' } }),
          envFile: { path: '/c/secrets.env', mode: 0o600, values: { TOKEN: 'x' } },
        },
      },
      { message: 'git can read /c/secrets.env', level: 'warn', subject: 'git' },
    ],
    [
      {
        config: {
          ...config({ git: { command: 'x', cwd: '/w', args: ['--root=../c'] } }),
          envFile: { path: '/c/secrets.env', mode: 0o600, values: { TOKEN: 'x' } },
        },
      },
      { message: 'git can read /c/secrets.env', fix: /another folder than \/c/ },
    ],
    [
      {
        config: config({
          git: { command: 'docker', cwd: '/w', args: ['run', '-v', `${WELL.installation.state.path}:/s`] },
        }),
      },
      { message: /git can read .*backups/ },
    ],
    [
      { config: ruled({ tool: 'w*', then: 'allow' }, { tool: ['wipe', 'write*'], then: 'deny' }) },
      { message: 'rule 2 cannot decide: rule 1 decides about the same calls before it', subject: '#2' },
    ],
    [
      { config: ruled({ id: 'a', then: 'ask' }, { rate: '1/1m' }) },
      { message: 'rule 2 cannot decide: rule "a" decides about the same calls before it' },
    ],
    [
      { config: ruled({ server: 'gti*', then: 'deny' }) },
      { message: 'rule 1 cannot decide: no server is named gti*' },
    ],
    [
      { config: ruled({ who: { people: ['local', 'ann'] }, then: 'deny' }) },
      { message: 'rule 1 cannot decide: nobody in auth.people is named ann' },
    ],
    [
      { config: ruled({ who: { scopes: ['a'] }, then: 'deny' }) },
      { message: 'rule 1 cannot decide: without "auth", callers have no scopes' },
    ],
    [
      { config: ruled({ who: { clients: 'cursor*' }, then: 'allow' }, { tool: 'x', then: 'deny' }) },
      { message: /^rule 1 allows what a later rule does not, by the name of the client/ },
    ],
  ],
  D018: [
    [
      { config: ruled({ then: 'ask', ask: { of: { people: 'ann' } } }) },
      { message: 'rule 1 asks another person: without "auth", there is none', level: 'warn', subject: '#1' },
    ],
    [
      { config: ruled({ id: 'a', then: 'ask', ask: { via: 'page' } }) },
      { message: 'rule "a" asks on a page, and without "listen" there may be none', level: 'warn' },
    ],
  ],
  D020: [
    [
      { config: { ...WELL.config, waiting: [{ name: 'git', lacks: ['NEEDED'] }] } },
      { message: 'NEEDED is not set, and git waits for it', fix: /secrets\.env/ },
    ],
    [
      { config: config({ git: { ...GIT, env: { A: '${NEEDED}' } } }) },
      { message: 'NEEDED is not set, and git waits for it', subject: 'git' },
    ],
  ],
  D021: [
    [
      {
        config: {
          ...config({ git: { ...GIT, env: { T: '${TOKEN}' } } }),
          envFile: { path: '/c/secrets.env', mode: 0o600, values: { TOKEN: 'one', UNUSED: 'one' } },
        },
        shell: { ...WELL.shell, values: { TOKEN: 'two', UNUSED: 'two' } },
      },
      { subject: 'TOKEN', level: 'note' },
    ],
  ],
  D022: [[{ shell: { ...WELL.shell, why: 'did not answer in 5 s' } }, { why: 'did not answer in 5 s' }]],
  D023: [
    [
      { config: config({ git: { ...GIT, env: { A: '${file:/nowhere/at/all}' } } }) },
      { message: /needs the file \/nowhere\/at\/all/, why: 'is not there' },
    ],
  ],
  D030: [
    [{ programs: [program('uvx', undefined)] }, { why: 'PATH is /bin', fix: /astral\.sh/ }],
    [{ programs: [program('/gone/git-mcp', undefined)] }, { fix: /whole path/ }],
  ],
  D031: [
    [
      probed({ state: 'failed', why: 'exited with code 3', stderrTail: ['1', '2', '3', '4', '5', 'no DB'] }),
      { why: 'exited with code 3; it last wrote: 2 | 3 | 4 | 5 | no DB' },
    ],
    [probed({ state: 'failed' }), { why: 'no answer in time' }],
  ],
  D032: [[probed({ ms: 12_300 }), { message: 'git takes 12 s to start, and Codex waits for 10 s' }]],
  D033: [
    [
      { config: config({ git: { ...GIT, sharing: 'workspace' } }), ...daemon({ sessions: [] }) },
      { level: 'note', subject: 'git' },
    ],
  ],
  D034: [[probed({ noise: 'Server started' }), { why: 'it wrote: Server started' }]],
  D035: [
    [
      probed({ transport: 'http', state: 'failed', why: 'it failed' }),
      { why: 'it failed', fix: /check its address/ },
    ],
    [
      probed({
        transport: 'http',
        state: 'failed',
        address: {
          status: 404,
          cause: cause('D035.path', { server: 'git', status: 404, url: 'http://a/mcp' }, 'git'),
        },
      }),
      { why: 'it answers 404 there', fix: /"http:\/\/a\/mcp"/ },
    ],
    ...(
      [
        ['D035.reason', /what its answer names/],
        ['D035.gateway', /behind the gateway/],
        ['D035.session', /same instance/],
        ['D035.page', /the path in its "url"/],
        ['D035.certificate', /a client certificate that it accepts/],
        ['D035.status', /contact its operator/],
      ] as const
    ).map(([absence, fix]) => {
      const why = absence === 'D035.status' ? 'it answers 500' : 'its own reason'
      const found = cause('D035.broken', { server: 'git', status: 500 }, 'git')
      const address = { status: 500, cause: found }
      return [probed({ transport: 'http', state: 'failed', why, absence, address }), { why, fix }] as const
    }),
  ],
  D036: [
    [
      probed({ transport: 'http', state: 'needs-auth', why: 'it wants a login' }),
      { fix: 'mcp-proxy auth login git' },
    ],
    [
      {
        ...probed({
          transport: 'http',
          state: 'failed',
          address: { status: 403, cause: undefined },
        }),
        config: config({ git: { url: 'https://a/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } } }),
      },
      { why: 'it answers 403', fix: /^TOKEN is wrong or has expired/ },
    ],
  ],
  D037: [
    [{ programs: [program('docker', '/bin/docker', ['run', '--rm', 'image'])] }, { fix: /put "-i"/ }],
    [
      { docker: { why: 'Cannot connect to the Docker daemon' } },
      { why: 'Cannot connect to the Docker daemon', fix: 'start Docker' },
    ],
  ],
  D039: [
    [
      running({
        servers: [{ name: 'git', state: 'failed', failures: 5, why: 'it exited', retryMs: 59_500 }],
      }),
      { message: /^git has failed 5 times/, why: 'it exited; tried again in 60 s' },
    ],
  ],
  D040: [
    [daemon({ state: 'dead', status: undefined }), { autoFix: { is: 'remove', path: '/r/a.sock' } }],
    [daemon({ isLockDead: true }), { autoFix: { is: 'remove', path: '/r/a.lock' } }],
  ],
  D041: [
    [{ trial: { why: 'the daemon ended at once' } }, { level: 'error', why: 'the daemon ended at once' }],
  ],
  D042: [
    [
      daemon({ state: 'silent', status: undefined }),
      { level: 'error', message: /pid 7/, autoFix: { is: 'end', pid: 7, born: 'b' } },
    ],
    [
      daemon({ state: 'silent', status: undefined, pid: undefined }),
      { fix: 'lsof /r/a.sock', autoFix: undefined },
    ],
  ],
  D043: [
    [
      running({ version: '1.2.2', kept: 'systemd' }),
      { why: 'it is kept by systemd', autoFix: { is: 'restart' } },
    ],
    [
      daemon({ sessions: [{ client: 'cursor', version: '1.0.0', pid: 9 }] }),
      { level: 'note', fix: 'restart cursor' },
    ],
  ],
  D044: [
    [
      { processes: { doubles: [{ pid: 9, born: 'x' }], left: [] } },
      { autoFix: { is: 'end', pid: 9, born: 'x' } },
    ],
  ],
  D045: [
    [
      {
        service: {
          file: '/u/mcp-proxy.service',
          wrong: ['/old/node is gone'],
          isLingering: false,
          hasPort: false,
        },
      },
      { why: '/old/node is gone', autoFix: { is: 'service' } },
    ],
    [
      { service: { file: '/u/mcp-proxy.service', wrong: [], isLingering: false, hasPort: false } },
      {
        level: 'note',
        message: 'the service ends when you log out: /u/mcp-proxy.service',
        fix: 'loginctl enable-linger',
      },
    ],
  ],
  D046: [
    [
      daemon({ unusable: { path: '/r', why: 'it is a link' } }),
      { message: /^\/r cannot/, why: 'it is a link' },
    ],
    [daemon({ state: 'denied', status: undefined }), { why: /may not connect/ }],
  ],
  D050: [
    [cursor(clientFile([])), { level: 'warn', autoFix: { is: 'install', client: 'cursor' } }],
    [cursor(clientFile([], { isInstalled: false })), { level: 'note', fix: 'mcp-proxy install cursor' }],
    [cursor(clientFile([], { broken: '/h/.cursor/mcp.json:3: a comma' })), { why: /:3: a comma/ }],
    [cursor(clientFile([], { misplaced: 'our entry stands in another place' })), { why: /another place/ }],
  ],
  D051: [
    [
      cursor(clientFile([own(), other('g', ['git-mcp', 'x'])])),
      { message: 'g is in Cursor and behind the proxy: its tools appear twice' },
    ],
  ],
  D052: [
    [
      cursor(clientFile([own({ frail: [{ path: '/old/node', why: 'it is gone' }] })])),
      { autoFix: { is: 'refresh' } },
    ],
  ],
  D053: [
    [cursor(clientFile([other('p', ['npm', 'mcp-proxy', 'x'])])), { level: 'error', why: 'its entry "p"' }],
  ],
  D054: [
    [
      cursor(clientFile([own()]), clientFile([own()], { path: '/p/.cursor/mcp.json', project: '/p' })),
      { level: 'note', message: '/p/.cursor/mcp.json wins over the file of the user in /p' },
    ],
  ],
  D055: [
    [
      cursor(clientFile([own({ deadUrl: 'http://127.0.0.1:8808/mcp' })])),
      { fix: /service install --port 8808/ },
    ],
  ],
  D056: [
    [tools(...many(41)), { level: 'note', message: '41 tools, and Cursor takes 40', why: /five tools/ }],
    [
      { ...tools(...many(41)), config: config({}, { expose: 'direct' }) },
      { level: 'warn', message: '41 tools, and Cursor takes 40', fix: /"clients"/ },
    ],
    [
      { ...tools(...many(41)), config: config({}, { clients: { 'cur*': { expose: 'direct' } } }) },
      { level: 'warn' },
    ],
    [
      { ...tools(...many(8)), config: config({}, { clients: { cursor: { maxTools: 7 } } }) },
      { message: '8 tools, and Cursor takes 7' },
    ],
    [
      { ...tools(...many(129)), clients: [client([clientFile([own()])], 'zed')] },
      { message: /^129 tools, and .* takes 128$/ },
    ],
  ],
  D057: [
    [
      { clients: [client([clientFile([own()])], 'claude-code', 'llm.example.com')] },
      { level: 'note', message: /llm\.example\.com/ },
    ],
    [
      {
        clients: [
          {
            ...client([clientFile([own()])], 'claude-code', 'llm.example.com'),
            restriction: 'mcp__mcp-proxy__db__read',
          },
        ],
      },
      { level: 'note', fix: /permission rules: move these to "tools"/ },
    ],
  ],
  D058: [
    [
      {
        clients: [
          {
            ...client([clientFile([own()])]),
            deadRules: [{ file: '/h/x.json', rule: 'Mcp(db:read)', names: undefined }],
          },
        ],
      },
      {
        level: 'warn',
        message: 'the rule Mcp(db:read) of Cursor matches no tool behind the proxy: /h/x.json',
        fix: /install cursor --undo/,
      },
    ],
    [
      {
        clients: [
          {
            ...client([clientFile([own()])], 'claude-code'),
            deadRules: [{ file: '/h/s.json', rule: 'mcp__db', names: ['a', 'b', 'c', 'd'] }],
          },
        ],
      },
      { fix: 'add a, b, c and 1 more to the same list' },
    ],
  ],
  D059: [
    [
      {
        clients: [
          { ...client([clientFile([own()])], 'claude-code'), restriction: 'mcp__mcp-proxy__db__read' },
        ],
        config: config({}, { expose: 'search' }),
      },
      { level: 'warn', message: /may get search tools, .* its permission rule mcp__mcp-proxy__db__read$/ },
    ],
  ],
  D060: [
    [tools(tool('git__short_abc234', { long: 'git__a.long.name' })), { message: /^git__a\.long\.name is/ }],
  ],
  D061: [
    [
      tools(tool('a', { schema: { type: 'object', anyOf: [{}] } })),
      { message: /that Claude would/, why: /anyOf/ },
    ],
    [
      tools(tool('a', { schema: { type: 'object', properties: { x: { type: ['null', 'array'] } } } })),
      { why: /array without items/ },
    ],
    [
      tools(
        tool('a', { schema: { type: 'object', properties: { x: { type: 'array', items: { anyOf: [] } } } } }),
      ),
      { message: /Gemini/ },
    ],
    [tools(tool('a', { schema: { type: 'object', required: ['x'] } })), { why: /requires a property/ }],
    [
      tools(tool('a', { schema: { type: 'object', properties: { ['x'.repeat(65)]: {} } } })),
      { why: /longer than 64/ },
    ],
    [
      probed({ repairs: [{ item: 'a', message: 'removed description: it was null' }] }),
      { fix: /has repaired it/ },
    ],
    [
      probed({ repairs: [{ item: 'a', message: 'left out: its name is not a string', isLeftOut: true }] }),
      { fix: /author/ },
    ],
  ],
  D062: [
    [
      probed({ tools: [tool('log')] }, { server: 'hg', tools: [tool('log')] }),
      { message: 'log is the name of a tool of git and hg' },
    ],
    [tools(tool('find_tools')), { message: /of git and this proxy$/ }],
  ],
  D063: [
    [tools(tool('a', { descriptionBytes: 3000 })), { message: /^the description of a has 3000 bytes/ }],
    [probed({ instructionBytes: 2049 }), { message: /^the instructions of git/, fix: /author/ }],
  ],
  D064: [[tools(tool('a', { bytes: 48_000 })), { message: 'the list of 1 tools takes about 12000 tokens' }]],
  D065: [
    [tools(tool('a', { hasHints: false }), tool('b')), { message: /^1 of 2 tools of git lack annotations/ }],
  ],
  D066: [
    [
      probed({ differences: [{ name: 'a', change: 'changed', fields: ['description', 'inputSchema'] }] }),
      {
        message: 'git/a differs from the lock file: description, inputSchema',
        fix: 'review it, then: mcp-proxy lock --accept git/a',
      },
    ],
    [
      probed({ differences: [{ name: '', change: 'added', fields: [] }] }),
      { message: 'git/instructions differs from the lock file: it was added' },
    ],
  ],
  D067: [
    [
      probed({ texts: [text('a', { member: 'description', text: 'Reads\u200b \u{e0041}files' })] }),
      { message: 'the description of git/a has hidden characters: U+200B, U+E0041' },
    ],
    [
      probed({ texts: [text('a\u202eb', { text: 'a\u202eb' })] }),
      { message: 'the name of git/a\\u202eb has hidden characters: U+202E' },
    ],
  ],
  D068: [
    [
      probed({ texts: [text('list'), text('1ist')] }),
      { message: 'the name of git/1ist looks like that of git/list' },
    ],
    [
      probed({ texts: [text('Item')] }, { server: 'hg', texts: [text('ltem')] }),
      { message: /^the name of hg\/ltem looks like that of git\/Item$/ },
    ],
    [probed({ texts: [text('p\u0430y')] }), { message: /mixes Latin with Cyrillic or Greek letters$/ }],
  ],
  D069: [
    [
      probed(
        { texts: [text('a', { member: 'description', text: 'Call send_mail first.' })] },
        { server: 'post', texts: [text('send_mail')] },
      ),
      { message: 'the description of git/a names send_mail of post' },
    ],
  ],
  D070: [
    [
      { port: { ...WELL.port, takenBy: 'pid 9 (nginx)' } },
      { level: 'error', message: 'port 8808 is taken by pid 9 (nginx)' },
    ],
    [{ port: { ...WELL.port, isGiven: false, takenBy: 'another program' } }, { level: 'note' }],
  ],
  D071: [
    [
      { config: config({ git: GIT }, { listen: { host: '0.0.0.0' } }) },
      { message: /^0\.0\.0\.0 can be reached/ },
    ],
    [
      { service: { file: '/u/mcp-proxy.service', wrong: [], isLingering: true, hasPort: true } },
      { level: 'note', message: /^only this machine reaches/, fix: /allowedHosts/ },
    ],
  ],
  D080: [
    [running({ limits: { sessions: { hits: 3 } } }), { message: 'the limit sessions was reached 3 times' }],
  ],
  D082: [
    [
      { processes: { doubles: [], left: [{ pid: 9, born: 'x', command: 'node' }] } },
      { message: /^process 9 was left behind by .*: node$/, autoFix: { is: 'end', pid: 9, born: 'x' } },
    ],
  ],
}

for (const [id, rows] of Object.entries(PROVOKED) as [ProblemId, (typeof PROVOKED)[ProblemId]][]) {
  t.test(`${id} is told where it is so, and not where all is well`, async t => {
    for (const [facts, expected] of rows) {
      const found = await findingsOf(id, facts)
      t.equal(found.length, 1, `${id} is told once`)
      t.match(found[0], { id, ...expected })
      t.notMatch(`${found[0]?.message} ${found[0]?.fix}`, /undefined|\{\w+\}/)
    }
    t.same(await findingsOf(id, {}), [])
  })
}

t.test('of a client with a view, or one that searches, only what it is shown is counted', async t => {
  const views = { few: { tools: { allow: ['*1*'] } }, all: {} }
  const shown = many(60).map((one, at) => ({ ...one, views: at < 9 ? ['few', 'all'] : ['all'] }))
  const viewed = (args: readonly string[]) => [clientFile([own({ entry: { command: 'node', args } })])]
  type Case = [count: number, settings: object, entry: { args: string[]; isDefault?: boolean }]
  const cases: Case[] = [
    [1, { views }, { args: [] }],
    [1, { views }, { args: ['--view', 'all'] }],
    [0, { views }, { args: ['--view', 'few'] }],
    [0, { views, clients: { 'cur*': { view: 'few' } } }, { args: [] }],
    [1, { views, clients: { 'cur*': { view: 'few' } } }, { args: ['--view', 'all'] }],
    [0, { views: { default: views.few } }, { args: [], isDefault: true }],
    [0, { expose: 'search' }, { args: [] }],
    [0, { views: { all: { expose: 'search' } } }, { args: ['--view', 'all'] }],
  ]
  for (const [count, settings, { args, isDefault = false }] of cases) {
    const list = isDefault ? shown.map((one, at) => ({ ...one, views: at < 9 ? ['default'] : [] })) : shown
    const facts = { ...tools(...list), ...cursor(...viewed(args)), config: config({}, settings) }
    t.equal((await findingsOf('D056', facts)).length, count, JSON.stringify([settings, args]))
  }
  const url = clientFile([own({ entry: { url: 'http://127.0.0.1:8808/mcp/few' } })])
  t.same(await findingsOf('D056', { ...tools(...shown), ...cursor(url), config: config({}, { views }) }), [])
})

t.test('there is a check for every number', async t => {
  t.same(Object.keys(PROVOKED), PROBLEM_IDS)
})

t.test('what cannot be known is not looked at, and offline nothing is started', async t => {
  const facts = sourcesFor({ daemon: undefined, config: undefined })
  let isProbed = false
  const probes = () => {
    isProbed = true
    return facts.probes()
  }
  const options = { only: [], server: undefined, isOffline: true }
  const ids = (await examine(gatherOnce({ ...facts, probes }), options)).map(({ id }) => id)
  t.notOk(isProbed)
  t.same(
    ['D001', 'D010', 'D011', 'D031', 'D040', 'D050'].filter(id => ids.some(each => each === id)),
    ['D001', 'D010', 'D050'],
  )
})

t.test('facts are gathered once, however many checks want them', async t => {
  let count = 0
  const facts = sourcesFor({})
  const clients = () => {
    count += 1
    return facts.clients()
  }
  await examine(gatherOnce({ ...facts, clients }), { only: ['D05'], server: undefined, isOffline: false })
  t.equal(count, 1)
})

t.test('the document names every check once where all is well, and each finding where not', async t => {
  const options = { only: [], server: undefined, isOffline: false }
  const well = documentOf(await examine(gatherOnce(sourcesFor({})), options), true)
  const { checks } = well as { checks: readonly { id: string; level: string }[] }
  t.match(well, {
    version: 1,
    ok: true,
    counts: { ok: PROBLEM_IDS.length, note: 0, warn: 0, error: 0 },
  })
  t.same(
    checks.map(({ id }) => id),
    PROBLEM_IDS,
  )
  t.ok(checks.every(({ level }) => level === 'ok'))
  const bad = documentOf(
    await examine(gatherOnce(sourcesFor({ ...probed({ state: 'failed' }), trial: { why: 'no' } })), options),
    false,
  )
  t.match(bad, { ok: false, counts: { error: 2 } })
  const { checks: all } = bad as { checks: readonly object[] }
  t.match(
    all.find(each => 'id' in each && each.id === 'D041'),
    { level: 'error', subject: '', message: 'the daemon does not start: no', fixable: false },
  )
})

t.test('a server that is named is looked at alone', async t => {
  const facts = probed({ noise: 'x' }, { server: 'hg', noise: 'y', tools: [] })
  const options = { only: ['d034'], server: 'hg', isOffline: false }
  t.match(worstFirst(await examine(gatherOnce(sourcesFor(facts)), options)), [{ subject: 'hg' }])
})

t.test('the worst comes first', async t => {
  const facts = {
    ...probed({ noise: 'x', ms: 9000 }),
    trial: { why: 'no' },
    ...installed({ damaged: ['x'] }),
  }
  const found = worstFirst(
    await examine(gatherOnce(sourcesFor(facts)), { only: [], server: undefined, isOffline: false }),
  )
  t.same(
    found.map(({ id }) => id),
    ['D002', 'D041', 'D032', 'D034'],
  )
})

t.test('how to get a program that is missing depends on the machine', async t => {
  const missing = (command: string, platform: NodeJS.Platform) =>
    lookAtPrograms([{ server: 's', command, args: [], path: undefined, searched: 'PATH' }], platform)[0]?.fix
  const rows: readonly (readonly [command: string, posix: RegExp, windows: RegExp])[] = [
    ['npx', /nodejs\.org/, /nodejs\.org/],
    ['npm', /nodejs\.org/, /nodejs\.org/],
    ['/opt/bin/node', /nodejs\.org/, /nodejs\.org/],
    ['uvx', /install\.sh/, /install\.ps1/],
    ['UV.EXE', /install\.sh/, /install\.ps1/],
    ['docker', /docs\.docker\.com/, /docs\.docker\.com/],
    ['bunx', /bun\.sh/, /bun\.sh/],
  ]
  for (const [command, posix, windows] of rows) {
    t.match(missing(command, 'linux'), posix, command)
    t.match(missing(command, 'win32'), windows, `${command} on Windows`)
  }
})

t.test('no check advises to remove a server that is another one', async t => {
  const at = (cwd: string) => ({ ...GIT, cwd })
  const twins = config({
    one: at('/one'),
    two: at('/two'),
    old: { command: 'npx', args: ['p@1'] },
    new: { command: 'npx', args: ['p@2'] },
  })
  t.same(lookAtTwins(twins), [])
  const entry = { ...GIT, env: { TOKEN: 'other' } }
  const { clients } = cursor(clientFile([own(), other('g', ['git-mcp', 'x'], { entry })]))
  t.same(lookAtRepeated(clients ?? [], config({ git: { ...GIT, env: { TOKEN: 'mine' } } })), [])
})

t.test('rules that can decide are not reported', async t => {
  const fine = (rules: readonly object[], more: object = {}): void => {
    const { loaded } = config({ git: GIT, other: GIT }, { rules, ...more })
    t.ok(loaded.config, JSON.stringify(loaded.problems))
    const facts = { ...config({ git: GIT, other: GIT }), loaded }
    t.same(lookAtCallRules(facts), [], JSON.stringify(rules))
  }
  fine([
    { tool: 'wipe', then: 'deny' },
    { tool: 'w*', then: 'allow' },
  ])
  fine([
    { tool: 'w*', when: { '/a': { above: 1 } }, then: 'allow' },
    { tool: 'wipe', then: 'deny' },
  ])
  fine([
    { tool: '*', then: 'allow' },
    { prompt: 'x', then: 'deny' },
  ])
  fine([{ server: 'git', then: 'allow' }, { then: 'deny' }])
  fine([{ who: { people: 'local' }, then: 'allow' }, { then: 'deny' }])
  fine([
    { annotations: { readOnlyHint: true }, then: 'allow' },
    { tool: 'x', then: 'deny' },
  ])
  fine([{ rate: '1/1m' }, { then: 'deny' }])
  fine([{ who: { people: 'anonymous 10.*' }, then: 'deny' }])
  fine([{ who: { clients: 'cursor*' }, then: 'deny' }])
  fine([{ who: { people: 'ann' }, then: 'deny' }], { auth: { people: { ann: {} } } })
  fine([{ who: { people: 'eve', scopes: ['x'] }, then: 'deny' }], {
    auth: { issuers: [{ issuer: 'https://i.example' }] },
  })
})

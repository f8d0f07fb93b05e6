import { sep } from 'node:path'
import t from 'tap'
import { type Dialect, normalise } from '../../../src/setup/import/normalise.js'
import { isWindows } from '../../support/processes.js'

const PLAIN: Dialect = { timeoutUnit: 'ms', hasShellVariables: false }
const SHELL: Dialect = { timeoutUnit: 's', hasShellVariables: true }

/** What stands in a client's file, what becomes of it, and what is said about it. */
const ROWS: readonly (readonly [
  what: string,
  source: object,
  entry: object,
  notes?: readonly RegExp[],
  dialect?: Dialect,
])[] = [
  [
    'a command line in one text',
    { command: 'npx -y "my server" \'--a b\'' },
    { command: 'npx', args: ['-y', 'my server', '--a b'] },
    [/was one text/],
  ],
  [
    'a command line with the path of a program',
    { command: `${process.execPath} server.js --x` },
    { command: process.execPath, args: ['server.js', '--x'] },
    [/was one text/],
  ],
  [
    'a command line with a program that is not there',
    { command: '/nowhere/node /srv/server.js' },
    { command: '/nowhere/node', args: ['/srv/server.js'] },
    [/was one text/],
  ],
  ['a path with spaces', { command: '/opt/my tools/server' }, { command: '/opt/my tools/server' }],
  [
    'a list as the command',
    { command: ['uvx', 'git', 7], cwd: '/w' },
    { command: 'uvx', args: ['git', '7'], cwd: '/w' },
  ],
  [
    'a command with a path of its own',
    { command: { path: 'x', args: ['y'], env: { A: 'b', N: 1, T: true, Z: null } } },
    { command: 'x', args: ['y'], env: { A: 'b', N: 1, T: true, Z: null } },
  ],
  [
    'names of variables in place of values',
    { command: 'x', env_vars: ['A', { name: 'B' }], env_keys: ['C'] },
    { command: 'x', env: { A: '${A}', B: '${B}', C: '${C}' } },
  ],
  [
    'variables of a shell',
    { command: 'x', env: { A: '$HOME/x', B: '%APPDATA%' } },
    { command: 'x', env: { A: '${HOME}/x', B: '${APPDATA}' } },
    [],
    SHELL,
  ],
  ['the separator of a path', { command: 'a${pathSeparator}b' }, { command: `a${sep}b` }],
  [
    'a command in place of a value',
    { command: 'x', env: { A: '${cmd:pass show a}' } },
    { command: 'x', env: { A: '$${cmd:pass show a}' }, disabled: true },
    [/would run a program/],
  ],
  ['an HTTP address', { httpUrl: 'https://a.example/mcp' }, { type: 'http', url: 'https://a.example/mcp' }],
  [
    'an address in a transport of its own',
    { transport: { type: 'streamable-http', url: 'https://a.example/' } },
    { type: 'http', url: 'https://a.example/' },
  ],
  ['a socket', { url: 'unix:/run/x.sock' }, { url: 'unix:/run/x.sock' }],
  ['HTTP over a socket', { type: 'http', url: 'unix:/run/x.sock' }, { url: 'unix:/run/x.sock#/' }],
  ['a path at a socket', { type: 'http', url: 'unix:/run/x.sock#/mcp' }, { url: 'unix:/run/x.sock#/mcp' }],
  [
    'tokens in variables',
    { url: 'https://a.example/', bearer_token_env_var: 'TOKEN', env_http_headers: { 'X-A': 'A' } },
    { url: 'https://a.example/', headers: { Authorization: 'Bearer ${TOKEN}', 'X-A': '${A}' } },
  ],
  ['a key', { url: 'https://a.example/', apiKey: 'k' }, { headers: { Authorization: 'Bearer k' } }],
  [
    'a key for basic authentication',
    { url: 'https://a.example/', apiKey: { key: 'k', authorization_type: 'basic' } },
    { headers: { Authorization: 'Basic k' } },
  ],
  [
    'a key in a header of its own',
    { url: 'https://a.example/', apiKey: { key: 'k', authorization_type: 'custom', custom_header: 'X-K' } },
    { headers: { 'X-K': 'k' } },
  ],
  [
    'a key in a header that is not named',
    { url: 'https://a.example/', apiKey: { key: 'k', authorization_type: 'custom' } },
    { headers: { 'X-Api-Key': 'k' } },
  ],
  ['seconds', { command: 'x', timeout: 90 }, { timeouts: { call: '90s' } }, [], SHELL],
  ['milliseconds', { command: 'x', timeout: 1500 }, { timeouts: { call: '1500ms' } }],
  [
    'a call that may take an hour',
    { command: 'x', tool_timeout_sec: 3600, startup_timeout_sec: 20 },
    { timeouts: { connect: '20s', call: '3600s', total: '3600s' } },
  ],
  ['limits of ours', { command: 'x', timeouts: { call: '5s' } }, { timeouts: { call: '5s' } }],
  ['rules of ours', { command: 'x', tools: { deny: ['a*'] } }, { tools: { deny: ['a*'] } }],
  [
    'approvals of each tool',
    { command: 'x', tools: { a: { approval: 'never' } } },
    { command: 'x' },
    [/approvals are not imported/],
  ],
  [
    'tools by name',
    { command: 'x', includeTools: ['a'], excludeTools: ['b'], disabledTools: ['c'] },
    { tools: { allow: ['a'], deny: ['b', 'c'] } },
  ],
  ['all tools', { command: 'x', tools: ['*'] }, { command: 'x' }],
  ['what nobody knows', { command: 'x', moon: 'full', _own: 1 }, { command: 'x' }, [/^left out: moon$/]],
  [
    'a key with control characters',
    { command: 'x', 'a\u001b[2K\rb': 1 },
    { command: 'x' },
    [/^left out: a b$/],
  ],
]

t.test('entries of every client become entries of this proxy', async t => {
  for (const [what, source, entry, notes = [], dialect = PLAIN] of ROWS) {
    const found = normalise(source as Parameters<typeof normalise>[0], dialect)
    t.match(found.entry, entry, what)
    t.match(found.notes, notes, `${what}: what is said`)
    t.equal(found.notes.length, notes.length, `${what}: and nothing else`)
  }
})

const UNCLEAR: Dialect = { timeoutUnit: 'unclear', hasShellVariables: false }

t.test('all spellings of an entry are read, and each loss is noted', t => {
  const cherry = { type: 'streamableHttp', isActive: true, command: '', args: [], env: {} }
  const rows: readonly (readonly [source: object, entry: object, notes?: readonly RegExp[]])[] = [
    [
      { ...cherry, baseUrl: 'http://localhost:3000/mcp/' },
      { type: 'http', url: 'http://localhost:3000/mcp/' },
    ],
    [
      { ...cherry, command: ' ', endpoint: 'http://h/' },
      { type: 'http', url: 'http://h/' },
    ],
    [{ command: [], url: 'http://h/' }, { url: 'http://h/' }],
    [{ command: 'x', args: [], url: '' }, { command: 'x' }],
    [
      { type: 'sse', command: 'x', url: 'http://h/' },
      { type: 'sse', url: 'http://h/' },
      [/left out: command/],
    ],
    [{ command: 'x', url: 'http://h/' }, { command: 'x' }, [/left out: url/]],
    [{ command: '', url: '' }, { command: '', disabled: true }, [/neither a command nor an address/]],
    ...[[], [''], {}, { path: '' }, null].map(
      command => [{ command, url: 'http://h/' }, { url: 'http://h/' }] as const,
    ),
    [
      { command: 'x', env: { '': '', ' ': '', A: 'b' } },
      { command: 'x', env: { A: 'b' } },
    ],
    [{ command: 'x', env: { '': 'b' } }, { command: 'x' }, [/left out: env/]],
    [{ url: 'http://h/', headers: { '': '' } }, { url: 'http://h/' }],
    [{ url: 'http://h/', headers: { 'X-A': ['b'] } }, { url: 'http://h/' }, [/left out: X-A/]],
    [
      { url: 'http://h/', env: { A: 'b' }, args: ['-y'], cwd: '', envFile: null },
      { url: 'http://h/' },
      [/left out: args/, /left out: env/],
    ],
    [{ command: 'x', headers: { A: 'b' } }, { command: 'x' }, [/left out: headers/]],
    [{ command: 'x', envFile: ['.env'] }, { command: 'x' }, [/its envFile is not a path/]],
    [{ type: 'url', url: 'http://h/' }, { url: 'http://h/' }],
    [
      { type: 'HTTP/SSE', url: 'http://h/' },
      { type: 'sse', url: 'http://h/' },
    ],
    [
      { command: 'npx', args: '-y @scope/server --name "a b" --port 1' },
      { command: 'npx', args: ['-y', '@scope/server', '--name', 'a b', '--port', '1'] },
    ],
    [
      { command: 'npx', args: '-y\npkg\n--name a b' },
      { command: 'npx', args: ['-y', 'pkg', '--name a b'] },
    ],
    [{ command: 'x', args: [1, true, null] }, { command: 'x', args: ['1', 'true'] }, [/left out: args/]],
    [
      { command: 'x', env: ['A=b=c', { name: 'B', value: 1 }, 'bad'] },
      { command: 'x', env: { A: 'b=c', B: 1 } },
      [/left out: env/],
    ],
    [
      { command: 'x', env: 'A=b\nC=d' },
      { command: 'x', env: { A: 'b', C: 'd' } },
    ],
    [
      { url: 'http://h/', headers: ['Authorization: Bearer k', { key: 'X-A', value: 'b' }] },
      { url: 'http://h/', headers: { Authorization: 'Bearer k', 'X-A': 'b' } },
    ],
    [{ type: 'grpc', url: 'http://h/' }, { url: 'http://h/' }, [/left out: type grpc/]],
    [{ type: 'REMOTE', url: 'http://h/' }, { url: 'http://h/' }],
    [
      { command: 'x', timeout: 1800 },
      { command: 'x', timeouts: { call: '1800s', total: '1800s' } },
      [/timeout 1800 is read as seconds/],
    ],
    [{ command: 'x', timeout: '90' }, { command: 'x', timeouts: { call: '90s' } }, [/seconds/]],
    [
      { command: 'x', timeout: 60_000 },
      { command: 'x', timeouts: { call: '60s' } },
    ],
    [{ command: 'x', timeout: {} }, { command: 'x' }, [/left out: timeout/]],
    ...(
      [
        ['30s', '30s'],
        ['500ms', undefined],
        ['1500 ms', '1500ms'],
        ['2m', '120s'],
        ['1m30s', '90s'],
        ['1.5 minutes', '90s'],
        ['1h', '3600s'],
        ['30 sec', '30s'],
        ['soon', undefined],
        ['30x', undefined],
      ] as const
    ).map(([timeout, call]) =>
      call === undefined
        ? ([{ command: 'x', timeout }, { command: 'x' }, [/left out: timeout/]] as const)
        : ([
            { command: 'x', timeout },
            { command: 'x', timeouts: { call, ...(call === '3600s' && { total: call }) } },
            [],
          ] as const),
    ),
    ...['isActive', 'is_active', 'active', 'enabled', 'enable', 'isEnabled'].map(
      key =>
        [
          { command: 'x', [key]: false },
          { command: 'x', disabled: true },
        ] as const,
    ),
    [{ command: 'x', options: { disabled: true } }, { command: 'x', disabled: true }, [/left out: options/]],
    ...['disable', 'isDisabled'].map(
      key =>
        [
          { command: 'x', [key]: true },
          { command: 'x', disabled: true },
        ] as const,
    ),
    [
      { command: 'x', disabled: 'true' },
      { command: 'x', disabled: true },
    ],
    [{ command: 'x', isActive: true, disabled: false }, { command: 'x' }],
  ]
  for (const [source, entry, notes = []] of rows) {
    const found = normalise(source as Parameters<typeof normalise>[0], UNCLEAR)
    const what = JSON.stringify(source)
    t.same(found.entry, entry, what)
    t.match(found.notes, notes, `${what}: notes`)
    t.equal(found.notes.length, notes.length, `${what}: no other notes`)
  }
  t.end()
})

t.test('a shell script of an unknown client keeps its variables', t => {
  const args = ['-c', 'T="${N:-1}"; x "${T}-${f%.md}" ${env:TOKEN}', '${M}']
  t.match(normalise({ command: 'bash', args }, UNCLEAR).entry, {
    args: ['-c', 'T="$${N:-1}"; x "$${T}-$${f%.md}" ${TOKEN}', '${M}'],
  })
  t.end()
})

t.test('what a client would ask its user for is named as a variable', async t => {
  const { entry, inputs } = normalise(
    { command: 'x', env: { A: '${input:api-key}', B: '${input:9}' } },
    PLAIN,
  )
  t.match(entry, { env: { A: '${API_KEY}' } })
  t.equal(inputs.length, 2)
  t.equal(inputs[0], 'API_KEY')
})

t.test('a command for the shell of Windows runs elsewhere, too', { skip: isWindows }, t => {
  const claim = (args: readonly string[], expected: object): void => {
    const { entry, notes } = normalise({ command: 'cmd', args }, PLAIN)
    t.same(entry, expected, args.join(' '))
    t.equal(notes.includes('"cmd /c" is for Windows, and was left out'), entry['command'] !== 'cmd')
  }
  claim(['/c', 'npx', '-y', 'pkg'], { command: 'npx', args: ['-y', 'pkg'] })
  claim(['/d', '/s', '/C', 'npx -y pkg'], { command: 'npx', args: ['-y', 'pkg'] })
  claim(['/c'], { command: 'cmd', args: ['/c'] })
  claim(['run', '/c'], { command: 'cmd', args: ['run', '/c'] })
  claim(['/c', 'npx.cmd', 'pkg'], { command: 'npx', args: ['pkg'] })
  t.same(normalise({ command: 'uvx.exe', args: ['p'] }, PLAIN).entry, { command: 'uvx', args: ['p'] })
  t.end()
})

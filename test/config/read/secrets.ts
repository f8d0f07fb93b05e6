import { resolve } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { redactServer, secretsOf } from '../../../src/config/read/secrets.js'

/** The secrets of a configuration with these servers. */
const secretsIn = (mcpServers: object, env: Record<string, string> = {}, more: object = {}) => {
  const { config, problems } = parseConfig(
    JSON.stringify({ mcpServers, ...more }),
    '/etc/proxy/mcp.json',
    env,
  )
  if (config === undefined || problems.length > 0) throw new Error(JSON.stringify(problems))
  return secretsOf(config)
}
const inEnv = (env: object) => secretsIn({ x: { command: 'x', env } })
const inArgs = (...args: string[]) => secretsIn({ x: { command: 'x', args } })

t.test('values of env and headers are secret unless they are plain words, paths or numbers', async t => {
  const open = {
    MODE: 'production',
    LEVEL: 'DEBUG',
    PORT: '8080',
    DIR: '/var/lib/x',
    DIRS: '/a:/b',
    LANG: 'en_US.UTF-8',
  }
  t.same(inEnv(open), [])
  const secret = { OPENAI_KEY: 'plain', DB_PASS: '12', GH_PAT: 'x1', ANY: 'a b', OTHER: 'c-d' }
  t.same(inEnv(secret), Object.values(secret))
  const headers = { Authorization: 'Bearer abc', 'X-Mode': 'fast', 'X-Any': 'v1' }
  t.same(secretsIn({ x: { url: 'http://h/', headers } }), ['Bearer abc', 'v1'])
})

t.test('a command line in one argument is read word by word', async t => {
  t.same(inArgs('-c', 'exec some-server --token a1 --mode fast'), ['a1'])
  t.same(inArgs('-c', 'API_KEY=a1 some-server http://u:p@h/ && echo done').includes('a1'), true)
  t.same(inArgs('/opt/my tools/server.js', 'a b'), [])
})

t.test('of addresses, passwords, queries and keys in the path are', async t => {
  t.same(inEnv({ PLAIN_URL: 'http://db:80/x' }), [])
  const found = inEnv({ DATABASE_URL: 'postgres://app:p%40ss@db:5432/x?ssl=on&key=v%201' })
  for (const part of [
    'app:p%40ss',
    'p%40ss',
    'p@ss',
    Buffer.from('app:p@ss').toString('base64'),
    'on',
    'v%201',
    'v 1',
  ]) {
    t.ok(found.includes(part), part)
  }
  t.notOk(found.includes('db:5432'))
  t.match(secretsIn({ x: { url: 'https://h/s/0123456789abcdef0123/mcp' } }), ['0123456789abcdef0123'])
  t.ok(secretsIn({ x: { url: 'https://token1@h/' } }).includes('token1'))
  const headers = { Authorization: `Basic ${Buffer.from('ann:pw1').toString('base64')}` }
  t.same(secretsIn({ x: { url: 'http://h/', headers } }), [headers.Authorization, 'ann:pw1', 'pw1'])
})

t.test('of arguments, what follows a name of a secret is', async t => {
  const args = [
    '-y',
    'x',
    '--token',
    't1',
    '--api-key=k1',
    'GH_PAT=p1',
    '-e',
    'ID=i 1',
    '--header',
    'X-Any: h1',
    '--port=80',
    'MODE=fast',
  ]
  t.same(inArgs(...args), ['t1', 'k1', 'p1', 'i 1', 'h1'])
  t.same(inArgs('https://u:pw@h/').filter(part => part === 'pw').length > 0, true)
})

t.test('values of variables are secrets wherever they occur, except well-known values', async t => {
  const env = { S: 'word', HOME: '/home/ann', PORT: '8808', HOST: 'localhost', NAME: 'db', N: '123456' }
  const server = {
    command: '${S}x',
    args: ['${HOME}/x', '${PORT}', '${HOST}', '${NAME}', '${N}', '${D:-fallback}'],
  }
  t.same(secretsIn({ db: server }, env), ['word', '123456', 'fallback'])
  const key = Buffer.alloc(32, 1).toString('base64')
  t.same(secretsIn({ x: { command: 'x' } }, {}, { requestState: { keys: [key] } }), [key])
})

const SECRET = 'hunter2hunter2'

t.test('arguments are shown without what could be a secret', async t => {
  const table: [string[], string[]][] = [
    [
      ['-y', 'server', '.'],
      ['-y', 'server', '.'],
    ],
    [
      ['--token', 'v', 'x'],
      ['--token', '***', 'x'],
    ],
    [['--api-key=v=w'], ['--api-key=***']],
    [['GITHUB_TOKEN=v'], ['GITHUB_TOKEN=***']],
    [
      ['--auth', '--verbose'],
      ['--auth', '--verbose'],
    ],
    [
      ['--header', 'Authorization: Bearer v'],
      ['--header', 'Authorization: ***'],
    ],
    [['https://u:p@h/x?y'], ['https://***@h/x?***']],
    [['--port=80'], ['--port=80']],
    [
      ['run', '-e', 'GH_PAT=v', '-e', 'DATABASE_URL=postgres://u:p@h/x', '-e', 'MODE=fast', '-e', 'ID=v1'],
      ['run', '-e', 'GH_PAT=***', '-e', 'DATABASE_URL=postgres://***@h/x', '-e', 'MODE=fast', '-e', 'ID=***'],
    ],
  ]
  for (const [args, shown] of table) {
    const text = JSON.stringify({ mcpServers: { a: { command: 'x', args } } })
    const [server] = parseConfig(text, 'f', {}).config?.servers ?? []
    if (server === undefined) return t.fail('unusable')
    t.match(redactServer(server).transport, { args: shown }, args.join(' '))
  }
})

t.test('servers are shown as they are written, without any value of a variable', async t => {
  const text = `{ "mcpServers": {
    "a": {
      "command": "npx --token ${SECRET}", "args": ["\${S}", "--k=\${S:-${SECRET}}"], "cwd": "\${S}",
      "env": { "E": "${SECRET}", "F": "\${S}", "G": null }
    },
    "b": { "command": "x", "args": ["plain"] },
    "d": { "url": "unix:\${S}/x.sock" },
    "c": { "url": "http://\${S}:\${S}@h/\${S}/x?\${S}", "headers": { "X": "${SECRET}" } }
  } }`
  const { config, problems } = parseConfig(text, '/etc/proxy/mcp.json', { S: `/${SECRET}` })
  t.strictSame(problems, [])
  if (config === undefined) return t.fail('unusable')
  t.match(JSON.stringify(config), SECRET)
  const shown = config.servers.map(redactServer)
  t.notMatch(JSON.stringify(shown), SECRET)
  t.same(
    shown.map(s => s.transport),
    [
      {
        kind: 'stdio',
        command: 'npx --token ***',
        args: ['${S}', '--k=${S}'],
        env: { E: '***', F: '***' },
        unsetEnv: ['G'],
        cwd: '${S}',
      },
      { kind: 'stdio', command: 'x', args: ['plain'], env: {}, unsetEnv: [], cwd: resolve('/etc/proxy') },
      { kind: 'socket', path: 'unix:${S}/x.sock' },
      {
        ...{ kind: 'auto', url: 'http://***@h/${S}/x?***', hasUrlLogin: true },
        headers: { X: '***', Authorization: '***' },
      },
    ],
  )
})

t.test('a server that came out of no file is shown by its values', async t => {
  const [server] =
    parseConfig('{"a":{"command":"x","args":["--key-file","f"]}}', 'f', {}).config?.servers ?? []
  if (server === undefined) return t.fail('unusable')
  const { written: _, ...made } = server
  t.strictSame(redactServer(made), made)
})

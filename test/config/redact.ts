import t from 'tap'
import { parseConfig } from '../../src/config/parse.js'
import { redactArgs, redactConfig, redactServer, redactUrl, redactWords } from '../../src/config/redact.js'

const SECRET = 'hunter2hunter2'

t.test('an address is shown without what could be a secret', async t => {
  const table: Record<string, string> = {
    'https://h/mcp': 'https://h/mcp',
    'https://h:8080': 'https://h:8080',
    'https://ann:pw@h/mcp': 'https://***@h/mcp',
    'https://a@b:p@h/mcp': 'https://***@h/mcp',
    'https://h/mcp?key=v&x#frag': 'https://h/mcp?***#***',
    'wss://h?k=v': 'wss://h?***',
    'https://h/s/0123456789abcdef0123/mcp': 'https://h/s/***/mcp',
    'https://h/a-long-but-wordy-segment/mcp': 'https://h/a-long-but-wordy-segment/mcp',
    'https://${HOST}:${PORT}/mcp': 'https://${HOST}:${PORT}/mcp',
  }
  for (const [url, shown] of Object.entries(table)) t.equal(redactUrl(url), shown, url)
})

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
  ]
  for (const [args, shown] of table) t.strictSame(redactArgs(args), shown, args.join(' '))
})

t.test('a whole configuration is shown as it is written, without any value of a variable', async t => {
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
  const shown = redactConfig(config)
  t.notMatch(JSON.stringify(shown), SECRET)
  t.same(
    shown.servers.map(s => s.transport),
    [
      {
        kind: 'stdio',
        command: 'npx --token ***',
        args: ['${S}', '--k=${S}'],
        env: { E: '***', F: '***' },
        unsetEnv: ['G'],
        cwd: '${S}',
      },
      { kind: 'stdio', command: 'x', args: ['plain'], env: {}, unsetEnv: [], cwd: '/etc/proxy' },
      { kind: 'socket', path: 'unix:${S}/x.sock' },
      { kind: 'auto', url: 'http://***@h/${S}/x?***', headers: { X: '***' } },
    ],
  )
  t.same({ ...shown, servers: [] }, { ...config, servers: [] }, 'the rest is shown as it is')
})

t.test('a server that came out of no file is shown by its values', async t => {
  const [server] =
    parseConfig('{"a":{"command":"x","args":["--key-file","f"]}}', 'f', {}).config?.servers ?? []
  if (server === undefined) return t.fail('unusable')
  const { written: _, ...made } = server
  t.strictSame(redactServer(made), made)
})

t.test('words about a server are shown without its secrets', async t => {
  const read = (entry: object) => {
    const text = JSON.stringify({ mcpServers: { x: entry } })
    const server = parseConfig(text, '/etc/mcp.json', {}).config?.servers[0]
    if (server === undefined) throw new Error('bad test')
    return server
  }
  const headers = { Authorization: `Bearer ${SECRET}`, 'X-Short': 'ab' }
  const rows: readonly (readonly [object, string, string])[] = [
    [{ url: 'http://h/', headers }, `no: ${SECRET} is bad`, 'no: *** is bad'],
    [{ url: 'http://h/', headers }, `Bearer ${SECRET}`, '***'],
    [{ url: 'http://h/', headers }, 'ab ab', 'ab ab'],
    [{ command: 'x', env: { API_KEY: SECRET, LEVEL: 'verbose' } }, `${SECRET} verbose`, '*** verbose'],
    [{ url: 'unix:///x' }, SECRET, SECRET],
  ]
  for (const [entry, words, shown] of rows) t.equal(redactWords(words, read(entry)), shown)
})

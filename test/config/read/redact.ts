import { resolve } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { redactArgs, redactConfig, redactServer } from '../../../src/config/read/redact.js'

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
      { kind: 'stdio', command: 'x', args: ['plain'], env: {}, unsetEnv: [], cwd: resolve('/etc/proxy') },
      { kind: 'socket', path: 'unix:${S}/x.sock' },
      { kind: 'auto', url: 'http://***@h/${S}/x?***', headers: { X: '***' } },
    ],
  )
  t.same({ ...shown, servers: [] }, { ...config, servers: [], variables: [] }, 'the rest is shown as it is')
})

t.test('a server that came out of no file is shown by its values', async t => {
  const [server] =
    parseConfig('{"a":{"command":"x","args":["--key-file","f"]}}', 'f', {}).config?.servers ?? []
  if (server === undefined) return t.fail('unusable')
  const { written: _, ...made } = server
  t.strictSame(redactServer(made), made)
})

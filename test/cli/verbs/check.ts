import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configFile, runHere } from '../../support/proxy/start.js'

const SECRETS = /s3cret|hunter2/

t.test('check shows what a good file amounts to, without its secrets', async t => {
  const file = configFile(t, {
    'my server': { command: 'node', args: ['a.js', '--token', 's3cret'], env: { KEY: 's3cret' } },
    plain: { command: '/opt/s3cret/run', args: ['s3cret'] },
    web: { url: 'https://user:hunter2@example.com/mcp?key=s3cret', prefix: false },
    near: { url: 'unix:///run/mcp.sock' },
    off: { command: 'x', disabled: true },
  })
  const { code, out, err } = await runHere(t, 'check', '--config', file)
  t.equal(code, 0)
  t.match(out, /^NAME +TRANSPORT +PREFIX +SHARING +COMMAND OR URL\n/m)
  t.match(out, /^my server +stdio +my-server-[a-z2-7]{6}__ +principal +node a\.js --token \*\*\*$/m)
  t.match(out, /^plain +stdio +plain__ +principal +\/opt\/\*\*\*\/run \*\*\*$/m, 'wherever they stand')
  t.match(out, /^web +auto +\(none\) +session +https:\/\/\*\*\*@example\.com\/mcp\?\*\*\*$/m)
  t.match(out, /^near +socket +near__ +session +unix:\/\/\/run\/mcp\.sock$/m)
  t.match(out, /^off +\(disabled\)$/m)
  t.notMatch(out + err, SECRETS)
  t.equal(err, '4 servers, 0 errors, 0 warnings\n')
})

t.test('check tells where an error is and how to mend it, and ends with 1', async t => {
  const file = join(t.testdir(), 'mcp.json')
  writeFileSync(
    file,
    '{\n  "mcpServers": {\n    "bad": { "url": "nonsense" },\n    "good": { "command": "node" }\n  }\n}\n',
  )
  const { code, out, err } = await runHere(t, 'check', '--config', file)
  t.equal(code, 1)
  t.match(
    out,
    `${file}:3:21: error: mcpServers.bad.url: this is not the address of a server. Write a whole address`,
  )
  t.match(out, /^good +stdio/m)
  t.match(out, /^bad +\(invalid\)$/m)
  t.match(err, '1 server, 1 error,')
})

t.test('check of a file that is not there ends with 1', async t => {
  const { code, out } = await runHere(t, 'check', '--config', '/nowhere/mcp.json')
  t.equal(code, 1)
  t.match(out, '/nowhere/mcp.json: error: there is no such file')
})

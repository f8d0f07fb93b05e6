import { mkdirSync } from 'node:fs'
import t from 'tap'
import { bridgedName, commandTransport, urlTransport } from '../../src/cli/bridged.js'
import { INITIALIZE, startBin, TINY } from '../support/cli.js'

const AWKWARD = ['--config', 'x', '--help', '--', '--port=1', '', 'a b', "it's", '$HOME', '"q"', '-']

t.test('a command gets its words, the environment and the folder untouched, there and back', async t => {
  const http = startBin(t, [
    'bridge',
    '--port',
    '0',
    '--env',
    'TINY_MARK=a=b',
    '--',
    process.execPath,
    TINY,
    ...AWKWARD,
  ])
  const url = (await http.line(/^mcp-proxy listening on /)).split(' ').at(-1) ?? ''
  const stdio = startBin(t, ['bridge', '--to', 'stdio', url])
  stdio.send(INITIALIZE)
  await stdio.line(/"id":1/)
  stdio.send({ method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  const { result } = JSON.parse(await stdio.line(/"id":2/))
  t.equal(result.tools[0].name, 'echo', 'nothing is renamed')
  stdio.send(
    { id: 3, method: 'tools/call', params: { name: 'facts', arguments: {} } },
    { id: 4, method: 'resources/list' },
  )
  const facts = JSON.parse(JSON.parse(await stdio.line(/"id":3/)).result.content[0].text)
  t.match(facts, { argv: AWKWARD, cwd: process.cwd(), mark: 'a=b' })
  t.match(await stdio.line(/"id":4/), '"uri":"memo://one","name":"One","size":12345678901234567890')
  stdio.child.stdin?.end()
  t.equal(await stdio.exited, 0)
  http.child.kill('SIGINT')
  t.equal(await http.exited, 0)
  t.match(http.err, 'claude mcp add --transport http tiny-server ')
  t.match(http.out, /^mcp-proxy listening on \S+\n$/)
})

t.test('a bridge is named after what it bridges', async t => {
  const NAMES: readonly (readonly [words: string[], name: string])[] = [
    [['npx', '-y', '@modelcontextprotocol/server-memory'], 'server-memory'],
    [['node', '/opt/tools/my server.js', '--x'], 'my-server'],
    [['uvx', 'mcp-server-git'], 'mcp-server-git'],
    [['/usr/local/bin/weather', 'tool'], 'weather'],
    [['node', '--flag'], 'server'],
  ]
  for (const [words, name] of NAMES) t.equal(bridgedName(commandTransport(words)), name, words.join(' '))
  t.equal(bridgedName(urlTransport('https://api.example.com:8443/mcp')), 'api-example-com')
})

t.test('a bridged command runs as a shell would run it', async t => {
  mkdirSync(t.testdir(), { recursive: true })
  const transport = commandTransport(['cmd', 'a', 'b'], ['NEW=1=2', 'EMPTY='])
  t.match(transport, { kind: 'stdio', command: 'cmd', args: ['a', 'b'], cwd: process.cwd() })
  t.match(transport.env, { NEW: '1=2', EMPTY: '', PATH: process.env.PATH })
})

t.test('headers of a URL are taken as curl takes them', async t => {
  const headers = ['Authorization: Bearer a:b', 'X-Empty:', 'x-tight:1']
  t.same(urlTransport('http://localhost/mcp', headers).headers, {
    Authorization: 'Bearer a:b',
    'X-Empty': '',
    'x-tight': '1',
  })
  for (const bad of ['no colon', ': no name', 'a b: c', 'X: a\nY: b']) {
    t.throws(() => urlTransport('http://localhost/mcp', [bad]), { code: 2 }, bad)
  }
})

import { mkdirSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { bridgedName, commandTransport, type UrlFlags, urlTransport } from '../../../src/cli/serve/bridged.js'
import { socketUrlOf } from '../../../src/kernel/machine/socket-path.js'
import { RawClient } from '../../support/client/raw-client.js'
import { codeOnSignal, skipWithout, socketFile, tracedImports, until } from '../../support/processes.js'
import { INITIALIZE, type Running, setEnv, startBin, TINY } from '../../support/proxy/start.js'

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
  t.equal(await http.exited, codeOnSignal('SIGINT'))
  t.match(http.err, 'claude mcp add --transport http tiny-server ')
  t.match(http.out, /^mcp-proxy listening on \S+\/mcp\n/)
})

t.test(
  'a bridge to a program loads no packages: they are for other commands, or other servers and clients',
  { skip: skipWithout.signals },
  async t => {
    const traced = tracedImports(t)
    const proxy = startBin(t, ['bridge', '--port', '0', '--', process.execPath, TINY], traced)
    const client = new RawClient(await urlOf(proxy, /\/mcp$/))
    await client.initialize()
    t.match((await client.request('tools/list')).last.message.result.tools[0], { name: 'echo' })
    proxy.child.kill('SIGTERM')
    t.equal(await proxy.exited, 0)
    t.same(traced.read(), [], 'what it needs of packages is joined in')
  },
)

const urlOf = async (bridge: Running, pattern: RegExp): Promise<string> =>
  (await bridge.line(pattern)).split(' ')[3] ?? ''

t.test('any transport reaches any other, the one of 2024 as well', async t => {
  const socket = socketFile(t)
  const command = [process.execPath, TINY]
  const server = startBin(t, ['bridge', '--to', 'ws', '--port', '0', '--socket', socket, '--', ...command])
  const ws = await urlOf(server, /./)
  t.match(ws, /^ws:\/\/127\.0\.0\.1:\d+\/ws$/, 'what was asked for is told first')
  const sse = await urlOf(server, /\/sse \(HTTP\+SSE\)$/)
  const local = await urlOf(server, /(?:unix|pipe):/)
  t.equal(local, socketUrlOf(socket))
  const between = startBin(t, ['bridge', '--from', 'sse', sse, '--to', 'http', '--port', '0'])
  const http = await urlOf(between, /./)
  t.match(http, /\/mcp$/)
  const spoken = /^http:\S+\/mcp {3}speaks 20\d\d-\d\d-\d\d, offered as 2025-11-25 and 2026-07-28$/m
  await until(() => spoken.test(between.err), 'what the server speaks, without a client')
  const old = startBin(t, ['bridge', '--to', 'sse', '--port', '0', '--', ...command])
  const spokenThere = /^http:\S+\/sse {3}speaks 20\d\d-\d\d-\d\d, offered as 2025-11-25 and older$/m
  await until(() => spokenThere.test(old.err), 'what clients of HTTP+SSE can have of it')
  for (const url of [ws, local, sse, http]) {
    const client = startBin(t, ['bridge', url, '--to', 'stdio'])
    client.send(INITIALIZE)
    await client.line(/"id":1/)
    client.send(
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: url } } },
    )
    const { result } = JSON.parse(await client.line(/"id":2/))
    t.same(JSON.parse(result.content[0].text), { text: url })
    client.child.stdin?.end()
    t.equal(await client.exited, 0)
  }
  for (const bridge of [between, server, old]) {
    bridge.child.kill('SIGTERM')
    t.equal(await bridge.exited, codeOnSignal('SIGTERM'))
  }
})

/** What a server says of itself, as nobody else would say it. */
const SAID = {
  serverInfo: {
    name: 'rich',
    version: '9.9',
    title: 'Rich',
    icons: [{ src: 'https://x/i.png' }],
    'x.y/n': 7,
  },
  instructions: '  Mind the spaces.  ',
  capabilities: {
    tools: { listChanged: false, 'x.y/n': 1 },
    logging: {},
    experimental: { some: { thing: 1 } },
    extensions: { 'io.modelcontextprotocol/ui': { a: 1 }, 'io.modelcontextprotocol/tasks': {} },
    tasks: { requests: { tools: { call: {} } } },
    'x.y/z': {},
  },
}
const PASSED = { 'io.modelcontextprotocol/ui': { a: 1 } }
/** Between older revisions, the extension for tasks means nothing. */
const AS_IT_IS = { ...SAID.capabilities, extensions: PASSED }

/** A server that says so, some time after it was asked. */
const rich = (delayMs: number): string[] => [
  process.execPath,
  '-e',
  `const lines = require('node:readline').createInterface({ input: process.stdin })
   const results = {
     initialize: { protocolVersion: '2025-11-25', ...${JSON.stringify(SAID)} },
     'tools/list': { tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
   }
   lines.on('line', line => {
     const { id, method } = JSON.parse(line)
     const result = results[method]
     const answer = { jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'no' } }) }
     const say = () => process.stdout.write(JSON.stringify(answer) + '\\n')
     if (id !== undefined) setTimeout(say, method === 'initialize' ? ${delayMs} : 0)
   })`,
]

t.test('initialize and lists wait while the only server starts, with a word after two seconds', async t => {
  const bridge = startBin(t, ['bridge', '--to', 'stdio', '--', ...rich(3000)])
  bridge.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  const { result } = JSON.parse(await bridge.line(/"id":1/))
  t.match(bridge.err, /"level":40,.*the server is still starting, and clients wait for it/)
  t.same(result.serverInfo, SAID.serverInfo)
  t.match(JSON.parse(await bridge.line(/"id":2/)), { result: { tools: [{ name: 'x' }] } })
})

t.test('--startup-wait limits the wait for the server', async t => {
  const argv = ['bridge', '--startup-wait', '0s', '--to', 'stdio', '--', ...rich(20_000)]
  const bridge = startBin(t, argv)
  bridge.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  t.match(JSON.parse(await bridge.line(/"id":1/)), { result: { serverInfo: { name: 'mcp-proxy' } } })
  t.match(JSON.parse(await bridge.line(/"id":2/)), { result: { tools: [] } })
  const wrong = startBin(t, ['bridge', '--startup-wait', 'soon', '--', 'x'])
  t.equal(await wrong.exited, 2)
  t.match(wrong.err, '--startup-wait needs a duration such as 500ms, 5s or 1m')
})

t.test(
  'a bridge reports the identity of its server, as far as the client’s revision supports it',
  async t => {
    const bridge = startBin(t, ['bridge', '--port', '0', '--', ...rich(0)])
    const url = await urlOf(bridge, /\/mcp$/)
    const { serverInfo, instructions } = SAID
    const initialized = async (version: string) =>
      (await new RawClient(url).initialize({}, version)).last.message.result
    t.same(await initialized('2025-11-25'), {
      protocolVersion: '2025-11-25',
      capabilities: AS_IT_IS,
      serverInfo,
      instructions,
    })
    const { icons: __, title: ___, ...oldest } = serverInfo
    const { tools, logging, experimental } = SAID.capabilities
    t.same(await initialized('2024-11-05'), {
      protocolVersion: '2024-11-05',
      capabilities: { tools, logging, experimental, extensions: PASSED },
      serverInfo: oldest,
      instructions,
    })
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'new', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const ask = async (method: string) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: method, method, params: { _meta } })
      const response = await fetch(url, { method: 'POST', headers, body })
      return (await response.json()) as {
        result: { _meta: object; capabilities?: object; instructions?: string }
      }
    }
    const stamp = { 'io.modelcontextprotocol/serverInfo': serverInfo }
    const { result: found } = await ask('server/discover')
    t.same(
      [found._meta, found.capabilities, found.instructions],
      [stamp, { tools, logging, experimental, extensions: PASSED }, instructions],
    )
    t.same((await ask('tools/list')).result._meta, stamp)
  },
)

t.test('what a server speaks can be said, and is not found out then', async t => {
  for (const [era, answer] of [
    ['legacy', /"name":"echo"/],
    ['modern', /does not speak 2026-07-28/],
  ] as const) {
    const bridge = startBin(t, ['bridge', '--to', 'stdio', '--era', era, '--', process.execPath, TINY])
    bridge.send(INITIALIZE)
    await bridge.line(/"id":1/)
    bridge.send({ method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
    t.match(await bridge.line(/"id":2/), answer)
    bridge.child.stdin?.end()
    t.equal(await bridge.exited, 0)
  }
})

t.test('a bridge to a socket opens no port', async t => {
  const socket = socketFile(t)
  const bridge = startBin(t, ['bridge', '--to', 'unix', '--socket', socket, '--', process.execPath, TINY])
  t.equal(await bridge.line(/./), `mcp-proxy listening on ${socketUrlOf(socket)}`)
  bridge.child.kill('SIGTERM')
  t.equal(await bridge.exited, codeOnSignal('SIGTERM'))
  t.equal(bridge.out.split('\n').length, 2, 'and tells nothing else')
  t.match(bridge.err, `"${socketUrlOf(socket)}"`)
})

t.test('a bridge is named after what it bridges, and after no secret', async t => {
  const NAMES: readonly (readonly [words: string[], name: string])[] = [
    [['npx', '-y', '@modelcontextprotocol/server-memory'], 'server-memory'],
    [['node', '/opt/tools/my server.js', '--x'], 'my-server'],
    [['uvx', 'mcp-server-git'], 'mcp-server-git'],
    [['/usr/local/bin/weather', 'tool'], 'weather'],
    [['node', '--flag'], 'server'],
    [['npx', '-y', 'some-server@latest'], 'some-server'],
    [['npx', '@scope/some-server@1.0.0', 'stdio'], 'some-server'],
    [['node', '/x/node_modules/@modelcontextprotocol/server-everything/dist/index.js'], 'server-everything'],
    [['node', 'C:\\\\tools\\\\weather\\\\build\\\\index.mjs'], 'weather'],
    [['cmd', '/c', 'npx', '-y', 'some-server'], 'some-server'],
    [['uv', 'run', '/opt/notes/src/main.py'], 'notes'],
    [['node', '/index.js'], 'server'],
    [['uvx', 'main'], 'main'],
    [['docker', 'run', '-i', '-e', 'TOKEN=secret', 'ghcr.io/github/github-mcp-server'], 'github-mcp-server'],
    [['npx', '--api-key', 'a1b2c3d4e5', 'some-server'], 'some-server'],
    [['sh', '-c', 'exec some-server --token a1b2c3d4e5'], 'server'],
    [['node', '-e', 'connect("a1b2c3d4e5")'], 'server'],
  ]
  for (const [words, name] of NAMES) t.equal(bridgedName(commandTransport(words)), name, words.join(' '))
  const onDrive = { ...commandTransport(['node', 'C:\\index.js']), cwd: '/' }
  t.equal(bridgedName(onDrive), 'server', 'a drive is no name')
  t.equal(bridgedName(urlTransport('https://api.example.com:8443/mcp')), 'api-example-com')
  t.equal(bridgedName(urlTransport('unix:///run/user/1000/notes.sock')), 'notes')
  t.equal(bridgedName(urlTransport('pipe:///notes')), 'notes')
  t.equal(bridgedName(urlTransport('unix:///run/notes.sock#/mcp')), 'notes')
  const here = basename(process.cwd())
  for (const word of ['index.js', './dist/index.js', '.']) {
    t.equal(bridgedName(commandTransport(['node', word])), here, word)
  }
})

t.test('the transport of a URL follows from its scheme, or from --from', async t => {
  const rows: readonly (readonly [url: string, from: UrlFlags['from'], kind: string | undefined])[] = [
    ['http://h/x', undefined, 'auto'],
    ['https://h/x', 'auto', 'auto'],
    ['https://h/x', 'http', 'http'],
    ['http://h/sse', 'sse', 'sse'],
    ['ws://h', undefined, 'ws'],
    ['wss://h', 'auto', 'ws'],
    ['wss://h', 'ws', 'ws'],
    ['unix:/run/x', undefined, 'socket'],
    ['unix:///run/x', 'auto', 'socket'],
    ['ws://h', 'http', undefined],
    ['http://h', 'ws', undefined],
    ['unix:/run/x', 'sse', undefined],
    ['unix:/run/x#/mcp', undefined, 'auto'],
    ['unix:///run/x#/sse', 'sse', 'sse'],
    ['unix:///run/x#/mcp', 'ws', undefined],
    ['unix:run/x', undefined, undefined],
    ['ftp://h', undefined, undefined],
  ]
  for (const [url, from, kind] of rows) {
    if (kind === undefined) t.throws(() => urlTransport(url, { from }), { code: 2 }, url)
    else t.equal(urlTransport(url, { from }).kind, kind, url)
  }
})

t.test('a bridged command runs as a shell would run it', async t => {
  mkdirSync(t.testdir(), { recursive: true })
  const transport = commandTransport(['cmd', 'a', 'b'], ['NEW=1=2', 'EMPTY='])
  t.match(transport, { kind: 'stdio', command: 'cmd', args: ['a', 'b'], cwd: process.cwd() })
  t.match(transport.env, { NEW: '1=2', EMPTY: '', PATH: process.env.PATH })
})

t.test('headers of a URL are taken as curl takes them', async t => {
  const headers = ['Authorization: Bearer a:b', 'X-Empty:', 'x-tight:1']
  for (const url of ['http://localhost/mcp', 'ws://localhost/ws']) {
    t.match(urlTransport(url, { header: headers }), {
      headers: { Authorization: 'Bearer a:b', 'X-Empty': '', 'x-tight': '1' },
    })
  }
  for (const bad of ['no colon', ': no name', 'a b: c', 'X: a\nY: b']) {
    t.throws(() => urlTransport('http://localhost/mcp', { header: [bad] }), { code: 2 }, bad)
  }
})

t.test('headers of a URL take variables of the environment, and unknown ones are an error', async t => {
  setEnv(t, { AUTH_HEADER: 'Bearer KEY', EVIL: 'x\r\nX-Evil: 1' })
  const headers = [
    'Authorization:${AUTH_HEADER}',
    'X-Team: ${NO_SUCH_VARIABLE:-red}',
    'X-Raw: $${AUTH_HEADER}',
  ]
  t.match(urlTransport('http://localhost/mcp', { header: headers }), {
    headers: { Authorization: 'Bearer KEY', 'X-Team': 'red', 'X-Raw': '${AUTH_HEADER}' },
  })
  const rows = [
    ['X: ${NO_SUCH_VARIABLE}', /the variable NO_SUCH_VARIABLE is not set/],
    ['X: ${input:key}', /invalid variable/],
    ['X: ${file:/nowhere}', /the file .*nowhere/],
    ['X: ${EVIL}', /without line breaks/],
  ] as const
  for (const [header, message] of rows)
    t.throws(() => urlTransport('http://localhost/mcp', { header: [header] }), { code: 2, message }, header)
})

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { KeptLines } from '../../src/app/control/kept-lines.js'
import { createLogger } from '../../src/app/logger.js'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { Collector } from '../support/server/collector.js'
import { startPlainServer } from '../support/server/plain-http-server.js'

const WORD = 'pLanted0000Canary'
const SHAPES = [
  '',
  'ghp_',
  'sk-',
  'xoxb-',
  'AKIA',
  'eyJ',
  'glpat-',
  'AIza',
  'hvs.',
  'npm_',
  'Basic ',
  'Bearer ',
]
const canary = (n: number): string => `${SHAPES[n % SHAPES.length]}${WORD}${String(n).padStart(4, '0')}`

/** A server that says all that it knows wherever it can. */
const TELLTALE = `
  const known = [...process.argv.slice(1), ...Object.entries(process.env).filter(([k]) => k.startsWith('V')).map(p => p.join('='))]
  const words = known.join(' ')
  for (const each of known) process.stderr.write('I was told ' + each + '\\n')
  const say = value => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...value }) + '\\n')
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method, params } = JSON.parse(line)
    if (method === 'initialize') return say({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {}, resources: {} }, serverInfo: { name: 't', version: '1' } } })
    if (method === 'tools/list') return say({ id, result: { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] } })
    if (method === 'tools/call' && params.arguments.how === 'exit') { process.stderr.write(words + '\\n'); process.exit(3) }
    if (method === 'tools/call' && params.arguments.how === 'result') return say({ id, result: { content: [{ type: 'text', text: words }], isError: true } })
    if (id !== undefined) say({ id, error: { code: -32050, message: words } })
  })`

t.test('40 planted secrets are nowhere to be read', async t => {
  const plain = await startPlainServer(t, '2025-11-25', ({ method, params }: Loose) =>
    method === 'tools/call' ? { error: { code: -32603, message: JSON.stringify(params) } } : undefined,
  )
  const collector = new Collector()
  const endpoint = await collector.start(t)
  const env = Object.fromEntries(Array.from({ length: 24 }, (_, n) => [`V${n}`, canary(n)]))
  const headers = Object.fromEntries([24, 25, 26, 27, 28, 29].map(n => [`x-h${n}`, canary(n)]))
  const args = [
    '-e',
    TELLTALE,
    '--',
    '--token',
    canary(30),
    `--api-key=${canary(31)}`,
    '--password',
    canary(32),
  ]
  const audit = join(t.testdir(), 'audit.jsonl')
  const text = JSON.stringify({
    mcpServers: {
      tale: { command: process.execPath, args, env },
      plain: { ...plain.entry, headers },
    },
    ...{ audit, startupWait: '60s' },
    tracing: { endpoint, protocol: 'http/json', headers: { 'x-collector': canary(33) } },
    metrics: { token: canary(34) },
  })
  const { config, problems } = parseConfig(text, join(t.testdirName, 'test.json'), process.env)
  if (config === undefined) throw new Error('bad configuration')
  const lines = new KeptLines()
  const logged: string[] = []
  const log = await createLogger({
    ...{ level: 'debug', isTerminal: false },
    sink: { write: (line: string) => logged.push(line) },
    keep: sink => lines.over(sink),
  })
  const proxy = createProxy(config, { listWaitMs: 60_000, lines, log, configProblems: () => problems })
  t.teardown(() => proxy.close())
  const client = new RawClient((await proxy.listen({ port: 0 })).url)
  await client.initialize()
  // What a client writes is nobody's business either.
  const said = (n: number): string => JSON.stringify({ password: canary(n), q: canary(n) })
  await client.call(1, 'tale__tell', `{"how":"result","more":${said(35)}}`)
  await client.call(2, 'tale__tell', `{"how":"error","more":${said(36)}}`)
  await client.call(3, 'plain__echo', said(37))
  await client.request('resources/read', { uri: `tale+https://u:${canary(38)}@x.example/?key=${canary(39)}` })
  await client.call(4, 'tale__tell', '{"how":"exit"}')
  await until(() => logged.join('').includes('exited with code 3'), 'the end of the server')
  const api = await proxy.api()
  const ask = (path: string, query = ''): Promise<unknown> =>
    api.answer({ method: 'GET', path, query: new URLSearchParams(query) } as Loose)
  const paths = ['/status', '/servers', '/tools', '/clients', '/calls', '/config', '/errors']
  const answers = await Promise.all([
    ...paths.map(path => ask(path)),
    ...['tale', 'plain', 'tale__tell', 'plain__echo'].map(name => ask('/why', `q=${name}`)),
  ])
  const metrics = await (await proxy.metrics?.())?.page(undefined)
  await proxy.close()
  await collector.posted(1)
  const places: Readonly<Record<string, string>> = {
    'the log': logged.join(''),
    'the API': JSON.stringify(answers),
    metrics: metrics?.body.toString() ?? '',
    spans: collector.posts.map(({ body }) => body.toString()).join(''),
    audit: existsSync(audit) ? readFileSync(audit, 'utf8') : '',
  }
  for (const [place, words] of Object.entries(places)) {
    t.ok(words.length > 200, `something stands in ${place}`)
    t.equal(/.{0,80}pLanted0000Canary\d*/.exec(words)?.[0], undefined, place)
  }
})

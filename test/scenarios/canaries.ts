import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { KeptLines } from '../../src/telemetry/logs/kept-lines.js'
import { createLogger } from '../../src/telemetry/logs/logger.js'
import { lacksBrowser, openBrowser } from '../support/browser.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { logInPage } from '../support/proxy/page-login.js'
import { runHere, startBin } from '../support/proxy/start.js'
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
    const capabilities = { tools: {}, resources: {}, prompts: {} }
    const item = { title: words, description: words }
    const inputSchema = { type: 'object', description: words, properties: { p: { type: 'string', enum: known, default: words } } }
    if (method === 'initialize') return say({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: words, version: words }, instructions: words } })
    if (method === 'tools/list') return say({ id, result: { tools: [{ name: 'tell', ...item, inputSchema, annotations: { title: words } }] } })
    if (method === 'prompts/list') return say({ id, result: { prompts: [{ name: 'tell', ...item }] } })
    if (method === 'resources/list') return say({ id, result: { resources: [{ uri: 'tell://x', name: words, ...item }] } })
    if (method === 'resources/templates/list') return say({ id, result: { resourceTemplates: [{ uriTemplate: 'tell://{x}', name: words, ...item }] } })
    if (method === 'tools/call' && params.arguments.how === 'exit') { process.stderr.write(words + '\\n'); process.exit(3) }
    if (method === 'tools/call' && params.arguments.how === 'result') return say({ id, result: { content: [{ type: 'text', text: words }], isError: true } })
    if (id !== undefined) say({ id, error: { code: -32050, message: words } })
  })`

/** A configuration that holds 35 of them, with two servers that tell all they know. */
const plant = async (t: Test) => {
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
  return { text, collector, audit }
}

/** Has both servers tell what they know, and what a client wrote, which is nobody's business either. */
const provoke = async (url: string): Promise<void> => {
  const client = new RawClient(url)
  await client.initialize()
  const said = (n: number): string => JSON.stringify({ password: canary(n), q: canary(n) })
  await client.call(1, 'tale__tell', `{"how":"result","more":${said(35)}}`)
  await client.call(2, 'tale__tell', `{"how":"error","more":${said(36)}}`)
  await client.call(3, 'plain__echo', said(37))
  await client.request('resources/read', { uri: `tale+https://u:${canary(38)}@x.example/?key=${canary(39)}` })
  await client.call(4, 'tale__tell', '{"how":"exit"}')
}

const check = (t: Test, places: Readonly<Record<string, string>>): void => {
  for (const [place, words] of Object.entries(places)) {
    t.ok(words.length > 100, `something stands in ${place}: ${words.slice(0, 100)}`)
    t.equal(/.{0,80}pLanted0000Canary\d*/.exec(words)?.[0], undefined, place)
  }
}

const VIEWS = [
  '',
  'servers',
  'servers/tale',
  'servers/plain',
  'tools',
  'tools/tale__tell',
  'calls',
  'clients',
]
const MORE_VIEWS = ['errors', 'limits', 'configuration', 'tools?nothing%20such']

/** What a page that was let in has in its document on every view, the errors one by one among them. */
const pageOf = async (t: Test, address: string, errors: readonly string[]): Promise<string> => {
  const page = await (await (await openBrowser(t))()).newPage()
  await page.goto(address)
  await page.locator('main h2').waitFor()
  const seen: string[] = []
  for (const view of [...VIEWS, ...MORE_VIEWS, ...errors.map(id => `errors/${id}`)]) {
    await page.evaluate(`location.hash = ${JSON.stringify(`#/${view}`)}`)
    const isRead = async () =>
      (await page.evaluate("document.querySelector('main').textContent.includes('Reading …')")) === false
    await until(isRead, view)
    seen.push(await page.content())
  }
  return seen.join('')
}

/** What the page hears, first of all there is and then of what changes. */
const streamsOf = async (
  t: Test,
  url: string,
  code: string,
  change: () => Promise<void>,
): Promise<string> => {
  const { origin } = new URL(url)
  const { headers: page } = await logInPage(origin, code)
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  let heard = ''
  const read = async (path: string): Promise<void> => {
    const headers = { ...page, origin, accept: 'text/event-stream' }
    const { body } = await fetch(`${origin}/api/v1/${path}`, { headers, signal: abort.signal })
    const decoder = new TextDecoder()
    for await (const chunk of body ?? []) heard += decoder.decode(chunk as Uint8Array)
  }
  for (const path of ['events?view=status,servers,calls,clients,config,errors', 'logs', 'logs?server=tale'])
    read(path).catch(() => undefined)
  await until(() => /event: config/.test(heard) && /event: line/.test(heard), 'the first words')
  const before = heard.length
  await change()
  await until(() => heard.length > before, 'more words')
  return heard
}

t.test('40 planted secrets are nowhere to be read', async t => {
  const { text, collector, audit } = await plant(t)
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
  const { url } = await proxy.listen({ port: 0 })
  await provoke(url)
  await until(() => logged.join('').includes('exited with code 3'), 'the end of the server')
  const api = await proxy.api()
  const ask = (path: string, query = ''): Promise<unknown> =>
    api.answer({ method: 'GET', path, query: new URLSearchParams(query) } as Loose)
  const paths = ['/status', '/servers', '/tools', '/clients', '/calls', '/config', '/errors']
  const answers = await Promise.all([
    ...paths.map(path => ask(path)),
    ...['tale', 'plain', 'tale__tell', 'plain__echo'].map(name => ask('/why', `q=${name}`)),
  ])
  const stream = await streamsOf(t, url, proxy.pageSessions().newCode(), () => provoke(url))
  const ids = ((answers[6] as Loose).value.errors as readonly Loose[]).map(({ id }) => id)
  const page = lacksBrowser
    ? undefined
    : await pageOf(t, new URL(`/ui/#${proxy.pageSessions().newCode()}`, url).href, ids.slice(-6))
  const metrics = await (await proxy.metrics?.())?.page(undefined)
  await proxy.close()
  await collector.posted(1)
  check(t, {
    'the log': logged.join(''),
    'the API': JSON.stringify(answers),
    'the streams of the page': stream,
    ...(page !== undefined && { 'the page': page }),
    metrics: metrics?.body.toString() ?? '',
    spans: collector.posts.map(({ body }) => body.toString()).join(''),
    audit: existsSync(audit) ? readFileSync(audit, 'utf8') : '',
  })
})

t.test('nor are they when a terminal asks for them', async t => {
  const { text } = await plant(t)
  const file = join(t.testdirName, 'mcp.json')
  writeFileSync(file, text)
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await proxy.line(/listening/)).split(' ').at(-1) ?? ''
  await until(async () => (await runHere(t, 'status', '--config', file)).code !== 4, 'the record')
  const live = startBin(t, ['logs', '-f', '--config', file])
  const lively = startBin(t, ['logs', 'tale', '-f', '--json', '--config', file])
  await provoke(url)
  await live.line(/exited with code 3/)
  await lively.line(/I was told/)
  const ask = async (...argv: readonly string[]): Promise<readonly [string, string]> => {
    const { out, err } = await runHere(t, ...argv, '--config', file)
    return [argv.join(' '), out + err]
  }
  const errors = /"id":"(\w{4}-\w+)"/.exec(
    JSON.stringify(await runHere(t, 'status', '--json', '--config', file)),
  )
  const places = [
    // As JSON a list is what the servers wrote, for programs.
    ...[await ask('status'), await ask('status', '--json'), await ask('list')],
    ...[await ask('logs'), await ask('logs', 'tale'), await ask('logs', '--json', '--level', 'debug')],
    ...[await ask('why', 'tale'), await ask('why', 'plain', '--json'), await ask('why', 'tale__tell')],
    ...[await ask('check'), await ask('check', '--json'), await ask('doctor', '--server', 'plain')],
    ...(errors?.[1] === undefined ? [] : [await ask('why', errors[1])]),
  ]
  proxy.child.kill('SIGTERM')
  await Promise.all([proxy.exited, live.exited, lively.exited])
  const told = { 'logs -f': live.out + live.err, 'logs tale -f': lively.out, serve: proxy.out + proxy.err }
  check(t, { ...Object.fromEntries(places.filter(([, words]) => words.length > 100)), ...told })
  t.ok(places.filter(([, words]) => words.length > 20).length > 8, 'most verbs said something')
})

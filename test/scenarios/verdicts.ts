import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import type { Explanation, Why } from '../../src/control/api/verdicts.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { logInPage } from '../support/proxy/page-login.js'
import { configFile, runHere, startBin, tiny } from '../support/proxy/start.js'
import { startListing } from '../support/server/listing-server.js'
import { listenFor } from '../support/server/plain-http-server.js'

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

/** A configuration in which something comes to each of the verdicts. */
const configure = async (t: Test): Promise<string> => {
  const web = await startListing(t, {
    tools: [
      tool('fine'),
      tool('secret'),
      tool('twice'),
      tool('twice'),
      tool('old'),
      tool('plain'),
      tool('odd name!'),
      tool('untyped', { inputSchema: 7 }),
      tool('list', { inputSchema: { type: 'array' } }),
      tool('promising', { outputSchema: { type: 'object' } }),
      ...[tool('ruled'), tool('forbidden')],
      tool('tasked', { execution: { taskSupport: 'optional' } }),
    ],
    resources: [{ uri: 'page://one', name: 'one' }],
    resourceTemplates: [{ uriTemplate: 'file:///{path}', name: 'files' }],
  })
  const link = { content: [{ type: 'resource_link', name: 'x', uri: 'note://seen' }] }
  const docs = await startListing(t, { tools: [tool('find'), tool('fine')] }, () => link)
  const same = await startListing(t, { tools: [tool('echo')] })
  const gate = createServer((request, response) => {
    request.resume()
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
  })
  const dies = { ...tiny('--die'), start: 'eager' }
  return configFile(
    t,
    {
      web: { ...web, tools: { deny: ['sec*'], rename: { old: 'new' }, override: { plain: { title: 'P' } } } },
      docs: { ...docs, uris: 'preserve' },
      ...{ first: { ...same, prefix: false }, second: { ...same, prefix: false } },
      cut: { ...(await startListing(t, { tools: Array.from('abcdefghijklmno', name => tool(name)) })) },
      sleeper: { ...tiny(), start: 'lazy', tags: ['unseen'] },
      hangs: { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'], start: 'eager' },
      dies: { ...dies, restart: { first: '5m', max: '5m' } },
      fails: { ...dies, restart: { first: '100ms', max: '100ms' } },
      login: { url: `${await listenFor(t, gate)}/mcp`, start: 'eager' },
      waits: { ...tiny(), env: { KEY: '${NOT_SET_ANYWHERE}' } },
      typo: { command: 5 },
      off: { ...tiny(), disabled: true },
      noisy: {
        command: process.execPath,
        args: ['-e', 'console.log("Welcome!"); setInterval(() => {}, 1e6)'],
        start: 'eager',
      },
    },
    {
      startupWait: 0,
      limits: { items: 14 },
      rules: [
        { tool: 'ruled', when: { '/amount': { above: 500 } }, then: 'ask' },
        { tool: 'forbidden', then: 'deny' },
      ],
    },
  )
}

type Fixture = readonly [query: string, text: RegExp, ...flags: readonly string[]]

/** What each verdict is found by; those of the second stage once all servers but one are removed. */
const FIRST = {
  shown: ['web__fine', /^web__fine: shown, can be called\n +server +web, ready for .*\n +own name +fine$/],
  hidden: ['web__secret', /: not shown, cannot be called.*hidden +tools\.deny\[0\] "sec\*" \(.*:\d+:\d+\)/s],
  denied: ['web__forbidden', /: not shown, cannot be called.*rule +rule 2: deny \(.*:\d+:\d+\)/s],
  rule: ['web__ruled', /: shown, can be called.*rule +rule 1: ask, if \/amount is above 500 \(.*:\d+:\d+\)/s],
  broken: ['web__list', /: not shown, cannot be called.*broken +.*does not describe an object/s],
  repeated: ['web__twice', /: shown, can be called.*repeated +its name is repeated/s],
  'cut-off': ['cut__nobody', /: not shown, cannot be called.*cut-off +.*limits\.items/s],
  renamed: ['web__new', /: shown.*own name +old.*renamed +tools\.rename calls it new \(.*:\d+:\d+\)/s],
  overridden: ['web__plain', /: shown.*overridden +tools\.override replaces parts of it: title \(/s],
  shortened: ['odd name!', /shortened +D060: these characters are not allowed: .*!.*clients see web__odd/s],
  prefixed: [
    'second__echo',
    /prefixed +D062: its name was taken; it is exposed as second__echo, because first has the same name/,
  ],
  repaired: ['web__untyped', /repaired +D061: added an inputSchema/],
  'output-schema-withdrawn': ['web__promising', /output-schema-withdrawn +it returned no structured/],
  changed: ['web__tasked', /changed +clients of 2025-06-18 see it without/, '--for', '2025-06-18'],
  'uri-by-prefix': ['web+page://two', /: not listed, can be read.*uri-by-prefix +its prefix belongs to web/s],
  'uri-by-list': ['page://one', /: not listed, can be read.*uri-by-list +web alone lists it/s],
  'uri-by-template': ['file:///motd', /: not listed, can be read.*the template file:\/\/\/\{path\} of web/s],
  'uri-seen': ['note://seen', /: not listed, can be read.*uri-seen +a result of docs contained it last/s],
  ambiguous: ['fine', /: ambiguous\n +ambiguous +these servers have it: web, docs/],
  unknown: ['web__fin', /: unknown.*lists no such tool; did you mean web__fine\?/s],
  disabled: ['off', /^off: disabled\n +disabled +"disabled" in the file \(.*:\d+:\d+\)/],
  misconfigured: ['typo', /^typo: misconfigured\n.*found a number.*\(.*:\d+:\d+\)/],
  resting: ['sleeper', /^sleeper: resting\n +resting +it is not running; the first call starts it/],
  starting: ['hangs', /^hangs: starting\n +starting +it is being started/],
  backoff: ['dies', /^dies: backoff\n.*exited with code 3.*it is tried again in \d+ s/s],
  failed: ['fails', /^fails: failed\n.*exited with code 3/s],
  'needs-login': ['login', /^login: needs-login\n.*mcp-proxy auth login login/s],
  waiting: ['waits', /^waits: waiting\n.*not set: NOT_SET_ANYWHERE/s],
  'list-not-read': ['dies__echo', /: cannot be called.*list-not-read +the list of its tools was not read/s],
  remark: ['noisy', /remark +it wrote \d+ lines? to stdout/],
} as const satisfies Partial<Record<Explanation, Fixture>>

const SECOND = {
  removed: ['docs__find', /: not shown, cannot be called.*server +docs.*removed +the server was removed/s],
  'uri-by-elimination': ['gone://x', /: not listed, can be read.*web is the only server that has resources/s],
} as const satisfies Partial<Record<Explanation, Fixture>>

/** What the configuration, and what is kept of servers, tell where no proxy runs. */
const OFFLINE = [
  ...(['shown', 'hidden', 'broken', 'repeated', 'cut-off', 'renamed', 'overridden', 'shortened'] as const),
  ...(['prefixed', 'repaired', 'changed', 'uri-by-prefix', 'uri-by-list', 'uri-by-template'] as const),
  ...(['ambiguous', 'unknown', 'disabled', 'misconfigured', 'resting', 'list-not-read'] as const),
] satisfies readonly Explanation[]

/** All but `error`, whose ids are made up as it goes, and those that need a lock file. */
const ALL: Readonly<Record<Exclude<Explanation, 'error' | 'changed-since-lock'>, Fixture>> = {
  ...FIRST,
  ...SECOND,
}

/** The control API on the port, for a page that was let in. */
const openPort = async (t: Test, file: string, url: string) => {
  const { out } = await runHere(t, 'ui', '--print', '--config', file)
  const { origin } = new URL(url)
  const { headers } = await logInPage(origin, out.trim().split('#').at(-1) ?? '')
  return async (query: string): Promise<Why> =>
    (await fetch(`${origin}/api/v1/why?${query}`, { headers })).json() as Loose
}

t.test(
  'the verb and the API report each verdict of why, as text and JSON; most work without a proxy',
  async t => {
    const file = await configure(t)
    const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
    const url = (await proxy.line(/listening/)).split(' ').at(-1) ?? ''
    await until(async () => (await runHere(t, 'status', '--config', file)).code !== 4, 'the record')
    const ask = await openPort(t, file, url)
    const why = (name: string, ...more: readonly string[]) =>
      runHere(t, 'why', name, '--config', file, ...more)
    const inJson = async (verdict: keyof typeof ALL): Promise<Why> => {
      const [query, , ...flags] = ALL[verdict]
      const { code, out } = await why(query, '--json', ...flags)
      const found = JSON.parse(out) as Why
      t.equal(code, found.answered ? 0 : 1, `the code of ${verdict}`)
      t.ok([found.verdict, ...found.causes.map(one => one.verdict)].includes(verdict), `${verdict}: ${out}`)
      t.ok(found.causes.length > 0 || verdict === 'shown', `a reason for ${verdict}`)
      return found
    }
    const check = async (verdict: keyof typeof ALL): Promise<void> => {
      const [query, text, ...flags] = ALL[verdict]
      let said = ''
      await until(async () => {
        said = (await why(query, ...flags)).out.trim()
        return text.test(said)
      }, `${verdict} of ${query}`).catch(thrown => t.fail(`${String(thrown)}: ${said}`))
      const found = await inJson(verdict)
      const asked = new URLSearchParams({ q: query, ...(flags[1] !== undefined && { for: flags[1] }) })
      t.equal((await ask(asked.toString())).verdict, found.verdict, `${verdict} on the port`)
    }
    // Asked before a client has everything started.
    await check('resting')
    const client = new RawClient(url)
    await client.initialize()
    for (const list of ['tools', 'resources', 'resources/templates']) await client.request(`${list}/list`)
    await client.call(1, 'web__promising')
    await client.call(2, 'docs__find')
    for (const verdict of Object.keys(FIRST) as (keyof typeof FIRST)[])
      if (verdict !== 'resting') await check(verdict)
    const { last } = await client.request('tools/call', { name: 'web__nothing', arguments: {} })
    const { errorId } = last.message.error.data
    t.match(await why(errorId), { code: 0, out: /an error of this run.*fix +mcp-proxy why web__nothing/s })
    const before = readFileSync(file, 'utf8')
    const { mcpServers, ...rest } = JSON.parse(before)
    writeFileSync(file, JSON.stringify({ mcpServers: { web: mcpServers.web }, ...rest }))
    for (const verdict of Object.keys(SECOND) as (keyof typeof SECOND)[]) await check(verdict)
    t.match(await why('docs'), { code: 1, out: /^docs: removed/ })
    proxy.child.kill('SIGTERM')
    await proxy.exited
    writeFileSync(file, before)
    for (const verdict of OFFLINE) await inJson(verdict)
  },
)

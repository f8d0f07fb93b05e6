import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { shownStatus } from '../../src/cli/status/status.js'
import { formatProblem } from '../../src/config/file/problem.js'
import { parseConfig } from '../../src/config/parse.js'
import { problemsOf } from '../../src/ui/live/state.js'
import { createAuthority } from '../support/certificates.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { type ReadSample, readMetrics } from '../support/metrics.js'
import { until } from '../support/processes.js'
import { rawServer } from '../support/proxy/start.js'
import { listenFor } from '../support/server/plain-http-server.js'

/** A server over HTTP that answers nothing but this. */
const saying = async (t: Test, status: number, headers: Record<string, string> = {}): Promise<object> => {
  const url = await listenFor(
    t,
    createServer((request, response) => {
      request.resume()
      response.writeHead(status, headers).end()
    }),
  )
  return { type: 'http', url: `${url}/mcp`, start: 'eager' }
}

/** A server whose certificate is signed by an unknown authority. */
const untrusted = async (t: Test): Promise<string> => {
  const { cert, key } = createAuthority(t).issue('untrusted', 'IP:127.0.0.1')
  const url = await listenFor(t, createTlsServer({ cert, key }))
  return `${url.replace('http', 'https')}/mcp`
}

const running = (code: string): object => ({
  command: process.execPath,
  args: ['-e', code],
  start: 'eager',
})

/** Answers `tools/list` with an error. */
const UNLISTED = `
  const answer = ({ id, method }) => {
    const facts = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'u', version: '1' } }
    const rest = method === 'initialize' ? { result: facts } : { error: { code: -32603, message: 'out of order' } }
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => answer(JSON.parse(line)))`

/** However long it takes to look at all. */
const HELD = { call: 'off', total: 'off' }

type Samples = ReadonlyMap<string, readonly ReadSample[]>

const has = (found: Samples, name: string, labels: Readonly<Record<string, string>>): boolean =>
  (found.get(name) ?? []).some(
    sample =>
      sample.value > 0 && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  )

/** What the metrics, the status and `why` say of each server that is wrong. */
const WAYS: Readonly<
  Record<
    string,
    {
      readonly metric: readonly [name: string, labels: Readonly<Record<string, string>>]
      /** Undefined for what is no server of the proxy, as it cannot be. */
      readonly status: RegExp | undefined
      readonly why: RegExp
      /** What `mcp-proxy status` prints. */
      readonly text: RegExp
      /** What the page calls it, and the command that it names. */
      readonly page: readonly [kind: string, command: string]
    }
  >
> = {
  missing: {
    metric: ['mcp_proxy_server_starts_total', { result: 'unavailable' }],
    status: /command not found.*"doctor":"D030"/,
    why: /command not found/,
    page: ['not found', 'mcp-proxy doctor --server missing'],
    text: /^missing .*command not found/m,
  },
  exits: {
    metric: ['mcp_proxy_server_starts_total', { result: 'disconnected' }],
    status: /exited with code 3/,
    why: /exited with code 3.*last wrote: out of cheese/,
    page: ['exited', 'mcp-proxy logs exits'],
    text: /^exits .*exited with code 3; it last wrote: out of cheese/m,
  },
  hangs: {
    metric: ['mcp_proxy_server_state', { state: 'starting' }],
    status: /"hangs".*has not answered for/,
    why: /has not answered for/,
    page: ['hangs', 'mcp-proxy logs hangs'],
    text: /^hangs: it has not answered for/m,
  },
  login: {
    metric: ['mcp_proxy_server_state', { state: 'needs-auth' }],
    status: /needs-auth.*needs a login/,
    why: /needs-login.*auth login login/,
    page: ['needs-auth', 'mcp-proxy auth login login'],
    text: /^login +needs-auth .*needs a login/m,
  },
  gone: {
    metric: ['mcp_proxy_server_starts_total', { result: 'unavailable' }],
    status: /HTTP status 404 \(not found\)/,
    why: /HTTP status 404 \(not found\): check the path/,
    page: ['HTTP 404', 'mcp-proxy doctor --server gone'],
    text: /^gone .*HTTP status 404/m,
  },
  unlisted: {
    metric: ['mcp_proxy_list_errors_total', { list: 'tools' }],
    status: /"kind":"list".*failed to list its tools: .*out of order/,
    why: /"verdict":"list-not-read".*"answered":false.*out of order/,
    page: ['list', 'mcp-proxy why unlisted'],
    text: /^unlisted: it failed to list its tools: .*out of order/m,
  },
  noise: {
    metric: ['mcp_proxy_repairs_total', { kind: 'noise' }],
    status: /"noise".*wrote \d+ lines? to stdout that/,
    why: /wrote \d+ lines? to stdout/,
    page: ['noise', 'mcp-proxy logs noise'],
    text: /^noise: it wrote \d+ lines? to stdout/m,
  },
  garbage: {
    metric: ['mcp_proxy_repairs_total', { kind: 'noise' }],
    status: /"noise".*sent 1 message that is not valid JSON-RPC/,
    why: /sent 1 message that is not valid JSON-RPC/,
    page: ['noise', 'mcp-proxy logs garbage'],
    text: /^garbage: it sent 1 message that is not valid JSON-RPC/m,
  },
  refused: {
    metric: ['mcp_proxy_server_starts_total', { result: 'unavailable' }],
    status: /connection refused/,
    why: /connection refused.*start the server, or check the port/,
    page: ['unreachable', 'mcp-proxy doctor --server refused'],
    text: /^refused .*connection refused/m,
  },
  untrusted: {
    metric: ['mcp_proxy_server_starts_total', { result: 'unavailable' }],
    status: /certificate refused/,
    why: /certificate refused.*name its authority with/,
    page: ['unreachable', 'mcp-proxy doctor --server untrusted'],
    text: /^untrusted .*certificate refused/m,
  },
  slow: {
    metric: ['mcp_proxy_server_requests_in_flight', {}],
    status: /"slow".*has taken \d+ s for a call in progress/,
    why: /has taken \d+ s for a call/,
    page: ['slow', 'mcp-proxy why slow'],
    text: /^slow: it has taken \d+ s for a call/m,
  },
  flaps: {
    metric: ['mcp_proxy_server_losses_total', { reason: 'disconnected' }],
    status: /"flapping".*was lost 3 times/,
    why: /was lost 3 times/,
    page: ['flapping', 'mcp-proxy logs flaps'],
    text: /^flaps: it was lost 3 times/m,
  },
  wrong: {
    metric: ['mcp_proxy_config_problems', { severity: 'error' }],
    status: undefined,
    why: /misconfigured.*found a number/,
    page: ['misconfigured', 'mcp-proxy check'],
    text: /mcpServers\.wrong.*found a number/,
  },
  full: {
    metric: ['mcp_proxy_limit_hits_total', { limit: 'callsPerServer' }],
    status: /"limit".*limits\.callsPerServer 1 time/,
    why: /limits\.callsPerServer/,
    page: ['limit', 'mcp-proxy why full'],
    text: /^full: it reached limits\.callsPerServer/m,
  },
}

t.test(
  'a dead fleet does not look like an idle one: which way each server is wrong is said everywhere',
  async t => {
    const mcpServers = {
      missing: { command: 'no-such-program-anywhere', start: 'eager' },
      exits: running('process.stderr.write("out of cheese\\n"); process.exitCode = 3'),
      hangs: running('setInterval(() => {}, 1e6)'),
      login: await saying(t, 401, { 'www-authenticate': 'Bearer' }),
      gone: await saying(t, 404),
      unlisted: running(UNLISTED),
      garbage: running('console.log("{not JSON"); setInterval(() => {}, 1e6)'),
      refused: { url: 'http://127.0.0.1:9/mcp', start: 'eager' },
      untrusted: { url: await untrusted(t), start: 'eager' },
      noise: running('console.log("Welcome to this server!"); setInterval(() => {}, 1e6)'),
      ...{ slow: { ...rawServer(), timeouts: HELD }, flaps: rawServer() },
      wrong: { command: 5 },
      full: { ...rawServer(), limits: { callsPerServer: 1 }, timeouts: HELD },
    }
    const { config, problems } = parseConfig(
      JSON.stringify({ mcpServers, startupWait: 0, log: { slow: '1s' } }),
      'test.json',
      process.env,
    )
    if (config === undefined) throw new Error('bad configuration')
    const errors = problems.filter(({ severity }) => severity === 'error').length
    const configStatus = () =>
      ({ problems: { errors, warnings: 0, wrong: problems.map(formatProblem) } }) as Loose
    const proxy = createProxy(config, { configProblems: () => problems, configStatus })
    t.teardown(() => proxy.close())
    const client = new RawClient((await proxy.listen({ port: 0 })).url)
    await client.initialize()
    // A busy machine may start servers only after the proxy has given up waiting for them.
    const reach = (name: string) =>
      until(
        async () => (await client.call(`reach ${name}`, `${name}__echo`)).last.message.result !== undefined,
        `${name} to answer`,
      )
    for (const name of ['slow', 'full']) {
      await reach(name)
      client.call(`wait ${name}`, `${name}__wait`).catch(() => undefined)
    }
    for (let n = 0; n < 3; n++) {
      await reach('flaps')
      await client.call(`${n} exit`, 'flaps__exit')
    }
    await until(
      async () => (await client.call('full', 'full__echo')).last.text.includes('callsPerServer'),
      'the limit',
    )
    const [api, pages] = [await proxy.api(), await proxy.metrics?.()]
    const ask = async (path: string, query = ''): Promise<Loose> => {
      const answer = await api.answer({ method: 'GET', path, query: new URLSearchParams(query) } as Loose)
      return (answer as Loose).value
    }
    for (const [name, { metric, status, why, text, page }] of Object.entries(WAYS)) {
      const labels = name === 'wrong' || name === 'full' ? metric[1] : { ...metric[1], server: name }
      await until(async () => {
        const page = await pages?.page(undefined)
        return has(readMetrics(page?.body.toString() ?? '\n'), metric[0], labels)
      }, `${name} in the metrics`)
      const isSaid = (servers: readonly Loose[]): boolean =>
        status === undefined || status.test(JSON.stringify(servers.find(one => one.name === name)))
      await until(() => isSaid(proxy.status().servers), `${name} in the status`)
      await until(async () => isSaid((await ask('/servers')).servers), `${name} in the API`)
      await until(async () => why.test(JSON.stringify(await ask('/why', `q=${name}`))), `${name} in why`)
      const isOnPage = async (): Promise<boolean> =>
        problemsOf(await ask('/servers')).some(
          ({ about, kind, command }) => about === name && kind === page[0] && command === page[1],
        )
      await until(() => text.test(shownStatus(proxy.status())), `${name} as status prints it`)
      await until(isOnPage, `${name} on the page`)
      t.pass(name)
    }
  },
)

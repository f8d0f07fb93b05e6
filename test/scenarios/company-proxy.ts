import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createAuthority } from '../support/certificates.js'
import { start, without } from '../support/debian-programs.js'
import { accepts, freePort, portOf } from '../support/ports.js'
import { until } from '../support/processes.js'
import { configFile, runHere, setEnv, startBin } from '../support/proxy/start.js'

// A real company proxy (Debian's tinyproxy) that requires a password and filters hosts.

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'remote', version: '1' },
  },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
}

/** A server of MCP; tinyproxy marks the requests that it passes on with `Via`. */
const answering =
  (via: Set<boolean>): RequestListener =>
  (request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += String(chunk)
    })
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const { id, method } = JSON.parse(text) as { id?: number; method: string }
      via.add(request.headers.via !== undefined)
      if (id === undefined) return void response.writeHead(202).end()
      const result = RESULTS[method]
      const error = { code: -32601, message: 'unknown' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
    })
  }

const startTinyproxy = async (t: Test): Promise<number> => {
  const port = await freePort()
  await start(t, 'tinyproxy', ['-d', '-c'], folder => {
    writeFileSync(join(folder, 'filter'), '^localhost$\n')
    const filter = [`Filter "${folder}/filter"`, 'FilterExtended On', 'FilterURLs Off']
    const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', 'MaxClients 20', 'BasicAuth ann secret']
    return `${[...lines, ...filter].join('\n')}\n`
  })
  await until(() => accepts(port), 'tinyproxy')
  return port
}

t.test(
  'servers behind a company proxy work, or name its refusal and the fix',
  {
    skip: without('tinyproxy'),
  },
  async t => {
    const port = await startTinyproxy(t)
    const authority = createAuthority(t)
    const { cert, key } = authority.issue('inner', 'IP:127.0.0.1,DNS:localhost')
    const [viaPlain, viaExempt, viaSecret] = [new Set<boolean>(), new Set<boolean>(), new Set<boolean>()]
    const plain = await portOf(t, createServer(answering(viaPlain)))
    const exempt = await portOf(t, createServer(answering(viaExempt)))
    const secret = await portOf(t, createTlsServer({ cert, key }, answering(viaSecret)))
    const proxyAt = (login: string, at = port): string => `http://${login}127.0.0.1:${at}`
    const right = proxyAt('ann:secret@')
    const tls = { ca: authority.file }
    const inner = { url: `http://127.0.0.1:${plain}/mcp` }
    const encrypted = { url: `https://127.0.0.1:${secret}/mcp`, tls }
    const refused = [
      [
        'missing',
        { ...inner, proxy: proxyAt('') },
        /requires a user and password \(HTTP 407\): write USER:PASS/,
      ],
      ['missing-tls', { ...encrypted, proxy: proxyAt('') }, /requires a user and password \(HTTP 407\)/],
      ['wrong', { ...inner, proxy: proxyAt('ann:bad@') }, /refused its user and password \(HTTP 40[17]\)/],
      [
        'wrong-tls',
        { ...encrypted, proxy: proxyAt('ann:bad@') },
        /refused its user and password \(HTTP 40[17]\)/,
      ],
      [
        'denied',
        { url: `http://localhost:${exempt}/mcp`, proxy: right },
        /does not allow .*localhost.* \(HTTP 403\)/,
      ],
      [
        'denied-tls',
        { url: `https://localhost:${secret}/mcp`, tls, proxy: right },
        /does not allow localhost:\d+ \(HTTP 403\)/,
      ],
      [
        'unknown',
        { url: 'http://mcp.corp.invalid/mcp', proxy: right },
        /cannot reach http:\/\/mcp.corp.invalid \(HTTP 50\d\)/,
      ],
      [
        'down',
        { ...inner, proxy: proxyAt('', await freePort()) },
        /cannot connect to the proxy .* \(connection refused\)/,
      ],
    ] as const
    const file = configFile(t, {
      plain: inner,
      secret: encrypted,
      exempt: { url: `http://localhost:${exempt}/mcp` },
      ...Object.fromEntries(refused.map(([name, entry]) => [name, entry])),
    })
    const env = {
      HTTP_PROXY: right,
      HTTPS_PROXY: right,
      NO_PROXY: 'localhost',
      http_proxy: '',
      https_proxy: '',
      no_proxy: '',
    }
    setEnv(t, env)
    const running = startBin(t, ['serve', '--config', file, '--port', '0'], { env })
    await running.line(/listening on/)

    for (const name of ['plain', 'secret', 'exempt'])
      t.match(await runHere(t, 'call', `${name}__echo`, '--config', file), { code: 0, out: /done/ }, name)
    t.same([[...viaPlain], [...viaExempt], [...viaSecret]], [[true], [false], [false]])

    const { out } = await runHere(
      t,
      'doctor',
      '--config',
      file,
      '--only',
      'D035,D036',
      '--json',
      '--timeout',
      '5s',
    )
    type Found = {
      readonly subject: string
      readonly id: string
      readonly message: string
      readonly fix: string
    }
    const { checks } = JSON.parse(out) as { checks: readonly Found[] }
    const found = checks.filter(({ id }) => id === 'D035')
    t.same(found.map(({ subject }) => subject).sort(), refused.map(([name]) => name).sort())
    const fix = /HTTPS_PROXY, HTTP_PROXY or "proxy", or add the host to NO_PROXY/
    for (const [name, , message] of refused) {
      t.match(
        found.find(({ subject }) => subject === name),
        { message, fix },
        `doctor: ${name}`,
      )
      t.match(await runHere(t, 'why', name, '--config', file), { code: 1, out: message }, `why: ${name}`)
    }
    const all = JSON.stringify(await runHere(t, 'status', '--json', '--config', file)) + out
    t.notMatch(all, /ann:|secret@|bad@/)
  },
)

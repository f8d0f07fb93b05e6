import { join } from 'node:path'
import t from 'tap'
import { probeServers } from '../../src/app/probe.js'
import { parseConfig } from '../../src/config/parse.js'
import { addSecrets } from '../../src/kernel/secrets/mask.js'
import { TINY } from '../support/proxy/start.js'

const LONG = 'a-name-of-a-tool-that-is-longer-than-any-client-takes'
/** Runs a script in front of the tiny server. */
const before = (script: string) => ({
  command: process.execPath,
  args: ['-e', `${script}; import(${JSON.stringify(TINY)})`],
})

t.test('a probe starts servers, lists their items, ends them and reports their problems', async t => {
  const [secret] = ['hunter2hunter2']
  t.teardown(addSecrets([secret ?? '']))
  const text = JSON.stringify({
    mcpServers: {
      tiny: { command: process.execPath, args: [TINY], tools: { rename: { echo: LONG } } },
      bare: { command: process.execPath, args: [TINY], prefix: false, tools: { deny: ['f*'] } },
      noisy: before("console.log('Server is up')"),
      dies: { command: process.execPath, args: ['-e', `console.error('no ${secret}'); process.exit(3)`] },
      silent: { command: process.execPath, args: ['-e', 'process.stdin.resume()'] },
    },
  })
  const { config } = parseConfig(text, join(t.testdir(), 'mcp.json'), process.env)
  if (config === undefined) throw new Error('bad configuration')
  const servers = config.servers.map(server => ({
    ...server,
    timeouts: { ...server.timeouts, ...(server.name === 'silent' && { probeMs: 100, initializeMs: 100 }) },
  }))
  const found = await probeServers(config, servers, 20_000)
  const [tiny, bare, noisy, dies, silent] = found
  t.match(tiny, { server: 'tiny', transport: 'stdio', state: 'ready', noise: undefined, stderrTail: [] })
  t.match(tiny?.tools[0], {
    name: /^tiny__a-name-of-.{20,}_[a-z2-7]{6}$/,
    long: `tiny__${LONG}`,
    hasHints: false,
  })
  t.match(tiny?.tools[1], { name: 'tiny__strict', long: 'tiny__strict', schema: { type: 'object' } })
  t.same(
    bare?.tools.map(({ name }) => name),
    ['echo', 'strict', 'refuse', 'picture'],
  )
  t.match(noisy, { state: 'ready', noise: 'Server is up' })
  t.match(dies, { state: 'failed', why: 'exited with code 3', stderrTail: ['no ***'], tools: [] })
  t.match(silent, { state: 'failed' })
})

t.test('a probe of a silent server ends at the requested timeout', async t => {
  const silent = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] }
  const { config } = parseConfig(JSON.stringify({ mcpServers: { silent } }), 'mcp.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const [probe] = await probeServers(config, config.servers, 100)
  t.match(probe, { server: 'silent', state: 'failed', why: /^no answer (?:to initialize )?within/i })
})

t.test('a server that introduces itself and lists nothing is told', async t => {
  const script = `require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = JSON.parse(line)
    const serverInfo = { name: 'x', version: '1' }
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    if (method === 'initialize') console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })`
  const mcpServers = { shy: { command: process.execPath, args: ['-e', script] } }
  const { config } = parseConfig(JSON.stringify({ mcpServers }), 'mcp.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const servers = config.servers.map(server => ({
    ...server,
    timeouts: { ...server.timeouts, probeMs: 100, listMs: 100 },
  }))
  const [probe] = await probeServers(config, servers, 20_000)
  t.match(probe, { server: 'shy', state: 'failed', why: /^failed to list its tools/ })
})
